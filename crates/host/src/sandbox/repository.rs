//! The folders of the workdir's git repository: what a commit writes, and what would run something later.
//!
//! A hook or a setting that an agent left behind would be run by the operator's own git, outside any sandbox.

use std::fs;
use std::path::{Path, PathBuf};

/// The most submodules that are looked at.
const MODULES_MAX: usize = 256;
/// How deep submodules are looked for: their names may have slashes.
const MODULE_DEPTH_MAX: usize = 6;

/// A workdir's repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Repository {
    /// Its folders that lie outside the workdir: those of a linked worktree.
    pub(super) outside: Vec<PathBuf>,
    /// What must not be changed.
    pub(super) protected: Vec<PathBuf>,
}

impl Repository {
    /// The repository of `workdir`, if there is one.
    ///
    /// A worktree's folders count only if they name this workdir in turn: the file that points to them is an
    /// agent's to change, they are not.
    pub(super) fn of(workdir: &Path) -> Self {
        let own = workdir.join(".git");
        let Ok(found) = fs::symlink_metadata(&own) else { return Self::default() };
        if found.is_dir() {
            let mut protected = guarded(&own);
            let mut left = MODULES_MAX;
            modules(&own.join("modules"), MODULE_DEPTH_MAX, &mut left, &mut protected);
            return Self { outside: Vec::new(), protected };
        }
        if found.is_file()
            && let Some((folder, common)) = linked(&own)
        {
            let protected = guarded(&common).into_iter().chain([folder.join("config.worktree")]).chain([own]);
            return Self { protected: protected.collect(), outside: vec![folder, common] };
        }
        Self::default()
    }
}

/// What of a repository's folder says what is run. An empty folder of hooks is made, since nothing can be
/// kept from being made.
fn guarded(folder: &Path) -> Vec<PathBuf> {
    let hooks = folder.join("hooks");
    if folder.join("HEAD").is_file() && fs::symlink_metadata(&hooks).is_err() {
        // Where it can't be made, nobody else can make it.
        fs::create_dir(&hooks).ok();
    }
    vec![hooks, folder.join("config"), folder.join("config.worktree")]
}

fn modules(folder: &Path, depth: usize, left: &mut usize, protected: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if *left == 0 || depth == 0 {
            return;
        }
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        *left -= 1;
        if entry.path().join("HEAD").is_file() {
            protected.extend(guarded(&entry.path()));
            modules(&entry.path().join("modules"), depth - 1, left, protected);
        } else {
            modules(&entry.path(), depth - 1, left, protected);
        }
    }
}

/// The folder of a worktree and that of its repository, if both agree with the file that points to them.
fn linked(pointer: &Path) -> Option<(PathBuf, PathBuf)> {
    let text = fs::read_to_string(pointer).ok()?;
    let folder = fs::canonicalize(pointer.parent()?.join(text.strip_prefix("gitdir:")?.trim())).ok()?;
    let back = fs::read_to_string(folder.join("gitdir")).ok()?;
    if fs::canonicalize(back.trim()).ok()? != fs::canonicalize(pointer).ok()? {
        return None;
    }
    let common = fs::read_to_string(folder.join("commondir")).ok()?;
    let common = fs::canonicalize(folder.join(common.trim())).ok()?;
    folder.starts_with(&common).then_some((folder, common))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_counts_only_if_both_sides_agree() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(folder.path()).expect("there");
        let (work, own) = (root.join("work"), root.join("main/.git/worktrees/work"));
        fs::create_dir_all(&own).expect("made");
        fs::create_dir_all(&work).expect("made");
        fs::write(work.join(".git"), format!("gitdir: {}\n", own.display())).expect("written");
        fs::write(own.join("commondir"), "../..\n").expect("written");
        fs::write(own.join("gitdir"), "/elsewhere/.git\n").expect("written");
        assert_eq!(Repository::of(&work), Repository::default());
        fs::write(own.join("gitdir"), format!("{}\n", work.join(".git").display())).expect("written");
        let found = Repository::of(&work);
        assert_eq!(found.outside, [own, root.join("main/.git")]);
        assert!(found.protected.contains(&root.join("main/.git/config")), "{found:?}");
    }

    #[test]
    fn submodules_are_guarded_and_a_link_is_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let git = folder.path().join(".git");
        fs::create_dir_all(git.join("modules/a/b")).expect("made");
        fs::write(git.join("HEAD"), "").expect("written");
        fs::write(git.join("modules/a/b/HEAD"), "").expect("written");
        let found = Repository::of(folder.path());
        assert!(found.protected.contains(&git.join("modules/a/b/hooks")), "{found:?}");
        assert!(git.join("hooks").is_dir() && git.join("modules/a/b/hooks").is_dir());

        let other = tempfile::tempdir().expect("a folder");
        std::os::unix::fs::symlink(&git, other.path().join(".git")).expect("linked");
        assert_eq!(Repository::of(other.path()), Repository::default());
    }
}
