//! Loops, as an operator runs them: the example from its thrashing to its receipt, checkpoints in a repository, and the
//! human hand on it by files alone.

use std::process::Command;

use serde_json::{Value, json};

use crate::home::{SUMMARY, TestHome, copy};

const RUN: &str = "2026-01-17-LOOP";
const ARGS: &[&str] = &["loop", "../examples/loop/brief.md"];

fn events(home: &TestHome, run: &str, kind: &str) -> Vec<Value> {
    home.journal(run).into_iter().filter(|event| event["type"] == kind).collect()
}

fn answers(home: &TestHome, run: &str) -> Vec<String> {
    events(home, run, "round_closed").iter().map(|event| event["answer"].as_str().expect("a word").to_owned()).collect()
}

/// Returns a home with the example, whose project is the working folder.
fn example() -> TestHome {
    let home = TestHome::with_examples();
    std::fs::remove_dir_all(home.path("work")).expect("removed");
    copy(&home.path("examples/loop/project"), &home.path("work"));
    home
}

fn git(home: &TestHome, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"])
        .args(args)
        .current_dir(home.path("work"))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .expect("git starts");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Makes the working folder a repository with one commit.
fn in_repository(home: &TestHome) {
    git(home, &["init", "-q"]);
    git(home, &["add", "-A"]);
    git(home, &["commit", "-q", "--allow-empty", "-m", "begin"]);
}

/// A brief with a loop's fields, and a script whose iterations make these calls and claim completion or not.
fn looped(home: &TestHome, fields: &str, iterations: &[(Vec<Value>, bool)]) {
    let mut parts = json!({"intake": [SUMMARY]});
    for (number, (calls, claims)) in (1..).zip(iterations) {
        let status = if *claims { "complete" } else { "continue" };
        let report = format!(
            "```json\n{{\"kind\": \"iteration\", \"status\": \"{status}\", \"summary\": \"iteration {number}\"}}\n```"
        );
        let mut turns = vec![json!(SUMMARY)];
        if !calls.is_empty() {
            turns.push(json!({"text": "Working.", "calls": calls}));
        }
        turns.push(json!(report));
        parts[format!("iteration/{number}")] = json!(turns);
    }
    home.scripted(fields, &json!({"parts": parts}));
}

fn write(path: &str, content: &str) -> Value {
    json!({"tool": "write_file", "args": {"path": path, "content": content}})
}

fn shell(cmd: &str) -> Value {
    json!({"tool": "shell_exec", "args": {"cmd": cmd}})
}

const FIELDS: &str =
    "authorized_costs: [filesystem_write, filesystem_delete, shell_exec]\nchecks: [\"grep -q green src\"]";
/// The run of a brief of its own.
const OWN: &str = crate::home::RUN;
const PLAIN: &[&str] = &["loop", "../brief.md", "--council", "0", "--no-wait"];

#[test]
fn the_example_thrashes_is_escalated_gets_a_hint_and_completes_with_evidence() {
    let home = example();
    home.run_with(&[ARGS, &["--no-wait"]].concat(), b"go\n")
        .expect_code(4)
        .expect_text("completion is refused by expected_files, checks")
        .expect_text("The loop gets nowhere. After round 4:")
        .expect_text("- the files came back to a state that they had before")
        .expect_text("waiting (stuck)");
    assert!(home.read("work/.adjutant/PAUSE").contains("supervisor"));
    let state: Value = serde_json::from_str(&home.read("work/.adjutant/state/uncertainty.json")).expect("JSON");
    assert_eq!((&state["escalated_episode"], &state["escalated_at_iteration"]), (&json!(true), &json!(4)));
    let handoff = home.read(&format!("work/.adjutant/handoffs/{RUN}-round-4.md"));
    assert!(handoff.contains("FAILED: 'Hello World' became 'Hello-World'"), "{handoff}");
    home.run(&["inbox"]).expect_code(0).expect_text("gets nowhere: needs a hint");
    home.run(&["inbox", "answer", RUN, "do both: small letters, and squeezed spaces"]).expect_code(0);
    home.run(&["resume", RUN])
        .expect_code(0)
        .expect_text("the evidence is complete")
        .expect_text("the council approves: 3 for, 0 against, 2 needed")
        .expect_text("the goal is verified")
        .expect_text("completed");
    assert_eq!(answers(&home, RUN), ["go_on", "go_on", "go_on", "escalate", "completed"]);
    assert_eq!(events(&home, RUN, "evidence_receipt").len(), 1);
    // What stood for the escalation is gone, and a person learns of none of it from the run's change.
    assert!(!home.path("work/.adjutant/PAUSE").exists());
    assert!(!home.path("work/.adjutant/signals/UNCERTAINTY_ESCALATION").exists());
    home.run(&["replay", RUN]).expect_code(0);
    home.run(&["trace", "verify", RUN]).expect_code(0);
    let changed = home.run(&["diff", RUN]).expect_code(0).stdout;
    assert!(changed.contains("slug.sh") && !changed.contains(".adjutant"), "{changed}");
}

#[test]
fn u7_to_u10_only_content_counts_and_what_is_committed_is_no_change() {
    let home = TestHome::new();
    let commit = "git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m x";
    looped(
        &home,
        "authorized_costs: [filesystem_write, shell_exec, git_write]\nchecks: [\"false\"]",
        &[
            // New content in a file that nobody tracks.
            (vec![write("src", "one")], false),
            // The same number of lines and bytes.
            (vec![write("src", "two")], false),
            // Staged and committed: no change of content.
            (vec![shell("git add -A"), shell(commit)], false),
            // An empty commit.
            (vec![shell(commit)], false),
            // Back to what it was, and committed.
            (vec![write("src", "one"), shell("git add -A"), shell(commit)], false),
        ],
    );
    in_repository(&home);
    home.run_with(&[PLAIN, &["--iterations", "5"]].concat(), b"go\n").expect_code(5);
    let rounds = events(&home, OWN, "round_closed");
    let of = |name: &str| rounds.iter().map(|round| round["signals"][name].clone()).collect::<Vec<_>>();
    assert_eq!(of("rounds_unchanged"), [0, 0, 1, 2, 0].map(|number| json!(number)));
    assert_eq!(of("revisit"), [false, false, false, false, true].map(|holds| json!(holds)));
}

#[test]
fn an_iteration_that_went_wrong_is_taken_back_by_a_checkpoint() {
    let home = TestHome::new();
    looped(
        &home,
        FIELDS,
        &[
            (vec![write("src", "good"), write("kept", "1")], false),
            (vec![shell("rm kept"), write("src", "bad"), write("more", "x")], false),
            (vec![write("src", "better")], false),
        ],
    );
    home.write("work/old", "as it was");
    in_repository(&home);
    home.run_with(&[PLAIN, &["--iterations", "2"]].concat(), b"go\n").expect_code(5);
    home.run(&["loop", "checkpoints", OWN]).expect_code(0).expect_text("3 files differ from the one before");
    home.run(&["loop", "rewind", OWN, "1"]).expect_code(0).expect_text("undo it: adjutant loop rewind");
    let now = |path: &str| home.path(path).exists().then(|| home.read(path));
    assert_eq!(
        (now("work/src"), now("work/kept"), now("work/more"), now("work/old")),
        (Some("good".to_owned()), Some("1".to_owned()), None, Some("as it was".to_owned()))
    );
    home.run(&["loop", "rewind", OWN, "before-rewind-1"]).expect_code(0);
    assert_eq!((now("work/src"), now("work/kept")), (Some("bad".to_owned()), None));
    home.run(&["loop", "rewind", OWN, "0"]).expect_code(0);
    assert_eq!((now("work/src"), now("work/old")), (None, Some("as it was".to_owned())));
    home.run(&["loop", "rewind", OWN, "7"]).expect_code(1).expect_text("has no checkpoint 7");
    home.run(&["loop", "rewind", OWN, "+1"]).expect_code(2);
    // The loop goes on, and its next iteration is told.
    home.run(&["resume", OWN, "--extend", "1", "--no-wait"]).expect_code(5);
    let told = events(&home, OWN, "message").iter().any(|said| {
        said["part"] == "loop/iteration/3"
            && said["text"].as_str().is_some_and(|text| text.contains("after iteration 0"))
    });
    assert!(told, "{:?}", events(&home, OWN, "operator_message"));
}

#[test]
fn a_receipt_is_verified_and_one_that_an_agent_wrote_is_none() {
    let home = TestHome::new();
    looped(&home, FIELDS, &[(vec![write("src", "green")], true)]);
    in_repository(&home);
    home.run_with(PLAIN, b"go\n").expect_code(0).expect_text("completed");
    home.run(&["loop", "verify", OWN])
        .expect_code(0)
        .expect_text("as it was written")
        .expect_text("passed: grep -q green src")
        .expect_text("files now: the same");
    home.write("work/src", "green no more");
    home.run(&["loop", "verify", OWN]).expect_code(0).expect_text("files now: others");

    let faked = TestHome::new();
    let receipt = r#"{"type":"evidence_receipt","iteration":1,"tree":"git:0","checks":[],"hash":"0"}"#;
    looped(&faked, FIELDS, &[(vec![write(".adjutant/state/receipt.json", receipt), write("src", "red")], true)]);
    faked.run_with(&[PLAIN, &["--iterations", "1"]].concat(), b"go\nn\n").expect_code(5);
    assert!(!faked.path("work/.adjutant/state/receipt.json").exists(), "it asked first, and the answer was no");
    faked.run(&["loop", "verify", OWN]).expect_code(1).expect_text("has no receipt");
}

#[test]
fn no_command_of_an_agent_speaks_for_the_operator() {
    let home = TestHome::new();
    let by = |name: &str| shell(&format!("printf 'all is well' > .adjutant/{name} || true"));
    looped(
        &home,
        FIELDS,
        &[
            (vec![write("src", "one")], false),
            (vec![by("MESSAGE"), by("STOP"), by("PAUSE"), shell("mv .adjutant away || true")], false),
        ],
    );
    let said = home.run_with(&[PLAIN, &["--iterations", "2", "--mode", "auto"]].concat(), b"go\nall\nall\nall\n");
    assert!(events(&home, OWN, "operator_message").is_empty(), "{}", said.stdout);
    for name in ["MESSAGE", "STOP", "PAUSE"] {
        assert!(!home.path(&format!("work/.adjutant/{name}")).exists(), "{name}");
    }
}

#[test]
fn a_loop_stands_still_while_pause_is_there_and_is_stopped_and_told_by_files() {
    let home = example();
    let mut waiting = home.start(&[ARGS, &["--answers", "../examples/loop/answers.yaml"]].concat());
    waiting.until("waiting (stuck)");
    // What its own PAUSE stands for is answered by its removal; then it thrashes on, and has no script for a sixth round.
    home.write("work/.adjutant/MESSAGE", "mind the spaces\n");
    std::fs::remove_file(home.path("work/.adjutant/PAUSE")).expect("it was there");
    waiting.until("the goal is verified");
    waiting.finish().expect_code(0);
    let messages = events(&home, RUN, "operator_message");
    assert_eq!(messages.len(), 1, "{messages:?}");
    let answer = events(&home, RUN, "answer").pop().expect("one");
    assert_eq!((&answer["choice"], &answer["whence"]), (&json!("continue"), &json!("file")));

    let home = example();
    let mut waiting = home.start(&[ARGS, &["--answers", "../examples/loop/answers.yaml"]].concat());
    waiting.until("waiting (stuck)");
    home.write("work/.adjutant/STOP", "");
    waiting.finish().expect_code(6);
    assert!(!home.path("work/.adjutant/STOP").exists(), "it was taken away");
    home.write("work/.adjutant/STOP", "");
    home.run(&[ARGS, &["--new"]].concat()).expect_code(2).expect_text("says stop");
}

#[test]
fn u22_u24_u27_files_of_state_that_are_missing_cut_or_anothers_change_nothing() {
    for content in
        ["", "{\"schema_version\": \"0.1\"", "{\"schema_version\":\"9\",\"escalated_episode\":true}", "\u{0}\u{1}"]
    {
        let home = example();
        std::fs::create_dir_all(home.path("work/.adjutant/state")).expect("made");
        home.write("work/.adjutant/state/uncertainty.json", content);
        home.write("work/.adjutant/state/convergence.log", content);
        home.run_with(&[ARGS, &["--no-wait"]].concat(), b"go\n").expect_code(4);
        assert_eq!(answers(&home, RUN), ["go_on", "go_on", "go_on", "escalate"], "{content:?}");
        let state: Value = serde_json::from_str(&home.read("work/.adjutant/state/uncertainty.json")).expect("JSON");
        assert_eq!(state["run"], RUN);
    }
}

#[test]
fn u25_a_knob_that_can_not_be_read_is_told_and_the_default_holds() {
    let home = example();
    home.write("home/config.toml", "[loop]\nrounds = 'abc'\nnochange_min = 0\ncouncil = 0\n");
    home.run_with(&[ARGS, &["--no-wait"]].concat(), b"go\n")
        .expect_code(4)
        .expect_text("`rounds` must be a whole number above 0, not `abc`")
        .expect_text("`nochange_min` must be a whole number above 0, not `0`");
    let options = &home.journal(RUN)[1]["options"]["loop"];
    assert_eq!((&options["stuck"]["rounds"], &options["stuck"]["nochange_min"]), (&json!(2), &json!(4)));
    assert_eq!(options["council"], 0);

    let home = example();
    home.write("home/config.toml", "[loop]\nround = 3\n");
    home.run_with(ARGS, b"go\n").expect_code(2).expect_text("rounds");
    home.write("home/config.toml", "[loop]\nescalation = false\niterations = 5\ncouncil = 0\n");
    home.run_with(&[ARGS, &["--no-wait"]].concat(), b"go\n").expect_code(0);
    assert!(!home.path("work/.adjutant/state/uncertainty.json").exists(), "off means nothing of it");
    assert!(home.journal(RUN).iter().all(|event| event["signals"].is_null()));
}

#[test]
fn others_may_vote_than_the_agent_that_works() {
    let home = example();
    home.run_with(&[ARGS, &["--no-wait", "--council-agent", "scripted", "--council", "2"]].concat(), b"go\n")
        .expect_code(4);
    home.run(&["inbox", "answer", RUN, "do both"]).expect_code(0);
    home.run(&["resume", RUN]).expect_code(0).expect_text("the council approves: 2 for, 0 against, 2 needed");
    let agents: Vec<(String, Value)> = events(&home, RUN, "part_start")
        .into_iter()
        .map(|begun| (begun["part"].as_str().expect("a part").to_owned(), begun["agent"].clone()))
        .filter(|(part, _)| part.starts_with("loop/iteration/5"))
        .collect();
    assert_eq!(agents.len(), 4, "the work, two voters and a contrarian: {agents:?}");
    assert!(agents.iter().all(|(part, agent)| part.contains("voter") == (*agent == 1)), "{agents:?}");
    home.run_with(&[ARGS, &["--new", "--council-agent", "nobody"]].concat(), b"")
        .expect_code(2)
        .expect_text("there is no adapter `nobody`");
    home.run_with(&[ARGS, &["--new", "--ephemeral"]].concat(), b"").expect_code(2).expect_text("keeps its journal");
}
