//! The rules of OpenAI's Responses API.
//!
//! From its reference, its guides on reasoning and on function calls, and the types of its Python client; and from the
//! sentences that people quote in issues of vercel/ai, openai-agents-python, codex, LiteLLM and others.

use serde_json::{Value, json};

use crate::chat::thinks;
use crate::memory::Memory;
use crate::refusal::{self, Refusal, header, is_plain_name, items, kind, repeated, text, unknown};
use crate::{Reply, Thought};

const FIELDS: &[&str] = &[
    "background", "context_management", "conversation", "include", "input", "instructions", "max_output_tokens",
    "max_tool_calls", "metadata", "model", "parallel_tool_calls", "previous_response_id", "prompt", "prompt_cache_key",
    "prompt_cache_retention", "reasoning", "safety_identifier", "service_tier", "store", "stream", "stream_options",
    "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
];
const INCLUDES: &[&str] = &[
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
];
/// By the reference; `max` since GPT-5.6, by its guide on reasoning.
const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const ENCRYPTED: &str = "reasoning.encrypted_content";

/// The least that a reply may be limited to, by the refusal that quotes it.
const OUTPUT_TOKENS_MIN: u64 = 16;
/// The most characters of a function's name, by the reference.
const NAME_CHARS_MAX: usize = 64;
/// The most characters of an id.
const ID_CHARS_MAX: usize = 64;

/// The rules, with the items that the server gave out.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    memory: Memory,
    /// The items of each reply, as they were when they were done.
    given: Vec<Vec<Value>>,
}

/// Faults of a request.
#[derive(Default)]
struct Found(Vec<Refusal>);

fn refusal(status: u16, message: &str, param: &str, code: Option<&str>) -> Refusal {
    let param = (!param.is_empty()).then_some(param);
    let error = json!({ "message": message, "type": "invalid_request_error", "param": param, "code": code });
    Refusal { status, body: json!({ "error": error }) }
}

impl Found {
    fn add(&mut self, param: &str, code: &str, sentence: &str) {
        self.0.push(refusal(400, sentence, param, (!code.is_empty()).then_some(code)));
    }

    fn when(&mut self, is_wrong: bool, param: &str, code: &str, sentence: impl FnOnce() -> String) {
        if is_wrong {
            self.add(param, code, &sentence());
        }
    }

    fn unknown(&mut self, place: &str, value: &Value, known: &[&str]) {
        for name in unknown(value, known) {
            let param = format!("{place}{name}");
            self.add(&param, "unknown_parameter", &format!("Unknown parameter: '{param}'."));
        }
    }

    fn value(&mut self, param: &str, value: &Value, supported: &[&str]) {
        self.when(!supported.contains(&text(value)), param, "invalid_value", || {
            let (last, others) = supported.split_last().expect("some are supported");
            let others: Vec<String> = others.iter().map(|word| format!("'{word}'")).collect();
            let said = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("Invalid value: '{said}'. Supported values are: {}, and '{last}'.", others.join(", "))
        });
    }

    fn begins(&mut self, param: &str, id: &Value, prefix: &str) {
        let id = id.as_str().unwrap_or(prefix);
        self.when(!id.starts_with(prefix), param, "invalid_value", || {
            format!("Invalid '{param}': '{id}'. Expected an ID that begins with '{prefix}'.")
        });
    }
}

impl Rules {
    /// All that is wrong with a request.
    #[must_use]
    pub fn findings(&self, head: &str, body: &Value) -> Vec<Refusal> {
        if !refusal::path(head).ends_with("/responses") {
            return vec![refusal(404, "Invalid URL", "", None)];
        }
        let mut found = Found::default();
        if header(head, "authorization").is_none() {
            found.0.push(refusal(401, "Missing bearer authentication in header", "", None));
        }
        parameters(body, &mut found);
        tools(body, &mut found);
        let input = items(&body["input"]);
        found.when(input.is_empty() && !body["input"].is_string(), "", "missing_required_parameter", || {
            "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be provided.".to_owned()
        });
        for (index, item) in input.iter().enumerate() {
            self.item(&format!("input[{index}]"), item, body["store"] == false, &mut found);
        }
        pairs(input, &mut found);
        self.turns(input, &mut found);
        found.0
    }

    /// See [`crate::Rules::lost`]. The phase of a message is among it: its reference says that leaving it out makes
    /// replies worse, not that it is refused.
    #[must_use]
    pub fn lost(&self, body: &Value) -> Vec<String> {
        let mut lost = self.memory.lost(body);
        for message in self.given.iter().flatten().filter(|item| item["type"] == "message") {
            let returned = items(&body["input"]).iter().find(|item| {
                item["role"] == "assistant" && (words(item) == words(message) || item["id"] == message["id"])
            });
            if returned.is_some_and(|returned| returned["phase"] != message["phase"]) {
                lost.push(format!("phase {}", text(&message["phase"])));
            }
        }
        lost
    }

    /// Writes a reply as the events of a stream, and remembers its items. What is encrypted is given to those who ask
    /// for it with `include`.
    pub fn give(&mut self, reply: &Reply, request: &Value) -> Vec<Value> {
        let is_asked = items(&request["include"]).iter().any(|name| name == ENCRYPTED);
        let number = self.given.len() + 1;
        let mut output = Vec::new();
        for (place, thought) in reply.thoughts.iter().enumerate() {
            let summary = match thought {
                Thought::Open { text, .. } => json!([{ "type": "summary_text", "text": text }]),
                Thought::Sealed(_) => json!([]),
            };
            let mut item = json!({ "id": format!("rs_{number}_{place}"), "type": "reasoning", "summary": summary });
            if is_asked {
                item["encrypted_content"] = json!(thought.opaque());
            }
            output.push(item);
        }
        if !reply.text.is_empty() {
            let part = json!({ "type": "output_text", "text": reply.text, "annotations": [] });
            let mut item = json!({
                "id": format!("msg_{number}"), "type": "message", "role": "assistant", "status": "completed",
                "content": [part],
            });
            if let Some(phase) = &reply.phase {
                item["phase"] = json!(phase);
            }
            output.push(item);
        }
        for (place, call) in reply.calls.iter().enumerate() {
            output.push(json!({
                "id": format!("fc_{number}_{place}"), "type": "function_call", "status": "completed",
                "call_id": call.id, "name": call.name, "arguments": call.args.to_string(),
            }));
        }
        // Who doesn't ask has lost it.
        self.memory.keep(reply, reply.thoughts.iter().map(|thought| thought.opaque().to_owned()).collect());
        self.given.push(output.clone());
        events(&output)
    }

    fn item(&self, place: &str, item: &Value, is_unstored: bool, found: &mut Found) {
        let at = |name: &str| format!("{place}.{name}");
        let kind = item["type"].as_str().unwrap_or(if item["role"].is_string() { "message" } else { "" });
        let id = text(&item["id"]);
        found.when(id.len() > ID_CHARS_MAX, &at("id"), "string_above_max_length", || too_long(&at("id"), id));
        match kind {
            "message" => message(place, item, found),
            "function_call" => {
                found.unknown(&format!("{place}."), item, &["type", "id", "call_id", "name", "arguments", "status"]);
                found.begins(&at("id"), &item["id"], "fc");
                call_id(place, item, found);
                name(&at("name"), &item["name"], found);
                found.when(!item["arguments"].is_string(), &at("arguments"), "invalid_type", || {
                    let kind = self::kind(&item["arguments"]);
                    format!("Invalid type for '{}': expected a string, but got {kind} instead.", at("arguments"))
                });
            }
            "function_call_output" => {
                found.unknown(&format!("{place}."), item, &["type", "id", "call_id", "output", "status"]);
                call_id(place, item, found);
                let output = &item["output"];
                found.when(!output.is_string() && !output.is_array(), &at("output"), "invalid_type", || {
                    let kind = self::kind(output);
                    let at = at("output");
                    format!("Invalid type for '{at}': expected one of an array of objects or string, but got {kind} instead.")
                });
            }
            "reasoning" => self.reasoning(place, item, is_unstored, found),
            "item_reference" => found.when(is_unstored, "input", "", || not_found(id)),
            _ => found.value(
                &at("type"),
                &json!(kind),
                &["message", "function_call", "function_call_output", "item_reference", "reasoning"],
            ),
        }
    }

    /// The guide on reasoning: without storage an item comes back with what was encrypted for it.
    fn reasoning(&self, place: &str, item: &Value, is_unstored: bool, found: &mut Found) {
        let known = ["type", "id", "summary", "encrypted_content", "content", "status"];
        found.unknown(&format!("{place}."), item, &known);
        found.begins(&format!("{place}.id"), &item["id"], "rs");
        found.when(!item["summary"].is_array(), &format!("{place}.summary"), "missing_required_parameter", || {
            format!("Missing required parameter: '{place}.summary'.")
        });
        let id = text(&item["id"]);
        let Some(encrypted) = item["encrypted_content"].as_str() else {
            if is_unstored {
                found.0.push(refusal(404, &not_found(id), "input", None));
            }
            return;
        };
        let mut given = self.given.iter().flatten();
        let reason = match given.find(|given| given["encrypted_content"] == encrypted) {
            None => "Encrypted content could not be decrypted or parsed.",
            Some(given) if !id.is_empty() && given["id"] != id => {
                "Encrypted content item_id did not match the target item id."
            }
            Some(_) => return,
        };
        let shown: String = encrypted.chars().take(4).collect();
        let sentence = format!("The encrypted content {shown}... could not be verified. Reason: {reason}");
        found.add("", "invalid_encrypted_content", &sentence);
    }

    /// Checks that the items of one turn stay together. (A trial that an open repository reports from 2026 had newer
    /// models take thinking that nothing follows; older reports, and Azure, refuse it.)
    fn turns(&self, input: &[Value], found: &mut Found) {
        for (index, item) in input.iter().enumerate() {
            let (id, kind) = (text(&item["id"]), text(&item["type"]));
            if kind == "reasoning" {
                let follows = input[index + 1..].iter().find(|next| next["type"] != "reasoning");
                let is_its_own = |next: &Value| next["type"] == "function_call" || next["role"] == "assistant";
                found.when(!follows.is_some_and(is_its_own), "input", "", || {
                    format!("Item '{id}' of type 'reasoning' was provided without its required following item.")
                });
                continue;
            }
            let turn = self.given.iter().find(|turn| !id.is_empty() && turn.iter().any(|given| given["id"] == id));
            let thought = turn.and_then(|turn| turn.iter().find(|given| given["type"] == "reasoning"));
            let Some(thought) = thought.map(|thought| text(&thought["id"])) else { continue };
            let encrypted = turn.and_then(|turn| turn[0]["encrypted_content"].as_str());
            let is_there = input[..index].iter().any(|before| {
                before["id"] == thought || encrypted.is_some_and(|given| before["encrypted_content"] == given)
            });
            found.when(!is_there, "input", "", || {
                format!("Item '{id}' of type '{kind}' was provided without its required 'reasoning' item: '{thought}'.")
            });
        }
    }
}

/// The words of a message, in either form of its content.
fn words(message: &Value) -> String {
    match &message["content"] {
        Value::String(said) => said.clone(),
        parts => items(parts).iter().map(|part| text(&part["text"])).collect(),
    }
}

fn not_found(id: &str) -> String {
    format!(
        "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with `store` set \
         to true, or remove this item from your input."
    )
}

fn too_long(param: &str, given: &str) -> String {
    format!(
        "Invalid '{param}': string too long. Expected a string with maximum length 64, but got a string with length {} \
         instead.",
        given.len()
    )
}

fn parameters(body: &Value, found: &mut Found) {
    found.unknown("", body, FIELDS);
    let model = text(&body["model"]);
    found.when(model.is_empty(), "model", "missing_required_parameter", || {
        "Missing required parameter: 'model'.".to_owned()
    });
    for (index, name) in items(&body["include"]).iter().enumerate() {
        found.value(&format!("include[{index}]"), name, INCLUDES);
    }
    let limit = &body["max_output_tokens"];
    found.when(
        !limit.is_null() && limit.as_u64().is_none_or(|limit| limit < OUTPUT_TOKENS_MIN),
        "max_output_tokens",
        "integer_below_min_value",
        || {
            format!(
                "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got {limit} \
                 instead."
            )
        },
    );
    let reasoning = &body["reasoning"];
    found.unknown("reasoning.", reasoning, &["effort", "summary", "generate_summary"]);
    if !reasoning["effort"].is_null() {
        found.value("reasoning.effort", &reasoning["effort"], EFFORTS);
    }
    if !reasoning["summary"].is_null() {
        found.value("reasoning.summary", &reasoning["summary"], &["concise", "detailed", "auto"]);
    }
    let is_plain = ["gpt-3", "gpt-4"].iter().any(|family| model.starts_with(family));
    found.when(is_plain && !reasoning["effort"].is_null(), "reasoning.effort", "unsupported_parameter", || {
        "Unsupported parameter: 'reasoning.effort' is not supported with this model.".to_owned()
    });
    let is_asked = items(&body["include"]).iter().any(|name| name == ENCRYPTED);
    found
        .when(is_plain && is_asked, "include", "", || "Encrypted content is not supported with this model.".to_owned());
    found.when(thinks(model) && !body["temperature"].is_null(), "temperature", "unsupported_parameter", || {
        "Unsupported parameter: 'temperature' is not supported with this model.".to_owned()
    });
}

fn tools(body: &Value, found: &mut Found) {
    let tools = items(&body["tools"]);
    for (index, tool) in tools.iter().enumerate() {
        let place = format!("tools[{index}]");
        if tool["type"] != "function" {
            found.value(&format!("{place}.type"), &tool["type"], &["function", "custom", "web_search"]);
            continue;
        }
        found.unknown(&format!("{place}."), tool, &["type", "name", "description", "parameters", "strict"]);
        name(&format!("{place}.name"), &tool["name"], found);
        let (schema, named) = (&tool["parameters"], text(&tool["name"]));
        let param = format!("{place}.parameters");
        found.when(schema["type"] != "object", &param, "invalid_function_parameters", || {
            format!(
                "Invalid schema for function '{named}': schema must be a JSON Schema of 'type: \"object\"', got 'type: \
                 \"{}\"'.",
                text(&schema["type"])
            )
        });
        // A tool is strict unless it says otherwise.
        let is_strict = tool["strict"] != false;
        found.when(is_strict && schema["additionalProperties"] != false, &param, "invalid_function_parameters", || {
            format!(
                "Invalid schema for function '{named}': In context=(), 'additionalProperties' is required to be supplied \
                 and to be false."
            )
        });
    }
    found.when(repeated(tools.iter().map(|tool| text(&tool["name"]))).is_some(), "tools", "", || {
        "Tool names must be unique.".to_owned()
    });
    match &body["tool_choice"] {
        Value::Null => {}
        Value::String(word) => {
            found.value("tool_choice", &json!(word), &["none", "auto", "required"]);
            found.when(word == "required" && tools.is_empty(), "tool_choice", "", || {
                "Tool choice 'required' must be specified with 'tools' parameter.".to_owned()
            });
        }
        choice => {
            let is_there = tools.iter().any(|tool| tool["name"] == choice["name"]);
            found.when(choice["type"] == "function" && !is_there, "tool_choice", "", || {
                "Tool choice 'function' not found in 'tools' parameter.".to_owned()
            });
        }
    }
}

fn message(place: &str, item: &Value, found: &mut Found) {
    found.unknown(&format!("{place}."), item, &["type", "role", "content", "id", "status", "phase"]);
    found.begins(&format!("{place}.id"), &item["id"], "msg");
    found.value(&format!("{place}.role"), &item["role"], &["assistant", "system", "developer", "user"]);
    let is_assistant = item["role"] == "assistant";
    if !item["phase"].is_null() {
        found.value(&format!("{place}.phase"), &item["phase"], &["commentary", "final_answer"]);
        found.when(!is_assistant, &format!("{place}.phase"), "unknown_parameter", || {
            format!("Unknown parameter: '{place}.phase'.")
        });
    }
    let parts: &[&str] =
        if is_assistant { &["output_text", "refusal"] } else { &["input_text", "input_image", "input_file"] };
    match &item["content"] {
        Value::String(_) => {}
        Value::Array(content) => {
            for (index, part) in content.iter().enumerate() {
                found.value(&format!("{place}.content[{index}]"), &part["type"], parts);
            }
        }
        content => found.add(&format!("{place}.content"), "invalid_type", &format!(
            "Invalid type for '{place}.content': expected one of an array of objects or string, but got {} instead.",
            kind(content)
        )),
    }
}

fn call_id(place: &str, item: &Value, found: &mut Found) {
    let (id, param) = (text(&item["call_id"]), format!("{place}.call_id"));
    found.when(id.is_empty(), &param, "missing_required_parameter", || {
        format!("Missing required parameter: '{param}'.")
    });
    found.when(id.len() > ID_CHARS_MAX, &param, "string_above_max_length", || too_long(&param, id));
}

fn name(param: &str, name: &Value, found: &mut Found) {
    let name = text(name);
    if name.is_empty() {
        found.add(param, "missing_required_parameter", &format!("Missing required parameter: '{param}'."));
    } else if name.len() > NAME_CHARS_MAX {
        found.add(param, "string_above_max_length", &too_long(param, name));
    } else if !is_plain_name(name, NAME_CHARS_MAX) {
        found.add(
            param,
            "invalid_value",
            &format!(
                "Invalid '{param}': string does not match pattern. Expected a string that matches the pattern \
             '^[a-zA-Z0-9_-]+$'."
            ),
        );
    }
}

/// Every call has its output behind it, and every output its call before it. The API goes through the input once, so
/// that a second output of one call has none left. That a call's id stands once is stricter: the API says these words
/// of the items' own ids.
fn pairs(input: &[Value], found: &mut Found) {
    let mut open: Vec<&str> = Vec::new();
    let mut called: Vec<&str> = Vec::new();
    for item in input {
        let id = text(&item["call_id"]);
        match text(&item["type"]) {
            "function_call" => {
                found.when(called.contains(&id), "input", "", || duplicate(id));
                called.push(id);
                open.push(id);
            }
            "function_call_output" => {
                found.when(!open.contains(&id), "input", "", || {
                    format!("No tool call found for function call output with call_id {id}.")
                });
                open.retain(|asked| *asked != id);
            }
            _ => {}
        }
    }
    for id in open {
        found.add("input", "", &format!("No tool output found for function call {id}."));
    }
    if let Some(id) = repeated(input.iter().filter_map(|item| item["id"].as_str())) {
        found.add("input", "", &duplicate(id));
    }
}

fn duplicate(id: &str) -> String {
    format!("Duplicate item found with id {id}. Remove duplicate items from your input and try again.")
}

/// The events of a reply, as the reference of streaming has them.
fn events(output: &[Value]) -> Vec<Value> {
    let mut events =
        vec![json!({ "type": "response.created", "response": { "id": "resp_1", "status": "in_progress" } })];
    for (index, item) in output.iter().enumerate() {
        let mut begun = item.clone();
        for (name, empty) in [("content", json!([])), ("summary", json!([])), ("arguments", json!(""))] {
            if begun.get(name).is_some() {
                begun[name] = empty;
            }
        }
        events.push(json!({ "type": "response.output_item.added", "output_index": index, "item": begun }));
        let id = &item["id"];
        let mut piece = |kind: &str, said: &Value| {
            let kind = format!("response.{kind}.delta");
            events.push(json!({ "type": kind, "output_index": index, "item_id": id, "delta": said }));
        };
        for part in items(&item["summary"]) {
            piece("reasoning_summary_text", &part["text"]);
        }
        for part in items(&item["content"]) {
            piece("output_text", &part["text"]);
        }
        if item["arguments"].is_string() {
            piece("function_call_arguments", &item["arguments"]);
        }
        events.push(json!({ "type": "response.output_item.done", "output_index": index, "item": item }));
    }
    let cached = json!({ "cached_tokens": 45 });
    let usage = json!({ "input_tokens": 50, "input_tokens_details": cached, "output_tokens": 9 });
    let response = json!({ "id": "resp_1", "status": "completed", "output": output, "usage": usage });
    events.push(json!({ "type": "response.completed", "response": response }));
    events
}

#[cfg(test)]
mod tests;
