//! Tests that the change of a run can be seen as a whole, and brought home from a copy.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, TestHome, files};

const AUTHORIZED: &str = "mode: auto\nauthorized_costs:\n  - \"*\"";
const REPORT: &str = "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n";
const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";

/// A run that makes `calls`, one in each turn, in a working folder with some files.
fn ran(home: &TestHome, calls: &[Value], flags: &[&str]) {
    let mut turns = vec![json!({"text": SUMMARY})];
    turns.extend(calls.iter().map(|call| json!({"text": "Next.", "calls": [call]})));
    turns.push(json!({"repeat": 2, "text": REPORT}));
    home.scripted(AUTHORIZED, &turns.into());
    home.write("go.json", json!(["go"]).to_string());
    home.write("work/lines.txt", LINES);
    home.write("work/sub/gone.txt", "gone\n");
    home.run(&[&["run", "../brief.md", "--answers", "../go.json"], flags].concat()).expect_code(0);
}

fn shell(cmd: &str) -> Value {
    json!({"tool": "shell_exec", "args": {"cmd": cmd}})
}

/// What the copy's run does: it changes a line, deletes a file and makes one.
fn work() -> [Value; 1] {
    [shell("sed -i 's/^9$/nine/' lines.txt; rm -r sub; echo new > made.txt; chmod +x made.txt")]
}

#[test]
fn the_diff_of_a_copy_is_whole_and_git_can_apply_it() {
    let home = TestHome::new();
    ran(&home, &work(), &["--copy"]);
    let said = home.run(&["diff", RUN]).expect_code(0);
    assert_eq!(said.stderr, "", "nothing is missing");
    for line in ["-9\n+nine\n", "deleted file mode 100644\n--- a/sub/gone.txt", "new file mode 100755\n--- /dev/null"] {
        assert!(said.stdout.contains(line), "`{line}` is not in {}", said.stdout);
    }
    home.write("change.diff", &said.stdout);
    let git = Command::new("git").args(["apply", "../change.diff"]).current_dir(home.path("work")).output();
    let git = git.expect("git runs");
    assert!(git.status.success(), "{}", String::from_utf8_lossy(&git.stderr));
    assert_eq!(home.read("work/lines.txt"), LINES.replace('9', "nine"));
    assert!(!home.path("work/sub/gone.txt").exists());

    home.run(&["diff", RUN, "--stat"]).expect_code(0).expect_text("lines.txt     +1 -1").expect_text("3 files, +2 -2");
    let one = home.run(&["diff", RUN, "lines.txt"]).expect_code(0);
    assert!(!one.stdout.contains("made.txt"), "{}", one.stdout);
    let json: Value = serde_json::from_str(&home.run(&["diff", RUN, "--json"]).expect_code(0).stdout).expect("JSON");
    let paths: Vec<&str> = json["files"].as_array().expect("files").iter().filter_map(|f| f["path"].as_str()).collect();
    assert_eq!(paths, ["lines.txt", "made.txt", "sub/gone.txt"]);
}

#[test]
fn what_a_run_in_the_folder_itself_changed_is_shown_and_what_may_be_missing_is_said() {
    let home = TestHome::new();
    let write = |path: &str, content: &str| json!({"tool": "write_file", "args": {"path": path, "content": content}});
    let read = json!({"tool": "read_file", "args": {"path": "lines.txt"}});
    ran(&home, &[read, write("lines.txt", "one\n"), write("new.txt", "new\n"), shell("rm sub/gone.txt")], &[]);
    let said = home.run(&["diff", RUN, "--stat"]).expect_code(0);
    for file in ["lines.txt     +1 -9", "new.txt       +1 -0  new", "sub/gone.txt  +0 -1  deleted"] {
        assert!(said.stdout.contains(file), "`{file}` is not in {}", said.stdout);
    }
    assert!(said.stderr.contains("1 command ran in the folder itself"), "{}", said.stderr);
    home.run(&["apply", RUN]).expect_code(2).expect_text("there is nothing to bring home");
    home.run(&["show", RUN]).expect_code(0).expect_text("completed").expect_text("One thing.").expect_text("new.txt");
}

#[test]
fn a_copys_change_is_merged_with_what_was_changed_meanwhile_and_can_be_taken_back() {
    let home = TestHome::new();
    ran(&home, &work(), &["--copy"]);
    let mine = LINES.replace('1', "one");
    home.write("work/lines.txt", &mine);
    home.run(&["apply", RUN]).expect_code(4).expect_text("lines.txt: merged with your change").expect_text("--yes");
    assert_eq!(home.read("work/lines.txt"), mine, "nothing changes before somebody says yes");
    home.run(&["apply", RUN, "--yes"]).expect_code(0).expect_text("done");
    assert_eq!(home.read("work/lines.txt"), mine.replace('9', "nine"));
    assert_eq!(home.read("work/made.txt"), "new\n");
    assert!(!home.path("work/sub/gone.txt").exists());
    home.run(&["apply", RUN, "--yes"]).expect_code(0).expect_text("nothing to bring home");

    home.run(&["undo", RUN, "apply-1", "--exact", "--yes"]).expect_code(0);
    assert_eq!(home.read("work/lines.txt"), mine);
    assert_eq!(home.read("work/sub/gone.txt"), "gone\n");
    assert!(!home.path("work/made.txt").exists());
}

#[test]
fn in_a_repository_what_git_ignores_is_said_to_be_missing_and_links_come_home() {
    let home = TestHome::new();
    let git = |args: &[&str]| {
        let git = Command::new("git").args(args).current_dir(home.path("work")).output().expect("git runs");
        assert!(git.status.success(), "{args:?}: {}", String::from_utf8_lossy(&git.stderr));
    };
    git(&["init", "-q"]);
    home.write("work/.gitignore", "target/\n");
    home.write("work/target/made", "old\n");
    home.write("work/build.sh", "echo new > target/made\n");
    ran(&home, &[shell("sh build.sh; ln -s lines.txt link; echo more >> sub/gone.txt")], &["--copy"]);
    let said = home.run(&["diff", RUN]).expect_code(0);
    assert!(said.stderr.contains("target/"), "{}", said.stderr);
    assert!(said.stdout.contains("new file mode 120000") && said.stdout.contains("+more\n"), "{}", said.stdout);
    assert!(!said.stdout.contains("target/made"), "{}", said.stdout);
    home.run(&["apply", RUN, "--yes"]).expect_code(0).expect_text("target/");
    assert_eq!(fs::read_link(home.path("work/link")).expect("a link").to_str(), Some("lines.txt"));
    assert_eq!(home.read("work/sub/gone.txt"), "gone\nmore\n");
    assert_eq!(home.read("work/target/made"), "old\n", "what can't be told is left alone");
}

#[test]
fn one_conflict_refuses_the_whole_and_is_named() {
    let home = TestHome::new();
    ran(&home, &work(), &["--copy"]);
    home.write("work/lines.txt", LINES.replace('9', "neun"));
    fs::create_dir(home.path("work/made.txt")).expect("a folder");
    let before = files(&home.path("work"));
    let refused = home.run(&["apply", RUN, "--yes"]).expect_code(1).expect_text("nothing was changed");
    assert!(refused.stderr.contains("lines.txt: the same lines were changed meanwhile"), "{}", refused.stderr);
    assert!(refused.stderr.contains("made.txt: a folder is in its place"), "{}", refused.stderr);
    assert_eq!(files(&home.path("work")), before);
    let json: Value = serde_json::from_str(&home.run(&["apply", RUN, "--json"]).stdout).expect("JSON");
    assert_eq!((&json["done"], json["conflicts"].as_array().map(Vec::len)), (&json!(false), Some(2)));
}
