//! The wire formats against files that other clients are held to as well: what is sent for a turn, and what
//! comes of a stream however its bytes are cut.
//!
//! The files are in `tests/vectors/wire/`, one folder for each format: `NAME.sse` is a stream and `NAME.json`
//! what it comes to; `NAME.request.json` is what is sent for the turn of that name. The same files are read by
//! the official clients, see `tests/sdk/check.py`. With `ADJUTANT_WRITE_VECTORS` set, the files that are
//! compared with are written instead: look at what changed before it is committed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_agents::anthropic::Messages;
use adjutant_agents::api::{StreamStep, Terms, Wire};
use adjutant_agents::gemini::Gemini;
use adjutant_agents::openai::{Chat, Responses};
use adjutant_agents::sse;
use adjutant_core::words::tool::{ToolCall, ToolEffect, ToolSpec};
use adjutant_ports::{Delta, OutgoingMessage, OutgoingRole, Reply, Stop, TurnRequest};
use serde_json::{Map, Value, json};

/// The formats, by the folders of their files. A new one is a line here and one in `tests/sdk/check.py`.
fn formats() -> Vec<(&'static str, Box<dyn Wire>, &'static str)> {
    vec![
        ("anthropic", Box::new(Messages), "claude-test"),
        ("gemini", Box::new(Gemini), "gemini-test"),
        ("openai-responses", Box::new(Responses), "gpt-test"),
        ("openai-chat", Box::new(Chat::openai()), "gpt-test"),
    ]
}

/// The turns that requests are written for, by their names.
fn turns() -> Vec<(&'static str, TurnRequest)> {
    let go = || said(OutgoingRole::User, "Do it: größe, 日本語, 🦀, \"quotes\", \\ and \u{7}.", Vec::new());
    let names = ["read_file", "mcp.server/read", "größe", "1st", &"x".repeat(70)].map(spec);
    vec![
        ("first_turn", turn("Orders.\n\nMore of them.", vec![go()], &[])),
        ("tools", turn("Orders.", vec![go()], &names)),
        ("no_system", turn("", vec![go(), go()], &[])),
        ("no_calls", TurnRequest { may_call: false, ..turn("Orders.", vec![go()], &names[..2]) }),
        (
            "parallel_calls",
            turn(
                "Orders.",
                vec![
                    go(),
                    said(
                        OutgoingRole::Assistant,
                        "Three at once.",
                        vec![
                            call("call_1_1", "read_file", json!({ "path": "é", "deep": { "a": [1, null, 1.5] } })),
                            call("toolu_2", "mcp.server/read", json!({})),
                            call("an id/with.everything", "1st", Value::Null),
                        ],
                    ),
                    result("an id/with.everything", "1st", "the arguments are no JSON", true),
                    result("toolu_2", "mcp.server/read", "", false),
                    result("call_1_1", "read_file", "größe 🦀", false),
                    said(OutgoingRole::User, "By the way.", Vec::new()),
                ],
                &names,
            ),
        ),
        (
            "several_steps",
            turn(
                "Orders.",
                vec![
                    go(),
                    said(OutgoingRole::Assistant, "", vec![call("call_1_1", "read_file", json!({ "path": "a" }))]),
                    result("call_1_1", "read_file", "a", false),
                    said(OutgoingRole::Assistant, "Next.", vec![call("c2", "read_file", json!({ "path": "b" }))]),
                    result("c2", "read_file", "no such file", true),
                    said(OutgoingRole::Assistant, "Done.", Vec::new()),
                    said(OutgoingRole::User, "Go on.", Vec::new()),
                ],
                &names[..1],
            ),
        ),
    ]
}

fn turn(system: &str, messages: Vec<OutgoingMessage>, tools: &[ToolSpec]) -> TurnRequest {
    TurnRequest {
        part: String::new(),
        turns_before: 0,
        turn: 7,
        attempt: 1,
        turns_left_out: 0,
        system: system.to_owned(),
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: tools.into(),
        may_call: true,
        output_max: None,
    }
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: "Reads \"things\"; größe.".to_owned(),
        categories: Vec::new(),
        schema: json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "where", "minLength": 1 },
                "depth": { "type": ["integer", "null"], "default": null },
            },
            "required": ["path"],
            "additionalProperties": false,
        }),
        effect: ToolEffect::Reads,
    }
}

fn said(role: OutgoingRole, text: &str, calls: Vec<ToolCall>) -> OutgoingMessage {
    OutgoingMessage { role, text: text.into(), calls, provider_data: None }
}

fn call(id: &str, name: &str, args: Value) -> ToolCall {
    ToolCall {
        call_id: id.to_owned(),
        name: name.to_owned(),
        args,
        malformed: None,
        masked: false,
        resolved: Vec::new(),
    }
}

fn result(id: &str, name: &str, text: &str, is_error: bool) -> OutgoingMessage {
    said(OutgoingRole::Tool { call_id: id.to_owned(), name: name.to_owned(), is_error }, text, Vec::new())
}

fn folder(format: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/wire").join(format)
}

/// Fails unless the file holds `value`; or writes it, if that was asked for.
#[track_caller]
fn check(path: &Path, value: &Value) {
    let text = format!("{value:#}\n");
    if std::env::var_os("ADJUTANT_WRITE_VECTORS").is_some() {
        fs::write(path, text).unwrap();
        return;
    }
    let kept = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(kept, text, "{}", path.display());
}

/// The turn behind a reply in which a model thought and called: what its provider wants back goes with it. None for a
/// format that has no such stream.
fn after_thinking(format: &str, wire: &dyn Wire) -> Option<TurnRequest> {
    let stream = fs::read_to_string(folder(format).join("signed_thinking.sse")).ok()?;
    let mut reading = wire.reading(&turn("", Vec::new(), &[]));
    for event in events(stream.as_bytes(), 0) {
        reading.read(&event);
    }
    let Reply { text, calls, provider_data, .. } = reading.finish();
    assert!(provider_data.is_some(), "{format}: nothing is kept of the thinking");
    let results: Vec<OutgoingMessage> =
        calls.iter().map(|call| result(&call.call_id, &call.name, "what came of it", false)).collect();
    let spoken = OutgoingMessage { role: OutgoingRole::Assistant, text: text.into(), calls, provider_data };
    let go = said(OutgoingRole::User, "Do it.", Vec::new());
    let on = said(OutgoingRole::User, "Go on.", Vec::new());
    let messages = [go, spoken].into_iter().chain(results).chain([on]).collect();
    Some(turn("Orders.", messages, &[spec("read_file")]))
}

#[test]
fn what_is_sent_for_a_turn_is_what_the_files_say() {
    for (format, wire, model) in formats() {
        let thinking = after_thinking(format, &*wire).map(|turn| ("after_thinking", turn));
        for (name, turn) in turns().into_iter().chain(thinking) {
            let headers: Vec<&str> = wire.headers("KEY").into_iter().map(|(name, _)| name).collect();
            let request = json!({
                "path": wire.path(model),
                "headers": headers,
                "body": wire.body(&turn, &Terms::new(model, 1024)),
            });
            check(&folder(format).join(format!("{name}.request.json")), &request);
        }
    }
}

#[test]
fn a_stream_comes_to_the_same_wherever_its_bytes_are_cut() {
    for (format, wire, _) in formats() {
        let mut streams: Vec<PathBuf> =
            fs::read_dir(folder(format)).unwrap().map(|file| file.unwrap().path()).collect();
        streams.retain(|path| path.extension().is_some_and(|kind| kind == "sse"));
        assert!(!streams.is_empty(), "{format} has no streams");
        for path in streams {
            let stream = fs::read_to_string(&path).unwrap();
            let events = events(stream.as_bytes(), 0);
            check(&path.with_extension("json"), &read(&*wire, &events));
            // Not every official client bears a comment, so these are not in the files.
            let commented = format!(": keep-alive\n\n{}", stream.replace("\n\n", "\n\n: keep-alive\n\n"));
            for stream in [&commented, &stream.replace('\n', "\r\n"), &stream] {
                for cut in 0..=stream.len() {
                    // The same events are the same reply: a reading has nothing else to go by.
                    assert_eq!(self::events(stream.as_bytes(), cut), events, "{} cut at {cut}", path.display());
                }
            }
        }
    }
}

/// The events of a stream cut at `cut`.
fn events(stream: &[u8], cut: usize) -> Vec<sse::SseEvent> {
    let mut reader = sse::SseReader::default();
    let mut events = Vec::new();
    let (first, rest) = stream.split_at(cut);
    reader.push(first, &mut events).unwrap();
    reader.push(rest, &mut events).unwrap();
    events
}

/// Returns the outcome of a stream, in a form that other clients can be compared with.
fn read(wire: &dyn Wire, events: &[sse::SseEvent]) -> Value {
    let mut reading = wire.reading(&turn("", Vec::new(), &[]));
    let (mut shown, mut thinking) = (String::new(), String::new());
    let mut is_done = false;
    for event in events {
        match reading.read(event) {
            StreamStep::Nothing => {}
            StreamStep::Show(Delta::Text(piece)) => shown.push_str(&piece),
            StreamStep::Show(Delta::Thinking(piece)) => thinking.push_str(&piece),
            StreamStep::Done => {
                is_done = true;
                break;
            }
            StreamStep::Failed(error) => {
                return json!({ "failed": serde_json::from_str::<Value>(&error).unwrap_or(Value::String(error)) });
            }
            StreamStep::Unreadable(why) => return json!({ "unreadable": why }),
        }
    }
    if !is_done && !reading.is_whole() {
        return json!({ "unfinished": true });
    }
    let reply = reading.finish();
    // A refusal's text is the provider's reason, where there is one.
    assert!(reply.text == shown || reply.stop == Stop::Refusal, "shown: {shown}\nreply: {}", reply.text);
    normal(&reply, &shown, &thinking)
}

fn normal(reply: &Reply, text: &str, thinking: &str) -> Value {
    let calls: Vec<Value> = reply
        .calls
        .iter()
        .map(|call| match &call.malformed {
            None => json!({ "id": call.call_id, "name": call.name, "args": call.args }),
            Some(_) => json!({ "id": call.call_id, "name": call.name, "malformed": true }),
        })
        .collect();
    let stop = match reply.stop {
        Stop::EndTurn => "end_turn",
        Stop::ToolUse => "tool_use",
        Stop::MaxTokens => "max_tokens",
        Stop::Refusal => "refusal",
    };
    let usage = reply.usage.map_or_else(Map::new, |usage| match serde_json::to_value(usage) {
        Ok(Value::Object(counts)) => counts,
        other => panic!("usage is no object: {other:?}"),
    });
    json!({ "text": text, "thinking": thinking, "calls": calls, "stop": stop, "usage": usage })
}
