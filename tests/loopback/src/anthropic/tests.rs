//! One row for each rule: a request that breaks just it.

use super::*;

const HEAD: &str = "POST /v1/messages HTTP/1.1\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\n\r\n";

/// Rules that gave out one reply with thinking and two calls.
fn rules() -> Rules {
    let mut rules = Rules::default();
    let reply = Reply::says("I look.").thinks("Hmm.", "sig-1").seals("sealed-1");
    rules.give(&reply.calls("t1", "read", json!({})).calls("t2", "read", json!({})));
    rules
}

/// A request that breaks none: two calls that were answered, tools, marks, thinking that came back.
fn good() -> Value {
    let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "read", "input": {} });
    let result = |id: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": "", "is_error": true });
    let mark = json!({ "type": "ephemeral" });
    json!({
        "model": "claude-test", "max_tokens": 4096, "stream": true,
        "system": [{ "type": "text", "text": "orders", "cache_control": mark }],
        "tools": [{ "name": "read", "description": "reads", "input_schema": { "type": "object" }, "cache_control": mark }],
        "tool_choice": { "type": "none" },
        "thinking": { "type": "enabled", "budget_tokens": 1024 },
        "output_config": { "effort": "max" },
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "go" }] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "Hmm.", "signature": "sig-1" },
                { "type": "redacted_thinking", "data": "sealed-1" },
                { "type": "text", "text": "I look." },
                call("t1"),
                call("t2"),
            ] },
            { "role": "user", "content": [
                result("t1"),
                result("t2"),
                { "type": "text", "text": "by the way", "cache_control": mark },
            ] },
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
    assert_eq!(findings[0].status, 400);
    assert_eq!(findings[0].body["error"]["type"], "invalid_request_error");
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

fn cut(value: &mut Value, index: usize) -> Value {
    value.as_array_mut().expect("an array").remove(index)
}

fn push(value: &mut Value, item: Value) {
    value.as_array_mut().expect("an array").push(item);
}

#[test]
fn a_request_that_keeps_the_rules_is_taken() {
    check_good(|_| {});
    check_good(|body| body["messages"] = json!([{ "role": "user", "content": "go" }]));
    check_good(|body| body["temperature"] = json!(1));
    check_good(|body| body["system"][0]["cache_control"]["ttl"] = json!("5m"));
    // Two of one side in a row are read as one.
    check_good(|body| push(&mut body["messages"], json!({ "role": "user", "content": "and" })));
    // Adaptive thinking may be left out, and so may thinking that is off.
    for thinking in [json!({ "type": "adaptive" }), json!({ "type": "disabled" })] {
        check_good(|body| {
            body["thinking"] = thinking;
            cut(&mut body["messages"][1]["content"], 0);
            cut(&mut body["messages"][1]["content"], 0);
        });
    }
}

#[test]
fn the_head_says_who_asks_and_in_which_version() {
    let findings = |head: &str| rules().findings(head, &good());
    let without = |name: &str| HEAD.replace(name, "x-other");
    assert_eq!(findings(&without("x-api-key"))[0].status, 401);
    assert_eq!(findings(&without("x-api-key: k").replace("x-other", "authorization: Bearer k")), []);
    assert_eq!(findings(&without("anthropic-version"))[0].message(), "anthropic-version: header is required");
    assert_eq!(findings(&HEAD.replace("/v1/messages", "/messages"))[0].status, 404);
    // A proxy is sent the whole address.
    assert_eq!(findings(&HEAD.replace("/v1", "http://api.invalid/v1")), []);
}

#[test]
fn parameters() {
    check("foo: Extra inputs are not permitted", |body| body["foo"] = json!(1));
    check("model: Field required", |body| remove(body, "model"));
    check("max_tokens: Field required", |body| remove(body, "max_tokens"));
    check("max_tokens: Input should be greater", |body| {
        body["max_tokens"] = json!(0);
        remove(body, "thinking");
    });
    check("system: text content blocks must be non-empty", |body| {
        body["system"] = json!([{ "type": "text", "text": "" }])
    });
    check("output_config.effort: Input should be 'low'", |body| body["output_config"]["effort"] = json!("minimal"));
    check("output_config.foo: Extra inputs", |body| body["output_config"]["foo"] = json!(1));
    check("temperature: range", |body| body["temperature"] = json!(1.5));
    check("cannot both be specified", |body| {
        body["temperature"] = json!(1);
        body["top_p"] = json!(1);
    });
}

#[test]
fn thinking_and_what_goes_beside_it() {
    check("budget_tokens: Input should be greater than or equal to 1024", |body| {
        body["thinking"]["budget_tokens"] = json!(1023);
    });
    check("budget_tokens: Field required", |body| remove(&mut body["thinking"], "budget_tokens"));
    check("`max_tokens` must be greater than `thinking.budget_tokens`", |body| body["max_tokens"] = json!(1024));
    check("thinking.adaptive.budget_tokens: Extra inputs", |body| body["thinking"]["type"] = json!("adaptive"));
    check("thinking: Input tag 'on'", |body| body["thinking"]["type"] = json!("on"));
    check("`temperature` may only be set to 1", |body| body["temperature"] = json!(0.5));
    check("`top_p` must be greater than or equal to 0.95", |body| body["top_p"] = json!(0.5));
    check("`top_k` must be unset", |body| body["top_k"] = json!(5));
    check("Thinking may not be enabled when tool_choice forces", |body| body["tool_choice"] = json!({ "type": "any" }));
}

#[test]
fn thinking_that_comes_back() {
    let first = |body: &mut Value, name: &str, value: &str| body["messages"][1]["content"][0][name] = json!(value);
    check("Invalid `signature` in `thinking` block", |body| first(body, "signature", "sig-2"));
    check("cannot be modified", |body| first(body, "thinking", "Hm."));
    check("Invalid `data` in `redacted_thinking` block", |body| body["messages"][1]["content"][1]["data"] = json!("x"));
    check("thinking.signature: Field required", |body| remove(&mut body["messages"][1]["content"][0], "signature"));
    check("cannot be modified", |body| drop(cut(&mut body["messages"][1]["content"], 1)));
    check("cannot be modified", |body| body["messages"][1]["content"].as_array_mut().unwrap().swap(0, 1));
    check("Expected `thinking` or `redacted_thinking`, but found `text`", |body| {
        cut(&mut body["messages"][1]["content"], 0);
        cut(&mut body["messages"][1]["content"], 0);
    });
}

#[test]
fn what_was_given_and_has_not_come_back_is_known() {
    assert_eq!(rules().lost(&good()), [""; 0]);
    let mut body = good();
    cut(&mut body["messages"][1]["content"], 0);
    assert_eq!(rules().lost(&body), ["sig-1"]);
}

#[test]
fn tools_and_their_choice() {
    let tools = |body: &mut Value, change: &dyn Fn(&mut Value)| change(&mut body["tools"][0]);
    check("must define tools", |body| {
        remove(body, "tools");
        remove(body, "tool_choice");
    });
    check("String should match pattern", |body| tools(body, &|tool| tool["name"] = json!("x.y")));
    check("String should match pattern", |body| tools(body, &|tool| tool["name"] = json!("x".repeat(129))));
    check("tools.0.custom.foo: Extra inputs", |body| tools(body, &|tool| tool["foo"] = json!(1)));
    check("input_schema: Field required", |body| tools(body, &|tool| remove(tool, "input_schema")));
    check("input_schema.type: Input should be 'object'", |body| tools(body, &|tool| tool["input_schema"] = json!({})));
    check("does not support oneOf", |body| tools(body, &|tool| tool["input_schema"]["anyOf"] = json!([])));
    check("Tool names must be unique", |body| {
        let again = json!({ "name": "read", "input_schema": { "type": "object" } });
        push(&mut body["tools"], again);
    });
    check("may only be specified while providing tools", |body| {
        remove(body, "tools");
        body["messages"] = json!([{ "role": "user", "content": "go" }]);
    });
    check("tool_choice: Input tag 'required'", |body| body["tool_choice"]["type"] = json!("required"));
    check("tool_choice.none.disable_parallel_tool_use: Extra", |body| {
        body["tool_choice"]["disable_parallel_tool_use"] = json!(true);
    });
    check("Tool 'write' not found", |body| {
        body["tool_choice"] = json!({ "type": "tool", "name": "write" });
        remove(body, "thinking");
    });
}

#[test]
fn marks_for_the_cache() {
    let mark = || json!({ "type": "ephemeral" });
    check("A maximum of 4 blocks with cache_control may be provided. Found 5.", |body| {
        body["messages"][0]["content"][0]["cache_control"] = mark();
        body["messages"][2]["content"][0]["cache_control"] = mark();
    });
    check("thinking.cache_control: Extra inputs", |body| {
        body["messages"][1]["content"][0]["cache_control"] = mark();
    });
    check("Input should be 'ephemeral'", |body| body["system"][0]["cache_control"]["type"] = json!("x"));
    check("ttl: Input should be '5m' or '1h'", |body| body["system"][0]["cache_control"]["ttl"] = json!("2h"));
    check("must not come after a ttl='5m'", |body| body["system"][0]["cache_control"]["ttl"] = json!("1h"));
    let mut body = good();
    body["messages"][2]["content"][2]["text"] = json!("");
    let said = rules().findings(HEAD, &body);
    assert!(said.iter().any(|finding| finding.message().contains("cannot be set for empty text blocks")));
}

#[test]
fn messages() {
    check("at least one message is required", |body| body["messages"] = json!([]));
    check("first message must use the \"user\" role", |body| {
        body["messages"] = json!([{ "role": "assistant", "content": "a" }, { "role": "user", "content": "b" }]);
    });
    check("Unexpected role \"system\"", |body| {
        push(&mut body["messages"], json!({ "role": "system", "content": "a" }))
    });
    check("Input should be 'user' or 'assistant'", |body| {
        push(&mut body["messages"], json!({ "role": "tool", "content": "a" }));
    });
    check("messages.0.name: Extra inputs", |body| body["messages"][0]["name"] = json!("x"));
    check("all messages must have non-empty content", |body| body["messages"][0]["content"] = json!([]));
    check("text content blocks must be non-empty", |body| body["messages"][0]["content"][0]["text"] = json!(""));
    check("must contain non-whitespace text", |body| body["messages"][0]["content"][0]["text"] = json!(" \n"));
    check("messages.0.content.0.text.foo: Extra inputs", |body| body["messages"][0]["content"][0]["foo"] = json!(1));
    check("cannot end with trailing whitespace", |body| {
        push(&mut body["messages"], json!({ "role": "assistant", "content": "So \n" }));
    });
    check("Input tag 'audio'", |body| push(&mut body["messages"][0]["content"], json!({ "type": "audio" })));
}

#[test]
fn calls_and_their_results() {
    fn call(body: &mut Value) -> &mut Value {
        &mut body["messages"][1]["content"][3]
    }
    check("tool_use.name: String should match", |body| call(body)["name"] = json!("x y"));
    check("tool_use.input: Input should be a valid dictionary", |body| call(body)["input"] = json!("{}"));
    check("tool_use.id: String should match", |body| {
        call(body)["id"] = json!("t.1");
        body["messages"][2]["content"][0]["tool_use_id"] = json!("t.1");
    });
    check("without `tool_result` blocks immediately after: t2.", |body| {
        drop(cut(&mut body["messages"][2]["content"], 1))
    });
    check("without `tool_result` blocks immediately after: t1, t2.", |body| {
        let said = cut(&mut body["messages"][2]["content"], 2);
        body["messages"][2]["content"].as_array_mut().unwrap().insert(0, said);
    });
    check("without `tool_result` blocks immediately after: t1, t2.", |body| drop(cut(&mut body["messages"], 2)));
    check("unexpected `tool_use_id` found in `tool_result` blocks: t9", |body| {
        let result = json!({ "type": "tool_result", "tool_use_id": "t9", "content": "" });
        push(&mut body["messages"][2]["content"], result);
    });
    check("Found multiple `tool_result` blocks with id: t1", |body| {
        let result = json!({ "type": "tool_result", "tool_use_id": "t1", "content": "" });
        push(&mut body["messages"][2]["content"], result);
    });
    check("`tool_use` ids must be unique", |body| {
        let again = json!({ "type": "tool_use", "id": "t1", "name": "read", "input": {} });
        push(&mut body["messages"], json!({ "role": "assistant", "content": [again] }));
        let result = json!({ "type": "tool_result", "tool_use_id": "t1", "content": "" });
        push(&mut body["messages"], json!({ "role": "user", "content": [result] }));
        remove(body, "thinking");
    });
    let mut body = good();
    let call = json!({ "type": "tool_use", "id": "t3", "name": "read", "input": {} });
    push(&mut body["messages"][2]["content"], call);
    let said = rules().findings(HEAD, &body);
    assert!(said.iter().any(|finding| finding.message().contains("can only be in `assistant` messages")));
}

#[test]
fn a_reply_is_a_stream_with_its_thinking_first() {
    let events =
        Rules::default().give(&Reply::says("So.").thinks("Hmm.", "s").seals("d").calls("t", "read", json!({})));
    let blocks: Vec<&Value> = events.iter().filter(|event| event["type"] == "content_block_start").collect();
    let kinds: Vec<&str> = blocks.iter().map(|event| text(&event["content_block"]["type"])).collect();
    assert_eq!(kinds, ["thinking", "redacted_thinking", "text", "tool_use"]);
    assert!(events.iter().any(|event| event["delta"]["signature"] == "s"));
}

#[test]
fn vertex_ai_has_the_model_in_the_path_and_the_version_in_the_body() {
    let path = "/v1/projects/p/locations/global/publishers/anthropic/models/claude-test@20250929:streamRawPredict";
    let head = |headers: &str| format!("POST {path} HTTP/1.1\r\n{headers}\r\n");
    let token = head("authorization: Bearer t\r\n");
    let found = |head: &str, change: fn(&mut Value)| {
        let mut body = good();
        remove(&mut body, "model");
        body["anthropic_version"] = json!("vertex-2023-10-16");
        change(&mut body);
        let findings = rules().findings(head, &body);
        findings.iter().map(|finding| (finding.status, finding.message().to_owned())).collect::<Vec<_>>()
    };
    assert!(found(&token, |_| {}).is_empty());
    type Change = fn(&mut Value);
    let rows: [(&str, Change); 4] = [
        ("model: Extra inputs", |body| body["model"] = json!("m")),
        ("anthropic_version: Field required", |body| remove(body, "anthropic_version")),
        ("anthropic_version: Input should be", |body| body["anthropic_version"] = json!("2023-06-01")),
        ("max_tokens: Field required", |body| remove(body, "max_tokens")),
    ];
    for (sentence, change) in rows {
        let said = found(&token, change);
        assert!(matches!(&said[..], [(400, one)] if one.contains(sentence)), "{sentence}: {said:#?}");
    }
    for head in [head(""), head("x-api-key: k\r\n"), head("authorization: Bearer t\r\nx-api-key: k\r\n")] {
        let said = found(&head, |_| {});
        assert!(matches!(&said[..], [(401, one)] if one.contains("OAuth 2 access token")), "{said:#?}");
    }
    let elsewhere = token.replace(":streamRawPredict", ":generate");
    assert!(matches!(&found(&elsewhere, |_| {})[..], [(404, _)]));
}
