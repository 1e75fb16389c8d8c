//! Folds the events of the Responses API into a reply.
//!
//! In: one event after another. Out: the meaning of each for the caller, and the reply when it is whole. Events and
//! items of a kind that this version does not know are skipped; one that it knows and can't read ends the reading,
//! since text or a call would be missing. Where an item comes again as a whole, that counts.

use std::collections::BTreeMap;

use adjutant_ports::{Delta, Reply, Stop, Usage};
use serde_json::{Value, json};

use crate::api::parts::{PartMarks, ReplyParts};
use crate::api::{ReplyReader, StreamStep, malformed_or};
use crate::openai::usage::usage;
use crate::sse;

/// Separator of two messages of one reply: lines of both are read by themselves.
const BETWEEN: &str = "\n\n";

/// The reply as far as it has come.
#[derive(Debug, Default)]
pub(super) struct ResponsesFold {
    /// The tools' own names by their changed ones.
    names: BTreeMap<String, String>,
    /// By their index: the items of a reply may arrive side by side.
    items: BTreeMap<u64, Item>,
    /// The index of each item by its ids: llama.cpp sends the id of an item with its events, and no index.
    places: BTreeMap<String, u64>,
    /// The index of the message that was shown last.
    shown: Option<u64>,
    /// The model's text instead of an answer.
    refusal: String,
    usage: Option<Usage>,
    stop: Option<Stop>,
}

#[derive(Debug)]
enum Item {
    /// A message, and what the provider wants back with it.
    Text(String, PartMarks),
    Call {
        id: String,
        name: String,
        /// The JSON of the arguments so far.
        json: String,
    },
    /// Thinking, as far as it has come.
    Thinking(Value),
    /// Whatever is not known here.
    Other,
}

impl ResponsesFold {
    /// Creates a fold to which nothing has come yet. `names` has the tools' own names by those that the request gave
    /// them.
    pub(super) fn new(names: BTreeMap<String, String>) -> Self {
        Self { names, ..Self::default() }
    }
}

impl ReplyReader for ResponsesFold {
    fn has_content(&self) -> bool {
        !self.items.is_empty()
    }

    fn read(&mut self, event: &sse::SseEvent) -> StreamStep {
        let Ok(data) = serde_json::from_str::<Value>(&event.data) else {
            return match event.event.as_str() {
                "error" => StreamStep::Failed(event.data.clone()),
                // Some servers end this format as they end the older one.
                "message" if event.data.trim() == "[DONE]" => StreamStep::Nothing,
                name if name == "message" || name.starts_with("response.") => unreadable("no JSON", name),
                _ => StreamStep::Nothing,
            };
        };
        let kind = data["type"].as_str().unwrap_or(&event.event);
        match kind {
            "response.output_item.added" | "response.output_item.done" => match self.place(&data) {
                Some(index) => self.take(index, &data["item"]),
                None => unreadable("no index", kind),
            },
            "response.output_text.delta" => match (self.place(&data), data["delta"].as_str()) {
                (Some(index), Some(piece)) => self.say(index, piece),
                _ => unreadable("no text", kind),
            },
            "response.function_call_arguments.delta" | "response.function_call_arguments.done" => {
                let index = self.place(&data);
                self.argue(index, &data).unwrap_or_else(|| unreadable("no call for the arguments", kind))
            }
            "response.refusal.delta" => match data["delta"].as_str() {
                Some(piece) => {
                    self.refusal.push_str(piece);
                    shown(Delta::Text, piece.to_owned())
                }
                None => unreadable("no text", kind),
            },
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                shown(Delta::Thinking, data["delta"].as_str().unwrap_or_default().to_owned())
            }
            "response.completed" | "response.incomplete" => self.end(kind, &data["response"]),
            "response.failed" => StreamStep::Failed(json!({ "error": data["response"]["error"] }).to_string()),
            // The event is the error, or has it.
            "error" if data["error"].is_object() => StreamStep::Failed(json!({ "error": data["error"] }).to_string()),
            "error" => {
                StreamStep::Failed(json!({ "error": { "code": data["code"], "message": data["message"] } }).to_string())
            }
            _ => StreamStep::Nothing,
        }
    }

    fn finish(self: Box<Self>) -> Reply {
        let Self { names, items, refusal, usage, stop, .. } = *self;
        let (mut text, mut thinking) = (String::new(), String::new());
        let (mut calls, mut parts) = (Vec::new(), ReplyParts::default());
        let last = items.keys().next_back().copied();
        for (index, item) in items {
            match item {
                Item::Text(piece, _) if piece.is_empty() => {}
                Item::Text(piece, marks) => {
                    join(&mut text, &piece);
                    parts.text(text.len() - piece.len()..text.len(), marks);
                }
                Item::Call { id, name, json } => {
                    // The limit can fall before a call's first argument, which then looks like a call
                    // without any.
                    let is_cut = stop == Some(Stop::MaxTokens) && last == Some(index) && json.is_empty();
                    let name = names.get(&name).cloned().unwrap_or(name);
                    parts.call(calls.len(), PartMarks::new());
                    calls.push(malformed_or(id, name, &json, is_cut));
                }
                Item::Thinking(item) => {
                    join(&mut thinking, &thoughts(&item));
                    // Without its content it could only be found where it is stored, which is nowhere.
                    if item["encrypted_content"].is_string() {
                        parts.whole(item);
                    }
                }
                Item::Other => {}
            }
        }
        let is_refused = !refusal.is_empty();
        if is_refused {
            join(&mut text, &refusal);
        }
        let stop = match stop {
            _ if is_refused => Stop::Refusal,
            Some(stop) => stop,
            None if calls.is_empty() => Stop::EndTurn,
            None => Stop::ToolUse,
        };
        Reply { text, thinking, calls, provider_data: parts.kept(), usage, stop }
    }
}

impl ResponsesFold {
    /// Returns the index of the item that an event is about: the event's own, else that of the id in it. An item that
    /// comes without an index has the next one.
    fn place(&mut self, data: &Value) -> Option<u64> {
        let item = &data["item"];
        let ids = [&data["item_id"], &item["id"], &item["call_id"]].into_iter().filter_map(Value::as_str);
        let ids: Vec<&str> = ids.filter(|id| !id.is_empty()).collect();
        let known = ids.iter().find_map(|id| self.places.get(*id).copied());
        let next = self.items.keys().next_back().map_or(0, |last| last.saturating_add(1));
        let is_new = item.is_object() && !ids.is_empty();
        let place = data["output_index"].as_u64().or(known).or_else(|| is_new.then_some(next))?;
        if item.is_object() {
            self.places.extend(ids.into_iter().map(|id| (id.to_owned(), place)));
        }
        Some(place)
    }

    /// Takes in an item, as far as it is there: its beginning, or all of it.
    fn take(&mut self, index: u64, item: &Value) -> StreamStep {
        let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
        match item["type"].as_str() {
            Some("message") => {
                let said = parts(item, "output_text", "text");
                let refused = parts(item, "refusal", "refusal");
                if !refused.is_empty() {
                    self.refusal = refused;
                }
                match self.items.get_mut(&index) {
                    // It has been shown piece by piece.
                    Some(Item::Text(known, marks)) if !known.is_empty() => {
                        if !said.is_empty() {
                            *known = said;
                        }
                        marks.extend(phase(item));
                        StreamStep::Nothing
                    }
                    _ => {
                        self.items.insert(index, Item::Text(String::new(), phase(item)));
                        self.say(index, &said)
                    }
                }
            }
            Some("function_call") => {
                let mut json = text("arguments");
                if let Some(Item::Call { json: known, .. }) = self.items.get_mut(&index).filter(|_| json.is_empty()) {
                    json = std::mem::take(known);
                }
                let call = Item::Call { id: text("call_id"), name: text("name"), json };
                self.items.insert(index, call);
                StreamStep::Nothing
            }
            // It is whole when it comes for the second time; until then it may be empty.
            Some("reasoning") => {
                self.items.insert(index, Item::Thinking(item.clone()));
                StreamStep::Nothing
            }
            Some(_) | None => {
                self.items.entry(index).or_insert(Item::Other);
                StreamStep::Nothing
            }
        }
    }

    fn say(&mut self, index: u64, piece: &str) -> StreamStep {
        match self.items.entry(index).or_insert_with(|| Item::Text(String::new(), PartMarks::new())) {
            Item::Text(text, _) => text.push_str(piece),
            Item::Call { .. } | Item::Thinking(_) | Item::Other => {
                return unreadable("text of another item", "response.output_text.delta");
            }
        }
        if piece.is_empty() {
            return StreamStep::Nothing;
        }
        let before = self.shown.replace(index);
        let between = if before.is_some_and(|before| before != index) { BETWEEN } else { "" };
        shown(Delta::Text, format!("{between}{piece}"))
    }

    /// Takes in arguments of a call: the next piece, or all of them. `None` if there is no such call.
    fn argue(&mut self, index: Option<u64>, data: &Value) -> Option<StreamStep> {
        let Item::Call { json, .. } = self.items.get_mut(&index?)? else { return None };
        match data["arguments"].as_str() {
            // Some servers leave them out where they have sent them piece by piece.
            Some("") => {}
            Some(whole) => whole.clone_into(json),
            None => json.push_str(data["delta"].as_str()?),
        }
        Some(StreamStep::Nothing)
    }

    fn end(&mut self, kind: &str, response: &Value) -> StreamStep {
        self.usage = usage(&response["usage"], "input", "output");
        if self.items.is_empty() {
            for (index, item) in (0_u64..).zip(response["output"].as_array().into_iter().flatten()) {
                self.take(index, item);
            }
        }
        if kind == "response.completed" {
            return StreamStep::Done;
        }
        self.stop = match response["incomplete_details"]["reason"].as_str() {
            Some("max_output_tokens") => Some(Stop::MaxTokens),
            Some("content_filter") => {
                if self.refusal.is_empty() {
                    "its content filter ended the reply".clone_into(&mut self.refusal);
                }
                Some(Stop::Refusal)
            }
            reason => return unreadable(&format!("the reason `{}`", reason.unwrap_or_default()), kind),
        };
        StreamStep::Done
    }
}

/// Adds a text to what was said before it.
fn join(text: &mut String, piece: &str) {
    if !(text.is_empty() || piece.is_empty()) {
        text.push_str(BETWEEN);
    }
    text.push_str(piece);
}

/// Returns the mark that says if a message is commentary or the answer: models that set it get worse if it isn't sent
/// back.
fn phase(item: &Value) -> PartMarks {
    let phase = item.get("phase").filter(|phase| phase.is_string());
    phase.map(|phase| ("phase".to_owned(), phase.clone())).into_iter().collect()
}

/// Returns the thinking that is shown: the text itself where the server gives it, else its summary.
fn thoughts(item: &Value) -> String {
    let shown = parts(item, "reasoning_text", "text");
    if !shown.is_empty() {
        return shown;
    }
    let summary = item["summary"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    summary.collect::<Vec<_>>().join(BETWEEN)
}

/// Returns the texts of those parts of a message that are of this kind.
fn parts(item: &Value, kind: &str, field: &str) -> String {
    let parts = item["content"].as_array().into_iter().flatten().filter(|part| part["type"] == kind);
    parts.filter_map(|part| part[field].as_str()).collect()
}

fn shown(delta: impl FnOnce(String) -> Delta, piece: String) -> StreamStep {
    if piece.is_empty() { StreamStep::Nothing } else { StreamStep::Show(delta(piece)) }
}

fn unreadable(what: &str, event: &str) -> StreamStep {
    StreamStep::Unreadable(format!("{what} in the event `{event}`"))
}

#[cfg(test)]
mod tests;
