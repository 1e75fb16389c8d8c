use adjutant_core::words::tool::ToolCall;
use serde_json::json;

use super::*;

/// One event as it is sent.
fn sent(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap())
}

fn begins(index: u64, item: Value) -> Value {
    json!({ "type": "response.output_item.added", "output_index": index, "item": item })
}

fn ends(index: u64, item: Value) -> Value {
    json!({ "type": "response.output_item.done", "output_index": index, "item": item })
}

fn message(index: u64) -> Value {
    begins(index, json!({ "type": "message", "id": "msg_1", "role": "assistant", "content": [] }))
}

fn call(index: u64, id: &str, name: &str) -> Value {
    begins(index, json!({ "type": "function_call", "id": "fc_1", "call_id": id, "name": name, "arguments": "" }))
}

fn says(index: u64, text: &str) -> Value {
    json!({ "type": "response.output_text.delta", "output_index": index, "content_index": 0, "delta": text })
}

fn argues(index: u64, json: &str) -> Value {
    json!({ "type": "response.function_call_arguments.delta", "output_index": index, "delta": json })
}

fn over() -> Value {
    json!({ "type": "response.completed", "response": { "status": "completed", "usage": {
        "input_tokens": 30, "input_tokens_details": { "cached_tokens": 20, "cache_write_tokens": 0 },
        "output_tokens": 7, "output_tokens_details": { "reasoning_tokens": 4 }, "total_tokens": 37,
    } } })
}

fn incomplete(reason: &str) -> Value {
    json!({ "type": "response.incomplete", "response": { "incomplete_details": { "reason": reason } } })
}

/// Reads a stream cut at `cut`: what was shown, and the reply or the step that ended it otherwise.
fn read(stream: &[u8], cut: usize) -> (Vec<Delta>, Result<Reply, StreamStep>) {
    let mut reader = sse::SseReader::default();
    let mut events = Vec::new();
    let (first, rest) = stream.split_at(cut);
    reader.push(first, &mut events).unwrap();
    reader.push(rest, &mut events).unwrap();
    let mut fold = ResponsesFold::new([("mcp_x_1".to_owned(), "mcp.x".to_owned())].into());
    let mut deltas = Vec::new();
    for event in &events {
        match fold.read(event) {
            StreamStep::Nothing => {}
            StreamStep::Show(delta) => deltas.push(delta),
            StreamStep::Done => return (deltas, Ok(Box::new(fold).finish())),
            step @ (StreamStep::Failed(_) | StreamStep::Unreadable(_)) => return (deltas, Err(step)),
        }
    }
    assert!(!fold.is_whole());
    (deltas, Err(StreamStep::Nothing))
}

fn play(events: &[Value]) -> (Vec<Delta>, Result<Reply, StreamStep>) {
    read(events.iter().map(sent).collect::<String>().as_bytes(), 0)
}

fn text(shown: &[Delta]) -> String {
    let text = |delta: &Delta| match delta {
        Delta::Text(text) => Some(text.clone()),
        Delta::Thinking(_) => None,
    };
    shown.iter().filter_map(text).collect()
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

/// Thinking, as it is when it is whole.
fn reasoning() -> Value {
    let summary = [json!({ "type": "summary_text", "text": "hm" })];
    json!({ "type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "gAAA" })
}

/// Thinking, two messages and two calls side by side, with everything between that a client must bear.
fn busy_stream() -> Vec<Value> {
    vec![
        json!({ "type": "response.created", "sequence_number": 0, "response": { "status": "in_progress" } }),
        json!({ "type": "response.in_progress", "response": {} }),
        begins(0, json!({ "type": "reasoning", "id": "rs_1", "summary": [] })),
        json!({ "type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "hm" }),
        ends(0, reasoning()),
        message(1),
        json!({ "type": "response.content_part.added", "output_index": 1, "part": { "type": "output_text" } }),
        says(1, "größer "),
        json!({ "type": "response.something_new", "output_index": 1, "delta": 3 }),
        says(1, "🦀"),
        json!({ "type": "response.output_text.done", "output_index": 1, "text": "größer 🦀" }),
        ends(
            1,
            json!({
                "type": "message", "phase": "commentary", "content": [{ "type": "output_text", "text": "größer 🦀" }],
            }),
        ),
        call(2, "c1", "read"),
        call(3, "c2", "mcp_x_1"),
        argues(2, "{\"path\":"),
        argues(3, "{\"n\""),
        argues(2, "\"é\"}"),
        json!({ "type": "response.function_call_arguments.done", "output_index": 2, "arguments": "{\"path\":\"é\"}" }),
        argues(3, ":1}"),
        ends(3, json!({ "type": "function_call", "call_id": "c2", "name": "mcp_x_1", "arguments": "{\"n\":1}" })),
        ends(2, json!({ "type": "function_call", "call_id": "c1", "name": "read", "arguments": "{\"path\":\"é\"}" })),
        begins(4, json!({ "type": "item_of_tomorrow", "data": "x" })),
        message(5),
        says(5, "more"),
        over(),
    ]
}

#[test]
fn a_stream_with_everything_is_one_reply_wherever_its_bytes_are_cut() {
    let expected = Reply {
        text: "größer 🦀\n\nmore".to_owned(),
        thinking: "hm".to_owned(),
        provider_data: Some(json!([
            { "whole": reasoning() },
            { "text": { "from": 0, "to": 13, "marks": { "phase": "commentary" } } },
            { "call": { "place": 0 } },
            { "call": { "place": 1 } },
            { "text": { "from": 15, "to": 19 } },
        ])),
        calls: vec![made("c1", "read", json!({ "path": "é" })), made("c2", "mcp.x", json!({ "n": 1 }))],
        usage: Some(Usage {
            input_tokens: Some(10),
            cache_read_tokens: Some(20),
            cache_write_tokens: Some(0),
            output_tokens: Some(7),
            reasoning_tokens: Some(4),
        }),
        stop: Stop::ToolUse,
    };
    let shown = vec![
        Delta::Thinking("hm".to_owned()),
        Delta::Text("größer ".to_owned()),
        Delta::Text("🦀".to_owned()),
        Delta::Text("\n\nmore".to_owned()),
    ];
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
fn an_error_after_any_event_ends_the_stream_in_each_of_its_forms() {
    let whole = busy_stream();
    let inner = json!({ "code": "server_error", "message": "broken" });
    let errors = [
        json!({ "type": "response.failed", "response": { "status": "failed", "error": inner } }),
        json!({ "type": "error", "code": "server_error", "message": "broken", "param": null }),
        json!({ "type": "error", "error": inner }),
    ];
    for error in &errors {
        for events in 0..whole.len() {
            let stream: Vec<Value> = whole[..events].iter().cloned().chain([error.clone(), over()]).collect();
            let expected = json!({ "error": inner }).to_string();
            assert_eq!(play(&stream).1, Err(StreamStep::Failed(expected)), "{error} after {events} events");
        }
    }
    assert_eq!(read(b"event: error\ndata: oh no\n\n", 0).1, Err(StreamStep::Failed("oh no".to_owned())));
}

#[test]
fn an_item_that_comes_as_a_whole_counts_however_little_came_before() {
    let whole = |text: &str| json!({ "type": "message", "content": [{ "type": "output_text", "text": text }] });
    let call = json!({ "type": "function_call", "call_id": "c", "name": "read", "arguments": "{\"a\":1}" });
    let done = json!({ "type": "response.completed", "response": { "output": [whole("one"), call] } });
    for (stream, shown) in [
        (vec![ends(0, whole("one")), ends(1, call.clone()), over()], "one"),
        (vec![message(0), ends(0, whole("one")), begins(1, call.clone()), over()], "one"),
        (vec![message(0), says(0, "on"), ends(0, whole("one")), ends(1, call.clone()), over()], "on"),
        // Only the end has anything.
        (vec![done], ""),
    ] {
        let (deltas, reply) = play(&stream);
        let reply = reply.unwrap();
        assert_eq!((text(&deltas).as_str(), reply.text.as_str()), (shown, "one"), "{stream:?}");
        assert_eq!(reply.calls, [made("c", "read", json!({ "a": 1 }))], "{stream:?}");
    }
}

#[test]
fn events_without_an_index_belong_to_the_item_of_their_id() {
    let item = |kind: &str, item: Value| json!({ "type": format!("response.output_item.{kind}"), "item": item });
    let piece = |kind: &str, id: &str, delta: &str| json!({ "type": kind, "item_id": id, "delta": delta });
    let said = |id: &str, text: &str| {
        let content = [json!({ "type": "output_text", "text": text })];
        json!({ "type": "message", "id": id, "content": content })
    };
    let call =
        |id: &str, json: &str| json!({ "type": "function_call", "call_id": id, "name": "read", "arguments": json });
    let (says, argues) = ("response.output_text.delta", "response.function_call_arguments.delta");
    // As llama.cpp streams: calls have no id but the one that their result is to name.
    let stream = [
        item("added", json!({ "type": "reasoning", "id": "rs_1", "summary": [] })),
        item("added", json!({ "type": "message", "id": "msg_1", "content": [] })),
        piece(says, "msg_1", "I "),
        piece(says, "msg_1", "look."),
        item("added", call("fc_1", "")),
        piece(argues, "fc_1", "{\"a\":"),
        piece(argues, "fc_1", "1}"),
        item("added", call("fc_2", "")),
        piece(argues, "fc_2", "{}"),
        item("done", said("msg_1", "I look.")),
        item("done", call("fc_1", "{\"a\":1}")),
        item("done", call("fc_2", "{}")),
        over(),
    ];
    let (shown, reply) = play(&stream);
    let reply = reply.unwrap();
    assert_eq!((text(&shown).as_str(), reply.text.as_str()), ("I look.", "I look."));
    assert_eq!(reply.calls, [made("fc_1", "read", json!({ "a": 1 })), made("fc_2", "read", json!({}))]);
    for unknown in [piece(says, "msg_2", "x"), piece(argues, "fc_3", "{}")] {
        let events: Vec<Value> = stream[..5].iter().cloned().chain([unknown]).collect();
        assert!(matches!(play(&events).1, Err(StreamStep::Unreadable(_))), "{events:?}");
    }
}

#[test]
fn arguments_that_are_no_json_come_back_with_their_text() {
    let check = |pieces: &[Value], end: Value, expected: Result<Value, &str>| {
        let stream: Vec<Value> = [call(0, "c1", "read")].iter().chain(pieces).chain([&end]).cloned().collect();
        let call = play(&stream).1.unwrap().calls.remove(0);
        match expected {
            Ok(args) => assert_eq!((call.args, call.malformed), (args, None), "{pieces:?}"),
            Err(with) => {
                assert_eq!(call.args, Value::Null, "{pieces:?}");
                assert!(call.malformed.as_deref().is_some_and(|why| why.contains(with)), "{:?}", call.malformed);
            }
        }
    };
    check(&[argues(0, "{\"a\": 1}")], over(), Ok(json!({ "a": 1 })));
    check(&[], over(), Ok(json!({})));
    check(&[argues(0, "{\"a\": ")], over(), Err("{\"a\": "));
    check(&[argues(0, "{\"a\": \"cu")], incomplete("max_output_tokens"), Err("{\"a\": \"cu"));
    check(&[], incomplete("max_output_tokens"), Err("cut"));
}

#[test]
fn every_end_has_its_word() {
    let end = |events: &[Value]| play(events).1.map(|reply| (reply.stop, reply.text));
    let said = [message(0), says(0, "x")];
    let with = |last: Value| end(&[said[0].clone(), said[1].clone(), last]);
    assert_eq!(with(over()), Ok((Stop::EndTurn, "x".to_owned())));
    assert_eq!(with(incomplete("max_output_tokens")), Ok((Stop::MaxTokens, "x".to_owned())));
    let filtered = (Stop::Refusal, "x\n\nits content filter ended the reply".to_owned());
    assert_eq!(with(incomplete("content_filter")), Ok(filtered));
    assert!(
        matches!(with(incomplete("something_new")), Err(StreamStep::Unreadable(why)) if why.contains("something_new"))
    );
    let refusal = |text: &str| json!({ "type": "response.refusal.delta", "output_index": 0, "delta": text });
    let (shown, reply) = play(&[message(0), refusal("I "), refusal("won't"), over()]);
    assert_eq!(text(&shown), "I won't");
    assert_eq!(reply.map(|reply| (reply.stop, reply.text)), Ok((Stop::Refusal, "I won't".to_owned())));
    let whole = json!({ "type": "message", "content": [{ "type": "refusal", "refusal": "no" }] });
    assert_eq!(end(&[refusal("n"), ends(0, whole), over()]), Ok((Stop::Refusal, "no".to_owned())));
}

#[test]
fn a_known_event_that_can_not_be_read_ends_the_reading() {
    for (stream, events) in [
        ("arguments without a call", vec![argues(0, "{}")]),
        ("arguments of a message", vec![message(0), argues(0, "{}")]),
        ("text of a call", vec![call(0, "c", "read"), says(0, "x")]),
        ("text that is none", vec![json!({ "type": "response.output_text.delta", "output_index": 0, "delta": 1 })]),
        ("an item without index", vec![json!({ "type": "response.output_item.added", "item": {} })]),
    ] {
        assert!(matches!(play(&events).1, Err(StreamStep::Unreadable(_))), "{stream}");
    }
    for broken in ["event: response.output_text.delta\ndata: {\"type\n\n", "data: {\"type\n\n"] {
        assert!(matches!(read(broken.as_bytes(), 0).1, Err(StreamStep::Unreadable(_))), "{broken}");
    }
    for skipped in ["event: news\ndata: not JSON\n\n", "data: [DONE]\n\n"] {
        assert_eq!(read(skipped.as_bytes(), 0).1, Err(StreamStep::Nothing), "{skipped}");
    }
}
