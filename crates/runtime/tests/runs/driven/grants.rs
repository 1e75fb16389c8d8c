//! Grants that hold beyond a run: given and kept by it, revoked while it is at work.

use std::sync::Arc;

use adjutant_core::gate::Grant;
use adjutant_core::session::Setup;
use adjutant_core::trace::{Body, Event, GateEvent};
use adjutant_core::words::{Category, Lasts, Outcome, QuestionKind};
use adjutant_simulation::{
    Invariant, PlantedFault, RunFate, Scene, SceneMoment, SceneReport, StagedTurn, alone, call, setup, side_by_side,
    simulate,
};
use jiff::Timestamp;
use serde_json::json;

use super::{asked, count, everywhere, place, run, talk, write};

pub(super) fn grant(grant_id: &str) -> Grant {
    Grant {
        grant_id: grant_id.to_owned(),
        action: "write".to_owned(),
        reasoning: String::new(),
        categories: vec![Category::new("filesystem_write")],
        tool: None,
        command: None,
        path: None,
        act: None,
        lasts: Lasts::Persistent,
        until: None,
        uses: None,
        granted_at: Timestamp::UNIX_EPOCH,
    }
}

/// A session that writes two files by a grant and nothing else.
fn scene() -> Scene {
    let turns =
        vec![StagedTurn::calls("one", vec![write("w1", "one")]), StagedTurn::calls("two", vec![write("w2", "two")])];
    let scene = Scene::of(talk(turns)).answering(QuestionKind::Confirmation, &["go"]);
    Scene { grants: vec![grant("g")], ..scene.answering(QuestionKind::Destructive, &["n"; 4]) }
}

fn without_rights() -> Arc<Setup> {
    Arc::new(Setup { authorized: Vec::new(), ..setup() })
}

fn is_revoked(body: &Body) -> bool {
    matches!(body, Body::Gate(GateEvent::PermissionRevoked { .. }))
}

fn is_used(body: &Body) -> bool {
    matches!(body, Body::Gate(GateEvent::PermissionGrantConsumed { .. }))
}

#[test]
fn a_grant_that_is_revoked_at_any_moment_is_not_used_from_then_on() {
    let setup = without_rights();
    let whole = run(&|| alone(&setup), &scene(), &RunFate::default());
    assert_eq!((whole.files.len(), asked(&whole, QuestionKind::Destructive)), (2, 0));
    for moment in 1..=whole.journal.len() {
        let scene = Scene { revoked: vec![(SceneMoment::AfterEvents(moment), "g".to_owned())], ..scene() };
        let report = run(&|| alone(&setup), &scene, &RunFate::default());
        assert_eq!(report.outcome, Some(Outcome::Completed), "{moment}");
        assert_eq!(report.files.len() + asked(&report, QuestionKind::Destructive), 2, "{moment}");
        assert!(count(&report, is_revoked) <= 1, "{moment}");
    }
}

#[test]
fn a_call_that_was_allowed_by_a_grant_and_has_not_begun_is_asked_about_once_it_is_revoked() {
    let setup = without_rights();
    let whole = run(&|| alone(&setup), &scene(), &RunFate::default());
    // The call has its yes, and is being prepared.
    let used = place(&whole, |event| is_used(&event.body));
    let scene = Scene { revoked: vec![(SceneMoment::AfterEvents(used + 2), "g".to_owned())], ..scene() };
    let report = run(&|| alone(&setup), &scene, &RunFate::default());
    assert_eq!((count(&report, is_used), asked(&report, QuestionKind::Destructive)), (1, 2));
    assert!(report.files.is_empty());
    everywhere(&|| alone(&setup), &scene, &|report| {
        assert_eq!((report.outcome, report.files.len()), (Some(Outcome::Completed), 0));
    });
}

#[test]
fn sessions_side_by_side_lose_a_revoked_grant_at_once() {
    let setup = without_rights();
    let turns = |number: u32| talk(vec![StagedTurn::calls("one", vec![write(&format!("w{number}"), "one")]); 1]);
    let turns = (1..=3).map(|number| (format!("council/{number}"), turns(number))).collect();
    for moment in (2_000..12_000).step_by(400) {
        let scene = Scene {
            turns: std::collections::BTreeMap::clone(&turns),
            revoked: vec![(SceneMoment::AfterMs(moment), "g".to_owned())],
            ..scene()
        };
        let fate = RunFate { seed: moment, ..RunFate::default() };
        let report = run(&|| side_by_side(&setup, 3), &scene, &fate);
        assert_eq!(report.outcome, Some(Outcome::Completed), "{moment}");
    }
}

/// A session that asks for a permission for later runs, too, and uses it.
fn asking() -> Scene {
    let args = json!({"action": "write", "reasoning": "needed", "category": "filesystem_write", "scope": "persistent"});
    let asks = vec![call("p1", "request_permission", args), write("w1", "one")];
    let turns = vec![StagedTurn::calls("asking", asks), StagedTurn::calls("two", vec![write("w2", "two")])];
    let scene = Scene::of(talk(turns)).answering(QuestionKind::Confirmation, &["go"]);
    scene.answering(QuestionKind::Permission, &["y"])
}

fn kept(report: &SceneReport) -> Vec<Option<String>> {
    let kept = |event: &Event| match &event.body {
        Body::Gate(GateEvent::GrantKept { error, .. }) => Some(error.clone()),
        _ => None,
    };
    report.journal.iter().filter_map(kept).collect()
}

#[test]
fn a_permission_for_later_runs_is_kept_wherever_the_driver_dies() {
    let setup = without_rights();
    let whole = run(&|| alone(&setup), &asking(), &RunFate::default());
    assert_eq!(kept(&whole), [None]);
    everywhere(&|| alone(&setup), &asking(), &|report| {
        assert_eq!((report.outcome, report.files.len()), (Some(Outcome::Completed), 2));
        assert_eq!((report.grants.len(), asked(report, QuestionKind::Permission)), (1, 1));
        assert!(kept(report).len() <= 1);
    });
}

#[test]
fn a_permission_that_can_not_be_kept_holds_for_its_run_and_it_is_said() {
    let setup = without_rights();
    let scene = Scene { grants_fault: Some("the disk is full".to_owned()), ..asking() };
    everywhere(&|| alone(&setup), &scene, &|report| {
        assert_eq!((report.outcome, report.files.len()), (Some(Outcome::Completed), 2));
        assert_eq!(kept(report), [Some("the disk is full; it holds for this run only".to_owned())]);
    });
}

#[test]
fn a_permission_that_is_revoked_once_it_is_kept_holds_no_longer() {
    let setup = without_rights();
    let whole = run(&|| alone(&setup), &asking(), &RunFate::default());
    let is_kept = |event: &Event| matches!(event.body, Body::Gate(GateEvent::GrantKept { .. }));
    let (moment, grant_id) = (place(&whole, is_kept) + 1, whole.grants[0].grant_id.clone());
    let scene = Scene { revoked: vec![(SceneMoment::AfterEvents(moment), grant_id)], ..asking() };
    let scene = scene.answering(QuestionKind::Destructive, &["n"; 4]);
    everywhere(&|| alone(&setup), &scene, &|report| {
        assert_eq!(report.outcome, Some(Outcome::Completed));
        assert!(asked(report, QuestionKind::Destructive) >= 1);
    });
}

#[test]
fn a_use_of_a_revoked_grant_and_a_grant_that_is_lost_are_caught() {
    let setup = without_rights();
    let scene = Scene { revoked: vec![(SceneMoment::AfterMs(1), "g".to_owned())], ..scene() };
    let fate = RunFate { planted: Some(PlantedFault::HidesRevocations), ..RunFate::default() };
    let broken = simulate(&|| alone(&setup), &scene, &fate).map(|report| report.lives);
    assert_eq!(broken.map_err(|broken| broken.invariant), Err(Invariant::RevokedGrantsUnused));
    let fate = RunFate { planted: Some(PlantedFault::LosesGrants), ..RunFate::default() };
    let broken = simulate(&|| alone(&setup), &asking(), &fate).map(|report| report.lives);
    assert_eq!(broken.map_err(|broken| broken.invariant), Err(Invariant::GrantsKept));
}
