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

/// The part of what was said between two texts.
#[track_caller]
fn between<'t>(said: &'t str, first: &str, last: &str) -> &'t str {
    let begin = said.find(first).unwrap_or_else(|| panic!("no `{first}` in:\n{said}"));
    let rest = &said[begin..];
    &rest[..rest.find(last).unwrap_or_else(|| panic!("no `{last}` in:\n{rest}"))]
}

#[test]
fn what_is_asked_about_is_shown_again_by_resume_and_by_a_worker() {
    let home = home();
    home.run(&["run", "../brief.md"]).expect_code(4);
    let said = home.run(&["resume", RUN]).expect_code(4).stdout;
    let shown = between(&said, "the agent said:", "? Is this summary what you want?");
    assert!(shown.contains("**Objective**: one thing."), "{shown}");
    home.run(&["inbox", "answer", RUN, "use tabs"]).expect_code(0);
    let said = home.run(&["work", "--once"]).expect_code(0).stdout;
    let shown = between(&said, "the agent said:", "? Is this summary what you want?");
    assert!(shown.contains("**Objective**: one thing."), "{shown}");
}

#[test]
fn a_write_that_waited_for_a_yes_is_shown_as_a_diff_again() {
    let home = TestHome::new();
    let write = |content: &str| json!({"tool": "write_file", "args": {"path": "old.txt", "content": content}});
    home.scripted(
        "mode: auto",
        &json!([SUMMARY, {"text": "I write.", "calls": [write("one\n2\n")]}, {"repeat": 2, "text": REPORT}]),
    );
    home.write("work/old.txt", "one\ntwo\n");
    home.write("go.json", json!(["go"]).to_string());
    let diff = "    old.txt  +1 -1\n     one\n    -two\n    +2\n";
    let said = home.run(ARGS).expect_code(4).stdout;
    assert!(between(&said, "I write.", "? The agent wants to call").contains(diff), "{said}");
    let said = home.run(&["resume", RUN]).expect_code(4).stdout;
    assert!(between(&said, "the agent said:", "? The agent wants to call").contains(diff), "{said}");
    // What is compared is what is there now.
    home.write("work/old.txt", "one\n2\n");
    let said = home.run_with(&["resume", RUN], b"y\n").expect_code(0).stdout;
    assert!(
        between(&said, "the agent said:", "? The agent wants to call").contains("old.txt (unchanged)  +0 -0"),
        "{said}"
    );
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
