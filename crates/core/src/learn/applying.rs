//! Reads from a profile the settings that a run takes over.
//!
//! In: the profile that a brief names, and the time at which the run begins. Out: sensitivities and limits, and a
//! sentence for each thing left out: recommendations whose evidence has expired, and anything that this version can't
//! read. A brief's own setting is weighed against these where it is read, not here.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::profile::{Evidence, Profile};
use crate::detect::{Detector, Sensitivity};
use crate::trace::LearnedOptions;
use crate::words::role::RoleName;
use crate::words::{Applied, Budget, PhaseName};

/// Settings that a run takes from a profile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken {
    /// The detectors that are not to be at their default.
    pub detectors: BTreeMap<Detector, Sensitivity>,
    /// The limits.
    pub options: LearnedOptions,
    /// The version of the profile's format.
    pub schema_version: u64,
    /// Number of settings taken, by kind.
    pub applied: Applied,
    /// A sentence for each thing that is not taken, with the reason.
    pub left_out: Vec<String>,
}

/// Returns the settings that a run beginning at `now` takes from the profile of `slug`.
#[must_use]
pub fn take(profile: &Profile, slug: &str, now: Timestamp) -> Taken {
    let mut taken = Taken {
        options: LearnedOptions { slug: slug.to_owned(), ..LearnedOptions::default() },
        schema_version: profile.schema_version,
        ..Taken::default()
    };
    let mut left_out = Vec::new();
    for (name, row) in profile.detector_overrides.iter().filter(|(_, row)| row.sensitivity != "default") {
        let what = format!("detector {name}={}", row.sensitivity);
        match (name.parse(), row.sensitivity.parse()) {
            (Ok(detector), Ok(sensitivity)) => {
                if holds(&what, row.evidence.as_ref(), now, &mut left_out) {
                    taken.detectors.insert(detector, sensitivity);
                }
            }
            _ => left_out.push(format!("`{what}` is nothing that this version knows")),
        }
    }
    for (name, row) in &profile.phase_budgets {
        let what = format!("budget {name}={}", row.tool_calls);
        match PhaseName::named(name).filter(|_| row.tool_calls > 0) {
            Some(phase) if holds(&what, row.evidence.as_ref(), now, &mut left_out) => {
                taken.options.phase_calls.insert(phase, row.tool_calls);
            }
            Some(_) => {}
            None => left_out.push(format!("`{what}` is nothing that this version knows")),
        }
    }
    for (name, row) in &profile.role_budgets {
        let what = format!("role {name}={} calls", row.tool_calls);
        match name.parse::<RoleName>().ok().filter(|_| row.tool_calls > 0) {
            Some(role) if holds(&what, row.evidence.as_ref(), now, &mut left_out) => {
                let budget = Budget {
                    max_tool_calls: Some(row.tool_calls),
                    max_tokens: row.tokens.filter(|tokens| *tokens > 0),
                    ..Budget::default()
                };
                taken.options.roles.insert(role, budget);
            }
            Some(_) => {}
            None => left_out.push(format!("`{what}` is nothing that this version knows")),
        }
    }
    let count = |items: usize| u64::try_from(items).unwrap_or(u64::MAX);
    taken.applied = Applied {
        detectors: count(taken.detectors.len()),
        phase_budgets: count(taken.options.phase_calls.len()),
        tool_callouts: profile.counts().tool_callouts,
    };
    taken.left_out = left_out;
    taken
}

/// Returns true if the evidence has not expired. A profile of the peer has no evidence and never expires.
fn holds(what: &str, evidence: Option<&Evidence>, now: Timestamp, left_out: &mut Vec<String>) -> bool {
    let Some(evidence) = evidence else { return true };
    match evidence.expires_at.parse::<Timestamp>() {
        Ok(expires_at) if now < expires_at => true,
        Ok(_) => {
            left_out.push(format!("`{what}` expired at {}", evidence.expires_at));
            false
        }
        Err(_) => {
            left_out.push(format!("`{what}` does not say when it expires"));
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: &str = "2026-06-01T00:00:00.000Z";

    fn taken(fields: Value) -> Taken {
        let mut profile = json!({
            "schema_version": 1, "slug": "orchard", "generated_at": "", "source_runs": [], "detector_overrides": {},
            "phase_budgets": {}, "tool_usage": {}, "notes": [],
        });
        for (name, value) in fields.as_object().expect("fields") {
            profile[name] = value.clone();
        }
        let profile = Profile::read(&profile.to_string()).expect("a profile");
        take(&profile, "orchard", NOW.parse().expect("a time"))
    }

    fn detector(sensitivity: &str, expires_at: Option<&str>) -> Value {
        let evidence = expires_at.map(|at| json!({"runs": [], "weighted_sample": 1, "expires_at": at}));
        let mut row = json!({"sensitivity": sensitivity, "reason": "", "fire_rate": 1, "sample_size": 10});
        if let Some(evidence) = evidence {
            row["evidence"] = evidence;
        }
        row
    }

    #[test]
    fn what_has_expired_or_is_unknown_is_left_out_and_said() {
        for (name, row, is_taken, said) in [
            ("blocker", detector("loose", None), true, None),
            ("blocker", detector("loose", Some("2026-06-01T00:00:00.001Z")), true, None),
            ("blocker", detector("loose", Some(NOW)), false, Some("expired at 2026-06-01T00:00:00.000Z")),
            ("blocker", detector("loose", Some("soon")), false, Some("does not say when")),
            ("blocker", detector("default", Some(NOW)), false, None),
            ("blocker", detector("deaf", None), false, Some("this version knows")),
            ("hearsay", detector("loose", None), false, Some("this version knows")),
            ("completion", detector("disabled", None), true, None),
        ] {
            let taken = taken(json!({ "detector_overrides": { name: row.clone() } }));
            assert_eq!(!taken.detectors.is_empty(), is_taken, "{name} {row}");
            assert_eq!(taken.applied.detectors, u64::from(is_taken), "{name} {row}");
            let expected = said.map_or(0, |_| 1);
            assert_eq!(taken.left_out.len(), expected, "{name} {row}: {:?}", taken.left_out);
            assert!(taken.left_out.iter().all(|why| why.contains(said.unwrap_or_default())), "{:?}", taken.left_out);
        }
    }

    #[test]
    fn budgets_are_of_phases_and_roles_that_there_are() {
        let budget = |calls: u64| json!({"tool_calls": calls, "observed_p50": 1, "observed_p90": 2, "sample_size": 10});
        let role = |calls: u64, tokens: Value| json!({"tool_calls": calls, "tokens": tokens, "sample_size": 10});
        let taken = taken(json!({
            "phase_budgets": {"execute": budget(18), "_unknown": budget(9), "intake": budget(0)},
            "role_budgets": {"executor": role(7, json!(9_000)), "my-own": role(3, Value::Null), "No": role(3, Value::Null)},
            "tool_usage": {"shell_exec": {"calls": 0, "last_used": null, "dead": true}},
        }));
        assert_eq!(taken.options.phase_calls, BTreeMap::from([(PhaseName::Execute, 18)]));
        let roles: Vec<_> = taken.options.roles.iter().map(|(name, budget)| (name.as_str(), *budget)).collect();
        let executor = Budget { max_tool_calls: Some(7), max_tokens: Some(9_000), ..Budget::default() };
        assert_eq!(
            roles,
            [("executor", executor), ("my-own", Budget { max_tokens: None, max_tool_calls: Some(3), ..executor })]
        );
        assert_eq!(taken.applied, Applied { detectors: 0, phase_budgets: 1, tool_callouts: 1 });
        assert_eq!(taken.left_out.len(), 3, "{:?}", taken.left_out);
    }
}
