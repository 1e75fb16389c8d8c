//! The crew, proven by the simulator: scripts of replies by role, good, malformed, contradictory, blocking, times
//! kills at every tick.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use adjutant_core::crew::{Crew, CrewSetup};
use adjutant_core::gate::checks::Checks;
use adjutant_core::gate::custom_role::{CustomRole, CustomRoles, Member};
use adjutant_core::procedure::Next;
use adjutant_core::procedure::run::Run;
use adjutant_core::session::Setup;
use adjutant_core::trace::{
    AskEvent, Body, BudgetEvent, CallEvent, CrewEvent, Entry, Event, LearnedEvent, LearnedOptions, PartEvent, TurnEvent,
};
use adjutant_core::words::role::{Role, RoleName};
use adjutant_core::words::tool::ToolEffect;
use adjutant_core::words::{
    Amendment, Budget, Category, CrewState, LimitMetric, LimitSource, Message, MessageKind, Metric, Mode, Outcome,
    Part, PhaseName, QuestionKind,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::simulator::{self, Ended, Plan, Said, Violation, World, call, simulate, tool};

const SUMMARY: &str = "## Confirmation Summary\nObjective: a\nDeliverables: b\nConstraints: c\nTools required: write_file\nUnknowns: none\n";

fn fenced(value: &Value) -> Said {
    Said::text(&format!("Here.\n```json\n{value}\n```\n"))
}

fn plan(ids: &[&str]) -> Said {
    let subtask = |id: &&str| json!({"id": id, "title": format!("T {id}"), "instruction": format!("do {id}"), "acceptance_criteria": ["ok"]});
    fenced(&json!({"kind": "plan", "subtasks": ids.iter().map(subtask).collect::<Vec<_>>(), "rationale": "r"}))
}

fn execution(id: &str) -> Said {
    fenced(&json!({"kind": "execution", "subtask_id": id, "output": format!("out {id}"), "notes": "n"}))
}

fn review(id: &str, verdict: &str) -> Said {
    fenced(&json!({"kind": "review", "subtask_id": id, "verdict": verdict, "rationale": format!("because {verdict}")}))
}

fn escalation() -> Said {
    fenced(&json!({"kind": "escalation", "severity": "error", "reason": "no compiler"}))
}

fn write(id: &str) -> Said {
    Said::calls("writes", vec![call(id, "write_file", json!({"path": format!("{id}.txt"), "content": "x"}))])
}

fn setup(roles: &[Role]) -> CrewSetup {
    CrewSetup {
        base: Setup {
            authorized: vec![Category::new("filesystem_write")],
            tools: [
                tool("read_file", "filesystem_read", ToolEffect::Reads),
                tool("write_file", "filesystem_write", ToolEffect::WritesFiles),
            ]
            .into(),
            ..simulator::setup()
        },
        roles: roles.iter().map(|role| Member::from(*role)).collect(),
        custom_roles: CustomRoles::new(),
        role_grants: BTreeMap::new(),
        agents: BTreeMap::new(),
        role_budgets: BTreeMap::new(),
        checks: Checks::default(),
        retries_max: 1,
        is_blind: false,
        plans_only: false,
        learned: None,
        limits_calls: false,
    }
}

fn make(setup: &Arc<CrewSetup>) -> Run<Crew> {
    let part = Part::root().child("crew");
    Run::new(Crew::new(setup.clone(), part.clone()), part)
}

fn world(scripts: &[(&str, &[Said])], answers: &[(&'static str, &[&str])]) -> World {
    let intake = ("crew/intake".to_owned(), vec![Said::text(SUMMARY)]);
    let scripts = scripts.iter().map(|(part, said)| (format!("crew/{part}"), said.to_vec()));
    let answers = [("confirmation", &["go"][..])].into_iter().chain(answers.iter().copied());
    World {
        scripts: std::iter::once(intake).chain(scripts).collect(),
        answers: answers.map(|(kind, typed)| (kind, typed.iter().map(|text| (*text).to_owned()).collect())).collect(),
        reads: BTreeSet::from(["read_file"]),
        writes: BTreeSet::from(["write_file"]),
        ..World::default()
    }
}

#[track_caller]
fn run(setup: &CrewSetup, world: &World) -> Ended {
    let setup = Arc::new(setup.clone());
    simulate(&|| make(&setup), world, &Plan::default()).expect("no rule is broken")
}

/// Returns the states that the crew went through.
fn states(ended: &Ended) -> Vec<CrewState> {
    let state = |body: &Body| {
        if let Body::Crew(CrewEvent::CoordinatorState { state, .. }) = body { Some(*state) } else { None }
    };
    ended.journal.iter().filter_map(|event| state(&event.body)).collect()
}

/// Returns the messages to the agent of a part, of one kind.
fn told(ended: &Ended, part: &str, kind: MessageKind) -> Vec<String> {
    let text = |body: &Body| match body {
        Body::Turn(TurnEvent::Message { kind: other, text, .. }) if *other == kind => Some(text.clone()),
        _ => None,
    };
    let here = ended.journal.iter().filter(|event| event.part.as_str() == format!("crew/{part}"));
    here.filter_map(|event| text(&event.body)).collect()
}

const TEAM: [Role; 3] = [Role::Planner, Role::Executor, Role::Reviewer];
const ALL: [Role; 4] = [Role::Planner, Role::Executor, Role::Reviewer, Role::Critic];

fn good() -> World {
    world(
        &[
            ("plan/1/planner", &[plan(&["a", "b"])]),
            ("subtask/1.1/executor", &[Said::text(SUMMARY), write("a"), execution("a")]),
            ("subtask/1.1/reviewer", &[review("a", "pass")]),
            ("subtask/2.1/executor", &[Said::text(SUMMARY), write("b"), execution("b")]),
            ("subtask/2.1/reviewer", &[review("b", "pass")]),
        ],
        &[],
    )
}

#[test]
fn every_subtask_is_planned_done_and_judged_in_order() {
    let ended = run(&setup(&TEAM), &good());
    use CrewState::{Complete, Dispatch, Execute, NextSubtask, ReviewStep};
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert_eq!(
        states(&ended),
        [
            CrewState::Plan,
            Dispatch,
            Execute,
            ReviewStep,
            NextSubtask,
            Dispatch,
            Execute,
            ReviewStep,
            NextSubtask,
            Complete
        ]
    );
    assert_eq!(ended.files.keys().collect::<Vec<_>>(), ["a.txt", "b.txt"]);
    // The operator was asked once: their word on the run covers what the sub-tasks need.
    let asked = ended.journal.iter().filter(|event| matches!(event.body, Body::Ask(AskEvent::Question { .. }))).count();
    assert_eq!(asked, 1);
    let covered = ended.journal.iter().filter(|event| {
        matches!(&event.body, Body::Part(PartEvent::PhaseExit { reason: Some(reason), .. }) if reason == "covered by the confirmation of the run")
    });
    assert_eq!(covered.count(), 2);
}

#[test]
fn a_summary_that_asks_for_more_than_the_brief_is_a_question() {
    for (more, is_asked) in [
        ("Tools required: read_file\nUnknowns: which port?", true),
        ("Tools required: deploy_it, write_file\nUnknowns: none", false),
        ("Tools required: write_file\nUnknowns: None.", false),
        ("Tools required: write_file, then `git push`\nUnknowns: None.", true),
        ("Tools required: write_file\nUnknowns: None.\n\n```sh\nrm -r build\n```", true),
        ("Tools required: write_file for `a.txt`\nUnknowns: None.", false),
    ] {
        let summary = format!("## Confirmation Summary\nObjective: a\nDeliverables: b\nConstraints: c\n{more}\n");
        let mut world = good();
        world.scripts.get_mut("crew/subtask/1.1/executor").expect("a script")[0] = Said::text(&summary);
        let ended = run(&setup(&TEAM), &world);
        let open: Vec<QuestionKind> = ended.open.iter().map(|(_, kind)| *kind).collect();
        assert_eq!(open, if is_asked { vec![QuestionKind::Confirmation] } else { Vec::new() }, "{more}");
    }
    // A command that is authorized asks for nothing.
    for (authorized, is_asked) in
        [(&["filesystem_write", "shell_exec", "git_push"][..], false), (&["filesystem_write", "shell_exec"], true)]
    {
        let mut world = good();
        let summary = SUMMARY.replace("write_file", "write_file and `git push`");
        world.scripts.get_mut("crew/subtask/1.1/executor").expect("a script")[0] = Said::text(&summary);
        let mut setup = setup(&TEAM);
        setup.base.authorized = authorized.iter().copied().map(Category::new).collect();
        assert_eq!(!run(&setup, &world).open.is_empty(), is_asked, "{authorized:?}");
    }
    // A tool that nothing authorizes.
    let mut unauthorized = setup(&TEAM);
    unauthorized.base.authorized.clear();
    let ended = run(&unauthorized, &good());
    assert_eq!(ended.open.iter().map(|(_, kind)| *kind).collect::<Vec<_>>(), [QuestionKind::Confirmation]);
}

#[test]
fn a_judge_who_wants_another_attempt_gets_it_and_then_a_person_is_asked() {
    let scripts: &[(&str, &[Said])] = &[
        ("plan/1/planner", &[plan(&["a"])]),
        ("subtask/1.1/executor", &[execution("a")]),
        ("subtask/1.1/reviewer", &[review("a", "needs_retry")]),
        ("subtask/1.2/executor", &[execution("a")]),
        ("subtask/1.2/reviewer", &[review("a", "needs_retry")]),
        ("subtask/1.3/executor", &[execution("a")]),
        ("subtask/1.3/reviewer", &[review("a", "pass")]),
    ];
    let ended = run(&setup(&TEAM), &world(scripts, &[]));
    assert_eq!((ended.outcome, ended.open[0].1), (None, QuestionKind::Escalation));
    assert!(told(&ended, "subtask/1.2/executor", MessageKind::Intake)[0].contains("because needs_retry"));

    let ended = run(&setup(&TEAM), &world(scripts, &[("escalation", &["use the other port"])]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert!(told(&ended, "subtask/1.3/executor", MessageKind::Intake)[0].contains("use the other port"));
    for (typed, outcome) in [("pass", Outcome::Completed), ("stop", Outcome::Stopped)] {
        assert_eq!(run(&setup(&TEAM), &world(scripts, &[("escalation", &[typed])])).outcome, Some(outcome), "{typed}");
    }
}

#[test]
fn judges_that_disagree_are_shown_side_by_side() {
    let scripts: &[(&str, &[Said])] = &[
        ("plan/1/planner", &[plan(&["a"])]),
        ("subtask/1.1/executor", &[execution("a")]),
        ("subtask/1.1/reviewer", &[review("a", "needs_retry")]),
        ("subtask/1.1/critic", &[review("a", "pass")]),
    ];
    let asks_at_once = CrewSetup { retries_max: 0, ..setup(&ALL) };
    let ended = run(&asks_at_once, &world(scripts, &[]));
    assert_eq!(ended.open[0].1, QuestionKind::Disagreement);
    let question = ended.journal.iter().rev().find_map(|event| match &event.body {
        Body::Ask(AskEvent::Question { question, .. }) => Some(question.text.clone()),
        _ => None,
    });
    let question = question.expect("it was asked");
    assert!(question.contains("reviewer: needs_retry: because needs_retry"), "{question}");
    assert!(question.contains("critic: pass: because pass"), "{question}");
    let ended = run(&asks_at_once, &world(scripts, &[("disagreement", &["pass"])]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
}

#[test]
fn of_judges_that_disagree_the_stricter_is_followed_once_where_nobody_is_asked_between_steps() {
    let attempt = |number: u32, verdict: &str| -> Vec<(String, Vec<Said>)> {
        let part = |role: &str| format!("subtask/1.{number}/{role}");
        vec![
            (part("executor"), vec![execution("a")]),
            (part("reviewer"), vec![review("a", "pass")]),
            (part("critic"), vec![review("a", verdict)]),
        ]
    };
    use QuestionKind::{Confirmation, Disagreement, Escalation};
    for (verdicts, retries_max, mode, attempts, open) in [
        // Once, whichever is the stricter verdict.
        (["needs_retry", "pass", "pass"], 3, Mode::Auto, 2, None),
        (["fail", "pass", "pass"], 3, Mode::Auto, 2, None),
        // And no second time, with attempts left or without.
        (["needs_retry", "needs_retry", "pass"], 3, Mode::Auto, 2, Some(Disagreement)),
        (["fail", "needs_retry", "pass"], 1, Mode::Auto, 2, Some(Disagreement)),
        (["needs_retry", "pass", "pass"], 0, Mode::Auto, 1, Some(Disagreement)),
        // Where a person is asked between steps they are asked here.
        (["needs_retry", "pass", "pass"], 3, Mode::Gated, 1, Some(Disagreement)),
    ] {
        let mut scripts = vec![("plan/1/planner".to_owned(), vec![plan(&["a"])])];
        scripts.extend((1..).zip(verdicts).flat_map(|(number, verdict)| attempt(number, verdict)));
        let borrowed: Vec<(&str, &[Said])> =
            scripts.iter().map(|(part, said)| (part.as_str(), said.as_slice())).collect();
        let mut setup = CrewSetup { retries_max, ..setup(&ALL) };
        setup.base.mode = Some(mode);
        let mut world = world(&borrowed, &[]);
        world.answers.insert("confirmation", vec!["go".to_owned(); 4]);
        world.answers.insert("step", vec!["continue".to_owned(); 4]);
        let ended = run(&setup, &world);
        let case = format!("{verdicts:?} {retries_max} {mode}");
        assert_eq!(ended.open.first().map(|(_, kind)| *kind), open, "{case}");
        assert!(!matches!(open, Some(Confirmation | Escalation)), "{case}");
        let made = states(&ended).into_iter().filter(|state| *state == CrewState::Execute).count();
        assert_eq!(made, attempts, "{case}");
        if attempts == 2 {
            let why = told(&ended, "subtask/1.2/executor", MessageKind::Intake).concat();
            assert!(why.contains("because pass") && why.contains(&format!("because {}", verdicts[0])), "{case}: {why}");
        }
    }
}

#[test]
fn a_judge_sees_its_own_last_verdict_on_another_attempt() {
    let scripts: &[(&str, &[Said])] = &[
        ("plan/1/planner", &[plan(&["a"])]),
        ("subtask/1.1/executor", &[Said::text(SUMMARY), write("a"), execution("a")]),
        ("subtask/1.1/reviewer", &[review("a", "needs_retry")]),
        ("subtask/1.1/critic", &[review("a", "pass")]),
        ("subtask/1.2/executor", &[Said::text(SUMMARY), write("b"), execution("a")]),
        ("subtask/1.2/reviewer", &[review("a", "pass")]),
        ("subtask/1.2/critic", &[review("a", "pass")]),
    ];
    let ended = run(&setup(&ALL), &world(scripts, &[]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    let asked = |part: &str| told(&ended, part, MessageKind::KickOff).concat();
    assert!(!asked("subtask/1.1/reviewer").contains("your own last verdict"));
    let (reviewer, critic) = (asked("subtask/1.2/reviewer"), asked("subtask/1.2/critic"));
    assert!(reviewer.contains("This is attempt 2."), "{reviewer}");
    assert!(reviewer.contains("needs_retry: because needs_retry") && !reviewer.contains("because pass"), "{reviewer}");
    assert!(critic.contains("pass: because pass") && !critic.contains("because needs_retry"), "{critic}");
    // The diff is of this attempt; of the one before the files are named.
    assert!(reviewer.contains("+++ b/b.txt") && !reviewer.contains("+++ b/a.txt"), "{reviewer}");
    assert!(reviewer.contains("earlier attempts named as changed") && reviewer.contains("\na.txt\n"), "{reviewer}");
}

/// Returns a crew whose brief declares a check, and whose agents may run commands.
fn checked(authorized: &[&str]) -> CrewSetup {
    let mut setup = setup(&TEAM);
    setup.checks = Checks::new(vec!["cargo test".to_owned()]);
    setup.base.authorized = authorized.iter().copied().map(Category::new).collect();
    let mut tools = setup.base.tools.to_vec();
    tools.push(tool("shell_exec", "shell_exec", ToolEffect::Anything));
    setup.base.tools = tools.into();
    setup
}

fn runs(id: &str, cmd: &str) -> Said {
    Said::calls("runs", vec![call(id, "shell_exec", json!({"cmd": cmd}))])
}

#[test]
fn judges_get_the_diff_of_the_attempt_and_what_its_last_checks_returned() {
    let mut world = good();
    world.results.insert("shell_exec", "2 tests failed".to_owned());
    let executor =
        vec![Said::text(SUMMARY), runs("t", "cargo test"), write("a"), runs("o", "cargo fmt"), execution("a")];
    world.scripts.insert("crew/subtask/1.1/executor".to_owned(), executor);
    let setup = checked(&["filesystem_write", "shell_exec"]);
    let ended = run(&setup, &world);
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    let asked = told(&ended, "subtask/1.1/reviewer", MessageKind::KickOff).concat();
    assert!(asked.contains("````data\n--- /dev/null\n+++ b/a.txt\n+x\n````"), "{asked}");
    assert!(asked.contains("of the command cargo test.") && asked.contains("2 tests failed"), "{asked}");
    assert!(asked.contains("Files were changed after it."), "{asked}");
    assert!(!asked.contains("cargo fmt"), "a command that is no check is none of them: {asked}");
    assert!(asked.contains("no other command:\n\n- `cargo test`"), "{asked}");
    let second = told(&ended, "subtask/2.1/reviewer", MessageKind::KickOff).concat();
    assert!(second.contains("Checks of the brief that this attempt did not run: `cargo test`."), "{second}");

    // Without declared checks it is the last commands.
    let undeclared = CrewSetup { checks: Checks::default(), ..setup };
    let asked = told(&run(&undeclared, &world), "subtask/1.1/reviewer", MessageKind::KickOff).concat();
    assert!(asked.contains("of the command cargo test.") && asked.contains("of the command cargo fmt."), "{asked}");
    assert!(!asked.contains("you may run these checks"), "{asked}");
}

#[test]
fn a_judge_runs_the_declared_checks_and_no_other_command() {
    let with = |said: Vec<Said>| {
        let mut world = good();
        world.scripts.insert("crew/subtask/1.1/reviewer".to_owned(), said);
        world
    };
    let made = |ended: &Ended| -> Vec<String> {
        let cmd = |body: &Body| match body {
            Body::Call(CallEvent::ToolCall { name, args, .. }) if name == "shell_exec" => {
                args["cmd"].as_str().map(str::to_owned)
            }
            _ => None,
        };
        ended.journal.iter().filter_map(|event| cmd(&event.body)).collect()
    };
    let refused = |ended: &Ended| -> Vec<String> {
        let content = |body: &Body| match body {
            Body::Call(CallEvent::ToolRejected { content, .. }) => Some(content.clone()),
            _ => None,
        };
        ended.journal.iter().filter_map(|event| content(&event.body)).collect()
    };
    let verdict = review("a", "pass");
    let world = with(vec![runs("1", "cargo test"), runs("2", "cargo test; rm -r src"), verdict.clone()]);
    let both = ["filesystem_write", "shell_exec"];
    let ended = run(&checked(&both), &world);
    assert_eq!((ended.outcome, made(&ended)), (Some(Outcome::Completed), vec!["cargo test".to_owned()]));
    let [told_why] = refused(&ended).try_into().expect("one refusal");
    assert!(told_why.contains("- `cargo test`") && told_why.contains("none of them"), "{told_why}");
    assert!(checked(&both).offered().contains("shell_exec"));

    // It is no right of its own: what the brief does not authorize is a question, as for an executor.
    let ended = run(&checked(&["filesystem_write"]), &world);
    assert_eq!((ended.open[0].1, made(&ended)), (QuestionKind::Destructive, Vec::new()));

    // A judge that is granted less, a crew without checks, and one without commands are offered none.
    let reviewer = |held: &[&str]| {
        BTreeMap::from([(RoleName::from(Role::Reviewer), held.iter().copied().map(Category::new).collect())])
    };
    let mut without_shell = checked(&both);
    without_shell.base.shell_disabled = true;
    for (setup, runs_it) in [
        (CrewSetup { role_grants: reviewer(&[]), ..checked(&both) }, false),
        (CrewSetup { role_grants: reviewer(&["shell_exec"]), ..checked(&both) }, true),
        (CrewSetup { checks: Checks::default(), ..checked(&both) }, false),
        (without_shell, false),
    ] {
        let ended = run(&setup, &world);
        assert_eq!((ended.outcome, made(&ended).len()), (Some(Outcome::Completed), usize::from(runs_it)));
        let asked = told(&ended, "subtask/1.1/reviewer", MessageKind::KickOff).concat();
        assert_eq!(asked.contains("you may run these checks"), runs_it, "{asked}");
    }
    // What the operator takes back from the brief is gone for checks too.
    let withdrawn = Amendment { withdraw: vec![Category::new("shell_exec")], ..Amendment::default() };
    let mut world = world;
    world.messages = vec![(1, Message::Amend(Box::new(withdrawn)))];
    let ended = run(&checked(&both), &world);
    assert_eq!((ended.open[0].1, made(&ended)), (QuestionKind::Destructive, Vec::new()));
}

/// Returns a world in which a message comes with the first event of `whole` that is such a one.
fn with_message(world: &World, whole: &Ended, message: Message, is_it: impl Fn(&Event) -> bool) -> World {
    let at = whole.journal.iter().position(is_it).expect("it is there") + 1;
    World { messages: vec![(at, message)], ..world.clone() }
}

#[test]
fn what_is_withdrawn_is_gone_for_a_role_at_work_that_holds_only_a_part_of_it() {
    let granted = BTreeMap::from([(RoleName::from(Role::Executor), vec![Category::new("filesystem_write")])]);
    let mut setup = CrewSetup { role_grants: granted, ..setup(&TEAM) };
    setup.base.authorized = vec![Category::new("*")];
    let whole = run(&setup, &good());
    assert_eq!((whole.outcome, whole.files.len()), (Some(Outcome::Completed), 2));
    let withdrawn = Amendment { withdraw: vec![Category::new("*")], ..Amendment::default() };
    let at_work =
        |event: &Event| matches!(event.body, Body::Turn(TurnEvent::Message { kind: MessageKind::KickOff, .. }));
    let is_executor = |event: &Event| event.part.as_str().ends_with("1.1/executor") && at_work(event);
    let world = with_message(&good(), &whole, Message::Amend(Box::new(withdrawn)), is_executor);
    let ended = run(&setup, &world);
    assert_eq!((ended.open[0].1, ended.files.len()), (QuestionKind::Destructive, 0));
}

#[test]
fn what_is_said_while_no_session_is_at_work_reaches_the_next_and_only_that() {
    let mut setup = setup(&TEAM);
    setup.base.mode = None;
    let mut world = good();
    world.answers.insert("confirmation", vec!["go".to_owned(); 4]);
    let whole = run(&setup, &world);
    let of_crew =
        |event: &Event| matches!(event.body, Body::Ask(AskEvent::Question { .. })) && event.part.as_str() == "crew";
    let wider = Amendment { authorize: vec![Category::new("git_push")], ..Amendment::default() };
    for (message, text) in
        [(Message::Steer("mind the gap".to_owned()), "mind the gap"), (Message::Amend(Box::new(wider)), "git_push")]
    {
        let ended = run(&setup, &with_message(&world, &whole, message, of_crew));
        assert_eq!(ended.outcome, Some(Outcome::Completed));
        let first = told(&ended, "subtask/1.1/executor", MessageKind::Steer);
        assert!(first.len() == 1 && first[0].contains(text), "{first:?}");
        // An amendment holds for all sessions that follow, and no brief of theirs says so.
        let second = told(&ended, "subtask/2.1/executor", MessageKind::Steer);
        assert_eq!(second.len(), usize::from(text == "git_push"), "{second:?}");
    }
}

/// Whatever line an operator does without: what is on record under a name is never asked for again under it.
#[test]
fn a_crew_goes_on_without_any_line_of_its_journal() {
    let setup = Arc::new(setup(&TEAM));
    let mut world = good();
    for number in 1..=2 {
        let again = world.scripts[&format!("crew/subtask/{number}.1/executor")].clone();
        world.scripts.insert(format!("crew/subtask/{number}.2/executor"), again);
        let judged = world.scripts[&format!("crew/subtask/{number}.1/reviewer")].clone();
        world.scripts.insert(format!("crew/subtask/{number}.2/reviewer"), judged);
    }
    let whole = simulate(&|| make(&setup), &world, &Plan::default()).expect("no rule is broken");
    for place in 0..whole.journal.len() {
        for kill in [whole.ticks / 3, whole.ticks / 2, whole.ticks - 8] {
            let plan = Plan { kills: BTreeSet::from([kill]), loses: Some(place), ..Plan::default() };
            let ended = simulate(&|| make(&setup), &world, &plan);
            let lost = &whole.journal[place].body;
            let is_made_again = |error: &Violation| {
                // A call whose intent can't be read counts as never having begun, whatever came of it.
                matches!(error, Violation::EffectTwice(key) if lost.intent() == Some(&key.slot))
            };
            let broken = ended.err().filter(|error| !is_made_again(error));
            assert!(broken.is_none(), "without {lost:?}, killed at {kill}: {broken:?}");
        }
    }
}

#[test]
fn what_a_session_leaves_untold_is_for_the_next() {
    let setup = setup(&TEAM);
    let whole = run(&setup, &good());
    let intake = |event: &Event| {
        event.part.as_str() == "crew/intake" && matches!(event.body, Body::Turn(TurnEvent::AgentReply { .. }))
    };
    let world = with_message(&good(), &whole, Message::Steer("mind the gap".to_owned()), intake);
    let ended = run(&setup, &world);
    assert_eq!(told(&ended, "intake", MessageKind::Steer), Vec::<String>::new());
    let planner = told(&ended, "plan/1/planner", MessageKind::Steer);
    assert!(planner.len() == 1 && planner[0].contains("mind the gap"), "{planner:?}");
    assert_eq!(told(&ended, "subtask/1.1/executor", MessageKind::Steer), Vec::<String>::new());
}

#[test]
fn what_is_approved_for_the_run_holds_after_a_judge_who_may_not_hold_it() {
    let mut world = good();
    for (number, id) in [(1, "a"), (2, "b")] {
        let said = vec![Said::text(SUMMARY), runs("r", "cargo build"), execution(id)];
        world.scripts.insert(format!("crew/subtask/{number}.1/executor"), said);
    }
    world.answers.insert("destructive", vec!["category".to_owned()]);
    let ended = run(&checked(&["filesystem_write"]), &world);
    assert_eq!(ended.outcome, Some(Outcome::Completed), "{:?}", ended.open);
    let asked = ended.journal.iter().filter(
        |event| matches!(&event.body, Body::Ask(AskEvent::Question { question, .. }) if question.kind == QuestionKind::Destructive),
    );
    assert_eq!(asked.count(), 1);
}

#[test]
fn c21_a_malformed_handoff_is_told_once_with_the_exact_errors() {
    let bad = fenced(
        &json!({"kind": "plan", "subtasks": [{"id": "a", "title": "", "instruction": "i", "acceptance_criteria": ["x"]}]}),
    );
    let wrong_id = review("b", "pass");
    let scripts: &[(&str, &[Said])] = &[
        ("plan/1/planner", &[bad.clone(), plan(&["a"])]),
        ("subtask/1.1/executor", &[execution("b"), Said::text(SUMMARY), execution("b"), execution("a")]),
        ("subtask/1.1/reviewer", &[wrong_id, review("a", "pass")]),
    ];
    let ended = run(&setup(&TEAM), &world(scripts, &[]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert!(told(&ended, "plan/1/planner", MessageKind::Handoff)[0].contains("$.subtasks[0].title: must not be blank"));
    // C23: a handoff about another sub-task is none.
    assert!(
        told(&ended, "subtask/1.1/executor", MessageKind::Handoff)[0].contains("$.subtask_id: must be `a`, not `b`")
    );
    assert!(told(&ended, "subtask/1.1/reviewer", MessageKind::Handoff)[0].contains("$.subtask_id: must be `a`"));

    let ended = run(&setup(&TEAM), &world(&[("plan/1/planner", &[bad.clone(), bad])], &[]));
    assert_eq!((ended.outcome, ended.open[0].1), (None, QuestionKind::Escalation));
    let ended = run(
        &setup(&TEAM),
        &world(
            &[
                ("plan/1/planner", &[Said::text("?"), Said::text("?")]),
                ("plan/2/planner", &[plan(&["a"])]),
                ("subtask/1.1/executor", &[execution("a")]),
                ("subtask/1.1/reviewer", &[review("a", "pass")]),
            ],
            &[("escalation", &["fewer sub-tasks"])],
        ),
    );
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert!(told(&ended, "plan/2/planner", MessageKind::KickOff)[0].contains("fewer sub-tasks"));
}

#[test]
fn c23_roles_get_what_their_limit_allows_and_only_those_listed_judge() {
    let ended = run(&setup(&[Role::Planner, Role::Executor]), &good());
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert!(!ended.journal.iter().any(|event| event.part.as_str().ends_with("reviewer")));

    let mut world = good();
    let reads = Said::calls("looks", vec![call("r", "read_file", json!({"path": "a.txt"}))]);
    let writes = Said::calls("mends", vec![call("w", "write_file", json!({"path": "c.txt", "content": "x"}))]);
    world.scripts.insert("crew/subtask/1.1/reviewer".to_owned(), vec![reads, writes, review("a", "pass")]);
    let ended = run(&setup(&TEAM), &world);
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert!(!ended.files.contains_key("c.txt"), "a reviewer changes nothing");
    let rejected = ended.journal.iter().any(|event| {
        event.part.as_str() == "crew/subtask/1.1/reviewer"
            && matches!(event.body, Body::Call(CallEvent::ToolRejected { .. }))
    });
    assert!(rejected);
}

#[test]
fn a_planner_looks_and_changes_nothing() {
    let mut world = good();
    let reads = Said::calls("looks", vec![call("r", "read_file", json!({"path": "README.md"}))]);
    let writes = Said::calls("begins", vec![call("w", "write_file", json!({"path": "c.txt", "content": "x"}))]);
    world.scripts.insert("crew/plan/1/planner".to_owned(), vec![reads, writes, plan(&["a", "b"])]);
    let ended = run(&setup(&TEAM), &world);
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert!(!ended.files.contains_key("c.txt"));
    let of_planner = |is: fn(&Body) -> bool| {
        ended.journal.iter().filter(|event| event.part.as_str() == "crew/plan/1/planner" && is(&event.body)).count()
    };
    assert_eq!(of_planner(|body| matches!(body, Body::Call(CallEvent::ToolResult { success: true, .. }))), 1);
    assert_eq!(of_planner(|body| matches!(body, Body::Call(CallEvent::ToolRejected { .. }))), 1);
    assert_eq!(
        of_planner(|body| matches!(body, Body::Call(CallEvent::ToolCall { name, .. }) if name != "read_file")),
        0
    );
}

#[test]
fn a_blind_critic_does_not_see_the_executors_account_and_the_journal_shows_it() {
    for is_blind in [false, true] {
        let mut world = good();
        world.scripts.insert("crew/subtask/1.1/critic".to_owned(), vec![review("a", "pass")]);
        world.scripts.insert("crew/subtask/2.1/critic".to_owned(), vec![review("b", "pass")]);
        let ended = run(&CrewSetup { is_blind, ..setup(&ALL) }, &world);
        assert_eq!(ended.outcome, Some(Outcome::Completed));
        let asked = told(&ended, "subtask/1.1/critic", MessageKind::KickOff).concat();
        assert_eq!(asked.contains("out a"), !is_blind, "{asked}");
        assert_eq!(asked.contains("account of its work is withheld"), is_blind);
        assert!(asked.contains("a.txt"), "what was changed is there");
        assert!(told(&ended, "subtask/1.1/reviewer", MessageKind::KickOff).concat().contains("out a"));
    }
}

#[test]
fn c22_each_role_sees_the_projects_memory_once_and_an_executor_no_decisions() {
    let record = |json: Value| serde_json::from_value(json).expect("a record");
    let records = vec![
        record(
            json!({"id": "d1", "at": "2026-01-02T00:00:00Z", "category": "decisions", "summary": "port 80", "rationale": "r"}),
        ),
        record(json!({"id": "k1", "at": "2026-01-02T00:00:00Z", "category": "knowledge", "content": "it is slow"})),
    ];
    let inherited = Body::Learned(LearnedEvent::MemoryInherited {
        project: "p".to_owned(),
        records,
        left_out: 0,
        contradictions: Vec::new(),
    });
    let setup = Arc::new(setup(&TEAM));
    let mut crew = make(&setup);
    let world = good();
    // The journal of a run that begins with what it inherits.
    let whole = simulate(&|| make(&setup), &world, &Plan::default()).expect("no rule is broken");
    let first = whole.journal[0].clone();
    crew.apply(&Event { part: Part::root(), body: inherited, ..first });
    let mut told: BTreeMap<String, String> = BTreeMap::new();
    for event in &whole.journal {
        if let Next::Record(Entry {
            part,
            body: Body::Turn(TurnEvent::Message { kind: MessageKind::StandingOrders, text, .. }),
        }) = crew.next()
        {
            told.insert(part.to_string(), text);
        }
        crew.apply(event);
    }
    let count = |part: &str, text: &str| told[&format!("crew/{part}")].matches(text).count();
    for part in ["plan/1/planner", "subtask/1.1/reviewer", "intake"] {
        assert_eq!((count(part, "port 80"), count(part, "it is slow")), (1, 1), "{part}");
    }
    assert_eq!((count("subtask/1.1/executor", "port 80"), count("subtask/1.1/executor", "it is slow")), (0, 1));
}

#[test]
fn who_escalates_or_is_blocked_holds_the_crew_up_until_a_person_answers() {
    let scripts: &[(&str, &[Said])] = &[
        ("plan/1/planner", &[plan(&["a"])]),
        ("subtask/1.1/executor", &[Said::text(SUMMARY), escalation()]),
        (
            "subtask/1.2/executor",
            &[Said::text(SUMMARY), Said::text("## Phase 2\nBlocked: which port?"), execution("a")],
        ),
        ("subtask/1.2/reviewer", &[review("a", "pass")]),
    ];
    let ended = run(&setup(&TEAM), &world(scripts, &[]));
    assert_eq!(ended.open[0].1, QuestionKind::Escalation);
    let ended = run(&setup(&TEAM), &world(scripts, &[("escalation", &["retry"])]));
    assert_eq!(ended.open[0].1, QuestionKind::Blocker);
    let ended = run(&setup(&TEAM), &world(scripts, &[("escalation", &["retry"]), ("blocker", &["8080"])]));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
}

#[test]
fn between_steps_the_plan_is_the_operators_to_confirm() {
    let mut gated = setup(&TEAM);
    gated.base.mode = Some(Mode::Gated);
    let mut world = good();
    world.scripts.insert("crew/plan/2/planner".to_owned(), vec![plan(&["a", "b"])]);
    world.answers.insert("confirmation", ["go", "fewer", "auto"].map(str::to_owned).to_vec());
    let ended = run(&gated, &world);
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    assert!(told(&ended, "plan/2/planner", MessageKind::KickOff)[0].contains("fewer"));
    world.answers.insert("confirmation", ["go", "no"].map(str::to_owned).to_vec());
    assert_eq!(run(&gated, &world).outcome, Some(Outcome::Declined));
}

#[test]
fn a_crew_that_only_plans_asks_nothing_and_does_nothing() {
    let ended = run(&CrewSetup { plans_only: true, ..setup(&TEAM) }, &good());
    assert_eq!((ended.outcome, ended.files.len()), (Some(Outcome::Completed), 0));
    let turns: Vec<&str> = ended
        .journal
        .iter()
        .filter(|event| {
            matches!(event.body, Body::Turn(TurnEvent::AgentReply { .. }) | Body::Ask(AskEvent::Question { .. }))
        })
        .map(|event| event.part.as_str())
        .collect();
    assert_eq!(turns, ["crew/plan/1/planner"]);
}

#[test]
fn silence_is_an_answer_only_where_it_says_something() {
    let mut hurried = setup(&TEAM);
    hurried.base.answer_within_ms = Some(60_000);
    let deadlines = |ended: &Ended| -> Vec<(QuestionKind, Option<u64>)> {
        let question = |body: &Body| match body {
            Body::Ask(AskEvent::Question { question, .. }) => Some((question.kind, question.deadline_ms)),
            _ => None,
        };
        ended.journal.iter().filter_map(|event| question(&event.body)).collect()
    };
    let scripts: &[(&str, &[Said])] = &[
        ("plan/1/planner", &[plan(&["a"])]),
        ("subtask/1.1/executor", &[Said::text(SUMMARY), Said::text("## Phase 2\nBlocked: which port?"), escalation()]),
    ];
    let ended = run(&hurried, &world(scripts, &[("blocker", &["8080"])]));
    assert_eq!(
        deadlines(&ended),
        [
            (QuestionKind::Confirmation, Some(60_000)),
            (QuestionKind::Blocker, None),
            (QuestionKind::Escalation, Some(60_000)),
        ]
    );
}

#[test]
fn calls_are_limited_for_each_subtask_over_its_attempts() {
    let mut limited = setup(&TEAM);
    limited.base.budget.max_tool_calls = Some(1);
    let mut world = good();
    world.scripts.insert(
        "crew/subtask/1.1/executor".to_owned(),
        vec![Said::text(SUMMARY), write("a"), write("c"), execution("a")],
    );
    let ended = run(&limited, &world);
    assert_eq!((ended.open[0].1, ended.files.len()), (QuestionKind::Limit, 1));
    world.answers.insert("limit", vec!["1".to_owned()]);
    let ended = run(&limited, &world);
    assert_eq!((ended.outcome, ended.files.len()), (Some(Outcome::Completed), 3));
}

#[test]
fn a_role_has_a_limit_of_its_own_over_all_its_sessions() {
    let mut limited = setup(&TEAM);
    let budget = adjutant_core::words::Budget { max_turns: Some(1), ..Default::default() };
    limited.role_budgets.insert(Role::Reviewer.into(), budget);
    let mut world = good();
    let ended = run(&limited, &world);
    assert_eq!((ended.open[0].0.part.as_str(), ended.open[0].1), ("crew/subtask/2.1/reviewer", QuestionKind::Limit));
    let halt = ended.journal.iter().find_map(|event| match &event.body {
        Body::Budget(BudgetEvent::BudgetHalt { role, used, limit, .. }) => Some((role.clone(), *used, *limit)),
        _ => None,
    });
    assert_eq!(halt, Some((Some("reviewer".to_owned()), 1, 1)));
    world.answers.insert("limit", vec!["1".to_owned()]);
    assert_eq!(run(&limited, &world).outcome, Some(Outcome::Completed));
}

/// Returns a crew of a run with a learned profile that has limits for two roles.
fn learned(mut setup: CrewSetup) -> CrewSetup {
    let budget = |calls, tokens| Budget { max_tool_calls: Some(calls), max_tokens: tokens, ..Budget::default() };
    let roles = [(Role::Executor.into(), budget(1, None)), (Role::Reviewer.into(), budget(5, Some(10)))];
    setup.base.budget.max_tool_calls = Some(15);
    setup.learned =
        Some(LearnedOptions { slug: "orchard".to_owned(), roles: roles.into(), ..LearnedOptions::default() });
    setup
}

/// Returns the recorded budget of phase 1 of a part.
fn consulted(ended: &Ended, part: &str) -> Option<(u64, u64, LimitSource)> {
    let here = ended.journal.iter().filter(|event| event.part.as_str() == format!("crew/{part}"));
    let mut said = here.filter_map(|event| match &event.body {
        Body::Learned(LearnedEvent::LearnedBudgetConsulted {
            phase: PhaseName::Execute,
            recommended,
            active,
            source,
        }) => Some((*recommended, *active, *source)),
        _ => None,
    });
    said.next()
}

#[test]
fn a_session_of_a_role_has_the_limits_of_a_learned_profile() {
    let mut world = good();
    let executor = "crew/subtask/1.1/executor";
    world.scripts.insert(executor.to_owned(), vec![Said::text(SUMMARY), write("a"), write("c"), execution("a")]);
    let waiting = run(&learned(setup(&TEAM)), &world);
    assert_eq!((waiting.open[0].0.part.as_str(), waiting.open[0].1), (executor, QuestionKind::Limit));
    let halt = waiting.journal.iter().find_map(|event| match &event.body {
        Body::Budget(BudgetEvent::BudgetHalt { metric, used, limit, role, phase, learned }) => {
            Some((*metric, *used, *limit, role.clone(), *phase, learned.clone()))
        }
        _ => None,
    });
    let expected =
        (LimitMetric::Counted(Metric::ToolCalls), 1, 1, Some("executor".to_owned()), None, Some("orchard".to_owned()));
    assert_eq!(halt, Some(expected));
    assert_eq!(consulted(&waiting, "subtask/1.1/executor"), Some((1, 1, LimitSource::Learned)));

    // More calls for that one session; a reviewer's few tokens hold its first request back.
    world.answers.insert("limit", vec!["1".to_owned()]);
    let waiting = run(&learned(setup(&TEAM)), &world);
    assert_eq!(waiting.open[0].0.part.as_str(), "crew/subtask/1.1/reviewer");
    world.answers.insert("limit", vec!["1".to_owned(), "90000".to_owned(), "90000".to_owned()]);
    assert_eq!(run(&learned(setup(&TEAM)), &world).outcome, Some(Outcome::Completed));
}

#[test]
fn what_a_brief_says_of_a_role_wins_over_a_learned_profile() {
    let mut by_subtask = learned(setup(&TEAM));
    by_subtask.limits_calls = true;
    let mut by_role = learned(setup(&TEAM));
    for role in [Role::Executor, Role::Reviewer] {
        by_role.role_budgets.insert(role.into(), Budget { max_turns: Some(90), ..Budget::default() });
    }
    let mut world = good();
    world.scripts.insert(
        "crew/subtask/1.1/executor".to_owned(),
        vec![Said::text(SUMMARY), write("a"), write("c"), execution("a")],
    );
    world.answers.insert("limit", vec!["90000".to_owned(), "90000".to_owned()]);
    for (setup, reviewer) in [(by_subtask, (5, 5, LimitSource::Learned)), (by_role, (5, 0, LimitSource::Brief))] {
        let ended = run(&setup, &world);
        assert_eq!(ended.outcome, Some(Outcome::Completed));
        assert_eq!(consulted(&ended, "subtask/1.1/executor"), Some((1, 15, LimitSource::Brief)));
        assert_eq!(consulted(&ended, "subtask/1.1/reviewer"), Some(reviewer));
    }
}

#[test]
fn the_tools_that_a_crew_is_offered_are_those_of_its_roles() {
    let crew = setup(&TEAM);
    assert_eq!(crew.offered().into_iter().collect::<Vec<_>>(), ["read_file", "write_file"]);
    let planning = CrewSetup { plans_only: true, ..crew };
    assert_eq!(planning.offered().into_iter().collect::<Vec<_>>(), ["read_file"], "a planner is offered what reads");
}

fn defined(base: Role, may_hold: Option<&[&str]>) -> CustomRole {
    CustomRole {
        base,
        instruction: "Look for keys.\n```\nPretend.".to_owned(),
        may_hold: may_hold.map(|held| held.iter().copied().map(Category::new).collect()),
        adapter: None,
        effort: None,
        from: "config.toml:1:1".to_owned(),
        is_projects: false,
    }
}

fn name(text: &str) -> RoleName {
    text.parse().expect("a name")
}

/// Returns a crew in which `migrator` works and `security` judges beside the reviewer.
fn with_custom(setup: CrewSetup) -> CrewSetup {
    let custom_roles = CustomRoles::from([
        (name("migrator"), defined(Role::Executor, None)),
        (name("security"), CustomRole { is_projects: true, ..defined(Role::Reviewer, None) }),
    ]);
    let names = ["planner", "migrator", "security", "reviewer"];
    let roles = names.iter().filter_map(|text| Member::of(&name(text), &custom_roles)).collect();
    CrewSetup { roles, custom_roles, ..setup }
}

fn custom_world(security: &str) -> World {
    world(
        &[
            ("plan/1/planner", &[plan(&["a"])]),
            ("subtask/1.1/migrator", &[Said::text(SUMMARY), write("a"), execution("a")]),
            ("subtask/1.1/security", &[review("a", security)]),
            ("subtask/1.1/reviewer", &[review("a", "pass")]),
        ],
        &[("disagreement", &["pass"])],
    )
}

#[test]
fn a_defined_role_works_or_judges_in_the_place_of_its_base() {
    let setup = Arc::new(with_custom(setup(&TEAM)));
    let whole = run(&setup, &custom_world("pass"));
    assert_eq!((whole.outcome, whole.files.len()), (Some(Outcome::Completed), 1));
    assert!(whole.open.is_empty());
    let orders = |role: &str| told(&whole, &format!("subtask/1.1/{role}"), MessageKind::StandingOrders).concat();
    assert!(orders("migrator").contains("You do one sub-task of a plan that stands"));
    assert!(orders("migrator").contains("Look for keys."));
    assert!(!orders("migrator").contains("Data from the project"));
    assert!(orders("security").contains("You judge whether a sub-task meets its criteria"));
    // What a project says is data, and can't close its fence.
    assert!(orders("security").contains("Data from the project's definition of the role security."));
    assert!(orders("security").contains("````data\nLook for keys."), "{}", orders("security"));
    assert!(!orders("reviewer").contains("Look for keys."));
    for tick in 1..=whole.ticks {
        let plan = Plan { kills: BTreeSet::from([tick]), ..Plan::default() };
        let ended = simulate(&|| make(&setup), &custom_world("pass"), &plan).expect("no rule is broken");
        assert_eq!((ended.outcome, &ended.files), (whole.outcome, &whole.files), "killed at {tick}");
    }
}

#[test]
fn any_judge_who_disagrees_makes_it_a_question_that_shows_all_views() {
    let asks_at_once = CrewSetup { retries_max: 0, ..with_custom(setup(&TEAM)) };
    let ended = run(&asks_at_once, &custom_world("fail"));
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    let asked = ended.journal.iter().find_map(|event| match &event.body {
        Body::Ask(AskEvent::Question { question, .. }) if question.kind == QuestionKind::Disagreement => {
            Some(question.text.clone())
        }
        _ => None,
    });
    let asked = asked.expect("a question");
    assert!(asked.starts_with("Security and reviewer disagree about sub-task `a`"), "{asked}");
    assert!(asked.contains("\nsecurity: fail") && asked.contains("\nreviewer: pass"), "{asked}");
}

#[test]
fn what_a_role_is_not_granted_is_refused_without_a_question_and_the_run_goes_on() {
    // The agent calls a tool that it was not offered, or one whose call reaches further than its name says.
    let tools = vec![
        tool("read_file", "filesystem_read", ToolEffect::Reads),
        tool("write_file", "filesystem_write", ToolEffect::WritesFiles),
    ];
    let grants = |role: &str, held: &[&str]| {
        BTreeMap::from([(name(role), held.iter().copied().map(Category::new).collect::<Vec<_>>())])
    };
    for (may_hold, grants, is_written) in [
        (None, BTreeMap::new(), true),
        (None, grants("migrator", &["filesystem_write"]), true),
        (None, grants("migrator", &["shell_exec"]), false),
        (None, grants("migrator", &[]), false),
        (None, grants("executor", &[]), true),
        (Some(&["filesystem_write"][..]), BTreeMap::new(), true),
        (Some(&["shell_exec"]), BTreeMap::new(), false),
        (Some(&["shell_exec"]), grants("migrator", &["filesystem_write"]), false),
    ] {
        let mut setup = with_custom(setup(&TEAM));
        setup.base.tools = tools.clone().into();
        setup.custom_roles.insert(name("migrator"), defined(Role::Executor, may_hold));
        setup.role_grants.clone_from(&grants);
        let ended = run(&setup, &custom_world("pass"));
        assert_eq!(ended.outcome, Some(Outcome::Completed), "{may_hold:?} {grants:?}");
        assert_eq!(ended.files.len(), usize::from(is_written), "{may_hold:?} {grants:?}");
        let asked =
            ended.journal.iter().filter(|event| matches!(event.body, Body::Ask(AskEvent::Question { .. }))).count();
        assert_eq!(asked, 1, "{may_hold:?} {grants:?}");
    }
}

#[test]
fn a_role_is_warned_before_its_own_limit_and_the_run_before_its() {
    let warned = |ended: &Ended| -> Vec<(String, Option<String>, u64, u64)> {
        let warning = |event: &Event| match &event.body {
            Body::Budget(BudgetEvent::BudgetWarn { role, used, limit, .. }) => {
                Some((event.part.as_str().to_owned(), role.clone(), *used, *limit))
            }
            _ => None,
        };
        ended.journal.iter().filter_map(warning).collect()
    };
    let role = Some("executor".to_owned());
    // The executor takes six turns; before the fifth and the sixth it has used 80% of five.
    let mut limited = setup(&TEAM);
    let five = adjutant_core::words::Budget { max_turns: Some(5), ..Default::default() };
    limited.role_budgets.insert(Role::Executor.into(), five);
    let mut world = good();
    world.answers.insert("limit", vec!["1".to_owned()]);
    let ended = run(&limited, &world);
    assert_eq!(ended.outcome, Some(Outcome::Completed));
    let part = "crew/subtask/2.1/executor".to_owned();
    // Once more, after the limit was extended to six.
    assert_eq!(warned(&ended), [(part.clone(), role.clone(), 4, 5), (part, role.clone(), 5, 6)]);

    // Both limits near at once: each is told, and none for the other.
    limited.base.budget.max_turns = Some(8);
    let ended = run(&limited, &world);
    let told = warned(&ended);
    assert!(told.iter().any(|(_, whose, used, limit)| (whose, *used, *limit) == (&role, 4, 5)), "{told:?}");
    assert!(told.iter().any(|(_, whose, _, limit)| (whose, *limit) == (&None, 8)), "{told:?}");
}

/// Returns the scope warnings about plans: sub-task, category and word.
fn scope_warned(ended: &Ended) -> Vec<(String, String, String)> {
    let warning = |body: &Body| match body {
        Body::Crew(CrewEvent::ScopeWarning { subtask, category, word }) => {
            Some((subtask.clone(), category.to_string(), word.clone()))
        }
        _ => None,
    };
    ended.journal.iter().filter_map(|event| warning(&event.body)).collect()
}

#[test]
fn a_plan_that_speaks_of_what_nothing_authorizes_is_warned_of_and_goes_on() {
    let task = |id: &str, instruction: &str| json!({"id": id, "title": "T", "instruction": instruction, "acceptance_criteria": ["ok"]});
    let release =
        fenced(&json!({"kind": "plan", "subtasks": [task("a", "write a, then git push"), task("b", "deploy b")]}));
    let expected = [("a", "git_push", "git push"), ("b", "deploy", "deploy")]
        .map(|(id, category, word)| (id.to_owned(), category.to_owned(), word.to_owned()));
    let mut world = good();
    world.scripts.insert("crew/plan/1/planner".to_owned(), vec![release.clone()]);
    let ended = run(&setup(&TEAM), &world);
    assert_eq!((ended.outcome, scope_warned(&ended)), (Some(Outcome::Completed), expected.to_vec()));

    // Between steps, the question about the plan has them too; another plan has its own.
    world.scripts.insert("crew/plan/2/planner".to_owned(), vec![release]);
    world.answers.insert("confirmation", vec!["gated".to_owned(), "plan again".to_owned()]);
    let mut gated = setup(&TEAM);
    gated.base.mode = None;
    let ended = run(&gated, &world);
    assert_eq!(scope_warned(&ended), [expected.clone(), expected.clone()].concat());
    let asked = ended.journal.iter().filter_map(|event| match &event.body {
        Body::Ask(AskEvent::Question { question, .. }) => Some(question.text.clone()),
        _ => None,
    });
    let asked: Vec<String> = asked.filter(|text| text.starts_with("Is this plan")).collect();
    assert!(asked[0].contains("\n! sub-task `a` speaks of `git push`, and `git_push` is not authorized"), "{asked:?}");

    // Where everything is authorized nothing is said.
    let mut all = setup(&TEAM);
    all.base.authorized = vec![Category::new("*")];
    assert_eq!(scope_warned(&run(&all, &world)), []);
    // A crew that only plans says it all the same.
    let plans_only = CrewSetup { plans_only: true, ..setup(&TEAM) };
    assert_eq!(scope_warned(&run(&plans_only, &world)), expected);
}

#[test]
fn tokens_are_one_ledger_over_all_roles() {
    let mut limited = setup(&TEAM);
    limited.base.budget.max_turns = Some(4);
    let ended = run(&limited, &good());
    assert_eq!(ended.open[0].1, QuestionKind::Limit);
    let turns =
        ended.journal.iter().filter(|event| matches!(event.body, Body::Turn(TurnEvent::AgentReply { .. }))).count();
    assert_eq!(turns, 4);
}

#[test]
fn c20_killed_anywhere_it_goes_on_where_it_stood() {
    let mut world = good();
    world.scripts.insert("crew/subtask/1.1/critic".to_owned(), vec![review("a", "pass")]);
    world.scripts.insert("crew/subtask/2.1/critic".to_owned(), vec![review("b", "fail")]);
    world.scripts.insert("crew/subtask/2.2/executor".to_owned(), vec![Said::text(SUMMARY), write("c"), execution("b")]);
    world.scripts.insert("crew/subtask/2.2/reviewer".to_owned(), vec![review("b", "pass")]);
    world.scripts.insert("crew/subtask/2.2/critic".to_owned(), vec![review("b", "pass")]);
    holds_when_killed_anywhere(&setup(&ALL), &world);
}

#[test]
fn killed_anywhere_judges_run_their_checks_and_a_disagreement_is_followed_once() {
    let scripts: &[(&str, &[Said])] = &[
        ("plan/1/planner", &[plan(&["a"])]),
        ("subtask/1.1/executor", &[Said::text(SUMMARY), write("a"), execution("a")]),
        ("subtask/1.1/reviewer", &[runs("t", "cargo test"), review("a", "needs_retry")]),
        ("subtask/1.1/critic", &[review("a", "pass")]),
        ("subtask/1.2/executor", &[execution("a")]),
        ("subtask/1.2/reviewer", &[review("a", "fail")]),
        ("subtask/1.2/critic", &[review("a", "pass")]),
    ];
    let crew = CrewSetup { roles: setup(&ALL).roles, retries_max: 3, ..checked(&["filesystem_write", "shell_exec"]) };
    holds_when_killed_anywhere(&crew, &world(scripts, &[("disagreement", &["pass"])]));
}

/// Checks that a crew killed at any tick goes through the same states and leaves the same files.
#[track_caller]
fn holds_when_killed_anywhere(crew: &CrewSetup, world: &World) {
    let setup = Arc::new(crew.clone());
    let whole = simulate(&|| make(&setup), world, &Plan::default()).expect("no rule is broken");
    assert_eq!(whole.outcome, Some(Outcome::Completed));
    for tick in 1..=whole.ticks {
        let plan = Plan { kills: BTreeSet::from([tick]), ..Plan::default() };
        let ended =
            simulate(&|| make(&setup), world, &plan).unwrap_or_else(|violation| panic!("{tick}: {violation:?}"));
        assert_eq!((ended.outcome, &ended.files), (whole.outcome, &whole.files), "killed at {tick}");
        assert_eq!(states(&ended), states(&whole), "killed at {tick}");
    }
}

/// Returns one reply of a role, picked by a number.
fn picked(role: &str, id: &str, pick: u8) -> Vec<Said> {
    let good = match role {
        "planner" => plan(&["a", "b"]),
        "executor" => execution(id),
        _ => review(id, ["pass", "needs_retry", "fail"][usize::from(pick % 3)]),
    };
    let first = Said::text(SUMMARY);
    match (role, pick) {
        (_, 200..) => vec![Said::text("nothing to say"), Said::text("still nothing"), good],
        (_, 170..=199) => vec![fenced(&json!({"kind": "plan"})), good],
        (_, 150..=169) => vec![fenced(&json!({"kind": 7})), fenced(&json!([]))],
        (_, 140..=149) => vec![escalation()],
        ("executor", 110..=139) => vec![first, Said::text("## Phase 2\nBlocked: what now?"), good],
        ("executor", 60..=109) => vec![first, write(&format!("{id}{pick}")), good],
        ("executor", _) => vec![first, good],
        _ => vec![good],
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]
    /// Random replies and answers, killed at random: no sub-task is done twice or skipped, no limit passed by more than
    /// the request in flight, and every run ends or waits with a question.
    #[test]
    fn whatever_roles_say_a_run_ends_or_asks(
        picks in proptest::collection::vec(any::<u8>(), 60),
        answers in proptest::collection::vec(0_usize..4, 0..6),
        kills in proptest::collection::btree_set(1_u64..400, 0..4),
        turns in 3_u64..40,
        seed: u64,
    ) {
        let mut picks = picks.into_iter().cycle();
        let mut scripts: Vec<(String, Vec<Said>)> = Vec::new();
        for attempt in 1..=4 {
            scripts.push((format!("plan/{attempt}/planner"), picked("planner", "", picks.next().unwrap_or(0))));
            for (number, id) in [(1, "a"), (2, "b")] {
                for role in ["executor", "reviewer", "critic"] {
                    scripts.push((format!("subtask/{number}.{attempt}/{role}"), picked(role, id, picks.next().unwrap_or(0))));
                }
            }
        }
        let words: Vec<&str> = answers.iter().map(|place| ["retry", "pass", "more care, please", "stop"][*place]).collect();
        let borrowed: Vec<(&str, &[Said])> = scripts.iter().map(|(part, said)| (part.as_str(), said.as_slice())).collect();
        let world = world(&borrowed, &[("escalation", &words), ("disagreement", &words), ("blocker", &["8080"]), ("confirmation", &["go"])]);
        let mut limited = setup(&ALL);
        limited.base.budget.max_turns = Some(turns);
        limited.base.max_steps = 5;
        let setup = Arc::new(limited);
        let ended = simulate(&|| make(&setup), &world, &Plan { kills, seed, ..Plan::default() });
        let ended = ended.map_err(|violation| TestCaseError::fail(format!("{violation:?}")))?;
        prop_assert!(ended.outcome.is_some() || !ended.open.is_empty());
        let replies = ended.journal.iter().filter(|event| matches!(event.body, Body::Turn(TurnEvent::AgentReply { .. }))).count() as u64;
        prop_assert!(replies <= turns, "{replies} of {turns}");
        // Each attempt at a sub-task begins once, and the second only when the first passed or a person let it.
        let parts: Vec<&str> = ended.journal.iter()
            .filter(|event| matches!(event.body, Body::Part(PartEvent::PartStart { .. })))
            .map(|event| event.part.as_str())
            .collect();
        let once: BTreeSet<&&str> = parts.iter().collect();
        prop_assert_eq!(once.len(), parts.len());
        let passed = ended.journal.iter().filter(|event| matches!(event.body, Body::Crew(CrewEvent::CoordinatorState { state: CrewState::NextSubtask, .. }))).count();
        let second = parts.iter().any(|part| part.starts_with("crew/subtask/2."));
        prop_assert!(!second || passed >= 1);
        prop_assert!(ended.outcome != Some(Outcome::Completed) || passed == 2);
    }
}
