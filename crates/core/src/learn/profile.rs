//! Profile that an operator applied to a project, learned from its past runs: `learned.json`, in the peer's format with
//! our evidence in it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::history::SCHEMA_VERSION;
use super::order::by_code_units;
use crate::words::Applied;

/// The name of a profile's file in the folder of its project.
pub const FILE_NAME: &str = "learned.json";

/// A profile.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u64,
    /// The project that it was learned from.
    pub slug: String,
    /// Time at which it was generated.
    pub generated_at: String,
    /// The runs that it rests on.
    pub source_runs: Vec<String>,
    /// Recommended sensitivity of each detector.
    pub detector_overrides: BTreeMap<String, DetectorOverride>,
    /// Number of tool calls that a session may make, by phase.
    pub phase_budgets: BTreeMap<String, PhaseBudget>,
    /// Usage of each tool.
    pub tool_usage: BTreeMap<String, ToolCallout>,
    /// Limits for a session of each role in a crew. Ours.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub role_budgets: BTreeMap<String, RoleBudget>,
    /// Remarks on the recommendations.
    pub notes: Vec<String>,
}

/// One detector.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DetectorOverride {
    /// `default`, `loose`, `strict` or `disabled`.
    pub sensitivity: String,
    /// Reason for the sensitivity.
    pub reason: String,
    /// Its fires for each run.
    pub fire_rate: f64,
    /// Number of runs behind it.
    pub sample_size: u64,
    /// Evidence for it. Ours; the peer's profiles have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

/// One phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseBudget {
    /// Number of tool calls that a session may make in it.
    pub tool_calls: u64,
    /// The median.
    pub observed_p50: f64,
    /// The 90th percentile.
    pub observed_p90: f64,
    /// Number of sessions behind it.
    pub sample_size: u64,
    /// Evidence for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

/// One role.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RoleBudget {
    /// Number of tool calls that a session of the role may make.
    pub tool_calls: u64,
    /// Number of tokens that it may use; absent if no tokens are on record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Number of sessions behind it.
    pub sample_size: u64,
    /// Evidence for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

/// One tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCallout {
    /// Number of calls.
    pub calls: u64,
    /// End of the last run that called it.
    pub last_used: Option<String>,
    /// True if enough runs were offered it and none called it.
    pub dead: bool,
    /// Number of runs that were offered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_in: Option<u64>,
    /// Evidence that it is dead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

/// Evidence for a recommendation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The runs, by name.
    pub runs: Vec<String>,
    /// Number of runs that they count for; old ones count less.
    pub weighted_sample: f64,
    /// Share of the decided cases that were wrong, or missed; absent for budgets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Bounds of that rate, with 95 percent confidence; for a budget, bounds of the 90th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// Number of decided cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<u64>,
    /// Time from which it no longer holds, unless newer runs confirm it.
    pub expires_at: String,
}

/// Reason why a profile can't be used.
#[derive(Debug, Error)]
pub enum BadProfile {
    /// It is not JSON.
    #[error("it is not JSON")]
    NotJson(#[source] serde_json::Error),
    /// It is JSON of another kind.
    #[error("it is not an object")]
    NotAnObject,
    /// It does not say its version, or says another one than we know.
    #[error("its `schema_version` is {found}, and {SCHEMA_VERSION} is what can be read")]
    Version {
        /// The version that it has, or `missing`.
        found: String,
    },
    /// Something is missing or of the wrong type.
    #[error("its fields can't be read")]
    BadFields(#[source] serde_json::Error),
}

/// One difference between two profiles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Subject of the change, such as `detector blocker`.
    pub what: String,
    /// Value before.
    pub from: Option<String>,
    /// Value after.
    pub to: Option<String>,
}

impl Profile {
    /// Creates an empty profile.
    #[must_use]
    pub fn new() -> Self {
        Self { schema_version: SCHEMA_VERSION, ..Self::default() }
    }

    /// Reads a profile, ours or the peer's.
    ///
    /// # Errors
    ///
    /// [`BadProfile`]: nothing of it may be used.
    pub fn read(text: &str) -> Result<Self, BadProfile> {
        let value: Value = serde_json::from_str(text).map_err(BadProfile::NotJson)?;
        let Value::Object(fields) = &value else { return Err(BadProfile::NotAnObject) };
        let found = fields.get("schema_version").map_or_else(|| "missing".to_owned(), Value::to_string);
        if found != SCHEMA_VERSION.to_string() {
            return Err(BadProfile::Version { found });
        }
        serde_json::from_value(value).map_err(BadProfile::BadFields)
    }

    /// Returns true if it changes nothing: no sensitivity, no budget, no dead tool.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.counts() == Applied::default() && self.role_budgets.is_empty()
    }

    /// Returns the counts that `learned_profile_applied` records.
    #[must_use]
    pub fn counts(&self) -> Applied {
        let count = |items: usize| u64::try_from(items).unwrap_or(u64::MAX);
        Applied {
            detectors: count(self.detector_overrides.values().filter(|row| row.sensitivity != "default").count()),
            phase_budgets: count(self.phase_budgets.len()),
            tool_callouts: count(self.tool_usage.values().filter(|tool| tool.dead).count()),
        }
    }

    /// Lists the changes from `self` to `to`, in the peer's order.
    #[must_use]
    pub fn changes(&self, to: &Self) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut compare = |what: &str, from: BTreeMap<&str, String>, to: BTreeMap<&str, String>, after: &str| {
            let mut names: Vec<&str> =
                from.keys().chain(to.keys()).copied().collect::<BTreeSet<_>>().into_iter().collect();
            names.sort_by(|a, b| by_code_units(a, b));
            for name in names {
                let (from, to) = (from.get(name).cloned(), to.get(name).cloned());
                if from != to {
                    changes.push(Change { what: format!("{what} {name}{after}"), from, to });
                }
            }
        };
        compare("detector", self.sensitivities(), to.sensitivities(), "");
        compare("budget", self.budgets(), to.budgets(), "");
        compare("tool", self.dead(), to.dead(), " dead");
        compare("role", self.role_limits(), to.role_limits(), "");
        changes
    }

    fn sensitivities(&self) -> BTreeMap<&str, String> {
        self.detector_overrides.iter().map(|(name, row)| (name.as_str(), row.sensitivity.clone())).collect()
    }

    fn budgets(&self) -> BTreeMap<&str, String> {
        self.phase_budgets.iter().map(|(name, row)| (name.as_str(), row.tool_calls.to_string())).collect()
    }

    fn dead(&self) -> BTreeMap<&str, String> {
        self.tool_usage.iter().map(|(name, tool)| (name.as_str(), tool.dead.to_string())).collect()
    }

    fn role_limits(&self) -> BTreeMap<&str, String> {
        let limits = |row: &RoleBudget| match row.tokens {
            Some(tokens) => format!("{} calls, {tokens} tokens", row.tool_calls),
            None => format!("{} calls", row.tool_calls),
        };
        self.role_budgets.iter().map(|(name, row)| (name.as_str(), limits(row))).collect()
    }
}

impl Change {
    /// Returns the line that describes the change.
    #[must_use]
    pub fn line(&self) -> String {
        let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "(absent)".to_owned());
        format!("{}: {} -> {}", self.what, side(&self.from), side(&self.to))
    }
}
