//! A run that is killed after any event and resumed ends as one that was never killed.
//!
//! Real processes: the binary prints each event once it is in the journal; at event N it is killed, then
//! resumed with the answers that were not used yet. It does not wait for the kill, so that a few events
//! more may be on record; the simulator in `core` stops at each of them exactly. Commands append to a log
//! outside the journal, which shows each effect at most once.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::first_run;
use crate::home::{RUN, SUMMARY, TestHome, files};

/// One script and the operator who answers it.
struct Case {
    name: &'static str,
    run_id: &'static str,
    prepare: fn() -> TestHome,
    args: &'static [&'static str],
    /// Kind and answer, in the order in which they are needed.
    answers: &'static [(&'static str, &'static str)],
    /// What a run that stops with this exit code is resumed with.
    go_on: &'static [(i32, &'static [&'static str])],
    /// Files that an interrupted call may or may not have changed.
    unsure: &'static [&'static str],
    /// Whether the kill also leaves half a line at the end of the journal, as a power cut would.
    tears: bool,
}

/// What a run leaves behind.
#[derive(Debug, PartialEq)]
struct Left {
    code: i32,
    outcome: Value,
    phases: Vec<String>,
    files: BTreeMap<String, Vec<u8>>,
    effects: Vec<String>,
}

const PLAIN: &[&str] = &["run", "../brief.md"];
const AUTHORIZED: &str = "mode: auto\nauthorized_costs:\n  - shell_exec\n  - filesystem_write";
const REPORT: &str = "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n- Open: nothing.\n";

const CASES: &[Case] = &[
    Case {
        name: "first run",
        run_id: "2026-01-15-FIRST",
        prepare: TestHome::with_examples,
        args: first_run::ARGS,
        answers: &[("confirmation", "go"), ("destructive", "y"), ("destructive", "y")],
        go_on: &[],
        unsure: &["build/VERSION", "build/orders.out"],
        tears: false,
    },
    Case {
        name: "blocker",
        run_id: RUN,
        prepare: || {
            scripted(AUTHORIZED, |home| {
                json!([
                    SUMMARY,
                    {"text": "The first part.", "calls": [effect_call(home, "one")]},
                    "## Phase 2\n\nBlocker: the colour is not in the brief.\nNeeded: its name.",
                    {"text": "Now I know.", "calls": [effect_call(home, "two")]},
                    {"repeat": 3, "text": REPORT},
                ])
            })
        },
        args: PLAIN,
        answers: &[("confirmation", "go")],
        go_on: &[(3, &["--context", "the colour is blue"])],
        unsure: &["one", "two"],
        tears: false,
    },
    Case {
        name: "denial",
        run_id: RUN,
        prepare: || {
            scripted(AUTHORIZED, |home| {
                json!([
                    SUMMARY,
                    "I'll delete the old build folder.",
                    {"when": {"contains": "keep it"}, "text": "Then it stays.", "calls": [effect_call(home, "instead")]},
                    {"repeat": 3, "text": REPORT},
                ])
            })
        },
        args: PLAIN,
        answers: &[("confirmation", "go"), ("destructive", "n: keep it")],
        go_on: &[],
        unsure: &["instead"],
        tears: false,
    },
    Case {
        name: "several calls in one turn",
        run_id: RUN,
        prepare: || {
            scripted(AUTHORIZED, |home| {
                json!([
                    SUMMARY,
                    {"text": "All at once.", "calls": [
                        effect_call(home, "one"),
                        {"tool": "write_file", "args": {"path": "written", "content": "by a tool\n"}},
                        {"tool": "read_file", "args": {"path": "start"}},
                        {"tool": "list_dir", "args": {"path": "."}},
                        effect_call(home, "two"),
                    ]},
                    {"repeat": 3, "text": REPORT},
                ])
            })
        },
        args: PLAIN,
        answers: &[("confirmation", "go")],
        go_on: &[],
        unsure: &["one", "two"],
        tears: false,
    },
    Case {
        name: "approval for the run",
        run_id: RUN,
        prepare: || {
            scripted("mode: auto", |home| {
                json!([
                    SUMMARY,
                    {"text": "The first command.", "calls": [effect_call(home, "one")]},
                    {"text": "The second command.", "calls": [effect_call(home, "two")]},
                    {"repeat": 3, "text": REPORT},
                ])
            })
        },
        args: PLAIN,
        answers: &[("confirmation", "go"), ("destructive", "Y")],
        go_on: &[],
        unsure: &["one", "two"],
        tears: false,
    },
    Case {
        name: "max steps",
        run_id: RUN,
        prepare: || {
            scripted(AUTHORIZED, |home| {
                json!([
                    SUMMARY,
                    {"text": "The first part.", "calls": [effect_call(home, "one")]},
                    "More will follow.",
                    {"text": "The second part.", "calls": [effect_call(home, "two")]},
                    "Nearly there.",
                    {"repeat": 3, "text": REPORT},
                ])
            })
        },
        args: &["run", "../brief.md", "--max-steps", "1"],
        answers: &[("confirmation", "go")],
        go_on: &[(5, &["--extend", "5"])],
        unsure: &["one", "two"],
        tears: false,
    },
    Case {
        name: "huge output",
        run_id: RUN,
        prepare: || {
            scripted(AUTHORIZED, |home| {
                let log = home.path("effects");
                let much = format!("echo much >> '{}'; seq 1 40000", log.display());
                json!([
                    SUMMARY,
                    {"text": "Much to read.", "calls": [{"tool": "shell_exec", "args": {"cmd": much}}]},
                    {"text": "And a little.", "calls": [{"tool": "read_file", "args": {"path": "start"}}]},
                    {"repeat": 3, "text": REPORT},
                ])
            })
        },
        args: PLAIN,
        answers: &[("confirmation", "go")],
        go_on: &[],
        unsure: &[],
        tears: false,
    },
    Case {
        name: "mode switch",
        run_id: RUN,
        prepare: || {
            scripted("mode: gated\nauthorized_costs:\n  - shell_exec", |home| {
                json!([
                    SUMMARY,
                    {"text": "The first part.", "calls": [effect_call(home, "one")]},
                    "That was it.",
                    "As you wish.",
                    {"text": "The second part.", "calls": [effect_call(home, "two")]},
                    {"repeat": 3, "text": REPORT},
                ])
            })
        },
        args: PLAIN,
        answers: &[("confirmation", "go"), ("step", "use tabs"), ("step", "auto")],
        go_on: &[],
        unsure: &["one", "two"],
        tears: false,
    },
    Case {
        name: "damaged line",
        run_id: RUN,
        prepare: || {
            scripted(AUTHORIZED, |home| {
                json!([
                    SUMMARY,
                    {"text": "A file.", "calls": [{"tool": "write_file", "args": {"path": "written", "content": "x\n"}}]},
                    {"text": "A bad patch.", "calls": [{"tool": "apply_patch", "args": {"diff": "nonsense"}}]},
                    {"text": "A command.", "calls": [effect_call(home, "one")]},
                    {"repeat": 3, "text": REPORT},
                ])
            })
        },
        args: PLAIN,
        answers: &[("confirmation", "go")],
        go_on: &[],
        unsure: &["one"],
        tears: true,
    },
];

/// A command that leaves a file in the workdir and a line in the log of effects.
fn effect_call(home: &TestHome, name: &str) -> Value {
    let log = home.path("effects");
    json!({"tool": "shell_exec", "args": {"cmd": format!("echo {name} >> '{}'; echo {name} > {name}", log.display())}})
}

fn scripted(fields: &str, turns: fn(&TestHome) -> Value) -> TestHome {
    let home = TestHome::new();
    home.write("work/start", "as it was\n");
    home.scripted(fields, &turns(&home));
    home
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

/// Starts or resumes the run and lets it go on until event `kill_at`; its exit code if it came to an end.
fn sit(home: &TestHome, case: &Case, args: &[&str], kill_at: Option<u64>) -> Option<i32> {
    let answers = remaining(home, case);
    let answers = answers.to_string_lossy();
    let args = [args, &["--json", "--answers", &answers]].concat();
    let mut running = home.start(&args);
    if let Some(kill_at) = kill_at {
        while let Some(line) = running.line() {
            let event: Value = serde_json::from_str(&line).expect("an event");
            if event["seq"].as_u64().expect("a number") >= kill_at {
                running.kill();
                return None;
            }
        }
    }
    Some(running.finish().code)
}

/// Plays a case to its end, killed once at event `kill_at`, if that comes.
fn play(case: &Case, kill_at: Option<u64>) -> (TestHome, Left, u64) {
    let home = (case.prepare)();
    let mut args = case.args.to_vec();
    let mut kill_at = kill_at;
    let mut killed_with = 0;
    let mut code = -1;
    // Each sitting ends the run, stops it at a question that is answered once, or is the one kill.
    for _ in 0..6 {
        match sit(&home, case, &args, kill_at) {
            None => {
                killed_with = home.journal(case.run_id).len() as u64;
                if case.tears {
                    tear(&home, case);
                }
                kill_at = None;
                args = match home.journal(case.run_id).iter().any(|event| event["type"] == "run_start") {
                    true => vec!["resume", case.run_id],
                    // Nothing had begun: there is nothing to go on with.
                    false => {
                        std::fs::remove_dir_all(home.path("home")).expect("removed");
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
    (home, left, killed_with)
}

/// Leaves half a line at the end of the journal.
fn tear(home: &TestHome, case: &Case) {
    let journal = home.path(&format!("home/sessions/{}.trace.ndjson", case.run_id));
    let mut file = std::fs::File::options().append(true).open(journal).expect("a journal");
    file.write_all(br#"{"seq":99,"at":"2026-01-01T00:00:00.0"#).expect("written");
}

fn left(home: &TestHome, case: &Case, code: i32) -> Left {
    let journal = home.journal(case.run_id);
    let outcome = journal.last().expect("events")["outcome"].clone();
    let phases = journal.iter().filter(|event| event["type"] == "phase_enter");
    let phases = phases.map(|event| event["phase"].as_str().expect("a phase").to_owned()).collect();
    let files = files(&first_run::workdir(home, case.run_id));
    let effects = home.read("effects").lines().map(str::to_owned).collect();
    Left { code, outcome, phases, files, effects }
}

/// Whether the agent was told of a call whose effect nobody knows.
fn has_unknown_effect(home: &TestHome, case: &Case) -> bool {
    let journal = home.journal(case.run_id);
    journal.iter().any(|event| event["type"] == "tool_rejected" && event["rejection"] == "effect_unknown")
}

/// Kills a case at event `kill_at` and compares what is left with the run that was not killed.
fn check(case: &Case, kill_at: u64, unkilled: &Left) -> Verdict {
    let (home, mut found, killed_with) = play(case, Some(kill_at));
    let place = format!("{}, killed at event {kill_at} with {killed_with} on record", case.name);
    let mut once = found.effects.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), found.effects.len(), "{place}: an effect happened twice: {:?}", found.effects);

    let unsure = has_unknown_effect(&home, case);
    let mut expected_files = unkilled.files.clone();
    if unsure {
        for name in case.unsure {
            expected_files.remove(*name);
            found.files.remove(*name);
        }
    } else {
        assert_eq!(found.effects, unkilled.effects, "{place}");
    }
    let interrupted =
        |journal: &[Value]| journal.iter().any(|event| event["type"] == "interrupted" && event["effect"] == "unknown");
    let journal = home.journal(case.run_id);
    assert_eq!(interrupted(&journal), unsure, "{place}: an unknown effect is told, and nothing else is");
    assert_eq!(
        (found.code, &found.outcome, &found.phases, &found.files),
        (unkilled.code, &unkilled.outcome, &unkilled.phases, &expected_files),
        "{place}"
    );
    Verdict { killed_with, unsure }
}

struct Verdict {
    killed_with: u64,
    unsure: bool,
}

/// Kills a case at every event, two at a time.
fn check_everywhere(case: &Case) {
    let (home, unkilled, _) = play(case, None);
    assert_eq!(unkilled.code, 0, "{}: {unkilled:?}", case.name);
    let events = home.journal(case.run_id).len();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut verdicts = Vec::new();
        loop {
            let kill_at = next.fetch_add(1, Ordering::Relaxed);
            if kill_at >= events {
                return verdicts;
            }
            verdicts.push(check(case, kill_at as u64, &unkilled));
        }
    };
    let verdicts: Vec<Verdict> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no check fails")).collect()
    });
    assert_eq!(verdicts.len(), events);
    let mut places: Vec<u64> = verdicts.iter().map(|verdict| verdict.killed_with).collect();
    places.sort_unstable();
    places.dedup();
    println!(
        "{}: {events} kills, {} different lengths of the journal, {} with an unknown effect",
        case.name,
        places.len(),
        verdicts.iter().filter(|verdict| verdict.unsure).count()
    );
}

#[test]
fn the_first_run_survives_a_kill_after_every_event() {
    check_everywhere(&CASES[0]);
}

#[test]
fn a_blocked_run_survives_a_kill_after_every_event() {
    check_everywhere(&CASES[1]);
}

#[test]
fn a_denied_run_survives_a_kill_after_every_event() {
    check_everywhere(&CASES[2]);
}

#[test]
fn several_calls_in_one_turn_survive_a_kill_after_every_event() {
    check_everywhere(&CASES[3]);
}

#[test]
fn an_approval_for_the_run_survives_a_kill_after_every_event() {
    check_everywhere(&CASES[4]);
}

#[test]
fn a_run_at_its_limit_survives_a_kill_after_every_event() {
    check_everywhere(&CASES[5]);
}

#[test]
fn a_run_with_huge_output_survives_a_kill_after_every_event() {
    check_everywhere(&CASES[6]);
}

#[test]
fn a_run_whose_mode_changes_survives_a_kill_after_every_event() {
    check_everywhere(&CASES[7]);
}

#[test]
fn a_torn_line_after_a_kill_at_every_event_changes_nothing() {
    check_everywhere(&CASES[8]);
}

/// Kills the run while its only command stands between its effect and its end, and resumes it.
#[test]
fn a_command_that_had_its_effect_before_the_kill_is_not_run_again() {
    let home = TestHome::new();
    let [log, gate] = [home.path("effects"), home.path("gate")];
    // Opening the gate waits for whoever holds its other end: here that is this test.
    let command = format!("echo one >> '{}'; test ! -p '{1}' || cat '{1}'", log.display(), gate.display());
    home.scripted(
        AUTHORIZED,
        &json!([
            SUMMARY,
            {"text": "Once.", "calls": [{"tool": "shell_exec", "args": {"cmd": command}}]},
            {"when": {"contains": "unknown"}, "text": "Then I look first.", "calls": [
                {"tool": "list_dir", "args": {"path": "."}},
            ]},
            {"repeat": 3, "text": REPORT},
        ]),
    );
    home.write("go.json", json!(["go"]).to_string());
    let made = std::process::Command::new("mkfifo").arg(&gate).status().expect("mkfifo");
    assert!(made.success());

    let mut running = home.start(&["run", "../brief.md", "--json", "--answers", "../go.json"]);
    running.until("\"type\":\"tool_call\"");
    let held = std::fs::File::options().write(true).open(&gate).expect("the command is at the gate");
    assert_eq!(home.read("effects"), "one\n");
    running.kill();
    std::fs::remove_file(&gate).expect("removed");
    drop(held);

    let resumed = home.run(&["resume", RUN, "--answers", "../go.json"]).expect_code(0);
    assert_eq!(home.read("effects"), "one\n");
    assert!(resumed.stdout.contains("Then I look first."), "the agent was told: {}", resumed.stdout);
    let journal = home.journal(RUN);
    let told = journal.iter().find(|event| event["type"] == "tool_rejected").expect("a word to the agent");
    assert_eq!(told["rejection"], "effect_unknown");
}
