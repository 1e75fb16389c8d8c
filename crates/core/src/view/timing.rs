//! Number of times that each phase was entered, and its duration.

use indexmap::IndexMap;
use serde::Serialize;

use super::columns::table;
use super::damage;
use crate::trace::EventKind;
use crate::trace::read::Trace;

/// The phases of a run, in the order in which they were first seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Timing {
    /// The lines that can't be read.
    pub damaged: Vec<u64>,
    /// One row per phase.
    pub phases: Vec<PhaseTiming>,
}

/// One phase.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PhaseTiming {
    /// Its word.
    pub phase: String,
    /// Number of times that it was entered.
    pub enters: u64,
    /// Its duration in all, in milliseconds; a stay that has not ended is not counted.
    pub total_ms: u64,
}

/// The phases in `trace`, over all its parts.
#[must_use]
pub fn of(trace: &Trace<'_>) -> Timing {
    let mut phases: IndexMap<String, PhaseTiming> = IndexMap::new();
    for line in &trace.lines {
        let is_enter = match line.kind.known() {
            Some(EventKind::PhaseEnter) => true,
            Some(EventKind::PhaseExit) => false,
            _ => continue,
        };
        let phase = line.fields.word("phase").into_owned();
        let row = phases.entry(phase.clone()).or_insert_with(|| PhaseTiming { phase, ..PhaseTiming::default() });
        row.enters += u64::from(is_enter);
        if !is_enter {
            row.total_ms = row.total_ms.saturating_add(line.fields.count("duration_ms"));
        }
    }
    Timing { damaged: trace.damaged.clone(), phases: phases.into_values().collect() }
}

/// Its text.
#[must_use]
pub fn text(timing: &Timing) -> String {
    let mut text = damage::announced(&timing.damaged);
    if timing.phases.is_empty() {
        return text + "no phase was entered\n";
    }
    let rows: Vec<_> = (timing.phases.iter())
        .map(|row| [row.phase.clone(), row.enters.to_string(), format!("{}ms", row.total_ms)])
        .collect();
    text += &table(["phase", "enters", "total_ms"], &rows);
    text
}
