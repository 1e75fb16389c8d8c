//! What a run takes from earlier ones: its project's learned profile and memory.

use super::{Role, is_zero};
use crate::learn::profile::Applied;
use crate::memory::{Contradiction, Record};
use crate::words::{LimitSource, PhaseName};
use serde::{Deserialize, Serialize};

/// Something learned from earlier runs was taken over or used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LearnedEvent {
    /// What the run takes from the learned profile that its brief names. What that is in full is in its options.
    LearnedProfileApplied {
        /// The project whose profile it is.
        slug: String,
        /// The version of the profile's format.
        schema_version: u64,
        /// How much of it holds: detectors not at their default, phases with a budget, dead tools.
        applied: Applied,
    },
    /// A phase was entered, and this is how many tools may be called in it.
    LearnedBudgetConsulted {
        /// The phase.
        phase: PhaseName,
        /// What the profile has for it, or for the session's role; 0 for nothing.
        recommended: u64,
        /// What is in force, with what the operator added; 0 for no limit.
        active: u64,
        /// Where that comes from.
        source: LimitSource,
    },
    /// A detector that is not at its default read a turn.
    LearnedSensitivityConsulted {
        /// Its name.
        detector: String,
        /// Its sensitivity.
        sensitivity: String,
        /// Whether it fired.
        fired: bool,
        /// Whether it was not run at all.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        bypassed: bool,
        /// The turn that was read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u32>,
    },
    /// What the run takes from its project's memory: it is shown after the standing orders.
    MemoryInherited {
        /// The project.
        project: String,
        /// The entries as they are shown, category by category, newest first.
        records: Vec<Record>,
        /// How many live entries there are besides.
        #[serde(default, skip_serializing_if = "is_zero")]
        left_out: u64,
        /// What contradicts what among them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        contradictions: Vec<Contradiction>,
    },
}

impl LearnedEvent {
    /// Returns what the event is to the ledger.
    pub(super) fn role(&self) -> Role<'_> {
        match self {
            Self::LearnedProfileApplied { .. } | Self::MemoryInherited { .. } => Role::Fact,
            Self::LearnedBudgetConsulted { .. } | Self::LearnedSensitivityConsulted { .. } => Role::Decision,
        }
    }
}
