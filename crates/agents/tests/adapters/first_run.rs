//! The first-run example does what its README says: its script is played against its project for real,
//! with the smallest of drivers.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use adjutant_agents::ScriptedAgent;
use adjutant_agents::scripted::Script;
use adjutant_core::detect;
use adjutant_core::detect::{Detector, Sensitivities};
use adjutant_core::words::Category;
use adjutant_core::words::tool::ToolCall;
use adjutant_ports::{Agent, CancellationToken, OutgoingMessage, OutgoingRole, TurnRequest};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/first-run");

/// Categories that the brief authorizes.
const AUTHORIZED: [&str; 2] = ["filesystem_write", "shell_exec"];

/// Files that a run of the example left behind.
struct Left {
    texts: Vec<String>,
    /// Tools in the order they were called, with whether they worked.
    calls: Vec<(String, bool)>,
    build_is_there: bool,
    tests_pass: bool,
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Carries out a call as simply as it can be done, and says whether it worked.
fn carry_out(call: &ToolCall, workdir: &Path) -> bool {
    let text = |name: &str| call.args[name].as_str().unwrap().to_owned();
    match call.name.as_str() {
        "list_dir" => workdir.join(text("path")).is_dir(),
        "read_file" => workdir.join(text("path")).is_file(),
        "shell_exec" => shell(&text("cmd"), workdir),
        "apply_patch" => {
            let patch = workdir.join("the.patch");
            fs::write(&patch, text("diff")).unwrap();
            let applied = shell("git apply the.patch 2>/dev/null", workdir);
            fs::remove_file(patch).unwrap();
            applied
        }
        other => panic!("the example calls `{other}`"),
    }
}

fn shell(line: &str, workdir: &Path) -> bool {
    let mut sh = Command::new("sh");
    // The copy may lie inside a repository, whose root `git apply` would take for its own.
    sh.args(["-c", line]).current_dir(workdir).env("GIT_CEILING_DIRECTORIES", workdir.parent().unwrap());
    sh.output().unwrap().status.success()
}

/// Plays the example; the operator says `to_the_plan` when the agent wants to delete, and lets the command
/// that does it run or not.
fn play(to_the_plan: &str, may_delete: bool) -> Left {
    let folder = tempfile::tempdir().unwrap();
    let workdir = folder.path().join("project");
    copy(&Path::new(EXAMPLE).join("project"), &workdir);
    let agent = ScriptedAgent::new(Script::read(&Path::new(EXAMPLE).join("script.yaml")).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();

    let message =
        |role, text: &str| OutgoingMessage { role, text: text.into(), calls: Vec::new(), provider_data: None };
    let mut messages = vec![message(OutgoingRole::User, "the brief")];
    let mut left = Left { texts: Vec::new(), calls: Vec::new(), build_is_there: true, tests_pass: false };
    for turn in 1..30 {
        let request = TurnRequest {
            part: "session".to_owned(),
            turns_before: 0,
            turn,
            attempt: 1,
            turns_left_out: 0,
            system: String::new(),
            messages: messages.iter().cloned().map(Arc::new).collect(),
            tools: Arc::from([]),
            may_call: true,
            output_max: None,
        };
        let reply = runtime.block_on(agent.turn(&request, &|_| {}, CancellationToken::new())).unwrap();
        messages.push(OutgoingMessage {
            role: OutgoingRole::Assistant,
            text: reply.text.as_str().into(),
            calls: reply.calls.clone(),
            provider_data: None,
        });
        left.texts.push(reply.text.clone());
        if reply.calls.is_empty() {
            let next = if reply.text.contains("I'll delete") { to_the_plan } else { "Continue." };
            messages.push(message(OutgoingRole::User, next));
        }
        for call in &reply.calls {
            let deletes = call.args["cmd"].as_str().is_some_and(|cmd| cmd.starts_with("rm "));
            let worked = (may_delete || !deletes) && carry_out(call, &workdir);
            left.calls.push((call.name.clone(), worked));
            let role = OutgoingRole::Tool { call_id: call.call_id.clone(), name: call.name.clone(), is_error: !worked };
            messages.push(message(role, ""));
        }
        if left.texts.iter().filter(|text| text.contains("## Phase 4")).count() == 2 {
            break;
        }
    }
    left.build_is_there = workdir.join("build").exists();
    left.tests_pass = shell("sh run-tests.sh", &workdir);
    left
}

fn calls_before_the_deletion() -> Vec<(String, bool)> {
    let calls = [
        ("list_dir", true),
        ("read_file", true),
        ("read_file", true),
        ("shell_exec", false),
        ("apply_patch", false),
        ("apply_patch", true),
        ("shell_exec", true),
        ("shell_exec", true),
    ];
    calls.map(|(name, worked)| (name.to_owned(), worked)).to_vec()
}

#[test]
fn an_approved_deletion_is_made_after_the_tests_pass() {
    let left = play("The operator approved this: filesystem_delete.", true);
    let expected = [calls_before_the_deletion(), vec![("shell_exec".to_owned(), true)]].concat();
    assert_eq!(left.calls, expected);
    assert!(left.tests_pass && !left.build_is_there);
    assert!(left.texts[left.texts.len() - 2].contains("is gone"));
}

#[test]
fn a_denied_deletion_leaves_the_folder() {
    let left = play("The operator denied this: filesystem_delete. Go on without it.", true);
    assert_eq!(left.calls, calls_before_the_deletion());
    assert!(left.tests_pass && left.build_is_there);
    assert!(left.texts[left.texts.len() - 2].contains("left alone"));
}

#[test]
fn a_deletion_whose_command_is_denied_is_reported_as_not_made() {
    let left = play("approved", false);
    assert!(left.tests_pass && left.build_is_there);
    assert!(left.texts[left.texts.len() - 2].contains("still there"));
}

#[test]
fn words_that_say_neither_end_in_a_report_without_a_deletion() {
    let left = play("Continue.", true);
    assert!(left.build_is_there);
    assert!(left.texts.last().unwrap().starts_with("## Phase 4"));
}

/// The detectors that fire on a text, banned phrases and phase markers left out.
fn fired(text: &str) -> Vec<Detector> {
    let reading = detect::read(text, &AUTHORIZED.map(Category::new), &Sensitivities::default());
    let decisive = [Detector::Confirmation, Detector::Blocker, Detector::Destructive, Detector::Completion];
    assert!(!reading.has_fired(Detector::BannedPhrases), "{text}");
    decisive.into_iter().filter(|detector| reading.has_fired(*detector)).collect()
}

#[test]
fn each_turn_is_read_as_it_is_meant() {
    let brief = fs::read_to_string(Path::new(EXAMPLE).join("brief.md")).unwrap();
    for category in AUTHORIZED {
        assert!(brief.contains(&format!("  - {category}\n")), "{category}");
    }
    let approved = play("The operator approved what you announced.", true).texts;
    let expected = [
        vec![Detector::Confirmation],
        vec![],
        vec![],
        vec![],
        vec![],
        vec![],
        vec![Detector::Destructive],
        vec![],
        vec![Detector::Completion],
        vec![Detector::Completion],
    ];
    assert_eq!(approved.iter().map(|text| fired(text)).collect::<Vec<_>>(), expected);
    let summary = detect::read(&approved[0], &[], &Sensitivities::default()).confirmation;
    assert!(summary.is_some_and(|summary| summary.asked_for_mode));

    let denied = play("The operator denied what you announced.", true).texts;
    assert_eq!(fired(&denied[7]), [Detector::Completion]);
}
