use adjutant_core::words::tool::ToolCall;
use serde_json::json;

use super::*;

/// One chunk as it is sent.
fn sent(data: &Value) -> String {
    format!("data: {data}\n\n")
}

const OVER: &str = "data: [DONE]\n\n";

fn delta(delta: Value) -> Value {
    json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [
        { "index": 0, "delta": delta, "finish_reason": null },
    ], "usage": null })
}

fn says(text: &str) -> Value {
    delta(json!({ "content": text }))
}

/// A chunk with one piece of a call.
fn calls(piece: Value) -> Value {
    delta(json!({ "tool_calls": [piece] }))
}

fn stops(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

fn counts() -> Value {
    json!({ "choices": [], "usage": { "prompt_tokens": 30, "completion_tokens": 7, "total_tokens": 37,
        "prompt_tokens_details": { "cached_tokens": 20 }, "completion_tokens_details": { "reasoning_tokens": 4 } } })
}

/// Reads a stream cut at `cut`: what was shown, and the reply or the step that ended it otherwise. The stream's
/// end is `Step::Nothing` unless the reply is whole there.
fn read(stream: &[u8], cut: usize) -> (Vec<Delta>, Result<Reply, StreamStep>) {
    let mut reader = sse::SseReader::default();
    let mut events = Vec::new();
    let (first, rest) = stream.split_at(cut);
    reader.push(first, &mut events).unwrap();
    reader.push(rest, &mut events).unwrap();
    let mut fold = ChatFold::new([("mcp_x_1".to_owned(), "mcp.x".to_owned())].into(), 3);
    let mut deltas = Vec::new();
    for event in &events {
        match fold.read(event) {
            StreamStep::Nothing => {}
            StreamStep::Show(delta) => deltas.push(delta),
            StreamStep::Done => return (deltas, Ok(Box::new(fold).finish())),
            step @ (StreamStep::Failed(_) | StreamStep::Unreadable(_)) => return (deltas, Err(step)),
        }
    }
    let ended = if fold.is_whole() { Ok(Box::new(fold).finish()) } else { Err(StreamStep::Nothing) };
    (deltas, ended)
}

fn play(chunks: &[Value]) -> (Vec<Delta>, Result<Reply, StreamStep>) {
    let stream: String = chunks.iter().map(sent).collect();
    read((stream + OVER).as_bytes(), 0)
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

/// The calls that come of some pieces.
#[track_caller]
fn check_calls(chunks: &[Value], expected: &[ToolCall]) {
    let stream: Vec<Value> = chunks.iter().cloned().chain([stops("tool_calls")]).collect();
    assert_eq!(play(&stream).1.unwrap().calls, expected, "{chunks:?}");
}

/// Thinking, text and two calls side by side, with everything between that a client must bear.
fn busy_stream() -> Vec<Value> {
    vec![
        delta(json!({ "role": "assistant", "content": "", "refusal": null })),
        delta(json!({ "reasoning_content": "hm" })),
        says("größer "),
        json!({ "object": "chat.completion.chunk.of.tomorrow", "obfuscation": "x", "choices": [] }),
        says("🦀"),
        calls(json!({ "index": 0, "id": "c1", "type": "function", "function": { "name": "read", "arguments": "" } })),
        delta(json!({ "tool_calls": [
            { "index": 0, "function": { "arguments": "{\"path\":" } },
            { "index": 1, "id": "c2", "type": "function", "function": { "name": "mcp_x_1", "arguments": "{" } },
        ] })),
        calls(json!({ "index": 1, "function": { "arguments": "\"n\"" } })),
        calls(json!({ "index": 0, "function": { "arguments": "\"é\"}" } })),
        calls(json!({ "index": 1, "function": { "arguments": ":1}" } })),
        stops("tool_calls"),
        counts(),
    ]
}

fn busy_reply() -> Reply {
    Reply {
        text: "größer 🦀".to_owned(),
        thinking: "hm".to_owned(),
        provider_data: Some(json!([
            { "whole": { "reasoning_content": "hm" } },
            { "call": { "place": 0 } },
            { "call": { "place": 1 } },
        ])),
        calls: vec![made("c1", "read", json!({ "path": "é" })), made("c2", "mcp.x", json!({ "n": 1 }))],
        usage: Some(Usage {
            input_tokens: Some(10),
            cache_read_tokens: Some(20),
            cache_write_tokens: None,
            output_tokens: Some(7),
            reasoning_tokens: Some(4),
        }),
        stop: Stop::ToolUse,
    }
}

#[test]
fn a_stream_with_everything_is_one_reply_wherever_its_bytes_are_cut() {
    let shown = vec![Delta::Thinking("hm".to_owned()), Delta::Text("größer ".to_owned()), Delta::Text("🦀".to_owned())];
    let chunks: String = busy_stream().iter().map(sent).collect();
    let stream = format!(": OPENROUTER PROCESSING\n\n{chunks}event: ping\ndata: hello\n\n{OVER}");
    for stream in [stream.clone(), stream.replace('\n', "\r\n")] {
        for cut in 0..=stream.len() {
            assert_eq!(read(stream.as_bytes(), cut), (shown.clone(), Ok(busy_reply())), "cut at {cut}");
        }
    }
}

#[test]
fn a_stream_that_ends_is_a_reply_only_behind_its_reason_to_stop() {
    let whole = busy_stream();
    for count in 0..=whole.len() {
        let stream: String = whole[..count].iter().map(sent).collect();
        let (ended, marked) = (read(stream.as_bytes(), 0).1, read((stream + OVER).as_bytes(), 0).1);
        match whole.len() - count {
            0 => assert_eq!((ended, marked), (Ok(busy_reply()), Ok(busy_reply()))),
            // Only the counts are missing, and they stay unknown.
            1 => {
                let uncounted = Reply { usage: None, ..busy_reply() };
                assert_eq!((ended, marked), (Ok(uncounted.clone()), Ok(uncounted)));
            }
            _ => {
                assert_eq!(ended, Err(StreamStep::Nothing), "after {count} chunks");
                assert!(matches!(marked, Err(StreamStep::Unreadable(_))), "after {count} chunks");
            }
        }
    }
}

#[test]
fn an_error_after_any_chunk_ends_the_stream_in_each_of_its_forms() {
    let openrouter = json!({ "error": { "code": 502, "message": "down" }, "choices": [
        { "index": 0, "delta": { "content": "" }, "finish_reason": "error" },
    ] });
    let forms = [
        (json!({ "error": { "message": "down", "type": "server_error" } }), None),
        (json!({ "error": "an error was encountered while running the model" }), None),
        (openrouter, Some(json!({ "error": { "code": 502, "message": "down" } }))),
        (json!({ "choices": [{ "error": { "code": 429 }, "delta": {} }] }), Some(json!({ "error": { "code": 429 } }))),
        (json!({ "object": "error", "message": "down", "type": "BadRequestError", "code": 400 }), None),
        (json!({ "choices": [], "x_groq": { "error": "down" } }), Some(json!({ "error": "down" }))),
    ];
    let whole = busy_stream();
    for (form, expected) in &forms {
        for count in 0..whole.len() {
            let stream: Vec<Value> = whole[..count].iter().chain([form]).cloned().collect();
            let expected = expected.as_ref().unwrap_or(form).to_string();
            assert_eq!(play(&stream).1, Err(StreamStep::Failed(expected)), "{form} after {count} chunks");
        }
    }
    for data in ["{\"error\":{\"message\":\"down\"}}", "oh no"] {
        let stream = format!("{}event: error\ndata: {data}\n\n{OVER}", sent(&says("x")));
        assert_eq!(read(stream.as_bytes(), 0).1, Err(StreamStep::Failed(data.to_owned())), "{data}");
    }
}

#[test]
fn calls_are_told_apart_however_a_server_marks_them() {
    let piece = |index: Value, id: Value, name: Value, arguments: Value| {
        calls(json!({ "index": index, "id": id, "function": { "name": name, "arguments": arguments } }))
    };
    let none = || Value::Null;
    let two = [made("a", "read", json!({ "n": 1 })), made("b", "read", json!({ "n": 2 }))];
    let unnamed = [made("call_3_1", "read", json!({ "n": 1 })), made("call_3_2", "read", json!({ "n": 2 }))];
    let (one, other) = (json!("{\"n\":1}"), json!("{\"n\":2}"));
    // Whole calls, all with index 0.
    check_calls(
        &[
            piece(json!(0), json!("a"), json!("read"), one.clone()),
            piece(json!(0), json!("b"), json!("read"), other.clone()),
        ],
        &two,
    );
    // Neither index nor id.
    check_calls(
        &[piece(none(), none(), json!("read"), one.clone()), piece(none(), none(), json!("read"), other.clone())],
        &unnamed,
    );
    // An index and no id, and index 0 without ids.
    for second in [1, 0] {
        check_calls(
            &[
                piece(json!(0), json!(""), json!("read"), one.clone()),
                piece(json!(second), json!(""), json!("read"), other.clone()),
            ],
            &unnamed,
        );
    }
    // The same id twice.
    check_calls(
        &[
            piece(json!(0), json!("a"), json!("read"), one.clone()),
            piece(json!(1), json!("a"), json!("read"), other.clone()),
        ],
        &[two[0].clone(), made("call_3_2", "read", json!({ "n": 2 }))],
    );
    // Id and name in every piece.
    check_calls(
        &[
            piece(json!(0), json!("a"), json!("read"), json!("{\"n\"")),
            piece(json!(0), json!("a"), json!("read"), json!(":1}")),
            piece(json!(0), none(), json!("read"), json!("")),
        ],
        &two[..1],
    );
    // The name behind the id, the id behind the name, and pieces without an index.
    check_calls(
        &[
            piece(json!(0), json!("a"), none(), none()),
            piece(json!(0), none(), json!("read"), json!("{\"n\":1}")),
            piece(json!(1), none(), json!("read"), json!("{\"n\"")),
            piece(json!(1), json!("b"), none(), json!(":2}")),
        ],
        &two,
    );
    check_calls(
        &[
            piece(none(), json!("a"), json!("read"), json!("{\"n\"")),
            piece(none(), none(), none(), json!(":1}")),
            piece(none(), json!("b"), json!("read"), json!("{\"n\":2")),
            piece(none(), json!("b"), none(), json!("}")),
        ],
        &two,
    );
    // Arguments that are no text, and those of the form before there were tools.
    check_calls(&[piece(json!(0), json!("a"), json!("read"), json!({ "n": 1 }))], &two[..1]);
    check_calls(
        &[
            delta(json!({ "function_call": { "name": "read", "arguments": "{\"n\"" } })),
            delta(json!({ "function_call": { "arguments": ":1}" } })),
        ],
        &unnamed[..1],
    );
}

#[test]
fn arguments_that_are_no_json_come_back_with_their_text() {
    let check = |json: Value, reason: &str, expected: Result<Value, &str>| {
        let piece = calls(json!({ "index": 0, "id": "c", "function": { "name": "read", "arguments": json } }));
        let call = play(&[piece, stops(reason)]).1.unwrap().calls.remove(0);
        match expected {
            Ok(args) => assert_eq!((call.args, call.malformed), (args, None), "{json}"),
            Err(with) => {
                assert_eq!(call.args, Value::Null, "{json}");
                assert!(call.malformed.as_deref().is_some_and(|why| why.contains(with)), "{:?}", call.malformed);
            }
        }
    };
    check(json!(""), "tool_calls", Ok(json!({})));
    check(Value::Null, "stop", Ok(json!({})));
    check(json!("{\"a\": "), "tool_calls", Err("{\"a\": "));
    check(json!("{} {}"), "tool_calls", Err("{} {}"));
    check(json!("{\"a\": \"cu"), "length", Err("{\"a\": \"cu"));
    check(json!(""), "length", Err("cut"));
}

#[test]
fn every_reason_to_stop_has_its_word() {
    let check = |reason: &str, said: &str, with_call: bool, expected: Stop| {
        let call = calls(json!({ "index": 0, "id": "c", "function": { "name": "read", "arguments": "{}" } }));
        let call = with_call.then_some(call);
        let stream: Vec<Value> = [says("x")].into_iter().chain(call).chain([stops(reason)]).collect();
        let reply = play(&stream).1.unwrap();
        assert_eq!((reply.stop, reply.text.as_str()), (expected, said), "{reason}");
    };
    check("stop", "x", false, Stop::EndTurn);
    check("tool_calls", "x", true, Stop::ToolUse);
    check("function_call", "x", true, Stop::ToolUse);
    check("something_new", "x", false, Stop::EndTurn);
    // Servers that say `stop` whatever it was.
    check("stop", "x", true, Stop::ToolUse);
    check("length", "x", false, Stop::MaxTokens);
    check("model_length", "x", true, Stop::MaxTokens);
    check("model_context_window_exceeded", "x", false, Stop::MaxTokens);
    check("content_filter", "x\n\nits content filter ended the reply", false, Stop::Refusal);
    for reason in GIVEN_UP {
        let given_up = play(&[says("x"), stops(reason)]).1;
        assert!(matches!(given_up, Err(StreamStep::Unreadable(why)) if why.contains(reason)), "{reason}");
    }
    assert!(matches!(play(&[says("x"), stops("")]).1, Err(StreamStep::Unreadable(_))));
}

#[test]
fn what_a_model_says_instead_of_an_answer_is_its_refusal() {
    let refuses = |text: &str| delta(json!({ "refusal": text }));
    let (shown, reply) = play(&[refuses("I "), refuses("won't"), stops("stop")]);
    assert_eq!(shown, [Delta::Text("I ".to_owned()), Delta::Text("won't".to_owned())]);
    assert_eq!(reply.map(|reply| (reply.stop, reply.text)), Ok((Stop::Refusal, "I won't".to_owned())));
}

#[test]
fn text_and_thinking_are_read_in_each_of_their_forms() {
    let (shown, reply) = play(&[
        delta(json!({ "reasoning": "a", "content": "" })),
        delta(json!({ "reasoning_content": "b", "reasoning": "b" })),
        delta(json!({ "content": [{ "type": "text", "text": "one" }, { "type": "reference" }] })),
        delta(json!({ "content": null })),
        json!({ "choices": [{ "index": 1, "delta": { "content": "another" }, "finish_reason": "stop" }] }),
        json!({ "choices": [{ "delta": { "content": " two" }, "finish_reason": "stop" }] }),
        json!({ "choices": [], "x_groq": { "usage": { "prompt_tokens": 3 } } }),
    ]);
    let thought = |text: &str| Delta::Thinking(text.to_owned());
    let said = |text: &str| Delta::Text(text.to_owned());
    assert_eq!(shown, [thought("a"), thought("b"), said("one"), said(" two")]);
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.usage.and_then(|usage| usage.input_tokens)), ("one two", Some(3)));
}

#[test]
fn a_chunk_that_is_no_json_ends_the_reading() {
    let broken = read(b"data: {\"choices\": [\n\n", 0).1;
    assert_eq!(broken, Err(StreamStep::Unreadable("a chunk is no JSON".to_owned())));
}

#[test]
fn what_the_server_wants_back_is_kept() {
    let detail = |detail: Value| delta(json!({ "reasoning": "x", "reasoning_details": [detail] }));
    let text = |text: &str| json!({ "type": "reasoning.text", "index": 0, "format": "f", "text": text });
    let signature = json!({ "type": "reasoning.text", "index": 0, "format": "f", "text": "", "signature": "c2ln" });
    let encrypted = json!({ "type": "reasoning.encrypted", "index": 1, "format": "f", "data": "gAAA" });
    let google = json!({ "google": { "thought_signature": "s" } });
    let call = json!({
        "index": 0, "id": "c1", "function": { "name": "read", "arguments": "{}" }, "extra_content": google,
    });
    let stream = [
        detail(text("one ")),
        detail(text("two")),
        detail(signature),
        detail(encrypted.clone()),
        calls(call),
        stops("x"),
    ];
    let reply = play(&stream).1.unwrap();
    let whole = json!({ "type": "reasoning.text", "index": 0, "format": "f", "text": "one two", "signature": "c2ln" });
    let expected = json!([
        { "whole": { "reasoning_details": [whole, encrypted] } },
        { "call": { "place": 0, "marks": { "extra_content": google } } },
    ]);
    assert_eq!((reply.thinking.as_str(), reply.provider_data), ("xxxx", Some(expected)));
}

#[test]
fn what_is_thought_within_the_text_is_no_part_of_the_reply_wherever_it_is_cut() {
    let thought = |text: &str| Delta::Thinking(text.to_owned());
    let said = |text: &str| Delta::Text(text.to_owned());
    let chunks = [
        says("\n<thi"),
        says("nk>BLOCKER: "),
        says("none. </thi"),
        says("nk>\n\nI loo"),
        says("k <"),
        calls(json!({ "index": 0, "id": "c1", "function": { "name": "read", "arguments": "{}" } })),
        stops("tool_calls"),
    ];
    let stream: String = chunks.iter().map(sent).collect::<String>() + OVER;
    for cut in 0..=stream.len() {
        let (shown, reply) = read(stream.as_bytes(), cut);
        assert_eq!(shown, [thought("BLOCKER: "), thought("none. "), said("I loo"), said("k <")]);
        let reply = reply.unwrap();
        assert_eq!((reply.text.as_str(), reply.calls.len()), ("I look <", 1));
        assert_eq!((reply.thinking.as_str(), reply.provider_data), ("BLOCKER: none. ", None));
    }
    // Cut at the limit of the reply, thinking is all that there is.
    let (shown, reply) = play(&[says("<think>hm"), stops("length")]);
    let reply = reply.unwrap();
    assert_eq!((shown, reply.text.as_str(), reply.stop), (vec![thought("hm")], "", Stop::MaxTokens));
}
