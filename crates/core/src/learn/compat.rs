//! History and profiles as the peer computes them, value for value: for those who compare, or move over.
//!
//! A run is a trace, whatever happened in it; a phase without calls is no sample; quantiles are doubles; lists are
//! in the order of a dictionary; a detector is loosened for firing often. [`super::history`] and
//! [`super::LearnFold`] are what we think of that.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::history::{SCHEMA_VERSION, average, keep, rows};
use super::numbers::{ValueCounts, as_float};
use super::order::{by_code_units, by_dictionary};
use super::profile::{DetectorOverride, PhaseBudget, Profile, ToolCallout};
use super::record::{RunRecord, entry};
use super::thresholds as bars;
use crate::trace::read::object_of;

/// The peer's report.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names are the peer's, and `History` explains them")]
pub struct PeerHistory {
    pub schema_version: u64,
    pub generated_at: String,
    pub slug: String,
    pub sample_size: u64,
    pub source_runs: Vec<String>,
    pub window_start: Option<String>,
    pub window_end: Option<String>,
    pub tool_usage: Vec<PeerTool>,
    pub phase_distribution: Vec<PeerPhase>,
    pub detectors: Vec<PeerDetector>,
    pub corrupted_lines_total: u64,
    pub notes: Vec<String>,
}

/// A tool in the peer's report.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names are the peer's")]
pub struct PeerTool {
    pub tool: String,
    pub calls: u64,
    pub last_used: Option<String>,
    pub dead: bool,
}

/// A phase in the peer's report.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names are the peer's")]
pub struct PeerPhase {
    pub phase: String,
    pub samples: u64,
    pub total_calls: u64,
    pub p50: f64,
    pub p90: f64,
    pub max: u64,
    pub total_duration_ms: u64,
    pub avg_duration_ms: u64,
}

/// A detector in the peer's report.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names are the peer's")]
pub struct PeerDetector {
    pub detector: String,
    pub total_fires: u64,
    pub fires_per_run: f64,
    pub runs_with_fire: u64,
}

/// Adds up traces as the peer does.
#[derive(Debug, Clone, Default)]
pub struct PeerFold {
    ids: Vec<String>,
    start: Option<String>,
    end: Option<String>,
    tools: BTreeMap<String, (u64, Option<String>)>,
    phases: BTreeMap<String, PeerPhaseFold>,
    detectors: BTreeMap<String, (u64, u64)>,
    damaged: u64,
}

#[derive(Debug, Clone, Default)]
struct PeerPhaseFold {
    calls: ValueCounts,
    duration_ms: u64,
    left_by: u64,
}

impl PeerFold {
    /// Adds the trace of the session `id`, which has so many damaged lines. `since` is compared as text, and a trace
    /// without a time is before every time.
    pub fn add(&mut self, id: &str, runs: &[RunRecord], damaged: u64, since: Option<&str>) {
        let started = runs.iter().find_map(|run| run.started_at.as_deref());
        let ended = runs.iter().rev().find_map(|run| run.ended_at.as_deref());
        if since.is_some_and(|since| started.is_none_or(|started| by_code_units(started, since).is_lt())) {
            return;
        }
        self.ids.push(id.to_owned());
        self.damaged += damaged;
        keep(&mut self.start, started, |new, old| new < old);
        keep(&mut self.end, ended, |new, old| new > old);

        let mut tools: BTreeMap<&str, u64> = BTreeMap::new();
        let mut fires: BTreeMap<&str, u64> = BTreeMap::new();
        let mut phases: BTreeMap<&str, (u64, u64, u64)> = BTreeMap::new();
        for run in runs {
            run.tools.iter().for_each(|(tool, calls)| *tools.entry(tool).or_default() += calls);
            run.fires.iter().for_each(|(detector, times)| *fires.entry(detector).or_default() += times);
            for (name, phase) in run.sessions.values().flat_map(|session| &session.phases) {
                let row = phases.entry(name).or_default();
                row.0 += phase.calls;
                row.1 = row.1.saturating_add(phase.duration_ms);
                row.2 += phase.left;
            }
        }
        for (tool, calls) in tools {
            let row = entry(&mut self.tools, tool);
            row.0 += calls;
            keep(&mut row.1, ended, |new, old| new > old);
        }
        for (detector, times) in fires {
            let row = entry(&mut self.detectors, detector);
            row.0 += times;
            row.1 += 1;
        }
        for (name, (calls, duration_ms, left)) in phases {
            if calls == 0 && left == 0 {
                continue;
            }
            let row: &mut PeerPhaseFold = entry(&mut self.phases, name);
            if calls > 0 {
                row.calls.add(calls);
            }
            row.duration_ms = row.duration_ms.saturating_add(duration_ms);
            row.left_by += u64::from(left > 0);
        }
    }

    /// Returns the peer's report.
    #[must_use]
    pub fn report(&self, slug: &str, generated_at: &str, min_samples: u64) -> PeerHistory {
        let sample_size = self.ids.len() as u64;
        let mut source_runs = self.ids.clone();
        by_dictionary(&mut source_runs);
        let mut names: Vec<String> = self.phases.keys().cloned().collect();
        by_dictionary(&mut names);
        let phase_distribution = names.iter().filter_map(|name| Some((name, self.phases.get(name)?)));
        let mut notes = Vec::new();
        if sample_size < min_samples {
            notes.push(format!("Thin sample: {sample_size} of the {min_samples} runs that these figures want."));
        }
        if self.damaged > 0 {
            notes.push(format!("{} damaged lines were skipped.", self.damaged));
        }
        notes.push("This report describes what happened; it recommends and changes nothing.".to_owned());
        PeerHistory {
            schema_version: SCHEMA_VERSION,
            generated_at: generated_at.to_owned(),
            slug: slug.to_owned(),
            sample_size,
            source_runs,
            window_start: self.start.clone(),
            window_end: self.end.clone(),
            tool_usage: rows(&self.tools, |tool, (calls, last_used)| PeerTool {
                tool: tool.to_owned(),
                calls: *calls,
                last_used: last_used.clone(),
                dead: false,
            }),
            phase_distribution: phase_distribution
                .map(|(name, phase)| PeerPhase {
                    phase: name.clone(),
                    samples: phase.calls.len(),
                    total_calls: phase.calls.sum(),
                    p50: phase.calls.peer_quantile(0.5),
                    p90: phase.calls.peer_quantile(0.9),
                    max: phase.calls.max(),
                    total_duration_ms: phase.duration_ms,
                    avg_duration_ms: average(phase.duration_ms, phase.left_by),
                })
                .collect(),
            detectors: rows(&self.detectors, |detector, (fires, runs)| PeerDetector {
                detector: detector.to_owned(),
                total_fires: *fires,
                fires_per_run: hundredths(*fires, sample_size),
                runs_with_fire: *runs,
            }),
            corrupted_lines_total: self.damaged,
            notes,
        }
    }

    /// Returns the profile that the peer would write.
    #[must_use]
    pub fn profile(&self, slug: &str, generated_at: &str) -> Profile {
        let report = self.report(slug, generated_at, 0);
        let sample = report.sample_size;
        let overrides: BTreeMap<String, DetectorOverride> =
            report.detectors.iter().map(|row| (row.detector.clone(), peer_override(row, sample))).collect();
        let budgets: BTreeMap<String, PhaseBudget> = (report.phase_distribution.iter())
            .filter(|row| row.samples >= bars::PHASE_BUDGET_MIN_SAMPLES)
            .map(|row| (row.phase.clone(), peer_budget(row)))
            .collect();
        let tools: BTreeMap<String, ToolCallout> = (report.tool_usage.into_iter())
            .map(|row| (row.tool, ToolCallout { calls: row.calls, last_used: row.last_used, ..ToolCallout::default() }))
            .collect();
        let mut notes = vec![bars::in_force()];
        if sample < bars::SMALLEST_MIN_SAMPLES {
            notes.push(format!("{sample} runs are below every threshold."));
        }
        let is_idle = overrides.values().all(|row| row.sensitivity == "default") && budgets.is_empty();
        if is_idle {
            notes.push("Nothing here would change a run.".to_owned());
        }
        let source_runs: BTreeSet<&String> = self.ids.iter().collect();
        let mut source_runs: Vec<String> = if source_runs.len() == self.ids.len() {
            source_runs.into_iter().cloned().collect()
        } else {
            self.ids.clone()
        };
        source_runs.sort_by(|a, b| by_code_units(a, b));
        Profile {
            slug: slug.to_owned(),
            generated_at: generated_at.to_owned(),
            source_runs,
            detector_overrides: overrides,
            phase_budgets: budgets,
            tool_usage: tools,
            notes,
            ..Profile::new()
        }
    }
}

/// Returns true if the peer accepts this text as a profile: it checks that a few fields exist, and not their contents.
#[must_use]
pub fn takes_as_profile(text: &str) -> bool {
    const NEEDED: [&str; 7] =
        ["slug", "generated_at", "source_runs", "detector_overrides", "phase_budgets", "tool_usage", "notes"];
    let Some(fields) = object_of(text.trim_ascii()) else { return false };
    let version = fields.json("schema_version").and_then(|json| json.parse::<f64>().ok());
    let has = |name: &&str| fields.iter().any(|(known, _)| known == *name);
    version == Some(as_float(SCHEMA_VERSION)) && NEEDED.iter().all(has)
}

fn peer_override(row: &PeerDetector, sample: u64) -> DetectorOverride {
    // The peer's own list: without completion and confirmation, though its documents name them.
    let is_critical =
        !matches!(row.detector.as_str(), "confirmation" | "completion" | "banned_phrases" | "phase_marker");
    let sensitivity = if !is_critical
        && sample >= bars::DETECTOR_DISABLED_MIN_SAMPLES
        && row.fires_per_run >= bars::DETECTOR_DISABLED_FIRE_RATE_BAR
    {
        "disabled"
    } else if sample >= bars::DETECTOR_LOOSE_MIN_SAMPLES && row.fires_per_run >= bars::DETECTOR_LOOSE_FIRE_RATE_BAR {
        "loose"
    } else {
        "default"
    };
    DetectorOverride {
        sensitivity: sensitivity.to_owned(),
        reason: format!("fires {} times a run, in {sample} runs", row.fires_per_run),
        fire_rate: row.fires_per_run,
        sample_size: sample,
        evidence: None,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of calls")]
fn peer_budget(row: &PeerPhase) -> PhaseBudget {
    PhaseBudget {
        tool_calls: row.p90.ceil() as u64 + bars::PHASE_BUDGET_ABOVE_P90,
        observed_p50: row.p50,
        observed_p90: row.p90,
        sample_size: row.samples,
        evidence: None,
    }
}

/// Rounded to two places, half up, in doubles.
fn hundredths(number: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { (as_float(number) / as_float(of) * 100.0 + 0.5).floor() / 100.0 }
}
