//! Tests that the views print a folder of the peer's sessions as the peer prints it.

use std::path::Path;

use serde::Deserialize;

use crate::home::{ROOT, TestHome, copy};

/// Commands that ours answers otherwise on purpose: the command line, its exit code here, and why.
const OTHERWISE: &[(&str, i32, &str)] = &[
    ("inspect missing", 1, "the words for a run that is not there are ours"),
    ("replay missing", 1, "a run that is not there is a failure, not a success"),
];

#[derive(Deserialize)]
struct Row {
    argv: Vec<String>,
    exit: i32,
    stdout: String,
}

fn inspect_vectors() -> TestHome {
    let home = TestHome::new();
    copy(&Path::new(ROOT).join("tests/vectors/openwar/inspect/input-inspect"), &home.path("home"));
    home
}

/// The hour of a replay is the clock's.
fn without_clock(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with("[replay] Replayed at: ")).collect::<Vec<_>>().join("\n")
}

/// The peer's documents call `completion` safety-critical, and so do we; its own table does not.
fn as_documented(text: &str) -> String {
    text.replace("completion  default                       1 ", "completion  default      safety_critical  1 ")
}

#[test]
fn every_view_prints_what_the_peer_prints() {
    let home = inspect_vectors();
    let path = Path::new(ROOT).join("tests/vectors/openwar/inspect/expected-inspect.json");
    let rows: Vec<Row> = serde_json::from_slice(&std::fs::read(path).expect("vectors")).expect("a list");
    let mut compared = 0;
    for row in &rows {
        let name = row.argv.join(" ");
        let argv: Vec<&str> = row.argv.iter().map(String::as_str).collect();
        let said = home.run(&argv);
        if let Some((_, code, why)) = OTHERWISE.iter().find(|(other, ..)| *other == name) {
            assert_eq!(said.code, *code, "{name} ({why}): {said:?}");
            assert_ne!(said.stderr, "", "{name}");
            continue;
        }
        assert_eq!(without_clock(&said.stdout), as_documented(&without_clock(&row.stdout)), "{name}");
        assert_eq!(said.code, row.exit, "{name}");
        compared += 1;
    }
    assert_eq!(compared, rows.len() - OTHERWISE.len(), "each difference is the name of a row");
}

#[test]
fn every_view_can_be_had_as_json() {
    let home = inspect_vectors();
    let views = [
        "--trace", "--timing", "--cost", "--detectors", "--tools", "--mcp", "--permissions", "--transcript",
        "--history", "--learned",
    ];
    for flags in views.iter().map(|view| vec![*view]).chain([vec![]]) {
        let args = [&["inspect", "2024-04-05-ALL", "--json"], flags.as_slice()].concat();
        let said = home.run(&args).expect_code(0);
        serde_json::from_str::<serde_json::Value>(&said.stdout).expect("JSON");
    }
    for args in [&["list", "--json"][..], &["replay", "2024-04-05-ALL", "--json"]] {
        serde_json::from_str::<serde_json::Value>(&home.run(args).stdout).expect("JSON");
    }
}
