//! Adapters and tools that panic: the run knows what nobody knows, its operator is told, and nothing hangs.

use std::sync::Arc;

use adjutant_core::gate::{GuardHook, Places, Scope, ScopeWords};
use adjutant_core::session::{AgentLimits, Setup};
use adjutant_core::trace::{Body, CallEvent, GateEvent, HostEvent, TurnEvent};
use adjutant_core::words::tool::ToolCall;
use adjutant_core::words::{InterruptedEffect, Outcome, QuestionKind};
use adjutant_simulation::{LifeEnd, RunFate, Scene, SceneReport, StagedTurn, alone, call, setup};
use serde_json::json;

use super::{asked, count, everywhere, run, talk};

fn scene(turns: Vec<StagedTurn>) -> Scene {
    Scene::of(talk(turns)).answering(QuestionKind::Confirmation, &["go"])
}

fn working(call: ToolCall) -> Scene {
    scene(vec![StagedTurn::calls("working", vec![call])])
}

/// Returns the number of times that the operator was told of a panic.
fn told(report: &SceneReport) -> usize {
    count(
        report,
        |body| matches!(body, Body::Host(HostEvent::Error { error, .. }) if error.contains("is staged to panic")),
    )
}

#[test]
fn a_turn_whose_adapter_panics_failed_and_is_tried_again_at_the_operators_word() {
    let setup = Arc::new(setup());
    let scene = scene(vec![StagedTurn::Panics, StagedTurn::says("on it")]).answering(QuestionKind::Failure, &["retry"]);
    everywhere(&|| alone(&setup), &scene, &|report| {
        assert_eq!(report.outcome, Some(Outcome::Completed));
        // Whoever goes on with the run wants it tried again, too, and need not be asked.
        assert!(asked(report, QuestionKind::Failure) <= 1 && told(report) >= 1);
    });
    assert_eq!(asked(&run(&|| alone(&setup), &scene, &RunFate::default()), QuestionKind::Failure), 1);
}

#[test]
fn a_call_whose_tool_panics_has_an_unknown_effect() {
    let setup = Arc::new(setup());
    for when in ["before", "after"] {
        let scene = working(call("s1", "shell_exec", json!({"cmd": "make", "panics": when})));
        everywhere(&|| alone(&setup), &scene, &|report| {
            assert_eq!(report.outcome, Some(Outcome::Completed));
            let unknown = |body: &Body| {
                matches!(body, Body::Call(CallEvent::Interrupted { effect: InterruptedEffect::Unknown, .. }))
            };
            assert_eq!(count(report, unknown), 1);
        });
        assert_eq!(told(&run(&|| alone(&setup), &scene, &RunFate::default())), 1);
    }
}

#[test]
fn a_call_that_can_not_be_prepared_is_not_made() {
    let setup = Arc::new(setup());
    for when in ["preparing", "rescue"] {
        let args = json!({"path": "w1", "content": "one", "panics": when});
        let scene = Scene { rescued: ["write_file"].into(), ..working(call("w1", "write_file", args)) };
        everywhere(&|| alone(&setup), &scene, &|report| {
            assert_eq!((report.outcome, report.files.len()), (Some(Outcome::Completed), 0));
            assert!(report.effects.is_empty());
        });
        let whole = run(&|| alone(&setup), &scene, &RunFate::default());
        assert_eq!(told(&whole), 1);
        let not_rescued = |body: &Body| matches!(body, Body::Call(CallEvent::ToolResult { code: Some(code), .. }) if code == "NOT_RESCUED");
        assert_eq!(count(&whole, not_rescued), 1);
    }
}

#[test]
fn a_guard_hook_that_panics_gives_no_answer_so_that_its_call_is_asked_about() {
    let hook = GuardHook { command: vec!["panics".to_owned()], timeout_ms: 1_000, ..GuardHook::default() };
    let setup = Arc::new(Setup { hooks: vec![hook], ..setup() });
    let scene = working(call("s1", "shell_exec", json!({"cmd": "make"}))).answering(QuestionKind::Destructive, &["y"]);
    everywhere(&|| alone(&setup), &scene, &|report| {
        assert_eq!(report.outcome, Some(Outcome::Completed));
        assert_eq!(asked(report, QuestionKind::Destructive), 1);
    });
    assert_eq!(told(&run(&|| alone(&setup), &scene, &RunFate::default())), 1);
}

#[test]
fn a_look_at_the_tree_that_panics_tells_nothing_and_is_asked_about() {
    let words = ScopeWords { paths: Some(vec!["src".to_owned()]), ..ScopeWords::default() };
    let scope = Scope::new(&words).placed(&Places::default());
    let setup = Arc::new(Setup { scope, ..setup() });
    let scene = working(call("s1", "shell_exec", json!({"cmd": "make"}))).answering(QuestionKind::Scope, &["accept"]);
    let scene = Scene { look_panics: true, ..scene };
    let whole = run(&|| alone(&setup), &scene, &RunFate::default());
    assert_eq!(whole.outcome, Some(Outcome::Completed), "{:?}", whole.lives);
    assert!(told(&whole) >= 1);
    assert!(count(&whole, |body| matches!(body, Body::Gate(GateEvent::TreeSeen { error: Some(_), .. }))) >= 1);
}

#[test]
fn an_agent_that_the_run_does_not_have_is_an_error_and_never_another_agent() {
    let agent = AgentLimits { place: 1, name: "second".to_owned(), window: None, output_max: 4_000 };
    let setup = Arc::new(Setup { agents: vec![agent], ..setup() });
    let scene = Scene { stops_at_errors: true, ..scene(Vec::new()) };
    let report = run(&|| alone(&setup), &scene, &RunFate::default());
    let said = "internal error: the run asks for its agent 2, and has 1".to_owned();
    assert_eq!(report.lives, [LifeEnd::Stopped(said)]);
    assert_eq!(count(&report, |body| matches!(body, Body::Turn(TurnEvent::AgentRequest { .. }))), 0);
    let report = run(&|| alone(&setup), &Scene { agents: 2, ..scene }, &RunFate::default());
    assert_eq!(report.outcome, Some(Outcome::Completed));
}

#[test]
fn a_question_at_which_the_terminal_panics_stays_open_for_its_answer() {
    let setup = Arc::new(setup());
    let scene = Scene { panics_at: Some(QuestionKind::Confirmation), ..scene(Vec::new()) };
    let report = run(&|| alone(&setup), &scene, &RunFate::default());
    assert_eq!((report.outcome, told(&report)), (Some(Outcome::Completed), 1));
    assert_eq!(asked(&report, QuestionKind::Confirmation), 1);
}
