//! Deeds: effects that are no tool calls, each with its intent and its outcome.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{LedgerRole, is_zero};
use crate::trace::read::Fields;
use crate::trace::spec::{Spec, Tone, Weight, any, joined, plain, text, texts};
use crate::words::Slot;
use crate::words::deed::DeedKind;
use crate::words::text::cut;

/// Longest list or text that a line of a table shows, in UTF-16 units.
const SHOWN_UNITS_MAX: usize = 120;

/// An effect that is no tool call began, or came to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeedEvent {
    /// It begins (intent).
    DeedBegin {
        /// The slot that its outcome will name.
        slot: Slot,
        /// Its kind.
        deed: DeedKind,
        /// Its objects: the command of a check, the paths of files, the name under which a tree is kept.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        objects: Vec<String>,
    },
    /// The content of the working tree was identified (outcome).
    TreeKept {
        /// The slot of the deed.
        slot: Slot,
        /// Identity of everything that is or could be committed; absent if it can't be told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
        /// The commit that is checked out; absent without a repository or a commit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<String>,
        /// The ref under which the content is kept; absent if it isn't.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<String>,
        /// The paths that differ from the content that was kept before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<String>,
        /// Number of such paths that are not listed.
        #[serde(default, skip_serializing_if = "is_zero")]
        more: u64,
        /// Declared files that are not there.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        absent: Vec<String>,
        /// The tests, by path, each with a hash of its content.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        tests: BTreeMap<String, String>,
        /// Reason why something of this can't be told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A check was run (outcome).
    CheckRun {
        /// The slot of the deed.
        slot: Slot,
        /// True if it passed.
        passed: bool,
        /// Exit code of the command; absent if it did not end by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// End of its output.
        output: String,
        /// Its duration in milliseconds.
        duration_ms: u64,
    },
    /// Files were written that say how the run stands (outcome).
    FilesWritten {
        /// The slot of the deed.
        slot: Slot,
        /// Reason why they could not be written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

impl DeedEvent {
    /// Returns what the event is to the ledger.
    pub(super) fn role(&self) -> LedgerRole<'_> {
        match self {
            Self::DeedBegin { slot, .. } => LedgerRole::Intent(slot),
            Self::TreeKept { slot, .. } | Self::CheckRun { slot, .. } | Self::FilesWritten { slot, .. } => {
                LedgerRole::Outcome(slot)
            }
        }
    }
}

pub(super) static DEED_BEGIN: Spec = Spec {
    label: "deed",
    weight: Weight::Detail,
    tone: plain,
    fields: &[any("slot"), text("deed"), texts("objects").or_absent().content()],
    detail: |line| {
        let objects = cut(&line.texts("objects").join(", "), SHOWN_UNITS_MAX);
        joined(&[&line.word("slot"), &line.word("deed"), &objects])
    },
};

pub(super) static TREE_KEPT: Spec = Spec {
    label: "tree_kept",
    weight: Weight::Detail,
    tone: warns_of_error,
    fields: &[
        any("slot"),
        text("tree").or_absent(),
        text("head").or_absent(),
        text("kept").or_absent(),
        texts("changed").or_absent().content(),
        any("more"),
        texts("absent").or_absent().content(),
        any("tests").gone(),
        any("error").content(),
    ],
    detail: |line| {
        let tree: String = line.word("tree").chars().take(12).collect();
        let changed = format!("changed={}", line.texts("changed").len() as u64 + line.number("more").unwrap_or(0));
        joined(&[&line.word("slot"), &tree, &changed, &line.word("error")])
    },
};

pub(super) static CHECK_RUN: Spec = Spec {
    label: "check",
    weight: Weight::Main,
    tone: |fields| if fields.flag("passed") { Tone::Good } else { Tone::Warn },
    fields: &[any("slot"), any("passed"), any("exit_code"), any("output").content(), any("duration_ms")],
    detail: |line| {
        let passed = if line.flag("passed") { "passed" } else { "failed" };
        format!("{}  {passed}  {}ms", line.word("slot"), line.count("duration_ms"))
    },
};

pub(super) static FILES_WRITTEN: Spec = Spec {
    label: "files",
    weight: Weight::Detail,
    tone: warns_of_error,
    fields: &[any("slot"), any("error").content()],
    detail: |line| joined(&[&line.word("slot"), &line.word("error")]),
};

fn warns_of_error(fields: &Fields<'_>) -> Tone {
    if fields.text("error").is_some() { Tone::Warn } else { Tone::Plain }
}
