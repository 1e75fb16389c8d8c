//! Tests that an agent's write loses nothing that others wrote to a file since the agent read it.

use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, TestHome};

const REPORT: &str = "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n";

fn scripted(home: &TestHome, authorized: &str, calls: &[Value]) {
    let mut turns = vec![json!({"text": SUMMARY})];
    turns.extend(calls.iter().map(|call| json!({"text": "Next.", "calls": [call]})));
    turns.push(json!({"repeat": 2, "text": REPORT}));
    home.scripted(&format!("mode: auto\nauthorized_costs: [{authorized}]"), &turns.into());
    home.write("go.json", json!(["go"]).to_string());
}

fn read(path: &str) -> Value {
    json!({"tool": "read_file", "args": {"path": path}})
}

fn write(path: &str, content: &str) -> Value {
    json!({"tool": "write_file", "args": {"path": path, "content": content}})
}

fn append(path: &str) -> Value {
    json!({"tool": "write_file", "args": {"path": path, "content": "+", "append": true}})
}

fn shell(cmd: &str) -> Value {
    json!({"tool": "shell_exec", "args": {"cmd": cmd}})
}

/// The codes of the results, in order; `ok` for a call that worked.
fn codes(home: &TestHome) -> Vec<String> {
    let results = home.journal(RUN).into_iter().filter(|event| event["type"] == "tool_result");
    results
        .map(|result| match (&result["success"], result["code"].as_str()) {
            (Value::Bool(true), _) => "ok".to_owned(),
            (_, code) => code.unwrap_or("failed").to_owned(),
        })
        .collect()
}

#[track_caller]
fn check(calls: &[Value], expected: &[&str], content: &[u8]) {
    let home = TestHome::new();
    home.write("work/f", "one\n");
    home.write("work/bytes", b"a\xffb\n");
    scripted(&home, "shell_exec, filesystem_write, filesystem_delete, opaque_exec", calls);
    home.run(&["run", "../brief.md", "--answers", "../go.json"]).expect_code(0);
    assert_eq!(codes(&home), expected, "{calls:?}");
    let path = if calls[0]["args"]["path"] == "bytes" { "work/bytes" } else { "work/f" };
    assert_eq!(std::fs::read(home.path(path)).expect("there"), content, "{calls:?}");
}

#[test]
fn a_file_that_changed_since_it_was_read_is_read_again_before_it_is_written() {
    let added = shell("echo more >> f");
    check(&[read("f"), added.clone(), write("f", "new")], &["ok", "ok", "CHANGED_SINCE_READ"], b"one\nmore\n");
    check(
        &[read("f"), added.clone(), write("f", "new"), read("f"), write("f", "new")],
        &["ok", "ok", "CHANGED_SINCE_READ", "ok", "ok"],
        b"new",
    );
    check(&[write("f", "1"), added.clone(), write("f", "2")], &["ok", "ok", "CHANGED_SINCE_READ"], b"1more\n");
    check(&[read("f"), write("f", "1"), write("f", "2")], &["ok", "ok", "ok"], b"2");
    // What was never read, what only adds, what is gone, and what would be the same.
    check(&[added.clone(), write("f", "2")], &["ok", "ok"], b"2");
    check(&[read("f"), added.clone(), append("f")], &["ok", "ok", "ok"], b"one\nmore\n+");
    check(&[read("f"), shell("rm f"), write("f", "2")], &["ok", "ok", "ok"], b"2");
    check(&[read("f"), added, write("f", "one\nmore\n")], &["ok", "ok", "ok"], b"one\nmore\n");
    // A part that was read speaks for the whole.
    let part = json!({"tool": "read_file", "args": {"path": "f", "max_bytes": 2}});
    check(&[part, shell("echo more >> f"), write("f", "2")], &["ok", "ok", "CHANGED_SINCE_READ"], b"one\nmore\n");
}

#[test]
fn bytes_that_were_not_shown_are_not_lost() {
    check(&[read("bytes"), write("bytes", "a\u{fffd}b\n")], &["ok", "NOT_SEEN"], b"a\xffb\n");
    let patch = json!({"tool": "apply_patch", "args": {"diff": "--- a/bytes\n+++ b/bytes\n@@ -1,0 +2 @@\n+c\n"}});
    check(&[read("bytes"), patch, write("bytes", "x")], &["ok", "ok", "NOT_SEEN"], b"a\xffb\nc\n");
    check(&[read("bytes"), append("bytes")], &["ok", "ok"], b"a\xffb\n+");
    check(&[read("bytes"), shell("rm bytes"), write("bytes", "x")], &["ok", "ok", "ok"], b"x");
    let home = TestHome::new();
    home.write("work/bytes", b"a\xffb\n");
    scripted(&home, "filesystem_write", &[read("bytes")]);
    home.run(&["run", "../brief.md", "--answers", "../go.json"]).expect_code(0);
    let result = home.journal(RUN).into_iter().find(|event| event["type"] == "tool_result").expect("a result");
    assert!(result["content"].as_str().is_some_and(|text| text.contains("not UTF-8")), "{result}");
    assert_eq!(result["seen"]["replaced"], 1);
}

#[test]
fn what_the_operator_wrote_while_the_run_waited_is_not_lost() {
    let home = TestHome::new();
    home.write("work/f", "one\n");
    scripted(&home, "filesystem_write", &[read("f"), shell("true"), write("f", "new")]);
    home.run(&["run", "../brief.md", "--answers", "../go.json"]).expect_code(4);
    home.write("work/f", "one\nmine\n");
    home.write("yes.json", json!(["y"]).to_string());
    home.run(&["resume", RUN, "--answers", "../yes.json"]).expect_code(0);
    assert_eq!(codes(&home), ["ok", "ok", "CHANGED_SINCE_READ"]);
    assert_eq!(home.read("work/f"), "one\nmine\n");
}
