//! The vectors of what got through: each has its right answer.

use serde_json::{Value, json};

use super::shell;
use crate::patch;

const FIELD: &str = include_str!("../../../../tests/vectors/field.jsonl");
const THROUGH: &str = include_str!("../../../../tests/vectors/shell-through.jsonl");

fn vectors(text: &str) -> impl Iterator<Item = Value> + '_ {
    text.lines().map(|line| serde_json::from_str(line).expect("a vector"))
}

/// True if `decided` is what `right` says.
fn is_right(decided: &Value, right: &Value) -> bool {
    right.as_object().expect("an object").iter().all(|(wanted, value)| match wanted.as_str() {
        "decision_not" => decided["decision"] != *value,
        "missing_has" => decided["missing"].as_array().is_some_and(|missing| missing.contains(value)),
        "verdict_not" => decided["verdict"] != *value,
        "verdict_in" => value.as_array().is_some_and(|verdicts| verdicts.contains(&decided["verdict"])),
        "rejected" => decided["rejected"].is_string() == (value == true),
        field => decided[field] == *value,
    })
}

fn decided(vector: &Value) -> Value {
    let line = &vector["line"];
    match vector["decide"].as_str().expect("text") {
        "gate" => super::decide(line).expect("a decision"),
        "shell" => shell::decide(line).expect("a decision"),
        "patch" => patch::decide(line),
        other => panic!("nothing decides {other}"),
    }
}

#[track_caller]
fn check(results: impl Iterator<Item = (String, bool, String)>) {
    for (id, is_right, text) in results {
        assert!(is_right, "{id} {text}");
    }
}

#[test]
fn what_got_through_in_the_field_is_decided_right() {
    let all: Vec<Value> = vectors(FIELD).collect();
    assert_eq!(all.len(), 23);
    check(all.iter().map(|vector| {
        let decided = decided(vector);
        let id = vector["id"].as_str().expect("text").to_owned();
        (id, is_right(&decided, &vector["right"]), format!("{vector}: {decided}"))
    }));
}

#[test]
fn lines_that_ran_though_they_were_called_safe_are_not() {
    let all: Vec<Value> = vectors(THROUGH).collect();
    assert_eq!(all.len(), 29);
    check(all.iter().map(|vector| {
        let input = json!({"command": vector["command"], "shell": vector["shell"]});
        let decided = shell::decide(&input).expect("a decision");
        let is_right = decided["verdict"] != vector["verdict_not"];
        (vector["id"].as_str().expect("text").to_owned(), is_right, format!("{vector}: {decided}"))
    }));
}
