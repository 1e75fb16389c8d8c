//! Permissions that an agent asks for beforehand, under the simulator: bound to the act, used once, and the same
//! after a kill anywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use adjutant_core::gate::{Grant, RoleLimit};
use adjutant_core::procedure::run::Run;
use adjutant_core::session::replay::replay;
use adjutant_core::session::{Session, Setup};
use adjutant_core::trace::{Body, CallEvent, Event, GateEvent};
use adjutant_core::words::tool::{ToolCall, ToolEffect, ToolSpec};
use adjutant_core::words::{Category, Lasts, Outcome, Part, Rejection};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::simulator::{self, Ended, Plan, Said, World, call, kind, simulate};

const SUMMARY: &str = "## Phase 0\n\n**Objective**: build\n**Deliverables**: one\n**Constraints**: two\n**Tools required**: three\n**Unknowns**: none";
const DONE: &str = "## Phase 4\nEverything shipped.";

fn setup() -> Setup {
    let tool = |name: &str, category: Option<&str>, effect| ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        categories: category.map(Category::new).into_iter().collect(),
        schema: json!({}),
        effect,
    };
    Setup {
        tools: [
            tool("write_file", Some("filesystem_write"), ToolEffect::WritesFiles),
            tool("shell_exec", Some("shell_exec"), ToolEffect::Anything),
            tool("request_permission", None, ToolEffect::Reads),
        ]
        .into(),
        ..simulator::setup()
    }
}

fn ask(id: &str, more: Value) -> ToolCall {
    let mut args = json!({"action": "write the file", "reasoning": "it is needed", "category": "filesystem_write"});
    args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call(id, "request_permission", args)
}

fn write(id: &str, path: &str) -> ToolCall {
    call(id, "write_file", json!({"path": path, "content": "x"}))
}

fn world(turns: &[Vec<ToolCall>], answers: &[(&'static str, &[&str])]) -> World {
    let turns = turns.iter().map(|calls| Said::calls("working", calls.clone()));
    let script = std::iter::once(Said::text(SUMMARY)).chain(turns).chain([Said::text(DONE), Said::text("bye")]);
    let answers = answers.iter().chain(&[("confirmation", &["go"] as &[&str])]);
    World {
        scripts: BTreeMap::from([("session".to_owned(), script.collect())]),
        answers: answers.map(|(kind, typed)| (*kind, typed.iter().map(|&text| text.to_owned()).collect())).collect(),
        writes: BTreeSet::from(["write_file"]),
        ..World::default()
    }
}

fn make(setup: &Arc<Setup>, before: &[Body]) -> Run<Session> {
    let part = Part::root().child("session");
    let mut run = Run::new(Session::new(setup.clone(), part.clone()), part);
    for body in before {
        run.apply(&Event { seq: 0, at: Timestamp::UNIX_EPOCH, part: Part::root(), body: body.clone() });
    }
    run
}

/// Runs a script to its end, and once more with a kill after every tick: the end must be the same.
#[track_caller]
fn run_with(setup: Setup, before: &[Body], world: &World) -> Ended {
    let setup = Arc::new(setup);
    let whole = simulate(&|| make(&setup, before), world, &Plan::default()).expect("no rule is broken");
    for tick in 1..whole.ticks {
        let plan = Plan { kills: [tick].into(), seed: tick, ..Plan::default() };
        let killed = simulate(&|| make(&setup, before), world, &plan).expect("no rule is broken");
        assert_eq!((killed.outcome, &killed.files), (whole.outcome, &whole.files), "killed after tick {tick}");
    }
    whole
}

#[track_caller]
fn run(world: &World) -> Ended {
    run_with(setup(), &[], world)
}

fn of_kind(ended: &Ended, wanted: &str) -> Vec<Body> {
    ended.journal.iter().filter(|event| kind(&event.body) == wanted).map(|event| event.body.clone()).collect()
}

/// Returns the answers to the agent's requests.
fn answers(ended: &Ended) -> Vec<Value> {
    let answered = |event: &Event| match &event.body {
        Body::Call(CallEvent::ToolRejected { rejection: Rejection::Answered, content, .. }) => {
            serde_json::from_str(content).ok()
        }
        _ => None,
    };
    ended.journal.iter().filter_map(answered).collect()
}

#[test]
fn s4_silence_and_an_empty_line_grant_nothing() {
    let script = [vec![ask("p", json!({}))], vec![write("w", "a")]];
    let ended = run(&world(&script, &[("permission", &[""]), ("destructive", &["n"])]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert_eq!(answers(&ended)[0]["granted"], false);
    assert!(ended.files.is_empty());
    assert_eq!(of_kind(&ended, "permission_denied").len(), 1);
    let nobody = run(&world(&script, &[]));
    assert_eq!((nobody.outcome, nobody.files.len()), (None, 0), "it waits for somebody");
}

#[test]
fn c18_one_id_names_a_request_its_grant_and_its_use() {
    let ended = run(&world(&[vec![ask("p", json!({}))], vec![write("w", "a")]], &[("permission", &["y"])]));
    let ids: Vec<String> = ["permission_requested", "permission_granted", "permission_grant_consumed"]
        .iter()
        .flat_map(|wanted| of_kind(&ended, wanted))
        .map(|body| serde_json::to_value(&body).unwrap())
        .map(|body| body.as_object().unwrap().values().next().unwrap()["grant_id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), 3);
    assert!(ids.iter().all(|id| *id == ids[0] && id.len() == 36), "{ids:?}");
    assert_eq!(
        answers(&ended)[0],
        json!({"granted": true, "scope_granted": "this_call", "operator_note": null, "grant_id": ids[0]})
    );
    assert_eq!(ended.files.len(), 1);
}

#[test]
fn a_grant_for_one_call_is_good_for_one_call() {
    let script = [vec![ask("p", json!({}))], vec![write("w", "a"), write("x", "b")]];
    let ended = run(&world(&script, &[("permission", &["y"]), ("destructive", &["n"])]));
    assert_eq!(ended.files.keys().collect::<Vec<_>>(), ["a"]);
    let twice = [
        vec![ask("p", json!({"scope": "this_session", "uses": 2}))],
        vec![write("w", "a"), write("x", "b"), write("y", "c")],
    ];
    let ended = run(&world(&twice, &[("permission", &["y"]), ("destructive", &["n"])]));
    assert_eq!(ended.files.keys().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn s5_a_grant_for_one_category_does_not_let_a_call_through_that_needs_two() {
    let script = [
        vec![ask("p", json!({"scope": "this_session"}))],
        vec![write("w", ".github/workflows/a.yml"), write("x", "b")],
    ];
    let ended = run(&world(&script, &[("permission", &["y"]), ("destructive", &["n"])]));
    assert_eq!(ended.files.keys().collect::<Vec<_>>(), ["b"]);
}

#[test]
fn a_grant_is_bound_to_its_path() {
    let script = [
        vec![ask("p", json!({"scope": "this_session", "path": "docs/*.md"}))],
        vec![write("w", "docs/a.md"), write("x", "b")],
    ];
    let ended = run(&world(&script, &[("permission", &["s"]), ("destructive", &["n"])]));
    assert_eq!(ended.files.keys().collect::<Vec<_>>(), ["docs/a.md"]);
}

#[test]
fn what_was_denied_is_not_asked_again() {
    let script = [vec![ask("p", json!({})), ask("q", json!({}))], vec![ask("r", json!({}))]];
    let ended = run(&world(&script, &[("permission", &["n: no need"])]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert_eq!(of_kind(&ended, "permission_requested").len(), 1);
    assert_eq!(answers(&ended).len(), 3);
    assert_eq!(answers(&ended)[0]["operator_note"], "no need");
}

#[test]
fn a_yes_lasts_no_longer_than_it_may() {
    let lasts = |setup: Setup, asked: Value, typed: &'static str| {
        let answers: [(&str, &[&str]); 1] = [("permission", &[typed])];
        let ended = run_with(setup, &[], &world(&[vec![ask("p", asked)]], &answers));
        match of_kind(&ended, "permission_granted").as_slice() {
            [Body::Gate(GateEvent::PermissionGranted { grant: Some(grant), .. })] => {
                (grant.lasts, grant.until.is_some())
            }
            other => panic!("{other:?}"),
        }
    };
    let destructive = json!({"category": "filesystem_delete", "scope": "persistent"});
    assert_eq!(lasts(setup(), destructive.clone(), "y"), (Lasts::ThisRun, false));
    assert_eq!(lasts(setup(), destructive, "p"), (Lasts::ThisRun, false));
    assert_eq!(lasts(setup(), json!({"scope": "persistent"}), "y"), (Lasts::Persistent, true));
    assert_eq!(lasts(setup(), json!({}), "p 2030-01-01"), (Lasts::Persistent, true));
    assert_eq!(lasts(setup(), json!({"scope": "persistent"}), "once"), (Lasts::ThisCall, false));
    let locked = Setup { scope_locked: true, ..setup() };
    assert_eq!(lasts(locked, json!({"scope": "persistent"}), "p"), (Lasts::ThisCall, false));
}

#[test]
fn a_request_that_says_too_little_is_sent_back_without_a_question() {
    let script = [vec![call("p", "request_permission", json!({"action": "a", "reasoning": "r"}))]];
    let ended = run(&world(&script, &[]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert!(of_kind(&ended, "permission_requested").is_empty());
    let rejected = of_kind(&ended, "tool_rejected");
    assert!(
        matches!(rejected.as_slice(), [Body::Call(CallEvent::ToolRejected { rejection: Rejection::BadArguments, .. })]),
        "{rejected:?}"
    );
}

fn kept(id: &str, until: Option<&str>) -> Grant {
    Grant {
        grant_id: id.to_owned(),
        action: "write".to_owned(),
        reasoning: String::new(),
        categories: vec![Category::new("filesystem_write")],
        tool: None,
        command: None,
        path: None,
        act: None,
        lasts: Lasts::Persistent,
        until: until.map(|until| until.parse().unwrap()),
        uses: None,
        granted_at: Timestamp::UNIX_EPOCH,
    }
}

#[test]
fn kept_grants_hold_until_they_are_over_or_revoked() {
    let loaded = |grants: &[Grant]| Body::Gate(GateEvent::GrantsLoaded { grants: grants.to_vec() });
    let revoked = |id: &str| {
        Body::Gate(GateEvent::PermissionRevoked { grant_id: id.to_owned(), revoked_at: Timestamp::UNIX_EPOCH })
    };
    let one = kept("one", Some("9999-01-01T00:00:00Z"));
    for (before, written) in [
        (vec![loaded(std::slice::from_ref(&one))], true),
        (vec![loaded(&[kept("over", Some("1970-01-01T00:00:00Z"))])], false),
        (vec![loaded(std::slice::from_ref(&one)), revoked("one")], false),
        (vec![loaded(std::slice::from_ref(&one)), revoked("other")], true),
        (vec![loaded(std::slice::from_ref(&one)), loaded(&[])], false),
        (vec![], false),
    ] {
        let ended = run_with(setup(), &before, &world(&[vec![write("w", "a")]], &[("destructive", &["n"])]));
        assert_eq!(ended.files.contains_key("a"), written, "{before:?}");
    }
}

/// Decides a journal anew, and expects the same.
#[track_caller]
fn expect_no_drift(journal: &[Event]) {
    let report = replay(journal, make(&Arc::new(setup()), &[]));
    assert_eq!(report.drift, []);
}

#[test]
fn a_run_with_grants_is_decided_the_same_again() {
    let script = [vec![ask("p", json!({"scope": "this_session"}))], vec![write("w", "a"), write("x", ".travis.yml")]];
    let ended = run(&world(&script, &[("permission", &["y"]), ("destructive", &["y"])]));
    expect_no_drift(&ended.journal);
}

#[test]
fn a_grant_for_later_runs_is_kept_also_if_its_part_ends_with_the_same_turn() {
    let shell = call("s", "shell_exec", json!({"cmd": "true"}));
    let script = [vec![ask("p", json!({"scope": "persistent"})), shell]];
    let may_hold = vec![Category::new("filesystem_write")];
    let role = RoleLimit { name: "writer".to_owned(), may_hold, may_read: true, granted: None };
    let setup = Setup { role: Some(role), ..setup() };
    let ended = run_with(setup, &[], &world(&script, &[("permission", &["y"])]));
    assert_eq!((ended.outcome, of_kind(&ended, "grant_kept").len()), (Some(Outcome::Failed), 1));
}

#[test]
fn a_grant_for_later_runs_is_kept_once_and_journals_from_before_that_was_on_record_are_decided_the_same() {
    let script = [vec![ask("p", json!({"scope": "persistent"})), write("w", "a")], vec![write("x", "b")]];
    let ended = run(&world(&script, &[("permission", &["y"])]));
    assert_eq!((of_kind(&ended, "grant_keep").len(), of_kind(&ended, "grant_kept").len()), (1, 1));
    expect_no_drift(&ended.journal);
    let is_old = |event: &&Event| !["grant_keep", "grant_kept"].contains(&kind(&event.body).as_str());
    expect_no_drift(&ended.journal.iter().filter(is_old).cloned().collect::<Vec<_>>());
}
