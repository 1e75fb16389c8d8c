//! Folds the events of the Messages API into a reply.
//!
//! In: one event after another. Out: the meaning of each for the caller, and the reply when it is whole. Events, blocks
//! and deltas of a kind that this version does not know are skipped, as the API asks of its clients; one that it knows
//! and can't read ends the reading, since text or a call would be missing.

use std::collections::BTreeMap;

use adjutant_ports::{Delta, Reply, Stop, Usage};
use serde_json::Value;

use crate::api::parts::{PartMarks, ReplyParts};
use crate::api::{ReplyReader, StreamStep, malformed_or};
use crate::sse;

/// Separator of two pieces of thinking.
const BETWEEN: &str = "\n\n";

/// The reason to stop of a reply that ended because the window is full.
const WINDOW_FULL: &str = "model_context_window_exceeded";

/// The reply as far as it has come.
#[derive(Debug, Default)]
pub(super) struct MessagesFold {
    /// The tools' own names by their changed ones.
    names: BTreeMap<String, String>,
    /// By their index: the blocks of a reply may arrive side by side.
    blocks: BTreeMap<u64, ReplyBlock>,
    usage: Option<Usage>,
    stop: Option<Stop>,
    fills_window: bool,
}

#[derive(Debug)]
enum ReplyBlock {
    Text(String),
    Call {
        id: String,
        name: String,
        /// The JSON of the arguments that the block began with, if any.
        input: String,
        /// The pieces of their JSON so far; where any came, they count and not `input`.
        json: String,
    },
    /// Thinking, shown or encrypted, as it comes.
    Thinking(Value),
    /// Whatever is not known here.
    Other,
}

impl MessagesFold {
    /// Creates a fold to which nothing has come yet. `names` has the tools' own names by those that the request gave
    /// them.
    pub(super) fn new(names: BTreeMap<String, String>) -> Self {
        Self { names, ..Self::default() }
    }
}

impl ReplyReader for MessagesFold {
    fn has_content(&self) -> bool {
        !self.blocks.is_empty()
    }

    fn fills_window(&self) -> bool {
        self.fills_window
    }

    fn read(&mut self, event: &sse::SseEvent) -> StreamStep {
        let unreadable = |what: &str| StreamStep::Unreadable(format!("{what} in the event `{}`", event.event));
        let Ok(data) = serde_json::from_str::<Value>(&event.data) else {
            let is_known = event.event.starts_with("message") || event.event.starts_with("content_block");
            return match event.event.as_str() {
                "error" => StreamStep::Failed(event.data.clone()),
                _ if is_known => unreadable("no JSON"),
                _ => StreamStep::Nothing,
            };
        };
        match data["type"].as_str().unwrap_or(&event.event) {
            "message_start" => {
                self.count(&data["message"]["usage"]);
                StreamStep::Nothing
            }
            "content_block_start" => match data["index"].as_u64() {
                Some(index) => self.begin(index, &data["content_block"]),
                None => unreadable("no index"),
            },
            "content_block_delta" => {
                let block = data["index"].as_u64().and_then(|index| self.blocks.get_mut(&index));
                match block {
                    Some(block) => block.grow(&data["delta"]).unwrap_or_else(|| unreadable("a delta of another block")),
                    None => unreadable("no block of that index"),
                }
            }
            "message_delta" => {
                self.count(&data["usage"]);
                if let Some(reason) = data["delta"]["stop_reason"].as_str() {
                    self.stop = stop(reason);
                    self.fills_window = reason == WINDOW_FULL;
                }
                StreamStep::Nothing
            }
            "message_stop" => StreamStep::Done,
            "error" => StreamStep::Failed(event.data.clone()),
            _ => StreamStep::Nothing,
        }
    }

    fn finish(self: Box<Self>) -> Reply {
        let (mut text, mut thinking) = (String::new(), String::new());
        let (mut calls, mut parts) = (Vec::new(), ReplyParts::default());
        let last = self.blocks.keys().next_back().copied();
        for (index, block) in self.blocks {
            match block {
                ReplyBlock::Text(piece) => {
                    let from = text.len();
                    text.push_str(&piece);
                    parts.text(from..text.len(), PartMarks::new());
                }
                ReplyBlock::Call { id, name, input, json } => {
                    // The limit can fall before a call's first argument, which then looks like a call
                    // without any.
                    let is_cut = self.stop == Some(Stop::MaxTokens) && last == Some(index) && json.is_empty();
                    let name = self.names.get(&name).cloned().unwrap_or(name);
                    // Arguments may also come whole with the block's beginning.
                    let json = if json.is_empty() && !is_cut { input } else { json };
                    parts.call(calls.len(), PartMarks::new());
                    calls.push(malformed_or(id, name, &json, is_cut));
                }
                ReplyBlock::Thinking(block) => {
                    let shown = block["thinking"].as_str().unwrap_or_default();
                    if !(shown.is_empty() || thinking.is_empty()) {
                        thinking.push_str(BETWEEN);
                    }
                    thinking.push_str(shown);
                    // One that was cut has no signature, and nobody takes it back.
                    if block["type"] != "thinking" || block["signature"].as_str().is_some_and(|it| !it.is_empty()) {
                        parts.whole(block);
                    }
                }
                ReplyBlock::Other => {}
            }
        }
        let stop = self.stop.unwrap_or(if calls.is_empty() { Stop::EndTurn } else { Stop::ToolUse });
        Reply { text, thinking, calls, provider_data: parts.kept(), usage: self.usage, stop }
    }
}

impl MessagesFold {
    fn begin(&mut self, index: u64, block: &Value) -> StreamStep {
        let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
        let (block, step) = match block["type"].as_str() {
            Some("text") => (ReplyBlock::Text(text("text")), shown(Delta::Text, &text("text"))),
            Some("thinking" | "redacted_thinking") => {
                (ReplyBlock::Thinking(block.clone()), shown(Delta::Thinking, &text("thinking")))
            }
            Some("tool_use") => {
                let call = ReplyBlock::Call {
                    id: text("id"),
                    name: text("name"),
                    input: block
                        .get("input")
                        .filter(|input| !input.is_null())
                        .map(Value::to_string)
                        .unwrap_or_default(),
                    json: String::new(),
                };
                (call, StreamStep::Nothing)
            }
            Some(_) | None => (ReplyBlock::Other, StreamStep::Nothing),
        };
        self.blocks.insert(index, block);
        step
    }

    /// Takes in counts, each of which is a total so far and may come again.
    fn count(&mut self, counts: &Value) {
        let known = self.usage.unwrap_or_default();
        let newest = |name: &str, known: Option<u64>| counts[name].as_u64().or(known);
        let usage = Usage {
            input_tokens: newest("input_tokens", known.input_tokens),
            cache_read_tokens: newest("cache_read_input_tokens", known.cache_read_tokens),
            cache_write_tokens: newest("cache_creation_input_tokens", known.cache_write_tokens),
            output_tokens: newest("output_tokens", known.output_tokens),
            // The API counts thinking as output and does not say how much of it there is.
            reasoning_tokens: None,
        };
        self.usage = Some(usage).filter(|usage| *usage != Usage::default());
    }
}

impl ReplyBlock {
    /// Takes in a delta; `None` if it belongs to another kind of block.
    fn grow(&mut self, delta: &Value) -> Option<StreamStep> {
        match (delta["type"].as_str(), self) {
            (Some("text_delta"), Self::Text(text)) => {
                let piece = delta["text"].as_str()?;
                text.push_str(piece);
                Some(shown(Delta::Text, piece))
            }
            (Some("input_json_delta"), Self::Call { json, .. }) => {
                json.push_str(delta["partial_json"].as_str()?);
                Some(StreamStep::Nothing)
            }
            (Some("thinking_delta"), Self::Thinking(block)) => {
                let piece = delta["thinking"].as_str()?;
                append(&mut block["thinking"], piece);
                Some(shown(Delta::Thinking, piece))
            }
            (Some("signature_delta"), Self::Thinking(block)) => {
                append(&mut block["signature"], delta["signature"].as_str()?);
                Some(StreamStep::Nothing)
            }
            (Some("text_delta"), Self::Call { .. } | Self::Thinking(_))
            | (Some("thinking_delta"), Self::Call { .. } | Self::Text(_))
            | (Some("input_json_delta"), Self::Text(_) | Self::Thinking(_)) => None,
            // Signatures, citations, and whatever belongs to blocks that are not known here.
            (Some(_) | None, _) => Some(StreamStep::Nothing),
        }
    }
}

/// Adds a piece to a text that may not have begun.
fn append(text: &mut Value, piece: &str) {
    match text {
        Value::String(text) => text.push_str(piece),
        other => *other = Value::from(piece),
    }
}

fn shown(delta: impl FnOnce(String) -> Delta, piece: &str) -> StreamStep {
    if piece.is_empty() { StreamStep::Nothing } else { StreamStep::Show(delta(piece.to_owned())) }
}

/// Returns the reason why the turn ended; `None` for a reason that is not known here.
fn stop(reason: &str) -> Option<Stop> {
    match reason {
        "end_turn" | "stop_sequence" => Some(Stop::EndTurn),
        "tool_use" => Some(Stop::ToolUse),
        "max_tokens" | WINDOW_FULL => Some(Stop::MaxTokens),
        "refusal" => Some(Stop::Refusal),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
