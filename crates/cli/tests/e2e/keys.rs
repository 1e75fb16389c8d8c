//! The key file in the home: used, told about, and never shown.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use adjutant_loopback::Format;
use serde_json::json;

use crate::anthropic::{KEY, run, without_key, work};
use crate::home::{RUN, TestHome, files};
use crate::loopback::{model, serve};

fn key_file(home: &TestHome, text: &str, mode: u32) {
    let path = home.write("home/keys.toml", text);
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("set");
}

#[test]
fn a_key_from_the_key_file_runs_a_brief() {
    let home = TestHome::new();
    key_file(&home, &format!("anthropic = '{KEY}'\nopenay = 'x'"), 0o600);
    let said = run(&home, &[("ANTHROPIC_BASE_URL", model(Format::Messages, work).url())]);
    fs::remove_file(home.path("home/keys.toml")).expect("removed");
    without_key(&home, &said);
    said.expect_code(0)
        .expect_text("run 2026-02-03-E2E: completed")
        .expect_text("warning: no adapter of this version takes the key `openay` in ");
}

#[test]
fn the_environment_wins_over_the_key_file() {
    let home = TestHome::new();
    key_file(&home, "anthropic = 'another'", 0o600);
    // The server refuses any other key.
    run(&home, &[("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", model(Format::Messages, work).url())])
        .expect_code(0);
}

#[test]
fn a_key_file_that_others_can_read_begins_nothing_and_names_the_mending_command() {
    let home = TestHome::new();
    key_file(&home, &format!("anthropic = '{KEY}'"), 0o644);
    run(&home, &[])
        .expect_code(2)
        .expect_text("is open to others (mode 644)")
        .expect_text(&format!("hint: `chmod 600 {}`", home.path("home/keys.toml").display()));
    assert!(home.journal(RUN).is_empty());
    home.run(&["doctor"]).expect_code(1).expect_text("FAIL key file: the key file").expect_text("`chmod 600 ");
}

#[test]
fn a_key_that_a_tool_reads_is_masked() {
    let home = TestHome::new();
    key_file(&home, "someone = 'plain words of a canary 4471'", 0o600);
    let call = json!({ "tool": "shell_exec", "args": { "cmd": "cat ../home/keys.toml" } });
    home.scripted(
        "mode: auto\nauthorized_costs:\n  - shell_exec",
        &json!([crate::home::SUMMARY, { "text": "I look.", "calls": [call] }, "## Phase 4\n\nDone.\n"]),
    );
    // In the sandbox the file is not there; what a command without one reads is still masked.
    home.write("home/config.toml", "[sandbox]\nmode = 'off'\n");
    home.write("go.json", json!(["go", "y"]).to_string());
    let said = home.run(&["run", "../brief.md", "--answers", "../go.json", "--json"]);
    fs::remove_file(home.path("home/keys.toml")).expect("removed");
    assert!(said.stdout.contains("someone = "), "{said:?}");
    assert!(!said.stdout.contains("canary 4471"), "{said:?}");
    for (name, content) in files(&home.path("home")) {
        assert!(!String::from_utf8_lossy(&content).contains("canary 4471"), "{name}");
    }
}

#[test]
fn doctor_says_that_the_key_file_has_the_key_and_never_which() {
    let home = TestHome::new();
    key_file(&home, &format!("anthropic = '{KEY}'\nantropic = 'x'"), 0o600);
    let output = home.adjutant(&["doctor"]).env("ADJUTANT_ADAPTER", "anthropic").output().expect("it starts");
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(said.contains("ok   adapter: `anthropic` has its key from the key file ~/home/keys.toml"), "{said}");
    assert!(
        said.contains("notice: no adapter of this version takes the key `antropic` in")
            && said.contains("did you mean `anthropic`?"),
        "{said}"
    );
    assert!(!said.contains(KEY), "{said}");
}

#[test]
fn an_address_with_a_password_is_refused_and_not_repeated() {
    let home = TestHome::new();
    home.scripted("mode: auto\nadapter: openai-compat\nmodel: m", &serde_json::json!([]));
    let said = home.run(&["run", "../brief.md", "--base-url", "http://me:canary-6f1d@127.0.0.1:9/v1"]).expect_code(2);
    let said = said.expect_text("which is no place for a key");
    assert!(!format!("{}{}", said.stdout, said.stderr).contains("canary-6f1d"), "{said:?}");
    assert!(!home.journal_path("x").parent().is_some_and(std::path::Path::exists), "nothing begins");
}

#[test]
fn a_run_goes_through_the_proxy_that_the_environment_names() {
    let home = TestHome::new();
    // The name resolves nowhere: only the proxy can have answered.
    let provider = model(Format::Messages, work);
    let proxy = provider.url();
    let environment = [("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", "http://api.invalid"), ("http_proxy", proxy)];
    run(&home, &environment).expect_code(0);
    let home = TestHome::new();
    let socks = [("ANTHROPIC_API_KEY", KEY), ("http_proxy", "socks5://127.0.0.1:1")];
    run(&home, &socks).expect_code(2).expect_text("http_proxy");
}

#[test]
fn the_window_and_the_default_of_a_providers_model_are_on_record() {
    let home = TestHome::new();
    home.write("brief.md", crate::home::brief("mode: auto"));
    let mut command = home.adjutant(&["run", "../brief.md", "--adapter", "anthropic"]);
    let output = command.env("ANTHROPIC_API_KEY", KEY).env("ANTHROPIC_BASE_URL", serve(declined)).output();
    assert_eq!(output.expect("it starts").status.code(), Some(1));
    let journal = home.journal(RUN);
    let options = &journal.iter().find(|event| event["type"] == "run_start").expect("a beginning")["options"];
    assert_eq!((&options["model"], &options["window"]), (&json!("claude-sonnet-5-5"), &json!(1_000_000)));
}

fn declined(_: &str, _: &serde_json::Value) -> String {
    "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned()
}
