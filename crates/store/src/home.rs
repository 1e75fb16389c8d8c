//! The home: one folder for everything that is kept, and the paths in it.
//!
//! In: explicit paths; the caller has read flags and environment. Out: paths, and folders made when something is first
//! put into them, for their owner alone. Reads and writes no file.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use adjutant_core::words::id::{RunId, Slug};

/// Ending of a journal's name; the peer's traces have the same ending.
pub const JOURNAL_ENDING: &str = ".trace.ndjson";

/// Ending of a lease's name.
pub const LEASE_ENDING: &str = ".lease";

/// Ending of a mailbox's name. Nothing else in the folder of sessions ends so, and no journal or session of the peer.
pub const MAILBOX_ENDING: &str = ".mailbox.jsonl";

/// Ending of the name of a pruned run's note.
pub const PRUNED_ENDING: &str = ".pruned";

/// The folder of everything that outlives a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
    sessions: PathBuf,
}

/// The name of a home's own folder of journals.
const SESSIONS: &str = "sessions";

/// A path without links, as far as it is there.
fn real(path: &Path) -> PathBuf {
    let parent = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    let as_written = || std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.canonicalize().ok().or_else(parent).unwrap_or_else(as_written)
}

impl Home {
    /// The home at `root`; journals lie in `sessions` if it is given, else in a folder of the home.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>, sessions: Option<PathBuf>) -> Self {
        let root = root.into();
        let sessions = sessions.unwrap_or_else(|| root.join(SESSIONS));
        Self { root, sessions }
    }

    /// The home itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of journals and leases.
    #[must_use]
    pub fn sessions(&self) -> &Path {
        &self.sessions
    }

    /// Returns true if journals lie in another folder than the home's own, however the two are written. A link in the
    /// place of the home's own is another folder: it may have led elsewhere before.
    #[must_use]
    pub fn has_sessions_elsewhere(&self) -> bool {
        let own = self.own_sessions();
        if self.sessions == own && !self.sessions.is_symlink() {
            return false;
        }
        real(&self.sessions) != real(&self.root).join(SESSIONS)
    }

    /// The home's own folder of journals, which may not be where they lie.
    #[must_use]
    pub fn own_sessions(&self) -> PathBuf {
        self.root.join(SESSIONS)
    }

    /// The folder with the names of runs whose journals lie elsewhere and share the rest of this home: an empty file
    /// for each. A name is never removed: nobody knows whether its run is still there.
    #[must_use]
    pub fn elsewhere(&self) -> PathBuf {
        self.root.join("sessions-elsewhere")
    }

    /// The folder of contents that are named by their hash.
    #[must_use]
    pub fn artifacts(&self) -> PathBuf {
        self.root.join("artifacts")
    }

    /// The folder with a folder for each project.
    #[must_use]
    pub fn projects(&self) -> PathBuf {
        self.root.join("projects")
    }

    /// The folder of what is remembered about a project.
    #[must_use]
    pub fn project(&self, project: &Slug) -> PathBuf {
        self.projects().join(project.as_str())
    }

    /// The operator's configuration.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// The keys of model APIs.
    #[must_use]
    pub fn keys(&self) -> PathBuf {
        self.root.join("keys.toml")
    }

    /// The store of what the operator trusts of projects.
    #[must_use]
    pub fn trust(&self) -> PathBuf {
        self.root.join("trust")
    }

    /// The hashes of what an operator was asked to trust and did not.
    #[must_use]
    pub fn declined(&self) -> PathBuf {
        self.root.join("declined")
    }

    /// The journal of a run.
    #[must_use]
    pub fn journal(&self, run_id: &RunId) -> PathBuf {
        self.sessions.join(format!("{run_id}{JOURNAL_ENDING}"))
    }

    /// The lease of a run.
    #[must_use]
    pub fn lease(&self, run_id: &RunId) -> PathBuf {
        self.sessions.join(format!("{run_id}{LEASE_ENDING}"))
    }

    /// The mailbox of a run.
    #[must_use]
    pub fn mailbox(&self, run_id: &RunId) -> PathBuf {
        self.sessions.join(format!("{run_id}{MAILBOX_ENDING}"))
    }

    /// Returns the path of the remembered counts of traces.
    #[must_use]
    pub fn rollups(&self) -> PathBuf {
        self.root.join("rollups.jsonl")
    }

    /// Returns the path of a pruned run's note, which keeps its name taken.
    #[must_use]
    pub fn pruned(&self, run_id: &RunId) -> PathBuf {
        self.sessions.join(format!("{run_id}{PRUNED_ENDING}"))
    }

    /// The folder with a file for each run that is at work in a folder.
    #[must_use]
    pub fn folders(&self) -> PathBuf {
        self.root.join("folders")
    }

    /// Returns the path of the record of questions that the operator was told of.
    #[must_use]
    pub fn notices(&self) -> PathBuf {
        self.root.join("notices.jsonl")
    }
}

/// Makes `folder` and what is missing above it, for its owner alone; leaves what exists as it is.
///
/// # Errors
///
/// If it can't be made, or something that is no folder is in its place.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_folder_of_sessions_can_lie_elsewhere() {
        let run_id: RunId = "a-r2".parse().expect("a name");
        let home = Home::new("/h", None);
        assert_eq!(home.journal(&run_id), Path::new("/h/sessions/a-r2.trace.ndjson"));
        assert_eq!(home.lease(&run_id), Path::new("/h/sessions/a-r2.lease"));
        let home = Home::new("/h", Some("/s".into()));
        assert_eq!(home.journal(&run_id), Path::new("/s/a-r2.trace.ndjson"));
        assert_eq!(home.project(&"orchard".parse().expect("a slug")), Path::new("/h/projects/orchard"));
    }

    #[test]
    fn a_folder_is_made_for_its_owner_alone() {
        let temp = tempfile::tempdir().expect("a folder");
        let folder = temp.path().join("a/b");
        make_folder(&folder).expect("made");
        make_folder(&folder).expect("made again");
        let mode = folder.metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
    }
}
