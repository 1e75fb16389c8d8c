use std::sync::Arc;

use adjutant_ports::TurnRequest;
use serde_json::json;

use super::*;
use crate::anthropic::Messages;
use crate::api::Wire;
use crate::gemini::Gemini;
use crate::openai::{Chat, Responses};

/// Reads a stream that is cut at a byte: what was shown as text and as thinking, and the reply or the step that ended
/// it otherwise.
fn read(wire: &dyn Wire, stream: &[u8], cut: usize) -> (String, String, Result<Reply, StreamStep>) {
    let turn = TurnRequest {
        turn: 1,
        part: String::new(),
        turns_before: 0,
        attempt: 1,
        turns_left_out: 0,
        system: String::new(),
        messages: Vec::new(),
        tools: Arc::from([]),
        may_call: true,
        output_max: None,
    };
    let mut reader = sse::SseReader::default();
    let mut events = Vec::new();
    let (first, rest) = stream.split_at(cut);
    reader.push(first, &mut events).unwrap();
    reader.push(rest, &mut events).unwrap();
    let mut reading: Box<dyn ReplyReader> = Box::new(Joining::new(wire.reading(&turn)));
    let (mut text, mut thinking) = (String::new(), String::new());
    for event in &events {
        match reading.read(event) {
            StreamStep::Nothing => {}
            StreamStep::Show(Delta::Text(piece)) => text.push_str(&piece),
            StreamStep::Show(Delta::Thinking(piece)) => thinking.push_str(&piece),
            StreamStep::Done => return (text, thinking, Ok(reading.finish())),
            step @ (StreamStep::Failed(_) | StreamStep::Unreadable(_)) => return (text, thinking, Err(step)),
        }
    }
    assert!(reading.is_whole());
    (text, thinking, Ok(reading.finish()))
}

/// The stream of this format in which `pieces` are said one after another, then thought, then are the arguments of a
/// call, as they stand in JSON between quotes.
fn check(wire: &dyn Wire, events: &dyn Fn(&[&str]) -> Vec<String>) {
    let told = [
        (&[r"a\ud83d", r"\ude00b"][..], "a😀b"),
        (&[r"a\uD83D", "", r"\uDE00"], "a😀"),
        (&[r"\ud83d\ude00", "ü"], "😀ü"),
        (&[r"a\ud83d", "b"], "a\u{fffd}b"),
        (&["a", r"\ude00b"], "a\u{fffd}b"),
        (&[r"\ud83d", r"\ud83d\ude00", r"\ude00"], "\u{fffd}😀\u{fffd}"),
        (&[r"\ude00\ud83d"], "\u{fffd}\u{fffd}"),
        (&[r"\\ud83d", r"\\\ud83d", r"\ude00"], "\\ud83d\\😀"),
    ];
    for (pieces, expected) in told {
        let stream: String = events(pieces).concat();
        for cut in 0..=stream.len() {
            let (text, thinking, reply) = read(wire, stream.as_bytes(), cut);
            let reply = reply.unwrap_or_else(|step| panic!("{step:?} in {stream} cut at {cut}"));
            // Half a character that stands last is not shown: its other half might have come.
            let shown = if pieces.concat().ends_with(r"\ud83d") { &expected[..expected.len() - 3] } else { expected };
            assert_eq!((reply.text.as_str(), text.as_str()), (expected, shown), "{stream} cut at {cut}");
            assert_eq!(thinking, shown, "{stream} cut at {cut}");
            assert_eq!(reply.calls[0].args, json!({ "text": expected }), "{stream} cut at {cut}");
        }
    }
}

/// An event that has the last of these in the place of `PIECE`.
fn sent(data: &Value, piece: &str) -> String {
    format!("data: {}\n\n", data.to_string().replace("PIECE", piece))
}

/// The events of each piece in this place.
fn each(data: &Value, pieces: &[&str]) -> Vec<String> {
    pieces.iter().map(|piece| sent(data, piece)).collect()
}

/// The JSON of arguments in pieces, written as a text within JSON; its characters are escaped once more than elsewhere.
fn arguments(data: &Value, pieces: &[&str]) -> Vec<String> {
    let inner: Vec<String> = pieces.iter().map(|piece| piece.replace('\\', r"\\")).collect();
    let all: Vec<&str> =
        [r#"{\"text\":\""#].into_iter().chain(inner.iter().map(String::as_str)).chain([r#"\"}"#]).collect();
    each(data, &all)
}

#[test]
fn characters_in_halves_are_whole_in_chat_completions() {
    let delta = |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta }] });
    let call = |arguments: &str| json!({ "tool_calls": [{ "index": 0, "id": "c", "function": { "name": "f", "arguments": arguments } }] });
    check(&Chat::openai(), &|pieces| {
        let mut events = each(&delta(json!({ "reasoning_content": "PIECE" })), pieces);
        events.extend(each(&delta(json!({ "content": "PIECE" })), pieces));
        events.extend(arguments(&delta(call("PIECE")), pieces));
        events.push(sent(&json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }), ""));
        events.push("data: [DONE]\n\n".to_owned());
        events
    });
}

#[test]
fn characters_in_halves_are_whole_in_the_responses_api() {
    let item = |kind: &str, item: Value, index: u32| json!({ "type": kind, "output_index": index, "item": item });
    let delta = |kind: &str, index: u32| json!({ "type": kind, "output_index": index, "delta": "PIECE" });
    let call = json!({ "type": "function_call", "call_id": "c", "name": "f", "arguments": "" });
    check(&Responses, &|pieces| {
        let mut events = each(&delta("response.reasoning_text.delta", 0), pieces);
        events.extend(each(&delta("response.output_text.delta", 1), pieces));
        events.push(sent(&item("response.output_item.added", call.clone(), 2), ""));
        events.extend(arguments(&delta("response.function_call_arguments.delta", 2), pieces));
        // The whole call, without the arguments that came.
        events.push(sent(
            &json!({ "type": "response.function_call_arguments.done", "output_index": 2, "arguments": "" }),
            "",
        ));
        events.push(sent(&item("response.output_item.done", call.clone(), 2), ""));
        events.push(sent(&json!({ "type": "response.completed", "response": {} }), ""));
        events
    });
}

#[test]
fn characters_in_halves_are_whole_in_the_messages_api() {
    let begin = |index: u32, block: Value| {
        sent(&json!({ "type": "content_block_start", "index": index, "content_block": block }), "")
    };
    let delta = |index: u32, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
    check(&Messages, &|pieces| {
        let mut events = vec![begin(0, json!({ "type": "thinking", "thinking": "" }))];
        events.extend(each(&delta(0, json!({ "type": "thinking_delta", "thinking": "PIECE" })), pieces));
        events.push(begin(1, json!({ "type": "text", "text": "" })));
        events.extend(each(&delta(1, json!({ "type": "text_delta", "text": "PIECE" })), pieces));
        events.push(begin(2, json!({ "type": "tool_use", "id": "c", "name": "f", "input": {} })));
        events.extend(arguments(&delta(2, json!({ "type": "input_json_delta", "partial_json": "PIECE" })), pieces));
        events.push(sent(&json!({ "type": "message_stop" }), ""));
        events
    });
}

#[test]
fn characters_in_halves_are_whole_in_the_gemini_api() {
    let part = |part: Value| json!({ "candidates": [{ "content": { "parts": [part] } }] });
    check(&Gemini, &|pieces| {
        let mut events = each(&part(json!({ "text": "PIECE", "thought": true })), pieces);
        events.extend(each(&part(json!({ "text": "PIECE" })), pieces));
        // Arguments come whole.
        events.push(sent(
            &part(json!({ "functionCall": { "id": "c", "name": "f", "args": { "text": "PIECE" } } })),
            &pieces.concat(),
        ));
        events.push(sent(&json!({ "candidates": [{ "finishReason": "STOP" }] }), ""));
        events
    });
}

#[test]
fn arguments_whose_text_was_cut_within_a_character_are_whole() {
    let call = json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "id": "c", "function": { "name": "f", "arguments": "PIECE" } }] } }] });
    let mut events = each(&call, &[r#"{\"a\ud83d"#, r#"\ude00\":\"\ude00\"}"#]);
    events.push(sent(&json!({ "choices": [{ "delta": {}, "finish_reason": "tool_calls" }] }), ""));
    let reply = read(&Chat::openai(), events.concat().as_bytes(), 0).2.unwrap();
    assert_eq!(reply.calls[0].args, json!({ "a😀": "\u{fffd}" }));
}

#[test]
fn json_without_halves_is_left_as_it_is() {
    for json in [
        "",
        "\\",
        "\\u",
        r#"{"a":"\\ud83d"}"#,
        r#"{"a":"\ud83d\ude00 \u00e9 \n"}"#,
        r"\ud83",
        r"\u+d83",
        "größe",
        "\\ü",
    ] {
        assert!(matches!(with_placeholders(json), Cow::Borrowed(same) if same == json), "{json}");
    }
    assert_eq!(whole_characters(r#"{"a":"\ud83d\n\ude00"}"#), "{\"a\":\"\u{fffd}\\n\u{fffd}\"}");
}

#[test]
fn a_reply_without_halves_keeps_what_it_has_of_the_private_plane() {
    let own = char::from_u32(PLACEHOLDERS + 0xd83d).unwrap().to_string();
    let events = [
        json!({ "choices": [{ "delta": { "content": own } }] }),
        json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }),
    ];
    let stream: String = events.iter().map(|event| sent(event, "")).collect();
    let (text, _, reply) = read(&Chat::openai(), stream.as_bytes(), 0);
    assert_eq!((&text, &reply.unwrap().text), (&own, &own));
}

#[test]
fn no_arguments_are_none_however_they_are_written() {
    for json in ["", " ", "{}", "null", "\"\"", "{}\"\""] {
        let call = crate::api::malformed_or("c".to_owned(), "f".to_owned(), json, false);
        assert_eq!((call.args, call.malformed), (json!({}), None), "{json:?}");
    }
    let halved = crate::api::malformed_or("c".to_owned(), "f".to_owned(), r#"{"a":"\ud83d"}"#, false);
    assert_eq!((halved.args, halved.malformed), (json!({ "a": "\u{fffd}" }), None));
}
