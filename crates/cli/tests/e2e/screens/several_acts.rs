//! One question about several acts: each has a number, and each gets a word of its own.

use serde_json::{Value, json};

use super::{PROMPT, SIZES, begun, is_told, made, page_to_end, playing, shell, snapshot, turn, turns, write};
use crate::home::{RUN, TestHome};
use crate::terminal::{Size, Terminal};

const ACTS: [&str; 3] = ["rm -rf build", "mv old.txt new.txt", "notes.txt"];

/// A run that asks about three acts which have nothing to do with each other.
fn three_acts() -> TestHome {
    let calls = [shell(ACTS[0]), shell(ACTS[1]), write(ACTS[2], "done\n")];
    let home = playing("", &[turn("I clean up, and take notes.", &calls)]);
    home.write("work/build/out.o", "");
    home.write("work/old.txt", "old\n");
    home
}

fn at_three_acts(home: &TestHome, size: Size) -> Terminal {
    let mut terminal = begun(home, size);
    for part in ["1. ", ACTS[0], "2. ", ACTS[1], "3. ", ACTS[2], PROMPT] {
        terminal.expect(part);
    }
    terminal
}

#[test]
fn each_act_has_a_number_and_what_is_not_named_is_a_no() {
    for (typed, expected, told) in [
        ("1,3", &[ACTS[0], ACTS[2]][..], None),
        ("1; 2: use git mv", &[ACTS[0]], Some("use git mv")),
        ("all", &ACTS, None),
        ("none", &[], None),
        ("none: not today", &[], Some("not today")),
    ] {
        for size in SIZES {
            let home = three_acts();
            let mut terminal = at_three_acts(&home, size);
            terminal.type_text(&format!("{typed}\n"));
            terminal.expect("run 2026-02-03-E2E: completed");
            assert_eq!(terminal.finish().0, 0);
            assert_eq!(made(&home), expected, "{typed}");
            assert!(told.is_none_or(|told| is_told(&home, told)), "{typed}");
        }
    }
}

#[test]
fn several_acts_are_shown_with_their_numbers_and_a_plain_yes_is_asked_again() {
    for size in SIZES {
        let home = three_acts();
        let mut terminal = at_three_acts(&home, size);
        snapshot("several_acts", &home, &terminal);
        terminal.type_text("y\n");
        terminal.expect("Not one of the options above. Say to which of the 3 acts:");
        terminal.expect(PROMPT);
        assert_eq!(made(&home), [""; 0]);
        terminal.type_text("1; 2: use git mv\n");
        terminal.expect("run 2026-02-03-E2E: completed");
        terminal.expect("look at it: ");
        terminal.expect("\n");
        snapshot("several_acts_answered", &home, &terminal);
        assert_eq!(terminal.finish().0, 0);
    }
}

#[test]
fn the_same_act_again_is_for_one_of_several_too() {
    let calls = [shell(ACTS[0]), shell(ACTS[1])];
    let home = playing("", &[turn("I clean up.", &calls), turn("Once more.", &[shell(ACTS[0])])]);
    let mut terminal = begun(&home, SIZES[0]);
    terminal.expect(ACTS[1]);
    terminal.expect(PROMPT);
    terminal.type_text("1 again\n");
    terminal.expect("run 2026-02-03-E2E: completed");
    assert_eq!(terminal.finish().0, 0);
    assert_eq!(made(&home), [ACTS[0], ACTS[0]]);
    let explained = home.run(&["explain", RUN, "1"]).expect_code(0);
    explained.expect_text("the operator said yes, and to the same act again for the rest of the run");
}

#[test]
fn a_question_that_is_longer_than_the_screen_takes_no_yes_before_each_act_was_shown() {
    for size in SIZES {
        let path = |number: usize| format!("a/folder/with/a/name/that/takes/room/{number}/of/twelve.txt");
        let calls: Vec<Value> = (1..=12).map(|number| shell(&format!("rm {}", path(number)))).collect();
        let home = playing("", &[turn("I remove all twelve.", &calls)]);
        let mut terminal = begun(&home, size);
        terminal.expect(&path(3));
        terminal.expect(PROMPT);
        snapshot("more_acts_than_lines", &home, &terminal);
        let screen = terminal.screen();
        assert!(
            screen.contains("? 1. ") && screen.contains(": press Enter --") && !screen.contains("none "),
            "{screen}"
        );
        terminal.type_text("all\n");
        terminal.expect("Not taken yet: the question goes on. Enter shows the rest");
        terminal.expect(PROMPT);
        assert_eq!(made(&home), [""; 0]);
        terminal.type_text("\n");
        terminal.expect(PROMPT);
        page_to_end(&mut terminal);
        let screen = terminal.screen();
        assert!(screen.contains("Which of these do you allow?") && screen.contains("none "), "{screen}");
        terminal.type_text("2-3\n");
        terminal.expect("run 2026-02-03-E2E: completed");
        assert_eq!(terminal.finish().0, 0);
        assert_eq!(made(&home), [format!("rm {}", path(2)), format!("rm {}", path(3))]);
        assert_eq!(turns(&home), 4);
        let mut answers = home.journal(RUN).into_iter().filter(|event| event["type"] == "answer");
        assert_eq!(answers.next_back().expect("an answer")["choice"], json!("chosen"));
    }
}
