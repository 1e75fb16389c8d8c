//! A run that was recorded is played back without whoever answered, to the same journal: in another folder, in
//! pieces, and with a word where it parts from the recording.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use adjutant_loopback::Format;
use serde_json::{Value, json};

use crate::gemini;
use crate::home::{RUN, TestHome, brief};

const BRIEF: &str = "mode: auto\nauthorized_costs:\n  - filesystem_write";

/// Records a run of the adapter `gemini`: two calls side by side, one denied, and a report.
fn recorded() -> (TestHome, String) {
    let home = prepared(&["go", "n"]);
    let args = ["--adapter", "gemini", "--model", "gemini-test", "--record", "../run.jsonl"];
    let provider = crate::loopback::model(Format::Gemini, gemini::work);
    let mut command = home.adjutant(&[&["run", "../brief.md", "--answers", "../answers.json"][..], &args].concat());
    let output = command.env("GEMINI_API_KEY", gemini::KEY).env("GOOGLE_GEMINI_BASE_URL", provider.url()).output();
    let output = output.expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let recording = home.read("run.jsonl");
    (home, recording)
}

fn prepared(answers: &[&str]) -> TestHome {
    let home = TestHome::new();
    home.write("brief.md", brief(BRIEF));
    home.write("answers.json", json!(answers).to_string());
    home
}

const PLAY: [&str; 8] =
    ["run", "../brief.md", "--answers", "../answers.json", "--adapter", "recorded", "--script", "../run.jsonl"];

/// A run's events without what differs from one run to the next: times, hashes, the names of questions,
/// and who was asked and where.
fn settled(home: &TestHome) -> Vec<Value> {
    let mut events = home.journal(RUN);
    for event in &mut events {
        settle(event, &home.path("").to_string_lossy());
    }
    events
}

fn settle(value: &mut Value, folder: &str) {
    match value {
        Value::Object(fields) => {
            for name in ["at", "id", "prev", "base_url", "duration_ms", "adapter", "model", "script"] {
                fields.remove(name);
            }
            fields.values_mut().for_each(|field| settle(field, folder));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| settle(item, folder)),
        Value::String(text) => *text = text.replace(folder, "[TEMP]/"),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn a_recorded_run_is_played_back_to_the_same_journal_without_a_server_or_a_key() {
    let (first, recording) = recorded();
    assert_eq!(fs::metadata(first.path("run.jsonl")).expect("it is there").permissions().mode() & 0o777, 0o600);
    assert!(!recording.contains(gemini::KEY));
    let second = prepared(&["go", "n"]);
    second.write("run.jsonl", &recording);
    second.run(&PLAY).expect_code(0).expect_text("recorded (gemini-test)").expect_text("completed");
    assert_eq!(second.read("work/one.txt"), "größe\n");
    assert!(!second.path("work/ran.txt").exists());
    let (then, now) = (settled(&first), settled(&second));
    assert_eq!(then.len(), now.len());
    for (then, now) in then.iter().zip(&now) {
        assert_eq!(then, now);
    }
}

#[test]
fn a_run_that_stopped_for_an_operator_plays_on_when_it_is_resumed() {
    let (_, recording) = recorded();
    let home = prepared(&["go"]);
    home.write("run.jsonl", &recording);
    // Nobody answers the question about the command, and the recording of what was played is gone on with.
    home.run(&[&PLAY[..], &["--record", "../again.jsonl"]].concat()).expect_code(4);
    home.write("answers.json", json!(["n"]).to_string());
    let resume = ["resume", RUN, "--answers", "../answers.json", "--record", "../again.jsonl"];
    home.run(&resume).expect_code(0).expect_text("completed");
    let again = prepared(&["go", "n"]);
    again.write("run.jsonl", home.read("again.jsonl"));
    again.run(&PLAY).expect_code(0).expect_text("completed");
    assert_eq!(again.read("work/two.txt"), "🦀\n");
}

#[test]
fn a_run_that_parts_from_its_recording_is_told_where() {
    let (_, recording) = recorded();
    let home = prepared(&["go", "n"]);
    home.write("run.jsonl", &recording);
    home.write("brief.md", brief(BRIEF).replace("One thing.", "Another thing."));
    home.run(&PLAY).expect_code(1).expect_text("is of another run: in turn 1 message ").expect_text("Another thing.");
    // An operator who says something else goes another way.
    let home = prepared(&["go", "y"]);
    home.write("run.jsonl", &recording);
    home.run(&PLAY).expect_code(1).expect_text("is of another run: in turn 4 message ");
}

#[test]
fn what_can_not_be_played_or_recorded_is_said_before_anything_begins() {
    let home = prepared(&["go"]);
    home.write("brief.md", brief(BRIEF).replace("script: script.json\n", ""));
    home.run(&PLAY[..6]).expect_code(2).expect_text("needs a recording").expect_text("--record FILE");
    home.run(&PLAY).expect_code(2).expect_text("can't read the recording").expect_text("with --script");
    home.write("run.jsonl", "turns: []\n");
    home.run(&PLAY).expect_code(2).expect_text("this is no recording").expect_text("--adapter scripted");
    home.write("script.json", "[]");
    home.run(&[
        "run", "../brief.md", "--adapter", "scripted", "--script", "../script.json", "--record", "../run.jsonl",
    ])
    .expect_code(2)
    .expect_text("there is already a file")
    .expect_text("--record");
    assert_eq!(home.read("run.jsonl"), "turns: []\n");
    assert!(home.journal(RUN).is_empty());
}
