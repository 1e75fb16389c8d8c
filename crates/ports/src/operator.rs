//! The operator port: the person at the terminal sees the events, is asked, and may send messages.

use adjutant_core::inbox::mailbox::Closing;
use adjutant_core::trace::Event;
use adjutant_core::words::{Choice, Key, Message, Part, Question, QuestionKind};
use jiff::Timestamp;

use crate::{CancellationToken, Delta, Pending};

/// The person at the terminal, if there is one.
pub trait Operator: Send + Sync {
    /// Shows progress. Called for every event after it was appended, and for text as it arrives.
    fn show(&self, progress: Progress<'_>);

    /// Asks a question. Returns `None` if nobody is there to answer it; then it waits in the journal.
    ///
    /// If `cancel` fires, the question is withdrawn, whatever was typed.
    fn ask<'a>(
        &'a self,
        key: &'a Key,
        question: &'a Question,
        cancel: CancellationToken,
    ) -> Pending<'a, Option<Answered>>;

    /// Closes a question that got no answer from here. Returns the answer that came from elsewhere before that and was
    /// not returned yet, if there is one.
    fn close(&self, key: &Key, kind: QuestionKind, why: Closing) -> Option<Answered>;

    /// Waits for a message that no question asked for. Never ends where no message can come.
    fn message(&self) -> Pending<'_, Heard>;

    /// Returns the name of the person who answers, as it is recorded.
    fn name(&self) -> String;
}

/// A message that no question asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// The message.
    pub message: Message,
    /// The part that it is for; the root stands for the whole run.
    pub to: Part,
    /// Its own id, if it came with one: a second delivery changes nothing.
    pub id: Option<String>,
    /// Name of the sender; absent for the person at the terminal.
    pub by: Option<String>,
}

impl From<Message> for Heard {
    fn from(message: Message) -> Self {
        Self { message, to: Part::root(), id: None, by: None }
    }
}

/// Progress that is shown to an operator.
#[derive(Debug)]
pub enum Progress<'a> {
    /// An event was appended.
    Event(&'a Event),
    /// A piece of an agent's turn arrived.
    Turn(&'a Part, Delta),
}

/// An answer, before it is on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The answer's own id.
    pub id: String,
    /// The choice.
    pub choice: Choice,
    /// Text given with the choice.
    pub text: Option<String>,
    /// Name of the person who answered.
    pub by: String,
    /// Source of the answer: `terminal`, `answers`, `resume`, `inbox`.
    pub whence: String,
}

/// Source of the time. Core has no clock, and the runtime has only this one.
pub trait Clock: Send + Sync {
    /// Returns the present moment.
    fn now(&self) -> Timestamp;
}
