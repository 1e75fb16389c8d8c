//! The open questions of all runs that are not over, with what their mailboxes say of them; and the runs that a worker
//! can continue.
//!
//! A journal that ends with the run's end is not read any further; of the others only the lines that matter are
//! parsed.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use adjutant_core::inbox::mailbox::{First, Letters};
use adjutant_core::inbox::worker::{LetGo, Outlook, Sittings};
use adjutant_core::inbox::{OpenQuestion, OpenQuestions};
use adjutant_core::trace::{Body, Event, EventKind, Line, RunEvent, wire};
use adjutant_core::words::id::RunId;
use jiff::Timestamp;
use memchr::memmem;

use super::summary::{glance, part};
use crate::batches::{Batch, Batches};
use crate::chain;
use crate::home::Home;
use crate::lease::{LeaseContent, Owner};
use crate::mailbox::{Mailbox, MailboxError};
use crate::plain_file;

/// Number of bytes of a journal's end that tell whether the run is over: its last line is a short one.
const END_BYTES: u64 = 4 * 1024;

/// A run with open questions.
#[derive(Debug)]
pub struct Asking {
    /// Its name.
    pub run_id: RunId,
    /// The project; `None` if the run's start is not on record.
    pub project: Option<String>,
    /// The brief's text.
    pub brief: String,
    /// True if a process drives it now.
    pub driver_alive: bool,
    /// The questions, each with what came first to it but is not in the journal yet.
    pub questions: Vec<(OpenQuestion, Option<First>)>,
    /// Number of lines of the journal that don't carry the hash of the line before: it was changed after it was
    /// written.
    pub breaks: u64,
    /// Lines of the mailbox that were skipped, from 1, each with why.
    pub skipped: Vec<(u64, String)>,
    /// Reason why the mailbox can't be used.
    pub mailbox_fault: Option<MailboxError>,
}

/// The open questions of all runs.
#[derive(Debug, Default)]
pub struct AllAsking {
    /// Those with open questions, in the order of their names.
    pub runs: Vec<Asking>,
    /// The journals that could not be read, each with why.
    pub unreadable: Vec<(PathBuf, String)>,
}

/// The open questions of all runs. `seer` and `now` are for telling whether a run's driver is alive.
///
/// # Errors
///
/// If there is a folder of sessions and it can't be read.
pub fn open_questions(home: &Home, seer: &Owner, now: Timestamp) -> io::Result<AllAsking> {
    let mut all = AllAsking::default();
    for (name, files) in super::names(home)? {
        let (Some(path), Ok(run_id)) = (files.trace, name.parse::<RunId>()) else { continue };
        match asking_at(home, run_id, &path, seer, now) {
            Ok(None) => {}
            Ok(Some(asking)) => all.runs.push(asking),
            Err(error) => all.unreadable.push((path, error.to_string())),
        }
    }
    Ok(all)
}

/// A run that is not over and that nobody drives.
#[derive(Debug)]
pub struct Idle {
    /// Its name and its questions, if it has any.
    pub asking: Asking,
    /// The time its last sitting began.
    pub began: Option<Timestamp>,
    /// The folder that it works in; `None` if its start is not on record.
    pub workdir: Option<String>,
    /// The time the first of its waits for a provider ends; `None` if it has no such wait.
    pub wakes_at: Option<Timestamp>,
    /// A worker's judgement of it.
    pub outlook: Outlook,
}

/// The runs that no process drives.
#[derive(Debug, Default)]
pub struct AllIdle {
    /// The runs.
    pub runs: Vec<Idle>,
    /// Journals that can't be read, and why.
    pub unreadable: Vec<(RunId, String)>,
}

/// All runs that are not over and that nobody drives, as far as `seer` can tell at `now`.
///
/// # Errors
///
/// If there is a folder of sessions and it can't be read.
pub fn idle(home: &Home, seer: &Owner, now: Timestamp) -> io::Result<AllIdle> {
    let mut all = AllIdle::default();
    for (name, files) in super::begun(home)? {
        let (Some(path), Ok(run_id)) = (files.trace, name.parse::<RunId>()) else { continue };
        let lease = LeaseContent::read(&home.lease(&run_id)).ok().flatten();
        if lease.as_ref().is_some_and(|lease| lease.is_alive(seer, now)) {
            continue;
        }
        let let_go = if lease.is_some_and(|lease| lease.was_let_go()) { LetGo::Itself } else { LetGo::Killed };
        let journal = match unfinished(&path) {
            Ok(Some(journal)) => journal,
            Ok(None) => continue,
            Err(error) => {
                all.unreadable.push((run_id, error.to_string()));
                continue;
            }
        };
        let sittings = sittings(&journal);
        let (asking, letters) = asking(home, run_id, &journal, fold(&journal), seer, now);
        let outlook = sittings.outlook(&asking.questions, &letters.messages, let_go, now);
        let workdir = sittings.workdir().map(str::to_owned);
        let wakes_at = sittings.wakes_at();
        all.runs.push(Idle { asking, began: sittings.began(), workdir, wakes_at, outlook });
    }
    Ok(all)
}

/// The beginnings of the sittings of a run that is not over: what must be known before its journal is read.
#[derive(Debug, Default)]
pub struct Beginnings {
    /// The events of the kinds `run_start` and `run_resume`.
    pub events: Vec<Event>,
    /// The folder that the run works in; `None` if its start is not on record.
    pub workdir: Option<String>,
}

/// Looks for the beginnings of a run's sittings; there is none if the run is over. Only lines that begin as ours do are
/// looked at, and nothing is checked.
///
/// # Errors
///
/// If its journal can't be read.
pub fn beginnings(home: &Home, run_id: &RunId) -> io::Result<Beginnings> {
    let (mut events, mut sittings) = (Vec::new(), Sittings::default());
    for_run_lines(home, run_id, |line| {
        take_in(&mut sittings, line);
        let decoded = std::str::from_utf8(line).ok().and_then(|line| wire::decode(line.trim_end_matches('\n')).ok());
        if let Some(Line::Event(event)) = decoded
            && begins_sitting(&event)
        {
            events.push(event);
        }
    })?;
    Ok(Beginnings { events, workdir: sittings.workdir().map(str::to_owned) })
}

/// Returns true if [`beginnings`] gives the event, where it is in a line of ours.
#[must_use]
pub fn begins_sitting(event: &Event) -> bool {
    matches!(event.body, Body::Run(RunEvent::RunStart(_) | RunEvent::RunResume { .. }))
}

/// Hands every whole line of the kinds `run_start`, `run_resume` and `run_end` to `take`, unless the run is over. A resume
/// asks for these before it reads the journal itself, so no other line is looked at.
fn for_run_lines(home: &Home, run_id: &RunId, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let Some((file, _)) = unfinished_file(&home.journal(run_id))? else { return Ok(()) };
    let kinds = memmem::Finder::new(br#","type":"run_"#);
    let mut batches = Batches::new(file);
    while let Some(batch) = batches.next()? {
        let Batch::Lines(journal) = batch else { continue };
        let mut from = 0;
        while let Some(found) = kinds.find(&journal[from..]) {
            let begin = memchr::memrchr(b'\n', &journal[..from + found]).map_or(0, |end| end + 1);
            let end =
                memchr::memchr(b'\n', &journal[from + found..]).map_or(journal.len(), |end| from + found + end + 1);
            take(&journal[begin..end]);
            from = end;
        }
    }
    Ok(())
}

/// The open questions of one run; `None` if it has none.
///
/// # Errors
///
/// If its journal can't be read.
pub fn open_questions_of(home: &Home, run_id: &RunId, seer: &Owner, now: Timestamp) -> io::Result<Option<Asking>> {
    asking_at(home, run_id.clone(), &home.journal(run_id), seer, now)
}

fn asking_at(home: &Home, run_id: RunId, path: &Path, seer: &Owner, now: Timestamp) -> io::Result<Option<Asking>> {
    let Some(journal) = unfinished(path)? else { return Ok(None) };
    let fold = fold(&journal);
    let open = fold.open().next().is_some();
    Ok(open.then(|| asking(home, run_id, &journal, fold, seer, now).0))
}

/// The journal at `path`, unless its run is over.
fn unfinished(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some((file, bytes)) = unfinished_file(path)? else { return Ok(None) };
    part(&file, 0, bytes).map(Some)
}

/// The file of the journal at `path` with its length, unless its run is over.
fn unfinished_file(path: &Path) -> io::Result<Option<(File, u64)>> {
    let file = plain_file::open(path)?;
    let bytes = file.metadata()?.len();
    let is_over = is_over(&part(&file, bytes.saturating_sub(END_BYTES), END_BYTES.min(bytes))?);
    Ok((!is_over).then_some((file, bytes)))
}

fn asking(
    home: &Home,
    run_id: RunId,
    journal: &[u8],
    fold: OpenQuestions,
    seer: &Owner,
    now: Timestamp,
) -> (Asking, Letters) {
    let whole = memchr::memrchr(b'\n', journal).map_or(&[][..], |end| &journal[..end]);
    let (mut letters, mailbox_fault) = match Mailbox::of(home, &run_id).read() {
        Ok(letters) => (letters, None),
        Err(fault) => (Letters::default(), Some(fault)),
    };
    let questions = fold.open().map(|open| (open.clone(), letters.first(&open.key, open.question.kind).cloned()));
    let questions = questions.collect();
    let lease = LeaseContent::read(&home.lease(&run_id)).ok().flatten();
    let asking = Asking {
        questions,
        driver_alive: lease.is_some_and(|lease| lease.is_alive(seer, now)),
        run_id,
        project: fold.project,
        brief: fold.brief,
        breaks: chain::breaks(whole.split(|byte| *byte == b'\n')),
        skipped: std::mem::take(&mut letters.skipped),
        mailbox_fault,
    };
    (asking, letters)
}

/// Returns true if the last whole line of `end` is the run's end.
fn is_over(end: &[u8]) -> bool {
    let whole = memchr::memrchr(b'\n', end).map_or(&[][..], |end_of_line| &end[..end_of_line]);
    let last = memchr::memrchr(b'\n', whole).map_or(whole, |before| &whole[before + 1..]);
    std::str::from_utf8(last).ok().and_then(glance).is_some_and(|(_, kind)| kind == Some(EventKind::RunEnd))
}

fn fold(journal: &[u8]) -> OpenQuestions {
    let mut fold = OpenQuestions::default();
    for (kind, line) in lines(journal) {
        if OpenQuestions::NEEDED.contains(&kind)
            && let Ok(Line::Event(event)) = wire::decode(line)
        {
            fold.apply(event);
        }
    }
    fold
}

fn sittings(journal: &[u8]) -> Sittings {
    let mut sittings = Sittings::default();
    take_in(&mut sittings, journal);
    sittings
}

fn take_in(sittings: &mut Sittings, journal: &[u8]) {
    for (kind, line) in lines(journal) {
        if Sittings::PROGRESS.contains(&kind) {
            sittings.progressed();
        }
        if Sittings::NEEDED.contains(&kind)
            && let Ok(Line::Event(event)) = wire::decode(line)
        {
            sittings.apply(&event);
        }
    }
}

/// The whole lines of a journal in our order of keys, each with its type. What has no line feed yet is being written.
fn lines(journal: &[u8]) -> impl Iterator<Item = (EventKind, &str)> {
    let mut begin = 0;
    memchr::memchr_iter(b'\n', journal).filter_map(move |end| {
        let line = &journal[begin..end];
        begin = end + 1;
        let line = std::str::from_utf8(line).ok()?;
        glance(line).and_then(|(_, kind)| Some((kind?, line)))
    })
}
