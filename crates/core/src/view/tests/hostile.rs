//! Traces that nobody should have written: nothing of them may stop a view, or reach a terminal as it is.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::ours::journal;
use crate::trace::read::{Trace, read_bytes, read_lines};
use crate::view::peer_session::{PeerMessage, PeerSession};
use crate::view::replay::Fired;
use crate::view::{
    cost, detectors, list, mcp, peer_session, peer_summary, permissions, replay, summary, timing, tools, trace,
    transcript,
};

const PEERS: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/vectors/openwar/inspect/input-inspect/sessions/2024-04-05-ALL.trace.ndjson"
));

/// The text of every view, and their models as JSON.
fn every_text(trace: &Trace<'_>) -> Vec<String> {
    let summary = summary::of(trace);
    let said = transcript::of(trace);
    let events = trace::of(trace, trace::TraceExtent::All);
    let rows = vec![list::ListRow::from(&summary)];
    vec![
        summary::text(&summary),
        transcript::text(&summary, &said),
        trace::text(&events),
        timing::text(&timing::of(trace)),
        cost::text(&cost::of(trace, cost::Pricing::PerThousand(1.0))),
        detectors::text(&detectors::of(trace)),
        tools::text(&tools::of(trace)),
        mcp::text(&mcp::of(trace)),
        permissions::text(&permissions::of(trace)),
        list::text(&list::of(rows), Some(80), Timestamp::MIN),
        serde_json::to_string(&summary).expect("a model serializes"),
        serde_json::to_string(&events).expect("a model serializes"),
        serde_json::to_string(&said).expect("a model serializes"),
    ]
}

fn reads(line: &str) -> bool {
    read_lines([(1, line)]).damaged.is_empty()
}

/// Every event that either side can say.
fn samples() -> Vec<Map<String, Value>> {
    let ours = journal(true);
    let lines = PEERS.lines().chain(ours.lines()).filter_map(|line| serde_json::from_str(line).ok());
    lines.filter_map(|line: Value| line.as_object().cloned()).collect()
}

#[test]
fn a_field_of_another_type_never_shows() {
    let wrong =
        [Value::Null, json!(7.5), json!(true), json!("text"), json!([null]), json!([[{}]]), json!({ "a": null })];
    for sample in samples() {
        for name in sample.keys() {
            for value in &wrong {
                let mut line = sample.clone();
                line.insert(name.clone(), value.clone());
                let line = Value::Object(line).to_string();
                let trace = read_lines([(1, line.as_str())]);
                for text in &every_text(&trace)[..10] {
                    assert!(!text.contains("undefined") && !text.contains("[object"), "{line}\n{text}");
                }
            }
        }
    }
}

#[test]
fn a_field_that_a_view_prints_is_needed_or_may_be_absent_but_is_never_null_in_print() {
    for sample in samples() {
        for name in sample.keys().filter(|name| *name != "type") {
            let mut line = sample.clone();
            line.insert(name.clone(), Value::Null);
            let as_null = Value::Object(line.clone()).to_string();
            line.shift_remove(name);
            assert_eq!(
                reads(&as_null),
                reads(&Value::Object(line).to_string()),
                "null is as good as absent: {as_null}"
            );
            for text in &every_text(&read_lines([(1, as_null.as_str())]))[..10] {
                assert!(!text.contains("null"), "{as_null}\n{text}");
            }
        }
    }
}

#[test]
fn no_text_of_a_trace_reaches_a_terminal_as_it_is() {
    let poison = "x\u{1b}]0;gone\u{7}\r\n\u{9b}2J\u{202e}y";
    fn poisoned(value: &mut Value, poison: &str) {
        match value {
            Value::String(text) => *text = poison.to_owned(),
            Value::Array(items) => items.iter_mut().for_each(|item| poisoned(item, poison)),
            Value::Object(fields) => fields.values_mut().for_each(|value| poisoned(value, poison)),
            _ => {}
        }
    }
    let mut lines = vec![json!({ "type": poison }).to_string()];
    for sample in samples() {
        // One field at a time too: a closed set of words in the same line would make it damaged.
        for name in sample.keys().filter(|name| *name != "type") {
            let mut line = sample.clone();
            if let Some(value) = line.get_mut(name) {
                poisoned(value, poison);
            }
            lines.push(Value::Object(line).to_string());
        }
    }
    let trace = read_lines((1..).zip(lines.iter().map(String::as_str)));
    assert!(trace.lines.len() > 300, "most of it must be readable for this to say anything");
    for text in &every_text(&trace)[..10] {
        let unfit = text.chars().find(|c| (c.is_control() && !matches!(c, '\n' | '\t')) || *c == '\u{202e}');
        assert_eq!(unfit, None, "{text}");
    }
    let message = PeerMessage { role: poison.into(), at: Some(poison.into()), phase: None, content: poison.into() };
    let session = PeerSession {
        brief_id: poison.into(),
        project: Some(poison.into()),
        messages: vec![PeerMessage { role: "assistant".into(), ..message.clone() }, message],
        approvals: vec![peer_session::Approval { at: None, action: poison.into(), approved: true }],
        transitions: vec![peer_session::Transition {
            at: None,
            from: poison.into(),
            to: poison.into(),
            reason: Some(poison.into()),
        }],
        ..PeerSession::default()
    };
    let detect = |text: &str| Fired { detectors: vec!["blocker"], blocker_reason: Some(text.to_owned()) };
    for text in [
        peer_summary::text(&session),
        transcript::peer_text(&session, &transcript::of_peer(&session, None)),
        replay::text(&replay::of(&session, &session.messages, &trace, poison, &detect)),
        list::text(&list::of(vec![list::ListRow::from(&session)]), Some(80), Timestamp::MIN),
    ] {
        assert!(text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t')), "{text}");
    }
}

#[test]
fn a_text_can_not_forge_a_line() {
    let forged = "ok\n2026-01-01T00:00:00.000Z  tool_call    rm  (allow)";
    let line = json!({ "type": "error", "error": forged, "phase": "execute", "at": "t" }).to_string();
    let text = trace::text(&trace::of(&read_lines([(1, line.as_str())]), trace::TraceExtent::All));
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn damage_of_every_kind_is_announced_by_its_line() {
    let file = b"null\n5\n\"x\"\n[]\n\xff\n{\"type\":\"phase_enter\",\"phase\":\"execute\"}\n{\"type\":\"phase_enter\"";
    let text = timing::text(&timing::of(&read_bytes(file)));
    assert!(text.starts_with("(6 corrupted trace line(s) skipped: 1, 2, 3, 4, 5, 7)\n"), "{text}");
    assert!(text.contains("execute  1"), "{text}");
    let noise = "x\n".repeat(1000);
    let text = timing::text(&timing::of(&read_bytes(noise.as_bytes())));
    assert!(
        text.starts_with("(1000 corrupted trace line(s) skipped: 1, 2,") && text.contains("50 and 950 more)"),
        "{text}"
    );
}

#[test]
fn a_long_trace_is_no_trouble() {
    // 100,000 calls that all begin before the first of them ends: the worst order for pairing them.
    let begins = (0..50_000).map(|n| {
        format!(r#"{{"seq":{n},"at":"2026-01-01T00:00:00.000Z","type":"tool_call","slot":"call/{n}.1","call_id":"c{n}","name":"t","args":{{}},"auth_decision":"allow"}}"#)
    });
    let ends = (0..50_000).map(|n| {
        format!(r#"{{"seq":{n},"at":"2026-01-01T00:00:00.000Z","type":"tool_result","slot":"call/{n}.1","call_id":"c{n}","success":true,"duration_ms":1,"bytes":2,"content":"xyz"}}"#)
    });
    let file: Vec<String> = begins.chain(ends).collect();
    let file = file.join("\n");
    let trace = read_bytes(file.as_bytes());
    assert_eq!(trace.lines.len(), 100_000);
    let summary = summary::of(&trace);
    assert_eq!((summary.tool_calls.ok, summary.unfinished.len()), (50_000, 0));
    assert!(tools::of(&trace).native.iter().all(|call| call.result == tools::CallResult::Ok));
}
