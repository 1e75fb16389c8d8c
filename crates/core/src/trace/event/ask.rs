//! Questions and waits: what waits for the operator or for a time, and what the operator says unasked.

use super::Role;
use crate::inbox::{Choice, Message, Question};
use crate::procedure::Slot;
use serde::{Deserialize, Serialize};

/// A question or a wait began or ended, or the operator said something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskEvent {
    /// Something was put to the operator (intent).
    Question {
        /// The slot that its answer will name.
        slot: Slot,
        /// What was asked.
        question: Question,
    },
    /// The operator answered (outcome).
    Answer {
        /// The slot of the question.
        slot: Slot,
        /// The message's own id: a second delivery changes nothing.
        id: String,
        /// What was chosen.
        choice: Choice,
        /// What was said with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// Who answered.
        by: String,
        /// Whence: `terminal`, `answers`, `resume`, `inbox`, `dashboard`.
        whence: String,
    },
    /// A question's or timer's deadline passed (outcome).
    Expired {
        /// The slot of the question or timer.
        slot: Slot,
    },
    /// A question or timer was taken back (outcome).
    Withdrawn {
        /// The slot of the question or timer.
        slot: Slot,
    },
    /// An answer came to a question that was gone.
    AnswerIgnored {
        /// The slot that was answered.
        slot: Slot,
        /// The message's own id.
        id: String,
    },
    /// The operator said something that no question asked for.
    OperatorMessage {
        /// The message's own id: a second delivery changes nothing.
        id: String,
        /// What.
        message: Message,
        /// Who.
        by: String,
    },
    /// A wait began (intent).
    Timer {
        /// The slot that its end will name.
        slot: Slot,
        /// Its length in milliseconds.
        length_ms: u64,
    },
}

impl AskEvent {
    /// Returns what the event is to the ledger.
    pub(super) fn role(&self) -> Role<'_> {
        match self {
            Self::Question { slot, .. } | Self::Timer { slot, .. } => Role::Intent(slot),
            Self::Answer { slot, .. } | Self::Expired { slot } | Self::Withdrawn { slot } => Role::Outcome(slot),
            Self::AnswerIgnored { .. } | Self::OperatorMessage { .. } => Role::Fact,
        }
    }

    /// Returns the id of the message from outside that this is, if it is one.
    pub(super) fn outside_id(&self) -> Option<&str> {
        match self {
            Self::Answer { id, .. } | Self::AnswerIgnored { id, .. } | Self::OperatorMessage { id, .. } => Some(id),
            Self::Question { .. } | Self::Expired { .. } | Self::Withdrawn { .. } | Self::Timer { .. } => None,
        }
    }
}
