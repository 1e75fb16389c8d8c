//! Sessions whose agent repeats itself, or says too early that all is done, killed anywhere.

use std::collections::BTreeSet;
use std::sync::Arc;

use adjutant_core::gate::checks::Checks;
use adjutant_core::procedure::run::Run;
use adjutant_core::session::{AgentLimits, Session, Setup};
use adjutant_core::trace::{AskEvent, Body, Event, RULES_VERSION, RunEvent, RunOptions, RunStart, TurnEvent, Versions};
use adjutant_core::words::tool::ToolEffect;
use adjutant_core::words::{Category, Message, MessageKind, Outcome, Part, QuestionKind};
use serde_json::json;

use crate::simulator::{self, Ended, Plan, Said, World, alone, call, kind, simulate, tool};

const SUMMARY: &str = "## Phase 0\n\n**Objective**: build\n**Deliverables**: one\n**Constraints**: two\n**Tools required**: three\n**Unknowns**: none";
const DONE: &str = "## Phase 4\nEverything shipped.";

fn setup(checks: &[&str]) -> Arc<Setup> {
    Arc::new(Setup {
        tools: vec![
            tool("write_file", "filesystem_write", ToolEffect::WritesFiles),
            tool("look", "filesystem_read", ToolEffect::Reads),
        ]
        .into(),
        authorized: vec![Category::new("filesystem_write")],
        agents: vec![AgentLimits { place: 0, name: "first".to_owned(), window: None, output_max: 4_000 }],
        end_checks: Checks::new(checks.iter().map(|check| (*check).to_owned()).collect()),
        ..simulator::setup()
    })
}

/// Returns a run that begins by these rules.
fn begun(setup: &Arc<Setup>, rules: u32) -> Run<Session> {
    let mut run = alone(setup);
    let body = Body::Run(RunEvent::RunStart(Box::new(RunStart {
        run_id: "again".parse().expect("a name"),
        brief_id: "again".parse().expect("a name"),
        project: String::new(),
        brief_path: None,
        brief: String::new(),
        tools: Vec::new(),
        offered: None,
        options: RunOptions::default(),
        versions: Versions { adjutant: String::new(), standing_orders: 1, rules },
    })));
    run.apply(&Event { seq: 0, at: jiff::Timestamp::UNIX_EPOCH, part: Part::root(), body });
    run
}

fn world(script: Vec<Said>) -> World {
    World {
        scripts: [("session".to_owned(), script)].into(),
        answers: [("confirmation", vec!["go auto".to_owned()])].into(),
        writes: BTreeSet::from(["write_file"]),
        reads: BTreeSet::from(["look"]),
        ..World::default()
    }
}

fn look(id: usize) -> Said {
    Said::calls("Looking.", vec![call(&format!("c{id}"), "look", json!({"path": "a", "reason": id}))])
}

fn write(content: &str) -> Said {
    Said::calls("Writing.", vec![call(content, "write_file", json!({"path": "src", "content": content}))])
}

fn said(ended: &Ended, of: MessageKind) -> usize {
    let is_it = |event: &&Event| matches!(&event.body, Body::Turn(TurnEvent::Message { kind, .. }) if *kind == of);
    ended.journal.iter().filter(is_it).count()
}

fn asked(ended: &Ended, of: QuestionKind) -> usize {
    let is_it =
        |event: &&Event| matches!(&event.body, Body::Ask(AskEvent::Question { question, .. }) if question.kind == of);
    ended.journal.iter().filter(is_it).count()
}

#[track_caller]
fn everywhere(make: &dyn Fn() -> Run<Session>, world: &World, check: &dyn Fn(&Ended)) {
    let whole = simulate(make, world, &Plan::default()).expect("no rule is broken");
    check(&whole);
    for first in 1..=whole.ticks {
        let plan = Plan { kills: BTreeSet::from([first]), ..Plan::default() };
        check(&simulate(make, world, &plan).unwrap_or_else(|violation| panic!("{plan:?}: {violation:?}")));
    }
}

#[test]
fn forty_equal_calls_are_told_after_three_and_asked_about_after_ten() {
    let mut script = vec![Said::text(SUMMARY)];
    script.extend((0..40).map(look));
    let setup = setup(&[]);
    everywhere(&|| begun(&setup, RULES_VERSION), &world(script.clone()), &|ended| {
        assert_eq!(ended.outcome, None);
        assert_eq!(ended.open.iter().map(|(_, kind)| *kind).collect::<Vec<_>>(), [QuestionKind::Stuck]);
        assert_eq!(said(ended, MessageKind::Nudge), 1);
        let turns = ended.journal.iter().filter(|event| kind(&event.body) == "agent_reply").count();
        assert_eq!(turns, 11, "the summary, and ten that brought the same");
    });
    // A run of an earlier version goes on as it did.
    let ended = simulate(&|| begun(&setup, 1), &world(script), &Plan::default()).expect("no rule is broken");
    assert_eq!(asked(&ended, QuestionKind::Stuck), 0);
    let turns = ended.journal.iter().filter(|event| kind(&event.body) == "agent_reply").count();
    assert!(turns > 40, "{turns}");
}

#[test]
fn a_hint_begins_the_counting_anew_and_done_leaves_for_the_report() {
    let mut script = vec![Said::text(SUMMARY)];
    script.extend((0..20).map(look));
    script.extend([Said::text(DONE), Said::text("bye")]);
    let setup = setup(&[]);
    let mut hinted = world(script);
    hinted.answers.insert("stuck", vec!["look elsewhere".to_owned(), "done".to_owned()]);
    everywhere(&|| begun(&setup, RULES_VERSION), &hinted, &|ended| {
        assert_eq!((ended.outcome, asked(ended, QuestionKind::Stuck)), (Some(Outcome::Completed), 2));
        assert_eq!(said(ended, MessageKind::Nudge), 2);
    });
}

#[test]
fn a_word_of_the_operator_ends_a_declared_wait_and_reaches_the_agent() {
    let wait = Said::calls("Waiting.", vec![call("w", "wait_for", json!({"message": true}))]);
    let mut script = vec![Said::text(SUMMARY), wait, Said::text(DONE)];
    // A word that comes later is told in a turn of its own.
    script.extend(vec![Said::text("## Phase 4\nbye"); 4]);
    let setup = Arc::new(Setup {
        tools: vec![tool("wait_for", "filesystem_read", ToolEffect::Waits)].into(),
        ..(*setup(&[])).clone()
    });
    let mut cancelled = 0;
    for length in 1..40 {
        let messages = vec![(length, Message::Steer("it is there".to_owned()))];
        let world = World { messages, ..world(script.clone()) };
        let ended = simulate(&|| begun(&setup, RULES_VERSION), &world, &Plan::default()).expect("no rule is broken");
        assert_eq!(ended.outcome, Some(Outcome::Completed), "{length}");
        cancelled += ended.journal.iter().filter(|event| kind(&event.body) == "tool_cancelled").count();
    }
    assert!(cancelled > 0, "one of them came while it waited");
}

#[test]
fn an_agent_that_says_it_is_done_is_believed_once_the_checks_pass() {
    let script =
        vec![Said::text(SUMMARY), write("red"), Said::text(DONE), write("green"), Said::text(DONE), Said::text("bye")];
    let setup = setup(&["has src green", "has src e"]);
    everywhere(&|| begun(&setup, RULES_VERSION), &world(script.clone()), &|ended| {
        assert_eq!(ended.outcome, Some(Outcome::Completed));
        assert_eq!(ended.files["src"], "green");
        assert_eq!(said(ended, MessageKind::Evidence), 1);
        let ran = ended.journal.iter().filter(|event| kind(&event.body) == "check_run").count();
        assert!(ran >= 4, "both, after each claim: {ran}");
    });
    let ended = simulate(&|| begun(&setup, 1), &world(script), &Plan::default()).expect("no rule is broken");
    assert_eq!((ended.outcome, ended.files["src"].as_str()), (Some(Outcome::Completed), "red"));
}
