//! Spans of a run: each has its parent, lies in it in time, has no content unless asked, and is the same each time.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::trace::{Event, Line, wire};

const SAMPLES: &str = include_str!("../redact/samples.ndjson");

fn event(line: &str) -> Event {
    match wire::decode(line) {
        Ok(Line::Event(event)) => event,
        other => panic!("{line}: {other:?}"),
    }
}

/// A session of a turn and a call, then what comes after it.
fn run(more: &[&str]) -> Vec<Event> {
    let start = SAMPLES.lines().nth(1).expect("a start");
    let mut lines = vec![SAMPLES.lines().next().expect("a header").to_owned(), start.to_owned()];
    let all = [
        r#""type":"part_start","part":"session","kind":"session""#,
        r#""type":"phase_enter","part":"session","phase":"execute""#,
        r#""type":"message","part":"session","role":"system","kind":"standing_orders","phase":"execute","step":1,"text":"SECRET orders""#,
        r#""type":"message","part":"session","role":"user","kind":"continue","phase":"execute","step":1,"text":"SECRET go on""#,
        r#""type":"agent_request","part":"session","slot":"turn/1.1","messages":[1,2],"tools":5,"output_max":100"#,
        r#""type":"agent_reply","part":"session","slot":"turn/1.1","text":"SECRET","calls":[{"call_id":"c1","name":"read_file","args":{"path":"SECRET"}}],"usage":{"input_tokens":5,"cache_read_tokens":7,"output_tokens":6},"stop":"tool_use","duration_ms":5"#,
        r#""type":"auth_check_fired","part":"session","layer":"brief","tool":"read_file","decision":"allow","reason":"SECRET","answer":"allow","call":1"#,
        r#""type":"tool_call","part":"session","slot":"call/1.1","call_id":"c1","name":"read_file","args":{"path":"SECRET"},"auth_decision":"allow""#,
        r#""type":"tool_result","part":"session","slot":"call/1.1","call_id":"c1","success":false,"duration_ms":5,"bytes":6,"content":"SECRET","code":"NOT_FOUND""#,
    ];
    for (index, rest) in all.iter().chain(more).enumerate() {
        lines.push(format!(r#"{{"seq":{},"at":"2026-01-02T03:04:{:02}.000Z",{rest}}}"#, index + 2, index + 10));
    }
    lines.iter().map(|line| event(line)).collect()
}

fn traces(events: &[Event], content: Content) -> Traces {
    let mut projection = Projection::new("2026-01-02-B", content);
    events.iter().for_each(|event| projection.event(event));
    projection.finish()
}

fn value<'s>(span: &'s Span, key: &str) -> Option<&'s Value> {
    span.attributes.iter().find(|attribute| attribute.key == key).map(|attribute| &attribute.value)
}

fn is_text(span: &Span, key: &str, text: &str) -> bool {
    value(span, key) == Some(&Value::Text(text.to_owned()))
}

#[test]
fn a_run_is_an_agent_with_chats_and_tools() {
    let ends = [r#""type":"part_end","part":"session","outcome":"failed""#, r#""type":"run_end","outcome":"failed""#];
    let traces = traces(&run(&ends), Content::LeftOut);
    let names: Vec<&str> = traces.spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["invoke_agent 2026-01-02-B", "invoke_agent session", "chat m-1", "execute_tool read_file"]);
    let [root, session, chat, tool] = traces.spans.as_slice() else { panic!("four spans") };
    assert_eq!(
        (root.parent, session.parent, chat.parent, tool.parent),
        (None, Some(root.id), Some(session.id), Some(session.id))
    );
    assert!(is_text(chat, names::PROVIDER, "anthropic") && is_text(chat, names::OPERATION, "chat"));
    assert_eq!(value(chat, names::INPUT_TOKENS), Some(&Value::Number(12)));
    assert_eq!(value(chat, names::FINISH_REASONS), Some(&Value::Texts(vec!["tool_use".into()])));
    assert_eq!((chat.kind, tool.kind), (SpanKind::Client, SpanKind::Internal));
    assert_eq!(tool.error.as_deref(), Some("NOT_FOUND"));
    assert!(is_text(tool, names::TOOL_CALL_ID, "c1") && is_text(root, "adjutant.outcome", "failed"));
    let events: Vec<&str> = session.events.iter().map(|event| event.name).collect();
    assert_eq!(events, ["adjutant.part_start", "adjutant.phase_enter", "adjutant.gate_decision"]);
    assert_eq!(chat.end - chat.start, 1_000_000_000);
    assert!(traces.spans.iter().all(|span| value(span, "adjutant.unfinished").is_none()));
}

#[test]
fn content_is_there_only_if_it_was_asked_for() {
    let events = run(&[]);
    let without = traces(&events, Content::LeftOut);
    assert!(!to_json(&without, &without.spans).contains("SECRET"));
    let with = traces(&events, Content::Included);
    for key in [
        names::SYSTEM_INSTRUCTIONS,
        names::INPUT_MESSAGES,
        names::OUTPUT_MESSAGES,
        names::TOOL_ARGUMENTS,
        names::TOOL_RESULT,
    ] {
        let said = with.spans.iter().find_map(|span| value(span, key));
        assert!(matches!(said, Some(Value::Text(text)) if text.contains("SECRET")), "{key}");
    }
    let all: Vec<Event> = SAMPLES.lines().map(event).collect();
    let all = traces(&all, Content::LeftOut);
    assert!(!to_json(&all, &all.spans).contains("CANARY"));
}

#[test]
fn what_has_not_ended_says_so_and_ids_tell_runs_apart() {
    let events = run(&[]);
    let unfinished = traces(&events, Content::LeftOut);
    let flagged = unfinished.spans.iter().filter(|span| value(span, "adjutant.unfinished").is_some());
    assert_eq!(flagged.count(), 2, "the run and its session");
    let mut later = events.clone();
    later[0].at = "2027-01-01T00:00:00Z".parse().expect("a time");
    assert_ne!(traces(&later, Content::LeftOut).trace_id, unfinished.trace_id);
    assert_eq!(traces(&events, Content::LeftOut), unfinished);
}

#[test]
fn requests_stay_small_and_lose_no_span() {
    let mut large = traces(&run(&[]), Content::LeftOut);
    let template = large.spans[3].clone();
    for index in 0..20_000u64 {
        large.spans.push(Span { id: (index + 1).to_be_bytes(), ..template.clone() });
    }
    let requests = large.requests();
    assert!(requests.len() > 2);
    assert_eq!(requests.concat(), large.spans);
    for spans in requests {
        assert!(
            to_json(&large, spans).len() <= REQUEST_BYTES_MAX && to_protobuf(&large, spans).len() <= REQUEST_BYTES_MAX
        );
    }
}

#[test]
fn a_span_holds_so_many_events_and_counts_the_rest() {
    let warning = r#""type":"warning","text":"w""#;
    let more = vec![warning; 40];
    let mut events = run(&more);
    let template = events.last().expect("a warning").clone();
    events.extend(std::iter::repeat_n(template, SPAN_EVENTS_MAX));
    let root = &traces(&events, Content::LeftOut).spans[0];
    assert_eq!((root.events.len(), root.dropped_events), (SPAN_EVENTS_MAX, 40));
}

#[test]
fn what_a_collector_answers_is_read() {
    for (bytes, expected) in [
        (&[][..], Some((0, String::new()))),
        (&[0x0a, 0x00], Some((0, String::new()))),
        (&[0x0a, 0x06, 0x08, 0x03, 0x12, 0x02, b'n', b'o'], Some((3, "no".to_owned()))),
        (&[0x0a, 0x09, 0x08], None),
        (&[0x0b], None),
        (&[0xff; 11], None),
    ] {
        assert_eq!(rejected(bytes), expected, "{bytes:?}");
    }
}

proptest! {
    /// Whatever lines are gone, twice there or at odds with the clock.
    #[test]
    fn every_parent_is_there_and_spans_are_nested(
        order in proptest::collection::vec(0usize..57, 1..80),
        seconds in proptest::collection::vec(-5i64..200, 80),
    ) {
        let samples: Vec<Event> = SAMPLES.lines().map(event).collect();
        let events: Vec<Event> = order.iter().zip(&seconds).map(|(index, second)| {
            let at = jiff::Timestamp::from_second(*second).expect("a time");
            Event { at, ..samples[*index].clone() }
        }).collect();
        let traces = traces(&events, Content::Included);
        let by_id: BTreeMap<_, _> = traces.spans.iter().map(|span| (span.id, span)).collect();
        prop_assert_eq!(by_id.len(), traces.spans.len(), "ids are unique");
        let roots: BTreeSet<_> = traces.spans.iter().filter(|span| span.parent.is_none()).map(|span| span.id).collect();
        prop_assert_eq!(roots.len(), 1);
        for span in &traces.spans {
            prop_assert!(span.start <= span.end);
            if let Some(parent) = span.parent {
                let parent = by_id.get(&parent).expect("every parent is there");
                prop_assert!(parent.start <= span.start && span.end <= parent.end);
            }
            for event in &span.events {
                prop_assert!(span.start <= event.at && event.at <= span.end);
            }
        }
    }
}
