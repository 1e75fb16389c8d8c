//! Parts of a run and the phases of a session: where it stands.

use serde::{Deserialize, Serialize};

use super::{LedgerRole, is_zero};
use crate::trace::spec::{Spec, Weight, joined, number, outcome_tone, plain, text, typed, warns};
use crate::words::id::WorkspaceId;
use crate::words::{HandoffKind, Mode, Outcome, PartKind, PhaseName};

/// A part began or ended, or a session moved to another phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartEvent {
    /// A part began.
    PartStart {
        /// Its kind.
        kind: PartKind,
        /// The handoff that it has to give; absent if it is no piece of a run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        contract: Option<HandoffKind>,
        /// The agent that takes its turns: the place in the run's options.
        #[serde(default, skip_serializing_if = "is_zero")]
        agent: u32,
        /// The workspace in which it and the parts under it work; absent for that of the part around it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<WorkspaceId>,
    },
    /// A part came to its end; nothing under it is open.
    PartEnd {
        /// The part's outcome.
        outcome: Outcome,
    },
    /// A phase was entered.
    PhaseEnter {
        /// The phase.
        phase: PhaseName,
        /// Reason for entering it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A phase was left.
    PhaseExit {
        /// The phase.
        phase: PhaseName,
        /// Its duration, in milliseconds of the journal's clock.
        duration_ms: u64,
        /// The phase that follows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<PhaseName>,
        /// Reason for leaving it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The mode was settled: how far the session goes without asking.
    ModeSet {
        /// The mode from here on.
        mode: Mode,
    },
    /// The agent announced a phase that the session is not in.
    PhaseDrift {
        /// The turn.
        turn: u32,
        /// The phase that it announced.
        declared: PhaseName,
        /// The phase that the session is in.
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
    pub(super) fn role(&self) -> LedgerRole<'_> {
        match self {
            Self::PartStart { .. }
            | Self::PartEnd { .. }
            | Self::PhaseEnter { .. }
            | Self::PhaseExit { .. }
            | Self::ModeSet { .. }
            | Self::PhaseDrift { .. }
            | Self::DeadlinePassed { .. } => LedgerRole::Decision,
        }
    }
}

pub(super) static PART_START: Spec = Spec {
    label: "part_start",
    weight: Weight::Turning,
    tone: plain,
    fields: &[
        text("kind"),
        typed::<HandoffKind>("contract").or_absent(),
        number("agent").or_absent(),
        text("workspace").or_absent(),
    ],
    detail: |line| {
        let contract = line.text("contract").map(|contract| format!("contract={contract}")).unwrap_or_default();
        joined(&[&line.word("kind"), &contract, &line.tagged("agent"), &line.tagged("workspace")])
    },
};

pub(super) static PART_END: Spec = Spec {
    label: "part_end",
    weight: Weight::Turning,
    tone: outcome_tone,
    fields: &[typed::<Outcome>("outcome")],
    detail: |line| line.word("outcome").into_owned(),
};

pub(super) static PHASE_ENTER: Spec = Spec {
    label: "phase_enter",
    weight: Weight::Turning,
    tone: plain,
    fields: &[text("phase"), text("reason").or_absent().content()],
    detail: |line| {
        let said = line.word("phase").into_owned();
        if !line.is_ours {
            return said;
        }
        joined(&[&said, &line.reason()])
    },
};

pub(super) static PHASE_EXIT: Spec = Spec {
    label: "phase_exit",
    weight: Weight::Detail,
    tone: plain,
    fields: &[text("phase"), number("duration_ms"), text("to").or_absent(), text("reason").or_absent().content()],
    detail: |line| {
        let said = format!("{}  ({}ms)", line.word("phase"), line.count("duration_ms"));
        if !line.is_ours {
            return said;
        }
        let to = line.text("to").map(|to| format!("-> {to}")).unwrap_or_default();
        joined(&[&said, &to, &line.reason()])
    },
};

pub(super) static MODE_SET: Spec = Spec {
    label: "mode_set",
    weight: Weight::Detail,
    tone: plain,
    fields: &[typed::<Mode>("mode")],
    detail: |line| line.word("mode").into_owned(),
};

pub(super) static PHASE_DRIFT: Spec = Spec {
    label: "phase_drift",
    weight: Weight::Main,
    tone: warns,
    fields: &[number("turn"), typed::<PhaseName>("declared"), typed::<PhaseName>("phase")],
    detail: |line| {
        format!("turn={}  declared={}  phase={}", line.count("turn"), line.word("declared"), line.word("phase"))
    },
};

pub(super) static DEADLINE_PASSED: Spec = Spec {
    label: "deadline",
    weight: Weight::Main,
    tone: warns,
    fields: &[text("deadline")],
    detail: |line| line.word("deadline").into_owned(),
};
