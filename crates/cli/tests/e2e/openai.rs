//! Runs with the adapters of OpenAI's two formats against servers on loopback: from confirmation to report, with a
//! call that is made and one that is denied, and what is said where a key or an address is missing or wrong.

use std::fs;

use adjutant_loopback::{Flavor, Format, Reply};
use serde_json::{Value, json};

use crate::anthropic::{KEY, REPORT, without_key};
use crate::home::{RUN, SUMMARY, Said, TestHome, brief};
use crate::loopback::{model, serve};

/// An adapter of one of the formats, and where it has its key and its address from.
struct Adapter {
    id: &'static str,
    key: &'static str,
    base_url: &'static str,
    format: Format,
    work: fn(&str, &Value) -> Reply,
}

const CHAT: Format = Format::Chat(Flavor::OpenAi);

const OPENAI: Adapter = Adapter {
    id: "openai",
    key: "OPENAI_API_KEY",
    base_url: "OPENAI_BASE_URL",
    format: Format::Responses,
    work: work_over_responses,
};

const COMPAT: Adapter = Adapter {
    id: "openai-compat",
    key: "OPENAI_COMPAT_API_KEY",
    base_url: "OPENAI_COMPAT_BASE_URL",
    format: CHAT,
    work: work_over_chat,
};

const ADAPTERS: [Adapter; 4] = [
    OPENAI,
    Adapter { id: "openai-chat", format: CHAT, work: work_over_chat, ..OPENAI },
    COMPAT,
    Adapter { id: "grok", key: "XAI_API_KEY", base_url: "XAI_BASE_URL", ..COMPAT },
];

fn refuse(status: &str, error: &Value) -> String {
    let body = json!({ "error": error }).to_string();
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

/// Returns the model's reply that follows the first `replies` replies.
fn step(replies: usize) -> Reply {
    match replies {
        0 => Reply::says(SUMMARY),
        1 => {
            let file = json!({ "path": "out.txt", "content": "größe\n" });
            Reply::says("I write it.").calls("call_a", "write_file", file)
        }
        2 => Reply::says("And a command.").calls("call_b", "shell_exec", json!({ "cmd": "echo ran > ran.txt" })),
        _ => Reply::says(REPORT),
    }
}

/// Fails unless the results are those of the calls so far, and the denied one says that it failed.
fn check_results(replies: usize, results: &[(&Value, &Value)]) {
    let told: Vec<_> = results
        .iter()
        .map(|(id, text)| (id.as_str().expect("an id"), text.as_str().expect("text").starts_with("Error: ")))
        .collect();
    let expected = [("call_a", false), ("call_b", true)];
    assert_eq!(told, expected[..replies.saturating_sub(1).min(2)], "{results:?}");
}

fn work_over_responses(head: &str, body: &Value) -> Reply {
    assert!(head.starts_with("POST /responses HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("authorization: Bearer {KEY}\r\n")), "{head}");
    assert_eq!((&body["model"], &body["store"]), (&json!("gpt-test"), &json!(false)));
    assert!(body["instructions"].as_str().is_some_and(|orders| !orders.is_empty()), "{body}");
    let input = body["input"].as_array().expect("items");
    let replies = input.iter().filter(|item| item["role"] == "assistant").count();
    let outputs = input.iter().filter(|item| item["type"] == "function_call_output");
    check_results(replies, &outputs.map(|item| (&item["call_id"], &item["output"])).collect::<Vec<_>>());
    step(replies)
}

pub fn work_over_chat(head: &str, body: &Value) -> Reply {
    assert!(head.starts_with("POST /chat/completions HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("authorization: Bearer {KEY}\r\n")), "{head}");
    assert_eq!((&body["model"], &body["messages"][0]["role"]), (&json!("gpt-test"), &json!("system")));
    let messages = body["messages"].as_array().expect("messages");
    let replies = messages.iter().filter(|message| message["role"] == "assistant").count();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    check_results(replies, &results.map(|result| (&result["tool_call_id"], &result["content"])).collect::<Vec<_>>());
    step(replies)
}

fn run(home: &TestHome, adapter: &str, model: &[&str], variables: &[(&str, &str)]) -> Said {
    home.write("brief.md", brief("mode: auto\nauthorized_costs:\n  - filesystem_write"));
    home.write("answers.json", json!(["go", "n"]).to_string());
    let mut args = vec!["run", "../brief.md", "--adapter", adapter, "--answers", "../answers.json"];
    args.extend(model);
    let output = home.adjutant(&args).envs(variables.iter().copied()).output().expect("it starts");
    let said = Said {
        code: output.status.code().expect("no signal"),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
    };
    without_key(home, &said);
    said
}

const MODEL: [&str; 2] = ["--model", "gpt-test"];

#[test]
fn a_brief_is_run_to_its_report_over_either_format_with_one_call_denied() {
    for adapter in ADAPTERS {
        let home = TestHome::new();
        let provider = model(adapter.format, adapter.work);
        let variables = [(adapter.key, KEY), (adapter.base_url, provider.url())];
        run(&home, adapter.id, &MODEL, &variables)
            .expect_code(0)
            .expect_text(&format!("{} (gpt-test)", adapter.id))
            .expect_text("run 2026-02-03-E2E: completed");
        assert_eq!(fs::read_to_string(home.path("work/out.txt")).expect("written"), "größe\n", "{}", adapter.id);
        assert!(!home.path("work/ran.txt").exists(), "a command ran that was denied");
        let counted = home.journal(RUN).into_iter().find(|event| event["type"] == "agent_reply").expect("a reply");
        let usage = &counted["usage"];
        assert_eq!(
            (&usage["input_tokens"], &usage["cache_read_tokens"], &usage["output_tokens"]),
            (&json!(5), &json!(45), &json!(9)),
            "{}",
            adapter.id
        );
    }
}

#[test]
fn a_key_that_is_not_valid_fails_the_run_and_names_its_variable() {
    for adapter in ADAPTERS {
        let home = TestHome::new();
        let answer = |_: &str, _: &Value| {
            let message = format!("Incorrect API key provided: {KEY}.");
            let error = json!({ "message": message, "type": "invalid_request_error", "code": "invalid_api_key" });
            refuse("401 Unauthorized", &error)
        };
        run(&home, adapter.id, &MODEL, &[(adapter.key, KEY), (adapter.base_url, &serve(answer))])
            .expect_code(1)
            .expect_text("Incorrect API key provided: (the key).")
            .expect_text(&format!("check the key in {}", adapter.key));
    }
}

#[test]
fn without_a_key_nothing_begins_and_the_ways_to_start_are_said() {
    for adapter in ADAPTERS {
        let home = TestHome::new();
        run(&home, adapter.id, &MODEL, &[(adapter.base_url, "https://models.example.com/v1")])
            .expect_code(2)
            .expect_text(&format!("`{}` is not set", adapter.key))
            .expect_text("--adapter scripted --script FILE");
        assert!(home.journal(RUN).is_empty());
    }
}

#[test]
fn a_compatible_server_of_ones_own_is_sent_no_key_if_there_is_none() {
    let home = TestHome::new();
    let answer = |head: &str, _: &Value| {
        assert!(!head.to_ascii_lowercase().contains("authorization"), "{head}");
        refuse("400 Bad Request", &json!("in its words"))
    };
    run(&home, COMPAT.id, &MODEL, &[(COMPAT.base_url, &serve(answer))]).expect_code(1).expect_text("in its words");
}

#[test]
fn an_adapter_without_a_default_model_asks_for_one() {
    for (adapter, variables) in [
        ("openai-chat", [("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")]),
        ("openai-compat", [("OPENAI_COMPAT_API_KEY", KEY), ("OPENAI_COMPAT_BASE_URL", "http://127.0.0.1:1/v1")]),
    ] {
        let home = TestHome::new();
        run(&home, adapter, &[], &variables).expect_code(2).expect_text("no default model").expect_text("--model");
        assert!(home.journal(RUN).is_empty());
    }
}

#[test]
fn a_compatible_server_needs_an_address_and_a_kind_that_there_is() {
    let home = TestHome::new();
    run(&home, COMPAT.id, &MODEL, &[(COMPAT.key, KEY)]).expect_code(2).expect_text(COMPAT.base_url);
    run(&home, COMPAT.id, &MODEL, &[(COMPAT.key, KEY), (COMPAT.base_url, "http://localhost/v1#olama")])
        .expect_code(2)
        .expect_text("there is no kind of server `olama`");
    assert!(home.journal(RUN).is_empty());
}
