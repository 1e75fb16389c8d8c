//! Folds the events of the Gemini API into a reply.
//!
//! In: one event after another, each a response of its own with the next parts. Out: the meaning of each for the
//! caller, and the reply. The format has no mark of the end: a reply is whole when a reason for its end has come, and
//! what follows that, such as the last counts, is read as long as the stream goes on. Parts and fields that this
//! version does not know are skipped; a part that it knows and can't read ends the reading, since text or a call would
//! be missing.

use std::collections::BTreeMap;

use adjutant_core::words::tool::ToolCall;
use adjutant_ports::{Delta, Reply, Stop, Usage};
use serde_json::{Value, json};

use super::{SIGNATURE, names};
use crate::api::parts::{PartMarks, ReplyParts};
use crate::api::{ReplyReader, StreamStep};
use crate::sse;

/// The reply as far as it has come.
#[derive(Debug)]
pub(super) struct GeminiFold {
    /// The number of the turn, for the ids of calls that come without one.
    turn: u32,
    /// The tools' own names by their changed ones.
    names: BTreeMap<String, String>,
    text: String,
    calls: Vec<ToolCall>,
    thinking: String,
    /// Parts in the order in which they came: pieces of the text, calls, and signed thinking.
    parts: Vec<ReplyPart>,
    usage: Option<Usage>,
    end: Option<ReplyEnd>,
}

/// Part of the reply, with its signature if it has one.
#[derive(Debug)]
enum ReplyPart {
    Text { from: usize, to: usize, signature: Option<Value> },
    Call { place: usize, signature: Option<Value> },
    Thinking(Value),
}

/// Reason why nothing more comes.
#[derive(Debug)]
enum ReplyEnd {
    /// The reply is whole. The reason, if it is one that is known here.
    Whole(Option<Stop>),
    /// The provider or its model declined; in which words.
    Declined(String),
}

impl GeminiFold {
    /// Creates a fold to which nothing has come yet. `names` has the tools' own names by those that the request gave
    /// them.
    pub(super) fn new(turn: u32, names: BTreeMap<String, String>) -> Self {
        let (text, thinking) = (String::new(), String::new());
        Self { turn, names, text, calls: Vec::new(), thinking, parts: Vec::new(), usage: None, end: None }
    }
}

impl ReplyReader for GeminiFold {
    fn has_content(&self) -> bool {
        !self.thinking.is_empty() || !self.text.is_empty() || !self.calls.is_empty()
    }

    fn is_whole(&self) -> bool {
        self.end.is_some()
    }

    fn read(&mut self, event: &sse::SseEvent) -> StreamStep {
        if event.event == "error" {
            return StreamStep::Failed(event.data.clone());
        }
        let Ok(data) = serde_json::from_str::<Value>(&event.data) else {
            return StreamStep::Unreadable("an event that is no JSON".to_owned());
        };
        // An error may come as the streams without events have it, in an array.
        let data = data.get(0).unwrap_or(&data);
        if data.get("error").is_some() {
            return StreamStep::Failed(event.data.clone());
        }
        if data["usageMetadata"].is_object() {
            // Vertex AI has this without any count, too.
            self.usage = usage(&data["usageMetadata"]).or(self.usage);
        }
        if let Some(reason) = data["promptFeedback"]["blockReason"].as_str() {
            let said = data["promptFeedback"]["blockReasonMessage"].as_str();
            self.end = Some(ReplyEnd::Declined(worded(&format!("the prompt was blocked: {reason}"), said)));
        }
        // One reply is asked for, so it is the first candidate.
        let step = match self.parts(&data["candidates"][0]["content"]["parts"]) {
            Ok(step) => step,
            Err(why) => return StreamStep::Unreadable(why),
        };
        let candidate = &data["candidates"][0];
        if let Some(reason) = candidate["finishReason"].as_str() {
            match end(reason, candidate["finishMessage"].as_str()) {
                Ok(end) => self.end = Some(end),
                Err(why) => return StreamStep::Unreadable(why),
            }
        }
        step
    }

    fn finish(self: Box<Self>) -> Reply {
        let provider_data = self.wanted_back();
        let Self { text, thinking, calls, usage, end, .. } = *self;
        let by_content = if calls.is_empty() { Stop::EndTurn } else { Stop::ToolUse };
        match end {
            Some(ReplyEnd::Declined(why)) => {
                let (calls, provider_data, stop) = (Vec::new(), None, Stop::Refusal);
                Reply { text: why, thinking, calls, provider_data, usage, stop }
            }
            Some(ReplyEnd::Whole(Some(stop))) => Reply { text, thinking, calls, provider_data, usage, stop },
            Some(ReplyEnd::Whole(None)) | None => {
                Reply { text, thinking, calls, provider_data, usage, stop: by_content }
            }
        }
    }
}

impl GeminiFold {
    /// Takes in the parts of one event. What is shown is its text, else its thoughts: few events have both,
    /// and thoughts are no part of the reply.
    fn parts(&mut self, parts: &Value) -> Result<StreamStep, String> {
        let (mut text, mut thoughts) = (String::new(), String::new());
        for part in parts.as_array().map(Vec::as_slice).unwrap_or_default() {
            if let Some(piece) = part.get("text") {
                let piece = piece.as_str().ok_or("a text that is none")?;
                if part["thought"] == true {
                    thoughts.push_str(piece);
                    // A summary is for people; what is signed is the provider's.
                    if part.get(SIGNATURE).is_some() {
                        self.parts.push(ReplyPart::Thinking(part.clone()));
                    }
                } else {
                    text.push_str(piece);
                    self.say(piece, part.get(SIGNATURE));
                }
            } else if let Some(call) = part.get("functionCall") {
                let call = self.call(call)?;
                let signature = part.get(SIGNATURE).cloned();
                self.parts.push(ReplyPart::Call { place: self.calls.len(), signature });
                self.calls.push(call);
            }
        }
        self.thinking.push_str(&thoughts);
        Ok(match (text.is_empty(), thoughts.is_empty()) {
            (false, _) => StreamStep::Show(Delta::Text(text)),
            (true, false) => StreamStep::Show(Delta::Thinking(thoughts)),
            (true, true) => StreamStep::Nothing,
        })
    }

    /// Takes in a piece of the text. One with a signature stays a part of its own, as the provider asks.
    fn say(&mut self, piece: &str, signature: Option<&Value>) {
        let from = self.text.len();
        self.text.push_str(piece);
        match (self.parts.last_mut(), signature) {
            (_, None) if piece.is_empty() => {}
            (Some(ReplyPart::Text { to, signature: None, .. }), None) => *to = self.text.len(),
            _ => self.parts.push(ReplyPart::Text { from, to: self.text.len(), signature: signature.cloned() }),
        }
    }

    fn wanted_back(&self) -> Option<Value> {
        let marks = |signature: &Option<Value>| -> PartMarks {
            signature.iter().map(|signature| (SIGNATURE.to_owned(), signature.clone())).collect()
        };
        let mut parts = ReplyParts::default();
        for part in &self.parts {
            match part {
                ReplyPart::Text { from, to, signature } => parts.text(*from..*to, marks(signature)),
                ReplyPart::Call { place, signature } => parts.call(*place, marks(signature)),
                ReplyPart::Thinking(part) => parts.whole(part.clone()),
            }
        }
        parts.kept()
    }

    fn call(&self, call: &Value) -> Result<ToolCall, String> {
        // An empty one is no tool, which the agent is told.
        let name = call["name"].as_str().ok_or("a call without a name")?;
        if call["willContinue"] == true || call.get("partialArgs").is_some() {
            return Err("a call in pieces, which was not asked for".to_owned());
        }
        let given = call["id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
        Ok(ToolCall {
            call_id: given.unwrap_or_else(|| names::made_id(self.turn, self.calls.len() + 1)),
            name: self.names.get(name).cloned().unwrap_or_else(|| name.to_owned()),
            args: call.get("args").filter(|args| !args.is_null()).cloned().unwrap_or_else(|| json!({})),
            malformed: None,
            masked: false,
            resolved: Vec::new(),
        })
    }
}

/// Returns the counts in the normal form. Each event has all of them so far; what it leaves out is unknown.
fn usage(counts: &Value) -> Option<Usage> {
    let count = |name: &str| counts[name].as_u64();
    let (cached, thoughts) = (count("cachedContentTokenCount"), count("thoughtsTokenCount"));
    let output = match (count("candidatesTokenCount"), thoughts) {
        (None, None) => None,
        // The API counts thoughts apart from what is said.
        (said, thoughts) => Some(said.unwrap_or(0).saturating_add(thoughts.unwrap_or(0))),
    };
    let usage = Usage {
        // The prompt's count includes what was read from a cache.
        input_tokens: count("promptTokenCount").map(|prompt| prompt.saturating_sub(cached.unwrap_or(0))),
        cache_read_tokens: cached,
        // Its cache fills itself, and nothing says with how much.
        cache_write_tokens: None,
        output_tokens: output,
        reasoning_tokens: thoughts,
    };
    Some(usage).filter(|usage| *usage != Usage::default())
}

/// Returns the meaning of the reason for an end.
///
/// # Errors
///
/// The reason why there is no whole reply, although it has ended.
fn end(reason: &str, said: Option<&str>) -> Result<ReplyEnd, String> {
    match reason {
        "MAX_TOKENS" | "CONTINUATION" => Ok(ReplyEnd::Whole(Some(Stop::MaxTokens))),
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "ESCALATION"
        | "PUP_LIMITED_DISABLED"
        | "MODEL_ARMOR"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => Ok(ReplyEnd::Declined(worded(reason, said))),
        // Another attempt may do better: the model wrote something that the provider could not read.
        "MALFORMED_FUNCTION_CALL"
        | "MALFORMED_RESPONSE"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS"
        | "MISSING_THOUGHT_SIGNATURE" => Err(worded(reason, said)),
        // `STOP` is also what follows a call. What is not known here ends the reply like it.
        _ => Ok(ReplyEnd::Whole(None)),
    }
}

fn worded(reason: &str, said: Option<&str>) -> String {
    match said.map(str::trim).filter(|said| !said.is_empty()) {
        Some(said) => format!("{reason}: {said}"),
        None => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests;
