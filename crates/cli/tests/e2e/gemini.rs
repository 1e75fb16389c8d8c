//! A run with the adapter `gemini` against a server on loopback that speaks the Gemini API: from confirmation
//! to report, with a call that is made, one that is denied, and a key that is not valid.

use std::fs;

use adjutant_loopback::{Format, Reply};
use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, Said, TestHome, brief, files};
use crate::loopback::{model, serve};

pub const KEY: &str = "canary-9e02b7714ac35d68";
const REPORT: &str = "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n";

/// The parts of one kind in what was sent, in order.
fn sent<'a>(body: &'a Value, kind: &str) -> Vec<&'a Value> {
    let contents = body["contents"].as_array().expect("contents").iter();
    contents.flat_map(|content| content["parts"].as_array().expect("parts")).filter_map(|part| part.get(kind)).collect()
}

/// Confirms, has two files written side by side and a command run that nobody authorized, and reports.
pub fn work(head: &str, body: &Value) -> Reply {
    assert!(head.to_ascii_lowercase().contains(&format!("x-goog-api-key: {KEY}\r\n")), "{head}");
    assert!(head.starts_with("POST /v1beta/models/gemini-test:streamGenerateContent?alt=sse "), "{head}");
    let replies = body["contents"].as_array().expect("contents").iter().filter(|content| content["role"] == "model");
    match replies.count() {
        0 => Reply::says(SUMMARY),
        1 => {
            // Calls without ids, as this API may give them.
            let file = |path: &str, content: &str| json!({ "path": path, "content": content });
            let reply = Reply::says("I write them.").calls("", "write_file", file("one.txt", "größe\n"));
            reply.calls("", "write_file", file("two.txt", "🦀\n"))
        }
        2 => {
            // Two calls of one function, without ids: the order says which result is whose.
            let results = sent(body, "functionResponse");
            let told: Vec<&str> =
                results.iter().map(|result| result["response"]["output"].as_str().expect("it worked")).collect();
            assert!(matches!(&told[..], [one, two] if one.contains("one.txt") && two.contains("two.txt")), "{told:?}");
            Reply::says("And a command.").calls("", "shell_exec", json!({ "cmd": "echo ran > ran.txt" }))
        }
        _ => {
            let results = sent(body, "functionResponse");
            assert!(results.last().is_some_and(|result| result["response"]["error"].is_string()), "{results:?}");
            Reply::says(REPORT)
        }
    }
}

fn run(home: &TestHome, answers: &[&str], variables: &[(&str, &str)]) -> Said {
    home.write("brief.md", brief("mode: auto\nauthorized_costs:\n  - filesystem_write"));
    home.write("answers.json", json!(answers).to_string());
    let args = ["run", "../brief.md", "--adapter", "gemini", "--model", "gemini-test", "--answers", "../answers.json"];
    let output = home.adjutant(&args).envs(variables.iter().copied()).output().expect("it starts");
    let said = Said {
        code: output.status.code().expect("no signal"),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
    };
    // The key is nowhere in what was said or kept.
    assert!(!said.stdout.contains(KEY) && !said.stderr.contains(KEY), "{said:?}");
    for (name, content) in files(&home.path("")) {
        assert!(!String::from_utf8_lossy(&content).contains(KEY), "{name}");
    }
    said
}

#[test]
fn a_brief_is_run_to_its_report_with_calls_side_by_side_and_one_denied() {
    let home = TestHome::new();
    let provider = model(Format::Gemini, work);
    run(&home, &["go", "n"], &[("GEMINI_API_KEY", KEY), ("GOOGLE_GEMINI_BASE_URL", provider.url())])
        .expect_code(0)
        .expect_text("gemini (gemini-test)")
        .expect_text("run 2026-02-03-E2E: completed");
    assert_eq!(fs::read_to_string(home.path("work/one.txt")).expect("written"), "größe\n");
    assert_eq!(fs::read_to_string(home.path("work/two.txt")).expect("written"), "🦀\n");
    assert!(!home.path("work/ran.txt").exists(), "a command ran that was denied");
    let counted = home.journal(RUN).into_iter().find(|event| event["type"] == "agent_reply").expect("a reply");
    let usage = &counted["usage"];
    assert_eq!(
        (&usage["input_tokens"], &usage["cache_read_tokens"], &usage["output_tokens"]),
        (&json!(5), &json!(45), &json!(9))
    );
}

#[test]
fn a_key_that_is_not_valid_fails_the_run_and_names_its_variable() {
    let refuse = |_: &str, _: &Value| {
        let reason = json!({ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID" });
        let error = json!({
            "code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT", "details": [reason],
        });
        let body = json!({ "error": error }).to_string();
        let length = body.len();
        format!("HTTP/1.1 400 Bad Request\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
    };
    for variable in ["GEMINI_API_KEY", "GOOGLE_API_KEY"] {
        let home = TestHome::new();
        run(&home, &["go"], &[(variable, KEY), ("GOOGLE_GEMINI_BASE_URL", &serve(refuse))])
            .expect_code(1)
            .expect_text("API key not valid.")
            .expect_text(&format!("check the key in {variable}"));
    }
}

#[test]
fn without_a_key_nothing_begins_and_the_ways_to_start_are_said() {
    let home = TestHome::new();
    run(&home, &["go"], &[])
        .expect_code(2)
        .expect_text("`GEMINI_API_KEY` or `GOOGLE_API_KEY` is not set")
        .expect_text("set GEMINI_API_KEY")
        .expect_text("with --adapter scripted --script FILE\n");
    assert!(home.journal(RUN).is_empty());
}
