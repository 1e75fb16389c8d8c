//! The files that a patch names, for the gate, which judges it before it is applied.

use super::parse::{Operation, parse};
use super::path::{checked, meanings};

/// The files that a patch names, in plain form, each once. Where a header may mean two paths, the likelier is here:
/// the other is meant only where a folder of the workdir is itself called `a` or `b`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchPaths {
    /// Those that would be created, changed or moved.
    pub written: Vec<String>,
    /// Those that would be deleted.
    pub deleted: Vec<String>,
}

/// The files that `patch` names, read as [`plan`](super::plan) reads it. Of a patch that can't be read nothing
/// is named: it changes nothing either. A path that no patch may touch is left out, for the same reason.
#[must_use]
pub fn named(patch: &str) -> PatchPaths {
    let mut all = PatchPaths::default();
    for part in parse(patch).unwrap_or_default() {
        let (written, deleted) = match &part.operation {
            Operation::Edit { old, new } => (vec![old, new], None),
            Operation::Create { new } => (vec![new], None),
            Operation::Delete { old } => (Vec::new(), Some(old)),
            Operation::Rename { from, to } => (vec![from, to], None),
            Operation::Copy { to, .. } => (vec![to], None),
        };
        let paths = |name: &String| meanings(name, part.git).into_iter().take(1).filter_map(|path| checked(&path).ok());
        all.written.extend(written.into_iter().flat_map(&paths));
        all.deleted.extend(deleted.into_iter().flat_map(&paths));
    }
    for paths in [&mut all.written, &mut all.deleted] {
        paths.sort_unstable();
        paths.dedup();
    }
    all
}

/// Every path that `patch` might read or write, whichever way its headers are meant: those that [`plan`](super::plan)
/// may look up, in plain form, each once.
#[must_use]
pub fn possible_paths(patch: &str) -> Vec<String> {
    let mut all = Vec::new();
    for part in parse(patch).unwrap_or_default() {
        let names = match &part.operation {
            Operation::Edit { old, new } => vec![old, new],
            Operation::Create { new: only } | Operation::Delete { old: only } => vec![only],
            Operation::Rename { from, to } | Operation::Copy { from, to } => vec![from, to],
        };
        all.extend(names.into_iter().flat_map(|name| meanings(name, part.git)).filter_map(|path| checked(&path).ok()));
    }
    all.sort_unstable();
    all.dedup();
    all
}
