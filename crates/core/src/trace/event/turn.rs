//! Turns: what an agent was told and asked, what it replied, and what was read in the reply.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{LedgerRole, is_zero};
use crate::trace::spec::RedactionRule::{MapOf, Plain};
use crate::trace::spec::{
    Field, Spec, Weight, any, flag, is_bad, joined, number, numbers, object, objects, plain, slot, text, texts, typed,
    warns,
};
use crate::words::provider_data::ProviderData;
use crate::words::tool::ToolCall;
use crate::words::{FailureKind, MessageKind, MessageRole, PhaseName, Slot, Stop, Usage};

/// Something was said to an agent, asked of it or read in its reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEvent {
    /// Something was said to the agent; what the agent says is in `agent_reply`.
    Message {
        /// The speaker.
        role: MessageRole,
        /// Purpose of the message.
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
        /// Number of tools that were described.
        tools: u32,
        /// True if no tool could be called, as in every phase except phase 3.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        no_calls: bool,
        /// The agent that was asked, by its place in the run's options: 0 is the run's adapter, and those to fall back
        /// on follow.
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
        /// The reply's text.
        text: String,
        /// The agent's thinking, as far as its provider shows it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        thinking: String,
        /// The calls asked for, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
        /// Data that the provider wants to get back with the reply.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_data: Option<Box<ProviderData>>,
        /// Tokens used, where the provider said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// Reason why the turn ended.
        stop: Stop,
        /// The turn's duration in milliseconds.
        duration_ms: u64,
    },
    /// A turn failed (outcome).
    AgentFailed {
        /// The slot of its request.
        slot: Slot,
        /// Kind of failure.
        kind: FailureKind,
        /// Description of the failure.
        message: String,
        /// The wait that the provider asked for, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
        /// Number of bytes of the reply that had arrived.
        #[serde(default, skip_serializing_if = "is_zero")]
        received: u64,
        /// The most tokens that a reply may have, where the provider said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_max: Option<u32>,
    },
    /// Another agent takes the turns from here on, because the one before could not.
    AgentChanged {
        /// The agent, by its place in the run's options.
        agent: u32,
        /// Its adapter, and its model if one is fixed.
        name: String,
        /// Reason for the change.
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
        /// The detector's findings in the turn.
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
    pub(super) fn role(&self) -> LedgerRole<'_> {
        match self {
            Self::AgentRequest { slot, .. } => LedgerRole::Intent(slot),
            Self::AgentReply { slot, .. } | Self::AgentFailed { slot, .. } => LedgerRole::Outcome(slot),
            Self::Message { .. }
            | Self::AgentChanged { .. }
            | Self::ContextFolded { .. }
            | Self::ContextCut { .. }
            | Self::DetectorFired { .. }
            | Self::TurnRead { .. } => LedgerRole::Decision,
        }
    }
}

pub(super) static MESSAGE: Spec = Spec {
    label: "message",
    weight: Weight::Main,
    tone: plain,
    fields: &[
        typed::<MessageRole>("role"),
        typed::<MessageKind>("kind"),
        typed::<PhaseName>("phase"),
        number("step"),
        text("text").content(),
    ],
    detail: |line| {
        let (role, kind, step) = (line.word("role"), line.word("kind"), line.count("step"));
        format!("{role}/{kind}  step={step}  {}B", line.bytes("text"))
    },
};

pub(super) static AGENT_REQUEST: Spec = Spec {
    label: "agent_req",
    weight: Weight::Detail,
    tone: plain,
    fields: &[
        slot(),
        numbers("messages"),
        number("tools"),
        any("no_calls"),
        number("agent").or_absent(),
        number("input_tokens").or_absent(),
        number("output_max").or_absent(),
        any("hash"),
    ],
    detail: |line| {
        let numbers = line.numbers("messages");
        let (first, last) = (numbers.first().unwrap_or(&0), numbers.last().unwrap_or(&0));
        let agent = line.number("agent").map(|agent| format!("agent={agent}")).unwrap_or_default();
        let input = line.number("input_tokens").map(|tokens| format!("in~{tokens}")).unwrap_or_default();
        let detail = format!("{}  messages={first}-{last}  tools={}", line.word("slot"), line.count("tools"));
        joined(&[&detail, &agent, &input])
    },
};

pub(super) static AGENT_REPLY: Spec = Spec {
    label: "agent_reply",
    weight: Weight::Main,
    tone: plain,
    fields: &[
        slot(),
        text("text").content(),
        text("thinking").or_absent().content(),
        objects("calls", CALL_FIELDS).or_absent(),
        any("provider_data").gone(),
        object("usage", USAGE_FIELDS).or_absent().redacted(MapOf(&Plain)),
        typed::<Stop>("stop"),
        number("duration_ms"),
    ],
    detail: |line| {
        let usage = line.object("usage");
        let tokens =
            |name: &str, word: &str| usage.number(name).map(|count| format!("{word}={count}")).unwrap_or_default();
        let calls = line.objects("calls").len();
        let (slot, stop, text) = (line.word("slot"), line.word("stop"), line.bytes("text"));
        let detail = format!("{slot}  {stop}  {}ms  {text}B  calls={calls}", line.count("duration_ms"));
        joined(&[&detail, &tokens("input_tokens", "in"), &tokens("output_tokens", "out")])
    },
};

pub(super) static AGENT_FAILED: Spec = Spec {
    label: "agent_fail",
    weight: Weight::Main,
    tone: is_bad,
    fields: &[
        slot(),
        typed::<FailureKind>("kind"),
        text("message").content(),
        number("retry_after_ms").or_absent(),
        number("received").or_absent(),
        number("output_max").or_absent(),
    ],
    detail: |line| {
        let after = line.number("retry_after_ms").map(|wait| format!("retry_after={wait}ms")).unwrap_or_default();
        let most = line.number("output_max").map(|most| format!("output_max={most}")).unwrap_or_default();
        joined(&[&line.word("slot"), &line.word("kind"), &after, &most, &line.word("message")])
    },
};

pub(super) static AGENT_CHANGED: Spec = Spec {
    label: "agent_change",
    weight: Weight::Main,
    tone: plain,
    fields: &[number("agent"), text("name"), text("reason").content()],
    detail: |line| format!("{}  {}  ({})", line.count("agent"), line.word("name"), line.word("reason")),
};

pub(super) static CONTEXT_FOLDED: Spec = Spec {
    label: "ctx_fold",
    weight: Weight::Detail,
    tone: plain,
    fields: &[numbers("messages"), number("before"), number("after")],
    detail: |line| {
        let folded = line.numbers("messages").len();
        format!("results={folded}  tokens={}->{}", line.count("before"), line.count("after"))
    },
};

pub(super) static CONTEXT_CUT: Spec = Spec {
    label: "ctx_cut",
    weight: Weight::Detail,
    tone: plain,
    fields: &[number("first"), number("before"), number("after")],
    detail: |line| format!("from={}  tokens={}->{}", line.count("first"), line.count("before"), line.count("after")),
};

pub(super) static DETECTOR_FIRED: Spec = Spec {
    label: "detector",
    weight: Weight::Main,
    tone: warns,
    fields: &[text("detector"), any("payload").whole(), number("turn").or_absent()],
    detail: |line| {
        let said = line.word("detector").into_owned();
        if !line.is_ours {
            return said;
        }
        joined(&[&said, &line.tagged("turn")])
    },
};

pub(super) static TURN_READ: Spec = Spec {
    label: "turn_read",
    weight: Weight::Detail,
    tone: plain,
    fields: &[number("turn"), texts("fired")],
    detail: |line| format!("turn={}  fired=[{}]", line.count("turn"), line.texts("fired").join(",")),
};

/// Fields of a call that an agent asks for.
static CALL_FIELDS: &[Field] = &[
    text("call_id"),
    text("name"),
    any("args").whole(),
    text("malformed").or_absent().content(),
    flag("masked").or_absent(),
    objects("resolved", RESOLVED_FIELDS).or_absent(),
];

/// Fields of a path as it was resolved.
static RESOLVED_FIELDS: &[Field] =
    &[text("path").content(), text("place").content(), text("known_as").or_absent().content()];

/// Fields of the usage.
static USAGE_FIELDS: &[Field] = &[
    number("input_tokens").or_absent(),
    number("cache_read_tokens").or_absent(),
    number("cache_write_tokens").or_absent(),
    number("output_tokens").or_absent(),
    number("reasoning_tokens").or_absent(),
];
