//! The example brief over each wire format: what the scripted agent says is said by a server that speaks for a
//! provider and refuses what it would refuse, and the run is the same: phases, tools, approval or denial, completion.

use std::collections::BTreeMap;

use adjutant_loopback::{Answer, Flavor, Format, Provider, Refusal, Reply};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::first_run::{ARGS, workdir};
use crate::home::{TestHome, files};
use crate::loopback::replies;

const RUN: &str = "2026-01-15-FIRST";

/// One adapter: its word, the variables for its key and its address, what the address ends with, and its format.
pub type Adapter = (&'static str, &'static str, &'static str, &'static str, Format);

const CHAT: Format = Format::Chat(Flavor::OpenAi);
pub const ADAPTERS: [Adapter; 6] = [
    ("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "", Format::Messages),
    ("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "", Format::Responses),
    ("openai-chat", "OPENAI_API_KEY", "OPENAI_BASE_URL", "", CHAT),
    ("openai-compat", "OPENAI_COMPAT_API_KEY", "OPENAI_COMPAT_BASE_URL", "", CHAT),
    ("grok", "XAI_API_KEY", "XAI_BASE_URL", "", CHAT),
    ("gemini", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", "", Format::Gemini),
];

/// Those of them whose models think where one can see it, and the servers that want it back in ways of their own.
pub const THINKING: [Adapter; 6] = [
    ADAPTERS[0],
    ADAPTERS[1],
    ADAPTERS[5],
    ("openai-compat", "OPENAI_COMPAT_API_KEY", "OPENAI_COMPAT_BASE_URL", "", Format::Chat(Flavor::DeepSeek)),
    (
        "openai-compat",
        "OPENAI_COMPAT_API_KEY",
        "OPENAI_COMPAT_BASE_URL",
        "#openrouter",
        Format::Chat(Flavor::OpenRouter),
    ),
    ("openai-compat", "OPENAI_COMPAT_API_KEY", "OPENAI_COMPAT_BASE_URL", "", Format::Chat(Flavor::Gemini)),
];

/// Counts the events of each type in the journal.
fn counts(home: &TestHome) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for event in home.journal(RUN) {
        *counts.entry(event["type"].as_str().expect("a type").to_owned()).or_default() += 1;
    }
    counts
}

fn phases(home: &TestHome) -> Vec<Value> {
    home.journal(RUN)
        .iter()
        .filter(|event| event["type"] == "phase_enter")
        .map(|event| event["phase"].clone())
        .collect()
}

fn prepared(answers: &[&str]) -> TestHome {
    let home = TestHome::with_examples();
    home.write("answers.json", json!(answers).to_string());
    home
}

/// Plays the example with these answers, by the script; with what was said in it.
fn scripted(answers: &[&str]) -> (TestHome, Vec<Reply>) {
    let home = prepared(answers);
    home.run(&[ARGS, &["--answers", "../answers.json"]].concat()).expect_code(0);
    let journal = home.journal(RUN);
    let spoken = journal.iter().filter(|event| event["type"] == "agent_reply").map(|reply| {
        let calls = reply["calls"].as_array().cloned().unwrap_or_default();
        Reply::of(reply["text"].as_str().expect("text"), &calls)
    });
    let spoken = spoken.collect();
    (home, spoken)
}

/// Plays the example with these answers over an API whose model says this.
#[track_caller]
fn over(adapter: Adapter, answers: &[&str], spoken: Vec<Reply>) -> (TestHome, Provider) {
    over_with(adapter, &["--model", "m"], answers, spoken)
}

/// The same with these flags.
#[track_caller]
fn over_with(adapter: Adapter, flags: &[&str], answers: &[&str], spoken: Vec<Reply>) -> (TestHome, Provider) {
    let (word, key, base_url, fragment, format) = adapter;
    let (home, provider) = (prepared(answers), replies(format, spoken));
    let args = ["--answers", "../answers.json", "--adapter", word];
    let mut command = home.adjutant(&[ARGS, &args, flags].concat());
    let url = format!("{}{fragment}", provider.url());
    let output = command.env(key, "canary-key-51aa0c7e").env(base_url, url).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{adapter:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
    (home, provider)
}

/// Plays the example with these answers, by the script and over every API, to the same end.
#[track_caller]
fn check(answers: &[&str], needed: &[&str]) {
    let (scripted, spoken) = scripted(answers);
    for needed in needed {
        assert!(scripted.journal(RUN).iter().any(|event| event.to_string().contains(needed)), "{needed}");
    }
    for adapter in ADAPTERS {
        let (home, _) = over(adapter, answers, spoken.clone());
        assert_eq!(phases(&home), phases(&scripted), "{adapter:?}");
        assert_eq!(counts(&home), counts(&scripted), "{adapter:?}");
        assert_eq!(files(&workdir(&home, RUN)), files(&workdir(&scripted, RUN)), "{adapter:?}");
    }
}

#[test]
fn the_example_is_the_same_run_over_every_api() {
    check(&["go", "y", "y"], &["\"phase\":\"destructive\"", "\"phase\":\"completion\"", "\"response\":\"y\""]);
}

#[test]
fn the_example_with_a_denial_is_the_same_run_over_every_api() {
    check(&["go", "n", "n"], &["\"phase\":\"destructive\"", "\"phase\":\"completion\"", "\"response\":\"n\""]);
}

#[test]
fn a_model_that_thinks_gets_back_what_its_provider_wants_back() {
    let (scripted, spoken) = scripted(&["go", "y", "y"]);
    let spoken = thoughtful(spoken, "signature");
    for adapter in THINKING {
        let (home, provider) = over(adapter, &["go", "y", "y"], spoken.clone());
        assert_eq!(phases(&home), phases(&scripted), "{adapter:?}");
        assert_eq!(files(&workdir(&home, RUN)), files(&workdir(&scripted, RUN)), "{adapter:?}");
        let lost: Vec<String> = provider.exchanges().into_iter().flat_map(|exchange| exchange.lost).collect();
        assert_eq!((provider.refusals(), lost), (Vec::new(), Vec::new()), "{adapter:?}");
    }
}

/// Replies that all have thinking before them.
fn thoughtful(spoken: Vec<Reply>, name: &str) -> Vec<Reply> {
    let thinks = |(number, reply): (usize, Reply)| reply.thinks(&format!("Hmm {number}."), &format!("{name}-{number}"));
    spoken.into_iter().enumerate().map(thinks).collect()
}

/// Number of replies before a provider gives up or a run is killed: the summary, and calls with their results.
const BEFORE: usize = 3;

#[test]
fn another_provider_goes_on_where_one_gave_up_in_the_middle_of_the_work() {
    let (scripted, spoken) = scripted(&["go", "y", "y"]);
    for (first, second) in [(0, 1), (1, 0), (0, 2), (2, 0), (0, 3), (3, 0), (1, 2), (2, 3), (3, 1)] {
        let (first, second) = (THINKING[first], THINKING[second]);
        let mut begun = thoughtful(spoken[..BEFORE].to_vec(), "first").into_iter();
        let gone = Provider::start(first.4, &[], move |_, _| match begun.next() {
            Some(reply) => Answer::Reply(reply),
            None => Answer::Error(Refusal { status: 401, body: json!({ "error": { "message": "no such key" } }) }),
        });
        let rest = replies(second.4, thoughtful(spoken[BEFORE..].to_vec(), "second"));
        let home = prepared(&["go", "y", "y"]);
        let fallback = format!("{}:m", second.0);
        let args = ["--answers", "../answers.json", "--adapter", first.0, "--model", "m", "--fallback", &fallback];
        let mut command = home.adjutant(&[ARGS, &args].concat());
        for (adapter, provider) in [(first, &gone), (second, &rest)] {
            command.env(adapter.1, "canary-key-51aa0c7e").env(adapter.2, format!("{}{}", provider.url(), adapter.3));
        }
        let output = command.output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{first:?} {second:?}: {said}");
        assert_eq!(files(&workdir(&home, RUN)), files(&workdir(&scripted, RUN)), "{first:?} {second:?}");
        assert_eq!((gone.refusals(), rest.refusals()), (Vec::new(), Vec::new()), "{first:?} {second:?}");
        let lost: Vec<String> = rest.exchanges().into_iter().flat_map(|exchange| exchange.lost).collect();
        assert_eq!(lost, [""; 0], "{first:?} {second:?}");
    }
}

#[test]
fn a_run_that_was_killed_in_mid_stream_goes_on_with_what_the_provider_wants_back() {
    let (scripted, spoken) = scripted(&["go", "y", "y"]);
    for adapter in THINKING {
        let mut left = thoughtful(spoken.clone(), "signature").into_iter().enumerate().peekable();
        let mut has_stalled = false;
        let provider = Provider::start(adapter.4, &[], move |_, _| match left.peek() {
            Some((BEFORE, _)) if !std::mem::replace(&mut has_stalled, true) => Answer::Stall(Reply::says("I begin.\n")),
            Some(_) => Answer::Reply(left.next().expect("it was just there").1),
            None => Answer::Error(Refusal { status: 400, body: json!({}) }),
        });
        let home = prepared(&["go", "y", "y"]);
        let url = format!("{}{}", provider.url(), adapter.3);
        let variables = [(adapter.1, "canary-key-51aa0c7e"), (adapter.2, url.as_str())];
        let args = ["--answers", "../answers.json", "--adapter", adapter.0, "--model", "m"];
        let mut running = home.start_with(&[ARGS, &args].concat(), &variables);
        running.until("I begin.");
        running.signal(Signal::KILL);
        running.finish().expect_code(-1);
        home.write("rest.json", json!(["y", "y", "y"]).to_string());
        let mut command = home.adjutant(&["resume", RUN, "--answers", "../rest.json"]);
        let output = command.envs(variables).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{adapter:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(files(&workdir(&home, RUN)), files(&workdir(&scripted, RUN)), "{adapter:?}");
        let lost: Vec<String> = provider.exchanges().into_iter().flat_map(|exchange| exchange.lost).collect();
        assert_eq!((provider.refusals(), lost), (Vec::new(), Vec::new()), "{adapter:?}");
    }
}

#[test]
fn effort_and_tokens_for_thinking_are_asked_for_in_each_providers_words() {
    let (_, spoken) = scripted(&["go", "y", "y"]);
    let thinks = |(number, reply): (usize, Reply)| reply.thinks("Hmm.", &format!("signature-{number}"));
    let thought: Vec<Reply> = spoken.iter().cloned().enumerate().map(thinks).collect();
    let effort: &[&str] = &["--effort", "high"];
    let tokens: &[&str] = &["--thinking-tokens", "2000"];
    let adaptive = json!({ "type": "adaptive", "display": "summarized" });
    let budget = json!({ "type": "enabled", "budget_tokens": 2000 });
    let level = json!({ "includeThoughts": true, "thinkingLevel": "high" });
    let gemini_budget = json!({ "includeThoughts": true, "thinkingBudget": 2000 });
    let [anthropic, openai, chat, _, grok, gemini] = ADAPTERS;
    for (adapter, model, flags, spoken, field, expected) in [
        (anthropic, "claude-sonnet-5-5", effort, &thought, "/output_config", json!({ "effort": "high" })),
        (anthropic, "claude-sonnet-5-5", effort, &spoken, "/thinking", adaptive),
        (anthropic, "claude-haiku-4-5", tokens, &thought, "/thinking", budget),
        (openai, "gpt-6-luna", effort, &thought, "/reasoning", json!({ "effort": "high", "summary": "auto" })),
        (chat, "o4-mini", effort, &spoken, "/reasoning_effort", json!("high")),
        (grok, "grok-4.7", effort, &spoken, "/reasoning_effort", json!("high")),
        (THINKING[4], "m", effort, &thought, "/reasoning", json!({ "effort": "high" })),
        (gemini, "gemini-3.8-flash", effort, &thought, "/generationConfig/thinkingConfig", level),
        (gemini, "gemini-2.5-pro", tokens, &thought, "/generationConfig/thinkingConfig", gemini_budget),
    ] {
        let flags = [flags, &["--model", model]].concat();
        let (home, provider) = over_with(adapter, &flags, &["go", "y", "y"], spoken.clone());
        assert_eq!(provider.refusals(), Vec::<String>::new(), "{adapter:?} {model}");
        for exchange in provider.exchanges() {
            assert_eq!(exchange.body.pointer(field), Some(&expected), "{adapter:?} {model}");
        }
        let options = &home.journal(RUN)[1]["options"];
        let recorded = if flags.contains(&"--effort") { &options["effort"] } else { &options["thinking_tokens"] };
        assert!(*recorded == "high" || *recorded == 2000, "{options}");
    }
}

#[test]
fn what_a_model_does_not_take_is_told_and_not_sent() {
    let (_, spoken) = scripted(&["go", "y", "y"]);
    let (home, provider) = (prepared(&["go", "y", "y"]), replies(Format::Responses, spoken));
    home.write("home/config.toml", "effort = \"high\"\n\n[adapters.openai]\nthinking_tokens = 2000\n");
    let args = ["--answers", "../answers.json", "--adapter", "openai", "--model", "gpt-4.1"];
    let mut command = home.adjutant(&[ARGS, &args].concat());
    let said = command.env("OPENAI_API_KEY", "canary-key-51aa0c7e").env("OPENAI_BASE_URL", provider.url()).output();
    let said = said.expect("it starts");
    let told = String::from_utf8_lossy(&said.stderr);
    assert_eq!(said.status.code(), Some(0), "{told}");
    assert!(told.contains("note: effort is left to gpt-4.1, which takes none"), "{told}");
    assert!(told.contains("note: thinking_tokens is not sent: gpt-4.1 takes no such number"), "{told}");
    assert!(provider.exchanges().iter().all(|exchange| exchange.body.get("reasoning").is_none()));
}
