//! The adapters of OpenAI's two formats against a server on loopback: what is sent, what comes of streams that are
//! cut, stall or fail, and that a turn can be cancelled.

use std::sync::Arc;

use adjutant_agents::api::{self, ApiAgent, Settings};
use adjutant_agents::openai::{self, Chat, Responses};
use adjutant_agents::{adapters, api_agent};
use adjutant_host::http::Proxies;
use adjutant_ports::{Agent, AgentFailure, CancellationToken, Delta, FailureKind, Reply, Stop};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;

use crate::loopback::{self, HEADS, answer, bind, check_failure, request, serve, stall, turn};

const KEY: &str = "sk-canary-0123456789";

/// Facts about a format that a test needs: the same reply in both.
struct Format {
    name: &'static str,
    agent: fn(Settings) -> ApiAgent,
    path: &'static str,
    /// The events of a reply `größe 🦀` with a call, each as it is sent.
    events: fn() -> Vec<String>,
    /// Number of events after which something is there, and after which the reply is whole.
    begun: usize,
    whole: usize,
    /// A stream of one text that ends for this reason.
    finished: fn(&str, &str) -> String,
    /// An error within the stream.
    error: fn(&str, &str) -> String,
    /// Marks of a reply that is cut, filtered or over.
    reasons: [&'static str; 2],
}

const FORMATS: [Format; 2] = [
    Format {
        name: "responses",
        agent: |settings| ApiAgent::new(Responses, settings).unwrap(),
        path: "/responses",
        events: responses::events,
        begun: 2,
        whole: 8,
        finished: responses::finished,
        error: |code, message| responses::sent(&json!({ "type": "error", "code": code, "message": message })),
        reasons: ["max_output_tokens", "content_filter"],
    },
    Format {
        name: "chat",
        agent: |settings| ApiAgent::new(Chat::openai(), settings).unwrap(),
        path: "/chat/completions",
        events: chat::events,
        begun: 2,
        whole: 6,
        finished: chat::finished,
        error: |code, message| chat::sent(&json!({ "error": { "code": code, "message": message } })),
        reasons: ["length", "content_filter"],
    },
];

mod responses {
    use super::*;

    pub fn sent(event: &Value) -> String {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())
    }

    fn item(index: u64, item: Value) -> Value {
        json!({ "type": "response.output_item.added", "output_index": index, "item": item })
    }

    fn says(text: &str) -> Value {
        json!({ "type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text })
    }

    pub fn events() -> Vec<String> {
        let args = "{\"path\":\"é\"}";
        let events = [
            json!({ "type": "response.created", "response": { "status": "in_progress" } }),
            item(0, json!({ "type": "message", "role": "assistant", "content": [] })),
            says("größe "),
            json!({ "type": "response.something_new", "delta": 1 }),
            says("🦀"),
            item(1, json!({ "type": "function_call", "call_id": "c1", "name": "read", "arguments": "" })),
            json!({ "type": "response.function_call_arguments.delta", "output_index": 1, "delta": args }),
            json!({ "type": "response.completed", "response": { "usage": {
                "input_tokens": 9, "input_tokens_details": { "cached_tokens": 4 }, "output_tokens": 3,
            } } }),
        ];
        events.iter().map(sent).collect()
    }

    pub fn finished(reason: &str, text: &str) -> String {
        let end = match reason {
            "completed" => json!({ "type": "response.completed", "response": {} }),
            _ => json!({ "type": "response.incomplete", "response": { "incomplete_details": { "reason": reason } } }),
        };
        HEADS[0].to_owned() + &sent(&says(text)) + &sent(&end)
    }
}

mod chat {
    use super::*;

    pub fn sent(chunk: &Value) -> String {
        format!("data: {chunk}\n\n")
    }

    fn chunk(delta: Value, reason: Option<&str>) -> Value {
        json!({ "object": "chat.completion.chunk", "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] })
    }

    pub fn events() -> Vec<String> {
        let call = |function: Value| json!({ "tool_calls": [{ "index": 0, "id": "c1", "function": function }] });
        let mut events: Vec<String> = [
            chunk(json!({ "role": "assistant", "content": "" }), None),
            chunk(json!({ "content": "größe " }), None),
            chunk(json!({ "content": "🦀" }), None),
            chunk(call(json!({ "name": "read", "arguments": "{\"path\":" })), None),
            chunk(call(json!({ "arguments": "\"é\"}" })), None),
            chunk(json!({}), Some("tool_calls")),
            json!({ "choices": [], "usage": {
                "prompt_tokens": 9, "prompt_tokens_details": { "cached_tokens": 4 }, "completion_tokens": 3,
            } }),
        ]
        .iter()
        .map(sent)
        .collect();
        events.push("data: [DONE]\n\n".to_owned());
        events
    }

    pub fn finished(reason: &str, text: &str) -> String {
        HEADS[0].to_owned() + &sent(&chunk(json!({ "content": text }), Some(reason))) + "data: [DONE]\n\n"
    }
}

fn settings(base_url: &str, key: &str) -> Settings {
    Settings {
        model: "gpt-test".to_owned(),
        key: key.to_owned(),
        key_source: "OPENAI_API_KEY".to_owned(),
        base_url: base_url.to_owned(),
        output_tokens_max: api::OUTPUT_TOKENS_MAX,
        thinking: api::Thinking::default(),
        extras: api::Extras::default(),
        idle_max: api::IDLE_MAX,
        proxies: Proxies::default(),
    }
}

impl Format {
    fn agent_at(&self, base_url: &str) -> ApiAgent {
        (self.agent)(settings(base_url, KEY))
    }

    fn stream(&self, count: usize) -> String {
        (self.events)()[..count].concat()
    }

    fn all(&self) -> String {
        (self.events)().concat()
    }

    #[track_caller]
    fn check_whole(&self, reply: &Reply) {
        let calls: Vec<_> = reply.calls.iter().map(|call| (call.call_id.as_str(), call.args.clone())).collect();
        assert_eq!(
            (reply.text.as_str(), calls, reply.stop),
            ("größe 🦀", vec![("c1", json!({ "path": "é" }))], Stop::ToolUse),
            "{}",
            self.name
        );
    }
}

async fn take(agent: &ApiAgent) -> (String, Result<Reply, AgentFailure>) {
    loopback::take(agent, KEY).await
}

#[tokio::test]
async fn a_turn_is_one_request_and_its_streamed_reply() {
    for format in FORMATS {
        let (url, serving) = serve(vec![HEADS[0].to_owned() + &format.all()]).await;
        let (shown, reply) = take(&format.agent_at(&format!("{url}/v1/"))).await;
        let reply = reply.unwrap();
        format.check_whole(&reply);
        assert_eq!(shown, "größe 🦀");
        let usage = reply.usage.map(|usage| (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens));
        assert_eq!(usage, Some((Some(5), Some(4), Some(3))), "{}", format.name);
        let (head, body) = serving.await.unwrap().remove(0);
        assert!(head.starts_with(&format!("post /v1{} http/1.1\r\n", format.path)), "{head}");
        for header in [&format!("authorization: bearer {KEY}"), "content-type: application/json"] {
            assert!(head.lines().any(|line| line == header), "{header} in {head}");
        }
        assert_eq!((&body["model"], &body["stream"]), (&json!("gpt-test"), &json!(true)));
        assert!(body.to_string().contains("the brief"), "{body}");
    }
}

#[tokio::test]
async fn a_connection_cut_after_any_event_is_worth_another_attempt_or_lost_nothing() {
    for format in FORMATS {
        let count = (format.events)().len();
        let cuts = || HEADS.into_iter().flat_map(|head| (0..=count).map(move |count| (head, count)));
        let answers = cuts().map(|(head, count)| head.to_owned() + &format.stream(count)).collect();
        let (url, _serving) = serve(answers).await;
        let agent = format.agent_at(&url);
        for (_, count) in cuts() {
            let (shown, reply) = take(&agent).await;
            assert!("größe 🦀".starts_with(&shown), "{shown}");
            if count >= format.whole {
                format.check_whole(&reply.unwrap());
            } else {
                let said = if count < format.begun { "no reply came" } else { "the reply broke off" };
                check_failure(reply, FailureKind::Transient, said);
            }
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_no_whole_reply_is_judged_by_its_status_and_words() {
    let error = |code: &str, message: &str| {
        json!({ "error": { "message": message, "type": "invalid_request_error", "param": null, "code": code } })
            .to_string()
    };
    for format in FORMATS {
        let [cut, filtered] = format.reasons;
        let begun = HEADS[0].to_owned() + &format.stream(format.begun);
        let cases = [
            (
                answer("401 Unauthorized", "", &error("invalid_api_key", &format!("wrong: {KEY}"))),
                FailureKind::Permanent,
                "wrong: (the key) (status 401); check the key in OPENAI_API_KEY",
            ),
            (answer("404 Not Found", "", &error("model_not_found", "no")), FailureKind::Permanent, "--model"),
            (answer("400 Bad Request", "", &error("x", "in its words")), FailureKind::Rejected, "in its words"),
            (answer("400 Bad Request", "", &error("context_length_exceeded", "no")), FailureKind::TooLong, "no"),
            (
                answer("429 Too Many", "retry-after: 7\r\n", &error("rate_limit_exceeded", "no")),
                FailureKind::Busy,
                "7.0 s",
            ),
            (answer("429 Too Many", "", &error("insufficient_quota", "no")), FailureKind::Permanent, "credit"),
            (answer("502 Bad Gateway", "", "<html>"), FailureKind::Transient, "status 502"),
            ((format.finished)(filtered, "x"), FailureKind::Permanent, "its content filter ended the reply"),
            ((format.finished)(cut, ""), FailureKind::Permanent, "output_tokens_max"),
            (HEADS[0].to_owned() + "<html>no events</html>", FailureKind::Transient, "ended before the reply did"),
            (
                begun.clone() + &(format.error)("server_error", "in its words"),
                FailureKind::Transient,
                "in its words (in the middle of the stream)",
            ),
            (
                begun + &(format.error)("rate_limit_exceeded", "Please try again in 1.5s."),
                FailureKind::Busy,
                "it asks to wait 1.5 s",
            ),
        ];
        let (url, _serving) = serve(cases.iter().map(|(answer, ..)| answer.clone()).collect()).await;
        let agent = format.agent_at(&url);
        for (_, kind, said) in cases {
            check_failure(take(&agent).await.1, kind, said);
        }
    }
}

#[tokio::test]
async fn a_reply_that_is_cut_says_so() {
    for format in FORMATS {
        let (url, _serving) = serve(vec![(format.finished)(format.reasons[0], "half")]).await;
        let reply = take(&format.agent_at(&url)).await.1.unwrap();
        assert_eq!((reply.text.as_str(), reply.stop), ("half", Stop::MaxTokens), "{}", format.name);
    }
}

#[tokio::test]
async fn a_full_window_cuts_the_reply_or_was_full_with_the_request() {
    let [_, chat] = FORMATS;
    for reason in ["model_length", "model_context_window_exceeded"] {
        let (url, _serving) = serve(vec![(chat.finished)(reason, ""), (chat.finished)(reason, "half")]).await;
        let agent = chat.agent_at(&url);
        check_failure(take(&agent).await.1, FailureKind::TooLong, "no room for a reply");
        assert_eq!(take(&agent).await.1.unwrap().stop, Stop::MaxTokens, "{reason}");
    }
}

#[tokio::test]
async fn text_is_shown_as_it_arrives_byte_by_byte() {
    for format in FORMATS {
        let (listener, url) = bind().await;
        let gate = Arc::new(Semaphore::new(0));
        let opened = gate.clone();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            request(&mut stream).await;
            stream.write_all(format!("{}: keep-alive\r\n\r\n", HEADS[0]).as_bytes()).await.unwrap();
            for event in (format.events)() {
                for byte in event.replace('\n', "\r\n").as_bytes() {
                    stream.write_all(&[*byte]).await.unwrap();
                }
                if event.contains("größe") || event.contains("🦀") {
                    // The rest comes only when this has been shown.
                    opened.acquire().await.unwrap().forget();
                }
            }
        });
        let show = |_: Delta| gate.add_permits(1);
        let reply = format.agent_at(&url).turn(&turn(), &show, CancellationToken::new()).await;
        format.check_whole(&reply.unwrap());
    }
}

#[tokio::test]
async fn a_cancelled_turn_ends_and_closes_its_connection() {
    for format in FORMATS {
        let (url, mut is_gone) = stall(HEADS[0].to_owned() + &format.stream(format.begun + 1)).await;
        let cancel = CancellationToken::new();
        let reply = format.agent_at(&url).turn(&turn(), &|_| cancel.cancel(), cancel.clone()).await;
        check_failure(reply, FailureKind::Cancelled, "cancelled");
        assert_eq!(is_gone.recv().await, Some(()));
    }
}

/// Has the clock stand still once this has been shown; it then jumps when nothing is left to do.
fn pause_after(text: &'static str) -> impl Fn(Delta) {
    move |delta| {
        if delta == Delta::Text(text.to_owned()) {
            tokio::time::pause();
        }
    }
}

#[tokio::test]
async fn a_stream_that_stalls_is_given_up_at_the_idle_limit() {
    for format in FORMATS {
        let (url, mut is_gone) = stall(HEADS[0].to_owned() + &format.stream(format.begun + 1)).await;
        let reply = format.agent_at(&url).turn(&turn(), &pause_after("größe "), CancellationToken::new()).await;
        check_failure(reply, FailureKind::Transient, "the reply broke off: nothing came for 120 s");
        assert_eq!(is_gone.recv().await, Some(()));
        tokio::time::resume();
    }
}

#[tokio::test]
async fn a_server_that_never_marks_the_end_is_waited_for_and_loses_nothing() {
    let [_, chat] = FORMATS;
    let events = (chat.events)();
    let unmarked = events[1..6].concat();
    let (url, _is_gone) = stall(HEADS[0].to_owned() + &unmarked).await;
    let reply = chat.agent_at(&url).turn(&turn(), &pause_after("🦀"), CancellationToken::new()).await;
    chat.check_whole(&reply.unwrap());
}

#[tokio::test]
async fn what_can_not_be_sent_is_refused_without_showing_the_key() {
    for format in FORMATS {
        let agent = (format.agent)(settings("http://127.0.0.1:1", &format!("{KEY}\n")));
        check_failure(take(&agent).await.1, FailureKind::Permanent, "authorization");
    }
}

#[tokio::test]
async fn a_compatible_server_is_asked_in_its_way_and_named_in_failures() {
    let refused = || answer("400 Bad Request", "", "{\"error\":\"no\"}");
    let (url, serving) = serve(vec![refused(), refused()]).await;
    for (named, key, said) in [("", "", "the server: no"), ("#llama.cpp", KEY, "llama.cpp: no")] {
        let settings = settings(&format!("{url}/v1{named}"), key);
        let agent = api_agent(openai::COMPAT_ADAPTER_ID, settings).unwrap().expect("it is one");
        check_failure(take(&agent).await.1, FailureKind::Rejected, said);
    }
    let requests = serving.await.unwrap();
    // Without a key there is no header for one.
    assert!(!requests[0].0.contains("authorization"), "{}", requests[0].0);
    assert!(requests[1].0.contains(&format!("authorization: bearer {KEY}\r\n")), "{}", requests[1].0);
    for (head, body) in requests {
        assert!(head.starts_with("post /v1/chat/completions http/1.1\r\n"), "{head}");
        assert_eq!(body["max_tokens"], json!(api::OUTPUT_TOKENS_MAX));
    }
}

#[test]
fn a_server_that_nobody_knows_is_said_before_any_turn() {
    let refused = api_agent(openai::COMPAT_ADAPTER_ID, settings("http://localhost/v1#olama", ""));
    let Err(unusable) = refused else { panic!("it was taken for a server") };
    let said = "can't use the API at `http://localhost/v1#olama`: there is no kind of server `olama`";
    assert!(unusable.to_string().starts_with(said), "{unusable}");
}

#[test]
fn every_adapter_with_an_address_can_be_used_there() {
    for adapter in adapters() {
        let Some(base_url) = adapter.base_url.or(adapter.base_url_variable.map(|_| "http://localhost/v1")) else {
            continue;
        };
        let agent = api_agent(adapter.id, settings(base_url, KEY)).unwrap().expect("it speaks to an API");
        assert_eq!((agent.id(), agent.model()), (adapter.id, "gpt-test"));
    }
}
