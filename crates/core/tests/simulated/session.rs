//! The phase machine under the simulator: scripts of all kinds, killed anywhere, in any order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use adjutant_core::session::Setup;
use adjutant_core::session::replay::{replay, replay_changed};
use adjutant_core::session::transcript::{Speaker, Transcript};
use adjutant_core::trace::{AskEvent, Body, CallEvent, Event, GateEvent, PartEvent, RunEvent, TurnEvent};
use adjutant_core::words::tool::{ToolCall, ToolEffect, ToolSpec};
use adjutant_core::words::{Category, FailureKind, Message, Mode, Outcome, Part, PhaseName, QuestionKind, Rejection};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::simulator::{self, Ended, Plan, Said, Violation, World, alone, call, simulate, tool};

const SUMMARY: &str = "## Phase 0\n\n**Objective**: build\n**Deliverables**: one\n**Constraints**: two\n**Tools required**: three\n**Unknowns**: none\nWhich mode, per-step or auto-pilot?";

fn tools() -> Vec<ToolSpec> {
    vec![
        tool("read_file", "filesystem_read", ToolEffect::Reads),
        tool("list_dir", "filesystem_read", ToolEffect::Reads),
        tool("write_file", "filesystem_write", ToolEffect::WritesFiles),
        tool("shell_exec", "shell_exec", ToolEffect::Anything),
        tool("fails", "filesystem_read", ToolEffect::Anything),
    ]
}

fn setup(authorized: &[&str]) -> Setup {
    Setup {
        authorized: authorized.iter().copied().map(Category::new).collect(),
        tools: tools().into(),
        ..simulator::setup()
    }
}

fn world(script: &[Said], answers: &[(&'static str, &[&str])]) -> World {
    World {
        scripts: BTreeMap::from([("session".to_owned(), script.to_vec())]),
        answers: answers
            .iter()
            .map(|(kind, typed)| (*kind, typed.iter().map(|text| (*text).to_owned()).collect()))
            .collect(),
        reads: BTreeSet::from(["read_file", "list_dir"]),
        writes: BTreeSet::from(["write_file"]),
        ..World::default()
    }
}

fn write(id: &str, path: &str, content: &str) -> ToolCall {
    call(id, "write_file", json!({"path": path, "content": content}))
}

fn shell(id: &str, cmd: &str) -> ToolCall {
    call(id, "shell_exec", json!({"cmd": cmd}))
}

#[track_caller]
fn run(setup: Setup, world: &World) -> Ended {
    let setup = Arc::new(setup);
    simulate(&|| alone(&setup), world, &Plan::default()).expect("no rule is broken")
}

fn phases(ended: &Ended) -> Vec<&'static str> {
    let entered = |event: &Event| match &event.body {
        Body::Part(PartEvent::PhaseEnter { phase, .. }) => Some(phase.as_str()),
        _ => None,
    };
    ended.journal.iter().filter_map(entered).collect()
}

fn rejections(ended: &Ended) -> Vec<Rejection> {
    let rejected = |event: &Event| match &event.body {
        Body::Call(CallEvent::ToolRejected { rejection, .. }) => Some(*rejection),
        _ => None,
    };
    ended.journal.iter().filter_map(rejected).collect()
}

fn said_to_agent(ended: &Ended, part_of_it: &str) -> bool {
    ended
        .journal
        .iter()
        .any(|event| matches!(&event.body, Body::Turn(TurnEvent::Message { text, .. }) if text.contains(part_of_it)))
}

const DONE: &str = "## Phase 4\nEverything shipped.";

#[test]
fn a_clean_run_goes_through_its_phases() {
    let ended = run(
        setup(&[]),
        &world(
            &[Said::text(SUMMARY), Said::text("step"), Said::text(DONE), Said::text("bye")],
            &[("confirmation", &["approve"])],
        ),
    );
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert_eq!(phases(&ended), ["intake", "execute", "completion", "done"]);
}

#[test]
fn nothing_begins_before_the_summary_is_accepted() {
    let ended = run(setup(&["*"]), &world(&[Said::calls(SUMMARY, vec![write("k", "a", "b")])], &[]));
    assert_eq!(ended.open.iter().map(|(_, kind)| *kind).collect::<Vec<_>>(), [QuestionKind::Confirmation]);
    assert_eq!(rejections(&ended), [Rejection::Phase]);
    assert!(ended.files.is_empty());
}

#[test]
fn a_reply_without_a_summary_is_asked_again_once() {
    let ended = run(setup(&[]), &world(&[Said::text("sure, on it"), Said::text("really")], &[]));
    let nudges = ended
        .journal
        .iter()
        .filter(|event| matches!(&event.body, Body::Turn(TurnEvent::Message { kind, .. }) if format!("{kind:?}") == "Nudge"))
        .count();
    assert_eq!(nudges, 1);
    assert_eq!(ended.open.len(), 1);
}

#[test]
fn c24_a_correction_goes_to_the_agent_and_a_new_summary_comes_back() {
    let script = [Said::text(SUMMARY), Said::text(SUMMARY), Said::text(DONE), Said::text("bye")];
    let ended = run(setup(&[]), &world(&script, &[("confirmation", &["use tabs", "go"])]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert!(said_to_agent(&ended, "use tabs"));
}

#[test]
fn a_no_to_the_summary_ends_the_run() {
    let ended = run(setup(&[]), &world(&[Said::text(SUMMARY)], &[("confirmation", &["no"])]));
    assert_eq!(ended.outcome, Some(Outcome::Declined));
    assert_eq!(phases(&ended), ["intake", "done"]);
}

#[test]
fn gated_mode_asks_between_steps_and_ends_on_done() {
    let gated = Setup { mode: Some(Mode::Gated), ..setup(&[]) };
    let script = [Said::text(SUMMARY), Said::text("a"), Said::text("b")];
    let ended = run(gated, &world(&script, &[("confirmation", &["go"]), ("step", &["next", "done"])]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert_eq!(phases(&ended), ["intake", "execute", "completion"]);
}

#[test]
fn the_mode_can_change_while_it_runs() {
    let gated = Setup { mode: Some(Mode::Gated), ..setup(&[]) };
    let script = [Said::text(SUMMARY), Said::text("a"), Said::text("b"), Said::text(DONE), Said::text("bye")];
    let ended = run(gated.clone(), &world(&script, &[("confirmation", &["go"]), ("step", &["auto"])]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    let to_gated =
        World { messages: vec![(12, Message::Mode(Mode::Gated))], ..world(&script, &[("confirmation", &["go"])]) };
    let ended = run(setup(&[]), &to_gated);
    assert_eq!(ended.open.first().map(|(_, kind)| *kind), Some(QuestionKind::Step));
}

#[test]
fn a_blocker_waits_for_context_and_goes_on_with_it() {
    let script = [Said::text(SUMMARY), Said::text("Blocker: no key"), Said::text(DONE), Said::text("bye")];
    let waiting = run(setup(&[]), &world(&script, &[("confirmation", &["go"])]));
    assert_eq!(waiting.open.first().map(|(_, kind)| *kind), Some(QuestionKind::Blocker));
    assert_eq!(waiting.outcome, None);
    let ended = run(setup(&[]), &world(&script, &[("confirmation", &["go"]), ("blocker", &["the key is K"])]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert!(said_to_agent(&ended, "the key is K"));
    assert_eq!(phases(&ended), ["intake", "execute", "blocker", "execute", "completion", "done"]);
}

#[test]
fn c1_an_approved_call_is_made_without_asking_again() {
    let script =
        [Said::text(SUMMARY), Said::calls("w", vec![write("k", "a.txt", "hi")]), Said::text(DONE), Said::text("bye")];
    let ended = run(setup(&[]), &world(&script, &[("confirmation", &["go"]), ("destructive", &["y"])]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert_eq!(ended.files.get("a.txt").map(String::as_str), Some("hi"));
    assert_eq!(phases(&ended), ["intake", "execute", "destructive", "execute", "completion", "done"]);
}

#[test]
fn a_denied_call_is_not_made_and_the_agent_is_told() {
    let script = [
        Said::text(SUMMARY),
        Said::calls("w", vec![write("k", "a.txt", "hi"), call("r", "read_file", json!({"path": "b"}))]),
        Said::text(DONE),
    ];
    let ended = run(setup(&[]), &world(&script, &[("confirmation", &["go"]), ("destructive", &["n: keep out"])]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert!(ended.files.is_empty());
    assert_eq!(rejections(&ended), [Rejection::Denied]);
    let told = |event: &Event| matches!(&event.body, Body::Call(CallEvent::ToolRejected { content, .. }) if content.contains("keep out"));
    assert!(ended.journal.iter().any(told));
    let read = ended
        .journal
        .iter()
        .any(|event| matches!(&event.body, Body::Call(CallEvent::ToolCall { name, .. }) if name == "read_file"));
    assert!(read, "the call that nobody objected to is made");
}

#[test]
fn a_yes_for_the_run_is_not_asked_again_and_a_locked_scope_has_none() {
    let script = [
        Said::text(SUMMARY),
        Said::calls("w", vec![write("k", "a.txt", "1")]),
        Said::calls("w", vec![write("l", "b.txt", "2")]),
        Said::text(DONE),
        Said::text("bye"),
    ];
    let answers: &[(&'static str, &[&str])] = &[("confirmation", &["go"]), ("destructive", &["category"])];
    let ended = run(setup(&[]), &world(&script, answers));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert_eq!(ended.files.len(), 2);
    let locked = run(Setup { scope_locked: true, ..setup(&[]) }, &world(&script, answers));
    assert_eq!(locked.open.first().map(|(_, kind)| *kind), Some(QuestionKind::Destructive));
}

#[test]
fn s1_an_unknown_tool_costs_only_its_own_call() {
    let script = [
        Said::text(SUMMARY),
        Said::calls("w", vec![call("u", "no_such_tool", json!({})), write("k", "a.txt", "hi")]),
        Said::text(DONE),
    ];
    let ended = run(setup(&[]), &world(&script, &[("confirmation", &["go"])]));
    assert_eq!(rejections(&ended), [Rejection::UnknownTool]);
    assert!(ended.files.is_empty(), "the write still needs an authorization");
    assert_eq!(ended.open.first().map(|(_, kind)| *kind), Some(QuestionKind::Destructive));
}

#[test]
fn one_question_covers_all_calls_of_a_turn_that_need_one() {
    let script = [
        Said::text(SUMMARY),
        Said::calls("w", vec![write("k", "a.txt", "1"), shell("s", "make"), write("l", "b.txt", "2")]),
        Said::text(DONE),
        Said::text("bye"),
    ];
    let done = |typed: &[&str]| {
        let ended = run(setup(&[]), &world(&script, &[("confirmation", &["go"]), ("destructive", typed)]));
        assert_eq!(ended.outcome, Some(Outcome::Completed), "{typed:?}");
        let done = ended.effects.iter().map(|(_, what)| what.split(' ').next().unwrap_or_default().to_owned());
        (done.collect::<Vec<_>>(), ended)
    };
    assert_eq!(done(&["all"]).0, ["write_file", "shell_exec", "write_file"]);
    let none: [&str; 0] = [];
    assert_eq!(done(&["none"]).0, none);
    // A yes that doesn't say to which of them is a yes to none.
    assert_eq!(done(&["y"]).0, none);
    let (made, ended) = done(&["1,3; 2: use the Makefile of tools/"]);
    assert_eq!(made, ["write_file", "write_file"]);
    assert_eq!(rejections(&ended), [Rejection::Denied]);
    let told = ended.journal.iter().any(|event| {
        matches!(&event.body, Body::Call(CallEvent::ToolRejected { call: 2, content, .. })
            if content.contains("use the Makefile of tools/"))
    });
    assert!(told, "the agent is told why its second call was denied");
    let said = ended.journal.iter().find_map(|event| match &event.body {
        Body::Gate(GateEvent::AuthPrompt { calls, denied, categories, .. }) => {
            Some((calls.clone(), denied.clone(), categories.clone()))
        }
        _ => None,
    });
    assert_eq!(said, Some((vec![1, 3], vec![2], vec!["filesystem_write".to_owned()])));
}

#[test]
fn a_call_is_made_though_what_was_announced_beside_it_is_denied() {
    let script = [
        Said::text(SUMMARY),
        Said::calls("I'll delete the build folder.", vec![write("k", "a.txt", "1")]),
        Said::text(DONE),
        Said::text("bye"),
    ];
    for (typed, files, told) in [("1", 1, true), ("2", 0, false), ("all", 1, false), ("1; 2: keep it", 1, true)] {
        let ended = run(setup(&[]), &world(&script, &[("confirmation", &["go"]), ("destructive", &[typed])]));
        assert_eq!((ended.outcome, ended.files.len()), (Some(Outcome::Completed), files), "{typed}");
        assert_eq!(said_to_agent(&ended, "denied what you announced"), told, "{typed}");
        assert_eq!(said_to_agent(&ended, "says: keep it"), typed.contains("keep it"), "{typed}");
    }
}

#[test]
fn a_yes_to_the_same_act_again_is_none_to_another() {
    let turn = |id: &str, cmd: &str| Said::calls("w", vec![shell(id, cmd)]);
    let script = [
        Said::text(SUMMARY),
        turn("a", "rm -rf build"),
        turn("b", "rm -r build/tmp"),
        turn("c", "rm -rf src"),
        turn("d", "rm -rf build"),
        Said::text(DONE),
        Said::text("bye"),
    ];
    let answers: &[(&'static str, &[&str])] = &[("confirmation", &["go"]), ("destructive", &["again", "n"])];
    let ended = run(setup(&["shell_exec"]), &world(&script, answers));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    let questions = ended.journal.iter().filter(|event| {
        matches!(&event.body, Body::Ask(AskEvent::Question { question, .. }) if question.kind == QuestionKind::Destructive)
    });
    assert_eq!(questions.count(), 2, "about build and about src");
    assert_eq!((ended.effects.len(), rejections(&ended)), (3, vec![Rejection::Denied]));
    let granted: Vec<_> = ended
        .journal
        .iter()
        .filter_map(|event| match &event.body {
            Body::Gate(GateEvent::PermissionGranted { grant: Some(grant), .. }) => Some(grant.action.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(granted, ["`rm` for build with everything below it"]);
    let locked = run(Setup { scope_locked: true, ..setup(&["shell_exec"]) }, &world(&script, answers));
    assert!(!locked.journal.iter().any(|event| matches!(&event.body, Body::Gate(GateEvent::PermissionGranted { .. }))));
}

#[test]
fn an_announced_act_is_held_and_c32_an_approved_one_is_not_asked_again() {
    let script = [
        Said::text(SUMMARY),
        Said::text("I'll delete the build folder."),
        Said::text("I'll delete the build folder now."),
        Said::text(DONE),
        Said::text("bye"),
    ];
    let ended = run(setup(&[]), &world(&script, &[("confirmation", &["go"]), ("destructive", &["y"])]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    let denied = run(setup(&[]), &world(&script, &[("confirmation", &["go"]), ("destructive", &["n: keep it", "n"])]));
    assert_eq!(denied.outcome, Some(Outcome::Completed));
    assert!(said_to_agent(&denied, "denied what you announced and says: keep it"));
}

#[test]
fn a_declared_phase_3_waits_for_the_operator_even_if_no_rule_knows_the_act() {
    let script = [
        Said::text(SUMMARY),
        Said::text("## Phase 3\nMay I touch the other repository?"),
        Said::text(DONE),
        Said::text("bye"),
    ];
    let waiting = run(setup(&[]), &world(&script, &[("confirmation", &["go"])]));
    assert_eq!(waiting.open.first().map(|(_, kind)| *kind), Some(QuestionKind::Destructive));
    let ended = run(setup(&[]), &world(&script, &[("confirmation", &["go"]), ("destructive", &["n"])]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
}

#[test]
fn g5_another_phase_than_the_sessions_is_put_on_record() {
    let script = [Said::text(SUMMARY), Said::text("## Phase 0\nlet me restate"), Said::text(DONE), Said::text("bye")];
    let ended = run(setup(&[]), &world(&script, &[("confirmation", &["go"])]));
    let drift = |event: &Event| {
        matches!(
            event.body,
            Body::Part(PartEvent::PhaseDrift { turn: 2, declared: PhaseName::Intake, phase: PhaseName::Execute })
        )
    };
    assert!(ended.journal.iter().any(drift));
}

#[test]
fn g5_a_deadline_that_passes_is_asked_about_once() {
    // The simulator's clock begins in 1970 and moves a second per event.
    let soon = Setup {
        deadline: Some(("1970-01-01".to_owned(), "1970-01-01T00:00:14Z".parse().expect("a time"))),
        ..setup(&[])
    };
    let script = [Said::text(SUMMARY), Said::text("a"), Said::text("b"), Said::text(DONE), Said::text("bye")];
    let waiting = run(soon.clone(), &world(&script, &[("confirmation", &["go"])]));
    assert_eq!(waiting.open.first().map(|(_, kind)| *kind), Some(QuestionKind::Deadline));
    let ended = run(soon, &world(&script, &[("confirmation", &["go"]), ("deadline", &["continue"])]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
}

#[test]
fn the_step_limit_asks_for_more_and_is_not_refilled_by_a_resume() {
    let short = Setup { max_steps: 2, ..setup(&[]) };
    let script =
        [Said::text(SUMMARY), Said::text("a"), Said::text("b"), Said::text("c"), Said::text(DONE), Said::text("bye")];
    let waiting = run(short.clone(), &world(&script, &[("confirmation", &["go"])]));
    assert_eq!(waiting.open.first().map(|(_, kind)| *kind), Some(QuestionKind::Limit));
    let ended = run(short, &world(&script, &[("confirmation", &["go"]), ("limit", &["2"])]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
}

#[test]
fn a_step_holds_three_rounds_of_calls() {
    let read = |id: &str| Said::calls("r", vec![call(id, "read_file", json!({"path": id}))]);
    let script = [Said::text(SUMMARY), read("1"), read("2"), read("3"), Said::text(DONE), Said::text("bye")];
    let ended = run(setup(&[]), &world(&script, &[("confirmation", &["go"])]));
    let continues = ended
        .journal
        .iter()
        .filter(|event| matches!(&event.body, Body::Turn(TurnEvent::Message { step: 2, .. })))
        .count();
    assert!(continues > 0, "the fourth turn begins the second step");
    assert_eq!(ended.outcome, Some(Outcome::Completed));
}

#[test]
fn the_same_call_is_not_made_a_fourth_time_after_three_failures() {
    let fail = |id: &str| call(id, "fails", json!({}));
    let script = [
        Said::text(SUMMARY),
        Said::calls("", vec![fail("1"), fail("2"), fail("3")]),
        Said::calls("", vec![fail("4")]),
        Said::text(DONE),
        Said::text("bye"),
    ];
    let ended = run(setup(&[]), &world(&script, &[("confirmation", &["go"])]));
    assert_eq!(rejections(&ended), [Rejection::RetryCap]);

    let at_once = ["1", "2", "3", "4", "5"].map(fail).to_vec();
    let script = [Said::text(SUMMARY), Said::calls("", at_once), Said::text(DONE), Said::text("bye")];
    let ended = run(setup(&[]), &world(&script, &[("confirmation", &["go"])]));
    assert_eq!(rejections(&ended), [Rejection::RetryCap; 2], "in one turn");

    let one_by_one = (1..=5).map(|number| Said::calls("", vec![fail(&number.to_string())]));
    let script: Vec<Said> =
        [Said::text(SUMMARY)].into_iter().chain(one_by_one).chain([Said::text(DONE), Said::text("bye")]).collect();
    let ended = run(setup(&[]), &world(&script, &[("confirmation", &["go"])]));
    assert_eq!(rejections(&ended), [Rejection::RetryCap; 2], "over several steps");
}

#[test]
fn a_turn_that_fails_is_tried_again_and_a_person_is_asked_about_what_will_not_pass() {
    let fails = Said::Fails(FailureKind::Transient);
    let script = [fails.clone(), fails.clone(), fails, Said::text(SUMMARY), Said::text(DONE), Said::text("bye")];
    let ended = run(setup(&[]), &world(&script, &[("confirmation", &["go"])]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    let script = [Said::Fails(FailureKind::Permanent), Said::text(SUMMARY), Said::text(DONE), Said::text("bye")];
    let waiting = run(setup(&[]), &world(&script, &[]));
    assert_eq!(waiting.open.first().map(|(_, kind)| *kind), Some(QuestionKind::Failure));
    let ended = run(setup(&[]), &world(&script, &[("failure", &["retry"]), ("confirmation", &["go"])]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
}

/// Returns twelve scripts that between them meet every branch: each is killed everywhere below.
fn scripts() -> Vec<(&'static str, Setup, World)> {
    let go: &[(&'static str, &[&str])] = &[("confirmation", &["go"])];
    let patch = || Said::calls("p", vec![write("p", "src", "fixed")]);
    vec![
        (
            "first run",
            setup(&["filesystem_write", "shell_exec", "opaque_exec"]),
            world(
                &[
                    Said::text(SUMMARY),
                    Said::calls(
                        "reading",
                        vec![call("1", "list_dir", json!({})), call("2", "read_file", json!({"path": "src"}))],
                    ),
                    Said::calls("a patch", vec![call("3", "fails", json!({}))]),
                    patch(),
                    Said::calls("tests", vec![shell("4", "test")]),
                    Said::text("I'll delete the build folder."),
                    Said::calls("deleting", vec![shell("5", "rm -r build")]),
                    Said::text(DONE),
                    Said::text("bye"),
                ],
                &[("confirmation", &["go"]), ("destructive", &["y", "y"])],
            ),
        ),
        (
            "blocker",
            setup(&[]),
            world(
                &[Said::text(SUMMARY), Said::text("Blocker: no key"), Said::text(DONE), Said::text("bye")],
                &[("confirmation", &["go"]), ("blocker", &["K"])],
            ),
        ),
        (
            "denial",
            setup(&[]),
            world(
                &[Said::text(SUMMARY), patch(), Said::text(DONE), Said::text("bye")],
                &[("confirmation", &["go"]), ("destructive", &["n"])],
            ),
        ),
        (
            "several calls in one turn",
            setup(&[]),
            world(
                &[
                    Said::text(SUMMARY),
                    Said::calls(
                        "w",
                        vec![
                            write("a", "a", "1"),
                            call("b", "read_file", json!({})),
                            shell("c", "x"),
                            call("d", "nope", json!({})),
                        ],
                    ),
                    Said::text(DONE),
                    Said::text("bye"),
                ],
                &[("confirmation", &["go"]), ("destructive", &["y"])],
            ),
        ),
        (
            "cancel",
            setup(&["*"]),
            World {
                messages: vec![(16, Message::Cancel)],
                ..world(
                    &[
                        Said::text(SUMMARY),
                        Said::calls("w", vec![shell("a", "long")]),
                        Said::text(DONE),
                        Said::text("bye"),
                    ],
                    &[("confirmation", &["go"]), ("step", &["ok", "ok", "ok"])],
                )
            },
        ),
        (
            "approval for the run",
            setup(&[]),
            world(
                &[
                    Said::text(SUMMARY),
                    Said::calls("w", vec![write("a", "a", "1")]),
                    Said::calls("w", vec![write("b", "b", "2")]),
                    Said::text(DONE),
                    Said::text("bye"),
                ],
                &[("confirmation", &["go"]), ("destructive", &["category"])],
            ),
        ),
        (
            "approval of the same act again, and of one of two calls",
            setup(&[]),
            world(
                &[
                    Said::text(SUMMARY),
                    Said::calls("w", vec![write("a", "a", "1")]),
                    Said::calls("w", vec![write("b", "a", "2"), write("c", "b", "3"), write("d", "c", "4")]),
                    Said::text(DONE),
                    Said::text("bye"),
                ],
                &[("confirmation", &["go"]), ("destructive", &["again", "2 again; 1: later"])],
            ),
        ),
        (
            "mode switch",
            Setup { mode: None, ..setup(&[]) },
            world(
                &[Said::text(SUMMARY), Said::text("a"), Said::text("b"), Said::text(DONE), Said::text("bye")],
                &[("confirmation", &["go"]), ("step", &["use tabs", "auto"])],
            ),
        ),
        (
            "bad patch",
            setup(&["*"]),
            world(
                &[
                    Said::text(SUMMARY),
                    Said::calls("", vec![call("1", "fails", json!({}))]),
                    patch(),
                    Said::text(DONE),
                    Said::text("bye"),
                ],
                go,
            ),
        ),
        (
            "correction and nudge",
            setup(&[]),
            world(
                &[Said::text("ok"), Said::text(SUMMARY), Said::text(SUMMARY), Said::text(DONE), Said::text("bye")],
                &[("confirmation", &["more", "go"])],
            ),
        ),
        (
            "turns that fail",
            setup(&[]),
            world(
                &[
                    Said::Fails(FailureKind::Transient),
                    Said::text(SUMMARY),
                    Said::Fails(FailureKind::Permanent),
                    Said::text(DONE),
                    Said::text("bye"),
                ],
                &[("confirmation", &["go"]), ("failure", &["retry", "retry", "retry", "retry"])],
            ),
        ),
        (
            "huge output",
            setup(&["*"]),
            world(
                &[
                    Said::text(SUMMARY),
                    Said::calls(
                        "w",
                        vec![
                            call("a", "shell_exec", json!({"cmd": "log", "prints": "much"})),
                            call("b", "read_file", json!({"path": "log", "prints": "much"})),
                        ],
                    ),
                    Said::calls("w", vec![shell("c", "short")]),
                    Said::text(DONE),
                    Said::text("bye"),
                ],
                go,
            ),
        ),
        (
            "max steps",
            Setup { max_steps: 2, ..setup(&[]) },
            world(
                &[
                    Said::text(SUMMARY),
                    Said::text("a"),
                    Said::text("b"),
                    Said::text("c"),
                    Said::text(DONE),
                    Said::text("bye"),
                ],
                &[("confirmation", &["go"]), ("limit", &["5"])],
            ),
        ),
    ]
}

/// Returns the hashes of the results that are kept beside the journal, by the number of their call.
fn kept(ended: &Ended) -> BTreeMap<u32, &str> {
    let named = ended.journal.iter().filter_map(|event| match &event.body {
        Body::Call(CallEvent::ToolResult { slot, artifact: Some(hash), .. }) => Some((slot.number, hash.as_str())),
        _ => None,
    });
    named.collect()
}

/// Checks that a killed run ends as the whole one did; if a call's effect became unknown, the agent is told so.
#[track_caller]
fn ends_the_same(name: &str, plan: &Plan, whole: &Ended, ended: &Ended) {
    assert_eq!(ended.outcome, whole.outcome, "{name} {plan:?}");
    let unknown: Vec<u32> = ended
        .journal
        .iter()
        .filter_map(|event| match &event.body {
            Body::Call(CallEvent::ToolRejected { call, rejection: Rejection::EffectUnknown, .. }) => Some(*call),
            _ => None,
        })
        .collect();
    for hash in kept(ended).values() {
        let content = ended.artifacts.get(*hash).unwrap_or_else(|| panic!("{name} {plan:?}: {hash} is not there"));
        assert_eq!(blake3::hash(content.as_bytes()).to_hex().as_str(), *hash, "{name} {plan:?}");
    }
    if unknown.is_empty() {
        assert_eq!(ended.files, whole.files, "{name} {plan:?}");
        assert_eq!(kept(ended), kept(whole), "{name} {plan:?}");
        // A repetition has a key of its own; what was done is the same.
        let what = |ended: &Ended| ended.effects.iter().map(|(_, what)| what.clone()).collect::<Vec<_>>();
        if name != "cancel" {
            assert_eq!(what(ended), what(whole), "{name} {plan:?}");
        }
    }
    assert!(
        ended.effects.len() <= whole.effects.len() + usize::from(name == "cancel"),
        "{name} {plan:?}: {:?}",
        ended.effects
    );
}

#[test]
fn a_kill_after_any_event_or_effect_ends_the_same() {
    for (name, setup, world) in scripts() {
        let setup = Arc::new(setup);
        let whole = simulate(&|| alone(&setup), &world, &Plan::default())
            .unwrap_or_else(|violation| panic!("{name}: {violation:?}"));
        assert_eq!(whole.outcome, Some(Outcome::Completed), "{name}");
        for tick in 1..=whole.ticks {
            let plan = Plan { kills: [tick].into(), seed: tick, ..Plan::default() };
            let ended = simulate(&|| alone(&setup), &world, &plan)
                .unwrap_or_else(|violation| panic!("{name} {plan:?}: {violation:?}"));
            ends_the_same(name, &plan, &whole, &ended);
        }
    }
}

#[test]
fn a_huge_output_is_sent_by_its_hash_and_never_in_the_journal() {
    let (_, setup, world) = scripts().into_iter().find(|(name, ..)| *name == "huge output").expect("a script");
    let ended = run(setup, &world);
    assert_eq!(kept(&ended).into_keys().collect::<Vec<_>>(), [1, 2]);
    let part = Part::root().child("session");
    let mut transcript = Transcript::default();
    ended.journal.iter().filter(|event| event.part == part).cloned().for_each(|event| transcript.apply(event));
    let sent = transcript.messages().iter().filter_map(|said| match &said.speaker {
        Speaker::Tool { call_id, artifact, .. } => Some((call_id.as_str(), artifact.is_some(), said.text.is_empty())),
        Speaker::System | Speaker::User | Speaker::Agent { .. } => None,
    });
    let sent: BTreeSet<_> = sent.collect();
    assert_eq!(sent, BTreeSet::from([("a", true, true), ("b", true, true), ("c", false, false)]));
}

#[test]
fn two_kills_in_any_interleaving_end_the_same() {
    for (name, setup, world) in scripts() {
        let setup = Arc::new(setup);
        let whole = simulate(&|| alone(&setup), &world, &Plan::default()).expect("no rule is broken");
        for first in (1..=whole.ticks).step_by(3) {
            for gap in [1, 2, 3, 5, 9] {
                let plan = Plan { kills: [first, first + gap].into(), seed: first * 31 + gap, ..Plan::default() };
                let ended = simulate(&|| alone(&setup), &world, &plan)
                    .unwrap_or_else(|violation| panic!("{name} {plan:?}: {violation:?}"));
                ends_the_same(name, &plan, &whole, &ended);
            }
        }
    }
}

#[test]
fn whichever_event_is_lost_with_a_kill_the_run_goes_on() {
    for (name, setup, world) in scripts() {
        let setup = Arc::new(setup);
        let whole = simulate(&|| alone(&setup), &world, &Plan::default()).expect("no rule is broken");
        for tick in (1..whole.ticks).step_by(7) {
            let killed = Plan { kills: [tick].into(), seed: tick, ..Plan::default() };
            let ended = simulate(&|| alone(&setup), &world, &killed).expect("no rule is broken");
            let stopped =
                ended.journal.iter().take_while(|event| !matches!(event.body, Body::Run(RunEvent::RunResume { .. })));
            for (place, lost) in stopped.enumerate() {
                let plan = Plan { kills: [tick].into(), seed: tick, loses: Some(place), ..Plan::default() };
                match simulate(&|| alone(&setup), &world, &plan) {
                    Ok(ended) => assert!(
                        ended.outcome == Some(Outcome::Completed) || !ended.open.is_empty(),
                        "{name} {plan:?} without {lost:?}: {ended:?}"
                    ),
                    // A call whose intent can't be read counts as never having begun, whatever came of it.
                    Err(Violation::EffectTwice(key)) if lost.body.intent() == Some(&key.slot) => {}
                    Err(violation) => panic!("{name} {plan:?} without {lost:?}: {violation:?}"),
                }
            }
        }
    }
}

#[test]
fn an_unknown_effect_is_reported_to_the_agent_and_not_repeated() {
    let (_, setup, world) = scripts().swap_remove(0);
    let setup = Arc::new(setup);
    let whole = simulate(&|| alone(&setup), &world, &Plan::default()).expect("no rule is broken");
    let reported = (1..=whole.ticks)
        .filter(|tick| {
            let plan = Plan { kills: [*tick].into(), ..Plan::default() };
            let ended = simulate(&|| alone(&setup), &world, &plan).expect("no rule is broken");
            rejections(&ended).contains(&Rejection::EffectUnknown)
        })
        .count();
    assert!(reported >= 2, "between a shell command's intent and its outcome a kill leaves its effect unknown");
}

#[test]
fn replaying_with_the_same_rules_shows_no_drift() {
    for (name, setup, world) in scripts() {
        let setup = Arc::new(setup);
        let ended = simulate(&|| alone(&setup), &world, &Plan::default()).expect("no rule is broken");
        let report = replay(&ended.journal, alone(&setup));
        assert_eq!(report.drift, [], "{name}");
        assert!(report.turns > 0 && report.decisions > report.turns, "{name}");
    }
}

#[test]
fn replaying_with_a_changed_detector_reports_exactly_the_turns_it_affects() {
    let (_, setup, world) = scripts().swap_remove(1);
    let setup = Arc::new(setup);
    let ended = simulate(&|| alone(&setup), &world, &Plan::default()).expect("no rule is broken");
    // A blocker detector that no longer knows the word `Blocker:`.
    let without = |fired: &mut Vec<(String, Value)>| fired.retain(|(name, _)| name != "blocker");
    let report = replay_changed(&ended.journal, alone(&setup), without);
    assert_eq!(report.drift.iter().map(|drift| drift.turn).collect::<Vec<_>>(), [Some(2)]);
}

#[test]
fn replaying_with_a_changed_gate_reports_the_calls_it_affects() {
    let (_, setup, world) = scripts().swap_remove(0);
    let recorded = Arc::new(setup.clone());
    let ended = simulate(&|| alone(&recorded), &world, &Plan::default()).expect("no rule is broken");
    let stricter = Arc::new(Setup { shell_disabled: true, ..setup });
    let report = replay(&ended.journal, alone(&stricter));
    assert!(!report.drift.is_empty());
    assert!(report.drift.iter().all(|drift| drift.today.contains("refuse shell_exec")), "{:?}", report.drift);
}

/// Generates the turns of an agent for a random script.
fn any_said() -> impl Strategy<Value = Said> {
    let text = prop_oneof![
        Just(SUMMARY.to_owned()),
        Just("working".to_owned()),
        Just(String::new()),
        Just("## Phase 2 - no".to_owned()),
        Just("I'll delete the old folder and git push it.".to_owned()),
        Just("## Phase 3\nmay I?".to_owned()),
        Just(DONE.to_owned()),
        Just("Certainly! Of course.".to_owned()),
    ];
    let name = prop_oneof![
        Just("read_file"),
        Just("list_dir"),
        Just("write_file"),
        Just("shell_exec"),
        Just("fails"),
        Just("unknown")
    ];
    let calls = prop::collection::vec((name, 0u8..3), 0..4).prop_map(|calls| {
        let one = |(number, (name, path)): (usize, (&str, u8))| {
            call(&format!("c{number}"), name, json!({"path": format!("f{path}"), "content": "x"}))
        };
        calls.into_iter().enumerate().map(one).collect::<Vec<_>>()
    });
    prop_oneof![
        8 => (text, calls).prop_map(|(text, calls)| Said::Turn { text, calls }),
        1 => Just(Said::Fails(FailureKind::Transient)),
        1 => Just(Said::Fails(FailureKind::Permanent)),
    ]
}

fn any_answers() -> impl Strategy<Value = BTreeMap<&'static str, Vec<String>>> {
    let typed = |words: &'static [&'static str]| {
        prop::collection::vec(prop::sample::select(words).prop_map(str::to_owned), 0..4)
    };
    (
        typed(&["go", "auto", "no", "change it", "gated"]),
        typed(&["ok", "done", "auto", "use tabs"]),
        typed(&["y", "category", "n", "n: no", ""]),
        typed(&["here is the key"]),
        typed(&["1", "3"]),
        typed(&["retry"]),
    )
        .prop_map(|(confirmation, step, destructive, blocker, limit, failure)| {
            BTreeMap::from([
                ("confirmation", confirmation),
                ("step", step),
                ("destructive", destructive),
                ("blocker", blocker),
                ("limit", limit),
                ("failure", failure),
            ])
        })
}

/// Returns a call in a journal that nothing allowed, if there is one. Written apart from the gate: it knows only what
/// each tool needs, what the brief authorizes and what the operator said.
fn unauthorized_call(journal: &[Event], authorized: &[&str]) -> Option<String> {
    let needs = |name: &str| match name {
        "read_file" | "list_dir" | "fails" => None,
        "write_file" => Some("filesystem_write"),
        "shell_exec" => Some("shell_exec"),
        _ => Some("impossible"),
    };
    let mut for_run: BTreeSet<String> = authorized.iter().map(|category| (*category).to_owned()).collect();
    let mut once: BTreeSet<u32> = BTreeSet::new();
    let mut accepted = false;
    for event in journal {
        match &event.body {
            Body::Ask(AskEvent::Answer { choice, .. }) if format!("{choice:?}").starts_with("Accept") => {
                accepted = true
            }
            Body::Gate(GateEvent::AuthPrompt { categories, response, calls, .. }) => match response.as_str() {
                "Y" => {
                    for_run.extend(categories.iter().cloned());
                    once.extend(calls);
                }
                "y" => once.extend(calls),
                _ => {}
            },
            Body::Call(CallEvent::ToolCall { slot, name, .. }) => {
                if !accepted {
                    return Some(format!("{name} before phase 0 was accepted"));
                }
                let covered = needs(name).is_none_or(|category| {
                    for_run.contains(category) || for_run.contains("*") || once.contains(&slot.number)
                });
                if !covered {
                    return Some(format!("{name} at {slot}"));
                }
            }
            _ => {}
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn no_script_skips_phase_0_or_makes_an_unauthorized_call(
        script in prop::collection::vec(any_said(), 0..10),
        answers in any_answers(),
        authorized in prop::sample::subsequence(vec!["filesystem_write", "shell_exec", "*"], 0..3),
        kills in prop::collection::btree_set(1u64..150, 0..3),
        seed in any::<u64>(),
        mode in prop::option::of(prop_oneof![Just(Mode::Auto), Just(Mode::Gated)]),
    ) {
        let setup = Arc::new(Setup { mode, max_steps: 6, ..setup(&authorized) });
        let world = World { answers, ..world(&script, &[]) };
        let plan = Plan { kills, seed, ..Plan::default() };
        let ended = simulate(&|| alone(&setup), &world, &plan);
        prop_assert!(ended.is_ok(), "{:?}", ended);
        let ended = ended.expect("checked");
        prop_assert_eq!(unauthorized_call(&ended.journal, &authorized), None);
        prop_assert!(ended.outcome.is_some() || !ended.open.is_empty(), "it ends or waits with a question");
        let whole = simulate(&|| alone(&setup), &world, &Plan { seed, ..Plan::default() }).expect("no rule is broken");
        if !rejections(&ended).contains(&Rejection::EffectUnknown) && !rejections(&whole).contains(&Rejection::EffectUnknown) {
            // A resume tries failed turns anew, so that only runs without failures end alike to the letter.
            if !script.iter().any(|said| matches!(said, Said::Fails(_))) {
                prop_assert_eq!(&ended.files, &whole.files);
                prop_assert_eq!(ended.outcome, whole.outcome);
            }
        }
    }
}

/// The oracle is no copy of the gate: a gate that lets everything through is caught by it.
#[test]
fn a_gate_that_allows_everything_is_caught_by_the_oracle() {
    let lenient = Arc::new(setup(&["*"]));
    let world = world(
        &[Said::text(SUMMARY), Said::calls("w", vec![write("a", "a", "1")]), Said::text(DONE), Said::text("bye")],
        &[("confirmation", &["go"])],
    );
    let ended = simulate(&|| alone(&lenient), &world, &Plan::default()).expect("no rule is broken");
    assert!(unauthorized_call(&ended.journal, &[]).is_some());
}
