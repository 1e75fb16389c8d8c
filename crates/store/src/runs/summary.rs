//! Summarizes one run from as little of its journal as needed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use adjutant_core::brief;
use adjutant_core::trace::{AskEvent, Body, Event, EventKind, Line, OpenWaits, PartEvent, RunEvent, wire};
use adjutant_core::view::list::Asks;
use adjutant_core::words::id::RunId;
use adjutant_core::words::{Key, Outcome, PhaseName, QuestionKind};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::open::open_questions_of;
use super::{Listed, RunFiles};
use crate::home::Home;
use crate::lease::{LeaseContent, Owner};
use crate::mailbox::Mailbox;
use crate::plain_file;

/// Number of bytes read of a journal's beginning: header and start, the brief in it included.
const HEAD_BYTES: u64 = 256 * 1024;

/// Number of bytes read of a journal's end. The things a run waits for are among the last it recorded.
const TAIL_BYTES: u64 = 1024 * 1024;

/// The summary of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// Its name.
    pub run_id: RunId,
    /// The brief's id, as the header has it.
    pub brief_id: String,
    /// The project; `None` if the run's start is not on record.
    pub project: Option<String>,
    /// The time its journal begins.
    pub started_at: Timestamp,
    /// The time its last event was recorded.
    pub updated_at: Timestamp,
    /// The phase entered last, by whichever session; `None` before the first.
    pub phase: Option<PhaseName>,
    /// Its outcome; `None` if it has not ended.
    pub outcome: Option<Outcome>,
    /// The first line of the brief's objective; `None` if the run's start is not on record.
    pub title: Option<String>,
    /// The questions that wait for the operator, or are answered already.
    pub asks: Asks,
    /// The categories that a yes would be for, if it waits for one.
    pub categories: BTreeSet<String>,
    /// The questions that are open in the journal.
    pub(super) open: Vec<(Key, QuestionKind)>,
    /// The time the first of its waits for a provider ends; `None` if no such wait is left.
    pub wakes_at: Option<Timestamp>,
    /// True if a process drives it now.
    pub driver_alive: bool,
    /// Number of damaged lines found. A journal longer than a megabyte is not read whole, and hashes are not compared:
    /// taking a run over finds more.
    pub damaged: usize,
}

/// A session of the peer, as far as its files say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PeerSummary {
    /// The name of its files.
    pub name: String,
    /// The session file.
    pub session: Option<PathBuf>,
    /// The trace.
    pub trace: Option<PathBuf>,
    /// The project.
    pub project: Option<String>,
    /// The phase, in the peer's word.
    pub phase: Option<String>,
    /// The time it began.
    pub started_at: Option<Timestamp>,
    /// The time it last changed.
    pub updated_at: Option<Timestamp>,
}

pub(super) fn summary(home: &Home, name: String, files: RunFiles, seer: &Owner, now: Timestamp) -> Listed {
    let Some(path) = files.trace.clone() else { return Listed::Peer(peer(name, files)) };
    let fold = match read(&path) {
        Ok(fold) => fold,
        Err(error) => return Listed::Unreadable { name, path, why: error.to_string() },
    };
    if fold.is_peers || (files.session.is_some() && fold.started_at.is_none()) {
        return Listed::Peer(peer(name, files));
    }
    let run_id = match name.parse::<RunId>() {
        Ok(run_id) => run_id,
        Err(error) => return Listed::Unreadable { name, path, why: error.to_string() },
    };
    let (Some(brief_id), Some(started_at), Some(updated_at)) = (fold.brief_id, fold.started_at, fold.updated_at) else {
        let why = match (fold.damaged, path.symlink_metadata()) {
            (0, Ok(found)) if found.len() == 0 => "it is empty",
            (0, _) => "it has no whole line",
            _ => "it has no header that can be read",
        };
        return Listed::Unreadable { name, path, why: why.to_owned() };
    };
    let lease = LeaseContent::read(&home.lease(&run_id)).ok().flatten();
    let open: Vec<(Key, QuestionKind)> = fold.open.into_iter().filter(|_| fold.outcome.is_none()).collect();
    let categories = match open.is_empty() {
        true => BTreeSet::new(),
        false => categories(home, &run_id, seer, now),
    };
    Listed::Run(RunSummary {
        asks: asks(home, &run_id, &open),
        categories,
        open,
        title: fold.title,
        run_id,
        brief_id,
        project: fold.project,
        started_at,
        updated_at,
        phase: fold.phase,
        outcome: fold.outcome,
        // Past its end it is like any run that nobody drives.
        wakes_at: fold.waits.wakes_at().filter(|until| *until > now),
        driver_alive: lease.is_some_and(|lease| lease.is_alive(seer, now)),
        damaged: fold.damaged,
    })
}

/// Says of the questions that are open in a journal which the mailbox has no answer to. Of a mailbox that can't be read
/// nothing counts as answered.
pub(super) fn asks(home: &Home, run_id: &RunId, open: &[(Key, QuestionKind)]) -> Asks {
    if open.is_empty() {
        return Asks::Nothing;
    }
    let letters = Mailbox::of(home, run_id).read().unwrap_or_default();
    let waiting = open.iter().find(|(key, kind)| letters.first(key, *kind).is_none());
    waiting.map_or(Asks::Answered, |(_, kind)| Asks::Waiting(*kind))
}

/// The categories that the questions of a run are about, which only the whole journal tells.
fn categories(home: &Home, run_id: &RunId, seer: &Owner, now: Timestamp) -> BTreeSet<String> {
    let asking = open_questions_of(home, run_id, seer, now).ok().flatten();
    let questions = asking.into_iter().flat_map(|asking| asking.questions);
    questions.filter(|(_, first)| first.is_none()).flat_map(|(open, _)| open.categories).collect()
}

/// The brief's id in the header of the journal at `path`; `None` if it is not one of ours.
pub(super) fn brief_id(path: &Path) -> Option<String> {
    let file = plain_file::open(path).ok()?;
    let mut head = vec![0; 4096];
    let read = file.read_at(&mut head, 0).ok()?;
    let end = memchr::memchr(b'\n', head.get(..read)?)?;
    match wire::decode(std::str::from_utf8(&head[..end]).ok()?).ok()? {
        Line::Event(Event { body: Body::Run(RunEvent::TraceVersion { brief_id, .. }), .. }) => Some(brief_id),
        Line::Event(_) | Line::Unknown { .. } => None,
    }
}

fn read(path: &Path) -> io::Result<RunSummaryFold> {
    let (file, found) = plain_file::open_with_metadata(path)?;
    let bytes = found.len();
    let mut fold = RunSummaryFold::default();
    if bytes <= HEAD_BYTES + TAIL_BYTES {
        fold.lines(&part(&file, 0, bytes)?, Cut::Nowhere);
    } else {
        fold.lines(&part(&file, 0, HEAD_BYTES)?, Cut::Nowhere);
        fold.next_seq = None;
        fold.lines(&part(&file, bytes - TAIL_BYTES, TAIL_BYTES)?, Cut::InFirstLine);
    }
    Ok(fold)
}

pub(super) fn part(file: &File, from: u64, bytes: u64) -> io::Result<Vec<u8>> {
    let mut part = vec![0; usize::try_from(bytes).unwrap_or(usize::MAX)];
    let mut filled = 0;
    while filled < part.len() {
        match file.read_at(&mut part[filled..], from + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    part.truncate(filled);
    Ok(part)
}

/// Beginning of a piece of a journal: with a line, or within one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    Nowhere,
    InFirstLine,
}

/// The types of events that a summary needs; all others are passed over unread.
const NEEDED: &[EventKind] = &[
    EventKind::TraceVersion,
    EventKind::RunStart,
    EventKind::RunResume,
    EventKind::RunEnd,
    EventKind::PhaseEnter,
    EventKind::Question,
    EventKind::Answer,
    EventKind::Expired,
    EventKind::Withdrawn,
    EventKind::Timer,
];

#[derive(Default)]
struct RunSummaryFold {
    is_peers: bool,
    brief_id: Option<String>,
    project: Option<String>,
    title: Option<String>,
    started_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    phase: Option<PhaseName>,
    outcome: Option<Outcome>,
    open: BTreeMap<Key, QuestionKind>,
    waits: OpenWaits,
    next_seq: Option<u64>,
    any: bool,
    damaged: usize,
}

impl RunSummaryFold {
    /// Takes note of the whole lines of a piece; what has no line feed yet is being written.
    fn lines(&mut self, piece: &[u8], cut: Cut) {
        let mut begin = match cut {
            Cut::Nowhere => 0,
            Cut::InFirstLine => memchr::memchr(b'\n', piece).map_or(piece.len(), |end| end + 1),
        };
        let mut last = None;
        for end in memchr::memchr_iter(b'\n', &piece[begin..]).map(|end| begin + end).collect::<Vec<_>>() {
            let line = &piece[begin..end];
            begin = end + 1;
            if !line.is_empty() && !self.is_peers {
                self.line(line);
                last = Some(line);
            }
        }
        let last = last.and_then(|line| std::str::from_utf8(line).ok()).and_then(|line| wire::head(line).ok());
        if let Some(at) = last.and_then(|head| head.at?.parse().ok()) {
            self.updated_at = Some(at);
        }
    }

    fn line(&mut self, line: &[u8]) {
        let Ok(line) = std::str::from_utf8(line) else {
            self.damaged += 1;
            self.next_seq = self.next_seq.map(|seq| seq + 1);
            return;
        };
        match glance(line) {
            Some((seq, kind))
                if self.any && !kind.is_some_and(|kind| NEEDED.contains(&kind)) && line.ends_with('}') =>
            {
                self.numbered(seq)
            }
            _ => match wire::decode(line) {
                Ok(Line::Event(event)) => {
                    self.numbered(event.seq);
                    self.event(event);
                }
                Ok(Line::Unknown { seq, .. }) => self.numbered(seq),
                Err(_) if !self.any && wire::head(line).is_ok_and(|head| head.seq.is_none()) => self.is_peers = true,
                Err(_) => {
                    self.damaged += 1;
                    self.next_seq = self.next_seq.map(|seq| seq + 1);
                }
            },
        }
        self.any = true;
    }

    fn numbered(&mut self, seq: u64) {
        if self.next_seq.is_some_and(|expected| expected != seq) {
            self.damaged += 1;
        }
        self.next_seq = Some(seq.saturating_add(1));
    }

    fn event(&mut self, event: Event) {
        self.started_at.get_or_insert(event.at);
        self.updated_at = Some(event.at);
        self.waits.apply(&event);
        if let Some(slot) = event.body.outcome() {
            self.open.remove(&Key { part: event.part.clone(), slot: *slot });
        }
        match event.body {
            Body::Run(RunEvent::TraceVersion { brief_id, .. }) => self.brief_id = Some(brief_id),
            Body::Run(RunEvent::RunStart(start)) => {
                self.brief_id = Some(start.brief_id.to_string());
                self.title = brief::title(&start.brief);
                self.project = Some(start.project);
            }
            Body::Part(PartEvent::PhaseEnter { phase, .. }) => self.phase = Some(phase),
            Body::Run(RunEvent::RunEnd { outcome }) => self.outcome = Some(outcome),
            Body::Ask(AskEvent::Question { slot, question }) => {
                self.open.insert(Key { part: event.part, slot }, question.kind);
            }
            _ => {}
        }
    }
}

/// Returns the number and the type of a line in our fixed order of keys, without parsing it; no type if it is unknown.
pub(super) fn glance(line: &str) -> Option<(u64, Option<EventKind>)> {
    let (seq, rest) = quick_split(line.strip_prefix(r#"{"seq":"#)?, b',')?;
    let (_, rest) = quick_split(rest.strip_prefix(r#""at":""#)?, b'"')?;
    let (kind, _) = quick_split(rest.strip_prefix(r#","type":""#)?, b'"')?;
    Some((seq.parse().ok()?, EventKind::named(kind)))
}

/// Splits `text` at the first `byte`, an ASCII one.
fn quick_split(text: &str, byte: u8) -> Option<(&str, &str)> {
    let at = memchr::memchr(byte, text.as_bytes())?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

#[derive(Deserialize)]
struct PeerSessionHead {
    #[serde(default)]
    meta: PeerMeta,
}

/// Values as they come: a field of the wrong type is as good as none.
#[derive(Deserialize, Default)]
#[serde(default)]
struct PeerMeta {
    project: Value,
    phase: Value,
    started_at: Value,
    updated_at: Value,
}

fn peer(name: String, files: RunFiles) -> PeerSummary {
    let meta = files
        .session
        .as_ref()
        .and_then(|path| plain_file::open(path).ok())
        .and_then(|file| serde_json::from_reader::<_, PeerSessionHead>(BufReader::new(file)).ok())
        .map(|session| session.meta)
        .unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let time = |value: &Value| value.as_str().and_then(|at| at.parse().ok());
    PeerSummary {
        name,
        project: text(&meta.project),
        phase: text(&meta.phase),
        started_at: time(&meta.started_at),
        updated_at: time(&meta.updated_at),
        session: files.session,
        trace: files.trace,
    }
}
