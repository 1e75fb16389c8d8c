//! The machine that a run works on, and notes for the operator.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{Role, is_zero};
use crate::words::PhaseName;

/// Something about the machine was found out, or the operator is told something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostEvent {
    /// What the sandbox of commands is worth on this machine: tried, not promised.
    SandboxReport {
        /// How much was to be there: `off`, `best` or `required`.
        mode: String,
        /// The walls that held.
        held: Vec<String>,
        /// The walls that are missing.
        missing: Vec<String>,
        /// The layers that could be set up.
        layers: Vec<String>,
        /// The layers that could not, each with its reason.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        absent: BTreeMap<String, String>,
    },
    /// Somebody else changed the workdir while the run stood still: it waited for its operator, or nobody drove it.
    FolderChanged {
        /// The paths that were added, changed or removed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        paths: Vec<String>,
        /// How many there are besides.
        #[serde(default, skip_serializing_if = "is_zero")]
        more: u64,
        /// What was checked out when the run stopped; absent if it still is, or if there was no repository.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head_before: Option<String>,
        /// What is checked out now; absent if nothing changed about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head_now: Option<String>,
    },
    /// Something the operator should know.
    Warning {
        /// What.
        text: String,
    },
    /// Something failed.
    Error {
        /// What.
        error: String,
        /// The phase it happened in.
        phase: PhaseName,
    },
}

impl HostEvent {
    /// Returns what the event is to the ledger.
    pub(super) fn role(&self) -> Role<'_> {
        match self {
            Self::SandboxReport { .. } | Self::FolderChanged { .. } => Role::Fact,
            Self::Warning { .. } | Self::Error { .. } => Role::Decision,
        }
    }
}
