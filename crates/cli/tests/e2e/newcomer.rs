//! Tests what somebody is told who meets a run for the first time in an odd state.

use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, TestHome};

const REPORT: &str = "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n";

fn completed() -> TestHome {
    let home = TestHome::new();
    let write = json!({"tool": "write_file", "args": {"path": "new", "content": "one\n"}});
    let fields = "mode: auto\nauthorized_costs:\n  - filesystem_write";
    home.scripted(fields, &json!([SUMMARY, {"text": "Next.", "calls": [write]}, {"repeat": 2, "text": REPORT}]));
    home.write("go.json", json!(["go"]).to_string());
    home.run(&["run", "../brief.md", "--answers", "../go.json"]).expect_code(0);
    home
}

#[test]
fn a_journal_that_was_changed_is_said_to_be_wherever_it_is_looked_at() {
    let home = completed();
    let looks = [&["inspect", RUN][..], &["inspect", RUN, "--tools"], &["show", RUN], &["explain", RUN, "1"]];
    for look in looks {
        assert_eq!(home.run(look).expect_code(0).stderr, "", "{look:?}");
    }
    let journal = home.read(&format!("home/sessions/{RUN}.trace.ndjson"));
    home.write(&format!("home/sessions/{RUN}.trace.ndjson"), journal.replacen("Next.", "Past.", 1));
    for look in looks {
        let said = home.run(look).expect_code(0);
        assert!(said.stderr.contains("was changed after it was written"), "{look:?}: {}", said.stderr);
        assert!(
            said.stderr.contains(&format!("`adjutant trace verify {RUN}` says where")),
            "{look:?}: {}",
            said.stderr
        );
    }
    home.run(&["list"]).expect_code(0).expect_text("completed; changed after it was written");
    let rows: Value = serde_json::from_str(&home.run(&["list", "--json"]).expect_code(0).stdout).expect("rows");
    assert_eq!(rows[0]["state"], "completed; changed after it was written");
}

#[test]
fn a_beginning_that_cant_be_read_is_no_run_that_was_killed_before_it_began() {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY]));
    home.run(&["run", "../brief.md"]).expect_code(4);
    let journal = home.read(&format!("home/sessions/{RUN}.trace.ndjson"));
    home.write(&format!("home/sessions/{RUN}.trace.ndjson"), journal.replacen("\"run_id\"", "\"run_ix\"", 1));
    for args in [&["explain", RUN, "--authority"][..], &["resume", RUN, "--accept-damage"]] {
        let said = home.run(args).expect_code(1);
        assert!(said.stderr.contains("`run_start`) can't be read"), "{args:?}: {}", said.stderr);
        assert!(!said.stderr.contains("killed"), "{args:?}: {}", said.stderr);
    }
    home.run(&["resume", RUN]).expect_code(1).expect_text("adjutant trace verify");
}

#[test]
fn a_hint_names_the_first_run_so_that_the_latest_is_not_meant() {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, {"repeat": 2, "text": REPORT}]));
    home.run(&["run", "../brief.md"]).expect_code(4).expect_text(&format!("go on: adjutant resume {RUN}\n"));
    home.run(&["run", "../brief.md", "--new"])
        .expect_code(4)
        .expect_text(&format!("go on: adjutant resume {RUN}-r2\n"));
    let first = format!("{RUN}-r1");
    home.run(&["resume", &first]).expect_code(4).expect_text(&format!("go on: adjutant resume {first}\n"));
    home.run(&["show", &first]).expect_code(0).expect_text(&format!("adjutant resume {first} "));
    home.run(&["steer", &first, "mind the gap"]).expect_code(0).expect_text(&format!("adjutant resume {first}"));
    let ids: Vec<Value> = serde_json::from_str(&home.run(&["inbox", "list", "--json"]).stdout).expect("rows");
    let id = ids.iter().find(|row| row["run_id"] == RUN).and_then(|row| row["id"].as_str()).expect("a question");
    home.run(&["inbox", "answer", id, "go"]).expect_code(0).expect_text(&format!("adjutant resume {first},"));
}
