//! Removes runs that have ended, with all that is theirs alone.
//!
//! In: a home. Out: what may be removed and what may not, and why; then, run by run, its removal. A run is removed
//! under its lease and its journal's lock, so that a driver that wants to go on with it meanwhile is refused. Its
//! journal goes first: from then on there is no run, and what a kill leaves of it is found by the note that was written
//! before, and removed by the next pruning. The note stays: a name never means two runs.
//!
//! Begin with [`Pruning::begin`]; `survey.rs` says what there is.

mod survey;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use adjutant_core::trace::{Body, CallEvent, RunEvent};
use adjutant_core::words::Outcome;
use adjutant_core::words::id::RunId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use survey::{Ended, Kept, Leftover, Survey, Whose};

use crate::artifacts::{Artifacts, sync_folder};
use crate::disk::Disk;
use crate::home::{Home, make_folder};
use crate::journal::{self, Damage, FileJournal, OpenError};
use crate::lease::{HALF_LEASE, Owner};
use crate::plain_file::{self, open_for_append};
use crate::shared;

/// Beginning of the name of a note that is being written.
const HALF_NOTE: &str = ".pruned-";

/// The largest note that is read, in bytes: it names a hundred thousand contents.
const NOTE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// The right to remove: one process at a time has it.
#[derive(Debug)]
pub struct Pruning {
    home: Home,
    /// Number of journals that name each content.
    named: BTreeMap<String, u64>,
    /// True if every journal that may name a content was read.
    is_sure: bool,
    /// Folders in which each run may have a file or folder of its own.
    folders: Vec<PathBuf>,
    /// Held while something may be removed.
    _lock: Option<File>,
}

/// The note that remains of a pruned run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The run.
    pub run_id: RunId,
    /// The time it was pruned.
    pub pruned_at: Timestamp,
    /// Its outcome.
    pub outcome: Option<Outcome>,
    /// Number of lines of its journal.
    pub lines: u64,
    /// The contents that it named, and that are still to be removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    /// True if nothing is left to be removed.
    pub is_done: bool,
}

/// Reason why a run was not removed.
#[derive(Debug, Error)]
pub enum PruneError {
    /// It could not be taken over: somebody drives it, it is damaged, or gone.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It goes on.
    #[error("the run has not ended")]
    NotEnded,
    /// Another process prunes.
    #[error("another process is pruning this home")]
    Busy,
    /// A file can't be removed or written.
    #[error("can't remove all of it: {0}")]
    Io(io::Error),
}

impl From<io::Error> for PruneError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The steps of a removal, in their order: a test breaks off before each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PruneStep {
    /// The note is written.
    Note,
    /// The journal is removed: from here on there is no run.
    Journal,
    /// The mailbox and what was torn are removed.
    Mailbox,
    /// The copies for its undo are removed, and the record of its workdir.
    Folders,
    /// Contents that no other journal names are removed.
    Artifacts,
    /// The lease is removed.
    Lease,
    /// The note says that nothing is left.
    Done,
}

impl Pruning {
    /// Takes the right to prune `home`, and looks at what is there. In each of `folders` a run may have a file or
    /// folder of its own name, such as what is kept for undo. `seer` and `now` are for telling whether a run's driver
    /// is alive.
    ///
    /// # Errors
    ///
    /// [`PruneError::Busy`] while another process has it, [`PruneError::Io`] if the home can't be read.
    pub fn begin(home: &Home, seer: &Owner, now: Timestamp, folders: &[PathBuf]) -> Result<(Self, Survey), PruneError> {
        make_folder(home.root())?;
        let path = home.root().join("prune.lock");
        let lock = match open_for_append(&path, true) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open_for_append(&path, false)?,
            made => made?,
        };
        if !Disk::try_lock(&lock)? {
            return Err(PruneError::Busy);
        }
        let mut pruning = Self::of(home, folders, Some(lock));
        let survey = pruning.survey(seer, now)?;
        Ok((pruning, survey))
    }

    /// Only looks at what is there, and writes nothing.
    ///
    /// # Errors
    ///
    /// If the home can't be read.
    pub fn look(home: &Home, seer: &Owner, now: Timestamp, folders: &[PathBuf]) -> Result<Survey, PruneError> {
        Ok(Self::of(home, folders, None).survey(seer, now)?)
    }

    fn of(home: &Home, folders: &[PathBuf], lock: Option<File>) -> Self {
        let (named, is_sure) = (BTreeMap::new(), !shared::is(home));
        Self { home: home.clone(), named, is_sure, folders: folders.to_vec(), _lock: lock }
    }

    /// Returns the run's entries in the other folders, if they are its alone.
    fn elsewhere(&self, run_id: &RunId) -> Vec<PathBuf> {
        let mut places: Vec<PathBuf> = self.folders.iter().map(|folder| folder.join(run_id.as_str())).collect();
        places.retain(|place| exists(place));
        if places.is_empty() || shared::has_namesake(&self.home, run_id) { Vec::new() } else { places }
    }

    /// Returns the number of bytes that the files of a run take besides its journal and contents.
    fn bytes_beside(&self, run_id: &RunId) -> io::Result<u64> {
        let files = beside(&self.home, run_id)?;
        Ok(files.iter().chain(&self.elsewhere(run_id)).map(|file| bytes_of(file)).sum())
    }

    /// Removes the run `run_id`.
    ///
    /// # Errors
    ///
    /// [`PruneError`]; whatever it is, either the run is whole, or it is no run any more and the next pruning finishes.
    pub fn remove(&mut self, run_id: &RunId, owner: &Owner, now: Timestamp) -> Result<(), PruneError> {
        self.remove_by(run_id, owner, now, &mut |_| Ok(()))
    }

    fn remove_by(
        &mut self,
        run_id: &RunId,
        owner: &Owner,
        now: Timestamp,
        before: &mut dyn FnMut(PruneStep) -> io::Result<()>,
    ) -> Result<(), PruneError> {
        let reading = journal::read_only(&self.home, run_id)?;
        if !matches!(reading.events.last().map(|event| &event.body), Some(Body::Run(RunEvent::RunEnd { .. }))) {
            return Err(PruneError::NotEnded);
        }
        // What was said of the lease when the runs were listed may be old: this is the right itself.
        let (journal, recovered) = FileJournal::take_over(&self.home, run_id, owner, now, Damage::Refuse)?;
        let Some(Body::Run(RunEvent::RunEnd { outcome })) = recovered.events.last().map(|event| &event.body) else {
            return Err(PruneError::NotEnded);
        };
        let path = self.home.journal(run_id);
        // Whoever has opened it waits here, and then finds that it has no name any more.
        let held = open_for_append(&path, false)?;
        journal::lock(&held)?;
        let mut artifacts: Vec<String> = recovered.events.iter().filter_map(artifact_of).map(str::to_owned).collect();
        artifacts.sort_unstable();
        artifacts.dedup();
        let note = Note {
            run_id: run_id.clone(),
            pruned_at: now,
            outcome: Some(*outcome),
            lines: recovered.events.len() as u64,
            artifacts,
            is_done: false,
        };
        before(PruneStep::Note)?;
        self.put(&note)?;
        before(PruneStep::Journal)?;
        fs::remove_file(&path)?;
        sync_folder(self.home.sessions())?;
        for hash in &note.artifacts {
            if let Some(count) = self.named.get_mut(hash) {
                *count = count.saturating_sub(1);
            }
        }
        let rest = self.rest(note, before);
        drop(journal);
        drop(held);
        rest
    }

    /// Removes what a removal that was broken off left of `run_id`.
    ///
    /// # Errors
    ///
    /// [`PruneError::Io`] if something can't be removed: it can be tried again.
    pub fn finish(&mut self, run_id: &RunId) -> Result<(), PruneError> {
        match note(&self.home, run_id) {
            Some(note) if !exists(&self.home.journal(run_id)) => self.rest(note, &mut |_| Ok(())),
            _ => Ok(()),
        }
    }

    /// Removes files that were being written when their process was killed, and that nobody reads.
    ///
    /// # Errors
    ///
    /// If one can't be removed.
    pub fn sweep(&self) -> io::Result<()> {
        let entries = match fs::read_dir(self.home.sessions()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let is_halfway = entry
                .file_name()
                .to_str()
                .is_some_and(|name| [HALF_NOTE, HALF_LEASE].iter().any(|prefix| name.starts_with(prefix)));
            if is_halfway && !Artifacts::is_fresh(&entry.path())? {
                gone(fs::remove_file(entry.path()))?;
            }
        }
        Ok(())
    }

    /// Returns true if there is no run `run_id` any more.
    #[must_use]
    pub fn is_gone(&self, run_id: &RunId) -> bool {
        !exists(&self.home.journal(run_id))
    }

    /// Removes the files of a session of the peer.
    ///
    /// # Errors
    ///
    /// If one can't be removed.
    pub fn remove_peers(&mut self, files: &[PathBuf]) -> Result<(), PruneError> {
        for file in files {
            gone(fs::remove_file(file))?;
        }
        Ok(())
    }

    fn rest(&mut self, mut note: Note, before: &mut dyn FnMut(PruneStep) -> io::Result<()>) -> Result<(), PruneError> {
        before(PruneStep::Mailbox)?;
        let lease = self.home.lease(&note.run_id);
        for file in beside(&self.home, &note.run_id)?.iter().filter(|file| **file != lease) {
            gone(fs::remove_file(file))?;
        }
        before(PruneStep::Folders)?;
        for place in self.elsewhere(&note.run_id) {
            gone(if place.is_dir() { fs::remove_dir_all(&place) } else { fs::remove_file(&place) })?;
        }
        before(PruneStep::Artifacts)?;
        let artifacts = Artifacts::new(self.home.artifacts());
        let mut left = Vec::new();
        for hash in std::mem::take(&mut note.artifacts) {
            let is_named = self.named.get(&hash).is_some_and(|count| *count > 0);
            if !self.is_sure || (!is_named && !artifacts.remove(&hash)?) {
                left.push(hash);
            }
        }
        before(PruneStep::Lease)?;
        gone(fs::remove_file(&lease))?;
        before(PruneStep::Done)?;
        note.is_done = left.is_empty();
        note.artifacts = left;
        self.put(&note)?;
        Ok(())
    }

    fn put(&self, note: &Note) -> io::Result<()> {
        let folder = self.home.sessions();
        let mut file = tempfile::Builder::new().prefix(HALF_NOTE).tempfile_in(folder)?;
        serde_json::to_writer(&mut file, note)?;
        file.write_all(b"\n")?;
        file.as_file().sync_data()?;
        file.persist(self.home.pruned(&note.run_id))?;
        sync_folder(folder)
    }
}

/// The note that is left of the run `run_id`, if it was pruned.
pub(crate) fn note(home: &Home, run_id: &RunId) -> Option<Note> {
    let text = plain_file::read(&home.pruned(run_id), NOTE_BYTES_MAX, "it is no note of a pruning").ok()??;
    let note: Note = serde_json::from_slice(&text).ok()?;
    // A note that was put in the place of another must not cost another run its files.
    (note.run_id == *run_id).then_some(note)
}

fn artifact_of(event: &adjutant_core::trace::Event) -> Option<&str> {
    match &event.body {
        Body::Call(CallEvent::ToolResult { artifact, .. }) => artifact.as_deref(),
        _ => None,
    }
}

/// Returns the files beside the journal of a run that belong to it: mailbox, lease, torn ends of lines.
fn beside(home: &Home, run_id: &RunId) -> io::Result<Vec<PathBuf>> {
    let mut files = vec![home.mailbox(run_id), home.lease(run_id)];
    let torn = format!("{run_id}.torn-");
    for entry in fs::read_dir(home.sessions())? {
        let entry = entry?;
        // Names of runs have dots too: what follows is a number, and perhaps another.
        let is_torn = entry.file_name().to_str().and_then(|name| name.strip_prefix(&torn)).is_some_and(|rest| {
            !rest.is_empty() && rest.split('.').all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
        });
        if is_torn {
            files.push(entry.path());
        }
    }
    files.retain(|file| exists(file));
    Ok(files)
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Returns the number of bytes of a file, or of all files below a folder; 0 for what can't be read.
fn bytes_of(path: &Path) -> u64 {
    let Ok(found) = path.symlink_metadata() else { return 0 };
    if !found.is_dir() {
        return found.len();
    }
    fs::read_dir(path).into_iter().flatten().flatten().map(|entry| bytes_of(&entry.path())).sum()
}

#[cfg(test)]
#[path = "../prune_tests.rs"]
mod tests;
