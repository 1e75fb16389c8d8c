//! The example brief over each wire format: what the scripted agent says is said by a server that speaks for a
//! provider, and the run is the same: phases, tools, approval or denial, completion.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::first_run::{ARGS, workdir};
use crate::home::{TestHome, files};
use crate::loopback::request;

const RUN: &str = "2026-01-15-FIRST";

/// One adapter: its word, and the variables for its key and its address.
const ADAPTERS: [(&str, &str, &str, Format); 6] = [
    ("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", messages),
    ("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", responses),
    ("openai-chat", "OPENAI_API_KEY", "OPENAI_BASE_URL", chat),
    ("openai-compat", "OPENAI_COMPAT_API_KEY", "OPENAI_COMPAT_BASE_URL", chat),
    ("grok", "XAI_API_KEY", "XAI_BASE_URL", chat),
    ("gemini", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", gemini),
];

/// A reply as the events of a stream.
pub type Format = fn(text: &str, calls: &[Value]) -> Vec<Value>;

pub fn messages(text: &str, calls: &[Value]) -> Vec<Value> {
    let mut events = vec![
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": 5 } } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } }),
    ];
    for (index, call) in (1..).zip(calls) {
        let block = json!({ "type": "tool_use", "id": call["call_id"], "name": call["name"], "input": {} });
        let delta = json!({ "type": "input_json_delta", "partial_json": call["args"].to_string() });
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
    }
    let stop = if calls.is_empty() { "end_turn" } else { "tool_use" };
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": stop }, "usage": { "output_tokens": 9 } }));
    events.push(json!({ "type": "message_stop" }));
    events
}

pub fn responses(text: &str, calls: &[Value]) -> Vec<Value> {
    let mut events = vec![
        json!({ "type": "response.created", "response": {} }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": { "type": "message", "content": [] } }),
        json!({ "type": "response.output_text.delta", "output_index": 0, "delta": text }),
    ];
    for (index, call) in (1..).zip(calls) {
        let item = json!({
            "type": "function_call", "id": format!("fc_{index}"), "call_id": call["call_id"], "name": call["name"],
            "arguments": "",
        });
        events.push(json!({ "type": "response.output_item.added", "output_index": index, "item": item }));
        let delta = call["args"].to_string();
        events.push(json!({ "type": "response.function_call_arguments.delta", "output_index": index, "delta": delta }));
    }
    let usage = json!({ "input_tokens": 5, "output_tokens": 9 });
    events.push(json!({ "type": "response.completed", "response": { "usage": usage } }));
    events
}

fn chat(text: &str, calls: &[Value]) -> Vec<Value> {
    let chunk = |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta }] });
    let call = |(index, call): (usize, &Value)| {
        let function = json!({ "name": call["name"], "arguments": call["args"].to_string() });
        chunk(json!({ "tool_calls": [{ "index": index, "id": call["call_id"], "function": function }] }))
    };
    let reason = if calls.is_empty() { "stop" } else { "tool_calls" };
    let first = chunk(json!({ "role": "assistant", "content": text }));
    let last = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] });
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 5, "completion_tokens": 9 } });
    [first].into_iter().chain(calls.iter().enumerate().map(call)).chain([last, usage]).collect()
}

fn gemini(text: &str, calls: &[Value]) -> Vec<Value> {
    let part = |part: Value| json!({ "candidates": [{ "content": { "role": "model", "parts": [part] } }] });
    let call = |call: &Value| {
        part(json!({ "functionCall": { "id": call["call_id"], "name": call["name"], "args": call["args"] } }))
    };
    let usage = json!({ "promptTokenCount": 5, "candidatesTokenCount": 9 });
    let last = json!({ "candidates": [{ "finishReason": "STOP" }], "usageMetadata": usage });
    [part(json!({ "text": text }))].into_iter().chain(calls.iter().map(call)).chain([last]).collect()
}

/// A server that gives these replies, one to each request.
pub fn serve(replies: Vec<Vec<Value>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for (stream, reply) in listener.incoming().zip(replies) {
            let mut stream = stream.expect("a connection");
            request(&stream);
            let named = |event: &Value| match event["type"].as_str() {
                Some(name) => format!("event: {name}\ndata: {event}\n\n"),
                None => format!("data: {event}\n\n"),
            };
            let end = if reply[0]["choices"].is_array() { "data: [DONE]\n\n" } else { "" };
            let events: String = reply.iter().map(named).collect();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            stream.write_all(format!("{head}{events}{end}").as_bytes()).expect("the client reads");
        }
    });
    url
}

/// How often each type of event is in the journal.
fn counts(home: &TestHome) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for event in home.journal(RUN) {
        *counts.entry(event["type"].as_str().expect("a type").to_owned()).or_default() += 1;
    }
    counts
}

fn phases(home: &TestHome) -> Vec<Value> {
    home.journal(RUN)
        .iter()
        .filter(|event| event["type"] == "phase_enter")
        .map(|event| event["phase"].clone())
        .collect()
}

/// Plays the example with these answers, by the script and over every API, to the same end.
#[track_caller]
fn check(answers: &[&str], needed: &[&str]) {
    let prepared = || {
        let home = TestHome::with_examples();
        home.write("answers.json", json!(answers).to_string());
        home
    };
    let scripted = prepared();
    scripted.run(&[ARGS, &["--answers", "../answers.json"]].concat()).expect_code(0);
    let journal = scripted.journal(RUN);
    let spoken: Vec<(&str, Vec<Value>)> = journal
        .iter()
        .filter(|event| event["type"] == "agent_reply")
        .map(|reply| (reply["text"].as_str().expect("text"), reply["calls"].as_array().cloned().unwrap_or_default()))
        .collect();
    for needed in needed {
        assert!(journal.iter().any(|event| event.to_string().contains(needed)), "{needed}");
    }
    for (adapter, key, base_url, format) in ADAPTERS {
        let home = prepared();
        let url = serve(spoken.iter().map(|(text, calls)| format(text, calls)).collect());
        let args = ["--answers", "../answers.json", "--adapter", adapter, "--model", "m"];
        let mut command = home.adjutant(&[ARGS, &args].concat());
        let output = command.env(key, "canary-key-51aa0c7e").env(base_url, url).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{adapter}: {said}{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(phases(&home), phases(&scripted), "{adapter}");
        assert_eq!(counts(&home), counts(&scripted), "{adapter}");
        assert_eq!(files(&workdir(&home, RUN)), files(&workdir(&scripted, RUN)), "{adapter}");
    }
}

#[test]
fn the_example_is_the_same_run_over_every_api() {
    check(&["go", "y", "y"], &["\"phase\":\"destructive\"", "\"phase\":\"completion\"", "\"response\":\"y\""]);
}

#[test]
fn the_example_with_a_denial_is_the_same_run_over_every_api() {
    check(&["go", "n", "n"], &["\"phase\":\"destructive\"", "\"phase\":\"completion\"", "\"response\":\"n\""]);
}
