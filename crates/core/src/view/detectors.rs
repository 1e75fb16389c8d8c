//! Number of times that each detector fired.

use std::cmp::Reverse;

use indexmap::IndexMap;
use serde::Serialize;

use super::columns::table;
use super::damage;
use crate::trace::EventKind;
use crate::trace::read::Trace;

/// The detectors that fired, most often first, ties in the order in which they were first seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Detectors {
    /// The lines that can't be read.
    pub damaged: Vec<u64>,
    /// One row per detector.
    pub detectors: Vec<DetectorCount>,
}

/// One detector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DetectorCount {
    /// Its name.
    pub detector: String,
    /// Number of times that it fired.
    pub count: u64,
}

/// The detectors that fired in `trace`.
#[must_use]
pub fn of(trace: &Trace<'_>) -> Detectors {
    let mut counts: IndexMap<String, u64> = IndexMap::new();
    for line in trace.lines.iter().filter(|line| line.kind == EventKind::DetectorFired) {
        *counts.entry(line.fields.word("detector").into_owned()).or_default() += 1;
    }
    let mut detectors: Vec<_> = counts.into_iter().map(|(detector, count)| DetectorCount { detector, count }).collect();
    detectors.sort_by_key(|row| Reverse(row.count));
    Detectors { damaged: trace.damaged.clone(), detectors }
}

/// Its text.
#[must_use]
pub fn text(detectors: &Detectors) -> String {
    let mut text = damage::announced(&detectors.damaged);
    if detectors.detectors.is_empty() {
        return text + "no detector fired\n";
    }
    let rows: Vec<_> = detectors.detectors.iter().map(|row| [row.detector.clone(), row.count.to_string()]).collect();
    text += &table(["detector", "count"], &rows);
    text
}
