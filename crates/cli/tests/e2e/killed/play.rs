//! Plays a case to its end, killed wherever it is told to.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::cases::{Case, Leaves};
use super::gate::Gate;
use crate::first_run;
use crate::home::{TestHome, files};

/// What a run leaves behind.
#[derive(Debug, PartialEq)]
pub struct Left {
    pub code: i32,
    pub outcome: Value,
    pub phases: Vec<String>,
    pub files: BTreeMap<String, Vec<u8>>,
    pub effects: Vec<String>,
    /// How many calls the operator cancelled.
    pub cancelled: usize,
}

/// A case that came to its end.
pub struct Played {
    pub home: TestHome,
    pub left: Left,
    /// How many events were on record at each kill.
    pub killed_with: Vec<u64>,
    /// The events on record that nobody can read any more.
    pub lost: Vec<Value>,
}

/// Plays a case to its end, killed once for each of `kills`: at the event that comes so many after those
/// on record at the kill before; 0 is the next. A run that ends earlier is not killed.
pub fn play(case: &Case, kills: &[u64]) -> Played {
    let home = (case.prepare)();
    let mut kills = kills.iter();
    let mut kill_at = kills.next().copied();
    let mut killed_with = Vec::new();
    let mut lost = Vec::new();
    let mut args = case.args.to_vec();
    let mut code = -1;
    // Each sitting ends the run, stops it at a question that is answered once, or is a kill.
    for _ in 0..6 + kills.len() {
        match sit(&home, case, &args, kill_at) {
            None => {
                match case.leaves {
                    Leaves::WholeLines => {}
                    Leaves::HalfALine => tear(&home, case),
                    Leaves::DamagedLine => lost.push(damage(&home, case)),
                }
                let journal = home.journal(case.run_id);
                let on_record = (journal.len() + lost.len()) as u64;
                killed_with.push(on_record);
                kill_at = kills.next().map(|more| on_record + more);
                args = match journal.iter().any(|event| event["type"] == "run_start") {
                    true if case.leaves == Leaves::DamagedLine => vec!["resume", case.run_id, "--accept-damage"],
                    true => vec!["resume", case.run_id],
                    // Nothing had begun: there is nothing to go on with.
                    false => {
                        // The run is gone; what the operator set is not the run's.
                        let config = home.read("home/config.toml");
                        fs::remove_dir_all(home.path("home")).expect("removed");
                        if !config.is_empty() {
                            home.write("home/config.toml", config);
                        }
                        lost.clear();
                        case.args.to_vec()
                    }
                };
            }
            Some(ended) => {
                code = ended;
                match case.go_on.iter().find(|(stopped, _)| *stopped == ended) {
                    Some((_, flags)) => args = [&["resume", case.run_id], *flags].concat(),
                    None => break,
                }
            }
        }
    }
    let left = left(&home, case, code);
    Played { home, left, killed_with, lost }
}

/// Starts or resumes the run and lets it go on until event `kill_at`; its exit code if it came to an end.
pub fn sit(home: &TestHome, case: &Case, args: &[&str], kill_at: Option<u64>) -> Option<i32> {
    let answers = remaining(home, case);
    let answers = answers.to_string_lossy();
    let args = [args, &["--json", "--answers", &answers]].concat();
    let gate = Gate::of(home);
    let mut held = None;
    let mut running = home.start(&args);
    while let Some(line) = running.line() {
        let event: Value = serde_json::from_str(&line).expect("stdout is for events");
        if kill_at.is_some_and(|kill_at| event["seq"].as_u64().expect("a number") >= kill_at) {
            running.kill();
            if case.cancels && held.is_none() && home.journal(case.run_id).iter().any(waits_at_the_gate) {
                gate.open();
            }
            return None;
        }
        if case.cancels && waits_at_the_gate(&event) {
            held = Some(gate.reached());
            running.signal(Signal::INT);
        }
    }
    Some(running.finish().code)
}

fn waits_at_the_gate(event: &Value) -> bool {
    event["type"] == "tool_call" && event["args"]["cmd"].as_str().is_some_and(|cmd| cmd.contains("test ! -p"))
}

/// The answers that the journal does not have yet, as a file.
fn remaining(home: &TestHome, case: &Case) -> PathBuf {
    let journal = home.journal(case.run_id);
    let mut left: Vec<_> = case.answers.to_vec();
    for answer in journal.iter().filter(|event| event["type"] == "answer") {
        let asked = journal.iter().find(|event| event["type"] == "question" && event["slot"] == answer["slot"]);
        let kind = asked.expect("an answer follows its question")["question"]["kind"].as_str().expect("a kind");
        if let Some(used) = left.iter().position(|(of, _)| *of == kind) {
            left.remove(used);
        }
    }
    let list: Vec<Value> = left.iter().map(|(kind, answer)| json!({"kind": kind, "answer": answer})).collect();
    home.write("answers.json", Value::from(list).to_string())
}

/// Leaves half a line at the end of the journal.
fn tear(home: &TestHome, case: &Case) {
    let mut file = fs::File::options().append(true).open(home.journal_path(case.run_id)).expect("a journal");
    file.write_all(br#"{"seq":99,"at":"2026-01-01T00:00:00.0"#).expect("written");
}

/// Damages the last line of the journal, and gives the event that it was. Fails unless a resume stops there,
/// says where, and changes nothing.
fn damage(home: &TestHome, case: &Case) -> Value {
    let path = home.journal_path(case.run_id);
    let mut whole = fs::read_to_string(&path).expect("a journal");
    // The kill may have come in the middle of a write: half a line is cut off anyway, and is no damage.
    whole.truncate(whole.rfind('\n').map_or(0, |end| end + 1));
    let last = whole.lines().last().expect("a line");
    let damaged = whole.replacen(last, &last.replacen(':', ";", 1), 1);
    fs::write(&path, &damaged).expect("written");
    home.run(&["resume", case.run_id])
        .expect_code(1)
        .expect_text(&format!("is damaged: line {}: ", whole.lines().count()))
        .expect_text("--accept-damage");
    assert_eq!(fs::read_to_string(&path).expect("a journal"), damaged);
    serde_json::from_str(last).expect("an event")
}

/// What is there of a run that ended with `code`.
pub fn left(home: &TestHome, case: &Case, code: i32) -> Left {
    let journal = home.journal(case.run_id);
    let outcome = journal.last().expect("events")["outcome"].clone();
    let phases = journal.iter().filter(|event| event["type"] == "phase_enter");
    let phases = phases.map(|event| event["phase"].as_str().expect("a phase").to_owned()).collect();
    let mut files = files(&first_run::workdir(home, case.run_id));
    // Who was killed in the middle of writing one leaves it, and the next sweeps it by the line that said so: unless
    // that is the line that was lost.
    files.retain(|name, _| case.leaves != Leaves::DamagedLine || !name.starts_with(".adjutant-tmp-"));
    let remembered = home.read("home/projects/e2e/knowledge.jsonl");
    let remembered = remembered.lines().map(|line| {
        let entry: Value = serde_json::from_str(line).expect("a whole line");
        entry["content"].to_string()
    });
    let effects = home.read("shared/effects").lines().map(str::to_owned).chain(remembered).collect();
    let cancelled = journal.iter().filter(|event| event["type"] == "tool_cancelled").count();
    Left { code, outcome, phases, files, effects, cancelled }
}
