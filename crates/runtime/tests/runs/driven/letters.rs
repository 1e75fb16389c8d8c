//! An operator who interferes: amends the brief, tells one part something, revokes a grant, all while drivers die.

use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_core::session::Setup;
use adjutant_core::trace::{AskEvent, Body, CallEvent, Event, TurnEvent};
use adjutant_core::words::{Amendment, Category, Message, MessageKind, Outcome, QuestionKind};
use adjutant_simulation::{RunFate, Scene, SceneMoment, SceneReport, StagedTurn, alone, setup, side_by_side};

use super::grants::grant;
use super::{DONE, asked, everywhere, run, shell, talk, write};

/// Two sessions side by side, each of which writes two files, one after the other.
fn pair() -> Scene {
    let writes = |id: String| StagedTurn::calls("writing", vec![write(&id, "text")]);
    // What it is told while it says that it is done makes it say so again.
    let again = [StagedTurn::says(DONE), StagedTurn::says("bye")];
    let work = |number: u32| talk(vec![writes(format!("v{number}")), writes(format!("w{number}"))]);
    let turns = |number: u32| work(number).into_iter().chain(again.clone()).collect();
    let turns: BTreeMap<_, _> = (1..=2).map(|number| (format!("council/{number}"), turns(number))).collect();
    Scene { turns, ..Scene::default() }.answering(QuestionKind::Confirmation, &["go"])
}

fn withdrawing(category: &str) -> Message {
    Message::Amend(Box::new(Amendment { withdraw: vec![Category::new(category)], ..Amendment::default() }))
}

fn authorizing(category: &str) -> Message {
    Message::Amend(Box::new(Amendment { authorize: vec![Category::new(category)], ..Amendment::default() }))
}

fn is_message(event: &Event) -> bool {
    matches!(event.body, Body::Ask(AskEvent::OperatorMessage { .. }))
}

/// Returns the calls that began after the operator's message.
fn begun_since(report: &SceneReport) -> usize {
    let since = report.journal.iter().skip_while(|event| !is_message(event));
    since.filter(|event| matches!(event.body, Body::Call(CallEvent::ToolCall { .. }))).count()
}

#[test]
fn what_is_withdrawn_at_any_moment_is_not_done_from_then_on() {
    let setup = Arc::new(Setup { authorized: vec![Category::new("filesystem_write")], ..setup() });
    let scene = pair().answering(QuestionKind::Destructive, &["n"; 4]);
    let whole = run(&|| side_by_side(&setup, 2), &scene, &RunFate::default());
    assert_eq!((whole.files.len(), asked(&whole, QuestionKind::Destructive)), (4, 0));
    for moment in 4..whole.journal.len() {
        let scene = scene.clone().saying(SceneMoment::AfterEvents(moment), withdrawing("filesystem_write"));
        // At every other moment the driver dies soon after it heard that.
        let (seed, kill) = (moment as u64 % 5, (moment % 2 == 1).then_some(moment as u64 + 1 + moment as u64 % 7));
        let fate = RunFate { seed, ..RunFate::killed_at(kill) };
        let report = run(&|| side_by_side(&setup, 2), &scene, &fate);
        assert_eq!((report.outcome, begun_since(&report)), (Some(Outcome::Completed), 0), "{moment}: {fate:?}");
    }
}

#[test]
fn what_is_authorized_later_is_done_without_a_question() {
    let setup = Arc::new(Setup { authorized: Vec::new(), ..setup() });
    let turns = vec![StagedTurn::calls("writing", vec![write("w1", "one")])];
    let scene = Scene::of(talk(turns)).answering(QuestionKind::Confirmation, &["go"]);
    let scene = scene.saying(SceneMoment::AfterMs(1_500), authorizing("filesystem_write"));
    everywhere(&|| alone(&setup), &scene, &|report| {
        assert_eq!((report.outcome, report.files.len()), (Some(Outcome::Completed), 1));
        assert_eq!(asked(report, QuestionKind::Destructive), 0);
    });
}

#[test]
fn what_is_said_to_one_part_is_told_to_its_agent_alone_and_once() {
    let setup = Arc::new(setup());
    let steer = Message::Steer("use the other table".to_owned());
    let scene = pair().telling(SceneMoment::AfterMs(4_500), "council/2", steer);
    everywhere(&|| side_by_side(&setup, 2), &scene, &|report| {
        assert_eq!((report.outcome, report.files.len()), (Some(Outcome::Completed), 4));
        let told = report.journal.iter().filter_map(|event| match &event.body {
            Body::Turn(TurnEvent::Message { kind: MessageKind::Steer, text, .. })
                if text.contains("use the other table") =>
            {
                Some(event.part.as_str())
            }
            _ => None,
        });
        assert_eq!(told.collect::<Vec<_>>(), ["council/2"]);
    });
}

#[test]
fn a_pause_for_one_part_alone_is_no_pause_of_the_run() {
    let setup = Arc::new(setup());
    let scene = pair().telling(SceneMoment::AfterMs(4_500), "council/2", Message::Pause);
    let report = run(&|| side_by_side(&setup, 2), &scene, &RunFate::default());
    assert_eq!((report.outcome, report.lives.len()), (Some(Outcome::Completed), 1));
}

/// A stream of numbers that a seed gives, each below a bound.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        // splitmix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// All of it at once, at random moments: what must hold of every run is checked after each driver.
#[test]
fn whatever_happens_in_whatever_order_no_rule_is_broken() {
    for seed in 1..=25 {
        let mut chance = Chance(seed);
        let authorized = if seed % 2 == 0 { vec![Category::new("filesystem_write")] } else { Vec::new() };
        let setup = Arc::new(Setup { authorized, answer_within_ms: Some(30_000), ..setup() });
        let turns = |number: u32| {
            let id = |what: &str| format!("{what}{number}");
            talk(vec![
                StagedTurn::calls("working", vec![write(&id("v"), "one"), shell(&id("s"))]),
                StagedTurn::calls("working", vec![write(&id("w"), "two")]),
            ])
        };
        let mut at = |bound: u64| SceneMoment::AfterMs(chance.below(bound));
        let scene = Scene {
            turns: (1..=3).map(|number| (format!("council/{number}"), turns(number))).collect(),
            grants: vec![grant("g")],
            revoked: vec![(at(30_000), "g".to_owned())],
            rescued: ["write_file", "shell_exec"].into(),
            resumes_interrupted: true,
            ..Scene::default()
        };
        let scene = scene
            .answering(QuestionKind::Confirmation, &["go"])
            .answering_after(3_000, QuestionKind::Destructive, &["y"; 6])
            .saying(at(30_000), withdrawing("filesystem_write"))
            .saying(at(30_000), authorizing("shell_exec"))
            .telling(at(30_000), "council/2", Message::Steer("hurry".to_owned()))
            .telling(at(30_000), "council/3", Message::Cancel)
            .saying(at(60_000), Message::Pause);
        let first = 1 + chance.below(200);
        let kills = [first, first + 1 + chance.below(20), first + 30 + chance.below(60)].into();
        let fate = RunFate { kills, seed, ..RunFate::default() };
        let report = run(&|| side_by_side(&setup, 3), &scene, &fate);
        assert!(report.outcome.is_some() || !report.waiting.is_empty(), "{fate:?}: {:?}", report.lives);
    }
}
