//! Questions and waits: what waits for the operator or for a time, and what the operator says unasked.

use serde::{Deserialize, Serialize};

use super::LedgerRole;
use crate::trace::spec::RedactionRule::{MapOf, Object, Objects, Plain};
use crate::trace::spec::{Field, Spec, Weight, any, joined, number, plain, slot, text, typed, warns};
use crate::trace::spec::{NOTE_UNITS_MAX, SAID_UNITS_MAX};
use crate::words::text::cut;
use crate::words::{Choice, Message, Question, Slot};

/// A question or a wait began or ended, or the operator said something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskEvent {
    /// Something was put to the operator (intent).
    Question {
        /// The slot that its answer will name.
        slot: Slot,
        /// The question as it was put.
        question: Question,
    },
    /// The operator answered (outcome).
    Answer {
        /// The slot of the question.
        slot: Slot,
        /// The message's own id: a second delivery changes nothing.
        id: String,
        /// The choice.
        choice: Choice,
        /// The operator's own words with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// The person or program that answered.
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
        /// The message.
        message: Message,
        /// Its sender.
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
    pub(super) fn role(&self) -> LedgerRole<'_> {
        match self {
            Self::Question { slot, .. } | Self::Timer { slot, .. } => LedgerRole::Intent(slot),
            Self::Answer { slot, .. } | Self::Expired { slot } | Self::Withdrawn { slot } => LedgerRole::Outcome(slot),
            Self::AnswerIgnored { .. } | Self::OperatorMessage { .. } => LedgerRole::Fact,
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

pub(super) static QUESTION: Spec = Spec {
    label: "question",
    weight: Weight::Main,
    tone: warns,
    fields: &[slot(), typed::<Question>("question").redacted(Object(QUESTION_FIELDS))],
    detail: |line| {
        let question = line.object("question");
        let text = cut(&question.word("text"), SAID_UNITS_MAX);
        format!("{}  {}  {text}", line.word("slot"), question.word("kind"))
    },
};

pub(super) static ANSWER: Spec = Spec {
    label: "answer",
    weight: Weight::Main,
    tone: plain,
    fields: &[
        slot(),
        text("id"),
        typed::<Choice>("choice"),
        text("text").or_absent().content(),
        text("by"),
        text("whence"),
    ],
    detail: |line| {
        let detail = format!(
            "{}  {}  by={}  from={}",
            line.word("slot"),
            line.word("choice"),
            line.word("by"),
            line.word("whence")
        );
        let said = line.text("text").map(|text| format!("\"{}\"", cut(&text, NOTE_UNITS_MAX)));
        joined(&[&detail, &said.unwrap_or_default()])
    },
};

pub(super) static EXPIRED: Spec = Spec {
    label: "expired",
    weight: Weight::Main,
    tone: warns,
    fields: &[slot()],
    detail: |line| line.word("slot").into_owned(),
};

pub(super) static WITHDRAWN: Spec = Spec {
    label: "withdrawn",
    weight: Weight::Detail,
    tone: plain,
    fields: &[slot()],
    detail: |line| line.word("slot").into_owned(),
};

pub(super) static ANSWER_IGNORED: Spec = Spec {
    label: "ans_ignored",
    weight: Weight::Detail,
    tone: plain,
    fields: &[slot(), text("id")],
    detail: |line| format!("{}  id={}", line.word("slot"), line.word("id")),
};

pub(super) static OPERATOR_MESSAGE: Spec = Spec {
    label: "operator",
    weight: Weight::Main,
    tone: plain,
    fields: &[text("id"), typed::<Message>("message").redacted(Object(MESSAGE_FIELDS)), text("by")],
    detail: |line| {
        let message = line.json("message").and_then(|json| serde_json::from_str::<Message>(json).ok());
        let said = message.map_or_else(String::new, |message| message.said());
        joined(&[&said, &format!("by={}", line.word("by"))])
    },
};

pub(super) static TIMER: Spec = Spec {
    label: "timer",
    weight: Weight::Detail,
    tone: plain,
    fields: &[slot(), number("length_ms")],
    detail: |line| format!("{}  length={}ms", line.word("slot"), line.count("length_ms")),
};

/// Fields of a choice that is offered.
static OFFER_FIELDS: &[Field] = &[any("choice"), any("reply"), any("changes").content()];

/// Fields of a question.
static QUESTION_FIELDS: &[Field] = &[
    any("kind"),
    any("text").content(),
    any("options").redacted(Objects(OFFER_FIELDS)),
    any("default"),
    any("deadline_ms"),
    any("acts"),
];

/// Fields of an amendment.
static AMENDMENT_FIELDS: &[Field] = &[
    any("authorize"),
    any("withdraw"),
    any("scope").content(),
    any("unscope").content(),
    any("budget").redacted(MapOf(&Plain)),
];

/// Fields of a message of the operator, where it is more than a word.
static MESSAGE_FIELDS: &[Field] =
    &[any("mode"), any("steer").content(), any("amend").redacted(Object(AMENDMENT_FIELDS))];
