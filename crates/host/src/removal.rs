//! Removes a folder with all that is in it, however deep that is and whatever its rights.
//!
//! A command may leave ten thousand folders in one another: whoever goes down into each of them runs out of stack or of
//! open files. So each folder is brought up to the one that is removed, and emptied there.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The rights that the owner needs to empty a folder and to move it.
const USABLE: u32 = 0o700;

/// Removes the folder at `folder`. Nobody else may be at work in it. Links are removed, not followed.
///
/// # Errors
///
/// The system's, for the first thing that can't be removed; as much as can be is removed all the same.
pub fn remove_tree(folder: &Path) -> io::Result<()> {
    let mut removal =
        Removal { folder, open: vec![folder.to_owned()], left: BTreeSet::new(), number: 0, failed: Ok(()) };
    while let Some(next) = removal.open.last().cloned() {
        match removal.empty(&next) {
            // What it had is to be removed first.
            Ok(()) if removal.open.last() != Some(&next) => {}
            Ok(()) => {
                removal.note(fs::remove_dir(&next), &next);
                removal.open.pop();
            }
            Err(error) => {
                removal.note(Err(error), &next);
                removal.open.retain(|path| *path != next);
            }
        }
    }
    removal.failed
}

struct Removal<'a> {
    folder: &'a Path,
    /// Folders to empty, the last first.
    open: Vec<PathBuf>,
    /// Paths that can't be removed.
    left: BTreeSet<PathBuf>,
    number: u64,
    failed: io::Result<()>,
}

impl Removal<'_> {
    fn note(&mut self, done: io::Result<()>, path: &Path) {
        if let Err(error) = done {
            self.left.insert(path.to_owned());
            self.failed = std::mem::replace(&mut self.failed, Ok(())).and(Err(error));
        }
    }

    /// Removes what is in `next` and is no folder, and brings what is one up to the folder that is removed.
    fn empty(&mut self, next: &Path) -> io::Result<()> {
        fs::set_permissions(next, Permissions::from_mode(USABLE))?;
        for entry in fs::read_dir(next)?.collect::<io::Result<Vec<DirEntry>>>()? {
            let path = entry.path();
            if self.left.contains(&path) {
                continue;
            }
            if entry.file_type()?.is_dir() {
                match self.brought_up(&path) {
                    Ok(path) => self.open.push(path),
                    failed => self.note(failed.map(drop), &path),
                }
            } else {
                self.note(fs::remove_file(&path), &path);
            }
        }
        Ok(())
    }

    /// Moves the folder at `path` up to the one that is removed, and returns its new path.
    fn brought_up(&mut self, path: &Path) -> io::Result<PathBuf> {
        // To be moved a folder must be writable: it names the one above.
        fs::set_permissions(path, Permissions::from_mode(USABLE))?;
        if path.parent() == Some(self.folder) {
            return Ok(path.to_owned());
        }
        let to = loop {
            self.number += 1;
            let to = self.folder.join(format!("{}.removed", self.number));
            if fs::symlink_metadata(&to).is_err() {
                break to;
            }
        };
        fs::rename(path, &to)?;
        Ok(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_of_any_depth_and_any_rights_is_removed_and_no_link_followed() {
        let place = tempfile::tempdir().expect("a folder");
        let (folder, other) = (place.path().join("t"), place.path().join("other"));
        fs::create_dir_all(&other).expect("made");
        fs::write(other.join("kept"), "kept").expect("written");
        fs::create_dir_all(folder.join("1.removed/a")).expect("made");
        fs::write(folder.join("1.removed/a/file"), "x").expect("written");
        std::os::unix::fs::symlink(&other, folder.join("link")).expect("linked");
        std::os::unix::fs::symlink(&other, folder.join("1.removed/link")).expect("linked");
        fs::set_permissions(folder.join("1.removed/a"), Permissions::from_mode(0o000)).expect("closed");
        // Twice as deep as any path may be long.
        let (deep, piece) = (folder.join("deep"), place.path().join("piece"));
        fs::create_dir(&deep).expect("made");
        for _ in 0..4 {
            let mut path = piece.clone();
            (0..1000).for_each(|_| path.push("d"));
            fs::create_dir_all(&path).expect("made");
            fs::rename(&deep, path.join("d")).expect("moved");
            fs::rename(&piece, &deep).expect("moved");
        }
        let small = std::thread::Builder::new().stack_size(256 << 10);
        let removed = small.spawn(move || remove_tree(&folder)).expect("a thread").join().expect("it ends");
        removed.expect("removed");
        assert_eq!(fs::read_to_string(other.join("kept")).expect("there"), "kept");
        assert_eq!(fs::read_dir(place.path()).expect("listed").count(), 1);
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let place = tempfile::tempdir().expect("a folder");
        let error = remove_tree(&place.path().join("none")).expect_err("not there");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
