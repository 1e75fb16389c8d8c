//! The machine that a run works on, and notes for the operator.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{LedgerRole, is_zero};
use crate::trace::spec::RedactionRule::MapOf;
use crate::trace::spec::SAID_UNITS_MAX;
use crate::trace::spec::{RedactionRule, Spec, Weight, any, is_bad, joined, number, plain, text, texts, warns};
use crate::words::PhaseName;
use crate::words::text::cut;

/// A fact about the machine that was found out, or a note for the operator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostEvent {
    /// The sandbox of commands, as it works on this machine: found by trying it.
    SandboxReport {
        /// The protection that was asked for: `off`, `best` or `required`.
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
    /// The workdir changed while the run stood still: the run waited for its operator, or no process drove it.
    FolderChanged {
        /// The paths that were added, changed or removed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        paths: Vec<String>,
        /// Number of such paths that are not listed.
        #[serde(default, skip_serializing_if = "is_zero")]
        more: u64,
        /// The commit or branch that was checked out when the run stopped; absent if it still is, or if there was no
        /// repository.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head_before: Option<String>,
        /// The commit or branch that is checked out now; absent if that didn't change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head_now: Option<String>,
    },
    /// Something the operator should know.
    Warning {
        /// The note.
        text: String,
    },
    /// Something failed.
    Error {
        /// The error.
        error: String,
        /// The phase it happened in.
        phase: PhaseName,
    },
}

impl HostEvent {
    /// Returns what the event is to the ledger.
    pub(super) fn role(&self) -> LedgerRole<'_> {
        match self {
            Self::SandboxReport { .. } | Self::FolderChanged { .. } => LedgerRole::Fact,
            Self::Warning { .. } | Self::Error { .. } => LedgerRole::Decision,
        }
    }
}

pub(super) static SANDBOX_REPORT: Spec = Spec {
    label: "sandbox",
    weight: Weight::Detail,
    tone: plain,
    fields: &[
        text("mode"),
        texts("held"),
        texts("missing"),
        texts("layers"),
        any("absent").redacted(MapOf(&RedactionRule::Text)),
    ],
    detail: |line| {
        let listed = |name: &str| line.texts(name).join(",");
        let detail = format!("{}  held=[{}]  missing=[{}]", line.word("mode"), listed("held"), listed("missing"));
        format!("{detail}  layers=[{}]", listed("layers"))
    },
};

pub(super) static FOLDER_CHANGED: Spec = Spec {
    label: "changed",
    weight: Weight::Main,
    tone: warns,
    fields: &[
        texts("paths").or_absent().content(),
        number("more").or_absent(),
        text("head_before").or_absent().content(),
        text("head_now").or_absent().content(),
    ],
    detail: |line| {
        let more = line.number("more").map(|count| format!("more={count}")).unwrap_or_default();
        let head = match (line.text("head_before"), line.text("head_now")) {
            (None, None) => String::new(),
            (before, now) => format!("{} -> {}", before.unwrap_or_default(), now.unwrap_or_default()),
        };
        let paths = format!("changed=[{}]", cut(&line.texts("paths").join(","), SAID_UNITS_MAX));
        joined(&[&head, &paths, &more])
    },
};

pub(super) static WARNING: Spec = Spec {
    label: "warning",
    weight: Weight::Main,
    tone: warns,
    fields: &[text("text").content()],
    detail: |line| line.word("text").into_owned(),
};

pub(super) static ERROR: Spec = Spec {
    label: "ERROR",
    weight: Weight::Main,
    tone: is_bad,
    fields: &[text("error").content(), text("phase")],
    detail: |line| format!("phase={}  {}", line.word("phase"), line.word("error")),
};
