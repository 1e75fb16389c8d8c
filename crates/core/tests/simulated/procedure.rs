//! The trait, the driver and its ledger, proven on a toy: a parent with two children that each take a
//! turn, ask a question and make a call, side by side.

use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_core::procedure::run::Run;
use adjutant_core::procedure::{Children, Command, Next, Procedure, Want};
use adjutant_core::trace::{AskEvent, Body, CallEvent, Entry, Event, HostEvent, PartEvent, TurnEvent};
use adjutant_core::words::{
    Choice, InterruptedEffect, Key, Message, Offer, Outcome, Part, PartKind, Question, QuestionKind, Slot, What,
};
use proptest::prelude::*;
use serde_json::json;

use crate::simulator::{DriverFault, Plan, Said, Violation, World, call, simulate};

/// A fault planted in the toy, which the checks must catch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToyFault {
    /// Asks again under the key of the first question.
    ReusesKey,
    /// Counts how often it was asked, and decides by that.
    Recomputes,
}

/// One child: a turn, a question, a call, the end.
#[derive(Debug, Clone)]
struct Child {
    part: Part,
    fault: Option<ToyFault>,
    started: bool,
    replied: bool,
    answered: Option<Choice>,
    attempt: u32,
    turn_attempt: u32,
    ask_attempt: u32,
    unknown: bool,
    called: bool,
    ended: bool,
    asked: std::cell::Cell<u32>,
}

impl Child {
    fn new(part: Part, fault: Option<ToyFault>) -> Self {
        Self {
            part,
            fault,
            started: false,
            replied: false,
            answered: None,
            attempt: 1,
            turn_attempt: 1,
            ask_attempt: 1,
            unknown: false,
            called: false,
            ended: false,
            asked: std::cell::Cell::new(0),
        }
    }

    fn want(&self, slot: Slot, command: Command) -> Next {
        Next::Want(vec![Want { key: Key { part: self.part.clone(), slot }, command }])
    }

    fn record(&self, body: Body) -> Next {
        Next::Record(Entry { part: self.part.clone(), body })
    }
}

impl Procedure for Child {
    type Facts = ();

    fn apply(&mut self, event: &Event) {
        if event.part != self.part {
            return;
        }
        match &event.body {
            Body::Part(PartEvent::PartStart { .. }) => self.started = true,
            Body::Turn(TurnEvent::AgentReply { .. }) => self.replied = true,
            Body::Ask(AskEvent::Answer { choice, .. }) => self.answered = Some(*choice),
            Body::Call(CallEvent::Interrupted { slot, effect }) => match (slot.what, effect) {
                (What::Turn, _) => self.turn_attempt += 1,
                (_, InterruptedEffect::None) => self.attempt += 1,
                (_, InterruptedEffect::Unknown) => self.unknown = true,
            },
            Body::Turn(TurnEvent::AgentFailed { .. }) => self.turn_attempt += 1,
            Body::Ask(AskEvent::Withdrawn { .. }) => self.ask_attempt += 1,
            Body::Call(CallEvent::ToolResult { .. } | CallEvent::ToolCancelled { .. }) => self.called = true,
            Body::Part(PartEvent::PartEnd { .. }) => self.ended = true,
            _ => {}
        }
    }

    fn next(&self, (): &()) -> Next {
        if self.fault == Some(ToyFault::Recomputes) {
            self.asked.set(self.asked.get() + 1);
            if self.asked.get() > 9 {
                return self.record(Body::Host(HostEvent::Warning { text: "asked often".to_owned() }));
            }
        }
        if !self.started {
            return self.record(Body::Part(PartEvent::PartStart {
                kind: PartKind::Session,
                contract: None,
                agent: 0,
                workspace: None,
            }));
        }
        if self.ended {
            return Next::Done(Outcome::Completed);
        }
        if !self.replied {
            let slot = Slot { what: What::Turn, number: 1, attempt: self.turn_attempt };
            return self.want(
                slot,
                Command::Turn {
                    messages: (0, 0),
                    tools: Arc::from([]),
                    may_call: true,
                    agent: 0,
                    input_tokens: 0,
                    output_max: 0,
                    limit_ms: None,
                    workspace: None,
                },
            );
        }
        if self.answered.is_none() {
            let question = Question {
                kind: QuestionKind::Step,
                text: format!("May {} go on?", self.part),
                options: vec![Offer::new(Choice::Continue, "ok", "the call is made")],
                default: Choice::Done,
                deadline_ms: None,
                acts: 0,
            };
            let slot = Slot { what: What::Ask, number: 1, attempt: self.ask_attempt };
            return self.want(slot, Command::Ask(Arc::new(question)));
        }
        if !self.called && !self.unknown {
            let slot = Slot { what: What::Call, number: 1, attempt: self.attempt };
            let slot = if self.fault == Some(ToyFault::ReusesKey) { Slot::first(What::Ask, 1) } else { slot };
            let call = call("c", "shell", json!({"part": self.part.as_str()}));
            return self
                .want(slot, Command::Call { call: Arc::new(call), workspace: None, network: false, limit_ms: None });
        }
        self.record(Body::Part(PartEvent::PartEnd { outcome: Outcome::Completed }))
    }
}

/// The parent: runs both children side by side and ends when both have.
#[derive(Debug, Clone)]
struct Parent {
    part: Part,
    started: bool,
    children: Children<Child>,
    ended: bool,
}

impl Parent {
    fn new(fault: Option<ToyFault>) -> Self {
        let part = Part::root().child("toys");
        let mut children = Children::default();
        for (name, fault) in [("left", fault), ("right", None)] {
            children.call_in(part.child(name), Child::new(part.child(name), fault));
        }
        Self { part, started: false, children, ended: false }
    }
}

impl Procedure for Parent {
    type Facts = ();

    fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Part(PartEvent::PartStart { .. }) if event.part == self.part => self.started = true,
            Body::Part(PartEvent::PartEnd { .. }) if event.part == self.part => self.ended = true,
            _ => {}
        }
        self.children.apply(event);
    }

    fn next(&self, (): &()) -> Next {
        let record = |body| Next::Record(Entry { part: self.part.clone(), body });
        if !self.started {
            return record(Body::Part(PartEvent::PartStart {
                kind: PartKind::Council,
                contract: None,
                agent: 0,
                workspace: None,
            }));
        }
        if self.ended {
            return Next::Done(Outcome::Completed);
        }
        if self.children.is_empty() {
            return record(Body::Part(PartEvent::PartEnd { outcome: Outcome::Completed }));
        }
        self.children.next(&())
    }
}

fn make(fault: Option<ToyFault>) -> Run<Parent> {
    Run::new(Parent::new(fault), Part::root().child("toys"))
}

fn world() -> World {
    World {
        scripts: BTreeMap::from([
            ("toys/left".to_owned(), vec![Said::text("left")]),
            ("toys/right".to_owned(), vec![Said::text("right")]),
        ]),
        answers: BTreeMap::from([("step", vec!["ok".to_owned(), "ok".to_owned()])]),
        ..World::default()
    }
}

#[test]
fn two_children_run_side_by_side_and_the_parent_ends_last() {
    let ended = simulate(&|| make(None), &world(), &Plan::default()).expect("no rule is broken");
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert_eq!(ended.effects.len(), 2);
    assert_eq!(ended.kinds().last().map(String::as_str), Some(":run_end"));
}

#[test]
fn a_kill_at_any_tick_has_each_effect_at_most_once_and_ends_the_same() {
    let whole = simulate(&|| make(None), &world(), &Plan::default()).expect("no rule is broken");
    for seed in 0..5 {
        for first in 1..=whole.ticks {
            for second in [None, Some(first + 1), Some(first + 3), Some(first + 7)] {
                let plan =
                    Plan { kills: [Some(first), second].into_iter().flatten().collect(), seed, ..Plan::default() };
                let ended = simulate(&|| make(None), &world(), &plan)
                    .unwrap_or_else(|violation| panic!("{plan:?}: {violation:?}"));
                assert_eq!(ended.outcome, whole.outcome, "{plan:?}");
                // A call that was interrupted is not made again: it is reported as unknown.
                let unknown = ended
                    .journal
                    .iter()
                    .filter(|event| {
                        matches!(
                            event.body,
                            Body::Call(CallEvent::Interrupted { effect: InterruptedEffect::Unknown, .. })
                        )
                    })
                    .count();
                assert!(
                    ended.effects.len() <= 2 && ended.effects.len() + unknown >= 2,
                    "{plan:?}: {:?}",
                    ended.effects
                );
            }
        }
    }
}

#[test]
fn a_stop_ends_the_run_whatever_is_in_flight() {
    for length in 1..20 {
        let world = World { messages: vec![(length, Message::Stop)], ..world() };
        let ended = simulate(&|| make(None), &world, &Plan::default()).expect("no rule is broken");
        assert!(
            matches!(ended.outcome, Some(Outcome::Stopped | Outcome::Completed)),
            "after {length} events: {ended:?}"
        );
        assert!(ended.open.is_empty());
    }
}

#[test]
fn an_interrupted_run_stands_still_and_goes_on_when_taken_over() {
    let world = World { messages: vec![(6, Message::Interrupt)], ..world() };
    let still = simulate(&|| make(None), &world, &Plan::default()).expect("no rule is broken");
    assert_eq!(still.outcome, None);
    let killed = Plan { kills: [still.ticks].into(), ..Plan::default() };
    let ended = simulate(&|| make(None), &world, &killed).expect("no rule is broken");
    assert_eq!(ended.outcome, Some(Outcome::Completed));
}

/// Returns the first violation over all kill points and some seeds.
fn caught(toy: Option<ToyFault>, driver: Option<DriverFault>, world: &World) -> Option<Violation> {
    (0..4).find_map(|seed| {
        (0..40).find_map(|kill| {
            let plan = Plan { kills: [kill].into(), seed, fault: driver, ..Plan::default() };
            simulate(&|| make(toy), world, &plan).err()
        })
    })
}

#[test]
fn every_planted_fault_is_caught() {
    assert_eq!(caught(None, None, &world()), None);
    let messages = World { messages: vec![(5, Message::Cancel)], ..world() };
    assert_eq!(caught(None, None, &messages), None);

    let reused = caught(Some(ToyFault::ReusesKey), None, &world());
    assert!(matches!(reused, Some(Violation::Broken(_))), "{reused:?}");
    let recomputed = caught(Some(ToyFault::Recomputes), None, &world());
    assert!(matches!(recomputed, Some(Violation::Recomputed { .. })), "{recomputed:?}");
    let repeated = caught(None, Some(DriverFault::RepeatsOrphans), &world());
    assert!(matches!(repeated, Some(Violation::EffectTwice(_))), "{repeated:?}");
    let early = caught(None, Some(DriverFault::OutcomeBeforeIntent), &world());
    assert!(matches!(early, Some(Violation::EffectWithoutIntent(_))), "{early:?}");
    let by_kind = caught(None, Some(DriverFault::AnswersByKind), &world());
    assert!(matches!(by_kind, Some(Violation::WrongQuestion(_))), "{by_kind:?}");
    let lost = caught(None, Some(DriverFault::LosesMessageIds), &messages);
    assert!(matches!(lost, Some(Violation::MessageTwice)), "{lost:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn no_kills_and_no_order_break_a_rule(kills in prop::collection::btree_set(1u64..60, 0..6), seed in any::<u64>()) {
        let plan = Plan { kills, seed, ..Plan::default() };
        let ended = simulate(&|| make(None), &world(), &plan);
        prop_assert!(matches!(&ended, Ok(ended) if ended.outcome == Some(Outcome::Completed)), "{:?}", ended);
    }
}
