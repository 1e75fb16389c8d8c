//! Loops: the evidence for completion, the votes on it, and how each round was closed.

use serde::{Deserialize, Serialize};

use super::{LedgerRole, is_zero};
use crate::trace::spec::{
    Field, RedactionRule, SAID_UNITS_MAX, Spec, Tone, Weight, any, flag, joined, number, text, texts,
};
use crate::words::text::cut;

/// A round of a loop was judged and closed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopEvent {
    /// The evidence for completion was gathered.
    Evidence {
        /// The iteration after which it was.
        iteration: u32,
        /// Identity of the files that it holds for: with the next edit it is stale.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
        /// The checks of the brief, in its order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        checks: Vec<EvidenceCheck>,
        /// The gate that refuses completion; absent if none does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused_by: Option<String>,
        /// Reasons for that, one line each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reasons: Vec<String>,
    },
    /// A council voted on completion.
    CouncilVerdict {
        /// The iteration after which it did.
        iteration: u32,
        /// Number of votes for completion that count.
        approve: u32,
        /// Number of votes against it.
        reject: u32,
        /// Number of votes that are needed.
        threshold: u32,
        /// True if completion is approved.
        is_approved: bool,
        /// The votes, in the order of the voters.
        votes: Vec<VoteCast>,
    },
    /// A round was closed.
    RoundClosed {
        /// Its number.
        round: u32,
        /// True if an agent worked.
        has_worked: bool,
        /// Identity of the files after it; absent if it isn't known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
        /// Number of files that differ from the round before.
        #[serde(default, skip_serializing_if = "is_zero")]
        files_changed: u64,
        /// True if the agent said that the goal is reached.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_claimed: bool,
        /// True if a person did something since the round before.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_human: bool,
        /// What was decided: `go_on`, `escalate`, `skipped`, `stalled` or `completed`.
        answer: String,
        /// The values of the stuck signals after it; absent where escalation is switched off.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signals: Option<StuckValues>,
    },
    /// Completion was verified, and this is what it rests on. Whoever has the repository can verify it later.
    EvidenceReceipt {
        /// The iteration after which it was.
        iteration: u32,
        /// Identity of the files.
        tree: String,
        /// The commit that was checked out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<String>,
        /// The ref under which the content is kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<String>,
        /// The checks that passed on them.
        checks: Vec<String>,
        /// Number of votes for completion; absent without a council.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approve: Option<u32>,
        /// BLAKE3 of all of the above, in hexadecimal.
        hash: String,
    },
}

/// A check of the brief as it came out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceCheck {
    /// The command line.
    pub command: String,
    /// True if it passed.
    pub passed: bool,
    /// Exit code; absent if it did not end by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}

/// A vote on completion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoteCast {
    /// The voter's role in the council.
    pub voter: String,
    /// True if it approves, false if it rejects; absent if it gave no judgement, which counts as a rejection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approves: Option<bool>,
    /// Its reason.
    pub reason: String,
}

/// The values of the stuck signals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StuckValues {
    /// True if the files have stayed as they are.
    pub no_change: bool,
    /// True if they came back to a state that they had before.
    pub revisit: bool,
    /// True if completion was refused again and again.
    pub refused: bool,
    /// Number of rounds since the files changed last.
    pub rounds_unchanged: u32,
    /// Number of rounds in a row in which two signals held.
    pub streak: u32,
}

impl LoopEvent {
    /// Returns what the event is to the ledger.
    pub(super) fn role(&self) -> LedgerRole<'_> {
        match self {
            Self::Evidence { .. }
            | Self::CouncilVerdict { .. }
            | Self::RoundClosed { .. }
            | Self::EvidenceReceipt { .. } => LedgerRole::Decision,
        }
    }
}

pub(super) static EVIDENCE: Spec = Spec {
    label: "evidence",
    weight: Weight::Main,
    tone: |fields| if fields.text("refused_by").is_some() { Tone::Warn } else { Tone::Good },
    fields: &[
        number("iteration"),
        text("tree").or_absent(),
        any("checks").redacted(RedactionRule::Objects(CHECK_FIELDS)),
        text("refused_by").or_absent().content(),
        texts("reasons").or_absent().content(),
    ],
    detail: |line| match line.text("refused_by") {
        None => "complete".to_owned(),
        Some(gate) => joined(&[&format!("refused by {gate}"), &cut(&line.texts("reasons").join("; "), SAID_UNITS_MAX)]),
    },
};

pub(super) static COUNCIL_VERDICT: Spec = Spec {
    label: "council",
    weight: Weight::Main,
    tone: |fields| if fields.flag("is_approved") { Tone::Good } else { Tone::Warn },
    fields: &[
        number("iteration"),
        number("approve"),
        number("reject"),
        number("threshold"),
        flag("is_approved"),
        any("votes").redacted(RedactionRule::Objects(VOTE_FIELDS)),
    ],
    detail: |line| {
        let verdict = if line.flag("is_approved") { "approved" } else { "refused" };
        let (approve, reject, threshold) = (line.count("approve"), line.count("reject"), line.count("threshold"));
        format!("{verdict}  {approve} for, {reject} against, {threshold} needed")
    },
};

pub(super) static ROUND_CLOSED: Spec = Spec {
    label: "round",
    weight: Weight::Main,
    tone: |fields| match fields.word("answer").as_ref() {
        "completed" => Tone::Good,
        "go_on" | "skipped" => Tone::Plain,
        _ => Tone::Warn,
    },
    fields: &[
        number("round"),
        any("has_worked"),
        text("tree").or_absent(),
        any("files_changed"),
        any("is_claimed"),
        any("by_human"),
        text("answer"),
        any("signals").redacted(RedactionRule::Object(SIGNAL_FIELDS)),
    ],
    detail: |line| {
        let changed = format!("changed={}", line.number("files_changed").unwrap_or(0));
        joined(&[&line.count("round").to_string(), &line.word("answer"), &changed])
    },
};

pub(super) static EVIDENCE_RECEIPT: Spec = Spec {
    label: "receipt",
    weight: Weight::Main,
    tone: |_| Tone::Good,
    fields: &[
        number("iteration"),
        text("tree"),
        text("head").or_absent(),
        text("kept").or_absent(),
        texts("checks").content(),
        any("approve"),
        text("hash"),
    ],
    detail: |line| {
        let tree: String = line.word("tree").chars().take(12).collect();
        format!("tree={tree}  {} checks passed", line.texts("checks").len())
    },
};

static CHECK_FIELDS: &[Field] = &[text("command").content(), any("passed"), any("exit_code")];

static SIGNAL_FIELDS: &[Field] =
    &[any("no_change"), any("revisit"), any("refused"), any("rounds_unchanged"), any("streak")];

static VOTE_FIELDS: &[Field] = &[any("voter"), any("approves"), text("reason").content()];
