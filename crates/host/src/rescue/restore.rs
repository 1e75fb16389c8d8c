//! The way back: what differs from what was kept, and undoing it.
//!
//! Nothing is written that is as it was. What came later stays, unless it is asked for that everything be exactly
//! as it was; what was there and not kept stays in any case.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use adjutant_core::gate::rescue::Extent;
use adjutant_core::tool::{ContentHasher, content_hash};
use serde::Serialize;

use super::Rescues;
use super::git::Git;
use super::listing::list;
use super::manifest::{Entry, Manifest, Store};
use crate::workdir::{Kind, WorkPath, Workdir};

/// What a rescue was made before that an undo made.
pub const UNDO: &str = "undo";

/// What would be done to the workdir.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// What differs, in the order in which it is undone.
    pub differences: Vec<Difference>,
    /// How much is as it was.
    pub unchanged: u64,
}

/// One thing that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its path, relative to the workdir.
    pub path: String,
    /// What is done about it.
    pub change: Change,
}

/// What is done about a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It came later and is removed.
    Remove,
    /// It is gone and is made again.
    Restore,
    /// It is another now and is put back.
    Replace,
    /// Only its permissions are put back.
    Mode,
    /// Nothing: something that came later stands in its place.
    Blocked,
}

impl Plan {
    /// The paths that `change` is done to.
    #[must_use]
    pub fn paths(&self, change: Change) -> Vec<String> {
        let of_kind = self.differences.iter().filter(|difference| difference.change == change);
        of_kind.map(|difference| difference.path.clone()).collect()
    }

    /// Everything that would be written or removed.
    #[must_use]
    pub fn touched(&self) -> Vec<String> {
        let touched = self.differences.iter().filter(|difference| difference.change != Change::Blocked);
        touched.map(|difference| difference.path.clone()).collect()
    }
}

impl Rescues {
    /// What undoing to `manifest` would change. With `is_exact` what came later is removed too.
    ///
    /// # Errors
    ///
    /// If what is there can't be read, or `is_exact` is asked for and the rescue does not know all that was there.
    pub fn plan(&self, workdir: &Workdir, manifest: &Manifest, is_exact: bool) -> io::Result<Plan> {
        let mut differences = Vec::new();
        let came_later = if is_exact { self.came_later(workdir, manifest)? } else { BTreeSet::new() };
        differences.extend(came_later.iter().map(|path| Difference { path: path.clone(), change: Change::Remove }));
        let mut unchanged = 0;
        for entry in &manifest.entries {
            match difference(workdir, entry, &came_later)? {
                Some(change) => differences.push(Difference { path: entry.path.clone(), change }),
                None => unchanged += 1,
            }
        }
        Ok(Plan { differences, unchanged })
    }

    fn came_later(&self, workdir: &Workdir, manifest: &Manifest) -> io::Result<BTreeSet<String>> {
        if !manifest.is_complete {
            return Err(io::Error::other(
                "it is not known what else was there, so nothing can be told to have come later",
            ));
        }
        let extent = manifest.paths.clone().map_or(Extent::Whole, Extent::Paths);
        let home = self.home.canonicalize().unwrap_or_else(|_| self.home.clone());
        let except = home.strip_prefix(workdir.root()).ok().and_then(Path::to_str).filter(|path| !path.is_empty());
        let git = manifest.commit.as_ref().and_then(|_| Git::around(workdir.root()));
        let now = list(workdir, git.as_ref(), &extent, except)?;
        let kept: BTreeSet<&str> = manifest.entries.iter().map(|entry| entry.path.as_str()).collect();
        let was_there = |path: &String| {
            let stood = |left: &String| left == path || (left.ends_with('/') && path.starts_with(left.as_str()));
            // A folder that is empty now may have had kept files in it.
            let held = |entry: &&str| entry.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('/'));
            let is_folder = || {
                workdir.resolve(path).and_then(|path| workdir.kind(&path)).is_ok_and(|kind| kind == Some(Kind::Folder))
            };
            kept.contains(path.as_str())
                || manifest.left_out.iter().any(stood)
                || (kept.iter().any(held) && is_folder())
        };
        Ok(now.for_git.into_iter().chain(now.to_copy).filter(|path| !was_there(path)).collect())
    }

    /// Removes the temporary files that undoings left which were killed: those beside the paths that the rescue before
    /// each names as touched. Files of that name elsewhere are not looked for.
    ///
    /// # Errors
    ///
    /// If one can't be removed.
    pub fn sweep_leftovers(&self, workdir: &Workdir) -> io::Result<()> {
        let manifests = self.list();
        let undoings = manifests.iter().filter(|manifest| manifest.before == UNDO);
        let touched = undoings.flat_map(|manifest| manifest.paths.iter().flatten());
        let folder_of = |path: &'_ String| path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
        let one_of_each: BTreeMap<String, &String> = touched.map(|path| (folder_of(path), path)).collect();
        for path in one_of_each.into_values() {
            // A folder that is no longer there, or leads out, has nothing of ours.
            let Ok(path) = workdir.resolve(path) else { continue };
            workdir.sweep_leftovers(&path).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Carries out `plan`. What was done before a failure stays done; the plan can be made and carried out again.
    ///
    /// # Errors
    ///
    /// If a file can't be written, or what was kept of it is not what it was.
    pub fn restore(&self, workdir: &Workdir, manifest: &Manifest, plan: &Plan) -> io::Result<()> {
        let entries: BTreeMap<&str, &Entry> =
            manifest.entries.iter().map(|entry| (entry.path.as_str(), entry)).collect();
        for Difference { path, change } in &plan.differences {
            let at = workdir.resolve(path).map_err(io::Error::other)?;
            match (change, entries.get(path.as_str())) {
                (Change::Remove, _) => remove(workdir, &at)?,
                (Change::Restore | Change::Replace, Some(entry)) => self.put_back(workdir, &at, manifest, entry)?,
                (Change::Mode, Some(entry)) => workdir.set_mode(&at, entry.mode).map_err(io::Error::other)?,
                (Change::Blocked, _) | (_, None) => {}
            }
        }
        Ok(())
    }

    fn put_back(&self, workdir: &Workdir, at: &WorkPath, manifest: &Manifest, entry: &Entry) -> io::Result<()> {
        let content = match &entry.store {
            Store::Folder => return workdir.create_folder(at, entry.mode).map_err(io::Error::other),
            Store::Link(to) => {
                if workdir.kind(at).map_err(io::Error::other)?.is_some() {
                    workdir.remove_file(at).map_err(io::Error::other)?;
                }
                return workdir.create_link(at, to).map_err(io::Error::other);
            }
            Store::Git => {
                let (Some(git_dir), Some(commit)) = (&manifest.git_dir, &manifest.commit) else {
                    return Err(io::Error::other("the rescue names no commit"));
                };
                Git::at(Path::new(git_dir)).content(commit, &entry.path)?
            }
            Store::Copy(number) => fs::read(self.folder().join(&manifest.name).join(number.to_string()))?,
        };
        if entry.hash.as_ref() != Some(&content_hash(&content)) {
            return Err(io::Error::other(format!("what was kept of `{}` is damaged", entry.path)));
        }
        // A link would be written through.
        if workdir.kind(at).map_err(io::Error::other)? == Some(Kind::Link) {
            workdir.remove_file(at).map_err(io::Error::other)?;
        }
        workdir.write(at, &content, Some(entry.mode)).map(drop).map_err(io::Error::other)
    }
}

/// What has to be done about `entry`; `came_later` will be gone by then.
fn difference(workdir: &Workdir, entry: &Entry, came_later: &BTreeSet<String>) -> io::Result<Option<Change>> {
    let at = workdir.resolve(&entry.path).map_err(io::Error::other)?;
    for (end, _) in entry.path.match_indices('/') {
        let above = workdir.resolve(&entry.path[..end]).map_err(io::Error::other)?;
        match workdir.kind(&above).map_err(io::Error::other)? {
            None => return Ok(Some(Change::Restore)),
            Some(Kind::Folder) => {}
            Some(_) if came_later.contains(above.as_str()) => return Ok(Some(Change::Restore)),
            Some(_) => return Ok(Some(Change::Blocked)),
        }
    }
    let now = workdir.kind(&at).map_err(io::Error::other)?;
    Ok(match (now, &entry.store) {
        (None, _) => Some(Change::Restore),
        (Some(Kind::Folder), Store::Folder) => None,
        (Some(Kind::Folder), _) => {
            let below = format!("{}/", entry.path);
            let is_emptied = came_later.iter().any(|path| path.starts_with(&below) || *path == entry.path);
            Some(if is_emptied { Change::Restore } else { Change::Blocked })
        }
        (Some(Kind::File { .. } | Kind::Link | Kind::Special), Store::Folder) => Some(Change::Blocked),
        (Some(Kind::Link), Store::Link(to)) => {
            (workdir.read_link(&at).ok().as_ref() != Some(to)).then_some(Change::Replace)
        }
        (Some(Kind::Special), _) => Some(Change::Blocked),
        (Some(Kind::File { .. }), Store::Link(_)) | (Some(Kind::Link), Store::Git | Store::Copy(_)) => {
            Some(Change::Replace)
        }
        (Some(Kind::File { bytes, mode }), Store::Git | Store::Copy(_)) => {
            if bytes != entry.bytes || hash(workdir, &at)? != entry.hash {
                Some(Change::Replace)
            } else {
                (mode != entry.mode).then_some(Change::Mode)
            }
        }
    })
}

fn hash(workdir: &Workdir, at: &WorkPath) -> io::Result<Option<String>> {
    let mut hasher = ContentHasher::default();
    match workdir.read_through(at, &mut |piece| hasher.update(piece)) {
        Ok(()) => Ok(Some(hasher.finish())),
        // What may not be read is another than it was, as far as anybody can tell.
        Err(_) => Ok(None),
    }
}

/// Removes a file, a link or an empty folder, and the folders above it that are empty then.
fn remove(workdir: &Workdir, at: &WorkPath) -> io::Result<()> {
    match workdir.kind(at).map_err(io::Error::other)? {
        None => return Ok(()),
        Some(Kind::Folder) => workdir.remove_empty_folder(at).map_err(io::Error::other)?,
        Some(_) => workdir.remove_file(at).map_err(io::Error::other)?,
    }
    let mut above = at.as_str();
    while let Some((folder, _)) = above.rsplit_once('/') {
        let emptied = workdir.resolve(folder).and_then(|folder| workdir.remove_empty_folder(&folder));
        if emptied.is_err() {
            break;
        }
        above = folder;
    }
    Ok(())
}
