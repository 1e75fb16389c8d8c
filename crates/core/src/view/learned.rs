//! A learned profile, and what a run made of it.

use std::fmt::Write as _;

use serde::Serialize;

use super::columns::Sheet;
use crate::detect::Detector;
use crate::learn::profile::{Change, Evidence, Profile};
use crate::trace::EventKind;
use crate::trace::read::Trace;
use crate::words::text::cut;
use crate::words::visible::visible_line;

/// The longest reason in a table, in UTF-16 units (the peer's).
const REASON_UNITS_MAX: usize = 60;

/// The record in a run's trace of the profile that it was begun with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Consulted {
    /// The time at which a profile was applied; absent if it had no profile.
    pub applied_at: Option<String>,
    /// Number of detectors, budgets and dead tools that it had.
    pub detectors: u64,
    /// See [`Consulted::detectors`].
    pub phase_budgets: u64,
    /// See [`Consulted::detectors`].
    pub tool_callouts: u64,
    /// Number of times that a detector was asked that was not at its default.
    pub consultations: u64,
    /// Number of times that it fired.
    pub fired: u64,
    /// Number of times that it did not fire.
    pub suppressed: u64,
    /// The budgets on record: phase, recommended, in force, and source.
    pub budgets: Vec<ConsultedBudget>,
    /// True if the run is ours: the peer's text says nothing of budgets.
    #[serde(skip)]
    is_ours: bool,
}

/// A budget that was in force in a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConsultedBudget {
    /// The phase.
    pub phase: String,
    /// The profile's limit; 0 for no limit.
    pub recommended: u64,
    /// The limit in force.
    pub active: u64,
    /// `learned`, `brief` or `default`.
    pub source: String,
}

/// The profile of a run's project, and what the run made of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Learned {
    /// The brief's id.
    pub brief_id: String,
    /// The project.
    pub slug: String,
    /// The profile as it is now; absent if there is none.
    pub profile: Option<Profile>,
    /// The record in the run's trace.
    pub consulted: Consulted,
}

/// Reads the record of the profile in `trace`.
#[must_use]
pub fn of(trace: &Trace<'_>) -> Consulted {
    let mut consulted = Consulted { is_ours: trace.is_ours(), ..Consulted::default() };
    for line in &trace.lines {
        match line.kind.known() {
            Some(EventKind::LearnedProfileApplied) => {
                let applied = line.fields.object("applied");
                consulted.applied_at = line.at.as_deref().map(str::to_owned);
                consulted.detectors = applied.count("detectors");
                consulted.phase_budgets = applied.count("phase_budgets");
                consulted.tool_callouts = applied.count("tool_callouts");
            }
            Some(EventKind::LearnedSensitivityConsulted) => {
                consulted.consultations += 1;
                let fired = line.fields.flag("fired");
                consulted.fired += u64::from(fired);
                consulted.suppressed += u64::from(!fired);
            }
            Some(EventKind::LearnedBudgetConsulted) => consulted.budgets.push(ConsultedBudget {
                phase: line.fields.word("phase").into_owned(),
                recommended: line.fields.count("recommended"),
                active: line.fields.count("active"),
                source: line.fields.word("source").into_owned(),
            }),
            _ => {}
        }
    }
    consulted
}

/// Its text, in the peer's form.
#[must_use]
pub fn text(learned: &Learned) -> String {
    let mut text = String::from("Learned profile view\n");
    let _ = writeln!(text, "  brief_id:       {}", visible_line(&learned.brief_id));
    let _ = writeln!(text, "  slug:           {}", visible_line(&learned.slug));
    match &learned.profile {
        Some(profile) => {
            let _ = writeln!(text, "  generated_at:   {}", visible_line(&profile.generated_at));
            let _ = writeln!(text, "  schema_version: {}", profile.schema_version);
            let _ = writeln!(text, "  source_runs:    {}", profile.source_runs.len());
            push_tables(&mut text, profile);
        }
        None => {
            let _ = writeln!(
                text,
                "\nNo profile is applied to this project: `adjutant learn {}` proposes one.",
                visible_line(&learned.slug)
            );
        }
    }
    push_consulted(&mut text, &learned.consulted);
    if let Some(profile) = &learned.profile {
        push_notes(&mut text, profile);
    }
    text
}

/// The tables of a profile.
#[must_use]
pub fn profile_text(profile: &Profile) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "Profile of {}", visible_line(&profile.slug));
    let _ = writeln!(text, "  generated_at:   {}", visible_line(&profile.generated_at));
    let _ = writeln!(text, "  schema_version: {}", profile.schema_version);
    let _ = writeln!(text, "  source_runs:    {}", profile.source_runs.len());
    push_tables(&mut text, profile);
    push_evidence(&mut text, profile);
    push_notes(&mut text, profile);
    text
}

/// The differences between two profiles, one line each.
#[must_use]
pub fn changes_text(changes: &[Change]) -> String {
    changes.iter().map(|change| format!("  {}\n", visible_line(&change.line()))).collect()
}

fn push_tables(text: &mut String, profile: &Profile) {
    if !profile.source_runs.is_empty() {
        text.push_str("\nSource runs:\n");
        for run in &profile.source_runs {
            let _ = writeln!(text, "    {}", visible_line(run));
        }
    }
    for mut sheet in sheets(profile) {
        if sheet.head.last() == Some(&REASON) {
            for reason in sheet.rows.iter_mut().filter_map(|row| row.last_mut()) {
                *reason = shortened(reason);
            }
        }
        push(text, &sheet);
    }
    let dead: Vec<&str> =
        profile.tool_usage.iter().filter(|(_, tool)| tool.dead).map(|(name, _)| name.as_str()).collect();
    if !dead.is_empty() {
        let names = visible_line(&dead.join(", ")).into_owned();
        let _ = writeln!(text, "  {} dead tool(s): {names}. Consider removing from briefs.", dead.len());
    }
}

/// The column that says why.
const REASON: &str = "reason";

/// The tables of a profile, its reasons whole: detectors, budgets of phases and, if there are any, of roles, tools.
#[must_use]
pub fn sheets(profile: &Profile) -> Vec<Sheet> {
    let critical = |name: &str| name.parse::<Detector>().is_ok_and(Detector::is_safety_critical);
    let detectors = profile.detector_overrides.iter().map(|(name, row)| {
        [
            name.clone(),
            row.sensitivity.clone(),
            if critical(name) { "safety_critical".to_owned() } else { String::new() },
            two_places(row.fire_rate),
            row.sample_size.to_string(),
            row.reason.clone(),
        ]
    });
    let head = ["detector", "sensitivity", "flag", "fire_rate", "sample", REASON];
    let mut sheets = vec![Sheet::new("Detector overrides", head, detectors)];
    let phases = profile.phase_budgets.iter().map(|(name, row)| {
        [
            name.clone(),
            row.tool_calls.to_string(),
            format!("p50={}", two_places(row.observed_p50)),
            format!("p90={}", two_places(row.observed_p90)),
            format!("sample={}", row.sample_size),
        ]
    });
    sheets.push(Sheet::new("Phase budgets", ["phase", "tool_calls", "p50", "p90", "sample"], phases));
    if !profile.role_budgets.is_empty() {
        let roles = profile.role_budgets.iter().map(|(name, row)| {
            let tokens = row.tokens.map_or_else(|| "-".to_owned(), |tokens| tokens.to_string());
            [name.clone(), row.tool_calls.to_string(), tokens, row.sample_size.to_string()]
        });
        sheets.push(Sheet::new("Role budgets", ["role", "tool_calls", "tokens", "sample"], roles));
    }
    let tools = profile.tool_usage.iter().map(|(name, tool)| {
        let last_used = tool.last_used.clone().unwrap_or_else(|| "-".to_owned());
        [name.clone(), tool.calls.to_string(), last_used, if tool.dead { "DEAD".to_owned() } else { String::new() }]
    });
    sheets.push(Sheet::new("Tool usage", ["tool", "calls", "last_used", "flag"], tools));
    sheets
}

/// A number as the peer writes it: whole, or with two places. What lies in the middle goes up.
fn two_places(number: f64) -> String {
    // A double is in the middle of two hundredths only at an odd number of eighths.
    let eighths = number * 8.0;
    if number.fract() == 0.0 {
        number.to_string()
    } else if eighths.fract() == 0.0 && eighths.abs() % 2.0 == 1.0 {
        format!("{:.2}", ((number * 100.0).floor() + 1.0) / 100.0)
    } else {
        format!("{number:.2}")
    }
}

/// A reason that fits its column; what is missing is three dots, as in the peer's.
fn shortened(reason: &str) -> String {
    let cut = cut(reason, REASON_UNITS_MAX);
    if cut == reason { cut } else { format!("{}...", self::cut(reason, REASON_UNITS_MAX - 2).trim_end_matches('…')) }
}

fn push(text: &mut String, sheet: &Sheet) {
    let _ = writeln!(text, "\n{}:", sheet.title);
    if sheet.rows.is_empty() {
        text.push_str("  none\n");
        return;
    }
    for line in sheet.text().lines() {
        let _ = writeln!(text, "  {line}");
    }
}

/// The evidence for one recommendation, and its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rests {
    /// The recommended value, such as `detector blocker`.
    pub what: String,
    /// Number of runs that it counts for, old ones less.
    pub weighted_sample: String,
    /// The rate at which it was wrong with its interval, or the interval of a budget's percentile or of a tool's use;
    /// absent where the profile doesn't say.
    pub figures: Option<String>,
    /// The time from which it no longer holds.
    pub expires_at: String,
    /// The runs, by name.
    pub runs: Vec<String>,
}

/// Returns the evidence for each recommendation of a profile; it is empty for profiles of the peer.
#[must_use]
pub fn evidence(profile: &Profile) -> Vec<Rests> {
    type Says = fn(&Evidence) -> Option<String>;
    let rate: Says = |evidence| {
        evidence.rate.zip(evidence.interval).map(|(rate, (low, high))| format!("rate {rate} ({low} to {high})"))
    };
    let percentile: Says = |evidence| evidence.interval.map(|(low, high)| format!("p90 between {low} and {high}"));
    let unused: Says = |evidence| evidence.interval.map(|(_, high)| format!("used in at most {high} of runs"));
    let rests = |(what, evidence, says): (String, Option<&Evidence>, Says)| {
        let evidence = evidence?;
        Some(Rests {
            what,
            weighted_sample: evidence.weighted_sample.to_string(),
            figures: says(evidence),
            expires_at: evidence.expires_at.clone(),
            runs: evidence.runs.clone(),
        })
    };
    let detectors =
        profile.detector_overrides.iter().map(|(name, row)| (format!("detector {name}"), row.evidence.as_ref(), rate));
    let phases =
        profile.phase_budgets.iter().map(|(name, row)| (format!("budget {name}"), row.evidence.as_ref(), percentile));
    let roles =
        profile.role_budgets.iter().map(|(name, row)| (format!("role {name}"), row.evidence.as_ref(), percentile));
    let tools =
        profile.tool_usage.iter().map(|(name, row)| (format!("tool {name} dead"), row.evidence.as_ref(), unused));
    detectors.chain(phases).chain(roles).chain(tools).filter_map(rests).collect()
}

fn push_evidence(text: &mut String, profile: &Profile) {
    let all = evidence(profile);
    if all.is_empty() {
        return;
    }
    text.push_str("\nEvidence:\n");
    for rests in all {
        const SHOWN: usize = 5;
        let more = rests.runs.len().saturating_sub(SHOWN);
        let runs = rests.runs.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let figures = rests.figures.map(|figures| format!(", {figures}")).unwrap_or_default();
        let line = format!(
            "  {}: counts for {} runs{figures}, expires {}\n    {runs}{more}\n",
            rests.what, rests.weighted_sample, rests.expires_at
        );
        for line in line.lines() {
            let _ = writeln!(text, "{}", visible_line(line));
        }
    }
}

fn push_consulted(text: &mut String, consulted: &Consulted) {
    text.push_str("\nConsultation summary:\n");
    let Some(applied_at) = &consulted.applied_at else {
        text.push_str("  No profile was applied to this run.\n");
        return;
    };
    let _ = writeln!(text, "  Applied at: {}", visible_line(applied_at));
    let _ = writeln!(
        text,
        "  Counts:     detectors={} budgets={} dead={}",
        consulted.detectors, consulted.phase_budgets, consulted.tool_callouts
    );
    let _ = writeln!(text, "  Detector consultations: {}", consulted.consultations);
    let _ = writeln!(text, "    fired:      {}", consulted.fired);
    let _ = writeln!(text, "    suppressed: {}", consulted.suppressed);
    for budget in consulted.budgets.iter().filter(|_| consulted.is_ours) {
        let _ = writeln!(
            text,
            "  Budget of {}: {} in force ({}), {} recommended",
            visible_line(&budget.phase),
            budget.active,
            visible_line(&budget.source),
            budget.recommended
        );
    }
}

fn push_notes(text: &mut String, profile: &Profile) {
    if profile.notes.is_empty() {
        return;
    }
    text.push_str("\nNotes:\n");
    for note in &profile.notes {
        let _ = writeln!(text, "  - {}", visible_line(note));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_whole_or_have_two_places() {
        for (number, text) in [
            (12.0, "12"),
            (12.35, "12.35"),
            (1.5, "1.50"),
            (10.000_000_000_000_004, "10.00"),
            (0.125, "0.13"),
            (0.375, "0.38"),
            (2.675, "2.67"),
            (0.0, "0"),
        ] {
            assert_eq!(two_places(number), text);
        }
    }
}
