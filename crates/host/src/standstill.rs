//! How a workdir is while a run stands still, so that what others changed meanwhile can be told.
//!
//! In: the workdir, when the run stops to wait and when it goes on. Out: the paths that differ, and what is checked
//! out if that moved. Between the two nothing of the run is at work, so whatever differs is somebody else's doing.
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

/// How a workdir is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standstill {
    tree: Tree,
    head: Option<String>,
}

impl Standstill {
    /// How `workdir` is now.
    ///
    /// # Errors
    ///
    /// As [`Tree::now`]: too much is there.
    pub fn of(workdir: &Path) -> io::Result<Self> {
        Ok(Self { tree: Tree::now(workdir)?, head: rescue::head(workdir) })
    }

    /// What differs in `workdir` now; `None` if nothing does.
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

    /// What the file `kept` has, which is then gone: it is true only as long as nobody goes on.
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
