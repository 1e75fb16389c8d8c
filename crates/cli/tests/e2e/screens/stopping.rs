//! Ctrl-C, Ctrl-D and a change of size, at a question and while the agent works.

use serde_json::json;

use super::{CTRL_D, PROMPT, SIZES, at_work, begun, made, playing, said, shell, snapshot, start, turn};
use crate::home::{RUN, TestHome};
use crate::terminal::{CTRL_C, Terminal};

#[test]
fn ctrl_c_at_a_question_leaves_it_open_and_answers_nothing() {
    for size in SIZES {
        let home = playing("", &[]);
        let mut terminal = start(&home, size);
        terminal.expect(PROMPT);
        terminal.type_text("g");
        terminal.expect("> g");
        terminal.type_text(CTRL_C);
        terminal.expect("stopping; the run can be resumed");
        terminal.expect("go on: adjutant resume");
        terminal.expect("\n");
        snapshot("interrupted", &home, &terminal);
        terminal.wait();
        assert!(terminal.is_in_line_mode());
        assert_eq!(terminal.finish().0, 4);
        assert_eq!(said(&home), [""; 0]);
    }
}

#[test]
fn ctrl_d_at_a_question_leaves_it_open() {
    for size in SIZES {
        let home = playing("", &[]);
        let mut terminal = start(&home, size);
        terminal.expect(PROMPT);
        terminal.type_text(CTRL_D);
        terminal.expect("go on: adjutant resume");
        terminal.expect("\n");
        snapshot("left_open", &home, &terminal);
        terminal.wait();
        assert!(terminal.is_in_line_mode());
        assert_eq!(terminal.finish().0, 4);
        assert_eq!(said(&home), [""; 0]);
        let mut again = Terminal::start_sized(&home, &["resume", RUN], &[], "", size);
        again.expect("? Is this summary what you want?");
        again.kill();
    }
}

#[test]
fn neither_ctrl_c_nor_ctrl_d_is_an_answer_to_an_act() {
    for (size, key) in SIZES.into_iter().flat_map(|size| [(size, CTRL_C), (size, CTRL_D)]) {
        let home = playing("", &[turn("I clean up.", &[shell("rm -rf build")])]);
        let mut terminal = begun(&home, size);
        terminal.expect("rm -rf build");
        terminal.expect(PROMPT);
        // A yes that was begun is none without Enter.
        if key == CTRL_C {
            terminal.type_text("y");
            terminal.expect("> y");
        }
        terminal.type_text(key);
        terminal.expect("go on: adjutant resume");
        assert_eq!(terminal.finish().0, 4);
        assert_eq!(made(&home), [""; 0]);
    }
}

#[test]
fn ctrl_c_while_the_agent_works_cancels_the_call_and_the_run_goes_on() {
    for size in SIZES {
        let home = TestHome::new();
        let mut terminal = at_work(&home, size);
        terminal.type_text(CTRL_C);
        terminal.expect("cancelling what is in flight");
        terminal.expect(": cancelled");
        terminal.expect("look at it: ");
        terminal.expect("\n");
        snapshot("cancelled", &home, &terminal);
        assert_eq!(terminal.finish().0, 0);
        assert_eq!(said(&home), [json!("accept"), json!("cancel")]);
    }
}

#[test]
fn ctrl_d_while_the_agent_works_is_no_end_of_anything() {
    for size in SIZES {
        let home = TestHome::new();
        let mut terminal = at_work(&home, size);
        terminal.type_text(CTRL_D);
        terminal.type_text("use tabs\n");
        terminal.expect("not an answer: \"use tabs\"");
        home.write("work/on", "");
        terminal.expect("run 2026-02-03-E2E: completed");
        assert_eq!(terminal.finish().0, 0);
        assert_eq!(said(&home), [json!("accept")]);
    }
}

#[test]
fn a_terminal_that_is_resized_at_a_question_shows_what_is_typed() {
    for (from, to) in [(SIZES[1], SIZES[0]), (SIZES[0], SIZES[1])] {
        let home = playing("", &[]);
        let mut terminal = start(&home, from);
        terminal.expect(PROMPT);
        terminal.resize(to);
        let long = "please change the tenth lines only, and keep all of the others as they are now, until I say more, \
                    which I will";
        terminal.type_text(long);
        terminal.expect("until I say more, which I will");
        snapshot("resized_at_a_question", &home, &terminal);
        let screen = terminal.screen();
        let last = screen.lines().last().unwrap_or_default();
        let columns = usize::from(to.1);
        assert_eq!(last.starts_with("> \u{2026}"), long.len() + 3 > columns, "{screen}");
        assert!(last.chars().count() < columns, "{screen}");
        terminal.type_text(CTRL_C);
        terminal.expect("stopping; the run can be resumed");
        terminal.wait();
        assert!(terminal.is_in_line_mode());
        assert_eq!(terminal.finish().0, 4);
        assert_eq!(said(&home), [""; 0], "nothing was answered");
    }
}

#[test]
fn a_terminal_that_is_resized_while_the_agent_works_has_a_status_of_its_size() {
    for (from, to) in [(SIZES[1], SIZES[0]), (SIZES[0], SIZES[1])] {
        let home = TestHome::new();
        let mut terminal = at_work(&home, from);
        terminal.expect("\u{2026} execute, step 1");
        // The end of the line, so that nothing of it is drawn at the other size.
        terminal.expect("\u{1b}[0m");
        terminal.resize(to);
        terminal.type_text("use tabs");
        terminal.expect("\u{bb} use tabs");
        terminal.type_text("\u{1b}");
        terminal.expect("\u{2026} execute, step 1");
        terminal.expect("Ctrl-C cancels");
        snapshot("resized_at_work", &home, &terminal);
        let screen = terminal.screen();
        assert!(screen.lines().all(|line| line.chars().count() <= usize::from(to.1)), "{screen}");
        home.write("work/on", "");
        assert_eq!(terminal.finish().0, 0);
    }
}
