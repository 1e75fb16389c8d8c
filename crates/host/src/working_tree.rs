//! The working tree as a list: what is there, and what differs from how it was.
//!
//! In: a workdir, and how it was before the first call, which a file keeps. Out: every path that was added, changed
//! or removed since. An entry is unchanged if the system says that nothing about it was touched, or if
//! its kind, mode and content are the same; large files go by what the system says alone.
//!
//! Nothing of a run is going on while it is looked at, so paths are safe to use. What git keeps for itself in
//! `.git` is left out, except its hooks and its configuration, which can run something.
//!
//! Begin with [`Tree::now`] and [`Tree::changed`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use adjutant_core::tool::ContentHasher;
use serde::{Deserialize, Serialize};

/// The most entries of a tree that is looked at. About the size of a large monorepo; more would hold up each step.
pub const ENTRIES_MAX: usize = 200_000;
/// The largest file of which the content is kept as a hash, in bytes.
const HASHED_BYTES_MAX: u64 = 1 << 20;
/// The most bytes that are read for hashes in one look: below a second on today's machines.
const HASHED_TOTAL_MAX: u64 = 256 << 20;

/// What is there, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tree(BTreeMap<String, Entry>);

/// A file, a folder, a link or something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    stamp: Stamp,
    /// The content of a small file, or where a link leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
}

/// What the system says of an entry. The time is that of the last change of anything about it, which no program
/// can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    mode: u32,
    size: u64,
    changed_s: i64,
    changed_ns: i64,
    inode: u64,
}

impl Stamp {
    fn of(found: &Metadata) -> Self {
        Self {
            mode: found.mode(),
            size: found.size(),
            changed_s: found.ctime(),
            changed_ns: found.ctime_nsec(),
            inode: found.ino(),
        }
    }
}

impl Entry {
    fn is_same(&self, before: &Self) -> bool {
        let is_folder = self.stamp.mode & FORMAT == FOLDER;
        let is_same_content = match (&self.hash, &before.hash) {
            (Some(now), Some(before)) => now == before,
            // What is in a folder has entries of its own.
            _ => is_folder,
        };
        self.stamp == before.stamp || (self.stamp.mode == before.stamp.mode && is_same_content)
    }
}

/// The bits of a mode that say what an entry is, and their value for a folder (`inode(7)`).
const FORMAT: u32 = 0o170_000;
const FOLDER: u32 = 0o040_000;

impl Tree {
    /// What is below `workdir` now.
    ///
    /// # Errors
    ///
    /// If there are more than [`ENTRIES_MAX`] entries, or some can't be read or named.
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
            (Some(_), None) | (None, Some(_)) => true,
        };
        let paths: BTreeSet<&String> = self.0.keys().chain(now.0.keys()).filter(differs).collect();
        Ok(paths.into_iter().cloned().collect())
    }

    /// Keeps it in the file `kept`, on the disk when this returns and whole or not there at all.
    ///
    /// # Errors
    ///
    /// If the file or its folder can't be written.
    pub fn save(&self, kept: &Path) -> io::Result<()> {
        let folder = kept.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let file = tempfile::NamedTempFile::new_in(folder)?;
        let mut writer = io::BufWriter::new(file.as_file());
        serde_json::to_writer(&mut writer, self)?;
        writer.flush()?;
        drop(writer);
        file.as_file().sync_all()?;
        file.persist(kept)?;
        File::open(folder)?.sync_all()
    }

    /// What the file `kept` has.
    ///
    /// # Errors
    ///
    /// If it is not there or can't be read.
    pub fn load(kept: &Path) -> io::Result<Self> {
        let read = || Ok::<_, io::Error>(serde_json::from_slice(&fs::read(kept)?)?);
        read().map_err(|error| io::Error::other(format!("how it was before the first call is not known: {error}")))
    }

    /// What is there. Where `before` has the same stamp, its hash is taken over and nothing is read.
    fn read(workdir: &Path, before: Option<&Self>) -> io::Result<Self> {
        let mut tree = Self::default();
        let mut left = HASHED_TOTAL_MAX;
        let mut open = vec![String::new()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(workdir.join(&folder))? {
                let entry = entry?;
                let Some(path) = path_of(&folder, &entry.file_name()) else {
                    let shown = entry.path().display().to_string();
                    return Err(io::Error::other(format!("`{shown}` has a name that is no text")));
                };
                if is_gits_own(&path) {
                    continue;
                }
                let found = entry.metadata()?;
                if found.is_dir() {
                    open.push(path.clone());
                }
                let stamp = Stamp::of(&found);
                let old = before.and_then(|before| before.0.get(&path)).filter(|old| old.stamp == stamp);
                let hash = match old {
                    Some(old) => old.hash.clone(),
                    None => hash(&entry.path(), &found, &mut left)?,
                };
                tree.0.insert(path, Entry { stamp, hash });
                if tree.0.len() > ENTRIES_MAX {
                    return Err(io::Error::other(format!("there are more than {ENTRIES_MAX} files and folders")));
                }
            }
        }
        Ok(tree)
    }
}

/// The path of what a folder has under `name`.
fn path_of(folder: &str, name: &std::ffi::OsStr) -> Option<String> {
    let name = name.to_str()?;
    Some(if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") })
}

/// Whether git keeps a path for itself, so that each of its commands changes it.
fn is_gits_own(path: &str) -> bool {
    let Some(own) = path.strip_prefix(".git/") else { return false };
    let is_watched = |name: &str| own == name || own.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
    !["hooks", "config", "config.worktree", "commondir", "info"].into_iter().any(is_watched)
}

/// The hash of a small file's content or of where a link leads; none for anything else, and for what goes beyond
/// the bytes that are `left`.
fn hash(path: &Path, found: &Metadata, left: &mut u64) -> io::Result<Option<String>> {
    let mut hasher = ContentHasher::default();
    if found.is_symlink() {
        hasher.update(fs::read_link(path)?.as_os_str().as_bytes());
        return Ok(Some(hasher.finish()));
    }
    if !found.is_file() || found.len() > HASHED_BYTES_MAX || found.len() > *left {
        return Ok(None);
    }
    *left -= found.len();
    // What can't be read has its stamp alone.
    let Ok(file) = File::open(path) else { return Ok(None) };
    let mut content = Vec::new();
    file.take(HASHED_BYTES_MAX + 1).read_to_end(&mut content)?;
    hasher.update(&content);
    Ok(Some(hasher.finish()))
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
