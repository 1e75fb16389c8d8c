//! Loops under the simulator: they end by verified completion only, ask a person when they get nowhere, and are the same
//! after a kill at every tick. The cases named `u…` are those of the reference for the machine.

use std::collections::BTreeSet;
use std::sync::Arc;

use adjutant_core::gate::checks::Checks;
use adjutant_core::procedure::run::Run;
use adjutant_core::session::{AgentLimits, Setup};
use adjutant_core::supervise::{GoalLoop, LoopSetup};
use adjutant_core::trace::{
    AskEvent, Body, DeedEvent, Event, LoopEvent, LoopOptions, OnStuck, RULES_VERSION, RunEvent, RunOptions, RunStart,
    StuckOptions, Versions,
};
use adjutant_core::words::tool::ToolEffect;
use adjutant_core::words::{Category, Message, Outcome, Part, QuestionKind};
use serde_json::json;

use crate::simulator::{self, Ended, Plan, Said, World, call, kind, simulate, tool};

const SUMMARY: &str = "## Phase 0\n\n**Objective**: build\n**Deliverables**: one\n**Constraints**: two\n**Tools required**: write_file\n**Unknowns**: none";

/// Returns the options of a loop that asks for no council, and whose thresholds are the defaults.
fn options() -> LoopOptions {
    LoopOptions {
        iterations_max: 25,
        check_interval: 5,
        min_iterations: 1,
        council: 0,
        stagnation_limit: 5,
        done_signal_limit: 10,
        stuck: Some(StuckOptions { rounds: 2, nochange_min: 4, split_rounds: 2, evaluation_age: 5, cooldown: 0 }),
        on_stuck: OnStuck::Auto,
        is_perpetual: false,
        checkpoints: true,
        voters: Vec::new(),
    }
}

/// A loop that is to bring `green` into `src`, and what it looks for.
fn setup(options: LoopOptions) -> LoopSetup {
    let agent = AgentLimits { place: 0, name: "first".to_owned(), window: None, output_max: 4_000 };
    LoopSetup {
        base: Setup {
            tools: vec![
                tool("write_file", "filesystem_write", ToolEffect::WritesFiles),
                tool("run", "shell_exec", ToolEffect::Anything),
            ]
            .into(),
            authorized: vec![Category::new("filesystem_write"), Category::new("shell_exec")],
            agents: vec![agent],
            ..simulator::setup()
        },
        options,
        checks: Checks::new(vec!["has src green".to_owned()]),
        expected_files: Vec::new(),
        protected_tests: Vec::new(),
        voters: Vec::new(),
    }
}

fn looped(setup: LoopSetup) -> impl Fn() -> Run<GoalLoop> {
    let setup = Arc::new(setup);
    move || {
        let part = Part::root().child("loop");
        let mut run = Run::new(GoalLoop::new(setup.clone(), part.clone()), part);
        run.apply(&Event { seq: 0, at: jiff::Timestamp::UNIX_EPOCH, part: Part::root(), body: start() });
        run
    }
}

fn start() -> Body {
    Body::Run(RunEvent::RunStart(Box::new(RunStart {
        run_id: "fix-it".parse().expect("a name"),
        brief_id: "fix-it".parse().expect("a name"),
        project: String::new(),
        brief_path: None,
        brief: String::new(),
        tools: Vec::new(),
        offered: None,
        options: RunOptions::default(),
        versions: Versions { adjutant: String::new(), standing_orders: 1, rules: RULES_VERSION },
    })))
}

/// Returns the turns of an iteration that makes these calls and hands off.
fn iteration(writes: &[(&str, &str)], is_complete: bool) -> Vec<Said> {
    let status = if is_complete { "complete" } else { "continue" };
    let mut script = vec![Said::text(SUMMARY)];
    for (path, content) in writes {
        let args = json!({"path": path, "content": content});
        script.push(Said::calls("writing", vec![call(path, "write_file", args)]));
    }
    script.push(Said::text(&format!(
        "Done so far.\n\n```json\n{{\"kind\": \"iteration\", \"status\": \"{status}\", \"summary\": \"as far as it got\"}}\n```"
    )));
    script
}

/// Returns an iteration that removes a file and hands off.
fn removing(path: &str, is_complete: bool) -> Vec<Said> {
    let mut script = iteration(&[("src", "green")], is_complete);
    script.insert(1, Said::calls("removing", vec![call("r", "run", json!({"script": path}))]));
    script
}

fn vote(verdict: &str) -> Vec<Said> {
    vec![Said::text(&format!(
        "```json\n{{\"kind\": \"review\", \"subtask_id\": \"goal\", \"verdict\": \"{verdict}\", \"rationale\": \"I looked\"}}\n```"
    ))]
}

fn world(iterations: Vec<Vec<Said>>) -> World {
    let mut world = World {
        answers: [("confirmation", vec!["go auto".to_owned()])].into(),
        writes: BTreeSet::from(["write_file"]),
        files: [("src".to_owned(), "red".to_owned()), ("test_src".to_owned(), "assert green".to_owned())].into(),
        ..World::default()
    };
    world.scripts.insert("loop/intake".to_owned(), vec![Said::text(SUMMARY)]);
    for (number, script) in (1..).zip(iterations) {
        world.scripts.insert(format!("loop/iteration/{number}"), script);
    }
    world
}

/// Returns a world in which iteration after iteration writes the letters, one each, and says nothing of completion.
fn letters(letters: &str) -> World {
    world(letters.chars().map(|letter| iteration(&[("src", &letter.to_string())], false)).collect())
}

fn count(ended: &Ended, name: &str) -> usize {
    ended.journal.iter().filter(|event| kind(&event.body) == name).count()
}

/// Returns the answers of the rounds, in order.
fn answers(ended: &Ended) -> Vec<&str> {
    ended
        .journal
        .iter()
        .filter_map(|event| match &event.body {
            Body::Loop(LoopEvent::RoundClosed { answer, .. }) => Some(answer.as_str()),
            _ => None,
        })
        .collect()
}

/// Returns the gates that refused completion, in order.
fn refusals(ended: &Ended) -> Vec<String> {
    let of = |event: &Event| match &event.body {
        Body::Loop(LoopEvent::Evidence { refused_by, .. }) => refused_by.clone(),
        _ => None,
    };
    ended.journal.iter().filter_map(of).collect()
}

fn asked(ended: &Ended, of: QuestionKind) -> usize {
    let is_it =
        |event: &&Event| matches!(&event.body, Body::Ask(AskEvent::Question { question, .. }) if question.kind == of);
    ended.journal.iter().filter(is_it).count()
}

/// Runs it as it is, and with a kill at every tick and a second one soon after: `check` must hold each time.
#[track_caller]
fn everywhere(make: &dyn Fn() -> Run<GoalLoop>, world: &World, check: &dyn Fn(&Ended)) {
    let whole = simulate(make, world, &Plan::default()).expect("no rule is broken");
    check(&whole);
    for first in 1..=whole.ticks {
        let plan = Plan { kills: BTreeSet::from([first, first + 7]), ..Plan::default() };
        let ended = simulate(make, world, &plan).unwrap_or_else(|violation| panic!("{plan:?}: {violation:?}"));
        check(&ended);
    }
}

fn once(setup: LoopSetup, world: &World) -> Ended {
    simulate(&looped(setup), world, &Plan::default()).expect("no rule is broken")
}

#[test]
fn it_goes_on_until_the_goal_is_verified_and_leaves_a_receipt() {
    let world = world(vec![
        iteration(&[("src", "reddish")], false),
        iteration(&[("src", "yellow")], true),
        iteration(&[("src", "green")], true),
    ]);
    everywhere(&looped(setup(options())), &world, &|ended| {
        assert_eq!(ended.outcome, Some(Outcome::Completed));
        assert_eq!(answers(ended), ["go_on", "go_on", "completed"]);
        assert_eq!(refusals(ended), ["checks"]);
        assert_eq!(count(ended, "evidence_receipt"), 1);
    });
}

#[test]
fn a_refusal_and_the_handoff_reach_the_next_iteration_in_a_fence() {
    let world = world(vec![iteration(&[("src", "yellow")], true), iteration(&[("src", "green")], true)]);
    let ended = once(setup(options()), &world);
    let request = |event: &Event| match &event.body {
        Body::Turn(adjutant_core::trace::TurnEvent::Message { text, .. })
            if event.part.as_str() == "loop/iteration/2" =>
        {
            Some(text.clone())
        }
        _ => None,
    };
    let told: String = ended.journal.iter().filter_map(request).collect();
    assert!(told.contains("Completion was refused by checks"), "{told}");
    assert!(told.contains("`has src green` failed with exit code 1"), "{told}");
    assert!(told.contains("as far as it got"), "{told}");
}

#[test]
fn completion_can_not_be_faked() {
    let mut expects = setup(options());
    expects.expected_files = vec!["report".to_owned()];
    let mut protects = setup(options());
    protects.protected_tests = vec!["test_".to_owned()];
    let mut unchecked = setup(options());
    unchecked.checks = Checks::default();
    let mut touching = setup(options());
    touching.checks = Checks::new(vec!["touches src".to_owned()]);
    for (what, setup, script, gate) in [
        ("claims and does nothing", unchecked, iteration(&[], true), "changes"),
        ("claims and does too little", setup(options()), iteration(&[("src", "blue")], true), "checks"),
        ("removes the test", setup(options()), removing("test_src", true), "tests"),
        (
            "bends a protected test",
            protects,
            iteration(&[("src", "green"), ("test_src", "assert true")], true),
            "tests",
        ),
        ("leaves a deliverable out", expects, iteration(&[("src", "green")], true), "expected_files"),
        ("has checks that change the files", touching, iteration(&[("src", "green")], true), "files"),
    ] {
        let options = LoopOptions { iterations_max: 1, ..setup.options.clone() };
        let ended = once(LoopSetup { options, ..setup }, &world(vec![script]));
        assert_eq!(ended.outcome, None, "{what}");
        assert_eq!(refusals(&ended), [gate], "{what}");
        assert_eq!(asked(&ended, QuestionKind::Limit), 1, "{what}");
        assert_eq!(count(&ended, "evidence_receipt"), 0, "{what}");
    }
}

#[test]
fn what_checks_build_counts_once_it_is_there() {
    let mut builds = setup(options());
    builds.checks = Checks::new(vec!["builds target".to_owned(), "has src green".to_owned()]);
    everywhere(&looped(builds), &world(vec![iteration(&[("src", "green")], true)]), &|ended| {
        assert_eq!(ended.outcome, Some(Outcome::Completed));
    });
}

#[test]
fn evidence_of_an_earlier_iteration_is_none_for_a_later_one() {
    // Green and not claimed, then broken and claimed.
    let world = world(vec![iteration(&[("src", "green")], false), iteration(&[("src", "broken")], true)]);
    let ended = once(setup(LoopOptions { iterations_max: 2, ..options() }), &world);
    assert_eq!((ended.outcome, refusals(&ended)), (None, vec!["checks".to_owned()]));
}

#[test]
fn a_council_is_blind_side_by_side_and_can_refuse() {
    let options = LoopOptions { council: 3, ..options() };
    let mut world = world(vec![iteration(&[("src", "green")], true), iteration(&[("src", "green, really")], true)]);
    let verdicts = [["pass", "fail", "needs_retry"], ["pass", "pass", "fail"]];
    for (iteration, votes) in (1..).zip(verdicts) {
        for (voter, verdict) in (1..).zip(votes) {
            world.scripts.insert(format!("loop/iteration/{iteration}/voter/{voter}"), vote(verdict));
        }
    }
    everywhere(&looped(setup(options)), &world, &|ended| {
        assert_eq!(ended.outcome, Some(Outcome::Completed));
        assert_eq!((answers(ended), count(ended, "council_verdict")), (vec!["go_on", "completed"], 2));
        // All three are asked before any has answered, or there was a kill between.
        let parts: Vec<&str> = ended.journal.iter().map(|event| event.part.as_str()).collect();
        let begun = parts.iter().position(|part| *part == "loop/iteration/1/voter/3").expect("it voted");
        let said = ended
            .journal
            .iter()
            .position(|event| event.part.as_str().contains("voter") && kind(&event.body) == "agent_reply");
        assert!(said.is_some_and(|said| begun < said));
    });
}

#[test]
fn an_edit_while_the_council_votes_makes_its_verdict_stale() {
    let options = LoopOptions { council: 1, iterations_max: 1, ..options() };
    let mut world = world(vec![iteration(&[("src", "green")], true)]);
    world.scripts.insert("loop/iteration/1/voter/1".to_owned(), vote("pass"));
    // Before the loop, after the work, after the checks, and once the council approved.
    world.edits = [(4, ("src", "green, and edited"))].into();
    everywhere(&looped(setup(options)), &world, &|ended| {
        assert_eq!((ended.outcome, count(ended, "evidence_receipt")), (None, 0));
        assert_eq!(answers(ended), ["go_on"]);
    });
}

#[test]
fn where_all_approve_a_contrarian_is_asked_once_more() {
    for (contrarian, outcome) in [("pass", Some(Outcome::Completed)), ("fail", None)] {
        let options = LoopOptions { council: 3, iterations_max: 1, ..options() };
        let mut world = world(vec![iteration(&[("src", "green")], true)]);
        for voter in 1..=3 {
            world.scripts.insert(format!("loop/iteration/1/voter/{voter}"), vote("pass"));
        }
        world.scripts.insert("loop/iteration/1/voter/4".to_owned(), vote(contrarian));
        everywhere(&looped(setup(options)), &world, &|ended| assert_eq!(ended.outcome, outcome, "{contrarian}"));
    }
}

#[test]
fn u4_states_that_alternate_are_escalated_once_and_a_hint_goes_on() {
    // Each round claims completion, and the check refuses it for the same reason.
    let mut turns: Vec<Vec<Said>> =
        "ABABAB".chars().map(|letter| iteration(&[("src", &letter.to_string())], true)).collect();
    turns[4] = iteration(&[("src", "green")], true);
    let mut world = world(turns);
    world.answers.insert("stuck", vec!["write green into it".to_owned()]);
    everywhere(&looped(setup(options())), &world, &|ended| {
        assert_eq!(ended.outcome, Some(Outcome::Completed));
        assert_eq!(answers(ended), ["go_on", "go_on", "go_on", "escalate", "completed"]);
        assert_eq!(asked(ended, QuestionKind::Stuck), 1, "{:?}", ended.kinds());
        let told = |event: &Event| match &event.body {
            Body::Turn(adjutant_core::trace::TurnEvent::Message { text, .. }) => text.contains("write green into it"),
            _ => false,
        };
        assert!(ended.journal.iter().any(|event| event.part.as_str() == "loop/iteration/5" && told(event)));
    });
}

#[test]
fn a_return_to_how_it_began_is_refused_for_the_same_reason_as_the_rounds_between() {
    // Every other round nothing has changed since the loop began, and the check fails in each.
    let turns = ["x", "red", "x", "red"].map(|content| iteration(&[("src", content)], true));
    let ended = once(setup(options()), &world(turns.to_vec()));
    assert_eq!(answers(&ended), ["go_on", "go_on", "go_on", "escalate"]);
}

#[test]
fn a_hint_to_a_loop_that_goes_on_reaches_its_next_iteration() {
    let mut turns: Vec<Vec<Said>> =
        "ABABAB".chars().map(|letter| iteration(&[("src", &letter.to_string())], true)).collect();
    turns.push(iteration(&[("src", "green")], true));
    let mut world = world(turns);
    world.answers.insert("stuck", vec!["write green into it".to_owned()]);
    everywhere(&looped(setup(LoopOptions { on_stuck: OnStuck::Notify, ..options() })), &world, &|ended| {
        assert_eq!(ended.outcome, Some(Outcome::Completed));
        let told = |event: &Event| match &event.body {
            Body::Turn(adjutant_core::trace::TurnEvent::Message { text, .. }) => text.contains("write green into it"),
            _ => false,
        };
        assert!(ended.journal.iter().any(|event| event.part.as_str().starts_with("loop/iteration/") && told(event)));
        assert!(!ended.state_files.contains_key("PAUSE"));
    });
}

#[test]
fn u20_u21_a_yes_is_acted_on_once_wherever_it_is_killed() {
    let world = world("ABAB".chars().map(|letter| iteration(&[("src", &letter.to_string())], true)).collect());
    everywhere(&looped(setup(options())), &world, &|ended| {
        assert_eq!(ended.outcome, None);
        assert_eq!(ended.open.iter().map(|(_, kind)| *kind).collect::<Vec<_>>(), [QuestionKind::Stuck]);
        for (path, (_, count)) in &ended.state_files {
            assert!(!path.contains("PAUSE") || *count == 1, "{path} was written {count} times");
        }
        let names: Vec<&str> = ended.state_files.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "PAUSE",
                "handoffs/fix-it-round-4.json",
                "handoffs/fix-it-round-4.md",
                "signals/UNCERTAINTY_ESCALATION",
                "state/convergence.log",
                "state/evidence-block.json",
                "state/uncertainty.json",
            ]
        );
        assert!(ended.state_files["state/uncertainty.json"].0.contains("\"escalated_episode\": true"));
    });
}

#[test]
fn u1_a_loop_that_only_stands_still_stalls_and_is_never_approved() {
    // Unchecked, and never claimed: nothing is refused.
    let ended = once(LoopSetup { checks: Checks::default(), ..setup(options()) }, &letters("AAAAAAAAAAAA"));
    assert_eq!(ended.outcome, Some(Outcome::Completed), "it changed once, and there is nothing to check");
    let options = LoopOptions { is_perpetual: false, check_interval: 100, stagnation_limit: 5, ..options() };
    let ended = once(setup(options), &letters("AAAAAAAAAAAA"));
    // From the fifth round without a change on completion is judged, refused for the same reason: two signals hold.
    assert_eq!(ended.outcome, None);
    assert_eq!(answers(&ended).last(), Some(&"escalate"));
}

#[test]
fn u23_files_that_can_not_be_written_hold_nothing_up() {
    let mut world = world("ABAB".chars().map(|letter| iteration(&[("src", &letter.to_string())], true)).collect());
    world.is_read_only = true;
    everywhere(&looped(setup(options())), &world, &|ended| {
        assert_eq!(ended.open.iter().map(|(_, kind)| *kind).collect::<Vec<_>>(), [QuestionKind::Stuck]);
        let failed = |event: &&Event| matches!(&event.body, Body::Deed(DeedEvent::FilesWritten { error: Some(_), .. }));
        assert!(ended.journal.iter().filter(failed).count() >= 4);
    });
}

#[test]
fn u26_a_goal_that_is_verified_escalates_nothing() {
    let mut turns: Vec<Vec<Said>> =
        "ABA".chars().map(|letter| iteration(&[("src", &letter.to_string())], true)).collect();
    turns.push(iteration(&[("src", "green")], true));
    let ended = once(setup(options()), &world(turns));
    assert_eq!((ended.outcome, asked(&ended, QuestionKind::Stuck)), (Some(Outcome::Completed), 0));
    assert!(!ended.state_files.contains_key("PAUSE"));
}

#[test]
fn switched_off_there_is_no_trace_of_it() {
    let ended = once(
        setup(LoopOptions { stuck: None, iterations_max: 6, ..options() }),
        &world("ABABAB".chars().map(|letter| iteration(&[("src", &letter.to_string())], true)).collect()),
    );
    assert_eq!(answers(&ended), ["go_on"; 6]);
    assert_eq!(ended.state_files.keys().collect::<Vec<_>>(), ["state/convergence.log", "state/evidence-block.json"]);
}

#[test]
fn u30_case_9_a_perpetual_loop_is_told_of_and_goes_on_unless_it_is_to_halt() {
    let turns =
        || "ABABABAB".chars().map(|letter| iteration(&[("src", &letter.to_string())], false)).collect::<Vec<_>>();
    let knobs = StuckOptions { rounds: 1, nochange_min: 1, split_rounds: 1, evaluation_age: 5, cooldown: 0 };
    // With completion never judged, two signals need files that return and stay.
    let mut turns_staying: Vec<Vec<Said>> = turns();
    turns_staying.insert(3, iteration(&[("src", "A")], false));
    for (on_stuck, rounds) in [(OnStuck::Auto, 6), (OnStuck::Halt, 4)] {
        let options = LoopOptions { is_perpetual: true, iterations_max: 6, stuck: Some(knobs), on_stuck, ..options() };
        everywhere(&looped(setup(options)), &world(turns_staying.clone()), &|ended| {
            assert_eq!(answers(ended).len(), rounds, "{on_stuck:?}");
            assert_eq!(ended.state_files.contains_key("PAUSE"), on_stuck == OnStuck::Halt);
            let open: BTreeSet<&str> = ended.open.iter().map(|(_, kind)| kind.as_str()).collect();
            assert!(open.contains("stuck") || open.contains("limit"), "{open:?}");
        });
    }
}

#[test]
fn an_agent_that_can_not_go_on_asks_at_once() {
    let mut world = world(vec![
        vec![
            Said::text(SUMMARY),
            Said::text("```json\n{\"kind\": \"escalation\", \"severity\": \"error\", \"reason\": \"no key\"}\n```"),
        ],
        iteration(&[("src", "green")], true),
    ]);
    world.answers.insert("stuck", vec!["the key is in the safe".to_owned()]);
    everywhere(&looped(setup(options())), &world, &|ended| {
        assert_eq!((ended.outcome, asked(ended, QuestionKind::Stuck)), (Some(Outcome::Completed), 1));
    });
}

#[test]
fn the_operator_can_say_that_it_is_enough_and_that_is_no_evidence() {
    for (word, outcome) in [("done", Outcome::Completed), ("stop", Outcome::Stopped)] {
        let mut world = world("ABAB".chars().map(|letter| iteration(&[("src", &letter.to_string())], true)).collect());
        world.answers.insert("stuck", vec![word.to_owned()]);
        everywhere(&looped(setup(options())), &world, &|ended| {
            assert_eq!((ended.outcome, count(ended, "evidence_receipt")), (Some(outcome), 0), "{word}");
        });
    }
}

#[test]
fn more_iterations_are_asked_for_and_granted() {
    let mut world = world(vec![iteration(&[("src", "blue")], false), iteration(&[("src", "green")], true)]);
    world.answers.insert("limit", vec!["3".to_owned()]);
    everywhere(&looped(setup(LoopOptions { iterations_max: 1, ..options() })), &world, &|ended| {
        assert_eq!((ended.outcome, asked(ended, QuestionKind::Limit)), (Some(Outcome::Completed), 1));
    });
}

#[test]
fn a_stop_ends_it_wherever_it_is() {
    let world = |length| World {
        messages: vec![(length, Message::Stop)],
        ..world("ABABAB".chars().map(|letter| iteration(&[("src", &letter.to_string())], true)).collect())
    };
    for length in 1..120 {
        let ended = once(setup(options()), &world(length));
        assert!(matches!(ended.outcome, Some(Outcome::Stopped) | None), "{length}");
    }
}
