//! The name of each event on one line, and what is said of it: the peer's words for the events that it
//! has, ours in the same manner for the rest. The words themselves stand with the events.

use crate::trace::read::TraceLine;

/// The label of an event, and its details.
///
/// The detail is as it was recorded: the caller makes it visible before printing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labelled {
    /// Its label, of at most 13 characters.
    pub label: &'static str,
    /// The detail; may be empty.
    pub detail: String,
}

/// Returns the label of the event on `line`. One of a type that is not known is an `unknown_event`.
#[must_use]
pub fn labelled(line: &TraceLine<'_>) -> Labelled {
    let is_ours = line.is_ours();
    match line.kind.spec() {
        Some(spec) => Labelled { label: spec.label, detail: spec.detail(&line.fields, is_ours) },
        None => {
            let detail = if is_ours { line.kind.as_str().to_owned() } else { String::new() };
            Labelled { label: "unknown_event", detail }
        }
    }
}
