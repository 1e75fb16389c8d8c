//! The agent port: one turn.

use std::sync::Arc;
use std::time::Duration;

use adjutant_core::words::tool::{ToolCall, ToolSpecs};
pub use adjutant_core::words::{FailureKind, Stop, Usage};
use serde_json::Value;
use thiserror::Error;

use crate::{CancellationToken, Pending};

/// A source of turns: a model API, a coding CLI, or a script.
pub trait Agent: Send + Sync {
    /// Returns the adapter's id, such as `scripted` or `anthropic`.
    fn id(&self) -> &str;

    /// Returns the model that will answer, as the adapter names it.
    fn model(&self) -> &str;

    /// Takes one turn: everything said so far goes in, one reply comes out.
    ///
    /// `deltas` is called with text as it arrives; it is for display only, the reply is complete without
    /// it. When `cancel` fires the turn ends soon, with [`FailureKind::Cancelled`].
    ///
    /// # Errors
    ///
    /// [`AgentFailure`] says what failed and whether a later attempt may help.
    fn turn<'a>(
        &'a self,
        request: &'a TurnRequest,
        deltas: &'a (dyn Fn(Delta) + Send + Sync),
        cancel: CancellationToken,
    ) -> Pending<'a, Result<Reply, AgentFailure>>;
}

/// One request for a turn.
#[derive(Debug, Clone)]
pub struct TurnRequest {
    /// The number of the turn within its session, from 1: a script may match on it.
    pub turn: u32,
    /// The part of the run that asks, such as `session` or `crew/subtask/2.1/executor`.
    pub part: String,
    /// Number of turns taken in the run before this one, in all sessions.
    pub turns_before: usize,
    /// The number of the attempt at this turn, from 1: the second follows a transient failure of the first.
    pub attempt: u32,
    /// Number of the agent's turns that are left out of the messages, to make room.
    pub turns_left_out: usize,
    /// The standing orders and whatever else is the system's word.
    pub system: String,
    /// All messages after the system's, oldest first; shared with the requests before and after.
    pub messages: Vec<Arc<OutgoingMessage>>,
    /// The tools of the session, in every request the same.
    pub tools: ToolSpecs,
    /// True if they may be called in this turn. If not, the provider is told so in its own word for it.
    pub may_call: bool,
    /// The most tokens of the reply, where a budget leaves less than the adapter would allow.
    pub output_max: Option<u32>,
}

/// One message as it is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct OutgoingMessage {
    /// The speaker.
    pub role: OutgoingRole,
    /// Text of the message; for a tool result, the result of the call.
    pub text: Arc<str>,
    /// The calls that an agent's turn asked for.
    pub calls: Vec<ToolCall>,
    /// Data that the adapter kept of an agent's turn, to give back ([`Reply::provider_data`]) if the model that is
    /// asked now took that turn.
    pub provider_data: Option<Value>,
}

/// Speaker of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutgoingRole {
    /// The runtime or the operator.
    User,
    /// The agent.
    Assistant,
    /// A tool, answering the call named here.
    Tool {
        /// The agent's own name for the call.
        call_id: String,
        /// The tool's name.
        name: String,
        /// True if the call failed.
        is_error: bool,
    },
}

/// A piece of a reply as it arrives, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// Text of the reply.
    Text(String),
    /// A piece of the agent's thinking, where it is shown.
    Thinking(String),
}

/// A whole turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The text.
    pub text: String,
    /// The agent's thinking, as far as it is shown.
    pub thinking: String,
    /// The tool calls, in the order asked for.
    pub calls: Vec<ToolCall>,
    /// Data that the provider wants back with this turn in every later request, as the adapter will read it then.
    pub provider_data: Option<Value>,
    /// Tokens that it used, as far as the provider counted them.
    pub usage: Option<Usage>,
    /// Reason why the turn ended.
    pub stop: Stop,
}

impl Reply {
    /// Builds a reply without thinking and without data of its provider.
    #[must_use]
    pub fn plain(text: String, calls: Vec<ToolCall>, usage: Option<Usage>, stop: Stop) -> Self {
        Self { text, thinking: String::new(), calls, provider_data: None, usage, stop }
    }
}

/// Failure of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct AgentFailure {
    /// Kind of failure, which decides what happens next.
    pub kind: FailureKind,
    /// Description of the failure, for the operator.
    pub message: String,
    /// Wait before another attempt that the provider asks for; the caller limits it.
    pub retry_after: Option<Duration>,
    /// The most tokens that a reply may have, where a request for more failed and the provider said so.
    pub output_max: Option<u32>,
}

impl AgentFailure {
    /// Returns the failure of a turn that was cancelled.
    #[must_use]
    pub fn cancelled() -> Self {
        let message = "the turn was cancelled".to_owned();
        Self { kind: FailureKind::Cancelled, message, retry_after: None, output_max: None }
    }
}
