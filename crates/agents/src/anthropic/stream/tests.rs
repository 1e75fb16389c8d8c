use adjutant_core::words::tool::ToolCall;
use serde_json::json;

use super::*;

/// One event as it is sent.
fn sent(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap())
}

fn start() -> Value {
    json!({ "type": "message_start", "message": { "id": "msg_1", "role": "assistant", "content": [], "usage": {
        "input_tokens": 10, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 0, "output_tokens": 1,
    } } })
}

fn begin(index: u64, block: &Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn text_block(index: u64) -> Value {
    begin(index, &json!({ "type": "text", "text": "" }))
}

fn call_block(index: u64, id: &str, name: &str) -> Value {
    begin(index, &json!({ "type": "tool_use", "id": id, "name": name, "input": {} }))
}

fn delta(index: u64, delta: &Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn says(index: u64, text: &str) -> Value {
    delta(index, &json!({ "type": "text_delta", "text": text }))
}

fn argues(index: u64, json: &str) -> Value {
    delta(index, &json!({ "type": "input_json_delta", "partial_json": json }))
}

fn end(index: u64) -> Value {
    json!({ "type": "content_block_stop", "index": index })
}

fn stops(reason: &str) -> Value {
    json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 7 } })
}

fn over() -> Value {
    json!({ "type": "message_stop" })
}

/// Reads a stream cut at `cut`: what was shown, and the reply or the step that ended it otherwise.
fn read(stream: &[u8], cut: usize) -> (Vec<Delta>, Result<Reply, StreamStep>) {
    let mut reader = sse::SseReader::default();
    let mut events = Vec::new();
    let (first, rest) = stream.split_at(cut);
    reader.push(first, &mut events).unwrap();
    reader.push(rest, &mut events).unwrap();
    let mut fold = MessagesFold::new([("mcp_x_1".to_owned(), "mcp.x".to_owned())].into());
    let mut deltas = Vec::new();
    for event in &events {
        match fold.read(event) {
            StreamStep::Nothing => {}
            StreamStep::Show(delta) => deltas.push(delta),
            StreamStep::Done => return (deltas, Ok(Box::new(fold).finish())),
            step @ (StreamStep::Failed(_) | StreamStep::Unreadable(_)) => return (deltas, Err(step)),
        }
    }
    (deltas, Err(StreamStep::Nothing))
}

fn play(events: &[Value]) -> (Vec<Delta>, Result<Reply, StreamStep>) {
    read(events.iter().map(sent).collect::<String>().as_bytes(), 0)
}

fn made(id: &str, name: &str, args: Value) -> ToolCall {
    ToolCall {
        call_id: id.to_owned(),
        name: name.to_owned(),
        args,
        malformed: None,
        masked: false,
        resolved: Vec::new(),
    }
}

/// Text, thinking and two calls side by side, with everything between that a client must bear.
fn busy_stream() -> Vec<Value> {
    vec![
        start(),
        json!({ "type": "ping" }),
        begin(0, &json!({ "type": "thinking", "thinking": "" })),
        delta(0, &json!({ "type": "thinking_delta", "thinking": "hm" })),
        delta(0, &json!({ "type": "signature_delta", "signature": "c2ln" })),
        end(0),
        text_block(1),
        says(1, "größer "),
        json!({ "type": "something_new", "index": 1, "delta": 3 }),
        says(1, "🦀"),
        end(1),
        call_block(2, "c1", "read"),
        call_block(3, "c2", "mcp_x_1"),
        argues(2, ""),
        argues(2, "{\"path\":"),
        argues(3, "{\"n\""),
        argues(2, "\"é\"}"),
        argues(3, ":1}"),
        end(3),
        end(2),
        begin(4, &json!({ "type": "redacted_thinking", "data": "x" })),
        end(4),
        stops("tool_use"),
        over(),
    ]
}

#[test]
fn a_stream_with_everything_is_one_reply_wherever_its_bytes_are_cut() {
    let expected = Reply {
        text: "größer 🦀".to_owned(),
        thinking: "hm".to_owned(),
        calls: vec![made("c1", "read", json!({ "path": "é" })), made("c2", "mcp.x", json!({ "n": 1 }))],
        provider_data: Some(json!([
            { "whole": { "type": "thinking", "thinking": "hm", "signature": "c2ln" } },
            { "text": { "from": 0, "to": 13 } },
            { "call": { "place": 0 } },
            { "call": { "place": 1 } },
            { "whole": { "type": "redacted_thinking", "data": "x" } },
        ])),
        usage: Some(Usage {
            input_tokens: Some(10),
            cache_read_tokens: Some(20),
            cache_write_tokens: Some(0),
            output_tokens: Some(7),
            reasoning_tokens: None,
        }),
        stop: Stop::ToolUse,
    };
    let shown = vec![Delta::Thinking("hm".to_owned()), Delta::Text("größer ".to_owned()), Delta::Text("🦀".to_owned())];
    let stream = format!(": keep-alive\n\n{}", busy_stream().iter().map(sent).collect::<String>());
    for stream in [stream.clone(), stream.replace('\n', "\r\n")] {
        for cut in 0..=stream.len() {
            assert_eq!(read(stream.as_bytes(), cut), (shown.clone(), Ok(expected.clone())), "cut at {cut}");
        }
    }
}

#[test]
fn a_stream_that_ends_after_any_event_but_its_last_is_no_reply() {
    let whole = busy_stream();
    for events in 0..whole.len() {
        assert_eq!(play(&whole[..events]).1, Err(StreamStep::Nothing), "after {events} events");
    }
}

#[test]
fn an_error_after_any_event_ends_the_stream() {
    let error = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let whole = busy_stream();
    for events in 0..whole.len() {
        let stream: Vec<Value> = whole[..events].iter().cloned().chain([error.clone(), over()]).collect();
        assert_eq!(play(&stream).1, Err(StreamStep::Failed(error.to_string())), "after {events} events");
    }
}

#[test]
fn arguments_that_are_no_json_come_back_with_their_text() {
    let check = |pieces: &[Value], stop: &str, expected: Result<Value, &str>| {
        let ends = [end(0), stops(stop), over()];
        let stream: Vec<Value> =
            [start(), call_block(0, "c1", "read")].iter().chain(pieces).chain(&ends).cloned().collect();
        let call = play(&stream).1.unwrap().calls.remove(0);
        match expected {
            Ok(args) => assert_eq!((call.args, call.malformed), (args, None), "{pieces:?}"),
            Err(with) => {
                assert_eq!(call.args, Value::Null, "{pieces:?}");
                assert!(call.malformed.as_deref().is_some_and(|why| why.contains(with)), "{:?}", call.malformed);
            }
        }
    };
    check(&[argues(0, "{\"a\": 1}")], "tool_use", Ok(json!({ "a": 1 })));
    check(&[], "tool_use", Ok(json!({})));
    check(&[argues(0, "")], "tool_use", Ok(json!({})));
    check(&[argues(0, "{\"a\": ")], "tool_use", Err("{\"a\": "));
    check(&[argues(0, "{} {}")], "tool_use", Err("{} {}"));
    check(&[argues(0, "{\"a\": \"cu")], "max_tokens", Err("{\"a\": \"cu"));
    check(&[], "max_tokens", Err("cut"));
}

#[test]
fn every_reason_to_stop_has_its_word() {
    let check = |reason: &str, expected: Stop| {
        let (_, reply) = play(&[start(), text_block(0), says(0, "x"), end(0), stops(reason), over()]);
        assert_eq!(reply.unwrap().stop, expected, "{reason}");
    };
    check("end_turn", Stop::EndTurn);
    check("stop_sequence", Stop::EndTurn);
    check("max_tokens", Stop::MaxTokens);
    check("model_context_window_exceeded", Stop::MaxTokens);
    check("refusal", Stop::Refusal);
    check("pause_turn", Stop::EndTurn);
    let (_, reply) = play(&[start(), call_block(0, "c", "read"), end(0), stops("something_new"), over()]);
    assert_eq!(reply.unwrap().stop, Stop::ToolUse);
}

#[test]
fn counts_that_nobody_gave_stay_unknown() {
    let usage = |counts: Value| {
        let start = json!({ "type": "message_start", "message": { "usage": counts } });
        play(&[start, over()]).1.unwrap().usage
    };
    assert_eq!(usage(Value::Null), None);
    assert_eq!(usage(json!({ "input_tokens": null })), None);
    let expected = Usage { input_tokens: Some(3), ..Usage::default() };
    assert_eq!(usage(json!({ "input_tokens": 3 })), Some(expected));
}

#[test]
fn a_known_event_that_can_not_be_read_ends_the_reading() {
    for (stream, events) in [
        ("a delta without its block", vec![start(), says(0, "x")]),
        ("a text in a call", vec![start(), call_block(0, "c", "read"), says(0, "x")]),
        ("arguments in a text", vec![start(), text_block(0), argues(0, "{}")]),
        ("a text that is none", vec![text_block(0), delta(0, &json!({ "type": "text_delta", "text": 1 }))]),
        ("a block without index", vec![json!({ "type": "content_block_start", "content_block": {} })]),
    ] {
        assert!(matches!(play(&events).1, Err(StreamStep::Unreadable(_))), "{stream}");
    }
    let broken = read(b"event: content_block_delta\ndata: {\"type\n\n", 0).1;
    assert_eq!(broken, Err(StreamStep::Unreadable("no JSON in the event `content_block_delta`".to_owned())));
    assert_eq!(read(b"event: error\ndata: oh no\n\n", 0).1, Err(StreamStep::Failed("oh no".to_owned())));
    assert_eq!(read(b"event: news\ndata: not JSON\n\n", 0).1, Err(StreamStep::Nothing));
}
