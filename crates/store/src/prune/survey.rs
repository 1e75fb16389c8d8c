//! Surveys what can be removed, what stays and why, and how much each takes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use adjutant_core::learn::PeerFacts;
use adjutant_core::trace::prune::SharedContent;
use adjutant_core::trace::verify::{FindingKind, JournalFinding, JournalVerdict};
use adjutant_core::words::id::RunId;
use jiff::Timestamp;

use super::{Pruning, beside, bytes_of, exists, note};
use crate::artifacts::Artifacts;
use crate::home::Home;
use crate::lease::Owner;
use crate::runs::{self, Listed, PeerFiles};
use crate::shared;
use crate::verify::verify;

/// Number of bytes of a journal read at once.
pub(super) const CHUNK_BYTES: usize = 1024 * 1024;

/// The result of a survey.
#[derive(Debug, Default)]
pub struct Survey {
    /// Runs that have ended, and sessions of the peer, each with what goes with it.
    pub prunable: Vec<Ended>,
    /// The contents that go with the last journal that names them.
    pub contents: Vec<SharedContent>,
    /// The things that stay, by name, each with the reason.
    pub kept: Vec<(String, Kept)>,
    /// Number of bytes of everything else: the things that stay, and contents that nothing removes.
    pub other_bytes: u64,
    /// The leftovers of interrupted removals.
    pub unfinished: Vec<Leftover>,
    /// True if contents stay, since journals that can't be read may name them.
    pub contents_stay: bool,
}

/// Something that may be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The run or session that it is.
    pub whose: Whose,
    /// The time it last changed.
    pub updated_at: Timestamp,
    /// Number of bytes of its own files.
    pub bytes: u64,
    /// The places of the contents that it names among [`Survey::contents`].
    pub contents: Vec<usize>,
    /// True if the copies for undo stay, since they may be those of a run of the same name elsewhere.
    pub undo_stays: bool,
}

/// The leftover of an interrupted removal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The run that it was of.
    pub run_id: RunId,
    /// Its number of bytes.
    pub bytes: u64,
}

/// The run or session that something belongs to.
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

/// Reason why something stays.
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

impl Pruning {
    pub(super) fn survey(&mut self, seer: &Owner, now: Timestamp) -> io::Result<Survey> {
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
        let artifacts = self.home.artifacts();
        let folders = [self.home.sessions(), &artifacts].into_iter().chain(self.folders.iter().map(PathBuf::as_path));
        // What a removal leaves is no reason for another.
        let notes = runs::pruned(&self.home)?.into_iter().filter_map(|name| name.parse().ok());
        let notes = notes.map(|run_id| bytes_of(&self.home.pruned(&run_id))).sum::<u64>();
        let everything = folders.map(bytes_of).sum::<u64>().saturating_sub(notes);
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
                if report.is_some_and(|report| report.verdict == JournalVerdict::Whole) {
                    whole.insert(run.run_id.to_string());
                }
            }
        }
        (named_by_run, whole)
    }

    /// The contents that may go with the last journal that names them, and their places by hash. What was kept just now
    /// may be about to be named, and stays for this time.
    fn removable_contents(&self) -> io::Result<(Vec<SharedContent>, BTreeMap<String, usize>)> {
        let artifacts = Artifacts::new(self.home.artifacts());
        let (mut contents, mut places) = (Vec::new(), BTreeMap::new());
        for (hash, named_by) in self.named.iter().filter(|_| self.is_sure) {
            let Some((path, bytes)) = artifacts.find(hash) else { continue };
            if !Artifacts::is_fresh(&path)? {
                places.insert(hash.clone(), contents.len());
                contents.push(SharedContent { bytes, named_by: *named_by });
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
            let has_files = !beside(&self.home, &run_id)?.is_empty() || !self.elsewhere(&run_id).is_empty();
            if has_files || !removable.is_empty() {
                let bytes = self.bytes_beside(&run_id)? + removable.iter().sum::<u64>();
                survey.unfinished.push(Leftover { run_id, bytes });
            }
        }
        Ok(())
    }
}

/// Returns true if a finding means that lines which named contents may be gone.
fn hides_lines(finding: &JournalFinding) -> bool {
    matches!(
        finding.kind,
        FindingKind::Unreadable
            | FindingKind::Gap
            | FindingKind::BrokenLink
            | FindingKind::LastLineChanged
            | FindingKind::LinesMissing
            | FindingKind::AcceptedDamage
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

/// Every content that a journal may name, on whatever line, damaged or not.
pub(super) fn named_in(path: &Path) -> io::Result<BTreeSet<String>> {
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
