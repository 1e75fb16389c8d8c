//! Whether journals in another folder of sessions share the rest of a home: its contents, and what is kept for undo.
//!
//! A driver leaves a mark when it begins or takes over a run elsewhere; where that is nobody knows once it is not
//! looked at. So whoever removes asks here first.

use std::fs::File;
use std::io;

use crate::home::{Home, make_folder};

/// Leaves the mark, if the journals of `home` lie elsewhere.
///
/// # Errors
///
/// If it can't be written.
pub(crate) fn mark(home: &Home) -> io::Result<()> {
    if home.has_sessions_elsewhere() {
        make_folder(home.root())?;
        File::options().create(true).append(true).open(home.shared_mark())?;
    }
    Ok(())
}

/// Whether what is in `home` beside its journals may belong to journals that are not looked at.
pub(crate) fn is(home: &Home) -> bool {
    home.has_sessions_elsewhere() || home.shared_mark().try_exists().unwrap_or(true)
}
