//! History: statistics over the runs of one project.
//!
//! In: runs, in any order. Out: a report, for people and as JSON with the peer's names. [`HistoryFold`] adds one run at
//! a time and keeps no run, so that its size depends on the size of the report, not on the amount of input.
//!
//! Our counting differs where the peer's misleads: a phase without calls is a sample, a tool that was offered and never
//! called is listed, quantiles are exact, every list has one order. The peer's own figures are in [`super::compat`].

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use jiff::Timestamp;
use serde::Serialize;

use super::judged::{self, CALIBRATION_TRAP, Judged, Missed};
use super::numbers::{ValueCounts, as_float, interval, rate, ratio};
use super::order::by_code_units;
use super::record::{NO_PHASE, QuestionCounts, RunRecord, entry};
use crate::words::doer_of;

/// The version of the report and of profiles: the peer's, as of its release 0.13.
pub const SCHEMA_VERSION: u64 = 1;

/// Least number of runs for figures that mean something, unless the operator sets another (the peer's number).
pub const MIN_SAMPLES: u64 = 3;

/// Number of runs that must have offered a tool, without a call in any of them, before it counts as dead (the seed's).
pub const DEAD_TOOL_MIN_RUNS: u64 = 3;

/// Period of time that selects runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// Runs that were over before are left out.
    pub since: Option<Timestamp>,
    /// Runs that began later are left out.
    pub until: Option<Timestamp>,
}

impl Window {
    /// Returns true if a run lies in the window, at least partly. A run without times lies in no window that has a
    /// bound.
    #[must_use]
    pub fn holds(&self, run: &RunRecord) -> bool {
        let time = |at: &Option<String>| at.as_deref().and_then(|at| at.parse::<Timestamp>().ok());
        self.since.is_none_or(|since| time(&run.ended_at).is_some_and(|ended| ended >= since))
            && self.until.is_none_or(|until| time(&run.started_at).is_some_and(|started| started <= until))
    }
}

/// Statistics over the runs of a project.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct History {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u64,
    /// Time of the report.
    pub generated_at: String,
    /// The project.
    pub slug: String,
    /// Number of runs counted.
    pub sample_size: u64,
    /// Their names; those after the first of one trace with `#` and their number.
    pub source_runs: Vec<String>,
    /// The earliest beginning.
    pub window_start: Option<String>,
    /// The latest end.
    pub window_end: Option<String>,
    /// The tools that were offered or called.
    pub tool_usage: Vec<ToolUsage>,
    /// The phases that were entered.
    pub phase_distribution: Vec<PhaseRow>,
    /// The detectors that fired or that something is known of.
    pub detectors: Vec<DetectorRow>,
    /// Number of lines that could not be used.
    pub corrupted_lines_total: u64,
    /// Remarks on the figures, such as a thin sample.
    pub notes: Vec<String>,
    /// The sessions that have no trace.
    pub traceless: Vec<String>,
    /// Number of runs by how they ended; see [`RunRecord::fate`].
    pub outcomes: BTreeMap<String, u64>,
    /// Turns, tokens and money.
    pub cost: CostRow,
    /// The same and the calls by role; an agent alone has the role `run`.
    pub roles: Vec<RoleRow>,
    /// Questions to the operator, by kind.
    pub questions: Vec<QuestionRow>,
    /// All questions to the operator, together.
    pub attention: Attention,
    /// Turns that failed, and sub-tasks that were done again.
    pub retries: Retries,
    /// Number of times that runs made no progress, by symptom.
    pub stuck: BTreeMap<String, u64>,
    /// Figures of each day on which a run began.
    pub days: Vec<DayRow>,
}

/// One tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolUsage {
    /// Its name.
    pub tool: String,
    /// Number of calls.
    pub calls: u64,
    /// End of the last run that called it.
    pub last_used: Option<String>,
    /// True if enough runs were offered it and none called it.
    pub dead: bool,
    /// Number of runs that were offered it, as far as that is on record.
    pub offered_in: u64,
}

/// One phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseRow {
    /// Its name; `_unknown` for calls before any was entered.
    pub phase: String,
    /// Number of sessions that entered it.
    pub samples: u64,
    /// Number of tool calls in it.
    pub total_calls: u64,
    /// The median of the calls of a session.
    pub p50: f64,
    /// The 90th percentile of the calls of a session.
    pub p90: f64,
    /// The most calls of a session.
    pub max: u64,
    /// Total duration of all sessions, in milliseconds.
    pub total_duration_ms: u64,
    /// Average duration of the sessions that left it, in milliseconds.
    pub avg_duration_ms: u64,
}

/// One detector.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DetectorRow {
    /// Its name.
    pub detector: String,
    /// Number of times that it fired.
    pub total_fires: u64,
    /// Fires for each run, to four places.
    pub fires_per_run: f64,
    /// Number of runs in which it fired.
    pub runs_with_fire: u64,
    /// Fires that were wrong.
    pub false_positives: FalsePositives,
    /// Number of times that it was silent and should have fired, where that can be determined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed: Option<u64>,
}

/// Number of times that a detector was wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FalsePositives {
    /// True if false positives are defined for this detector.
    pub defined: bool,
    /// Reason why they are undefined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undefined_because: Option<&'static str>,
    /// Number of fires judged by what happened next.
    pub decided: u64,
    /// Number of those that were wrong; half verdicts count half.
    pub wrong: f64,
    /// Number of fires that can't be judged.
    pub undecided: u64,
    /// Wrong of decided, to four places; absent where it is undefined or nothing was decided.
    pub rate: Option<f64>,
    /// Bounds of the rate, with 95 percent confidence.
    pub interval: Option<(f64, f64)>,
}

/// Turns, tokens and money.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct CostRow {
    /// Number of turns.
    pub turns: u64,
    /// The tokens that went in, those of a cache included.
    pub tokens_in: u64,
    /// The tokens that came out.
    pub tokens_out: u64,
    /// Number of turns in neither sum, because their tokens weren't counted.
    pub turns_without_tokens: u64,
    /// Cost of the turns by the prices of their runs, in nano-dollars.
    pub nano_dollars: u64,
    /// Number of turns that are not in that sum.
    pub turns_without_cost: u64,
    /// Number of turns in that sum at list prices, which makes it an estimate; absent if there are none.
    #[serde(skip_serializing_if = "super::record::is_zero")]
    pub turns_by_list: u64,
}

/// One role.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoleRow {
    /// Its name.
    pub role: String,
    /// Number of sessions that played it.
    pub sessions: u64,
    /// The median of the calls of a session, and what nine of ten stay within.
    pub calls_p50: f64,
    /// See [`RoleRow::calls_p50`].
    pub calls_p90: f64,
    /// The median of the tokens of a session, and what nine of ten stay within; of those whose turns were all counted.
    pub tokens_p50: f64,
    /// See [`RoleRow::tokens_p50`].
    pub tokens_p90: f64,
    /// Cost of all of them.
    #[serde(flatten)]
    pub cost: CostRow,
}

/// Questions to the operator of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuestionRow {
    /// The kind.
    pub kind: String,
    /// Number of questions, by how they were closed, and the time that they waited.
    #[serde(flatten)]
    pub asked: AskedRow,
}

/// [`QuestionCounts`], with every number written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct AskedRow {
    /// Number of questions.
    pub asked: u64,
    /// Number that a person answered.
    pub answered: u64,
    /// Number that met their deadline.
    pub expired: u64,
    /// Number that were withdrawn.
    pub withdrawn: u64,
    /// Number that are open, or were when the run was last seen.
    pub open: u64,
    /// Total time that the closed ones waited, in milliseconds.
    pub waiting_ms: u64,
    /// The longest of them.
    pub longest_ms: u64,
}

/// The operator's attention.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Attention {
    /// All questions.
    #[serde(flatten)]
    pub asked: AskedRow,
    /// Questions for each run, to four places.
    pub per_run: f64,
    /// Number of runs that asked nothing.
    pub runs_without: u64,
}

/// Turns and sub-tasks that were tried again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Retries {
    /// Turns that failed.
    pub failed_turns: u64,
    /// Sub-tasks that were done again.
    pub subtasks: u64,
}

/// One day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DayRow {
    /// The day, as its runs write it.
    pub day: String,
    /// Number of runs that began.
    pub runs: u64,
    /// Number of those that were completed.
    pub completed: u64,
    /// Their calls.
    pub calls: u64,
    /// Their tokens.
    pub tokens: u64,
    /// Their questions.
    pub questions: u64,
}

/// Adds up runs.
#[derive(Debug, Clone, Default)]
pub struct HistoryFold {
    runs: Vec<String>,
    start: Option<String>,
    end: Option<String>,
    tools: BTreeMap<String, ToolFold>,
    phases: BTreeMap<String, PhaseFold>,
    detectors: BTreeMap<String, DetectorFold>,
    roles: BTreeMap<String, RoleFold>,
    outcomes: BTreeMap<String, u64>,
    questions: BTreeMap<String, QuestionCounts>,
    open: u64,
    runs_without_question: u64,
    cost: CostRow,
    retries: Retries,
    stuck: BTreeMap<String, u64>,
    days: BTreeMap<String, DayRow>,
    damaged: u64,
    traceless: Vec<String>,
}

#[derive(Debug, Clone, Default)]
struct ToolFold {
    calls: u64,
    last_used: Option<String>,
    offered_in: u64,
}

#[derive(Debug, Clone, Default)]
struct PhaseFold {
    calls: ValueCounts,
    duration_ms: u64,
    left_by: u64,
}

#[derive(Debug, Clone, Default)]
struct DetectorFold {
    fires: u64,
    runs: u64,
    judged: Judged,
    missed: u64,
}

#[derive(Debug, Clone, Default)]
struct RoleFold {
    calls: ValueCounts,
    tokens: ValueCounts,
    cost: CostRow,
}

impl HistoryFold {
    /// Adds one run of the trace called `name`.
    pub fn add(&mut self, name: &str, run: &RunRecord) {
        self.runs.push(run_name(name, run));
        keep(&mut self.start, run.started_at.as_deref(), |new, old| new < old);
        keep(&mut self.end, run.ended_at.as_deref(), |new, old| new > old);
        for tool in &run.offered {
            entry(&mut self.tools, tool).offered_in += 1;
        }
        for (tool, calls) in &run.tools {
            let row: &mut ToolFold = entry(&mut self.tools, tool);
            row.calls += calls;
            keep(&mut row.last_used, run.ended_at.as_deref(), |new, old| new > old);
        }
        for (part, session) in &run.sessions {
            for (name, phase) in &session.phases {
                let row = entry(&mut self.phases, name);
                if phase.entered > 0 || phase.calls > 0 {
                    row.calls.add(phase.calls);
                }
                row.duration_ms = row.duration_ms.saturating_add(phase.duration_ms);
                row.left_by += u64::from(phase.left > 0);
            }
            let cost = CostRow {
                turns: session.turns,
                tokens_in: session.tokens_in,
                tokens_out: session.tokens_out,
                nano_dollars: session.nano_dollars,
                turns_without_tokens: session.turns_without_tokens,
                turns_without_cost: session.turns_without_cost,
                turns_by_list: session.turns_by_list,
            };
            self.cost.add(&cost);
            let role: &mut RoleFold = entry(&mut self.roles, doer_of(part));
            role.calls.add(session.calls());
            // A session of which nobody counted all is no sample of what one uses.
            session.tokens().into_iter().for_each(|tokens| role.tokens.add(tokens));
            role.cost.add(&cost);
        }
        self.add_detectors(run);
        for (kind, asked) in &run.questions {
            entry(&mut self.questions, kind).add(asked);
        }
        self.open += run.open;
        self.runs_without_question += u64::from(run.questions.is_empty());
        *entry(&mut self.outcomes, run.fate()) += 1;
        self.retries.failed_turns += run.failed_turns;
        self.retries.subtasks += run.retried_subtasks;
        for (symptom, times) in &run.stuck {
            *entry(&mut self.stuck, symptom) += times;
        }
        self.add_day(run);
    }

    fn add_detectors(&mut self, run: &RunRecord) {
        for (name, fires) in &run.fires {
            let row: &mut DetectorFold = entry(&mut self.detectors, name);
            row.fires += fires;
            row.runs += 1;
        }
        for (name, judged) in &run.judged {
            entry(&mut self.detectors, name).judged.merge(judged);
        }
        for (name, Missed { times }) in &run.missed {
            entry(&mut self.detectors, name).missed += times;
        }
    }

    fn add_day(&mut self, run: &RunRecord) {
        // `2026-01-02` of `2026-01-02T03:04:05.678Z`.
        let Some(day) = run.started_at.as_deref().and_then(|at| at.get(..10)) else { return };
        let row = match self.days.entry(day.to_owned()) {
            Entry::Occupied(row) => row.into_mut(),
            Entry::Vacant(place) => {
                place.insert(DayRow { day: day.to_owned(), runs: 0, completed: 0, calls: 0, tokens: 0, questions: 0 })
            }
        };
        row.runs += 1;
        row.completed += u64::from(run.fate() == "completed");
        row.calls += run.tools.values().sum::<u64>();
        row.tokens = row.tokens.saturating_add(run.tokens());
        row.questions += run.questions.values().map(|asked| asked.asked).sum::<u64>();
    }

    /// Counts lines that could not be used.
    pub fn add_damage(&mut self, lines: u64) {
        self.damaged += lines;
    }

    /// Names a session that has no trace.
    pub fn add_traceless(&mut self, name: &str) {
        self.traceless.push(name.to_owned());
    }

    /// Returns the report on everything added so far.
    #[must_use]
    pub fn report(&self, slug: &str, generated_at: &str, min_samples: u64) -> History {
        let sample_size = self.runs.len() as u64;
        let mut history = History {
            schema_version: SCHEMA_VERSION,
            generated_at: generated_at.to_owned(),
            slug: slug.to_owned(),
            sample_size,
            source_runs: sorted(&self.runs),
            window_start: self.start.clone(),
            window_end: self.end.clone(),
            tool_usage: rows(&self.tools, |name, tool| ToolUsage {
                tool: name.to_owned(),
                calls: tool.calls,
                last_used: tool.last_used.clone(),
                dead: tool.calls == 0 && tool.offered_in >= DEAD_TOOL_MIN_RUNS,
                offered_in: tool.offered_in,
            }),
            phase_distribution: rows(&self.phases, phase_row),
            detectors: rows(&self.detectors, |name, detector| detector_row(name, detector, sample_size)),
            corrupted_lines_total: self.damaged,
            traceless: sorted(&self.traceless),
            outcomes: self.outcomes.clone(),
            cost: self.cost,
            roles: rows(&self.roles, role_row),
            questions: rows(&self.questions, |kind, asked| QuestionRow { kind: kind.to_owned(), asked: asked.row() }),
            retries: self.retries,
            stuck: self.stuck.clone(),
            days: rows(&self.days, |_, day| day.clone()),
            ..History::default()
        };
        let mut all = QuestionCounts::default();
        self.questions.values().for_each(|asked| all.add(asked));
        history.attention = Attention {
            asked: all.row(),
            per_run: rate(all.asked, sample_size),
            runs_without: self.runs_without_question,
        };
        history.notes = notes(&history, min_samples);
        history
    }
}

fn notes(history: &History, min_samples: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if history.sample_size < min_samples {
        notes.push(format!("Thin sample: {} of the {min_samples} runs that these figures want.", history.sample_size));
    }
    let dead: Vec<&str> = history.tool_usage.iter().filter(|tool| tool.dead).map(|tool| tool.tool.as_str()).collect();
    if !dead.is_empty() {
        notes.push(format!("Offered and never called: {}.", dead.join(", ")));
    }
    if history.corrupted_lines_total > 0 {
        notes.push(format!("{} damaged lines were skipped.", history.corrupted_lines_total));
    }
    if history.detectors.iter().any(|row| row.detector == "destructive" && row.false_positives.rate.is_some()) {
        notes.push(format!("{}.", upper_first(CALIBRATION_TRAP)));
    }
    notes.push("This report describes what happened; it recommends and changes nothing.".to_owned());
    notes
}

fn upper_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn phase_row(name: &str, phase: &PhaseFold) -> PhaseRow {
    PhaseRow {
        phase: name.to_owned(),
        samples: phase.calls.len(),
        total_calls: phase.calls.sum(),
        p50: phase.calls.quantile(5),
        p90: phase.calls.quantile(9),
        max: phase.calls.max(),
        total_duration_ms: phase.duration_ms,
        avg_duration_ms: average(phase.duration_ms, phase.left_by),
    }
}

/// `total`/`of`, rounded half up; 0 of nothing.
pub(super) fn average(total: u64, of: u64) -> u64 {
    if of == 0 { 0 } else { (total.saturating_mul(2).saturating_add(of)) / (of * 2) }
}

fn detector_row(name: &str, detector: &DetectorFold, sample_size: u64) -> DetectorRow {
    let can_miss = matches!(name, "blocker" | "destructive");
    DetectorRow {
        detector: name.to_owned(),
        total_fires: detector.fires,
        fires_per_run: rate(detector.fires, sample_size),
        runs_with_fire: detector.runs,
        false_positives: FalsePositives::of(name, &detector.judged),
        missed: can_miss.then_some(detector.missed),
    }
}

impl FalsePositives {
    pub(super) fn of(detector: &str, judged: &Judged) -> Self {
        let undefined_because = judged::undefined_because(detector);
        let is_known = undefined_because.is_none() && judged.decided > 0;
        Self {
            defined: undefined_because.is_none(),
            undefined_because,
            decided: judged.decided,
            wrong: as_float(judged.wrong_halves) / 2.0,
            undecided: judged.undecided,
            rate: is_known.then(|| rate(judged.wrong_halves, judged.decided * 2)),
            interval: is_known.then(|| interval(judged.wrong_halves, judged.decided)),
        }
    }
}

fn role_row(name: &str, role: &RoleFold) -> RoleRow {
    RoleRow {
        role: name.to_owned(),
        sessions: role.calls.len(),
        calls_p50: role.calls.quantile(5),
        calls_p90: role.calls.quantile(9),
        tokens_p50: ratio(role.tokens.quantile_tenths(5), 10),
        tokens_p90: ratio(role.tokens.quantile_tenths(9), 10),
        cost: role.cost,
    }
}

impl CostRow {
    fn add(&mut self, other: &Self) {
        self.turns += other.turns;
        self.tokens_in = self.tokens_in.saturating_add(other.tokens_in);
        self.tokens_out = self.tokens_out.saturating_add(other.tokens_out);
        self.nano_dollars = self.nano_dollars.saturating_add(other.nano_dollars);
        self.turns_without_tokens += other.turns_without_tokens;
        self.turns_without_cost += other.turns_without_cost;
        self.turns_by_list += other.turns_by_list;
    }
}

impl Judged {
    pub(super) fn merge(&mut self, other: &Self) {
        self.decided += other.decided;
        self.wrong_halves += other.wrong_halves;
        self.undecided += other.undecided;
    }
}

impl QuestionCounts {
    fn add(&mut self, other: &Self) {
        self.asked += other.asked;
        self.answered += other.answered;
        self.expired += other.expired;
        self.withdrawn += other.withdrawn;
        self.waiting_ms = self.waiting_ms.saturating_add(other.waiting_ms);
        self.longest_ms = self.longest_ms.max(other.longest_ms);
    }

    fn row(&self) -> AskedRow {
        let closed = self.answered + self.expired + self.withdrawn;
        AskedRow {
            asked: self.asked,
            answered: self.answered,
            expired: self.expired,
            withdrawn: self.withdrawn,
            open: self.asked.saturating_sub(closed),
            waiting_ms: self.waiting_ms,
            longest_ms: self.longest_ms,
        }
    }
}

/// Returns the name of a run: that of its trace, with the run's number if the trace has several.
#[must_use]
pub fn run_name(trace: &str, run: &RunRecord) -> String {
    if run.number <= 1 { trace.to_owned() } else { format!("{trace}#{}", run.number) }
}

/// Keeps the better of two texts; none is worse than any.
pub(super) fn keep(kept: &mut Option<String>, new: Option<&str>, is_better: impl Fn(&str, &str) -> bool) {
    let Some(new) = new else { return };
    if kept.as_deref().is_none_or(|old| is_better(new, old)) {
        *kept = Some(new.to_owned());
    }
}

fn sorted(names: &[String]) -> Vec<String> {
    let mut names = names.to_vec();
    names.sort_by(|a, b| by_code_units(a, b));
    names
}

/// Returns a row for each entry, in the order of code units.
pub(super) fn rows<T, R>(map: &BTreeMap<String, T>, row: impl Fn(&str, &T) -> R) -> Vec<R> {
    let mut entries: Vec<(&String, &T)> = map.iter().collect();
    entries.sort_by(|(a, _), (b, _)| by_code_units(a, b));
    entries.into_iter().map(|(name, value)| row(name, value)).collect()
}

/// Returns true if a budget can be set for the phase.
#[must_use]
pub fn is_named_phase(phase: &str) -> bool {
    phase != NO_PHASE
}
