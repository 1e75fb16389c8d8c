//! Content is gone, structure stays, and every event has been decided about.

use std::collections::BTreeMap;

use serde_json::Value;

use super::*;
use crate::trace::{EventKind, Line, wire};

/// One line of each event, every field of it filled in; content says so in a word that nothing else has.
const SAMPLES: &str = include_str!("samples.ndjson");

/// A word that all content in the samples holds.
const CANARY: &str = "CANARY";

/// The source of each family of events, and the line on which its events begin.
const FAMILIES: &[(&str, &str)] = &[
    (include_str!("../event/run.rs"), "pub enum RunEvent {"),
    (include_str!("../event/part.rs"), "pub enum PartEvent {"),
    (include_str!("../event/turn.rs"), "pub enum TurnEvent {"),
    (include_str!("../event/call.rs"), "pub enum CallEvent {"),
    (include_str!("../event/ask.rs"), "pub enum AskEvent {"),
    (include_str!("../event/gate.rs"), "pub enum GateEvent {"),
    (include_str!("../event/budget.rs"), "pub enum BudgetEvent {"),
    (include_str!("../event/crew.rs"), "pub enum CrewEvent {"),
    (include_str!("../event/deed.rs"), "pub enum DeedEvent {"),
    (include_str!("../event/rounds.rs"), "pub enum LoopEvent {"),
    (include_str!("../event/handoff.rs"), "pub enum HandoffEvent {"),
    (include_str!("../event/learned.rs"), "pub enum LearnedEvent {"),
    (include_str!("../event/host.rs"), "pub enum HostEvent {"),
];

/// The events of the vocabulary with their fields, from its source.
fn vocabulary() -> BTreeMap<String, Vec<String>> {
    let block = |source: &'static str, head: &str| {
        let begin = source.find(head).expect("it is there");
        source[begin..].lines().skip(1).take_while(|line| *line != "}").collect::<Vec<_>>()
    };
    let mut events: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut event = String::new();
    for line in FAMILIES.iter().flat_map(|(source, head)| block(source, head)) {
        let rest = line.trim_start();
        if line.len() - rest.len() == 4 && rest.starts_with(|c: char| c.is_ascii_uppercase()) {
            let name: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
            event = snake(&name);
            events.insert(event.clone(), Vec::new());
        } else if line.len() - rest.len() == 8
            && let Some((field, _)) = rest.split_once(": ").filter(|(field, _)| is_field(field))
        {
            events.get_mut(&event).expect("an event has begun").push(field.to_owned());
        }
    }
    let fields = |head: &str| {
        let lines = block(include_str!("../options.rs"), head);
        let fields = lines.iter().filter_map(|line| line.trim_start().strip_prefix("pub ")?.split_once(": "));
        fields.map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
    };
    events.insert("run_start".to_owned(), fields("pub struct RunStart {"));
    // Fields of a crew stand among those of the options.
    let options = ["pub struct RunOptions {", "pub struct CrewOptions {"].map(fields).concat();
    events.insert("options".to_owned(), options);
    events
}

fn fields_of(event: &str) -> Option<&'static [Field]> {
    EventKind::named(event).map(|kind| kind.spec().fields)
}

fn is_field(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

fn snake(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

fn samples() -> impl Iterator<Item = (&'static str, Value)> {
    SAMPLES.lines().map(|line| (line, serde_json::from_str(line).expect("a sample is JSON")))
}

#[test]
fn every_event_and_every_field_is_decided_about() {
    let vocabulary = vocabulary();
    let missing: Vec<&str> =
        EventKind::ALL.iter().map(|kind| kind.as_str()).filter(|kind| !vocabulary.contains_key(*kind)).collect();
    assert!(missing.is_empty(), "a family is missing in FAMILIES: {missing:?}");
    for (event, fields) in &vocabulary {
        let rules = if event == "options" {
            let Some(RedactionRule::Object(options)) =
                fields_of("run_start").and_then(|rules| rule_in(rules, "options"))
            else {
                panic!("options are an object")
            };
            options
        } else {
            fields_of(event).unwrap_or_else(|| panic!("what of `{event}` is content? say so in its family"))
        };
        // Who takes the turns, and what the run is, stand among the options on the wire.
        for field in fields.iter().filter(|field| event != "options" || !["agent", "work"].contains(&field.as_str())) {
            assert!(rule_in(rules, field).is_some(), "is `{field}` of `{event}` content? say so in its family");
        }
    }
}

#[test]
fn there_is_a_sample_of_every_event_with_every_field() {
    let samples: BTreeMap<String, Value> =
        samples().map(|(_, sample)| (sample["type"].as_str().expect("a type").to_owned(), sample)).collect();
    for (event, fields) in vocabulary().iter().filter(|(event, _)| *event != "options") {
        let sample = samples.get(event).unwrap_or_else(|| panic!("samples.ndjson has no `{event}`"));
        for field in fields {
            assert!(sample.get(field).is_some(), "the sample of `{event}` has no `{field}`");
        }
    }
}

#[test]
fn no_content_survives_and_what_is_left_reads_as_the_same_event() {
    let mut hidden = 0;
    for (line, sample) in samples() {
        let kind = sample["type"].as_str().expect("a type");
        assert!(matches!(wire::decode(line), Ok(Line::Event(_))), "{line}: {:?}", wire::decode(line));
        let redacted = redact_line(line);
        assert!(!redacted.contains(CANARY), "{kind}: {redacted}");
        assert_eq!(redacted == line, !line.contains(CANARY), "{kind}: {redacted}");
        assert_eq!(is_marked(&redacted) || kind == "run_start", line.contains(CANARY) || kind == "run_start", "{kind}");
        assert!(matches!(wire::decode(&redacted), Ok(Line::Event(_))), "{redacted}: {:?}", wire::decode(&redacted));
        assert_eq!(redact_line(&redacted), redacted, "{kind} is redacted twice");
        let redacted: Value = serde_json::from_str(&redacted).expect("JSON");
        for head in ["seq", "at", "type", "part", "prev", "slot", "duration_ms", "usage", "artifact"] {
            assert_eq!(redacted.get(head), sample.get(head), "{kind}");
        }
        hidden += u32::from(line.contains(CANARY));
    }
    assert!(hidden > 25, "only {hidden} samples have content");
}

/// Puts a sentence in place of every text below `value`, names of fields left out.
fn say_everywhere(value: &mut Value, sentence: &str) {
    match value {
        Value::String(text) => *text = sentence.to_owned(),
        Value::Array(items) => items.iter_mut().for_each(|item| say_everywhere(item, sentence)),
        Value::Object(fields) => fields.values_mut().for_each(|field| say_everywhere(field, sentence)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn a_sentence_survives_nowhere_not_even_where_a_word_belongs() {
    for (_, sample) in samples() {
        for name in sample.as_object().expect("an object").keys().filter(|name| *name != "type") {
            for content in [
                Value::from("a SENTENCE of ours"),
                serde_json::json!(["a SENTENCE of ours"]),
                serde_json::json!([{ "a SENTENCE of ours": 1 }]),
                serde_json::json!({ "x": { "y": ["a SENTENCE of ours"] }, "a SENTENCE of ours": 2 }),
            ] {
                let mut changed = sample.clone();
                changed[name] = content;
                let redacted = redact_line(&changed.to_string()).into_owned();
                assert!(!redacted.contains("SENTENCE"), "{name}: {redacted}");
            }
        }
        let mut changed = sample.clone();
        say_everywhere(&mut changed, "a SENTENCE of ours");
        changed["type"] = sample["type"].clone();
        assert!(!redact_line(&changed.to_string()).contains("SENTENCE"), "{sample}");
    }
}

#[test]
fn what_nobody_has_decided_about_is_content() {
    for (line, expected) in [
        (
            r#"{"seq":3,"at":"x","type":"some_future_event","text":"word","n":5,"more":{"a":"b"},"prev":"00ff"}"#,
            r#"{"seq":3,"at":"x","type":"some_future_event","text":"[redacted: 4 bytes]","n":5,"more":{"redacted_bytes":9},"prev":"00ff"}"#,
        ),
        (
            r#"{"seq":3,"type":"warning","text":"","mood":"fine"}"#,
            r#"{"seq":3,"type":"warning","text":"","mood":"[redacted: 4 bytes]"}"#,
        ),
        (r#"{"type":"two words here"}"#, r#"{"type":"[redacted: 14 bytes]"}"#),
        ("no JSON", r#"{"type":"unreadable_line","bytes":7}"#),
        (r#"["x"]"#, r#"{"type":"unreadable_line","bytes":5}"#),
        (r#"{"seq":1,"text":"no type"}"#, r#"{"type":"unreadable_line","bytes":26}"#),
    ] {
        assert_eq!(redact_line(line), expected);
    }
}
