//! An agent's work on the screen: its words and its thinking, changes before and after they are made, commands and what
//! came of them.

use adjutant_loopback::{Answer, Format, Provider, Reply};
use serde_json::{Value, json};

use super::{ARGS, PROMPT, SIZES, begun, made, page_to_end, playing, shell, snapshot, start, turn, write};
use crate::anthropic::KEY;
use crate::home::{SUMMARY, TestHome, brief};
use crate::terminal::{REPORT, Terminal};

/// A run that asks about a long write which nothing allows.
pub(super) fn a_write() -> TestHome {
    let line =
        |line: usize, changed: usize| format!("line {line}{}\n", if line.is_multiple_of(changed) { "!" } else { "" });
    let lines = |changed: usize| (1..=60).map(|number| line(number, changed)).collect::<String>();
    let said = "## Plan\n\nI change **every fifth** line of `lines.txt`, since the brief says that each of them is to end \
                with an exclamation mark:\n\n- the lines themselves stay as they are, in their order\n- nothing else is touched";
    let home = playing("", &[turn(said, &[write("lines.txt", &lines(5))])]);
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
        snapshot("summary", &home, &terminal);
        terminal.type_text("go\n");
        terminal.expect("lines.txt  +12 -12");
        terminal.expect("? ");
        terminal.expect(PROMPT);
        snapshot("write", &home, &terminal);
        terminal.type_text("y\n");
        terminal.expect("\u{2713} write_file lines.txt: ok");
        terminal.expect("+line 5!");
        terminal.expect("look at it: ");
        terminal.expect("\n");
        snapshot("end", &home, &terminal);
        assert_eq!(terminal.finish().0, 0);
    }
}

#[test]
fn a_diff_leaves_the_room_that_its_question_needs() {
    for size in SIZES {
        let lines = |word: &str| (1..=30).map(|number| format!("{word}{number}\n")).collect::<String>();
        let home = playing("", &[turn("I write it anew.", &[write("list.txt", &lines("b"))])]);
        home.write("work/list.txt", lines("a"));
        let mut terminal = begun(&home, size);
        terminal.expect("list.txt  +30 -30");
        terminal.expect("? ");
        terminal.expect(PROMPT);
        snapshot("diff_cut", &home, &terminal);
        let screen = terminal.screen();
        for shown in ["    -a3\n", "    +b1\n", " more lines: adjutant inbox show"] {
            assert!(screen.contains(shown), "`{shown}` is not in\n{screen}");
        }
        assert!(size == SIZES[0] || !screen.contains("longer than the screen"), "{screen}");
        terminal.kill();
    }
}

#[test]
fn a_patch_is_shown_before_the_question_and_after_the_act() {
    for size in SIZES {
        let diff = "--- a/old.txt\n+++ b/old.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
        let patch = json!({"tool": "apply_patch", "args": {"diff": diff}});
        let home = playing("", &[turn("I **mend** `old.txt`.", &[patch])]);
        home.write("work/old.txt", "one\ntwo\nthree\n");
        let mut terminal = begun(&home, size);
        for shown in ["old.txt  +1 -1", "-two", "+2", "? ", PROMPT] {
            terminal.expect(shown);
        }
        snapshot("patch", &home, &terminal);
        terminal.type_text("y\n");
        for shown in ["\u{2713} apply_patch old.txt: ok", "-two", "+2", "look at it: ", "\n"] {
            terminal.expect(shown);
        }
        snapshot("patched", &home, &terminal);
        assert_eq!(terminal.finish().0, 0);
    }
}

/// Words of a long command, each of them another one.
fn words() -> String {
    (1..=60).map(|number| format!(" word{number}")).collect()
}

#[test]
fn a_long_command_is_asked_about_and_shown_whole() {
    for size in SIZES {
        let command = format!("echo{} > words.txt", words());
        let home = playing("", &[turn("I list the words.", &[shell(&command)])]);
        let mut terminal = begun(&home, size);
        for shown in ["word1 ", "word30 ", "word60", PROMPT] {
            terminal.expect(shown);
        }
        page_to_end(&mut terminal);
        snapshot("long_command", &home, &terminal);
        terminal.type_text("y\n");
        for shown in ["\u{2192} shell_exec echo word1 ", "word60", "\u{2713} shell_exec echo word1", "look at it: "] {
            terminal.expect(shown);
        }
        assert_eq!(terminal.finish().0, 0);
        assert_eq!(made(&home), [command]);
    }
}

#[test]
fn the_first_and_last_lines_of_a_failed_command_are_shown() {
    for size in SIZES {
        let calls = [shell("seq 1 40; echo no such target >&2; exit 3"), shell("echo next")];
        let home = playing("authorized_costs:\n  - shell_exec", &[turn("I look at two things.", &calls)]);
        let mut terminal = begun(&home, size);
        for shown in ["no such target\r\n", "shell_exec echo next: ok", "\n"] {
            terminal.expect(shown);
        }
        snapshot("failed", &home, &terminal);
        let screen = terminal.screen();
        assert!(screen.contains("more lines") && screen.contains("    | 40\n"), "{screen}");
        assert_eq!(terminal.finish().0, 0);
    }
}

#[test]
fn results_of_calls_side_by_side_are_told_apart() {
    for size in SIZES {
        let read = |path: &str| json!({"tool": "read_file", "args": {"path": path}});
        let home = playing("", &[turn("I read two files.", &[read("one.txt"), read("missing.txt")])]);
        home.write("work/one.txt", "one\n");
        let mut terminal = begun(&home, size);
        terminal.expect("look at it: ");
        // Whichever came first.
        let screen = terminal.finish().1;
        for shown in ["\u{2713} read_file one.txt: ok", "\u{2717} read_file missing.txt: ENOENT"] {
            assert!(screen.contains(shown), "`{shown}` is not in\n{screen}");
        }
    }
}

const THINKING: &str = "The brief asks for a file. I have to be careful with its name, since others may already depend on it, and \
                        with its content.";

/// A provider whose replies have thinking before them.
fn thinker() -> Provider {
    Provider::start(Format::Messages, &[], |_, body: &Value| {
        let messages = body["messages"].as_array().expect("messages");
        match messages.iter().filter(|message| message["role"] == "assistant").count() {
            0 => Answer::Reply(Reply::says(SUMMARY)),
            _ => Answer::Reply(Reply::says(REPORT).thinks(THINKING, "signature")),
        }
    })
}

#[test]
fn thinking_is_dim_and_stands_apart_from_the_reply() {
    for (size, plain) in [(SIZES[0], ""), (SIZES[1], ""), (SIZES[0], "1")] {
        let home = TestHome::new();
        home.write("brief.md", brief("mode: auto"));
        let provider = thinker();
        let args = [ARGS, &["--adapter", "anthropic", "--model", "claude-test"]].concat();
        let environment = [("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", provider.url()), ("NO_COLOR", plain)];
        let mut terminal = Terminal::start_sized(&home, &args, &environment, "", size);
        terminal.expect(PROMPT);
        terminal.type_text("go\n");
        terminal.expect(if plain.is_empty() { "\u{1b}[2m  \u{250a} " } else { "  \u{250a} " });
        for shown in ["The brief", "Phase 4", "look at it: ", "\n"] {
            terminal.expect(shown);
        }
        snapshot(if plain.is_empty() { "thinking" } else { "thinking_plain" }, &home, &terminal);
        assert_eq!(terminal.finish().0, 0);
    }
}
