//! The crew of the example, as an operator runs it: planned, done, judged, done again; killed and resumed; by three
//! adapters at once.

use std::fs;

use serde_json::{Value, json};

use crate::example_over_apis::{messages, responses, serve};
use crate::home::TestHome;

const RUN: &str = "2026-01-15-CREW";
const ARGS: &[&str] = &["run", "../examples/crew/brief.md"];

fn events(home: &TestHome, kind: &str) -> Vec<Value> {
    home.journal(RUN).into_iter().filter(|event| event["type"] == kind).collect()
}

fn states(home: &TestHome) -> Vec<String> {
    events(home, "coordinator_state").iter().map(|event| event["state"].as_str().expect("a state").to_owned()).collect()
}

#[track_caller]
fn is_done(home: &TestHome) {
    assert_eq!(home.read("work/hello.txt"), "Hello there!\n");
    assert_eq!(home.read("work/bye.txt"), "Good-bye.\n");
    assert_eq!(
        states(home),
        [
            "plan", "dispatch", "execute", "review_step", "retry", "execute", "review_step", "next_subtask",
            "dispatch", "execute", "review_step", "next_subtask", "complete"
        ]
    );
}

#[test]
fn the_example_is_planned_done_judged_and_done_again() {
    let home = TestHome::with_examples();
    home.run_with(ARGS, b"go\n")
        .expect_code(0)
        .expect_text("planner: scripted")
        .expect_text("1. Write the greeting")
        .expect_text("needs_retry: The line has no exclamation mark.")
        .expect_text("completed");
    is_done(&home);
    // One question in all: the operator's word on the run covers its sub-tasks.
    assert_eq!(events(&home, "question").len(), 1);
    home.run(&["replay", RUN]).expect_code(0);
    home.run(&["inspect", RUN, "--cost"]).expect_code(0).expect_text("reviewer");
    home.run(&["explain", RUN, "3"]).expect_code(0).expect_text("write_file");
    home.run(&["explain", RUN, "--authority"])
        .expect_code(0)
        .expect_text("the brief authorizes: filesystem_write")
        .expect_text("reviewer   may read; may ever hold: filesystem_read; holds here: nothing");
}

#[test]
fn a_crew_that_nobody_confirms_waits_and_goes_on_with_the_answer() {
    let home = TestHome::with_examples();
    home.run_with(ARGS, b"").expect_code(4);
    assert!(!home.path("work/hello.txt").exists());
    home.run_with(&["resume", RUN], b"go\n").expect_code(0);
    is_done(&home);
}

#[test]
fn one_agent_alone_does_what_the_operator_says_alone() {
    let home = TestHome::with_examples();
    let script = json!([crate::home::SUMMARY, "## Phase 4\nAll deliverables are complete.", "Delivered."]);
    home.write("alone.json", script.to_string());
    home.run_with(&[ARGS, &["--single", "--script", "../alone.json"]].concat(), b"go\n").expect_code(0);
    assert_eq!(states(&home), [""; 0]);
}

#[test]
fn what_is_wrong_with_a_crew_is_said_before_phase_0() {
    let home = TestHome::with_examples();
    for (more, said) in [
        (&["--roles", "planner"][..], "a crew needs a planner and an executor"),
        (&["--roles", "planner,executer"], "a role is one of planner, executor, reviewer, critic"),
        (&["--role-adapter", "reviewer=nobody"], "there is no adapter `nobody`"),
        (&["--role-adapter", "reviewer=anthropic"], "ANTHROPIC_API_KEY"),
        (&["--roles", "planner,executor", "--single"], "cannot be used with"),
    ] {
        home.run_with(&[ARGS, more].concat(), b"go\n").expect_code(2).expect_text(said);
        assert!(!home.journal_path(RUN).exists(), "{more:?}");
    }
}

#[test]
fn a_planner_alone_plans_and_leaves_nothing() {
    let home = TestHome::with_examples();
    home.run(&["plan", "../examples/crew/brief.md"])
        .expect_code(0)
        .expect_text("1. Write the greeting")
        .expect_text("2. Write the farewell");
    assert!(!home.journal_path(RUN).exists() && fs::read_dir(home.path("work")).expect("listed").next().is_none());
    home.run(&["roles"]).expect_code(0).expect_text("reviewer   reads, and changes nothing");
    home.run(&["roles", "--json"]).expect_code(0).expect_text("\"may_read\"");
}

#[test]
fn three_adapters_play_one_crew() {
    let home = TestHome::with_examples();
    let plan = "```json\n{\"kind\": \"plan\", \"subtasks\": [{\"id\": \"hello\", \"title\": \"Greet\", \"instruction\": \"Write hello.txt.\", \"acceptance_criteria\": [\"it is there\"]}]}\n```";
    let review = "```json\n{\"kind\": \"review\", \"subtask_id\": \"hello\", \"verdict\": \"pass\", \"rationale\": \"It is there.\"}\n```";
    let looks = json!({"call_id": "c1", "name": "read_file", "args": {"path": "hello.txt"}});
    let planner = serve(vec![messages(plan, &[])]);
    let reviewer = serve(vec![responses("I look.", &[looks]), responses(review, &[])]);
    let variables = [
        ("ANTHROPIC_API_KEY", "sk-ant-test"),
        ("ANTHROPIC_BASE_URL", planner.as_str()),
        ("OPENAI_API_KEY", "sk-test"),
        ("OPENAI_BASE_URL", reviewer.as_str()),
    ];
    let more = ["--role-adapter", "planner=anthropic:m1", "--role-adapter", "reviewer=openai:m2"];
    let mut running = home.start_with(&[ARGS, &more[..]].concat(), &variables);
    for line in
        ["planner: anthropic:m1", "executor: scripted", "reviewer: openai:m2", "? Is this summary what you want?"]
    {
        running.until(line);
    }
    running.type_line("go");
    running.finish().expect_code(0);
    assert_eq!(home.read("work/hello.txt"), "Hello there\n");
    let asked: Vec<(String, u64)> = events(&home, "agent_request")
        .iter()
        .map(|event| (event["part"].as_str().expect("a part").to_owned(), event["agent"].as_u64().unwrap_or(0)))
        .collect();
    let of = |part: &str| {
        asked.iter().filter(|(other, _)| other.ends_with(part)).map(|(_, agent)| *agent).collect::<Vec<_>>()
    };
    assert_eq!((of("planner"), of("reviewer")), (vec![1], vec![2, 2]));
    assert!(of("executor").iter().all(|agent| *agent == 0));
}
