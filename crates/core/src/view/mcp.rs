//! The events of bridged tools, and of the set-up that lets a coding CLI reach them.

use super::damage;
use super::trace::{Events, event_of, push_event};
use crate::trace::TraceLineKind;
use crate::trace::read::{Trace, TraceLine};

fn belongs(line: &TraceLine<'_>) -> bool {
    matches!(&line.kind, TraceLineKind::Peer(kind) if kind.is_of_mcp())
}

/// The events in `trace` that concern MCP or the settings of a coding CLI.
#[must_use]
pub fn of<'a>(trace: &Trace<'a>) -> Events<'a> {
    let events: Vec<_> = trace.lines.iter().filter(|line| belongs(line)).map(event_of).collect();
    Events { damaged: trace.damaged.clone(), total: events.len(), events, names_parts: false }
}

/// Its text.
#[must_use]
pub fn text(events: &Events<'_>) -> String {
    let mut text = damage::announced(&events.damaged);
    if events.events.is_empty() {
        return text + "no MCP event was recorded\n";
    }
    for event in &events.events {
        push_event(&mut text, event, false);
    }
    text
}
