//! The events of a run, one line each: time, what happened, the details.

use serde::Serialize;

use super::damage;
use super::label::{Labelled, labelled};
use crate::trace::EventKind;
use crate::trace::read::{Fields, Trace, TraceLine};
use crate::words::visible::visible_line;

/// Number of events that are shown by default (the peer's number).
pub const TAIL_DEFAULT: usize = 100;

/// The extent of a trace that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceExtent {
    /// The last so many events.
    Last(usize),
    /// All of it.
    All,
}

impl Default for TraceExtent {
    fn default() -> Self {
        Self::Last(TAIL_DEFAULT)
    }
}

/// Events, in the order in which they were recorded.
#[derive(Debug, Clone, Serialize)]
pub struct Events<'a> {
    /// The lines that can't be read, over the whole trace.
    pub damaged: Vec<u64>,
    /// Number of events in all.
    pub total: usize,
    /// Those that are shown.
    pub events: Vec<EventLine<'a>>,
    /// True if the text names the part of each: only where a run has several.
    #[serde(skip)]
    pub names_parts: bool,
}

/// One event.
#[derive(Debug, Clone, Serialize)]
pub struct EventLine<'a> {
    /// The number of its line.
    pub line: u64,
    /// Its label.
    pub label: &'static str,
    /// Its details.
    pub detail: String,
    /// All its fields, as they were recorded.
    pub event: Fields<'a>,
}

/// The events of `trace` that lie within `extent`.
#[must_use]
pub fn of<'a>(trace: &Trace<'a>, extent: TraceExtent) -> Events<'a> {
    let total = trace.lines.len();
    let shown = match extent {
        TraceExtent::Last(count) => &trace.lines[total.saturating_sub(count)..],
        TraceExtent::All => &trace.lines,
    };
    let mut parts = trace.lines.iter().map(|line| line.part.as_ref()).filter(|part| !part.is_empty());
    let first = parts.next();
    let names_parts = parts.any(|part| Some(part) != first);
    Events { damaged: trace.damaged.clone(), total, events: shown.iter().map(event_of).collect(), names_parts }
}

pub(super) fn event_of<'a>(line: &TraceLine<'a>) -> EventLine<'a> {
    let Labelled { label, detail } = labelled(line);
    EventLine { line: line.number, label, detail, event: line.fields.clone() }
}

/// Its text.
#[must_use]
pub fn text(events: &Events<'_>) -> String {
    let mut text = damage::announced(&events.damaged);
    if events.total == 0 {
        return text + "no event was recorded\n";
    }
    if events.events.len() < events.total {
        let (shown, total) = (events.events.len(), events.total);
        text += &format!("(showing last {shown} of {total} events; use --full or --tail N to widen)\n");
    }
    for event in &events.events {
        push_event(&mut text, event, events.names_parts);
    }
    text
}

/// One line: the label takes 12 places and a space, if any detail follows.
pub(super) fn push_event(text: &mut String, event: &EventLine<'_>, names_part: bool) {
    let mut line = format!("{}  ", event.event.word("at"));
    match event.label {
        label if event.detail.is_empty() => line += label,
        // The header is the one label that runs into its detail.
        label if label == EventKind::TraceVersion.spec().label => line += &format!("{label}={}", event.detail),
        label => line += &format!("{label:<12} {}", event.detail),
    }
    let part = event.event.word("part");
    if names_part && !part.is_empty() {
        line += &format!("  @{part}");
    }
    text.push_str(&visible_line(&line));
    text.push('\n');
}
