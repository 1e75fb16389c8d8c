//! The grants that a project keeps: one file of lines that only grows.
//!
//! In: a folder, grants, ids and times. Out: what holds. Several processes may write at once: each line is written
//! under a lock, whole, and is on the disk when it counts. What a line means is `core`'s
//! ([`Kept`]).

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use adjutant_core::gate::Grant;
use adjutant_core::gate::grant_line::{self, Kept};
use adjutant_ports::GrantStore;
use jiff::Timestamp;

use crate::own_lines;

/// The name of the file in a project's folder (the peer's).
pub const GRANTS_FILE: &str = "permission_grants.jsonl";

/// The longest file that is read, in bytes: some ten thousand grants. A longer one is an error, not a short list.
const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// The file of a project's grants, which need not exist yet.
#[derive(Debug, Clone)]
pub struct GrantFile {
    folder: PathBuf,
    /// The revocations as they were read last: a run asks before each of its steps, and the file seldom changes.
    revoked: Arc<Mutex<Option<ReadRevocations>>>,
}

/// The revocations that a file names, with the state in which the file was when they were read.
#[derive(Debug)]
struct ReadRevocations {
    file: FileState,
    revoked: BTreeSet<String>,
}

/// Facts by which a file that was changed or replaced is told from what it was.
#[derive(Debug, PartialEq, Eq)]
struct FileState {
    device: u64,
    inode: u64,
    size: u64,
    /// Changes with content, owner, mode and names.
    changed: (i64, i64),
}

impl FileState {
    /// Returns the state of what lies at `path`; `None` if nothing does.
    fn of(path: &Path) -> io::Result<Option<Self>> {
        match fs::symlink_metadata(path) {
            Ok(found) => Ok(Some(Self {
                device: found.dev(),
                inode: found.ino(),
                size: found.size(),
                changed: (found.ctime(), found.ctime_nsec()),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl GrantFile {
    /// The file in a project's folder.
    #[must_use]
    pub fn new(project: impl Into<PathBuf>) -> Self {
        Self { folder: project.into(), revoked: Arc::default() }
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.join(GRANTS_FILE)
    }

    /// Reads the file; empty if it doesn't exist.
    ///
    /// # Errors
    ///
    /// If it can't be read, is no plain file that only this user can write, or is longer than any list of grants.
    pub fn read(&self) -> io::Result<Kept> {
        let bytes = own_lines::read(&self.path(), FILE_BYTES_MAX)?;
        Ok(Kept::read(&String::from_utf8_lossy(&bytes.unwrap_or_default())))
    }

    /// Takes a grant back. Doing it twice changes nothing.
    ///
    /// # Errors
    ///
    /// If it is not on the disk.
    pub fn revoke(&self, grant_id: &str, at: Timestamp) -> io::Result<()> {
        self.append(&grant_line::revoked(grant_id, at), |kept| kept.revoked.contains(grant_id))
    }

    /// Returns those of these grants that the file revokes.
    fn revoked_of(&self, grants: &[&str]) -> io::Result<Vec<String>> {
        // Looked at before the file is read: what is written meanwhile is read the next time.
        let Some(file) = FileState::of(&self.path())? else { return Ok(Vec::new()) };
        let mut known = self.revoked.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|known| known.file != file) {
            *known = None;
            *known = Some(ReadRevocations { file, revoked: self.read()?.revoked });
        }
        let is_revoked = |grant: &&&str| known.as_ref().is_some_and(|known| known.revoked.contains(**grant));
        Ok(grants.iter().filter(is_revoked).map(|grant| (*grant).to_owned()).collect())
    }

    /// Writes one line, unless what is there says it already.
    fn append(&self, line: &str, is_said: impl FnOnce(&Kept) -> bool) -> io::Result<()> {
        let mut locked = own_lines::lock(&self.path(), FILE_BYTES_MAX)?;
        if is_said(&Kept::read(&String::from_utf8_lossy(&locked.bytes))) {
            return Ok(());
        }
        locked.append(&[line.to_owned()])
    }
}

impl GrantStore for GrantFile {
    fn revoked(&self, grants: &[&str]) -> Vec<String> {
        let all = || grants.iter().map(|grant| (*grant).to_owned()).collect();
        self.revoked_of(grants).unwrap_or_else(|_| all())
    }

    fn keep(&self, grant: &Grant) -> Result<(), String> {
        self.append(&grant_line::granted(grant), |kept| kept.knows(&grant.grant_id))
            .map_err(|error| format!("can't keep the grant in `{}`: {error}", self.path().display()))
    }
}

/// The files of all projects that keep grants, with the projects' names.
///
/// # Errors
///
/// If the folder of projects can't be read.
pub fn all(home: &Path) -> io::Result<Vec<(String, GrantFile)>> {
    let projects = match fs::read_dir(home.join("projects")) {
        Ok(projects) => projects,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for project in projects {
        let project = project?;
        let file = GrantFile::new(project.path());
        // What is no file is told when it is read.
        if fs::symlink_metadata(file.path()).is_ok() {
            files.push((project.file_name().to_string_lossy().into_owned(), file));
        }
    }
    files.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use adjutant_core::words::{Category, Lasts};

    use super::*;

    fn grant(id: &str) -> Grant {
        Grant {
            grant_id: id.to_owned(),
            action: "a".to_owned(),
            reasoning: "r".to_owned(),
            categories: vec![Category::new("filesystem_write")],
            tool: None,
            command: None,
            path: None,
            act: None,
            lasts: Lasts::Persistent,
            until: None,
            uses: None,
            granted_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_grant_holds_until_it_is_revoked() {
        let temp = tempfile::tempdir().expect("a folder");
        let file = GrantFile::new(temp.path().join("projects/p"));
        assert_eq!(file.read().expect("nothing is no error"), Kept::default());
        assert!(file.revoked(&["a"]).is_empty());
        for id in ["a", "b", "a"] {
            file.keep(&grant(id)).expect("kept");
        }
        assert!(file.revoked(&["a", "b"]).is_empty());
        assert_eq!(file.read().expect("read").grants, [grant("a"), grant("b")]);
        for _ in 0..2 {
            GrantFile::new(temp.path().join("projects/p")).revoke("a", Timestamp::UNIX_EPOCH).expect("revoked");
        }
        file.keep(&grant("a")).expect("a revoked one stays revoked");
        assert_eq!(file.revoked(&["a", "b"]), ["a"]);
        assert_eq!(file.read().expect("read").grants, [grant("b")]);
        assert_eq!(fs::read_to_string(file.path()).expect("there").lines().count(), 3);
        assert_eq!(all(temp.path()).expect("read").len(), 1);
    }

    #[test]
    fn a_torn_line_takes_no_other_with_it() {
        let temp = tempfile::tempdir().expect("a folder");
        let file = GrantFile::new(temp.path());
        fs::write(file.path(), "{\"v\":1,\"op\":\"gra").expect("torn");
        file.keep(&grant("a")).expect("kept");
        let kept = file.read().expect("read");
        assert_eq!((kept.grants.len(), kept.skipped.len()), (1, 1));
    }

    #[test]
    fn what_cannot_be_read_counts_as_revoked() {
        let temp = tempfile::tempdir().expect("a folder");
        let file = GrantFile::new(temp.path());
        fs::create_dir(file.path()).expect("a folder in its place");
        assert_eq!(file.revoked(&["a", "b"]), ["a", "b"]);
        assert!(file.keep(&grant("a")).expect_err("no file").contains("permission_grants.jsonl"));
        fs::remove_dir(file.path()).expect("removed");
        fs::write(temp.path().join("elsewhere"), grant_line::granted(&grant("a"))).expect("written");
        std::os::unix::fs::symlink(temp.path().join("elsewhere"), file.path()).expect("linked");
        file.read().expect_err("a link is followed nowhere");
    }
}
