//! The end of a sitting: what a run took and changed, for a person and for a program.

use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, TestHome};

const REPORT: &str = "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n";

/// A run that asks for more knowledge when it has written two files, and then writes one of them again.
fn home() -> TestHome {
    let home = TestHome::new();
    let write = |path: &str, content: &str| json!({"tool": "write_file", "args": {"path": path, "content": content}});
    let read = json!({"tool": "read_file", "args": {"path": "old.txt"}});
    home.scripted(
        "mode: auto\nauthorized_costs:\n  - filesystem_write",
        &json!([
            SUMMARY,
            {"text": "I read.", "calls": [read], "usage": {"input_tokens": 1000, "output_tokens": 50}},
            {"text": "I write.", "calls": [write("old.txt", "one\n2\nthree\n"), write("new.txt", "a\nb\n")],
             "usage": {"input_tokens": 1200, "cache_read_tokens": 1000, "output_tokens": 60}},
            "## Phase 2\n\nI am blocked: which port?",
            {"text": "Again.", "calls": [write("new.txt", "a\nb\nc\n")]},
            {"repeat": 2, "text": REPORT},
        ]),
    );
    home.write("work/old.txt", "one\ntwo\nthree\n");
    home.write("go.json", json!(["go"]).to_string());
    home
}

const ARGS: &[&str] = &["run", "../brief.md", "--answers", "../go.json"];

#[test]
fn the_end_says_what_a_run_took_and_changed_also_over_several_sittings() {
    let home = home();
    let said = home.run(ARGS).expect_code(3);
    let end = home.settled(&said.stdout);
    let end = end.split("\n\n").last().expect("an end");
    insta::assert_snapshot!("ending_blocked", end);
    let said = home.run(&["resume", RUN, "--context", "8080"]).expect_code(0);
    let end = home.settled(&said.stdout);
    let end = end.split("\n\n").last().expect("an end");
    insta::assert_snapshot!("ending_completed", end);
}

#[test]
fn a_program_gets_the_same_facts_on_the_last_line() {
    let home = home();
    let said = home.run(&[ARGS, &["--json"]].concat()).expect_code(3);
    let lines: Vec<Value> = said.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (last, events) = lines.split_last().expect("lines");
    assert!(events.iter().all(|event| event["seq"].is_u64()), "before it, events: {events:?}");
    let (totals, path) = (&last["totals"], home.path("work"));
    assert_eq!(
        (&last["type"], &last["state"], &last["outcome"]),
        (&json!("sitting_end"), &json!("waiting"), &Value::Null)
    );
    assert_eq!((&last["run"], &last["is_copy"], &last["workdir"]), (&json!(RUN), &json!(false), &json!(path)));
    assert_eq!((&totals["turns"], &totals["cached_tokens"]), (&json!(4), &json!(1000)));
    assert_eq!(
        totals["files"],
        json!([
            {"path": "new.txt", "change": "created", "added": 2, "removed": 0},
            {"path": "old.txt", "change": "changed", "added": 1, "removed": 1},
        ])
    );
}
