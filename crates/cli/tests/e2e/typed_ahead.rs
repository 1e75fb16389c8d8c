//! Tests that text typed or pasted at a terminal answers the question on the screen, and no other one.

use serde_json::{Value, json};

use crate::first_run::{self, workdir};
use crate::home::{RUN, SUMMARY, TestHome, files};
use crate::terminal::{CTRL_C, FIRST, REPORT, Terminal, at_the_question};

const MARKS_ON: &str = "\u{1b}[?2004h";
const MARKS_OFF: &str = "\u{1b}[?2004l";

/// Returns the operator's answers by the journal: the choice, and the text sent with it.
fn answers(home: &TestHome, run_id: &str) -> Vec<(Value, Value)> {
    let events = home.journal(run_id).into_iter().filter(|event| event["type"] == "answer");
    events.map(|event| (event["choice"].clone(), event["text"].clone())).collect()
}

fn is_there(home: &TestHome, run_id: &str) -> bool {
    files(&workdir(home, run_id)).contains_key("build/VERSION")
}

/// A paste as a terminal sends it that marks pastes.
fn pasted(text: &str) -> String {
    format!("\u{1b}[200~{text}\u{1b}[201~")
}

#[test]
fn lines_sent_before_the_first_question_answer_none() {
    let home = TestHome::with_examples();
    let mut terminal = Terminal::start_behind(&home, first_run::ARGS, &[], "go\ny\ny\n");
    for word in ["go", "y", "y"] {
        terminal.expect(&format!("ignored, typed before the question: \"{word}\""));
    }
    terminal.expect("? Is this summary what you want?");
    terminal.expect("> ");
    terminal.kill();
    assert_eq!(answers(&home, FIRST), []);
    assert!(is_there(&home, FIRST));
}

#[test]
fn lines_sent_together_answer_one_question() {
    let home = TestHome::with_examples();
    let mut terminal = Terminal::start(&home, first_run::ARGS, &[]);
    terminal.expect("? Is this summary what you want?");
    terminal.expect("> ");
    terminal.type_text("go\ny\ny\n");
    terminal.expect("ignored, typed before the question: \"y\"");
    terminal.expect("ignored, typed before the question: \"y\"");
    terminal.expect("? The agent says it is about to delete files");
    terminal.expect("> ");
    terminal.kill();
    assert_eq!(answers(&home, FIRST), [(json!("accept"), Value::Null)]);
    assert!(is_there(&home, FIRST));
}

/// A run that asks about a deletion at the end of a turn that takes its time.
fn slow_question() -> TestHome {
    let home = TestHome::new();
    let words: Vec<String> = (0..40).map(|word| format!("word{word} ")).collect();
    let announced = format!("{}\n\nI'll delete the folder `build` now.", words.concat());
    home.scripted(
        "mode: auto\nauthorized_costs:\n  - shell_exec",
        &json!([
            SUMMARY,
            {"text": "Slowly.", "delay_ms": 1500, "calls": [{"tool": "shell_exec", "args": {"cmd": "sleep 1"}}]},
            {"text": announced, "delay_ms": 1500},
            {"repeat": 3, "text": REPORT},
        ]),
    );
    home
}

#[test]
fn a_key_pressed_while_the_agent_speaks_is_no_answer() {
    for (typed, ending) in [("y\n", ""), ("y", "\n"), ("y", "n\n")] {
        let home = slow_question();
        let mut terminal = Terminal::start(&home, &["run", "../brief.md"], &[]);
        terminal.expect("? Is this summary what you want?");
        terminal.expect("> ");
        terminal.type_text("go\n");
        terminal.expect("sleep 1");
        terminal.type_text(typed);
        terminal.expect("ignored, typed before the question: \"y\"");
        terminal.expect("? The agent says it is about to delete files");
        terminal.expect("> ");
        if ending.is_empty() {
            terminal.kill();
            assert_eq!(answers(&home, RUN), [(json!("accept"), Value::Null)]);
            continue;
        }
        // What is typed now stands alone: neither an empty line nor `n` is a yes.
        terminal.type_text(ending);
        terminal.expect("Done.");
        let (code, seen) = terminal.finish();
        assert_eq!(code, 0, "{seen}");
        assert_eq!(answers(&home, RUN)[1], (json!("deny"), Value::Null));
    }
}

#[test]
fn a_pasted_correction_of_three_lines_is_one_answer() {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, SUMMARY, {"repeat": 2, "text": REPORT}]));
    let mut terminal = Terminal::start(&home, &["run", "../brief.md"], &[]);
    terminal.expect("? Is this summary what you want?");
    terminal.expect(MARKS_ON);
    terminal.expect("> ");
    terminal.type_text(&pasted("leave the folder alone,\ny\ny"));
    terminal.type_text("\n");
    // The correction makes a second summary, about which nothing was said yet.
    terminal.expect("? Is this summary what you want?");
    terminal.expect(MARKS_ON);
    terminal.expect("> ");
    let seen = terminal.kill();
    assert!(!seen.contains("ignored"), "{seen}");
    assert_eq!(answers(&home, RUN), [(json!("correct"), json!("leave the folder alone,\ny\ny"))]);
}

#[test]
fn a_paste_that_is_no_option_is_shown_and_asked_again() {
    let home = TestHome::with_examples();
    let mut terminal = at_the_question(&home);
    terminal.type_text(&pasted("y\nand then\nthe rest"));
    terminal.type_text("\n");
    terminal.expect("Pasted, and not one of the options above: \"y\\nand then\\nthe rest\"");
    terminal.expect("> ");
    assert_eq!(answers(&home, FIRST).len(), 1);
    terminal.type_text(&pasted("n"));
    terminal.type_text("\n");
    terminal.expect("Then it stays.");
    let (code, seen) = terminal.finish();
    assert_eq!(code, 0, "{seen}");
    assert_eq!(answers(&home, FIRST)[1], (json!("deny"), Value::Null));
    assert!(is_there(&home, FIRST));
}

#[test]
fn a_paste_whose_end_was_erased_is_not_taken_and_blocks_nothing() {
    let home = TestHome::with_examples();
    let mut terminal = at_the_question(&home);
    terminal.type_text("\u{1b}[200~y\u{1b}[201\n");
    terminal.expect("Not taken, the terminal gave only a part of it: ");
    terminal.expect("> ");
    terminal.type_text("n\n");
    terminal.expect("Then it stays.");
    assert_eq!(terminal.finish().0, 0);
}

#[test]
fn a_terminal_is_left_as_it_was_found() {
    let home = TestHome::with_examples();
    let mut terminal = at_the_question(&home);
    // In the middle of a paste the terminal gives more than whole lines.
    terminal.type_text("\u{1b}[200~one\ntwo");
    terminal.type_text(CTRL_C);
    terminal.expect("stopping; the run can be resumed");
    terminal.expect("go on: adjutant resume");
    terminal.wait();
    assert!(terminal.is_in_line_mode());
    let (code, seen) = terminal.finish();
    assert_eq!(code, 4, "{seen}");
    let (on, off) = (seen.rfind(MARKS_ON), seen.rfind(MARKS_OFF));
    assert!(on.is_some() && on < off, "{seen}");
}

#[test]
fn a_terminal_that_knows_no_marks_gets_none() {
    let home = TestHome::with_examples();
    let mut terminal = Terminal::start(&home, first_run::ARGS, &[("TERM", "dumb")]);
    terminal.expect("> ");
    assert!(!terminal.kill().contains("2004"));
}

#[test]
fn a_question_outside_of_a_run_is_answered_by_one_line_typed_behind_it() {
    let home = TestHome::with_examples();
    home.write("examples/first-run/project/.adjutant/config.toml", "max_steps = 31\n");
    let trust = ["trust", "add", "--workdir", "../examples/first-run/project"];
    let mut terminal = Terminal::start_behind(&home, &trust, &[], "y\ny");
    terminal.expect("ignored, typed before the question: \"y\"");
    terminal.expect("ignored, typed before the question: \"y\"");
    terminal.expect("(y/N) ");
    terminal.type_text("y\nand more\n");
    let (code, seen) = terminal.finish();
    assert_eq!(code, 4, "{seen}");
    let mut terminal = Terminal::start(&home, &trust, &[]);
    terminal.expect("(y/N) ");
    terminal.type_text("y\n");
    let (code, seen) = terminal.finish();
    assert_eq!(code, 0, "{seen}");
}
