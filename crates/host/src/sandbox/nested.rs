//! Repositories below the working folder that are not the workdir's own: cloned ones, fixtures, a bare one that a
//! test made, submodules of submodules. Somebody may run git in any of them.
//!
//! None is protected by a mount, since tests make and remove such repositories all the time, and what is mounted on
//! can't be removed. So they are looked for before a command and after it: what came since then, or was changed,
//! and would have git run something or lead it elsewhere, is put aside; what was there is put back.
//!
//! Begin with [`Nested::of`] and [`Nested::settle`]; `folders.rs` is the walk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::embedded::is_plain_setting;
use super::folders::{Folders, is_git_folder};
use super::repository::led_to;
use super::watch::{PathState, make_usable};
use crate::rescue::git;

/// Depth to which a git folder is searched for folders of submodules and worktrees: their names may have slashes.
const PARTS_DEPTH_MAX: usize = 8;
/// The most git folders that are looked into.
const GIT_FOLDERS_MAX: usize = 10_000;

/// The state of the repositories below a folder before a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Nested {
    workdir: PathBuf,
    /// By git folder: what of it would run something or lead elsewhere.
    folders: BTreeMap<PathBuf, GitFolderParts>,
    /// Files and links in place of such a folder.
    pointers: BTreeMap<PathBuf, PathState>,
}

/// Files and links of a git folder by which git runs something or goes elsewhere.
type GitFolderParts = BTreeMap<PathBuf, PathState>;

/// Something that came or was changed, and must be put right.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) path: PathBuf,
    /// The state before.
    pub(super) was: PathState,
}

impl Nested {
    /// Returns their state now below `workdir`, without those in `known`, which are watched in another way.
    pub(super) fn of(workdir: &Path, known: &BTreeSet<PathBuf>, folders: &Folders) -> Self {
        let mut nested = Self { workdir: workdir.to_owned(), ..Self::default() };
        let found = folders.repositories(workdir);
        for folder in git_folders(found.folders.iter(), known) {
            nested.folders.insert(folder.clone(), parts(&folder));
        }
        for pointer in found.pointers.into_iter().filter(|pointer| !known.contains(pointer)) {
            let was = PathState::of(&pointer);
            nested.pointers.insert(pointer, was);
        }
        nested
    }

    /// The git folders that were there.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folders.keys().map(PathBuf::as_path)
    }

    /// Returns everything that came or was changed since, and is not harmless.
    pub(super) fn wrong(&self, known: &BTreeSet<PathBuf>, folders: &Folders) -> Vec<Wrong> {
        if self.workdir.as_os_str().is_empty() {
            return Vec::new();
        }
        let mut wrong = Vec::new();
        let found = folders.repositories(&self.workdir);
        let there: BTreeSet<PathBuf> = git_folders(found.folders.iter(), known).into_iter().collect();
        for folder in &there {
            self.look_into(folder, &mut wrong);
        }
        let nowhere = PathState::Absent;
        for pointer in found.pointers.iter().filter(|pointer| !known.contains(*pointer)) {
            let was = self.pointers.get(pointer).unwrap_or(&nowhere);
            if PathState::of(pointer) == *was {
                continue;
            }
            match led_to(pointer).filter(|folder| folder.starts_with(&self.workdir) || known.contains(folder)) {
                Some(folder) if there.contains(&folder) || known.contains(&folder) => {}
                // It lies where the walk doesn't go.
                Some(folder) if is_git_folder(&folder) => self.look_into(&folder, &mut wrong),
                Some(_) | None => wrong.push(Wrong { path: pointer.clone(), was: was.clone() }),
            }
        }
        wrong
    }

    fn look_into(&self, folder: &Path, wrong: &mut Vec<Wrong>) {
        let none = GitFolderParts::new();
        let before = self.folders.get(folder).unwrap_or(&none);
        for (path, now) in parts(folder) {
            let was = before.get(&path).cloned().unwrap_or(PathState::Absent);
            if now != was && !is_harmless(folder, &path, &was) {
                wrong.push(Wrong { path, was });
            }
        }
    }
}

/// The git folders that were `found`, and those of submodules and worktrees in them.
fn git_folders<'a>(found: impl Iterator<Item = &'a PathBuf>, known: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for folder in found.filter(|folder| !known.contains(*folder)) {
        folders.push(folder.clone());
        for name in ["modules", "worktrees"] {
            below(&folder.join(name), PARTS_DEPTH_MAX, &mut folders);
        }
        if folders.len() >= GIT_FOLDERS_MAX {
            break;
        }
    }
    folders
}

fn below(folder: &Path, depth: usize, folders: &mut Vec<PathBuf>) {
    make_usable(folder);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if depth == 0 || folders.len() >= GIT_FOLDERS_MAX || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let path = entry.path();
        match path.join("HEAD").exists() {
            true => {
                below(&path.join("modules"), depth - 1, folders);
                folders.push(path);
            }
            false => below(&path, depth - 1, folders),
        }
    }
}

/// Returns the parts of a git folder by which git runs something or goes elsewhere, as they are now.
fn parts(folder: &Path) -> GitFolderParts {
    make_usable(folder);
    let mut parts = GitFolderParts::new();
    for name in ["config", "config.worktree", "commondir", "gitdir"] {
        let path = folder.join(name);
        let state = PathState::of(&path);
        if state != PathState::Absent {
            parts.insert(path, state);
        }
    }
    let hooks = folder.join("hooks");
    match PathState::of(&hooks) {
        PathState::Folder => {
            make_usable(&hooks);
            let entries = fs::read_dir(&hooks).into_iter().flatten().flatten();
            let is_sample = |entry: &fs::DirEntry| entry.file_name().as_bytes().ends_with(b".sample");
            for path in entries.filter(|entry| !is_sample(entry)).map(|entry| entry.path()) {
                let state = PathState::of(&path);
                parts.insert(path, state);
            }
        }
        PathState::Absent => {}
        // A link to a folder of hooks, or what may become one.
        other => {
            parts.insert(hooks, other);
        }
    }
    parts
}

/// Returns true if the part at `path` of a git folder runs nothing that it did not run before, and leads nowhere else.
fn is_harmless(folder: &Path, path: &Path, was: &PathState) -> bool {
    match path.file_name().map(OsStrExt::as_bytes) {
        Some(b"config" | b"config.worktree") => {
            let is_file = matches!(PathState::of(path), PathState::File(Some(_)));
            is_file && has_only_plain_settings_besides(path, was)
        }
        // Where a worktree's folder lies within its repository's, and where that is checked out: git writes both.
        Some(b"commondir") => fs::read_to_string(path).is_ok_and(|text| {
            let is_of_a_worktree = folder.parent().is_some_and(|above| above.ends_with("worktrees"));
            is_of_a_worktree && text.trim() == "../.."
        }),
        Some(b"gitdir") => true,
        _ => false,
    }
}

/// Returns true if every setting in a file is plain, or is in `was` with the same value.
fn has_only_plain_settings_besides(path: &Path, was: &PathState) -> bool {
    let not_plain = |path: &Path| -> Option<BTreeSet<(String, Option<String>)>> {
        let settings = git::own_settings(path).ok()?;
        Some(settings.into_iter().filter(|(name, _)| !is_plain_setting(name)).collect())
    };
    let Some(now) = not_plain(path) else { return false };
    if now.is_empty() {
        return true;
    }
    let PathState::File(Some(content)) = was else { return false };
    let before = tempfile::NamedTempFile::new().and_then(|file| {
        fs::write(file.path(), content)?;
        Ok(file)
    });
    before.ok().and_then(|file| not_plain(file.path())).is_some_and(|before| now.is_subset(&before))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";

    fn repository(folder: &Path) {
        for name in ["objects", "refs", "hooks"] {
            fs::create_dir_all(folder.join(name)).expect("made");
        }
        fs::write(folder.join("HEAD"), "ref: refs/heads/main\n").expect("written");
        fs::write(folder.join("config"), CONFIG).expect("written");
    }

    /// Returns the paths that are found wrong after `act`, relative to the workdir, in a workdir with a repository in
    /// `vendor/sub`.
    fn wrong_after(act: impl FnOnce(&Path)) -> Vec<String> {
        let place = tempfile::tempdir().expect("a folder");
        let workdir = fs::canonicalize(place.path()).expect("there").join("work");
        let git = workdir.join("vendor/sub/.git");
        repository(&git);
        fs::write(git.join("hooks/pre-push"), "exit 0\n").expect("written");
        fs::write(git.join("config"), format!("{CONFIG}[core]\n\thooksPath = own\n")).expect("written");
        let folders = Folders::default();
        let known = BTreeSet::new();
        let nested = Nested::of(&workdir, &known, &folders);
        act(&workdir);
        let wrong = nested.wrong(&known, &folders);
        wrong.iter().map(|wrong| wrong.path.strip_prefix(&workdir).expect("below").display().to_string()).collect()
    }

    #[test]
    fn what_would_run_something_in_a_repository_below_is_wrong() {
        let write = |path: &'static str, text: &'static str| {
            move |workdir: &Path| {
                let path = workdir.join(path);
                fs::create_dir_all(path.parent().expect("a folder")).expect("made");
                fs::write(path, text).expect("written");
            }
        };
        let config = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[core]\n\thooksPath = own\n";
        let more =
            "[core]\n\trepositoryformatversion = 0\n\thooksPath = own\n[remote \"o\"]\n\turl = x\n[user]\n\tname = a\n";
        for (path, text, expected) in [
            ("vendor/sub/.git/hooks/pre-commit", "x", &["vendor/sub/.git/hooks/pre-commit"][..]),
            ("vendor/sub/.git/hooks/pre-push", "x", &["vendor/sub/.git/hooks/pre-push"]),
            ("vendor/sub/.git/hooks/pre-commit.sample", "x", &[]),
            ("vendor/sub/.git/config", "[core]\n\tfsmonitor = x\n", &["vendor/sub/.git/config"]),
            ("vendor/sub/.git/config", "[core]\n\thooksPath = other\n", &["vendor/sub/.git/config"]),
            ("vendor/sub/.git/config", "[core\n", &["vendor/sub/.git/config"]),
            ("vendor/sub/.git/config", config, &[]),
            ("vendor/sub/.git/config", more, &[]),
            ("vendor/sub/.git/config", CONFIG, &[]),
            ("vendor/sub/.git/commondir", "../../e", &["vendor/sub/.git/commondir"]),
            ("vendor/sub/.git/config.worktree", "[core]\n\tfsmonitor = x\n", &["vendor/sub/.git/config.worktree"]),
            ("vendor/sub/.git/index", "x", &[]),
            ("vendor/other/.git", "gitdir: /elsewhere", &["vendor/other/.git"]),
            ("vendor/other/.git", "gitdir: ../sub/.git", &[]),
        ] {
            assert_eq!(wrong_after(write(path, text)), expected, "{path} {text}");
        }
    }

    #[test]
    fn a_repository_that_came_is_looked_into_wherever_it_is() {
        for (path, hook) in [
            ("a/b/c/.git", "a/b/c/.git/hooks/post-checkout"),
            ("bare.git", "bare.git/hooks/post-checkout"),
            ("vendor/sub/.git/modules/x/y", "vendor/sub/.git/modules/x/y/hooks/post-checkout"),
        ] {
            let made = |workdir: &Path| {
                repository(&workdir.join(path));
                fs::write(workdir.join(hook), "x").expect("written");
            };
            assert_eq!(wrong_after(made), [hook], "{path}");
        }
        assert_eq!(wrong_after(|workdir| repository(&workdir.join("plain/.git"))), [""; 0]);
        let linked = |workdir: &Path| {
            fs::remove_dir_all(workdir.join("vendor/sub/.git/hooks")).expect("removed");
            std::os::unix::fs::symlink("../own", workdir.join("vendor/sub/.git/hooks")).expect("linked");
        };
        assert_eq!(wrong_after(linked), ["vendor/sub/.git/hooks"]);
        assert_eq!(wrong_after(|workdir| fs::remove_dir_all(workdir.join("vendor")).expect("removed")), [""; 0]);
    }
}
