//! Repositories in a repository. Git goes into every folder that its index names as a submodule, also when it only
//! tells what changed, and follows the settings that it finds there. A command can write such a name into the index.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::repository::{MODULE_DEPTH_MAX, MODULES_MAX, led_to};
use super::watch::{link_above, make_usable};
use crate::rescue::git::{self, Git};

/// Settings that run nothing and lead nowhere: what `git init` and `git clone` write, and what tests and scripts set in
/// repositories of their own. A star stands for any name.
const PLAIN: &[&str] = &[
    "advice.*",
    "branch.*.merge",
    "branch.*.rebase",
    "branch.*.remote",
    "commit.gpgsign",
    "core.abbrev",
    "core.autocrlf",
    "core.bare",
    "core.compression",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.logallrefupdates",
    "core.precomposeunicode",
    "core.preloadindex",
    "core.quotepath",
    "core.repositoryformatversion",
    "core.safecrlf",
    "core.sharedrepository",
    "core.symlinks",
    "core.untrackedcache",
    "core.worktree",
    "extensions.objectformat",
    "extensions.refstorage",
    "extensions.worktreeconfig",
    "gc.auto",
    "init.defaultbranch",
    "merge.conflictstyle",
    "merge.ff",
    "pull.ff",
    "pull.rebase",
    "push.autosetupremote",
    "push.default",
    "receive.denycurrentbranch",
    "receive.denynonfastforwards",
    "remote.*.fetch",
    "remote.*.tagopt",
    "remote.*.url",
    "submodule.*.active",
    "submodule.*.url",
    "submodule.active",
    "tag.gpgsign",
    "uploadpack.allowanysha1inwant",
    "uploadpack.allowfilter",
    "user.email",
    "user.name",
    "user.useconfigonly",
];

/// The tree that is checked out from a repository, and the submodules that its index named before a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CheckedOutTree {
    folder: PathBuf,
    tree: PathBuf,
    index: Option<IndexStamp>,
    /// `None` if git could not tell.
    names: Option<Vec<OsString>>,
}

/// The stamp of an index: inode, size and time of the last change, which no program can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct IndexStamp(u64, u64, i64, i64);

impl IndexStamp {
    fn of(folder: &Path) -> Option<Self> {
        let found = fs::metadata(folder.join("index")).ok()?;
        Some(Self(found.ino(), found.size(), found.ctime(), found.ctime_nsec()))
    }
}

/// The submodules of each repository, by the stamp of its index: asked for before every command.
#[derive(Debug, Default)]
pub(super) struct Links(Mutex<BTreeMap<PathBuf, CheckedOutTree>>);

impl Links {
    /// The tree that is checked out from `folder`, as its index is now.
    pub(super) fn tree(&self, folder: &Path, tree: &Path) -> CheckedOutTree {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = IndexStamp::of(folder);
        if let Some(found) = known.get(folder)
            && found.index == index
            && found.tree == tree
        {
            return found.clone();
        }
        let names = names_of(folder, tree);
        let found = CheckedOutTree { folder: folder.to_owned(), tree: tree.to_owned(), index, names };
        known.insert(folder.to_owned(), found.clone());
        found
    }
}

fn names_of(folder: &Path, tree: &Path) -> Option<Vec<OsString>> {
    if fs::symlink_metadata(folder.join("index")).is_err() {
        return Some(Vec::new());
    }
    Git::of(folder, tree).submodules().ok()
}

impl CheckedOutTree {
    /// The repositories within that have their folder in the tree, not with their superproject's.
    pub(super) fn embedded(&self) -> impl Iterator<Item = (PathBuf, PathBuf)> {
        let names = self.names.iter().flatten().take(MODULES_MAX);
        let places = names.map(|name| self.tree.join(name));
        places.map(|tree| (tree.join(".git"), tree)).filter(|(folder, _)| {
            fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir())
                && fs::canonicalize(folder).is_ok_and(|real| real == *folder)
        })
    }

    /// The files and folders by which git would go into repositories that are not `known` and not plain. At most
    /// `left` are looked at; what is beyond is taken for one that isn't plain.
    pub(super) fn strangers(&self, known: &BTreeSet<&Path>, left: &mut usize) -> Vec<PathBuf> {
        let mut strangers = Vec::new();
        let is_as_before = IndexStamp::of(&self.folder) == self.index;
        let names = if is_as_before { self.names.clone() } else { names_of(&self.folder, &self.tree) };
        // An index that git can't read leads it nowhere.
        within(&self.tree, &names.unwrap_or_default(), known, MODULE_DEPTH_MAX, left, &mut strangers);
        strangers
    }
}

fn within(
    tree: &Path,
    names: &[OsString],
    known: &BTreeSet<&Path>,
    depth: usize,
    left: &mut usize,
    strangers: &mut Vec<PathBuf>,
) {
    for name in names {
        // An index can be written by hand; git itself goes neither up nor through links.
        let is_below = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        let (tree_root, tree) = (tree, tree.join(name));
        let pointer = tree.join(".git");
        if !is_below || link_above(&pointer).is_some() {
            continue;
        }
        // What can't be looked into now may be made readable by the operator.
        let mut above = tree_root.to_owned();
        for part in Path::new(name).components() {
            above.push(part);
            make_usable(&above);
        }
        if fs::symlink_metadata(&pointer).is_err() || known.contains(pointer.as_path()) {
            continue;
        }
        let folder = led_to(&pointer);
        if folder.as_ref().is_some_and(|folder| known.contains(folder.as_path())) {
            continue;
        }
        let is_counted = depth > 0 && *left > 0;
        *left = left.saturating_sub(1);
        match folder.filter(|folder| is_counted && is_plain(folder)) {
            Some(folder) => {
                let names = names_of(&folder, &tree).unwrap_or_default();
                within(&tree, &names, known, depth - 1, left, strangers);
            }
            None => strangers.push(pointer),
        }
    }
}

/// Returns true if nothing in a repository's folder runs something or leads elsewhere.
fn is_plain(folder: &Path) -> bool {
    let is_absent = |name: &str| fs::symlink_metadata(folder.join(name)).is_err();
    let is_sample = |entry: fs::DirEntry| entry.file_name().as_encoded_bytes().ends_with(b".sample");
    let has_no_hooks =
        is_absent("hooks") || fs::read_dir(folder.join("hooks")).is_ok_and(|hooks| hooks.flatten().all(is_sample));
    is_absent("commondir")
        && is_absent("config.worktree")
        && has_no_hooks
        && git::settings(&folder.join("config")).is_ok_and(|names| names.iter().all(|name| is_plain_setting(name)))
}

/// Returns true if a setting runs nothing and leads nowhere, whatever its value.
pub(super) fn is_plain_setting(name: &str) -> bool {
    PLAIN.iter().any(|plain| is_named(plain, name))
}

fn is_named(plain: &str, name: &str) -> bool {
    match plain.split_once('*') {
        Some((first, last)) => name.len() > first.len() + last.len() && name.starts_with(first) && name.ends_with(last),
        None => plain == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_git_writes_itself_is_plain() {
        for (name, expected) in [
            ("core.bare", true),
            ("branch.a.b.merge", true),
            ("remote.origin.url", true),
            ("remote..url", false),
            ("remote.origin.uploadpack", false),
            ("remote.origin.promisor", false),
            ("core.fsmonitor", false),
            ("include.path", false),
            ("submodule.x.update", false),
            ("filter.x.url", false),
        ] {
            assert_eq!(is_plain_setting(name), expected, "{name}");
        }
    }
}
