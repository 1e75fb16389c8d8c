//! Crews: the moves of the coordinator, and warnings about a plan.

use serde::{Deserialize, Serialize};

use super::LedgerRole;
use crate::trace::spec::{Spec, Weight, joined, plain, text};
use crate::words::text::short_name;
use crate::words::{CrewState, Signal};

/// A crew moved on, or its plan goes beyond the brief.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CrewEvent {
    /// A crew moved on.
    CoordinatorState {
        /// The state from here on.
        state: CrewState,
        /// The signal that led there.
        signal: Signal,
        /// The id of the sub-task that it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subtask: Option<String>,
        /// Reason, where the signal doesn't say it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A sub-task of a plan speaks of what nothing authorizes.
    ScopeWarning {
        /// The sub-task's id.
        subtask: String,
        /// The category that it seems to need.
        category: crate::words::Category,
        /// The word that speaks of it.
        word: String,
    },
}

impl CrewEvent {
    /// Returns what the event is to the ledger.
    pub(super) fn role(&self) -> LedgerRole<'_> {
        match self {
            Self::CoordinatorState { .. } | Self::ScopeWarning { .. } => LedgerRole::Decision,
        }
    }
}

pub(super) static COORDINATOR_STATE: Spec = Spec {
    label: "coord_state",
    weight: Weight::Turning,
    tone: plain,
    fields: &[
        text("state"),
        text("signal").or_absent(),
        text("subtask").or_absent(),
        text("reason").or_absent().content(),
    ],
    detail: |line| joined(&[&line.word("state"), &short_name(&line.word("subtask")), &line.word("reason")]),
};

pub(super) static SCOPE_WARNING: Spec = Spec {
    label: "scope_warn",
    weight: Weight::Detail,
    tone: plain,
    fields: &[text("subtask"), text("category"), text("word").content()],
    detail: |line| {
        format!("{}  {}  word={}", short_name(&line.word("subtask")), line.word("category"), line.word("word"))
    },
};
