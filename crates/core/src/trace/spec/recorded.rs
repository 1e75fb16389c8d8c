//! A recorded event, for its text on one line.

use std::fmt::Display;
use std::ops::Deref;

use crate::trace::read::Fields;
use crate::words::text::{cut, units};

/// The longest action of a permission on one line, in UTF-16 units (the peer's number).
pub(in crate::trace) const ACTION_UNITS_MAX: usize = 60;
/// The longest operator's note on one line, in UTF-16 units (the peer's number).
pub(in crate::trace) const NOTE_UNITS_MAX: usize = 40;
/// The longest text that was asked or said, on one line. Ours, and the same as for an action.
pub(in crate::trace) const SAID_UNITS_MAX: usize = ACTION_UNITS_MAX;

/// The fields of a line, and who wrote it.
#[derive(Debug, Clone, Copy)]
pub struct RecordedEvent<'a> {
    pub(super) fields: &'a Fields<'a>,
    /// True if one of our drivers wrote it.
    pub(in crate::trace) is_ours: bool,
}

impl<'a> Deref for RecordedEvent<'a> {
    type Target = Fields<'a>;

    fn deref(&self) -> &Fields<'a> {
        self.fields
    }
}

impl RecordedEvent<'_> {
    /// Returns the length of a text: in bytes for us; the peer says bytes and counts UTF-16 units.
    pub(in crate::trace) fn bytes(&self, name: &str) -> impl Display + use<> {
        let text = self.word(name);
        if self.is_ours { text.len() } else { units(&text) }
    }

    /// Returns the reason in parentheses; empty if there is none.
    pub(in crate::trace) fn reason(&self) -> String {
        self.text("reason").map(|reason| format!("({reason})")).unwrap_or_default()
    }

    /// Returns a number with its name; empty if there is none.
    pub(in crate::trace) fn tagged(&self, name: &str) -> String {
        self.number(name).map(|number| format!("{name}={number}")).unwrap_or_default()
    }

    /// Returns the operator's note, with the space before it; empty if there is none.
    pub(in crate::trace) fn note(&self) -> String {
        let note = self.word("operator_note");
        if note.is_empty() { String::new() } else { format!("  note=\"{}\"", cut(&note, NOTE_UNITS_MAX)) }
    }
}

/// The word for something that did or did not succeed.
pub(in crate::trace) const fn ok(is_ok: bool) -> &'static str {
    if is_ok { "ok" } else { "err" }
}

/// Joins what is not empty, with two spaces between.
pub(in crate::trace) fn joined(said: &[&str]) -> String {
    let said: Vec<&str> = said.iter().copied().filter(|said| !said.is_empty()).collect();
    said.join("  ")
}
