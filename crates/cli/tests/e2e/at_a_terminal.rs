//! Tests what an operator at a terminal sees of a run, and what Ctrl-C, another terminal and a worker do to it.

use serde_json::json;

use crate::first_run::{self, workdir};
use crate::home::{RUN, SUMMARY, TestHome, files};
use crate::terminal::{CTRL_C, FIRST, REPORT, Terminal, at_the_question};

#[test]
fn what_a_project_would_run_is_asked_about_once_for_each_content() {
    let home = TestHome::with_examples();
    let config = "examples/first-run/project/.adjutant/config.toml";
    home.write(config, "max_steps = 31\n");
    let mut args = first_run::ARGS.to_vec();
    args.push("--new");
    let run = || Terminal::start(&home, &args, &[]);

    let mut terminal = run();
    terminal.expect("max_steps = 31");
    terminal.expect("as it is now? It is not asked again. (y/N) ");
    terminal.type_text("n\n");
    terminal.expect("is ignored: nobody has trusted what it says now");
    terminal.expect("? Is this summary what you want?");
    terminal.kill();

    let mut terminal = run();
    terminal.expect("is ignored: nobody has trusted what it says now");
    terminal.expect("? Is this summary what you want?");
    assert!(!terminal.kill().contains("(y/N)"), "nobody asks twice");

    home.write(config, "max_steps = 32\n");
    let mut terminal = run();
    terminal.expect("max_steps = 32");
    terminal.expect("(y/N) ");
    terminal.type_text("y\n");
    terminal.expect("trusted: ");
    terminal.expect("? Is this summary what you want?");
    terminal.kill();

    home.write(config, "max_steps = 33\n");
    let mut terminal = run();
    for change in ["-max_steps = 32", "+max_steps = 33", "(y/N) "] {
        terminal.expect(change);
    }
    terminal.kill();
}

#[test]
fn an_operator_approves_the_deletion() {
    let home = TestHome::with_examples();
    let mut terminal = at_the_question(&home);
    terminal.type_text("y\n");
    // The announcement named no command: the call itself is asked for with what it would do.
    terminal.expect("- deletes folders with all that is in them");
    terminal.expect("> ");
    terminal.type_text("y\n");
    terminal.wait();
    assert_eq!(terminal.check_answers(), (3, 1), "the answers and the acts of this session are those that are checked");
    let (code, seen) = terminal.finish();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("run 2026-01-15-FIRST: completed"), "{seen}");
    assert!(!workdir(&home, FIRST).join("build").exists());
}

#[test]
fn an_operator_denies_the_deletion() {
    let home = TestHome::with_examples();
    let mut terminal = at_the_question(&home);
    terminal.type_text("n\n");
    terminal.expect("Then it stays.");
    let (code, seen) = terminal.finish();
    assert_eq!(code, 0, "{seen}");
    assert!(!seen.contains("rm -r build"), "{seen}");
    assert!(workdir(&home, FIRST).join("build/VERSION").exists());
}

#[test]
fn a_question_that_was_open_at_a_kill_is_asked_again() {
    let home = TestHome::with_examples();
    at_the_question(&home).kill();
    let before = home.journal(FIRST).len();
    let mut again = Terminal::start(&home, &["resume", FIRST], &[]);
    again.expect("resuming 2026-01-15-FIRST");
    again.expect("All tests pass, and no program uses the left-overs. I'll delete the build folder.");
    again.expect("? The agent says it is about to delete files. Your brief doesn't allow that:");
    again.expect("y         yes, this once");
    again.expect("> ");
    again.type_text("n\n");
    let (code, seen) = again.finish();
    assert_eq!(code, 0, "{seen}");
    assert_eq!(seen.matches("? The agent says it is about to").count(), 1, "{seen}");
    let journal = home.journal(FIRST);
    assert!(journal.len() > before);
    let questions = journal.iter().filter(|event| event["type"] == "question").count();
    assert_eq!(questions, 2, "it is the same question, on record once");
    assert!(files(&workdir(&home, FIRST)).contains_key("build/VERSION"));
}

#[test]
fn colour_is_for_terminals_and_no_color_is_honoured() {
    let home = TestHome::with_examples();
    let answers = ["--answers", "../examples/first-run/answers.yaml"];
    let args = [first_run::ARGS, &answers].concat();
    let (code, coloured) = Terminal::start(&home, &args, &[]).finish();
    assert_eq!(code, 0, "{coloured}");
    assert!(coloured.contains("\u{1b}[1m"), "{coloured}");
    let (code, plain) = Terminal::start(&home, &args, &[("NO_COLOR", "1")]).finish();
    assert_eq!(code, 0, "{plain}");
    let colours = regex::Regex::new("\u{1b}\\[[0-9;]*m").expect("a pattern");
    assert!(!colours.is_match(&plain), "{plain:?}");
    let piped = home.run(&args).expect_code(0);
    assert!(!piped.stdout.contains('\u{1b}') && !piped.stderr.contains('\u{1b}'), "{piped:?}");
}

#[test]
fn a_dumb_terminal_gets_no_escapes_at_all() {
    let home = TestHome::with_examples();
    let mut terminal = Terminal::start(&home, first_run::ARGS, &[("TERM", "dumb")]);
    terminal.expect("no               the run ends here");
    terminal.expect("> ");
    terminal.type_text("go\n");
    terminal.expect("(n: <why>, or any sentence, tells it why)");
    terminal.expect("> ");
    terminal.type_text("n\n");
    let (code, seen) = terminal.finish();
    assert_eq!(code, 0, "{seen}");
    assert!(!seen.contains('\u{1b}'), "{seen:?}");
    // Nothing is written over: each line is said once.
    assert!(!seen.replace("\r\n", "").contains('\r'), "{seen:?}");
}

/// A run whose first command does not end by itself.
fn endless() -> TestHome {
    let home = TestHome::new();
    home.scripted(
        "mode: auto\nauthorized_costs:\n  - shell_exec",
        &json!([
            SUMMARY,
            {"text": "This may take long.", "calls": [{"tool": "shell_exec", "args": {"cmd": "echo begun; sleep 600"}}]},
            {"text": "It was cancelled.", "calls": [{"tool": "shell_exec", "args": {"cmd": "echo short"}}]},
            {"repeat": 2, "text": REPORT},
        ]),
    );
    home.write("go.json", json!(["go"]).to_string());
    home
}

const RUN_ARGS: &[&str] = &["run", "../brief.md", "--answers", "../go.json"];

#[test]
fn ctrl_c_once_cancels_the_call_and_the_run_goes_on() {
    let home = endless();
    let mut terminal = Terminal::start(&home, RUN_ARGS, &[]);
    terminal.expect("sleep 600");
    terminal.type_text(CTRL_C);
    terminal.expect("cancelling what is in flight");
    terminal.expect("cancelled");
    terminal.expect("It was cancelled.");
    let (code, seen) = terminal.finish();
    assert_eq!(code, 0, "{seen}");
    let journal = home.journal(RUN);
    assert_eq!(journal.iter().filter(|event| event["type"] == "tool_cancelled").count(), 1);
}

#[test]
fn ctrl_c_at_a_question_leaves_it_open_for_whoever_answers_it() {
    let home = endless();
    let mut terminal = Terminal::start(&home, &["run", "../brief.md"], &[]);
    terminal.expect("? Is this summary what you want?");
    terminal.expect("> ");
    terminal.type_text(CTRL_C);
    terminal.expect("stopping; the run can be resumed");
    let (code, seen) = terminal.finish();
    assert_eq!(code, 4, "{seen}");
    assert!(seen.contains("waiting (confirmation): needs a yes to its summary"), "{seen}");
    home.run(&["list"]).expect_code(0).expect_text("needs a yes to its summary");
    home.run(&["inbox"]).expect_code(0).expect_text("needs a yes to its summary");
    let mut again = Terminal::start(&home, &["resume", RUN], &[]);
    again.expect("? Is this summary what you want?");
    again.expect("> ");
    again.type_text(CTRL_C);
    again.expect("stopping; the run can be resumed");
    assert_eq!(again.finish().0, 4);
    // It was asked once; an answer from elsewhere counts, and a worker goes on with it.
    let asked = |home: &TestHome| home.journal(RUN).iter().filter(|event| event["type"] == "question").count();
    assert_eq!(asked(&home), 1);
    home.run(&["inbox", "answer", RUN, "no"]).expect_code(0);
    home.run(&["work", "--once"]).expect_code(0).expect_text("declined");
}

#[test]
fn ctrl_c_twice_stops_a_run_at_work_which_can_be_resumed() {
    let home = TestHome::new();
    let command = "test -e resumed || sleep 600";
    let endless_call = |text: &str| json!({"text": text, "calls": [{"tool": "shell_exec", "args": {"cmd": command}}]});
    home.scripted(
        "mode: auto\nauthorized_costs:\n  - shell_exec",
        &json!([SUMMARY, endless_call("First."), endless_call("Second."), {"repeat": 3, "text": REPORT}]),
    );
    home.write("go.json", json!(["go"]).to_string());
    let mut terminal = Terminal::start(&home, RUN_ARGS, &[]);
    terminal.expect("sleep 600");
    terminal.type_text(CTRL_C);
    terminal.expect("cancelling what is in flight");
    terminal.type_text(CTRL_C);
    terminal.expect("stopping; the run can be resumed");
    let (code, seen) = terminal.finish();
    assert_eq!(code, 130, "{seen}");
    assert!(seen.contains("go on: adjutant resume"), "{seen}");
    // The second command may have begun or not: the agent is told, or it is made now.
    home.write("work/resumed", "");
    home.run(&["resume", RUN, "--answers", "../go.json"]).expect_code(0).expect_text("completed");
}

#[test]
fn what_is_asked_at_one_terminal_is_answered_at_another_and_the_run_goes_on() {
    let home = TestHome::with_examples();
    let mut terminal = at_the_question(&home);
    let mut other = Terminal::start(&home, &["inbox"], &[]);
    other.expect("needs approval: delete files");
    other.expect("2026-01-15-FIRST");
    let (code, listed) = other.finish();
    assert_eq!(code, 0, "{listed}");
    // Half a line that was begun for this question must answer no later one.
    terminal.type_text("y");
    let mut other = Terminal::start(&home, &["inbox", "answer", FIRST, "n"], &[]);
    other.expect("answered: 2026-01-15-FIRST:session:ask/2.1");
    assert_eq!(other.finish().0, 0);
    terminal.expect("(answered by operator, inbox, at ");
    terminal.expect("Then it stays.");
    let (code, seen) = terminal.finish();
    assert_eq!(code, 0, "{seen}");
    assert!(workdir(&home, FIRST).join("build/VERSION").exists());
    let answers: Vec<_> = home.journal(FIRST).into_iter().filter(|event| event["type"] == "answer").collect();
    assert_eq!((&answers[0]["whence"], &answers[1]["whence"]), (&json!("terminal"), &json!("inbox")));
    assert_eq!(answers[1]["choice"], "deny");
}

#[test]
fn a_watcher_is_told_of_a_question_when_it_comes_and_ends_with_ctrl_c() {
    let home = TestHome::with_examples();
    let mut watching = Terminal::start(&home, &["inbox", "watch"], &[]);
    let terminal = at_the_question(&home);
    watching.expect("needs approval: delete files");
    watching.type_text(CTRL_C);
    assert_eq!(watching.finish().0, 130);
    terminal.kill();
}

#[test]
fn a_worker_at_a_terminal_asks_nobody_and_goes_on_with_what_is_answered_elsewhere() {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, {"repeat": 2, "text": REPORT}]));
    home.run(&["run", "../brief.md"]).expect_code(4);
    let mut worker = Terminal::start(&home, &["work"], &[]);
    // What is typed at a worker answers nothing.
    worker.type_text("no\n");
    home.run(&["inbox", "answer", RUN, "correct this"]).expect_code(0);
    worker.expect("resuming");
    worker.expect("answered by operator, inbox");
    worker.expect("waiting (confirmation)");
    home.run(&["inbox", "answer", RUN, "no"]).expect_code(0);
    worker.expect("run 2026-02-03-E2E: declined");
    worker.type_text(CTRL_C);
    assert_eq!(worker.finish().0, 130);
    let choices: Vec<_> = home
        .journal(RUN)
        .into_iter()
        .filter(|event| event["type"] == "answer")
        .map(|event| event["choice"].clone())
        .collect();
    assert_eq!(choices, ["correct", "decline"]);
}
