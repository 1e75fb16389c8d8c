//! Handoffs: the typed result of a session that is a piece of a run.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::LedgerRole;
use crate::trace::spec::{Spec, Weight, any, joined, number, plain, text, texts};

/// A handoff was read in a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandoffEvent {
    /// The handoff that a session in a crew gave with a turn, or the faults in it.
    HandoffRead {
        /// The turn's number.
        turn: u32,
        /// The expected kind of handoff: `plan`, `execution` or `review`.
        expected: String,
        /// The handoff, as it was read; absent if the turn had none that is valid.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        handoff: Option<Value>,
        /// The faults, one line each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        faults: Vec<String>,
    },
}

impl HandoffEvent {
    /// Returns what the event is to the ledger.
    pub(super) fn role(&self) -> LedgerRole<'_> {
        match self {
            Self::HandoffRead { .. } => LedgerRole::Decision,
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
