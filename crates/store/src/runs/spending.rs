//! The lines of a journal that tell what a run cost.

use std::io;
use std::path::Path;

use adjutant_core::trace::{EventKind, wire};

use super::summary::glance;
use crate::chain;
use crate::scan::{Use, scan_file};

/// The types of events that say who was asked, at which prices, and what a turn used.
const NEEDED: [EventKind; 4] =
    [EventKind::RunStart, EventKind::RunResume, EventKind::AgentRequest, EventKind::AgentReply];

/// The part of a journal that its cost is made from, with the number of lines that don't fit together.
#[derive(Debug, Default)]
pub struct TurnLines {
    /// The lines about turns, with their numbers.
    pub lines: Vec<(u64, String)>,
    /// Number of lines that don't carry the hash of the line before.
    pub breaks: u64,
}

/// Returns the lines of the journal at `path` that its cost is made from; all others are passed over unread, but for the
/// hash that each carries.
///
/// # Errors
///
/// If it can't be read.
pub fn turn_lines(path: &Path) -> io::Result<TurnLines> {
    let (mut lines, mut breaks) = (Vec::new(), 0);
    let mut before: Option<String> = None;
    scan_file(path, |number, line| {
        let hash = before.replace(wire::line_hash(line.as_bytes()).to_string());
        // A last line that is still being written, or was torn, carries no hash yet.
        let fits = |hash: String| chain::prev(line.as_bytes()) == Some(hash.as_bytes()) || !line.ends_with('}');
        breaks += u64::from(hash.is_some_and(|hash| !fits(hash)));
        if glance(line).is_some_and(|(_, kind)| kind.is_some_and(|kind| NEEDED.contains(&kind))) {
            lines.push((number, line.to_owned()));
        }
        Use::Taken
    })?;
    Ok(TurnLines { lines, breaks })
}
