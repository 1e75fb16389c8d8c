//! One way to each exit code, and what is said where something was typed wrong.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, TestHome, brief};

const AUTHORIZED: &str = "mode: auto\nauthorized_costs:\n  - shell_exec";
const REPORT: &str = "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n";

fn go() -> Value {
    json!([{"kind": "confirmation", "answer": "go"}])
}

/// Checks how a script ends, by exit code and closing words.
#[track_caller]
fn check(turns: Value, answers: Option<Value>, flags: &[&str], code: i32, closing: &str) {
    let home = TestHome::new();
    home.scripted(AUTHORIZED, &turns);
    let mut args = [&["run", "../brief.md"], flags].concat();
    if let Some(answers) = answers {
        home.write("answers.json", answers.to_string());
        args.extend(["--answers", "../answers.json"]);
    }
    home.run(&args).expect_code(code).expect_text(closing);
}

#[test]
fn each_way_to_end_has_its_code() {
    let done = json!([SUMMARY, {"repeat": 2, "text": REPORT}]);
    check(done.clone(), Some(go()), &[], 0, "run 2026-02-03-E2E: completed");
    let failing = json!([{"fail": {"kind": "permanent", "message": "the key is not valid"}}]);
    check(failing, Some(go()), &[], 1, "the key is not valid");
    let blocked = json!([SUMMARY, "## Phase 2\n\nBlocked: no colour.\nNeeded: its name."]);
    check(blocked, Some(go()), &[], 3, "go on: adjutant resume 2026-02-03-E2E --context");
    check(done.clone(), None, &[], 4, "waiting (confirmation)");
    check(done.clone(), Some(json!([])), &[], 4, "waiting (confirmation)");
    let slow = json!([SUMMARY, "One step.", "Another.", "A third.", REPORT]);
    check(slow, Some(go()), &["--max-steps", "1"], 5, "go on: adjutant resume 2026-02-03-E2E --extend");
    check(done, Some(json!(["no"])), &[], 6, "declined; nothing was done");
}

#[test]
fn an_interrupted_run_ends_with_130_and_can_be_resumed() {
    let home = TestHome::new();
    let call = json!({"tool": "shell_exec", "args": {"cmd": "sleep 600"}});
    let turns = json!([SUMMARY, {"text": "I wait.", "calls": [call]}, {"repeat": 2, "text": REPORT}]);
    home.scripted("mode: auto\nauthorized_costs:\n  - shell_exec", &turns);
    home.write("answers.json", go().to_string());
    let mut running = home.start(&["run", "../brief.md", "--answers", "../answers.json"]);
    running.until("shell_exec sleep 600");
    running.signal(Signal::TERM);
    running.finish().expect_code(130).expect_text("go on: adjutant resume 2026-02-03-E2E");
    home.run(&["resume", RUN, "--answers", "../answers.json"]).expect_code(0);
}

#[test]
fn what_is_typed_wrong_is_told_with_a_way_out() {
    let home = TestHome::new();
    home.scripted(AUTHORIZED, &json!([SUMMARY, {"repeat": 2, "text": REPORT}]));
    home.write("bad.md", "---\nproject: Not A Slug\nauthorised_costs: [x]\n---\n# Deliverables\n");
    home.write("plain.md", brief("").replace("adapter: scripted\nscript: script.json\n", ""));
    home.write("answers.txt", "- {kind: nonsense, answer: y}\n");
    home.write("answers.map", "confirmation: go\n");
    home.write("answers.open", "- \"go\n");
    for (args, code, said) in [
        (&["run", "../missing.md"][..], 2, "hint: `adjutant new`"),
        (&["run", "../bad.md"], 2, "project"),
        (&["run", "../plain.md"], 2, "nothing says who takes the turns"),
        (&["run", "../plain.md"], 2, "`--script FILE` plays a script"),
        (&["run", "../plain.md", "--adapter", "scripted"], 2, "the adapter `scripted` needs a script to play"),
        (&["plan", "../plain.md"], 2, "nothing says who takes the turns"),
        (&["validate", "../missing.md"], 2, "missing.md"),
        (&["run", "../brief.md", "--adapter", "nobody"], 2, "hint: the adapters are: "),
        (&["run", "../brief.md", "--mode", "fast"], 2, "a mode is `gated` or `auto`"),
        (&["run", "../brief.md", "--max-step", "3"], 2, "--max-steps"),
        (&["run", "../brief.md", "--max-steps", "0"], 2, "--max-steps"),
        (&["run", "../brief.md", "--workdir", "../nowhere"], 2, "hint: name a folder that is there"),
        (&["run", "../brief.md", "--script", "../nowhere"], 2, "nowhere"),
        (&["run", "../brief.md", "--answers", "../answers.txt"], 2, "no question is of kind `nonsense`"),
        (&["run", "../brief.md", "--answers", "../answers.map"], 2, "not a list of answers"),
        (&["run", "../brief.md", "--answers", "../answers.open"], 2, "not a list of answers"),
        (&["ru", "../brief.md"], 2, "'run'"),
        (&["decide", "gat"], 2, "'gate'"),
        (&["resume", "nothing"], 1, "hint: "),
        (&["inspect", "nothing"], 1, "hint: "),
        (&["replay", "nothing"], 1, "hint: "),
        (&[], 2, "Usage: adjutant"),
    ] {
        let found = home.run(args);
        assert_eq!(found.code, code, "{args:?}: {found:?}");
        assert!(found.stderr.contains(said), "{args:?}: `{said}` is not in {}", found.stderr);
        assert_eq!(found.stdout, "", "{args:?}");
    }
    // A brief's problems are what `validate` is asked for, so they are its result.
    let judged = home.run(&["validate", "../bad.md"]).expect_code(2);
    assert!(judged.stdout.contains("Objective") && judged.stdout.contains("authorized_costs"), "{judged:?}");
    // None of it left a run behind.
    let listed = home.run(&["list", "--json"]).expect_code(0);
    assert_eq!(listed.stdout.trim(), "[]");
}

#[test]
fn a_finished_run_is_not_resumed_and_says_how_it_ended() {
    let home = TestHome::new();
    home.scripted(AUTHORIZED, &json!([SUMMARY, {"repeat": 2, "text": REPORT}]));
    home.write("go.json", go().to_string());
    home.write("no.json", json!(["no"]).to_string());
    home.run(&["run", "../brief.md", "--answers", "../go.json"]).expect_code(0);
    let before = home.journal(RUN);
    home.run(&["resume", RUN]).expect_code(0).expect_text("is over already");
    let for_programs = home.run(&["resume", RUN, "--json"]).expect_code(0).expect_text("is over already");
    assert_eq!(for_programs.stdout, "", "stdout is for events");
    assert_eq!(home.journal(RUN), before);
    home.run(&["run", "../brief.md", "--answers", "../no.json"]).expect_code(6);
    home.run(&["resume", "2026-02-03-E2E-r2"]).expect_code(6).expect_text("is over already");
}

#[test]
fn a_second_run_of_a_brief_is_refused_while_one_is_unfinished() {
    let home = TestHome::new();
    home.scripted(AUTHORIZED, &json!([SUMMARY, {"repeat": 2, "text": REPORT}]));
    home.write("go.json", go().to_string());
    home.run(&["run", "../brief.md"]).expect_code(4);
    let refused = home.run(&["run", "../brief.md", "--answers", "../go.json"]).expect_code(4);
    assert!(refused.stderr.contains("the run `2026-02-03-E2E` of this brief is unfinished"), "{}", refused.stderr);
    assert!(refused.stderr.contains("`adjutant resume 2026-02-03-E2E` goes on with it"), "{}", refused.stderr);
    home.run(&["run", "../brief.md", "--new", "--answers", "../go.json"]).expect_code(0).expect_text("E2E-r2");
    // The bare id means the latest run, `-r1` the first.
    home.run(&["resume", RUN]).expect_code(0).expect_text("is over already");
    home.run(&["resume", "2026-02-03-E2E-r1", "--answers", "../go.json"]).expect_code(0);
}
