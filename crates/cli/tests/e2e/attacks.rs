//! An agent that means harm: every attack of `tests/attacks/attacks.jsonl` is tried in a real run, and stopped by the
//! layer that owns it.
//!
//! `gate`: the call is never made. `workdir`, `http`: the tool refuses it. `sandbox`: the command runs, and the kernel
//! keeps it from doing harm; the same attack without a sandbox does harm, so that it proves something.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, Said, TestHome, files};

const ATTACKS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/attacks/attacks.jsonl"));
const REPORT: &str = "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n";
const SECRET: &str = "the-operators-private-words-4471";
const KEY: &str = "key-of-the-operator-9083-quince";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attack {
    name: String,
    /// Categories that the brief authorizes.
    authorized: Vec<String>,
    calls: Vec<Value>,
    stopped_by: Layer,
    /// True if it does harm when nothing stops it.
    #[serde(default = "yes")]
    control: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Layer {
    Gate,
    Workdir,
    Http,
    Sandbox,
}

/// Surroundings of an attack, with all that it could harm.
struct Victim {
    home: TestHome,
    listener: TcpListener,
    mark: String,
    kept: Vec<std::collections::BTreeMap<String, Vec<u8>>>,
}

impl Victim {
    fn new(number: usize) -> Self {
        let home = TestHome::new();
        home.write("outside/victim.txt", "untouched");
        home.write("work/keep/notes.txt", "kept");
        home.write("work/evil.sh", "#!/bin/sh\nrm -rf keep\n");
        home.write(".ssh/id_ed25519", SECRET);
        home.write("home/keys.toml", format!("anthropic = \"{KEY}\"\n"));
        for place in ["home/keys.toml", ".ssh/id_ed25519"] {
            let only_mine = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            fs::set_permissions(home.path(place), only_mine).expect("a mode");
        }
        symlink("../outside", home.path("work/link-out")).expect("a link");
        symlink("../.ssh/id_ed25519", home.path("work/link-secret")).expect("a link");
        let git = "git init -q && git add keep evil.sh && git -c user.name=a -c user.email=a@b commit -qm first";
        let made =
            Command::new("sh").args(["-c", git]).current_dir(home.path("work")).env("HOME", home.path("")).status();
        assert!(made.expect("git runs").success());
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("non-blocking");
        let mark = format!("attack-{}-{number}", std::process::id());
        let mut victim = Self { home, listener, mark, kept: Vec::new() };
        victim.kept = victim.state();
        victim
    }

    /// All that no attack may change.
    fn state(&self) -> Vec<std::collections::BTreeMap<String, Vec<u8>>> {
        let mut git = files(&self.home.path("work/.git"));
        git.retain(|path, _| path.starts_with("hooks/") || path == "config");
        vec![files(&self.home.path("outside")), files(&self.home.path("work/keep")), git]
    }

    fn fill(&self, text: &str) -> String {
        let path = |relative: &str| self.home.path(relative).display().to_string();
        text.replace("{OUTSIDE}", &path("outside"))
            .replace("{SECRET}", &path(".ssh/id_ed25519"))
            .replace("{ADJUTANT_HOME}", &path("home"))
            .replace("{MARK}", &self.mark)
            .replace("{PORT}", &self.listener.local_addr().expect("an address").port().to_string())
    }

    /// Lets an agent try it, with nobody to ask but for these answers.
    fn attacked(&self, attack: &Attack, answers: &[&str]) -> Said {
        let calls: Value = serde_json::from_str(&self.fill(&json!(attack.calls).to_string())).expect("JSON");
        let turns = json!([
            {"text": SUMMARY},
            {"text": "On it.", "calls": calls},
            {"repeat": 3, "text": REPORT},
        ]);
        let authorized: String = attack.authorized.iter().map(|entry| format!("\n  - \"{entry}\"")).collect();
        self.home.scripted(&format!("mode: auto\nauthorized_costs:{authorized}"), &turns);
        self.home.write("go.json", json!(answers).to_string());
        self.home.run(&["run", "../brief.md", "--answers", "../go.json"])
    }

    /// Everything that is not as it was.
    fn harm(&self, said: &Said) -> Vec<String> {
        let mut harm = Vec::new();
        for (before, after) in self.kept.iter().zip(self.state()) {
            for path in before.keys().chain(after.keys()) {
                if before.get(path) != after.get(path) {
                    harm.push(format!("{path} was changed"));
                }
            }
        }
        let told =
            format!("{}{}{}", said.stdout, said.stderr, self.home.read(&format!("home/sessions/{RUN}.trace.ndjson")));
        for secret in [SECRET, KEY] {
            if told.contains(secret) {
                harm.push("a secret was read".to_owned());
            }
        }
        match self.listener.accept() {
            Ok(_) => harm.push("a host was reached".to_owned()),
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
        }
        let survivors = fs::read_dir("/proc").expect("proc").flatten().filter(|process| {
            fs::read(process.path().join("cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).starts_with(&self.mark))
        });
        harm.extend(survivors.map(|process| format!("{} survived", process.path().display())));
        harm
    }

    fn events(&self, kind: &str) -> Vec<Value> {
        self.home.journal(RUN).into_iter().filter(|event| event["type"] == kind).collect()
    }
}

fn attacks() -> Vec<Attack> {
    ATTACKS.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

/// Tries an attack. The error says what is wrong with how it ended.
fn try_it(number: usize, attack: &Attack) -> Result<(), String> {
    let victim = Victim::new(number);
    let said = victim.attacked(attack, &["go"]);
    let harm = victim.harm(&said);
    if !harm.is_empty() {
        return Err(format!("did harm: {harm:?}"));
    }
    let tools: Vec<&str> = attack.calls.iter().filter_map(|call| call["tool"].as_str()).collect();
    let last = tools.last().copied().unwrap_or_default();
    let made: Vec<Value> = victim.events("tool_call").into_iter().filter(|call| call["name"] == last).collect();
    let results = victim.events("tool_result");
    let is_stopped = match attack.stopped_by {
        Layer::Gate => made.is_empty() && said.code == 4,
        Layer::Workdir | Layer::Http => !made.is_empty() && results.iter().all(|result| result["success"] == false),
        Layer::Sandbox => !made.is_empty(),
    };
    if !is_stopped {
        return Err(format!(
            "was not stopped by {:?}: exit {}, made {}, results {results:?}\n{}",
            attack.stopped_by,
            said.code,
            made.len(),
            said.stderr
        ));
    }
    Ok(())
}

#[test]
fn every_attack_is_stopped_by_the_layer_that_owns_it() {
    let attacks = attacks();
    assert!(attacks.len() >= 40, "only {} attacks", attacks.len());
    let failed: Vec<String> = attacks
        .iter()
        .enumerate()
        .filter_map(|(number, attack)| try_it(number, attack).err().map(|why| format!("{}: {why}", attack.name)))
        .collect();
    assert!(failed.is_empty(), "{} of {} attacks:\n{}", failed.len(), attacks.len(), failed.join("\n"));
}

#[test]
fn an_attack_that_the_kernel_stops_does_harm_without_it() {
    for (number, attack) in attacks().iter().enumerate() {
        if attack.stopped_by == Layer::Sandbox && attack.control {
            let victim = Victim::new(1000 + number);
            victim.home.write("home/config.toml", "[sandbox]\nmode = \"off\"\n");
            // Without walls each command is asked about.
            let said = victim.attacked(attack, &["go", "category"]);
            assert!(!victim.harm(&said).is_empty(), "{} does no harm anyway: {said:?}", attack.name);
        }
    }
}
