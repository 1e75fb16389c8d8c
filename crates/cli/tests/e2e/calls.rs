//! Tests that a call has one number, in `inspect --tools` and in `explain`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::home::{ROOT, TestHome};

#[test]
fn explain_n_is_row_n_of_the_tools() {
    for run in ["2026-01-15-CALLS", "2026-01-15-CREW", "2026-01-15-CREWKILLED", "2026-01-15-KILLED"] {
        let home = TestHome::new();
        let journal = format!("{run}.trace.ndjson");
        let bytes = fs::read(Path::new(ROOT).join("tests/golden/journals").join(&journal)).expect("a journal");
        home.write(&format!("home/sessions/{journal}"), bytes);
        let json = |args: &[&str]| -> Value {
            serde_json::from_str(&home.run(&[args, &["--json"]].concat()).expect_code(0).stdout).expect("JSON")
        };
        let rows = json(&["inspect", run, "--tools"])["native"].as_array().expect("rows").clone();
        assert!(rows.len() > 2, "{run}");
        for (number, row) in (1..).zip(&rows) {
            assert_eq!(row["call"], number, "{run}");
            let text = number.to_string();
            let explained = json(&["explain", run, &text]);
            assert_eq!(explained["tool"], row["tool"], "{run} {number}");
            let args = &explained["args"];
            let about = [&args["cmd"], &args["path"]].into_iter().find_map(Value::as_str).unwrap_or_default();
            let what = row["what"].as_str().unwrap_or_default().trim_end_matches('…');
            assert!(about.is_empty() || about.starts_with(what), "{run} {number}: {row} {explained}");
            home.run(&["explain", run, &text]).expect_code(0).expect_text(&format!("call {number}: "));
        }
        home.run(&["explain", run, &(rows.len() + 1).to_string()]).expect_code(1).expect_text("--tools");
    }
}

#[test]
fn a_call_whose_driver_died_says_so_in_its_row() {
    let home = TestHome::new();
    let journal = "2026-01-15-KILLED.trace.ndjson";
    let bytes = fs::read(Path::new(ROOT).join("tests/golden/journals").join(journal)).expect("a journal");
    home.write(&format!("home/sessions/{journal}"), bytes);
    let said = home.run(&["inspect", "2026-01-15-KILLED", "--tools"]).expect_code(0);
    let row = said.stdout.lines().find(|line| line.starts_with("2 ")).expect("a row");
    assert!(row.contains("allow") && row.contains("interrupted") && row.contains("echo one > one"), "{row}");
}
