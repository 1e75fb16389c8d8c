//! Limits: most of one is used, or one is reached.

use serde::{Deserialize, Serialize};

use super::LedgerRole;
use crate::trace::spec::{Field, RecordedEvent, Spec, Weight, is_bad, number, text, warns};
use crate::words::{LimitMetric, PhaseName};

/// A limit is nearly or wholly used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetEvent {
    /// Most of a limit is used.
    BudgetWarn {
        /// The limit's name, as in `budget_halt`.
        metric: LimitMetric,
        /// The amount used.
        used: u64,
        /// The limit itself.
        limit: u64,
        /// The role whose own limit it is; absent for the run's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<String>,
        /// The phase whose own limit it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<PhaseName>,
        /// The project from whose learned profile the limit comes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        learned: Option<String>,
    },
    /// A limit was reached.
    BudgetHalt {
        /// The limit's name: `steps`, `turns`, `wall_clock_ms`, `tokens`, `nano_dollars` or `tool_calls`.
        metric: LimitMetric,
        /// The amount used.
        used: u64,
        /// The limit itself.
        limit: u64,
        /// The role whose own limit it is; absent for the run's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<String>,
        /// The phase whose own limit it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<PhaseName>,
        /// The project from whose learned profile the limit comes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        learned: Option<String>,
    },
}

impl BudgetEvent {
    /// Returns what the event is to the ledger.
    pub(super) fn role(&self) -> LedgerRole<'_> {
        match self {
            Self::BudgetWarn { .. } | Self::BudgetHalt { .. } => LedgerRole::Decision,
        }
    }
}

pub(super) static BUDGET_WARN: Spec =
    Spec { label: "budget_warn", weight: Weight::Main, tone: warns, fields: FIELDS, detail: used };

pub(super) static BUDGET_HALT: Spec =
    Spec { label: "budget_halt", weight: Weight::Main, tone: is_bad, fields: FIELDS, detail: used };

static FIELDS: &[Field] = &[
    text("metric"),
    number("used"),
    number("limit"),
    text("role").or_absent(),
    text("phase").or_absent(),
    text("learned").or_absent(),
];

fn used(line: &RecordedEvent<'_>) -> String {
    let tagged = |name: &str| line.text(name).map(|said| format!("  {name}={said}")).unwrap_or_default();
    let (role, phase, learned) = (tagged("role"), tagged("phase"), tagged("learned"));
    format!("{}={}/{}{role}{phase}{learned}", line.word("metric"), line.count("used"), line.count("limit"))
}
