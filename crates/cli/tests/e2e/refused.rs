//! Requests that a provider refuses for their length or for that of the reply, with servers on loopback that keep
//! such a limit: what follows, and that the run ends well.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::anthropic::REPORT;
use crate::home::{RUN, SUMMARY, Said, TestHome, brief};
use crate::loopback::serve;

/// Number of files the agent reads before it reports, and the bytes of each.
const FILES: usize = 4;
const FILE_BYTES: usize = 40_000;

/// Requests that a server got: the bytes of the messages, and the longest reply.
type Asked = Arc<Mutex<Vec<(usize, u64)>>>;

/// Reads four long files and reports, over Chat Completions; what `refuse` has an answer for is refused.
fn reader(refuse: fn(&Value) -> Option<(&'static str, Value)>) -> (String, Asked) {
    let asked = Asked::default();
    let seen = Arc::clone(&asked);
    let url = serve(move |_, body| {
        let output = body["max_tokens"].as_u64().or(body["max_completion_tokens"].as_u64()).expect("a longest reply");
        seen.lock().expect("one server").push((body["messages"].to_string().len(), output));
        if let Some((status, error)) = refuse(body) {
            let error = error.to_string();
            let length = error.len();
            return format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{error}");
        }
        let messages = body["messages"].as_array().expect("messages");
        let reads = messages.iter().filter(|message| message["role"] == "tool").count();
        let begun = messages.iter().any(|message| message["role"] == "assistant");
        let delta = match reads {
            _ if !begun => json!({ "content": SUMMARY }),
            FILES.. => json!({ "content": REPORT }),
            read => {
                let args = json!({ "path": format!("f{read}.txt") }).to_string();
                let function = json!({ "name": "read_file", "arguments": args });
                let id = format!("call_{read}");
                json!({ "content": "I read.", "tool_calls": [{ "index": 0, "id": id, "type": "function", "function": function }] })
            }
        };
        let reason = if delta["tool_calls"].is_null() { "stop" } else { "tool_calls" };
        let chunk = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
             data: {chunk}\n\ndata: [DONE]\n\n"
        )
    });
    (url, asked)
}

fn run(home: &TestHome, url: &str) -> Said {
    home.write("brief.md", brief("mode: auto"));
    home.write("answers.json", json!(["go"]).to_string());
    for file in 0..FILES {
        home.write(&format!("work/f{file}.txt"), "a line of text\n".repeat(FILE_BYTES / 15));
    }
    let args = ["run", "../brief.md", "--adapter", "openai-compat", "--model", "m", "--answers", "../answers.json"];
    let output = home.adjutant(&args).env("OPENAI_COMPAT_BASE_URL", url).output().expect("it starts");
    Said::of(&output)
}

fn failures(home: &TestHome) -> Vec<Value> {
    home.journal(RUN).into_iter().filter(|event| event["type"] == "agent_failed").collect()
}

fn count(home: &TestHome, kind: &str) -> usize {
    home.journal(RUN).iter().filter(|event| event["type"] == kind).count()
}

/// A window of some 25,000 tokens.
fn is_long(body: &Value) -> bool {
    body["messages"].to_string().len() > 100_000
}

#[test]
fn a_reply_that_may_not_be_so_long_is_asked_for_shorter_and_nothing_is_folded() {
    let home = TestHome::new();
    let (url, asked) = reader(|body| {
        let output = body["max_tokens"].as_u64().or(body["max_completion_tokens"].as_u64())?;
        let message = format!(
            "max_tokens is too large: {output}. This model supports at most 4096 completion tokens, whereas you \
             provided {output}."
        );
        let error = json!({ "error": { "message": message, "type": "invalid_request_error", "code": null } });
        (output > 4_096).then_some(("400 Bad Request", error))
    });
    run(&home, &url).expect_code(0);
    let failed = failures(&home);
    assert_eq!(failed.len(), 1, "the limit is known from then on: {failed:?}");
    assert_eq!((&failed[0]["kind"], &failed[0]["output_max"]), (&json!("reply_too_long"), &json!(4096)));
    assert_eq!((count(&home, "context_folded"), count(&home, "context_cut")), (0, 0));
    let asked = asked.lock().expect("the server is done");
    assert_eq!((asked[0].1, asked[1].1), (16_384, 4_096));
    assert_eq!(asked[0].0, asked[1].0, "the same is sent again");
}

#[test]
fn a_limit_that_is_not_said_is_found_by_halves() {
    let home = TestHome::new();
    let (url, asked) = reader(|body| {
        let output = body["max_tokens"].as_u64().or(body["max_completion_tokens"].as_u64())?;
        let error = json!({ "error": { "message": "max_tokens is too large" } });
        (output > 3_000).then_some(("400 Bad Request", error))
    });
    run(&home, &url).expect_code(0);
    let outputs: Vec<u64> = asked.lock().expect("the server is done").iter().map(|(_, output)| *output).collect();
    assert_eq!(outputs[..4], [16_384, 8_192, 4_096, 2_048]);
    assert!(outputs[4..].iter().all(|output| *output == 2_048), "{outputs:?}");
}

#[test]
fn a_cause_inside_another_answer_makes_room() {
    let home = TestHome::new();
    let (url, _) = reader(|body| {
        let raw = json!({ "type": "error", "error": { "type": "invalid_request_error",
            "message": "prompt is too long: 213462 tokens > 200000 maximum" } });
        let error = json!({ "error": { "code": 400, "message": "Provider returned error",
            "metadata": { "provider_name": "X", "raw": raw.to_string() } } });
        is_long(body).then_some(("400 Bad Request", error))
    });
    run(&home, &url).expect_code(0);
    assert!(failures(&home).iter().all(|failed| failed["kind"] == "too_long"), "{:?}", failures(&home));
    assert!(count(&home, "context_folded") + count(&home, "context_cut") > 0);
}

#[test]
fn a_long_request_that_is_rejected_for_no_known_reason_is_tried_once_more_after_room_was_made() {
    let home = TestHome::new();

    let (url, _) = reader(|body| {
        let error = json!({ "error": { "message": "the request could not be processed" } });
        is_long(body).then_some(("400 Bad Request", error))
    });
    run(&home, &url).expect_code(0);
    let failed = failures(&home);
    assert!(!failed.is_empty() && failed.iter().all(|failed| failed["kind"] == "rejected"), "{failed:?}");
    assert!(count(&home, "context_folded") + count(&home, "context_cut") > 0);
}

#[test]
fn a_short_one_and_one_that_room_does_not_help_are_given_up() {
    let reject = |_: &Value| Some(("400 Bad Request", json!({ "error": { "message": "no such field" } })));
    let home = TestHome::new();
    let (url, asked) = reader(reject);
    run(&home, &url).expect_code(1).expect_text("no such field");
    assert_eq!(asked.lock().expect("the server is done").len(), 1, "a short request is not the window's matter");

    let home = TestHome::new();
    let (url, _) = reader(|body| {
        let reads = body["messages"].to_string().matches("call_2").count();
        (reads > 0).then_some(("400 Bad Request", json!({ "error": { "message": "no such field" } })))
    });
    run(&home, &url).expect_code(1).expect_text("no such field");
    assert_eq!(failures(&home).len(), 2, "once more, and not again");
}
