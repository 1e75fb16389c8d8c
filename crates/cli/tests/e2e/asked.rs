//! Tests what an operator reads at a run: the act that is asked about, how an answer was taken, and what was not taken.

use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, TestHome, brief};
use crate::terminal::Terminal;

const ARGS: &[&str] = &["run", "../brief.md"];
const REPORT: &str = "## Phase 4\n\nDone.\n\n- Delivered: all of it.\n- Unresolved: nothing.\n";

fn shell(cmd: &str) -> Value {
    json!({"text": "I run it.", "calls": [{"tool": "shell_exec", "args": {"cmd": cmd}}]})
}

fn report() -> Value {
    json!({"repeat": 2, "text": REPORT})
}

#[test]
fn what_a_diff_shows_is_not_told_again_and_the_inbox_has_it_as_text() {
    let home = TestHome::new();
    let write = json!({"tool": "write_file", "args": {"path": "a.txt", "content": "one\ntwo\n"}});
    home.scripted("mode: auto", &json!([SUMMARY, {"text": "I write.", "calls": [write]}, report()]));
    let said = home.run_with(ARGS, b"go\n").expect_code(4).stdout;
    assert!(said.contains("    +one\n    +two\n"), "{said}");
    assert!(said.contains("? The agent wants to call `write_file` for a.txt\n"), "{said}");
    assert!(!said.contains("| one") && !said.contains("\"content\""), "{said}");
    // Elsewhere the question itself has the text.
    let shown = home.run(&["inbox", "show", RUN]).expect_code(0).stdout;
    assert!(shown.contains("for a.txt\n  | one\n  | two\n"), "{shown}");
    assert!(!shown.contains("\"content\""), "{shown}");
}

#[test]
fn a_first_test_run_is_no_destruction_and_each_call_is_named() {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, shell("make test"), report()]));
    let said = home.run_with(ARGS, b"go\nn\n").expect_code(0).stdout;
    assert!(said.contains("Phase 3: needs approval: run commands"), "{said}");
    assert!(said.contains("  ask shell_exec make test\n"), "{said}");
    assert!(said.contains("\u{2717} shell_exec make test was not called: denied"), "{said}");
    assert!(said.contains("what it runs may have changed by then"), "{said}");
    assert!(!said.contains("destructive"), "{said}");
    let phase = home.journal(RUN).into_iter().any(|event| event["phase"] == "destructive");
    assert!(phase, "the journal keeps its word");

    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, shell("make test"), report()]));
    home.run_with(ARGS, b"go\n").expect_code(4);
    for args in [&["list"][..], &["inbox"], &["show", RUN]] {
        let said = home.run(args).expect_code(0).stdout;
        assert!(!said.contains("destructive"), "{args:?}: {said}");
    }
    home.run(&["inbox", "show", RUN]).expect_code(0).expect_text("doing    approval");
}

#[test]
fn it_is_said_how_words_were_taken() {
    let home = TestHome::new();
    home.scripted("mode: gated", &json!([SUMMARY, "One step.", report()]));
    let said = home.run_with(ARGS, b"auto\nuse tabs\nok\n").expect_code(0).stdout;
    assert!(said.contains("the brief says `mode: gated`, and so it stays"), "{said}");
    assert!(said.contains("taken as a message, and told to the agent: \"use tabs\""), "{said}");
}

#[test]
fn answers_that_fit_nothing_are_named() {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, report()]));
    home.write("answers.yaml", "- go\n- {kind: permission, answer: y}\n- {kind: limit, answer: 5}\n");
    home.run(&[ARGS, &["--answers", "../answers.yaml"]].concat())
        .expect_code(0)
        .expect_text("not used from the answers, no question came that it fits: \"permission: y\", \"limit: 5\"");
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, report()]));
    home.run_with(ARGS, b"go\ny\n\n").expect_code(0).expect_text("not used from the input").expect_text("\"y\"");

    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, shell("make test"), report()]));
    home.write("answers.yaml", "- go\n- {kind: destructive, answer: maybe}\n");
    home.run(&[ARGS, &["--answers", "../answers.yaml"]].concat())
        .expect_code(4)
        .expect_text("not taken from the answers: \"maybe\": not one of the options above");
}

#[test]
fn a_script_without_a_report_completes_and_says_so() {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, "## Phase 4\nAll deliverables are complete."]));
    home.run_with(ARGS, b"go\n").expect_code(0).expect_text("no report was made");
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, report()]));
    let said = home.run_with(ARGS, b"go\n").expect_code(0).stdout;
    assert!(!said.contains("no report was made"), "{said}");
}

#[test]
fn a_second_run_says_what_the_first_is_called_from_now_on() {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, report()]));
    home.run_with(ARGS, b"go\n").expect_code(0);
    let first = format!("{RUN}-r1");
    home.run_with(ARGS, b"go\n").expect_code(0).expect_text(&format!("the first is `{first}` from now on"));
    home.run(&["inspect", &first]).expect_code(0).expect_text(RUN);
    home.run(&["undo", &first]).expect_code(2).expect_text(&format!("adjutant undo {first} --list"));
}

#[test]
fn a_stop_that_waits_for_a_driver_is_shown_everywhere() {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, report()]));
    home.run(ARGS).expect_code(4);
    home.run(&["stop", RUN]).expect_code(0);
    let waits = "stop asked for; takes effect with resume or a worker";
    for args in [&["list"][..], &["show", RUN], &["inbox"], &["inbox", "show", RUN]] {
        home.run(args).expect_code(0).expect_text(waits);
    }
    home.run(&["resume", RUN]).expect_code(6);
    let said = home.run(&["list"]).expect_code(0).stdout;
    assert!(!said.contains(waits), "{said}");
}

#[test]
fn a_call_is_found_by_each_name_that_it_is_shown_under() {
    let home = TestHome::new();
    home.scripted("mode: auto\nauthorized_costs: ['*']", &json!([SUMMARY, shell("rm a"), shell("rm b"), report()]));
    home.write("work/a", "x");
    home.write("work/b", "x");
    home.run_with(ARGS, b"go\n").expect_code(0);
    home.run(&["inspect", RUN, "--transcript"]).expect_code(0).expect_text("-> #2 shell_exec call_3_1");
    for name in ["2", "call_3_1", "call-2.1", "call/2.1", "session/call/2.1"] {
        home.run(&["explain", RUN, name]).expect_code(0).expect_text("rm b");
    }
    home.run(&["explain", RUN, "call-9.1"]).expect_code(1).expect_text("has no call `call-9.1`");
    home.run(&["undo", RUN, "call_3_1", "--yes"]).expect_code(0);
    assert_eq!((home.read("work/a"), home.read("work/b")), (String::new(), "x".to_owned()));
    home.run(&["undo", RUN, "--list"]).expect_code(0).expect_text("1 file, 1 byte: b").expect_text("nothing was there");
}

#[test]
fn a_name_that_several_calls_have_is_answered_with_their_rows() {
    let named = |id: &str, cmd: &str| json!({"text": "I run it.", "calls": [{"id": id, "tool": "shell_exec", "args": {"cmd": cmd}}]});
    let home = TestHome::new();
    let turns = json!([SUMMARY, named("same", "true"), named("1", "echo second"), named("same", "pwd"), report()]);
    home.scripted("mode: auto\nauthorized_costs: ['*']", &turns);
    home.run_with(ARGS, b"go\n").expect_code(0);
    home.run(&["explain", RUN, "same"]).expect_code(2).expect_text("may be several calls").expect_text("one of 1, 3");
    // A number is a row, whatever agents call their calls.
    let first = home.run(&["explain", RUN, "1"]).expect_code(0).stdout;
    assert!(!first.contains("echo second"), "{first}");
}

#[test]
fn an_answer_that_nobody_can_mean_is_refused() {
    let asking = json!({"text": "I ask.", "calls": [{"tool": "request_permission", "args": {
        "action": "keep the notes", "reasoning": "they are part of it", "scope": "persistent",
        "category": "filesystem_write", "tool": "write_file", "path": "docs/*.md",
    }}]});
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, asking, report()]));
    let said = home.run_with(ARGS, b"go\np 2020-01-01\n").expect_code(4).stdout;
    assert!(said.contains("2020-01-01 is over: name a day from "), "{said}");
    for (day, why) in
        [("p 2020-01-01", "2020-01-01 is over"), ("p 9999-12-31", "no day that a permission can end with")]
    {
        home.run(&["inbox", "answer", RUN, day]).expect_code(2).expect_text(why);
    }
    home.run(&["inbox", "answer", RUN, ""]).expect_code(2).expect_text("an empty answer; say `n` for a no");
    home.run(&["inbox", "show", RUN]).expect_code(0).expect_text("Allow this?");
    home.run(&["inbox", "answer", RUN, "p", "2999-01-01"]).expect_code(0);
}

#[test]
fn what_is_typed_for_help_while_the_agent_works_reaches_no_model() {
    let home = TestHome::new();
    let wait = json!({"tool": "shell_exec", "args": {"cmd": "while ! test -e on; do sleep 0.05; done"}});
    home.scripted(
        "mode: auto\nauthorized_costs: ['*']",
        &json!([SUMMARY, {"text": "I wait.", "calls": [wait]}, {"repeat": 3, "text": REPORT}]),
    );
    let mut terminal = Terminal::start(&home, ARGS, &[]);
    terminal.expect("Is this summary what you want?");
    terminal.type_text("go\n");
    terminal.expect("\u{2192} shell_exec while");
    terminal.type_text("?\n");
    terminal.expect("stop the run for good");
    terminal.type_text("help\n");
    terminal.expect("stop the run for good");
    terminal.type_text("?\t");
    terminal.expect("stop the run for good");
    terminal.type_text("one\ntwo\n");
    terminal.expect("not an answer, 2 lines");
    terminal.type_text("\t");
    terminal.expect("sent to the agent, 2 lines in one message");
    home.write("work/on", "");
    assert_eq!(terminal.finish().0, 0);
    let told = home.journal(RUN).into_iter().filter(|event| event["type"] == "operator_message");
    let told: Vec<Value> = told.map(|event| event["message"].clone()).collect();
    assert_eq!(told, [json!({"steer": "one\ntwo"})]);
}

#[test]
fn what_says_something_says_it_to_programs_too() {
    let home = TestHome::new();
    let parsed = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    let new = parsed(&home.run(&["new", "orchard", "--json"]).expect_code(0).stdout);
    assert!(new["brief"].as_str().expect("text").contains("project: orchard") && new["file"].is_null());
    home.write("work/.adjutant/config.toml", "");
    let trusted = parsed(&home.run(&["trust", "add", "--yes", "--json"]).expect_code(0).stdout);
    let path = trusted["trusted"][0].as_str().expect("a path").to_owned();
    assert!(path.ends_with(".adjutant/config.toml"), "{path}");
    let removed = parsed(&home.run(&["trust", "remove", &path, "--json"]).expect_code(0).stdout);
    assert_eq!(removed["removed"], json!([path]));

    let mut dashboard = home.start(&["dashboard", "--json"]);
    let line = dashboard.until("url");
    dashboard.kill();
    assert!(line.contains("http://127.0.0.1:"), "{line}");
}

#[test]
fn a_list_that_is_empty_says_which_runs_there_are() {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, report()]));
    home.write("second.md", brief("mode: auto"));
    home.run_with(ARGS, b"go\n").expect_code(0);
    home.run_with(&["run", "../second.md"], b"no\n").expect_code(6);
    home.run(&["list", "--state", "waits", "--state", "failed"])
        .expect_code(0)
        .expect_text("no run is in the state waits or failed; there are: declined 1, completed 1");
    home.run(&["list", "--project", "other"]).expect_code(0).expect_text("no run of the project `other`");
}
