//! Sessions side by side: what they share is never overdrawn, in any order.

use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_core::session::Setup;
use adjutant_core::trace::{AskEvent, Body, CallEvent, Event, PartEvent, TurnEvent};
use adjutant_core::words::{Budget, Message, Outcome, QuestionKind, Usage};
use adjutant_simulation::{RunFate, Scene, SceneMoment, StagedTurn, call, setup, side_by_side};
use serde_json::json;

use super::{asked, count, everywhere, place, read, run, talk, write};

/// A scene in which each of three sessions takes these turns, whose calls are told apart by the session's number.
fn three(turns: impl Fn(u32) -> Vec<StagedTurn>) -> Scene {
    let turns: BTreeMap<String, Vec<StagedTurn>> =
        (1..=3).map(|number| (format!("council/{number}"), talk(turns(number)))).collect();
    Scene { turns, ..Scene::default() }.answering(QuestionKind::Confirmation, &["go"])
}

fn working(number: u32) -> Vec<StagedTurn> {
    let id = |what: &str| format!("{what}{number}");
    vec![
        StagedTurn::calls("reading", vec![read(&id("r"))]),
        StagedTurn::calls("writing", vec![write(&id("w"), "text")]),
    ]
}

#[test]
fn three_sessions_work_side_by_side_and_end_the_same() {
    let setup = Arc::new(setup());
    let brief = |number| working(number).split_off(1);
    everywhere(&|| side_by_side(&setup, 3), &three(brief), &|report| {
        assert_eq!((report.outcome, report.files.len()), (Some(Outcome::Completed), 3));
        assert_eq!(asked(report, QuestionKind::Confirmation), 3);
    });
}

#[test]
fn a_limit_of_turns_is_not_overdrawn_and_is_asked_about_once() {
    let budget = Budget { max_turns: Some(4), ..Budget::default() };
    let setup = Arc::new(Setup { budget, ..setup() });
    let scene = Scene { limits: budget, ..three(|_| vec![StagedTurn::says("step")]) };
    everywhere(&|| side_by_side(&setup, 3), &scene, &|report| {
        assert_eq!(report.outcome, None);
        assert_eq!(count(report, |body| matches!(body, Body::Turn(TurnEvent::AgentReply { .. }))), 4);
        assert_eq!(asked(report, QuestionKind::Limit), 1);
    });
}

/// Every seed lets all things take other lengths, so that siblings overtake each other in other ways.
#[test]
fn in_any_order_nothing_is_overdrawn_asked_twice_or_stuck() {
    let budget = Budget { max_nano_dollars: Some(1_500_000), max_turns: Some(14), ..Budget::default() };
    let setup = Arc::new(Setup { budget, authorized: Vec::new(), answer_within_ms: Some(5_000), ..setup() });
    let usage = Some(Usage { input_tokens: Some(400), output_tokens: Some(300), ..Usage::default() });
    let scene = Scene { limits: budget, usage, rescued: ["write_file"].into(), ..three(working) }
        .answering_after(3_000, QuestionKind::Destructive, &["y"])
        .answering_after(7_000, QuestionKind::Destructive, &["y"]);
    for seed in 1..=20 {
        let fate = RunFate { seed, ..RunFate::default() };
        let whole = run(&|| side_by_side(&setup, 3), &scene, &fate);
        let again = run(&|| side_by_side(&setup, 3), &scene, &fate);
        assert_eq!(whole.lines, again.lines, "seed {seed}");
        for part in [3, 7] {
            let tick = 1 + (seed * 31 + part) % whole.ticks;
            let fate = RunFate { kills: [tick, tick + part].into(), seed, ..RunFate::default() };
            let report = run(&|| side_by_side(&setup, 3), &scene, &fate);
            assert!(report.outcome.is_some() || !report.waiting.is_empty(), "{fate:?}: {:?}", report.lives);
            assert!(asked(&report, QuestionKind::Limit) <= 2, "{fate:?}: dollars and turns");
        }
    }
}

#[test]
fn a_deadline_is_kept_while_siblings_work() {
    let setup = Arc::new(Setup { answer_within_ms: Some(4_000), ..setup() });
    let make = |number: u32| {
        let args = json!({"cmd": "make", "takes_ms": 60_000});
        vec![StagedTurn::calls("making", vec![call(&format!("s{number}"), "shell_exec", args)])]
    };
    let mut scene = three(make);
    // The third asks for what nobody answers.
    scene.turns.insert("council/3".to_owned(), vec![StagedTurn::says("no summary"); 3]);
    let report = run(&|| side_by_side(&setup, 3), &scene, &RunFate::default());
    let at = |is_it: &dyn Fn(&Event) -> bool| report.journal[place(&report, is_it)].at;
    let expired = at(&|event| matches!(event.body, Body::Ask(AskEvent::Expired { .. })));
    assert!(
        expired < at(&|event| matches!(event.body, Body::Call(CallEvent::ToolResult { .. }))),
        "nothing waits for the calls"
    );
}

/// What a call destroys takes a minute to be kept; the sessions beside it go on, and deadlines are kept.
#[test]
fn a_rescue_that_takes_long_holds_nobody_up() {
    let setup = Arc::new(Setup { answer_within_ms: Some(20_000), ..setup() });
    let args = json!({"path": "w1", "content": "one", "rescue_ms": 60_000});
    let mut scene = three(|_| vec![StagedTurn::says("thinking"), StagedTurn::says("thinking more")]);
    let writes = talk(vec![StagedTurn::calls("writing", vec![call("w1", "write_file", args)])]);
    scene.turns.insert("council/3".to_owned(), writes);
    // The first one's question comes while the rescue is made, and nobody answers it.
    scene.turns.insert("council/1".to_owned(), vec![StagedTurn::says("no summary"); 3]);
    scene.rescued = ["write_file"].into();
    let whole = run(&|| side_by_side(&setup, 3), &scene, &RunFate::default());
    for tick in (1..=whole.ticks).step_by(2) {
        let fate = RunFate::killed_at([tick]);
        assert_eq!(run(&|| side_by_side(&setup, 3), &scene, &fate).files.len(), 1, "{fate:?}");
    }
    let call = place(&whole, |event| matches!(event.body, Body::Call(CallEvent::ToolCall { .. })));
    let before: Vec<&Event> = whole.journal[..call].iter().collect();
    let has_ended = |part: &str| {
        before
            .iter()
            .any(|event| event.part.as_str() == part && matches!(event.body, Body::Part(PartEvent::PartEnd { .. })))
    };
    assert!(has_ended("council/2"), "the second session is done before the call of the third begins");
    assert!(before.iter().any(|event| matches!(event.body, Body::Ask(AskEvent::Expired { .. }))));
}

/// Parts that come after the first one in order begin turns, reads and questions while its call is prepared; another
/// call that needs preparing waits for it.
#[test]
fn what_comes_after_a_call_that_is_being_prepared_begins_meanwhile() {
    let setup = Arc::new(setup());
    let slow = json!({"path": "w1", "content": "one", "rescue_ms": 60_000});
    let mut scene = three(|number| vec![StagedTurn::calls("reading", vec![read(&format!("r{number}"))])]);
    let writes = |args| talk(vec![StagedTurn::calls("writing", vec![call("w1", "write_file", args)])]);
    scene.turns.insert("council/1".to_owned(), writes(slow));
    scene.turns.insert("council/3".to_owned(), talk(vec![StagedTurn::calls("writing", vec![write("w3", "three")])]));
    scene.rescued = ["write_file"].into();
    let is_call = |event: &Event, part: &str| {
        event.part.as_str() == part && matches!(event.body, Body::Call(CallEvent::ToolCall { .. }))
    };
    everywhere(&|| side_by_side(&setup, 3), &scene, &|report| {
        assert_eq!((report.outcome, report.files.len()), (Some(Outcome::Completed), 2));
    });
    let whole = run(&|| side_by_side(&setup, 3), &scene, &RunFate::default());
    let first = place(&whole, |event| is_call(event, "council/1"));
    let end = place(&whole, |event| {
        event.part.as_str() == "council/2" && matches!(event.body, Body::Part(PartEvent::PartEnd { .. }))
    });
    assert!(end < first, "the second session reads and ends while the call of the first is prepared");
    assert!(first < place(&whole, |event| is_call(event, "council/3")), "calls that change something keep their order");
    assert_eq!(whole.rescues.values().sum::<u64>(), 2, "nothing is kept twice");
}

#[test]
fn a_run_that_is_stopped_while_a_rescue_is_made_makes_no_call() {
    let setup = Arc::new(setup());
    let args = json!({"path": "w1", "content": "one", "rescue_ms": 60_000});
    let writes = talk(vec![StagedTurn::calls("writing", vec![call("w1", "write_file", args)])]);
    let scene = Scene { rescued: ["write_file"].into(), ..three(|_| Vec::new()) };
    let scene = Scene { turns: BTreeMap::from([("council/1".to_owned(), writes)]), ..scene };
    let scene = scene.saying(SceneMoment::AfterMs(10_000), Message::Stop);
    everywhere(&|| side_by_side(&setup, 1), &scene, &|report| {
        assert_eq!((report.outcome, report.files.len()), (Some(Outcome::Stopped), 0));
    });
}
