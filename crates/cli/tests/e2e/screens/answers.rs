//! The words of an answer: what is a yes to what, what reaches the agent, and what is asked again.

use serde_json::{Value, json};

use super::{PROMPT, SIZES, begun, is_told, made, playing, said, shell, snapshot, start, turn, turns};
use crate::home::{RUN, SUMMARY, TestHome};
use crate::terminal::{REPORT, Terminal};

/// A run that removes `build`, something in it, and then `src`.
fn removals() -> TestHome {
    let remove = |path: &str| turn("Next.", &[shell(&format!("rm -rf {path}"))]);
    let home = playing("authorized_costs:\n  - shell_exec", &[remove("build"), remove("build/tmp"), remove("src")]);
    home.write("work/build/out.o", "");
    home.write("work/src/main.c", "");
    home
}

#[test]
fn again_is_for_the_same_act_and_not_for_its_category() {
    for size in SIZES {
        let home = removals();
        let mut terminal = begun(&home, size);
        terminal.expect("rm -rf build");
        terminal.expect(PROMPT);
        snapshot("remove", &home, &terminal);
        terminal.type_text("again\n");
        // What is narrower passes; what is elsewhere is asked about.
        terminal.expect("rm -rf build/tmp: ok");
        terminal.expect("rm -rf src");
        terminal.expect(PROMPT);
        snapshot("remove_elsewhere", &home, &terminal);
        terminal.type_text("n\n");
        terminal.expect("run 2026-02-03-E2E: completed");
        assert_eq!(terminal.finish().0, 0);
        assert_eq!(made(&home), ["rm -rf build", "rm -rf build/tmp"]);
        assert_eq!(said(&home), ["accept", "again", "deny"]);
    }
}

#[test]
fn the_category_takes_its_word_and_a_capital_letter_widens_nothing() {
    let category = ("category", &["accept", "for_run"][..]);
    let capital = ("Y", &["accept", "once", "deny", "deny"][..]);
    for (size, (typed, answers)) in
        [(SIZES[0], category), (SIZES[1], category), (SIZES[0], capital), (SIZES[1], capital)]
    {
        let home = removals();
        let mut terminal = begun(&home, size);
        terminal.expect("rm -rf build");
        terminal.expect(PROMPT);
        terminal.type_text(&format!("{typed}\n"));
        for asked in answers.iter().skip(2) {
            terminal.expect("? ");
            terminal.expect(PROMPT);
            assert_eq!(*asked, "deny");
            terminal.type_text("n\n");
        }
        terminal.expect("run 2026-02-03-E2E: completed");
        assert_eq!(terminal.finish().0, 0);
        assert_eq!(said(&home), answers);
        assert_eq!(made(&home).len(), 5 - answers.len(), "{typed}");
    }
}

#[test]
fn what_is_said_with_a_no_reaches_the_agent() {
    for size in SIZES {
        let home = removals();
        let mut terminal = begun(&home, size);
        terminal.expect("rm -rf build");
        terminal.expect(PROMPT);
        terminal.type_text("no, move it to old/ instead\n");
        terminal.expect("? ");
        terminal.expect(PROMPT);
        snapshot("no_with_words", &home, &terminal);
        assert!(is_told(&home, "move it to old/ instead"));
        assert_eq!(made(&home), [""; 0]);
        terminal.kill();
    }
}

#[test]
fn a_question_back_is_asked_again_with_help_and_reaches_no_model() {
    for size in SIZES {
        let home = removals();
        let mut terminal = begun(&home, size);
        terminal.expect("rm -rf build");
        terminal.expect(PROMPT);
        for (typed, shown) in [
            ("what is left?", "Not one of the options above."),
            ("?", "n         no"),
            ("help", "n         no"),
            ("lgtm", "Not one of the options above."),
            ("q", "Not one of the options above."),
        ] {
            terminal.type_text(&format!("{typed}\n"));
            terminal.expect(shown);
            terminal.expect(PROMPT);
            if typed == "what is left?" {
                snapshot("asked_again", &home, &terminal);
            }
        }
        assert_eq!((said(&home), turns(&home)), (vec![json!("accept")], 2));
        assert!(!is_told(&home, "what is left?"));
        terminal.type_text("y\n");
        terminal.expect("rm -rf build: ok");
        terminal.kill();
    }
}

#[test]
fn the_words_that_people_say_are_a_yes_or_a_no_to_the_summary() {
    for (size, typed, choice, code) in [
        (SIZES[0], "lgtm", "accept", 0),
        (SIZES[1], "lgtm", "accept", 0),
        (SIZES[1], "Yes.", "accept", 0),
        (SIZES[0], "looks good, go ahead", "accept", 0),
        (SIZES[0], "q", "decline", 6),
        (SIZES[1], "q", "decline", 6),
        (SIZES[1], "no, stop", "decline", 6),
    ] {
        let home = playing("", &[]);
        let mut terminal = start(&home, size);
        terminal.expect(PROMPT);
        for help in ["?", "help"] {
            terminal.type_text(&format!("{help}\n"));
            terminal.expect("? Is this summary what you want?");
            terminal.expect(PROMPT);
        }
        assert_eq!(turns(&home), 1);
        terminal.type_text(&format!("{typed}\n"));
        assert_eq!(terminal.finish().0, code, "{typed}");
        assert_eq!(said(&home), [choice], "{typed}");
    }
}

#[test]
fn a_correction_is_shown_as_one_before_it_costs_a_turn() {
    for size in SIZES {
        let home = TestHome::new();
        home.scripted("mode: auto", &json!([SUMMARY, SUMMARY, {"repeat": 2, "text": REPORT}]));
        let mut terminal = start(&home, size);
        terminal.expect(PROMPT);
        terminal.type_text("use tabs, not spaces\n");
        terminal.expect("taken as a correction");
        terminal.expect("use tabs, not spaces");
        terminal.expect(PROMPT);
        snapshot("corrected", &home, &terminal);
        terminal.kill();
        assert_eq!(said(&home), ["correct"]);
    }
}

#[test]
fn resume_shows_the_summary_that_it_asks_about() {
    for size in SIZES {
        let home = playing("", &[]);
        let mut terminal = start(&home, size);
        terminal.expect(PROMPT);
        terminal.kill();
        let mut again = Terminal::start_sized(&home, &["resume", RUN], &[], "", size);
        again.expect("one thing.");
        again.expect("? Is this summary what you want?");
        again.expect(PROMPT);
        snapshot("resumed", &home, &again);
        again.type_text("lgtm\n");
        again.wait();
        assert_eq!(again.check_answers(), (1, 0));
        assert_eq!(again.finish().0, 0);
        let confirmed = home.journal(RUN).into_iter().filter(|event| event["type"] == "answer").collect::<Vec<Value>>();
        assert_eq!(confirmed.len(), 1);
    }
}

#[test]
fn a_question_of_the_operators_at_the_summary_is_no_correction() {
    let home = playing("", &[]);
    let mut terminal = start(&home, SIZES[0]);
    terminal.expect(PROMPT);
    terminal.type_text("what is left?\n");
    terminal.expect("A question is no answer, and was not sent.");
    terminal.expect(PROMPT);
    assert_eq!((said(&home), turns(&home)), (Vec::new(), 1));
    terminal.type_text("go\n");
    terminal.expect("run 2026-02-03-E2E: completed");
    assert_eq!(terminal.finish().0, 0);
    assert!(!is_told(&home, "what is left?"));
}
