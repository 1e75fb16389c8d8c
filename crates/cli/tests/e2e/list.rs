//! Tests that the list says what each run needs from its operator.

use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, TestHome};

const REPORT: &str = "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n";

fn state(home: &TestHome) -> Vec<String> {
    let rows: Vec<Value> = serde_json::from_str(&home.run(&["list", "--json"]).expect_code(0).stdout).expect("rows");
    rows.iter().map(|row| row["state"].as_str().expect("a state").to_owned()).collect()
}

#[test]
fn a_run_waits_until_it_is_answered_and_then_says_how_it_goes_on() {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, {"repeat": 2, "text": REPORT}]));
    home.run(&["run", "../brief.md"]).expect_code(4);
    home.run(&["list"]).expect_code(0).expect_text("needs a yes to its summary  One thing.");
    home.run(&["inbox"]).expect_code(0).expect_text("  needs a yes to its summary\n");

    home.run(&["inbox", "answer", RUN, "go"]).expect_code(0);
    home.run(&["list", "--state", "answered"]).expect_code(0).expect_text("answered, goes on with: resume or a worker");
    home.run(&["list", "--state", "waits"]).expect_code(0).expect_text("no run is in the state waits");
    home.run(&["resume", RUN]).expect_code(0);
    assert_eq!(state(&home), ["completed"]);

    home.run(&["list", "--project", "e2e", "--limit", "1"]).expect_code(0).expect_text(RUN);
    home.run(&["list", "--project", "other"]).expect_code(0).expect_text("no run of the project `other`");
    home.run(&["list", "--state", "odd"]).expect_code(2).expect_text("waits");
}

#[test]
fn a_run_that_asks_at_its_own_terminal_waits_too() {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, {"repeat": 2, "text": REPORT}]));
    let mut running = home.start(&["run", "../brief.md"]);
    running.until("Is this summary what you want?");
    assert_eq!(state(&home), ["waits: confirmation"]);
    running.type_line("go");
    running.finish().expect_code(0);
    assert_eq!(state(&home), ["completed"]);
}
