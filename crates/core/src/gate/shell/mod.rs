//! Reads a shell command line and says what it would do.
//!
//! In: the text that an agent wants to run, the shell, and where it would run. Out: a [`ShellReading`] with the effects
//! of all that it would run, wherever that stands: in lists, loops, substitutions, here-documents, behind `sudo` or
//! `xargs`, in `sh -c`. What can't be read before it runs is [`Opaque`](super::Verdict::Opaque). Words that are
//! data stay data.
//!
//! Expands nothing that it can't prove and runs nothing. It is advice to the gate: the sandbox is the boundary.
//!
//! Begin with [`read`]. A line becomes words and operators (`lexer.rs`), then a tree (`grammar.rs`, or `plain.rs` for
//! plain lines; `unread.rs` guesses at what is neither), `walk.rs` goes through it, `expand.rs` evaluates words,
//! `program.rs` asks the table of programs (`programs.rs`, `programs.json`) and the readers in `readers/`. What
//! variables change is in `environment.rs`, what runs only together with another part of the line in `clues.rs`.

mod args;
mod clues;
mod command_rule;
mod environment;
mod expand;
mod grammar;
mod lexer;
mod names;
mod option_variables;
mod own_tools;
mod paths;
mod pitfalls;
mod plain;
mod program;
mod programs;
mod readers;
mod spoken;
mod tree;
mod unread;
mod variables;
mod walk;
mod word;

pub(in crate::gate) mod decide;

#[cfg(test)]
mod table_tests;
#[cfg(test)]
mod tests;

use super::effect::Effect;
use super::places::Places;

pub use command_rule::{BadCommandRule, CommandRule, RuleTexts};
pub use decide::decide;
pub use grammar::catches_panics_of;
pub use programs::{BadProgram, Operands, ProgramEntry, ProgramRule, Programs, Reader, WordList};
pub use spoken::spoken;

/// The longest command that is read, in bytes, without comments.
pub const LINE_BYTES_MAX: usize = 64 * 1024;

/// The shell whose grammar a line follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// bash, and what its users may use.
    Bash,
    /// POSIX sh, dash.
    Sh,
    /// Any other: reports the effects that the line would have in bash, and that it can't be read.
    Other,
}

impl Dialect {
    /// The dialect of the shell called `name`, with or without its folder.
    #[must_use]
    pub fn of(name: &str) -> Self {
        match name.rsplit('/').next().unwrap_or_default() {
            "bash" => Self::Bash,
            "sh" | "dash" | "ash" => Self::Sh,
            _ => Self::Other,
        }
    }
}

/// The surroundings in which a line would run.
#[derive(Debug, Clone, Copy)]
pub struct ShellContext<'a> {
    /// The shell that would run it.
    pub shell: Dialect,
    /// The folder it would run in, in plain form (see [`Places::plain`]).
    pub folder: &'a str,
    /// The paths that the gate has to know.
    pub places: &'a Places,
    /// The table of programs.
    pub programs: &'a Programs,
}

/// The effects of a line, and the programs it runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShellReading {
    /// Every effect, in the order in which they were found.
    pub effects: Vec<Effect>,
    /// The names of the programs that would run, each once, sorted, as far as the line itself shows them: those that
    /// a program runs (`sudo`, `xargs`, `sh -c`) are not among them. `?` is a name that the shell computes, `>` a
    /// redirection that empties a file, `ERR` a line that can't be read.
    pub runs: Vec<String>,
}

/// True if the whole of `line` follows the grammar of its shell.
#[must_use]
pub fn parses(line: &str, shell: Dialect) -> bool {
    shell != Dialect::Other && (plain::parse(line).is_some() || grammar::parse(line, shell).is_ok())
}

/// Reads `line`. Total: what it runs that can't be known is an opaque effect, what of its text can't be read is
/// [`Act::Unreadable`](super::Act::Unreadable).
#[must_use]
pub fn read(line: &str, context: &ShellContext<'_>) -> ShellReading {
    walk::read(line, context)
}
