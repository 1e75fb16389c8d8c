//! The end of a run, and what is looked at after it.

use serde_json::json;

use super::{ARGS, PROMPT, SIZES, snapshot};
use crate::home::{RUN, SUMMARY, TestHome};
use crate::terminal::{REPORT, Size, Terminal};

/// A run on a copy that changes three files, with prices.
fn on_a_copy() -> TestHome {
    let home = TestHome::new();
    let usage = json!({"input_tokens": 6000, "cache_read_tokens": 4000, "output_tokens": 150});
    let write = |path: &str, content: &str| json!({"tool": "write_file", "args": {"path": path, "content": content}});
    let calls = [
        write("old.txt", "one\n2\nthree\n"),
        write("new.txt", "a\nb\n"),
        json!({"tool": "shell_exec", "args": {"cmd": "rm gone.txt"}}),
    ];
    home.write("home/config.toml", "[adapters.scripted]\nprice_input = 3\nprice_cache_read = 0.3\nprice_output = 15\n");
    home.scripted(
        "mode: auto\nauthorized_costs:\n  - \"*\"",
        &json!([
            {"text": SUMMARY, "usage": usage},
            {"text": "I write.", "calls": calls, "usage": usage},
            {"text": REPORT, "usage": usage, "repeat": 3},
        ]),
    );
    home.write("work/old.txt", "one\ntwo\nthree\n");
    home.write("work/gone.txt", "gone\n");
    home
}

/// Runs a command that ends by itself, and compares its screen with a snapshot.
#[track_caller]
fn look(home: &TestHome, args: &[&str], size: Size, name: &str, last: &str) {
    let mut terminal = Terminal::start_sized(home, args, &[], "", size);
    terminal.expect(last);
    terminal.expect("\n");
    snapshot(name, home, &terminal);
    assert_eq!(terminal.finish().0, 0, "{args:?}");
}

#[test]
fn the_end_says_what_a_run_took_and_where_its_copy_is_and_the_rest_can_be_looked_at() {
    for size in SIZES {
        let home = on_a_copy();
        let mut terminal = Terminal::start_sized(&home, &[ARGS, &["--copy"]].concat(), &[], "", size);
        terminal.expect(PROMPT);
        terminal.type_text("go\n");
        for shown in [
            "run 2026-02-03-E2E: completed",
            " at work \u{b7} 4 turns \u{b7} ",
            "from cache",
            "\u{b7} $0.",
            "files changed",
            "new.txt (new)  +2 -0",
            "old.txt  +1 -1",
            "commands ran; ",
            "\n",
        ] {
            terminal.expect(shown);
        }
        // The lines below depend on how long the name of the test's folder is.
        snapshot("end_of_a_copy", &home, &terminal);
        for shown in ["copy:", "/workdirs/2026-02-03-E2E", "home: adjutant apply 2026-02-03-E2E", "look at it: "] {
            terminal.expect(shown);
        }
        assert_eq!(terminal.finish().0, 0);

        look(&home, &["show", RUN], size, "show", "adjutant inspect 2026");
        home.write(
            "other.md",
            home.read("brief.md").replace("2026-02-03-E2E", "2026-02-04-DOCS").replace("One thing", "Another thing"),
        );
        home.run(&["run", "../other.md"]).expect_code(4);
        look(&home, &["list"], size, "list", "One thing.");
        look(&home, &["diff", RUN], size, "diff", "+2");
        assert!(home.path("work/gone.txt").exists(), "the copy's change is not home yet");
        look(&home, &["apply", RUN, "--yes"], size, "apply", "old.txt");
        assert_eq!(home.read("work/old.txt"), "one\n2\nthree\n");
        assert!(!home.path("work/gone.txt").exists());
    }
}
