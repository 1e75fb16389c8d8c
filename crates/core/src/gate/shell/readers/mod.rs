//! Programs whose arguments need more than the table's rules: each reader says what its kind of program would do.

mod builds;
mod archives;
mod checks;
mod compilers;
mod editors;
mod find;
mod foreign;
mod git;
mod http;
mod interpreters;
mod pytest;
mod queries;
mod remotes;
mod rights;
mod scripts;
mod shells;
mod tasks;
mod texts;
mod wrappers;

pub(super) use compilers::{runs_programs, writes_elsewhere};

use super::args::ProgramArgs;
use super::expand::ShellWord;
use super::programs::Reader;
use super::walk::{ShellWalk, StandardInput};

/// One call of a program.
#[derive(Clone, Copy)]
pub(super) struct ProgramCall<'a> {
    /// The program's name, without folder.
    pub name: &'a str,
    /// All that follows it.
    pub words: &'a [ShellWord],
    /// The same, split.
    pub args: &'a ProgramArgs<'a>,
    /// Its standard input.
    pub input: &'a StandardInput,
}

impl ShellWalk<'_> {
    /// Reads a call, and gives what it would print if that can be proven.
    pub(super) fn read_as(
        &mut self,
        reader: Reader,
        name: &str,
        words: &[ShellWord],
        args: &ProgramArgs<'_>,
        input: &StandardInput,
    ) -> Option<String> {
        let call = ProgramCall { name, words, args, input };
        match reader {
            Reader::Rules => {}
            Reader::Echo => return self.echo(call),
            Reader::Printf => return self.printf(call),
            Reader::Print => return self.print(call),
            Reader::Decode => return self.decode(call),
            Reader::Eval => return self.eval(call),
            Reader::Shell => self.shell(call),
            Reader::Source => self.source(call),
            Reader::Cd => self.cd(call),
            Reader::Variables => self.variables(call),
            Reader::Alias => self.alias(call),
            Reader::Trap => self.trap(call),
            Reader::Positional => self.positional(call),
            Reader::Env => return self.env(call),
            Reader::Xargs => self.xargs(call),
            Reader::Busybox => return self.inner(words, input),
            Reader::Parallel => self.parallel(call),
            Reader::Joined => self.joined(call),
            Reader::Ssh => self.ssh(call),
            Reader::Find => self.find(call),
            Reader::Sed => self.sed(call),
            Reader::Awk => self.awk(call),
            Reader::Dd => self.dd(call),
            Reader::Tee => self.tee(call),
            Reader::Git => self.git(call),
            Reader::GitConfig => self.git_config(call),
            Reader::GitPush => self.git_push(call),
            Reader::GitCheckout => self.git_checkout(call),
            Reader::GitRestore => self.git_restore(call),
            Reader::GitRun => self.git_run(call),
            Reader::Python | Reader::Node | Reader::Perl | Reader::Ruby | Reader::Php | Reader::Lua => {
                if !self.only_checks(call) {
                    self.interpreter(reader, call);
                }
            }
            Reader::Compiler => self.compiler(call),
            Reader::Sql => self.sql(call),
            Reader::Redis => self.redis(call),
            Reader::Http => self.http(call),
            Reader::Lookup => self.lookup(call),
            Reader::Rsync => self.rsync(call),
            Reader::Crontab => self.crontab(call),
            Reader::Kill => self.kill(call),
            Reader::Mongo => self.mongo(call),
            Reader::Inside => self.inside(call),
            Reader::Project => self.project(call),
            Reader::Tasks => self.tasks(call),
            Reader::Scripts => self.scripts(call),
            Reader::Runtime => self.runtime(call),
            Reader::Workspace => self.workspace(call),
            Reader::GitRemote => self.git_remote(call),
            Reader::Cmake => self.cmake(call),
            Reader::UvPip => self.uv_pip(call),
            Reader::Pytest => self.pytest(call),
            Reader::Editor => self.editor(call),
            Reader::Build => self.build(call),
            Reader::GitLists => self.git_lists(call),
            Reader::Archive => self.archive(call),
            Reader::Opens => self.opens(call),
        }
        None
    }
}
