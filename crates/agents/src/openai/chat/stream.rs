//! Folds the chunks of Chat Completions into a reply, whichever server they are from.
//!
//! In: one event after another. Out: the meaning of each for the caller, and the reply when it is whole. It is whole
//! when a reason to stop has come and the stream is at its end; a `[DONE]` without a reason is what some servers send
//! behind an error. A chunk that can't be read ends the reading, since text or a call would be missing.

use std::collections::BTreeMap;

use adjutant_ports::{Delta, Reply, Stop, Usage};
use serde_json::{Value, json};

use super::thinking::Splitter;
use crate::api::parts::{PartMarks, ReplyParts};
use crate::api::{ReplyReader, StreamStep, malformed_or};
use crate::openai::usage::usage;
use crate::sse;

/// The mark of the end.
const END: &str = "[DONE]";

/// The fields that thinking comes in, see `choose`.
const THINKING_FIELDS: [&str; 2] = ["reasoning_content", "reasoning"];

/// The texts of OpenRouter's parts of thinking that come in pieces, from its page on reasoning tokens.
const DETAIL_TEXTS: [&str; 4] = ["text", "summary", "data", "signature"];

/// Reasons to stop that mean that the server gave up: OpenRouter's, vLLM's and DeepSeek's.
const GIVEN_UP: &[&str] = &["error", "abort", "insufficient_system_resource"];

/// Reasons to stop that mean that the window is full: Mistral's and z.ai's.
const WINDOW_FULL: &[&str] = &["model_length", "model_context_window_exceeded"];

/// The reply as far as it has come.
#[derive(Debug, Default)]
pub(super) struct ChatFold {
    /// The tools' own names by their changed ones.
    names: BTreeMap<String, String>,
    /// The number of the turn, for the ids of calls that have none.
    turn: u32,
    /// Text of the reply, and the thinking within it.
    content: Splitter,
    /// The model's text instead of an answer.
    refusal: String,
    calls: Vec<PartialCall>,
    usage: Option<Usage>,
    ending: FinishState,
    fills_window: bool,
    thinking: String,
    /// Field that the thinking came in. The server wants it back with the message, and OpenRouter's parts, too.
    thinking_field: Option<&'static str>,
    details: Vec<Value>,
    extra: Option<Value>,
}

#[derive(Debug)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    /// The JSON of the arguments so far.
    json: String,
    /// Fields that the server wants back with the call.
    marks: PartMarks,
}

/// State of the reply's end.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum FinishState {
    /// Nothing.
    #[default]
    Open,
    /// It stopped by itself, which leaves open whether for calls: servers differ in the word.
    Finished,
    /// It stopped for this.
    Stopped(Stop),
}

impl ChatFold {
    /// Creates a fold to which nothing has come yet. `names` has the tools' own names by those that the request gave
    /// them.
    pub(super) fn new(names: BTreeMap<String, String>, turn: u32) -> Self {
        Self { names, turn, content: Splitter::new(), ..Self::default() }
    }
}

impl ReplyReader for ChatFold {
    fn has_content(&self) -> bool {
        !(self.thinking.is_empty() && self.content.is_empty() && self.refusal.is_empty() && self.calls.is_empty())
    }

    fn is_whole(&self) -> bool {
        self.ending != FinishState::Open
    }

    fn fills_window(&self) -> bool {
        self.fills_window
    }

    fn read(&mut self, event: &sse::SseEvent) -> StreamStep {
        if event.event == "error" {
            return StreamStep::Failed(event.data.clone());
        }
        if event.data.trim() == END {
            let unfinished = || StreamStep::Unreadable("the server gave no reason to stop".to_owned());
            return if self.is_whole() { StreamStep::Done } else { unfinished() };
        }
        let Ok(data) = serde_json::from_str::<Value>(&event.data) else {
            let broken = StreamStep::Unreadable("a chunk is no JSON".to_owned());
            return if event.event == "message" { broken } else { StreamStep::Nothing };
        };
        if let Some(error) = failure(&data) {
            return StreamStep::Failed(error.to_string());
        }
        self.count(&data["usage"]);
        self.count(&data["x_groq"]["usage"]);
        let mut choices = data["choices"].as_array().into_iter().flatten();
        // One was asked for.
        match choices.find(|choice| choice["index"].as_u64().unwrap_or(0) == 0) {
            Some(choice) => self.choose(choice),
            None => StreamStep::Nothing,
        }
    }

    fn finish(self: Box<Self>) -> Reply {
        let ids = self.ids();
        let provider_data = self.wanted_back();
        let Self { names, content, refusal, thinking, calls, usage, ending, .. } = *self;
        let count = calls.len();
        let call = |(place, (call, id)): (usize, (PartialCall, String))| {
            // The limit can fall before a call's first argument, which then looks like a call without any.
            let is_last = place + 1 == count;
            let is_cut = ending == FinishState::Stopped(Stop::MaxTokens) && is_last && call.json.is_empty();
            let name = names.get(&call.name).cloned().unwrap_or(call.name);
            malformed_or(id, name, &call.json, is_cut)
        };
        let calls: Vec<_> = calls.into_iter().zip(ids).enumerate().map(call).collect();
        let stop = match ending {
            _ if !refusal.is_empty() => Stop::Refusal,
            FinishState::Stopped(stop) => stop,
            FinishState::Open | FinishState::Finished if calls.is_empty() => Stop::EndTurn,
            FinishState::Open | FinishState::Finished => Stop::ToolUse,
        };
        let content = content.finish();
        let apart = if thinking.is_empty() || content.thought.is_empty() { "" } else { "\n\n" };
        let (text, thinking) = (content.said, thinking + apart + &content.thought);
        let between = if text.is_empty() || refusal.is_empty() { "" } else { "\n\n" };
        Reply { text: text + between + &refusal, thinking, calls, provider_data, usage, stop }
    }
}

impl ChatFold {
    fn choose(&mut self, choice: &Value) -> StreamStep {
        let delta = &choice["delta"];
        for piece in delta["tool_calls"].as_array().into_iter().flatten() {
            let place =
                self.call(piece["index"].as_u64(), piece["id"].as_str().unwrap_or_default(), &piece["function"]);
            // Gemini's signature, as its page on compatibility has it.
            if let (Some(call), Some(extra)) = (self.calls.get_mut(place), piece.get("extra_content")) {
                call.marks.insert("extra_content".to_owned(), extra.clone());
            }
        }
        let extra = delta.get("extra_content").filter(|extra| extra["google"]["thought_signature"].is_string());
        self.extra = extra.cloned().or(self.extra.take());
        for detail in delta["reasoning_details"].as_array().into_iter().flatten() {
            self.detail(detail);
        }
        // The form before there were tools.
        if delta["function_call"].is_object() {
            self.call(None, "", &delta["function_call"]);
        }
        let mut content = self.content.push(&said(&delta["content"]));
        let refused = delta["refusal"].as_str().unwrap_or_default();
        self.refusal.push_str(refused);
        // DeepSeek's name for thinking, which llama.cpp and vLLM took over, and OpenRouter's and Ollama's.
        let thought = THINKING_FIELDS.into_iter().find_map(|name| Some((name, delta[name].as_str()?)));
        let thought = thought.map(|(field, thought)| {
            if !thought.is_empty() {
                self.thinking_field = Some(field);
                self.thinking.push_str(thought);
            }
            thought
        });
        if let Some(reason) = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty()) {
            if GIVEN_UP.contains(&reason) {
                return StreamStep::Unreadable(format!("the server gave up with the reason `{reason}`"));
            }
            self.ending = ending(reason);
            self.fills_window = WINDOW_FULL.contains(&reason);
            let held = self.content.flush();
            content.said.push_str(&held.said);
            content.thought.push_str(&held.thought);
            if self.ending == FinishState::Stopped(Stop::Refusal) && self.refusal.is_empty() {
                "its content filter ended the reply".clone_into(&mut self.refusal);
            }
        }
        let thought = thought.unwrap_or_default().to_owned() + &content.thought;
        match content.said + refused {
            said if !said.is_empty() => StreamStep::Show(Delta::Text(said)),
            _ if !thought.is_empty() => StreamStep::Show(Delta::Thinking(thought)),
            _ => StreamStep::Nothing,
        }
    }

    /// Takes in a piece of a call: the next of one that has begun, or the first of a new one. Its place is returned.
    fn call(&mut self, index: Option<u64>, id: &str, function: &Value) -> usize {
        let name = function["name"].as_str().unwrap_or_default();
        let json = match &function["arguments"] {
            Value::String(json) => json.clone(),
            Value::Null => String::new(),
            whole => whole.to_string(),
        };
        let begun = self.calls.iter().rposition(|call| call.goes_on(index, id, name, &json));
        match begun {
            Some(place) => {
                let call = &mut self.calls[place];
                call.json.push_str(&json);
                for (known, new) in [(&mut call.id, id), (&mut call.name, name)] {
                    if known.is_empty() {
                        new.clone_into(known);
                    }
                }
                place
            }
            None => {
                let (id, name) = (id.to_owned(), name.to_owned());
                self.calls.push(PartialCall { index, id, name, json, marks: PartMarks::new() });
                self.calls.len() - 1
            }
        }
    }

    /// Takes in a part of OpenRouter's `reasoning_details`: the next piece of the one before, or a new one. Its texts
    /// come in pieces, all else whole.
    fn detail(&mut self, detail: &Value) {
        let names = |detail: &Value| [detail["type"].clone(), detail["index"].clone(), detail["format"].clone()];
        match self.details.last_mut() {
            Some(Value::Object(last)) if names(&Value::Object(last.clone())) == names(detail) => {
                for (name, value) in detail.as_object().into_iter().flatten() {
                    match (last.get_mut(name), value) {
                        (Some(Value::String(known)), Value::String(piece)) if DETAIL_TEXTS.contains(&name.as_str()) => {
                            known.push_str(piece);
                        }
                        (Some(known), value) if !value.is_null() => known.clone_from(value),
                        (Some(_), _) => {}
                        (None, value) => _ = last.insert(name.clone(), value.clone()),
                    }
                }
            }
            Some(_) | None => self.details.push(detail.clone()),
        }
    }

    /// Returns the message's fields, then its calls. Where there are parts with signatures, the plain text says nothing
    /// more.
    fn wanted_back(&self) -> Option<Value> {
        let mut parts = ReplyParts::default();
        match self.thinking_field {
            _ if !self.details.is_empty() => parts.whole(json!({ "reasoning_details": self.details })),
            Some(field) => parts.whole(json!({ field: self.thinking })),
            None => {}
        }
        if let Some(extra) = &self.extra {
            parts.whole(json!({ "extra_content": extra }));
        }
        for (place, call) in self.calls.iter().enumerate() {
            parts.call(place, call.marks.clone());
        }
        parts.kept()
    }

    /// Returns the ids of the calls: their own, or where there is none, or the same twice, one made of their place.
    fn ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = Vec::with_capacity(self.calls.len());
        for (place, call) in (1..).zip(&self.calls) {
            let made = || format!("call_{}_{place}", self.turn);
            let is_own = !call.id.is_empty() && !ids.contains(&call.id);
            ids.push(if is_own { call.id.clone() } else { made() });
        }
        ids
    }

    fn count(&mut self, counts: &Value) {
        self.usage = usage(counts, "prompt", "completion").or(self.usage);
    }
}

impl PartialCall {
    /// Returns true if a piece is a part of this call. The format has an index in every piece, and id and name in the
    /// first. Servers leave the index out or give every call the same, leave the id out, or repeat id and name in every
    /// piece.
    fn goes_on(&self, index: Option<u64>, id: &str, name: &str, json: &str) -> bool {
        if index.is_some() && index != self.index {
            return false;
        }
        if !id.is_empty() && !self.id.is_empty() {
            return id == self.id;
        }
        // Without an index, and without an id on both sides, a name begins a call. With an index it does if the call
        // of that index is another's or has all of its arguments.
        let is_another = !self.name.is_empty() && self.name != name;
        let is_complete = !json.is_empty() && serde_json::from_str::<Value>(&self.json).is_ok();
        name.is_empty() || (index.is_some() && !is_another && !is_complete)
    }
}

/// Returns the error that a chunk is or has, in any of its forms.
fn failure(data: &Value) -> Option<Value> {
    let errors = [&data["error"], &data["choices"][0]["error"], &data["x_groq"]["error"]];
    if let Some(error) = errors.into_iter().find(|error| !error.is_null()) {
        return Some(json!({ "error": error }));
    }
    (data["object"] == "error").then(|| data.clone())
}

/// Returns the text of a delta: a text, or as Mistral has it a list of parts.
fn said(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

/// Returns the end that a reason to stop stands for.
fn ending(reason: &str) -> FinishState {
    match reason {
        "length" => FinishState::Stopped(Stop::MaxTokens),
        _ if WINDOW_FULL.contains(&reason) => FinishState::Stopped(Stop::MaxTokens),
        "content_filter" => FinishState::Stopped(Stop::Refusal),
        _ => FinishState::Finished,
    }
}

#[cfg(test)]
mod tests;
