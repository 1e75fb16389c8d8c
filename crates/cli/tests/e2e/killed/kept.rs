//! The whole folder of a test as a kill left it, put back as often as a run shall go on from there.
//!
//! It is put back at the same place, since a journal names absolute paths, with modes, times, links and pipes. What
//! `cp` can't keep are inodes and the times of their last change. A run that stood still knows the files of its
//! workdir by these, and by mode and content where these differ, so that a copy is nobody's change to it; leases and
//! claims live by their process, which is gone.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::home::TestHome;

/// Number of attempts at a copy: a file that a command was about to delete when it died with its driver may be gone
/// from one look to the next. Nothing deletes more after that.
const TRIES_MAX: usize = 3;

/// A copy of a test's folder.
pub struct KeptHome(TempDir);

impl KeptHome {
    /// Copies the folder as it is now.
    pub fn of(home: &TestHome) -> Self {
        for _ in 0..TRIES_MAX {
            let kept = tempfile::Builder::new().prefix("adjutant-kept-").tempdir().expect("a temporary folder");
            if copy_whole(&home.path(""), kept.path()) {
                return Self(kept);
            }
        }
        panic!("{} can't be copied", home.path("").display());
    }

    /// Puts the copy in place of whatever is in the folder now, in which no secret may have been left either.
    pub fn put_back(&self, home: &TestHome) {
        home.check_no_canary();
        for entry in fs::read_dir(home.path("")).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.expect("removed");
        }
        assert!(copy_whole(self.0.path(), &home.path("")), "it can be put back");
    }
}

/// Copies all that is in a folder. Returns false if something of it could not be copied.
fn copy_whole(from: &Path, to: &Path) -> bool {
    Command::new("cp").arg("-a").arg(from.join(".")).arg(to).status().expect("cp").success()
}
