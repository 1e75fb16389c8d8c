//! Permissions that are asked for beforehand, and why a call was held, as an operator meets them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, TestHome};

const REPORT: &str = "## Phase 4\n\nDone.\n";
const ARGS: &[&str] = &["run", "../brief.md", "--answers", "../answers.yaml", "--new"];

fn asking() -> Value {
    json!({"tool": "request_permission", "args": {
        "action": "keep the notes up to date", "reasoning": "they are part of the work", "scope": "persistent",
        "category": "filesystem_write", "tool": "write_file", "path": "docs/*.md",
    }})
}

fn write(path: &str) -> Value {
    json!({"tool": "write_file", "args": {"path": path, "content": "x"}})
}

/// A home in which one run was granted, for later ones too, to write the notes.
fn granted() -> TestHome {
    let home = TestHome::new();
    let turns = json!([SUMMARY, {"text": "one", "calls": [asking()]}, {"text": "two", "calls": [write("docs/a.md")]}, REPORT, REPORT]);
    home.scripted("mode: auto\nauthorized_costs: [shell_exec]", &turns);
    home.write("answers.yaml", "- {kind: confirmation, answer: go}\n- {kind: permission, answer: p 2999-01-01}\n- {kind: destructive, answer: n}\n");
    home.run(ARGS).expect_code(0).expect_text("allowed for later runs of the project too");
    assert_eq!(home.read("work/docs/a.md"), "x");
    home
}

fn kept(home: &TestHome) -> Vec<Value> {
    serde_json::from_str(&home.run(&["grants", "list", "--json"]).expect_code(0).stdout).expect("JSON")
}

#[test]
fn a_kept_grant_holds_in_later_runs_until_it_is_revoked() {
    let home = granted();
    let [grant] = kept(&home).try_into().expect("one grant");
    assert_eq!((&grant["project"], &grant["until"]), (&json!("e2e"), &json!("2999-01-02T00:00:00.000Z")));
    let id = grant["grant_id"].as_str().expect("an id").to_owned();

    // It is revoked in the middle of the second run, as an operator would at another terminal: by a guard hook,
    // since a command of the agent can't reach it.
    let revoke = format!(
        "#!/bin/sh\nADJUTANT_HOME='{}' '{}' grants revoke {} >&2\necho '{{\"decision\": \"allow\"}}'\n",
        home.path("home").display(),
        env!("CARGO_BIN_EXE_adjutant"),
        &id[..8]
    );
    let turns = json!([
        SUMMARY,
        {"text": "one", "calls": [write("docs/b.md")]},
        {"text": "two", "calls": [{"tool": "shell_exec", "args": {"cmd": "true"}}]},
        {"text": "three", "calls": [write("docs/c.md")]},
        REPORT, REPORT,
    ]);
    home.scripted("mode: auto\nauthorized_costs: [shell_exec]", &turns);
    let hook = home.write("revoke.sh", revoke);
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("a mode");
    let config = format!("[[hooks]]\ncommand = ['{}']\ntools = ['shell_exec']\n", hook.display());
    home.write("home/config.toml", config);
    home.run(ARGS).expect_code(0);
    assert_eq!((home.read("work/docs/b.md").as_str(), home.read("work/docs/c.md").as_str()), ("x", ""));
    let second = format!("{RUN}-r2");
    let kinds: Vec<String> =
        home.journal(&second).iter().map(|event| event["type"].as_str().expect("a type").to_owned()).collect();
    for kind in ["grants_loaded", "permission_grant_consumed", "permission_revoked", "auth_prompt"] {
        assert_eq!(kinds.iter().filter(|found| *found == kind).count(), 1, "{kind} in {kinds:?}");
    }
    home.run(&["replay", &second]).expect_code(0);
    home.run(&["inspect", &second, "--trace"]).expect_code(0).expect_text("grants       1 kept by the project");
    assert_eq!(kept(&home), Vec::<Value>::new());
    home.run(&["grants", "revoke", &id]).expect_code(1).expect_text("`adjutant grants list`");
    // A third one begins without it.
    home.run(ARGS).expect_code(4);
    assert!(home.journal(&format!("{RUN}-r3")).iter().all(|event| event["type"] != "grants_loaded"));
}

#[test]
fn what_cannot_be_a_grant_is_skipped_with_a_warning() {
    let home = TestHome::new();
    let peers = r#"{"v":1,"op":"grant","grant_id":"g-1","action":"wipe","category":"filesystem_delete","scope":"persistent","reasoning":"r","granted_at":"2024-05-06T08:00:00.000Z"}"#;
    home.write("home/projects/e2e/permission_grants.jsonl", format!("{{\n{peers}\n"));
    let said = home.run(&["grants", "list"]).expect_code(0);
    assert_eq!(said.stdout, "no grant outlives its run\n");
    said.expect_text("permission_grants.jsonl:1 is skipped")
        .expect_text("filesystem_delete may not be granted beyond a run");
}

#[test]
fn explain_says_why_a_call_was_held_and_what_would_have_let_it_through() {
    let home = TestHome::new();
    let diff = "--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
    let calls = [write(".git/hooks/pre-commit"), json!({"tool": "apply_patch", "args": {"diff": diff}})];
    home.scripted(
        "mode: auto\nauthorized_costs: ['*']\nscope:\n  files: [new.txt]",
        &json!([SUMMARY, {"text": "one", "calls": calls}, REPORT, REPORT]),
    );
    home.write("answers.yaml", "- {kind: confirmation, answer: go}\n- {kind: destructive, answer: n}\n");
    let said = home.run(ARGS).expect_code(0);
    insta::assert_snapshot!("held_for_its_place", home.settled(&said.stdout));
    insta::assert_snapshot!("explained", home.settled(&home.run(&["explain", RUN, "1"]).expect_code(0).stdout));
    let second: Value =
        serde_json::from_str(&home.run(&["explain", RUN, "2", "--json"]).expect_code(0).stdout).expect("JSON");
    assert_eq!(second["judgements"][0]["recorded"]["layer"], "scope");
    assert_eq!(second["judgements"][0]["differs"], false);
    let effects = second["effects"].as_array().expect("a list");
    assert!(effects.iter().any(|effect| effect["category"] == "filesystem_delete"), "{effects:?}");
    home.run(&["explain", RUN, "3"]).expect_code(1).expect_text("has no call `3`");
}

#[test]
fn a_file_that_others_could_have_written_grants_nothing_and_it_is_said() {
    let path = "home/projects/e2e/permission_grants.jsonl";
    type Spoil = fn(&std::path::Path);
    let cases: [(Spoil, &str); 4] = [
        (
            |path| fs::set_permissions(path, fs::Permissions::from_mode(0o664)).expect("set"),
            "it can be written by others than you (mode 664)",
        ),
        (|path| fs::hard_link(path, path.with_extension("other")).expect("linked"), "it has another name elsewhere"),
        (
            |path| {
                fs::rename(path, path.with_extension("other")).expect("moved");
                std::os::unix::fs::symlink(path.with_extension("other"), path).expect("linked");
            },
            "it is a link, not a file itself",
        ),
        (
            |path| {
                fs::remove_file(path).expect("removed");
                fs::create_dir(path).expect("made");
            },
            "it is not a plain file",
        ),
    ];
    for (spoil, why) in cases {
        let home = granted();
        spoil(&home.path(path));
        let turns = json!([SUMMARY, {"text": "one", "calls": [write("docs/b.md")]}, REPORT, REPORT]);
        home.write("script.json", turns.to_string());
        home.run(ARGS).expect_text(&format!(
            "warning: no grant of the project holds: can't read `{}`: {why}",
            home.path(path).display()
        ));
        assert_eq!(home.read("work/docs/b.md"), "", "{why}");
        home.run(&["grants", "list"]).expect_code(1).expect_text(why);
    }
}
