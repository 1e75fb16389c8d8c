//! Tests a learned profile in a session and in a crew, under the simulator: limits that hold, that are asked about, and
//! that no kill refills.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use adjutant_core::detect::{Detector, Sensitivity};
use adjutant_core::session::replay::replay;
use adjutant_core::session::{LearnedLimits, Setup};
use adjutant_core::trace::{AskEvent, Body, BudgetEvent, CallEvent, LearnedEvent};
use adjutant_core::words::tool::ToolEffect;
use adjutant_core::words::{
    Budget, Category, LimitMetric, LimitSource, Metric, Mode, Outcome, PhaseName, QuestionKind,
};
use proptest::prelude::*;
use serde_json::json;

use crate::simulator::{self, Ended, Plan, Said, World, alone, call, kind, simulate, tool};

const SUMMARY: &str =
    "## Confirmation Summary\nObjective: a\nDeliverables: b\nConstraints: c\nTools required: d\nUnknowns: none\n";
const DONE: &str = "## Phase 4\nEverything shipped.";

fn setup(learned: Option<LearnedLimits>) -> Setup {
    Setup {
        authorized: vec![Category::new("filesystem_write")],
        tools: [
            tool("read_file", "filesystem_read", ToolEffect::Reads),
            tool("write_file", "filesystem_write", ToolEffect::WritesFiles),
        ]
        .into(),
        learned,
        ..simulator::setup()
    }
}

fn limits(execute: u64) -> LearnedLimits {
    LearnedLimits {
        slug: "orchard".to_owned(),
        phase_calls: BTreeMap::from([(PhaseName::Execute, execute)]),
        ..LearnedLimits::default()
    }
}

/// Returns a script whose turns call so many tools each: reads if even, writes if odd.
fn script(turns: &[usize]) -> Vec<Said> {
    let mut said = vec![Said::text(SUMMARY)];
    for (turn, calls) in turns.iter().enumerate() {
        let name = if turn % 2 == 0 { "read_file" } else { "write_file" };
        let one = |number| {
            let id = format!("c{turn}.{number}");
            call(&id, name, json!({"path": format!("{id}.txt"), "content": id}))
        };
        // An agent that says the same again and again is put to a person.
        said.push(Said::calls(&format!("working on {turn}"), (0..*calls).map(one).collect()));
    }
    said.push(Said::text(DONE));
    said.push(Said::text("the report"));
    said
}

fn world(turns: &[usize], extensions: &[&str]) -> World {
    World {
        scripts: BTreeMap::from([("session".to_owned(), script(turns))]),
        answers: BTreeMap::from([
            ("confirmation", vec!["go".to_owned()]),
            ("limit", extensions.iter().map(|text| (*text).to_owned()).collect()),
            ("destructive", vec!["all".to_owned(); 9]),
        ]),
        reads: BTreeSet::from(["read_file"]),
        writes: BTreeSet::from(["write_file"]),
        ..World::default()
    }
}

#[track_caller]
fn run(setup: &Setup, world: &World) -> Ended {
    let setup = Arc::new(setup.clone());
    simulate(&|| alone(&setup), world, &Plan::default()).expect("no rule is broken")
}

fn count(ended: &Ended, name: &str) -> usize {
    ended.journal.iter().filter(|event| kind(&event.body) == name).count()
}

/// Returns the recorded budgets: phase, recommended, active, source.
fn consulted(ended: &Ended) -> Vec<(PhaseName, u64, u64, LimitSource)> {
    let said = |body: &Body| match body {
        Body::Learned(LearnedEvent::LearnedBudgetConsulted { phase, recommended, active, source }) => {
            Some((*phase, *recommended, *active, *source))
        }
        _ => None,
    };
    ended.journal.iter().filter_map(|event| said(&event.body)).collect()
}

#[track_caller]
fn replays(setup: &Setup, ended: &Ended) {
    let report = replay(&ended.journal, alone(&Arc::new(setup.clone())));
    assert_eq!(report.drift, [], "replaying what was just recorded");
}

#[test]
fn c4_calls_of_a_phase_are_counted_and_asked_about_and_what_is_added_holds() {
    let setup = setup(Some(limits(4)));
    let waiting = run(&setup, &world(&[3, 3], &[]));
    assert_eq!((waiting.open[0].1, count(&waiting, "tool_call")), (QuestionKind::Limit, 4));
    let halt = waiting.journal.iter().find_map(|event| match &event.body {
        Body::Budget(BudgetEvent::BudgetHalt { metric, used, limit, role, phase, learned }) => {
            Some((*metric, *used, *limit, role.clone(), *phase, learned.clone()))
        }
        _ => None,
    });
    let expected =
        (LimitMetric::Counted(Metric::ToolCalls), 4, 4, None, Some(PhaseName::Execute), Some("orchard".to_owned()));
    assert_eq!(halt, Some(expected));
    let asked = waiting.journal.iter().find_map(|event| match &event.body {
        Body::Ask(AskEvent::Question { question, .. }) if question.kind == QuestionKind::Limit => {
            Some(question.text.clone())
        }
        _ => None,
    });
    let asked = asked.expect("it asks");
    assert!(asked.contains("phase execute") && asked.contains("learned profile orchard"), "{asked}");

    let ended = run(&setup, &world(&[3, 3], &["1", "1"]));
    assert_eq!((ended.outcome, count(&ended, "tool_call")), (Some(Outcome::Completed), 6));
    assert_eq!(count(&ended, "budget_halt"), 2, "what is added is a limit, too");
    replays(&setup, &ended);
}

#[test]
fn c4_a_phase_that_is_entered_again_goes_on_with_its_count() {
    // Nothing authorizes a write: phase 3 lies between the two turns of calls.
    let setup = Setup { authorized: Vec::new(), ..setup(Some(limits(4))) };
    let ended = run(&setup, &world(&[2, 2, 2], &["5"]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    let halts = count(&ended, "budget_halt");
    assert_eq!((halts, count(&ended, "tool_call")), (1, 6));
    let execute: Vec<_> = consulted(&ended).into_iter().filter(|said| said.0 == PhaseName::Execute).collect();
    let four = (PhaseName::Execute, 4, 4, LimitSource::Learned);
    assert_eq!(execute, [four, four], "at each time that the phase is entered");
    replays(&setup, &ended);
}

#[test]
fn calls_that_fit_are_all_made_at_once_and_none_is_taken_back() {
    for limit in 1..=6 {
        let ended = run(&setup(Some(limits(limit))), &world(&[5], &["9"]));
        assert_eq!(count(&ended, "tool_result"), 5, "limit {limit}");
        assert_eq!(count(&ended, "tool_cancelled"), 0, "limit {limit}");
    }
}

#[test]
fn what_is_in_force_at_each_phase_and_from_where() {
    use LimitSource::{Brief, Default, Learned};
    let overruled = LearnedLimits { is_overruled: true, ..limits(4) };
    let of_brief = Budget { max_tool_calls: Some(9), ..Budget::default() };
    for (learned, budget, execute, done) in [
        (limits(4), Budget::default(), (4, 4, Learned), (0, 0, Default)),
        (overruled, of_brief, (4, 9, Brief), (0, 9, Brief)),
        (LearnedLimits::default(), Budget::default(), (0, 0, Default), (0, 0, Default)),
        // What a run may use holds besides, whatever the profile says of a phase.
        (limits(4), of_brief, (4, 4, Learned), (0, 9, Default)),
    ] {
        let setup = Setup { budget, ..setup(Some(learned.clone())) };
        let ended = run(&setup, &world(&[1], &[]));
        let of = |phase| {
            let mut said = consulted(&ended).into_iter().filter(move |said| said.0 == phase);
            said.next().map(|(_, recommended, active, source)| (recommended, active, source))
        };
        assert_eq!((of(PhaseName::Execute), of(PhaseName::Done)), (Some(execute), Some(done)), "{learned:?}");
        let entered = count(&ended, "phase_enter");
        assert_eq!(consulted(&ended).len(), entered, "one for each phase that is entered");
    }
    let none = run(&setup(None), &world(&[1], &[]));
    assert_eq!(consulted(&none), [], "without a profile nothing is consulted");
}

#[test]
fn a_limit_that_the_brief_has_of_its_own_wins_over_the_profile() {
    let overruled = Some(LearnedLimits { is_overruled: true, ..limits(1) });
    let of_brief = Budget { max_tool_calls: Some(3), ..Budget::default() };
    let setup = Setup { budget: of_brief, ..setup(overruled) };
    let waiting = run(&setup, &world(&[5], &[]));
    assert_eq!((waiting.open[0].1, count(&waiting, "tool_call")), (QuestionKind::Limit, 3));
}

#[test]
fn a_critical_detector_that_is_to_be_disabled_reads_and_the_attempt_is_on_record() {
    for (detector, is_critical) in [
        (Detector::Completion, true),
        (Detector::Confirmation, true),
        (Detector::Blocker, true),
        (Detector::Destructive, true),
        (Detector::BannedPhrases, false),
        (Detector::PhaseMarker, false),
    ] {
        let mut setup = setup(None);
        setup.sensitivities = [(detector, Sensitivity::Disabled)].into_iter().collect();
        let ended = run(&setup, &world(&[1], &[]));
        assert_eq!(ended.outcome, Some(Outcome::Completed), "{detector}");
        let said: Vec<(bool, bool)> = (ended.journal.iter())
            .filter_map(|event| match &event.body {
                Body::Learned(LearnedEvent::LearnedSensitivityConsulted {
                    detector: name,
                    sensitivity,
                    fired,
                    bypassed,
                    ..
                }) => {
                    assert_eq!((name.as_str(), sensitivity.as_str()), (detector.name(), "disabled"));
                    Some((*fired, *bypassed))
                }
                _ => None,
            })
            .collect();
        assert_eq!(said.len(), count(&ended, "turn_read"), "{detector}: each turn that is read");
        assert!(said.iter().all(|(_, bypassed)| *bypassed != is_critical), "{detector}: {said:?}");
        let has_fired = said.iter().any(|(fired, _)| *fired);
        let fires = matches!(detector, Detector::Completion | Detector::Confirmation);
        assert_eq!(has_fired, fires, "{detector}");
        replays(&setup, &ended);
    }
}

#[test]
fn no_kill_anywhere_refills_a_phase_or_loses_its_limit() {
    let setup = Setup { authorized: Vec::new(), mode: Some(Mode::Auto), ..setup(Some(limits(3))) };
    let world = world(&[2, 2, 1], &["1", "9"]);
    let whole = run(&setup, &world);
    assert_eq!(whole.outcome, Some(Outcome::Completed));
    assert!(count(&whole, "budget_halt") > 0 && count(&whole, "budget_warn") > 0);
    let setup = Arc::new(setup);
    for tick in 0..whole.ticks {
        let plan = Plan { kills: BTreeSet::from([tick]), ..Plan::default() };
        let killed =
            simulate(&|| alone(&setup), &world, &plan).unwrap_or_else(|error| panic!("killed at {tick}: {error:?}"));
        assert_eq!(killed.outcome, whole.outcome, "killed at {tick}");
        within_limits(&killed);
        replays(&setup, &killed);
    }
}

/// Checks that at no event more calls were begun in phase 1 than its limit and what was added to it.
#[track_caller]
fn within_limits(ended: &Ended) {
    let (mut calls, mut limit) = (0, None);
    for event in &ended.journal {
        match &event.body {
            Body::Learned(LearnedEvent::LearnedBudgetConsulted { phase: PhaseName::Execute, active, .. }) => {
                limit = Some(*active)
            }
            Body::Ask(AskEvent::Answer { text: Some(text), .. }) => {
                if let (Some(limit), Ok(more)) = (&mut limit, text.parse::<u64>()) {
                    *limit += more;
                }
            }
            Body::Call(CallEvent::ToolCall { .. }) => calls += 1,
            _ => {}
        }
        assert!(calls <= limit.unwrap_or(u64::MAX), "{calls} calls of {limit:?} at {}", event.seq);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_run_calls_more_than_its_profile_lets_it(
        turns in proptest::collection::vec(0_usize..6, 1..5),
        limit in 1_u64..9,
        extension in 1_u64..5,
        kills in proptest::collection::btree_set(1_u64..160, 0..4),
        seed in any::<u64>(),
    ) {
        let setup = Arc::new(setup(Some(limits(limit))));
        let more = extension.to_string();
        let world = world(&turns, &[&more, &more]);
        let plan = Plan { kills, seed, ..Plan::default() };
        let ended = simulate(&|| alone(&setup), &world, &plan).expect("no rule is broken");
        within_limits(&ended);
        let is_asking = ended.open.first().is_some_and(|(_, kind)| *kind == QuestionKind::Limit);
        prop_assert!(ended.outcome == Some(Outcome::Completed) || is_asking, "{:?}", ended.open);
        replays(&setup, &ended);
    }
}
