//! Keeps the content of the working tree as commits of a run, lists them, and removes those that are old.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::str::FromStr;
use std::time::Instant;

use super::index::{NoTree, WorkTree, with_submodules, write_tree};
use super::look::heads_within;
use super::name::refs_of;
use super::shadow::{NewObjects, Shadow, is_object, path_of};
use super::{CheckpointError, CheckpointName, DIFFERING_PATHS_MAX, TreeLimits};
use crate::workdir::name::text_of;

/// The content of the working tree as it was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its name within the run.
    pub name: CheckpointName,
    /// The commit that has the files, as paths below the workdir.
    pub commit: String,
    /// The time at which it was made, in seconds since 1970.
    pub made_at_s: u64,
    /// Number of files that differ from the checkpoint before it; `None` for the first.
    pub differing: Option<u64>,
}

/// The paths at which two trees differ, in byte order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DifferingPaths {
    /// The first of them, at most [`DIFFERING_PATHS_MAX`]. A name that is not UTF-8 is a text that stands for it
    /// (`workdir::shown`).
    pub paths: Vec<String>,
    /// Number of those that aren't named.
    pub more: u64,
}

/// Keeps the present content as the checkpoint of `iteration`. One that is there stays as it is.
///
/// # Errors
///
/// [`CheckpointError`]: no repository, a tree over the limits, a name that Git doesn't take, or Git's failure.
pub fn keep(workdir: &Path, run: &str, iteration: u64, limits: &TreeLimits) -> Result<Checkpoint, CheckpointError> {
    let until = Instant::now() + limits.time;
    let shadow = open(workdir, NewObjects::Kept, until)?;
    let name = CheckpointName::Iteration(iteration);
    match find(&shadow, run, name)? {
        Some(found) => Ok(found),
        None => keep_as(workdir, &shadow, run, name, limits, until).map(|(kept, _)| kept),
    }
}

/// Returns the checkpoints of a run, oldest first.
///
/// # Errors
///
/// As [`keep`].
pub fn list(workdir: &Path, run: &str) -> Result<Vec<Checkpoint>, CheckpointError> {
    let shadow = open(workdir, NewObjects::Apart, Instant::now() + TreeLimits::default().time)?;
    let mut all = refs(&shadow, run)?;
    let commits: Vec<String> = all.iter().map(|checkpoint| checkpoint.commit.clone()).collect();
    for (checkpoint, pair) in all.iter_mut().skip(1).zip(commits.windows(2)) {
        if let [before, after] = pair {
            checkpoint.differing = Some(paths_between(&shadow, before, after)?.count() as u64);
        }
    }
    Ok(all)
}

/// Removes all checkpoints of a run but the last `left`; returns the names of those removed. What only they kept is
/// gone with the repository's next collection of garbage.
///
/// # Errors
///
/// As [`keep`].
pub fn remove_old(workdir: &Path, run: &str, left: usize) -> Result<Vec<CheckpointName>, CheckpointError> {
    let shadow = open(workdir, NewObjects::Apart, Instant::now() + TreeLimits::default().time)?;
    let all = refs(&shadow, run)?;
    let (old, _) = all.split_at(all.len().saturating_sub(left));
    let folder = refs_of(run)?;
    let mut orders = Vec::new();
    for Checkpoint { name, commit, .. } in old {
        orders.extend_from_slice(format!("delete {folder}{name}\0{commit}\0").as_bytes());
    }
    if !orders.is_empty() {
        shadow.run(shadow.of_user().args(["update-ref", "--no-deref", "-z", "--stdin"]), &orders)?;
    }
    Ok(old.iter().map(|checkpoint| checkpoint.name).collect())
}

/// Returns the paths that differ between two commits or trees that the repository has, such as two checkpoints.
///
/// # Errors
///
/// As [`keep`]; also if one of them is no object, or is gone.
pub fn differing_paths(workdir: &Path, before: &str, after: &str) -> Result<DifferingPaths, CheckpointError> {
    let shadow = open(workdir, NewObjects::Apart, Instant::now() + TreeLimits::default().time)?;
    let mut paths: Vec<String> = paths_between(&shadow, before, after)?.collect();
    let more = paths.len().saturating_sub(DIFFERING_PATHS_MAX) as u64;
    paths.truncate(DIFFERING_PATHS_MAX);
    Ok(DifferingPaths { paths, more })
}

pub(super) fn open(workdir: &Path, objects: NewObjects, until: Instant) -> Result<Shadow, CheckpointError> {
    Shadow::open(workdir, objects, until)?.ok_or(CheckpointError::NoRepository)
}

/// Keeps the present content under `name`; the tree comes with it.
pub(super) fn keep_as(
    workdir: &Path,
    shadow: &Shadow,
    run: &str,
    name: CheckpointName,
    limits: &TreeLimits,
    until: Instant,
) -> Result<(Checkpoint, WorkTree), CheckpointError> {
    let reference = format!("{}{name}", refs_of(run)?);
    let mut tree = write_tree(shadow, limits).map_err(|error| match error {
        NoTree::TooLarge(why) => CheckpointError::TooLarge(why),
        NoTree::Failed(error) => CheckpointError::Failed(error),
        NoTree::Ignored => io::Error::other("the working directory is ignored by its repository").into(),
    })?;
    if !tree.submodules.is_empty() {
        let heads: BTreeMap<Vec<u8>, String> = heads_within(workdir, shadow, &tree, until)?;
        tree.object = with_submodules(shadow, &heads)?;
    }
    let mut git = shadow.command();
    for who in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{who}_NAME"), "Adjutant").env(format!("GIT_{who}_EMAIL"), "adjutant@localhost");
    }
    git.args(["commit-tree", &tree.object]);
    if let Some(head) = &shadow.head {
        git.args(["-p", head]);
    }
    let commit = shadow.object(&mut git, format!("adjutant: {name} of {run}\n").as_bytes())?;
    // Made only if it is not there: another that keeps it at the same time is as good.
    let order = format!("create {reference}\0{commit}\0");
    let made = shadow.run(shadow.of_user().args(["update-ref", "--no-deref", "-z", "--stdin"]), order.as_bytes());
    match (find(shadow, run, name)?, made) {
        (Some(kept), _) => Ok((kept, tree)),
        (None, Err(error)) => Err(error.into()),
        (None, Ok(_)) => Err(io::Error::other("git did not keep the commit").into()),
    }
}

/// The checkpoint of that name, if it is there.
pub(super) fn find(shadow: &Shadow, run: &str, name: CheckpointName) -> Result<Option<Checkpoint>, CheckpointError> {
    Ok(refs(shadow, run)?.into_iter().find(|checkpoint| checkpoint.name == name))
}

/// The checkpoints of a run, oldest first, without what differs between them.
pub(super) fn refs(shadow: &Shadow, run: &str) -> Result<Vec<Checkpoint>, CheckpointError> {
    let folder = refs_of(run)?;
    let format = "--format=%(objecttype) %(objectname) %(committerdate:unix) %(refname)";
    let told = shadow.run(shadow.of_user().args(["for-each-ref", format, &folder]), &[])?;
    let told = String::from_utf8_lossy(&told);
    let mut all: Vec<Checkpoint> = told.lines().filter_map(|line| checkpoint(line, &folder)).collect();
    all.sort_by_key(|checkpoint| (checkpoint.made_at_s, checkpoint.name));
    Ok(all)
}

/// Reads a line of the list of refs; one that we didn't make is none.
fn checkpoint(line: &str, folder: &str) -> Option<Checkpoint> {
    let mut words = line.splitn(4, ' ');
    let (kind, commit, made_at, reference) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let name = CheckpointName::from_str(reference.strip_prefix(folder)?).ok()?;
    let made_at_s = made_at.parse().ok()?;
    (kind == "commit" && is_object(commit)).then(|| Checkpoint {
        name,
        commit: commit.to_owned(),
        made_at_s,
        differing: None,
    })
}

fn paths_between(shadow: &Shadow, before: &str, after: &str) -> Result<std::vec::IntoIter<String>, CheckpointError> {
    if let Some(other) = [before, after].into_iter().find(|name| !is_object(name)) {
        return Err(io::Error::other(format!("`{other}` is no object of a repository")).into());
    }
    let mut git = shadow.command();
    git.args(["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--end-of-options"]);
    let told = shadow.run(git.args([before, after]), &[])?;
    let paths = told.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    let paths: Vec<String> = paths.map(|path| text_of(path_of(path).as_os_str())).collect();
    Ok(paths.into_iter())
}
