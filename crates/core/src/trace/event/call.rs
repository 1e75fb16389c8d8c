//! Tool calls: what began, what was kept before it, and what came back.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Role, is_zero};
use crate::procedure::Slot;
use crate::tool::{FileChange, FileSeen};
use crate::words::{Effect, Rejection, RescueKind};

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
        /// What it will make of files.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<FileChange>,
        /// Whether a command that it runs may use the network.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        network: bool,
    },
    /// What the next call may destroy was kept beforehand. It says nothing of whether the call was made.
    RescueMade {
        /// The slot of the call.
        slot: Slot,
        /// Where most of it is: `git`, `copy`, or `none` if nothing could be kept.
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
        /// How many files and links were kept.
        files: u64,
        /// How many bytes they have.
        bytes: u64,
        /// How many files and folders were not kept, because of a limit or because they can't be read.
        #[serde(default, skip_serializing_if = "is_zero")]
        left_out: u64,
        /// Why nothing could be kept; then the call is not made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A call ended (outcome).
    ToolResult {
        /// The slot of the call.
        slot: Slot,
        /// The agent's own name for it.
        call_id: String,
        /// Whether it did what it was asked to.
        success: bool,
        /// How long it took.
        duration_ms: u64,
        /// The bytes of the content.
        bytes: u64,
        /// What the agent is told; absent where `artifact` holds it.
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
        /// Whether this was found out by looking at the files after an interruption.
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
        /// `operator_signal`, `timeout`, `runtime_shutdown`, or `limit` for the run's limit of minutes.
        cancellation_source: String,
        /// What it had said until then.
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
        /// Why.
        rejection: Rejection,
        /// What the agent is told.
        content: String,
    },
    /// Whether something was still going on when its driver died (outcome).
    Interrupted {
        /// The slot of the request or call.
        slot: Slot,
        /// What is known of its effect.
        effect: Effect,
    },
}

impl CallEvent {
    /// Returns what the event is to the ledger.
    pub(super) fn role(&self) -> Role<'_> {
        match self {
            Self::ToolCall { slot, .. } => Role::Intent(slot),
            Self::ToolResult { slot, .. } | Self::ToolCancelled { slot, .. } | Self::Interrupted { slot, .. } => {
                Role::Outcome(slot)
            }
            Self::ToolRejected { .. } => Role::Decision,
            Self::RescueMade { .. } => Role::Fact,
        }
    }
}
