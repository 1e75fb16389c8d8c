//! `adapters --models`: which models an API has, whether the key is good, and what is said where there is no list; and
//! what runs cost by the prices that come with the program.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

use adjutant_loopback::Format;
use serde_json::{Value, json};

use crate::anthropic::{KEY, work};
use crate::home::{RUN, Said, TestHome, brief};
use crate::loopback::model;

/// A server that answers heads without a body.
fn serve(answer: fn(&str) -> (&'static str, String)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    // It ends with the test's process.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream: TcpStream = stream.expect("a connection");
            let mut head = String::new();
            let mut reader = BufReader::new(&stream);
            while !head.ends_with("\r\n\r\n") {
                assert_ne!(reader.read_line(&mut head).expect("a head"), 0, "the request broke off");
            }
            let (status, body) = answer(&head);
            let length = body.len();
            let whole = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
            stream.write_all(whole.as_bytes()).expect("the client reads");
        }
    });
    url
}

fn models(args: &[&str], variables: &[(&str, &str)]) -> Said {
    let home = TestHome::new();
    let args = [&["adapters", "--models"], args].concat();
    let output = home.adjutant(&args).envs(variables.iter().copied()).output().expect("it starts");
    let said = Said::of(&output);
    assert!(!said.stdout.contains(KEY) && !said.stderr.contains(KEY), "{said:?}");
    said
}

fn anthropic(head: &str) -> (&'static str, String) {
    assert!(head.contains("anthropic-version: 2023-06-01\r\n"), "{head}");
    if !head.contains(&format!("x-api-key: {KEY}\r\n")) {
        let error =
            json!({ "type": "error", "error": { "type": "authentication_error", "message": "invalid x-api-key" } });
        return ("401 Unauthorized", error.to_string());
    }
    let model = |id: &str| json!({ "type": "model", "id": id, "max_input_tokens": 1_000_000, "max_tokens": 128_000 });
    let first = head.starts_with("GET /v1/models?limit=1000 HTTP/1.1\r\n");
    let page = if first {
        json!({ "data": [model("claude-opus-5-5")], "has_more": true, "last_id": "claude-opus-5-5" })
    } else {
        assert!(head.starts_with("GET /v1/models?limit=1000&after_id=claude-opus-5-5 HTTP/1.1\r\n"), "{head}");
        json!({ "data": [model("claude-sonnet-5-5")], "has_more": false, "last_id": "claude-sonnet-5-5" })
    };
    ("200 OK", page.to_string())
}

fn openai(head: &str) -> (&'static str, String) {
    assert!(head.starts_with("GET /models HTTP/1.1\r\n"), "{head}");
    if !head.contains(&format!("authorization: Bearer {KEY}\r\n")) {
        let error = json!({ "error": { "message": "Incorrect API key provided", "code": "invalid_api_key" } });
        return ("401 Unauthorized", error.to_string());
    }
    let models = json!([{ "id": "gpt-6-luna", "object": "model" }, { "id": "grok-4.7" }, { "id": "m\u{1b}[31m" }]);
    ("200 OK", json!({ "object": "list", "data": models }).to_string())
}

fn gemini(head: &str) -> (&'static str, String) {
    assert!(head.starts_with("GET /v1beta/models?pageSize=1000 HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("x-goog-api-key: {KEY}\r\n")), "{head}");
    let models = json!([
        { "name": "models/gemini-3.8-flash", "inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536,
          "supportedGenerationMethods": ["generateContent"] },
        { "name": "models/embedding-x", "supportedGenerationMethods": ["embedContent"] },
    ]);
    ("200 OK", json!({ "models": models }).to_string())
}

#[test]
fn models_are_listed_with_what_the_server_says_of_them() {
    let said = models(&["anthropic"], &[("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", &serve(anthropic))]);
    insta::assert_snapshot!(said.expect_code(0).stdout, @r"
    adapter    model                window   reply
    ---------  -------------------  -------  ------
    anthropic  claude-opus-5-5      1000000  128000
    anthropic  claude-sonnet-5-5 *  1000000  128000
    ");
    let said = models(&["gemini", "--json"], &[("GEMINI_API_KEY", KEY), ("GOOGLE_GEMINI_BASE_URL", &serve(gemini))]);
    let lists: Value = serde_json::from_str(&said.expect_code(0).stdout).expect("JSON");
    let model =
        json!({ "id": "gemini-3.8-flash", "window": 1_048_576, "output_tokens_max": 65_536, "is_chosen": true });
    assert_eq!((&lists[0]["adapter"], &lists[0]["models"]), (&json!("gemini"), &json!([model])));
    for (adapter, key, base_url) in [
        ("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
        ("openai-chat", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
        ("openai-compat", "OPENAI_COMPAT_API_KEY", "OPENAI_COMPAT_BASE_URL"),
        ("grok", "XAI_API_KEY", "XAI_BASE_URL"),
    ] {
        let said = models(&[adapter], &[(key, KEY), (base_url, &serve(openai))]).expect_code(0);
        assert!(said.stdout.contains("gpt-6-luna") && said.stdout.contains("grok-4.7"), "{said:?}");
        assert!(!said.stdout.contains('\u{1b}'), "what a server writes drives no terminal: {said:?}");
    }
}

#[test]
fn all_that_are_ready_are_asked_where_none_is_named() {
    let variables = [
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_BASE_URL", &*serve(openai)),
        ("GEMINI_API_KEY", KEY),
        ("GOOGLE_GEMINI_BASE_URL", &*serve(gemini)),
    ];
    let said = models(&[], &variables).expect_code(0);
    for adapter in ["openai ", "openai-chat", "gemini"] {
        assert!(said.stdout.lines().any(|line| line.starts_with(adapter)), "{adapter}: {said:?}");
    }
    models(&[], &[]).expect_code(2).expect_text("no adapter is ready to be asked");
}

#[test]
fn where_there_is_no_list_it_is_said_why_and_what_to_do() {
    let nothing = || {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        format!("http://{}", listener.local_addr().expect("an address"))
    };
    let compat = |url: &str, key: &str| {
        models(&["openai-compat"], &[("OPENAI_COMPAT_API_KEY", key), ("OPENAI_COMPAT_BASE_URL", url)])
    };
    compat(&serve(openai), "sk-wrong-key-0123456789abcdef")
        .expect_code(1)
        .expect_text("Incorrect API key provided")
        .expect_text("hint: check the key in OPENAI_COMPAT_API_KEY");
    compat(&nothing(), KEY).expect_code(1).expect_text("hint: check the network, the proxy and the base URL");
    compat(&serve(|_| ("404 Not Found", "<html>".to_owned())), KEY)
        .expect_code(1)
        .expect_text("it has no list of models (status 404)")
        .expect_text("hint: name a model with --model");
    compat(&serve(|_| ("200 OK", "hello".to_owned())), KEY).expect_code(1).expect_text("the answer is no JSON");
    compat(&serve(|_| ("200 OK", "{}".to_owned())), KEY).expect_code(1).expect_text("the answer is no list of models");
    compat(&serve(|_| ("302 Found", String::new())), KEY).expect_code(1);
    compat(&serve(|_| ("503 Service Unavailable", String::new())), KEY)
        .expect_code(1)
        .expect_text("hint: try again in a while");
    // One list and one that is none.
    let variables = [
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_BASE_URL", &*serve(openai)),
        ("XAI_API_KEY", KEY),
        ("XAI_BASE_URL", &*nothing()),
    ];
    let said = models(&["--json"], &variables).expect_code(1);
    let lists: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let lists = lists.as_array().expect("lists");
    assert!(lists.iter().any(|list| list["adapter"] == "openai" && list["models"].is_array()), "{said:?}");
    assert!(lists.iter().any(|list| list["adapter"] == "grok" && list["hint"].is_string()), "{said:?}");
    // What is missing to ask at all.
    models(&["anthropic"], &[]).expect_code(2).expect_text("ANTHROPIC_API_KEY");
    models(&["openai-compat"], &[]).expect_code(2).expect_text("no base URL is set");
    models(&["scripted"], &[]).expect_code(2).expect_text("has no API to ask");
    models(&["antropic"], &[]).expect_code(2).expect_text("there is no adapter `antropic`");
}

#[test]
fn without_configured_prices_dollars_are_estimated_by_the_list_and_said_to_be() {
    let home = TestHome::new();
    home.write("brief.md", brief("mode: auto\nauthorized_costs:\n  - filesystem_write"));
    home.write("go.json", json!(["go"]).to_string());
    let provider = model(Format::Messages, |head, body| {
        let mut body = body.clone();
        assert_eq!(body["model"], "claude-sonnet-5-5");
        body["model"] = json!("claude-test");
        work(head, &body)
    });
    let url = provider.url().to_owned();
    let run = |model: &str| {
        let args = [
            "run", "../brief.md", "--new", "--adapter", "anthropic", "--model", model, "--max-dollars", "1.5",
            "--answers", "../go.json",
        ];
        let mut command = home.adjutant(&args);
        let output = command.env("ANTHROPIC_API_KEY", KEY).env("ANTHROPIC_BASE_URL", &url).output();
        Said::of(&output.expect("it starts"))
    };
    run("claude-of-nobodys-list")
        .expect_code(2)
        .expect_text("what `anthropic:claude-of-nobodys-list` costs is not known");
    run("claude-sonnet-5-5").expect_code(0).expect_text("note: dollars are estimated by list prices of 20");
    let options =
        &home.journal(RUN).into_iter().find(|event| event["type"] == "run_start").expect("a start")["options"];
    let prices = json!({ "input": 2_000, "cache_read": 100, "cache_write": 2_500, "output": 10_000 });
    assert_eq!(options["prices"], prices);
    assert!(options["prices_listed"].as_str().is_some_and(|day| day.len() == 10), "{options}");
    let said = home.run(&["inspect", RUN, "--cost"]).expect_code(0).expect_text("total: ~$0.0004");
    assert!(said.stdout.contains("~ tilde marks estimates by the providers' list prices of 20"), "{said:?}");
    // Prices of the operator's own are none.
    home.write("home/config.toml", "[adapters.anthropic]\nprice_input = 3\nprice_output = 15\n");
    home.run(&["inspect", RUN, "--cost"]).expect_code(0).expect_text("total: $0.0006");
    let said = run("claude-sonnet-5-5").expect_code(0);
    assert!(!said.stderr.contains("list prices"), "{said:?}");
}

#[test]
fn a_model_that_gives_shorter_replies_is_asked_for_no_more() {
    let home = TestHome::new();
    home.write("brief.md", brief("mode: auto\nauthorized_costs:\n  - filesystem_write"));
    home.write("go.json", json!(["go"]).to_string());
    let url = crate::loopback::serve(|head, body| {
        assert!(head.contains("gemini-2.0-flash"), "{head}");
        assert_eq!(body["generationConfig"]["maxOutputTokens"], 8_192, "{body}");
        "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned()
    });
    let args = ["run", "../brief.md", "--adapter", "gemini", "--model", "gemini-2.0-flash", "--answers", "../go.json"];
    let output = home.adjutant(&args).env("GEMINI_API_KEY", KEY).env("GOOGLE_GEMINI_BASE_URL", &url).output();
    Said::of(&output.expect("it starts")).expect_code(1).expect_text("check the key in GEMINI_API_KEY");
}
