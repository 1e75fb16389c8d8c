//! The peer's own output over its own files, byte for byte.

use jiff::Timestamp;
use serde::Deserialize;

use crate::detect;
use crate::detect::Sensitivities;
use crate::trace::read::{Trace, read_bytes};
use crate::view::list::ListRow;
use crate::view::peer_session::{self, PeerSession};
use crate::view::replay::Fired;
use crate::view::{
    InspectView, cost, detectors, list, mcp, peer_summary, permissions, replay, timing, tools, trace, transcript,
};

macro_rules! vector {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/openwar/inspect/", $name))
    };
}

const EXPECTED: &str = vector!("expected-inspect.json");
const SESSION: &str = vector!("input-inspect/sessions/2024-04-05-ALL.json");
const TRACE: &str = vector!("input-inspect/sessions/2024-04-05-ALL.trace.ndjson");
const TRANSCRIPT: &str = vector!("input-inspect/sessions/2024-04-05-ALL.transcript.jsonl");
const SESSION_WITHOUT_TRACE: &str = vector!("input-inspect/sessions/2025-04-06-NOTRACE.json");

/// The rows that are not a view's business, and why.
const NOT_OURS: &[(&str, &str)] = &[
    ("inspect missing", "finding a run is the command's business, and so are its words for not finding it"),
    ("replay missing", "the same; and there a missing run is a failure, not a success"),
    ("inspect 2024-04-05-ALL --learned", "reads the learned profile, which is no projection of a trace"),
];

#[derive(Deserialize)]
struct Row {
    argv: Vec<String>,
    stdout: String,
}

/// Returns the output of our views for a command line of the peer.
fn printed(argv: &[&str]) -> String {
    let trace = read_bytes(TRACE.as_bytes());
    let session = peer_session::read(SESSION).expect("the vector is a session");
    match argv {
        ["list"] => listed(&[&session, &peer_session::read(SESSION_WITHOUT_TRACE).expect("another")]),
        ["replay", _] => replayed(&session, &trace),
        ["inspect", _, flags @ ..] => inspected(&session, &trace, flags),
        _ => panic!("no view for {argv:?}"),
    }
}

fn listed(sessions: &[&PeerSession]) -> String {
    list::text(&list::of(sessions.iter().rev().map(|session| ListRow::from(*session)).collect()), None, Timestamp::MIN)
}

fn inspected(session: &PeerSession, lines: &Trace<'_>, flags: &[&str]) -> String {
    let value = |flag: &str| flags.iter().position(|given| *given == flag).map(|place| flags[place + 1]);
    let named = [
        ("--cost", InspectView::Cost),
        ("--trace", InspectView::Trace),
        ("--timing", InspectView::Timing),
        ("--detectors", InspectView::Detectors),
        ("--tools", InspectView::Tools),
        ("--mcp", InspectView::Mcp),
        ("--permissions", InspectView::Permissions),
    ];
    let asked: Vec<InspectView> =
        named.iter().filter(|(flag, _)| flags.contains(flag)).map(|(_, view)| *view).collect();
    match InspectView::first_of(&asked) {
        None if flags.contains(&"--transcript") => {
            transcript::peer_text(session, &transcript::of_peer(session, Some(TRANSCRIPT)))
        }
        None => peer_summary::text(session),
        Some(InspectView::Trace) => {
            let tail = value("--tail").map(|tail| trace::TraceExtent::Last(tail.parse().expect("a number")));
            let extent = if flags.contains(&"--full") { trace::TraceExtent::All } else { tail.unwrap_or_default() };
            trace::text(&trace::of(lines, extent))
        }
        Some(InspectView::Timing) => timing::text(&timing::of(lines)),
        Some(InspectView::Cost) => {
            let price = value("--dollar-per-1k").map(|price| price.parse().expect("a price"));
            let pricing = price.map_or(cost::Pricing::Unknown, cost::Pricing::PerThousand);
            cost::text(&cost::of(lines, pricing))
        }
        Some(InspectView::Detectors) => detectors::text(&detectors::of(lines)),
        Some(InspectView::Tools) => tools::text(&tools::of(lines)),
        Some(InspectView::Mcp) => mcp::text(&mcp::of(lines)),
        Some(InspectView::Permissions) => permissions::text(&permissions::of(lines)),
        Some(view) => panic!("no text for {view:?}"),
    }
}

/// Today's detectors, at their defaults, with nothing authorized.
fn detect(text: &str) -> Fired {
    Fired::from(&detect::read(text, &[], &Sensitivities::default()))
}

fn replayed(session: &PeerSession, trace: &Trace<'_>) -> String {
    let (messages, _) = peer_session::read_transcript(TRANSCRIPT);
    replay::text(&replay::of(session, &messages, trace, "2026-01-01T00:00:00.000Z", &detect))
}

#[test]
fn every_view_prints_what_the_peer_prints() {
    let rows: Vec<Row> = serde_json::from_str(EXPECTED).expect("the vector is a list");
    let mut compared = 0;
    for row in &rows {
        let name = row.argv.join(" ");
        if NOT_OURS.iter().all(|(other, _)| *other != name) {
            let argv: Vec<&str> = row.argv.iter().map(String::as_str).collect();
            assert_eq!(printed(&argv), row.stdout, "{name}");
            compared += 1;
        }
    }
    assert_eq!(compared, rows.len() - NOT_OURS.len(), "each difference on purpose is the name of a row");
}

#[test]
fn line_endings_of_another_system_change_nothing() {
    let crlf = TRACE.replace('\n', "\r\n");
    let (unix, other) = (read_bytes(TRACE.as_bytes()), read_bytes(crlf.as_bytes()));
    assert_eq!(timing::of(&unix), timing::of(&other));
    let text = |lines: &Trace<'_>| trace::text(&trace::of(lines, trace::TraceExtent::All));
    assert_eq!(text(&unix), text(&other));
}

#[test]
fn a_cancelled_call_is_known_to_be_one_even_where_the_peers_text_says_pending() {
    let calls = tools::of(&read_bytes(TRACE.as_bytes())).native;
    assert_eq!(calls[2].result, tools::CallResult::Cancelled);
}

/// Replays what an agent said in phase 1, against a trace of these events.
#[track_caller]
fn check_replay(said: &[&str], events: &[&str], expected_drift: u64, expected_lines: &[&str]) {
    let message = |content: &&str| {
        let role = if content.starts_with("[tool_result ") { "user" } else { "assistant" };
        peer_session::PeerMessage {
            role: role.to_owned(),
            at: None,
            phase: Some("execute".to_owned()),
            content: (*content).to_owned(),
        }
    };
    let messages: Vec<_> = said.iter().map(message).collect();
    let lines: Vec<String> = (events.iter())
        .map(|event| match *event {
            "auth_prompt" => r#"{"type":"auth_prompt","categories":["x"],"response":"y"}"#.to_owned(),
            "coordinator_state" => r#"{"type":"coordinator_state","state":"plan"}"#.to_owned(),
            detector => format!(r#"{{"type":"detector_fired","detector":"{detector}","payload":{{}}}}"#),
        })
        .collect();
    let file = lines.join("\n");
    let replay = replay::of(&PeerSession::default(), &messages, &read_bytes(file.as_bytes()), "now", &detect);
    assert_eq!(replay.drift_count, expected_drift, "{said:?} {events:?}");
    let text = replay::text(&replay);
    for line in expected_lines {
        assert!(text.contains(&format!("[replay] {line}\n")), "no `{line}` in\n{text}");
    }
}

#[test]
fn what_fires_is_compared_with_as_many_events_on_record() {
    check_replay(&["Phase 1", "Phase 1"], &["phase_marker", "phase_marker"], 0, &["turn 2: phase_marker"]);
    check_replay(
        &["Phase 1"],
        &["banned_phrases"],
        1,
        &[
            "  drift: now fires phase_marker (was not in original trace)",
            "  drift: no longer fires banned_phrases (was in original trace)",
        ],
    );
    check_replay(&["work", "Phase 1"], &["phase_marker"], 0, &["turn 1: no detector"]);
    check_replay(&["Phase 1", "Phase 1"], &["phase_marker"], 1, &[]);
}

#[test]
fn the_first_blocker_or_completion_ends_a_replay() {
    check_replay(
        &["## Phase 4", "Phase 1"],
        &["phase_marker", "completion"],
        0,
        &["Phase 4 detected at turn 1", "  assistant_turns:  1", "  completed:        true", "  drift_count:      0"],
    );
}

#[test]
fn where_the_trace_is_known_to_be_silent_nothing_is_compared() {
    let round = "Phase 1\n[tool: read_file({})]";
    check_replay(&[round, "[tool_result k1]\nx", "Phase 1"], &["phase_marker"], 0, &["turn 1: tool round, not read"]);
    check_replay(
        &["Phase 1", "Phase 1"],
        &["phase_marker", "auth_prompt"],
        0,
        &["turn 2: phase_marker (not recorded, not compared)"],
    );
    check_replay(&["Phase 1"], &["coordinator_state"], 0, &["turn 1: phase_marker (not recorded, not compared)"]);
    check_replay(&["Phase 1"], &[], 0, &["turn 1: phase_marker (not recorded, not compared)"]);
}

#[test]
fn runs_are_listed_newest_first_and_those_of_unknown_time_last() {
    let row = |run_id: &str, updated_at: Option<&str>| ListRow {
        run_id: run_id.to_owned(),
        project: Some("a-project-with-a-very-long-name".to_owned()),
        updated_at: updated_at.map(str::to_owned),
        ..ListRow::default()
    };
    let rows = vec![
        row("none", None),
        row("old", Some("2026-01-01T00:00:00.000Z")),
        row("bad", Some("yesterday")),
        row("new", Some("2026-01-02T00:00:00.000Z")),
    ];
    let rows = list::of(rows);
    assert_eq!(rows.iter().map(|row| row.run_id.as_str()).collect::<Vec<_>>(), ["new", "old", "bad", "none"]);
    insta::assert_snapshot!(list::text(&rows, Some(80), Timestamp::MIN));
    assert_eq!(list::text(&[], None, Timestamp::MIN), "no runs yet\n");
}
