//! Tests what a run says and does about the sandbox of its commands.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, TestHome};

const AUTHORIZED: &str = "mode: auto\nauthorized_costs:\n  - shell_exec\n  - filesystem_write";
const REPORT: &str = "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n";

/// A run of one command in auto mode.
fn one_command(cmd: &str, config: &str, answers: Value) -> TestHome {
    let home = TestHome::new();
    let call = json!({"tool": "shell_exec", "args": {"cmd": cmd}});
    home.scripted(
        AUTHORIZED,
        &json!([SUMMARY, {"text": "A command.", "calls": [call]}, {"repeat": 2, "text": REPORT}]),
    );
    home.write("home/config.toml", config);
    home.write("answers.json", answers.to_string());
    home
}

fn run(home: &TestHome, code: i32) -> (String, Vec<Value>) {
    let said = home.run(&["run", "../brief.md", "--answers", "../answers.json"]).expect_code(code);
    (format!("{}{}", said.stdout, said.stderr), home.journal(RUN))
}

fn event<'a>(journal: &'a [Value], kind: &str) -> &'a Value {
    journal.iter().find(|event| event["type"] == kind).unwrap_or_else(|| panic!("no {kind} in {journal:?}"))
}

#[test]
fn a_whole_sandbox_is_said_in_a_line_and_on_record() {
    let home = one_command("echo x > inside; echo x > ../outside; echo $TMPDIR", "", json!(["go"]));
    let (said, journal) = run(&home, 0);
    assert!(said.contains("sandbox: fully active (limits, "), "{said}");
    assert_eq!(event(&journal, "sandbox_report")["missing"], json!([]));
    assert_eq!((home.read("work/inside").as_str(), home.path("outside").exists()), ("x\n", false));
    assert_eq!(event(&journal, "tool_call").get("network"), None);
}

#[test]
fn what_a_command_leaves_in_the_repository_is_put_aside_and_on_record() {
    let home = one_command("sh x.sh", "", json!(["go", "y"]));
    home.write("work/x.sh", "echo e > .git/commondir; echo done");
    let git = |args: &[&str]| Command::new("git").args(args).current_dir(home.path("work")).output().expect("git");
    assert!(git(&["init", "-q"]).status.success());
    let (said, journal) = run(&home, 0);
    assert!(said.contains("REPOSITORY_CHANGED"), "{said}");
    let result = event(&journal, "tool_result");
    assert_eq!(result["code"], "REPOSITORY_CHANGED");
    let content = result["content"].as_str().expect("content");
    assert!(content.contains(".git/commondir` was put aside as `") && content.contains("done"), "{content}");
    assert!(git(&["status"]).status.success() && !home.path("work/.git/commondir").exists());
    assert!(home.path("home/aside").read_dir().expect("there").next().is_some());
}

#[test]
fn a_brief_that_authorizes_fetching_gives_commands_the_network() {
    let home = one_command("true", "", json!(["go"]));
    home.write("brief.md", crate::home::brief(&format!("{AUTHORIZED}\n  - http_fetch")));
    let (_, journal) = run(&home, 0);
    assert_eq!(event(&journal, "tool_call")["network"], true);
}

#[test]
fn where_walls_are_missing_auto_mode_asks_first() {
    let config = "[sandbox]\nwithout = ['mounts', 'landlock']\n";
    let home = one_command("echo x > ran", config, json!(["go"]));
    let (said, journal) = run(&home, 4);
    assert!(said.contains("! sandbox: no wall `secret_read`: commands can read keys"), "{said}");
    let check = event(&journal, "auth_check_fired");
    assert_eq!((check["layer"].as_str(), check["answer"].as_str()), (Some("sandbox"), Some("ask")));
    assert!(!home.path("work/ran").exists());

    let home = one_command("echo x > ran", config, json!(["go", "category"]));
    run(&home, 0);
    assert_eq!(home.read("work/ran"), "x\n");
}

#[test]
fn what_is_required_and_missing_keeps_a_run_from_beginning() {
    let config = "[sandbox]\nmode = 'required'\nwithout = ['seccomp']\n";
    let home = one_command("true", config, json!(["go"]));
    let (said, journal) = run(&home, 1);
    assert!(said.contains("the sandbox is not whole here"), "{said}");
    assert!(journal.is_empty());
    home.run(&["doctor"]).expect_code(1).expect_text("FAIL sandbox: ");
    home.run(&["run", "../brief.md", "--answers", "../answers.json", "--no-shell", "--new"]).expect_code(0);
}

#[test]
fn doctor_shows_what_commands_can_read_of_the_home_and_what_they_cached() {
    let home =
        one_command("mkdir -p ~/.cache/x; echo 1 > ~/.cache/x/a; cat ~/letters; cat ~/.npmrc", "", json!(["go"]));
    for (path, text) in
        [(".cargo/bin/x", ""), (".ssh/id", ""), ("letters", "dear"), (".npmrc", "registry=https://h/\n")]
    {
        home.write(path, text);
    }
    let readable = |home: &TestHome| {
        let said = home.run(&["doctor", "--json"]);
        let report: Value = serde_json::from_str(&said.stdout).expect("a report");
        (report["home_readable"].clone(), report["cache"]["bytes"].as_u64())
    };
    let expected = json!([home.path(".cargo/bin"), home.path(".npmrc")]);
    assert_eq!(readable(&home), (expected, None));
    let (_, journal) = run(&home, 0);
    let content = event(&journal, "tool_result")["content"].as_str().expect("content");
    assert!(content.contains("registry=https://h/") && !content.contains("dear"), "{content}");
    assert!(readable(&home).1.is_some_and(|bytes| bytes > 0));
    assert!(!home.path(".cache").exists());
    home.write("home/config.toml", "[sandbox]\nread = ['~/letters']\n");
    assert!(readable(&home).0.as_array().expect("paths").contains(&json!(home.path("letters"))));
}

#[test]
fn a_command_that_a_wall_refused_is_told_which_and_what_would_allow_it() {
    for (cmd, expected) in [
        (
            "touch /usr/x",
            "The sandbox keeps commands from writing outside the working folder, which `/usr/x` is. `sandbox.write`",
        ),
        ("cat ~/letters", "`~/letters` is not there for them whether it exists or not. `sandbox.read`"),
        ("echo x >> .git/config", "hooks or settings of a git repository"),
        // What a script does is not read, so that its yes opens no network.
        ("python3 net.py", "The network is off for this command."),
        ("ls absent", ""),
    ] {
        let home = one_command(cmd, "", json!(["go", "y"]));
        home.write("letters", "dear");
        home.write("work/net.py", "import socket; socket.create_connection(('192.0.2.1', 80))\n");
        let git = Command::new("git").args(["init", "-q"]).current_dir(home.path("work")).status();
        assert!(git.expect("git").success());
        home.run(&["run", "../brief.md", "--answers", "../answers.json"]);
        let journal = home.journal(RUN);
        let content = event(&journal, "tool_result")["content"].as_str().expect("content");
        let notes = content.split_once("\n\nstdout:").expect("a result").0;
        match expected {
            "" => assert_eq!(notes.lines().count(), 1, "{content}"),
            expected => assert!(notes.contains(expected), "{cmd}: {content}"),
        }
    }
}

#[test]
fn a_setting_that_can_t_be_used_is_the_operators_to_mend() {
    for (config, problem) in [
        ("mode = 'bets'", "must be `off`, `best` or `required`, not `bets`"),
        ("read = ['data']", "`sandbox.read` in "),
        ("write = ['/']", "can't have `/`"),
        ("environment = ['OPENAI_API_KEY']", "can't have `OPENAI_API_KEY`"),
        ("without = ['walls']", "has no layer `walls`"),
    ] {
        let home = one_command("true", &format!("[sandbox]\n{config}\n"), json!(["go"]));
        home.run(&["run", "../brief.md", "--answers", "../answers.json"]).expect_code(2).expect_text(problem);
    }
}

#[test]
fn the_word_that_starts_a_command_is_no_command_for_a_person() {
    let home = TestHome::new();
    for args in [&["__sandbox"][..], &["__sandbox", "1", "{}", "true"], &["__sandbox", "99", "", ""]] {
        home.run(args).expect_code(125).expect_text("is for adjutant itself");
    }
}

#[test]
fn somebody_without_any_rights_has_the_same_walls() {
    if !rustix::process::geteuid().is_root() {
        // Then every other test shows it.
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let said = Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups", env!("CARGO_BIN_EXE_adjutant")])
        .args(["--home", "/nonexistent/home", "doctor", "--workdir", "/tmp"])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .current_dir(folder.path().parent().expect("a parent"))
        .stdin(Stdio::null())
        .output();
    let Ok(said) = said else { return };
    let text = String::from_utf8_lossy(&said.stdout);
    // The folder of the program may be closed to others.
    if !text.is_empty() {
        assert!(text.contains("ok   sandbox: fully active"), "{text}");
    }
}
