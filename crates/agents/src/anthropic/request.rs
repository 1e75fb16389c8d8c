//! Writes a turn as a request of the Messages API.
//!
//! In: a turn as the runtime has it. Out: the JSON body, and the names that came out changed in it. The
//! same turn always gives the same bytes up to its last message, which is what the provider's cache goes by.

use std::sync::Arc;

use adjutant_core::words::tool::{ToolCall, ToolSpec};
use adjutant_ports::{OutgoingMessage, OutgoingRole, TurnRequest};
use serde_json::{Value, json};

use super::effort::{self, ThinkingMode};
use crate::api::parts::{ReplyPiece, pieces, without_loose_end};
use crate::api::{Terms, has_words, wire_name};

/// Returns the body of the request that asks for a reply on these terms. `first` is the field that it begins with: the
/// model, or the version of the API where the model stands elsewhere.
///
/// Two things are marked to be cached: the tools and the standing orders, with which every turn of a run begins, and
/// the last message, up to which the next turn will be the same. That takes three of the four marks that the API
/// allows.
pub(super) fn body(request: &TurnRequest, terms: &Terms<'_>, first: (&str, &str)) -> Value {
    let mark = terms.caching.mark();
    let (name, value) = first;
    let mut body = json!({ name: value, "stream": true });
    if has_words(&request.system) {
        let mut system = json!([text(&request.system)]);
        mark_last(&mut system, &mark);
        body["system"] = system;
    }
    if !request.tools.is_empty() {
        let mut tools = request.tools.iter().map(tool).collect();
        mark_last(&mut tools, &mark);
        body["tools"] = tools;
    }
    let mut messages = messages(&request.messages);
    if let Some(last) = messages.last_mut() {
        mark_last(&mut last["content"], &mark);
    }
    let effort::MessagesEffort { effort, mut thinking, .. } = effort::of(terms);
    if matches!(thinking, ThinkingMode::Budget(_)) && !begins_with_thinking(&messages) {
        thinking = ThinkingMode::Unsaid;
    }
    body["messages"] = Value::Array(messages);
    // What may differ from turn to turn stands behind all that is the same.
    body["max_tokens"] = json!(terms.output_tokens_max);
    if let Some(effort) = effort {
        body["output_config"] = json!({ "effort": effort });
    }
    match thinking {
        ThinkingMode::Unsaid => {}
        // The newest models keep what they think to themselves unless they are asked.
        ThinkingMode::Adaptive => body["thinking"] = json!({ "type": "adaptive", "display": "summarized" }),
        ThinkingMode::Budget(tokens) => body["thinking"] = json!({ "type": "enabled", "budget_tokens": tokens }),
    }
    if !request.tools.is_empty() && !request.may_call {
        body["tool_choice"] = json!({ "type": "none" });
    }
    body
}

/// Returns true if the last turn of the agent begins with thinking, or has no calls, or isn't there. With a budget for
/// thinking, the API refuses a turn with calls that doesn't, such as another model's.
fn begins_with_thinking(messages: &[Value]) -> bool {
    let last = messages.iter().rev().find(|message| message["role"] == "assistant");
    let Some(blocks) = last.and_then(|message| message["content"].as_array()) else { return true };
    let has_calls = blocks.iter().any(|block| block["type"] == "tool_use");
    let first = blocks.first().and_then(|block| block["type"].as_str());
    !has_calls || matches!(first, Some("thinking" | "redacted_thinking"))
}

fn tool(spec: &ToolSpec) -> Value {
    json!({ "name": wire_name(&spec.name), "description": spec.description, "input_schema": spec.schema })
}

/// Returns the messages, those of one role in a row merged, since the API takes turns.
fn messages(outgoing: &[Arc<OutgoingMessage>]) -> Vec<Value> {
    let mut merged: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in outgoing {
        let (role, blocks) = blocks(message);
        match merged.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, content)) if *last == role => content.extend(blocks),
            Some(_) | None => merged.push((role, blocks)),
        }
    }
    let message = |(role, mut content): (&str, Vec<Value>)| {
        // The API wants the results right behind the calls that they answer, before anything else is said.
        content.sort_by_key(|block| role == "user" && block["type"] != "tool_result");
        json!({ "role": role, "content": content })
    };
    merged.into_iter().map(message).collect()
}

/// Returns the role of a message, and the blocks of its content. The API refuses text that is blank.
fn blocks(message: &OutgoingMessage) -> (&'static str, Vec<Value>) {
    match &message.role {
        OutgoingRole::User => ("user", has_words(&message.text).then(|| text(&message.text)).into_iter().collect()),
        OutgoingRole::Assistant => {
            let block = |piece| match piece {
                ReplyPiece::Text(piece, _) => has_words(piece).then(|| text(piece)),
                ReplyPiece::Call(made, _) => Some(call(made)),
                // Thinking comes back as it came, or its signature is wrong.
                ReplyPiece::Whole(block) => Some(block),
            };
            ("assistant", without_loose_end(pieces(message)).into_iter().filter_map(block).collect())
        }
        OutgoingRole::Tool { call_id, is_error, .. } => {
            let result = json!({
                "type": "tool_result",
                "tool_use_id": wire_name(call_id),
                "content": message.text,
                "is_error": is_error,
            });
            ("user", vec![result])
        }
    }
}

fn call(call: &ToolCall) -> Value {
    // The API takes nothing but an object; what could not be read is told in the call's result.
    let input = if call.args.is_object() { call.args.clone() } else { json!({}) };
    json!({ "type": "tool_use", "id": wire_name(&call.call_id), "name": wire_name(&call.name), "input": input })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// Marks the last of some blocks: everything up to there is to be cached.
fn mark_last(blocks: &mut Value, mark: &Value) {
    if let Some(last) = blocks.as_array_mut().and_then(|blocks| blocks.last_mut()) {
        last["cache_control"] = mark.clone();
    }
}

#[cfg(test)]
mod tests {
    use adjutant_core::words::tool::ToolEffect;

    use adjutant_core::words::effort::Effort;

    use super::*;
    use crate::api::{CacheLasts, Caching, Thinking};

    fn body(request: &TurnRequest, model: &str, output_tokens_max: u32) -> Value {
        body_on(request, &Terms::new(model, output_tokens_max))
    }

    fn body_on(request: &TurnRequest, terms: &Terms<'_>) -> Value {
        super::body(request, terms, ("model", terms.model))
    }

    #[test]
    fn a_body_without_the_model_is_the_same_in_all_else() {
        let request = request("orders", vec![user("brief")], &["read"]);
        let terms = Terms::new("claude-sonnet-4-5@20250929", 9);
        let (own, mut other) = (body_on(&request, &terms), super::body(&request, &terms, ("anthropic_version", "v")));
        assert_eq!((other["anthropic_version"].take(), other.get("model")), (json!("v"), None));
        let rest = |body: &Value| body.as_object().unwrap().clone().into_iter().skip(1).collect::<Vec<_>>();
        assert_eq!(rest(&other), rest(&own));
    }

    #[test]
    fn an_hour_of_cache_is_said_at_every_mark() {
        let caching = Caching { lasts: Some(CacheLasts::Hour), without_key: false };
        let terms = Terms { caching, ..Terms::new("m", 9) };
        let body = body_on(&request("orders", vec![user("brief")], &["read"]), &terms);
        let hour = json!({ "type": "ephemeral", "ttl": "1h" });
        for place in ["/system/0", "/tools/0", "/messages/0/content/0"] {
            assert_eq!(body.pointer(place).unwrap()["cache_control"], hour, "{place}");
        }
    }

    #[test]
    fn effort_and_thinking_stand_behind_the_messages() {
        let asked = |model: &str, effort, tokens| {
            let thinking = Thinking { effort, tokens };
            body_on(&request("", vec![user("go")], &[]), &Terms { thinking, ..Terms::new(model, 4096) })
        };
        let adaptive = asked("claude-opus-5-5", Some(Effort::High), None);
        assert_eq!(adaptive["output_config"], json!({ "effort": "high" }));
        assert_eq!(adaptive["thinking"], json!({ "type": "adaptive", "display": "summarized" }));
        let budget = asked("claude-haiku-4-5", None, Some(2000));
        assert_eq!(budget["thinking"], json!({ "type": "enabled", "budget_tokens": 2000 }));
        assert_eq!(budget.get("output_config"), None);
        let names: Vec<&String> = adaptive.as_object().unwrap().keys().collect();
        assert_eq!(names, ["model", "stream", "messages", "max_tokens", "output_config", "thinking"]);
    }

    #[test]
    fn a_budget_is_left_out_where_the_last_turn_with_calls_has_no_thinking_of_the_models() {
        let thought = json!([
            { "whole": { "type": "thinking", "thinking": "hm", "signature": "c2ln" } }, { "call": { "place": 0 } },
        ]);
        let calls = |provider_data| OutgoingMessage { provider_data, ..agent("", &[("c1", "read", json!({}))]) };
        let turn = |provider_data| vec![user("go"), calls(provider_data), result("c1", "", false)];
        let is_asked = |messages| {
            let thinking = Thinking { effort: None, tokens: Some(2000) };
            let terms = Terms { thinking, ..Terms::new("claude-haiku-4-5", 4096) };
            body_on(&request("", messages, &["read"]), &terms).get("thinking").is_some()
        };
        assert!(is_asked(turn(Some(thought))) && is_asked(vec![user("go"), agent("done", &[]), user("on")]));
        assert!(!is_asked(turn(None)));
    }

    fn request(system: &str, messages: Vec<OutgoingMessage>, tools: &[&str]) -> TurnRequest {
        let spec = |name: &&str| ToolSpec {
            name: (*name).to_owned(),
            description: "reads".to_owned(),
            categories: Vec::new(),
            schema: json!({ "type": "object" }),
            effect: ToolEffect::Reads,
        };
        let tools: Arc<[ToolSpec]> = tools.iter().map(spec).collect();
        TurnRequest {
            part: String::new(),
            turns_before: 0,
            turn: 1,
            attempt: 1,
            turns_left_out: 0,
            system: system.to_owned(),
            messages: messages.into_iter().map(Arc::new).collect(),
            tools,
            may_call: true,
            output_max: None,
        }
    }

    fn user(text: &str) -> OutgoingMessage {
        OutgoingMessage { role: OutgoingRole::User, text: text.into(), calls: Vec::new(), provider_data: None }
    }

    fn agent(text: &str, calls: &[(&str, &str, Value)]) -> OutgoingMessage {
        let call = |(id, name, args): &(&str, &str, Value)| ToolCall {
            call_id: (*id).to_owned(),
            name: (*name).to_owned(),
            args: args.clone(),
            malformed: None,
            masked: false,
            resolved: Vec::new(),
        };
        OutgoingMessage {
            role: OutgoingRole::Assistant,
            text: text.into(),
            calls: calls.iter().map(call).collect(),
            provider_data: None,
        }
    }

    fn result(call_id: &str, text: &str, is_error: bool) -> OutgoingMessage {
        let role = OutgoingRole::Tool { call_id: call_id.to_owned(), name: "read".to_owned(), is_error };
        OutgoingMessage { role, text: text.into(), calls: Vec::new(), provider_data: None }
    }

    #[track_caller]
    fn check_messages(messages: Vec<OutgoingMessage>, expected: &Value) {
        let mut body = body(&request("", messages, &[]), "m", 1);
        for message in body["messages"].as_array_mut().unwrap() {
            for block in message["content"].as_array_mut().unwrap() {
                block.as_object_mut().unwrap().remove("cache_control");
            }
        }
        assert_eq!(&body["messages"], expected);
    }

    #[test]
    fn a_whole_request_is_marked_where_the_next_will_be_the_same() {
        let cached = json!({ "type": "ephemeral" });
        let body = body(&request("orders", vec![user("brief")], &["read", "list"]), "claude-x", 99);
        let expected = json!({
            "model": "claude-x",
            "max_tokens": 99,
            "stream": true,
            "system": [{ "type": "text", "text": "orders", "cache_control": cached }],
            "tools": [
                { "name": "read", "description": "reads", "input_schema": { "type": "object" } },
                { "name": "list", "description": "reads", "input_schema": { "type": "object" }, "cache_control": cached },
            ],
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "brief", "cache_control": cached }] },
            ],
        });
        assert_eq!(body, expected);
    }

    #[test]
    fn what_is_empty_is_left_out() {
        let body = body(&request(" \n", vec![user("brief"), agent("", &[]), user(" ")], &[]), "m", 1);
        assert_eq!((body.get("system"), body.get("tools")), (None, None));
        check_messages(
            vec![user("a"), agent(" ", &[]), user("b")],
            &json!([
                { "role": "user", "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] },
            ]),
        );
    }

    #[test]
    fn thinking_comes_back_where_it_stood_if_something_follows_it() {
        let thinking = |text: &str| json!({ "type": "thinking", "thinking": text, "signature": "c2ln" });
        let kept = json!([
            { "whole": thinking("one") }, { "call": { "place": 0 } }, { "whole": thinking("two") },
            { "text": { "from": 0, "to": 4 } }, { "whole": { "type": "redacted_thinking", "data": "x" } },
        ]);
        let spoken = OutgoingMessage { provider_data: Some(kept), ..agent("said", &[("c1", "read", json!({}))]) };
        let alone = OutgoingMessage { provider_data: Some(json!([{ "whole": thinking("all") }])), ..agent("", &[]) };
        check_messages(
            vec![user("go"), spoken, result("c1", "content", false), alone, user("on")],
            &json!([
                { "role": "user", "content": [{ "type": "text", "text": "go" }] },
                { "role": "assistant", "content": [
                    thinking("one"),
                    { "type": "tool_use", "id": "c1", "name": "read", "input": {} },
                    thinking("two"),
                    { "type": "text", "text": "said" },
                ] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "c1", "content": "content", "is_error": false },
                    { "type": "text", "text": "on" },
                ] },
            ]),
        );
    }

    #[test]
    fn tools_are_in_every_request_and_those_without_calls_say_so_behind_the_messages() {
        let asked = |may_call| {
            let request = TurnRequest { may_call, ..request("orders", vec![user("brief")], &["read"]) };
            body(&request, "m", 1)
        };
        let (with, without) = (asked(true), asked(false));
        assert_eq!(without["tools"], with["tools"]);
        assert_eq!((with.get("tool_choice"), &without["tool_choice"]), (None, &json!({ "type": "none" })));
        let names: Vec<&String> = without.as_object().unwrap().keys().collect();
        assert_eq!(names[names.len() - 3..], ["messages", "max_tokens", "tool_choice"]);
    }

    #[test]
    fn results_answer_their_calls_before_anything_else_is_said() {
        check_messages(
            vec![
                user("go"),
                agent("two", &[("c1", "read", json!({ "path": "a" })), ("c2", "read", Value::Null)]),
                result("c1", "content", false),
                user("by the way"),
                result("c2", "not JSON", true),
                agent("done", &[]),
            ],
            &json!([
                { "role": "user", "content": [{ "type": "text", "text": "go" }] },
                { "role": "assistant", "content": [
                    { "type": "text", "text": "two" },
                    { "type": "tool_use", "id": "c1", "name": "read", "input": { "path": "a" } },
                    { "type": "tool_use", "id": "c2", "name": "read", "input": {} },
                ] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "c1", "content": "content", "is_error": false },
                    { "type": "tool_result", "tool_use_id": "c2", "content": "not JSON", "is_error": true },
                    { "type": "text", "text": "by the way" },
                ] },
                { "role": "assistant", "content": [{ "type": "text", "text": "done" }] },
            ]),
        );
    }

    #[test]
    fn an_agent_that_spoke_twice_in_a_row_keeps_the_order_of_its_blocks() {
        check_messages(
            vec![user("go"), agent("one", &[("c1", "read", json!({}))]), agent("two", &[])],
            &json!([
                { "role": "user", "content": [{ "type": "text", "text": "go" }] },
                { "role": "assistant", "content": [
                    { "type": "text", "text": "one" },
                    { "type": "tool_use", "id": "c1", "name": "read", "input": {} },
                    { "type": "text", "text": "two" },
                ] },
            ]),
        );
    }

    #[test]
    fn a_call_and_its_result_are_known_by_the_same_changed_id() {
        let messages = vec![agent("", &[("a.b", "x.y", json!({}))]), result("a.b", "", false)];
        let body = body(&request("", messages, &["x.y"]), "m", 1);
        let (call, answer) = (&body["messages"][0]["content"][0], &body["messages"][1]["content"][0]);
        assert_eq!(call["id"], answer["tool_use_id"]);
        assert_eq!(call["name"], body["tools"][0]["name"]);
    }
}
