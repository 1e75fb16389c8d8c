//! The way back: what differs from what was kept, and undoing it.
//!
//! Nothing is written that is as it was. What came later stays, and so does what the call left as it was and somebody
//! changed since, unless it is asked for; what was there and not kept stays in any case. Each thing is put back on its
//! own: what can't be is named, and the rest comes back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use adjutant_core::gate::rescue::Extent;
use adjutant_core::words::tool::{ContentHasher, content_hash};
use serde::Serialize;

use super::Rescues;
use super::git::Git;
use super::listing::list;
use super::manifest::{Manifest, RescueEntry, Store, Touched};
use crate::workdir::{Kind, WorkPath, Workdir, kept_path};

/// The act that a rescue was made before if an undo made it.
pub const UNDO: &str = "undo";

/// The changes that an undo would make to the workdir.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The differences, in the order in which they are undone.
    pub differences: Vec<Difference>,
    /// Number of entries that are as they were.
    pub unchanged: u64,
}

/// One thing that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its path, relative to the workdir.
    pub path: String,
    /// The change that undoes it.
    pub change: Change,
}

/// The change that undoes a difference.
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
    /// Nothing: the call left it as it was, and somebody changed it since.
    Later,
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
        let is_done = |change| !matches!(change, Change::Blocked | Change::Later);
        let touched = self.differences.iter().filter(|difference| is_done(difference.change));
        touched.map(|difference| difference.path.clone()).collect()
    }
}

/// The extent of an undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach<'a> {
    /// Everything that the call changed. Files that came later stay, and so do later changes of files that the call
    /// left as they were.
    Call,
    /// Everything: as it was, to the last file.
    Exact,
    /// These files and folders, whoever changed them.
    Named(&'a [String]),
}

impl Reach<'_> {
    /// Returns true if `path` is asked for by its name.
    fn names(self, path: &str) -> bool {
        let is_meant = |named: &String| {
            named == "."
                || path.strip_prefix(named.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        matches!(self, Self::Named(paths) if paths.iter().any(is_meant))
    }
}

/// Something that could not be put back as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotRestored {
    /// Its path, relative to the workdir.
    pub path: String,
    /// The reason.
    pub why: String,
}

impl Rescues {
    /// Plans the changes of undoing to `manifest`, as far as `reach` goes.
    ///
    /// # Errors
    ///
    /// If the workdir can't be listed, or everything is asked for and the rescue does not know all that was there.
    pub fn plan(&self, workdir: &Workdir, manifest: &Manifest, reach: Reach<'_>) -> io::Result<Plan> {
        let mut differences = Vec::new();
        let came_later = if reach == Reach::Exact { self.came_later(workdir, manifest)? } else { BTreeSet::new() };
        differences.extend(came_later.iter().map(|path| Difference { path: path.clone(), change: Change::Remove }));
        let touched = Touched::read(&self.folder().join(&manifest.name));
        let is_asked_for = |path: &String| match reach {
            Reach::Call => touched.as_ref().is_none_or(|touched| touched.paths.contains(path)),
            Reach::Exact => true,
            Reach::Named(_) => reach.names(path),
        };
        let is_meant = |entry: &&RescueEntry| !matches!(reach, Reach::Named(_)) || reach.names(&entry.path);
        let mut unchanged = 0;
        for entry in manifest.entries.iter().filter(is_meant) {
            // What can't be looked at is tried, and named if that fails.
            match difference(workdir, entry, &came_later).unwrap_or(Some(Change::Replace)) {
                Some(change) => {
                    let change = if is_asked_for(&entry.path) { change } else { Change::Later };
                    differences.push(Difference { path: entry.path.clone(), change });
                }
                None => unchanged += 1,
            }
        }
        Ok(Plan { differences, unchanged })
    }

    pub(super) fn came_later(&self, workdir: &Workdir, manifest: &Manifest) -> io::Result<BTreeSet<String>> {
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
        let paths = |of_folders: bool| {
            let meant = manifest.entries.iter().filter(move |entry| (entry.store == Store::Folder) == of_folders);
            meant.map(|entry| entry.path.as_str()).collect::<BTreeSet<&str>>()
        };
        let (kept, folders) = (paths(false), paths(true));
        let was_there = |path: &String| {
            let stood = |left: &String| left == path || (left.ends_with('/') && path.starts_with(left.as_str()));
            // A folder that is empty now may have had kept files in it.
            let held = |entry: &&str| entry.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('/'));
            let is_folder =
                || kept_path(path).is_some_and(|path| matches!(workdir.kind(&path), Ok(Some(Kind::Folder))));
            kept.contains(path.as_str())
                || manifest.left_out.iter().any(stood)
                || ((folders.contains(path.as_str()) || kept.iter().any(held)) && is_folder())
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
        // What was put back as a folder was written nowhere: there was no temporary file beside it.
        let is_folder =
            |path: &&String| kept_path(path).is_some_and(|path| matches!(workdir.kind(&path), Ok(Some(Kind::Folder))));
        let touched = touched.filter(|path| !is_folder(path));
        let one_of_each: BTreeMap<String, &String> = touched.map(|path| (folder_of(path), path)).collect();
        for path in one_of_each.into_values() {
            let Some(path) = kept_path(path) else { continue };
            workdir.sweep_leftovers(&path).map_err(explained)?;
        }
        Ok(())
    }

    /// Carries out `plan`, each thing on its own; returns what could not be put back as it was. The plan can be made
    /// and carried out again.
    #[must_use]
    pub fn restore(&self, workdir: &Workdir, manifest: &Manifest, plan: &Plan) -> Vec<NotRestored> {
        let entries: BTreeMap<&str, &RescueEntry> =
            manifest.entries.iter().map(|entry| (entry.path.as_str(), entry)).collect();
        let mut failed = Vec::new();
        let mut note = |path: &String, done: io::Result<Option<String>>| match done {
            Ok(None) => {}
            Ok(Some(why)) => failed.push(NotRestored { path: path.clone(), why }),
            Err(error) => failed.push(NotRestored { path: path.clone(), why: error.to_string() }),
        };
        let mut folders = Vec::new();
        for Difference { path, change } in &plan.differences {
            let Some(at) = kept_path(path) else {
                note(path, Err(io::Error::other("its path can't be used")));
                continue;
            };
            match (change, entries.get(path.as_str())) {
                (Change::Remove, _) => note(path, remove(workdir, &at).map(|()| None)),
                (Change::Restore | Change::Replace | Change::Mode, Some(entry)) if entry.store == Store::Folder => {
                    // Its permissions come last: they may forbid what is still to be put into it.
                    let is_there = matches!(workdir.kind(&at), Ok(Some(Kind::Folder)));
                    let made = if is_there { Ok(()) } else { workdir.create_folder(&at, 0o700) };
                    note(path, made.map(|()| None).map_err(explained));
                    folders.push((path, at, entry.mode));
                }
                (Change::Restore | Change::Replace, Some(entry)) => {
                    note(path, self.put_back(workdir, &at, manifest, entry));
                }
                (Change::Mode, Some(entry)) => note(path, set_mode(workdir, &at, entry.mode)),
                (Change::Blocked | Change::Later, _) | (_, None) => {}
            }
        }
        folders.sort_by(|(one, ..), (other, ..)| other.cmp(one));
        for (path, at, mode) in folders {
            note(path, set_mode(workdir, &at, mode));
        }
        failed
    }

    /// Returns the content of a file, as it was kept.
    pub(super) fn content(&self, manifest: &Manifest, entry: &RescueEntry) -> io::Result<Vec<u8>> {
        let content = match &entry.store {
            Store::Git => {
                let (Some(git_dir), Some(commit)) = (&manifest.git_dir, &manifest.commit) else {
                    return Err(io::Error::other("the rescue names no commit"));
                };
                Git::at(Path::new(git_dir)).content(commit, &entry.path)?
            }
            Store::Copy(number) => fs::read(self.folder().join(&manifest.name).join(number.to_string()))?,
            Store::Link(_) | Store::Folder | Store::Pipe => return Err(io::Error::other("it has no content")),
        };
        if entry.hash.as_ref() != Some(&content_hash(&content)) {
            return Err(io::Error::other("what was kept of it is damaged"));
        }
        Ok(content)
    }

    /// Puts one thing back; returns what of it is not as it was.
    fn put_back(
        &self,
        workdir: &Workdir,
        at: &WorkPath,
        manifest: &Manifest,
        entry: &RescueEntry,
    ) -> io::Result<Option<String>> {
        let content = match &entry.store {
            Store::Folder => return workdir.create_folder(at, entry.mode).map(|()| None).map_err(explained),
            Store::Pipe => return workdir.create_pipe(at, entry.mode).map(|()| None).map_err(explained),
            Store::Link(to) => {
                clear(workdir, at)?;
                return workdir.create_link(at, to).map(|()| None).map_err(explained);
            }
            Store::Git | Store::Copy(_) => self.content(manifest, entry)?,
        };
        // What is there may be a link, which is never written through.
        if matches!(workdir.kind(at).map_err(explained)?, Some(Kind::Link)) {
            clear(workdir, at)?;
        }
        workdir.write(at, &content, Some(entry.mode & 0o777)).map_err(explained)?;
        let lost = workdir.set_attributes(at, &entry.attributes());
        // The system takes set-id bits off a file that is written, so they come after everything else.
        if entry.mode & 0o7000 != 0 {
            workdir.set_mode(at, entry.mode).map_err(explained)?;
        }
        let names = entry.had_other_names.then(|| "is back, but no longer the same file as its other names".to_owned());
        let attributes = (!lost.is_empty()).then(|| format!("is back, but without its attributes {}", lost.join(", ")));
        Ok(attributes.or(names))
    }
}

pub(super) fn explained(error: crate::workdir::WorkdirError) -> io::Error {
    io::Error::other(error.explained())
}

fn set_mode(workdir: &Workdir, at: &WorkPath, mode: u32) -> io::Result<Option<String>> {
    workdir.set_mode(at, mode).map(|()| None).map_err(explained)
}

/// Removes a file or a link that stands where something else is put back.
fn clear(workdir: &Workdir, at: &WorkPath) -> io::Result<()> {
    match workdir.kind(at).map_err(explained)? {
        Some(_) => workdir.remove_file(at).map_err(explained),
        None => Ok(()),
    }
}

/// Returns the change that undoes the difference at `entry`; `came_later` will be gone by then.
pub(super) fn difference(
    workdir: &Workdir,
    entry: &RescueEntry,
    came_later: &BTreeSet<String>,
) -> io::Result<Option<Change>> {
    let unusable = || io::Error::other("its path can't be used");
    let at = kept_path(&entry.path).ok_or_else(unusable)?;
    for (end, _) in entry.path.match_indices('/') {
        let above = kept_path(&entry.path[..end]).ok_or_else(unusable)?;
        match workdir.kind(&above).map_err(explained)? {
            None => return Ok(Some(Change::Restore)),
            Some(Kind::Folder) => {}
            Some(_) if came_later.contains(above.as_str()) => return Ok(Some(Change::Restore)),
            Some(_) => return Ok(Some(Change::Blocked)),
        }
    }
    let now = workdir.kind(&at).map_err(explained)?;
    Ok(match (now, &entry.store) {
        (None, _) => Some(Change::Restore),
        (Some(Kind::Folder), Store::Folder) => {
            (workdir.mode(&at).map_err(explained)? != entry.mode).then_some(Change::Mode)
        }
        (Some(Kind::Folder), _) => {
            let below = format!("{}/", entry.path);
            let is_emptied = came_later.iter().any(|path| path.starts_with(&below) || *path == entry.path);
            Some(if is_emptied { Change::Restore } else { Change::Blocked })
        }
        (Some(_), Store::Folder) if came_later.contains(&entry.path) => Some(Change::Restore),
        (Some(Kind::File { .. } | Kind::Link | Kind::Special), Store::Folder) => Some(Change::Blocked),
        (Some(Kind::Link), Store::Link(to)) => {
            (workdir.read_link(&at).ok().as_ref() != Some(to)).then_some(Change::Replace)
        }
        (Some(Kind::Special), Store::Pipe) if workdir.is_pipe(&at) => {
            (workdir.mode(&at).map_err(explained)? != entry.mode).then_some(Change::Mode)
        }
        (Some(Kind::Special), _) | (Some(_), Store::Pipe) => Some(Change::Blocked),
        (Some(Kind::File { .. }), Store::Link(_)) | (Some(Kind::Link), Store::Git | Store::Copy(_)) => {
            Some(Change::Replace)
        }
        (Some(Kind::File { bytes, .. }), Store::Git | Store::Copy(_)) => {
            if bytes != entry.bytes || hash(workdir, &at)? != entry.hash {
                Some(Change::Replace)
            } else {
                // Rescues of earlier versions know no more than the permissions.
                let known = if entry.stamp.is_some() { 0o7777 } else { 0o777 };
                (workdir.mode(&at).map_err(explained)? & known != entry.mode & known).then_some(Change::Mode)
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
pub(super) fn remove(workdir: &Workdir, at: &WorkPath) -> io::Result<()> {
    match workdir.kind(at).map_err(explained)? {
        None => return Ok(()),
        Some(Kind::Folder) => workdir.remove_empty_folder(at).map_err(explained)?,
        Some(_) => workdir.remove_file(at).map_err(explained)?,
    }
    let mut above = at.as_str();
    while let Some((folder, _)) = above.rsplit_once('/') {
        let is_emptied = kept_path(folder).is_some_and(|folder| workdir.remove_empty_folder(&folder).is_ok());
        if !is_emptied {
            break;
        }
        above = folder;
    }
    Ok(())
}
