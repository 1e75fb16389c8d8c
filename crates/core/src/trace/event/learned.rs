//! The learned profile and the memory of a project, as a run takes them over from earlier runs.

use serde::{Deserialize, Serialize};

use super::{LedgerRole, is_zero};
use crate::memory::{Contradiction, Record};
use crate::trace::spec::RedactionRule::{MapOf, Objects, Plain};
use crate::trace::spec::{Field, Spec, Weight, any, flag, joined, number, object, plain, text, typed};
use crate::words::{Applied, LimitSource, PhaseName};

/// Something learned from earlier runs was taken over or used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LearnedEvent {
    /// The run took over the learned profile that its brief names. The options hold the profile's values in full.
    LearnedProfileApplied {
        /// The project whose profile it is.
        slug: String,
        /// The version of the profile's format.
        schema_version: u64,
        /// The counts of what applies: detectors not at their default, phases with a budget, dead tools.
        applied: Applied,
    },
    /// A phase was entered, and this is how many tools may be called in it.
    LearnedBudgetConsulted {
        /// The phase.
        phase: PhaseName,
        /// The profile's limit for the phase, or for the session's role; 0 for no limit.
        recommended: u64,
        /// The limit in force, with what the operator added; 0 for no limit.
        active: u64,
        /// Source of the limit in force.
        source: LimitSource,
    },
    /// A detector that is not at its default read a turn.
    LearnedSensitivityConsulted {
        /// Its name.
        detector: String,
        /// Its sensitivity.
        sensitivity: String,
        /// True if it fired.
        fired: bool,
        /// True if it was not run at all.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        bypassed: bool,
        /// The turn that was read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u32>,
    },
    /// The run took over its project's memory, which is shown after the standing orders.
    MemoryInherited {
        /// The project.
        project: String,
        /// The entries as they are shown, category by category, newest first.
        records: Vec<Record>,
        /// Number of live entries that are not shown.
        #[serde(default, skip_serializing_if = "is_zero")]
        left_out: u64,
        /// The contradictions among them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        contradictions: Vec<Contradiction>,
    },
}

impl LearnedEvent {
    /// Returns what the event is to the ledger.
    pub(super) fn role(&self) -> LedgerRole<'_> {
        match self {
            Self::LearnedProfileApplied { .. } | Self::MemoryInherited { .. } => LedgerRole::Fact,
            Self::LearnedBudgetConsulted { .. } | Self::LearnedSensitivityConsulted { .. } => LedgerRole::Decision,
        }
    }
}

pub(super) static LEARNED_PROFILE_APPLIED: Spec = Spec {
    label: "learn_apply",
    weight: Weight::Detail,
    tone: plain,
    fields: &[text("slug"), number("schema_version"), object("applied", APPLIED_FIELDS).redacted(MapOf(&Plain))],
    detail: |line| {
        let applied = line.object("applied");
        let counts = format!(
            "detectors={} budgets={} dead={}",
            applied.count("detectors"),
            applied.count("phase_budgets"),
            applied.count("tool_callouts")
        );
        format!("slug={}  schema={}  {counts}", line.word("slug"), line.count("schema_version"))
    },
};

pub(super) static LEARNED_BUDGET_CONSULTED: Spec = Spec {
    label: "learn_budg",
    weight: Weight::Detail,
    tone: plain,
    fields: &[text("phase"), number("recommended"), number("active"), text("source")],
    detail: |line| {
        let (phase, source) = (line.word("phase"), line.word("source"));
        format!("{phase}  recommended={} active={} ({source})", line.count("recommended"), line.count("active"))
    },
};

pub(super) static LEARNED_SENSITIVITY_CONSULTED: Spec = Spec {
    label: "learn_sens",
    weight: Weight::Detail,
    tone: plain,
    fields: &[
        text("detector"),
        text("sensitivity"),
        flag("fired"),
        flag("bypassed").or_absent(),
        number("turn").or_absent(),
    ],
    detail: |line| {
        let said = format!("{}={}  fired={}", line.word("detector"), line.word("sensitivity"), line.flag("fired"));
        if !line.is_ours {
            return said;
        }
        joined(&[&said, if line.flag("bypassed") { "bypassed" } else { "" }, &line.tagged("turn")])
    },
};

pub(super) static MEMORY_INHERITED: Spec = Spec {
    label: "memory",
    weight: Weight::Detail,
    tone: plain,
    fields: &[
        text("project"),
        typed::<Vec<Record>>("records").redacted(Objects(RECORD_FIELDS)),
        number("left_out").or_absent(),
        typed::<Vec<Contradiction>>("contradictions").or_absent().redacted(Objects(CONTRADICTION_FIELDS)),
    ],
    detail: |line| {
        let (records, found) = (line.objects("records").len(), line.objects("contradictions").len());
        let detail = format!("{}  entries={records}  left_out={}", line.word("project"), line.count("left_out"));
        format!("{detail}  contradictions={found}")
    },
};

/// Fields of an entry of the memory.
static RECORD_FIELDS: &[Field] = &[
    any("id"),
    any("at"),
    any("category"),
    any("brief_id"),
    any("supersedes"),
    any("superseded_by"),
    any("summary").content(),
    any("rationale").content(),
    any("content").content(),
    any("rule").content(),
];

/// Fields of a contradiction.
static CONTRADICTION_FIELDS: &[Field] = &[any("newer"), any("older"), any("rule")];

/// Fields of how much of a profile holds.
static APPLIED_FIELDS: &[Field] = &[number("detectors"), number("phase_budgets"), number("tool_callouts")];
