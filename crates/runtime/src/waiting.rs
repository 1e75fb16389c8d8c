//! Lists the questions that wait for an operator over all runs, and answers one of them, from any place.
//!
//! In: a home, the owner that looks, the time; a question and the words for it. Out: the rows of the inbox; the result
//! of an answer. The questions and the reading of words are `core`'s, the mailbox the store's.
//!
//! Begin with [`Waiting`].

use std::io;

use adjutant_core::inbox::OpenQuestion;
use adjutant_core::inbox::mailbox::First;
use adjutant_core::inbox::reply::{self, Reply};
use adjutant_core::view::inbox::{self, AnsweredRow, Row, RowSource};
use adjutant_core::words::id::RunId;
use adjutant_core::words::visible::visible_line;
use adjutant_core::words::{Choice, QuestionKind};
use adjutant_store::mailbox::MailboxError;
use adjutant_store::runs::{self, AllAsking, Asking};
use adjutant_store::{Home, Mailbox, Owner};
use jiff::Timestamp;
use serde::Serialize;
use thiserror::Error;

use crate::mail::{self, Given};
use crate::say;

/// The fewest characters by which a question is found whose short name has grown since it was shown.
const SHORTENED_CHARS_MIN: usize = 5;

/// The questions that wait in all runs now.
pub struct Waiting {
    /// As the runs and their mailboxes have it.
    pub all: AllAsking,
    /// As it is shown, the oldest question first.
    pub rows: Vec<Row>,
}

/// An answer, as it was given.
#[derive(Debug, Clone)]
pub enum GivenAnswer<'a> {
    /// Words, as they would be typed at the run's terminal.
    Typed(&'a str),
    /// A choice that was offered.
    Chosen(Reply),
}

/// The result of one answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswerResult {
    /// The question.
    pub id: String,
    /// True if this answer is the one that counts.
    pub is_ours: bool,
    /// The question's answer now.
    pub answer: AnsweredRow,
}

/// The reason why no question was found.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotFound {
    /// None is called so.
    #[error("no open question is called `{}`", visible_line(given))]
    Unknown {
        /// The name that was given.
        given: String,
    },
    /// Several may be.
    #[error("`{}` may be several questions", visible_line(given))]
    Several {
        /// The name that was given.
        given: String,
        /// Their names.
        ids: Vec<String>,
    },
}

impl NotFound {
    /// Returns advice for the operator.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown { .. } => "`adjutant inbox` lists those that are open".to_owned(),
            Self::Several { ids, .. } => format!("name one of {}", ids.join(", ")),
        }
    }
}

/// The reason why a question was not answered.
#[derive(Debug, Error)]
pub enum NotAnswered {
    /// The question is gone.
    #[error("`{id}` is not open any more")]
    Gone {
        /// The question.
        id: String,
    },
    /// The words fit no answer to such a question.
    #[error("`{}` can't be read as an answer", visible_line(word))]
    Unreadable {
        /// The words.
        word: String,
        /// The replies that the question takes.
        replies: Vec<String>,
    },
    /// The words can't have been meant.
    #[error("`{id}` is not answered: {why}")]
    Slip {
        /// The question.
        id: String,
        /// The reason, with what to say instead.
        why: String,
    },
    /// The mailbox of its run can't be used: why was found when it was read.
    #[error("`{id}` is not answered")]
    Unusable {
        /// The question.
        id: String,
        /// The step that mends the mailbox.
        hint: Option<String>,
    },
    /// It could not be put down.
    #[error(transparent)]
    Mailbox(#[from] MailboxError),
}

impl NotAnswered {
    /// Returns advice for the operator, if there is any.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Gone { .. } | Self::Slip { .. } => None,
            Self::Unreadable { replies, .. } => Some(format!("what may be said is: {}", replies.join(", "))),
            Self::Unusable { hint, .. } => hint.clone(),
            Self::Mailbox(error) => error.hint(),
        }
    }
}

impl Waiting {
    /// Reads the questions that wait in the runs of `home` at `now`; `seer` is for telling whether a run's driver is
    /// alive.
    ///
    /// # Errors
    ///
    /// If there is a folder of sessions and it can't be read. A run that can't be read is named in `all`.
    pub fn read(home: &Home, seer: &Owner, now: Timestamp) -> io::Result<Self> {
        Ok(Self::of(home, runs::open_questions(home, seer, now)?, now))
    }

    /// Reads the questions that wait in one run.
    ///
    /// # Errors
    ///
    /// If its journal can't be read.
    pub fn of_run(home: &Home, run_id: &RunId, seer: &Owner, now: Timestamp) -> io::Result<Self> {
        let runs = runs::open_questions_of(home, run_id, seer, now)?.into_iter().collect();
        let all = AllAsking { runs, unreadable: Vec::new() };
        Ok(Self::of(home, all, now))
    }

    fn of(home: &Home, all: AllAsking, now: Timestamp) -> Self {
        let asked: Vec<RowSource<'_>> = all.runs.iter().flat_map(asked).collect();
        let mut rows = inbox::of(&asked, now);
        for run in all.runs.iter().filter(|run| !run.driver_alive) {
            if say::is_told_to_stop(&Mailbox::of(home, &run.run_id).read().unwrap_or_default()) {
                let own = rows.iter_mut().filter(|row| row.run_id == run.run_id.as_str());
                own.for_each(|row| row.is_stopping = true);
            }
        }
        Self { rows, all }
    }

    /// The row that `given` names: by its id, its short one, or its run if that has no other.
    ///
    /// # Errors
    ///
    /// [`NotFound`] if it names none or several.
    pub fn find(&self, given: &str) -> Result<&Row, NotFound> {
        let exact: Vec<&Row> = self.rows.iter().filter(|row| row.id == given || row.short == given).collect();
        let of_run: Vec<&Row> = self.rows.iter().filter(|row| row.run_id == given).collect();
        // A short name may have grown by a digit since it was shown.
        let is_long = given.len() >= SHORTENED_CHARS_MIN;
        let longer: Vec<&Row> = self.rows.iter().filter(|row| is_long && row.short.starts_with(given)).collect();
        let found = [exact, of_run, longer].into_iter().find(|found| !found.is_empty()).unwrap_or_default();
        match found.as_slice() {
            [row] => Ok(row),
            [] => Err(NotFound::Unknown { given: given.to_owned() }),
            several => Err(NotFound::Several {
                given: given.to_owned(),
                ids: several.iter().map(|row| row.id.clone()).collect(),
            }),
        }
    }

    /// The rows of a kind, and about a category and nothing else where one is named: what a yes would cover besides
    /// is not what was meant.
    #[must_use]
    pub fn of_kind(&self, kind: QuestionKind, category: Option<&str>) -> Vec<&Row> {
        let is_about =
            |row: &&Row| category.is_none_or(|category| row.categories.len() == 1 && row.categories.contains(category));
        self.rows.iter().filter(|row| row.kind == kind.as_str()).filter(is_about).collect()
    }

    /// The question of a row, as its run has it.
    #[must_use]
    pub fn question(&self, row: &Row) -> Option<(&Asking, &OpenQuestion, Option<&First>)> {
        let run = self.all.runs.iter().find(|run| run.run_id.as_str() == row.run_id)?;
        let is_it = |open: &OpenQuestion| open.key.part.as_str() == row.part && open.key.slot.to_string() == row.slot;
        let (open, first) = run.questions.iter().find(|(open, _)| is_it(open))?;
        Some((run, open, first.as_ref()))
    }

    /// Puts one answer into its run's mailbox, unless something is there. `whence` is the place that it comes from.
    ///
    /// # Errors
    ///
    /// [`NotAnswered`]: then nothing was put down.
    pub fn give(
        &self,
        home: &Home,
        row: &Row,
        given: GivenAnswer<'_>,
        whence: &str,
    ) -> Result<AnswerResult, NotAnswered> {
        let Some((run, open, first)) = self.question(row) else {
            return Err(NotAnswered::Gone { id: row.id.clone() });
        };
        let options = &open.question.options;
        let late = |first: &First| AnswerResult {
            id: row.id.clone(),
            is_ours: false,
            answer: AnsweredRow::of(first, options),
        };
        if let Some(first) = first {
            return Ok(late(first));
        }
        if let Some(fault) = &run.mailbox_fault {
            return Err(NotAnswered::Unusable { id: row.id.clone(), hint: fault.hint() });
        }
        let kind = open.question.kind;
        let (reply, slip) = match given {
            GivenAnswer::Typed(word) => {
                let reply = reply::read_to(&open.question, word).ok_or_else(|| unreadable(word, Some(row)))?;
                // At a terminal an empty line is a no that somebody sees; here it may be a variable that was empty.
                let is_empty = word.trim().is_empty() && reply.choice == Choice::Deny;
                if is_empty {
                    return Err(NotAnswered::Slip {
                        id: row.id.clone(),
                        why: "an empty answer; say `n` for a no".to_owned(),
                    });
                }
                (reply, reply::slip(kind, word, Timestamp::now()))
            }
            GivenAnswer::Chosen(reply) => {
                let day = reply.text.as_deref().filter(|_| reply.choice == Choice::Persistent);
                let slip = day.and_then(|day| reply::day_slip(day, Timestamp::now()));
                (reply, slip)
            }
        };
        if let Some(why) = slip {
            return Err(NotAnswered::Slip { id: row.id.clone(), why });
        }
        if open.is_due(Timestamp::now()) {
            let what = "its deadline passed; it gets its default".to_owned();
            let at = row.deadline.clone().unwrap_or_default();
            let answer = AnsweredRow { what, by: None, whence: None, at };
            return Ok(AnswerResult { id: row.id.clone(), is_ours: false, answer });
        }
        let ours = mail::answer(&open.key, kind, reply, whence);
        let said = AnsweredRow::of(&First::Answer(ours.clone()), options);
        let mailbox = Mailbox::of(home, &run.run_id);
        Ok(match mail::give(&mailbox, ours)? {
            Given::Ours(_) => AnswerResult { id: row.id.clone(), is_ours: true, answer: said },
            Given::Theirs(theirs) => late(&First::Answer(theirs)),
        })
    }
}

/// Checks that `word` may be said to many questions of `kind` at once: it must be a word of its own for them.
///
/// # Errors
///
/// [`NotAnswered::Unreadable`], with what `row` of that kind offers.
pub fn check_word_for_many(kind: QuestionKind, word: &str, row: Option<&Row>) -> Result<(), NotAnswered> {
    if reply::read(kind, word).is_some() && reply::is_word_for(kind, word) {
        return Ok(());
    }
    Err(unreadable(word, row))
}

fn unreadable(word: &str, row: Option<&Row>) -> NotAnswered {
    let replies = row.into_iter().flat_map(|row| &row.options).map(|offer| offer.reply.clone()).collect();
    NotAnswered::Unreadable { word: word.to_owned(), replies }
}

fn asked(run: &Asking) -> impl Iterator<Item = RowSource<'_>> {
    run.questions.iter().map(|(open, first)| RowSource {
        is_changed: run.breaks > 0,
        run_id: &run.run_id,
        project: run.project.as_deref(),
        is_driven: run.driver_alive,
        open,
        first: first.as_ref(),
    })
}
