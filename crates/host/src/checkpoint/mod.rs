//! The content of a working tree: its identity, checkpoints of it, and the way back to one.
//!
//! In: the workdir, and for checkpoints the name of a run. Out: a [`TreeLook`], whose id is the same whenever the
//! content is, whatever was committed or staged in between; commits under `refs/adjutant/loop/<run>/`, which are part
//! of no branch; and a working tree whose files are as they were at a checkpoint.
//!
//! All three are about what is committed or could be: tracked and untracked files below the workdir. Ignored files
//! are not covered, by the rules of the repository alone (the user's own settings of Git aren't read). The folder
//! `.adjutant/` of the workdir is left out, also where it is tracked: what a loop writes there is no work.
//!
//! Git works on a repository of ours in a temporary folder, with an index of its own (`shadow.rs`): no hook, filter,
//! setting or watcher of the user's repository runs, and files are taken byte for byte, whatever it says of line
//! endings. Begin with [`look`]; `index.rs` fills that index, `walk.rs` is for a workdir in no repository, `keep.rs`
//! has the checkpoints, `rewind.rs` the way back.

mod index;
mod keep;
mod look;
mod name;
mod rewind;
mod shadow;
#[cfg(test)]
mod tests;
mod walk;

use std::io;
use std::time::Duration;

pub use keep::{Checkpoint, DifferingPaths, differing_paths, keep, list, remove_old};
pub use look::{TreeIdentity, TreeLook, look};
pub use name::CheckpointName;
pub use rewind::{Rewound, rewind};
use thiserror::Error;

/// The folder of the workdir that belongs to no tree: a loop's own files.
pub const OWN_FOLDER: &str = ".adjutant";

/// The most checkpoints of a run that [`remove_old`] leaves.
pub const CHECKPOINTS_MAX: usize = 50;

/// The most paths that [`differing_paths`] names.
pub const DIFFERING_PATHS_MAX: usize = 200;

/// The limits for reading a tree. Beyond one of them the tree is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeLimits {
    /// Number of files.
    pub files: usize,
    /// Bytes of the files that Git doesn't have yet; in no repository, of all files.
    pub bytes: u64,
    /// Bytes up to which every file is read, in place of trusting what the repository's index says of it.
    pub read_bytes: u64,
    /// Time for all of it.
    pub time: Duration,
}

impl Default for TreeLimits {
    /// 200,000 files, 1 GiB, all read up to 512 MiB, and one minute.
    fn default() -> Self {
        Self { files: 200_000, bytes: 1 << 30, read_bytes: 512 << 20, time: Duration::from_secs(60) }
    }
}

/// Reason why a checkpoint can't be made, found or gone back to.
#[derive(Debug, Error)]
pub enum CheckpointError {
    /// The workdir is in no repository.
    #[error(
        "the working directory is in no Git repository, and checkpoints are kept in one: run `git init` there first"
    )]
    NoRepository,
    /// There is no such checkpoint.
    #[error("run {run} has no checkpoint {name}; it may have been removed since: only the last {CHECKPOINTS_MAX} stay")]
    Gone {
        /// The run.
        run: String,
        /// The checkpoint.
        name: CheckpointName,
    },
    /// The name of the run can't be part of a ref's name.
    #[error("`{0}` can't name a run in Git: use letters, digits, `-`, `_` and single dots")]
    RunName(String),
    /// The tree is too large.
    #[error("the working tree is too large for a checkpoint: {0}")]
    TooLarge(String),
    /// Git, or the system, failed.
    #[error("can't use the repository: {0}")]
    Failed(#[from] io::Error),
}
