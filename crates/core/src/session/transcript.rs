//! The messages of a part, in order, from the events: what a request sends and a reader sees.

use std::sync::Arc;

use jiff::Timestamp;

use crate::trace::{Body, CallEvent, Event, PartEvent, TurnEvent, wire};
use crate::words::provider_data::ProviderData;
use crate::words::tool::ToolCall;
use crate::words::{MessageRole, PhaseName, Rejection, fence};

/// The messages of one part, numbered from 0 in the order in which they were recorded.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    messages: Vec<TranscriptMessage>,
    phase: Option<PhaseName>,
    /// Of each call: the agent's own name for it, its tool, and what its result is labelled with.
    names: Vec<(u32, String, String, String)>,
    /// The first message that is still sent, besides the system's.
    first: usize,
    calls: u32,
    hasher: blake3::Hasher,
    /// Number of messages that the hasher has seen: a caller that asks for no hash pays for none.
    hashed: usize,
    is_fenced: bool,
    result_bytes_max: Option<u64>,
    /// The number of changes to what was sent before, such as results that were folded.
    rewrites: u64,
}

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptMessage {
    /// Time at which it was recorded.
    pub at: Timestamp,
    /// The phase it belongs to, if the session was in one.
    pub phase: Option<PhaseName>,
    /// Speaker of the message.
    pub speaker: Speaker,
    /// Text of the message; for a kept result, empty.
    pub text: Arc<str>,
    /// True if only its ends are still sent.
    pub is_folded: bool,
}

/// Speaker of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Speaker {
    /// The standing orders.
    System,
    /// The runtime or the operator.
    User,
    /// The agent.
    Agent {
        /// The calls that it asks for.
        calls: Vec<ToolCall>,
        /// Data that its provider wants to be given back.
        provider_data: Option<Arc<ProviderData>>,
    },
    /// A tool.
    Tool {
        /// The agent's own name for the call.
        call_id: String,
        /// The tool.
        name: String,
        /// True if the call failed.
        is_error: bool,
        /// The hash of a content that is kept elsewhere.
        artifact: Option<String>,
        /// Origin of the content, if it is data and not our own word.
        source: Option<String>,
    },
}

impl Transcript {
    /// Returns a transcript of which results are sent in a fence ([`fence`]).
    #[must_use]
    pub fn fenced() -> Self {
        Self { is_fenced: true, ..Self::default() }
    }

    /// Returns true if results are sent in a fence.
    #[must_use]
    pub fn is_fenced(&self) -> bool {
        self.is_fenced
    }

    /// Returns the same transcript, with no more than so many bytes of a result sent ([`shortened`]); whole results if
    /// absent.
    #[must_use]
    pub fn with_results_up_to(self, bytes_max: Option<u64>) -> Self {
        Self { result_bytes_max: bytes_max, ..self }
    }

    /// Returns the number of bytes of a result that are sent; all if absent.
    #[must_use]
    pub fn result_bytes_max(&self) -> Option<u64> {
        self.result_bytes_max
    }

    /// Returns the messages.
    #[must_use]
    pub fn messages(&self) -> &[TranscriptMessage] {
        &self.messages
    }

    /// Returns the messages that a request sends, oldest first: the system's, and those that were not left out.
    pub fn sent(&self) -> impl Iterator<Item = &TranscriptMessage> {
        self.sent_from(0)
    }

    /// Returns the messages from number `from` on that a request sends, oldest first.
    pub fn sent_from(&self, from: usize) -> impl Iterator<Item = &TranscriptMessage> {
        let first = self.first;
        let is_sent =
            move |(index, said): &(usize, &TranscriptMessage)| *index >= first || said.speaker == Speaker::System;
        self.messages.iter().enumerate().skip(from).filter(is_sent).map(|(_, said)| said)
    }

    /// Returns how often something that was sent before changed. As long as it is the same, a request sends what the one
    /// before it sent, and more.
    #[must_use]
    pub fn rewrites(&self) -> u64 {
        self.rewrites
    }

    /// Returns the number of the agent's turns that are left out of a request.
    #[must_use]
    pub fn turns_left_out(&self) -> usize {
        let is_turn = |said: &&TranscriptMessage| matches!(said.speaker, Speaker::Agent { .. });
        self.messages[..self.first].iter().filter(is_turn).count()
    }

    /// Returns the short hash of what a request sends. A result that is kept elsewhere counts by its own hash.
    #[must_use]
    pub fn hash(&mut self) -> String {
        let mut hasher = std::mem::take(&mut self.hasher);
        for (index, said) in self.messages.iter().enumerate().skip(self.hashed) {
            if index >= self.first || said.speaker == Speaker::System {
                hash_in(&mut hasher, said, self.is_fenced);
            }
        }
        self.hashed = self.messages.len();
        self.hasher = hasher;
        wire::short(&self.hasher.finalize())
    }

    /// Drops the hash, as the hashed messages are no longer those that are sent.
    fn hash_anew(&mut self) {
        self.hasher = blake3::Hasher::default();
        self.hashed = 0;
        self.rewrites += 1;
    }

    /// Returns the number of calls that were asked for so far.
    #[must_use]
    pub fn calls(&self) -> u32 {
        self.calls
    }

    /// Takes note of an event of the part whose transcript this is, and keeps what it says.
    pub fn apply(&mut self, Event { at, body, .. }: Event) {
        match body {
            Body::Part(PartEvent::PhaseEnter { phase, .. }) => self.phase = Some(phase),
            Body::Turn(TurnEvent::Message { role, text, .. }) => {
                let speaker = match role {
                    MessageRole::System => Speaker::System,
                    MessageRole::User => Speaker::User,
                };
                self.push(at, speaker, text);
            }
            Body::Turn(TurnEvent::AgentReply { text, calls, provider_data, .. }) => {
                for call in &calls {
                    self.calls += 1;
                    let source = fence::source(&call.name, self.calls, &call.args);
                    self.names.push((self.calls, call.call_id.clone(), call.name.clone(), source));
                }
                let provider_data = provider_data.map(|data| Arc::new(*data));
                self.push(at, Speaker::Agent { calls, provider_data }, text);
            }
            Body::Call(CallEvent::ToolResult { slot, call_id, success, content, artifact, settled, code, .. }) => {
                // What a driver says of a call that it did not carry out is our own word.
                let is_ours = settled || code.as_deref() == Some(MASKED_ARGUMENTS);
                let (id, name, source) = self.call(slot.number, call_id, String::new());
                let source = source.filter(|_| !is_ours);
                let speaker = Speaker::Tool { call_id: id, name, is_error: !success, artifact, source };
                self.push(at, speaker, content.unwrap_or_default());
            }
            Body::Call(CallEvent::ToolCancelled { slot, call_id, tool_name, partial_output, .. }) => {
                let (id, name, source) = self.call(slot.number, call_id, tool_name);
                let source = source.filter(|_| !partial_output.is_empty());
                let text = if partial_output.is_empty() {
                    "The call was cancelled.".to_owned()
                } else {
                    format!("The call was cancelled. Until then it had said:\n\n{partial_output}")
                };
                self.push(at, Speaker::Tool { call_id: id, name, is_error: true, artifact: None, source }, text);
            }
            Body::Call(CallEvent::ToolRejected { call, call_id, name, content, rejection }) => {
                let (id, name, _) = self.call(call, call_id, name);
                let is_error = rejection != Rejection::Answered;
                self.push(at, Speaker::Tool { call_id: id, name, is_error, artifact: None, source: None }, content);
            }
            Body::Turn(TurnEvent::ContextFolded { messages, .. }) => {
                for number in messages {
                    if let Some(said) = self.messages.get_mut(number as usize) {
                        said.is_folded = true;
                    }
                }
                self.hash_anew();
            }
            Body::Turn(TurnEvent::ContextCut { first, .. }) => {
                self.first = (first as usize).min(self.messages.len());
                self.hash_anew();
            }
            _ => {}
        }
    }

    fn push(&mut self, at: Timestamp, speaker: Speaker, text: String) {
        self.messages.push(TranscriptMessage { at, phase: self.phase, speaker, text: text.into(), is_folded: false });
    }

    /// Returns the agent's own name for a call, its tool, and the label of its result, by the call's number.
    fn call(&self, number: u32, call_id: String, name: String) -> (String, String, Option<String>) {
        match self.names.iter().rev().find(|(known, ..)| *known == number) {
            Some((_, id, name, source)) => (id.clone(), name.clone(), Some(source.clone())),
            None => {
                let source = fence::source(&name, number, &serde_json::Value::Null);
                (call_id, name, Some(source))
            }
        }
    }
}

/// The code of a call that could not be made because its arguments were masked.
pub const MASKED_ARGUMENTS: &str = "MASKED_ARGUMENTS";

/// Length of each end of a folded result that is still sent, in characters.
const FOLDED_END_CHARS: usize = 200;

/// Returns the text that is sent in place of a folded result: how long it was, and its two ends.
#[must_use]
pub fn folded(content: &str) -> String {
    let head = content.char_indices().nth(FOLDED_END_CHARS).map_or(content.len(), |(cut, _)| cut);
    let tail = content.char_indices().rev().nth(FOLDED_END_CHARS - 1).map_or(0, |(cut, _)| cut);
    if tail <= head {
        return content.to_owned();
    }
    let (head, tail) = (&content[..head], &content[tail..]);
    format!(
        "(This result of {} bytes is folded to save room: its two ends are left. Call the tool again if you need it.)\n\
         {head}\n(...)\n{tail}",
        content.len()
    )
}

/// The most bytes of a result that are sent if the operator says nothing: about 13,000 tokens, a tenth of the smallest
/// window that a hosted model has today.
pub const RESULT_BYTES_MAX_DEFAULT: u64 = 50 * 1024;

/// The length of what [`shortened`] says, at most.
pub(super) const SHORTENED_NOTE_BYTES: u64 = 400;

/// Returns the part of a result of `tool` that is sent if it has more than `bytes_max` bytes: its beginning and its
/// end, each at most half of that and of whole lines if that costs little, and between them how much is left out and
/// how to get at it. `None` for a result that is not longer.
#[must_use]
pub fn shortened(tool: &str, content: &str, bytes_max: u64) -> Option<String> {
    let half = usize::try_from(bytes_max / 2).unwrap_or(usize::MAX);
    if content.len() as u64 <= bytes_max {
        return None;
    }
    let head = &content[..content.floor_char_boundary(half)];
    let head = head.rfind('\n').filter(|end| *end >= head.len() / 4 * 3).map_or(head, |end| &head[..=end]);
    let (before, tail) = content.split_at(content.ceil_char_boundary(content.len() - half));
    let begun = if before.ends_with('\n') { None } else { tail.find('\n') };
    let tail = begun.filter(|end| *end <= tail.len() / 4).map_or(tail, |end| &tail[end + 1..]);
    let how = match tool {
        "read_file" => {
            "Read the lines between with read_file: `offset` is the first line that you want, `limit` how many"
        }
        "shell_exec" => {
            "To see what is between, run a command that says less, or send its output to a file and read that by lines"
        }
        "list_dir" => "To see what is between, list a folder further down, or use `glob`",
        "http_fetch" => "To see what is between, ask for a part, if the server has parts",
        _ => "To see what is between, call the tool again for less",
    };
    let (begun, line) = if head.ends_with('\n') { ("", head.matches('\n').count()) } else { ("\n", 0) };
    let lines = if line > 0 { format!(", from line {} of this result on", line + 1) } else { String::new() };
    let left_out = content.len() - head.len() - tail.len();
    Some(format!("{head}{begun}(Here {left_out} of {} bytes are left out{lines}. {how}.)\n{tail}", content.len()))
}

/// Takes a message into a hash, each field with its length, so that no two transcripts read the same.
fn hash_in(hasher: &mut blake3::Hasher, said: &TranscriptMessage, is_fenced: bool) {
    let mut field = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    match &said.speaker {
        Speaker::System => field("system"),
        Speaker::User => field("user"),
        Speaker::Agent { calls, provider_data } => {
            field("agent");
            if let Some(data) = provider_data {
                field(&data.parts.to_string());
            }
            for call in calls {
                field(&call.call_id);
                field(&call.name);
                field(&call.args.to_string());
            }
        }
        Speaker::Tool { call_id, artifact, source, .. } => {
            field("tool");
            field(call_id);
            field(artifact.as_deref().unwrap_or_default());
            if let Some(source) = source.as_ref().filter(|_| is_fenced) {
                field(source);
            }
        }
    }
    field(if said.is_folded { "folded" } else { "" });
    field(&said.text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_result_its_ends_are_sent_with_what_is_left_out() {
        let lines: String = (1..=100).map(|line| format!("line {line:3}\n")).collect();
        let sent = shortened("read_file", &lines, 90).unwrap();
        let expected = "line   1\nline   2\nline   3\nline   4\nline   5\n(Here 810 of 900 bytes are left out, from line 6 \
                        of this result on. Read the lines between with read_file: `offset` is the first line that you \
                        want, `limit` how many.)\nline  96\nline  97\nline  98\nline  99\nline 100\n";
        assert_eq!(sent, expected);
    }

    #[test]
    fn what_is_sent_has_a_bound_and_no_character_is_cut() {
        for content in ["x".repeat(1000), "é".repeat(500), "🦀\n".repeat(200), "\n".repeat(1000)] {
            for bytes_max in [0, 1, 2, 3, 7, 100, 333, 999] {
                for tool in ["read_file", "shell_exec", "list_dir", "http_fetch", "other"] {
                    let sent = shortened(tool, &content, bytes_max).unwrap();
                    assert!(sent.len() as u64 <= bytes_max + SHORTENED_NOTE_BYTES, "{bytes_max}: {sent}");
                    assert!(sent.contains("bytes are left out"), "{sent}");
                }
            }
            assert_eq!(shortened("read_file", &content, content.len() as u64), None);
        }
    }
}
