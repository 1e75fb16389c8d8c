//! The rules of Chat Completions, as OpenAI has them and as some servers differ.
//!
//! From OpenAI's reference and the types of its Python client; DeepSeek's page on thinking; OpenRouter's page on
//! reasoning tokens; Google's page on the compatible format and on thought signatures; mistral-common's validator; and
//! from the sentences that people quote in issues of LiteLLM, vercel/ai, langchain and others.

use serde_json::{Value, json};

use crate::memory::Memory;
use crate::refusal::{self, Refusal, header, is_plain_name, items, kind, repeated, text, unknown};
use crate::{Reply, Thought};

/// A server of this format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// OpenAI's own.
    OpenAi,
    /// DeepSeek, and servers like it: wants `reasoning_content` back, and passes over what it doesn't know.
    DeepSeek,
    /// OpenRouter: wants `reasoning_details` back, and passes over what it doesn't know.
    OpenRouter,
    /// Google's: wants the signatures in `extra_content` back.
    Gemini,
    /// Mistral: ids of nine letters and digits, and nothing that it doesn't know.
    Mistral,
}

const FIELDS: &[&str] = &[
    "model", "messages", "stream", "stream_options", "tools", "tool_choice", "parallel_tool_calls", "max_tokens",
    "max_completion_tokens", "temperature", "top_p", "n", "stop", "presence_penalty", "frequency_penalty",
    "logit_bias", "logprobs", "top_logprobs", "user", "safety_identifier", "prompt_cache_key",
    "prompt_cache_retention", "seed", "response_format", "reasoning_effort", "verbosity", "service_tier", "store",
    "metadata", "modalities", "audio", "prediction", "web_search_options", "functions", "function_call",
];
const GEMINI_FIELDS: &[&str] = &[
    "model", "messages", "stream", "stream_options", "tools", "tool_choice", "max_tokens", "max_completion_tokens",
    "temperature", "top_p", "n", "stop", "response_format", "reasoning_effort", "extra_body", "seed",
];
const MISTRAL_FIELDS: &[&str] = &[
    "model", "messages", "stream", "tools", "tool_choice", "parallel_tool_calls", "max_tokens", "temperature", "top_p",
    "n", "stop", "presence_penalty", "frequency_penalty", "random_seed", "response_format", "prediction",
    "prompt_mode", "safe_prompt", "metadata", "reasoning_effort",
];
const MESSAGE_FIELDS: &[&str] =
    &["role", "content", "name", "tool_calls", "tool_call_id", "refusal", "audio", "function_call"];
const ROLES: &[&str] = &["system", "developer", "user", "assistant", "tool", "function"];
/// By the reference; `max` since GPT-5.6, by its guide on reasoning.
const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// Signatures that Google's page on thought signatures has for calls that its model didn't make.
const UNSIGNED: &[&str] = &["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

/// The most characters of a function's name, by the reference.
const NAME_CHARS_MAX: usize = 64;
/// The most characters of a call's id: OpenAI's refusal `string_above_max_length`, quoted in LiteLLM's issues.
const ID_CHARS_MAX: usize = 40;
/// Length of Mistral's ids in characters, by mistral-common's validator.
const MISTRAL_ID_CHARS: usize = 9;

/// The rules of one server, with what it gave out.
#[derive(Debug, Clone)]
pub struct Rules {
    flavor: Flavor,
    memory: Memory,
    /// Of each reply that had thinking: the ids of its calls, and what is wanted back.
    given: Vec<(Vec<String>, Value)>,
}

/// Faults of a request: the sentence, and the parameter if it names one.
#[derive(Default)]
struct Found(Vec<(String, Option<String>)>);

impl Found {
    fn add(&mut self, param: &str, sentence: String) {
        self.0.push((sentence, (!param.is_empty()).then(|| param.to_owned())));
    }

    fn when(&mut self, is_wrong: bool, param: &str, sentence: impl FnOnce() -> String) {
        if is_wrong {
            self.add(param, sentence());
        }
    }
}

impl Rules {
    /// The rules of a server that has given out nothing yet.
    #[must_use]
    pub fn new(flavor: Flavor) -> Self {
        Self { flavor, memory: Memory::default(), given: Vec::new() }
    }

    /// All that is wrong with a request.
    #[must_use]
    pub fn findings(&self, head: &str, body: &Value) -> Vec<Refusal> {
        if !refusal::path(head).ends_with("/chat/completions") {
            return vec![self.refusal(404, "Invalid URL", None)];
        }
        let mut findings = Vec::new();
        if header(head, "authorization").is_none() {
            findings.push(self.refusal(401, "You didn't provide an API key.", None));
        }
        let mut found = Found::default();
        self.parameters(body, &mut found);
        self.tools(body, &mut found);
        let messages = items(&body["messages"]);
        found.when(messages.is_empty(), "messages", || {
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
                .to_owned()
        });
        for (index, message) in messages.iter().enumerate() {
            self.message(index, message, &mut found);
        }
        self.pairs(messages, &mut found);
        self.returned(body, messages, &mut found);
        findings.extend(found.0.iter().map(|(sentence, param)| self.refusal(400, sentence, param.as_deref())));
        if self.flavor == Flavor::Mistral {
            findings.extend(unknown(body, MISTRAL_FIELDS).into_iter().map(forbidden));
        }
        findings
    }

    /// See [`crate::Rules::lost`].
    #[must_use]
    pub fn lost(&self, body: &Value) -> Vec<String> {
        self.memory.lost(body)
    }

    /// Writes a reply as the chunks of a stream, and remembers what this server wants back of it.
    pub fn give(&mut self, reply: &Reply) -> Vec<Value> {
        let details = self.details(reply);
        if !reply.thoughts.is_empty() && !details.is_null() {
            let mut opaque = Vec::new();
            match self.flavor {
                Flavor::OpenRouter => opaque.extend(reply.thoughts.iter().map(|thought| thought.opaque().to_owned())),
                Flavor::DeepSeek | Flavor::Gemini => opaque.push(text(&details).to_owned()),
                Flavor::OpenAi | Flavor::Mistral => {}
            }
            self.memory.keep(reply, opaque);
            self.given.push((reply.calls.iter().map(|call| call.id.clone()).collect(), details));
        }
        self.events(reply)
    }

    /// A refusal in the form of this server.
    fn refusal(&self, status: u16, message: &str, param: Option<&str>) -> Refusal {
        let kind = "invalid_request_error";
        let body = match self.flavor {
            Flavor::OpenAi | Flavor::DeepSeek => {
                json!({ "error": { "message": message, "type": kind, "param": param, "code": null } })
            }
            Flavor::OpenRouter => {
                let metadata = json!({ "raw": message, "provider_name": "Loopback" });
                json!({ "error": { "message": "Provider returned error", "code": status, "metadata": metadata } })
            }
            Flavor::Gemini => {
                json!([{ "error": { "code": status, "message": message, "status": "INVALID_ARGUMENT" } }])
            }
            Flavor::Mistral => {
                json!({ "object": "error", "message": message, "type": kind, "param": param, "code": "3230" })
            }
        };
        Refusal { status, body }
    }

    fn parameters(&self, body: &Value, found: &mut Found) {
        let known: &[&str] = match self.flavor {
            Flavor::OpenAi => FIELDS,
            Flavor::Gemini => GEMINI_FIELDS,
            Flavor::Mistral | Flavor::DeepSeek | Flavor::OpenRouter => &[],
        };
        for name in unknown(body, known).into_iter().filter(|_| !known.is_empty()) {
            found.add(
                "",
                match self.flavor {
                    Flavor::Gemini => {
                        format!("Invalid JSON payload received. Unknown name \"{name}\": Cannot find field.")
                    }
                    _ => format!("Unrecognized request argument supplied: {name}"),
                },
            );
        }
        let model = text(&body["model"]);
        found.when(model.is_empty(), "", || "you must provide a model parameter".to_owned());
        let limits = ["max_tokens", "max_completion_tokens"];
        for name in limits {
            found.when(!body[name].is_null() && body[name].as_u64().is_none_or(|limit| limit == 0), name, || {
                format!("Invalid '{name}': integer below minimum value. Expected a value >= 1, but got 0 instead.")
            });
        }
        found.when(limits.iter().all(|name| !body[*name].is_null()), "max_tokens", || {
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.".to_owned()
        });
        found.when(!body["stream_options"].is_null() && body["stream"] != true, "stream_options", || {
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.".to_owned()
        });
        if self.flavor != Flavor::OpenAi {
            return;
        }
        let effort = &body["reasoning_effort"];
        found.when(!effort.is_null() && !EFFORTS.contains(&text(effort)), "reasoning_effort", || {
            format!(
                "Invalid value: '{}'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', and 'max'.",
                text(effort)
            )
        });
        if thinks(model) {
            found.when(!body["max_tokens"].is_null(), "max_tokens", || {
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' \
                 instead."
                    .to_owned()
            });
            found.when(body["temperature"].as_f64().is_some_and(|value| value < 1.0), "temperature", || {
                "Unsupported value: 'temperature' does not support this value with this model. Only the default (1) \
                 value is supported."
                    .to_owned()
            });
        }
    }

    fn tools(&self, body: &Value, found: &mut Found) {
        let tools = items(&body["tools"]);
        found.when(body["tools"].as_array().is_some_and(Vec::is_empty), "tools", || {
            "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead."
                .to_owned()
        });
        for (index, tool) in tools.iter().enumerate() {
            let place = format!("tools[{index}]");
            found.when(tool["type"] != "function", &place, || format!("Missing required parameter: '{place}.type'."));
            name(&place, &tool["function"], found);
            let schema = &tool["function"]["parameters"];
            found.when(!schema.is_null() && schema["type"] != "object", &place, || {
                let (name, kind) = (text(&tool["function"]["name"]), text(&schema["type"]));
                format!(
                    "Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"', got \
                     'type: \"{kind}\"'."
                )
            });
            for name in unknown(&tool["function"], &["name", "description", "parameters", "strict"]) {
                found.add(&place, format!("Unknown parameter: '{place}.function.{name}'."));
            }
        }
        let names = tools.iter().map(|tool| text(&tool["function"]["name"]));
        found.when(repeated(names).is_some(), "tools", || "Tool names must be unique.".to_owned());
        for name in ["tool_choice", "parallel_tool_calls"] {
            found.when(tools.is_empty() && !body[name].is_null(), name, || {
                format!("Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified.")
            });
        }
        let choice = &body["tool_choice"];
        let words: &[&str] = match self.flavor {
            Flavor::Mistral => &["none", "auto", "any", "required"],
            _ => &["none", "auto", "required"],
        };
        found.when(choice.as_str().is_some_and(|choice| !words.contains(&choice)), "tool_choice", || {
            format!("Invalid value: '{}'. Supported values are: 'none', 'auto', and 'required'.", text(choice))
        });
        if let Some(named) = choice["function"]["name"].as_str() {
            found.when(!tools.iter().any(|tool| tool["function"]["name"] == named), "tool_choice", || {
                format!("Tool choice '{named}' not found in 'tools' parameter.")
            });
        }
    }

    fn message(&self, index: usize, message: &Value, found: &mut Found) {
        let (role, place) = (text(&message["role"]), format!("messages[{index}]"));
        found.when(!ROLES.contains(&role), &format!("{place}.role"), || {
            format!(
                "Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and \
                 'developer'."
            )
        });
        let own: &[&str] = match self.flavor {
            Flavor::OpenAi => &[],
            Flavor::DeepSeek => &["reasoning_content", "prefix"],
            Flavor::OpenRouter => &["reasoning", "reasoning_content", "reasoning_details", "annotations"],
            Flavor::Gemini => &["extra_content"],
            Flavor::Mistral => &["prefix"],
        };
        for name in unknown(message, MESSAGE_FIELDS).into_iter().filter(|name| !own.contains(name)) {
            let param = format!("{place}.{name}");
            found.add(&param, format!("Unknown parameter: '{param}'."));
        }
        let calls = &message["tool_calls"];
        let has_calls = role == "assistant" && !items(calls).is_empty();
        found.when(calls.as_array().is_some_and(Vec::is_empty), &format!("{place}.tool_calls"), || {
            format!(
                "Invalid '{place}.tool_calls': empty array. Expected an array with minimum length 1, but got an empty \
                 array instead."
            )
        });
        let content = &message["content"];
        let is_said = content.is_string() || content.is_array();
        let is_silent = content.is_null() && has_calls;
        found.when(!(is_said || is_silent), &format!("messages.[{index}].content"), || {
            format!("Invalid value for 'content': expected a string, got {}.", kind(content).trim_start_matches("a "))
        });
        for (number, call) in items(calls).iter().enumerate() {
            self.call(&format!("{place}.tool_calls[{number}]"), call, found);
        }
        if role == "tool" && self.flavor == Flavor::Mistral {
            nine(text(&message["tool_call_id"]), found);
        }
    }

    fn call(&self, place: &str, call: &Value, found: &mut Found) {
        let id = text(&call["id"]);
        found.when(id.is_empty(), place, || format!("Missing required parameter: '{place}.id'."));
        match self.flavor {
            Flavor::Mistral => nine(id, found),
            Flavor::OpenAi => found.when(id.len() > ID_CHARS_MAX, place, || {
                format!(
                    "Invalid '{place}.id': string too long. Expected a string with maximum length 40, but got a string \
                     with length {} instead.",
                    id.len()
                )
            }),
            Flavor::DeepSeek | Flavor::OpenRouter | Flavor::Gemini => {}
        }
        found.when(call["type"] != "function", place, || format!("Missing required parameter: '{place}.type'."));
        name(place, &call["function"], found);
        let arguments = &call["function"]["arguments"];
        found.when(!arguments.is_string(), place, || {
            format!(
                "Invalid type for '{place}.function.arguments': expected a string, but got {} instead.",
                kind(arguments)
            )
        });
        let own: &[&str] = if self.flavor == Flavor::Gemini { &["extra_content"] } else { &[] };
        let is_loose = matches!(self.flavor, Flavor::DeepSeek | Flavor::OpenRouter);
        let names = unknown(call, &["id", "type", "function", "index"]).into_iter();
        for name in names.filter(|name| !is_loose && !own.contains(name)) {
            found.add(place, format!("Unknown parameter: '{place}.{name}'."));
        }
    }

    /// Calls are answered by the messages behind them. That an id stands once in a whole conversation is stricter than
    /// OpenAI, which looks at one turn; servers that go by the id alone mix up two that are the same.
    fn pairs(&self, messages: &[Value], found: &mut Found) {
        let mut known: Vec<&str> = Vec::new();
        let mut open: Vec<&str> = Vec::new();
        let mut asked: Vec<&str> = Vec::new();
        for (index, message) in messages.iter().enumerate() {
            let (role, param) = (text(&message["role"]), format!("messages.[{index}].role"));
            if role == "tool" {
                let id = text(&message["tool_call_id"]);
                if asked.is_empty() {
                    found.add(
                        &param,
                        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with \
                         'tool_calls'."
                            .to_owned(),
                    );
                } else if !asked.contains(&id) {
                    let param = format!("messages.[{index}].tool_call_id");
                    let sentence = "not found in 'tool_calls' of previous message.";
                    found.add(&param, format!("Invalid parameter: 'tool_call_id' of '{id}' {sentence}"));
                } else if !open.contains(&id) {
                    found.add(&param, format!("Invalid parameter: Duplicate value for 'tool_call_id' of '{id}'."));
                }
                open.retain(|asked| *asked != id);
                continue;
            }
            unanswered(&open, &param, found);
            if self.flavor == Flavor::Mistral && index > 0 {
                let before = text(&messages[index - 1]["role"]);
                found.when(before == "tool" && role != "assistant", &param, || {
                    format!("Unexpected role '{role}' after role 'tool'")
                });
            }
            let ids = items(&message["tool_calls"]).iter().map(|call| text(&call["id"]));
            asked = ids.collect();
            for id in &asked {
                found.when(known.contains(id), &param, || {
                    format!("Invalid parameter: Duplicate value for 'id' of '{id}'.")
                });
                known.push(id);
            }
            open.clone_from(&asked);
        }
        unanswered(&open, &format!("messages.[{}].role", messages.len()), found);
        let last = messages.last().map(|message| text(&message["role"]));
        found.when(self.flavor == Flavor::Mistral && last == Some("assistant") && open.is_empty(), "", || {
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant".to_owned()
        });
    }

    /// Checks that what the server wants back is there, where it refuses without.
    fn returned(&self, body: &Value, messages: &[Value], found: &mut Found) {
        let turn = messages.iter().rposition(|message| message["role"] == "user").unwrap_or(0);
        let is_signing = text(&body["model"]).rsplit('/').next().is_some_and(crate::gemini::insists_on_signatures);
        for (index, message) in messages.iter().enumerate() {
            let calls = items(&message["tool_calls"]);
            let Some(first) = calls.first() else { continue };
            let ids: Vec<&str> = calls.iter().map(|call| text(&call["id"])).collect();
            let given = self.given.iter().find(|(given, _)| given.iter().any(|id| ids.contains(&id.as_str())));
            let given = given.map(|(_, given)| given);
            match self.flavor {
                // DeepSeek's page on thinking with tools. Once the model has thought, every turn with calls needs the
                // field; for one of another model an empty text does.
                Flavor::DeepSeek if !self.given.is_empty() => {
                    let sent = &message["reasoning_content"];
                    found.when(!sent.is_string() || given.is_some_and(|given| given != sent), "", || {
                        "The `reasoning_content` in the thinking mode must be passed back to the API.".to_owned()
                    });
                }
                // OpenRouter's page on preserving reasoning: the list as it came, in order. What the provider behind it
                // says differs; these are Google's words.
                Flavor::OpenRouter if given.is_some_and(|given| *given != message["reasoning_details"]) => {
                    let is_gone = message["reasoning_details"].is_null();
                    let current = index > turn;
                    found.when(!is_gone || current, "", || {
                        if is_gone { missing(first, index) } else { "Corrupted thought signature.".to_owned() }
                    });
                }
                Flavor::Gemini if is_signing && index > turn => {
                    match first["extra_content"]["google"]["thought_signature"].as_str() {
                        None => found.add("", missing(first, index)),
                        Some(sent) => found.when(
                            !UNSIGNED.contains(&sent) && given.and_then(Value::as_str) != Some(sent),
                            "",
                            || "Corrupted thought signature.".to_owned(),
                        ),
                    }
                }
                Flavor::OpenAi | Flavor::DeepSeek | Flavor::OpenRouter | Flavor::Gemini | Flavor::Mistral => {}
            }
        }
    }

    /// Returns the parts of a reply that are wanted back, in the form of this server.
    fn details(&self, reply: &Reply) -> Value {
        let open: String = reply.thoughts.iter().map(Thought::text).collect();
        let detail = |(index, thought): (usize, &Thought)| match thought {
            Thought::Open { text, signature } => json!({
                "type": "reasoning.text", "text": text, "signature": signature, "format": "anthropic-claude-v1",
                "index": index,
            }),
            Thought::Sealed(data) => {
                json!({ "type": "reasoning.encrypted", "data": data, "format": "google-gemini-v1", "index": index })
            }
        };
        match self.flavor {
            Flavor::DeepSeek => json!(open),
            Flavor::OpenRouter => reply.thoughts.iter().enumerate().map(detail).collect(),
            Flavor::Gemini if !reply.calls.is_empty() => {
                reply.thoughts.last().map_or(Value::Null, |thought| json!(thought.opaque()))
            }
            Flavor::Gemini | Flavor::OpenAi | Flavor::Mistral => Value::Null,
        }
    }

    fn events(&self, reply: &Reply) -> Vec<Value> {
        let chunk = |delta: Value, reason: Value| {
            json!({
                "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "m",
                "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }],
            })
        };
        let mut deltas = vec![json!({ "role": "assistant", "content": "" })];
        let open: String = reply.thoughts.iter().map(Thought::text).collect();
        match self.flavor {
            Flavor::DeepSeek if !open.is_empty() => deltas.push(json!({ "reasoning_content": open })),
            Flavor::OpenRouter => {
                for detail in items(&self.details(reply)) {
                    let readable = detail["text"].as_str();
                    deltas.push(json!({ "reasoning": readable, "reasoning_details": [detail] }));
                }
            }
            Flavor::Mistral if !open.is_empty() => {
                let thinking = json!({ "type": "thinking", "thinking": [{ "type": "text", "text": open }] });
                deltas.push(json!({ "content": [thinking] }));
            }
            Flavor::OpenAi | Flavor::DeepSeek | Flavor::Gemini | Flavor::Mistral => {}
        }
        if !reply.text.is_empty() {
            deltas.push(json!({ "content": reply.text }));
        }
        for (index, call) in reply.calls.iter().enumerate() {
            let function = json!({ "name": call.name, "arguments": call.args.to_string() });
            let mut call = json!({ "index": index, "id": call.id, "type": "function", "function": function });
            let signature = self.details(reply);
            if self.flavor == Flavor::Gemini && index == 0 && !signature.is_null() {
                call["extra_content"] = json!({ "google": { "thought_signature": signature } });
            }
            deltas.push(json!({ "tool_calls": [call] }));
        }
        let reason = if reply.calls.is_empty() { "stop" } else { "tool_calls" };
        let mut events: Vec<Value> = deltas.into_iter().map(|delta| chunk(delta, Value::Null)).collect();
        events.push(chunk(json!({}), json!(reason)));
        let cached = json!({ "cached_tokens": 45 });
        let usage = json!({ "prompt_tokens": 50, "prompt_tokens_details": cached, "completion_tokens": 9 });
        events.push(json!({ "choices": [], "usage": usage }));
        events
    }
}

/// Mistral's refusal of a field that it doesn't know.
fn forbidden(name: &str) -> Refusal {
    let detail = json!({ "type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted", "input": 0 });
    Refusal { status: 422, body: json!({ "detail": [detail] }) }
}

fn missing(call: &Value, index: usize) -> String {
    crate::gemini::missing_signature(text(&call["function"]["name"]), index)
}

fn nine(id: &str, found: &mut Found) {
    let is_good = id.len() == MISTRAL_ID_CHARS && id.chars().all(|c| c.is_ascii_alphanumeric());
    found.when(!is_good, "", || format!("Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9."));
}

fn unanswered(open: &[&str], param: &str, found: &mut Found) {
    found.when(!open.is_empty(), param, || {
        format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
             'tool_call_id'. The following tool_call_ids did not have response messages: {}",
            open.join(", ")
        )
    });
}

/// A function's name, in a tool or in a call.
fn name(place: &str, function: &Value, found: &mut Found) {
    let (name, param) = (text(&function["name"]), format!("{place}.function.name"));
    if name.is_empty() {
        found.add(&param, format!("Missing required parameter: '{param}'."));
    } else if name.len() > NAME_CHARS_MAX {
        found.add(
            &param,
            format!(
                "Invalid '{param}': string too long. Expected a string with maximum length 64, but got a string with \
                 length {} instead.",
                name.len()
            ),
        );
    } else if !is_plain_name(name, NAME_CHARS_MAX) {
        found.add(
            &param,
            format!(
                "Invalid '{param}': string does not match pattern. Expected a string that matches the pattern \
                 '^[a-zA-Z0-9_-]+$'."
            ),
        );
    }
}

/// Returns true if a model of OpenAI's thinks: those of the o series, and all from GPT-5 on.
pub(crate) fn thinks(model: &str) -> bool {
    let version = |prefix: &str| model.strip_prefix(prefix)?.chars().next()?.to_digit(10);
    version("o").is_some() || version("gpt-").is_some_and(|major| major >= 5)
}

#[cfg(test)]
mod tests;
