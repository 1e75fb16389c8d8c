//! The adapter of the Messages API against a server on loopback: what is sent, what comes of streams that
//! are cut, stall or fail, and that a turn can be cancelled.

use std::time::Duration;

use adjutant_agents::anthropic::{self, Messages};
use adjutant_agents::api::{self, ApiAgent, Settings};
use adjutant_agents::api_agent;
use adjutant_host::http::Proxies;
use adjutant_host::token_command::TokenCommand;
use adjutant_ports::{Agent, AgentFailure, CancellationToken, Delta, FailureKind, Reply, Stop};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;

use crate::loopback::{self, HEADS, answer, bind, check_failure, request, serve, stall, turn};

const KEY: &str = "sk-ant-canary-0123456789";

/// The events of a reply `one two`, each as it is sent.
fn events() -> Vec<String> {
    let events = [
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": 5, "output_tokens": 1 } } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "one " } }),
        json!({ "type": "ping" }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "two" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 2 } }),
        json!({ "type": "message_stop" }),
    ];
    events.map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).into()
}

/// A stream of one text that ends for this reason.
fn finished(reason: &str, text: &str) -> String {
    let mut events = events();
    events[2] = events[2].replace("one ", text);
    events[4] = events[4].replace("two", "");
    events[6] = events[6].replace("end_turn", reason);
    HEADS[0].to_owned() + &events.concat()
}

fn settings(base_url: &str) -> Settings {
    Settings {
        model: "claude-test".to_owned(),
        key: KEY.to_owned(),
        key_source: "ANTHROPIC_API_KEY".to_owned(),
        base_url: base_url.to_owned(),
        output_tokens_max: api::OUTPUT_TOKENS_MAX,
        thinking: api::Thinking::default(),
        extras: api::Extras::default(),
        idle_max: api::IDLE_MAX,
        proxies: Proxies::default(),
    }
}

fn agent(base_url: &str) -> ApiAgent {
    ApiAgent::new(Messages, settings(base_url)).unwrap()
}

/// An operator's command for a token.
fn token_of(command: &[&str]) -> api::Extras {
    let command = command.iter().map(|word| (*word).to_owned()).collect();
    let command = TokenCommand { command, environment: std::env::vars_os().collect() };
    api::Extras { token_command: Some(command), ..api::Extras::default() }
}

fn vertex(base_url: &str, key: &str, extras: api::Extras) -> ApiAgent {
    let (model, key) = ("claude-sonnet-4-5@20250929".to_owned(), key.to_owned());
    let settings = Settings { model, key, extras, ..settings(base_url) };
    api_agent(anthropic::ADAPTER_ID, settings).unwrap().expect("it speaks to an API")
}

/// A reply with one call more than any turn may have.
fn many_calls() -> String {
    let block = |index: usize| {
        let block = json!({ "type": "tool_use", "id": format!("c{index}"), "name": "read", "input": {} });
        let event = json!({ "type": "content_block_start", "index": index, "content_block": block });
        format!("event: content_block_start\ndata: {event}\n\n")
    };
    HEADS[0].to_owned() + &events()[0] + &(0..129).map(block).collect::<String>() + &events()[6..].concat()
}

/// A stream that goes on and on.
fn endless() -> String {
    let much = events()[2].replace("one ", &"x".repeat(3_000_000));
    HEADS[0].to_owned() + &events()[..2].concat() + &much.repeat(7)
}

async fn take(agent: &ApiAgent) -> (String, Result<Reply, AgentFailure>) {
    loopback::take(agent, KEY).await
}

#[tokio::test]
async fn a_turn_is_one_request_and_its_streamed_reply() {
    let (url, serving) = serve(vec![HEADS[0].to_owned() + &events().concat()]).await;
    let agent = agent(&format!("{url}/"));
    let (shown, reply) = take(&agent).await;
    let reply = reply.unwrap();
    assert_eq!((shown.as_str(), reply.text.as_str(), reply.stop), ("one two", "one two", Stop::EndTurn));
    assert_eq!(reply.usage.map(|usage| (usage.input_tokens, usage.output_tokens)), Some((Some(5), Some(2))));
    let (head, body) = serving.await.unwrap().remove(0);
    assert!(head.starts_with("post /v1/messages http/1.1\r\n"), "{head}");
    for header in [&format!("x-api-key: {KEY}"), "anthropic-version: 2023-06-01", "content-type: application/json"] {
        assert!(head.lines().any(|line| line == header), "{header} in {head}");
    }
    assert_eq!((&body["model"], &body["stream"]), (&json!("claude-test"), &json!(true)));
    assert_eq!(body["messages"][0]["content"][0]["text"], "the brief");
}

#[tokio::test]
async fn on_vertex_ai_the_model_stands_in_the_path_and_a_token_in_the_place_of_the_key() {
    let place = "/v1/projects/p/locations/global/publishers/anthropic";
    for (end, key, extras, token) in [
        ("", KEY, api::Extras::default(), KEY),
        ("/", KEY, token_of(&["echo", "tok-1"]), "tok-1"),
        ("/models", "", token_of(&["echo", "tok-2"]), "tok-2"),
    ] {
        let (url, serving) = serve(vec![HEADS[0].to_owned() + &events().concat()]).await;
        let reply = take(&vertex(&format!("{url}{place}{end}"), key, extras)).await.1;
        assert_eq!(reply.unwrap().text, "one two");
        let (head, body) = serving.await.unwrap().remove(0);
        let path = format!("post {place}/models/claude-sonnet-4-5@20250929:streamrawpredict http/1.1\r\n");
        assert!(head.starts_with(&path), "{head}");
        let header = format!("authorization: bearer {token}");
        assert!(head.lines().any(|line| line == header), "{header} in {head}");
        assert!(!head.contains("x-api-key") && !head.contains("anthropic-version"), "{head}");
        assert_eq!((&body["anthropic_version"], &body["stream"]), (&json!("vertex-2023-10-16"), &json!(true)));
        assert_eq!(body.get("model"), None);
        assert_eq!(body["messages"][0]["content"][0]["cache_control"], json!({ "type": "ephemeral" }));
    }
}

#[tokio::test]
async fn vertex_ai_is_not_asked_for_a_list_of_models_but_a_token_is() {
    let base_url = "http://127.0.0.1:1/v1/projects/p/locations/global/publishers/anthropic";
    let none = vertex(base_url, "", token_of(&["echo", "tok"])).models().await.unwrap_err();
    assert_eq!(none.why, "Anthropic on Vertex AI: there is no list of models at this address");
    assert!(none.hint.contains("--model"), "{none:?}");
    let none = vertex(base_url, "", token_of(&["sh", "-c", "exit 3"])).models().await.unwrap_err();
    assert!(none.why.ends_with("`token_command` (`sh`) ended with exit code 3"), "{none:?}");
}

#[tokio::test]
async fn a_connection_cut_after_any_event_is_worth_another_attempt() {
    let whole = events();
    let cuts = || HEADS.into_iter().flat_map(|head| (0..=events().len()).map(move |count| (head, count)));
    let (url, _serving) = serve(cuts().map(|(head, count)| head.to_owned() + &whole[..count].concat()).collect()).await;
    let agent = agent(&url);
    for (_, count) in cuts() {
        let (shown, reply) = take(&agent).await;
        assert!("one two".starts_with(&shown), "{shown}");
        if count == whole.len() {
            assert_eq!(reply.unwrap().text, "one two");
        } else {
            let said = if count < 2 { "no reply came" } else { "the reply broke off" };
            check_failure(reply, FailureKind::Transient, said);
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_no_stream_is_judged_by_its_status_and_words() {
    let error =
        |kind: &str| format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"in the server's words"}}}}"#);
    let cases = [
        (answer("401 Unauthorized", "", &error("authentication_error")), FailureKind::Permanent, "ANTHROPIC_API_KEY"),
        (answer("404 Not Found", "", &error("not_found_error")), FailureKind::Permanent, "--model"),
        (answer("400 Bad Request", "", &error("invalid_request_error")), FailureKind::Rejected, "server's words"),
        (answer("529 Overloaded", "retry-after: 7\r\n", &error("overloaded_error")), FailureKind::Busy, "7.0 s"),
        (answer("502 Bad Gateway", "", "<html>"), FailureKind::Transient, "status 502"),
        (answer("302 Found", "location: http://127.0.0.1:1/\r\n", ""), FailureKind::Permanent, "status 302"),
        (finished("refusal", "I won't"), FailureKind::Permanent, "declined to answer: I won't"),
        (finished("max_tokens", ""), FailureKind::Permanent, "output_tokens_max"),
        (finished("model_context_window_exceeded", ""), FailureKind::TooLong, "no room for a reply"),
        (answer("200 OK", "content-type: text/html\r\n", "<html>"), FailureKind::Transient, "check the base URL"),
        (answer("307 Temporary", "location: http://x/y\r\n", ""), FailureKind::Permanent, "redirects to `http://x/y`"),
        (many_calls(), FailureKind::Unreadable, "129 calls in one turn"),
        (endless(), FailureKind::Transient, "far longer than the reply was allowed"),
        (HEADS[0].to_owned() + "<html>no events</html>", FailureKind::Transient, "ended before the reply did"),
        (
            format!("{}{}event: error\ndata: {}\n\n", HEADS[0], events()[..3].concat(), error("overloaded_error")),
            FailureKind::Busy,
            "in the middle of the stream",
        ),
        (
            format!("{}event: error\ndata: {}\n\n", HEADS[0], error("authentication_error")),
            FailureKind::Permanent,
            "ANTHROPIC_API_KEY",
        ),
    ];
    let (url, _serving) = serve(cases.iter().map(|(answer, ..)| answer.clone()).collect()).await;
    let agent = agent(&url);
    for (_, kind, said) in cases {
        check_failure(take(&agent).await.1, kind, said);
    }
}

#[tokio::test]
async fn text_is_shown_as_it_arrives() {
    let (listener, url) = bind().await;
    let gate = std::sync::Arc::new(Semaphore::new(0));
    let opened = gate.clone();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        request(&mut stream).await;
        stream.write_all(HEADS[0].as_bytes()).await.unwrap();
        for event in events() {
            for byte in event.as_bytes() {
                stream.write_all(&[*byte]).await.unwrap();
            }
            if event.contains("text_delta") {
                // The rest comes only when this has been shown.
                opened.acquire().await.unwrap().forget();
            }
        }
    });
    let show = |_: Delta| gate.add_permits(1);
    let reply = agent(&url).turn(&turn(), &show, CancellationToken::new()).await;
    assert_eq!(reply.unwrap().text, "one two");
}

/// The first events of the reply.
fn begun() -> String {
    HEADS[0].to_owned() + &events()[..3].concat()
}

#[tokio::test]
async fn a_cancelled_turn_ends_and_closes_its_connection() {
    let (url, mut is_gone) = stall(begun()).await;
    let agent = agent(&url);
    let cancel = CancellationToken::new();
    let reply = agent.turn(&turn(), &|_| cancel.cancel(), cancel.clone()).await;
    check_failure(reply, FailureKind::Cancelled, "cancelled");
    assert_eq!(is_gone.recv().await, Some(()));
}

#[tokio::test]
async fn a_turn_that_is_cancelled_before_it_begins_sends_nothing() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    // Whatever was sent would fail otherwise: nobody listens there.
    let reply = agent("http://127.0.0.1:1").turn(&turn(), &|_| (), cancel).await;
    check_failure(reply, FailureKind::Cancelled, "cancelled");
}

#[tokio::test]
async fn a_stream_that_stalls_is_given_up_at_the_idle_limit() {
    let (url, mut is_gone) = stall(begun()).await;
    let agent = agent(&url);
    // From the first text on the clock stands still, and jumps when nothing is left to do.
    let reply = agent.turn(&turn(), &|_| tokio::time::pause(), CancellationToken::new()).await;
    check_failure(reply, FailureKind::Transient, "the reply broke off: nothing came for 120 s");
    assert_eq!(is_gone.recv().await, Some(()));
}

#[tokio::test]
async fn nobody_listening_is_worth_another_attempt() {
    let (listener, url) = bind().await;
    drop(listener);
    check_failure(take(&agent(&url)).await.1, FailureKind::Unreached, "no reply came");
}

#[tokio::test]
async fn what_can_not_be_sent_is_refused_without_showing_the_key() {
    let agent = ApiAgent::new(
        Messages,
        Settings {
            model: "claude-test".to_owned(),
            key: format!("{KEY}\n"),
            key_source: "ANTHROPIC_API_KEY".to_owned(),
            base_url: "http://127.0.0.1:1".to_owned(),
            output_tokens_max: 1,
            thinking: api::Thinking::default(),
            extras: api::Extras::default(),
            idle_max: Duration::from_secs(1),
            proxies: Proxies::default(),
        },
    );
    check_failure(take(&agent.unwrap()).await.1, FailureKind::Permanent, "x-api-key");
}

#[test]
fn a_base_url_that_is_none_is_said_before_any_turn() {
    let settings = Settings {
        model: "claude-test".to_owned(),
        key: KEY.to_owned(),
        key_source: "ANTHROPIC_API_KEY".to_owned(),
        base_url: "api.example.com".to_owned(),
        output_tokens_max: 1,
        thinking: api::Thinking::default(),
        extras: api::Extras::default(),
        idle_max: Duration::from_secs(1),
        proxies: Proxies::default(),
    };
    let Err(unusable) = ApiAgent::new(Messages, settings) else { panic!("it was taken for a web address") };
    assert!(unusable.to_string().starts_with("can't use the API at `api.example.com`"), "{unusable}");
}
