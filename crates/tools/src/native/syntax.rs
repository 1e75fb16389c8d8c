//! Asks a shell whether it can read a command line, before any of it is run.
//!
//! A shell runs a text command by command: what stands before a mistake has run by the time that it is found. The
//! shell's own `-n` reads everything and runs nothing. Lines that our grammar reads and that are one line need no
//! question: of these a shell runs all or nothing.

use std::ffi::OsString;
use std::time::Duration;

use adjutant_core::gate::shell::{Dialect, parses};
use adjutant_core::words::tool::ToolOutput;
use adjutant_host::custody::{Cause, Command, Ended};

/// Longest time that a shell may take to read a line; one that takes longer is not asked.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);

/// Shells that know `-n`.
const ASKABLE: [&str; 7] = ["bash", "sh", "dash", "ash", "ksh", "mksh", "zsh"];

/// Returns the command that asks `shell` about `line`; `None` if there is no need, or no way to ask.
pub(super) fn question(shell: &str, line: &str) -> Option<Vec<OsString>> {
    let name = shell.rsplit('/').next().unwrap_or_default();
    // What an alias stands for is known only when it runs.
    if !ASKABLE.contains(&name) || line.contains("alias") || (!line.contains('\n') && parses(line, Dialect::of(name))) {
        return None;
    }
    // Without the option that the line itself would set, a shell refuses patterns such as `!(a)`.
    let extended = name == "bash" && line.contains("extglob");
    let options: &[&str] = if extended { &["-O", "extglob", "-n", "-c"] } else { &["-n", "-c"] };
    Some(options.iter().map(OsString::from).chain([line.into()]).collect())
}

/// Returns the result for a line that its shell can't read; `None` if it can, or if it gave no answer.
pub(super) fn refusal(ended: &Ended) -> Option<ToolOutput> {
    let is_refused =
        ended.cause == Cause::Itself && ended.signal.is_none() && ended.exit_code.is_some_and(|code| code != 0);
    is_refused.then(|| {
        ToolOutput::failed(
            "SYNTAX_ERROR",
            format!(
                "The shell can't read this command, so none of it was run. It says:\n{}",
                ended.stderr.text().trim_end()
            ),
        )
    })
}

/// Returns the command that asks, as `command` would be run.
pub(super) fn asking(command: &Command, args: Vec<OsString>) -> std::io::Result<Command> {
    Ok(Command {
        program: command.program.clone(),
        args,
        folder: command.folder.try_clone()?,
        environment: command.environment.clone(),
        timeout: TIMEOUT,
        stream_bytes_max: command.stream_bytes_max,
        confinement: command.confinement.without_watch(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_shell_may_run_in_part_is_asked_about() {
        let asks = |shell, line| question(shell, line).is_some();
        for line in ["ls", "ls && rm x", "echo 'a b' | wc -l", "f() { ls; }; f"] {
            assert!(!asks("bash", line), "{line}");
        }
        for line in ["ls\nfi", "ls\npwd", "fi", "echo \"x"] {
            assert!(asks("bash", line) && asks("/bin/sh", line), "{line}");
        }
        assert!(asks("zsh", "ls"));
        assert!(!asks("python3", "ls\nfi"));
        assert!(!asks("bash", "alias a='if'\na true; then ls; fi"));
        assert_eq!(question("bash", "shopt -s extglob\nls !(a)").expect("it asks")[0], "-O");
    }
}
