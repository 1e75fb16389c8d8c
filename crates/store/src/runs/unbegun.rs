//! A journal that has at most its header: whoever began it was killed at once, or is just beginning.
//!
//! There is nothing in it to go on with, so it is no run: nothing lists it, and its name may be taken again once
//! nobody holds its lease.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;

use adjutant_core::trace::{Body, Event, Line, RunEvent, TRACE_VERSION, wire};
use adjutant_core::words::id::RunId;
use jiff::Timestamp;

use super::RunFiles;
use super::summary::part;
use crate::home::{Home, JOURNAL_ENDING, LEASE_ENDING};
use crate::lease::{LeaseContent, Owner};
use crate::plain_file;

/// The longest file that is taken for a beginning, in bytes: a header is a few hundred.
pub(super) const BYTES_MAX: u64 = 4 * 1024;

/// Beginning of every journal of ours.
const FIRST_BYTES: &[u8] = br#"{"seq":0,"at":""#;

/// Returns true if these are the files of a run that never began.
pub(super) fn are(files: &RunFiles) -> bool {
    files.session.is_none() && files.trace.as_deref().is_some_and(is)
}

/// Returns true if the name of these files may be taken for another run: it never began, and no process is beginning
/// it.
pub(super) fn are_free(home: &Home, name: &str, files: &RunFiles, seer: &Owner, now: Timestamp) -> bool {
    let Ok(run_id) = name.parse::<RunId>() else { return false };
    // A lease that can't be read may be anybody's.
    let lease = LeaseContent::read(&home.lease(&run_id));
    are(files) && lease.is_ok_and(|lease| lease.is_none_or(|lease| !lease.is_alive(seer, now)))
}

/// Returns true if the file at `path` is a journal that never began.
fn is(path: &Path) -> bool {
    let plain = path.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() <= BYTES_MAX);
    plain && plain_file::open(path).is_ok_and(|file| holds_nothing(&file)) && !was_longer(path)
}

/// Returns true if the lease beside the journal at `path` names a line after the header, or can't be read: then lines
/// that were there are missing.
fn was_longer(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).and_then(|name| name.strip_suffix(JOURNAL_ENDING));
    let Some(name) = name else { return true };
    match LeaseContent::read(&path.with_file_name(format!("{name}{LEASE_ENDING}"))) {
        Ok(lease) => lease.and_then(|lease| lease.written_to()).is_some_and(|seq| seq > 0),
        Err(_) => true,
    }
}

/// Returns true if an open journal has no whole line but its header, and only the beginning of a line of ours after it:
/// the run's task is on the line after the header. A power cut may leave zeros.
pub(crate) fn holds_nothing(journal: &File) -> bool {
    let Ok(bytes) = part(journal, 0, BYTES_MAX + 1) else { return false };
    let is_ours = bytes.starts_with(FIRST_BYTES) || FIRST_BYTES.starts_with(&bytes);
    let is_beginning = match memchr::memchr(b'\n', &bytes) {
        None => is_ours,
        Some(end) => is_header(&bytes[..end]) && !bytes[end + 1..].contains(&b'\n'),
    };
    bytes.len() as u64 <= BYTES_MAX && (is_beginning || bytes.iter().all(|byte| *byte == 0))
}

fn is_header(line: &[u8]) -> bool {
    let line = std::str::from_utf8(line).ok().and_then(|line| wire::decode(line).ok());
    matches!(line, Some(Line::Event(Event { seq: 0, body: Body::Run(RunEvent::TraceVersion { version, .. }), .. })) if version <= TRACE_VERSION)
}
