//! Tests the output of `--help`, for the program and for each command.

use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, Said, TestHome};

#[test]
fn every_command_explains_itself() {
    let home = TestHome::new();
    let top = home.run(&["--help"]).expect_code(0);
    insta::assert_snapshot!("adjutant", home.settled(&top.stdout));
    // In groups, down to the options.
    let commands = top.stdout.lines().skip_while(|line| *line != "Begin:").take_while(|line| *line != "Options:");
    let names: Vec<&str> = commands
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(names.len() >= 13, "{names:?}");
    for name in names {
        let said = home.run(&[name, "--help"]).expect_code(0);
        assert_eq!(said.stderr, "", "{name}");
        insta::assert_snapshot!(format!("adjutant_{name}"), home.settled(&said.stdout));
    }
}

#[test]
fn a_usage_line_names_nothing_that_the_environment_set() {
    let home = TestHome::new();
    for args in [&["inspect"][..], &["run"], &["undo", "--nonsense"], &["inbox", "show"]] {
        let said = home.run(args).expect_code(2);
        assert!(said.stderr.contains("Usage: adjutant"), "{args:?}: {}", said.stderr);
        assert!(
            !said.stderr.contains("--home") && !said.stderr.contains("--sessions-dir"),
            "{args:?}: {}",
            said.stderr
        );
    }
}

/// What a shell is offered behind `words`, the last of which is being typed.
fn completed(home: &TestHome, words: &[&str]) -> String {
    let mut command = home.adjutant(&[&["--", "adjutant"], words].concat());
    let command = command.env("ADJUTANT_COMPLETE", "bash").env("_CLAP_IFS", "\n");
    let output = command.env("_CLAP_COMPLETE_INDEX", words.len().to_string()).output().expect("it starts");
    Said::of(&output).expect_code(0).stdout
}

#[test]
fn a_shell_completes_runs_adapters_kinds_and_categories() {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY]));
    home.run(&["run", "../brief.md"]).expect_code(4);
    for (words, offered) in [
        (&["show", ""][..], RUN),
        (&["trace", "export", "2026"], RUN),
        (&["run", "brief.md", "--adapter", "anth"], "anthropic"),
        (&["inbox", "answer", "--kind", "dest"], "destructive"),
        (&["amend", RUN, "--authorize", "git"], "git_push"),
        (&["list", "--state", ""], "answered"),
        (&["sh"], "show"),
    ] {
        let found = completed(&home, words);
        assert!(found.lines().any(|line| line == offered), "{words:?}: {found}");
    }
    // Without a home there is nothing to offer, and no complaint.
    assert_eq!(completed(&TestHome::new(), &["show", "2026"]), "");
    for shell in ["bash", "zsh", "fish"] {
        home.run(&["completions", shell]).expect_code(0).expect_text("adjutant");
    }
}

#[test]
fn every_command_has_a_man_page() {
    let home = TestHome::new();
    home.run(&["man"]).expect_code(0).expect_text(".TH ADJUTANT 1");
    home.run(&["man", "trace", "verify"]).expect_code(0).expect_text(".TH ADJUTANT-TRACE-VERIFY 1");
    home.run(&["man", "nonsense"]).expect_code(2).expect_text("there is no command `nonsense`");
    home.run(&["man", "--out", "../man"]).expect_code(0).expect_text("pages to ../man");
    for page in ["adjutant.1", "adjutant-run.1", "adjutant-inbox-answer.1"] {
        assert!(home.read(&format!("man/{page}")).contains(".SH NAME"), "{page}");
    }
}

#[test]
fn whatever_is_said_to_a_run_can_be_had_as_json() {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY]));
    home.run(&["run", "../brief.md"]).expect_code(4);
    for (args, said) in [
        (&["steer", RUN, "mind the gap", "--json"][..], "steer"),
        (&["amend", RUN, "--max-turns", "9", "--json"], "amend"),
        (&["pause", RUN, "--json"], "pause"),
        (&["stop", RUN, "--json"], "stop"),
    ] {
        let found: Value = serde_json::from_str(&home.run(args).expect_code(0).stdout).expect("JSON");
        assert_eq!(found, json!({ "run": RUN, "said": said, "is_driven": false }), "{args:?}");
    }
}
