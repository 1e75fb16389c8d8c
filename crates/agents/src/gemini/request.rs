//! Writes a turn as a request of the Gemini API.
//!
//! In: a turn as the runtime has it. Out: the JSON body. The same turn always gives the same bytes up to its
//! last message, which is what the provider's cache goes by.

use std::sync::Arc;

use adjutant_core::words::tool::{ToolCall, ToolSpec};
use adjutant_ports::{OutgoingMessage, OutgoingRole, TurnRequest};
use serde_json::{Value, json};

use super::effort::{self, ThinkingAmount};
use super::{SIGNATURE, model, names};
use crate::api::parts::{PartMarks, ReplyPiece, pieces};
use crate::api::{Terms, has_words};

/// Value that the API accepts as the signature of a call that the model's provider did not sign, from its page on
/// thought signatures.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// Returns the body of the request that asks for a reply on these terms. `has_ids` says whether calls and their results
/// have the ids that the provider gave them.
pub(super) fn body(request: &TurnRequest, terms: &Terms<'_>, has_ids: bool) -> Value {
    let model = terms.model;
    let mut body = json!({});
    if has_words(&request.system) {
        body["systemInstruction"] = json!({ "parts": [text(&request.system)] });
    }
    if !request.tools.is_empty() {
        let functions: Vec<Value> = request.tools.iter().map(function).collect();
        body["tools"] = json!([{ "functionDeclarations": functions }]);
    }
    let marked = Marked { signatures: model::insists_on_signatures(model), ids: has_ids };
    body["contents"] = Value::Array(contents(&request.messages, marked));
    // What may differ from turn to turn stands behind all that is the same.
    if !request.tools.is_empty() && !request.may_call {
        body["toolConfig"] = json!({ "functionCallingConfig": { "mode": "NONE" } });
    }
    body["generationConfig"] = json!({ "maxOutputTokens": terms.output_tokens_max });
    if model::thinks(model) {
        body["generationConfig"]["thinkingConfig"] = json!({ "includeThoughts": true });
        match effort::of(terms).amount {
            ThinkingAmount::Unsaid => {}
            ThinkingAmount::Level(level) => body["generationConfig"]["thinkingConfig"]["thinkingLevel"] = json!(level),
            ThinkingAmount::Budget(tokens) => {
                body["generationConfig"]["thinkingConfig"]["thinkingBudget"] = json!(tokens)
            }
        }
    }
    body
}

/// The field for JSON Schema, not `parameters`, which takes a part of OpenAPI's only.
fn function(spec: &ToolSpec) -> Value {
    json!({
        "name": names::of(&spec.name),
        "description": spec.description,
        "parametersJsonSchema": spec.schema,
    })
}

/// Fields that are written with calls and their results besides their names.
#[derive(Debug, Clone, Copy)]
struct Marked {
    /// A signature with the first call of each step, whoever made it.
    signatures: bool,
    /// The ids that the provider gave them.
    ids: bool,
}

/// Consecutive messages of one side.
struct GeminiContent<'a> {
    role: &'static str,
    parts: Vec<Value>,
    /// Of a model's content, the ids of its calls.
    calls: Vec<&'a str>,
    /// Of a user's content, the results at its beginning with the ids of their calls.
    results: Vec<(&'a str, Value)>,
}

/// Returns the contents, those of one role in a row merged, since the API takes turns. The results come first in
/// theirs, in the order of the calls: a result is found by its name and place where the call had no id.
fn contents(messages: &[Arc<OutgoingMessage>], marked: Marked) -> Vec<Value> {
    let mut merged: Vec<GeminiContent<'_>> = Vec::new();
    for message in messages {
        let content = content(message, marked);
        match merged.last_mut() {
            _ if content.parts.is_empty() && content.results.is_empty() => {}
            Some(last) if last.role == content.role => {
                last.parts.extend(content.parts);
                last.calls.extend(content.calls);
                last.results.extend(content.results);
            }
            Some(_) | None => merged.push(content),
        }
    }
    let mut asked: Vec<&str> = Vec::new();
    let mut contents = Vec::new();
    for content in merged {
        let GeminiContent { role, parts, calls, mut results } = content;
        results.sort_by_key(|(id, _)| asked.iter().position(|call| call == id).unwrap_or(usize::MAX));
        let parts: Vec<Value> = results.into_iter().map(|(_, result)| result).chain(parts).collect();
        contents.push(json!({ "role": role, "parts": parts }));
        asked = calls;
    }
    contents
}

/// Returns the role of a message, and the parts of its content.
fn content(message: &OutgoingMessage, marked: Marked) -> GeminiContent<'_> {
    let mut content = GeminiContent { role: "user", parts: Vec::new(), calls: Vec::new(), results: Vec::new() };
    match &message.role {
        OutgoingRole::User => content.parts.extend(has_words(&message.text).then(|| text(&message.text))),
        OutgoingRole::Assistant => {
            content.role = "model";
            for piece in pieces(message) {
                let (mut part, marks) = match piece {
                    ReplyPiece::Text(piece, marks) if has_words(piece) || !marks.is_empty() => (text(piece), marks),
                    ReplyPiece::Text(..) => continue,
                    ReplyPiece::Call(made, mut marks) => {
                        // The first call of a step carries the signature for all.
                        if marked.signatures && content.calls.is_empty() && !marks.contains_key(SIGNATURE) {
                            marks.insert(SIGNATURE.to_owned(), json!(UNSIGNED));
                        }
                        content.calls.push(&made.call_id);
                        (call(made, marked), marks)
                    }
                    ReplyPiece::Whole(part) => (part, PartMarks::new()),
                };
                marks.into_iter().for_each(|(name, mark)| part[name] = mark);
                content.parts.push(part);
            }
        }
        OutgoingRole::Tool { call_id, name, is_error } => {
            let key = if *is_error { "error" } else { "output" };
            let mut result = json!({ "name": names::of(name), "response": { key: message.text } });
            put_id(&mut result, call_id, marked);
            content.results.push((call_id, json!({ "functionResponse": result })));
        }
    }
    content
}

fn call(made: &ToolCall, marked: Marked) -> Value {
    // The API takes nothing but an object; what could not be read is told in the call's result.
    let args = if made.args.is_object() { made.args.clone() } else { json!({}) };
    let mut call = json!({ "name": names::of(&made.name), "args": args });
    put_id(&mut call, &made.call_id, marked);
    json!({ "functionCall": call })
}

/// Gives a call or its result the id that the provider gave the call, if it did and ids are written.
fn put_id(value: &mut Value, call_id: &str, marked: Marked) {
    if let Some(id) = names::given_id(call_id).filter(|_| marked.ids) {
        value["id"] = json!(id);
    }
}

fn text(text: &str) -> Value {
    json!({ "text": text })
}

#[cfg(test)]
mod tests {
    use adjutant_core::words::tool::ToolEffect;

    use adjutant_core::words::effort::Effort;

    use super::*;
    use crate::api::Thinking;

    fn body(request: &TurnRequest, model: &str, output_tokens_max: u32) -> Value {
        super::body(request, &Terms::new(model, output_tokens_max), true)
    }

    #[test]
    fn effort_is_a_level_or_a_budget_beside_the_thoughts() {
        let config = |model: &str, effort, tokens| {
            let thinking = Thinking { effort, tokens };
            let terms = Terms { thinking, ..Terms::new(model, 9) };
            super::body(&request("", vec![user("go")], &[]), &terms, true)["generationConfig"]["thinkingConfig"].clone()
        };
        let level = config("gemini-3.8-flash", Some(Effort::Low), None);
        assert_eq!(level, json!({ "includeThoughts": true, "thinkingLevel": "low" }));
        let budget = config("gemini-2.5-pro", None, Some(2000));
        assert_eq!(budget, json!({ "includeThoughts": true, "thinkingBudget": 2000 }));
    }

    fn request(system: &str, messages: Vec<OutgoingMessage>, tools: &[&str]) -> TurnRequest {
        let spec = |name: &&str| ToolSpec {
            name: (*name).to_owned(),
            description: "reads".to_owned(),
            categories: Vec::new(),
            schema: json!({ "type": "object", "additionalProperties": false }),
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

    fn result(call_id: &str, name: &str, text: &str, is_error: bool) -> OutgoingMessage {
        let role = OutgoingRole::Tool { call_id: call_id.to_owned(), name: name.to_owned(), is_error };
        OutgoingMessage { role, text: text.into(), calls: Vec::new(), provider_data: None }
    }

    #[track_caller]
    fn check_contents(model: &str, messages: Vec<OutgoingMessage>, expected: &Value) {
        assert_eq!(&body(&request("", messages, &[]), model, 1)["contents"], expected);
    }

    #[test]
    fn signatures_come_back_at_the_parts_that_they_came_with() {
        let kept = json!([
            { "whole": { "text": "hm", "thought": true, "thoughtSignature": "s0" } },
            { "text": { "from": 0, "to": 4 } },
            { "call": { "place": 0, "marks": { "thoughtSignature": "s1" } } },
            { "call": { "place": 1 } },
            { "text": { "from": 4, "to": 4, "marks": { "thoughtSignature": "s2" } } },
        ]);
        let calls = [("call_1_1", "read", json!({})), ("fc", "read", json!({ "n": 1 }))];
        let spoken = OutgoingMessage { provider_data: Some(kept), ..agent("said", &calls) };
        let expected = json!([
            { "role": "user", "parts": [{ "text": "go" }] },
            { "role": "model", "parts": [
                { "text": "hm", "thought": true, "thoughtSignature": "s0" },
                { "text": "said" },
                { "functionCall": { "name": "read", "args": {} }, "thoughtSignature": "s1" },
                { "functionCall": { "name": "read", "args": { "n": 1 }, "id": "fc" } },
                { "text": "", "thoughtSignature": "s2" },
            ] },
        ]);
        check_contents("gemini-3.8-flash", vec![user("go"), spoken], &expected);
    }

    #[test]
    fn tools_are_in_every_request_and_those_without_calls_say_so() {
        let asked = |may_call| {
            let request = TurnRequest { may_call, ..request("orders", vec![user("brief")], &["read"]) };
            body(&request, "m", 1)
        };
        let (with, without) = (asked(true), asked(false));
        assert_eq!(without["tools"], with["tools"]);
        assert_eq!(with.get("toolConfig"), None);
        assert_eq!(without["toolConfig"], json!({ "functionCallingConfig": { "mode": "NONE" } }));
    }

    #[test]
    fn a_whole_request_has_its_schemas_as_they_are() {
        let schema = json!({ "type": "object", "additionalProperties": false });
        let whole = |model| body(&request("orders", vec![user("brief")], &["read", "list"]), model, 99);
        let mut expected = json!({
            "systemInstruction": { "parts": [{ "text": "orders" }] },
            "tools": [{ "functionDeclarations": [
                { "name": "read", "description": "reads", "parametersJsonSchema": schema },
                { "name": "list", "description": "reads", "parametersJsonSchema": schema },
            ] }],
            "contents": [{ "role": "user", "parts": [{ "text": "brief" }] }],
            "generationConfig": { "maxOutputTokens": 99, "thinkingConfig": { "includeThoughts": true } },
        });
        assert_eq!(whole("gemini-3.8-flash"), expected);
        expected["generationConfig"].as_object_mut().unwrap().remove("thinkingConfig");
        assert_eq!(whole("gemini-2.0-flash"), expected);
    }

    #[test]
    fn what_is_empty_is_left_out() {
        let body = body(&request(" \n", vec![user("brief")], &[]), "m", 1);
        assert_eq!((body.get("systemInstruction"), body.get("tools")), (None, None));
        check_contents(
            "m",
            vec![user("a"), agent(" ", &[]), user("b"), user(" ")],
            &json!([{ "role": "user", "parts": [{ "text": "a" }, { "text": "b" }] }]),
        );
    }

    #[test]
    fn results_come_in_one_content_in_the_order_of_their_calls_and_before_what_is_said() {
        let messages = || {
            vec![
                user("go"),
                agent("two", &[("call_1_1", "read", json!({ "path": "a" })), ("id-2", "1.x", Value::Null)]),
                user("by the way"),
                result("id-2", "1.x", "no such file", true),
                result("call_1_1", "read", "größe", false),
                agent("done", &[]),
            ]
        };
        let changed = names::of("1.x");
        let mut expected = json!([
            { "role": "user", "parts": [{ "text": "go" }] },
            { "role": "model", "parts": [
                { "text": "two" },
                { "functionCall": { "name": "read", "args": { "path": "a" } } },
                { "functionCall": { "name": changed, "args": {}, "id": "id-2" } },
            ] },
            { "role": "user", "parts": [
                { "functionResponse": { "name": "read", "response": { "output": "größe" } } },
                { "functionResponse": { "name": changed, "response": { "error": "no such file" }, "id": "id-2" } },
                { "text": "by the way" },
            ] },
            { "role": "model", "parts": [{ "text": "done" }] },
        ]);
        check_contents("gemini-2.5-pro", messages(), &expected);
        // From Gemini 3 on the first call of each step has to have a signature, and the others none.
        expected[1]["parts"][1]["thoughtSignature"] = json!("skip_thought_signature_validator");
        check_contents("gemini-3.8-flash", messages(), &expected);
    }

    #[test]
    fn ids_are_left_out_where_they_are_not_taken() {
        let messages = vec![user("go"), agent("", &[("id-1", "read", json!({}))]), result("id-1", "read", "x", false)];
        let written = |has_ids| {
            let terms = Terms::new("gemini-2.5-pro", 9);
            super::body(&request("", messages.clone(), &["read"]), &terms, has_ids)["contents"].to_string()
        };
        assert_eq!((written(true).matches("id-1").count(), written(false).matches("\"id").count()), (2, 0));
    }

    #[test]
    fn results_of_an_earlier_step_stay_with_it() {
        let step = |id: &str| vec![agent("", &[(id, "read", json!({}))]), result(id, "read", id, false)];
        let part = |id: &str| json!({ "functionResponse": { "name": "read", "response": { "output": id } } });
        let call = json!({ "functionCall": { "name": "read", "args": {} } });
        let messages = [vec![user("go")], step("call_1_1"), step("call_2_1")].concat();
        check_contents(
            "gemini-2.5-pro",
            messages,
            &json!([
                { "role": "user", "parts": [{ "text": "go" }] },
                { "role": "model", "parts": [call] },
                { "role": "user", "parts": [part("call_1_1")] },
                { "role": "model", "parts": [call] },
                { "role": "user", "parts": [part("call_2_1")] },
            ]),
        );
    }
}
