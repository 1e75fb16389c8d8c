//! Tests the operator's messages to a running session that answer no question, and amendments of its brief: killed at
//! every tick.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use adjutant_core::procedure::run::Run;
use adjutant_core::session::replay::replay;
use adjutant_core::session::{Session, Setup};
use adjutant_core::trace::{
    AskEvent, Body, CallEvent, Event, RULES_VERSION, RunEvent, RunOptions, RunStart, TurnEvent, Versions,
};
use adjutant_core::words::tool::{ToolCall, ToolEffect};
use adjutant_core::words::{Amendment, Budget, Category, Message, MessageKind, Mode, Outcome, Part, QuestionKind};
use jiff::Timestamp;
use serde_json::json;

use crate::simulator::{self, Ended, Plan, Said, World, alone, call, simulate, tool};

const SUMMARY: &str =
    "## Confirmation Summary\nObjective: a\nDeliverables: b\nConstraints: c\nTools required: d\nUnknowns: none\n";

fn setup(authorized: &[&str]) -> Setup {
    Setup {
        authorized: authorized.iter().copied().map(Category::new).collect(),
        tools: vec![tool("write_file", "filesystem_write", ToolEffect::WritesFiles)].into(),
        ..simulator::setup()
    }
}

fn world(script: &[Said]) -> World {
    World {
        scripts: BTreeMap::from([("session".to_owned(), script.to_vec())]),
        answers: BTreeMap::from([("confirmation", vec!["go".to_owned()])]),
        writes: BTreeSet::from(["write_file"]),
        ..World::default()
    }
}

fn write(id: &str, path: &str, content: &str) -> ToolCall {
    call(id, "write_file", json!({"path": path, "content": content}))
}

fn run(setup: Setup, world: &World) -> Ended {
    let setup = Arc::new(setup);
    simulate(&|| alone(&setup), world, &Plan::default()).expect("no rule is broken")
}

/// Runs `world` with a message that comes once the journal is so long, whole and killed at every tick.
#[track_caller]
fn with_message(authorized: &[&str], mut world: World, at: usize, message: Message) -> Ended {
    world.messages.push((at, message));
    let setup = Arc::new(setup(authorized));
    let whole = simulate(&|| alone(&setup), &world, &Plan::default()).expect("no rule is broken");
    for tick in 1..=whole.ticks {
        let plan = Plan { kills: BTreeSet::from([tick]), ..Plan::default() };
        let ended = simulate(&|| alone(&setup), &world, &plan).unwrap_or_else(|caught| panic!("{tick}: {caught:?}"));
        assert_eq!((ended.outcome, &ended.files), (whole.outcome, &whole.files), "killed at {tick}");
    }
    whole
}

/// Returns the place of the first event of this kind.
fn place(ended: &Ended, is_it: impl Fn(&Body) -> bool) -> usize {
    ended.journal.iter().position(|event| is_it(&event.body)).expect("it is there")
}

#[test]
fn what_the_operator_says_reaches_the_agent_at_its_next_turn_and_only_once() {
    let script = [
        Said::text(SUMMARY),
        Said::calls("writes", vec![write("a", "a.txt", "x"), write("b", "b.txt", "x")]),
        Said::text("## Phase 4\nAll deliverables are complete."),
        Said::text("Delivered."),
    ];
    let world = world(&script);
    let quiet = run(setup(&["filesystem_write"]), &world);
    let first_call = place(&quiet, |body| matches!(body, Body::Call(CallEvent::ToolCall { .. })));
    let ended = with_message(&["filesystem_write"], world, first_call, Message::Steer("mind the gap".to_owned()));
    assert_eq!((ended.outcome, ended.files.len()), (Some(Outcome::Completed), 2));
    let told: Vec<usize> = (0..ended.journal.len())
        .filter(|at| matches!(&ended.journal[*at].body, Body::Turn(TurnEvent::Message { kind: MessageKind::Steer, text, .. }) if text.contains("mind the gap")))
        .collect();
    let [told] = told[..] else { panic!("told once: {told:?}") };
    // Not between a call and its result, and before the turn that follows.
    let results: Vec<usize> =
        (0..told).filter(|at| matches!(ended.journal[*at].body, Body::Call(CallEvent::ToolResult { .. }))).collect();
    assert_eq!(results.len(), 2);
    assert!(matches!(ended.journal[told + 1].body, Body::Turn(TurnEvent::AgentRequest { .. })));
}

#[test]
fn how_often_an_agent_said_the_same_is_told_as_it_is() {
    let script: Vec<Said> = std::iter::once(SUMMARY).chain(["I shall."; 6]).map(Said::text).collect();
    let mut world = world(&script);
    world.answers.insert("step", vec!["ok".to_owned(), "ok".to_owned()]);
    let ended = run(setup(&[]), &world);
    let asked = ended.journal.iter().filter_map(|event| match &event.body {
        Body::Ask(AskEvent::Question { question, .. }) if question.kind == QuestionKind::Step => {
            question.text.split_once("the same ").map(|(_, text)| text[..7].to_owned())
        }
        _ => None,
    });
    assert_eq!(asked.collect::<Vec<_>>(), ["3 times", "4 times", "5 times"]);
}

/// Returns a run of one session that began by rules of this version.
fn by_rules(rules: u32, setup: &Arc<Setup>) -> Run<Session> {
    let start = RunStart {
        run_id: "told".parse().expect("a name"),
        brief_id: "told".parse().expect("a name"),
        project: String::new(),
        brief_path: None,
        brief: String::new(),
        tools: Vec::new(),
        offered: None,
        options: RunOptions::default(),
        versions: Versions { adjutant: String::new(), standing_orders: 1, rules },
    };
    let body = Body::Run(RunEvent::RunStart(Box::new(start)));
    let mut run = alone(setup);
    run.apply(&Event { seq: 0, at: Timestamp::UNIX_EPOCH, part: Part::root(), body });
    run
}

#[test]
fn a_message_does_not_put_off_the_stop_of_a_gated_step() {
    let turn = |number: usize| {
        let name = format!("{number}.txt");
        Said::calls("writes", vec![write(&name, &name, "x")])
    };
    let script: Vec<Said> = std::iter::once(Said::text(SUMMARY)).chain((1..=6).map(turn)).collect();
    let gated = Arc::new(Setup { mode: Some(Mode::Gated), ..setup(&["filesystem_write"]) });
    let with = |rules: u32, messages: Vec<(usize, Message)>, step: &[&str]| {
        let mut world = world(&script);
        world.messages = messages;
        world.answers.insert("step", step.iter().map(|answer| (*answer).to_owned()).collect());
        simulate(&|| by_rules(rules, &gated), &world, &Plan::default()).expect("no rule is broken")
    };
    let quiet = with(RULES_VERSION, Vec::new(), &[]);
    assert_eq!((quiet.files.len(), quiet.open.len()), (3, 1), "three turns with calls, then the operator is asked");
    let first_call = place(&quiet, |body| matches!(body, Body::Call(CallEvent::ToolCall { .. })));
    // Whenever it comes: at any event of the step, and while the question is open.
    for at in first_call..=quiet.journal.len() {
        let steer = || vec![(at, Message::Steer("mind the gap".to_owned()))];
        let ended = with(RULES_VERSION, steer(), &[]);
        let open: Vec<QuestionKind> = ended.open.iter().map(|(_, kind)| *kind).collect();
        assert_eq!((ended.files.len(), open), (3, vec![QuestionKind::Step]), "said at {at}");
        // It isn't lost: it is told with the next step at the latest.
        let gone_on = with(RULES_VERSION, steer(), &["ok"]);
        let is_told = |event: &Event| matches!(&event.body, Body::Turn(TurnEvent::Message { kind: MessageKind::Steer, text, .. }) if text.contains("mind the gap"));
        assert_eq!(gone_on.journal.iter().filter(|event| is_told(event)).count(), 1, "said at {at}");
        assert_eq!(gone_on.files.len(), 6, "said at {at}");
    }
    // A run that began by the earlier rules goes on by them.
    let earlier = with(0, vec![(first_call, Message::Steer("mind the gap".to_owned()))], &[]);
    assert!(earlier.files.len() > 3, "{:?}", earlier.files);
}

#[test]
fn an_amended_brief_holds_from_the_next_judgement_on() {
    let script = [
        Said::text(SUMMARY),
        Said::text("One step."),
        Said::calls("writes", vec![write("a", "a.txt", "x")]),
        Said::text("## Phase 4\nAll deliverables are complete."),
        Said::text("Delivered."),
    ];
    let world = world(&script);
    let asked = run(setup(&[]), &world);
    assert_eq!(asked.open.len(), 1, "nothing authorizes it");
    let early = place(&asked, |body| matches!(body, Body::Turn(TurnEvent::Message { kind: MessageKind::KickOff, .. })));
    let amend = |amendment: Amendment| Message::Amend(Box::new(amendment));
    let wider = Amendment { authorize: vec![Category::new("filesystem_write")], ..Amendment::default() };
    let ended = with_message(&[], world.clone(), early, amend(wider));
    assert_eq!((ended.outcome, ended.files.len()), (Some(Outcome::Completed), 1));
    assert_eq!(replay(&ended.journal, alone(&Arc::new(setup(&[])))).drift, []);
    let narrower = Amendment { withdraw: vec![Category::new("filesystem_write")], ..Amendment::default() };
    let ended = with_message(&["filesystem_write"], world.clone(), early, amend(narrower));
    assert_eq!((ended.open.len(), ended.files.len()), (1, 0));
    let limit = Amendment { budget: Budget { max_turns: Some(2), ..Budget::default() }, ..Amendment::default() };
    let ended = with_message(&["filesystem_write"], world, early, amend(limit));
    assert_eq!(ended.open[0].1, QuestionKind::Limit);
}

#[test]
fn a_version_that_offers_other_tools_judges_by_those_and_a_replay_by_what_was_offered_when() {
    let script = [
        Said::text(SUMMARY),
        Said::calls("writes", vec![write("a", "a.txt", "x")]),
        Said::calls("writes more", vec![write("b", "b.txt", "x")]),
        Said::text("## Phase 4\nAll deliverables are complete."),
        Said::text("Delivered."),
    ];
    let setup = Arc::new(setup(&["filesystem_write"]));
    let mut world = world(&script);
    let whole = simulate(&|| alone(&setup), &world, &Plan::default()).expect("no rule is broken");
    assert_eq!((whole.outcome, whole.files.len()), (Some(Outcome::Completed), 2));
    // The next version knows that writing a file deploys it.
    world.offers = Some(vec![tool("write_file", "deploy", ToolEffect::WritesFiles)]);
    let mut ends = BTreeSet::new();
    for tick in 1..=whole.ticks {
        let plan = Plan { kills: BTreeSet::from([tick]), ..Plan::default() };
        let ended = simulate(&|| alone(&setup), &world, &plan).unwrap_or_else(|caught| panic!("{tick}: {caught:?}"));
        ends.insert((ended.files.len(), ended.open.first().map(|(_, kind)| kind.as_str())));
        assert_eq!(replay(&ended.journal, alone(&setup)).drift, [], "killed at {tick}");
    }
    let asked = Some(QuestionKind::Destructive.as_str());
    assert_eq!(ends, BTreeSet::from([(0, asked), (1, asked), (2, None)]));
}

/// Two calls that differ in what they need: a command that goes on, and a write.
#[test]
fn what_is_withdrawn_from_one_call_takes_no_other_down_that_is_under_way() {
    let shell = call("s", "shell_exec", json!({"cmd": "sleep 9"}));
    let script = [Said::text(SUMMARY), Said::calls("both", vec![shell, write("w", "a.txt", "x")])];
    let mut setup = setup(&["filesystem_write", "shell_exec"]);
    let both = [tool("shell_exec", "shell_exec", ToolEffect::Anything), setup.tools[0].clone()];
    setup.tools = both.into();
    let world = world(&script);
    let begun =
        |event: &Event| matches!(&event.body, Body::Call(CallEvent::ToolCall { name, .. }) if name == "shell_exec");
    let quiet = run(setup.clone(), &world);
    let at = quiet.journal.iter().position(begun).expect("it begins") + 1;
    let withdrawn = Amendment { withdraw: vec![Category::new("filesystem_write")], ..Amendment::default() };
    let world = World { messages: vec![(at, Message::Amend(Box::new(withdrawn)))], ..world };
    let ended = run(setup, &world);
    assert_eq!(ended.open.first().map(|(_, kind)| *kind), Some(QuestionKind::Destructive));
    let is_cancelled = |event: &Event| matches!(event.body, Body::Call(CallEvent::ToolCancelled { .. }));
    assert!(!ended.journal.iter().any(is_cancelled), "the command ended by itself");
}
