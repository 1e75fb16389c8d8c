//! The mailbox half of an operator: answers and messages that come from elsewhere, and answers that are put there first.
//!
//! A terminal wraps it, and [`Unattended`](crate::Unattended) is an operator that has nothing else. In: the mailbox of a
//! run, if it has one. Out: what came; what is to be seen of it goes to `show`.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use adjutant_core::inbox::mailbox::{Answer, Closing, First, Said};
use adjutant_core::inbox::reply::Reply;
use adjutant_core::words::{Key, Question, QuestionKind};
use adjutant_ports::{Answered, Heard, Progress};
use adjutant_store::Mailbox;
use adjutant_store::mailbox::MailboxError;
use jiff::Timestamp;

use crate::mail::{self, Given};

/// Something that is to be seen where a run is shown.
pub enum DisplayItem<'a> {
    /// Something happened.
    Progress(&'a Progress<'a>),
    /// A line about the run that is no event.
    Note(&'a str),
    /// A question was answered elsewhere.
    Answer(&'a Answer, &'a Question),
    /// Something was said elsewhere.
    Said(&'a Said),
}

/// Shows something of a run.
pub type DisplayFn = Arc<dyn Fn(DisplayItem<'_>) + Send + Sync>;

/// The correspondence of one run.
pub struct Correspondence {
    mailbox: Option<Mailbox>,
    /// A word that the run should stand still is past if it was said before.
    since: Timestamp,
    heard: Mutex<HeardLetters>,
    /// True once it was said that the mailbox can't be used.
    has_warned: AtomicBool,
    show: DisplayFn,
}

/// The messages of the mailbox that were heard, and how long it was when there were no others.
#[derive(Default)]
struct HeardLetters {
    ids: BTreeSet<String>,
    bytes: u64,
}

impl Correspondence {
    /// The correspondence over `mailbox`; without one nothing ever comes.
    #[must_use]
    pub fn new(mailbox: Option<Mailbox>, since: Timestamp, show: DisplayFn) -> Self {
        Self { mailbox, since, heard: Mutex::default(), has_warned: AtomicBool::new(false), show }
    }

    /// Shows which lines of the mailbox are skipped.
    pub fn show_skipped(&self) {
        let Some(mailbox) = &self.mailbox else { return };
        let Ok(letters) = mailbox.read() else { return };
        for (line, why) in letters.skipped.iter().take(mail::SKIPPED_TOLD_MAX) {
            self.note(&format!("warning: {}:{line} is skipped: {why}", mailbox.path().display()));
        }
    }

    /// Takes the messages that came while no process drove the run: to be heard before anything is done.
    #[must_use]
    pub fn waiting_letters(&self) -> Vec<Heard> {
        std::iter::from_fn(|| self.new_letter()).map(heard).collect()
    }

    /// Waits for a message that was not heard here yet, and shows it.
    pub async fn letter(&self) -> Heard {
        let mut every = tokio::time::interval(mail::LOOK_EVERY);
        loop {
            every.tick().await;
            if let Some(said) = self.new_letter() {
                (self.show)(DisplayItem::Said(&said));
                return heard(said);
            }
        }
    }

    fn new_letter(&self) -> Option<Said> {
        let mailbox = self.mailbox.as_ref()?;
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = mailbox.bytes();
        if heard.bytes == bytes {
            return None;
        }
        // Whoever had a run stand still before somebody went on with it has got what they wanted.
        let is_past = |said: &Said| said.message.is_to_stand_still() && said.at < self.since;
        let letters = mailbox.read().ok()?;
        let new =
            letters.messages.into_iter().filter(|said| !is_past(said)).find(|said| heard.ids.insert(said.id.clone()));
        if new.is_none() {
            heard.bytes = bytes;
        }
        new
    }

    /// Makes an answer that was given here the one, unless somebody else was first.
    pub fn give(&self, key: &Key, question: &Question, reply: Reply, whence: &str) -> Answered {
        let ours = mail::answer(key, question.kind, reply, whence);
        let Some(mailbox) = &self.mailbox else { return mail::answered(ours) };
        match mail::give(mailbox, ours.clone()) {
            Ok(Given::Ours(answered)) => answered,
            Ok(Given::Theirs(theirs)) => self.theirs(question, theirs),
            Err(error) => {
                self.warn(&error);
                mail::answered(ours)
            }
        }
    }

    /// Returns true if a question was answered elsewhere.
    pub fn has_answer(&self, key: &Key, question: &Question) -> bool {
        let first = self.mailbox.as_ref().and_then(|mailbox| mailbox.first(key, question.kind).ok().flatten());
        matches!(first, Some(First::Answer(_)))
    }

    /// Returns the answer to a question that was given elsewhere while no process drove the run.
    pub fn found(&self, key: &Key, question: &Question) -> Option<Answered> {
        match self.mailbox.as_ref()?.first(key, question.kind) {
            Ok(Some(First::Answer(theirs))) => Some(self.theirs(question, theirs)),
            // Whether a question is open is for the run to say, not for its mailbox.
            Ok(Some(First::Closed { .. }) | None) => None,
            Err(error) => {
                self.warn(&error);
                None
            }
        }
    }

    /// Waits for an answer from elsewhere; for ever where there is no mailbox.
    pub async fn elsewhere(&self, key: &Key, question: &Question) -> Answered {
        match &self.mailbox {
            Some(mailbox) => {
                let theirs = mail::answered_elsewhere(mailbox, key, question.kind, |error| self.warn(error)).await;
                self.theirs(question, theirs)
            }
            None => std::future::pending().await,
        }
    }

    /// Says that a question takes no answer any more. Returns the answer that was first, if there was one.
    pub fn close(&self, key: &Key, kind: QuestionKind, why: Closing) -> Option<Answered> {
        mail::close(self.mailbox.as_ref()?, key, kind, why).unwrap_or_else(|error| {
            self.warn(&error);
            None
        })
    }

    fn theirs(&self, question: &Question, theirs: Answer) -> Answered {
        (self.show)(DisplayItem::Answer(&theirs, question));
        mail::answered(theirs)
    }

    /// Says once that the mailbox can't be used.
    fn warn(&self, error: &MailboxError) {
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            self.note(&format!("warning: no answer from elsewhere counts: {error}{hint}"));
        }
    }

    fn note(&self, text: &str) {
        (self.show)(DisplayItem::Note(text));
    }
}

fn heard(said: Said) -> Heard {
    Heard { message: said.message, to: said.to, id: Some(said.id), by: Some(said.by) }
}
