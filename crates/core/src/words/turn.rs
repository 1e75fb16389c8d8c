//! Names for what is said to an agent and for how its turn ends.

use serde::{Deserialize, Serialize};

/// The speaker of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// The standing orders.
    System,
    /// The runtime or the operator.
    User,
}

/// The purpose of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// The standing orders.
    StandingOrders,
    /// The brief, and the request for a confirmation summary.
    Intake,
    /// A second request for a confirmation summary.
    Nudge,
    /// The operator's changes to the summary.
    Correction,
    /// The summary is accepted: begin.
    KickOff,
    /// Go on.
    Continue,
    /// The operator's words between steps.
    Redirect,
    /// The operator's words without a question.
    Steer,
    /// Permission for the announced act.
    Approval,
    /// Refusal of the announced act.
    Denial,
    /// The operator's help for a blocked session, so that it can go on.
    Context,
    /// A replacement for messages that are no longer sent: brief, confirmed summary, the operator's words.
    RuntimeState,
    /// The faults in a handoff.
    Handoff,
    /// The checks that failed after the agent said that all is done.
    Evidence,
    /// The request for the final report.
    Report,
}

/// The reason why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The agent had said what it wanted to say.
    EndTurn,
    /// The agent waits for its tool calls.
    ToolUse,
    /// The reply was cut at the length limit.
    MaxTokens,
    /// The model refused.
    Refusal,
}

/// The kind of failure that a turn ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Another attempt may work: a broken stream, a time limit, a mishap at the provider.
    Transient,
    /// The reply came and is thrown away: it can't be read, or asks for more than is taken. Another attempt may work,
    /// and costs as much.
    Unreadable,
    /// The provider was not reached, so that nothing can have come of the request.
    Unreached,
    /// The provider has no room now: a rate limit or overload. Never a sign that the agent is stuck.
    Busy,
    /// The request is longer than the model's window: a shorter one may work.
    TooLong,
    /// The request asks for a longer reply than the model gives: one that asks for less may work.
    ReplyTooLong,
    /// The provider rejects the request and says nothing known of why: if it is a long one, a shorter one may
    /// work.
    Rejected,
    /// Another attempt will not work: a missing key, an unknown model, a malformed script.
    Permanent,
    /// The turn was cancelled.
    Cancelled,
}

/// Tokens, in one normal form. What a provider does not say stays unknown, never zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input that was not read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Input read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Input written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// Output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Output spent on thinking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
}
