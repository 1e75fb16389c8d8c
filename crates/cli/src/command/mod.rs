//! One file per command: what can be typed, and what is done about it.

pub mod new;
pub mod validate;
pub mod roles;
pub mod say;
pub mod run;
pub mod loops;
pub mod resume;
pub mod inbox;
pub mod work;
pub mod list;
pub mod show;
pub mod diff;
pub mod apply;
mod changes;
pub mod inspect;
pub mod dashboard;
pub mod plan;
pub mod replay;
pub mod history;
pub mod learn;
pub mod trace;
pub mod undo;
pub mod decide;
pub mod explain;
pub mod grants;
pub mod memory;
pub mod framework;
pub mod tools;
pub mod adapters;
pub mod doctor;
pub mod trust;
pub mod completions;
pub mod man;
pub mod version;

use adjutant_core::trace::read::Trace;
use adjutant_core::words::visible::visible_json;
use adjutant_store::chain;
use adjutant_store::config::ConfigError;
use adjutant_store::runs::FindError;
use jiff::Timestamp;
use serde::Serialize;

use crate::exit::Ending;
use crate::failure::Failure;

/// Returns the ending of a command whose question was not answered with a yes: by an operator, or because none is there.
fn not_confirmed() -> anyhow::Result<Ending> {
    if std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        return Ok(Ending::Declined);
    }
    let what = "nothing was changed: nobody is there to be asked";
    Err(Failure::ending(Ending::Waiting, what).hint("look at what would change, then give --yes").into())
}

/// A run that was asked for and is not there.
fn not_found(error: FindError) -> anyhow::Error {
    Failure::of(Ending::Failed, &error, error.hint()).into()
}

/// A configuration that can't be used.
pub fn config_failure(error: &ConfigError) -> Failure {
    Failure::of(Ending::Usage, error, error.hint())
}

/// Warns of a journal of ours whose lines don't fit together. Where one of them is damaged that is said already.
fn warn_of_changes<'l>(run: &str, trace: &Trace<'_>, lines: impl Iterator<Item = &'l [u8]>) {
    if trace.is_ours() && trace.damaged.is_empty() && chain::breaks(lines) > 0 {
        tell!(
            "warning: the journal was changed after it was written, so this may not be what happened; `adjutant trace \
             verify {run}` says where"
        );
    }
}

/// Reads a time as a person types it: a day, which begins at midnight UTC, or a time.
fn parse_time(text: &str) -> Result<Timestamp, String> {
    adjutant_core::words::moment::since(text).ok_or_else(no_time)
}

/// The same for the end of something: a day is over when it is.
fn parse_end(text: &str) -> Result<Timestamp, String> {
    adjutant_core::words::moment::until(text).ok_or_else(no_time)
}

fn no_time() -> String {
    "a time is a day such as 2026-01-31, or like 2026-01-31T08:00:00Z, with its zone".to_owned()
}

/// Prints one JSON value on stdout.
fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let json = serde_json::to_string_pretty(value)? + "\n";
    // It stays the same JSON, and drives no terminal.
    if std::io::IsTerminal::is_terminal(&std::io::stdout()) { print(&visible_json(&json)) } else { print(&json) }
}

/// Prints a text on stdout; a reader that went away is no failure.
fn print(text: &str) -> anyhow::Result<()> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
