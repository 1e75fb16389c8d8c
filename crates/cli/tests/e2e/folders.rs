//! Two runs in one folder know of each other.

use std::io::{BufRead, BufReader};

use adjutant_loopback::{Flavor, Format};
use serde_json::json;

use crate::anthropic::KEY;
use crate::home::{RUN, Running, SUMMARY, TestHome, brief};
use crate::loopback::model;
use crate::openai::work_over_chat;

const REPORT: &str = "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n";
const SECOND: &str = "2026-02-03-SECOND";

/// A run that waits at its terminal in the folder `work`, and the brief of a second.
fn at_work() -> (TestHome, Running) {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, {"repeat": 9, "text": REPORT}]));
    home.write("second.md", brief("mode: auto").replace(RUN, SECOND));
    let mut first = home.start(&["run", "../brief.md"]);
    first.until("<anything else>");
    first.until("no ");
    (home, first)
}

#[test]
fn the_second_is_told_of_the_first_and_how_to_go_on() {
    let (home, first) = at_work();
    std::fs::create_dir(home.path("work/sub")).expect("a folder");
    for workdir in [".", "sub", ".."] {
        let refused = home.run(&["run", "../second.md", "--workdir", workdir]).expect_code(4);
        assert_eq!(refused.stdout, "", "{workdir}");
        let who = format!("run {RUN} is at work in ~/work since ");
        assert!(refused.stderr.contains(&who), "{}", refused.stderr);
        assert!(refused.stderr.contains(&format!("(process {})", first.child.id())), "{}", refused.stderr);
        for way_out in ["`--wait`", "`--copy`", "`--share`"] {
            assert!(refused.stderr.contains(way_out), "{}", refused.stderr);
        }
        assert!(!home.journal_path(SECOND).exists(), "nothing of it is on record");
    }
    first.kill();
    home.run(&["run", "../second.md"]).expect_code(4).expect_text(&format!("run {SECOND}: waiting"));
}

#[test]
fn a_copy_is_in_nobodys_way_and_who_shares_has_it_on_record() {
    let (home, first) = at_work();
    home.run(&["run", "../second.md", "--copy"]).expect_code(4).expect_text(&format!("run {SECOND}: waiting"));
    home.run(&["run", "../second.md", "--new", "--share"]).expect_code(4);
    let journal = home.journal(&format!("{SECOND}-r2"));
    let warnings: Vec<&str> =
        journal.iter().filter(|event| event["type"] == "warning").filter_map(|event| event["text"].as_str()).collect();
    assert!(warnings.iter().any(|text| text.starts_with(&format!("run {RUN} is at work in "))), "{warnings:?}");
    // A resume is told too.
    let refused = home.run(&["resume", &format!("{SECOND}-r2")]).expect_code(4);
    assert!(refused.stderr.contains(&format!("run {RUN} is at work in ")), "{}", refused.stderr);
    assert!(!refused.stderr.contains("--copy"), "{}", refused.stderr);
    first.kill();
}

#[test]
fn who_waits_goes_on_when_the_folder_is_free_also_after_a_kill() {
    let (home, first) = at_work();
    let mut second = home.start(&["run", "../second.md", "--wait"]);
    let mut errors = BufReader::new(second.child.stderr.take().expect("a pipe"));
    let mut waiting = String::new();
    errors.read_line(&mut waiting).expect("readable");
    assert!(waiting.starts_with(&format!("waiting: run {RUN} is at work in ~/work since ")), "{waiting}");
    second.child.stderr = Some(errors.into_inner());
    first.kill();
    second.until("no ");
    second.type_line("go");
    second.finish().expect_code(0);
}

#[test]
fn a_worker_leaves_a_run_whose_folder_is_taken_until_it_is_free() {
    let (home, first) = at_work();
    home.run(&["run", "../second.md", "--share"]).expect_code(4);
    home.run(&["inbox", "answer", &format!("{SECOND}:session:ask/1.1"), "go"]).expect_code(0);
    home.run(&["work", "--once"]).expect_code(0).expect_text(&format!("run {SECOND} waits: run {RUN} is at work in "));
    assert!(home.journal(SECOND).iter().all(|event| event["type"] != "run_resume"));
    first.kill();
    home.run(&["work", "--once"]).expect_code(0).expect_text(&format!("run {SECOND}: completed"));
}

/// Turns of a gated run: the first step does nothing, the second reads.
fn gated(home: &TestHome) {
    let read = json!({"text": "I look.", "calls": [{"tool": "list_dir", "args": {"path": "."}}]});
    let report = "## Phase 4\nAll deliverables are complete.";
    home.scripted("mode: gated", &json!([SUMMARY, "The first step is done.", read, report, "Delivered."]));
    git(home, "git init -q -b main . && git commit -q --allow-empty -m first && echo a > a.txt");
}

fn git(home: &TestHome, script: &str) {
    let as_somebody = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b";
    let mut sh = std::process::Command::new("sh");
    sh.args(["-c", &format!("{as_somebody}; {script}")]).current_dir(home.path("work")).env("HOME", home.path(""));
    assert!(sh.status().expect("sh runs").success());
}

/// Returns the changes by others that the journal records: paths, and what was and is checked out without the commit's
/// name.
fn changed(home: &TestHome) -> Vec<(serde_json::Value, String, String)> {
    let branch =
        |head: &serde_json::Value| head.as_str().unwrap_or_default().split(' ').next().unwrap_or_default().to_owned();
    let events = home.journal(RUN).into_iter().filter(|event| event["type"] == "folder_changed");
    events.map(|event| (event["paths"].clone(), branch(&event["head_before"]), branch(&event["head_now"]))).collect()
}

fn told(home: &TestHome) -> String {
    let steers = home.journal(RUN).into_iter().filter(|event| event["kind"] == "steer");
    steers.map(|event| event["text"].as_str().expect("text").to_owned()).collect()
}

#[test]
fn what_you_change_while_a_run_waits_is_said_before_it_goes_on() {
    let home = TestHome::new();
    gated(&home);
    let mut run = home.start(&["run", "../brief.md"]);
    run.until("? Is this summary what you want?");
    run.type_line("go");
    run.until("Go on");
    run.until("the next step");
    let kept = home.path(&format!("home/standstill/{RUN}"));
    crate::work::until("how it was is not kept", || kept.exists().then_some(()));
    git(&home, "git checkout -q -b feature && echo b > 'b`.txt' && rm a.txt");
    run.type_line("auto");
    let said = run.until("somebody else changed the folder while the run stood still.");
    assert!(said.contains("Checked out is `feature at ") && said.contains("it was `main at "), "{said}");
    assert!(said.contains(r"Changed: `a.txt`, `b\x60.txt`."), "{said}");
    run.finish().expect_code(0);
    let paths = json!(["a.txt", "b`.txt"]);
    assert_eq!(changed(&home), [(paths, "main".to_owned(), "feature".to_owned())]);
    assert!(told(&home).starts_with("While this run stood still, somebody else changed the working folder:"));
    assert!(!kept.exists(), "a run that is over keeps nothing of it");
    home.run(&["replay", RUN]).expect_code(0);
}

#[test]
fn what_you_check_out_while_an_agent_thinks_is_said_before_its_call_is_made() {
    let home = TestHome::new();
    git(&home, "git init -q -b main . && git commit -q --allow-empty -m first");
    let (work, mut asked) = (home.path("work"), 0);
    let provider = model(Format::Chat(Flavor::OpenAi), move |head, body| {
        asked += 1;
        if asked == 2 {
            let mut git = std::process::Command::new("git");
            git.args(["checkout", "-q", "-b", "feature"]).current_dir(&work);
            assert!(git.status().expect("git runs").success());
        }
        work_over_chat(head, body)
    });
    home.write("brief.md", brief("mode: auto\nauthorized_costs:\n  - filesystem_write"));
    home.write("answers.json", json!(["go", "n"]).to_string());
    let args =
        ["run", "../brief.md", "--adapter", "openai-compat", "--model", "gpt-test", "--answers", "../answers.json"];
    let variables = [("OPENAI_COMPAT_API_KEY", KEY), ("OPENAI_COMPAT_BASE_URL", provider.url())];
    assert!(home.adjutant(&args).envs(variables).output().expect("it starts").status.success());
    assert_eq!(changed(&home), [(json!(null), "main".to_owned(), "feature".to_owned())]);
    let journal = home.journal(RUN);
    let first = |kind: &str| journal.iter().position(|event| event["type"] == kind).expect("on record");
    assert!(first("folder_changed") < first("tool_call"));
    assert!(told(&home).contains("`feature at "), "{}", told(&home));
    home.run(&["replay", RUN]).expect_code(0);
}

#[test]
fn what_you_change_between_two_sittings_is_said_and_what_the_run_changed_is_not() {
    let home = TestHome::new();
    let write =
        json!({"text": "I write.", "calls": [{"tool": "write_file", "args": {"path": "own.txt", "content": "x"}}]});
    let report = "## Phase 4\nAll deliverables are complete.";
    home.scripted(
        "mode: gated\nauthorized_costs: [filesystem_write]",
        &json!([SUMMARY, write, "Written.", report, "Delivered."]),
    );
    home.write("go.json", json!(["go"]).to_string());
    home.run(&["run", "../brief.md", "--answers", "../go.json"]).expect_code(4);
    assert!(home.path("work/own.txt").exists());
    home.run(&["resume", RUN]).expect_code(4);
    assert_eq!(changed(&home).len(), 0, "nobody changed anything");
    home.write("work/mine.txt", "x");
    home.write("auto.json", json!(["auto"]).to_string());
    home.run(&["resume", RUN, "--answers", "../auto.json"])
        .expect_code(0)
        .expect_text("somebody else changed the folder");
    assert_eq!(changed(&home), [(json!(["mine.txt"]), String::new(), String::new())]);
    assert!(told(&home).contains("Changed: `mine.txt`."));
}
