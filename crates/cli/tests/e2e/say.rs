//! Tests messages that an operator sends to a run from another terminal: pause, stop, steer, amend.

use serde_json::{Value, json};

use crate::home::{RUN, Running, SUMMARY, TestHome};

const ARGS: &[&str] = &["run", "../brief.md"];
const REPORT: [&str; 2] = ["## Phase 4\nAll deliverables are complete.", "Delivered."];

/// A gated run that waits between its first two steps, with a writing call in the second.
fn waiting(home: &TestHome) -> Running {
    let write =
        json!({"text": "I write it.", "calls": [{"tool": "write_file", "args": {"path": "out.txt", "content": "x"}}]});
    home.scripted("mode: gated", &json!([SUMMARY, "The first step is done.", write, REPORT[0], REPORT[1]]));
    let mut running = home.start(ARGS);
    running.until("? Is this summary what you want?");
    running.type_line("go");
    running.until("Go on");
    running
}

fn events(home: &TestHome, kind: &str) -> Vec<Value> {
    home.journal(RUN).into_iter().filter(|event| event["type"] == kind).collect()
}

#[test]
fn a_running_agent_is_told_something_at_its_next_turn() {
    let home = TestHome::new();
    let mut running = waiting(&home);
    home.run(&["steer", RUN, "mind", "the", "gap"]).expect_code(0).expect_text("the agent is told at its next turn");
    running.until("steer=mind the gap");
    running.type_line("auto");
    running.type_line("y");
    running.finish();
    let told: Vec<Value> = events(&home, "message").into_iter().filter(|event| event["kind"] == "steer").collect();
    assert_eq!(told.len(), 1);
    assert!(told[0]["text"].as_str().expect("text").contains("mind the gap"));
    let heard = events(&home, "operator_message");
    assert_eq!((heard.len(), &heard[0]["by"]), (1, &json!("operator")));
}

#[test]
fn one_part_that_is_at_work_is_told_and_another_name_is_refused_with_those_there_are() {
    let home = TestHome::new();
    let mut running = waiting(&home);
    home.run(&["steer", RUN, "--part", "critic", "mind the gap"])
        .expect_code(2)
        .expect_text("no part called `critic` is at work")
        .expect_text("at work: `session`");
    home.run(&["steer", RUN, "--part", "session", "mind the gap"])
        .expect_code(0)
        .expect_text("session is told at its next turn");
    running.until("steer=mind the gap");
    running.type_line("auto");
    running.type_line("y");
    running.finish();
    let heard = events(&home, "operator_message");
    assert_eq!((heard.len(), &heard[0]["part"]), (1, &json!("session")));
}

#[test]
fn an_amended_brief_is_what_the_gate_goes_by() {
    let home = TestHome::new();
    let mut running = waiting(&home);
    home.run(&["amend", RUN, "--authorize", "filesystem_write", "--max-turns", "50"])
        .expect_code(0)
        .expect_text("authorized from here on: filesystem_write")
        .expect_text("limit from here on: 50 turns");
    running.until("amend: authorized from here on: filesystem_write");
    running.type_line("auto");
    running.finish().expect_code(0);
    assert_eq!(home.read("work/out.txt"), "x");
    home.run(&["replay", RUN]).expect_code(0);
}

#[test]
fn a_run_is_paused_gone_on_with_and_stopped_from_elsewhere() {
    let home = TestHome::new();
    let mut running = waiting(&home);
    home.run(&["pause", RUN]).expect_code(0).expect_text("it stands still");
    running.until("says (inbox): pause");
    running.finish().expect_code(130);
    home.run(&["pause", RUN]).expect_code(0).expect_text("no worker goes on with it");
    // The pause is over once somebody goes on.
    let mut running = home.start(&["resume", RUN]);
    running.until("Go on");
    home.run(&["stop", RUN]).expect_code(0);
    running.until("says (inbox): stop");
    running.finish().expect_code(6);
    home.run(&["steer", RUN, "too late"]).expect_code(2).expect_text("is over");
}

#[test]
fn what_can_not_be_amended_is_said() {
    let home = TestHome::new();
    home.scripted("authorized_costs: ['*']", &json!([SUMMARY]));
    home.run_with(ARGS, b"").expect_code(4);
    for (more, said) in [
        (&[][..], "nothing is amended"),
        (&["--authorize", "everything"], "there is no category `everything`"),
        (&["--withdraw", "git_push"], "authorized is: *; withdraw that"),
        (&["--scope", "[a"], "is no path or pattern of paths"),
        (&["--scope", "src"], "no scope of paths to amend"),
        (&["--max-turns", "0"], "invalid value"),
    ] {
        home.run(&[&["amend", RUN], more].concat()).expect_code(2).expect_text(said);
    }
    // Nobody drives it: it is there when it is resumed.
    home.run(&["amend", RUN, "--withdraw", "*", "--authorize", "git_write"])
        .expect_code(0)
        .expect_text("not running; the brief is amended when the run goes on: adjutant resume");
    home.run(&["steer", "nobody", "x"]).expect_code(1);
    home.run(&["steer", RUN, " "]).expect_code(2).expect_text("nothing to tell");
}

#[test]
fn what_was_said_while_nobody_drove_a_crew_is_heard_before_anything_is_done() {
    let parked = || {
        let home = TestHome::with_examples();
        let script = home.read("examples/crew/script.yaml").replace("needs_retry", "fail");
        home.write("examples/crew/script.yaml", script);
        home.run_with(&["run", "../examples/crew/brief.md"], b"go\n").expect_code(4).expect_text("escalation");
        home
    };
    let run = "2026-01-15-CREW";
    let calls = |home: &TestHome| {
        home.journal(run).iter().filter(|event| event["type"] == "tool_call" && event["name"] == "write_file").count()
    };
    for answer in ["retry", "pass"] {
        let home = parked();
        home.run(&["stop", run])
            .expect_code(0)
            .expect_text("not running; it ends when a worker takes it up, or at once with: adjutant resume");
        home.run(&["inbox", "answer", run, answer]).expect_code(0);
        home.run(&["resume", run]).expect_code(6);
        assert_eq!(calls(&home), 1, "{answer}: nothing is done after a stop");
    }
    let home = parked();
    home.run(&["amend", run, "--withdraw", "filesystem_write"]).expect_code(0);
    home.run(&["inbox", "answer", run, "retry"]).expect_code(0);
    home.run(&["resume", run]).expect_code(4);
    assert_eq!(calls(&home), 1, "what is withdrawn is withdrawn from the first turn on");
    let authority = home.run(&["explain", run, "--authority"]).expect_code(0).stdout;
    let first = authority.lines().next().unwrap_or_default();
    assert!(first.starts_with("the brief authorizes: ") && !first.contains("filesystem_write"), "{authority}");
}
