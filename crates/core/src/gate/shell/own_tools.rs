//! Programs that a project has in its own folders: wrappers of builds, and what a package manager put there.
//!
//! They are the project's own work, as its makefile is. A file of such a name outside of the working folder, or one
//! that the line itself writes, is not.

use super::args::ArgValue;
use super::expand::ShellWord;
use super::readers::ProgramCall;
use super::walk::{ShellWalk, StandardInput};
use crate::gate::effect::{Act, UNKNOWN};

/// Folders into which package managers put the tools that a project declares.
const TOOL_FOLDERS: [&str; 6] =
    ["node_modules/.bin", "vendor/bin", ".venv/bin", "venv/bin", "env/bin", "node_modules/.pnpm/node_modules/.bin"];

/// The tools that frameworks put into `bin`.
const STUBS: [&str; 10] =
    ["rails", "rake", "rspec", "bundle", "rubocop", "brakeman", "standardrb", "phpunit", "spring", "console"];

/// Wrappers that a project has beside its build, in any of its folders.
const WRAPPERS: [&str; 9] =
    ["gradlew", "mvnw", "gradlew.bat", "mvnw.cmd", "manage.py", "artisan", "mill", "sbt", "bazelisk"];

/// Scripts by which a shell enters the environment of a project.
const ENVIRONMENTS: [&str; 4] =
    [".venv/bin/activate", "venv/bin/activate", "env/bin/activate", ".venv/Scripts/activate"];

impl ShellWalk<'_> {
    /// True if `name`, which has a folder, is a tool of the project's own.
    pub(super) fn is_own_tool(&self, name: &str) -> bool {
        let path = self.plain(name);
        if path == UNKNOWN || path.starts_with(['/', '~']) || !self.may_be_own(name) {
            return false;
        }
        let (folder, base) = path.rsplit_once('/').unwrap_or(("", &path));
        let lies_in =
            |known: &str| folder.strip_suffix(known).is_some_and(|above| above.is_empty() || above.ends_with('/'));
        let is_tool = TOOL_FOLDERS.iter().any(|known| lies_in(known));
        let is_stub = lies_in("bin") && STUBS.contains(&base);
        (is_tool || is_stub || WRAPPERS.contains(&base)) && self.programs.knows(base) && !self.writes(&path)
    }

    /// Returns whether `name` puts the tools of the project's own environment on the way: `.venv/bin/activate`.
    pub(super) fn is_own_environment(&self, name: &str) -> bool {
        let path = self.plain(name);
        let is_inside = path != UNKNOWN && !path.starts_with(['/', '~']) && self.may_be_own(name);
        let ends_so =
            |known: &&str| path.strip_suffix(*known).is_some_and(|above| above.is_empty() || above.ends_with('/'));
        is_inside && ENVIRONMENTS.iter().any(ends_so) && !self.writes(&path)
    }

    /// A path that leaves the working folder on its way may come back by a link that nobody looked at.
    fn may_be_own(&self, name: &str) -> bool {
        !name.starts_with(['/', '~']) && !name.split('/').any(|segment| segment == "..")
    }

    /// True if the line changes the file at `path`, or one that may be it.
    fn writes(&self, path: &str) -> bool {
        self.effects().iter().any(|effect| match &effect.act {
            Act::Write(target) | Act::Overwrite(target) => {
                target.path == path || target.is_pattern || path.starts_with(&format!("{}/", target.path))
            }
            Act::Delete(_) | Act::Contact { .. } | Act::Denied { .. } | Act::Unreadable | Act::Other => false,
        })
    }

    /// A script that an interpreter runs: `python manage.py test`, `php vendor/bin/phpunit`. Says whether it is a tool
    /// of the project's own, which is then read.
    pub(super) fn own_script(&mut self, script: &ShellWord, rest: &[ShellWord], input: &StandardInput) -> bool {
        let Some(name) = script.known().filter(|_| !script.is_pattern()) else { return false };
        let whole = if name.contains('/') { name.to_owned() } else { format!("./{name}") };
        let is_own = self.is_own_tool(&whole);
        if is_own {
            self.program(&whole, rest, input);
        }
        is_own
    }

    /// `node --test`: the project's own tests, unless they lie elsewhere. Says whether it is that.
    pub(super) fn node_tests(&mut self, first: Option<&ShellWord>, rest: &[ShellWord], call: ProgramCall<'_>) -> bool {
        if !call.words.iter().any(|word| word.known() == Some("--test")) {
            return false;
        }
        if first.into_iter().chain(rest).any(|word| word.known().is_none_or(|path| self.is_outside(path))) {
            self.opaque("", "runs a file whose content is not known");
        }
        let reporters = call.args.options.iter().filter(|(option, _)| option == "--test-reporter");
        if reporters.into_iter().any(|(_, value)| !is_own_reporter(*value)) {
            self.opaque("", "loads code that is not known");
        }
        true
    }
}

/// True if a reporter of `node --test` comes with node.
pub(super) fn is_own_reporter(value: Option<ArgValue<'_>>) -> bool {
    matches!(value.and_then(ArgValue::text), Some("spec" | "tap" | "dot" | "junit" | "lcov"))
}
