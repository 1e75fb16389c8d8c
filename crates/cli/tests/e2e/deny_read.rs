//! Tests that nothing reads what `deny_read` names: not a file tool, through a link or by a patch, and not a command.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, TestHome};

const SECRET: &str = "the-operators-private-words-4471";
const REPORT: &str = "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n";

/// A run that makes each of `calls` in a turn of its own.
fn run(calls: &[Value], config: &str) -> TestHome {
    let home = TestHome::new();
    home.write("work/.env", SECRET);
    home.write("work/keys/deep/a.pem", SECRET);
    home.write("work/open.txt", "open\n");
    symlink(".env", home.path("work/linked")).expect("a link");
    let mut turns = vec![json!(SUMMARY)];
    turns.extend(calls.iter().map(|call| json!({"text": "On it.", "calls": [call]})));
    turns.push(json!({"repeat": 3, "text": REPORT}));
    home.scripted("mode: auto\nauthorized_costs:\n  - \"*\"", &turns.into());
    home.write("home/config.toml", config);
    home.write("go.json", json!(["go"]).to_string());
    home.run(&["run", "../brief.md", "--answers", "../go.json"]).expect_code(0);
    home
}

fn events(home: &TestHome, kind: &str) -> Vec<Value> {
    home.journal(RUN).into_iter().filter(|event| event["type"] == kind).collect()
}

#[test]
fn no_tool_reads_what_nobody_may() {
    let patch = "--- a/keys/deep/a.pem\n+++ b/keys/deep/a.pem\n@@ -1 +1 @@\n-x\n+y\n";
    let command = |cmd: &str| json!({"tool": "shell_exec", "args": {"cmd": cmd}});
    let calls = [
        json!({"tool": "read_file", "args": {"path": ".env"}}),
        json!({"tool": "read_file", "args": {"path": "./keys/../linked"}}),
        json!({"tool": "apply_patch", "args": {"diff": patch}}),
        command("cat .env linked keys/deep/a.pem; echo read"),
        command("mv keys k || mv keys/deep k || ln .env second || cp keys/deep/a.pem copy; cat k/* copy second"),
        json!({"tool": "read_file", "args": {"path": "open.txt"}}),
    ];
    let home = run(&calls, "deny_read = ['.env', '**/*.pem']\n");
    let refused: Vec<String> =
        events(&home, "tool_rejected").iter().map(|event| event["content"].to_string()).collect();
    assert_eq!(refused.len(), 3, "{refused:?}");
    for (reason, entry) in refused.iter().zip([".env", ".env", "**/*.pem"]) {
        assert!(reason.contains(&format!("`{entry}` in `deny_read` keeps this from being read")), "{reason}");
    }
    let results = events(&home, "tool_result");
    let content: Vec<&str> = results.iter().filter_map(|result| result["content"].as_str()).collect();
    assert_eq!(content.len(), 3, "{content:?}");
    assert!(content[0].contains("read\n"), "{}", content[0]);
    assert!(content[1].contains("`deny_read` in the operator's configuration keeps"), "{}", content[1]);
    assert_eq!(content[2], "open\n");
    let journal = home.read(&format!("home/sessions/{RUN}.trace.ndjson"));
    assert!(!journal.contains(SECRET), "{journal}");
    for path in ["work/.env", "work/keys/deep/a.pem"] {
        assert_eq!(home.read(path), SECRET, "{path}");
    }
}

#[test]
fn a_sandbox_that_hides_nothing_is_said() {
    let home = TestHome::new();
    home.write("work/.env", SECRET);
    home.scripted("mode: auto", &json!([SUMMARY, {"repeat": 3, "text": REPORT}]));
    home.write("home/config.toml", "deny_read = ['.env']\n[sandbox]\nmode = 'off'\n");
    home.write("go.json", json!(["go"]).to_string());
    let said = home.run(&["run", "../brief.md", "--answers", "../go.json"]);
    assert!(said.stderr.contains("`deny_read` holds for file tools only"), "{}", said.stderr);
}
