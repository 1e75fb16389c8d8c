//! Writes a turn as a request of the Responses API.
//!
//! In: a turn as the runtime has it. Out: the JSON body. The same turn always gives the same bytes up to its last
//! message, which is what the provider's cache goes by.

use adjutant_core::words::tool::{ToolCall, ToolSpec, content_hash};
use adjutant_ports::{OutgoingMessage, OutgoingRole, TurnRequest};
use serde_json::{Value, json};

use super::{effort, model};
use crate::api::parts::{PartMarks, ReplyPiece, pieces, without_loose_end};
use crate::api::{Terms, has_words, wire_name};
use crate::openai::history::{arguments, in_order, told};

/// Returns the body of the request that asks for a reply on these terms.
///
/// Nothing is stored at the provider. The cache is found by the key together with the prompt's beginning, so that runs
/// with the same orders share what they have in common; it says nothing that the orders don't.
pub(super) fn body(request: &TurnRequest, terms: &Terms<'_>) -> Value {
    let model = terms.model;
    let mut body = json!({
        "model": model,
        "stream": true,
        "store": false,
    });
    if !terms.caching.without_key {
        body["prompt_cache_key"] = json!(content_hash(request.system.as_bytes()));
    }
    if has_words(&request.system) {
        body["instructions"] = json!(request.system);
    }
    if model::thinks(model) {
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    if let Some(effort) = effort::of(terms).effort {
        body["reasoning"] = json!({ "effort": effort, "summary": "auto" });
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    body["input"] = in_order(&request.messages).into_iter().flat_map(items).collect();
    // What may differ from turn to turn stands behind all that is the same.
    body["max_output_tokens"] = json!(terms.output_tokens_max);
    if !request.tools.is_empty() && !request.may_call {
        body["tool_choice"] = json!("none");
    }
    body
}

/// Not strict: a strict schema may have no optional property, and ours do.
fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "name": wire_name(&spec.name),
        "description": spec.description,
        "parameters": spec.schema,
        "strict": false,
    })
}

/// Returns the items of a message. Thinking comes back as it came. What is said and called carries no id of the
/// provider's: one that has an id is only taken together with the thinking that led to it, which may be another
/// model's.
fn items(message: &OutgoingMessage) -> Vec<Value> {
    match &message.role {
        OutgoingRole::User => said("user", &message.text, PartMarks::new()).into_iter().collect(),
        OutgoingRole::Assistant => {
            let item = |piece| match piece {
                ReplyPiece::Text(text, marks) => said("assistant", text, marks),
                ReplyPiece::Call(made, _) => Some(call(made)),
                ReplyPiece::Whole(item) => Some(item),
            };
            without_loose_end(pieces(message)).into_iter().filter_map(item).collect()
        }
        OutgoingRole::Tool { call_id, is_error, .. } => vec![json!({
            "type": "function_call_output",
            "call_id": wire_name(call_id),
            "output": told(&message.text, *is_error),
        })],
    }
}

fn said(role: &str, text: &str, marks: PartMarks) -> Option<Value> {
    let mut item = json!({ "type": "message", "role": role, "content": text });
    for (name, mark) in marks {
        item[name] = mark;
    }
    has_words(text).then_some(item)
}

fn call(made: &ToolCall) -> Value {
    json!({
        "type": "function_call",
        "call_id": wire_name(&made.call_id),
        "name": wire_name(&made.name),
        "arguments": arguments(made),
    })
}

#[cfg(test)]
mod tests {
    use adjutant_core::words::effort::Effort;

    use super::*;
    use crate::api::{Caching, Thinking};
    use crate::openai::history::tests::{agent, check_prefix, long_request, shared, user};

    fn body(request: &TurnRequest, model: &str, output_tokens_max: u32) -> Value {
        super::body(request, &Terms::new(model, output_tokens_max))
    }

    #[test]
    fn the_key_of_the_cache_can_be_left_out() {
        let caching = Caching { lasts: None, without_key: true };
        let body = super::body(&long_request(), &Terms { caching, ..Terms::new("m", 9) });
        assert_eq!(body.get("prompt_cache_key"), None);
    }

    #[test]
    fn effort_is_asked_for_with_a_summary() {
        let thinking = Thinking { effort: Some(Effort::Max), tokens: None };
        let asked = |model| super::body(&long_request(), &Terms { thinking, ..Terms::new(model, 9) });
        assert_eq!(asked("gpt-6-luna")["reasoning"], json!({ "effort": "max", "summary": "auto" }));
        assert_eq!(asked("gpt-4.1").get("reasoning"), None);
    }

    #[test]
    fn a_whole_request_has_every_item_in_order() {
        let expected = json!({
            "model": "gpt-x",
            "stream": true,
            "store": false,
            "max_output_tokens": 99,
            "prompt_cache_key": content_hash(b"orders"),
            "include": ["reasoning.encrypted_content"],
            "instructions": "orders",
            "tools": [
                { "type": "function", "name": "read", "description": "reads", "parameters": { "type": "object" },
                  "strict": false },
                { "type": "function", "name": wire_name("x.y"), "description": "reads",
                  "parameters": { "type": "object" }, "strict": false },
            ],
            "input": [
                { "type": "message", "role": "user", "content": "the brief" },
                { "type": "message", "role": "assistant", "content": "I understood." },
                { "type": "message", "role": "user", "content": "go" },
                { "type": "function_call", "call_id": "c1", "name": "read", "arguments": "{\"path\":\"größe\"}" },
                { "type": "function_call", "call_id": wire_name("a.b"), "name": wire_name("x.y"), "arguments": "{}" },
                { "type": "function_call_output", "call_id": "c1", "output": "content" },
                { "type": "function_call_output", "call_id": wire_name("a.b"), "output": "Error: not JSON" },
                { "type": "message", "role": "user", "content": "by the way" },
            ],
        });
        assert_eq!(body(&long_request(), "gpt-x", 99), expected);
    }

    #[test]
    fn thinking_and_phases_come_back_if_something_follows_them() {
        let thought = |id: &str| json!({ "type": "reasoning", "id": id, "summary": [], "encrypted_content": "gAAA" });
        let phase = json!({ "phase": "commentary" });
        let kept = json!([
            { "whole": thought("rs_1") }, { "text": { "from": 0, "to": 4, "marks": phase } },
            { "whole": thought("rs_2") }, { "call": { "place": 0 } }, { "whole": thought("rs_3") },
        ]);
        let spoken = OutgoingMessage { provider_data: Some(kept), ..agent("said", &[("c1", "read", json!({}))]) };
        let request = TurnRequest { messages: shared(vec![user("go"), spoken]), ..long_request() };
        let expected = json!([
            { "type": "message", "role": "user", "content": "go" },
            thought("rs_1"),
            { "type": "message", "role": "assistant", "content": "said", "phase": "commentary" },
            thought("rs_2"),
            { "type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}" },
        ]);
        assert_eq!(body(&request, "gpt-x", 1)["input"], expected);
    }

    #[test]
    fn a_model_that_does_not_think_is_not_asked_for_it() {
        assert_eq!(body(&long_request(), "gpt-4.1", 1).get("include"), None);
    }

    #[test]
    fn a_turn_without_calls_says_so_and_has_its_tools() {
        let body = body(&TurnRequest { may_call: false, ..long_request() }, "m", 1);
        assert_eq!((&body["tool_choice"], body["tools"].as_array().map(Vec::len)), (&json!("none"), Some(2)));
    }

    #[test]
    fn what_is_empty_is_left_out() {
        let request = TurnRequest {
            system: " \n".to_owned(),
            messages: shared(vec![user("a")]),
            tools: [].into(),
            ..long_request()
        };
        let body = body(&request, "m", 1);
        assert_eq!((body.get("instructions"), body.get("tools")), (None, None));
    }

    #[test]
    fn a_turn_sends_all_of_the_turn_before_unchanged() {
        check_prefix(|request| body(request, "m", 1));
    }
}
