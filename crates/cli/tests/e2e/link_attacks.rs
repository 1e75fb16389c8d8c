//! File tools and links: every attack of `tests/attacks/links.jsonl` is tried in a real run.
//!
//! A link leads the path of a call to another place than its text says. Each attack is stopped by the layer that it
//! names, and nothing that it aims at changes. `gate`: the call is asked about, by where it leads. `rule`: it is refused.
//! `workdir`: the tool refuses it. `nobody`: the call is made, and what has a second name stays as it was.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, Said, TestHome, files};

const ATTACKS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/attacks/links.jsonl"));
const REPORT: &str = "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n";
const SECRET: &str = "the-operators-private-words-4471";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attack {
    name: String,
    /// Categories that the brief authorizes.
    authorized: Vec<String>,
    /// More lines of the brief's front matter.
    #[serde(default)]
    front: String,
    /// Preparation of the working folder before the run, as a line for a shell.
    #[serde(default)]
    before: String,
    /// The calls of each turn.
    turns: Vec<Vec<Value>>,
    stopped_by: Layer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Layer {
    Gate,
    Rule,
    Workdir,
    Nobody,
}

/// A repository with one below it, one whose own folder has another name, and files outside.
struct Victim {
    home: TestHome,
}

type Tree = BTreeMap<String, Vec<u8>>;

impl Victim {
    fn new(before: &str) -> Self {
        let home = TestHome::new();
        home.write("outside/victim.txt", "untouched");
        home.write("work/keep/notes.txt", "kept");
        home.write("work/evil.sh", "#!/bin/sh\nrm -rf keep\n");
        home.write("work/.github/workflows/ci.yml", "on: pull_request\n");
        home.write(".ssh/id_ed25519", SECRET);
        symlink("../outside", home.path("work/link-out")).expect("a link");
        symlink("../.ssh/id_ed25519", home.path("work/link-secret")).expect("a link");
        let victim = Self { home };
        victim.shell("git init -q && git add . && git -c user.name=a -c user.email=a@b commit -qm first");
        victim.shell("git init -q vendor/sub && git init -q --separate-git-dir store apart");
        victim.shell(before);
        victim
    }

    fn shell(&self, line: &str) {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(self.home.path("work")).env("HOME", self.home.path(""));
        let done = shell.output().expect("a shell");
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// All that no attack may change: what git follows and runs in each repository, what CI runs, what is outside.
    fn state(&self) -> Tree {
        let mut state = Tree::new();
        let repositories = [".git", ".real", "store", "bare", "vendor/sub/.git"];
        let places = [".github", "keep", "other"].into_iter().chain(repositories);
        for place in places.map(|place| format!("work/{place}")).chain(["outside".to_owned()]) {
            let found = files(&self.home.path(&place)).into_iter();
            state.extend(found.map(|(path, content)| (format!("{place}/{path}"), content)));
        }
        // What is kept for undo is git's to store.
        state.retain(|path, _| !path.contains("/objects/") && !path.contains("/refs/adjutant/"));
        for single in ["apart/.git", "own/.git", ".gitlab-ci.yml", "Jenkinsfile", "mine.txt"] {
            let content = fs::read(self.home.path("work").join(single));
            state.extend(content.ok().map(|content| (single.to_owned(), content)));
        }
        state
    }

    /// Lets an agent try it, with nobody to ask.
    fn attacked(&self, attack: &Attack) -> Said {
        let mut turns = vec![json!({"text": SUMMARY})];
        turns.extend(attack.turns.iter().map(|calls| json!({"text": "On it.", "calls": calls})));
        turns.push(json!({"repeat": 3, "text": REPORT}));
        let authorized: String = attack.authorized.iter().map(|entry| format!("\n  - \"{entry}\"")).collect();
        let fields = format!("mode: auto\nauthorized_costs:{authorized}\n{}", attack.front);
        self.home.scripted(fields.trim_end(), &turns.into());
        self.home.write("go.json", json!(["go"]).to_string());
        self.home.run(&["run", "../brief.md", "--answers", "../go.json"])
    }

    fn events(&self, kind: &str) -> Vec<Value> {
        self.home.journal(RUN).into_iter().filter(|event| event["type"] == kind).collect()
    }
}

fn attacks() -> Vec<Attack> {
    ATTACKS.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

/// Tries an attack. The error says what is wrong with how it ended.
fn try_it(attack: &Attack) -> Result<(), String> {
    let victim = Victim::new(&attack.before);
    let before = victim.state();
    let said = victim.attacked(attack);
    let after = victim.state();
    let changed: Vec<_> =
        before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path)).collect();
    if !changed.is_empty() {
        return Err(format!("changed {changed:?}"));
    }
    if victim.home.read(&format!("home/sessions/{RUN}.trace.ndjson")).contains(SECRET) {
        return Err("read a secret".to_owned());
    }
    let asked: usize = attack.turns.iter().map(Vec::len).sum();
    let made = victim.events("tool_call").len();
    let results = victim.events("tool_result");
    let last = results.last().map(|result| result["success"] == true);
    let others_worked = results.iter().take(asked - 1).all(|result| result["success"] == true);
    let is_stopped = match attack.stopped_by {
        Layer::Gate => made == asked - 1 && said.code == 4,
        Layer::Rule => made == asked - 1 && !victim.events("tool_rejected").is_empty(),
        Layer::Workdir => made == asked && last == Some(false),
        Layer::Nobody => made == asked && last == Some(true),
    };
    if !is_stopped || !others_worked {
        return Err(format!(
            "was not stopped by {:?}: exit {}, made {made} of {asked}, results {results:?}\n{}{}",
            attack.stopped_by, said.code, said.stdout, said.stderr
        ));
    }
    Ok(())
}

#[test]
fn no_file_tool_gets_through_a_link_to_what_it_may_not_touch() {
    let attacks = attacks();
    assert!(attacks.len() >= 60, "only {} attacks", attacks.len());
    let failed: Vec<String> =
        attacks.iter().filter_map(|attack| try_it(attack).err().map(|why| format!("{}: {why}", attack.name))).collect();
    assert!(failed.is_empty(), "{} of {} attacks:\n{}", failed.len(), attacks.len(), failed.join("\n"));
}

fn write_to(path: &str) -> Attack {
    Attack {
        name: String::new(),
        authorized: vec!["filesystem_write".to_owned()],
        front: String::new(),
        before: "mkdir docs; echo old > docs/page.md; ln -s docs d; ln -s docs/page.md page".to_owned(),
        turns: vec![vec![json!({"tool": "write_file", "args": {"path": path, "content": "new\n"}})]],
        stopped_by: Layer::Nobody,
    }
}

#[test]
fn a_link_that_leads_to_an_ordinary_file_is_written_through_without_a_question() {
    for path in ["d/page.md", "page"] {
        let attack = write_to(path);
        let victim = Victim::new(&attack.before);
        victim.attacked(&attack).expect_code(0);
        assert_eq!(victim.home.read("work/docs/page.md"), "new\n");
        assert!(victim.home.path("work").join("page").is_symlink(), "the link stays");
        let call = victim.events("agent_reply").into_iter().find(|reply| reply["calls"][0]["name"] == "write_file");
        let resolved = json!([{"path": path, "place": "docs/page.md"}]);
        assert_eq!(call.expect("on record")["calls"][0]["resolved"], resolved);
        assert_eq!(victim.events("tool_call")[0]["changes"][0]["path"], "docs/page.md");
        victim.home.run(&["undo", RUN, "--yes"]).expect_code(0).expect_text("docs/page.md");
        assert_eq!(victim.home.read("work/docs/page.md"), "old\n", "what was there behind the link was kept");
        victim.home.run(&["replay", RUN]).expect_code(0).expect_text("no drift");
    }
}

#[test]
fn the_question_names_what_is_reached() {
    let attack = Attack { before: "ln -s .git g".to_owned(), ..write_to("g/config") };
    let victim = Victim::new(&attack.before);
    victim.attacked(&attack).expect_code(4).expect_text("g/config, which is .git/config");
    victim.home.run(&["explain", RUN, "1"]).expect_text("g/config, which is .git/config");
}

#[test]
fn what_was_kept_is_not_put_back_through_a_link_that_came_later() {
    let attack = Attack { authorized: vec!["*".to_owned()], ..write_to("docs/page.md") };
    let victim = Victim::new(&attack.before);
    victim.attacked(&attack).expect_code(0);
    victim.shell("rm -r docs; mkdir elsewhere; echo mine > elsewhere/page.md; ln -s elsewhere docs");
    victim.home.run(&["undo", RUN, "--yes"]).expect_code(1).expect_text("something else is in its place");
    assert_eq!(victim.home.read("work/elsewhere/page.md"), "mine\n");
    victim.shell("rm docs; mkdir docs; ln -s ../elsewhere/page.md docs/page.md");
    victim.home.run(&["undo", RUN, "--yes"]).expect_code(0);
    assert_eq!(victim.home.read("work/elsewhere/page.md"), "mine\n");
    assert_eq!(victim.home.read("work/docs/page.md"), "old\n");
}
