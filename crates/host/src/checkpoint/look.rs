//! Finds the identity of the content of a working tree.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::time::Instant;

use adjutant_core::words::tool::ContentHasher;

use super::TreeLimits;
use super::index::{NoTree, WorkTree, write_tree};
use super::shadow::{NewObjects, Shadow};
use super::walk;
use crate::workdir::name::text_of;
use crate::workdir::{Kind, Workdir, kept_path};

/// The most submodules and repositories within that are looked into, and how deep they may lie in one another.
const REPOSITORIES_MAX: usize = 200;
const DEPTH_MAX: usize = 8;

/// Identity of the content of a working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeIdentity {
    /// A text that is the same whenever the content is.
    Known {
        /// `git:` and the tree, or `files:` and a hash where there is no repository.
        id: String,
    },
    /// It could not be found out.
    Unknown {
        /// The reason, as a sentence for an operator.
        why: String,
    },
}

/// The result of [`look`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeLook {
    /// Identity of the content.
    pub tree: TreeIdentity,
    /// The commit that is checked out, if there is a repository and it has one.
    pub head: Option<String>,
}

/// Looks at everything below `workdir` that is committed or could be. Nothing is written there, nor to the repository.
///
/// Commits and staging don't change the id, and a change that is undone by any route brings the old one back. A
/// submodule counts by its commit and its content.
#[must_use]
pub fn look(workdir: &Path, limits: &TreeLimits) -> TreeLook {
    let until = Instant::now() + limits.time;
    let unknown = |head, why: String| TreeLook { tree: TreeIdentity::Unknown { why }, head };
    let shadow = match Shadow::open(workdir, NewObjects::Apart, until) {
        Ok(shadow) => shadow,
        Err(error) => return unknown(None, format!("can't use the repository: {error}")),
    };
    let head = shadow.as_ref().and_then(|shadow| shadow.head.clone());
    let found = match &shadow {
        Some(shadow) => match of_repository(workdir, shadow, limits, until, 0) {
            Err(NoTree::Ignored) => walk::id(workdir, limits, until),
            found => found,
        },
        None => walk::id(workdir, limits, until),
    };
    match found {
        Ok(id) => TreeLook { tree: TreeIdentity::Known { id }, head },
        Err(NoTree::TooLarge(why)) => unknown(head, why),
        Err(NoTree::Failed(error)) => unknown(head, format!("can't read the working tree: {error}")),
        // A walk ignores nothing.
        Err(NoTree::Ignored) => unknown(head, "the working directory is ignored by its repository".to_owned()),
    }
}

fn of_repository(
    workdir: &Path,
    shadow: &Shadow,
    limits: &TreeLimits,
    until: Instant,
    depth: usize,
) -> Result<String, NoTree> {
    let tree = write_tree(shadow, limits)?;
    let within = within(workdir, shadow, &tree)?;
    if within.is_empty() {
        return Ok(format!("git:{}", tree.object));
    }
    if within.len() > REPOSITORIES_MAX || depth >= DEPTH_MAX {
        return Err(NoTree::TooLarge(format!("more than {REPOSITORIES_MAX} repositories lie in it, or too deep")));
    }
    let mut hasher = ContentHasher::default();
    for path in within {
        let at = shadow.at(&path);
        let inner = Shadow::open(&at, NewObjects::Apart, until)?;
        let inner = inner.filter(|inner| inner.prefix.is_empty());
        let (head, content) = match &inner {
            Some(inner) => {
                let content = of_repository(&at, inner, limits, until, depth + 1)?;
                (inner.head.clone().unwrap_or_default(), content)
            }
            None => (String::new(), String::new()),
        };
        for part in [&path[..], head.as_bytes(), content.as_bytes()] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    Ok(format!("git:{}+{}", tree.object, hasher.finish()))
}

/// The submodules and other repositories below the workdir that are there, by their full names.
fn within(workdir: &Path, shadow: &Shadow, tree: &WorkTree) -> io::Result<BTreeSet<Vec<u8>>> {
    if tree.submodules.is_empty() && tree.nested.is_empty() {
        return Ok(BTreeSet::new());
    }
    let workdir = Workdir::open(workdir)?;
    let is_there = |path: &&Vec<u8>| {
        let below = path.strip_prefix(shadow.prefix.as_slice()).unwrap_or(path);
        let below = kept_path(&text_of(super::shadow::path_of(below).as_os_str()));
        // Through a link it would be a repository elsewhere.
        below.is_some_and(|below| matches!(workdir.kind(&below), Ok(Some(Kind::Folder))))
            && shadow.at(path).join(".git").symlink_metadata().is_ok()
    };
    Ok(tree.submodules.iter().chain(&tree.nested).filter(is_there).cloned().collect())
}

/// The commits that are checked out in the submodules of `tree`, by their full names; of those that can't be asked, or
/// have none, nothing.
pub(super) fn heads_within(
    workdir: &Path,
    shadow: &Shadow,
    tree: &WorkTree,
    until: Instant,
) -> io::Result<std::collections::BTreeMap<Vec<u8>, String>> {
    let mut heads = std::collections::BTreeMap::new();
    for path in within(workdir, shadow, tree)?.into_iter().filter(|path| tree.submodules.contains(path)) {
        let inner = Shadow::open(&shadow.at(&path), NewObjects::Apart, until)?;
        if let Some(head) = inner.filter(|inner| inner.prefix.is_empty()).and_then(|inner| inner.head.clone()) {
            heads.insert(path, head);
        }
    }
    Ok(heads)
}
