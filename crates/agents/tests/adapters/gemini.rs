//! The adapter of the Gemini API against a server on loopback: what is sent, what comes of streams that are
//! cut, stall or fail, and that a turn can be cancelled.

use std::sync::Arc;
use std::time::Duration;

use adjutant_agents::api::{self, ApiAgent, Settings};
use adjutant_agents::api_agent;
use adjutant_agents::gemini::{self, Gemini};
use adjutant_host::http::Proxies;
use adjutant_host::token_command::TokenCommand;
use adjutant_ports::{Agent, CancellationToken, Delta, FailureKind, Stop};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;

use crate::loopback::{self, HEADS, answer, bind, check_failure, request, serve, stall, turn};

const KEY: &str = "AIza-canary-0123456789";

/// Number of events before the reply is whole.
const UNFINISHED: usize = 5;

/// The events of a reply `größe 🦀` with a call, each as it is sent.
fn events() -> Vec<String> {
    let parts = |parts: Value| json!({ "candidates": [{ "content": { "role": "model", "parts": parts } }] });
    let events = [
        parts(json!([{ "text": "hm", "thought": true }])),
        parts(json!([{ "text": "größe " }])),
        json!({ "somethingNew": 1 }),
        parts(json!([{ "text": "🦀" }])),
        parts(json!([{ "functionCall": { "name": "read", "args": { "path": "é" } }, "thoughtSignature": "c2ln" }])),
        json!({
            "candidates": [{ "finishReason": "STOP" }],
            "usageMetadata": { "promptTokenCount": 5, "candidatesTokenCount": 2 },
        }),
        json!({ "usageMetadata": { "promptTokenCount": 5, "candidatesTokenCount": 3 } }),
    ];
    events.map(|event| format!("data: {event}\r\n\r\n")).into()
}

/// A stream of one text that ends for this reason.
fn finished(reason: &str, text: &str) -> String {
    let event =
        json!({ "candidates": [{ "content": { "parts": [{ "text": text }] }, "finishReason": reason, "index": 0 }] });
    format!("{}data: {event}\n\n", HEADS[0])
}

fn settings(base_url: &str, key: &str) -> Settings {
    Settings {
        model: "gemini-test".to_owned(),
        key: key.to_owned(),
        key_source: "GEMINI_API_KEY".to_owned(),
        base_url: base_url.to_owned(),
        output_tokens_max: api::OUTPUT_TOKENS_MAX,
        thinking: api::Thinking::default(),
        extras: api::Extras::default(),
        idle_max: api::IDLE_MAX,
        proxies: Proxies::default(),
    }
}

fn agent(base_url: &str) -> ApiAgent {
    ApiAgent::new(Gemini, settings(base_url, KEY)).unwrap()
}

async fn take(agent: &ApiAgent) -> (String, Result<adjutant_ports::Reply, adjutant_ports::AgentFailure>) {
    loopback::take(agent, KEY).await
}

#[tokio::test]
async fn a_turn_is_one_request_and_its_streamed_reply() {
    let (url, serving) = serve(vec![HEADS[0].to_owned() + &events().concat()]).await;
    let agent = agent(&format!("{url}/"));
    let (shown, reply) = take(&agent).await;
    let reply = reply.unwrap();
    assert_eq!((shown.as_str(), reply.text.as_str(), reply.stop), ("größe 🦀", "größe 🦀", Stop::ToolUse));
    assert_eq!(reply.calls[0].args, json!({ "path": "é" }));
    assert_eq!(reply.usage.map(|usage| (usage.input_tokens, usage.output_tokens)), Some((Some(5), Some(3))));
    let (head, body) = serving.await.unwrap().remove(0);
    // The key is in a header and never in the address.
    assert!(head.starts_with("post /v1beta/models/gemini-test:streamgeneratecontent?alt=sse http/1.1\r\n"), "{head}");
    for header in [&format!("x-goog-api-key: {}", KEY.to_ascii_lowercase()), "content-type: application/json"] {
        assert!(head.lines().any(|line| line == header), "{header} in {head}");
    }
    let expected = json!({
        "systemInstruction": { "parts": [{ "text": "orders" }] },
        "contents": [{ "role": "user", "parts": [{ "text": "the brief" }] }],
        "generationConfig": { "maxOutputTokens": 16384, "thinkingConfig": { "includeThoughts": true } },
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn vertex_ai_has_its_own_paths_and_takes_tokens_and_the_keys_of_its_express_mode() {
    let command = ["echo", "tok-1"].map(str::to_owned).to_vec();
    let command = TokenCommand { command, environment: std::env::vars_os().collect() };
    let by_command = api::Extras { token_command: Some(command), ..api::Extras::default() };
    let (none, key) = (api::Extras::default(), KEY.to_ascii_lowercase());
    let (in_project, express) = ("/v1/projects/p/locations/global/publishers/google", "/v1/publishers/google");
    let (bearer, own) = (format!("authorization: bearer {key}"), format!("x-goog-api-key: {key}"));
    for (place, end, key, extras, header, absent) in [
        (in_project, "/models/", KEY, &none, bearer.as_str(), "x-goog-api-key"),
        (in_project, "", "", &by_command, "authorization: bearer tok-1", "x-goog-api-key"),
        (express, "/", KEY, &none, own.as_str(), "authorization"),
    ] {
        let (url, serving) = serve(vec![HEADS[0].to_owned() + &events().concat()]).await;
        let settings = Settings { extras: extras.clone(), ..settings(&format!("{url}{place}{end}"), key) };
        let agent = api_agent(gemini::ADAPTER_ID, settings).unwrap().expect("it speaks to an API");
        assert_eq!(take(&agent).await.1.unwrap().text, "größe 🦀");
        let (head, body) = serving.await.unwrap().remove(0);
        let path = format!("post {place}/models/gemini-test:streamgeneratecontent?alt=sse http/1.1\r\n");
        assert!(head.starts_with(&path), "{head}");
        assert!(head.lines().any(|line| line == header) && !head.contains(absent), "{header} in {head}");
        assert_eq!(body["contents"][0], json!({ "role": "user", "parts": [{ "text": "the brief" }] }));
        let list = agent.models().await.unwrap_err();
        assert_eq!(list.why, "Gemini on Vertex AI: there is no list of models at this address");
    }
}

#[tokio::test]
async fn a_connection_cut_after_any_event_is_the_reply_or_worth_another_attempt() {
    let whole = events();
    let cuts = || HEADS.into_iter().flat_map(|head| (0..=events().len()).map(move |count| (head, count)));
    let (url, _serving) = serve(cuts().map(|(head, count)| head.to_owned() + &whole[..count].concat()).collect()).await;
    let agent = agent(&url);
    for (_, count) in cuts() {
        let (shown, reply) = take(&agent).await;
        assert!("größe 🦀".starts_with(&shown), "{shown}");
        if count > UNFINISHED {
            let reply = reply.unwrap();
            assert_eq!((reply.text.as_str(), reply.calls.len()), ("größe 🦀", 1));
        } else {
            let said = if count == 0 { "no reply came" } else { "the reply broke off" };
            check_failure(reply, FailureKind::Transient, said);
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_no_stream_is_judged_by_its_status_and_words() {
    let error = |code: u16, status: &str, details: Value| {
        let message = "in the server's words";
        json!({ "error": { "code": code, "message": message, "status": status, "details": details } }).to_string()
    };
    let invalid = json!([{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID" }]);
    let delay = json!([{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "13.5s" }]);
    let cases = [
        (
            answer("400 Bad Request", "", &error(400, "INVALID_ARGUMENT", invalid.clone())),
            FailureKind::Permanent,
            "check the key in GEMINI_API_KEY",
        ),
        (answer("403 Forbidden", "", &error(403, "PERMISSION_DENIED", json!([]))), FailureKind::Permanent, "may do"),
        (answer("404 Not Found", "", &error(404, "NOT_FOUND", json!([]))), FailureKind::Permanent, "--model"),
        (
            answer("400 Bad Request", "", &error(400, "INVALID_ARGUMENT", json!([]))),
            FailureKind::Rejected,
            "server's words",
        ),
        (
            answer("429 Too Many Requests", "", &error(429, "RESOURCE_EXHAUSTED", delay)),
            FailureKind::Busy,
            "it asks to wait 13.5 s",
        ),
        (answer("503 Unavailable", "", &error(503, "UNAVAILABLE", json!([]))), FailureKind::Busy, "server's words"),
        (answer("502 Bad Gateway", "", "<html>"), FailureKind::Transient, "status 502"),
        (answer("302 Found", "location: http://127.0.0.1:1/\r\n", ""), FailureKind::Permanent, "status 302"),
        (finished("SAFETY", "I"), FailureKind::Permanent, "declined to answer: SAFETY"),
        (finished("MAX_TOKENS", ""), FailureKind::Permanent, "output_tokens_max"),
        (finished("MALFORMED_FUNCTION_CALL", "x"), FailureKind::Unreadable, "MALFORMED_FUNCTION_CALL"),
        (
            format!("{}data: {{\"promptFeedback\":{{\"blockReason\":\"OTHER\"}}}}\n\n", HEADS[0]),
            FailureKind::Permanent,
            "the prompt was blocked: OTHER",
        ),
        (HEADS[0].to_owned() + "<html>no events</html>", FailureKind::Transient, "ended before the reply did"),
        (
            format!("{}{}data: {}\n\n", HEADS[0], events()[..3].concat(), error(503, "UNAVAILABLE", json!([]))),
            FailureKind::Busy,
            "in the middle of the stream",
        ),
        (
            format!("{}data: {}\n\n", HEADS[0], error(400, "INVALID_ARGUMENT", invalid)),
            FailureKind::Permanent,
            "GEMINI_API_KEY",
        ),
    ];
    let (url, _serving) = serve(cases.iter().map(|(answer, ..)| answer.clone()).collect()).await;
    let agent = agent(&url);
    for (_, kind, said) in cases {
        check_failure(take(&agent).await.1, kind, said);
    }
}

#[tokio::test]
async fn text_is_shown_as_it_arrives_byte_by_byte() {
    let (listener, url) = bind().await;
    let gate = Arc::new(Semaphore::new(0));
    let opened = gate.clone();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        request(&mut stream).await;
        stream.write_all(HEADS[0].as_bytes()).await.unwrap();
        for event in events() {
            for byte in event.as_bytes() {
                stream.write_all(&[*byte]).await.unwrap();
            }
            stream.write_all(b": keep-alive\r\n\r\n").await.unwrap();
            if event.contains("\"text\"") {
                // The rest comes only when this has been shown.
                opened.acquire().await.unwrap().forget();
            }
        }
    });
    let show = |_: Delta| gate.add_permits(1);
    let reply = agent(&url).turn(&turn(), &show, CancellationToken::new()).await;
    assert_eq!(reply.unwrap().text, "größe 🦀");
}

#[tokio::test]
async fn a_cancelled_turn_ends_and_closes_its_connection() {
    let (url, mut is_gone) = stall(HEADS[0].to_owned() + &events()[..3].concat()).await;
    let agent = agent(&url);
    let cancel = CancellationToken::new();
    let reply = agent.turn(&turn(), &|_| cancel.cancel(), cancel.clone()).await;
    check_failure(reply, FailureKind::Cancelled, "cancelled");
    assert_eq!(is_gone.recv().await, Some(()));
}

#[tokio::test]
async fn a_stream_that_stalls_is_given_up_at_the_idle_limit() {
    let (url, mut is_gone) = stall(HEADS[0].to_owned() + &events()[..3].concat()).await;
    let agent = agent(&url);
    let pause = |delta: Delta| match delta {
        // From here on the clock stands still, and jumps when nothing is left to do.
        Delta::Text(_) => tokio::time::pause(),
        Delta::Thinking(_) => {}
    };
    let reply = agent.turn(&turn(), &pause, CancellationToken::new()).await;
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
    let settings = Settings { idle_max: Duration::from_secs(1), ..settings("http://127.0.0.1:1", &format!("{KEY}\n")) };
    let agent = ApiAgent::new(Gemini, settings).unwrap();
    check_failure(take(&agent).await.1, FailureKind::Permanent, "x-goog-api-key");
}
