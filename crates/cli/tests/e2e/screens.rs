//! Recorded sessions: what stands on the screen of a terminal, at two sizes, while somebody types at it.

use serde_json::{Value, json};

use crate::home::{RUN, SUMMARY, TestHome};
use crate::terminal::{CTRL_C, REPORT, Size, Terminal};

const SIZES: [Size; 2] = [(24, 80), (40, 120)];
const ARGS: &[&str] = &["run", "../brief.md"];

/// The prompt with the cursor behind it, as it is drawn when an answer may be typed.
const PROMPT: &str = "> \u{1b}[3G";
const CTRL_D: &str = "\u{4}";
const ESCAPE: &str = "\u{1b}";

fn start(home: &TestHome, size: Size) -> Terminal {
    Terminal::start_sized(home, ARGS, &[], "", size)
}

/// A run that asks about a long write which nothing allows.
fn a_write() -> TestHome {
    let home = TestHome::new();
    let line =
        |line: usize, changed: usize| format!("line {line}{}\n", if line.is_multiple_of(changed) { "!" } else { "" });
    let lines = |changed: usize| (1..=60).map(|number| line(number, changed)).collect::<String>();
    let after = lines(5);
    let said = "## Plan\n\nI change **every fifth** line of `lines.txt`, since the brief says that each of them is to end \
                with an exclamation mark:\n\n- the lines themselves stay as they are, in their order\n- nothing else is touched";
    let write = json!({"tool": "write_file", "args": {"path": "lines.txt", "content": after}});
    home.scripted("mode: auto", &json!([SUMMARY, {"text": said, "calls": [write]}, {"repeat": 2, "text": REPORT}]));
    home.write("work/lines.txt", lines(100));
    home
}

#[test]
fn a_write_is_asked_about_below_its_diff_and_the_end_says_what_it_was() {
    for size in SIZES {
        let home = a_write();
        let mut terminal = start(&home, size);
        terminal.expect("? Is this summary what you want?");
        terminal.expect(PROMPT);
        insta::assert_snapshot!(format!("summary_{}x{}", size.1, size.0), home.settled(&terminal.screen()));
        terminal.type_text("go\n");
        terminal.expect("? The agent wants to call");
        terminal.expect(PROMPT);
        insta::assert_snapshot!(format!("write_{}x{}", size.1, size.0), home.settled(&terminal.screen()));
        terminal.type_text("y\n");
        terminal.expect("look at it: ");
        terminal.expect("\n");
        insta::assert_snapshot!(format!("end_{}x{}", size.1, size.0), home.settled(&terminal.screen()));
        assert_eq!(terminal.finish().0, 0);
    }
}

/// A run whose first command ends once the file `on` is there.
fn at_work(home: &TestHome, size: Size) -> Terminal {
    let wait = json!({"tool": "shell_exec", "args": {"cmd": "while [ ! -e on ]; do sleep 0.05; done"}});
    home.scripted(
        "mode: auto\nauthorized_costs:\n  - shell_exec",
        &json!([SUMMARY, {"text": "I wait.", "calls": [wait]}, {"repeat": 3, "text": REPORT}]),
    );
    let mut terminal = start(home, size);
    terminal.expect(PROMPT);
    terminal.type_text("go\n");
    terminal.expect("\u{2192} shell_exec while");
    terminal
}

/// The operator's messages and answers, by the journal.
fn said(home: &TestHome) -> Vec<Value> {
    let is_said = |event: &Value| event["type"] == "operator_message" || event["type"] == "answer";
    let events = home.journal(RUN).into_iter().filter(is_said);
    events
        .map(|event| if event["type"] == "answer" { event["choice"].clone() } else { event["message"].clone() })
        .collect()
}

#[test]
fn what_is_typed_while_the_agent_works_is_sent_with_tab_and_answers_nothing() {
    for size in SIZES {
        let home = TestHome::new();
        let mut terminal = at_work(&home, size);
        terminal.type_text("use tabs");
        terminal.expect("\u{bb} use tabs");
        assert_eq!(said(&home), [json!("accept")]);
        terminal.type_text("\n");
        terminal.expect("not an answer: \"use tabs\"");
        assert_eq!(said(&home), [json!("accept")]);
        terminal.type_text("\t");
        terminal.expect("sent to the agent: \"use tabs\"");
        home.write("work/on", "");
        let (code, seen) = terminal.finish();
        assert_eq!(code, 0, "{seen}");
        assert_eq!(said(&home), [json!("accept"), json!({"steer": "use tabs"})]);
        let told = home.journal(RUN).iter().any(|event| event["type"] == "message" && event["kind"] == "steer");
        assert!(told, "{seen}");
    }
}

#[test]
fn what_is_typed_while_the_agent_works_is_dropped_with_escape() {
    let home = TestHome::new();
    let mut terminal = at_work(&home, SIZES[0]);
    terminal.type_text("y\n");
    terminal.expect("not an answer: \"y\"");
    terminal.type_text(ESCAPE);
    // The status is back.
    terminal.expect("\u{2026} execute, step 1");
    terminal.type_text("\t");
    home.write("work/on", "");
    let (code, seen) = terminal.finish();
    assert_eq!(code, 0, "{seen}");
    assert!(!seen.contains("ignored") && !seen.contains("sent to the agent"), "{seen}");
    assert_eq!(said(&home), [json!("accept")]);
}

#[test]
fn a_paste_while_the_agent_works_is_one_text_and_no_keys() {
    let home = TestHome::new();
    let mut terminal = at_work(&home, SIZES[0]);
    terminal.type_text("\u{1b}[200~one\n\ttwo\n\u{1b}[201~");
    terminal.expect("\u{bb} one\\n\\ttwo\\n");
    assert_eq!(said(&home), [json!("accept")]);
    terminal.type_text("\t");
    terminal.expect("sent to the agent: \"one\\n\\ttwo\\n\"");
    home.write("work/on", "");
    assert_eq!(terminal.finish().0, 0);
    assert_eq!(said(&home)[1], json!({"steer": "one\n\ttwo\n"}));
}

#[test]
fn commands_are_completed_and_show_what_they_are_asked_for_at_any_time() {
    let home = TestHome::new();
    let mut terminal = at_work(&home, SIZES[0]);
    terminal.type_text("/h\t");
    terminal.expect("\u{bb} /help");
    terminal.type_text("\n");
    terminal.expect("/gated     ask between steps");
    terminal.expect("Alt-Enter");
    terminal.type_text("/cost\n");
    terminal.expect(" at work \u{b7} 2 turns");
    terminal.type_text("/diff\n");
    terminal.expect("No file was changed by a file tool in this sitting.");
    terminal.type_text("/st\t\n");
    terminal.expect("run 2026-02-03-E2E: stopped");
    assert_eq!(terminal.finish().0, 6);
}

#[test]
fn an_answer_is_edited_with_arrows_and_earlier_lines_come_back() {
    let home = TestHome::new();
    home.scripted("mode: auto", &json!([SUMMARY, SUMMARY, SUMMARY, {"repeat": 2, "text": REPORT}]));
    let mut terminal = start(&home, SIZES[0]);
    terminal.expect(PROMPT);
    // Typed, corrected in the middle, and continued on a second line.
    terminal.type_text("use tab\u{1b}[D\u{1b}[D\u{1b}[D\u{1b}[3~T\u{1b}[Fs\u{1b}\nonly\n");
    terminal.expect("> use Tabs\r\nonly");
    terminal.expect(PROMPT);
    terminal.type_text("\u{1b}[A!\n");
    terminal.expect("> use Tabs\r\nonly!");
    terminal.expect(PROMPT);
    terminal.type_text(CTRL_D);
    assert_eq!(terminal.finish().0, 4);
    let texts: Vec<Value> = home
        .journal(RUN)
        .into_iter()
        .filter(|event| event["type"] == "answer")
        .map(|event| event["text"].clone())
        .collect();
    assert_eq!(texts, [json!("use Tabs\nonly"), json!("use Tabs\nonly!")]);
}

#[test]
fn a_terminal_that_is_resized_at_a_question_shows_what_is_typed() {
    let home = a_write();
    let mut terminal = start(&home, SIZES[1]);
    terminal.expect(PROMPT);
    terminal.resize(SIZES[0]);
    let long = "please change the tenth lines only, and keep all of the others as they are now, until I say more";
    terminal.type_text(long);
    terminal.expect("until I say more");
    let screen = terminal.screen();
    let last = screen.lines().last().unwrap_or_default();
    assert!(last.starts_with("> \u{2026}") && last.chars().count() < 80, "{screen}");
    terminal.type_text(CTRL_C);
    terminal.expect("stopping; the run can be resumed");
    terminal.wait();
    assert!(terminal.is_in_line_mode());
    assert_eq!(terminal.finish().0, 130);
    assert_eq!(said(&home), [json!("interrupt")], "nothing was answered");
}
