//! Removes runs that have ended, with all that is theirs alone.
//!
//! In: a home. Out: what may be removed and what may not, and why; then, run by run, its removal. A run is removed
//! under its lease and its journal's lock, so that whoever wants to go on with it meanwhile is refused. Its journal goes
//! first: from then on there is no run, and what a kill leaves of it is found by the note that was written before, and
//! removed by the next pruning. The note stays: a name never means two runs.
//!
//! Begin with [`Pruning::begin`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use adjutant_core::id::RunId;
use adjutant_core::learn::PeerFacts;
use adjutant_core::trace::verify::Verdict;
use adjutant_core::trace::{Body, Outcome};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::artifacts::{Artifacts, sync_folder};
use crate::disk::Disk;
use crate::home::{Home, make_folder};
use crate::journal::{self, Damage, FileJournal, OpenError};
use crate::lease::Owner;
use crate::plain_file::open_for_append;
use crate::runs::{self, Listed, PeerFiles};
use crate::shared;
use crate::verify::verify;

/// How much of a journal is read at once, in bytes.
const CHUNK_BYTES: usize = 1024 * 1024;

/// The right to remove: one process at a time has it.
#[derive(Debug)]
pub struct Pruning {
    home: Home,
    /// How many journals name each content.
    named: BTreeMap<String, u64>,
    /// Whether every journal that may name a content was read.
    is_sure: bool,
    /// Whether journals that are not looked at share contents and what is kept for undo.
    is_shared: bool,
    /// Held while something may be removed.
    _lock: Option<File>,
}

/// What there is.
#[derive(Debug, Default)]
pub struct Survey {
    /// Runs that have ended, and sessions of the peer, each with what goes with it.
    pub prunable: Vec<Ended>,
    /// What is not touched, by name, with why.
    pub kept: Vec<(String, Kept)>,
    /// How many bytes that takes.
    pub kept_bytes: u64,
    /// Runs whose removal was broken off.
    pub unfinished: Vec<RunId>,
    /// Whether contents stay, since journals that can't be looked at may name them.
    pub contents_stay: bool,
    /// Whether what is kept for undo stays, since it may be that of a run of the same name elsewhere.
    pub undo_stays: bool,
}

/// Something that may be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Whose it is.
    pub whose: Whose,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// How many bytes its files take, contents that it alone names among them.
    pub bytes: u64,
    /// How many contents go with it.
    pub artifacts: u64,
}

/// Whose something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    /// A run of ours.
    Run(RunId),
    /// A session of the peer, by name, with its files.
    Peer(String, Vec<PathBuf>),
}

impl Whose {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Run(run_id) => run_id.as_str(),
            Self::Peer(name, _) => name,
        }
    }
}

/// Why something is not touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// It has not ended: it goes on, waits, or was killed.
    NotEnded,
    /// Something of it is not as it was written, as [`verify`](crate::verify) has it: somebody should look at it.
    Damaged,
    /// It can't be read.
    Unreadable(String),
    /// It is the peer's, and a session that has not ended may write to its trace.
    InUse,
    /// It is the peer's, and nothing says that it is old.
    NoTime,
}

/// What is left of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The run.
    pub run_id: RunId,
    /// When it was pruned.
    pub pruned_at: Timestamp,
    /// How it had ended.
    pub outcome: Option<Outcome>,
    /// How many lines its journal had.
    pub lines: u64,
    /// The contents that it named, and that are still to be removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    /// Whether nothing is left to be removed.
    pub is_done: bool,
}

/// Why a run was not removed.
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
pub enum Step {
    /// The note is written.
    Note,
    /// The journal is removed: from here on there is no run.
    Journal,
    /// The mailbox and what was torn are removed.
    Mailbox,
    /// What lies elsewhere and belongs to it is removed.
    Elsewhere,
    /// Contents that no other journal names are removed.
    Artifacts,
    /// The lease is removed.
    Lease,
    /// The note says that nothing is left.
    Done,
}

impl Pruning {
    /// Takes the right to prune `home`, and looks at what is there. `elsewhere` is where a run has a folder of its own
    /// besides. `seer` and `now` are for telling whether a run's driver is alive.
    ///
    /// # Errors
    ///
    /// [`PruneError::Busy`] while another process has it, [`PruneError::Io`] if the home can't be read.
    pub fn begin(
        home: &Home,
        seer: &Owner,
        now: Timestamp,
        elsewhere: impl Fn(&RunId) -> PathBuf,
    ) -> Result<(Self, Survey), PruneError> {
        make_folder(home.root())?;
        let lock = File::options().create(true).append(true).open(home.root().join("prune.lock"))?;
        if !Disk::try_lock(&lock)? {
            return Err(PruneError::Busy);
        }
        let mut pruning = Self::of(home, Some(lock));
        let survey = pruning.survey(seer, now, elsewhere)?;
        Ok((pruning, survey))
    }

    /// Only looks at what is there, and writes nothing.
    ///
    /// # Errors
    ///
    /// If the home can't be read.
    pub fn look(
        home: &Home,
        seer: &Owner,
        now: Timestamp,
        elsewhere: impl Fn(&RunId) -> PathBuf,
    ) -> Result<Survey, PruneError> {
        Ok(Self::of(home, None).survey(seer, now, elsewhere)?)
    }

    fn of(home: &Home, lock: Option<File>) -> Self {
        let is_shared = shared::is(home);
        Self { home: home.clone(), named: BTreeMap::new(), is_sure: !is_shared, is_shared, _lock: lock }
    }

    fn survey(&mut self, seer: &Owner, now: Timestamp, elsewhere: impl Fn(&RunId) -> PathBuf) -> io::Result<Survey> {
        let all = runs::list(&self.home, seer, now)?;
        let mut of_run: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for listed in &all {
            let path = match listed {
                Listed::Run(run) => self.home.journal(&run.run_id),
                Listed::Unreadable { path, .. } => path.clone(),
                Listed::Peer(_) => continue,
            };
            let Ok(hashes) = named_in(&path) else {
                self.is_sure = false;
                continue;
            };
            for hash in &hashes {
                *self.named.entry(hash.clone()).or_default() += 1;
            }
            of_run.insert(listed.name().to_owned(), hashes);
        }
        let artifacts = Artifacts::new(self.home.artifacts());
        let in_use = in_use(&self.home, &all);
        let (contents_stay, undo_stays) = (!self.is_sure, self.is_shared);
        let mut survey = Survey { contents_stay, undo_stays, ..Survey::default() };
        for listed in all {
            let kept = |kept, survey: &mut Survey, bytes: u64| {
                survey.kept.push((listed.name().to_owned(), kept));
                survey.kept_bytes = survey.kept_bytes.saturating_add(bytes);
            };
            match &listed {
                Listed::Unreadable { path, why, .. } => {
                    kept(Kept::Unreadable(why.clone()), &mut survey, bytes_of(path));
                }
                Listed::Peer(peer) => {
                    let files: Vec<PathBuf> = peer.session.iter().chain(&peer.trace).cloned().collect();
                    let bytes = files.iter().map(|file| bytes_of(file)).sum();
                    match peer.updated_at {
                        _ if peer.phase.as_deref() != Some(PEER_DONE) => kept(Kept::NotEnded, &mut survey, bytes),
                        _ if in_use.as_ref().is_none_or(|in_use| in_use.contains(&peer.name)) => {
                            kept(Kept::InUse, &mut survey, bytes);
                        }
                        Some(updated_at) => survey.prunable.push(Ended {
                            whose: Whose::Peer(peer.name.clone(), files),
                            updated_at,
                            bytes,
                            artifacts: 0,
                        }),
                        None => kept(Kept::NoTime, &mut survey, bytes),
                    }
                }
                Listed::Run(run) => {
                    let mine = of_run.get(run.run_id.as_str()).into_iter().flatten();
                    let mine = mine.filter(|hash| self.is_sure && self.named.get(*hash) == Some(&1));
                    // What was kept just now may be about to be named, and stays for this time.
                    let found = mine.filter_map(|hash| artifacts.find(hash));
                    let found: Vec<u64> = found
                        .filter(|(path, _)| !Artifacts::is_fresh(path).unwrap_or(true))
                        .map(|(_, bytes)| bytes)
                        .collect();
                    let mut bytes = found.iter().sum::<u64>();
                    if !self.is_shared {
                        bytes += bytes_of(&elsewhere(&run.run_id));
                    }
                    let beside = beside(&self.home, &run.run_id)?;
                    bytes += beside.iter().map(|file| bytes_of(file)).sum::<u64>();
                    bytes += bytes_of(&self.home.journal(&run.run_id));
                    if run.damaged > 0 {
                        kept(Kept::Damaged, &mut survey, bytes);
                    } else if run.outcome.is_none() || run.driver_alive {
                        kept(Kept::NotEnded, &mut survey, bytes);
                    } else if !is_whole(&self.home, &run.run_id, seer, now) {
                        kept(Kept::Damaged, &mut survey, bytes);
                    } else {
                        survey.prunable.push(Ended {
                            whose: Whose::Run(run.run_id.clone()),
                            updated_at: run.updated_at,
                            bytes,
                            artifacts: found.len() as u64,
                        });
                    }
                }
            }
        }
        for name in runs::pruned(&self.home)? {
            let Ok(run_id) = name.parse::<RunId>() else { continue };
            let Some(note) = note(&self.home, &run_id) else {
                survey
                    .kept
                    .push((name, Kept::Unreadable("what is noted of its pruning is not of this run".to_owned())));
                continue;
            };
            // Of contents that stay nothing can be finished.
            let is_left =
                !note.is_done && (self.is_sure || note.artifacts.is_empty() || exists(&self.home.lease(&run_id)));
            if is_left && !exists(&self.home.journal(&run_id)) {
                survey.unfinished.push(run_id);
            }
        }
        Ok(survey)
    }

    /// Removes the run `run_id`, and the folder `elsewhere` with it.
    ///
    /// # Errors
    ///
    /// [`PruneError`]; whatever it is, either the run is whole, or it is no run any more and the next pruning finishes.
    pub fn remove(
        &mut self,
        run_id: &RunId,
        elsewhere: &Path,
        owner: &Owner,
        now: Timestamp,
    ) -> Result<(), PruneError> {
        self.remove_by(run_id, elsewhere, owner, now, &mut |_| Ok(()))
    }

    fn remove_by(
        &mut self,
        run_id: &RunId,
        elsewhere: &Path,
        owner: &Owner,
        now: Timestamp,
        before: &mut dyn FnMut(Step) -> io::Result<()>,
    ) -> Result<(), PruneError> {
        let reading = journal::read_only(&self.home, run_id)?;
        if !matches!(reading.events.last().map(|event| &event.body), Some(Body::RunEnd { .. })) {
            return Err(PruneError::NotEnded);
        }
        // What was said of the lease when the runs were listed may be old: this is the right itself.
        let (journal, recovered) = FileJournal::take_over(&self.home, run_id, owner, now, Damage::Refuse)?;
        let Some(Body::RunEnd { outcome }) = recovered.events.last().map(|event| &event.body) else {
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
        before(Step::Note)?;
        self.put(&note)?;
        before(Step::Journal)?;
        fs::remove_file(&path)?;
        sync_folder(self.home.sessions())?;
        for hash in &note.artifacts {
            if let Some(count) = self.named.get_mut(hash) {
                *count = count.saturating_sub(1);
            }
        }
        let rest = self.rest(note, elsewhere, before);
        drop(journal);
        drop(held);
        rest
    }

    /// Removes what a removal that was broken off left of `run_id`.
    ///
    /// # Errors
    ///
    /// [`PruneError::Io`] if something can't be removed: it can be tried again.
    pub fn finish(&mut self, run_id: &RunId, elsewhere: &Path) -> Result<(), PruneError> {
        match note(&self.home, run_id) {
            Some(note) if !exists(&self.home.journal(run_id)) => self.rest(note, elsewhere, &mut |_| Ok(())),
            _ => Ok(()),
        }
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

    fn rest(
        &mut self,
        mut note: Note,
        elsewhere: &Path,
        before: &mut dyn FnMut(Step) -> io::Result<()>,
    ) -> Result<(), PruneError> {
        before(Step::Mailbox)?;
        let lease = self.home.lease(&note.run_id);
        for file in beside(&self.home, &note.run_id)?.iter().filter(|file| **file != lease) {
            gone(fs::remove_file(file))?;
        }
        before(Step::Elsewhere)?;
        if !self.is_shared {
            gone(fs::remove_dir_all(elsewhere))?;
        }
        before(Step::Artifacts)?;
        let artifacts = Artifacts::new(self.home.artifacts());
        let mut left = Vec::new();
        for hash in std::mem::take(&mut note.artifacts) {
            let is_named = self.named.get(&hash).is_some_and(|count| *count > 0);
            if !self.is_sure || (!is_named && !artifacts.remove(&hash)?) {
                left.push(hash);
            }
        }
        before(Step::Lease)?;
        gone(fs::remove_file(&lease))?;
        before(Step::Done)?;
        note.is_done = left.is_empty();
        note.artifacts = left;
        self.put(&note)?;
        Ok(())
    }

    fn put(&self, note: &Note) -> io::Result<()> {
        let folder = self.home.sessions();
        let mut file = tempfile::Builder::new().prefix(".pruned-").tempfile_in(folder)?;
        serde_json::to_writer(&mut file, note)?;
        file.write_all(b"\n")?;
        file.as_file().sync_data()?;
        file.persist(self.home.pruned(&note.run_id))?;
        sync_folder(folder)
    }
}

/// The note that is left of the run `run_id`, if it was pruned.
pub(crate) fn note(home: &Home, run_id: &RunId) -> Option<Note> {
    let note: Note = serde_json::from_slice(&fs::read(home.pruned(run_id)).ok()?).ok()?;
    // A note that was put in the place of another must not cost another run its files.
    (note.run_id == *run_id).then_some(note)
}

/// Whether everything of a run is as it was written, as `trace verify` says.
fn is_whole(home: &Home, run_id: &RunId, seer: &Owner, now: Timestamp) -> bool {
    verify(home, run_id, seer, now).is_ok_and(|report| report.verdict == Verdict::Whole)
}

/// The peer's word for a session that is over.
const PEER_DONE: &str = "done";

/// The names of the traces that sessions of the peer still write to: any number of sessions may name one. `None` if one
/// of them does not say which, so that it may be any.
fn in_use(home: &Home, all: &[Listed]) -> Option<BTreeSet<String>> {
    let unfinished = all.iter().filter_map(|listed| match listed {
        Listed::Peer(peer) if peer.session.is_some() && peer.phase.as_deref() != Some(PEER_DONE) => Some(peer),
        _ => None,
    });
    let named = unfinished.map(|peer| {
        let session = PeerFiles::session(home, &peer.name).ok().flatten()?;
        Some(PeerFacts::read(&session)?.trace_name())
    });
    named.collect()
}

fn artifact_of(event: &adjutant_core::trace::Event) -> Option<&str> {
    match &event.body {
        Body::ToolResult { artifact, .. } => artifact.as_deref(),
        _ => None,
    }
}

/// What lies beside the journal of a run and belongs to it: mailbox, lease, what was torn.
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

/// How many bytes a file takes, or all files below a folder; 0 for what can't be read.
fn bytes_of(path: &Path) -> u64 {
    let Ok(found) = path.symlink_metadata() else { return 0 };
    if !found.is_dir() {
        return found.len();
    }
    fs::read_dir(path).into_iter().flatten().flatten().map(|entry| bytes_of(&entry.path())).sum()
}

/// Every content that a journal may name, on whatever line, damaged or not.
fn named_in(path: &Path) -> io::Result<BTreeSet<String>> {
    const FIELD: &[u8] = br#""artifact":""#;
    const HASH_CHARS: usize = 64;
    let mut file = crate::plain_file::open(path)?;
    let mut named = BTreeSet::new();
    let mut buffer = Vec::new();
    let field = memchr::memmem::Finder::new(FIELD);
    loop {
        let read = (&mut file).take(CHUNK_BYTES as u64).read_to_end(&mut buffer)?;
        for at in field.find_iter(&buffer) {
            let hash = buffer.get(at + FIELD.len()..at + FIELD.len() + HASH_CHARS);
            named.extend(hash.and_then(|hash| std::str::from_utf8(hash).ok()).map(str::to_owned));
        }
        if read == 0 {
            return Ok(named);
        }
        // One that is cut at the end of this piece is whole in the next.
        let kept = buffer.len().saturating_sub(FIELD.len() + HASH_CHARS);
        buffer.drain(..kept);
    }
}

#[cfg(test)]
#[path = "prune_tests.rs"]
mod tests;
