//! The temporary folder of a run, and those that killed runs left.
//!
//! A folder also has how repositories were before the commands that are running. Where nobody is left to look at them
//! afterwards, it is done before the folder is removed.
//!
//! A folder is somebody's as long as its lock is held; the kernel gives it up with the process. Who makes a folder
//! removes those whose lock nobody holds.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

use super::watch::{RepositoryFinding, Watch};
use crate::removal::remove_tree;

/// Beginning of the names of our folders in the system's temporary folder.
const PREFIX: &str = "adjutant-run-";
/// Their mode: no rights for other users. What commands leave there is the operator's alone.
pub(super) const PRIVATE: u32 = 0o700;
/// The file in each that is locked.
const LOCK: &str = "lock";
/// Number of entries of the temporary folder that are looked at: it may be everybody's, and full.
const LOOKED_AT_MAX: usize = 10_000;
/// Number of folders removed at a time: a run should not wait for the removal of all earlier leftovers.
const REMOVED_MAX: usize = 32;

/// The folder of one run, removed with it.
#[derive(Debug)]
pub(super) struct Scratch {
    folder: TempDir,
    _lock: File,
    findings: Vec<RepositoryFinding>,
}

impl Scratch {
    /// Makes one with what a sandbox needs, in the system's temporary folder.
    ///
    /// # Errors
    ///
    /// The system's, if it can't be made.
    pub(super) fn new() -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir())
    }

    fn new_in(place: &Path) -> io::Result<Self> {
        let findings = remove_abandoned(place);
        let folder =
            tempfile::Builder::new().prefix(PREFIX).permissions(Permissions::from_mode(PRIVATE)).tempdir_in(place)?;
        for name in ["root", "tmp", "none", "settings"] {
            fs::DirBuilder::new().mode(PRIVATE).create(folder.path().join(name))?;
        }
        File::create_new(folder.path().join("nothing"))?;
        // Locked before it has the name that others look for.
        let early = folder.path().join("lock.new");
        let lock = File::create_new(&early)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        fs::rename(early, folder.path().join(LOCK))?;
        Ok(Self { folder, _lock: lock, findings })
    }

    /// Returns the things that killed runs had left in repositories.
    pub(super) fn findings(&self) -> &[RepositoryFinding] {
        &self.findings
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Scratch {
    /// As deep as commands made it, which is deeper than the folder's own removal goes.
    fn drop(&mut self) {
        remove_tree(self.folder.path()).ok();
    }
}

/// Removes our folders in `place` that no process holds, with a look at the repositories of commands that were killed.
/// A folder that can't be removed stays: nothing depends on it.
fn remove_abandoned(place: &Path) -> Vec<RepositoryFinding> {
    let mut findings = Vec::new();
    let entries = fs::read_dir(place).into_iter().flatten().flatten().take(LOOKED_AT_MAX);
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    for entry in ours.filter(|entry| is_abandoned(&entry.path())).take(REMOVED_MAX) {
        findings.extend(Watch::left_in(&entry.path()).iter().flat_map(Watch::settle));
        remove_tree(&entry.path()).ok();
    }
    findings
}

fn is_abandoned(folder: &Path) -> bool {
    let is_own = |path: &Path, is_right: fn(&fs::Metadata) -> bool| {
        let own = rustix::process::geteuid().as_raw();
        fs::symlink_metadata(path).is_ok_and(|found| is_right(&found) && found.uid() == own)
    };
    let lock = folder.join(LOCK);
    is_own(folder, fs::Metadata::is_dir)
        && is_own(&lock, fs::Metadata::is_file)
        && OpenOptions::new()
            .read(true)
            .open(lock)
            .is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok())
}

#[cfg(test)]
mod tests {
    use super::super::embedded::Links;
    use super::super::folders::Folders;
    use super::super::repository::Repository;
    use super::*;

    #[test]
    fn what_a_killed_run_left_is_removed_and_nothing_else_is() {
        let place = tempfile::tempdir().expect("a folder");
        let (living, killed) =
            (Scratch::new_in(place.path()).expect("made"), Scratch::new_in(place.path()).expect("made"));
        fs::write(killed.path().join("tmp/left"), "").expect("written");
        // It was killed in the middle of a command.
        let workdir = fs::canonicalize(place.path()).expect("there").join("work");
        for folder in ["objects", "refs"] {
            fs::create_dir_all(workdir.join(".git").join(folder)).expect("made");
        }
        let watch =
            Watch::of(&workdir, &Repository::of(&workdir, None), (&Links::default(), &Folders::default()), None);
        watch.kept(killed.path(), 0).expect("kept");
        fs::write(workdir.join(".git/commondir"), "e").expect("written");
        let left = killed.path().to_owned();
        // What a kill does: the lock is given up, nothing is removed.
        flock(&killed._lock, FlockOperation::Unlock).expect("given up");
        std::mem::forget(killed);
        let others = ["adjutant-run-without-a-lock", "somebody"].map(|name| place.path().join(name));
        for other in &others {
            fs::create_dir(other).expect("made");
        }
        std::os::unix::fs::symlink(&others[1], place.path().join("adjutant-run-link")).expect("linked");
        File::create(others[1].join(LOCK)).expect("made");
        let next = Scratch::new_in(place.path()).expect("made");
        assert!(!left.exists(), "what was left is gone");
        let found: Vec<_> = next.findings().iter().map(|finding| &finding.path).collect();
        assert_eq!(found, [&workdir.join(".git/commondir")]);
        assert!(!workdir.join(".git/commondir").exists());
        let mode = |path: &Path| fs::metadata(path).expect("there").mode() & 0o7777;
        assert_eq!((mode(next.path()), mode(&next.path().join("tmp"))), (PRIVATE, PRIVATE));
        assert!(living.path().exists() && next.path().exists(), "what is held stays");
        assert!(others.iter().all(|other| other.exists()), "what has no lock of ours stays");
        assert!(others[1].join(LOCK).exists(), "no link is followed");
    }
}
