//! What lines do, by the vectors, by tables, and for all lines there are.

use serde_json::Value;

use super::*;
use crate::gate::effect::Verdict;

fn reading(line: &str) -> Reading {
    let places = Places { home: "/home/op".to_owned(), workdir: "/home/op/w".to_owned(), ..Places::default() };
    let context = ShellContext { shell: Dialect::Bash, folder: ".", places: &places, programs: Programs::builtin() };
    read(line, &context)
}

fn vectors(text: &str) -> impl Iterator<Item = Value> + '_ {
    text.lines().map(|line| serde_json::from_str(line).expect("a vector"))
}

fn text<'a>(vector: &'a Value, field: &str) -> &'a str {
    vector[field].as_str().expect("text")
}

#[test]
fn every_binding_vector_is_as_labelled() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for vector in vectors(include_str!("../../../../../tests/vectors/shell-commands.jsonl")) {
        if text(&vector, "strength") != "must" {
            continue;
        }
        count += 1;
        let command = text(&vector, "command");
        let verdict = reading(command).verdict();
        let is_right = match text(&vector, "label") {
            "safe" => verdict == Verdict::Safe,
            "externally-visible" => verdict == Verdict::External,
            "destructive" if text(&vector, "category") == "opaque_exec" => {
                matches!(verdict, Verdict::Opaque | Verdict::Destructive)
            }
            _ => verdict == Verdict::Destructive,
        };
        if !is_right {
            wrong.push(format!("{} {command}: {verdict:?}", text(&vector, "id")));
        }
    }
    assert_eq!(count, 62);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_words_that_run_are_those_of_the_vectors() {
    let mut wrong = Vec::new();
    for vector in vectors(include_str!("../../../../../tests/vectors/shell-words.jsonl")) {
        let runs = Value::from(reading(text(&vector, "command")).runs);
        if runs != vector["runs"] {
            wrong.push(format!("{} gives {runs}", vector));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_examples_of_the_table_hold() {
    let broken = Programs::builtin().broken_examples();
    assert!(broken.is_empty(), "{broken:#?}");
    for entry in Programs::builtin().entries() {
        assert!(!entry.examples.is_empty(), "{:?} has no example", entry.names);
    }
}
