//! Tests the configuration of adapters and the limits on what a run may use: taken, told with its place, and refused if
//! it would send a key elsewhere.

use std::fs;
use std::process::Output;

use adjutant_loopback::Format;
use serde_json::{Value, json};

use crate::anthropic::{KEY, work};
use crate::home::{RUN, SUMMARY, TestHome, brief};
use crate::loopback::model;

/// Runs the binary with these variables; its exit code, stdout and stderr.
fn with(home: &TestHome, args: &[&str], variables: &[(&str, &str)]) -> (i32, String, String) {
    let Output { status, stdout, stderr } =
        home.adjutant(args).envs(variables.iter().copied()).output().expect("it starts");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (status.code().expect("no signal"), text(stdout), text(stderr))
}

#[test]
fn a_configured_adapter_takes_the_turns() {
    let home = TestHome::new();
    home.write("brief.md", brief("mode: auto\nauthorized_costs:\n  - filesystem_write"));
    home.write("go.json", json!(["go"]).to_string());
    let checked = |head: &str, body: &Value| {
        assert_eq!(body["max_tokens"], 1234, "{body}");
        work(head, body)
    };
    let provider = model(Format::Messages, checked);
    let url = provider.url();
    home.write(
        "home/config.toml",
        format!("[adapters.anthropic]\nmodel = 'claude-test'\nbase_url = '{url}'\noutput_tokens_max = 1234\n"),
    );
    let args = ["run", "../brief.md", "--adapter", "anthropic", "--answers", "../go.json"];
    let (code, stdout, stderr) = with(&home, &args, &[("ANTHROPIC_API_KEY", KEY)]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.contains("anthropic (claude-test)"), "{stdout}");

    // What it cost: four turns of 5 and 9 tokens each.
    let config = home.read("home/config.toml");
    home.write("home/config.toml", format!("{config}price_input = 3\nprice_output = 15.0\n"));
    let said = home.run(&["inspect", RUN, "--cost"]).expect_code(0);
    assert!(said.stdout.ends_with("$0.0006\n\ntotal: $0.0006\n"), "{said:?}");
    let json: Value = serde_json::from_str(&home.run(&["inspect", RUN, "--cost", "--json"]).stdout).expect("JSON");
    assert_eq!(json["total"]["nano_dollars"], 4 * (5 * 3000 + 9 * 15_000), "{json}");
    let said = home.run(&["inspect", RUN, "--cost", "--dollar-per-1k", "1"]).expect_code(0);
    assert!(said.stdout.ends_with("$0.0560\n"), "{said:?}");
    for price in ["-1", "NaN", "inf", "x"] {
        home.run(&["inspect", RUN, "--cost", &format!("--dollar-per-1k={price}")])
            .expect_code(2)
            .expect_text("dollars are a number from 0 on");
    }
    home.write("home/config.toml", "nonsense = 1\n");
    let said =
        home.run(&["inspect", RUN, "--cost"]).expect_code(0).expect_text("warning: no prices: unknown key `nonsense`");
    assert!(!said.stdout.contains('$'), "{said:?}");

    // A flag wins over variable and configuration, a variable over configuration.
    fs::remove_file(home.path("work/out.txt")).expect("written");
    home.write("home/config.toml", "[adapters.anthropic]\nmodel = 'claude-test'\nbase_url = 'nowhere'\n");
    let provider = model(Format::Messages, work);
    let with_flag = [&args[..], &["--new", "--base-url", provider.url()]].concat();
    let variables = [("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", "nowhere")];
    let (code, stdout, stderr) = with(&home, &with_flag, &variables);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let (code, _, stderr) = with(&home, &[&args[..], &["--new"]].concat(), &variables[..1]);
    assert_eq!(code, 2, "{stderr}");
    assert!(
        stderr.contains("`nowhere` is not a web address")
            && stderr.contains("`base_url` under `[adapters.anthropic]` must be like")
    );
}

#[test]
fn a_project_says_no_address_of_an_api_even_if_it_is_trusted() {
    let home = TestHome::new();
    home.write("work/.adjutant/config.toml", "[adapters.anthropic]\nbase_url = 'https://elsewhere.example'\n");
    home.run(&["doctor", "--trust"])
        .expect_code(2)
        .expect_text("`adapters.anthropic.base_url` in ")
        .expect_text("is not taken from a project: it decides which host a key goes to");
}

#[test]
fn the_adapters_are_listed_with_what_they_have_and_lack() {
    let home = TestHome::new();
    let (code, stdout, _) = with(&home, &["adapters"], &[]);
    assert_eq!(code, 0, "{stdout}");
    let row = |stdout: &str, id: &str| {
        stdout.lines().find(|line| line.starts_with(id)).unwrap_or_else(|| panic!("{stdout}")).to_owned()
    };
    assert!(row(&stdout, "anthropic ").contains("  ANTHROPIC_API_KEY is not set  "), "{stdout}");
    let scripted = row(&stdout, "scripted ");
    assert_eq!(
        scripted.split_whitespace().collect::<Vec<_>>(),
        ["scripted", "Scripted", "agent", "yes", "-", "free", "-", "-"]
    );

    home.write(
        "home/config.toml",
        "[adapters.anthropic]\nmodel = 'm'\nwindow = 1000\ntier = 'free'\nprice_input = 0.25\n",
    );
    let variables = [("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")];
    let (_, stdout, stderr) = with(&home, &["adapters"], &variables);
    let cells = row(&stdout, "anthropic ")
        .split("  ")
        .filter(|cell| !cell.is_empty())
        .map(|cell| cell.trim().to_owned())
        .collect::<Vec<_>>();
    assert_eq!(cells[2..], ["yes", "m", "free", "1000", "input 0.25", "http://127.0.0.1:9"], "{stdout}");
    assert!(!stdout.contains(KEY) && stderr.is_empty(), "{stderr}");

    let (_, stdout, _) = with(&home, &["adapters", "--json"], &variables);
    let rows: Value = serde_json::from_str(&stdout).expect("JSON");
    let row = rows.as_array().expect("rows").iter().find(|row| row["id"] == "anthropic").expect("a row");
    assert_eq!(
        row,
        &json!({
            "id": "anthropic", "name": "Anthropic", "ready": true, "key_from": "ANTHROPIC_API_KEY", "model": "m",
            "tier": "free", "window": 1000, "prices": { "input": 0.25 }, "base_url": "http://127.0.0.1:9",
            "has_other_base_url": true, "output_tokens_max": 16384,
        })
    );
}

#[test]
fn doctor_says_where_each_setting_of_an_adapter_and_each_budget_comes_from() {
    let home = TestHome::new();
    home.write(
        "home/config.toml",
        "adapter = 'anthropic'\nfallback = ['scripted']\nmax_dollars = 2.5\nmax_turns = 7\n\
         [adapters.anthropic]\nwindow = 1000\nprice_output = 15.0\n[adapters.scripted]\ntier = 'paid'\n",
    );
    let variables =
        [("ANTHROPIC_API_KEY", KEY), ("ADJUTANT_MAX_TOKENS", "500"), ("ADJUTANT_FALLBACK", "scripted, mock")];
    let (_, stdout, _) = with(&home, &["doctor", "--json"], &variables);
    let report: Value = serde_json::from_str(&stdout).expect("JSON");
    let settings = report["settings"].as_array().expect("settings");
    let config = |place: &str| format!("{}:{place}", home.path("home/config.toml").display());
    for (name, value, from) in [
        ("model", "claude-sonnet-5-5", "the default".to_owned()),
        ("fallback", "scripted, mock", "ADJUTANT_FALLBACK".to_owned()),
        ("max_tokens", "500", "ADJUTANT_MAX_TOKENS".to_owned()),
        ("max_turns", "7", config("4:13")),
        ("max_dollars", "2.50", config("3:15")),
        ("adapters.anthropic.base_url", "https://api.anthropic.com", "the default".to_owned()),
        ("adapters.anthropic.window", "1000", config("6:10")),
        ("adapters.anthropic.idle_seconds", "120", "the default".to_owned()),
        ("adapters.anthropic.price_output", "15", config("7:16")),
        ("adapters.scripted.tier", "paid", config("9:8")),
    ] {
        let rows: Vec<_> = settings.iter().filter(|row| row["name"] == name).collect();
        assert_eq!(rows, [&json!({ "name": name, "value": value, "from": from })], "{stdout}");
    }
}

#[test]
fn what_can_not_be_is_wrong_usage() {
    let home = TestHome::new();
    home.write("brief.md", brief("mode: auto"));
    home.write("script.json", "[]");
    for (flags, said) in [
        (
            &["--fallback", "scripted,antropic:x"][..],
            "there is no adapter `antropic` in this version (from --fallback)",
        ),
        (&["--max-dollars", "0"], "dollars are a number above 0"),
        (&["--max-dollars", "1e3"], "dollars are a number above 0"),
        (&["--max-tokens", "0"], "0 is not in 1.."),
        (&["--max-turns", "x"], "invalid digit"),
        (&["--max-minutes", "-1"], "unexpected argument"),
    ] {
        let args = [&["run", "../brief.md"], flags].concat();
        home.run(&args).expect_code(2).expect_text(said);
    }
    home.write("home/config.toml", "[adapters.antropic]\nmodel = 'm'\n");
    home.run(&["run", "../brief.md"])
        .expect_code(2)
        .expect_text("there is no adapter `antropic` in this version (from ")
        .expect_text("did you mean `anthropic`?");
}

#[test]
fn without_any_certificate_nothing_begins_and_it_is_said_where_they_come_from() {
    let home = TestHome::new();
    home.write("brief.md", brief("mode: auto"));
    let args = ["run", "../brief.md", "--adapter", "anthropic"];
    let (code, _, stderr) = with(&home, &args, &[("ANTHROPIC_API_KEY", KEY), ("SSL_CERT_FILE", "/dev/null")]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("can't set up the HTTP client: ") && stderr.contains("SSL_CERT_FILE"), "{stderr}");
    assert!(home.journal(RUN).is_empty());
}

#[test]
fn what_a_run_may_use_and_whom_it_falls_back_on_is_on_record_with_prices() {
    let home = TestHome::new();
    home.write(
        "brief.md",
        brief("mode: auto\nbudgets:\n  max_tokens: 90000\n  max_wall_clock_minutes: 7\n  max_turns: 8"),
    );
    home.write("script.json", json!([SUMMARY]).to_string());
    home.write(
        "home/config.toml",
        "fallback = ['anthropic:claude-other', 'scripted']\nmax_turns = 9\n\
         [adapters.anthropic]\nwindow = 1000\noutput_tokens_max = 2000\nprice_input = 3\n",
    );
    let key = [("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")];
    let (code, _, stderr) = with(&home, &["run", "../brief.md", "--max-dollars", "1.5", "--max-tokens", "80000"], &key);
    assert_eq!(code, 2, "{stderr}");
    assert!(
        stderr.contains("a limit of dollars can't be held: what `anthropic:claude-other` costs is not known"),
        "{stderr}"
    );

    let config = home.read("home/config.toml");
    home.write("home/config.toml", format!("{config}price_output = 15\n"));
    let (code, _, stderr) = with(&home, &["run", "../brief.md", "--max-dollars", "1.5", "--max-tokens", "80000"], &key);
    assert_eq!(code, 4, "{stderr}");
    assert!(!stderr.contains("has no effect"), "{stderr}");
    let options = &home.journal(RUN)[1]["options"];
    assert_eq!(
        options["budget"],
        json!({ "max_tokens": 80_000, "max_minutes": 7, "max_nano_dollars": 1_500_000_000, "max_turns": 8 })
    );
    let anthropic = json!({
        "adapter": "anthropic", "model": "claude-other", "base_url": "http://127.0.0.1:9", "window": 1000,
        "output_tokens_max": 2000, "prices": { "input": 3000, "output": 15_000 },
    });
    assert_eq!(options["fallback"], json!([anthropic, { "adapter": "scripted" }]));

    // Less than any reply needs: nothing is sent.
    let (code, stdout, _) = with(&home, &["run", "../brief.md", "--new", "--max-tokens", "800"], &key);
    assert_eq!(code, 5, "{stdout}");

    // An agent to fall back on that is not ready is said before anything begins.
    let (code, _, stderr) = with(&home, &["run", "../brief.md", "--new"], &[]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("the adapter `anthropic` needs a key, and `ANTHROPIC_API_KEY` is not set"), "{stderr}");
}

#[test]
fn a_resumed_run_asks_where_it_asked_before_unless_it_is_told_otherwise() {
    let home = TestHome::new();
    home.write("brief.md", brief("mode: auto\nauthorized_costs:\n  - filesystem_write"));
    home.write("go.json", json!(["go"]).to_string());
    let (first, second) = (model(Format::Messages, work), model(Format::Messages, work));
    let (first, second) = (first.url(), second.url());
    let key = [("ANTHROPIC_API_KEY", KEY)];
    let args = ["run", "../brief.md", "--adapter", "anthropic", "--model", "claude-test", "--base-url", first];
    let (code, _, stderr) = with(&home, &args, &key);
    assert_eq!(code, 4, "{stderr}");
    assert_eq!(home.journal(RUN)[1]["options"]["base_url"], first);
    let (code, _, stderr) = with(&home, &["resume", RUN, "--base-url", "nowhere"], &key);
    assert_eq!(code, 2, "{stderr}");
    let (code, stdout, stderr) = with(&home, &["resume", RUN, "--base-url", second, "--answers", "../go.json"], &key);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let resumed = home.journal(RUN).into_iter().find(|event| event["type"] == "run_resume").expect("resumed");
    assert_eq!(resumed["options"]["base_url"], second);
}
