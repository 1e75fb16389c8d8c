//! Tests sessions under the simulator with agents that fail, windows that fill and limits that are reached: killed
//! anywhere, with the same end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use adjutant_core::session::replay::replay;
use adjutant_core::session::transcript::{Speaker, Transcript};
use adjutant_core::session::{AgentLimits, OUTPUT_TOKENS_MAX, PATIENCE_ALONE_MS, PATIENCE_ATTENDED_MS, Setup};
use adjutant_core::trace::{AskEvent, Body, PartEvent, TurnEvent};
use adjutant_core::words::tool::{ToolEffect, ToolSpec};
use adjutant_core::words::{
    Budget, Category, FailureKind, Message, MessageKind, Metric, Mode, Outcome, PhaseName, QuestionKind,
};
use proptest::prelude::*;
use serde_json::json;

use crate::simulator::{self, Ended, Plan, Said, World, alone, call, kind, simulate};

const SUMMARY: &str = "## Phase 0\n\n**Objective**: the objective\n**Deliverables**: one\n**Constraints**: two\n**Tools required**: three\n**Unknowns**: none";
const DONE: &str = "## Phase 4\nEverything shipped.";

fn agent(name: &str) -> AgentLimits {
    AgentLimits {
        place: u32::from(name != "first"),
        name: name.to_owned(),
        window: None,
        output_max: OUTPUT_TOKENS_MAX,
    }
}

fn setup() -> Setup {
    let read = ToolSpec {
        name: "read_file".to_owned(),
        description: "reads".to_owned(),
        categories: vec![Category::new("filesystem_read")],
        schema: json!({}),
        effect: ToolEffect::Reads,
    };
    Setup {
        brief: "the whole brief".to_owned(),
        tools: vec![read].into(),
        agents: vec![agent("first")],
        ..simulator::setup()
    }
}

fn world(script: &[Said], answers: &[(&'static str, &[&str])]) -> World {
    let typed = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    World {
        scripts: BTreeMap::from([("session".to_owned(), script.to_vec())]),
        answers: answers.iter().map(|(kind, texts)| (*kind, typed(texts))).collect(),
        reads: BTreeSet::from(["read_file"]),
        ..World::default()
    }
}

#[track_caller]
fn run(setup: &Setup, world: &World) -> Ended {
    let setup = Arc::new(setup.clone());
    simulate(&|| alone(&setup), world, &Plan::default()).expect("no rule is broken")
}

/// Returns the number of events of a type.
fn count(ended: &Ended, named: &str) -> usize {
    ended.journal.iter().filter(|event| kind(&event.body) == named).count()
}

/// Returns the agents that were asked, in order.
fn asked(ended: &Ended) -> Vec<u32> {
    let agent = |body: &Body| match body {
        Body::Turn(TurnEvent::AgentRequest { agent, .. }) => Some(*agent),
        _ => None,
    };
    ended.journal.iter().filter_map(|event| agent(&event.body)).collect()
}

fn good() -> Vec<Said> {
    vec![Said::text(SUMMARY), Said::text(DONE), Said::text("bye")]
}

const GO: (&str, &[&str]) = ("confirmation", &["go"]);

#[test]
fn a_failed_turn_is_asked_for_again_after_a_wait_that_grows() {
    let script: Vec<Said> = vec![Said::Fails(FailureKind::Transient); 2].into_iter().chain(good()).collect();
    let ended = run(&setup(), &world(&script, &[GO]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    let waits: Vec<u64> = ended
        .journal
        .iter()
        .filter_map(
            |event| if let Body::Ask(AskEvent::Timer { length_ms, .. }) = event.body { Some(length_ms) } else { None },
        )
        .collect();
    assert!((500..=1_000).contains(&waits[0]) && (1_000..=2_000).contains(&waits[1]), "{waits:?}");
}

/// The kinds of failure that are waited for.
const WAITED_FOR: [FailureKind; 3] = [FailureKind::Busy, FailureKind::Transient, FailureKind::Unreached];

/// Returns the length of all waits of a run, in milliseconds.
fn waited_ms(ended: &Ended) -> u64 {
    let waits = ended.journal.iter().filter_map(|event| match event.body {
        Body::Ask(AskEvent::Timer { length_ms, .. }) => Some(length_ms),
        _ => None,
    });
    waits.sum()
}

#[test]
fn an_outage_of_ten_minutes_in_the_middle_of_the_work_is_waited_for() {
    for kind in WAITED_FOR {
        let [summary, rest @ ..] = &good()[..] else { panic!("a script has a summary") };
        let outage = vec![Said::Fails(kind); 22];
        let script: Vec<Said> = [summary.clone()].into_iter().chain(outage).chain(rest.iter().cloned()).collect();
        let ended = run(&setup(), &world(&script, &[GO]));
        assert_eq!(ended.outcome, Some(Outcome::Completed), "{kind:?}");
        assert!(waited_ms(&ended) > 10 * 60 * 1_000, "{kind:?}: {} ms", waited_ms(&ended));
    }
}

#[test]
fn patience_is_time_and_ends() {
    for (kind, patience_ms) in WAITED_FOR
        .into_iter()
        .flat_map(|kind| [PATIENCE_ALONE_MS, PATIENCE_ATTENDED_MS, 0].map(|patience_ms| (kind, patience_ms)))
    {
        let setup = Setup { patience_ms, ..setup() };
        let ended = run(&setup, &world(&vec![Said::Fails(kind); 500], &[]));
        assert_eq!(ended.open.first().map(|(_, kind)| *kind), Some(QuestionKind::Failure));
        let failed: Vec<i64> = ended
            .journal
            .iter()
            .filter(|event| matches!(event.body, Body::Turn(TurnEvent::AgentFailed { .. })))
            .map(|event| event.at.as_millisecond())
            .collect();
        let took = (failed[failed.len() - 1] - failed[0]) as u64;
        // The last attempt is at its end, and a moment of the simulator's clock later.
        assert!((patience_ms..patience_ms + 10_000).contains(&took), "{kind:?}: {took} of {patience_ms}");
    }
}

#[test]
fn no_call_begins_once_the_limit_of_minutes_is_reached() {
    // Turns and calls take a second each: the limit is reached with the reply that asks for a call.
    let reads = (0..40).map(|number| {
        let id = format!("c{number}");
        Said::calls(&format!("reading {number}"), vec![call(&id, "read_file", json!({ "path": id }))])
    });
    let script: Vec<Said> = [Said::text(SUMMARY)].into_iter().chain(reads).collect();
    let budget = Budget { max_minutes: Some(1), ..Budget::default() };
    let setup = Setup { budget, mode: Some(Mode::Auto), max_steps: 99, ..setup() };
    let ended = run(&setup, &world(&script, &[GO]));
    assert_eq!(ended.open.first().map(|(_, kind)| *kind), Some(QuestionKind::Limit));
    // All replies but the summary asked for a call, and the last of these was not begun.
    assert_eq!((count(&ended, "tool_call"), count(&ended, "agent_reply")), (29, 31));
    assert_eq!(count(&ended, "tool_result"), 29);
    let extended = run(&setup, &world(&script, &[GO, ("limit", &["5"])]));
    assert!(count(&extended, "tool_call") > 29, "{:?}", extended.kinds());
}

#[test]
fn no_wait_goes_beyond_the_limit_of_minutes() {
    let budget = Budget { max_minutes: Some(3), ..Budget::default() };
    let ended = run(&Setup { budget, ..setup() }, &world(&vec![Said::Fails(FailureKind::Unreached); 500], &[]));
    assert_eq!(ended.open.first().map(|(_, kind)| *kind), Some(QuestionKind::Limit));
    let waited = waited_ms(&ended);
    assert!((120_000..=180_000).contains(&waited), "{waited}");
}

#[test]
fn what_will_not_pass_is_not_waited_for() {
    let ended = run(&setup(), &world(&vec![Said::Fails(FailureKind::Permanent); 20], &[]));
    assert_eq!(ended.open.first().map(|(_, kind)| *kind), Some(QuestionKind::Failure));
    assert_eq!((asked(&ended).len(), waited_ms(&ended)), (1, 0));
}

#[test]
fn who_can_not_take_a_turn_is_followed_by_the_next_and_that_is_on_record() {
    let setup = Setup {
        agents: vec![agent("first"), agent("second:m"), AgentLimits { place: 2, ..agent("third") }],
        ..setup()
    };
    let script: Vec<Said> = [Said::Fails(FailureKind::Permanent)]
        .into_iter()
        .chain(vec![Said::Fails(FailureKind::Busy); 3])
        .chain(good())
        .collect();
    let ended = run(&setup, &world(&script, &[GO]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert_eq!(asked(&ended), [0, 1, 1, 1, 2, 2, 2]);
    let changed: Vec<(u32, String)> = ended
        .journal
        .iter()
        .filter_map(|event| match &event.body {
            Body::Turn(TurnEvent::AgentChanged { agent, name, .. }) => Some((*agent, name.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(changed, [(1, "second:m".to_owned()), (2, "third".to_owned())]);
}

#[test]
fn when_all_have_failed_a_person_is_asked_and_a_retry_begins_with_the_first() {
    let setup = Setup { agents: vec![agent("first"), agent("second")], ..setup() };
    let script: Vec<Said> = vec![Said::Fails(FailureKind::Permanent); 2].into_iter().chain(good()).collect();
    let waiting = run(&setup, &world(&script, &[]));
    assert_eq!(waiting.open.first().map(|(_, kind)| *kind), Some(QuestionKind::Failure));
    let ended = run(&setup, &world(&script, &[("failure", &["retry"]), GO]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert_eq!(asked(&ended), [0, 1, 0, 0, 0]);
}

#[test]
fn work_never_begins_on_a_summary_that_was_not_given() {
    for after in 0..30 {
        let cancelled = World {
            messages: vec![(after, Message::Cancel)],
            ..world(&good(), &[("confirmation", &["go", "go"]), ("step", &["ok", "ok"])])
        };
        let ended = run(&setup(), &cancelled);
        let before_work = ended
            .journal
            .iter()
            .take_while(|event| !matches!(event.body, Body::Part(PartEvent::PhaseEnter { phase, .. }) if phase == PhaseName::Execute));
        let replies = before_work.filter(|event| kind(&event.body) == "agent_reply").count();
        let has_begun = ended
            .journal
            .iter()
            .any(|event| matches!(event.body, Body::Part(PartEvent::PhaseEnter { phase, .. }) if phase == PhaseName::Execute));
        assert!(has_begun && replies > 0, "cancelled after {after} events: {:?}", ended.kinds());
    }
}

#[test]
fn an_agent_whose_reply_was_cut_is_told_so() {
    let script = [Said::text(SUMMARY), Said::Cut("I write and wri".to_owned()), Said::text(DONE), Said::text("bye")];
    let ended = run(&setup(), &world(&script, &[GO]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    let told = |text: &str| text.contains("was cut there");
    let messages = ended
        .journal
        .iter()
        .filter(|event| matches!(&event.body, Body::Turn(TurnEvent::Message { text, .. }) if told(text)));
    assert_eq!(messages.count(), 1);
}

/// Returns a script that reads much, step after step.
fn reading(steps: usize, bytes: usize) -> Vec<Said> {
    let read =
        |step: usize| Said::calls("reading on", vec![call(&step.to_string(), "read_file", json!({ "path": "long" }))]);
    let steps = (0..steps).flat_map(|step| [read(step), Said::text(&format!("step {step} {}", "x".repeat(bytes)))]);
    [Said::text(SUMMARY)].into_iter().chain(steps).chain([Said::text(DONE), Said::text("bye")]).collect()
}

fn long(bytes: usize) -> BTreeMap<String, String> {
    BTreeMap::from([("long".to_owned(), "content ".repeat(bytes / 8))])
}

fn windowed(window: u64) -> Setup {
    let first = AgentLimits { window: Some(window), output_max: 1_000, ..agent("first") };
    Setup { agents: vec![first], ..setup() }
}

/// Checks that every request was within `window`, and that no call was parted from its result.
#[track_caller]
fn check_requests(ended: &Ended, window: u64) {
    let mut transcript = Transcript::default();
    for event in &ended.journal {
        if event.part.as_str() != "session" {
            continue;
        }
        if let Body::Turn(TurnEvent::AgentRequest { input_tokens, .. }) = &event.body {
            assert!(*input_tokens + 1_000 <= window, "{input_tokens} tokens in {window}");
            let sent: Vec<_> = transcript.sent().collect();
            assert_eq!(sent[0].speaker, Speaker::System);
            assert_eq!(sent[1].speaker, Speaker::User, "something of the operator's or the runtime's comes first");
            let mut open = BTreeSet::new();
            for said in &sent {
                match &said.speaker {
                    Speaker::Agent { calls, .. } => {
                        assert!(open.is_empty(), "a call without its result");
                        open = calls.iter().map(|call| call.call_id.clone()).collect();
                    }
                    Speaker::Tool { call_id, .. } => assert!(open.remove(call_id), "a result without its call"),
                    Speaker::System | Speaker::User => {}
                }
            }
            assert!(open.is_empty(), "a call without its result");
        }
        transcript.apply(event.clone());
    }
}

#[test]
fn old_results_are_folded_before_anything_is_left_out() {
    let setup = windowed(20_000);
    let ended = run(&setup, &World { files: long(8_000), ..world(&reading(10, 10), &[GO]) });
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert!(count(&ended, "context_folded") > 0);
    assert_eq!(count(&ended, "context_cut"), 0);
    check_requests(&ended, 20_000);
}

#[test]
fn what_is_left_out_is_followed_by_the_runtime_state_verbatim() {
    let setup = windowed(8_000);
    let mut script = reading(12, 4_000);
    script.insert(3, Said::text("## Phase 2\nblocker: which colour?"));
    let ended = run(&setup, &world(&script, &[GO, ("blocker", &["Mauve, and nothing else."])]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    check_requests(&ended, 8_000);
    let states: Vec<&str> = ended
        .journal
        .iter()
        .filter_map(|event| match &event.body {
            Body::Turn(TurnEvent::Message { kind: MessageKind::RuntimeState, text, .. }) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!(states.len() > 1, "{}", states.len());
    assert_eq!(states.len(), count(&ended, "context_cut"));
    for needed in ["the whole brief", "**Objective**: the objective", "called read_file"] {
        assert!(states.iter().all(|state| state.contains(needed)), "{needed}");
    }
    assert!(states.last().unwrap().contains("Mauve, and nothing else."));
}

#[test]
fn one_result_that_is_larger_than_the_window_is_shortened() {
    let setup = windowed(6_000);
    let ended = run(&setup, &World { files: long(400_000), ..world(&reading(1, 10), &[GO]) });
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    check_requests(&ended, 6_000);
}

#[test]
fn a_window_that_nobody_knows_is_found_out_by_the_refusal() {
    let mut script = reading(3, 2_000);
    script.insert(6, Said::Fails(FailureKind::TooLong));
    let ended = run(&setup(), &World { files: long(20_000), ..world(&script, &[GO]) });
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    let sizes: Vec<u64> = ended
        .journal
        .iter()
        .filter_map(|event| match event.body {
            Body::Turn(TurnEvent::AgentRequest { input_tokens, slot, .. }) if slot.number == 7 => Some(input_tokens),
            _ => None,
        })
        .collect();
    assert_eq!(sizes.len(), 2);
    assert!(sizes[1] < sizes[0] * 3 / 4, "{sizes:?}");
    assert_eq!(count(&ended, "timer"), 0, "a shorter request is no second attempt at the same one");
}

/// Returns the requests for the turn of this number: their tokens, and the longest reply.
fn requests_for(run: &Ended, number: u32) -> Vec<(u64, u32)> {
    let asked = run.journal.iter().filter_map(|event| match event.body {
        Body::Turn(TurnEvent::AgentRequest { input_tokens, output_max, slot, .. }) if slot.number == number => {
            Some((input_tokens, output_max))
        }
        _ => None,
    });
    asked.collect()
}

#[test]
fn a_reply_that_may_not_be_so_long_is_asked_for_half_as_long_and_nothing_is_left_out() {
    let mut script = reading(3, 2_000);
    script.insert(6, Said::Fails(FailureKind::ReplyTooLong));
    script.insert(7, Said::Fails(FailureKind::ReplyTooLong));
    let ended = run(&setup(), &World { files: long(20_000), ..world(&script, &[GO]) });
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    let asked = requests_for(&ended, 7);
    let outputs: Vec<u32> = asked.iter().map(|(_, output)| *output).collect();
    assert_eq!(outputs, [OUTPUT_TOKENS_MAX, OUTPUT_TOKENS_MAX / 2, OUTPUT_TOKENS_MAX / 4]);
    assert!(asked.iter().all(|(tokens, _)| *tokens == asked[0].0), "the same is sent: {asked:?}");
    assert_eq!(count(&ended, "context_folded") + count(&ended, "context_cut") + count(&ended, "timer"), 0);
    let later = requests_for(&ended, 8);
    assert_eq!(later.first().map(|(_, output)| *output), Some(OUTPUT_TOKENS_MAX / 4), "what was found out holds");
}

#[test]
fn a_long_request_that_is_rejected_is_tried_once_more_after_room_was_made_and_a_short_one_is_not() {
    let rejected_at = |turns: std::ops::RangeInclusive<usize>, bytes: usize| {
        let mut script = reading(3, 2_000);
        for turn in turns {
            script.insert(turn, Said::Fails(FailureKind::Rejected));
        }
        run(&setup(), &World { files: long(bytes), ..world(&script, &[GO]) })
    };
    let ended = rejected_at(6..=6, 40_000);
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    let asked = requests_for(&ended, 7);
    assert!(asked.len() == 2 && asked[1].0 < asked[0].0 * 3 / 4, "{asked:?}");
    let twice = rejected_at(6..=7, 40_000);
    assert_eq!(twice.open.first().map(|(_, kind)| *kind), Some(QuestionKind::Failure));
    assert_eq!(requests_for(&twice, 7).len(), 2);
    let short = rejected_at(6..=6, 400);
    assert_eq!(short.open.first().map(|(_, kind)| *kind), Some(QuestionKind::Failure));
    assert_eq!((requests_for(&short, 7).len(), count(&short, "context_folded")), (1, 0));
}

fn limited(budget: Budget) -> Setup {
    Setup { budget, ..setup() }
}

#[test]
fn a_limit_is_asked_about_before_the_request_that_would_break_it() {
    let setup = limited(Budget { max_turns: Some(2), ..Budget::default() });
    let waiting = run(&setup, &world(&good(), &[GO]));
    assert_eq!(waiting.open.first().map(|(_, kind)| *kind), Some(QuestionKind::Limit));
    assert_eq!(asked(&waiting).len(), 2);
    let ended = run(&setup, &world(&good(), &[GO, ("limit", &["5"])]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert_eq!(count(&ended, "budget_halt"), 1);
}

#[test]
fn a_budget_of_tokens_shortens_the_last_replies_and_is_never_overdrawn() {
    let budget = Budget { max_tokens: Some(30_000), ..Budget::default() };
    let waiting = run(&limited(budget), &world(&reading(20, 1_000), &[GO]));
    assert_eq!(waiting.open.first().map(|(_, kind)| *kind), Some(QuestionKind::Limit));
    assert_eq!(count(&waiting, "budget_warn"), 1);
    let mut spending = adjutant_core::budget::Spending::default();
    for event in &waiting.journal {
        spending.apply(event);
        assert!(spending.used(Metric::Tokens) <= 30_000, "{}", spending.used(Metric::Tokens));
        if let Body::Turn(TurnEvent::AgentRequest { output_max, .. }) = event.body {
            assert!((1_024..=30_000).contains(&output_max), "{output_max}");
        }
    }
    let ended = run(&limited(budget), &world(&reading(20, 1_000), &[GO, ("limit", &["1000000"])]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
}

#[test]
fn nothing_of_it_is_refilled_or_lost_by_a_kill_anywhere() {
    let mut script = reading(4, 3_000);
    script.insert(1, Said::Fails(FailureKind::Busy));
    script.insert(4, Said::Fails(FailureKind::Permanent));
    script.insert(7, Said::Fails(FailureKind::TooLong));
    script.insert(9, Said::Fails(FailureKind::ReplyTooLong));
    script.insert(11, Said::Fails(FailureKind::Rejected));
    let limits = AgentLimits { window: Some(8_000), output_max: 1_000, ..agent("a") };
    let agents = vec![limits.clone(), AgentLimits { place: 1, name: "b".to_owned(), ..limits }];
    let budget = Budget { max_turns: Some(6), ..Budget::default() };
    let setup = Arc::new(Setup { agents, budget, ..setup() });
    let world =
        World { files: long(6_000), ..world(&script, &[GO, ("limit", &["100"]), ("failure", &["retry", "retry"])]) };
    let whole = simulate(&|| alone(&setup), &world, &Plan::default()).expect("no rule is broken");
    assert_eq!(whole.outcome, Some(Outcome::Completed));
    for needed in ["timer", "agent_changed", "context_folded", "context_cut", "budget_halt"] {
        assert!(count(&whole, needed) > 0, "{needed}");
    }
    for tick in 0..whole.ticks {
        let plan = Plan { kills: BTreeSet::from([tick]), ..Plan::default() };
        let killed =
            simulate(&|| alone(&setup), &world, &plan).unwrap_or_else(|error| panic!("killed at {tick}: {error:?}"));
        assert_eq!(killed.outcome, whole.outcome, "killed at {tick}");
        check_requests(&killed, 8_000);
    }
    let report = replay(&whole.journal, alone(&setup));
    assert_eq!(report.drift, []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn whatever_is_read_and_said_every_request_fits(
        window in 4_000u64..40_000,
        sizes in prop::collection::vec((0usize..30_000, 0usize..3_000), 1..12),
    ) {
        let mut files = BTreeMap::new();
        let mut script = vec![Said::text(SUMMARY)];
        for (step, (read, said)) in sizes.iter().enumerate() {
            files.insert(format!("f{step}"), "y".repeat(*read));
            script.push(Said::calls("read", vec![call(&step.to_string(), "read_file", json!({ "path": format!("f{step}") }))]));
            script.push(Said::text(&"z".repeat(*said)));
        }
        script.extend([Said::text(DONE), Said::text("bye")]);
        let ended = run(&windowed(window), &World { files, ..world(&script, &[GO]) });
        prop_assert_eq!(ended.outcome, Some(Outcome::Completed));
        check_requests(&ended, window);
    }
}
