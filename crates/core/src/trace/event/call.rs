//! Tool calls: what began, what was kept before it, and what came back.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{LedgerRole, is_zero};
use crate::trace::read::Fields;
use crate::trace::spec::RedactionRule::{MapOf, Objects, Plain};
use crate::trace::spec::{
    Field, Spec, Tone, Weight, any, flag, is_bad, joined, number, object, ok, plain, slot, text, typed, warns,
};
use crate::words::id::WorkspaceId;
use crate::words::tool::{FileChange, FileSeen};
use crate::words::{CancelledBy, InterruptedEffect, Rejection, RescueKind, Slot};

/// A tool call began, ended, or was answered without being carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallEvent {
    /// A call began (intent).
    ToolCall {
        /// The slot that its outcome will name.
        slot: Slot,
        /// The agent's own name for it.
        call_id: String,
        /// The tool.
        name: String,
        /// The arguments.
        args: Value,
        /// `allow`: a call that is not allowed never begins.
        auth_decision: String,
        /// The changes to files that it would make.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<FileChange>,
        /// True if a command that it runs may use the network.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        network: bool,
        /// The workspace in which it is made; absent for the run's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<WorkspaceId>,
    },
    /// Copies were made of the files that the next call may destroy. This doesn't say that the call was made.
    RescueMade {
        /// The slot of the call.
        slot: Slot,
        /// The place of most of them: `git`, `copy`, or `none` if nothing could be kept.
        kind: RescueKind,
        /// The name by which `adjutant undo` finds it; absent if there is nothing to find.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rescue: Option<String>,
        /// The ref of the repository that holds it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reference: Option<String>,
        /// The folder with the copies, and with the list of all that was kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// Number of files and links that were kept.
        files: u64,
        /// Their size in bytes.
        bytes: u64,
        /// Number of files and folders that were not kept, because of a limit or because they can't be read.
        #[serde(default, skip_serializing_if = "is_zero")]
        left_out: u64,
        /// Reason why nothing could be kept; then the call is not made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A call ended (outcome).
    ToolResult {
        /// The slot of the call.
        slot: Slot,
        /// The agent's own name for it.
        call_id: String,
        /// True if the call did what it was asked to do.
        success: bool,
        /// Its duration in milliseconds.
        duration_ms: u64,
        /// The bytes of the content.
        bytes: u64,
        /// The text for the agent; absent where `artifact` holds it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// The hash of a content too large for a line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        artifact: Option<String>,
        /// A stable name for what went wrong.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// The exit status of a process.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// True if the result was found by looking at the files after an interruption.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        settled: bool,
        /// The file that was read, as it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<Box<FileSeen>>,
    },
    /// A call was cancelled (outcome).
    ToolCancelled {
        /// The slot of the call.
        slot: Slot,
        /// The agent's own name for it.
        call_id: String,
        /// The tool.
        tool_name: String,
        /// The cause.
        cancellation_source: CancelledBy,
        /// Its output until then.
        partial_output: String,
    },
    /// A call got its answer without being carried out.
    ToolRejected {
        /// The call's number in its part.
        call: u32,
        /// The agent's own name for it.
        call_id: String,
        /// The tool.
        name: String,
        /// Reason for the rejection.
        rejection: Rejection,
        /// The text for the agent.
        content: String,
    },
    /// A request or call was still going on when its driver died (outcome).
    Interrupted {
        /// The slot of the request or call.
        slot: Slot,
        /// Its effect, as far as that is known.
        effect: InterruptedEffect,
    },
}

impl CallEvent {
    /// Returns what the event is to the ledger.
    pub(super) fn role(&self) -> LedgerRole<'_> {
        match self {
            Self::ToolCall { slot, .. } => LedgerRole::Intent(slot),
            Self::ToolResult { slot, .. } | Self::ToolCancelled { slot, .. } | Self::Interrupted { slot, .. } => {
                LedgerRole::Outcome(slot)
            }
            Self::ToolRejected { .. } => LedgerRole::Decision,
            Self::RescueMade { .. } => LedgerRole::Fact,
        }
    }
}

pub(super) static TOOL_CALL: Spec = Spec {
    label: "tool_call",
    weight: Weight::Main,
    tone: plain,
    fields: &[
        slot().or_absent(),
        text("call_id"),
        text("name"),
        any("args").whole(),
        text("auth_decision"),
        any("changes").redacted(Objects(CHANGE_FIELDS)),
        any("network"),
        text("workspace").or_absent(),
    ],
    detail: |line| {
        let said = format!("{}  ({})", line.word("name"), line.word("auth_decision"));
        if !line.is_ours {
            return said;
        }
        joined(&[&said, &line.word("slot"), &format!("call={}", line.word("call_id"))])
    },
};

pub(super) static RESCUE_MADE: Spec = Spec {
    label: "rescue",
    weight: Weight::Detail,
    tone: plain,
    fields: &[
        slot(),
        typed::<RescueKind>("kind"),
        text("rescue").or_absent(),
        text("reference").or_absent(),
        text("path").or_absent().content(),
        number("files"),
        number("bytes"),
        number("left_out").or_absent(),
        text("error").or_absent().content(),
    ],
    detail: |line| {
        let left_out = line.number("left_out").map(|count| format!("left_out={count}")).unwrap_or_default();
        let detail = format!(
            "{}  {}  files={} {}B",
            line.word("slot"),
            line.word("kind"),
            line.count("files"),
            line.count("bytes")
        );
        joined(&[&detail, &line.word("rescue"), &left_out, &line.word("error")])
    },
};

pub(super) static TOOL_RESULT: Spec = Spec {
    label: "tool_result",
    weight: Weight::Main,
    tone: result_tone,
    fields: &[
        slot().or_absent(),
        text("call_id"),
        flag("success"),
        number("duration_ms"),
        number("bytes"),
        text("content").or_absent().content(),
        text("artifact").or_absent(),
        text("code").or_absent(),
        any("exit_code"),
        flag("settled").or_absent(),
        object("seen", SEEN_FIELDS).or_absent(),
    ],
    detail: |line| {
        let (call, word) = (line.word("call_id"), ok(line.flag("success")));
        let said = format!("call={call}  {word}  {}ms  {}B", line.count("duration_ms"), line.count("bytes"));
        if !line.is_ours {
            return said;
        }
        let settled = if line.flag("settled") { "settled" } else { "" };
        joined(&[&said, &line.word("slot"), &line.word("code"), settled])
    },
};

pub(super) static TOOL_CANCELLED: Spec = Spec {
    label: "tool_cancel",
    weight: Weight::Main,
    tone: warns,
    fields: &[
        slot().or_absent(),
        text("call_id"),
        text("tool_name"),
        text("cancellation_source"),
        text("partial_output").content(),
    ],
    detail: |line| {
        let (tool, call, source) = (line.word("tool_name"), line.word("call_id"), line.word("cancellation_source"));
        let bytes = line.bytes("partial_output");
        let said = format!("{tool}  call={call}  source={source}  partial_bytes={bytes}");
        if !line.is_ours {
            return said;
        }
        joined(&[&said, &line.word("slot")])
    },
};

pub(super) static TOOL_REJECTED: Spec = Spec {
    label: "tool_reject",
    weight: Weight::Main,
    tone: is_bad,
    fields: &[
        number("call"),
        text("call_id"),
        text("name"),
        typed::<Rejection>("rejection"),
        text("content").content(),
    ],
    detail: |line| {
        let (name, call, rejection) = (line.word("name"), line.word("call_id"), line.word("rejection"));
        format!("{name}  {rejection}  call/{}  call={call}", line.count("call"))
    },
};

pub(super) static INTERRUPTED: Spec = Spec {
    label: "interrupted",
    weight: Weight::Main,
    tone: warns,
    fields: &[slot(), typed::<InterruptedEffect>("effect")],
    detail: |line| format!("{}  effect={}", line.word("slot"), line.word("effect")),
};

/// Fields of a change. The hashes of whole files go too when redacted: a guess at a short file could be checked by its
/// hash.
static CHANGE_FIELDS: &[Field] = &[any("path").content(), any("before").content(), any("after").content()];

/// Fields of a file as it was read.
static SEEN_FIELDS: &[Field] = &[
    text("path").content(),
    text("hash"),
    number("replaced").or_absent(),
    object("part", SEEN_PART_FIELDS).or_absent().redacted(MapOf(&Plain)),
];

/// Fields of the lines that were read of a file.
static SEEN_PART_FIELDS: &[Field] = &[number("first"), number("last"), number("lines")];

fn result_tone(fields: &Fields<'_>) -> Tone {
    if fields.flag("success") { Tone::Good } else { Tone::Bad }
}
