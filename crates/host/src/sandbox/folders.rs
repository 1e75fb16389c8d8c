//! A walk over the folders below the workdir, for repositories: folders named `.git`, files and links of that name, and
//! folders that are repositories themselves.
//!
//! It is made before and after every command. A folder in which nothing came or went since it was listed is not
//! listed again: the system says so by a time that no program can set.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, Metadata, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// The most folders that are looked at, those that lie less deep first: a large monorepo has about as many.
const FOLDERS_MAX: usize = 100_000;
/// The least age of a folder's last change for its time to tell the next change apart: some clocks tick that slowly.
const TICK: Duration = Duration::from_millis(20);
/// The permissions that the owner needs to list a folder.
const LISTABLE: u32 = 0o500;

/// The contents of folders, remembered from earlier walks.
#[derive(Debug, Clone, Default)]
pub(super) struct Folders(Arc<Mutex<BTreeMap<PathBuf, FolderContents>>>);

/// It only saves time: two of them say the same.
impl PartialEq for Folders {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Folders {}

/// The contents of a folder, as far as they matter.
#[derive(Debug, Clone)]
struct FolderContents {
    /// Inode and time of the last change; `None` if that was too recent to tell another apart.
    stamp: Option<(u64, i64, i64)>,
    /// The names of its folders.
    folders: Vec<PathBuf>,
    git: Option<GitEntryKind>,
    /// True if it is a repository without a tree, or may be taken for one.
    is_bare: bool,
}

/// The kind of entry named `.git` in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GitEntryKind {
    Folder,
    /// A file or a link.
    Pointer,
}

/// The repositories below a folder.
#[derive(Debug, Default)]
pub(super) struct Repositories {
    /// Git folders.
    pub(super) folders: Vec<PathBuf>,
    /// Files and links in place of one.
    pub(super) pointers: Vec<PathBuf>,
}

impl Folders {
    /// The repositories below `root`, its own among them.
    pub(super) fn repositories(&self, root: &Path) -> Repositories {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = Repositories::default();
        let mut next = VecDeque::from([root.to_owned()]);
        let mut seen = BTreeMap::new();
        while let Some(folder) = next.pop_front() {
            let Some(listed) = listed(&folder, known.remove(&folder)) else { continue };
            match listed.git {
                Some(GitEntryKind::Folder) => found.folders.push(folder.join(".git")),
                Some(GitEntryKind::Pointer) => found.pointers.push(folder.join(".git")),
                None => {}
            }
            // Git takes a folder for one where its `.git` is none.
            if listed.is_bare {
                found.folders.push(folder.clone());
            }
            let room = FOLDERS_MAX.saturating_sub(seen.len() + next.len());
            next.extend(listed.folders.iter().take(room).map(|name| folder.join(name)));
            seen.insert(folder, listed);
        }
        *known = seen;
        found
    }
}

/// Returns the contents of `folder`; `None` if it can't be listed, or is not a folder.
fn listed(folder: &Path, before: Option<FolderContents>) -> Option<FolderContents> {
    let found = fs::symlink_metadata(folder).ok().filter(Metadata::is_dir)?;
    let stamp = (found.ino(), found.ctime(), found.ctime_nsec());
    if let Some(before) = before.filter(|before| before.stamp == Some(stamp)) {
        return Some(before);
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let changed = Duration::new(found.ctime().max(0).unsigned_abs(), u32::try_from(found.ctime_nsec()).unwrap_or(0));
    let is_settled = now.saturating_sub(changed) > TICK;
    // What an agent made unreadable, the operator may make readable; the rights are given back.
    let is_closed = found.mode() & LISTABLE != LISTABLE
        && fs::set_permissions(folder, Permissions::from_mode(found.mode() & 0o7777 | LISTABLE)).is_ok();
    let listed = list(folder, (is_settled && !is_closed).then_some(stamp));
    if is_closed {
        fs::set_permissions(folder, Permissions::from_mode(found.mode() & 0o7777)).ok();
    }
    listed
}

fn list(folder: &Path, stamp: Option<(u64, i64, i64)>) -> Option<FolderContents> {
    let mut listed = FolderContents { stamp, folders: Vec::new(), git: None, is_bare: false };
    let mut has_head = false;
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let name = entry.file_name();
        if name == ".git" {
            listed.git = Some(if is_folder { GitEntryKind::Folder } else { GitEntryKind::Pointer });
        } else if is_folder {
            listed.folders.push(name.into());
        } else {
            has_head |= name == "HEAD";
        }
    }
    listed.is_bare = has_head && is_git_folder(folder);
    Some(listed)
}

/// Returns true if git may take a folder for one of its own.
pub(super) fn is_git_folder(folder: &Path) -> bool {
    let has = |name: &str| fs::symlink_metadata(folder.join(name)).is_ok();
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_since_the_last_walk_is_found() {
        let place = tempfile::tempdir().expect("a folder");
        let root = place.path();
        fs::create_dir_all(root.join("a/b/c")).expect("made");
        let folders = Folders::default();
        let names = || {
            let found = folders.repositories(root);
            let all = found.folders.into_iter().chain(found.pointers);
            all.map(|path| path.strip_prefix(root).expect("below").display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names(), [""; 0]);
        fs::create_dir(root.join("a/b/c/.git")).expect("made");
        assert_eq!(names(), ["a/b/c/.git"]);
        fs::write(root.join("a/.git"), "gitdir: x").expect("written");
        fs::create_dir_all(root.join("bare/objects")).expect("made");
        fs::create_dir_all(root.join("bare/refs")).expect("made");
        fs::write(root.join("bare/HEAD"), "").expect("written");
        assert_eq!(names(), ["bare", "a/b/c/.git", "a/.git"]);
        fs::remove_dir_all(root.join("a/b")).expect("removed");
        fs::set_permissions(root.join("bare"), Permissions::from_mode(0o0)).expect("set");
        assert_eq!(names(), ["bare", "a/.git"]);
        assert_eq!(fs::metadata(root.join("bare")).expect("there").mode() & 0o7777, 0);
    }
}
