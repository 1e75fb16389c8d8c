//! The rules of Anthropic's Messages API.
//!
//! From the API's reference and its pages on tool use, extended and adaptive thinking, prompt caching and effort; from
//! the types of its Python and TypeScript clients; and from the sentences that people quote in the issues of
//! claude-code, both clients, LiteLLM and others.

use serde_json::{Value, json};

use crate::memory::Memory;
use crate::refusal::{self, Refusal, header, is_plain_name, items, kind, repeated, text, unknown};
use crate::{Reply, Thought};

const FIELDS: &[&str] = &[
    "model", "max_tokens", "messages", "system", "stream", "stop_sequences", "temperature", "top_k", "top_p", "tools",
    "tool_choice", "thinking", "metadata", "service_tier", "output_config", "container", "inference_geo",
    "cache_control",
];
/// The fields that Vertex AI takes besides, by Anthropic's page on it; the model is none of its own.
const VERTEX_FIELDS: &[&str] = &["anthropic_version", "anthropic_beta"];
const VERTEX_VERSION: &str = "vertex-2023-10-16";
const TOOL_FIELDS: &[&str] = &[
    "type", "name", "description", "input_schema", "cache_control", "strict", "defer_loading", "input_examples",
    "allowed_callers", "eager_input_streaming",
];
const EFFORTS: &[&str] = &["low", "medium", "high", "xhigh", "max"];

/// The least that a budget of thinking may be, by the page on extended thinking.
const BUDGET_TOKENS_MIN: u64 = 1024;
/// The most marks for the cache, by the page on prompt caching.
const MARKS_MAX: usize = 4;
/// The most characters of a tool's name, by the reference.
const NAME_CHARS_MAX: usize = 128;
/// The least `top_p` beside thinking, by the page on extended thinking.
const TOP_P_MIN: f64 = 0.95;

/// The rules, with the thinking that the server gave out.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    memory: Memory,
    /// The thinking of each reply, with the ids of its calls.
    given: Vec<(Vec<String>, Vec<Value>)>,
}

/// Mode of thinking that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thinking {
    Off,
    Enabled,
    Adaptive,
}

fn refusal(status: u16, kind: &str, message: &str) -> Refusal {
    let error = json!({ "type": kind, "message": message });
    Refusal { status, body: json!({ "type": "error", "error": error, "request_id": "req_loopback" }) }
}

/// Returns true if a path is that of a stream on Vertex AI, which names the model.
fn is_vertex(path: &str) -> bool {
    let model =
        path.rsplit_once("/publishers/anthropic/models/").and_then(|(_, end)| end.strip_suffix(":streamRawPredict"));
    model.is_some_and(|model| !model.is_empty() && !model.contains('/'))
}

/// Google's refusal of a request without a token. (What it does with a key beside one is on no page.)
fn unauthenticated() -> Refusal {
    let message = "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or \
                   other valid authentication credential.";
    let error = json!({ "code": 401, "message": message, "status": "UNAUTHENTICATED" });
    Refusal { status: 401, body: json!([{ "error": error }]) }
}

/// Anthropic's page on Vertex AI: the model stands in the path alone, and the version in the body.
fn vertex(body: &Value, found: &mut Found) {
    let fields: Vec<&str> = FIELDS.iter().filter(|name| **name != "model").chain(VERTEX_FIELDS).copied().collect();
    found.extra("", body, &fields);
    let version = body["anthropic_version"].as_str();
    found.when(version.is_none(), || "anthropic_version: Field required".to_owned());
    found.when(version.is_some_and(|version| version != VERTEX_VERSION), || {
        format!("anthropic_version: Input should be '{VERTEX_VERSION}'")
    });
}

/// Faults of a request, as sentences.
#[derive(Default)]
struct Found(Vec<String>);

impl Found {
    fn when(&mut self, is_wrong: bool, sentence: impl FnOnce() -> String) {
        if is_wrong {
            self.0.push(sentence());
        }
    }

    fn extra(&mut self, place: &str, value: &Value, known: &[&str]) {
        for name in unknown(value, known) {
            self.0.push(format!("{place}{name}: Extra inputs are not permitted"));
        }
    }
}

impl Rules {
    /// All that is wrong with a request, in the order in which it is looked at.
    #[must_use]
    pub fn findings(&self, head: &str, body: &Value) -> Vec<Refusal> {
        let is_vertex = is_vertex(refusal::path(head));
        if !is_vertex && !refusal::path(head).ends_with("/v1/messages") {
            return vec![refusal(404, "not_found_error", "Not found")];
        }
        let mut findings = Vec::new();
        let mut found = Found::default();
        if is_vertex {
            let is_bearer = header(head, "authorization").is_some_and(|value| value.starts_with("Bearer "));
            if !is_bearer || header(head, "x-api-key").is_some() {
                findings.push(unauthenticated());
            }
            vertex(body, &mut found);
        } else {
            if header(head, "x-api-key").is_none() && header(head, "authorization").is_none() {
                findings.push(refusal(401, "authentication_error", "x-api-key header is required"));
            }
            found.when(header(head, "anthropic-version").is_none(), || {
                "anthropic-version: header is required".to_owned()
            });
            found.extra("", body, FIELDS);
            found.when(text(&body["model"]).is_empty(), || "model: Field required".to_owned());
        }
        let thinking = self.parameters(body, &mut found);
        tools(body, thinking, &mut found);
        marks(body, &mut found);
        self.messages(body, thinking, &mut found);
        findings.extend(found.0.iter().map(|sentence| refusal(400, "invalid_request_error", sentence)));
        findings
    }

    /// See [`crate::Rules::lost`].
    #[must_use]
    pub fn lost(&self, body: &Value) -> Vec<String> {
        self.memory.lost(body)
    }

    /// Writes a reply as the events of a stream, and remembers its thinking.
    pub fn give(&mut self, reply: &Reply) -> Vec<Value> {
        let thinking: Vec<Value> = reply.thoughts.iter().map(block).collect();
        self.memory.keep(reply, reply.thoughts.iter().map(|thought| thought.opaque().to_owned()).collect());
        if !thinking.is_empty() {
            self.given.push((reply.calls.iter().map(|call| call.id.clone()).collect(), thinking));
        }
        events(reply)
    }

    /// All but the model, tools and messages.
    fn parameters(&self, body: &Value, found: &mut Found) -> Thinking {
        let max_tokens = body["max_tokens"].as_u64();
        match (body.get("max_tokens"), max_tokens) {
            (None, _) => found.0.push("max_tokens: Field required".to_owned()),
            (Some(_), None) => found.0.push("max_tokens: Input should be a valid integer".to_owned()),
            (Some(_), Some(0)) => {
                found.0.push("max_tokens: Input should be greater than or equal to 1".to_owned());
            }
            (Some(_), Some(_)) => {}
        }
        match &body["system"] {
            Value::Null | Value::String(_) => {}
            system => {
                for block in items(system) {
                    let is_empty = text(&block["text"]).is_empty();
                    found.when(is_empty, || "system: text content blocks must be non-empty".to_owned());
                    found.when(block["type"] != "text", || "system.0.type: Input should be 'text'".to_owned());
                }
            }
        }
        let effort = &body["output_config"]["effort"];
        found.when(!effort.is_null() && !EFFORTS.contains(&text(effort)), || {
            "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'".to_owned()
        });
        found.extra("output_config.", &body["output_config"], &["effort", "format", "task_budget"]);
        let thinking = thinking(body, max_tokens, found);
        sampling(body, thinking, found);
        thinking
    }

    fn messages(&self, body: &Value, thinking: Thinking, found: &mut Found) {
        let messages = items(&body["messages"]);
        if messages.is_empty() {
            found.0.push("messages: at least one message is required".to_owned());
            return;
        }
        found.when(messages[0]["role"] == "assistant", || {
            "messages: first message must use the \"user\" role".to_owned()
        });
        for (index, message) in messages.iter().enumerate() {
            found.extra(&format!("messages.{index}."), message, &["role", "content"]);
            match text(&message["role"]) {
                "user" | "assistant" => {}
                "system" => found.0.push(
                    "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, \
                     not \"system\" as an input message role."
                        .to_owned(),
                ),
                _ => found.0.push(format!("messages.{index}.role: Input should be 'user' or 'assistant'")),
            }
            self.content(index, message, index + 1 == messages.len(), found);
        }
        pairs(messages, found);
        self.last_loop(messages, thinking, found);
    }

    fn content(&self, index: usize, message: &Value, is_last: bool, found: &mut Found) {
        let is_prefill = is_last && message["role"] == "assistant";
        let blocks = items(&message["content"]);
        let is_empty = match &message["content"] {
            Value::String(said) => said.is_empty(),
            _ => blocks.is_empty(),
        };
        found.when(is_empty && !is_prefill, || {
            format!(
                "messages.{index}: all messages must have non-empty content except for the optional final assistant \
                 message"
            )
        });
        let last = message["content"].as_str().or_else(|| blocks.last().and_then(|block| block["text"].as_str()));
        found.when(is_prefill && last.is_some_and(|said| said.ends_with(char::is_whitespace)), || {
            "messages: final assistant content cannot end with trailing whitespace".to_owned()
        });
        for (place, block) in blocks.iter().enumerate() {
            self.block(&format!("messages.{index}.content.{place}"), text(&message["role"]), block, found);
        }
    }

    fn block(&self, place: &str, role: &str, block: &Value, found: &mut Found) {
        let kind = text(&block["type"]);
        let extra = |known: &[&str], found: &mut Found| found.extra(&format!("{place}.{kind}."), block, known);
        let only_in = |wanted: &str, found: &mut Found| {
            found.when(role != wanted, || {
                let message = place.rsplit_once(".content").map_or(place, |(message, _)| message);
                format!("{message}: `{kind}` blocks can only be in `{wanted}` messages")
            });
        };
        match kind {
            "text" => {
                extra(&["type", "text", "cache_control", "citations"], found);
                said(text(&block["text"]), found);
            }
            "image" | "document" | "search_result" => {}
            "tool_use" => {
                only_in("assistant", found);
                extra(&["type", "id", "name", "input", "cache_control", "caller"], found);
                found.when(!is_plain_name(text(&block["id"]), usize::MAX), || {
                    format!("{place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
                });
                found.when(!is_plain_name(text(&block["name"]), NAME_CHARS_MAX), || {
                    format!("{place}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
                });
                found.when(!block["input"].is_object(), || {
                    format!("{place}.tool_use.input: Input should be a valid dictionary")
                });
            }
            "tool_result" => {
                only_in("user", found);
                extra(&["type", "tool_use_id", "content", "is_error", "cache_control"], found);
                for inner in items(&block["content"]).iter().filter(|inner| inner["type"] == "text") {
                    said(text(&inner["text"]), found);
                }
            }
            "thinking" => {
                only_in("assistant", found);
                extra(&["type", "thinking", "signature"], found);
                self.returned(place, block, found);
            }
            "redacted_thinking" => {
                only_in("assistant", found);
                extra(&["type", "data"], found);
                self.returned(place, block, found);
            }
            _ => found.0.push(format!(
                "{place}: Input tag '{kind}' found using 'type' does not match any of the expected tags: 'document', \
                 'image', 'redacted_thinking', 'search_result', 'text', 'thinking', 'tool_result', 'tool_use'"
            )),
        }
    }

    /// Thinking that comes back is what was given out. (A trial that hermes-agent's pull request 24107 reports had an
    /// altered text beside the right signature accepted; the page on extended thinking forbids it, and claude-code's
    /// issues have the refusal.)
    fn returned(&self, place: &str, block: &Value, found: &mut Found) {
        let (field, kind) =
            if block["type"] == "thinking" { ("signature", "thinking") } else { ("data", "redacted_thinking") };
        let Some(opaque) = block[field].as_str() else {
            found.0.push(format!("{place}.{kind}.{field}: Field required"));
            return;
        };
        found.when(!self.memory.has(opaque), || format!("{place}: Invalid `{field}` in `{kind}` block"));
        let is_same = |given: &Value| {
            given[field] == block[field] && given["type"] == block["type"] && given["thinking"] == block["thinking"]
        };
        let is_known = self.given.iter().any(|(_, blocks)| blocks.iter().any(is_same));
        found.when(self.memory.has(opaque) && !is_known, || unmodified(place));
    }

    /// In a loop of tools the last turn of the assistant keeps its thinking: all of it, in its place. Where thinking
    /// has a budget, it has to begin with some; the page on adaptive thinking lifts that.
    fn last_loop(&self, messages: &[Value], thinking: Thinking, found: &mut Found) {
        let Some(index) = messages.iter().rposition(|message| message["role"] == "assistant") else { return };
        let blocks = items(&messages[index]["content"]);
        let calls: Vec<&str> = ids(blocks, "tool_use", "id");
        if calls.is_empty() {
            return;
        }
        let first = text(&blocks[0]["type"]);
        if thinking == Thinking::Enabled && !matches!(first, "thinking" | "redacted_thinking") {
            found.0.push(format!(
                "messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. When \
                 `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the \
                 lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from \
                 previous turns. To avoid this requirement, disable `thinking`."
            ));
            return;
        }
        let is_thinking = |block: &&Value| matches!(text(&block["type"]), "thinking" | "redacted_thinking");
        let kept: Vec<&Value> = blocks.iter().filter(is_thinking).collect();
        let given = self.given.iter().find(|(ids, _)| ids.iter().any(|id| calls.contains(&id.as_str())));
        let Some((_, given)) = given.filter(|_| thinking != Thinking::Off && !kept.is_empty()) else { return };
        // A block that isn't known at all was refused already.
        let all_known = kept.iter().all(|block| given.contains(block));
        found.when(all_known && kept != given.iter().collect::<Vec<_>>(), || {
            unmodified(&format!("messages.{index}.content.0"))
        });
    }
}

fn unmodified(place: &str) -> String {
    format!(
        "{place}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These \
         blocks must remain as they were in the original response."
    )
}

fn said(said: &str, found: &mut Found) {
    if said.is_empty() {
        found.0.push("messages: text content blocks must be non-empty".to_owned());
    } else if said.trim().is_empty() {
        found.0.push("messages: text content blocks must contain non-whitespace text".to_owned());
    }
}

/// The page on extended thinking, and the one on adaptive thinking.
fn thinking(body: &Value, max_tokens: Option<u64>, found: &mut Found) -> Thinking {
    let settings = &body["thinking"];
    let kind = text(&settings["type"]);
    match kind {
        "enabled" => {
            found.extra("thinking.enabled.", settings, &["type", "budget_tokens", "display"]);
            match settings["budget_tokens"].as_u64() {
                None => found.0.push("thinking.enabled.budget_tokens: Field required".to_owned()),
                Some(budget) if budget < BUDGET_TOKENS_MIN => found
                    .0
                    .push("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024".to_owned()),
                Some(budget) => found.when(max_tokens.is_some_and(|max_tokens| max_tokens <= budget), || {
                    "`max_tokens` must be greater than `thinking.budget_tokens`.".to_owned()
                }),
            }
            Thinking::Enabled
        }
        "adaptive" => {
            found.extra("thinking.adaptive.", settings, &["type", "display"]);
            Thinking::Adaptive
        }
        "disabled" => {
            found.extra("thinking.disabled.", settings, &["type"]);
            Thinking::Off
        }
        _ => {
            found.when(!settings.is_null(), || {
                format!(
                    "thinking: Input tag '{kind}' found using 'type' does not match any of the expected tags: \
                     'adaptive', 'disabled', 'enabled'"
                )
            });
            Thinking::Off
        }
    }
}

/// The page on extended thinking has what goes beside it; its reference has the ranges, and its notes on Claude
/// Opus 4.1 that only one of the two may be given.
fn sampling(body: &Value, thinking: Thinking, found: &mut Found) {
    let (temperature, top_p) = (body["temperature"].as_f64(), body["top_p"].as_f64());
    found
        .when(temperature.is_some_and(|value| !(0.0..=1.0).contains(&value)), || "temperature: range: 0..1".to_owned());
    found.when(temperature.is_some() && top_p.is_some(), || {
        "`temperature` and `top_p` cannot both be specified for this model. Please use only one.".to_owned()
    });
    if thinking == Thinking::Off {
        return;
    }
    found.when(temperature.is_some_and(|value| value < 1.0), || {
        "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.".to_owned()
    });
    found.when(top_p.is_some_and(|value| value < TOP_P_MIN), || {
        "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.".to_owned()
    });
    found.when(!body["top_k"].is_null(), || "`top_k` must be unset when thinking is enabled.".to_owned());
}

/// Tools, and what may be chosen among them.
///
/// That a history with blocks of tools needs tools is in issues 494 and 849 of the Python client and in many others. A
/// maintainer wrote in 849 that the API no longer asks for it; later reports, and Bedrock, still have the refusal.
fn tools(body: &Value, thinking: Thinking, found: &mut Found) {
    let tools = items(&body["tools"]);
    for (index, tool) in tools.iter().enumerate() {
        let place = format!("tools.{index}.custom.");
        found.extra(&place, tool, TOOL_FIELDS);
        found.when(!is_plain_name(text(&tool["name"]), NAME_CHARS_MAX), || {
            format!("{place}name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        });
        let schema = &tool["input_schema"];
        found.when(!schema.is_object(), || format!("{place}input_schema: Field required"));
        found.when(schema.is_object() && schema["type"] != "object", || {
            format!("{place}input_schema.type: Input should be 'object'")
        });
        let is_choice = ["oneOf", "allOf", "anyOf"].iter().any(|name| schema.get(name).is_some());
        found.when(is_choice, || {
            format!("{place}input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level")
        });
    }
    found.when(repeated(tools.iter().map(|tool| text(&tool["name"]))).is_some(), || {
        "tools: Tool names must be unique.".to_owned()
    });
    let blocks = items(&body["messages"]).iter().flat_map(|message| items(&message["content"]));
    let has_calls = blocks.into_iter().any(|block| matches!(text(&block["type"]), "tool_use" | "tool_result"));
    found.when(tools.is_empty() && has_calls, || {
        "Requests which include `tool_use` or `tool_result` blocks must define tools.".to_owned()
    });
    let choice = &body["tool_choice"];
    if choice.is_null() {
        return;
    }
    found.when(tools.is_empty(), || "tool_choice: tool_choice may only be specified while providing tools.".to_owned());
    let kind = text(&choice["type"]);
    let known: &[&str] = match kind {
        "auto" | "any" => &["type", "disable_parallel_tool_use"],
        "tool" => &["type", "name", "disable_parallel_tool_use"],
        "none" => &["type"],
        _ => {
            found.0.push(format!(
                "tool_choice: Input tag '{kind}' found using 'type' does not match any of the expected tags: 'any', \
                 'auto', 'none', 'tool'"
            ));
            return;
        }
    };
    found.extra(&format!("tool_choice.{kind}."), choice, known);
    found.when(kind == "tool" && !tools.iter().any(|tool| tool["name"] == choice["name"]), || {
        format!("tool_choice: Tool '{}' not found in provided tools", text(&choice["name"]))
    });
    found.when(thinking != Thinking::Off && matches!(kind, "any" | "tool"), || {
        "Thinking may not be enabled when tool_choice forces tool use.".to_owned()
    });
}

/// The page on prompt caching: at most four marks, none on what is empty or thought, longer ones first.
fn marks(body: &Value, found: &mut Found) {
    let listed = |value: &Value, place: &str| -> Vec<(String, Value)> {
        let blocks = items(value).iter().enumerate();
        blocks.map(|(index, block)| (format!("{place}.{index}"), block.clone())).collect()
    };
    let mut blocks = listed(&body["tools"], "tools");
    blocks.extend(listed(&body["system"], "system"));
    for (index, message) in items(&body["messages"]).iter().enumerate() {
        for (place, block) in listed(&message["content"], &format!("messages.{index}.content")) {
            let inner = listed(&block["content"], &format!("{place}.content"));
            blocks.push((place, block));
            blocks.extend(inner);
        }
    }
    blocks.push((String::new(), json!({ "cache_control": body["cache_control"] })));
    blocks.retain(|(_, block)| !block["cache_control"].is_null());
    let count = blocks.len();
    found.when(count > MARKS_MAX, || {
        format!("A maximum of 4 blocks with cache_control may be provided. Found {count}.")
    });
    let mut has_short = false;
    for (place, block) in blocks {
        let mark = &block["cache_control"];
        found.when(mark["type"] != "ephemeral", || format!("{place}.cache_control.type: Input should be 'ephemeral'"));
        found.extra(&format!("{place}.cache_control."), mark, &["type", "ttl"]);
        found.when(block["type"] == "text" && text(&block["text"]).is_empty(), || {
            format!("{place}.text: cache_control cannot be set for empty text blocks")
        });
        match mark["ttl"].as_str() {
            Some("1h") => found.when(has_short, || {
                format!(
                    "{place}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' \
                     cache_control block."
                )
            }),
            Some("5m") | None => has_short = true,
            Some(_) => found.0.push(format!("{place}.cache_control.ephemeral.ttl: Input should be '5m' or '1h'")),
        }
    }
}

fn ids<'a>(blocks: &'a [Value], kind: &str, field: &str) -> Vec<&'a str> {
    blocks.iter().filter(|block| block["type"] == kind).map(|block| text(&block[field])).collect()
}

/// Every call is answered in the next message, before anything else is said there; the page on handling tool calls.
fn pairs(messages: &[Value], found: &mut Found) {
    let mut known: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let blocks = items(&message["content"]);
        let calls = ids(blocks, "tool_use", "id");
        for (place, id) in calls.iter().enumerate() {
            found.when(known.contains(id), || {
                format!("messages.{index}.content.{place}: `tool_use` ids must be unique")
            });
            known.push(id);
        }
        let next = messages.get(index + 1).map(|next| items(&next["content"])).unwrap_or_default();
        let begins = next.iter().take_while(|block| block["type"] == "tool_result");
        let answered: Vec<&str> = begins.map(|block| text(&block["tool_use_id"])).collect();
        let missing: Vec<&str> = calls.iter().copied().filter(|id| !answered.contains(id)).collect();
        found.when(!missing.is_empty(), || {
            format!(
                "messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each \
                 `tool_use` block must have a corresponding `tool_result` block in the next message.",
                missing.join(", ")
            )
        });
        let before = index.checked_sub(1).map(|before| items(&messages[before]["content"])).unwrap_or_default();
        let asked = ids(before, "tool_use", "id");
        let results = ids(blocks, "tool_result", "tool_use_id");
        for (place, id) in results.iter().enumerate().filter(|(_, id)| !asked.contains(id)) {
            found.0.push(format!(
                "messages.{index}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
                 `tool_result` block must have a corresponding `tool_use` block in the previous message."
            ));
        }
        if let Some(id) = repeated(results.into_iter()) {
            found.0.push(format!(
                "messages.{index}: each tool_use must have a single result. Found multiple `tool_result` blocks with \
                 id: {id}"
            ));
        }
        found.when(!message["content"].is_string() && !message["content"].is_array(), || {
            format!("messages.{index}.content: Input should be a valid list, not {}", kind(&message["content"]))
        });
    }
}

/// A piece of thinking, as it is sent back.
fn block(thought: &Thought) -> Value {
    match thought {
        Thought::Open { text, signature } => json!({ "type": "thinking", "thinking": text, "signature": signature }),
        Thought::Sealed(data) => json!({ "type": "redacted_thinking", "data": data }),
    }
}

/// The events of a reply, as the page on streaming has them.
fn events(reply: &Reply) -> Vec<Value> {
    let usage = json!({ "input_tokens": 5, "output_tokens": 1 });
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    let mut events = vec![json!({ "type": "message_start", "message": message }), json!({ "type": "ping" })];
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<Value>| {
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        for delta in deltas {
            events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        }
        events.push(json!({ "type": "content_block_stop", "index": index }));
        index += 1;
    };
    for thought in &reply.thoughts {
        match thought {
            Thought::Open { text, signature } => block(
                json!({ "type": "thinking", "thinking": "", "signature": "" }),
                vec![
                    json!({ "type": "thinking_delta", "thinking": text }),
                    json!({ "type": "signature_delta", "signature": signature }),
                ],
            ),
            Thought::Sealed(data) => block(json!({ "type": "redacted_thinking", "data": data }), Vec::new()),
        }
    }
    if !reply.text.is_empty() {
        let delta = json!({ "type": "text_delta", "text": reply.text });
        block(json!({ "type": "text", "text": "" }), vec![delta]);
    }
    for call in &reply.calls {
        let start = json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": {} });
        block(start, vec![json!({ "type": "input_json_delta", "partial_json": call.args.to_string() })]);
    }
    let stop = if reply.calls.is_empty() { "end_turn" } else { "tool_use" };
    let delta = json!({ "stop_reason": stop, "stop_sequence": null });
    events.push(json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 9 } }));
    events.push(json!({ "type": "message_stop" }));
    events
}

#[cfg(test)]
mod tests;
