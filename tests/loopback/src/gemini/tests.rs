//! One row for each rule: a request that breaks just it.

use super::*;

const HEAD: &str =
    "POST /v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse HTTP/1.1\r\nX-Goog-Api-Key: k\r\n\r\n";

/// The rules of a server that gave out two signed steps.
fn rules() -> Rules {
    let mut rules = Rules::default();
    let read = |path: &str| json!({ "path": path });
    let first = Reply::says("I look.").thinks("Hmm.", "sig-1").calls("c1", "read", read("a"));
    rules.give(&first.calls("c2", "read", read("b")));
    rules.give(&Reply::default().seals("sig-2").calls("c3", "read", read("c")));
    rules
}

fn good() -> Value {
    let call = |path: &str| json!({ "functionCall": { "name": "read", "args": { "path": path } } });
    let signed = |path: &str, signature: &str| {
        let mut part = call(path);
        part["thoughtSignature"] = json!(signature);
        part
    };
    let result = || json!({ "functionResponse": { "name": "read", "response": { "output": "" } } });
    let read = json!({ "name": "read", "description": "reads", "parametersJsonSchema": { "type": "object" } });
    json!({
        "systemInstruction": { "parts": [{ "text": "orders" }] },
        "tools": [{ "functionDeclarations": [read] }],
        "toolConfig": { "functionCallingConfig": { "mode": "NONE" } },
        "generationConfig": { "maxOutputTokens": 99, "thinkingConfig": { "includeThoughts": true } },
        "contents": [
            { "role": "user", "parts": [{ "text": "go" }] },
            { "role": "model", "parts": [{ "text": "I look." }, signed("a", "sig-1"), call("b")] },
            { "role": "user", "parts": [result(), result()] },
            { "role": "model", "parts": [signed("c", "sig-2")] },
            { "role": "user", "parts": [result()] },
        ],
    })
}

#[track_caller]
fn check_for(head: &str, sentence: &str, change: impl FnOnce(&mut Value)) {
    let mut body = good();
    change(&mut body);
    let findings = rules().findings(head, &body);
    let said: Vec<&str> = findings.iter().map(Refusal::message).collect();
    assert!(matches!(&said[..], [one] if one.contains(sentence)), "{sentence}: {said:#?}");
    assert_eq!(findings[0].body["error"]["status"], "INVALID_ARGUMENT");
}

/// Fails unless the request, changed so, breaks one rule, in words that contain these.
#[track_caller]
fn check(sentence: &str, change: impl FnOnce(&mut Value)) {
    check_for(HEAD, sentence, change);
}

#[track_caller]
fn check_good(head: &str, change: impl FnOnce(&mut Value)) {
    let mut body = good();
    change(&mut body);
    assert_eq!(rules().findings(head, &body), []);
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
    check_good(HEAD, |_| {});
    check_good(HEAD, |body| push(&mut body["contents"][4]["parts"], json!({ "text": "by the way" })));
    check_good(HEAD, |body| {
        remove(body, "tools");
        remove(body, "toolConfig");
    });
    for word in UNSIGNED {
        check_good(HEAD, |body| body["contents"][3]["parts"][0]["thoughtSignature"] = json!(word));
    }
    // What came before the last words of the user isn't looked at.
    check_good(HEAD, |body| {
        push(&mut body["contents"], json!({ "role": "model", "parts": [{ "text": "done" }] }));
        push(&mut body["contents"], json!({ "role": "user", "parts": [{ "text": "more" }] }));
        remove(&mut body["contents"][3]["parts"][0], "thoughtSignature");
    });
    let older = HEAD.replace("gemini-3.8-flash", "gemini-2.5-pro");
    check_good(&older, |body| remove(&mut body["contents"][3]["parts"][0], "thoughtSignature"));
    // A signature may come in a part without a word.
    let mut rules = rules();
    rules.signed.push(json!({ "text": "x", "thoughtSignature": "sig-3" }));
    let mut body = good();
    push(&mut body["contents"][3]["parts"], json!({ "text": "", "thoughtSignature": "sig-3" }));
    assert_eq!(rules.findings(HEAD, &body), []);
}

#[test]
fn the_head_has_a_key_and_a_model() {
    assert_eq!(rules().findings(&HEAD.replace("X-Goog-Api-Key", "x-other"), &good())[0].status, 403);
    assert_eq!(rules().findings(&HEAD.replace("models/", "x/"), &good())[0].status, 404);
}

#[test]
fn fields_that_nobody_knows() {
    check("Unknown name \"messages\": Cannot find field", |body| body["messages"] = json!([]));
    let config = "generationConfig";
    check("Unknown name \"max_tokens\" at 'generation_config'", |body| body[config]["max_tokens"] = json!(1));
    check("Unknown name \"effort\" at 'generation_config.thinking_config'", |body| {
        body[config]["thinkingConfig"]["effort"] = json!("low");
    });
    check("Unknown name \"name\" at 'contents[0]'", |body| body["contents"][0]["name"] = json!("x"));
    check("Unknown name \"signature\" at 'contents[3].parts[0]'", |body| {
        body["contents"][3]["parts"][0]["signature"] = json!("x");
    });
    check("Unknown name \"arguments\" at 'contents[3].parts[0].function_call'", |body| {
        body["contents"][3]["parts"][0]["functionCall"]["arguments"] = json!("x");
    });
    check("Unknown name \"error\" at 'contents[4].parts[0].function_response'", |body| {
        body["contents"][4]["parts"][0]["functionResponse"]["error"] = json!("x");
    });
    check("Unknown name \"strict\" at 'tools[0].function_declarations[0]'", |body| {
        body["tools"][0]["functionDeclarations"][0]["strict"] = json!(true);
    });
    check("Unknown name \"name\" at 'tools[0]'", |body| body["tools"][0]["name"] = json!("read"));
    check("Unknown name \"mode\" at 'tool_config'", |body| body["toolConfig"]["mode"] = json!("NONE"));
}

#[test]
fn tools_and_parameters() {
    let declared = |body: &mut Value, name: &str| body["tools"][0]["functionDeclarations"][0]["name"] = json!(name);
    for name in ["1x", "-x", "größe", "", &"x".repeat(65)] {
        check("function_declarations[0].name: Invalid function name", |body| declared(body, name));
    }
    check_good(HEAD, |body| declared(body, "mcp.server:read-1"));
    check("Duplicate function declaration found: read", |body| {
        let again = body["tools"][0]["functionDeclarations"][0].clone();
        push(&mut body["tools"][0]["functionDeclarations"], again);
    });
    check("Invalid value at 'tool_config.function_calling_config.mode'", |body| {
        body["toolConfig"]["functionCallingConfig"]["mode"] = json!("none");
    });
    check("is set without function_declarations", |body| remove(body, "tools"));
    check("only when function calling mode is ANY", |body| {
        body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] = json!(["read"]);
    });
    check("max_output_tokens must be positive", |body| body["generationConfig"]["maxOutputTokens"] = json!(0));
    let level = |body: &mut Value, level: &str| {
        body["generationConfig"]["thinkingConfig"]["thinkingLevel"] = json!(level);
    };
    check("Invalid value at 'generation_config.thinking_config.thinking_level'", |body| level(body, "max"));
    check("only one of thinking budget and thinking level", |body| {
        level(body, "low");
        body["generationConfig"]["thinkingConfig"]["thinkingBudget"] = json!(99);
    });
    let older = HEAD.replace("gemini-3.8-flash", "gemini-2.5-pro");
    check_for(&older, "Thinking level is not supported for this model", |body| level(body, "low"));
}

#[test]
fn contents_and_parts() {
    check("contents is not specified", |body| body["contents"] = json!([]));
    check("Please use a valid role: user, model.", |body| {
        body["contents"] = json!([{ "role": "system", "parts": [{ "text": "a" }] }]);
    });
    check("contents[0].parts: contents.parts must not be empty", |body| body["contents"][0]["parts"] = json!([]));
    check("contents[0].parts[0].data: required oneof", |body| body["contents"][0]["parts"] = json!([{}]));
    check("contents[0].parts[0].data: required oneof", |body| body["contents"][0]["parts"][0]["text"] = json!(""));
    check("system_instruction.parts[0].data: required oneof", |body| {
        body["systemInstruction"]["parts"][0]["text"] = json!("");
    });
    check("oneof field 'data' is already set", |body| body["contents"][3]["parts"][0]["text"] = json!("a"));
    check("function_call.args'", |body| body["contents"][1]["parts"][2]["functionCall"]["args"] = json!("{}"));
    check("function_call.name: Invalid function name", |body| {
        body["contents"][1]["parts"][2]["functionCall"]["name"] = json!("");
    });
    check("function_response.name: Invalid function name", |body| {
        remove(&mut body["contents"][4]["parts"][0]["functionResponse"], "name");
    });
    check("function_response.response'", |body| {
        body["contents"][4]["parts"][0]["functionResponse"]["response"] = json!("text");
    });
}

#[test]
fn turns_of_both_sides() {
    let turn = |role: &str| json!({ "role": role, "parts": [{ "text": "a" }] });
    check("alternate between user and model", |body| body["contents"] = json!([turn("user"), turn("user")]));
    check("alternate between user and model", |body| body["contents"] = json!([turn("model"), turn("user")]));
    check("ends with a user role or a function response", |body| {
        body["contents"] = json!([turn("user"), turn("model")])
    });
    check("number of function response parts is equal", |body| cut(&mut body["contents"][2]["parts"], 0));
    check("number of function response parts is equal", |body| {
        let again = body["contents"][4]["parts"][0].clone();
        push(&mut body["contents"][4]["parts"], again);
    });
    check("number of function response parts is equal", |body| body["contents"][4] = turn("user"));
    check("function call turn comes immediately after a user turn", |body| cut(&mut body["contents"], 0));
    check("function response turn comes immediately after a function call turn", |body| {
        body["contents"][1] = turn("model");
        body["contents"].as_array_mut().unwrap().truncate(3);
    });
}

#[test]
fn signatures() {
    let signature = |body: &mut Value, value: &str| {
        body["contents"][1]["parts"][1]["thoughtSignature"] = json!(value);
    };
    check("function call `default_api:read` , position 2.", |body| {
        remove(&mut body["contents"][1]["parts"][1], "thoughtSignature");
    });
    check("function call `default_api:read` , position 4.", |body| {
        remove(&mut body["contents"][3]["parts"][0], "thoughtSignature");
    });
    check("Corrupted thought signature", |body| signature(body, "other"));
    // It is that of another call.
    check("Corrupted thought signature", |body| signature(body, "sig-2"));
    assert_eq!(rules().lost(&good()), [""; 0]);
    let mut body = good();
    signature(&mut body, UNSIGNED[0]);
    body["contents"][1]["parts"][1]["functionCall"]["id"] = json!("c1");
    assert_eq!(rules().lost(&body), ["sig-1"]);
}

#[test]
fn a_reply_is_signed_on_its_first_call_or_on_its_words() {
    let signed = |reply: &Reply| {
        let events = Rules::default().give(reply);
        let parts = events.iter().map(|event| event["candidates"][0]["content"]["parts"][0].clone());
        parts.filter(|part| part["thoughtSignature"] == "s").collect::<Vec<_>>()
    };
    let reply = Reply::says("So.").thinks("Hmm.", "s");
    assert_eq!(signed(&reply)[0]["text"], "So.");
    let calls = signed(&reply.calls("c1", "read", json!({})).calls("c2", "read", json!({})));
    assert!(calls.len() == 1 && calls[0]["functionCall"]["id"] == "c1", "{calls:?}");
}

#[test]
fn vertex_ai_takes_a_token_and_no_ids_of_older_models() {
    let head = |place: &str, model: &str, header: &str| {
        format!("POST {place}/models/{model}:streamGenerateContent?alt=sse HTTP/1.1\r\n{header}\r\n\r\n")
    };
    let (project, express) = ("/v1/projects/p/locations/global/publishers/google", "/v1/publishers/google");
    let (token, key) = ("authorization: Bearer t", "x-goog-api-key: k");
    check_good(&head(project, "gemini-3.8-flash", token), |_| {});
    check_good(&head(express, "gemini-3.8-flash", key), |_| {});
    let findings = rules().findings(&head(project, "gemini-3.8-flash", key), &good());
    assert!(matches!(&findings[..], [one] if one.status == 401), "{findings:#?}");
    let with_id = |body: &mut Value| body["contents"][3]["parts"][0]["functionCall"]["id"] = json!("c3");
    check_good(&head(project, "gemini-3.8-flash", token), with_id);
    check_for(&head(project, "gemini-2.5-pro", token), "Unknown name \"id\" at 'contents[3].parts[0]", with_id);
}
