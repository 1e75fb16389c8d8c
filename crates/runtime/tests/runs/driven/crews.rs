//! A crew, killed at every tick, twice within a few ticks, and in any order of what happens.

use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_core::crew::CrewSetup;
use adjutant_core::session::Setup;
use adjutant_core::trace::{Body, CrewEvent};
use adjutant_core::words::role::Role;
use adjutant_core::words::{CrewState, Message, Outcome, QuestionKind};
use adjutant_simulation::{
    RunFate, Scene, SceneMoment, SceneReport, StagedTurn, crew, crew_setup, executing, planning, reviewing, setup,
};

use super::{SUMMARY, asked, everywhere, run, write};

const TEAM: [Role; 3] = [Role::Planner, Role::Executor, Role::Reviewer];

/// A crew that writes one file, which its reviewer wants done again.
fn scene() -> Scene {
    let does = |content: &str| {
        let writes = StagedTurn::calls("writing", vec![write(content, content)]);
        vec![StagedTurn::says(SUMMARY), writes, executing("a")]
    };
    let turns = [
        ("intake", vec![StagedTurn::says(SUMMARY)]),
        ("plan/1/planner", vec![planning(&["a"])]),
        ("subtask/1.1/executor", does("one")),
        ("subtask/1.1/reviewer", vec![reviewing("a", "needs_retry")]),
        ("subtask/1.2/executor", does("two")),
        ("subtask/1.2/reviewer", vec![reviewing("a", "pass")]),
    ];
    let turns: BTreeMap<_, _> = turns.into_iter().map(|(part, turns)| (format!("crew/{part}"), turns)).collect();
    Scene { turns, ..Scene::default() }.answering(QuestionKind::Confirmation, &["go"])
}

fn team() -> Arc<CrewSetup> {
    Arc::new(crew_setup(setup(), &TEAM))
}

fn states(report: &SceneReport) -> Vec<CrewState> {
    let state = |body: &Body| match body {
        Body::Crew(CrewEvent::CoordinatorState { state, .. }) => Some(*state),
        _ => None,
    };
    report.journal.iter().filter_map(|event| state(&event.body)).collect()
}

#[test]
fn a_crew_that_does_a_sub_task_twice_ends_the_same() {
    let setup = team();
    let whole = run(&|| crew(&setup), &scene(), &RunFate::default());
    everywhere(&|| crew(&setup), &scene(), &|report| {
        assert_eq!((report.outcome, report.files.len()), (Some(Outcome::Completed), 2));
        assert_eq!(states(report), states(&whole));
        assert_eq!(asked(report, QuestionKind::Confirmation), asked(&whole, QuestionKind::Confirmation));
    });
}

#[test]
fn a_crew_whose_driver_dies_twice_within_a_few_ticks_ends_the_same_in_any_order() {
    let setup = Arc::new(crew_setup(Setup { authorized: Vec::new(), ..setup() }, &TEAM));
    let scene = Scene { rescued: ["write_file"].into(), ..scene() }.answering(QuestionKind::Destructive, &["y"]);
    for seed in 1..=25 {
        let whole = run(&|| crew(&setup), &scene, &RunFate { seed, ..RunFate::default() });
        assert_eq!((whole.outcome, whole.files.len()), (Some(Outcome::Completed), 2), "seed {seed}");
        let first = 1 + seed * 37 % whole.ticks;
        let fate = RunFate { kills: [first, first + 1 + seed % 11].into(), seed, ..RunFate::default() };
        let report = run(&|| crew(&setup), &scene, &fate);
        assert_eq!((report.outcome, report.files.len()), (Some(Outcome::Completed), 2), "{fate:?}");
    }
}

#[test]
fn a_crew_that_is_paused_at_any_moment_goes_on_where_it_stood() {
    let setup = team();
    let whole = run(&|| crew(&setup), &scene(), &RunFate::default());
    for moment in (4..whole.journal.len()).step_by(3) {
        // A question that was open is asked anew.
        let scene = Scene { resumes_interrupted: true, ..scene() }.answering(QuestionKind::Confirmation, &["go"]);
        let scene = scene.saying(SceneMoment::AfterEvents(moment), Message::Pause);
        let report = run(&|| crew(&setup), &scene, &RunFate::default());
        assert_eq!((report.outcome, report.files.len()), (Some(Outcome::Completed), 2), "{moment}");
    }
}
