//! The operator port: whoever is at the terminal sees what happens, is asked, and may say something.

use adjutant_core::inbox::mailbox::Closing;
use adjutant_core::inbox::{Choice, Message, Question, QuestionKind};
use adjutant_core::procedure::{Key, Part};
use adjutant_core::trace::Event;
use jiff::Timestamp;

use crate::{CancellationToken, Delta, Pending};

/// Whoever is at the terminal, or nobody.
pub trait Operator: Send + Sync {
    /// Shows what happened. Called for every event after it was appended, and for text as it arrives.
    fn show(&self, progress: Progress<'_>);

    /// Puts a question; `None` if nobody is there to answer it, and then it waits in the journal.
    ///
    /// When `cancel` fires the question is gone, whatever was typed.
    fn ask<'a>(
        &'a self,
        key: &'a Key,
        question: &'a Question,
        cancel: CancellationToken,
    ) -> Pending<'a, Option<Answered>>;

    /// Takes note that a question is gone without an answer from here. Gives the answer that came before that from
    /// elsewhere and was not told yet, if there was one.
    fn close(&self, key: &Key, kind: QuestionKind, why: Closing) -> Option<Answered>;

    /// Waits for something that no question asked for. Never ends where nothing can be said.
    fn message(&self) -> Pending<'_, Heard>;

    /// Who answers, as it is put on record.
    fn name(&self) -> String;
}

/// Something that no question asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// What.
    pub message: Message,
    /// The part that it is for; the root stands for the whole run.
    pub to: Part,
    /// Its own id, if it came with one: a second delivery changes nothing.
    pub id: Option<String>,
    /// Who said it; whoever is at the terminal if nobody is named.
    pub by: Option<String>,
}

impl From<Message> for Heard {
    fn from(message: Message) -> Self {
        Self { message, to: Part::root(), id: None, by: None }
    }
}

/// What is shown to an operator.
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
    /// What was chosen.
    pub choice: Choice,
    /// What was said with it.
    pub text: Option<String>,
    /// Who answered.
    pub by: String,
    /// Whence: `terminal`, `answers`, `resume`, `inbox`.
    pub whence: String,
}

/// What time it is. Core has no clock, and the runtime has only this one.
pub trait Clock: Send + Sync {
    /// The present moment.
    fn now(&self) -> Timestamp;
}
