//! A disk that fails, and two drivers of one run.

use std::sync::Arc;

use adjutant_core::session::Setup;
use adjutant_core::words::{Budget, Message, Outcome, QuestionKind};
use adjutant_simulation::{
    Invariant, LifeEnd, PlantedFault, RunFate, Scene, SceneMoment, StagedTurn, alone, setup, side_by_side, simulate,
};

use super::{read, run, shell, talk, write};

fn scene() -> Scene {
    let work = vec![
        StagedTurn::calls("reading", vec![read("r1")]),
        StagedTurn::calls("working", vec![write("w1", "one"), shell("s1")]),
    ];
    Scene::of(talk(work)).answering(QuestionKind::Confirmation, &["go"])
}

#[test]
fn a_journal_that_fails_at_any_event_stops_its_driver_and_the_next_one_goes_on() {
    let setup = Arc::new(setup());
    let whole = run(&|| alone(&setup), &scene(), &RunFate::default());
    for failing in 1..=whole.journal.len() as u64 {
        let fate = RunFate { failing_append: Some(failing), ..RunFate::default() };
        let stopped = run(&|| alone(&setup), &Scene { stops_at_errors: true, ..scene() }, &fate);
        assert_eq!(stopped.lives, [LifeEnd::Stopped("can't write the journal `journal`".to_owned())], "{failing}");
        assert_eq!(stopped.journal.len() as u64, failing - 1);
        let report = run(&|| alone(&setup), &scene(), &fate);
        assert_eq!((report.outcome, report.files.len()), (Some(Outcome::Completed), 1), "{failing}");
    }
}

#[test]
fn a_driver_that_lost_the_run_begins_nothing_more() {
    let setup = Arc::new(setup());
    let whole = run(&|| alone(&setup), &scene(), &RunFate::default());
    for tick in 1..=whole.ticks {
        let fate = RunFate { taken_over_at: Some(tick), ..RunFate::default() };
        let report = run(&|| alone(&setup), &scene(), &fate);
        assert_eq!(report.outcome, Some(Outcome::Completed), "{tick}: {:?}", report.lives);
        let lost = LifeEnd::Stopped("another driver has taken over the run (it is process 2 on elsewhere)".to_owned());
        let has_ended = matches!(report.lives[0], LifeEnd::Ended(_));
        assert!(report.lives[0] == lost || has_ended, "{tick}: {:?}", report.lives);
    }
}

#[test]
fn a_driver_of_siblings_that_lost_the_run_begins_nothing_more() {
    let setup = Arc::new(setup());
    let turns = |number: u32| {
        let id = |what: &str| format!("{what}{number}");
        talk(vec![StagedTurn::calls("working", vec![write(&id("w"), "one"), shell(&id("s"))])])
    };
    let turns = (1..=3).map(|number| (format!("council/{number}"), turns(number))).collect();
    let scene = Scene { turns, ..Scene::default() }.answering(QuestionKind::Confirmation, &["go"]);
    let whole = run(&|| side_by_side(&setup, 3), &scene, &RunFate::default());
    for tick in (1..=whole.ticks).step_by(5) {
        let fate = RunFate { taken_over_at: Some(tick), seed: tick, ..RunFate::default() };
        let report = run(&|| side_by_side(&setup, 3), &scene, &fate);
        assert_eq!((report.outcome, report.files.len()), (Some(Outcome::Completed), 3), "{tick}: {:?}", report.lives);
    }
}

/// A fault of the world, and the check that catches it.
#[test]
fn each_check_catches_what_it_is_for() {
    let setup = Arc::new(setup());
    let secret = "correct-horse-battery-staple".to_owned();
    let work = vec![StagedTurn::calls("working", vec![write("w1", &secret), shell("s1")])];
    let limits = Budget { max_nano_dollars: Some(1_000_000_000), ..Budget::default() };
    let scene = Scene::of(talk(work)).answering(QuestionKind::Confirmation, &["go"]);
    let scene = Scene { secrets: vec![secret], limits, ..scene };
    let scene = scene.telling(SceneMoment::AfterMs(500), "session", Message::Steer("hurry".to_owned()));
    let setup = Arc::new(Setup { budget: limits, ..(*setup).clone() });
    run(&|| alone(&setup), &scene, &RunFate::default());
    for (fault, invariant) in [
        (PlantedFault::NothingIsSynced, Invariant::SyncedBeforeEffect),
        (PlantedFault::LosesIntents, Invariant::IntentBeforeEffect),
        (PlantedFault::AnswersAnotherQuestion, Invariant::AnsweredOnce),
        (PlantedFault::HasEffectsTwice, Invariant::ExecutedOnce),
        (PlantedFault::NothingIsMasked, Invariant::NoSecretOnRecord),
        (PlantedFault::PutsQuestionsTwice, Invariant::AskedOnce),
        (PlantedFault::BillsTooMuch, Invariant::LimitsHold),
        (PlantedFault::LettersGoAstray, Invariant::HeardOnce),
        (PlantedFault::WritesOtherwise, Invariant::ReadsBack),
        (PlantedFault::NeverAnswers, Invariant::ComesToAnEnd),
    ] {
        let fate = RunFate { planted: Some(fault), ..RunFate::default() };
        let violation = simulate(&|| alone(&setup), &scene, &fate).map(|report| report.lives);
        assert_eq!(violation.map_err(|violation| violation.invariant), Err(invariant), "{fault:?}");
    }
}

#[test]
fn a_deadline_that_nobody_keeps_is_caught() {
    let setup = Arc::new(Setup { authorized: Vec::new(), answer_within_ms: Some(60_000), ..setup() });
    let work = vec![StagedTurn::calls("working", vec![write("w1", "one")])];
    let scene = Scene::of(talk(work)).answering(QuestionKind::Confirmation, &["go"]);
    let scene = scene.answering_after(90_000, QuestionKind::Destructive, &["y"]);
    run(&|| alone(&setup), &scene, &RunFate::default());
    let fate = RunFate { planted: Some(PlantedFault::HidesDeadlines), ..RunFate::default() };
    let broken = simulate(&|| alone(&setup), &scene, &fate).map(|report| report.lives);
    assert_eq!(broken.map_err(|broken| broken.invariant), Err(Invariant::DeadlinesKept));
}

#[test]
fn what_begins_after_an_append_that_failed_is_caught() {
    let setup = Arc::new(setup());
    let whole = run(&|| alone(&setup), &scene(), &RunFate::default());
    let last_begun = super::place(&whole, |event| event.body.outcome().is_some());
    for failing in 1..=last_begun as u64 {
        let fate = RunFate { failing_append: Some(failing), ..RunFate::default() };
        run(&|| alone(&setup), &scene(), &fate);
        let fate = RunFate { planted: Some(PlantedFault::HidesFailures), ..fate };
        let broken = simulate(&|| alone(&setup), &scene(), &fate).map(|report| report.lives);
        assert_eq!(broken.map_err(|broken| broken.invariant), Err(Invariant::NothingAfterFailure), "{failing}");
    }
}

/// Faults that show when a driver dies at the wrong moment only.
#[test]
fn what_a_kill_brings_to_light_is_caught() {
    let setup = Arc::new(setup());
    let whole = run(&|| alone(&setup), &scene(), &RunFate::default());
    for (fault, invariant) in [
        (PlantedFault::DeniesEffects, Invariant::KilledCallsAccounted),
        (PlantedFault::HidesCalls, Invariant::FoldsTheSame),
    ] {
        let is_caught = |tick: u64| {
            let fate = RunFate { planted: Some(fault), ..RunFate::killed_at([tick, tick + 3]) };
            simulate(&|| alone(&setup), &scene(), &fate).is_err_and(|broken| broken.invariant == invariant)
        };
        assert!((1..=whole.ticks).any(is_caught), "{fault:?}");
    }
}
