//! The questions of all runs that are open, with what their mailboxes say of them.
//!
//! A journal that ends with the run's end is not read any further; of the others only the lines that matter are
//! parsed.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use adjutant_core::id::RunId;
use adjutant_core::inbox::mailbox::{First, Letters};
use adjutant_core::inbox::{OpenQuestion, OpenQuestions};
use adjutant_core::trace::{Line, wire};
use jiff::Timestamp;

use super::summary::{glance, part};
use crate::home::Home;
use crate::lease::{Content, Owner};
use crate::mailbox::{Mailbox, MailboxError};

/// How much of a journal's end tells whether the run is over, in bytes: that line is a short one.
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
    /// Whether a process drives it now.
    pub driver_alive: bool,
    /// The questions, each with what came first to it but is not in the journal yet.
    pub questions: Vec<(OpenQuestion, Option<First>)>,
    /// Lines of the mailbox that were skipped, from 1, each with why.
    pub skipped: Vec<(u64, String)>,
    /// Why the mailbox can't be used.
    pub mailbox_fault: Option<MailboxError>,
}

/// What was found of all runs.
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
        match asking(home, run_id, &path, seer, now) {
            Ok(None) => {}
            Ok(Some(asking)) => all.runs.push(asking),
            Err(error) => all.unreadable.push((path, error.to_string())),
        }
    }
    Ok(all)
}

fn asking(home: &Home, run_id: RunId, path: &Path, seer: &Owner, now: Timestamp) -> io::Result<Option<Asking>> {
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    if is_over(&part(&file, bytes.saturating_sub(END_BYTES), END_BYTES.min(bytes))?) {
        return Ok(None);
    }
    let fold = fold(&part(&file, 0, bytes)?);
    let open: Vec<OpenQuestion> = fold.open().cloned().collect();
    if open.is_empty() {
        return Ok(None);
    }
    let (letters, mailbox_fault) = match Mailbox::of(home, &run_id).read() {
        Ok(letters) => (letters, None),
        Err(fault) => (Letters::default(), Some(fault)),
    };
    let questions = open.into_iter().map(|open| {
        let first = letters.first(&open.key, open.question.kind).cloned();
        (open, first)
    });
    let lease = Content::read(&home.lease(&run_id)).ok().flatten();
    Ok(Some(Asking {
        questions: questions.collect(),
        driver_alive: lease.is_some_and(|lease| lease.is_alive(seer, now)),
        run_id,
        project: fold.project,
        brief: fold.brief,
        skipped: letters.skipped,
        mailbox_fault,
    }))
}

/// Whether the last whole line of `end` is the run's end.
fn is_over(end: &[u8]) -> bool {
    let whole = memchr::memrchr(b'\n', end).map_or(&[][..], |end_of_line| &end[..end_of_line]);
    let last = memchr::memrchr(b'\n', whole).map_or(whole, |before| &whole[before + 1..]);
    std::str::from_utf8(last).ok().and_then(glance).is_some_and(|(_, kind)| kind == "run_end")
}

fn fold(journal: &[u8]) -> OpenQuestions {
    let mut fold = OpenQuestions::default();
    let mut begin = 0;
    // What has no line feed yet is being written.
    for end in memchr::memchr_iter(b'\n', journal) {
        let line = &journal[begin..end];
        begin = end + 1;
        let Ok(line) = std::str::from_utf8(line) else { continue };
        if glance(line).is_some_and(|(_, kind)| OpenQuestions::NEEDED.contains(&kind))
            && let Ok(Line::Event(event)) = wire::decode(line)
        {
            fold.apply(event);
        }
    }
    fold
}
