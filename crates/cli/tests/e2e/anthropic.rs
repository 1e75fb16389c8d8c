//! A run with the adapter `anthropic` against a server on loopback that speaks the Messages API: from
//! confirmation to report, and what is said where the key is missing or wrong.

use std::fs;

use adjutant_loopback::{Answer, Format, Provider, Reply};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, Said, TestHome, brief, files};
use crate::loopback::{model, serve};

pub const KEY: &str = "canary-4f1c9b7ae2d05836";
pub const REPORT: &str = "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n";

/// Confirms, has a file written, and reports.
pub fn work(head: &str, body: &Value) -> Reply {
    assert!(head.contains(&format!("x-api-key: {KEY}\r\n")), "{head}");
    assert_eq!(body["model"], "claude-test");
    let messages = body["messages"].as_array().expect("messages");
    match messages.iter().filter(|message| message["role"] == "assistant").count() {
        0 => Reply::says(SUMMARY),
        1 => {
            let file = json!({ "path": "out.txt", "content": "größe\n" });
            Reply::says("I write it.").calls("toolu_1", "write_file", file)
        }
        _ => {
            let blocks = messages.iter().flat_map(|message| message["content"].as_array().expect("blocks"));
            let results = blocks.filter(|block| block["type"] == "tool_result" && block["tool_use_id"] == "toolu_1");
            assert_eq!(results.count(), 1, "{body}");
            Reply::says(REPORT)
        }
    }
}

/// Confirms, asks for a command that nobody authorized, and reports once it is denied, which is told as the failure
/// of the call.
fn work_denied(_: &str, body: &Value) -> Reply {
    let messages = body["messages"].as_array().expect("messages");
    let blocks = messages.iter().flat_map(|message| message["content"].as_array().expect("blocks"));
    let results: Vec<_> = blocks.filter(|block| block["type"] == "tool_result").collect();
    match messages.iter().filter(|message| message["role"] == "assistant").count() {
        0 => Reply::says(SUMMARY),
        1 => Reply::says("A command.").calls("toolu_1", "shell_exec", json!({ "cmd": "echo ran > ran.txt" })),
        _ => {
            assert!(matches!(&results[..], [result] if result["is_error"] == true), "{body}");
            Reply::says(REPORT)
        }
    }
}

pub fn run(home: &TestHome, variables: &[(&str, &str)]) -> Said {
    run_with(home, &["go"], variables)
}

fn run_with(home: &TestHome, answers: &[&str], variables: &[(&str, &str)]) -> Said {
    home.write("brief.md", brief("mode: auto\nauthorized_costs:\n  - filesystem_write"));
    home.write("go.json", json!(answers).to_string());
    let args = ["run", "../brief.md", "--adapter", "anthropic", "--model", "claude-test", "--answers", "../go.json"];
    let output = home.adjutant(&args).envs(variables.iter().copied()).output().expect("it starts");
    Said {
        code: output.status.code().expect("no signal"),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
    }
}

/// The key is nowhere in what was said or kept.
#[track_caller]
pub fn without_key(home: &TestHome, said: &Said) {
    assert!(!said.stdout.contains(KEY) && !said.stderr.contains(KEY), "{said:?}");
    for (name, content) in files(&home.path("")) {
        assert!(!String::from_utf8_lossy(&content).contains(KEY), "{name}");
    }
}

#[test]
fn a_brief_is_run_to_its_report_by_a_model() {
    let home = TestHome::new();
    let said = run(&home, &[("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", model(Format::Messages, work).url())]);
    without_key(&home, &said);
    said.expect_code(0).expect_text("anthropic (claude-test)").expect_text("run 2026-02-03-E2E: completed");
    assert_eq!(fs::read_to_string(home.path("work/out.txt")).expect("written"), "größe\n");
    let counted = home.journal(RUN).into_iter().find(|event| event["type"] == "agent_reply").expect("a reply");
    assert_eq!((&counted["usage"]["input_tokens"], &counted["usage"]["output_tokens"]), (&json!(5), &json!(9)));
}

/// Like `work`, but the first time that work is asked for the stream stops after its first words.
fn with_one_stall() -> Provider {
    let mut has_stalled = false;
    Provider::start(Format::Messages, &[], move |head, body| {
        let reply = work(head, body);
        let is_work = body["messages"].to_string().contains("This is phase 1");
        if is_work && !has_stalled {
            has_stalled = true;
            return Answer::Stall(Reply::says("I begin.\n"));
        }
        Answer::Reply(reply)
    })
}

#[test]
fn an_interruption_and_a_kill_in_mid_stream_leave_a_run_that_goes_on() {
    for (signal, code) in [(Signal::INT, 4), (Signal::KILL, -1)] {
        let home = TestHome::new();
        home.write("brief.md", brief("mode: auto\nauthorized_costs:\n  - filesystem_write"));
        home.write("go.json", r#"["go"]"#);
        let provider = with_one_stall();
        let variables = [("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", provider.url())];
        let args =
            ["run", "../brief.md", "--adapter", "anthropic", "--model", "claude-test", "--answers", "../go.json"];
        let mut running = home.start_with(&args, &variables);
        running.until("I begin.");
        running.signal(signal);
        running.finish().expect_code(code);
        assert!(!home.path("work/out.txt").exists(), "nothing of a reply that broke off is carried out");
        home.write("ok.json", r#"["ok"]"#);
        let resumed =
            home.adjutant(&["resume", RUN, "--answers", "../ok.json"]).envs(variables).output().expect("it starts");
        assert_eq!(resumed.status.code(), Some(0), "{}", String::from_utf8_lossy(&resumed.stdout));
        assert_eq!(fs::read_to_string(home.path("work/out.txt")).expect("written"), "größe\n");
        let calls = home.journal(RUN).iter().filter(|event| event["type"] == "tool_call").count();
        assert_eq!(calls, 1);
    }
}

#[test]
fn a_call_that_is_denied_comes_back_as_a_failure_and_the_work_goes_on() {
    let home = TestHome::new();
    let provider = model(Format::Messages, work_denied);
    let said = run_with(&home, &["go", "n"], &[("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", provider.url())]);
    said.expect_code(0).expect_text("run 2026-02-03-E2E: completed");
    assert!(!home.path("work/ran.txt").exists(), "a command ran that was denied");
}

#[test]
fn a_key_that_is_not_valid_fails_the_run_and_names_its_variable() {
    let home = TestHome::new();
    let refuse = |_: &str, _: &Value| {
        let body =
            json!({ "type": "error", "error": { "type": "authentication_error", "message": "invalid x-api-key" } });
        let body = body.to_string();
        let length = body.len();
        format!("HTTP/1.1 401 Unauthorized\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
    };
    let said = run(&home, &[("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", &serve(refuse))]);
    without_key(&home, &said);
    said.expect_code(1).expect_text("invalid x-api-key").expect_text("check the key in ANTHROPIC_API_KEY");
}

#[test]
fn without_a_key_nothing_begins_and_the_ways_to_start_are_said() {
    for variables in [&[][..], &[("ANTHROPIC_API_KEY", " \n")]] {
        let home = TestHome::new();
        run(&home, variables)
            .expect_code(2)
            .expect_text("`ANTHROPIC_API_KEY` is not set")
            .expect_text("set ANTHROPIC_API_KEY")
            .expect_text("with --adapter scripted --script FILE\n");
        assert!(home.journal(RUN).is_empty());
    }
}

#[test]
fn a_base_url_that_is_none_is_said_before_anything_begins() {
    let home = TestHome::new();
    run(&home, &[("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", "nowhere")])
        .expect_code(2)
        .expect_text("`nowhere` is not a web address")
        .expect_text("ANTHROPIC_BASE_URL");
    assert!(home.journal(RUN).is_empty());
}

#[test]
fn doctor_says_whether_the_adapter_has_its_key_and_never_which() {
    let home = TestHome::new();
    let doctor = |variables: &[(&str, &str)]| {
        let mut command = home.adjutant(&["doctor"]);
        let output = command.env("ADJUTANT_ADAPTER", "anthropic").envs(variables.iter().copied()).output();
        let output = output.expect("it starts");
        (output.status.code(), String::from_utf8(output.stdout).expect("text"))
    };
    let (code, said) = doctor(&[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("FAIL adapter: `anthropic` needs a key, and `ANTHROPIC_API_KEY` is not set"), "{said}");
    let (_, said) = doctor(&[("ANTHROPIC_API_KEY", KEY)]);
    assert!(said.contains("ok   adapter: `anthropic` has its key from ANTHROPIC_API_KEY"), "{said}");
    assert!(!said.contains(KEY), "{said}");
    home.run(&["doctor"]).expect_text("ok   adapter: none is chosen: a run needs `--adapter` or `--script`");
}
