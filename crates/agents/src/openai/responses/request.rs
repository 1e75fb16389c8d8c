//! Writes a turn as a request of the Responses API.
//!
//! In: a turn as the runtime has it. Out: the JSON body. The same turn always gives the same bytes up to its last
//! message, which is what the provider's cache goes by.

use adjutant_core::tool::{ToolCall, ToolSpec, content_hash};
use adjutant_ports::{OutgoingMessage, OutgoingRole, TurnRequest};
use serde_json::{Value, json};

use crate::api::has_words;
use crate::api::wire_name;
use crate::openai::history::{arguments, in_order, told};

/// The body of the request that asks `model` for a reply of at most `output_tokens_max` tokens, thinking
/// included.
///
/// Nothing is stored at the provider. The cache is found by the key together with the prompt's beginning, so
/// that runs with the same orders share what they have in common; it says nothing that the orders don't.
pub(super) fn body(request: &TurnRequest, model: &str, output_tokens_max: u32) -> Value {
    let mut body = json!({
        "model": model,
        "stream": true,
        "store": false,
        "max_output_tokens": output_tokens_max,
        "prompt_cache_key": content_hash(request.system.as_bytes()),
    });
    if has_words(&request.system) {
        body["instructions"] = json!(request.system);
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    body["input"] = in_order(&request.messages).into_iter().flat_map(items).collect();
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

/// The items of a message. They carry no id of the provider's: one that has an id is only taken together with
/// the thinking that led to it, which is not kept.
fn items(message: &OutgoingMessage) -> Vec<Value> {
    let said = |role: &str| {
        let item = json!({ "type": "message", "role": role, "content": message.text });
        has_words(&message.text).then_some(item)
    };
    match &message.role {
        OutgoingRole::User => said("user").into_iter().collect(),
        OutgoingRole::Assistant => {
            let call = |call: &ToolCall| {
                json!({
                    "type": "function_call",
                    "call_id": wire_name(&call.call_id),
                    "name": wire_name(&call.name),
                    "arguments": arguments(call),
                })
            };
            said("assistant").into_iter().chain(message.calls.iter().map(call)).collect()
        }
        OutgoingRole::Tool { call_id, is_error, .. } => vec![json!({
            "type": "function_call_output",
            "call_id": wire_name(call_id),
            "output": told(&message.text, *is_error),
        })],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openai::history::tests::{check_prefix, long_request, user};

    #[test]
    fn a_whole_request_has_every_item_in_order() {
        let expected = json!({
            "model": "gpt-x",
            "stream": true,
            "store": false,
            "max_output_tokens": 99,
            "prompt_cache_key": content_hash(b"orders"),
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
    fn what_is_empty_is_left_out() {
        let request =
            TurnRequest { system: " \n".to_owned(), messages: vec![user("a")], tools: [].into(), ..long_request() };
        let body = body(&request, "m", 1);
        assert_eq!((body.get("instructions"), body.get("tools")), (None, None));
    }

    #[test]
    fn a_turn_sends_all_of_the_turn_before_unchanged() {
        check_prefix(|request| body(request, "m", 1));
    }
}
