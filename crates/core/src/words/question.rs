//! A question to the operator, and the words that pass without one.

use serde::{Deserialize, Serialize};

use crate::words::{Amendment, Mode};

/// Something that waits for the operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Kind of the question.
    pub kind: QuestionKind,
    /// The question itself, in whole sentences, for a person.
    pub text: String,
    /// Possible choices, each with its effect.
    pub options: Vec<Offer>,
    /// Choice that is taken when the deadline passes.
    pub default: Choice,
    /// Time for which it stands, in milliseconds; absent if for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// Number of the acts that it is about if they are several: the text numbers them from 1, and each may have an answer
    /// of its own. Else 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub acts: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Subject of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// Is this what you want? Phase 0.
    Confirmation,
    /// Go on with the next step? Gated mode.
    Step,
    /// May this be done? Phase 3.
    Destructive,
    /// Asks for the knowledge that the agent needs to go on. Phase 2.
    Blocker,
    /// A limit was reached: more?
    Limit,
    /// The brief's deadline has passed: go on?
    Deadline,
    /// The agent can't be reached: try again?
    Failure,
    /// The agent asks for a permission beforehand.
    Permission,
    /// Something changed outside the brief's scope: accept it?
    Scope,
    /// A crew can't go on by itself.
    Escalation,
    /// The judges of a crew disagree.
    Disagreement,
    /// The work goes on and gets nowhere.
    Stuck,
}

impl QuestionKind {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Confirmation,
        Self::Step,
        Self::Destructive,
        Self::Blocker,
        Self::Limit,
        Self::Deadline,
        Self::Failure,
        Self::Permission,
        Self::Scope,
        Self::Escalation,
        Self::Disagreement,
        Self::Stuck,
    ];

    /// Returns the kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Confirmation => "confirmation",
            Self::Step => "step",
            Self::Destructive => "destructive",
            Self::Blocker => "blocker",
            Self::Limit => "limit",
            Self::Deadline => "deadline",
            Self::Failure => "failure",
            Self::Permission => "permission",
            Self::Scope => "scope",
            Self::Escalation => "escalation",
            Self::Disagreement => "disagreement",
            Self::Stuck => "stuck",
        }
    }
}

impl Question {
    /// Returns the same question with a deadline of so many milliseconds, if silence can be an answer to it at all.
    #[must_use]
    pub fn within(mut self, length_ms: Option<u64>) -> Self {
        if self.kind.may_pass() {
            self.deadline_ms = self.deadline_ms.or(length_ms);
        }
        self
    }
}

impl QuestionKind {
    /// Returns true if its default may be taken. A question that asks for more of something, or to mend something,
    /// waits for its answer.
    #[must_use]
    pub const fn may_pass(self) -> bool {
        match self {
            Self::Confirmation
            | Self::Step
            | Self::Destructive
            | Self::Deadline
            | Self::Permission
            | Self::Scope
            | Self::Escalation
            | Self::Disagreement => true,
            Self::Blocker | Self::Limit | Self::Failure | Self::Stuck => false,
        }
    }
}

/// One thing that may be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The choice.
    pub choice: Choice,
    /// Text that is typed for it.
    pub reply: String,
    /// Effect of the choice.
    pub changes: String,
}

impl Offer {
    /// Returns the offer of `choice`, typed as `reply`.
    #[must_use]
    pub fn new(choice: Choice, reply: &str, changes: &str) -> Self {
        Self { choice, reply: reply.to_owned(), changes: changes.to_owned() }
    }
}

/// Choices of an operator, over all kinds of questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// The summary is right, the mode is the brief's, or gated; or what changed outside the scope is.
    Accept,
    /// The summary is right; work without asking between steps.
    AcceptAuto,
    /// The summary is right; ask between steps.
    AcceptGated,
    /// The summary is wrong: the text says how.
    Correct,
    /// Don't do it at all.
    Decline,
    /// Go on.
    Continue,
    /// Go on, and don't ask between steps any more.
    ContinueAuto,
    /// It is enough.
    Done,
    /// Tell the agent this.
    Say,
    /// Yes, this once.
    Once,
    /// Yes, and to the same act again for the rest of the run: the same program in the same place or a narrower one.
    Again,
    /// Yes, and to everything that needs the same categories for the rest of the run.
    ForRun,
    /// Yes to some acts of several; the text says to which ([`Selection`](crate::words::selection::Selection)).
    Chosen,
    /// No.
    Deny,
    /// The text is what the agent was missing.
    Context,
    /// The text says how much more.
    Extend,
    /// Try again.
    Retry,
    /// Yes, for as long as was asked.
    AsAsked,
    /// Yes, for later runs too; the text may say until which day.
    Persistent,
}

impl Choice {
    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::AcceptAuto => "accept_auto",
            Self::AcceptGated => "accept_gated",
            Self::Correct => "correct",
            Self::Decline => "decline",
            Self::Continue => "continue",
            Self::ContinueAuto => "continue_auto",
            Self::Done => "done",
            Self::Say => "say",
            Self::Once => "once",
            Self::Again => "again",
            Self::ForRun => "for_run",
            Self::Chosen => "chosen",
            Self::Deny => "deny",
            Self::Context => "context",
            Self::Extend => "extend",
            Self::Retry => "retry",
            Self::AsAsked => "as_asked",
            Self::Persistent => "persistent",
        }
    }
}

/// Message of an operator that answers no question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Cancel what is in flight; the session goes on.
    Cancel,
    /// Begin nothing more and stand still once the turns and calls in flight have ended; the run is resumed later. Said
    /// twice it is an interrupt.
    Pause,
    /// Stand still at once: what is in flight is cancelled; the run is resumed later.
    Interrupt,
    /// Stop the run for good.
    Stop,
    /// From here on work in this mode.
    Mode(Mode),
    /// Tell the agent this at its next turn.
    Steer(String),
    /// From here on the brief says otherwise.
    Amend(Box<Amendment>),
}

impl Message {
    /// Returns true if the run is to stand still, to be resumed later.
    #[must_use]
    pub const fn is_to_stand_still(&self) -> bool {
        matches!(self, Self::Pause | Self::Interrupt)
    }

    /// Describes the message in a line, for a person.
    #[must_use]
    pub fn said(&self) -> String {
        match self {
            Self::Cancel => "cancel".to_owned(),
            Self::Pause => "pause".to_owned(),
            Self::Interrupt => "interrupt".to_owned(),
            Self::Stop => "stop".to_owned(),
            Self::Mode(mode) => format!("mode={mode}"),
            Self::Steer(text) => format!("steer={text}"),
            Self::Amend(amendment) => format!("amend: {}", amendment.lines().join("; ")),
        }
    }
}
