//! The line at the bottom of the screen: typing while the agent works, pastes, earlier lines, commands.

use serde_json::{Value, json};

use super::{CTRL_D, ESCAPE, PROMPT, SIZES, at_work, said, snapshot, start};
use crate::home::{RUN, SUMMARY, TestHome};
use crate::terminal::REPORT;

#[test]
fn what_is_typed_while_the_agent_works_is_sent_with_tab_and_answers_nothing() {
    for size in SIZES {
        let home = TestHome::new();
        let mut terminal = at_work(&home, size);
        terminal.type_text("use tabs");
        terminal.expect("\u{bb} use tabs  (Tab sends it to the agent, Esc drops it)");
        snapshot("typed_ahead", &home, &terminal);
        assert_eq!(said(&home), [json!("accept")]);
        terminal.type_text("\n");
        terminal.expect("not an answer: \"use tabs\". Tab sends it to the agent, Esc drops it");
        snapshot("offered", &home, &terminal);
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
    for size in SIZES {
        let home = TestHome::new();
        let mut terminal = at_work(&home, size);
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
}

#[test]
fn a_paste_while_the_agent_works_is_one_text_and_no_keys() {
    for size in SIZES {
        let home = TestHome::new();
        let mut terminal = at_work(&home, size);
        terminal.type_text("\u{1b}[200~one\n\ttwo\n\u{1b}[201~");
        terminal.expect("\u{bb} one\\n\\ttwo\\n");
        assert_eq!(said(&home), [json!("accept")]);
        terminal.type_text("\t");
        terminal.expect("sent to the agent: \"one\\n\\ttwo\\n\"");
        home.write("work/on", "");
        assert_eq!(terminal.finish().0, 0);
        assert_eq!(said(&home)[1], json!({"steer": "one\n\ttwo\n"}));
    }
}

#[test]
fn a_paste_at_a_question_is_shown_and_is_one_answer() {
    for size in SIZES {
        let home = TestHome::new();
        home.scripted("mode: auto", &json!([SUMMARY, SUMMARY, {"repeat": 2, "text": REPORT}]));
        let mut terminal = start(&home, size);
        terminal.expect("? Is this summary what you want?");
        terminal.expect(PROMPT);
        terminal.type_text("\u{1b}[200~keep the old name,\ny\ny\u{1b}[201~");
        terminal.expect("> keep the old name,\\ny\\ny");
        assert_eq!(said(&home), [""; 0], "a paste is given with Enter");
        terminal.type_text("\n");
        terminal.expect("taken as a correction");
        terminal.expect("? Is this summary what you want?");
        terminal.expect(PROMPT);
        snapshot("pasted", &home, &terminal);
        terminal.kill();
        let events = home.journal(RUN);
        let answers: Vec<&Value> = events.iter().filter(|event| event["type"] == "answer").collect();
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0]["text"], "keep the old name,\ny\ny");
    }
}

#[test]
fn commands_are_completed_and_show_what_they_are_asked_for_at_any_time() {
    for size in SIZES {
        let home = TestHome::new();
        let mut terminal = at_work(&home, size);
        terminal.type_text("/h\t");
        terminal.expect("\u{bb} /help");
        terminal.type_text("\n");
        terminal.expect("/gated     ask between steps");
        terminal.expect("Alt-Enter");
        terminal.expect("\u{2026} execute, step 1");
        terminal.type_text("/cost\n");
        terminal.expect(" at work \u{b7} 2 turns");
        terminal.type_text("/diff\n");
        terminal.expect("No file was changed by a file tool in this sitting.");
        snapshot("commands", &home, &terminal);
        terminal.type_text("/st\t\n");
        terminal.expect("run 2026-02-03-E2E: stopped");
        assert_eq!(terminal.finish().0, 6);
    }
}

#[test]
fn an_answer_is_edited_with_arrows_and_earlier_lines_come_back() {
    for size in SIZES {
        let home = TestHome::new();
        home.scripted("mode: auto", &json!([SUMMARY, SUMMARY, SUMMARY, {"repeat": 2, "text": REPORT}]));
        let mut terminal = start(&home, size);
        terminal.expect(PROMPT);
        // Typed, corrected in the middle, and continued on a second line.
        terminal.type_text("use tab\u{1b}[D\u{1b}[D\u{1b}[D\u{1b}[3~T\u{1b}[Fs\u{1b}\nonly\n");
        terminal.expect("> use Tabs\r\nonly");
        terminal.expect(PROMPT);
        terminal.type_text("\u{1b}[A!\n");
        terminal.expect("> use Tabs\r\nonly!");
        terminal.expect(PROMPT);
        snapshot("edited", &home, &terminal);
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
}
