//! The change of a workdir since a run began, and bringing it home.
//!
//! In: the rescues of the run, the workdir as it is, the files that calls made. Out: each path that differs, with its
//! state then and now, and what can't be told. The earliest rescue that has a path says what it was; a path that a call
//! made, or that a rescue of the whole workdir doesn't have, was not there.
//!
//! Begin with [`Rescues::whole_change`].

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use adjutant_core::patch::file_change::{FileKind, FileState};

use super::manifest::{Manifest, RescueEntry, Store};
use super::restore::{UNDO, difference, explained, remove};
use super::{FILE_BYTES_MAX, Rescues};
use crate::state_files;
use crate::workdir::{Kind, Workdir, kept_path};

/// The name of the rescue of a copy before its run begins.
pub const START: &str = "start";

/// The act that such a rescue was made before.
pub const RUN: &str = "run";

/// The act that a rescue was made before if a copy's change was brought home.
pub const APPLY: &str = "apply";

/// A file that a call made where there was none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeFile {
    /// Its path, relative to the workdir.
    pub path: String,
    /// The time of the call, in milliseconds since 1970.
    pub at_ms: u64,
}

/// The whole change of a run, as far as it can be told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WholeChange {
    /// The paths that differ, in order.
    pub paths: Vec<PathChange>,
    /// Paths that were there and were not kept, so that their change can't be told; folders end with `/`.
    pub not_kept: Vec<String>,
    /// True if everything was kept before anything was done: then nothing else can have changed.
    pub is_from_start: bool,
}

/// The change of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// The path, relative to the workdir.
    pub path: String,
    /// Its state before the run; `None` if it was not there.
    pub before: Option<FileState>,
    /// Its state now; `None` if it is not there.
    pub after: Option<FileState>,
    /// Reason why one of the two can't be told.
    pub unknown: Option<String>,
}

/// Where the earliest state of a path is.
enum Earliest<'m> {
    Kept(&'m Manifest, &'m RescueEntry),
    Absent,
}

impl Rescues {
    /// Compares the workdir with how it was when the run began. `made` are the files that calls made, in their order.
    ///
    /// # Errors
    ///
    /// If the workdir can't be listed.
    pub fn whole_change(&self, workdir: &Workdir, made: &[MadeFile]) -> io::Result<WholeChange> {
        let root = workdir.root().to_string_lossy().into_owned();
        let all = self.list();
        let manifests: Vec<&Manifest> = (all.iter())
            .filter(|manifest| manifest.before != UNDO && manifest.before != APPLY && manifest.workdir == root)
            .collect();
        let mut change = WholeChange {
            is_from_start: manifests.first().is_some_and(|first| first.name == START && first.is_complete),
            ..WholeChange::default()
        };
        let mut earliest: BTreeMap<String, Earliest<'_>> = BTreeMap::new();
        let mut made = made.iter().peekable();
        let mut has_whole = false;
        for manifest in manifests {
            while let Some(file) = made.next_if(|file| file.at_ms < manifest.made_at_ms) {
                earliest.entry(file.path.clone()).or_insert(Earliest::Absent);
            }
            for entry in manifest.entries.iter().filter(|entry| is_file(entry)) {
                earliest.entry(entry.path.clone()).or_insert(Earliest::Kept(manifest, entry));
            }
            if manifest.paths.is_none() && manifest.is_complete && !has_whole {
                has_whole = true;
                for path in self.came_later(workdir, manifest)? {
                    earliest.entry(path).or_insert(Earliest::Absent);
                }
            }
            change.not_kept.extend(manifest.left_out.iter().cloned());
        }
        for file in made {
            earliest.entry(file.path.clone()).or_insert(Earliest::Absent);
        }
        change.not_kept.sort_unstable();
        change.not_kept.dedup();
        earliest.retain(|path, _| !state_files::is_own(path));
        change.paths = earliest.into_iter().filter_map(|(path, was)| self.path_change(workdir, path, was)).collect();
        Ok(change)
    }

    /// Returns the change of one path; `None` if it is as it was.
    fn path_change(&self, workdir: &Workdir, path: String, was: Earliest<'_>) -> Option<PathChange> {
        let before = match was {
            Earliest::Absent => Ok(None),
            Earliest::Kept(_, entry) if matches!(difference(workdir, entry, &BTreeSet::new()), Ok(None)) => {
                return None;
            }
            Earliest::Kept(manifest, entry) => self.kept_state(manifest, entry).map(Some),
        };
        let (before, after) = (before, state_of(workdir, &path));
        let unknown = [before.as_ref().err(), after.as_ref().err()].into_iter().flatten().next();
        let unknown = unknown.map(ToString::to_string);
        let change = PathChange { path, before: before.ok().flatten(), after: after.ok().flatten(), unknown };
        (change.unknown.is_some() || change.before != change.after).then_some(change)
    }

    /// Returns a file or link as it was kept.
    fn kept_state(&self, manifest: &Manifest, entry: &RescueEntry) -> io::Result<FileState> {
        match &entry.store {
            Store::Link(to) => Ok(FileState { content: to.clone().into_bytes(), kind: FileKind::Link }),
            Store::Git | Store::Copy(_) => {
                Ok(FileState { content: self.content(manifest, entry)?, kind: kind_of(entry.mode) })
            }
            Store::Folder | Store::Pipe => Err(io::Error::other("it is no file")),
        }
    }
}

fn is_file(entry: &RescueEntry) -> bool {
    matches!(entry.store, Store::Git | Store::Copy(_) | Store::Link(_))
}

const fn kind_of(mode: u32) -> FileKind {
    if mode & 0o100 == 0 { FileKind::Plain } else { FileKind::Executable }
}

/// Returns the file or link at `path` of a folder as it is now; `None` if nothing is there, or a folder, which is no
/// file of its own.
///
/// # Errors
///
/// If it can't be read, is too large, or is something else.
pub fn state_of(workdir: &Workdir, path: &str) -> io::Result<Option<FileState>> {
    let at = kept_path(path).ok_or_else(|| io::Error::other("its path can't be used"))?;
    for (end, _) in path.match_indices('/') {
        let above = kept_path(&path[..end]).ok_or_else(|| io::Error::other("its path can't be used"))?;
        if workdir.kind(&above).map_err(explained)? != Some(Kind::Folder) {
            return Ok(None);
        }
    }
    match workdir.kind(&at).map_err(explained)? {
        None | Some(Kind::Folder) => Ok(None),
        Some(Kind::Link) => {
            let to = workdir.read_link(&at).map_err(explained)?;
            Ok(Some(FileState { content: to.into_bytes(), kind: FileKind::Link }))
        }
        Some(Kind::File { .. }) => match workdir.read_whole(&at, FILE_BYTES_MAX).map_err(explained)? {
            Some(file) => Ok(Some(FileState { content: file.content, kind: kind_of(file.mode) })),
            None => Err(io::Error::other("it is too large")),
        },
        Some(Kind::Special) => Err(io::Error::other("it is no file")),
    }
}

/// Returns what stands in the way of a file at `path` of a folder: a folder in its place, or a file in that of a folder.
#[must_use]
pub fn obstacle(workdir: &Workdir, path: &str) -> Option<&'static str> {
    let kind = |path: &str| kept_path(path).and_then(|path| workdir.kind(&path).ok().flatten());
    let is_blocked = |end: usize| !matches!(kind(&path[..end]), None | Some(Kind::Folder));
    if path.match_indices('/').any(|(end, _)| is_blocked(end)) {
        return Some("something else is in the place of its folder");
    }
    matches!(kind(path), Some(Kind::Folder)).then_some("a folder is in its place")
}

/// Makes the file at `path` of a folder what `state` says: removes it, or writes it. A file keeps its other permissions.
///
/// # Errors
///
/// If it can't be written or removed.
pub fn put(workdir: &Workdir, path: &str, state: Option<&FileState>) -> io::Result<()> {
    let at = kept_path(path).ok_or_else(|| io::Error::other("its path can't be used"))?;
    let there = workdir.kind(&at).map_err(explained)?;
    let Some(state) = state else { return remove(workdir, &at) };
    if matches!(there, Some(Kind::Link)) || (there.is_some() && state.kind == FileKind::Link) {
        workdir.remove_file(&at).map_err(explained)?;
    }
    match state.kind {
        FileKind::Link => {
            let to = std::str::from_utf8(&state.content).map_err(io::Error::other)?;
            workdir.create_parents(&at).map_err(explained)?;
            workdir.create_link(&at, to).map_err(explained)
        }
        FileKind::Plain | FileKind::Executable => {
            let mode = match there {
                Some(Kind::File { mode, .. }) => mode & 0o777,
                Some(Kind::Folder | Kind::Link | Kind::Special) | None => 0o644,
            };
            // Who may read it may run it, as `chmod +x` has it.
            let mode = match state.kind {
                FileKind::Executable => mode | (mode & 0o444) >> 2,
                FileKind::Plain | FileKind::Link => mode & !0o111,
            };
            workdir.write(&at, &state.content, Some(mode)).map(drop).map_err(explained)
        }
    }
}
