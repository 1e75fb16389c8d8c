//! The description of each type of event, all in one place: its text on one line, its weight, and its fields with their
//! types and the rules by which they are redacted.
//!
//! In: the fields of a line, of ours or of the peer's. Out: what readers of traces need: `shape`, redaction, labels and
//! timelines ask here. Each family of events has the [`Spec`]s of its own.

mod field;
mod recorded;

use super::read::Fields;

pub(super) use field::{
    Field, HEAD, RedactionRule, any, field_in, flag, hold, number, numbers, object, objects, slot, text, texts, typed,
};
pub(super) use recorded::{ACTION_UNITS_MAX, NOTE_UNITS_MAX, RecordedEvent, SAID_UNITS_MAX, joined, ok};
use serde::Serialize;

/// All that readers of traces know of a type of event.
#[derive(Debug)]
pub struct Spec {
    /// Its label, of at most 13 characters.
    pub label: &'static str,
    /// Its weight for a person who follows a run.
    pub weight: Weight,
    /// Returns whether a line with these fields is good or bad news.
    pub tone: fn(&Fields<'_>) -> Tone,
    pub(super) fields: &'static [Field],
    pub(super) detail: fn(&RecordedEvent<'_>) -> String,
}

impl Spec {
    /// Returns the detail of the event with these fields. `is_ours` is true if one of our drivers wrote the line.
    ///
    /// The detail is as it was recorded: the caller makes it visible before printing it.
    #[must_use]
    pub fn detail(&self, fields: &Fields<'_>, is_ours: bool) -> String {
        (self.detail)(&RecordedEvent { fields, is_ours })
    }
}

/// The weight of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// The run, a part or a phase begins or ends.
    Turning,
    /// Something is said, asked, called or answered.
    Main,
    /// The program notes something for itself.
    Detail,
}

/// The tone of an event: good or bad news.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// Neither.
    Plain,
    /// It went well.
    Good,
    /// It wants to be looked at.
    Warn,
    /// It went wrong, or was refused.
    Bad,
}

impl Tone {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Good => "good",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }
}

/// The tone of events that are no news.
pub(super) fn plain(_: &Fields<'_>) -> Tone {
    Tone::Plain
}

/// The tone of events that want to be looked at.
pub(super) fn warns(_: &Fields<'_>) -> Tone {
    Tone::Warn
}

/// The tone of events that say that something went wrong.
pub(super) fn is_bad(_: &Fields<'_>) -> Tone {
    Tone::Bad
}

/// The tone of events that say how something ended.
pub(super) fn outcome_tone(fields: &Fields<'_>) -> Tone {
    match fields.word("outcome").as_ref() {
        "completed" => Tone::Good,
        "failed" => Tone::Bad,
        _ => Tone::Warn,
    }
}
