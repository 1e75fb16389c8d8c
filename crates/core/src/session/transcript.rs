//! What was said in a part, in order: what a request sends and what a reader sees, from the events.

use crate::tool::ToolCall;
use crate::trace::{Body, Event, MessageRole, PhaseName, wire};
use jiff::Timestamp;

/// The messages of one part, numbered from 0 in the order in which they were recorded.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    messages: Vec<Said>,
    phase: Option<PhaseName>,
    names: Vec<(u32, String, String)>,
    calls: u32,
    hasher: blake3::Hasher,
    /// How many of the messages the hasher has seen: whoever asks for no hash pays for none.
    hashed: usize,
}

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// When it was recorded.
    pub at: Timestamp,
    /// The phase it belongs to, if the session was in one.
    pub phase: Option<PhaseName>,
    /// Who spoke.
    pub speaker: Speaker,
    /// What was said; for a kept result, empty.
    pub text: String,
}

/// Who spoke.
#[derive(Debug, Clone, PartialEq)]
pub enum Speaker {
    /// The standing orders.
    System,
    /// The runtime or the operator.
    User,
    /// The agent, asking for these calls.
    Agent(Vec<ToolCall>),
    /// A tool.
    Tool {
        /// The agent's own name for the call.
        call_id: String,
        /// The tool.
        name: String,
        /// Whether the call failed.
        is_error: bool,
        /// The hash of a content that is kept elsewhere.
        artifact: Option<String>,
    },
}

impl Transcript {
    /// The messages.
    #[must_use]
    pub fn messages(&self) -> &[Said] {
        &self.messages
    }

    /// The short hash of everything said so far: of a request that sends all of it. A result that is kept
    /// elsewhere counts by its own hash.
    #[must_use]
    pub fn hash(&mut self) -> String {
        for said in &self.messages[self.hashed..] {
            hash_in(&mut self.hasher, said);
        }
        self.hashed = self.messages.len();
        wire::short(&self.hasher.finalize())
    }

    /// How many calls were asked for so far.
    #[must_use]
    pub fn calls(&self) -> u32 {
        self.calls
    }

    /// Takes note of an event of the part whose transcript this is, and keeps what it says.
    pub fn apply(&mut self, Event { at, body, .. }: Event) {
        match body {
            Body::PhaseEnter { phase, .. } => self.phase = Some(phase),
            Body::Message { role, text, .. } => {
                let speaker = match role {
                    MessageRole::System => Speaker::System,
                    MessageRole::User => Speaker::User,
                };
                self.push(at, speaker, text);
            }
            Body::AgentReply { text, calls, .. } => {
                for call in &calls {
                    self.calls += 1;
                    self.names.push((self.calls, call.call_id.clone(), call.name.clone()));
                }
                self.push(at, Speaker::Agent(calls), text);
            }
            Body::ToolResult { slot, call_id, success, content, artifact, .. } => {
                let (id, name) = self.call(slot.number, call_id, String::new());
                let speaker = Speaker::Tool { call_id: id, name, is_error: !success, artifact };
                self.push(at, speaker, content.unwrap_or_default());
            }
            Body::ToolCancelled { slot, call_id, tool_name, partial_output, .. } => {
                let (id, name) = self.call(slot.number, call_id, tool_name);
                let text = if partial_output.is_empty() {
                    "The call was cancelled.".to_owned()
                } else {
                    format!("The call was cancelled. Until then it had said:\n\n{partial_output}")
                };
                self.push(at, Speaker::Tool { call_id: id, name, is_error: true, artifact: None }, text);
            }
            Body::ToolRejected { call, call_id, name, content, .. } => {
                let (id, name) = self.call(call, call_id, name);
                self.push(at, Speaker::Tool { call_id: id, name, is_error: true, artifact: None }, content);
            }
            _ => {}
        }
    }

    fn push(&mut self, at: Timestamp, speaker: Speaker, text: String) {
        self.messages.push(Said { at, phase: self.phase, speaker, text });
    }

    /// The agent's own name for a call and its tool, by the call's number.
    fn call(&self, number: u32, call_id: String, name: String) -> (String, String) {
        match self.names.iter().rev().find(|(known, ..)| *known == number) {
            Some((_, id, name)) => (id.clone(), name.clone()),
            None => (call_id, name),
        }
    }
}

/// Takes a message into a hash, each field with its length, so that no two transcripts read the same.
fn hash_in(hasher: &mut blake3::Hasher, said: &Said) {
    let mut field = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    match &said.speaker {
        Speaker::System => field("system"),
        Speaker::User => field("user"),
        Speaker::Agent(calls) => {
            field("agent");
            for call in calls {
                field(&call.call_id);
                field(&call.name);
                field(&call.args.to_string());
            }
        }
        Speaker::Tool { call_id, artifact, .. } => {
            field("tool");
            field(call_id);
            field(artifact.as_deref().unwrap_or_default());
        }
    }
    field(&said.text);
}
