//! The views over a journal of ours, made by hand of what a session can say.

use std::collections::BTreeMap;

use serde_json::json;

use crate::trace::read::{Trace, read_bytes};
use crate::trace::{
    AgentOptions, AskEvent, Body, BudgetEvent, CallEvent, Event, GateEvent, HostEvent, LearnedEvent, PartEvent,
    RunEvent, RunOptions, RunStart, TRACE_VERSION, TurnEvent, Versions, wire,
};
use crate::view::list::ListRow;
use crate::view::{cost, detectors, list, mcp, permissions, summary, timing, tools, trace, transcript};
use crate::words::tool::ToolCall;
use crate::words::{
    CancelledBy, Choice, FailureKind, GateAnswer, InterruptedEffect, Layer, LimitMetric, Message, MessageKind,
    MessageRole, Mode, Offer, OperatorWord, Outcome, PartKind, PhaseName, Question, QuestionKind, Rejection, Stop,
    Usage,
};

fn run_start() -> Body {
    let options = RunOptions {
        mode: None,
        workdir: "orchard".into(),
        no_shell: false,
        max_steps: 30,
        agent: AgentOptions { adapter: "scripted".into(), model: Some("small".into()), ..AgentOptions::default() },
        script: None,
        detectors: BTreeMap::new(),
        ..RunOptions::default()
    };
    Body::Run(RunEvent::RunStart(Box::new(RunStart {
        run_id: "2026-01-02-P1-r2".parse().expect("a name"),
        brief_id: "2026-01-02-P1".parse().expect("a name"),
        project: "orchard".into(),
        brief_path: None,
        brief: "# Objective\nPrune".into(),
        tools: Vec::new(),
        offered: None,
        options,
        versions: Versions { adjutant: "0.1.0".into(), standing_orders: 1, rules: 0 },
    })))
}

fn message(role: MessageRole, kind: MessageKind, phase: PhaseName, step: u32, text: &str) -> Body {
    Body::Turn(TurnEvent::Message { role, kind, phase, step, text: text.into() })
}

fn request(number: u32) -> Body {
    let slot = format!("turn/{number}.1").parse().expect("a slot");
    Body::Turn(TurnEvent::AgentRequest {
        slot,
        messages: (1, 2 * number),
        no_calls: false,
        tools: 10,
        agent: 0,
        input_tokens: 0,
        output_max: 0,
        hash: Some("00ff".into()),
    })
}

fn reply(number: u32, text: &str, calls: Vec<ToolCall>) -> Body {
    let stop = if calls.is_empty() { Stop::EndTurn } else { Stop::ToolUse };
    let usage =
        Usage { input_tokens: Some(100), cache_read_tokens: Some(900), output_tokens: Some(7), ..Usage::default() };
    let slot = format!("turn/{number}.1").parse().expect("a slot");
    let (thinking, provider_data) = (String::new(), None);
    Body::Turn(TurnEvent::AgentReply {
        slot,
        text: text.into(),
        thinking,
        calls,
        provider_data,
        usage: Some(usage),
        stop,
        duration_ms: 250,
    })
}

fn call(call_id: &str, name: &str, args: serde_json::Value) -> ToolCall {
    ToolCall { call_id: call_id.into(), name: name.into(), args, malformed: None, masked: false, resolved: Vec::new() }
}

fn begin(slot: &str, call_id: &str, name: &str) -> Body {
    Body::Call(CallEvent::ToolCall {
        slot: slot.parse().expect("a slot"),
        call_id: call_id.into(),
        name: name.into(),
        args: json!({ "path": "a.txt" }),
        auth_decision: "allow".into(),
        changes: Vec::new(),
        network: false,
        workspace: None,
    })
}

fn end(slot: &str, call_id: &str, code: Option<&str>) -> Body {
    Body::Call(CallEvent::ToolResult {
        slot: slot.parse().expect("a slot"),
        call_id: call_id.into(),
        success: code.is_none(),
        duration_ms: 12,
        bytes: 5,
        content: Some("apple".into()),
        artifact: None,
        code: code.map(str::to_owned),
        exit_code: None,
        settled: code.is_some(),
        seen: None,
    })
}

fn ask(slot: &str, kind: QuestionKind, text: &str) -> Body {
    let options = vec![Offer::new(Choice::Once, "y", "runs it"), Offer::new(Choice::Deny, "n", "tells the agent no")];
    let question = Question { kind, text: text.into(), options, default: Choice::Deny, deadline_ms: None, acts: 0 };
    Body::Ask(AskEvent::Question { slot: slot.parse().expect("a slot"), question })
}

fn answer(slot: &str, choice: Choice) -> Body {
    Body::Ask(AskEvent::Answer {
        slot: slot.parse().expect("a slot"),
        id: "m1".into(),
        choice,
        text: Some("keep the \u{1b}[31mfolder".into()),
        by: "alice".into(),
        whence: "terminal".into(),
    })
}

fn check(answer: GateAnswer, layer: Layer, number: u32) -> Body {
    Body::Gate(GateEvent::AuthCheckFired {
        layer,
        tool: "shell_exec".into(),
        decision: if answer == GateAnswer::Allow { "allow" } else { "deny" }.into(),
        reason: "shell_exec is not authorized".into(),
        answer: Some(answer),
        call: Some(number),
        missing: vec!["shell_exec".into()],
        would_allow: Some("authorized_costs: shell_exec".into()),
        untrusted: false,
        after_untrusted: Vec::new(),
    })
}

/// A session from its summary to a question about a shell command, which is still open.
fn opening() -> Vec<Body> {
    vec![
        Body::Run(RunEvent::TraceVersion {
            version: TRACE_VERSION,
            adjutant_version: "0.1.0".into(),
            brief_id: "2026-01-02-P1".into(),
        }),
        run_start(),
        Body::Part(PartEvent::PartStart { kind: PartKind::Session, contract: None, agent: 0, workspace: None }),
        Body::Part(PartEvent::PhaseEnter { phase: PhaseName::Intake, reason: Some("starting".into()) }),
        message(MessageRole::System, MessageKind::StandingOrders, PhaseName::Intake, 0, "Be honest.\n"),
        message(MessageRole::User, MessageKind::Intake, PhaseName::Intake, 0, "# Objective\nPrune"),
        request(1),
        Body::Turn(TurnEvent::AgentFailed {
            slot: "turn/1.1".parse().expect("a slot"),
            kind: FailureKind::Transient,
            message: "overload".into(),
            received: 0,
            retry_after_ms: None,
            output_max: None,
        }),
        Body::Ask(AskEvent::Timer { slot: "wait/1.1".parse().expect("a slot"), length_ms: 500 }),
        Body::Ask(AskEvent::Expired { slot: "wait/1.1".parse().expect("a slot") }),
        request(2),
        reply(2, "## Phase 0\nI will prune.", Vec::new()),
        Body::Turn(TurnEvent::DetectorFired {
            detector: "confirmation".into(),
            payload: json!({ "found": true }),
            turn: Some(1),
        }),
        Body::Turn(TurnEvent::TurnRead { turn: 1, fired: vec!["confirmation".into(), "phase_marker".into()] }),
        ask("ask/1.1", QuestionKind::Confirmation, "Is this what you want?"),
        answer("ask/1.1", Choice::Accept),
        Body::Ask(AskEvent::AnswerIgnored { slot: "ask/1.1".parse().expect("a slot"), id: "m2".into() }),
        Body::Part(PartEvent::ModeSet { mode: Mode::Auto }),
        Body::Part(PartEvent::PhaseExit {
            phase: PhaseName::Intake,
            duration_ms: 900,
            to: Some(PhaseName::Execute),
            reason: Some("intake accepted".into()),
        }),
        Body::Part(PartEvent::PhaseEnter { phase: PhaseName::Execute, reason: None }),
        request(3),
        reply(
            3,
            "",
            vec![
                call("k1", "read_file", json!({ "path": "a.txt" })),
                call("k2", "shell_exec", json!({ "command": "make\n" })),
            ],
        ),
        check(GateAnswer::Allow, Layer::Brief, 1),
        check(GateAnswer::Ask, Layer::Default, 2),
        begin("call/1.1", "k1", "read_file"),
        end("call/1.1", "k1", None),
        Body::Part(PartEvent::PhaseExit {
            phase: PhaseName::Execute,
            duration_ms: 40,
            to: Some(PhaseName::Destructive),
            reason: Some("destructive intent detected".into()),
        }),
        Body::Part(PartEvent::PhaseEnter { phase: PhaseName::Destructive, reason: None }),
        ask("ask/2.1", QuestionKind::Destructive, "May `make` be run?\nIt needs shell_exec."),
    ]
}

/// Returns the events that follow when the operator allows it, up to the end.
fn ending() -> Vec<Body> {
    vec![
        Body::Run(RunEvent::RunResume { options: None, accepted_damage: vec![3, 4], offered: None }),
        answer("ask/2.1", Choice::ForRun),
        Body::Gate(GateEvent::AuthPrompt {
            categories: vec!["shell_exec".into()],
            response: OperatorWord::ForRun,
            calls: vec![2],
            acts: vec!["git_push".into()],
            denied: Vec::new(),
            denied_acts: Vec::new(),
            again: Vec::new(),
            notes: Default::default(),
        }),
        Body::Part(PartEvent::PhaseExit {
            phase: PhaseName::Destructive,
            duration_ms: 60_000,
            to: Some(PhaseName::Execute),
            reason: Some("tool approved (session)".into()),
        }),
        Body::Part(PartEvent::PhaseEnter { phase: PhaseName::Execute, reason: None }),
        begin("call/2.1", "k2", "shell_exec"),
        Body::Call(CallEvent::ToolCancelled {
            slot: "call/2.1".parse().expect("a slot"),
            call_id: "k2".into(),
            tool_name: "shell_exec".into(),
            cancellation_source: CancelledBy::OperatorSignal,
            partial_output: "héé".into(),
        }),
        Body::Call(CallEvent::ToolRejected {
            call: 3,
            call_id: "k3".into(),
            name: "no_such".into(),
            rejection: Rejection::UnknownTool,
            content: "there is no such tool".into(),
        }),
        begin("call/4.1", "k4", "shell_exec"),
        Body::Call(CallEvent::Interrupted {
            slot: "call/4.1".parse().expect("a slot"),
            effect: InterruptedEffect::Unknown,
        }),
        begin("call/5.1", "k5", "write_file"),
        end("call/5.1", "k5", Some("HUNK_FAILED")),
        Body::Learned(LearnedEvent::LearnedSensitivityConsulted {
            detector: "blocker".into(),
            sensitivity: "loose".into(),
            fired: false,
            bypassed: true,
            turn: Some(3),
        }),
        Body::Part(PartEvent::PhaseDrift { turn: 3, declared: PhaseName::Completion, phase: PhaseName::Execute }),
        Body::Ask(AskEvent::OperatorMessage {
            id: "m3".into(),
            message: Message::Mode(Mode::Gated),
            by: "alice".into(),
        }),
        Body::Ask(AskEvent::OperatorMessage { id: "m4".into(), message: Message::Stop, by: "alice".into() }),
        Body::Budget(BudgetEvent::BudgetHalt {
            metric: LimitMetric::Steps,
            used: 30,
            limit: 30,
            role: None,
            phase: None,
            learned: None,
        }),
        Body::Part(PartEvent::DeadlinePassed { deadline: "2026-01-03".into() }),
        Body::Host(HostEvent::Warning { text: "no sandbox\nhere".into() }),
        Body::Learned(LearnedEvent::MemoryInherited {
            project: "orchard".into(),
            records: vec![
                serde_json::from_str(
                    r#"{"id":"mem-a-000001","at":"2026-01-01T00:00:00Z","category":"knowledge","content":"c"}"#,
                )
                .expect("a record"),
            ],
            left_out: 2,
            contradictions: Vec::new(),
        }),
        Body::Host(HostEvent::SandboxReport {
            mode: "best".into(),
            held: vec!["tcp".into()],
            missing: vec!["git_hooks".into()],
            layers: vec!["landlock".into()],
            absent: BTreeMap::from([("mounts".into(), "no user namespace".into())]),
        }),
        Body::Host(HostEvent::Error { error: "the disk is full".into(), phase: PhaseName::Execute }),
        Body::Ask(AskEvent::Withdrawn { slot: "ask/3.1".parse().expect("a slot") }),
        Body::Part(PartEvent::PartEnd { outcome: Outcome::Stopped }),
        Body::Run(RunEvent::RunEnd { outcome: Outcome::Stopped }),
    ]
}

/// The journal of these events, a second apart, in a part that `part_of` names.
fn journal_of(bodies: Vec<Body>, part_of: impl Fn(usize) -> &'static str) -> String {
    let mut journal = String::new();
    let mut prev: Option<String> = None;
    for (seq, body) in bodies.into_iter().enumerate() {
        let is_root = matches!(
            body,
            Body::Run(
                RunEvent::TraceVersion { .. }
                    | RunEvent::RunStart(_)
                    | RunEvent::RunResume { .. }
                    | RunEvent::RunEnd { .. }
            )
        );
        let part = if is_root { "" } else { part_of(seq) }.parse().expect("a part");
        let at =
            jiff::Timestamp::from_second(1_767_323_045 + i64::try_from(seq).expect("a small number")).expect("a time");
        let line = wire::encode(&Event { seq: seq as u64, at, part, body }, prev.as_deref());
        prev = Some(wire::line_hash(line.as_bytes()));
        journal += &line;
        journal.push('\n');
    }
    journal
}

/// The journal of a session that waits, or of one that has ended.
pub(super) fn journal(has_ended: bool) -> String {
    let mut bodies = opening();
    if has_ended {
        bodies.extend(ending());
    }
    journal_of(bodies, |_| "session")
}

fn read(journal: &str) -> Trace<'_> {
    let trace = read_bytes(journal.as_bytes());
    assert_eq!(trace.damaged, Vec::<u64>::new(), "our own lines have the fields that viewers expect");
    assert!(trace.lines.iter().all(|line| line.kind.spec().is_some()), "our own events have labels");
    trace
}

#[test]
fn a_run_that_waits_says_for_what() {
    let journal = journal(false);
    let summary = summary::of(&read(&journal));
    insta::assert_snapshot!(summary::text(&summary));
    insta::assert_snapshot!(
        "waiting_list",
        list::text(&list::of(vec![ListRow::from(&summary)]), None, "2026-01-02T04:04:33Z".parse().expect("a time"))
    );
}

#[test]
fn a_run_that_ended_says_how() {
    let journal = journal(true);
    let summary = summary::of(&read(&journal));
    insta::assert_snapshot!(summary::text(&summary));
    insta::assert_snapshot!("ended_json", serde_json::to_string_pretty(&summary).expect("serializes"));
}

#[test]
fn each_event_has_its_line() {
    let journal = journal(true);
    let trace = read(&journal);
    insta::assert_snapshot!(trace::text(&trace::of(&trace, trace::TraceExtent::All)));
    let last = trace::of(&trace, trace::TraceExtent::Last(2));
    insta::assert_snapshot!("last_events_json", serde_json::to_string_pretty(&last).expect("serializes"));
}

#[test]
fn all_that_was_said_is_in_the_transcript() {
    let journal = journal(true);
    let trace = read(&journal);
    insta::assert_snapshot!(transcript::text(&summary::of(&trace), &transcript::of(&trace)));
}

#[test]
fn the_tables_show_a_run_of_ours() {
    let journal = journal(true);
    let trace = read(&journal);
    let tables = [
        timing::text(&timing::of(&trace)),
        cost::text(&cost::of(&trace, cost::Pricing::PerThousand(2.0))),
        detectors::text(&detectors::of(&trace)),
        tools::text(&tools::of(&trace)),
        mcp::text(&mcp::of(&trace)),
        permissions::text(&permissions::of(&trace)),
    ];
    insta::assert_snapshot!(tables.join("\n"));
}

#[test]
fn parts_are_named_where_a_run_has_several() {
    let crew = journal_of(opening(), |seq| if seq < 20 { "planner" } else { "subtask/1.1/executor" });
    let trace = read(&crew);
    insta::assert_snapshot!(summary::text(&summary::of(&trace)));
    let text = trace::text(&trace::of(&trace, trace::TraceExtent::Last(1)));
    assert!(text.ends_with("  @subtask/1.1/executor\n"), "{text}");
}

#[test]
fn what_began_and_has_not_ended_is_unfinished() {
    let mut bodies = opening();
    bodies.truncate(25);
    let journal = journal_of(bodies, |_| "session");
    let summary = summary::of(&read(&journal));
    assert!(summary.waiting.is_empty());
    assert_eq!(summary.unfinished.iter().map(|begun| begun.slot.as_str()).collect::<Vec<_>>(), ["call/1.1"]);
}

#[test]
fn an_empty_trace_has_a_text_in_every_view() {
    let trace = Trace::default();
    for text in [
        summary::text(&summary::of(&trace)),
        trace::text(&trace::of(&trace, trace::TraceExtent::default())),
        timing::text(&timing::of(&trace)),
        cost::text(&cost::of(&trace, cost::Pricing::Unknown)),
        detectors::text(&detectors::of(&trace)),
        tools::text(&tools::of(&trace)),
        mcp::text(&mcp::of(&trace)),
        permissions::text(&permissions::of(&trace)),
    ] {
        assert!(text.ends_with('\n') && text.len() > 10, "{text:?}");
    }
}
