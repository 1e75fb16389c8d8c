//! Crews: the moves of the coordinator, and warnings about a plan.

use super::Role;
use crate::crew::states::{CrewState, Signal};
use serde::{Deserialize, Serialize};

/// A crew moved on, or its plan goes beyond the brief.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CrewEvent {
    /// A crew moved on.
    CoordinatorState {
        /// Where it stands from here on.
        state: CrewState,
        /// What led there.
        signal: Signal,
        /// The id of the sub-task that it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subtask: Option<String>,
        /// Why, where the signal doesn't say it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A sub-task of a plan speaks of what nothing authorizes.
    ScopeWarning {
        /// The sub-task's id.
        subtask: String,
        /// What it seems to need.
        category: crate::gate::Category,
        /// The word that speaks of it.
        word: String,
    },
}

impl CrewEvent {
    /// Returns what the event is to the ledger.
    pub(super) fn role(&self) -> Role<'_> {
        match self {
            Self::CoordinatorState { .. } | Self::ScopeWarning { .. } => Role::Decision,
        }
    }
}
