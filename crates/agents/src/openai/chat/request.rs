//! Writes a turn as a request of Chat Completions.
//!
//! In: a turn as the runtime has it, and what its server wants. Out: the JSON body. The same turn always gives the
//! same bytes up to its last message, which is what caches of prompts go by.

use adjutant_core::words::tool::{ToolCall, ToolSpec, content_hash};
use adjutant_ports::{OutgoingMessage, OutgoingRole, TurnRequest};
use serde_json::{Value, json};

use super::effort;
use super::server::{Ids, Server, Silence};
use crate::api::parts::{PartMarks, ReplyPiece, pieces};
use crate::api::{Terms, has_words, wire_name};
use crate::openai::history::{arguments, in_order, told};

/// Longest id of a call that OpenAI accepts, in characters; other providers make longer ones.
const ID_CHARS_MAX: usize = 40;

/// Message of the agent that stands between results and a message of the operator, for servers that take no message of
/// the operator's right behind a result.
const RESULTS_READ: &str = "(I have read the results.)";

/// Number of letters and digits of an id for servers that prescribe the number.
const SHORT_ID_CHARS: usize = 9;

/// Returns the body of the request that asks for a reply on these terms.
pub(super) fn body(server: &Server, request: &TurnRequest, terms: &Terms<'_>) -> Value {
    let mut body = json!({ "model": terms.model, "stream": true });
    if server.asks_usage {
        body["stream_options"] = json!({ "include_usage": true });
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
        if server.asks_parallel {
            body["parallel_tool_calls"] = json!(true);
        }
    }
    for (name, value) in effort::of(server.effort, terms).fields {
        body[name] = value;
    }
    let system = has_words(&request.system).then(|| said("system", &request.system));
    let mut messages: Vec<Value> = system.into_iter().collect();
    for message in in_order(&request.messages).into_iter().filter_map(|message| self::message(server, message)) {
        let follows_result = messages.last().is_some_and(|last| last["role"] == "tool");
        if server.parts_results && follows_result && message["role"] == "user" {
            messages.push(said("assistant", RESULTS_READ));
        }
        messages.push(message);
    }
    complete_thinking(&mut messages);
    if marks_cache(server, terms) {
        mark(&mut messages, &terms.caching.mark());
    }
    body["messages"] = Value::Array(messages);
    // What may differ from turn to turn stands behind all that is the same.
    body[server.limit] = json!(terms.output_tokens_max);
    if !request.tools.is_empty() && !request.may_call {
        body["tool_choice"] = json!("none");
    }
    body
}

/// Returns true if the content to cache is marked: for Claude models, behind servers that pass marks on, or where the
/// operator set the cache's lifetime.
pub(super) fn marks_cache(server: &Server, terms: &Terms<'_>) -> bool {
    terms.model.contains("claude") && (server.passes_marks || terms.caching.lasts.is_some())
}

/// Marks the orders, with the tools that stand before them at the provider, and the last message that has a text: two
/// of the four marks that the provider allows.
fn mark(messages: &mut [Value], mark: &Value) {
    let part = |message: &mut Value| {
        if let Some(text) = message["content"].as_str() {
            message["content"] = json!([{ "type": "text", "text": text, "cache_control": mark }]);
        }
    };
    let is_orders = |message: &&mut Value| message["role"] == "system";
    if let Some(orders) = messages.first_mut().filter(is_orders) {
        part(orders);
    }
    let has_words = |message: &&mut Value| message["content"].as_str().is_some_and(has_words);
    if let Some(last) = messages.iter_mut().rev().find(has_words) {
        part(last);
    }
}

/// Puts an empty text for thinking at the calls of other models, where the server wants its own back with its calls:
/// DeepSeek refuses a call without any.
fn complete_thinking(messages: &mut [Value]) {
    const FIELD: &str = "reasoning_content";
    if !messages.iter().any(|message| message[FIELD].is_string()) {
        return;
    }
    for message in messages.iter_mut().filter(|message| message["tool_calls"].is_array()) {
        if message[FIELD].is_null() {
            message[FIELD] = json!("");
        }
    }
}

fn tool(spec: &ToolSpec) -> Value {
    let function = json!({ "name": wire_name(&spec.name), "description": spec.description, "parameters": spec.schema });
    json!({ "type": "function", "function": function })
}

/// Returns a message; `None` if there is nothing in it.
fn message(server: &Server, message: &OutgoingMessage) -> Option<Value> {
    match &message.role {
        OutgoingRole::User => has_words(&message.text).then(|| said("user", &message.text)),
        OutgoingRole::Assistant => turn(server, message),
        OutgoingRole::Tool { call_id: id, is_error, .. } => Some(json!({
            "role": "tool",
            "tool_call_id": call_id(server, id),
            "content": told(&message.text, *is_error),
        })),
    }
}

/// Returns a turn of the agent's, with what the server wants back: fields of the message such as `reasoning_content`,
/// and fields of its calls such as `extra_content`.
fn turn(server: &Server, message: &OutgoingMessage) -> Option<Value> {
    let (mut fields, mut calls) = (PartMarks::new(), Vec::new());
    for piece in pieces(message) {
        match piece {
            // The message has one text.
            ReplyPiece::Text(..) => {}
            ReplyPiece::Call(made, marks) => {
                let mut call = call(server, made);
                call.extend(marks);
                calls.push(Value::Object(call));
            }
            ReplyPiece::Whole(Value::Object(kept)) => fields.extend(kept),
            ReplyPiece::Whole(_) => {}
        }
    }
    let content = match server.silence {
        _ if has_words(&message.text) => json!(message.text),
        _ if calls.is_empty() => return None,
        Silence::Null => Value::Null,
        Silence::Empty => json!(""),
    };
    let mut turn = PartMarks::from_iter([("role".to_owned(), json!("assistant")), ("content".to_owned(), content)]);
    turn.extend(fields);
    if !calls.is_empty() {
        turn.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    Some(Value::Object(turn))
}

fn call(server: &Server, made: &ToolCall) -> PartMarks {
    let function = json!({ "name": wire_name(&made.name), "arguments": arguments(made) });
    PartMarks::from_iter([
        ("id".to_owned(), json!(call_id(server, &made.call_id))),
        ("type".to_owned(), json!("function")),
        ("function".to_owned(), function),
    ])
}

fn said(role: &str, text: &str) -> Value {
    json!({ "role": role, "content": text })
}

fn call_id(server: &Server, id: &str) -> String {
    match server.ids {
        Ids::Any if id.len() <= ID_CHARS_MAX => wire_name(id),
        Ids::Any => content_hash(id.as_bytes()),
        Ids::Nine if id.len() == SHORT_ID_CHARS && id.chars().all(|c| c.is_ascii_alphanumeric()) => id.to_owned(),
        Ids::Nine => content_hash(id.as_bytes()).chars().take(SHORT_ID_CHARS).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::server::{self, OPENAI};
    use adjutant_core::words::effort::Effort;

    use super::*;
    use crate::api::{CacheLasts, Caching, Thinking};
    use crate::openai::history::tests::{agent, check_prefix, long_request, result, shared, user};

    fn body(server: &Server, request: &TurnRequest, model: &str, output_tokens_max: u32) -> Value {
        super::body(server, request, &Terms::new(model, output_tokens_max))
    }

    #[test]
    fn what_is_to_be_cached_is_marked_for_claude_models_behind_servers_that_pass_it_on() {
        let marks = |server: &Server, model: &str, lasts| {
            let caching = Caching { lasts, without_key: false };
            let body = super::body(server, &long_request(), &Terms { caching, ..Terms::new(model, 9) });
            let messages = body["messages"].as_array().unwrap().clone();
            let marked = (0..).zip(&messages).filter(|(_, message)| message["content"].is_array());
            marked.map(|(place, message)| (place, message["content"][0].clone())).collect::<Vec<(usize, Value)>>()
        };
        let part = |text: &str, mark: &Value| json!({ "type": "text", "text": text, "cache_control": mark });
        let short = json!({ "type": "ephemeral" });
        let expected = vec![(0, part("orders", &short)), (7, part("by the way", &short))];
        assert_eq!(marks(known("openrouter"), "anthropic/claude-opus-5.5", None), expected);
        assert_eq!(marks(known("litellm"), "claude-opus-5-5", None), expected);
        let hour = json!({ "type": "ephemeral", "ttl": "1h" });
        let expected = vec![(0, part("orders", &hour)), (7, part("by the way", &hour))];
        assert_eq!(marks(known("generic"), "claude-opus-5-5", Some(CacheLasts::Hour)), expected);
        for (server, model) in [("openrouter", "openai/gpt-6-luna"), ("generic", "claude-opus-5-5")] {
            assert_eq!(marks(known(server), model, None), Vec::new(), "{server} {model}");
        }
    }

    #[test]
    fn effort_is_asked_for_in_the_servers_words() {
        let thinking = Thinking { effort: Some(Effort::High), tokens: None };
        let asked = |server| super::body(server, &long_request(), &Terms { thinking, ..Terms::new("m", 9) });
        assert_eq!(asked(known("ollama"))["reasoning_effort"], "high");
        assert_eq!(asked(known("openrouter"))["reasoning"], json!({ "effort": "high" }));
    }

    fn known(id: &str) -> &'static Server {
        server::pick(&format!("http://localhost/v1#{id}")).unwrap().server
    }

    #[test]
    fn what_the_server_wants_back_comes_back_with_its_message_and_its_calls() {
        let signed = json!({ "google": { "thought_signature": "s" } });
        let kept = json!([
            { "whole": { "reasoning_content": "hm" } },
            { "call": { "place": 0, "marks": { "extra_content": signed } } },
        ]);
        let spoken = OutgoingMessage { provider_data: Some(kept), ..agent("", &[("c1", "read", json!({}))]) };
        let alone = OutgoingMessage {
            provider_data: Some(json!([{ "whole": { "reasoning_content": "all" } }])),
            ..agent(" ", &[])
        };
        let request = TurnRequest { messages: shared(vec![user("go"), spoken, alone]), ..long_request() };
        let expected = json!([
            { "role": "system", "content": "orders" },
            { "role": "user", "content": "go" },
            { "role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [{
                "id": "c1", "type": "function", "function": { "name": "read", "arguments": "{}" },
                "extra_content": signed,
            }] },
        ]);
        assert_eq!(body(&OPENAI, &request, "m", 1)["messages"], expected);
    }

    #[test]
    fn calls_of_other_models_have_empty_thinking_where_the_server_wants_its_own_back() {
        let kept = json!([{ "whole": { "reasoning_content": "hm" } }, { "call": { "place": 0 } }]);
        let own = OutgoingMessage { provider_data: Some(kept), ..agent("", &[("c2", "read", json!({}))]) };
        let others = agent("", &[("c1", "read", json!({}))]);
        let thinking = |messages: Vec<OutgoingMessage>| -> Vec<Value> {
            let body = body(&OPENAI, &TurnRequest { messages: shared(messages), ..long_request() }, "m", 1);
            let messages = body["messages"].as_array().unwrap().iter();
            messages
                .filter(|message| message["tool_calls"].is_array())
                .map(|message| message["reasoning_content"].clone())
                .collect()
        };
        let both = vec![user("go"), others.clone(), result("c1", "", false), own, result("c2", "", false)];
        assert_eq!(thinking(both), [json!(""), json!("hm")]);
        assert_eq!(thinking(vec![user("go"), others, result("c1", "", false)]), [Value::Null]);
    }

    #[test]
    fn a_server_that_takes_no_word_behind_a_result_gets_the_agents_between() {
        let messages = vec![
            user("go"),
            agent("", &[("c1", "read", json!({}))]),
            result("c1", "content", false),
            user("by the way"),
        ];
        let roles = |server: &Server| -> Vec<String> {
            let body = body(server, &TurnRequest { messages: shared(messages.clone()), ..long_request() }, "m", 1);
            body["messages"].as_array().unwrap().iter().map(|said| said["role"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(roles(known("mistral")), ["system", "user", "assistant", "tool", "assistant", "user"]);
        assert_eq!(roles(&OPENAI), ["system", "user", "assistant", "tool", "user"]);
    }

    #[test]
    fn an_id_that_is_too_long_for_the_format_has_a_short_one() {
        let long = "x".repeat(41);
        let sent = call_id(&OPENAI, &long);
        assert!(sent.len() <= 40 && sent != call_id(&OPENAI, &"x".repeat(42)), "{sent}");
        assert_eq!(call_id(&OPENAI, &long[..40]), long[..40]);
    }

    #[test]
    fn a_turn_without_calls_says_so_and_has_its_tools() {
        let body = body(&OPENAI, &TurnRequest { may_call: false, ..long_request() }, "m", 1);
        assert_eq!((&body["tool_choice"], body["tools"].as_array().map(Vec::len)), (&json!("none"), Some(2)));
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
        let request = TurnRequest {
            system: " \n".to_owned(),
            messages: shared(vec![user("a")]),
            tools: [].into(),
            ..long_request()
        };
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
            let request = TurnRequest { messages: shared(call(id)), ..long_request() };
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
