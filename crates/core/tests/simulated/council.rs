//! Several sessions at work at once in one run, under the simulator: what they share is the run's, and none of them
//! takes anything from another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use adjutant_core::procedure::run::Run;
use adjutant_core::procedure::{Children, Next, Procedure};
use adjutant_core::run::{AccountName, RunFacts};
use adjutant_core::session::replay::replay;
use adjutant_core::session::{AgentLimits, HasSessions, Session, Setup};
use adjutant_core::trace::{
    AgentOptions, AskEvent, Body, BudgetEvent, CallEvent, Entry, Event, PartEvent, RunEvent, RunOptions, RunStart,
    TurnEvent, Versions,
};
use adjutant_core::words::price::Prices;
use adjutant_core::words::tool::ToolEffect;
use adjutant_core::words::{Budget, FailureKind, Message, Metric, Outcome, Part, PartKind, Usage};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use crate::simulator::{self, Ended, Plan, Said, World, call, kind, simulate, tool};

const SUMMARY: &str = "## Phase 0\n\n**Objective**: build\n**Deliverables**: one\n**Constraints**: two\n**Tools required**: three\n**Unknowns**: none";
const DONE: &str = "## Phase 4\nEverything shipped.";
/// The prices of runs whose limit is in dollars, in nano-dollars a token.
const PRICES: Prices = Prices { input: Some(100), cache_read: None, cache_write: None, output: Some(50) };

/// Sessions side by side; the run is over when all have ended, or when the first has.
#[derive(Debug, Clone)]
struct Council {
    part: Part,
    is_hasty: bool,
    has_first: bool,
    started: bool,
    ended: Option<Outcome>,
    voters: Children<Session>,
}

impl Procedure for Council {
    type Facts = RunFacts;

    fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Part(PartEvent::PartStart { .. }) if event.part == self.part => self.started = true,
            Body::Part(PartEvent::PartEnd { outcome }) if event.part == self.part => self.ended = Some(*outcome),
            _ => {}
        }
        self.has_first |= self.voters.apply(event).is_some();
    }

    fn next(&self, facts: &RunFacts) -> Next {
        let record = |part: &Part, body| Next::Record(Entry { part: part.clone(), body });
        if !self.started {
            return record(
                &self.part,
                Body::Part(PartEvent::PartStart { kind: PartKind::Council, contract: None, agent: 0, workspace: None }),
            );
        }
        if let Some(outcome) = self.ended {
            return Next::Done(outcome);
        }
        match self.voters.iter().next() {
            None => record(&self.part, Body::Part(PartEvent::PartEnd { outcome: Outcome::Completed })),
            Some((part, _)) if self.is_hasty && self.has_first => {
                record(part, Body::Part(PartEvent::PartEnd { outcome: Outcome::Superseded }))
            }
            Some(_) => self.voters.next(facts),
        }
    }
}

impl HasSessions for Council {
    fn session_in(&self, part: &Part) -> Option<&Session> {
        self.voters.get(part)
    }
}

fn council(setup: &Arc<Setup>, voters: usize, is_hasty: bool) -> Run<Council> {
    let part = Part::root().child("council");
    let mut council = Council {
        part: part.clone(),
        is_hasty,
        has_first: false,
        started: false,
        ended: None,
        voters: Children::default(),
    };
    for voter in 1..=voters {
        let part = part.child(&voter.to_string());
        council.voters.call_in(part.clone(), Session::new(setup.clone(), part));
    }
    let mut run = Run::new(council, part);
    run.apply(&Event { seq: 0, at: Timestamp::UNIX_EPOCH, part: Part::root(), body: start() });
    run
}

fn start() -> Body {
    let agent = AgentOptions { prices: Some(PRICES), ..AgentOptions::default() };
    Body::Run(RunEvent::RunStart(Box::new(RunStart {
        run_id: "council".parse().expect("a name"),
        brief_id: "council".parse().expect("a name"),
        project: String::new(),
        brief_path: None,
        brief: String::new(),
        tools: Vec::new(),
        offered: None,
        options: RunOptions { agent, ..RunOptions::default() },
        versions: Versions { adjutant: String::new(), standing_orders: 1, rules: 0 },
    })))
}

fn setup(budget: Budget) -> Arc<Setup> {
    let agent = AgentLimits { place: 0, name: "first".to_owned(), window: None, output_max: 4_000 };
    Arc::new(Setup {
        tools: vec![
            tool("write_file", "filesystem_write", ToolEffect::WritesFiles),
            tool("shell_exec", "shell_exec", ToolEffect::Anything),
        ]
        .into(),
        agents: vec![agent],
        budget,
        ..simulator::setup()
    })
}

/// Returns a world in which each voter says the same, and the operator gives the same answer every time.
fn world(voters: usize, script: &[Said], answers: &[(&'static str, &str)]) -> World {
    World {
        scripts: (1..=voters).map(|voter| (format!("council/{voter}"), script.to_vec())).collect(),
        answers: answers.iter().map(|(kind, answer)| (*kind, vec![(*answer).to_owned(); 40])).collect(),
        writes: BTreeSet::from(["write_file"]),
        ..World::default()
    }
}

/// Returns a summary, some steps, the end and the report: `steps` and three more turns.
fn talk(steps: usize) -> Vec<Said> {
    let mut script = vec![Said::text(SUMMARY)];
    script.extend((0..steps).map(|step| Said::text(&format!("step {step}"))));
    script.extend([Said::text(DONE), Said::text("bye")]);
    script
}

fn write(path: &str) -> Said {
    Said::calls("writing", vec![call(path, "write_file", json!({"path": path, "content": "x"}))])
}

fn count(ended: &Ended, name: &str) -> usize {
    ended.journal.iter().filter(|event| kind(&event.body) == name).count()
}

fn asked(ended: &Ended, of: &str) -> usize {
    let is_it = |event: &&Event| matches!(&event.body, Body::Ask(AskEvent::Question { slot, question }) if question.kind.as_str() == of && slot.attempt == 1);
    ended.journal.iter().filter(is_it).count()
}

/// Runs it as it is, and with a kill at every tick and a second one soon after: `check` must hold each time.
#[track_caller]
fn everywhere(make: &dyn Fn() -> Run<Council>, world: &World, check: &dyn Fn(&Ended)) {
    let whole = simulate(make, world, &Plan::default()).expect("no rule is broken");
    check(&whole);
    for seed in 0..2 {
        for first in 1..=whole.ticks {
            let plan = Plan { kills: BTreeSet::from([first, first + 5]), seed, ..Plan::default() };
            let ended = simulate(make, world, &plan).unwrap_or_else(|violation| panic!("{plan:?}: {violation:?}"));
            check(&ended);
        }
    }
}

#[test]
fn three_sessions_under_a_limit_of_four_turns_take_four_halt_and_ask_once() {
    let setup = setup(Budget { max_turns: Some(4), ..Budget::default() });
    everywhere(&|| council(&setup, 3, false), &world(3, &talk(1), &[("confirmation", "go")]), &|ended| {
        assert_eq!(ended.outcome, None, "it waits for the operator");
        assert_eq!(count(ended, "agent_reply"), 4);
        assert_eq!(count(ended, "budget_halt"), 1);
        assert_eq!(asked(ended, "limit"), 1);
    });
}

#[test]
fn what_the_operator_adds_is_added_once_for_all() {
    let setup = setup(Budget { max_turns: Some(4), ..Budget::default() });
    let mut world = world(3, &talk(1), &[("confirmation", "go")]);
    world.answers.insert("limit", vec!["3".to_owned(), "20".to_owned()]);
    everywhere(&|| council(&setup, 3, false), &world, &|ended| {
        assert_eq!(ended.outcome, Some(Outcome::Completed));
        assert_eq!(count(ended, "agent_reply"), 12, "four of each");
        assert_eq!((count(ended, "budget_halt"), asked(ended, "limit")), (2, 2));
    });
}

#[test]
fn a_yes_for_the_run_is_asked_for_once_and_a_yes_for_once_each_time() {
    let script = [Said::text(SUMMARY), write("a"), write("b"), Said::text(DONE), Said::text("bye")];
    for (voters, word, questions) in [(3, "category", 1), (2, "y", 4)] {
        let world = world(voters, &script, &[("confirmation", "go"), ("destructive", word)]);
        let setup = setup(Budget::default());
        everywhere(&|| council(&setup, voters, false), &world, &|ended| {
            assert_eq!(ended.outcome, Some(Outcome::Completed));
            assert_eq!(asked(ended, "destructive"), questions, "{word}, {voters} voters");
        });
    }
}

#[test]
fn a_voter_that_works_on_by_itself_leaves_its_siblings_asking_between_steps() {
    let setup = setup(Budget::default());
    let mut world = world(3, &talk(2), &[("step", "c")]);
    let words = [("council/1", "gated"), ("council/2", "gated"), ("council/3", "auto")];
    world.answers_to = words.map(|(part, word)| ((part, "confirmation"), word.to_owned())).into();
    everywhere(&|| council(&setup, 3, false), &world, &|ended| {
        assert_eq!(ended.outcome, Some(Outcome::Completed));
        assert_eq!((asked(ended, "confirmation"), asked(ended, "step")), (3, 4), "{:?}", ended.open);
    });
}

#[test]
fn questions_about_other_categories_are_put_side_by_side() {
    let setup = setup(Budget::default());
    let mut world = world(2, &[Said::text(SUMMARY), write("a")], &[("confirmation", "go")]);
    let run = Said::calls("running", vec![call("r", "shell_exec", json!({"cmd": "make"}))]);
    world.scripts.insert("council/2".to_owned(), vec![Said::text(SUMMARY), run]);
    everywhere(&|| council(&setup, 2, false), &world, &|ended| {
        let open: Vec<&str> = ended.open.iter().map(|(key, _)| key.part.as_str()).collect();
        assert_eq!(open, ["council/1", "council/2"]);
    });
}

#[test]
fn dollars_are_never_overdrawn_by_siblings() {
    let limit = 600_000;
    let setup = setup(Budget { max_nano_dollars: Some(limit), ..Budget::default() });
    let usage = Some(Usage { input_tokens: Some(400), output_tokens: Some(300), ..Usage::default() });
    let world = World { usage, ..world(4, &talk(3), &[("confirmation", "go")]) };
    everywhere(&|| council(&setup, 4, false), &world, &|ended| {
        assert_eq!(ended.outcome, None);
        assert_eq!((count(ended, "budget_halt"), asked(ended, "limit")), (1, 1));
        let mut run = council(&setup, 4, false);
        for event in &ended.journal {
            run.apply(event);
            let used = run.facts().accounts().spending(&AccountName::Under(Part::root())).used(Metric::Money);
            assert!(used <= limit, "{used} of {limit} after event {}", event.seq);
            if let Body::Budget(BudgetEvent::BudgetHalt { used, .. }) = event.body {
                let spent = run.facts().accounts().spending(&AccountName::Under(Part::root())).spent(Metric::Money);
                assert_eq!(used, spent, "a halt says what was spent, not what siblings have reserved");
            }
        }
    });
}

#[test]
fn the_end_of_one_part_takes_nothing_from_its_siblings() {
    let setup = setup(Budget::default());
    let mut world = world(3, &talk(4), &[("confirmation", "go")]);
    world.scripts.insert("council/2".to_owned(), talk(0));
    everywhere(&|| council(&setup, 3, false), &world, &|ended| {
        assert_eq!(ended.outcome, Some(Outcome::Completed));
        let cancelled = |event: &&Event| {
            matches!(
                &event.body,
                Body::Turn(TurnEvent::AgentFailed { .. })
                    | Body::Ask(AskEvent::Withdrawn { .. })
                    | Body::Call(CallEvent::ToolCancelled { .. })
            )
        };
        assert_eq!(ended.journal.iter().filter(cancelled).count(), 0);
        assert_eq!(count(ended, "agent_reply"), 7 + 3 + 7);
    });
}

#[test]
fn what_is_not_needed_any_more_is_ended_and_its_question_taken_over() {
    let setup = setup(Budget { max_turns: Some(6), ..Budget::default() });
    let mut world = world(3, &talk(4), &[("confirmation", "go")]);
    world.scripts.insert("council/2".to_owned(), talk(0));
    world.answers.insert("limit", vec!["9".to_owned(); 9]);
    everywhere(&|| council(&setup, 3, true), &world, &|ended| {
        assert_eq!(ended.outcome, Some(Outcome::Completed));
        let superseded =
            |event: &&Event| matches!(event.body, Body::Part(PartEvent::PartEnd { outcome: Outcome::Superseded }));
        assert_eq!(ended.journal.iter().filter(superseded).count(), 2);
    });
}

#[test]
fn a_part_that_asked_for_all_and_is_ended_leaves_the_question_to_a_sibling() {
    // The first is at its report and needs no turn more when the limit is reached by the others.
    let setup = setup(Budget { max_turns: Some(7), ..Budget::default() });
    let world = world(3, &talk(1), &[("confirmation", "go")]);
    for seed in 0..4 {
        for length in 1..60 {
            let world = World { messages: vec![(length, Message::Cancel)], ..world.clone() };
            let plan = Plan { seed, ..Plan::default() };
            let ended = simulate(&|| council(&setup, 3, false), &world, &plan)
                .unwrap_or_else(|violation| panic!("{length} {seed}: {violation:?}"));
            assert!(!ended.open.is_empty(), "{length} {seed}: it waits, and somebody knows for what");
        }
    }
}

#[test]
fn what_is_said_to_one_part_reaches_no_sibling() {
    let setup = setup(Budget::default());
    for message in [Message::Steer("mind the gap".to_owned()), Message::Cancel] {
        for length in (1..60).step_by(3) {
            let messages = vec![(length, message.clone())];
            let world = world(3, &talk(3), &[("confirmation", "go"), ("step", "ok")]);
            let world = World { to: Some("council/2"), messages, ..world };
            let ended = simulate(&|| council(&setup, 3, false), &world, &Plan::default()).expect("no rule is broken");
            let reached = |event: &&Event| match &event.body {
                Body::Turn(TurnEvent::Message { text, .. }) => text.contains("mind the gap"),
                Body::Turn(TurnEvent::AgentFailed { .. }) => true,
                _ => false,
            };
            let reached: BTreeSet<&str> =
                ended.journal.iter().filter(reached).map(|event| event.part.as_str()).collect();
            assert!(reached.iter().all(|part| *part == "council/2"), "{message:?} after {length}: {reached:?}");
            assert_eq!(ended.outcome, Some(Outcome::Completed), "{message:?} after {length}");
        }
    }
}

#[test]
fn a_pause_lets_what_is_in_flight_land_and_begins_nothing() {
    let setup = setup(Budget::default());
    let intents = |ended: &Ended, of: &str| count(ended, of);
    let still = |at: usize, messages: &[Message]| {
        let messages = messages.iter().map(|message| (at, message.clone())).collect();
        let world = World { messages, ..world(3, &talk(1), &[("confirmation", "go")]) };
        simulate(&|| council(&setup, 3, false), &world, &Plan::default()).expect("no rule is broken")
    };
    let whole = still(0, &[]);
    let is_third = |event: &&Event| matches!(event.body, Body::Turn(TurnEvent::AgentRequest { .. }));
    let third = whole.journal.iter().filter(is_third).nth(2).expect("three are asked").seq as usize + 1;
    let paused = still(third, &[Message::Pause]);
    assert_eq!(paused.outcome, None);
    assert_eq!((intents(&paused, "agent_request"), intents(&paused, "agent_reply")), (3, 3), "all three landed");
    assert_eq!((count(&paused, "agent_failed"), count(&paused, "question")), (0, 0));
    for messages in [&[Message::Interrupt][..], &[Message::Pause, Message::Pause]] {
        let stopped = still(third, messages);
        assert_eq!((count(&stopped, "agent_request"), count(&stopped, "agent_reply")), (3, 0), "{messages:?}");
    }
    // Taken over it goes on, wherever it was killed.
    let world = World { messages: vec![(third, Message::Pause)], ..world(3, &talk(1), &[("confirmation", "go")]) };
    for first in 1..=paused.ticks {
        let plan = Plan { kills: BTreeSet::from([first, paused.ticks]), ..Plan::default() };
        let ended = simulate(&|| council(&setup, 3, false), &world, &plan)
            .unwrap_or_else(|caught| panic!("{first}: {caught:?}"));
        assert!(matches!(ended.outcome, None | Some(Outcome::Completed)), "{first}");
    }
    let plan = Plan { kills: BTreeSet::from([paused.ticks]), ..Plan::default() };
    let ended = simulate(&|| council(&setup, 3, false), &world, &plan).expect("no rule is broken");
    assert_eq!((ended.outcome, count(&ended, "agent_reply")), (Some(Outcome::Completed), 12));
}

#[test]
fn a_deadline_that_has_passed_is_asked_about_once() {
    let setup = Arc::new(Setup {
        deadline: Some(("yesterday".to_owned(), Timestamp::UNIX_EPOCH)),
        ..(*setup(Budget::default())).clone()
    });
    let world = world(3, &talk(2), &[("confirmation", "go"), ("deadline", "continue")]);
    everywhere(&|| council(&setup, 3, false), &world, &|ended| {
        assert_eq!(ended.outcome, Some(Outcome::Completed));
        assert_eq!((count(ended, "deadline_passed"), asked(ended, "deadline")), (1, 1));
    });
}

#[test]
fn a_provider_that_is_down_is_asked_about_once() {
    let setup = setup(Budget::default());
    let mut script = vec![Said::text(SUMMARY), Said::Fails(FailureKind::Permanent)];
    script.extend(talk(1).split_off(1));
    let mut world = world(3, &script, &[("confirmation", "go")]);
    let waiting = simulate(&|| council(&setup, 3, false), &world, &Plan::default()).expect("no rule is broken");
    assert_eq!((waiting.outcome, waiting.open.len()), (None, 1));
    world.answers.insert("failure", vec!["retry".to_owned(); 9]);
    for seed in 0..20 {
        let plan = Plan { seed, ..Plan::default() };
        let ended = simulate(&|| council(&setup, 3, false), &world, &plan).expect("no rule is broken");
        assert_eq!(ended.outcome, Some(Outcome::Completed));
        // One that fails after the word is asked about anew.
        let failed = ended.journal.iter().rposition(|event| kind(&event.body) == "agent_failed").expect("a failure");
        let answered = ended.journal[failed..].iter().any(|event| kind(&event.body) == "answer");
        assert!(answered && asked(&ended, "failure") <= 3, "seed {seed}");
    }
    everywhere(&|| council(&setup, 3, false), &world, &|ended| {
        assert_eq!(ended.outcome, Some(Outcome::Completed));
    });
}

#[test]
fn todays_rules_decide_the_same_of_siblings() {
    let setup = setup(Budget { max_turns: Some(9), ..Budget::default() });
    let script = [Said::text(SUMMARY), write("a"), Said::text(DONE), Said::text("bye")];
    let world = world(3, &script, &[("confirmation", "go"), ("destructive", "category"), ("limit", "9")]);
    let whole = simulate(&|| council(&setup, 3, false), &world, &Plan::default()).expect("no rule is broken");
    for kills in [BTreeSet::new(), BTreeSet::from([whole.ticks / 3]), BTreeSet::from([whole.ticks / 2, whole.ticks])] {
        let plan = Plan { kills, ..Plan::default() };
        let ended = simulate(&|| council(&setup, 3, false), &world, &plan).expect("no rule is broken");
        let report = replay(&ended.journal, council(&setup, 3, false));
        assert_eq!(report.drift, []);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn in_any_order_and_under_kills_nothing_is_overdrawn_or_stuck(
        seed in any::<u64>(),
        kills in prop::collection::btree_set(1_u64..200, 0..4),
        voters in 2_usize..5,
        turns in 1_u64..14,
        word in prop::sample::select(vec!["category", "y", "n"]),
    ) {
        let setup = setup(Budget { max_turns: Some(turns), ..Budget::default() });
        let script = [Said::text(SUMMARY), write("a"), Said::text(DONE), Said::text("bye")];
        let answers = [("confirmation", "go"), ("destructive", word), ("step", "done")];
        let world = world(voters, &script, &answers);
        let plan = Plan { kills, seed, ..Plan::default() };
        let ended = simulate(&|| council(&setup, voters, false), &world, &plan);
        let ended = ended.map_err(|violation| TestCaseError::fail(format!("{violation:?}")))?;
        prop_assert!(count(&ended, "agent_reply") as u64 <= turns);
        prop_assert!(ended.outcome.is_some() || !ended.open.is_empty(), "it waits for nobody");
        let of: BTreeMap<&str, usize> = ended.open.iter().fold(BTreeMap::new(), |mut of, (_, kind)| {
            *of.entry(kind.as_str()).or_default() += 1;
            of
        });
        prop_assert!(of.get("limit").copied().unwrap_or(0) <= 1);
    }
}
