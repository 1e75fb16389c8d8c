//! Keeps what a call may destroy, before it is carried out, and puts it back.
//!
//! In: the workdir and how much of it matters ([`Extent`](adjutant_core::gate::rescue::Extent)). Out: a *rescue*: a
//! folder in our home with a manifest of every file that was kept. In a repository the content of what git knows, or
//! would take, is a commit under a ref of ours; everything else is a copy beside the manifest, up to a limit, and what
//! did not fit is counted and named. Before a call that may destroy the repository itself, the commit is in a
//! repository of the run's own in our home. Neither the index of the repository nor its HEAD is touched.
//!
//! A rescue is whole once its folder has its name: whoever is killed before leaves a folder that nobody reads.
//! Restoring writes what was lost or changed and leaves alone what came later.
//!
//! Begin with [`Rescues::keep`]; `listing.rs` says what belongs to an extent, `git.rs` speaks to git and keeps the
//! repository, which nobody vouches for, from running anything. `restore.rs` has the way back, `compare.rs` what became
//! of the workdir since.

mod compare;
pub(crate) mod git;
mod head;
mod keep;
mod listing;
mod manifest;
mod restore;
#[cfg(test)]
mod tests;

use std::fs::DirEntry;
use std::path::{Path, PathBuf};

pub use compare::{APPLY, MadeFile, PathChange, RUN, START, WholeChange, obstacle, put, state_of};
pub use git::head;
pub use head::checked_out;
pub use keep::{KeptRescue, Occasion};
pub use manifest::{Manifest, RescueEntry, Store, Touched};
pub use restore::{Change, Difference, NotRestored, Plan, Reach, UNDO};

/// The most bytes that are copied for one rescue: 64 MiB.
pub const COPY_BYTES_MAX: u64 = 64 << 20;
/// The most files that are copied for one rescue.
pub const COPY_FILES_MAX: u64 = 5_000;
/// The most bytes that one rescue hands to git: 1 GiB. What it has already takes no room.
pub const GIT_BYTES_MAX: u64 = 1 << 30;
/// The most files that one rescue hands to git.
pub const GIT_FILES_MAX: u64 = 100_000;
/// The largest file that is kept: 64 MiB, since it is held in memory for a moment.
pub const FILE_BYTES_MAX: u64 = 64 << 20;

/// The rescues of one run: a folder below `rescue` of our home.
#[derive(Debug, Clone)]
pub struct Rescues {
    home: PathBuf,
    run: String,
}

impl Rescues {
    /// Those of the run `run`, in the home `home`.
    #[must_use]
    pub fn of(home: &Path, run: &str) -> Self {
        Self { home: home.to_owned(), run: run.to_owned() }
    }

    /// Returns the folder of the rescues of all runs, each in a folder of the run's name.
    #[must_use]
    pub fn of_all(home: &Path) -> PathBuf {
        home.join("rescue")
    }

    /// Returns the folder of this run's rescues.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        Self::of_all(&self.home).join(&self.run)
    }

    /// All that are whole, oldest first. A manifest that can't be read is left out.
    #[must_use]
    pub fn list(&self) -> Vec<Manifest> {
        let Ok(entries) = std::fs::read_dir(self.folder()) else { return Vec::new() };
        let has_its_name = |entry: &DirEntry| !entry.file_name().as_encoded_bytes().starts_with(b".");
        let folders = entries.flatten().filter(has_its_name).map(|entry| entry.path());
        let mut all: Vec<Manifest> = folders.filter_map(|folder| Manifest::read(&folder).ok()).collect();
        all.sort_by(|one, other| one.made_at_ms.cmp(&other.made_at_ms).then_with(|| one.name.cmp(&other.name)));
        all
    }
}
