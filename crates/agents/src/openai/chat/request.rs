//! Writes a turn as a request of Chat Completions.
//!
//! In: a turn as the runtime has it, and what its server wants. Out: the JSON body. The same turn always gives the
//! same bytes up to its last message, which is what caches of prompts go by.

use adjutant_core::tool::{ToolCall, ToolSpec, content_hash};
use adjutant_ports::{OutgoingMessage, OutgoingRole, TurnRequest};
use serde_json::{Value, json};

use super::server::{Ids, Server, Silence};
use crate::api::has_words;
use crate::api::wire_name;
use crate::openai::history::{arguments, in_order, told};

/// How many letters and digits an id has where their number is given.
const SHORT_ID_CHARS: usize = 9;

/// The body of the request that asks `model` for a reply of at most `output_tokens_max` tokens.
pub(super) fn body(server: &Server, request: &TurnRequest, model: &str, output_tokens_max: u32) -> Value {
    let mut body = json!({ "model": model, "stream": true });
    body[server.limit] = json!(output_tokens_max);
    if server.asks_usage {
        body["stream_options"] = json!({ "include_usage": true });
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
        if server.asks_parallel {
            body["parallel_tool_calls"] = json!(true);
        }
    }
    let system = has_words(&request.system).then(|| said("system", &request.system));
    let messages = in_order(&request.messages).into_iter().filter_map(|message| self::message(server, message));
    body["messages"] = system.into_iter().chain(messages).collect();
    body
}

fn tool(spec: &ToolSpec) -> Value {
    let function = json!({ "name": wire_name(&spec.name), "description": spec.description, "parameters": spec.schema });
    json!({ "type": "function", "function": function })
}

/// A message; `None` if there is nothing in it.
fn message(server: &Server, message: &OutgoingMessage) -> Option<Value> {
    match &message.role {
        OutgoingRole::User => has_words(&message.text).then(|| said("user", &message.text)),
        OutgoingRole::Assistant if message.calls.is_empty() => {
            has_words(&message.text).then(|| said("assistant", &message.text))
        }
        OutgoingRole::Assistant => {
            let call = |call: &ToolCall| {
                json!({
                    "id": call_id(server, &call.call_id),
                    "type": "function",
                    "function": { "name": wire_name(&call.name), "arguments": arguments(call) },
                })
            };
            let content = match server.silence {
                _ if has_words(&message.text) => json!(message.text),
                Silence::Null => Value::Null,
                Silence::Empty => json!(""),
            };
            let calls: Value = message.calls.iter().map(call).collect();
            Some(json!({ "role": "assistant", "content": content, "tool_calls": calls }))
        }
        OutgoingRole::Tool { call_id: id, is_error, .. } => Some(json!({
            "role": "tool",
            "tool_call_id": call_id(server, id),
            "content": told(&message.text, *is_error),
        })),
    }
}

fn said(role: &str, text: &str) -> Value {
    json!({ "role": role, "content": text })
}

fn call_id(server: &Server, id: &str) -> String {
    match server.ids {
        Ids::Any => wire_name(id),
        Ids::Nine if id.len() == SHORT_ID_CHARS && id.chars().all(|c| c.is_ascii_alphanumeric()) => id.to_owned(),
        Ids::Nine => content_hash(id.as_bytes()).chars().take(SHORT_ID_CHARS).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::server::{self, OPENAI};
    use super::*;
    use crate::openai::history::tests::{agent, check_prefix, long_request, result, user};

    fn known(id: &str) -> &'static Server {
        server::pick(&format!("http://localhost/v1#{id}")).unwrap().server
    }

    #[test]
    fn a_whole_request_has_every_message_in_order() {
        let expected = json!({
            "model": "gpt-x",
            "stream": true,
            "max_completion_tokens": 99,
            "stream_options": { "include_usage": true },
            "tools": [
                { "type": "function", "function":
                    { "name": "read", "description": "reads", "parameters": { "type": "object" } } },
                { "type": "function", "function":
                    { "name": wire_name("x.y"), "description": "reads", "parameters": { "type": "object" } } },
            ],
            "messages": [
                { "role": "system", "content": "orders" },
                { "role": "user", "content": "the brief" },
                { "role": "assistant", "content": "I understood." },
                { "role": "user", "content": "go" },
                { "role": "assistant", "content": null, "tool_calls": [
                    { "id": "c1", "type": "function",
                      "function": { "name": "read", "arguments": "{\"path\":\"größe\"}" } },
                    { "id": wire_name("a.b"), "type": "function",
                      "function": { "name": wire_name("x.y"), "arguments": "{}" } },
                ] },
                { "role": "tool", "tool_call_id": "c1", "content": "content" },
                { "role": "tool", "tool_call_id": wire_name("a.b"), "content": "Error: not JSON" },
                { "role": "user", "content": "by the way" },
            ],
        });
        assert_eq!(body(&OPENAI, &long_request(), "gpt-x", 99), expected);
    }

    #[test]
    fn what_is_empty_is_left_out() {
        let request =
            TurnRequest { system: " \n".to_owned(), messages: vec![user("a")], tools: [].into(), ..long_request() };
        let body = body(known("llama.cpp"), &request, "m", 1);
        assert_eq!((body.get("tools"), body.get("parallel_tool_calls")), (None, None));
        assert_eq!(body["messages"], json!([{ "role": "user", "content": "a" }]));
    }

    #[test]
    fn each_server_is_asked_as_it_wants() {
        let check = |named: &str, limit: &str, options: Value, parallel: Value, silence: Value| {
            let server = known(named);
            assert_eq!(server.id, named);
            let body = body(server, &long_request(), "m", 7);
            for name in ["max_tokens", "max_completion_tokens"] {
                assert_eq!(body.get(name), (name == limit).then_some(&json!(7)), "{named} {name}");
            }
            assert_eq!(body["stream_options"]["include_usage"], options, "{named}");
            assert_eq!(body["parallel_tool_calls"], parallel, "{named}");
            assert_eq!(body["messages"][4]["content"], silence, "{named}");
        };
        let (yes, none, empty) = (json!(true), Value::Null, json!(""));
        check("openai", "max_completion_tokens", yes.clone(), none.clone(), none.clone());
        check("xai", "max_completion_tokens", yes.clone(), none.clone(), none.clone());
        check("ollama", "max_tokens", yes.clone(), none.clone(), none.clone());
        check("vllm", "max_tokens", yes.clone(), none.clone(), none.clone());
        check("llama.cpp", "max_tokens", yes.clone(), yes.clone(), empty.clone());
        check("lmstudio", "max_tokens", yes.clone(), none.clone(), empty);
        check("openrouter", "max_tokens", none.clone(), none.clone(), none.clone());
        check("groq", "max_completion_tokens", yes.clone(), none.clone(), none.clone());
        check("mistral", "max_tokens", none.clone(), none.clone(), none.clone());
        check("generic", "max_tokens", yes, none.clone(), none);
    }

    #[test]
    fn where_ids_are_short_a_call_and_its_result_share_one() {
        let call = |id| vec![agent("", &[(id, "read", json!({}))]), result(id, "", false)];
        for (id, expected) in [("abcDEF123", Some("abcDEF123")), ("call_1_1", None), ("abc-EF123", None)] {
            let request = TurnRequest { messages: call(id), ..long_request() };
            let body = body(known("mistral"), &request, "m", 1);
            let sent = body["messages"][1]["tool_calls"][0]["id"].as_str().unwrap();
            assert_eq!(body["messages"][2]["tool_call_id"], sent);
            assert!(sent.len() == 9 && sent.chars().all(|c| c.is_ascii_alphanumeric()), "{sent}");
            assert!(expected.is_none_or(|expected| expected == sent), "{sent}");
        }
    }

    #[test]
    fn a_turn_sends_all_of_the_turn_before_unchanged() {
        for named in ["openai", "ollama", "llama.cpp", "mistral"] {
            check_prefix(|request| body(known(named), request, "m", 1));
        }
    }
}
