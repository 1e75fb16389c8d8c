//! Tests that a scripted agent's answer depends on the request alone.

use std::sync::{Arc, Mutex};

use adjutant_ports::{FailureKind, OutgoingMessage, OutgoingRole, Usage};
use serde_json::json;

use super::*;

fn agent(script: &str) -> ScriptedAgent {
    ScriptedAgent::new(Script::parse(script, "play.yaml").unwrap())
}

fn message(role: OutgoingRole, text: &str) -> OutgoingMessage {
    OutgoingMessage { role, text: text.into(), calls: Vec::new(), provider_data: None }
}

fn said(text: &str) -> OutgoingMessage {
    message(OutgoingRole::User, text)
}

fn replied(text: &str) -> OutgoingMessage {
    message(OutgoingRole::Assistant, text)
}

fn returned(tool: &str, is_error: bool, text: &str) -> OutgoingMessage {
    message(OutgoingRole::Tool { call_id: "k".to_owned(), name: tool.to_owned(), is_error }, text)
}

fn request(messages: Vec<OutgoingMessage>) -> TurnRequest {
    TurnRequest {
        part: String::new(),
        turns_before: 0,
        turn: 1,
        attempt: 1,
        turns_left_out: 0,
        system: String::new(),
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Arc::from([]),
        may_call: true,
        output_max: None,
    }
}

/// One turn, with the pieces in which its text arrived.
async fn answer(agent: &ScriptedAgent, request: &TurnRequest) -> (Result<Reply, AgentFailure>, Vec<String>) {
    let pieces = Mutex::new(Vec::new());
    let show = |delta| match delta {
        Delta::Text(text) | Delta::Thinking(text) => pieces.lock().unwrap().push(text),
    };
    let reply = agent.turn(request, &show, CancellationToken::new()).await;
    (reply, pieces.into_inner().unwrap())
}

/// Plays a conversation in which the operator says `inputs` one after another, and returns the replies.
async fn converse(agent: &ScriptedAgent, inputs: &[OutgoingMessage]) -> Vec<String> {
    let mut messages = Vec::new();
    let mut replies = Vec::new();
    for input in inputs {
        messages.push(input.clone());
        let (reply, _) = answer(agent, &request(messages.clone())).await;
        let text = reply.unwrap().text;
        messages.push(replied(&text));
        replies.push(text);
    }
    replies
}

#[tokio::test]
async fn turns_are_played_in_order_and_then_there_is_silence() {
    let agent = agent("[one, two]");
    assert_eq!(converse(&agent, &vec![said("go on"); 4]).await, ["one", "two", "", ""]);
    let (reply, pieces) = answer(&agent, &request(vec![replied("one"), replied("two")])).await;
    let silence = Reply::plain(String::new(), Vec::new(), None, Stop::EndTurn);
    assert_eq!((reply, pieces), (Ok(silence), Vec::new()));
}

#[tokio::test]
async fn the_same_request_gets_the_same_reply_in_any_order() {
    let script = r#"
- one
- {text: twice, repeat: 2}
- {when: {contains: "yes"}, text: agreed}
- {text: "on and on", repeat: forever, when: {matches: "^(go|yes)$"}}
- end
"#;
    let inputs: Vec<OutgoingMessage> = ["go", "go", "go", "yes", "go", "yes", "enough", "go"].map(said).to_vec();
    let first = agent(script);
    let expected = converse(&first, &inputs).await;
    assert_eq!(expected, ["one", "twice", "twice", "agreed", "on and on", "on and on", "end", ""]);

    let history = |asked: usize| {
        let before =
            inputs.iter().zip(&expected).take(asked).flat_map(|(input, reply)| [input.clone(), replied(reply)]);
        request(before.chain([inputs[asked].clone()]).collect())
    };
    // 5 and 8 have no common factor: every request is made, in an order far from the natural one.
    for step in 0..16 {
        let asked = (step * 5 + 3) % inputs.len();
        let another_process = agent(script);
        for agent in [&first, &another_process] {
            let (reply, _) = answer(agent, &history(asked)).await;
            assert_eq!(reply.unwrap().text, expected[asked], "request {asked}");
        }
    }
}

#[tokio::test]
async fn a_condition_looks_at_what_was_said_since_the_last_reply() {
    #[track_caller]
    fn check(when: &str, messages: Vec<OutgoingMessage>, expected: &str) {
        let agent = agent(&format!("- one\n- when: {when}\n  text: met\n- text: unmet\n"));
        let messages: Vec<Arc<OutgoingMessage>> = messages.into_iter().map(Arc::new).collect();
        let (_, turn) = agent.script.choose(0, &messages);
        assert_eq!(turn.map(|turn| turn.text.as_str()), Some(expected), "{when}");
    }
    let heard = |last: Vec<OutgoingMessage>| [vec![said("approved"), replied("one")], last].concat();
    let answered = || heard(vec![said("The operator approved it.")]);
    let failed = || heard(vec![returned("read_file", false, "ok"), returned("apply_patch", true, "HUNK_FAILED")]);

    check("{contains: approved}", answered(), "met");
    check("{contains: Approved}", answered(), "unmet");
    check("{contains: approved}", heard(vec![said("denied")]), "unmet");
    check("{matches: '(?i)APPROVED|granted'}", answered(), "met");
    check("{contains: HUNK_FAILED}", failed(), "met");
    check("{tool_result: {}}", failed(), "met");
    check("{tool_result: {}}", answered(), "unmet");
    check("{tool_result: {success: false}}", failed(), "met");
    check("{tool_result: {tool: apply_patch, success: true}}", failed(), "unmet");
    check("{tool_result: {tool: read_file}}", failed(), "met");
    check("{tool_result: {tool: shell_exec}}", failed(), "unmet");
    check("{turn: 2}", answered(), "met");
    check("{turn: 3}", answered(), "unmet");
    check("{turn: 2, contains: denied}", answered(), "unmet");
}

#[tokio::test]
async fn branches_meet_again() {
    let script = "
- I will remove the folder.
- {when: {contains: denied}, text: It stays.}
- {when: {contains: approved}, text: It goes.}
- Report.
";
    for (answer, expected) in [("approved", "It goes."), ("denied", "It stays.")] {
        let replies = converse(&agent(script), &[said("go"), said(answer), said("continue")]).await;
        assert_eq!(replies[1..], [expected, "Report."]);
    }
}

#[tokio::test]
async fn calls_are_named_by_the_script_or_by_their_place() {
    let agent = agent(
        "
- one
- text: w
  calls:
    - {tool: read_file, args: {path: a.txt}}
    - {id: mine, tool: list_dir}
  tool_calls:
    - {id: k1, name: write_file, arguments: {path: a.txt, content: hi}}
  usage: {input_tokens: 12, output_tokens: 3}
- calls: [{tool: read_file, malformed: '{\"path\": '}]
  stop: max_tokens
",
    );
    let (reply, _) = answer(&agent, &request(vec![said("go"), replied("one"), said("go")])).await;
    let reply = reply.unwrap();
    let calls: Vec<_> =
        reply.calls.iter().map(|call| (call.call_id.as_str(), call.name.as_str(), call.args.clone())).collect();
    assert_eq!(
        calls,
        [
            ("call_2_1", "read_file", json!({"path": "a.txt"})),
            ("mine", "list_dir", json!({})),
            ("k1", "write_file", json!({"path": "a.txt", "content": "hi"})),
        ]
    );
    assert_eq!(reply.usage, Some(Usage { input_tokens: Some(12), output_tokens: Some(3), ..Usage::default() }));
    assert_eq!(reply.stop, Stop::ToolUse);

    let (reply, _) = answer(&agent, &request(vec![replied("one"), replied("w")])).await;
    let reply = reply.unwrap();
    assert_eq!(reply.calls[0].malformed.as_deref(), Some("{\"path\": "));
    assert_eq!(reply.stop, Stop::MaxTokens);
}

#[tokio::test]
async fn text_arrives_in_the_pieces_the_script_asks_for() {
    for (turn, text, expected) in [
        ("{text: 'ein größerer  Satz'}", "ein größerer  Satz", vec!["ein ", "größerer  ", "Satz"]),
        ("{text: größe, chunk_chars: 3}", "größe", vec!["grö", "ße"]),
        ("{chunks: [gr, öß, e]}", "größe", vec!["gr", "öß", "e"]),
    ] {
        let (reply, pieces) = answer(&agent(&format!("- {turn}")), &request(vec![said("go")])).await;
        assert_eq!(pieces, expected, "{turn}");
        assert_eq!(reply.unwrap().text, text, "{turn}");
    }
}

#[tokio::test]
async fn a_failure_strikes_the_attempts_it_was_written_for() {
    let agent = agent(
        "- {text: fine, fail: {kind: transient, message: overloaded, times: 2}}\n\
         - {fail: {kind: permanent, message: no such model}}",
    );
    let at = |attempt, messages| TurnRequest { attempt, ..request(messages) };
    for attempt in 1..=2 {
        let (reply, pieces) = answer(&agent, &at(attempt, vec![said("go")])).await;
        let retry_after = Some(Duration::ZERO);
        let expected = AgentFailure {
            kind: FailureKind::Transient,
            message: "overloaded".to_owned(),
            retry_after,
            output_max: None,
        };
        assert_eq!((reply, pieces), (Err(expected), Vec::new()));
    }
    let (reply, _) = answer(&agent, &at(3, vec![said("go")])).await;
    assert_eq!(reply.unwrap().text, "fine");
    for attempt in [1, 1000] {
        let (reply, _) = answer(&agent, &at(attempt, vec![replied("fine")])).await;
        assert_eq!(reply.unwrap_err().kind, FailureKind::Permanent);
    }
}

#[tokio::test(start_paused = true)]
async fn a_delay_passes_before_the_first_piece() {
    let agent = agent("- {text: late, delay_ms: 5000}");
    let before = tokio::time::Instant::now();
    let (reply, pieces) = answer(&agent, &request(Vec::new())).await;
    assert_eq!(before.elapsed(), Duration::from_secs(5));
    assert_eq!((reply.unwrap().text.as_str(), pieces.concat().as_str()), ("late", "late"));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_turn_ends_at_once_and_says_nothing() {
    let agent = agent("- {text: late, delay_ms: 5000}\n- now");
    let cancel = CancellationToken::new();
    let before = tokio::time::Instant::now();
    let canceller = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        cancel.cancel();
    };
    let silent = |_| panic!("nothing may be shown");
    let late = request(Vec::new());
    let (reply, ()) = tokio::join!(agent.turn(&late, &silent, cancel.clone()), canceller);
    assert_eq!(reply.unwrap_err().kind, FailureKind::Cancelled);
    assert_eq!(before.elapsed(), Duration::from_millis(20));

    let now = request(vec![replied("late")]);
    let reply = agent.turn(&now, &silent, cancel.clone()).await;
    assert_eq!(reply.unwrap_err().kind, FailureKind::Cancelled);
}

#[tokio::test]
async fn cancelling_between_two_pieces_ends_the_turn() {
    let agent = agent("- one two three");
    let cancel = CancellationToken::new();
    let shown = Mutex::new(0);
    let stop_at_once = |_| {
        *shown.lock().unwrap() += 1;
        cancel.cancel();
    };
    let reply = agent.turn(&request(Vec::new()), &stop_at_once, cancel.clone()).await;
    assert_eq!((reply.unwrap_err().kind, *shown.lock().unwrap()), (FailureKind::Cancelled, 1));
}

#[test]
fn the_peers_scripts_are_accepted() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/openwar/scenarios/scenarios.jsonl");
    let mut turns = 0;
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let scenario: serde_json::Value = serde_json::from_str(line).unwrap();
        let legs = scenario["legs"].as_array().cloned().unwrap_or_else(|| vec![scenario.clone()]);
        for leg in legs {
            let steps = leg["script"].as_array().unwrap();
            let script = Script::parse(&leg["script"].to_string(), "scenario").unwrap();
            assert_eq!(script.len(), steps.len(), "{}", scenario["name"]);
            for (turn, step) in script.turns.iter().zip(steps) {
                assert_eq!(turn.text, step.as_str().or(step["text"].as_str()).unwrap());
                let calls = step["tool_calls"].as_array().cloned().unwrap_or_default();
                let expected: Vec<_> = calls.iter().map(|call| call["arguments"].clone()).collect();
                assert_eq!(turn.calls.iter().map(|call| call.args.clone()).collect::<Vec<_>>(), expected);
            }
            turns += steps.len();
        }
    }
    assert!(turns > 20);
}

#[test]
fn only_what_is_built_is_listed() {
    let adapters: Vec<_> = crate::adapters().iter().map(|adapter| (adapter.id, adapter.key_variables)).collect();
    let expected: [(&str, &[&str]); 8] = [
        ("scripted", &[]),
        ("recorded", &[]),
        ("anthropic", &["ANTHROPIC_API_KEY"]),
        ("openai", &["OPENAI_API_KEY"]),
        ("openai-chat", &["OPENAI_API_KEY"]),
        ("openai-compat", &["OPENAI_COMPAT_API_KEY"]),
        ("grok", &["XAI_API_KEY"]),
        ("gemini", &["GEMINI_API_KEY", "GOOGLE_API_KEY"]),
    ];
    assert_eq!(adapters, expected);
}
