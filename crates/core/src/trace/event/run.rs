//! The run as a whole: its header, its beginning, its taking over, its end.

use super::Role;
use crate::trace::options::{RunOptions, RunStart};
use crate::words::Outcome;
use serde::{Deserialize, Serialize};

/// An event of the run as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEvent {
    /// The header: the first line of every journal.
    TraceVersion {
        /// [`TRACE_VERSION`].
        version: u32,
        /// The version of the program that began the journal.
        adjutant_version: String,
        /// The brief's id.
        brief_id: String,
    },
    /// A run began: everything needed to begin it again.
    RunStart(Box<RunStart>),
    /// A driver took the run over where its journal stood.
    RunResume {
        /// Options that the operator changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        options: Option<Box<RunOptions>>,
        /// Damage that the operator accepted, by line number.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        accepted_damage: Vec<u64>,
    },
    /// A run came to its end; nothing follows.
    RunEnd {
        /// How.
        outcome: Outcome,
    },
}

impl RunEvent {
    /// Returns what the event is to the ledger.
    pub(super) fn role(&self) -> Role<'_> {
        match self {
            Self::TraceVersion { .. } | Self::RunStart(_) | Self::RunResume { .. } => Role::Fact,
            Self::RunEnd { .. } => Role::Decision,
        }
    }
}
