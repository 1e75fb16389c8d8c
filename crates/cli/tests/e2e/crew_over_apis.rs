//! The example's crew over each wire format: what the script says for a role is said by a server that speaks for a
//! provider and refuses what it would refuse, and the crew does the same. Then with another provider for each role.

use std::collections::BTreeMap;

use adjutant_loopback::{Provider, Reply};
use serde_json::{Value, json};

use crate::example_over_apis::{ADAPTERS, Adapter, THINKING};
use crate::home::{TestHome, files};

const RUN: &str = "2026-01-15-CREW";
const ARGS: &[&str] = &[
    "run",
    "../examples/crew/brief.md",
    "--answers",
    "../examples/crew/answers.yaml",
    "--roles",
    "planner,executor,reviewer,critic",
];

/// Turns that the example's script lacks: those of a critic, who agrees with the reviewer.
const CRITIC: &str = r#"
  subtask/1.1/critic:
    - |
      ```json
      {"kind": "review", "subtask_id": "hello", "verdict": "needs_retry", "rationale": "It is too quiet."}
      ```
  subtask/1.2/critic:
    - |
      ```json
      {"kind": "review", "subtask_id": "hello", "verdict": "pass", "rationale": "It is loud enough."}
      ```
  subtask/2.1/critic:
    - |
      ```json
      {"kind": "review", "subtask_id": "bye", "verdict": "pass", "rationale": "It is short."}
      ```
"#;

/// One provider for each wire format, each with variables of its own.
const FORMATS: [Adapter; 4] = [ADAPTERS[0], ADAPTERS[1], ADAPTERS[3], ADAPTERS[5]];

/// Those who speak in the run: the agent that restates the brief for the whole crew, and the roles.
const SPEAKERS: [&str; 5] = ["intake", "planner", "executor", "reviewer", "critic"];

fn prepared() -> TestHome {
    let home = TestHome::with_examples();
    let script = home.read("examples/crew/script.yaml");
    home.write("examples/crew/script.yaml", script + CRITIC);
    home
}

/// Returns the role that speaks in a part of the run.
fn speaker(part: &str) -> &str {
    part.rsplit('/').next().expect("a part has a name")
}

/// Plays the crew by the script, and gives what was said in it: by whom, and what. Words and ids of calls are unlike
/// any other in the run, so that a server knows each reply again.
fn scripted() -> (TestHome, Vec<(String, Reply)>) {
    let home = prepared();
    home.run(ARGS).expect_code(0);
    let replies = home.journal(RUN).into_iter().filter(|event| event["type"] == "agent_reply");
    let said = replies.enumerate().map(|(number, event)| {
        let text = format!("Turn {number}.\n\n{}", event["text"].as_str().expect("text"));
        let mut reply = Reply::of(&text, event["calls"].as_array().map_or(&[], Vec::as_slice));
        for (index, call) in reply.calls.iter_mut().enumerate() {
            call.id = format!("call_{number}_{index}");
        }
        (speaker(event["part"].as_str().expect("a part")).to_owned(), reply)
    });
    let said: Vec<(String, Reply)> = said.collect();
    for name in SPEAKERS {
        assert!(said.iter().any(|(speaker, _)| speaker == name), "{name} says nothing");
    }
    (home, said)
}

/// Returns the deeds of a crew in order: its states, and each part's calls with their arguments.
fn deeds(home: &TestHome) -> Vec<Value> {
    let deeds = home.journal(RUN).into_iter().filter_map(|event| match event["type"].as_str() {
        Some("coordinator_state") => Some(json!([event["state"], event["subtask"]])),
        Some("agent_reply") => {
            let calls = event["calls"].as_array().map_or(&[][..], Vec::as_slice);
            let calls: Vec<Value> = calls.iter().map(|call| json!([call["name"], call["args"]])).collect();
            Some(json!([event["part"], calls]))
        }
        Some("question") => Some(json!([event["part"], event["question"]["kind"]])),
        _ => None,
    });
    deeds.collect()
}

/// Plays the crew with these flags and providers, each of which has as many replies as it is asked for.
#[track_caller]
fn check(flags: &[&str], providers: &[(Adapter, Vec<Reply>)], scripted: &TestHome) {
    let home = prepared();
    let mut command = home.adjutant(&[ARGS, flags].concat());
    let mut started = Vec::new();
    for (adapter, replies) in providers {
        let (_, key, base_url, fragment, format) = *adapter;
        let provider = Provider::new(format, replies.clone());
        command.env(key, "canary-key-51aa0c7e").env(base_url, format!("{}{fragment}", provider.url()));
        started.push((provider, replies.len()));
    }
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{flags:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(deeds(&home), deeds(scripted), "{flags:?}");
    assert_eq!(files(&home.path("work")), files(&scripted.path("work")), "{flags:?}");
    for (provider, expected) in started {
        let exchanges = provider.exchanges();
        let lost: Vec<&String> = exchanges.iter().flat_map(|exchange| &exchange.lost).collect();
        assert_eq!((provider.refusals(), lost), (Vec::new(), Vec::new()), "{flags:?}");
        assert_eq!(exchanges.len(), expected, "{flags:?}");
    }
    home.run(&["replay", RUN]).expect_code(0);
}

/// The replies with thinking before them, of which a provider wants back what only it can read.
fn thoughtful(said: &[(String, Reply)]) -> Vec<(String, Reply)> {
    let thinks = |(number, (speaker, reply)): (usize, &(String, Reply))| {
        (speaker.clone(), reply.clone().thinks(&format!("Hmm {number}."), &format!("signature-{number}")))
    };
    said.iter().enumerate().map(thinks).collect()
}

#[test]
fn the_crew_is_the_same_run_over_every_api() {
    let (scripted, said) = scripted();
    let plain = ADAPTERS.map(|adapter| (adapter, said.clone()));
    let thoughtful = THINKING.map(|adapter| (adapter, thoughtful(&said)));
    for (adapter, said) in plain.into_iter().chain(thoughtful) {
        let replies = said.into_iter().map(|(_, reply)| reply).collect();
        check(&["--adapter", adapter.0, "--model", "m"], &[(adapter, replies)], &scripted);
    }
}

#[test]
fn each_role_of_a_crew_may_speak_another_format() {
    let (scripted, said) = scripted();
    let said = thoughtful(&said);
    for shift in 0..FORMATS.len() {
        let places = SPEAKERS.iter().enumerate().map(|(place, speaker)| (*speaker, (place + shift) % FORMATS.len()));
        let places: BTreeMap<&str, usize> = places.collect();
        let roles: Vec<String> =
            SPEAKERS[1..].iter().map(|role| format!("{role}={}:m", FORMATS[places[role]].0)).collect();
        let mut flags = vec!["--adapter", FORMATS[places["intake"]].0, "--model", "m"];
        flags.extend(roles.iter().flat_map(|role| ["--role-adapter", role.as_str()]));
        let providers = FORMATS.iter().enumerate().map(|(place, adapter)| {
            let own = said.iter().filter(|(speaker, _)| places[speaker.as_str()] == place);
            (*adapter, own.map(|(_, reply)| reply.clone()).collect())
        });
        check(&flags, &providers.collect::<Vec<_>>(), &scripted);
    }
}
