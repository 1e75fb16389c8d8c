//! One session, killed at every tick.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use adjutant_core::session::Setup;
use adjutant_core::trace::{Body, CallEvent};
use adjutant_core::words::{Budget, FailureKind, Message, Mode, Outcome, QuestionKind};
use adjutant_runtime::Ended;
use adjutant_simulation::{
    LifeEnd, Presence, RunFate, Scene, SceneMoment, SceneReport, StagedTurn, alone, call, setup,
};
use serde_json::json;

use super::{asked, count, everywhere, read, run, shell, talk, write};

fn go(scene: Scene) -> Scene {
    scene.answering(QuestionKind::Confirmation, &["go"])
}

/// Reads, writes, runs and remembers something.
fn work() -> Vec<StagedTurn> {
    vec![
        StagedTurn::calls("reading", vec![read("r1"), read("r2")]),
        StagedTurn::calls("working", vec![write("w1", "one"), shell("s1"), write("w2", "two")]),
        StagedTurn::calls("noting", vec![call("m1", "remember", json!({}))]),
    ]
}

#[test]
fn a_session_with_calls_and_a_question_ends_the_same() {
    let setup = Arc::new(setup());
    let scene = go(Scene::of(talk(work())));
    everywhere(&|| alone(&setup), &scene, &|report| {
        assert_eq!(report.outcome, Some(Outcome::Completed));
        assert_eq!(
            report.files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>(),
            [("w1", "one"), ("w2", "two")]
        );
        assert_eq!(asked(report, QuestionKind::Confirmation), 1);
    });
}

#[test]
fn a_wait_that_only_looks_is_repeated_after_a_kill_and_one_that_runs_a_command_is_not() {
    let setup = Arc::new(setup());
    let waits = |id: &str, args| StagedTurn::calls("waiting", vec![call(id, "wait_for", args)]);
    let turns = vec![waits("looks", json!({"file": "a"})), waits("runs", json!({"command": "./ready.sh"}))];
    let scene = go(Scene::of(talk(turns)));
    let interrupted = |report: &SceneReport| {
        let mut ids = BTreeMap::new();
        let mut interrupted = Vec::new();
        for event in &report.journal {
            match &event.body {
                Body::Call(CallEvent::ToolCall { slot, call_id, .. }) => drop(ids.insert(*slot, call_id.clone())),
                Body::Call(CallEvent::Interrupted { slot, effect }) => {
                    interrupted.extend(ids.get(slot).map(|id| (id.clone(), *effect)));
                }
                _ => {}
            }
        }
        interrupted
    };
    let seen = RefCell::new(BTreeSet::new());
    everywhere(&|| alone(&setup), &scene, &|report| {
        assert_eq!(report.outcome, Some(Outcome::Completed));
        seen.borrow_mut().extend(interrupted(report).into_iter().map(|(id, effect)| format!("{id} {effect:?}")));
    });
    assert_eq!(seen.into_inner().into_iter().collect::<Vec<_>>(), ["looks None", "runs Unknown"]);
}

#[test]
fn a_session_that_asks_about_its_calls_asks_about_each_once() {
    let setup = Arc::new(Setup { authorized: Vec::new(), ..setup() });
    let turns = vec![StagedTurn::calls("working", vec![write("w1", "one"), write("w2", "two")])];
    let scene = go(Scene::of(talk(turns))).answering(QuestionKind::Destructive, &["y"]);
    everywhere(&|| alone(&setup), &scene, &|report| {
        assert_eq!(report.outcome, Some(Outcome::Completed));
        assert_eq!(report.files.len(), 2);
        assert_eq!(asked(report, QuestionKind::Destructive), 1);
    });
}

#[test]
fn a_deadline_that_passes_while_nobody_drives_refuses() {
    let setup = Arc::new(Setup { authorized: Vec::new(), answer_within_ms: Some(60_000), ..setup() });
    let turns = vec![StagedTurn::calls("working", vec![write("w1", "one")])];
    // The answer would come after the deadline.
    let scene = go(Scene::of(talk(turns))).answering_after(90_000, QuestionKind::Destructive, &["y"]);
    let whole = run(&|| alone(&setup), &scene, &RunFate::default());
    assert_eq!((whole.outcome, whole.files.len()), (Some(Outcome::Completed), 0));
    assert_eq!(asked(&whole, QuestionKind::Destructive), 1);
    for tick in 1..=whole.ticks {
        let fate = RunFate { away_ms: 2 * 60 * 60 * 1_000, ..RunFate::killed_at([tick]) };
        let report = run(&|| alone(&setup), &scene, &fate);
        let has_worked = report.outcome == Some(Outcome::Completed) || report.outcome == Some(Outcome::Declined);
        assert!(has_worked && report.files.is_empty(), "{fate:?}: {:?}", report.lives);
    }
}

#[test]
fn a_question_that_nobody_is_there_to_answer_lets_the_run_go_and_its_answer_is_found_later() {
    let setup = Arc::new(Setup { authorized: Vec::new(), ..setup() });
    let turns = vec![StagedTurn::calls("working", vec![write("w1", "one")])];
    let scene = go(Scene::of(talk(turns))).answering_after(3_600_000, QuestionKind::Destructive, &["y"]);
    let scene = Scene { presence: Presence::Away, ..scene };
    everywhere(&|| alone(&setup), &scene, &|report| {
        assert_eq!((report.outcome, report.files.len()), (Some(Outcome::Completed), 1));
        assert!(report.lives.iter().any(|end| matches!(end, LifeEnd::Ended(Ended::Waiting(_)))));
    });
}

#[test]
fn a_wait_for_a_provider_is_slept_through_and_taken_up_again() {
    let setup = Arc::new(setup());
    let busy = StagedTurn::Fails(FailureKind::Busy, Some(Duration::from_secs(300)));
    let scene = Scene { lets_sleep: true, ..go(Scene::of(talk(vec![busy, StagedTurn::says("on it")]))) };
    everywhere(&|| alone(&setup), &scene, &|report| {
        assert_eq!(report.outcome, Some(Outcome::Completed));
    });
    let whole = run(&|| alone(&setup), &scene, &RunFate::default());
    assert!(whole.lives.iter().any(|end| matches!(end, LifeEnd::Ended(Ended::Sleeping(_)))), "{:?}", whole.lives);
}

#[test]
fn a_limit_of_minutes_cancels_a_turn_and_a_call() {
    let budget = Budget { max_minutes: Some(2), ..Budget::default() };
    let setup = Arc::new(Setup { budget, ..setup() });
    let long_call = call("s1", "shell_exec", json!({"cmd": "make", "takes_ms": 3_600_000}));
    for turn in [StagedTurn::Slow("slowly".to_owned(), 3_600_000), StagedTurn::calls("making", vec![long_call])] {
        let scene = Scene { limits: budget, ..go(Scene::of(talk(vec![turn]))) };
        everywhere(&|| alone(&setup), &scene, &|report| {
            // A call that was killed is not made again: the run may end without it.
            let was_called = count(report, |body| matches!(body, Body::Call(CallEvent::ToolCall { .. }))) > 0;
            let was_killed = report.lives.contains(&LifeEnd::Died) && was_called;
            let kinds: Vec<QuestionKind> = report.waiting.iter().map(|(_, kind)| *kind).collect();
            assert!(kinds == [QuestionKind::Limit] || (was_killed && report.outcome == Some(Outcome::Completed)));
            assert!(report.effects.iter().all(|effect| !effect.was_had));
        });
    }
}

#[test]
fn a_stop_while_calls_are_in_flight_ends_the_run() {
    let setup = Arc::new(setup());
    let turns = vec![StagedTurn::calls("working", vec![read("r1"), read("r2")]), StagedTurn::says("more")];
    let whole = run(&|| alone(&setup), &go(Scene::of(talk(turns.clone()))), &RunFate::default());
    let is_call = |body: &Body| matches!(body, Body::Call(CallEvent::ToolCall { .. }));
    let in_flight = whole.journal.iter().rposition(|event| is_call(&event.body)).expect("a call") + 1;
    let scene = go(Scene::of(talk(turns))).saying(SceneMoment::AfterEvents(in_flight), Message::Stop);
    everywhere(&|| alone(&setup), &scene, &|report| {
        assert_eq!(report.outcome, Some(Outcome::Stopped));
    });
    let stopped = run(&|| alone(&setup), &scene, &RunFate::default());
    assert_eq!(count(&stopped, |body| matches!(body, Body::Call(CallEvent::ToolCancelled { .. }))), 2);
}

#[test]
fn an_interrupted_run_goes_on_where_it_stood() {
    let setup = Arc::new(Setup { mode: Some(Mode::Auto), ..setup() });
    // What was asked when it was interrupted is asked anew.
    let work = vec![StagedTurn::calls("working", vec![write("w1", "one"), shell("s1"), write("w2", "two")])];
    let scene = go(go(Scene::of(talk(work)))).saying(SceneMoment::AfterMs(3_500), Message::Interrupt);
    let scene = Scene { resumes_interrupted: true, ..scene };
    everywhere(&|| alone(&setup), &scene, &|report| {
        assert_eq!((report.outcome, report.files.len()), (Some(Outcome::Completed), 2));
    });
}

#[test]
fn what_a_call_destroys_is_kept_before_its_intent_and_a_rescue_that_led_to_nothing_is_replaced() {
    let setup = Arc::new(setup());
    let turns = vec![StagedTurn::calls("working", vec![write("w1", "one"), shell("s1")])];
    let scene = Scene { rescued: ["write_file", "shell_exec"].into(), ..go(Scene::of(talk(turns))) };
    everywhere(&|| alone(&setup), &scene, &|report| {
        assert_eq!((report.outcome, report.files.len()), (Some(Outcome::Completed), 1));
        for (place, event) in report.journal.iter().enumerate() {
            let Body::Call(CallEvent::ToolCall { slot, .. }) = &event.body else { continue };
            let is_its = |body: &Body| matches!(body, Body::Call(CallEvent::RescueMade { slot: rescued, .. }) if rescued == slot);
            assert!(report.journal[..place].iter().any(|event| is_its(&event.body)), "{slot}");
        }
    });
    let whole = run(&|| alone(&setup), &scene, &RunFate::default());
    assert_eq!(whole.rescues.values().sum::<u64>(), 2);
    let made_again = (1..=whole.ticks).filter(|tick| {
        let report = run(&|| alone(&setup), &scene, &RunFate::killed_at([*tick]));
        report.rescues.values().any(|made| *made > 1)
    });
    assert_eq!(made_again.count(), 4, "killed once it is made, and once it is on record, of each call");
}

#[test]
fn a_call_whose_rescue_fails_is_not_made() {
    let setup = Arc::new(setup());
    let turns = vec![StagedTurn::calls("working", vec![write("w1", "one")])];
    let scene = Scene {
        rescued: ["write_file"].into(),
        rescue_fault: Some("the disk is full".to_owned()),
        ..go(Scene::of(talk(turns)))
    };
    everywhere(&|| alone(&setup), &scene, &|report| {
        assert_eq!((report.outcome, report.files.len()), (Some(Outcome::Completed), 0));
        assert_eq!(report.effects.len(), 0);
    });
}

#[test]
fn a_call_whose_arguments_were_masked_is_made_by_the_driver_that_saw_them_and_by_no_other() {
    let setup = Arc::new(setup());
    let secret = "correct-horse-battery-staple";
    let turns = vec![StagedTurn::calls("working", vec![write("w1", secret)])];
    let scene = Scene { secrets: vec![secret.to_owned()], ..go(Scene::of(talk(turns))) };
    everywhere(&|| alone(&setup), &scene, &|report| {
        assert_eq!(report.outcome, Some(Outcome::Completed));
        assert!(report.files.values().all(|text| text == secret), "nothing that was masked is written");
    });
}

#[test]
fn a_result_too_large_for_a_line_is_kept_by_its_hash() {
    let setup = Arc::new(setup());
    let args = json!({"cmd": "make", "prints_bytes": 70_000});
    let turns = vec![StagedTurn::calls("making", vec![call("s1", "shell_exec", args)])];
    everywhere(&|| alone(&setup), &go(Scene::of(talk(turns))), &|report| {
        assert_eq!(report.outcome, Some(Outcome::Completed));
        assert!(report.lines.iter().all(|line| line.len() < 64 * 1024));
    });
}
