//! Tests that files which a call destroyed can be had back.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, TestHome, files};

const AUTHORIZED: &str = "mode: auto\nauthorized_costs:\n  - \"*\"";
const REPORT: &str = "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n";

/// A run that makes `calls`, one in each turn, in a working folder with some files.
fn ran(home: &TestHome, calls: &[Value]) {
    let mut turns = vec![json!({"text": SUMMARY})];
    turns.extend(calls.iter().map(|call| json!({"text": "Next.", "calls": [call]})));
    turns.push(json!({"repeat": 2, "text": REPORT}));
    home.scripted(AUTHORIZED, &turns.into());
    home.write("go.json", json!(["go"]).to_string());
    home.write("work/keep.txt", "one\r\ntwo");
    home.write("work/sub/deep.bin", [0, 255, 10, 13]);
    home.run(&["run", "../brief.md", "--answers", "../go.json"]).expect_code(0);
}

fn shell(cmd: &str) -> Value {
    json!({"tool": "shell_exec", "args": {"cmd": cmd}})
}

fn git(home: &TestHome, args: &[&str]) -> String {
    let git = Command::new("git").args(args).current_dir(home.path("work")).output().expect("git runs");
    assert!(git.status.success(), "{args:?}: {}", String::from_utf8_lossy(&git.stderr));
    String::from_utf8_lossy(&git.stdout).into_owned()
}

/// The files of the working folder, git's own left out.
fn work(home: &TestHome) -> Vec<(String, Vec<u8>)> {
    files(&home.path("work")).into_iter().filter(|(name, _)| !name.starts_with(".git/")).collect()
}

#[test]
fn what_a_command_deleted_comes_back_in_a_repository_and_elsewhere() {
    for is_repository in [true, false] {
        let home = TestHome::new();
        if is_repository {
            git(&home, &["init", "-q"]);
        }
        ran(&home, &[shell("rm -rf keep.txt sub; echo later > new")]);
        let made = home.journal(RUN).into_iter().find(|event| event["type"] == "rescue_made").expect("on record");
        assert_eq!(made["kind"], if is_repository { "git" } else { "copy" });
        assert_eq!(work(&home).len(), 1);

        home.run(&["undo", RUN]).expect_code(4).expect_text("keep.txt: is gone, comes back").expect_text("--yes");
        assert_eq!(work(&home).len(), 1, "nothing changes before somebody says yes");
        home.run(&["undo", RUN, "--yes"]).expect_code(0).expect_text("done");
        assert_eq!(home.read("work/keep.txt"), "one\r\ntwo");
        assert_eq!(fs::read(home.path("work/sub/deep.bin")).expect("there"), [0, 255, 10, 13]);
        assert_eq!(home.read("work/new"), "later\n", "what came later stays");
        home.run(&["undo", RUN, "--yes"]).expect_code(0).expect_text("nothing to restore");

        home.run(&["undo", RUN, "undo-1", "--exact", "--yes"]).expect_code(0);
        assert_eq!(work(&home).len(), 1, "an undo can be undone");
        home.run(&["undo", RUN, "1", "--exact", "--yes"]).expect_code(0);
        assert!(!home.path("work/new").exists());
        home.run(&["replay", RUN]).expect_code(0).expect_text("no drift");
    }
}

#[test]
fn where_the_last_call_changed_nothing_the_earlier_one_is_named_that_can_be_undone() {
    let home = TestHome::new();
    ran(&home, &[shell("rm keep.txt"), shell("mv sub other && mv other sub")]);
    let said = home.run(&["undo", RUN]).expect_code(0).expect_text("nothing to restore");
    let named = "an earlier call can be undone (shell_exec, which changed keep.txt): adjutant undo";
    said.expect_text(&format!("{named} {RUN} call-1.1"));
    let said = home.run(&["undo", RUN, "--json"]).expect_code(0).stdout;
    let said: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(said["earlier"], "call-1.1");
    home.run(&["undo", RUN, "call-1.1", "--yes"]).expect_code(0).expect_text("done");
    assert_eq!(home.read("work/keep.txt"), "one\r\ntwo");
    // Now there is none.
    let said = home.run(&["undo", RUN, "--json"]).expect_code(0).stdout;
    let said: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(said.get("earlier"), None);
}

#[test]
fn what_could_be_done_with_files_comes_back() {
    use std::os::unix::fs::PermissionsExt;
    let home = TestHome::new();
    ran(&home, &[shell("chmod 755 keep.txt && chmod -R go= sub")]);
    let mode = |path: &str| fs::metadata(home.path(path)).expect("there").permissions().mode() & 0o777;
    let modes = || ["work/keep.txt", "work/sub", "work/sub/deep.bin"].map(mode);
    assert_eq!(modes(), [0o755, 0o700, 0o600]);
    home.run(&["undo", RUN, "--yes"]).expect_code(0).expect_text("keep.txt");
    assert_eq!(modes(), [0o644, 0o755, 0o644]);
}

#[test]
fn a_repository_is_left_as_it_is_but_for_a_ref_of_ours() {
    let home = TestHome::new();
    git(&home, &["init", "-q"]);
    home.write("work/staged", "1");
    git(&home, &["add", "staged"]);
    let index = fs::read(home.path("work/.git/index")).expect("an index");
    ran(&home, &[shell("rm staged")]);
    assert_eq!(fs::read(home.path("work/.git/index")).expect("an index"), index);
    let refs = git(&home, &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs, format!("refs/adjutant/{RUN}/call-1.1\n"));
}

#[test]
fn a_file_that_a_tool_wrote_over_comes_back_and_a_new_file_is_none_of_it() {
    let home = TestHome::new();
    ran(
        &home,
        &[
            json!({"tool": "write_file", "args": {"path": "keep.txt", "content": "other"}}),
            json!({"tool": "write_file", "args": {"path": "fresh", "content": "1"}}),
            json!({"tool": "read_file", "args": {"path": "keep.txt"}}),
        ],
    );
    let listed = home.run(&["undo", RUN, "--list", "--json"]).expect_code(0).stdout;
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!(listed[0]["paths"], json!(["keep.txt"]));
    home.run(&["undo", RUN, "--yes"]).expect_code(0);
    assert_eq!(home.read("work/keep.txt"), "one\r\ntwo");
    assert_eq!(home.read("work/fresh"), "1");
}

#[test]
fn a_call_that_can_not_be_rescued_is_not_made() {
    let home = TestHome::new();
    // A file stands where the folder of rescues should be.
    home.write("home/rescue", "in the way");
    ran(&home, &[shell("rm keep.txt")]);
    assert_eq!(home.read("work/keep.txt"), "one\r\ntwo");
    let journal = home.journal(RUN);
    let result = journal.iter().find(|event| event["type"] == "tool_result").expect("a result");
    assert_eq!((&result["code"], &result["success"]), (&json!("NOT_RESCUED"), &json!(false)));
    assert!(journal.iter().any(|event| event["type"] == "rescue_made" && event["error"].is_string()));
    home.run(&["undo", RUN]).expect_code(2).expect_text("nothing of");
}

#[test]
fn what_can_not_be_undone_says_so() {
    let home = TestHome::new();
    ran(&home, &[shell("rm -r sub")]);
    home.run(&["undo", RUN, "7"]).expect_code(2).expect_text("--list");
    home.run(&["undo", "nobody"]).expect_code(1).expect_text("there is no run");
    home.run(&["undo", RUN, "--list"]).expect_code(0).expect_text("call-1.1");
    home.write("work/sub", "a file now");
    home.run(&["undo", RUN, "--yes"]).expect_code(1).expect_text("--exact");
    home.run(&["undo", RUN, "--yes", "--exact"]).expect_code(0);
    assert!(home.path("work/sub/deep.bin").exists());
}

#[test]
fn a_run_that_goes_on_is_not_undone() {
    let home = TestHome::new();
    let turns = json!([{"text": SUMMARY}, {"text": "Wait.", "calls": [shell("rm keep.txt; echo gone; sleep 60")]}]);
    home.scripted(AUTHORIZED, &turns);
    home.write("work/keep.txt", "1");
    home.write("go.json", json!(["go"]).to_string());
    let mut running = home.start(&["run", "../brief.md", "--answers", "../go.json", "--json"]);
    running.until("\"tool_call\"");
    home.run(&["undo", RUN, "--yes"]).expect_code(1).expect_text("is driven by");
    running.child.kill().expect("killed");
    running.child.wait().expect("it ends");
    home.run(&["undo", RUN, "--yes"]).expect_code(0);
    assert_eq!(home.read("work/keep.txt"), "1");
}

#[test]
fn what_a_killed_undo_left_is_removed_by_the_next() {
    let home = TestHome::new();
    ran(&home, &[shell("rm -rf sub")]);
    home.run(&["undo", RUN, "--yes"]).expect_code(0);
    // As a kill between writing and renaming leaves it: a process of that number is no more.
    let mut ended = Command::new("true").spawn().expect("started");
    ended.wait().expect("ended");
    let (left, living) = (format!("sub/.adjutant-tmp-{}-0-0", ended.id()), "sub/.adjutant-tmp-1-0-0");
    let others = format!(".adjutant-tmp-{}-0-0", ended.id());
    for path in [&left, living, &others] {
        home.write(&format!("work/{path}"), "half");
    }
    home.run(&["undo", RUN, "--yes"]).expect_code(0).expect_text("nothing to restore");
    assert!(!home.path(&format!("work/{left}")).exists());
    assert!(home.path(&format!("work/{living}")).exists(), "whoever lives is still writing");
    assert!(home.path(&format!("work/{others}")).exists(), "no undo wrote there");
}

#[test]
fn what_is_too_large_to_be_kept_is_deleted_all_the_same_and_told() {
    let home = TestHome::new();
    ran(&home, &[shell("truncate -s 65M large"), shell("rm large keep.txt")]);
    let made = home.journal(RUN).into_iter().rfind(|event| event["type"] == "rescue_made").expect("on record");
    assert_eq!((&made["files"], &made["left_out"]), (&json!(1), &json!(1)));
    assert!(!home.path("work/large").exists());
    home.run(&["undo", RUN, "--list"]).expect_code(0).expect_text("large");
}

/// A run whose calls an operator answers with yes, in a repository with these files committed.
fn ran_in_repository(home: &TestHome, calls: &[Value], more: &str) {
    git(home, &["init", "-q"]);
    home.write("work/src/a.rs", "a\n");
    home.write("work/src/b.rs", "b\n");
    home.write("work/notes", "mine\n");
    let commit = format!("{more}; git add -A && git -c user.name=a -c user.email=a@b commit -qm first");
    let done = Command::new("sh").args(["-c", &commit]).current_dir(home.path("work")).status().expect("a shell");
    assert!(done.success());
    let mut turns = vec![json!({"text": SUMMARY})];
    turns.extend(calls.iter().map(|call| json!({"text": "Next.", "calls": [call]})));
    turns.push(json!({"repeat": 2, "text": REPORT}));
    home.scripted(AUTHORIZED, &turns.into());
    home.write("go.json", json!(["go", "y", "y", "y"]).to_string());
    home.run(&["run", "../brief.md", "--answers", "../go.json"]).expect_code(0);
}

#[test]
fn what_was_kept_outlives_the_repository() {
    let home = TestHome::new();
    home.write("home/config.toml", "[sandbox]\nmode = \"off\"\n");
    ran_in_repository(&home, &[shell("rm -rf .git src")], ":");
    assert!(!home.path("work/.git").exists() && !home.path("work/src").exists());
    home.run(&["undo", RUN, "--yes"]).expect_code(0);
    assert_eq!(home.read("work/src/a.rs"), "a\n");
    assert_eq!(git(&home, &["status", "--porcelain"]), "");
    assert_eq!(git(&home, &["log", "--format=%s"]), "first\n");
}

#[test]
fn what_a_script_left_alone_and_the_operator_changed_stays() {
    let home = TestHome::new();
    let script = "printf '%s\\n' 'rm src/a.rs' 'echo by the script > src/b.rs' > s.sh; sh s.sh";
    ran_in_repository(&home, &[shell(script)], ":");
    assert!(!home.path("work/src/a.rs").exists());
    home.write("work/notes", "mine, and more\n");
    let said = home.run(&["undo", RUN, "--yes"]).expect_code(0).expect_text("notes: was changed after the call");
    assert!(said.stdout.contains("src/a.rs: is gone, comes back"), "{}", said.stdout);
    assert_eq!(home.read("work/src/a.rs"), "a\n");
    assert_eq!(home.read("work/src/b.rs"), "b\n");
    assert_eq!(home.read("work/notes"), "mine, and more\n");
    home.run(&["undo", RUN, "1", "--file", "notes", "--yes"]).expect_code(0);
    assert_eq!(home.read("work/notes"), "mine\n");
}

#[test]
fn a_command_that_writes_through_a_link_keeps_what_is_behind_it() {
    for line in ["echo other > link", "echo other > folder/b.rs"] {
        let home = TestHome::new();
        ran_in_repository(&home, &[shell(line)], "ln -s src/b.rs link; ln -s src folder");
        assert_eq!(home.read("work/src/b.rs"), "other\n", "{line}");
        home.run(&["undo", RUN, "--yes"]).expect_code(0);
        assert_eq!(home.read("work/src/b.rs"), "b\n", "{line}");
        assert!(home.path("work/link").is_symlink());
    }
}

#[test]
fn what_can_not_be_put_back_is_named_and_the_rest_comes_back() {
    let home = TestHome::new();
    ran(&home, &[shell("rm -r keep.txt sub")]);
    let kept = home.path(&format!("home/rescue/{RUN}/call-1.1/1"));
    fs::write(kept, "damaged").expect("written");
    let said = home.run(&["undo", RUN, "--yes", "--json"]).expect_code(1).stdout;
    let told: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(told["failed"].as_array().map(Vec::len), Some(1), "{told}");
    assert_eq!(files(&home.path("work")).len(), 1, "the other one is back");
    home.run(&["undo", RUN, "1", "--yes"]).expect_code(1).expect_text("NOT as it was").expect_text("damaged");
}
