//! Tests the operator's additions to requests: headers and fields with secrets by the names of their variables, a token
//! from a command, another key header, marks for the cache.

use adjutant_loopback::{Answer, Flavor, Format, Provider, Refusal, Reply};
use serde_json::{Value, json};

use crate::anthropic::{KEY, REPORT, run, without_key, work};
use crate::home::{RUN, SUMMARY, Said, TestHome, brief};
use crate::loopback::model;

const CHAT: Format = Format::Chat(Flavor::OpenAi);

/// Confirms and reports.
fn says(head_has: &'static str) -> impl FnMut(&str, &Value) -> Reply {
    move |head: &str, body: &Value| {
        assert!(head.contains(head_has), "{head}");
        let replies = body["messages"].as_array().expect("messages").iter().filter(|said| said["role"] == "assistant");
        Reply::says(if replies.count() == 0 { SUMMARY } else { REPORT })
    }
}

fn run_chat(home: &TestHome, config: &str, args: &[&str], variables: &[(&str, &str)]) -> Said {
    home.write("home/config.toml", config);
    home.write("brief.md", brief("mode: auto"));
    home.write("go.json", json!(["go"]).to_string());
    let args = [&["run", "../brief.md", "--answers", "../go.json"], args].concat();
    Said::of(&home.adjutant(&args).envs(variables.iter().copied()).output().expect("it starts"))
}

#[test]
fn headers_and_fields_are_added_and_their_secrets_are_nowhere_else() {
    let home = TestHome::new();
    home.write(
        "home/config.toml",
        "[adapters.anthropic.headers]\nX-Team = \"one\"\nx-gate = { variable = \"PLAIN_NAME\" }\n\n\
         [adapters.anthropic.body]\nmetadata = { user_id = \"u-1\" }\n",
    );
    // The key of the anthropic tests stands here for the gate's: nothing of it may be kept.
    let provider = model(Format::Messages, |head, body| {
        assert!(head.contains("x-team: one\r\n") && head.contains(&format!("x-gate: {KEY}\r\n")), "{head}");
        assert_eq!(body["metadata"], json!({ "user_id": "u-1" }));
        work(&head.replace("x-api-key: other", &format!("x-api-key: {KEY}")), body)
    });
    let variables = [("ANTHROPIC_API_KEY", "other"), ("ANTHROPIC_BASE_URL", provider.url()), ("PLAIN_NAME", KEY)];
    let said = run(&home, &variables);
    assert_eq!(said.code, 0, "{said:?}");
    without_key(&home, &said);
}

#[test]
fn a_variable_that_is_not_set_is_said_before_the_run() {
    let home = TestHome::new();
    let config = "[adapters.openai-compat.headers]\nauthorization = { variable = \"NO_SUCH_THING\" }\n";
    let args = ["--adapter", "openai-compat", "--model", "m", "--base-url", "http://127.0.0.1:9/v1"];
    run_chat(&home, config, &args, &[]).expect_code(2).expect_text("NO_SUCH_THING is not set");
}

#[test]
fn a_secret_that_the_provider_or_the_model_repeats_is_masked() {
    let home = TestHome::new();
    let provider = Provider::start(CHAT, &[], |_, _| {
        let message = format!("the gate refuses {KEY}");
        Answer::Error(Refusal { status: 403, body: json!({ "error": { "message": message } }) })
    });
    let config = "[adapters.openai-compat.headers]\nauthorization = { variable = \"PLAIN_NAME\" }\n";
    let args = ["--adapter", "openai-compat", "--model", "m", "--base-url", provider.url()];
    let said = run_chat(&home, config, &args, &[("PLAIN_NAME", KEY)]);
    assert_eq!(said.code, 1, "{said:?}");
    without_key(&home, &said);
}

#[test]
fn a_token_comes_from_a_command_and_anew_when_it_is_refused() {
    let home = TestHome::new();
    let count = home.path("count");
    let script = format!("echo x >> '{0}'; echo \"tok-$(wc -l < '{0}' | tr -d ' ')-{KEY}\"", count.display());
    let provider = Provider::start(CHAT, &[], |head, body| {
        let replies = body["messages"].as_array().expect("messages").iter().filter(|said| said["role"] == "assistant");
        match replies.count() {
            0 if head.contains(&format!("authorization: Bearer tok-1-{KEY}\r\n")) => {
                Answer::Reply(Reply::says(SUMMARY))
            }
            1.. if head.contains(&format!("authorization: Bearer tok-2-{KEY}\r\n")) => {
                Answer::Reply(Reply::says(REPORT))
            }
            // The first token is over by now.
            _ => Answer::Error(Refusal { status: 401, body: json!({ "error": { "message": head } }) }),
        }
    });
    let config = format!("[adapters.openai-chat]\ntoken_command = [\"sh\", \"-c\", {}]\n", json!(script));
    let args = ["--adapter", "openai-chat", "--model", "m", "--base-url", provider.url()];
    let said = run_chat(&home, &config, &args, &[]);
    assert_eq!((said.code, home.read("count").lines().count()), (0, 2), "{said:?}");
    assert!(!said.stdout.contains(KEY) && !said.stderr.contains(KEY), "{said:?}");
    let journal: String = home.journal(RUN).iter().map(Value::to_string).collect();
    assert!(!journal.contains(KEY));
}

#[test]
fn a_token_command_that_fails_is_told_without_its_output() {
    let home = TestHome::new();
    let config =
        format!("[adapters.openai-chat]\ntoken_command = [\"sh\", \"-c\", \"echo {KEY}; echo {KEY} >&2; exit 4\"]\n");
    let args = ["--adapter", "openai-chat", "--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--patience", "0"];
    let said = run_chat(&home, &config, &args, &[]);
    assert!(said.stdout.contains("`token_command` (`sh`) ended with exit code 4"), "{said:?}");
    assert!(said.code == 1 && !said.stdout.contains(KEY) && !said.stderr.contains(KEY), "{said:?}");
    // It may have had no network, and is waited for like a provider; a program that isn't there is not.
    assert!(said.stdout.contains("the turn failed (unreached)"), "{said:?}");
    let config = "[adapters.openai-chat]\ntoken_command = [\"/no/such/program\"]\n";
    let args = ["--new", "--adapter", "openai-chat", "--model", "m", "--base-url", "http://127.0.0.1:9/v1"];
    run_chat(&home, config, &args, &[]).expect_code(1).expect_text("the turn failed (permanent)");
}

#[test]
fn the_query_of_a_base_url_goes_behind_the_path() {
    let provider = model(CHAT, says("POST /openai/deployments/d/chat/completions?api-version=1 HTTP/1.1\r\n"));
    let url = format!("{}/openai/deployments/d?api-version=1", provider.url());
    let args = ["--adapter", "openai-compat", "--model", "m", "--base-url", &url];
    run_chat(&TestHome::new(), "", &args, &[("OPENAI_COMPAT_API_KEY", "k")]).expect_code(0);
}

#[test]
fn claude_behind_openrouter_has_its_marks_and_an_hour_where_asked_for() {
    for (config, mark) in [
        ("", json!({ "type": "ephemeral" })),
        ("[adapters.openai-compat]\ncache = \"1h\"\n", json!({ "type": "ephemeral", "ttl": "1h" })),
    ] {
        let provider = model(Format::Chat(Flavor::OpenRouter), says("POST /chat/completions"));
        let url = format!("{}#openrouter", provider.url());
        let args = ["--adapter", "openai-compat", "--model", "anthropic/claude-opus-5.5", "--base-url", &url];
        run_chat(&TestHome::new(), config, &args, &[("OPENAI_COMPAT_API_KEY", "k")]).expect_code(0);
        assert_eq!(provider.refusals(), Vec::<String>::new());
        for exchange in provider.exchanges() {
            let messages = exchange.body["messages"].as_array().expect("messages").clone();
            let marks = |said: &&Value| said["content"][0]["cache_control"] == mark;
            assert_eq!(messages.iter().filter(marks).count(), 2, "{messages:?}");
            assert!(marks(&messages.last().expect("a message")));
        }
    }
}
