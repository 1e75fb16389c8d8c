//! The changes that other settings would have made in the past, as text for a person.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::learn::what_if::{Example, Tally, WhatIfReport};
use crate::words::visible::visible_line;

/// Returns its text. `changes` are shown as they were typed; `judges` is true if they are about the gate; `not_tried`
/// are those of them that were not tried.
#[must_use]
pub fn text(project: &str, changes: &[String], report: &WhatIfReport, judges: bool, not_tried: &[String]) -> String {
    let mut text = format!("What if, in the past of {}:\n", visible_line(project));
    for change in changes {
        let _ = writeln!(text, "  {}", visible_line(change));
    }
    let WhatIfReport { runs, peer_sessions, turns, calls, .. } = report;
    let _ = writeln!(text, "\nDecided anew: {}, {turns} turns, {calls} judgements of the gate", many(*runs, "run"));
    if *peer_sessions > 0 {
        let sessions = many(*peer_sessions, "session");
        let gate = if judges { "; what its gate decided can't be decided anew" } else { "" };
        let _ = writeln!(text, "  besides them the turns of {sessions} of another program{gate}");
    }
    let tallies = [
        ("newly fired", &report.newly_fired),
        ("newly silent", &report.newly_silent),
        ("newly asked", &report.newly_asked),
        ("newly allowed", &report.newly_allowed),
        ("newly refused", &report.newly_refused),
        ("beyond limits", &report.beyond_limits),
    ];
    text.push('\n');
    for (name, tally) in tallies {
        push(&mut text, name, tally);
    }
    for what in not_tried {
        let _ = writeln!(text, "\nNot tried: {}.", visible_line(what));
    }
    if *runs == 0 && *peer_sessions == 0 {
        text.push_str("\nThere is no run to decide anew: this says nothing about the change.\n");
    } else if tallies.iter().all(|(_, tally)| tally.count == 0) {
        let rest = if not_tried.is_empty() { "" } else { " by what was tried" };
        let _ = writeln!(text, "\nNothing would have been decided otherwise{rest}.");
    } else {
        text.push_str(
            "\nWhat a run would have done after another decision nobody knows: each was made on the record.\n",
        );
    }
    let drift = &report.drift;
    if !drift.runs.is_empty() {
        let _ = writeln!(
            text,
            "\nDrift: without any change today's rules read {} turns and judge {} calls otherwise than the record, in {}.",
            drift.turns,
            drift.calls,
            many(drift.runs.len() as u64, "run")
        );
    }
    text
}

fn push(text: &mut String, name: &str, tally: &Tally) {
    if tally.count == 0 {
        let _ = writeln!(text, "{name:<14} 0");
        return;
    }
    let _ = writeln!(text, "{name:<14} {}, in {}", tally.count, many(tally.runs, "run"));
    for (what, counts) in [("detector", &tally.detectors), ("tool", &tally.tools), ("category", &tally.categories)] {
        if !counts.is_empty() {
            let _ = writeln!(text, "  by {what}: {}", listed(counts));
        }
    }
    for Example { run, part, turn, call, what, text: said, why } in &tally.examples {
        let turn = turn.map(|turn| format!(" turn {turn}")).unwrap_or_default();
        let call = call.map(|call| format!(" call {call}")).unwrap_or_default();
        let part = if part.is_empty() || part == "session" { String::new() } else { format!(" {part}") };
        let why = why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        let line = format!("  {run}{part}{turn}{call}: {what}: {said}{why}");
        let _ = writeln!(text, "{}", visible_line(&line));
    }
}

fn listed(counts: &BTreeMap<String, u64>) -> String {
    let each: Vec<String> = counts.iter().map(|(name, count)| format!("{} {count}", visible_line(name))).collect();
    each.join(", ")
}

fn many(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
