//! Records the state of a workdir while a run stands still, so that changes by others can be told.
//!
//! In: the workdir, when the run stops to wait and when it goes on. Out: the paths that differ, and the branch or
//! commit that is checked out if it moved. Between the two nothing of the run is at work, so every difference was made
//! by others.
//!
//! Begin with [`Standstill::of`].

use std::fs;
use std::io;
use std::path::Path;

use adjutant_core::gate::custody::FolderChange;
use serde::{Deserialize, Serialize};

use crate::rescue;
use crate::working_tree::{Tree, write_whole};

/// The folder of the home in which each run that stands still has a file.
pub const KEPT_IN: &str = "standstill";

/// The state of a workdir.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standstill {
    tree: Tree,
    head: Option<String>,
}

impl Standstill {
    /// Records the present state of `workdir`.
    ///
    /// # Errors
    ///
    /// As [`Tree::now`]: too much is there.
    pub fn of(workdir: &Path) -> io::Result<Self> {
        Ok(Self { tree: Tree::now(workdir)?, head: rescue::head(workdir) })
    }

    /// Returns the differences in `workdir` now; `None` if there are none.
    ///
    /// # Errors
    ///
    /// As [`Tree::changed`].
    pub fn changed(&self, workdir: &Path) -> io::Result<Option<FolderChange>> {
        Ok(FolderChange::of(self.tree.changed(workdir)?, self.head.clone(), rescue::head(workdir)))
    }

    /// Keeps it in the file `kept`, whole or not at all.
    ///
    /// # Errors
    ///
    /// If it can't be written.
    pub fn save(&self, kept: &Path) -> io::Result<()> {
        write_whole(kept, self)
    }

    /// Reads the state from the file `kept` and removes the file: the state is true only as long as no run goes on.
    ///
    /// # Errors
    ///
    /// If it is not there or can't be read.
    pub fn take(kept: &Path) -> io::Result<Self> {
        let text = fs::read(kept)?;
        fs::remove_file(kept)?;
        Ok(serde_json::from_slice(&text)?)
    }
}
