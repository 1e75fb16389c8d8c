//! Plays a case to its end, killed wherever it is told to.
//!
//! Begin with [`Play`].

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

/// State that a run leaves behind.
#[derive(Debug, PartialEq)]
pub struct Left {
    pub code: i32,
    pub outcome: Value,
    pub phases: Vec<String>,
    pub files: BTreeMap<String, Vec<u8>>,
    pub effects: Vec<String>,
    /// Number of calls that the operator cancelled.
    pub cancelled: usize,
}

/// A case that came to its end.
pub struct Played {
    pub left: Left,
    /// Number of events on record at each kill.
    pub killed_with: Vec<u64>,
    /// The events on record that nobody can read any more.
    pub lost: Vec<Value>,
}

/// Most times that a run is started before it is killed or ends: it stops at a question that is answered once, at a
/// limit or at a blocker.
const SITTINGS_MAX: usize = 7;

/// A case on its way to its end, with all that is known of it beside its home: a clone goes on with a copy of the home.
#[derive(Clone)]
pub struct Play<'a> {
    case: &'a Case,
    args: Vec<&'static str>,
    killed_with: Vec<u64>,
    lost: Vec<Value>,
    /// The exit code, once the run came to its end.
    ended: Option<i32>,
}

impl<'a> Play<'a> {
    /// Returns a case that did not begin yet.
    pub fn of(case: &'a Case) -> Self {
        Self { case, args: case.args.to_vec(), killed_with: Vec::new(), lost: Vec::new(), ended: None }
    }

    /// Lets the run go on and kills it at the event that comes `more` after those on record at the kill before; 0 is
    /// the next. A run that ends earlier is not killed.
    pub fn kill_after(&mut self, home: &TestHome, more: u64) {
        let kill_at = self.killed_with.last().copied().unwrap_or(0) + more;
        if self.sit_until(home, Some(kill_at)) {
            return;
        }
        match self.case.leaves {
            Leaves::WholeLines => {}
            Leaves::HalfALine => tear(home, self.case),
            Leaves::DamagedLine => self.lost.push(damage(home, self.case)),
        }
        let journal = home.journal(self.case.run_id);
        self.killed_with.push((journal.len() + self.lost.len()) as u64);
        self.args = match journal.iter().any(|event| event["type"] == "run_start") {
            true if self.case.leaves == Leaves::DamagedLine => vec!["resume", self.case.run_id, "--accept-damage"],
            true => vec!["resume", self.case.run_id],
            // Nothing had begun: there is nothing to go on with.
            false => {
                // The run is gone; what the operator set is not the run's.
                let config = home.read("home/config.toml");
                fs::remove_dir_all(home.path("home")).expect("removed");
                if !config.is_empty() {
                    home.write("home/config.toml", config);
                }
                self.lost.clear();
                self.case.args.to_vec()
            }
        };
    }

    /// Lets the run go on to its end.
    pub fn finish(mut self, home: &TestHome) -> Played {
        self.sit_until(home, None);
        let left = left(home, self.case, self.ended.expect("nothing else stops it"));
        Played { left, killed_with: self.killed_with, lost: self.lost }
    }

    /// Starts and resumes the run until it is killed at event `kill_at` or ends. Returns true if it ended.
    fn sit_until(&mut self, home: &TestHome, kill_at: Option<u64>) -> bool {
        for _ in 0..SITTINGS_MAX {
            if self.ended.is_some() {
                return true;
            }
            let Some(code) = sit(home, self.case, &self.args, kill_at) else { return false };
            match self.case.go_on.iter().find(|(stopped, _)| *stopped == code) {
                Some((_, flags)) => self.args = [&["resume", self.case.run_id], *flags].concat(),
                None => self.ended = Some(code),
            }
        }
        assert!(self.ended.is_some(), "{}: it stopped {SITTINGS_MAX} times and came to no end", self.case.name);
        true
    }
}

/// Starts or resumes the run and lets it go on until event `kill_at`; its exit code if it came to an end.
fn sit(home: &TestHome, case: &Case, args: &[&str], kill_at: Option<u64>) -> Option<i32> {
    let answers = remaining(home, case);
    let answers = answers.to_string_lossy();
    let args = [args, &["--json", "--answers", &answers]].concat();
    let gate = Gate::of(home);
    let mut held = None;
    let mut running = home.start(&args);
    while let Some(line) = running.line() {
        let event: Value = serde_json::from_str(&line).expect("stdout is for events");
        // The last line is no event: the sitting has ended.
        let seq = event["seq"].as_u64();
        if kill_at.is_some_and(|kill_at| seq.is_some_and(|seq| seq >= kill_at)) {
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

/// Reads the state of a run that ended with `code`.
fn left(home: &TestHome, case: &Case, code: i32) -> Left {
    let journal = home.journal(case.run_id);
    let outcome = journal.last().expect("events")["outcome"].clone();
    let phases = journal.iter().filter(|event| event["type"] == "phase_enter");
    let phases = phases.map(|event| event["phase"].as_str().expect("a phase").to_owned()).collect();
    let mut files = files(&first_run::workdir(home, case.run_id));
    // Who was killed in the middle of writing one leaves it, and the next sweeps it by the line that said so: unless
    // that is the line that was lost.
    files.retain(|name, _| case.leaves != Leaves::DamagedLine || !name.starts_with(".adjutant-tmp-"));
    // What tells people how a loop stands has times in it.
    files.retain(|name, _| !name.starts_with(".adjutant/"));
    let remembered = home.read("home/projects/e2e/knowledge.jsonl");
    let remembered = remembered.lines().map(|line| {
        let entry: Value = serde_json::from_str(line).expect("a whole line");
        entry["content"].to_string()
    });
    let effects = home.read("shared/effects").lines().map(str::to_owned).chain(remembered).collect();
    let cancelled = journal.iter().filter(|event| event["type"] == "tool_cancelled").count();
    Left { code, outcome, phases, files, effects, cancelled }
}
