//! A journal whose first line was never written whole: whoever began it was killed at once, or is just beginning.
//!
//! There is nothing in it to go on with, so it is no run: nothing lists it, and its name may be taken again once
//! nobody holds its lease.

use std::fs::File;
use std::path::Path;

use adjutant_core::id::RunId;
use jiff::Timestamp;

use super::Files;
use super::summary::part;
use crate::home::Home;
use crate::lease::{Content, Owner};
use crate::plain_file;

/// The longest file that is taken for a beginning, in bytes: a header is a few hundred.
pub(super) const BYTES_MAX: u64 = 4 * 1024;

/// How every journal of ours begins.
const FIRST_BYTES: &[u8] = br#"{"seq":0,"at":""#;

/// Whether these are the files of a run that never began.
pub(super) fn are(files: &Files) -> bool {
    files.session.is_none() && files.trace.as_deref().is_some_and(is)
}

/// Whether the name of these files may be taken for another run: it never began, and nobody is beginning it.
pub(super) fn are_free(home: &Home, name: &str, files: &Files, seer: &Owner, now: Timestamp) -> bool {
    let Ok(run_id) = name.parse::<RunId>() else { return false };
    // A lease that can't be read may be anybody's.
    let lease = Content::read(&home.lease(&run_id));
    are(files) && lease.is_ok_and(|lease| lease.is_none_or(|lease| !lease.is_alive(seer, now)))
}

/// Whether the file at `path` is a journal that never began.
fn is(path: &Path) -> bool {
    let plain = path.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() <= BYTES_MAX);
    plain && plain_file::open(path).is_ok_and(|file| holds_nothing(&file))
}

/// Whether an open journal has no whole line, and nothing that is not the beginning of one of ours. A power cut may
/// leave zeros.
pub(crate) fn holds_nothing(journal: &File) -> bool {
    let Ok(bytes) = part(journal, 0, BYTES_MAX + 1) else { return false };
    let is_ours = bytes.starts_with(FIRST_BYTES) || FIRST_BYTES.starts_with(&bytes);
    let is_beginning = is_ours && !bytes.contains(&b'\n');
    bytes.len() as u64 <= BYTES_MAX && (is_beginning || bytes.iter().all(|byte| *byte == 0))
}
