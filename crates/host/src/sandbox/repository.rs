//! The folders of the workdir's git repository: what a commit writes, and what would run something later.
//!
//! A hook or a setting that an agent left behind would be run by the operator's own git, outside any sandbox. What
//! is there is protected by the kernel; what must not come, and what git itself has to change, is looked at
//! when a command has ended ([`watch`](super::watch)).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::folders::is_git_folder;

/// The most submodules that are looked at.
pub(super) const MODULES_MAX: usize = 256;
/// Depth to which submodules are searched for: their names may have slashes.
pub(super) const MODULE_DEPTH_MAX: usize = 6;
/// The most worktrees of a repository that are looked at.
const WORKTREES_MAX: usize = 256;

/// A workdir's repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Repository {
    /// Its folders that lie outside the workdir.
    pub(super) outside: Vec<PathBuf>,
    /// The tree that is checked out from it, if the workdir is a folder in that tree: git compares all of it.
    pub(super) tree: Option<PathBuf>,
    /// Paths that must not be changed.
    pub(super) protected: Vec<PathBuf>,
    /// Paths that may be changed and not moved away: without them git doesn't take the folder for a repository, and
    /// looks for one elsewhere.
    pub(super) kept_in_place: Vec<PathBuf>,
    /// Folders that git reads its settings from, or may be made to.
    pub(super) folders: Vec<GitFolder>,
    /// The files and links that say where such a folder is.
    pub(super) pointers: Vec<PathBuf>,
}

/// A folder in which git keeps what it knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GitFolder {
    pub(super) at: PathBuf,
    /// The tree that is checked out from it, if that is known.
    pub(super) tree: Option<PathBuf>,
    pub(super) kind: GitFolderKind,
}

/// The relation of a git folder to the workdir.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GitFolderKind {
    /// A repository's.
    Whole,
    /// The part of a linked worktree that the workdir is.
    Own,
    /// The part of another worktree, which may be removed.
    Other,
}

impl Repository {
    /// The repository of `workdir`, if there is one: its own, or that of a folder which it lies in. The `home` and what
    /// that lies in count for none: a command would see all of it.
    ///
    /// A worktree's folders count only if they name its tree in turn: the file that points to them is an agent's to
    /// change, they are not. Another file or link counts wherever it leads: one that leads out of the workdir and was
    /// not there before is put aside when a command has ended, so that those which are there are the operator's.
    pub(super) fn of(workdir: &Path, home: Option<&Path>) -> Self {
        let is_repository = |folder: &Path| fs::symlink_metadata(folder.join(".git")).is_ok();
        if is_repository(workdir) {
            return Self::checked_out_to(workdir, workdir);
        }
        // The folder may be a repository itself, without anything checked out.
        if ["HEAD", "objects", "refs"].iter().all(|name| workdir.join(name).exists()) {
            let mut repository = Self::default();
            repository.whole(workdir, None);
            return repository;
        }
        let home = home.and_then(|home| fs::canonicalize(home).ok());
        let own = rustix::process::geteuid().as_raw();
        let above = workdir.ancestors().skip(1).find(|folder| is_repository(folder)).filter(|folder| {
            let is_around_home = home.as_ref().is_some_and(|home| home.starts_with(folder));
            let is_own = fs::metadata(folder).is_ok_and(|found| found.uid() == own);
            is_own && !is_around_home && folder.parent().is_some()
        });
        match above {
            Some(tree) => {
                let found = Self::checked_out_to(tree, workdir);
                let tree = (!found.folders.is_empty()).then(|| tree.to_owned());
                Self { tree, ..found }
            }
            None => Self::default(),
        }
    }

    /// The repository that is checked out to `tree`, which is the workdir or a folder that it lies in.
    fn checked_out_to(tree: &Path, workdir: &Path) -> Self {
        let own = tree.join(".git");
        let mut repository = Self::default();
        let Ok(found) = fs::symlink_metadata(&own) else { return repository };
        if found.is_dir() {
            if tree != workdir {
                repository.outside.push(own.clone());
            }
            repository.whole(&own, Some(tree));
            return repository;
        }
        repository.pointers.push(own.clone());
        if found.is_file() {
            repository.protected.push(own.clone());
        }
        if let Some((folder, common)) = linked(&own) {
            let settings = ["commondir", "config.worktree", "gitdir"].map(|name| folder.join(name));
            repository.protected.extend(settings);
            let tree = Some(tree.to_owned());
            repository.folders.push(GitFolder { at: folder.clone(), tree, kind: GitFolderKind::Own });
            repository.whole(&common, None);
            repository.outside = vec![folder, common];
        } else if let Some(real) = led_to(&own)
            && !workdir.starts_with(&real)
            && (real.starts_with(workdir) || is_git_folder(&real))
        {
            if !real.starts_with(workdir) {
                repository.outside.push(real.clone());
            }
            repository.whole(&real, Some(tree));
        }
        repository
    }

    /// A submodule of which `folder` is the repository and `tree` what is checked out.
    pub(super) fn embedded(&mut self, folder: &Path, tree: &Path) {
        if !self.folders.iter().any(|known| known.at == folder) {
            self.whole(folder, Some(tree));
        }
    }

    fn whole(&mut self, folder: &Path, tree: Option<&Path>) {
        self.guard(folder, tree.map(Path::to_owned));
        let worktrees = fs::read_dir(folder.join("worktrees")).into_iter().flatten().flatten();
        for worktree in worktrees.map(|entry| entry.path()).take(WORKTREES_MAX) {
            if !self.folders.iter().any(|known| known.at == worktree) {
                self.folders.push(GitFolder { at: worktree, tree: None, kind: GitFolderKind::Other });
            }
        }
        let mut left = MODULES_MAX;
        self.modules(&folder.join("modules"), MODULE_DEPTH_MAX, &mut left);
    }

    /// Protects what of a repository's folder says what is run. An empty folder of hooks is made, since nothing can
    /// be kept from being made.
    fn guard(&mut self, folder: &Path, tree: Option<PathBuf>) {
        let hooks = folder.join("hooks");
        if folder.join("HEAD").is_file() && fs::symlink_metadata(&hooks).is_err() {
            // Where it can't be made, nobody else can make it.
            fs::create_dir(&hooks).ok();
        }
        let settings = ["config", "config.worktree", "commondir"].map(|name| folder.join(name));
        self.protected.extend([hooks].into_iter().chain(settings));
        self.kept_in_place.extend(["objects", "refs"].map(|name| folder.join(name)));
        self.folders.push(GitFolder { at: folder.to_owned(), tree, kind: GitFolderKind::Whole });
    }

    fn modules(&mut self, folder: &Path, depth: usize, left: &mut usize) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if *left == 0 || depth == 0 {
                return;
            }
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            *left -= 1;
            let path = entry.path();
            if path.join("HEAD").is_file() {
                let tree = checked_out(&path);
                self.pointers.extend(tree.iter().map(|tree| tree.join(".git")));
                self.guard(&path, tree);
                self.modules(&path.join("modules"), depth - 1, left);
            } else {
                self.modules(&path, depth - 1, left);
            }
        }
    }
}

/// Returns the place at which a submodule is checked out, as the settings in its `folder` say.
fn checked_out(folder: &Path) -> Option<PathBuf> {
    let settings = fs::read_to_string(folder.join("config")).ok()?;
    let value = settings.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        name.trim().eq_ignore_ascii_case("worktree").then(|| value.trim().trim_matches('"'))
    })?;
    fs::canonicalize(folder.join(value)).ok()
}

/// The folder that `pointer` stands for: a folder, a link to one, or a file that names one.
pub(crate) fn led_to(pointer: &Path) -> Option<PathBuf> {
    let found = fs::metadata(pointer).ok()?;
    if found.is_dir() {
        return fs::canonicalize(pointer).ok();
    }
    let text = fs::read_to_string(pointer).ok()?;
    fs::canonicalize(pointer.parent()?.join(text.strip_prefix("gitdir:")?.trim())).ok()
}

/// The folder of a worktree and that of its repository, if both agree with the file that points to them.
fn linked(pointer: &Path) -> Option<(PathBuf, PathBuf)> {
    if !fs::symlink_metadata(pointer).ok()?.is_file() {
        return None;
    }
    let folder = led_to(pointer)?;
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
        assert_eq!(Repository::of(&work, None).folders, []);
        assert_eq!(Repository::of(&work, None).protected, [work.join(".git")]);
        fs::create_dir_all(root.join("main/.git/worktrees/other")).expect("made");
        fs::write(own.join("gitdir"), format!("{}\n", work.join(".git").display())).expect("written");
        let found = Repository::of(&work, None);
        assert_eq!(found.outside, [own.clone(), root.join("main/.git")]);
        let folders: Vec<_> = found.folders.iter().map(|folder| (folder.at.clone(), folder.kind)).collect();
        let common = (root.join("main/.git"), GitFolderKind::Whole);
        let other = (root.join("main/.git/worktrees/other"), GitFolderKind::Other);
        assert_eq!(folders, [(own, GitFolderKind::Own), common, other]);
        assert!(found.protected.contains(&root.join("main/.git/config")), "{found:?}");
    }

    #[test]
    fn submodules_are_guarded_and_a_link_is_followed_only_within() {
        let folder = tempfile::tempdir().expect("a folder");
        let git = folder.path().join(".git");
        fs::create_dir_all(git.join("modules/a/b")).expect("made");
        fs::write(git.join("HEAD"), "").expect("written");
        fs::write(git.join("modules/a/b/HEAD"), "").expect("written");
        let found = Repository::of(folder.path(), None);
        assert!(found.protected.contains(&git.join("modules/a/b/hooks")), "{found:?}");
        assert!(git.join("hooks").is_dir() && git.join("modules/a/b/hooks").is_dir());

        let other = tempfile::tempdir().expect("a folder");
        std::os::unix::fs::symlink(&git, other.path().join(".git")).expect("linked");
        let found = Repository::of(other.path(), None);
        assert_eq!((found.protected.len(), found.folders.len(), found.pointers.len()), (0, 0, 1));

        let root = fs::canonicalize(folder.path()).expect("there");
        fs::rename(root.join(".git"), root.join("g")).expect("moved");
        std::os::unix::fs::symlink("g", root.join(".git")).expect("linked");
        assert!(Repository::of(&root, None).protected.contains(&root.join("g/config")));
    }
}
