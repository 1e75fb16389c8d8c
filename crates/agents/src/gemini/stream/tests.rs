use super::*;

/// One event as it is sent.
fn sent(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// An event with these parts of the reply.
fn parts(parts: &Value) -> Value {
    json!({
        "candidates": [{ "content": { "role": "model", "parts": parts }, "index": 0 }],
        "usageMetadata": { "promptTokenCount": 30, "totalTokenCount": 30 },
        "modelVersion": "gemini-test",
        "responseId": "r1",
    })
}

fn says(text: &str) -> Value {
    parts(&json!([{ "text": text }]))
}

fn ends(reason: &str) -> Value {
    json!({
        "candidates": [{ "content": { "role": "model", "parts": [{ "text": "" }] }, "finishReason": reason }],
        "usageMetadata": {
            "promptTokenCount": 30, "cachedContentTokenCount": 20, "candidatesTokenCount": 4,
            "thoughtsTokenCount": 3, "totalTokenCount": 37,
        },
    })
}

/// Reads a stream cut at `cut`: what was shown, and the reply or the step that ended it otherwise.
fn read(stream: &[u8], cut: usize) -> (Vec<Delta>, Result<Reply, StreamStep>) {
    let mut reader = sse::SseReader::default();
    let mut events = Vec::new();
    let (first, rest) = stream.split_at(cut);
    reader.push(first, &mut events).unwrap();
    reader.push(rest, &mut events).unwrap();
    let mut fold = GeminiFold::new(7, [("mcp_x_1".to_owned(), "mcp.x".to_owned())].into());
    let mut deltas = Vec::new();
    for event in &events {
        match fold.read(event) {
            StreamStep::Nothing => {}
            StreamStep::Show(delta) => deltas.push(delta),
            step @ (StreamStep::Done | StreamStep::Failed(_) | StreamStep::Unreadable(_)) => {
                return (deltas, Err(step));
            }
        }
    }
    let reply = if fold.is_whole() { Ok(Box::new(fold).finish()) } else { Err(StreamStep::Nothing) };
    (deltas, reply)
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

/// Text, thinking and three calls, with everything between that a client must bear.
fn busy_stream() -> Vec<Value> {
    let call = |call: Value| json!({ "functionCall": call, "thoughtSignature": "c2ln" });
    vec![
        parts(&json!([{ "text": "hm", "thought": true, "thoughtSignature": "c2ln" }])),
        parts(&json!([])),
        says("größer "),
        json!({ "somethingNew": [1] }),
        json!({ "candidates": [{ "index": 0, "somethingNew": {} }] }),
        parts(&json!([{ "executableCode": { "code": "1" } }, { "text": "🦀" }, { "somethingNew": 3 }])),
        parts(&json!([
            call(json!({ "name": "read", "args": { "path": "é" } })),
            call(json!({ "name": "mcp_x_1", "args": { "n": 1 }, "id": "fc-9" })),
        ])),
        parts(&json!([call(json!({ "name": "list" }))])),
        ends("STOP"),
    ]
}

#[test]
fn a_stream_with_everything_is_one_reply_wherever_its_bytes_are_cut() {
    let expected = Reply {
        text: "größer 🦀".to_owned(),
        thinking: "hm".to_owned(),
        provider_data: Some(json!([
            { "whole": { "text": "hm", "thought": true, "thoughtSignature": "c2ln" } },
            { "text": { "from": 0, "to": 13 } },
            { "call": { "place": 0, "marks": { "thoughtSignature": "c2ln" } } },
            { "call": { "place": 1, "marks": { "thoughtSignature": "c2ln" } } },
            { "call": { "place": 2, "marks": { "thoughtSignature": "c2ln" } } },
        ])),
        calls: vec![
            made("call_7_1", "read", json!({ "path": "é" })),
            made("fc-9", "mcp.x", json!({ "n": 1 })),
            made("call_7_3", "list", json!({})),
        ],
        usage: Some(Usage {
            input_tokens: Some(10),
            cache_read_tokens: Some(20),
            cache_write_tokens: None,
            output_tokens: Some(7),
            reasoning_tokens: Some(3),
        }),
        stop: Stop::ToolUse,
    };
    let shown = vec![Delta::Thinking("hm".to_owned()), Delta::Text("größer ".to_owned()), Delta::Text("🦀".to_owned())];
    let stream = format!(": keep-alive\n\n{}: keep-alive\n\n", busy_stream().iter().map(sent).collect::<String>());
    for stream in [stream.clone(), stream.replace('\n', "\r\n")] {
        for cut in 0..=stream.len() {
            assert_eq!(read(stream.as_bytes(), cut), (shown.clone(), Ok(expected.clone())), "cut at {cut}");
        }
    }
}

#[test]
fn a_stream_without_a_reason_for_its_end_is_no_reply() {
    let whole = busy_stream();
    for events in 0..whole.len() {
        assert_eq!(play(&whole[..events]).1, Err(StreamStep::Nothing), "after {events} events");
    }
}

#[test]
fn an_error_after_any_event_ends_the_stream() {
    let error = json!({ "error": { "code": 503, "status": "UNAVAILABLE", "message": "overloaded" } });
    let whole = busy_stream();
    for error in [error.clone(), json!([error])] {
        for events in 0..=whole.len() {
            let stream: Vec<Value> = whole[..events].iter().cloned().chain([error.clone()]).collect();
            assert_eq!(play(&stream).1, Err(StreamStep::Failed(error.to_string())), "after {events} events");
        }
    }
    assert_eq!(read(b"event: error\ndata: oh no\n\n", 0).1, Err(StreamStep::Failed("oh no".to_owned())));
}

#[test]
fn what_comes_behind_the_end_still_counts() {
    let counts = json!({ "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 2 } });
    let reply = play(&[says("x"), ends("STOP"), counts]).1.unwrap();
    let expected = Usage { input_tokens: Some(1), output_tokens: Some(2), ..Usage::default() };
    assert_eq!((reply.text.as_str(), reply.usage), ("x", Some(expected)));
}

#[test]
fn every_reason_to_stop_has_its_meaning() {
    let call = parts(&json!([{ "functionCall": { "name": "read", "args": {} } }]));
    for (reason, expected) in
        [("STOP", Stop::EndTurn), ("MAX_TOKENS", Stop::MaxTokens), ("OTHER", Stop::EndTurn), ("NEW", Stop::EndTurn)]
    {
        assert_eq!(play(&[says("x"), ends(reason)]).1.unwrap().stop, expected, "{reason}");
    }
    assert_eq!(play(&[call.clone(), ends("STOP")]).1.unwrap().stop, Stop::ToolUse);
    assert_eq!(play(&[call.clone(), ends("MAX_TOKENS")]).1.unwrap().stop, Stop::MaxTokens);
    for reason in ["SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"] {
        let mut end = ends(reason);
        end["candidates"][0]["finishMessage"] = json!("in its words");
        // No call of a reply that was declined is made.
        let reply = play(&[says("x"), call.clone(), end]).1.unwrap();
        assert_eq!((reply.stop, reply.calls.len()), (Stop::Refusal, 0), "{reason}");
        assert_eq!(reply.text, format!("{reason}: in its words"));
    }
    for reason in ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"] {
        let broken = Err(StreamStep::Unreadable(reason.to_owned()));
        assert_eq!(play(&[says("x"), call.clone(), ends(reason)]).1, broken, "{reason}");
    }
}

#[test]
fn a_blocked_prompt_is_a_refusal_that_says_why() {
    let blocked = json!({ "promptFeedback": { "blockReason": "PROHIBITED_CONTENT", "safetyRatings": [] } });
    let reply = play(&[blocked]).1.unwrap();
    assert_eq!((reply.stop, reply.text.as_str()), (Stop::Refusal, "the prompt was blocked: PROHIBITED_CONTENT"));
    let harmless = json!({ "promptFeedback": { "safetyRatings": [] } });
    assert_eq!(play(&[harmless, says("x"), ends("STOP")]).1.unwrap().text, "x");
}

#[test]
fn an_event_without_counts_takes_none_away() {
    let uncounted = json!({ "candidates": [], "usageMetadata": { "trafficType": "ON_DEMAND" } });
    let usage = |events: &[Value]| play(events).1.unwrap().usage;
    let counted = usage(&[says("x"), ends("STOP")]);
    assert!(counted.is_some());
    assert_eq!(usage(&[uncounted.clone(), says("x"), ends("STOP"), uncounted]), counted);
}

#[test]
fn counts_that_nobody_gave_stay_unknown() {
    let usage = |counts: Value| {
        let end = json!({ "candidates": [{ "finishReason": "STOP" }], "usageMetadata": counts });
        play(&[end]).1.unwrap().usage
    };
    assert_eq!(usage(Value::Null), None);
    assert_eq!(usage(json!({ "totalTokenCount": 3 })), None);
    let thought = Usage { output_tokens: Some(3), reasoning_tokens: Some(3), ..Usage::default() };
    assert_eq!(usage(json!({ "thoughtsTokenCount": 3 })), Some(thought));
    let said = Usage { input_tokens: Some(5), output_tokens: Some(2), ..Usage::default() };
    assert_eq!(usage(json!({ "promptTokenCount": 5, "candidatesTokenCount": 2 })), Some(said));
}

#[test]
fn a_known_part_that_can_not_be_read_ends_the_reading() {
    for (what, part) in [
        ("a text that is none", json!({ "text": 1 })),
        ("a call without a name", json!({ "functionCall": { "args": {} } })),
        ("a call in pieces", json!({ "functionCall": { "name": "read", "willContinue": true } })),
    ] {
        let read = play(&[parts(&json!([part])), ends("STOP")]).1;
        assert!(matches!(&read, Err(StreamStep::Unreadable(why)) if why.contains(what)), "{what}: {read:?}");
    }
    assert!(matches!(read(b"data: {\"candidates\n\n", 0).1, Err(StreamStep::Unreadable(_))));
}

#[test]
fn arguments_that_are_no_object_are_handed_on_for_the_tool_to_refuse() {
    let call = parts(&json!([{ "functionCall": { "name": "read", "args": ["x"] } }]));
    assert_eq!(play(&[call, ends("STOP")]).1.unwrap().calls, [made("call_7_1", "read", json!(["x"]))]);
}
