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
use adjutant_core::trace::prune::Content;
use adjutant_core::trace::verify::{Finding, FindingKind, Verdict};
use adjutant_core::trace::{Body, Outcome};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::artifacts::{Artifacts, sync_folder};
use crate::disk::Disk;
use crate::home::{Home, make_folder};
use crate::journal::{self, Damage, FileJournal, OpenError};
use crate::lease::{HALF_LEASE, Owner};
use crate::plain_file::{self, open_for_append};
use crate::runs::{self, Listed, PeerFiles};
use crate::shared;
use crate::verify::verify;

/// How much of a journal is read at once, in bytes.
const CHUNK_BYTES: usize = 1024 * 1024;

/// How the name of a note begins that is being written.
const HALF_NOTE: &str = ".pruned-";

/// The largest note that is read, in bytes: it names a hundred thousand contents.
const NOTE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// The right to remove: one process at a time has it.
#[derive(Debug)]
pub struct Pruning {
    home: Home,
    /// How many journals name each content.
    named: BTreeMap<String, u64>,
    /// Whether every journal that may name a content was read.
    is_sure: bool,
    /// Where each run has a folder of what is kept for undo.
    rescues: PathBuf,
    /// Held while something may be removed.
    _lock: Option<File>,
}

/// What there is.
#[derive(Debug, Default)]
pub struct Survey {
    /// Runs that have ended, and sessions of the peer, each with what goes with it.
    pub prunable: Vec<Ended>,
    /// The contents that go with the last journal that names them.
    pub contents: Vec<Content>,
    /// What is not touched, by name, with why.
    pub kept: Vec<(String, Kept)>,
    /// How many bytes all else takes: what is not touched, and contents that nothing removes.
    pub other_bytes: u64,
    /// What removals that were broken off have left.
    pub unfinished: Vec<Leftover>,
    /// Whether contents stay, since journals that can't be looked at may name them.
    pub contents_stay: bool,
}

/// Something that may be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Whose it is.
    pub whose: Whose,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// How many bytes its own files take.
    pub bytes: u64,
    /// The places of the contents that it names among [`Survey::contents`].
    pub contents: Vec<usize>,
    /// Whether what is kept for undo stays, since it may be that of a run of the same name elsewhere.
    pub undo_stays: bool,
}

/// What a removal that was broken off has left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The run that it was of.
    pub run_id: RunId,
    /// How many bytes it takes.
    pub bytes: u64,
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
    /// Takes the right to prune `home`, and looks at what is there. In `rescues` each run has a folder of what is kept for
    /// undo. `seer` and `now` are for telling whether a run's driver is alive.
    ///
    /// # Errors
    ///
    /// [`PruneError::Busy`] while another process has it, [`PruneError::Io`] if the home can't be read.
    pub fn begin(home: &Home, seer: &Owner, now: Timestamp, rescues: &Path) -> Result<(Self, Survey), PruneError> {
        make_folder(home.root())?;
        let path = home.root().join("prune.lock");
        let lock = match open_for_append(&path, true) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open_for_append(&path, false)?,
            made => made?,
        };
        if !Disk::try_lock(&lock)? {
            return Err(PruneError::Busy);
        }
        let mut pruning = Self::of(home, rescues, Some(lock));
        let survey = pruning.survey(seer, now)?;
        Ok((pruning, survey))
    }

    /// Only looks at what is there, and writes nothing.
    ///
    /// # Errors
    ///
    /// If the home can't be read.
    pub fn look(home: &Home, seer: &Owner, now: Timestamp, rescues: &Path) -> Result<Survey, PruneError> {
        Ok(Self::of(home, rescues, None).survey(seer, now)?)
    }

    fn of(home: &Home, rescues: &Path, lock: Option<File>) -> Self {
        let (named, is_sure) = (BTreeMap::new(), !shared::is(home));
        Self { home: home.clone(), named, is_sure, rescues: rescues.to_owned(), _lock: lock }
    }

    fn survey(&mut self, seer: &Owner, now: Timestamp) -> io::Result<Survey> {
        let all = runs::list(&self.home, seer, now)?;
        let (named_by_run, whole) = self.read_all(&all, seer, now);
        let (contents, places) = self.removable_contents()?;
        let in_use = in_use(&self.home, &all);
        let mut survey = Survey { contents, contents_stay: !self.is_sure, ..Survey::default() };
        for listed in all {
            let kept = match &listed {
                Listed::Unreadable { why, .. } => Kept::Unreadable(why.clone()),
                Listed::Peer(peer) => match peer.updated_at {
                    _ if peer.phase.as_deref() != Some(PEER_DONE) => Kept::NotEnded,
                    _ if in_use.as_ref().is_none_or(|in_use| in_use.contains(&peer.name)) => Kept::InUse,
                    Some(updated_at) => {
                        let files: Vec<PathBuf> = peer.session.iter().chain(&peer.trace).cloned().collect();
                        survey.prunable.push(Ended {
                            updated_at,
                            bytes: files.iter().map(|file| bytes_of(file)).sum(),
                            whose: Whose::Peer(peer.name.clone(), files),
                            contents: Vec::new(),
                            undo_stays: false,
                        });
                        continue;
                    }
                    None => Kept::NoTime,
                },
                Listed::Run(run) if run.damaged > 0 => Kept::Damaged,
                Listed::Run(run) if run.outcome.is_none() || run.driver_alive => Kept::NotEnded,
                Listed::Run(run) if !whole.contains(run.run_id.as_str()) => Kept::Damaged,
                Listed::Run(run) => {
                    let contents = named_by_run.get(run.run_id.as_str()).into_iter().flatten();
                    survey.prunable.push(Ended {
                        updated_at: run.updated_at,
                        bytes: bytes_of(&self.home.journal(&run.run_id)) + self.bytes_beside(&run.run_id)?,
                        whose: Whose::Run(run.run_id.clone()),
                        contents: contents.filter_map(|hash| places.get(hash).copied()).collect(),
                        undo_stays: shared::has_namesake(&self.home, &run.run_id),
                    });
                    continue;
                }
            };
            survey.kept.push((listed.name().to_owned(), kept));
        }
        self.look_for_leftovers(&mut survey)?;
        let everything =
            [self.home.sessions(), &self.home.artifacts(), &self.rescues].map(bytes_of).iter().sum::<u64>();
        let goes = survey.prunable.iter().map(|ended| ended.bytes).chain(survey.contents.iter().map(|one| one.bytes));
        survey.other_bytes = everything.saturating_sub(goes.sum());
        Ok(survey)
    }

    /// Reads what every journal names, and whether it can be relied on. Returns the contents by run, and the runs that
    /// are whole.
    fn read_all(
        &mut self,
        all: &[Listed],
        seer: &Owner,
        now: Timestamp,
    ) -> (BTreeMap<String, BTreeSet<String>>, BTreeSet<String>) {
        let (mut named_by_run, mut whole) = (BTreeMap::new(), BTreeSet::new());
        for listed in all {
            let path = match listed {
                Listed::Run(run) => self.home.journal(&run.run_id),
                Listed::Unreadable { path, .. } => {
                    // What its lines named may be gone with them.
                    self.is_sure = false;
                    path.clone()
                }
                Listed::Peer(peer) => match &peer.trace {
                    Some(trace) => trace.clone(),
                    None => continue,
                },
            };
            let Ok(hashes) = named_in(&path) else {
                self.is_sure = false;
                continue;
            };
            for hash in &hashes {
                *self.named.entry(hash.clone()).or_default() += 1;
            }
            named_by_run.insert(listed.name().to_owned(), hashes);
            if let Listed::Run(run) = listed {
                let report = verify(&self.home, &run.run_id, seer, now).ok();
                self.is_sure &= report.as_ref().is_some_and(|report| !report.findings.iter().any(hides_lines));
                if report.is_some_and(|report| report.verdict == Verdict::Whole) {
                    whole.insert(run.run_id.to_string());
                }
            }
        }
        (named_by_run, whole)
    }

    /// The contents that may go with the last journal that names them, and their places by hash. What was kept just now
    /// may be about to be named, and stays for this time.
    fn removable_contents(&self) -> io::Result<(Vec<Content>, BTreeMap<String, usize>)> {
        let artifacts = Artifacts::new(self.home.artifacts());
        let (mut contents, mut places) = (Vec::new(), BTreeMap::new());
        for (hash, named_by) in self.named.iter().filter(|_| self.is_sure) {
            let Some((path, bytes)) = artifacts.find(hash) else { continue };
            if !Artifacts::is_fresh(&path)? {
                places.insert(hash.clone(), contents.len());
                contents.push(Content { bytes, named_by: *named_by });
            }
        }
        Ok((contents, places))
    }

    fn look_for_leftovers(&self, survey: &mut Survey) -> io::Result<()> {
        let artifacts = Artifacts::new(self.home.artifacts());
        for name in runs::pruned(&self.home)? {
            let Some(run_id) = name.parse::<RunId>().ok().filter(|run_id| !exists(&self.home.journal(run_id))) else {
                continue;
            };
            let Some(note) = note(&self.home, &run_id) else {
                survey
                    .kept
                    .push((name, Kept::Unreadable("what is noted of its pruning is not of this run".to_owned())));
                continue;
            };
            if note.is_done {
                continue;
            }
            let is_named = |hash: &str| self.named.get(hash).is_some_and(|count| *count > 0);
            let contents = note.artifacts.iter().filter(|hash| self.is_sure && !is_named(hash));
            let removable = contents.filter_map(|hash| artifacts.find(hash));
            let removable: Vec<u64> = removable
                .filter(|(path, _)| !Artifacts::is_fresh(path).unwrap_or(true))
                .map(|(_, bytes)| bytes)
                .collect();
            let has_files = !beside(&self.home, &run_id)?.is_empty() || self.rescue_of(&run_id).is_some();
            if has_files || !removable.is_empty() {
                let bytes = self.bytes_beside(&run_id)? + removable.iter().sum::<u64>();
                survey.unfinished.push(Leftover { run_id, bytes });
            }
        }
        Ok(())
    }

    /// The folder of what is kept for undo of a run, if it is there and the run's alone.
    fn rescue_of(&self, run_id: &RunId) -> Option<PathBuf> {
        let folder = self.rescues.join(run_id.as_str());
        (exists(&folder) && !shared::has_namesake(&self.home, run_id)).then_some(folder)
    }

    /// How many bytes the files of a run take besides its journal and contents.
    fn bytes_beside(&self, run_id: &RunId) -> io::Result<u64> {
        let files = beside(&self.home, run_id)?;
        Ok(files.iter().chain(&self.rescue_of(run_id)).map(|file| bytes_of(file)).sum())
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
        for entry in fs::read_dir(self.home.sessions())? {
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

    /// Whether there is no run `run_id` any more.
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

    fn rest(&mut self, mut note: Note, before: &mut dyn FnMut(Step) -> io::Result<()>) -> Result<(), PruneError> {
        before(Step::Mailbox)?;
        let lease = self.home.lease(&note.run_id);
        for file in beside(&self.home, &note.run_id)?.iter().filter(|file| **file != lease) {
            gone(fs::remove_file(file))?;
        }
        before(Step::Elsewhere)?;
        if let Some(folder) = self.rescue_of(&note.run_id) {
            gone(fs::remove_dir_all(folder))?;
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

/// Whether what was found means that lines may be gone which named contents.
fn hides_lines(finding: &Finding) -> bool {
    matches!(
        finding.kind,
        FindingKind::Unreadable
            | FindingKind::Gap
            | FindingKind::BrokenLink
            | FindingKind::LastLineChanged
            | FindingKind::LinesMissing
    )
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
