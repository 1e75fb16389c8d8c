//! The mailbox of a run, for the process that answers: each answer is put there first, and answers from elsewhere are
//! noticed.

use std::time::Duration;

use adjutant_core::gate::secrets;
use adjutant_core::inbox::mailbox::{Answer, Closing, First};
use adjutant_core::inbox::reply::Reply;
use adjutant_core::words::{Key, QuestionKind};
use adjutant_ports::Answered;
use adjutant_store::Mailbox;
use adjutant_store::mailbox::{AnswerClaim, MailboxError};
use jiff::Timestamp;

/// Name on record for the operator at this machine.
pub const OPERATOR: &str = "operator";

/// Number of skipped lines of one mailbox that are told of.
pub const SKIPPED_TOLD_MAX: usize = 5;

/// Interval between looks at a mailbox while a question is open: soon for a person, nothing for a machine.
pub const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Outcome of an answer that was given here.
pub enum Given {
    /// It is the one.
    Ours(Answered),
    /// Somebody else was first.
    Theirs(Answer),
}

/// Builds the answer to a question, ready for its mailbox.
#[must_use]
pub fn answer(key: &Key, kind: QuestionKind, reply: Reply, whence: &str) -> Answer {
    Answer {
        key: key.clone(),
        kind,
        choice: reply.choice,
        text: reply.text.map(|text| secrets::mask(&text).into_owned()),
        by: OPERATOR.to_owned(),
        whence: whence.to_owned(),
        at: Timestamp::now(),
        id: uuid::Uuid::now_v7().to_string(),
    }
}

/// Puts an answer down, unless there was one. A line that closed the question is no answer: the process that drives the
/// run decides if the question is open.
///
/// # Errors
///
/// If the mailbox can't be used. Nobody else's answer is in it then, and ours is not either.
pub fn give(mailbox: &Mailbox, answer: Answer) -> Result<Given, MailboxError> {
    match mailbox.claim(&First::Answer(answer.clone()))? {
        AnswerClaim::After(First::Answer(theirs)) => Ok(Given::Theirs(theirs)),
        AnswerClaim::After(First::Closed { .. }) | AnswerClaim::First => Ok(Given::Ours(answered(answer))),
    }
}

/// Says that a question takes no answer any more; the answer that was first, if there was one.
///
/// # Errors
///
/// If the mailbox can't be used.
pub fn close(mailbox: &Mailbox, key: &Key, kind: QuestionKind, why: Closing) -> Result<Option<Answered>, MailboxError> {
    let closed = First::Closed { key: key.clone(), kind, why, at: Timestamp::now() };
    match mailbox.claim(&closed)? {
        AnswerClaim::After(First::Answer(theirs)) => Ok(Some(answered(theirs))),
        AnswerClaim::After(First::Closed { .. }) | AnswerClaim::First => Ok(None),
    }
}

/// Waits until somebody has answered a question. Never ends where the mailbox can't be used: `warn` is told why.
pub async fn answered_elsewhere(
    mailbox: &Mailbox,
    key: &Key,
    kind: QuestionKind,
    warn: impl Fn(&MailboxError),
) -> Answer {
    let mut seen_bytes = 0;
    let mut every = tokio::time::interval(LOOK_EVERY);
    loop {
        every.tick().await;
        let bytes = mailbox.bytes();
        if bytes == seen_bytes {
            continue;
        }
        seen_bytes = bytes;
        match mailbox.first(key, kind) {
            Ok(Some(First::Answer(answer))) => return answer,
            Ok(Some(First::Closed { .. }) | None) => {}
            Err(error) => warn(&error),
        }
    }
}

/// An answer of the mailbox, for the journal.
#[must_use]
pub fn answered(answer: Answer) -> Answered {
    let Answer { choice, text, by, whence, id, .. } = answer;
    Answered { id, choice, text, by, whence }
}
