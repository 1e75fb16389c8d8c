//! The lines of a journal that tell what a run cost.

use std::io;
use std::path::Path;

use adjutant_core::trace::EventKind;

use super::summary::glance;
use crate::scan::{Use, scan_file};

/// The types of events that say who was asked, at which prices, and what a turn used.
const NEEDED: [EventKind; 4] =
    [EventKind::RunStart, EventKind::RunResume, EventKind::AgentRequest, EventKind::AgentReply];

/// Returns the lines of the journal at `path` that its cost is made from, with their numbers; all other lines are passed
/// over unread.
///
/// # Errors
///
/// If it can't be read.
pub fn turn_lines(path: &Path) -> io::Result<Vec<(u64, String)>> {
    let mut lines = Vec::new();
    scan_file(path, |number, line| {
        if glance(line).is_some_and(|(_, kind)| kind.is_some_and(|kind| NEEDED.contains(&kind))) {
            lines.push((number, line.to_owned()));
        }
        Use::Taken
    })?;
    Ok(lines)
}
