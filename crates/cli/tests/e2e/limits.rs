//! Waits, agents to fall back on, a window that fills and limits, as an operator meets them.

use std::io::Write;
use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, TestHome, brief};
use crate::loopback::request;

const REPORT: &str = "## Phase 4\n\nDone.\n";

/// A home whose agent plays `turns`, with these fields in its brief.
fn playing(fields: &str, turns: &Value) -> TestHome {
    let home = TestHome::new();
    home.scripted(&format!("mode: auto\n{fields}"), turns);
    home.write("answers.yaml", "- {kind: confirmation, answer: go}\n");
    home
}

/// The types of the events of the run, in order.
fn kinds(home: &TestHome) -> Vec<String> {
    let kind = |event: &Value| event["type"].as_str().expect("a type").to_owned();
    home.journal(RUN).iter().map(kind).collect()
}

const ARGS: &[&str] = &["run", "../brief.md", "--answers", "../answers.yaml"];

#[test]
fn a_wait_and_a_change_of_agent_are_shown_and_on_record() {
    let busy = json!({"fail": {"kind": "busy", "message": "no room", "times": 3, "after_ms": 20}, "text": SUMMARY});
    let home = playing("fallback: [scripted]", &json!([busy, {"repeat": 2, "text": REPORT}]));
    let said = home.run(ARGS).expect_code(0);
    said.expect_text("! the turn failed (busy): no room")
        .expect_text("the next attempt follows in 0.0 s")
        .expect_text("! scripted takes the turns from here on")
        .expect_text("completed");
    let kinds = kinds(&home);
    assert_eq!(kinds.iter().filter(|kind| *kind == "timer").count(), 2);
    assert_eq!(kinds.iter().filter(|kind| *kind == "agent_changed").count(), 1);
}

#[test]
fn a_limit_ends_the_sitting_with_5_and_extend_adds_to_it() {
    let turns = json!([SUMMARY, "One.", "Two.", "Three.", {"repeat": 2, "text": REPORT}]);
    let home = playing("budgets:\n  max_turns: 3", &turns);
    home.run(ARGS)
        .expect_code(5)
        .expect_text("! limit reached: 3 turns of 3 turns")
        .expect_text("How many more turns?")
        .expect_text("--extend N (the run may use so many more turns)");
    // Nothing is refilled by a resume alone.
    home.run(&["resume", RUN]).expect_code(5);
    home.run(&["resume", RUN, "--extend", "1"]).expect_code(5).expect_text("4 turns of 4 turns");
    home.run(&["resume", RUN, "--extend", "20"]).expect_code(0);
}

const COMPAT: &[&str] = &["--adapter", "openai-compat", "--model", "m"];

/// A server that is gone for twenty seconds once the summary is there, and back then.
fn gone_for_twenty_seconds() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let answer = |listener: &TcpListener, text: &str| {
            let (mut stream, _) = listener.accept().expect("a connection");
            request(&stream);
            let chunk = json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]});
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            stream.write_all(format!("{head}data: {chunk}\n\ndata: [DONE]\n\n").as_bytes()).expect("it reads");
        };
        answer(&listener, SUMMARY);
        drop(listener);
        std::thread::sleep(Duration::from_secs(20));
        let listener = TcpListener::bind(address).expect("the same port");
        (0..2).for_each(|_| answer(&listener, REPORT));
    });
    format!("http://{address}/v1")
}

#[test]
fn an_outage_of_twenty_seconds_in_the_middle_of_a_run_that_nobody_watches_is_waited_for() {
    let home = TestHome::new();
    home.write("brief.md", brief("mode: auto"));
    home.write("answers.yaml", "- {kind: confirmation, answer: go}\n");
    let url = gone_for_twenty_seconds();
    let said = home.run(&[ARGS, COMPAT, &["--base-url", &url]].concat());
    said.expect_code(0).expect_text("the turn failed (unreached)").expect_text("completed");
}

#[test]
fn patience_is_set_for_a_run_and_none_gives_up_at_once() {
    let home = TestHome::new();
    home.write("brief.md", brief("mode: auto"));
    home.write("answers.yaml", "- {kind: confirmation, answer: go}\n");
    let args = [ARGS, COMPAT, &["--base-url", "http://127.0.0.1:9/v1", "--patience", "0"]].concat();
    home.run(&args).expect_code(1).expect_text("the turn failed (unreached)");
    assert!(!kinds(&home).contains(&"timer".to_owned()));
    assert_eq!(home.journal(RUN)[1]["options"]["patience_ms"], 0);
}

#[test]
fn what_no_metric_takes_extends_nothing() {
    let home = playing("budgets:\n  max_turns: 1", &json!([SUMMARY]));
    home.run(ARGS).expect_code(5);
    let before = kinds(&home);
    for bad in ["0", "-3", "many", "1e9", ""] {
        home.run(&["resume", RUN, &format!("--extend={bad}")]).expect_code(2);
    }
    assert_eq!(kinds(&home), before);
    // No whole number: asked again.
    home.run(&["resume", RUN, "--extend", "1.5"]).expect_code(5);
}

#[test]
fn a_limit_in_tokens_and_dollars_holds_by_the_configured_prices() {
    let counted = |text: &str| json!({"text": text, "usage": {"input_tokens": 100000, "output_tokens": 1000}});
    let turns = json!([counted(SUMMARY), counted("One."), {"repeat": 2, "text": REPORT}]);
    for (fields, said) in [("budgets:\n  max_tokens: 190000", "tokens"), ("budgets:\n  max_dollars: 0.50", "dollars")] {
        let home = playing(fields, &turns);
        home.write("home/config.toml", "[adapters.scripted]\nprice_input = 3\nprice_output = 15\n");
        home.run(ARGS).expect_code(5).expect_text(&format!("How many more {said}?"));
        home.run(&["resume", RUN, "--extend", "1000000"]).expect_code(0);
    }
}

#[test]
fn old_results_are_folded_in_what_is_sent_and_kept_in_the_journal() {
    let read = json!({"text": "On with it.", "calls": [{"tool": "read_file", "args": {"path": "long"}}], "repeat": 6});
    let home = playing("", &json!([SUMMARY, read, {"repeat": 2, "text": REPORT}]));
    home.write("work/long", "a line of a long file\n".repeat(400));
    home.write("home/config.toml", "[adapters.scripted]\nwindow = 16000\noutput_tokens_max = 1000\n");
    home.run(ARGS).expect_code(0).expect_text("old results are folded");
    assert!(kinds(&home).contains(&"context_folded".to_owned()));
    home.run(&["replay", RUN]).expect_code(0);
    let journal = home.journal(RUN);
    let results: Vec<_> = journal.iter().filter(|event| event["type"] == "tool_result").collect();
    assert_eq!(results.len(), 6);
    assert!(results.iter().all(|result| result["content"].as_str().is_some_and(|content| content.len() > 8_000)));
}

#[test]
fn of_a_long_result_its_ends_are_sent_and_all_of_it_is_on_record() {
    let call = |tool: &str, args: Value| json!({"text": "On with it.", "calls": [{"tool": tool, "args": args}]});
    let turns = json!([
        SUMMARY,
        call("read_file", json!({"path": "long"})),
        call("write_file", json!({"path": "long", "content": "short"})),
        call("read_file", json!({"path": "long", "offset": 250, "limit": 2})),
        {"repeat": 2, "text": REPORT},
    ]);
    let home = playing("authorized_costs: [filesystem_write]", &turns);
    let lines: String = (1..=500).map(|line| format!("This is line {line}.\n")).collect();
    home.write("work/long", &lines);
    home.write("home/config.toml", "result_bytes_max = 2000\n");
    let recording = home.path("sent.ndjson").display().to_string();
    home.run(&[ARGS, &["--record", &recording]].concat()).expect_code(0);
    let sent = home.read("sent.ndjson");
    for (line, is_sent) in [(1, true), (40, true), (100, false), (250, true), (251, true), (252, false), (499, true)] {
        assert_eq!(sent.contains(&format!("This is line {line}.")), is_sent, "line {line}");
    }
    let note = "bytes are left out, from line ";
    assert!(sent.contains(note) && sent.contains("[lines 250-251 of 500; go on with offset 252]"), "{sent}");
    let journal = home.journal(RUN);
    let results: Vec<&Value> = journal.iter().filter(|event| event["type"] == "tool_result").collect();
    assert_eq!(results[0]["content"], lines);
    assert_eq!(results[1]["code"], "NOT_SEEN");
    assert_eq!(results[2]["seen"]["part"], json!({"first": 250, "last": 251, "lines": 500}));
    assert_eq!(home.read("work/long"), lines);
    home.run(&["replay", RUN]).expect_code(0);
}

#[test]
fn how_much_of_a_result_is_sent_is_what_it_was_when_the_run_began() {
    let read = json!({"text": "On with it.", "calls": [{"tool": "read_file", "args": {"path": "long"}}]});
    let cut = json!({"when": {"contains": "bytes are left out"}, "text": REPORT, "repeat": 2});
    let home = playing("budgets: {max_turns: 2}", &json!([SUMMARY, read, cut]));
    home.write("work/long", "a line of a long file\n".repeat(4000));
    home.run(ARGS).expect_code(5);
    let journal = home.journal(RUN);
    let start = journal.iter().find(|event| event["type"] == "run_start").expect("a beginning");
    assert_eq!(start["options"]["result_bytes_max"], 51_200);
    home.write("home/config.toml", "result_bytes_max = 1000000\n");
    home.run(&["resume", RUN, "--extend", "9"]).expect_code(0);
}

#[test]
fn a_limit_that_cannot_be_read_ends_with_2_before_anything_is_asked() {
    let cases: [(&str, &str, &[&str], &str); 9] = [
        ("budgets: {max_turn: 1}", "", &[], "did you mean `max_turns`?"),
        ("budgets: none", "", &[], "budgets"),
        ("budgets:\n  max_turns: soon", "", &[], "budgets.max_turns"),
        ("max_turns: 1", "", &[], "budgets: {max_turns: 1}"),
        ("roles: [planner, executor]\nrole_budgets: {executor: {max_tokns: 1}}", "", &[], "did you mean `max_tokens`"),
        ("roles: [planner, executor]\nrole_adapters: scripted", "", &[], "role_adapters"),
        ("", "max_turn = 1\n", &[], "did you mean `max_turns`?"),
        ("", "max_turns = 'soon'\n", &[], "max_turns"),
        ("", "", &["--max-turn", "1"], "--max-turns"),
    ];
    for (fields, config, args, said) in cases {
        let home = playing(fields, &json!([SUMMARY]));
        home.write("home/config.toml", config);
        home.run(&[ARGS, args].concat()).expect_code(2).expect_text(said);
        assert!(!home.journal_path(RUN).exists(), "{fields}{config}{args:?}");
    }
}

#[test]
fn a_script_that_is_not_there_takes_over_from_nobody() {
    let home = TestHome::new();
    home.write("brief.md", "---\nproject: e2e\n---\n\n# Objective\n\nA.\n\n# Deliverables\n\nB.\n");
    let args =
        ["run", "../brief.md", "--adapter", "openai-compat", "--model", "m", "--base-url", "http://127.0.0.1:9/v1"];
    home.run(&[&args[..], &["--fallback", "scripted"]].concat())
        .expect_code(2)
        .expect_text("`scripted` needs a script");
}
