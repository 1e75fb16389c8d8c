//! Tests what-if reports on recorded runs: each kind of difference, and nothing where there is none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use adjutant_core::detect::{Detector, Sensitivities, Sensitivity};
use adjutant_core::gate::grant_line::Kept;
use adjutant_core::learn::applying::Taken;
use adjutant_core::learn::what_if::{Changes, Tally, WhatIf, WhatIfReport};
use adjutant_core::procedure::run::Run;
use adjutant_core::session::{LearnedLimits, Session, Setup};
use adjutant_core::trace::{
    AgentOptions, Body, Event, GateEvent, LearnedOptions, RunEvent, RunOptions, RunStart, TurnEvent, Versions,
};
use adjutant_core::words::tool::ToolEffect;
use adjutant_core::words::{Category, GateAnswer, Part, PhaseName};
use adjutant_core::work::Work;
use jiff::Timestamp;
use serde_json::json;

use crate::simulator::{self, Plan, Said, World, call, simulate, tool};

const SUMMARY: &str =
    "## Confirmation Summary\nObjective: a\nDeliverables: b\nConstraints: c\nTools required: d\nUnknowns: none\n";
const DONE: &str = "## Phase 4\nEverything shipped.";

fn setup(authorized: &[&str]) -> Setup {
    Setup {
        authorized: authorized.iter().copied().map(Category::new).collect(),
        tools: [
            tool("read_file", "filesystem_read", ToolEffect::Reads),
            tool("write_file", "filesystem_write", ToolEffect::WritesFiles),
        ]
        .into(),
        ..simulator::setup()
    }
}

fn work(setup: &Setup) -> Run<Work> {
    let part = Part::root().child("session");
    Run::new(Work::Alone(Box::new(Session::new(Arc::new(setup.clone()), part.clone()))), part)
}

fn write(id: &str) -> Said {
    Said::calls("writing", vec![call(id, "write_file", json!({"path": format!("{id}\u{1b}.txt"), "content": "x"}))])
}

/// Returns the journal of a run whose agent says this in phase 1.
fn journal(setup: &Setup, said: &[Said]) -> Vec<Event> {
    let script = [&[Said::text(SUMMARY)], said, &[Said::text(DONE), Said::text("the report")]].concat();
    let world = World {
        scripts: BTreeMap::from([("session".to_owned(), script)]),
        answers: BTreeMap::from([
            ("confirmation", vec!["go".to_owned()]),
            ("destructive", vec!["y".to_owned(); 9]),
            ("blocker", vec!["the port is 8080".to_owned(); 9]),
        ]),
        reads: BTreeSet::from(["read_file"]),
        writes: BTreeSet::from(["write_file"]),
        ..World::default()
    };
    let ended = simulate(&|| work(setup), &world, &Plan::default()).expect("no rule is broken");
    let start = RunStart {
        run_id: "2026-01-02-A".parse().expect("a name"),
        brief_id: "2026-01-02-A".parse().expect("an id"),
        project: "orchard".to_owned(),
        brief_path: None,
        brief: String::new(),
        tools: Vec::new(),
        offered: None,
        options: RunOptions { agent: AgentOptions::default(), ..RunOptions::default() },
        versions: Versions { adjutant: String::new(), standing_orders: 1, rules: 0 },
    };
    let begun = Event {
        seq: 0,
        at: Timestamp::UNIX_EPOCH,
        part: Part::root(),
        body: Body::Run(RunEvent::RunStart(Box::new(start))),
    };
    std::iter::once(begun).chain(ended.journal).collect()
}

fn compared(journal: &[Event], before: &Setup, after: &Setup) -> WhatIfReport {
    let mut whole = WhatIf::default();
    whole.run("2026-01-02-A", journal, work(before), work(after), &[]);
    whole.report()
}

/// Returns the number of differences of each kind: fired, silent, asked, allowed, refused, beyond limits.
fn counts(report: &WhatIfReport) -> [u64; 6] {
    let WhatIfReport { newly_fired, newly_silent, newly_asked, newly_allowed, newly_refused, beyond_limits, .. } =
        report;
    [newly_fired, newly_silent, newly_asked, newly_allowed, newly_refused, beyond_limits].map(|tally| tally.count)
}

fn only(counts: &BTreeMap<String, u64>) -> (&str, u64) {
    assert_eq!(counts.len(), 1, "{counts:?}");
    counts.first_key_value().map(|(name, count)| (name.as_str(), *count)).expect("one")
}

fn tuned(detector: Detector, sensitivity: Sensitivity) -> Setup {
    Setup { sensitivities: Sensitivities::default().with(detector, sensitivity), ..setup(&[]) }
}

#[test]
fn without_a_change_nothing_differs() {
    let setup = setup(&[]);
    let journal = journal(&setup, &[write("a"), Said::text("I'm blocked."), write("b")]);
    let report = compared(&journal, &setup, &setup);
    assert_eq!((counts(&report), report.drift), ([0; 6], Default::default()));
    assert!(report.turns >= 4 && report.calls == 2 && report.runs == 1);
}

#[test]
fn a_detector_that_hears_more_or_less_is_told_with_what_it_heard() {
    let says = "We are unable to proceed without the missing key.\nThe port is closed.";
    for (recorded, tried, fired, silent) in [
        (Sensitivity::Default, Sensitivity::Strict, 1, 0),
        (Sensitivity::Strict, Sensitivity::Default, 0, 1),
        (Sensitivity::Default, Sensitivity::Loose, 0, 0),
        // It halts a run: it reads by default.
        (Sensitivity::Default, Sensitivity::Disabled, 0, 0),
    ] {
        let (before, after) = (tuned(Detector::Blocker, recorded), tuned(Detector::Blocker, tried));
        let report = compared(&journal(&before, &[Said::text(says)]), &before, &after);
        assert_eq!(counts(&report), [fired, silent, 0, 0, 0, 0], "{recorded} to {tried}");
        assert_eq!(report.drift.turns, 0, "{recorded} to {tried}");
        let tally = if fired > 0 { &report.newly_fired } else { &report.newly_silent };
        if tally.count > 0 {
            assert_eq!(only(&tally.detectors), ("blocker", 1));
            let example = &tally.examples[0];
            assert_eq!((example.run.as_str(), example.turn, example.call), ("2026-01-02-A", Some(2), None));
            assert!(example.text.contains("without the missing key"), "{}", example.text);
        }
    }
}

#[test]
fn what_is_authorized_more_is_newly_allowed_and_what_is_withdrawn_newly_asked() {
    let (narrow, wide) = (setup(&[]), setup(&["filesystem_write"]));
    let script = [write("a"), write("b")];
    for (before, after, place) in [(&narrow, &wide, 3), (&wide, &narrow, 2)] {
        let report = compared(&journal(before, &script), before, after);
        let mut expected = [0; 6];
        expected[place] = 2;
        assert_eq!((counts(&report), report.drift.calls), (expected, 0));
        let tally = if place == 3 { &report.newly_allowed } else { &report.newly_asked };
        assert_eq!((only(&tally.tools), only(&tally.categories)), (("write_file", 2), ("filesystem_write", 2)));
        assert_eq!((tally.runs, tally.examples[1].call, tally.examples[1].turn), (1, Some(2), None));
        // What a terminal would obey is spelled out.
        assert!(tally.examples[0].text.starts_with("a\\") && !tally.examples[0].text.contains('\u{1b}'));
        assert!(tally.examples[0].why.is_some());
    }
}

#[test]
fn what_is_switched_off_is_newly_refused() {
    let mut before = setup(&["shell_exec"]);
    before.tools = [tool("shell_exec", "shell_exec", ToolEffect::Anything)].into();
    let after = Setup { shell_disabled: true, ..before.clone() };
    let said = Said::calls("listing", vec![call("a", "shell_exec", json!({"cmd": "ls"}))]);
    let report = compared(&journal(&before, &[said]), &before, &after);
    assert_eq!(counts(&report), [0, 0, 0, 0, 1, 0]);
    let Tally { examples, .. } = report.newly_refused;
    assert_eq!((examples[0].what.as_str(), examples[0].text.as_str()), ("shell_exec", "ls"));
}

#[test]
fn a_grant_of_the_change_is_used_up_as_any_other() {
    let setup = setup(&[]);
    let journal = journal(&setup, &[write("a"), write("b"), write("c")]);
    for (uses, allowed) in [(json!(null), 3), (json!(2), 2)] {
        let line = json!({
            "v": 1, "op": "grant", "grant_id": "g1", "action": "write", "category": "filesystem_write",
            "scope": "persistent", "granted_at": "1969-01-01T00:00:00Z", "uses": uses,
        });
        let grants = Kept::read(&line.to_string()).grants;
        assert_eq!(grants.len(), 1);
        let mut whole = WhatIf::default();
        whole.run("r", &journal, work(&setup), work(&setup), &grants);
        let report = whole.report();
        assert_eq!(counts(&report), [0, 0, 0, allowed, 0, 0], "{uses} uses");
    }
}

#[test]
fn an_announcement_that_is_authorized_now_is_newly_allowed() {
    let (narrow, wide) = (setup(&[]), setup(&["git_push"]));
    let said = Said::text("I'll git push.");
    for (before, after, expected) in [(&narrow, &wide, [0, 0, 0, 1, 0, 0]), (&wide, &narrow, [0, 0, 1, 0, 0, 0])] {
        let report = compared(&journal(before, std::slice::from_ref(&said)), before, after);
        assert_eq!(counts(&report), expected);
        let tally = if expected[3] == 1 { &report.newly_allowed } else { &report.newly_asked };
        assert_eq!((only(&tally.tools), only(&tally.categories)), (("(announced)", 1), ("git_push", 1)));
    }
}

#[test]
fn calls_beyond_a_limit_of_the_change_are_told() {
    let before = setup(&["filesystem_write"]);
    let learned = LearnedLimits {
        slug: "orchard".to_owned(),
        phase_calls: BTreeMap::from([(PhaseName::Execute, 2)]),
        ..LearnedLimits::default()
    };
    let after = Setup { learned: Some(learned), ..before.clone() };
    let report = compared(&journal(&before, &[write("a"), write("b"), write("c")]), &before, &after);
    assert_eq!(counts(&report), [0, 0, 0, 0, 0, 1]);
    let example = &report.beyond_limits.examples[0];
    assert_eq!((example.call, example.why.as_deref()), (Some(3), Some("beyond the calls of phase execute")));
}

#[test]
fn drift_is_told_apart_from_what_the_change_does() {
    let (narrow, wide) = (setup(&[]), setup(&["filesystem_write"]));
    let mut journal = journal(&narrow, &[write("a")]);
    for event in &mut journal {
        match &mut event.body {
            Body::Gate(GateEvent::AuthCheckFired { answer, .. }) => *answer = Some(GateAnswer::Refuse),
            Body::Turn(TurnEvent::DetectorFired { detector, .. }) if detector == "completion" => {
                *detector = "hearsay".to_owned()
            }
            _ => {}
        }
    }
    let same = compared(&journal, &narrow, &narrow);
    assert_eq!((counts(&same), same.drift.calls), ([0; 6], 1));
    assert!(same.drift.turns > 0 && same.drift.runs.contains("2026-01-02-A"));
    let changed = compared(&journal, &narrow, &wide);
    assert_eq!((counts(&changed), changed.drift), ([0, 0, 0, 1, 0, 0], same.drift));
}

#[test]
fn examples_are_few_and_short_however_much_there_is() {
    let (narrow, wide) = (setup(&[]), setup(&["filesystem_write"]));
    let long = "long/".repeat(90);
    let calls =
        (0..9).map(|n| call(&format!("c{n}"), "write_file", json!({"path": format!("{n}{long}"), "content": ""})));
    let journal = journal(&narrow, &[Said::calls("much", calls.collect())]);
    let mut whole = WhatIf::default();
    for run in ["a", "b"] {
        whole.run(run, &journal, work(&narrow), work(&wide), &[]);
    }
    let Tally { count, runs, examples, .. } = whole.report().newly_allowed;
    assert_eq!((count, runs, examples.len()), (18, 2, 3));
    assert!(examples.iter().all(|example| example.text.chars().count() <= 121 && example.text.ends_with('…')));
}

#[test]
fn of_the_peer_what_was_said_is_read_anew() {
    let changes =
        Changes { detectors: [(Detector::BannedPhrases, Sensitivity::Disabled)].into(), ..Changes::default() };
    let turns = [(1, "Certainly! I'd be happy to help."), (2, "The file is written.")];
    let mut whole = WhatIf::default();
    whole.peer_session("2024-06-01-R", turns.into_iter(), &[], &changes);
    let report = whole.report();
    assert_eq!((report.peer_sessions, report.turns, report.calls), (1, 2, 0));
    assert_eq!(only(&report.newly_silent.detectors), ("banned_phrases", 1));
}

#[test]
fn the_briefs_own_word_stands_against_a_profile_and_not_against_a_detector_that_is_named() {
    let (loose, strict) = (Sensitivity::Loose, Sensitivity::Strict);
    let set = |sensitivity| Sensitivities::default().with(Detector::Blocker, sensitivity);
    let profile = || Taken {
        detectors: [(Detector::Blocker, loose)].into(),
        options: LearnedOptions::default(),
        ..Taken::default()
    };
    let of_profile = Changes { profile: Some(profile()), ..Changes::default() };
    let both = Changes { detectors: [(Detector::Blocker, strict)].into(), ..of_profile.clone() };
    let none = Sensitivities::default();
    for (changes, recorded, by_brief, expected) in [
        (&of_profile, &none, &none, loose),
        (&of_profile, &set(strict), &none, loose),
        (&of_profile, &set(strict), &set(strict), strict),
        (&both, &none, &none, strict),
        (&both, &set(loose), &set(loose), strict),
    ] {
        assert_eq!(
            changes.sensitivities(recorded, by_brief).of(Detector::Blocker),
            expected,
            "{recorded:?} {by_brief:?}"
        );
    }
}

#[test]
fn a_rule_adds_and_takes_away_what_stands_in_the_brief() {
    let list = |names: &[&str]| names.iter().copied().map(Category::new).collect::<Vec<_>>();
    for (authorize, withdraw, brief, expected) in [
        (&["git_push"][..], &[][..], &["shell_exec"][..], &["shell_exec", "git_push"][..]),
        (&["git_push"], &[], &["git_push"], &["git_push"]),
        (&[], &["shell_exec"], &["shell_exec", "git_push"], &["git_push"]),
        (&["shell_exec"], &["shell_exec"], &["shell_exec"], &["shell_exec"]),
        (&[], &["shell_exec"], &["*"], &["*"]),
    ] {
        let changes = Changes { authorize: list(authorize), withdraw: list(withdraw), ..Changes::default() };
        assert_eq!(changes.authorized(&list(brief)), list(expected), "{authorize:?} {withdraw:?} {brief:?}");
    }
}
