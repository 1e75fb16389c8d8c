//! The lines of a recording: JSON, first a head, then one for each exchange.

use std::sync::Arc;

use adjutant_core::words::tool::{ToolCall, content_hash};
use adjutant_ports::{Delta, FailureKind, OutgoingMessage, OutgoingRole, Stop, TurnRequest, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::recorder::RecordingMasks;

/// The version of the format.
pub const RECORDING_VERSION: u32 = 1;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordingHead {
    /// The version of the format: [`RECORDING_VERSION`].
    pub recording: u32,
    /// The version of the program.
    pub adjutant: String,
    /// The adapter that answered.
    pub adapter: String,
    pub model: String,
}

/// One exchange as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ExchangeLine {
    pub turn: u32,
    pub attempt: u32,
    /// The hash of everything that was sent, of which `messages` has only the end.
    pub hash: String,
    /// Number of messages at the beginning that are those of the line above.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub same: usize,
    /// The messages after these.
    pub messages: Vec<Arc<RecordedMessage>>,
    /// The names of the tools that were offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_max: Option<u32>,
    /// Text shown while the reply came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<ShownText>,
    #[serde(flatten)]
    pub end: ExchangeEnd,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A message that was sent; the standing orders are the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub(super) enum RecordedMessage {
    System {
        text: String,
    },
    User {
        text: String,
    },
    Assistant {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    Tool {
        call_id: String,
        name: String,
        is_error: bool,
        text: String,
    },
}

/// Text that was shown, its pieces joined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ShownText {
    Text(String),
    Thinking(String),
}

/// End of an exchange.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ExchangeEnd {
    Reply {
        text: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        thinking: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
        /// Data that the provider wants back, unless a secret is in it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_data: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        stop: Stop,
    },
    Failure {
        kind: FailureKind,
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_max: Option<u32>,
    },
}

/// Contents of a request, with its secrets masked.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SentRequest {
    pub messages: Vec<Arc<RecordedMessage>>,
    pub tools: Vec<String>,
}

impl SentRequest {
    pub(super) fn of(request: &TurnRequest, masks: &RecordingMasks) -> Self {
        let system = RecordedMessage::System { text: masks.text(&request.system) };
        let said = request.messages.iter().map(|message| masked(message, masks));
        Self {
            messages: [system].into_iter().chain(said).map(Arc::new).collect(),
            // Those that could be called: what is only described says nothing of the turn.
            tools: request.tools.iter().filter(|_| request.may_call).map(|tool| tool.name.clone()).collect(),
        }
    }

    /// Returns the hash of all of it.
    pub(super) fn hash(&self) -> String {
        let text = serde_json::to_vec(&(&self.messages, &self.tools)).expect("texts and JSON values become JSON");
        content_hash(&text)
    }
}

fn masked(message: &OutgoingMessage, masks: &RecordingMasks) -> RecordedMessage {
    let text = masks.text(&message.text);
    match &message.role {
        OutgoingRole::User => RecordedMessage::User { text },
        OutgoingRole::Assistant => {
            RecordedMessage::Assistant { text, calls: message.calls.iter().map(|call| masks.call(call)).collect() }
        }
        OutgoingRole::Tool { call_id, name, is_error } => {
            RecordedMessage::Tool { call_id: masks.text(call_id), name: masks.text(name), is_error: *is_error, text }
        }
    }
}

impl ShownText {
    /// Takes in the next piece: what is of one kind in a row is one text.
    pub(super) fn push(all: &mut Vec<Self>, delta: &Delta) {
        match (delta, all.last_mut()) {
            (Delta::Text(piece), Some(Self::Text(text))) | (Delta::Thinking(piece), Some(Self::Thinking(text))) => {
                text.push_str(piece);
            }
            (Delta::Text(piece), _) => all.push(Self::Text(piece.clone())),
            (Delta::Thinking(piece), _) => all.push(Self::Thinking(piece.clone())),
        }
    }
}

/// Reason why a recording can't be played.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file can't be read.
    #[error("can't read the recording: {0}")]
    Unreadable(std::io::Error),
    /// It does not begin as a recording does.
    #[error("this is no recording: its first line is not the head of one")]
    NoRecording,
    /// It is of a format that this version doesn't know.
    #[error("this recording has the format {found}; this version reads {RECORDING_VERSION}")]
    Version {
        /// The format that it has.
        found: u32,
    },
    /// A line is no exchange.
    #[error("line {line} of the recording can't be read: {why}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// Fault of the line.
        why: String,
    },
}

/// One exchange with everything that was sent.
#[derive(Debug)]
pub(super) struct Exchange {
    pub line: ExchangeLine,
    pub messages: Vec<Arc<RecordedMessage>>,
}

/// Returns the head of a recording.
pub(super) fn head(first_line: &str) -> Result<RecordingHead, ReadError> {
    let head: RecordingHead = serde_json::from_str(first_line).map_err(|_| ReadError::NoRecording)?;
    match head.recording {
        RECORDING_VERSION => Ok(head),
        found => Err(ReadError::Version { found }),
    }
}

/// Reads a recording. A last line without its end was being written when the program was killed, and counts
/// as not written.
pub(super) fn read(text: &str) -> Result<(RecordingHead, Vec<Exchange>), ReadError> {
    let mut lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).zip(1..);
    let (first, _) = lines.next().ok_or(ReadError::NoRecording)?;
    let head = head(first)?;
    let mut exchanges: Vec<Exchange> = Vec::new();
    for (text, number) in lines {
        let bad = |why: String| ReadError::Line { line: number, why };
        let line: ExchangeLine = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
        let above = exchanges.last().map(|exchange| exchange.messages.as_slice()).unwrap_or_default();
        let kept = above
            .get(..line.same)
            .ok_or_else(|| bad(format!("it begins with {} messages of the line above, which has fewer", line.same)))?;
        let messages = kept.iter().chain(&line.messages).cloned().collect();
        exchanges.push(Exchange { line, messages });
    }
    Ok((head, exchanges))
}
