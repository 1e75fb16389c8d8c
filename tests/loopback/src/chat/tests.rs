//! One row for each rule: a request that breaks just it.

use super::*;

const HEAD: &str = "POST /v1/chat/completions HTTP/1.1\r\nAuthorization: Bearer k\r\n\r\n";
const FIRST: &str = "abcDEF001";
const SECOND: &str = "abcDEF002";

/// The rules of a server that gave out one reply with two calls, and thinking.
fn rules(flavor: Flavor) -> Rules {
    let mut rules = Rules::new(flavor);
    let reply = Reply::says("I look.").thinks("Hmm.", "sig-1").seals("sealed-1");
    rules.give(&reply.calls(FIRST, "read", json!({})).calls(SECOND, "read", json!({})));
    rules
}

/// A request that this server takes, with these calls answered and its thinking returned.
fn good(flavor: Flavor) -> Value {
    let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "read", "arguments": "{}" } });
    let result = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "" });
    let tool = json!({ "name": "read", "description": "reads", "parameters": { "type": "object" } });
    let mut body = json!({
        "model": "m", "stream": true, "max_tokens": 99,
        "tools": [{ "type": "function", "function": tool }],
        "tool_choice": "none",
        "messages": [
            { "role": "system", "content": "orders" },
            { "role": "user", "content": "go" },
            { "role": "assistant", "content": null, "tool_calls": [call(FIRST), call(SECOND)] },
            result(SECOND),
            result(FIRST),
        ],
    });
    let assistant = &mut body["messages"][2];
    match flavor {
        Flavor::OpenAi | Flavor::Mistral => {}
        Flavor::DeepSeek => assistant["reasoning_content"] = json!("Hmm."),
        Flavor::OpenRouter => {
            let reply = Reply::default().thinks("Hmm.", "sig-1").seals("sealed-1");
            assistant["reasoning_details"] = Rules::new(flavor).details(&reply);
        }
        Flavor::Gemini => {
            assistant["tool_calls"][0]["extra_content"] = json!({ "google": { "thought_signature": "sealed-1" } });
        }
    }
    body
}

/// Fails unless the request, changed so, breaks one rule of this server, in words that contain these.
#[track_caller]
fn check(flavor: Flavor, sentence: &str, change: impl FnOnce(&mut Value)) {
    let mut body = good(flavor);
    change(&mut body);
    let findings = rules(flavor).findings(HEAD, &body);
    let said: Vec<&str> = findings.iter().map(Refusal::message).collect();
    assert!(matches!(&said[..], [one] if one.contains(sentence)), "{sentence}: {said:#?}");
}

#[track_caller]
fn check_good(flavor: Flavor, change: impl FnOnce(&mut Value)) {
    let mut body = good(flavor);
    change(&mut body);
    assert_eq!(rules(flavor).findings(HEAD, &body), [], "{flavor:?}");
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

const ALL: [Flavor; 5] = [Flavor::OpenAi, Flavor::DeepSeek, Flavor::OpenRouter, Flavor::Gemini, Flavor::Mistral];

#[test]
fn a_request_that_keeps_the_rules_is_taken() {
    for flavor in ALL {
        check_good(flavor, |_| {});
        assert_eq!(rules(flavor).lost(&good(flavor)), [""; 0], "{flavor:?}");
        check_good(flavor, |body| body["messages"][2]["content"] = json!("I look."));
        check_good(flavor, |body| {
            push(&mut body["messages"], json!({ "role": "assistant", "content": "done" }));
            push(&mut body["messages"], json!({ "role": "user", "content": "more" }));
        });
    }
    check_good(Flavor::OpenAi, |body| push(&mut body["messages"], json!({ "role": "user", "content": "by the way" })));
    check_good(Flavor::OpenAi, |body| {
        body["model"] = json!("gpt-5.6");
        body["max_completion_tokens"] = json!(9);
        remove(body, "max_tokens");
    });
    // What they don't know they pass over.
    check_good(Flavor::DeepSeek, |body| body["thinking"] = json!({ "type": "enabled" }));
    check_good(Flavor::OpenRouter, |body| body["reasoning"] = json!({ "effort": "high" }));
}

#[test]
fn the_head_has_a_key_and_the_path() {
    let findings = |head: &str| rules(Flavor::OpenAi).findings(head, &good(Flavor::OpenAi));
    assert_eq!(findings(&HEAD.replace("Authorization", "x-other"))[0].status, 401);
    assert_eq!(findings(&HEAD.replace("completions", "x"))[0].status, 404);
}

#[test]
fn parameters() {
    let openai = Flavor::OpenAi;
    check(openai, "Unrecognized request argument supplied: foo", |body| body["foo"] = json!(1));
    check(openai, "you must provide a model parameter", |body| remove(body, "model"));
    check(openai, "Invalid 'max_tokens': integer below minimum", |body| body["max_tokens"] = json!(0));
    check(openai, "at the same time is not supported", |body| body["max_completion_tokens"] = json!(9));
    check(openai, "'max_tokens' is not supported with this model", |body| body["model"] = json!("gpt-5.6"));
    check(openai, "'max_tokens' is not supported with this model", |body| body["model"] = json!("o3"));
    check(openai, "'temperature' does not support", |body| {
        body["model"] = json!("gpt-6");
        body["temperature"] = json!(0.2);
        remove(body, "max_tokens");
    });
    check(openai, "Invalid value: 'huge'. Supported values are: 'none'", |body| {
        body["reasoning_effort"] = json!("huge")
    });
    check(openai, "only allowed when 'stream' is enabled", |body| {
        body["stream_options"] = json!({ "include_usage": true });
        remove(body, "stream");
    });
    check(Flavor::Gemini, "Unknown name \"prompt_cache_key\": Cannot find field", |body| {
        body["prompt_cache_key"] = json!("k");
    });
    check(Flavor::Mistral, "Extra inputs are not permitted", |body| body["stream_options"] = json!({}));
}

#[test]
fn tools_and_their_choice() {
    let check = |sentence: &str, change: &dyn Fn(&mut Value)| check(Flavor::OpenAi, sentence, change);
    check("Invalid 'tools': empty array", &|body| {
        body["tools"] = json!([]);
        remove(body, "tool_choice");
    });
    check("'tool_choice' is only allowed when 'tools'", &|body| remove(body, "tools"));
    check("'parallel_tool_calls' is only allowed when 'tools'", &|body| {
        remove(body, "tools");
        remove(body, "tool_choice");
        body["parallel_tool_calls"] = json!(true);
    });
    check("Invalid value: 'any'", &|body| body["tool_choice"] = json!("any"));
    check("'write' not found", &|body| {
        body["tool_choice"] = json!({ "type": "function", "function": { "name": "write" } });
    });
    let function = |body: &mut Value, name: &str, value: Value| body["tools"][0]["function"][name] = value;
    check("does not match pattern", &|body| function(body, "name", json!("x.y")));
    check("maximum length 64", &|body| function(body, "name", json!("x".repeat(65))));
    check("Missing required parameter: 'tools[0].function.name'", &|body| function(body, "name", Value::Null));
    check("schema must be a JSON Schema of 'type", &|body| function(body, "parameters", json!({})));
    check("Unknown parameter: 'tools[0].function.foo'", &|body| function(body, "foo", json!(1)));
    check("Missing required parameter: 'tools[0].type'", &|body| remove(&mut body["tools"][0], "type"));
    check("Tool names must be unique", &|body| {
        let again = body["tools"][0].clone();
        push(&mut body["tools"], again);
    });
}

#[test]
fn messages() {
    let check = |sentence: &str, change: &dyn Fn(&mut Value)| check(Flavor::OpenAi, sentence, change);
    check("Invalid 'messages': empty array", &|body| body["messages"] = json!([]));
    check("Invalid value: 'model'. Supported values", &|body| body["messages"][1]["role"] = json!("model"));
    check("expected a string, got null", &|body| body["messages"][1]["content"] = Value::Null);
    check("expected a string, got null", &|body| {
        push(&mut body["messages"], json!({ "role": "assistant", "content": null }));
    });
    check("messages[5].tool_calls': empty array", &|body| {
        push(&mut body["messages"], json!({ "role": "assistant", "content": "a", "tool_calls": [] }));
    });
    check("Unknown parameter: 'messages[2].reasoning_content'", &|body| {
        body["messages"][2]["reasoning_content"] = json!("Hmm.");
    });
    let call = |body: &mut Value, name: &str, value: Value| body["messages"][2]["tool_calls"][0][name] = value;
    check("Unknown parameter: 'messages[2].tool_calls[0].extra_content'", &|body| {
        call(body, "extra_content", json!({}));
    });
    check("expected a string, but got an object", &|body| {
        call(body, "function", json!({ "name": "read", "arguments": {} }));
    });
    check("does not match pattern", &|body| call(body, "function", json!({ "name": "ö", "arguments": "" })));
    check("Missing required parameter: 'messages[2].tool_calls[0].type'", &|body| call(body, "type", Value::Null));
    check("Expected a string with maximum length 40, but got a string with length 41", &|body| {
        call(body, "id", json!("x".repeat(41)));
        body["messages"][4]["tool_call_id"] = json!("x".repeat(41));
    });
}

#[test]
fn calls_and_their_results() {
    let check = |sentence: &str, change: &dyn Fn(&mut Value)| check(Flavor::OpenAi, sentence, change);
    check("did not have response messages: abcDEF001", &|body| cut(&mut body["messages"], 4));
    check("must be a response to a preceeding message with 'tool_calls'", &|body| {
        body["messages"] = json!([{ "role": "tool", "tool_call_id": "x", "content": "" }]);
    });
    check("'tool_call_id' of 'x' not found in 'tool_calls'", &|body| {
        push(&mut body["messages"], json!({ "role": "tool", "tool_call_id": "x", "content": "" }));
    });
    check("Duplicate value for 'tool_call_id' of 'abcDEF001'", &|body| {
        push(&mut body["messages"], json!({ "role": "tool", "tool_call_id": FIRST, "content": "" }));
    });
    check("Duplicate value for 'id' of 'abcDEF001'", &|body| {
        for index in [2, 3, 4] {
            let mut again = body["messages"][index].clone();
            if index == 2 {
                cut(&mut again["tool_calls"], 1);
            }
            if index != 3 {
                push(&mut body["messages"], again);
            }
        }
    });
    let mut body = good(Flavor::OpenAi);
    body["messages"].as_array_mut().unwrap().insert(4, json!({ "role": "user", "content": "by the way" }));
    let findings = rules(Flavor::OpenAi).findings(HEAD, &body);
    assert!(findings[0].message().contains("must be followed by tool messages"), "{findings:?}");
}

#[test]
fn what_each_server_wants_back() {
    let sentence = "The `reasoning_content` in the thinking mode must be passed back to the API.";
    check(Flavor::DeepSeek, sentence, |body| remove(&mut body["messages"][2], "reasoning_content"));
    check(Flavor::DeepSeek, sentence, |body| body["messages"][2]["reasoning_content"] = json!("Hm."));
    check(Flavor::OpenRouter, "is missing a thought_signature", |body| {
        remove(&mut body["messages"][2], "reasoning_details");
    });
    check(Flavor::OpenRouter, "Corrupted thought signature", |body| {
        cut(&mut body["messages"][2]["reasoning_details"], 0)
    });
    let signature = |body: &mut Value, value: &str| {
        body["messages"][2]["tool_calls"][0]["extra_content"]["google"]["thought_signature"] = json!(value);
    };
    check(Flavor::Gemini, "Corrupted thought signature", |body| signature(body, "other"));
    check(Flavor::Gemini, "is missing a thought_signature", |body| {
        remove(&mut body["messages"][2]["tool_calls"][0], "extra_content");
    });
    check_good(Flavor::Gemini, |body| signature(body, UNSIGNED[0]));
    check_good(Flavor::Gemini, |body| {
        body["model"] = json!("google/gemini-2.5-pro");
        remove(&mut body["messages"][2]["tool_calls"][0], "extra_content");
    });
    let mut body = good(Flavor::Gemini);
    signature(&mut body, UNSIGNED[0]);
    assert_eq!(rules(Flavor::Gemini).lost(&body), ["sealed-1"]);
}

#[test]
fn mistral_has_rules_of_its_own() {
    check(Flavor::Mistral, "Unexpected role 'user' after role 'tool'", |body| {
        push(&mut body["messages"], json!({ "role": "user", "content": "by the way" }));
    });
    check(Flavor::Mistral, "Expected last role User or Tool", |body| {
        push(&mut body["messages"], json!({ "role": "assistant", "content": "done" }));
    });
    let mut body = good(Flavor::Mistral);
    body["messages"][2]["tool_calls"][0]["id"] = json!("call_1_1");
    body["messages"][4]["tool_call_id"] = json!("call_1_1");
    let findings = rules(Flavor::Mistral).findings(HEAD, &body);
    let sentence = "Tool call id was call_1_1 but must be a-z, A-Z, 0-9, with a length of 9.";
    assert_eq!(findings.iter().map(Refusal::message).collect::<Vec<_>>(), [sentence; 2]);
}

#[test]
fn an_error_has_the_form_of_its_server() {
    let broken = |flavor: Flavor| {
        let mut body = good(flavor);
        body["messages"] = json!([]);
        rules(flavor).findings(HEAD, &body).swap_remove(0).body
    };
    assert_eq!(broken(Flavor::OpenAi)["error"]["param"], "messages");
    assert_eq!(broken(Flavor::OpenRouter)["error"]["message"], "Provider returned error");
    assert_eq!(broken(Flavor::Gemini)[0]["error"]["status"], "INVALID_ARGUMENT");
    assert_eq!(broken(Flavor::Mistral)["object"], "error");
}

#[test]
fn a_reply_has_its_thinking_where_each_server_puts_it() {
    for (flavor, place) in [
        (Flavor::DeepSeek, "/choices/0/delta/reasoning_content"),
        (Flavor::OpenRouter, "/choices/0/delta/reasoning_details/0/signature"),
        (Flavor::Gemini, "/choices/0/delta/tool_calls/0/extra_content/google/thought_signature"),
        (Flavor::Mistral, "/choices/0/delta/content/0/thinking/0/text"),
    ] {
        let events = Rules::new(flavor).give(&Reply::says("So.").thinks("Hmm.", "s").calls(FIRST, "read", json!({})));
        assert!(events.iter().any(|event| event.pointer(place).is_some()), "{flavor:?}");
    }
}
