//! Handoffs: the typed result of a session that is a piece of a run.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Role;
use crate::trace::spec::{Spec, Weight, any, joined, number, plain, text, texts};

/// A handoff was read in a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandoffEvent {
    /// What a session that is a piece of a run handed off with a turn, or what was wrong with it.
    HandoffRead {
        /// The turn's number.
        turn: u32,
        /// What was to be handed off: `plan`, `execution` or `review`.
        expected: String,
        /// The handoff, as it was read; absent if it was none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        handoff: Option<Value>,
        /// What was wrong with it, a line each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        faults: Vec<String>,
    },
}

impl HandoffEvent {
    /// Returns what the event is to the ledger.
    pub(super) fn role(&self) -> Role<'_> {
        match self {
            Self::HandoffRead { .. } => Role::Decision,
        }
    }
}

pub(super) static HANDOFF_READ: Spec = Spec {
    label: "handoff",
    weight: Weight::Main,
    tone: plain,
    fields: &[number("turn"), text("expected"), any("handoff").whole(), texts("faults").or_absent().content()],
    detail: |line| joined(&[&line.word("expected"), &line.texts("faults").join("; ")]),
};
