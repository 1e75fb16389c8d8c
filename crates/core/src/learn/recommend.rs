//! Recommends changes from past runs: a candidate profile, with the evidence for each line of it.
//!
//! In: runs, in any order, and the current day. Out: a [`Profile`] that an operator may apply. A detector is loosened
//! only if it fires in most runs *and* its fires were wrong more often than right; one whose false positives are
//! undefined is never loosened, because healthy runs need it. Nothing that is safety-critical is ever recommended below
//! `loose`. Old runs count less, and not at all after a year: every recommendation says when it expires.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::history::{is_named_phase, run_name};
use super::judged::{self, CALIBRATION_TRAP};
use super::numbers::{ValueCounts, as_float, interval, ratio, share_interval};
use super::order::by_code_units;
use super::profile::{DetectorOverride, Evidence, PhaseBudget, Profile, RoleBudget, ToolCallout};
use super::record::{RunRecord, entry};
use super::thresholds::{self as bars, WEIGHT_FULL};
use crate::words::doer_of;

/// Adds up runs for recommendations.
#[derive(Debug, Clone)]
pub struct LearnFold {
    now: Timestamp,
    runs: BTreeSet<String>,
    ages: Ages,
    detectors: BTreeMap<String, DetectorSums>,
    phases: BTreeMap<String, CallSums>,
    roles: BTreeMap<String, RoleSums>,
    tools: BTreeMap<String, ToolSums>,
    aged_out: u64,
}

/// Number of runs by their age in days.
#[derive(Debug, Clone, Default)]
struct Ages(BTreeMap<i64, u64>);

#[derive(Debug, Clone, Default)]
struct DetectorSums {
    /// All sums are weighted: a run of today counts [`WEIGHT_FULL`] times.
    fires: u128,
    decided: u128,
    wrong_halves: u128,
    missed: u128,
    /// Number of decided cases, unweighted.
    cases: u64,
    misses: u64,
    runs: BTreeSet<String>,
}

#[derive(Debug, Clone, Default)]
struct CallSums {
    calls: ValueCounts,
    ages: Ages,
    runs: BTreeSet<String>,
}

#[derive(Debug, Clone, Default)]
struct RoleSums {
    calls: CallSums,
    tokens: ValueCounts,
}

#[derive(Debug, Clone, Default)]
struct ToolSums {
    calls: u64,
    last_used: Option<String>,
    offered_in: u64,
    /// The runs that were offered it.
    ages: Ages,
    runs: BTreeSet<String>,
}

impl LearnFold {
    /// Creates an empty fold, on the day of `now`.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self {
            now,
            runs: BTreeSet::new(),
            ages: Ages::default(),
            detectors: BTreeMap::new(),
            phases: BTreeMap::new(),
            roles: BTreeMap::new(),
            tools: BTreeMap::new(),
            aged_out: 0,
        }
    }

    /// Adds one run of the trace called `name`. One that is too old, or that says no time, counts for nothing.
    pub fn add(&mut self, name: &str, run: &RunRecord) {
        let Some(age) = run.ended_at.as_deref().and_then(|at| self.age(at)) else {
            self.aged_out += 1;
            return;
        };
        let weight = u128::from(bars::weight(age));
        if weight == 0 {
            self.aged_out += 1;
            return;
        }
        let name = run_name(name, run);
        // A blocker and the resume after it are one attempt: counted twice, whatever fires once in each would seem to
        // fire in every second one.
        if !run.continues {
            self.ages.add(age);
        }
        self.add_detectors(&name, run, weight);
        for (part, session) in &run.sessions {
            let role = doer_of(part);
            if is_alone(part) {
                for (phase, record) in session.phases.iter().filter(|(phase, _)| is_named_phase(phase)) {
                    entry(&mut self.phases, phase).add(&name, record.calls, age);
                }
            } else {
                let row: &mut RoleSums = entry(&mut self.roles, role);
                row.calls.add(&name, session.calls(), age);
                session.tokens().into_iter().for_each(|tokens| row.tokens.add(tokens));
            }
        }
        for tool in &run.offered {
            let row: &mut ToolSums = entry(&mut self.tools, tool);
            row.offered_in += 1;
            row.ages.add(age);
            row.runs.insert(name.clone());
        }
        for (tool, calls) in &run.tools {
            let row: &mut ToolSums = entry(&mut self.tools, tool);
            row.calls += calls;
            if row.last_used < run.ended_at {
                row.last_used.clone_from(&run.ended_at);
            }
        }
        self.runs.insert(name);
    }

    fn age(&self, at: &str) -> Option<i64> {
        let at: Timestamp = at.parse().ok()?;
        Some(self.now.duration_since(at).as_hours().max(0) / 24)
    }

    fn add_detectors(&mut self, name: &str, run: &RunRecord, weight: u128) {
        for (detector, fires) in &run.fires {
            entry(&mut self.detectors, detector).fires += u128::from(*fires) * weight;
        }
        for (detector, judged) in &run.judged {
            let row: &mut DetectorSums = entry(&mut self.detectors, detector);
            row.decided += u128::from(judged.decided) * weight;
            row.wrong_halves += u128::from(judged.wrong_halves) * weight;
            row.cases += judged.decided;
            if judged.decided > 0 {
                row.runs.insert(name.to_owned());
            }
        }
        for (detector, missed) in &run.missed {
            let row: &mut DetectorSums = entry(&mut self.detectors, detector);
            row.missed += u128::from(missed.times) * weight;
            row.misses += missed.times;
            row.runs.insert(name.to_owned());
        }
    }

    /// Returns the candidate. `min_samples` can only raise the bars.
    #[must_use]
    pub fn profile(&self, slug: &str, min_samples: u64) -> Profile {
        let mut profile = Profile {
            slug: slug.to_owned(),
            generated_at: crate::words::moment::timestamp(self.now),
            source_runs: sorted(&self.runs),
            ..Profile::new()
        };
        for (name, detector) in &self.detectors {
            profile.detector_overrides.insert(name.clone(), self.detector(name, detector, min_samples));
        }
        for (name, phase) in &self.phases {
            if let Some(budget) = self.phase(phase, min_samples) {
                profile.phase_budgets.insert(name.clone(), budget);
            }
        }
        for (name, role) in &self.roles {
            if let Some(budget) = self.role(role, min_samples) {
                profile.role_budgets.insert(name.clone(), budget);
            }
        }
        for (name, tool) in &self.tools {
            let dead = tool.calls == 0 && tool.offered_in >= bars::DEAD_TOOL_MIN_SAMPLES.max(min_samples);
            let callout = ToolCallout {
                calls: tool.calls,
                last_used: tool.last_used.clone(),
                dead,
                offered_in: Some(tool.offered_in),
                evidence: dead.then(|| self.unused(tool, bars::DEAD_TOOL_MIN_SAMPLES.max(min_samples))),
            };
            profile.tool_usage.insert(name.clone(), callout);
        }
        profile.notes = self.notes(&profile);
        profile
    }

    fn detector(&self, name: &str, row: &DetectorSums, min_samples: u64) -> DetectorOverride {
        let sample_size = self.ages.alive_at(0);
        let whole = self.ages.weighted_at(0);
        let decided = DetectorOverride {
            sensitivity: "default".to_owned(),
            reason: String::new(),
            fire_rate: places(row.fires, whole),
            sample_size,
            evidence: None,
        };
        let keeps = |reason: String| DetectorOverride { reason, ..decided.clone() };
        let strict_min = bars::DETECTOR_STRICT_MIN_SAMPLES.max(min_samples);
        if row.misses > 0 && self.ages.holds(strict_min) {
            let all = row.missed + row.fires;
            let (rate, interval) = (places(row.missed, all), share_interval((row.missed, all), all, WEIGHT_FULL));
            if interval.0 >= bars::DETECTOR_STRICT_MISS_BAR {
                return DetectorOverride {
                    sensitivity: "strict".to_owned(),
                    reason: format!(
                        "it missed {} times what it should have heard ({} of what there was)",
                        row.misses,
                        percent(rate)
                    ),
                    evidence: Some(self.evidence(&row.runs, rate, interval, row.misses, strict_min)),
                    ..decided
                };
            }
        }
        if let Some(because) = judged::undefined_because(name) {
            return keeps(format!("no rate of false positives is defined for it: {because}"));
        }
        let loose_min = bars::DETECTOR_LOOSE_MIN_SAMPLES.max(min_samples);
        if !self.ages.holds(loose_min) {
            return keeps(format!("{} of {loose_min} runs", short(self.ages.weighted_at(0))));
        }
        let (over, under) = bars::DETECTOR_LOOSE_FIRE_RATE;
        if row.fires * under < over * whole {
            return keeps(format!("it fires in few enough runs ({} a run)", places(row.fires, whole)));
        }
        if row.cases == 0 {
            return keeps("nothing shows yet whether it was right".to_owned());
        }
        let share = (row.wrong_halves, row.decided * 2);
        let (rate, interval) = (places(share.0, share.1), share_interval(share, row.decided, WEIGHT_FULL));
        let figures = format!(
            "{} of {} judged fires were wrong, between {} and {}",
            percent(rate),
            row.cases,
            percent(interval.0),
            percent(interval.1)
        );
        if interval.0 < bars::DETECTOR_LOOSE_FALSE_POSITIVE_BAR {
            return keeps(format!("{figures}: too few to loosen it"));
        }
        let trap = if name == "destructive" { format!("; {CALIBRATION_TRAP}") } else { String::new() };
        DetectorOverride {
            sensitivity: "loose".to_owned(),
            reason: format!("{figures}{trap}"),
            evidence: Some(self.evidence(&row.runs, rate, interval, row.cases, loose_min)),
            ..decided
        }
    }

    fn phase(&self, phase: &CallSums, min_samples: u64) -> Option<PhaseBudget> {
        let min = bars::PHASE_BUDGET_MIN_SAMPLES.max(min_samples);
        // A phase in which nobody calls tools needs no budget for them.
        (phase.calls.len() >= min && phase.calls.max() > 0).then(|| PhaseBudget {
            tool_calls: phase.calls.quantile_ceil(9) + bars::PHASE_BUDGET_ABOVE_P90,
            observed_p50: phase.calls.quantile(5),
            observed_p90: phase.calls.quantile(9),
            sample_size: phase.calls.len(),
            evidence: Some(self.counted(phase, min)),
        })
    }

    fn role(&self, role: &RoleSums, min_samples: u64) -> Option<RoleBudget> {
        let min = bars::ROLE_BUDGET_MIN_SAMPLES.max(min_samples);
        (role.calls.calls.len() >= min).then(|| RoleBudget {
            tool_calls: role.calls.calls.quantile_ceil(9) + bars::PHASE_BUDGET_ABOVE_P90,
            // Of those sessions alone whose turns were all counted: what nobody counted is not nothing.
            tokens: (role.tokens.len() >= min)
                .then(|| role.tokens.quantile_ceil(9))
                .filter(|p90| *p90 > 0)
                .map(|p90| p90.saturating_add(p90.saturating_mul(bars::ROLE_TOKENS_PERCENT_ABOVE_P90) / 100)),
            sample_size: role.calls.calls.len(),
            evidence: Some(self.counted(&role.calls, min)),
        })
    }

    fn evidence(&self, runs: &BTreeSet<String>, rate: f64, interval: (f64, f64), decided: u64, min: u64) -> Evidence {
        Evidence {
            runs: sorted(runs),
            weighted_sample: places(self.ages.weighted_at(0), u128::from(WEIGHT_FULL)),
            rate: Some(rate),
            interval: Some(interval),
            decided: Some(decided),
            expires_at: self.expiry(|day| self.ages.weighted_at(day) >= u128::from(min) * u128::from(WEIGHT_FULL)),
        }
    }

    /// Returns the evidence of a budget: runs count alike until they are aged out.
    fn counted(&self, calls: &CallSums, min: u64) -> Evidence {
        Evidence {
            runs: sorted(&calls.runs),
            weighted_sample: as_float(calls.calls.len()),
            interval: Some(calls.calls.ninth_tenth_interval()),
            expires_at: self.expiry(|day| calls.ages.alive_at(day) >= min),
            ..Evidence::default()
        }
    }

    /// Returns the evidence that a tool isn't needed: the share of runs that used it is zero, and lies below the
    /// interval's end.
    fn unused(&self, tool: &ToolSums, min: u64) -> Evidence {
        Evidence {
            runs: sorted(&tool.runs),
            weighted_sample: as_float(tool.offered_in),
            rate: Some(0.0),
            interval: Some(interval(0, tool.offered_in)),
            decided: Some(tool.offered_in),
            expires_at: self.expiry(|day| tool.ages.alive_at(day) >= min),
        }
    }

    /// Returns the first day on which something no longer holds, if nothing is added until then.
    fn expiry(&self, holds: impl Fn(i64) -> bool) -> String {
        let day = (1..=bars::AGE_OUT_DAYS + 1).find(|day| !holds(*day)).unwrap_or(bars::AGE_OUT_DAYS + 1);
        let at = self.now.checked_add(SignedDuration::from_hours(24 * day)).unwrap_or(self.now);
        crate::words::moment::timestamp(at)
    }

    fn notes(&self, profile: &Profile) -> Vec<String> {
        let mut notes = vec![bars::ours()];
        let sample = self.runs.len() as u64;
        if sample < bars::SMALLEST_MIN_SAMPLES {
            notes.push(format!("{sample} runs are too few for any recommendation."));
        }
        if self.aged_out > 0 {
            notes.push(format!(
                "{} runs count for nothing: they are older than {} days, or say no time.",
                self.aged_out,
                bars::AGE_OUT_DAYS
            ));
        }
        if profile.is_idle() {
            notes.push("Nothing here would change a run.".to_owned());
        }
        notes
    }
}

impl Ages {
    fn add(&mut self, days: i64) {
        *self.0.entry(days).or_default() += 1;
    }

    /// Returns their weight `later` days from now.
    fn weighted_at(&self, later: i64) -> u128 {
        self.0.iter().map(|(age, runs)| u128::from(bars::weight(age + later)) * u128::from(*runs)).sum()
    }

    /// Returns the number that will not have aged out `later` days from now.
    fn alive_at(&self, later: i64) -> u64 {
        self.0.iter().filter(|(age, _)| bars::weight(**age + later) > 0).map(|(_, runs)| runs).sum()
    }

    /// Returns true if they count for at least `min` runs.
    fn holds(&self, min: u64) -> bool {
        self.weighted_at(0) >= u128::from(min) * u128::from(WEIGHT_FULL)
    }
}

impl CallSums {
    fn add(&mut self, run: &str, calls: u64, age: i64) {
        self.calls.add(calls);
        self.ages.add(age);
        self.runs.insert(run.to_owned());
    }
}

/// Returns true if a session is not in a crew: the peer's have no part, ours have one of their own.
fn is_alone(part: &str) -> bool {
    matches!(part, "" | "session")
}

fn sorted(names: &BTreeSet<String>) -> Vec<String> {
    let mut names: Vec<String> = names.iter().cloned().collect();
    names.sort_by(|a, b| by_code_units(a, b));
    names
}

/// `count`/`of`, to four places.
fn places(count: u128, of: u128) -> f64 {
    if of == 0 { 0.0 } else { ratio((count * 20_000 + of) / (of * 2), 10_000) }
}

/// Returns a weight as a number of runs.
fn short(weight: u128) -> String {
    places(weight, u128::from(WEIGHT_FULL)).to_string()
}

fn percent(rate: f64) -> String {
    format!("{:.0}%", rate * 100.0)
}
