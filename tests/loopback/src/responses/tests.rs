//! One row for each rule: a request that breaks just it.

use super::*;

const HEAD: &str = "POST /v1/responses HTTP/1.1\r\nauthorization: Bearer k\r\n\r\n";

/// The rules of a server that gave out one reply with thinking, words and two calls.
fn rules() -> Rules {
    let mut rules = Rules::default();
    let reply = Reply::says("I look.").thinks("Hmm.", "enc-1").in_phase("commentary");
    let reply = reply.calls("c1", "read", json!({})).calls("c2", "read", json!({}));
    rules.give(&reply, &json!({ "include": [ENCRYPTED] }));
    rules
}

fn good() -> Value {
    let call = |id: &str, item: &str| json!({ "type": "function_call", "id": item, "call_id": id, "name": "read", "arguments": "{}" });
    let output = |id: &str| json!({ "type": "function_call_output", "call_id": id, "output": "" });
    let said = json!([{ "type": "output_text", "text": "I look." }]);
    json!({
        "model": "gpt-5.6", "stream": true, "store": false, "max_output_tokens": 99, "instructions": "orders",
        "include": ["reasoning.encrypted_content"],
        "reasoning": { "effort": "high", "summary": "auto" },
        "tools": [{ "type": "function", "name": "read", "parameters": { "type": "object" }, "strict": false }],
        "tool_choice": "none",
        "input": [
            { "type": "message", "role": "user", "content": "go" },
            { "type": "reasoning", "id": "rs_1_0", "summary": [], "encrypted_content": "enc-1" },
            { "type": "message", "role": "assistant", "id": "msg_1", "content": said, "phase": "commentary" },
            call("c1", "fc_1_0"),
            call("c2", "fc_1_1"),
            output("c2"),
            output("c1"),
        ],
    })
}

/// Fails unless the request, changed so, breaks one rule, in words that contain these.
#[track_caller]
fn check(sentence: &str, change: impl FnOnce(&mut Value)) {
    let mut body = good();
    change(&mut body);
    let findings = rules().findings(HEAD, &body);
    let said: Vec<&str> = findings.iter().map(Refusal::message).collect();
    assert!(matches!(&said[..], [one] if one.contains(sentence)), "{sentence}: {said:#?}");
}

#[track_caller]
fn check_good(change: impl FnOnce(&mut Value)) {
    let mut body = good();
    change(&mut body);
    assert_eq!(rules().findings(HEAD, &body), []);
}

fn remove(value: &mut Value, name: &str) {
    value.as_object_mut().expect("an object").remove(name).expect("it is there");
}

fn cut(value: &mut Value, index: usize) {
    value.as_array_mut().expect("an array").remove(index);
}

fn push(value: &mut Value, item: Value) {
    value.as_array_mut().expect("an array").push(item);
}

#[test]
fn a_request_that_keeps_the_rules_is_taken() {
    check_good(|_| {});
    check_good(|body| body["input"] = json!("go"));
    // Without tools no choice among them may be made, but none may be ruled out.
    check_good(|body| remove(body, "tools"));
    check_good(|body| remove(&mut body["input"][1], "id"));
    // Who sends no ids back need not send the thinking back.
    check_good(|body| {
        for index in [2, 3, 4] {
            remove(&mut body["input"][index], "id");
        }
        cut(&mut body["input"], 1);
    });
    // An output need not come at once.
    check_good(|body| {
        let message = json!({ "role": "user", "content": [{ "type": "input_text", "text": "by the way" }] });
        body["input"].as_array_mut().unwrap().insert(5, message);
    });
    let head = HEAD.replace("authorization", "x-other");
    assert_eq!(rules().findings(&head, &good())[0].status, 401);
    assert_eq!(rules().findings(&HEAD.replace("responses", "x"), &good())[0].status, 404);
}

#[test]
fn parameters() {
    check("Unknown parameter: 'foo'.", |body| body["foo"] = json!(1));
    check("Unknown parameter: 'messages'.", |body| body["messages"] = json!([]));
    check("Missing required parameter: 'model'.", |body| remove(body, "model"));
    check("One of \"input\"", |body| remove(body, "input"));
    check("Invalid value: 'reasoning'. Supported values", |body| body["include"][0] = json!("reasoning"));
    check("Expected a value >= 16, but got 1", |body| body["max_output_tokens"] = json!(1));
    check("Invalid value: 'huge'. Supported values are: 'none'", |body| body["reasoning"]["effort"] = json!("huge"));
    check("Invalid value: 'full'", |body| body["reasoning"]["summary"] = json!("full"));
    check("Unknown parameter: 'reasoning.max_tokens'", |body| body["reasoning"]["max_tokens"] = json!(9));
    check("'temperature' is not supported with this model", |body| body["temperature"] = json!(1));
    check("Encrypted content is not supported with this model", |body| {
        body["model"] = json!("gpt-4.1");
        remove(body, "reasoning");
    });
    check("'reasoning.effort' is not supported with this model", |body| {
        body["model"] = json!("gpt-4.1");
        remove(body, "include");
    });
}

#[test]
fn tools_and_their_choice() {
    let tool = |body: &mut Value, name: &str, value: Value| body["tools"][0][name] = value;
    check("Missing required parameter: 'tools[0].name'", |body| remove(&mut body["tools"][0], "name"));
    check("does not match pattern", |body| tool(body, "name", json!("x.y")));
    check("maximum length 64, but got a string with length 65", |body| tool(body, "name", json!("x".repeat(65))));
    check("Unknown parameter: 'tools[0].function'", |body| tool(body, "function", json!({})));
    check("schema must be a JSON Schema", |body| tool(body, "parameters", json!({})));
    check("'additionalProperties' is required", |body| tool(body, "strict", json!(true)));
    check("'additionalProperties' is required", |body| remove(&mut body["tools"][0], "strict"));
    check("Invalid value: 'tool'", |body| tool(body, "type", json!("tool")));
    check("Tool names must be unique", |body| {
        let again = body["tools"][0].clone();
        push(&mut body["tools"], again);
    });
    check("Invalid value: 'any'", |body| body["tool_choice"] = json!("any"));
    check("must be specified with 'tools'", |body| {
        body["tool_choice"] = json!("required");
        remove(body, "tools");
    });
    check("not found in 'tools'", |body| body["tool_choice"] = json!({ "type": "function", "name": "write" }));
}

#[test]
fn items_of_the_input() {
    check("Invalid value: 'tool'. Supported values", |body| body["input"][0]["role"] = json!("tool"));
    check("Invalid value: 'tool_use'", |body| push(&mut body["input"], json!({ "type": "tool_use" })));
    check("Unknown parameter: 'input[0].name'", |body| body["input"][0]["name"] = json!("x"));
    check("Invalid value: 'input_text'. Supported values are: 'output_text', and 'refusal'", |body| {
        body["input"][2]["content"][0]["type"] = json!("input_text");
    });
    check("expected one of an array of objects or string, but got null", |body| {
        remove(&mut body["input"][0], "content")
    });
    check("Invalid value: 'final'", |body| body["input"][2]["phase"] = json!("final"));
    check("Unknown parameter: 'input[0].phase'", |body| body["input"][0]["phase"] = json!("commentary"));
    check("Expected an ID that begins with 'msg'", |body| body["input"][2]["id"] = json!("x"));
    check("Expected an ID that begins with 'fc'", |body| body["input"][3]["id"] = json!("call_1"));
    check("Expected an ID that begins with 'rs'", |body| {
        body["input"][1] = json!({ "type": "reasoning", "id": "x", "summary": [], "encrypted_content": null });
        body["store"] = json!(true);
        for index in [2, 3, 4] {
            remove(&mut body["input"][index], "id");
        }
    });
    check("expected a string, but got an object", |body| body["input"][3]["arguments"] = json!({}));
    check("Missing required parameter: 'input[3].name'", |body| remove(&mut body["input"][3], "name"));
    check("Unknown parameter: 'input[3].input'", |body| body["input"][3]["input"] = json!({}));
    check("Unknown parameter: 'input[5].is_error'", |body| body["input"][5]["is_error"] = json!(true));
    check("but got null instead", |body| body["input"][5]["output"] = Value::Null);
    let mut body = good();
    for index in [3, 6] {
        body["input"][index]["call_id"] = json!("x".repeat(65));
    }
    let findings = rules().findings(HEAD, &body);
    assert!(findings.iter().all(|finding| finding.message().contains("with length 65")) && findings.len() == 2);
}

#[test]
fn calls_and_their_outputs() {
    check("No tool output found for function call c1.", |body| cut(&mut body["input"], 6));
    check("No tool call found for function call output with call_id c9.", |body| {
        push(&mut body["input"], json!({ "type": "function_call_output", "call_id": "c9", "output": "" }));
    });
    check("No tool call found for function call output with call_id c1.", |body| {
        push(&mut body["input"], json!({ "type": "function_call_output", "call_id": "c1", "output": "" }));
    });
    check("Duplicate item found with id c1.", |body| {
        push(&mut body["input"], json!({ "type": "function_call", "call_id": "c1", "name": "read", "arguments": "" }));
        push(&mut body["input"], json!({ "type": "function_call_output", "call_id": "c1", "output": "" }));
    });
    check("Duplicate item found with id msg_1.", |body| {
        let again = body["input"][2].clone();
        push(&mut body["input"], again);
    });
}

#[test]
fn thinking_that_comes_back() {
    check("Item with id 'rs_1_0' not found. Items are not persisted when `store`", |body| {
        remove(&mut body["input"][1], "encrypted_content");
    });
    check("could not be verified. Reason: Encrypted content could not be decrypted", |body| {
        body["input"][1]["encrypted_content"] = json!("other");
    });
    check("Encrypted content item_id did not match", |body| {
        body["input"][1]["id"] = json!("rs_9");
    });
    check("Missing required parameter: 'input[1].summary'", |body| remove(&mut body["input"][1], "summary"));
    check("Unknown parameter: 'input[1].signature'", |body| body["input"][1]["signature"] = json!("x"));
    check("of type 'reasoning' was provided without its required following item", |body| {
        let thought = json!({ "type": "reasoning", "summary": [], "encrypted_content": "enc-1" });
        push(&mut body["input"], thought);
    });
    let mut body = good();
    cut(&mut body["input"], 1);
    let findings = rules().findings(HEAD, &body);
    let said = "Item 'msg_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1_0'.";
    assert_eq!(findings[0].message(), said);
    assert_eq!(rules().lost(&body), ["enc-1"]);
    assert_eq!(rules().lost(&good()), [""; 0]);
    remove(&mut body["input"][1], "phase");
    assert_eq!(rules().lost(&body), ["enc-1", "phase commentary"]);
}

#[test]
fn what_is_encrypted_is_given_to_those_who_ask() {
    let given = |request: Value| {
        let events = Rules::default().give(&Reply::says("So.").thinks("Hmm.", "enc"), &request);
        events.iter().any(|event| event["item"]["encrypted_content"] == "enc")
    };
    assert!(given(json!({ "include": [ENCRYPTED] })));
    assert!(!given(json!({})));
}
