//! Turns: what an agent was told and asked, what it replied, and what was read in the reply.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Call, Role, is_zero};
use crate::procedure::Slot;
use crate::provider_data::ProviderData;
use crate::words::{FailureKind, MessageKind, MessageRole, PhaseName, Stop, Usage};

/// Something was said to an agent, asked of it or read in its reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEvent {
    /// Something was said to the agent; what the agent says is in `agent_reply`.
    Message {
        /// Who speaks.
        role: MessageRole,
        /// What it is for.
        kind: MessageKind,
        /// The phase it was said in.
        phase: PhaseName,
        /// The step it belongs to, from 1; 0 before the first.
        step: u32,
        /// The text.
        text: String,
    },
    /// A turn was asked for (intent).
    AgentRequest {
        /// The slot that its outcome will name.
        slot: Slot,
        /// The messages sent, as the first and last number in the part's transcript.
        messages: (u32, u32),
        /// How many tools were described.
        tools: u32,
        /// Whether none of them could be called, as in every phase but the one of the work.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        no_calls: bool,
        /// Who was asked: the place in the run's options, where 0 is the adapter of the run and what follows are
        /// those to fall back on.
        #[serde(default, skip_serializing_if = "is_zero")]
        agent: u32,
        /// About how many tokens were sent.
        #[serde(default, skip_serializing_if = "is_zero")]
        input_tokens: u64,
        /// The most tokens that the reply was allowed.
        #[serde(default, skip_serializing_if = "is_zero")]
        output_max: u32,
        /// The short hash of what was sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hash: Option<String>,
    },
    /// A turn was taken (outcome).
    AgentReply {
        /// The slot of its request.
        slot: Slot,
        /// What was said.
        text: String,
        /// What the agent thought, as far as its provider shows it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        thinking: String,
        /// The calls asked for, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<Call>,
        /// What the provider wants to be given back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_data: Option<Box<ProviderData>>,
        /// What it cost, where the provider said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// Why the turn ended.
        stop: Stop,
        /// How long it took.
        duration_ms: u64,
    },
    /// A turn failed (outcome).
    AgentFailed {
        /// The slot of its request.
        slot: Slot,
        /// What kind of failure.
        kind: FailureKind,
        /// What happened.
        message: String,
        /// How long the provider asked to wait, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
        /// How many bytes of the reply had arrived.
        #[serde(default, skip_serializing_if = "is_zero")]
        received: u64,
        /// The most tokens that a reply may have, where the provider said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_max: Option<u32>,
    },
    /// Another agent takes the turns from here on, because the one before could not.
    AgentChanged {
        /// Who: the place in the run's options.
        agent: u32,
        /// Its adapter, and its model if one is fixed.
        name: String,
        /// Why.
        reason: String,
    },
    /// The results of old calls are no longer sent, to make room in the agent's window. The journal keeps them.
    ContextFolded {
        /// Their numbers in the part's transcript.
        messages: Vec<u32>,
        /// About how many tokens a request had before.
        before: u64,
        /// About how many it has now.
        after: u64,
    },
    /// Old messages are no longer sent, to make room in the agent's window. The journal keeps them, and a message
    /// of the kind `runtime_state` follows, which says what must not be lost of them.
    ContextCut {
        /// The first message that is still sent besides the standing orders.
        first: u32,
        /// About how many tokens a request had before.
        before: u64,
        /// About how many it has now, that message not counted.
        after: u64,
    },
    /// A detector fired.
    DetectorFired {
        /// Its name.
        detector: String,
        /// What it saw.
        payload: Value,
        /// The turn that was read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u32>,
    },
    /// All detectors have read a turn.
    TurnRead {
        /// The turn.
        turn: u32,
        /// The detectors that fired, in reading order.
        fired: Vec<String>,
    },
}

impl TurnEvent {
    /// Returns what the event is to the ledger.
    pub(super) fn role(&self) -> Role<'_> {
        match self {
            Self::AgentRequest { slot, .. } => Role::Intent(slot),
            Self::AgentReply { slot, .. } | Self::AgentFailed { slot, .. } => Role::Outcome(slot),
            Self::Message { .. }
            | Self::AgentChanged { .. }
            | Self::ContextFolded { .. }
            | Self::ContextCut { .. }
            | Self::DetectorFired { .. }
            | Self::TurnRead { .. } => Role::Decision,
        }
    }
}
