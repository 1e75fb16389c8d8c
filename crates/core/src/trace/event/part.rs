//! Parts of a run and the phases of a session: where it stands.

use super::Role;
use crate::session::Mode;
use crate::words::{Outcome, PhaseName};
use serde::{Deserialize, Serialize};

/// A part began or ended, or a session moved to another phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartEvent {
    /// A part began.
    PartStart {
        /// What it is: `session`, later `crew`, `stage`, `iteration`.
        kind: String,
    },
    /// A part came to its end; nothing under it is open.
    PartEnd {
        /// How.
        outcome: Outcome,
    },
    /// A phase was entered.
    PhaseEnter {
        /// Which.
        phase: PhaseName,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A phase was left.
    PhaseExit {
        /// Which.
        phase: PhaseName,
        /// How long it lasted, in milliseconds of the journal's clock.
        duration_ms: u64,
        /// Where to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<PhaseName>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Who decides how far the session goes alone was settled.
    ModeSet {
        /// The mode from here on.
        mode: Mode,
    },
    /// The agent announced a phase that the session is not in.
    PhaseDrift {
        /// The turn.
        turn: u32,
        /// What it announced.
        declared: PhaseName,
        /// Where the session stands.
        phase: PhaseName,
    },
    /// The brief's deadline passed while the session worked.
    DeadlinePassed {
        /// The deadline as the brief has it.
        deadline: String,
    },
}

impl PartEvent {
    /// Returns what the event is to the ledger.
    pub(super) fn role(&self) -> Role<'_> {
        match self {
            Self::PartStart { .. }
            | Self::PartEnd { .. }
            | Self::PhaseEnter { .. }
            | Self::PhaseExit { .. }
            | Self::ModeSet { .. }
            | Self::PhaseDrift { .. }
            | Self::DeadlinePassed { .. } => Role::Decision,
        }
    }
}
