//! The machine that a run works on, and notes for the operator.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{Role, is_zero};
use crate::trace::spec::Rule::MapOf;
use crate::trace::spec::SAID_UNITS_MAX;
use crate::trace::spec::{Rule, Spec, Weight, any, is_bad, joined, number, plain, text, texts, warns};
use crate::words::PhaseName;
use crate::words::text::cut;

/// Something about the machine was found out, or the operator is told something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostEvent {
    /// What the sandbox of commands is worth on this machine: tried, not promised.
    SandboxReport {
        /// How much was to be there: `off`, `best` or `required`.
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
    /// Somebody else changed the workdir while the run stood still: it waited for its operator, or nobody drove it.
    FolderChanged {
        /// The paths that were added, changed or removed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        paths: Vec<String>,
        /// How many there are besides.
        #[serde(default, skip_serializing_if = "is_zero")]
        more: u64,
        /// What was checked out when the run stopped; absent if it still is, or if there was no repository.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head_before: Option<String>,
        /// What is checked out now; absent if nothing changed about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head_now: Option<String>,
    },
    /// Something the operator should know.
    Warning {
        /// What.
        text: String,
    },
    /// Something failed.
    Error {
        /// What.
        error: String,
        /// The phase it happened in.
        phase: PhaseName,
    },
}

impl HostEvent {
    /// Returns what the event is to the ledger.
    pub(super) fn role(&self) -> Role<'_> {
        match self {
            Self::SandboxReport { .. } | Self::FolderChanged { .. } => Role::Fact,
            Self::Warning { .. } | Self::Error { .. } => Role::Decision,
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
        any("absent").redacted(MapOf(&Rule::Text)),
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
