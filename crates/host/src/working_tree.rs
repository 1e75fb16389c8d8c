//! The working tree as a list: what is there, and what differs from how it was.
//!
//! In: a workdir, and how it was before the first call, which a file keeps. Out: every path that was added, changed
//! or removed since. An entry is unchanged if the system says that nothing about it was touched, or if
//! its kind, mode and content are the same; large files go by what the system says alone. The workdir itself is the
//! entry `.`, of which only the mode counts.
//!
//! Names are bytes. A path is told as text: what is no UTF-8 in it stands as `\xff`, and a backslash before an `x` as
//! `\x5c`, so that no two names are told alike. What can't be looked at differs, by itself.
//!
//! Nothing of a run is going on while it is looked at, so paths are safe to use. What git keeps for itself in
//! `.git` is left out, except its hooks and its configuration, which can run something.
//!
//! Begin with [`Tree::now`] and [`Tree::changed`].

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

use adjutant_core::words::tool::ContentHasher;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, openat, readlinkat, statat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::state_files;

/// The folder of the home in which each run with a scope has a file.
pub const KEPT_IN: &str = "trees";
/// The most entries of a tree that is looked at. About the size of a large monorepo; more would hold up each step.
pub const ENTRIES_MAX: usize = 200_000;
/// The largest file of which the content is kept as a hash, in bytes.
const HASHED_BYTES_MAX: u64 = 1 << 20;
/// The most bytes that are read for hashes in one look: below a second on today's machines.
const HASHED_TOTAL_MAX: u64 = 256 << 20;

/// The longest path that is followed, in bytes: four times what a program can name at once (`PATH_MAX`).
const PATH_BYTES_MAX: usize = 16 << 10;
/// The most bytes of paths in one look. 200,000 paths of a usual tree have a tenth of it.
const PATHS_TOTAL_MAX: usize = 256 << 20;
/// Number of bytes of a path opened at a time, if the path is too long for the system.
const PIECE_BYTES_MAX: usize = 2048;
/// The workdir itself in a list of paths.
const ITSELF: &str = ".";

/// The entries of a workdir, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tree(BTreeMap<String, TreeEntry>);

/// A file, a folder, a link or something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TreeEntry {
    stamp: EntryStamp,
    /// The content of a small file, or where a link leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    /// Completeness of a folder's entries in the list.
    #[serde(default, skip_serializing_if = "FolderCompleteness::is_whole")]
    listed: FolderCompleteness,
}

/// Completeness of a folder's entries in the list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
enum FolderCompleteness {
    #[default]
    Whole,
    /// We may not, and so may no command of ours as long as nothing about the folder changes.
    Forbidden,
    Not,
}

impl FolderCompleteness {
    fn is_whole(&self) -> bool {
        *self == Self::Whole
    }
}

/// The stamp of an entry. The time is that of the last change of anything about it, which no program can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct EntryStamp {
    mode: u32,
    size: u64,
    changed_s: i64,
    changed_ns: i64,
    inode: u64,
}

impl EntryStamp {
    fn of(found: &Stat) -> Self {
        Self {
            // A type of the system's own: narrower on some.
            #[allow(clippy::useless_conversion, reason = "it is one where the type is narrower")]
            mode: u32::from(found.st_mode),
            size: found.st_size.unsigned_abs(),
            changed_s: found.st_ctime,
            changed_ns: i64::try_from(found.st_ctime_nsec).unwrap_or_default(),
            inode: found.st_ino,
        }
    }
}

impl TreeEntry {
    fn is_same(&self, before: &Self) -> bool {
        let is_folder = self.stamp.mode & FORMAT == FOLDER;
        let is_same_content = match (&self.hash, &before.hash) {
            (Some(now), Some(before)) => now == before,
            // What is in a folder has entries of its own.
            _ => is_folder,
        };
        match (self.listed, before.listed) {
            (FolderCompleteness::Whole, FolderCompleteness::Whole) => {}
            (FolderCompleteness::Forbidden, FolderCompleteness::Forbidden) => return self.stamp == before.stamp,
            _ => return false,
        }
        self.stamp == before.stamp || (self.stamp.mode == before.stamp.mode && is_same_content)
    }
}

/// The bits of a mode that say what an entry is, and their value for a folder (`inode(7)`).
const FORMAT: u32 = 0o170_000;
const FOLDER: u32 = 0o040_000;

/// Writes `value` as the file `kept`, on the disk when this returns and whole or not there at all.
pub(crate) fn write_whole(kept: &Path, value: &impl Serialize) -> io::Result<()> {
    let folder = kept.parent().unwrap_or(Path::new("."));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let file = tempfile::NamedTempFile::new_in(folder)?;
    let mut writer = io::BufWriter::new(file.as_file());
    serde_json::to_writer(&mut writer, value)?;
    writer.flush()?;
    drop(writer);
    file.as_file().sync_all()?;
    file.persist(kept)?;
    File::open(folder)?.sync_all()
}

impl Tree {
    /// Lists the entries below `workdir` as they are now.
    ///
    /// # Errors
    ///
    /// If there are more than [`ENTRIES_MAX`] entries, their paths are too long for all, or the workdir is not there.
    pub fn now(workdir: &Path) -> io::Result<Self> {
        Self::read(workdir, None)
    }

    /// Every path below `workdir` that differs now, sorted.
    ///
    /// # Errors
    ///
    /// As [`Tree::now`].
    pub fn changed(&self, workdir: &Path) -> io::Result<Vec<String>> {
        let now = Self::read(workdir, Some(self))?;
        let differs = |path: &&String| match (self.0.get(*path), now.0.get(*path)) {
            (Some(before), Some(now)) => !now.is_same(before),
            (None, None) => false,
            // What an older version kept doesn't have it.
            (None, Some(_)) if *path == ITSELF => false,
            (Some(_), None) | (None, Some(_)) => true,
        };
        let differing = self.0.keys().chain(now.0.keys()).filter(differs);
        let paths: BTreeSet<&String> = differing.filter(|path| !state_files::is_own(path)).collect();
        Ok(paths.into_iter().cloned().collect())
    }

    /// Keeps it in the file `kept`, on the disk when this returns and whole or not there at all.
    ///
    /// # Errors
    ///
    /// If the file or its folder can't be written.
    pub fn save(&self, kept: &Path) -> io::Result<()> {
        write_whole(kept, self)
    }

    /// Reads the list from the file `kept`.
    ///
    /// # Errors
    ///
    /// If it is not there or can't be read.
    pub fn load(kept: &Path) -> io::Result<Self> {
        let unknown = |why: String| io::Error::other(format!("how it was before the first call is not known: {why}"));
        let text = fs::read(kept).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => unknown("it was not kept, or what was kept is gone".to_owned()),
            _ => unknown(error.to_string()),
        })?;
        serde_json::from_slice(&text).map_err(|error| unknown(error.to_string()))
    }

    /// Lists the entries. Where `before` has the same stamp, its hash is taken over and nothing is read.
    fn read(workdir: &Path, before: Option<&Self>) -> io::Result<Self> {
        let mut tree = Self::default();
        let root = openat(CWD, workdir, FOLDER_FLAGS.difference(OFlags::NOFOLLOW), Mode::empty())?;
        let stamp = EntryStamp::of(&rustix::fs::fstat(&root)?);
        tree.0.insert(ITSELF.to_owned(), TreeEntry { stamp, hash: None, listed: FolderCompleteness::Whole });
        let (mut left, mut paths_left) = (HASHED_TOTAL_MAX, PATHS_TOTAL_MAX);
        let mut open = vec![PathBuf::new()];
        while let Some(folder) = open.pop() {
            let listing = open_below(&root, &folder).and_then(|at| Ok((Dir::read_from(&at)?, at)));
            let (listing, at) = match listing {
                Ok(listing) => listing,
                Err(error) => {
                    tree.not_listed(&folder, error)?;
                    continue;
                }
            };
            for entry in listing {
                let entry = match entry {
                    Ok(entry) => entry,
                    Err(error) => {
                        tree.not_listed(&folder, error)?;
                        break;
                    }
                };
                let name = entry.file_name();
                if [c".", c".."].contains(&name) {
                    continue;
                }
                let path = folder.join(OsStr::from_bytes(name.to_bytes()));
                let told = told(&path);
                if is_gits_own(&told) {
                    continue;
                }
                let found = match statat(&at, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(found) => found,
                    // The operator's own program was faster.
                    Err(Errno::NOENT) => continue,
                    Err(error) => {
                        tree.not_listed(&folder, error)?;
                        break;
                    }
                };
                let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
                let is_followed = is_folder && path.as_os_str().len() <= PATH_BYTES_MAX;
                let stamp = EntryStamp::of(&found);
                let old = before.and_then(|before| before.0.get(&told)).filter(|old| old.stamp == stamp);
                let hash = match old {
                    Some(old) => old.hash.clone(),
                    None => hash(&at, name, &found, &mut left),
                };
                let listed = if is_folder == is_followed { FolderCompleteness::Whole } else { FolderCompleteness::Not };
                paths_left = paths_left.saturating_sub(told.len());
                tree.0.insert(told, TreeEntry { stamp, hash, listed });
                if is_followed {
                    open.push(path);
                }
                if tree.0.len() > ENTRIES_MAX + 1 {
                    return Err(io::Error::other(format!("there are more than {ENTRIES_MAX} files and folders")));
                }
                if paths_left == 0 {
                    return Err(io::Error::other("the names of files and folders are too long to compare"));
                }
            }
        }
        Ok(tree)
    }

    /// Takes note that what is in `folder` is not known.
    fn not_listed(&mut self, folder: &Path, error: Errno) -> io::Result<()> {
        let told = if folder.as_os_str().is_empty() { ITSELF.to_owned() } else { told(folder) };
        let listed = if [Errno::ACCESS, Errno::PERM].contains(&error) {
            FolderCompleteness::Forbidden
        } else {
            FolderCompleteness::Not
        };
        match self.0.get_mut(&told) {
            Some(entry) => entry.listed = listed,
            // It was there when its own folder was listed.
            None => return Err(error.into()),
        }
        Ok(())
    }
}

/// The flags by which a folder is opened to be listed.
const FOLDER_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// Opens a folder below `root`, piece by piece, since the whole path may be longer than the system takes.
fn open_below(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let mut at = openat(root, c".", FOLDER_FLAGS, Mode::empty())?;
    let mut piece = PathBuf::new();
    for part in path.components().filter(|part| matches!(part, Component::Normal(_))) {
        if piece.as_os_str().len() + part.as_os_str().len() > PIECE_BYTES_MAX {
            at = openat(&at, &piece, FOLDER_FLAGS, Mode::empty())?;
            piece.clear();
        }
        piece.push(part);
    }
    if piece.as_os_str().is_empty() { Ok(at) } else { openat(&at, &piece, FOLDER_FLAGS, Mode::empty()) }
}

/// A path as text, each another than every other.
fn told(path: &Path) -> String {
    let mut told = String::with_capacity(path.as_os_str().len());
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        told.push_str(&chunk.valid().replace("\\x", "\\x5cx"));
        for byte in chunk.invalid() {
            // Writing to a string can't fail.
            let _: Result<(), std::fmt::Error> = write!(told, "\\x{byte:02x}");
        }
    }
    told
}

/// Returns true if git keeps a path for itself, so that each of its commands changes it.
fn is_gits_own(path: &str) -> bool {
    let Some(own) = path.strip_prefix(".git/") else { return false };
    let is_watched = |name: &str| own == name || own.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
    !["hooks", "config", "config.worktree", "commondir", "info"].into_iter().any(is_watched)
}

/// The hash of a small file's content or of where a link leads; none for anything else, for what can't be read, and
/// for what goes beyond the bytes that are `left`: that has its stamp alone.
fn hash(folder: &OwnedFd, name: &std::ffi::CStr, found: &Stat, left: &mut u64) -> Option<String> {
    let mut hasher = ContentHasher::default();
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Symlink => hasher.update(readlinkat(folder, name, Vec::new()).ok()?.to_bytes()),
        FileType::RegularFile => {
            let bytes = found.st_size.unsigned_abs();
            if bytes > HASHED_BYTES_MAX || bytes > *left {
                return None;
            }
            *left -= bytes;
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = File::from(openat(folder.as_fd(), name, flags, Mode::empty()).ok()?);
            let mut content = Vec::new();
            file.take(HASHED_BYTES_MAX + 1).read_to_end(&mut content).ok()?;
            hasher.update(&content);
        }
        _ => return None,
    }
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn write(folder: &Path, path: &str, content: &str) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, content).expect("written");
    }

    /// A tree and what is done to it; the paths that then differ.
    fn after(act: impl FnOnce(&Path)) -> Vec<String> {
        let place = tempfile::tempdir().expect("a folder");
        let (workdir, kept) = (place.path().join("w"), place.path().join("home/trees/r"));
        let changed = || Tree::load(&kept).and_then(|before| before.changed(&workdir)).expect("compared");
        for path in ["a", "b/c", "b/d", ".git/index", ".git/hooks/x", ".git/config"] {
            write(&workdir, path, "1");
        }
        write(&workdir, "large", &"x".repeat(HASHED_BYTES_MAX as usize + 1));
        symlink("a", workdir.join("link")).expect("linked");
        fs::set_permissions(&workdir, fs::Permissions::from_mode(0o755)).expect("set");
        Tree::now(&workdir).and_then(|tree| tree.save(&kept)).expect("kept");
        assert_eq!(changed(), [""; 0]);
        act(&workdir);
        changed()
    }

    #[test]
    fn what_was_added_changed_or_removed_differs() {
        let differ = after(|folder| {
            write(folder, "a", "2");
            write(folder, "n/e/w", "");
            fs::remove_file(folder.join("b/c")).expect("removed");
            fs::set_permissions(folder.join("b/d"), fs::Permissions::from_mode(0o755)).expect("set");
            fs::remove_file(folder.join("link")).expect("removed");
            symlink("b", folder.join("link")).expect("linked");
        });
        assert_eq!(differ, ["a", "b/c", "b/d", "link", "n", "n/e", "n/e/w"]);
    }

    #[test]
    fn names_that_are_no_text_are_told_apart_and_hide_nothing() {
        let name = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        let differ = after(|folder| {
            fs::write(folder.join(name(b"b/\xff")), "").expect("written");
            fs::write(folder.join("b/\\xff"), "").expect("written");
            fs::write(folder.join("b/\\y"), "").expect("written");
            write(folder, "a", "2");
        });
        assert_eq!(differ, ["a", "b/\\x5cxff", "b/\\xff", "b/\\y"]);
        let distinct: BTreeSet<_> = [&b"\\x5c"[..], b"\\", b"\\\xff", b"\\xff", b"\xff", b"\\x5cx"]
            .into_iter()
            .map(|bytes| told(&name(bytes)))
            .collect();
        assert_eq!(distinct.len(), 6, "{distinct:?}");
    }

    #[test]
    fn a_path_that_is_too_long_for_the_system_is_followed_to_a_bound() {
        // 40 folders of 200 bytes are twice what the system takes; 100 are more than is followed.
        for (depth, expected) in [(40, 41), (100, PATH_BYTES_MAX / 201 + 1)] {
            let differ = after(|folder| {
                let mut at = openat(CWD, folder, FOLDER_FLAGS, Mode::empty()).expect("opened");
                let name = "d".repeat(200);
                for _ in 0..depth {
                    rustix::fs::mkdirat(&at, &name, Mode::RWXU).expect("made");
                    at = openat(&at, &name, FOLDER_FLAGS, Mode::empty()).expect("opened");
                }
                openat(&at, c"file", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU).expect("made");
            });
            assert_eq!(differ.len(), expected, "{depth}");
        }
    }

    #[test]
    fn what_can_not_be_listed_differs_by_itself_unless_nobody_could_get_in() {
        let entry = |inode, listed| TreeEntry {
            stamp: EntryStamp { mode: FOLDER, size: 0, changed_s: 0, changed_ns: 0, inode },
            hash: None,
            listed,
        };
        for (before, now, is_same) in [
            (entry(1, FolderCompleteness::Whole), entry(2, FolderCompleteness::Whole), true),
            (entry(1, FolderCompleteness::Whole), entry(1, FolderCompleteness::Forbidden), false),
            (entry(1, FolderCompleteness::Forbidden), entry(1, FolderCompleteness::Forbidden), true),
            (entry(1, FolderCompleteness::Forbidden), entry(2, FolderCompleteness::Forbidden), false),
            (entry(1, FolderCompleteness::Not), entry(1, FolderCompleteness::Not), false),
        ] {
            assert_eq!(now.is_same(&before), is_same, "{before:?} {now:?}");
        }
    }

    #[test]
    fn the_workdirs_own_mode_counts() {
        let mode =
            |mode| move |folder: &Path| fs::set_permissions(folder, fs::Permissions::from_mode(mode)).expect("set");
        assert_eq!(after(mode(0o700)), ["."]);
        assert_eq!(after(mode(0o755)), [""; 0]);
    }

    #[test]
    fn what_was_put_back_does_not_differ() {
        let differ = after(|folder| {
            write(folder, "a", "2");
            write(folder, "a", "1");
            fs::rename(folder.join("b/c"), folder.join("x")).expect("moved");
            write(folder, "b/c", "1");
            fs::remove_file(folder.join("x")).expect("removed");
        });
        assert_eq!(differ, [""; 0]);
    }

    #[test]
    fn of_gits_own_only_what_can_run_something_counts() {
        let differ = after(|folder| {
            write(folder, ".git/index", "2");
            write(folder, ".git/objects/aa/b", "2");
            write(folder, ".git/hooks/post-commit", "2");
            write(folder, ".git/config", "2");
        });
        assert_eq!(differ, [".git/config", ".git/hooks/post-commit"]);
    }

    #[test]
    fn a_large_file_goes_by_its_stamp_and_no_program_can_set_that_back() {
        let differ = after(|folder| {
            let path = folder.join("large");
            let times = fs::metadata(&path).expect("there").modified().expect("a time");
            let file = File::options().write(true).open(&path).expect("opened");
            (&file).write_all(b"y").expect("written");
            file.set_modified(times).expect("set");
        });
        assert_eq!(differ, ["large"]);
    }

    #[test]
    fn without_what_was_kept_nothing_can_be_said() {
        let place = tempfile::tempdir().expect("a folder");
        let kept = place.path().join("kept");
        let missing = Tree::load(&kept).expect_err("it is missing").to_string();
        assert!(missing.contains("not known"), "{missing}");
        fs::write(&kept, "{\"a\":").expect("written");
        assert!(Tree::load(&kept).is_err());
    }
}
