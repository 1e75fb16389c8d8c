//! The status: the last line of a screen while a run is at work.

use adjutant_loopback::{Answer, Format, Provider, Reply};
use serde_json::{Value, json};

use super::{ARGS, PROMPT, SIZES, said, snapshot};
use crate::anthropic::KEY;
use crate::home::{SUMMARY, TestHome, brief};
use crate::terminal::{CTRL_C, REPORT, Size, Terminal};

/// A run whose tokens and cost are known, and whose command ends once the file `on` is there.
fn with_prices(home: &TestHome) {
    let usage = json!({"input_tokens": 6000, "cache_read_tokens": 4000, "output_tokens": 150});
    let wait = json!({"tool": "shell_exec", "args": {"cmd": "while [ ! -e on ]; do sleep 0.05; done"}});
    home.write("home/config.toml", "[adapters.scripted]\nprice_input = 3\nprice_cache_read = 0.3\nprice_output = 15\n");
    home.scripted(
        "mode: auto\nauthorized_costs:\n  - shell_exec",
        &json!([
            {"text": SUMMARY, "usage": usage},
            {"text": "I wait.", "calls": [wait], "usage": usage},
            {"text": REPORT, "usage": usage, "repeat": 3},
        ]),
    );
}

/// Starts that run and says yes to its summary.
fn waiting(home: &TestHome, size: Size, extra: &[(&str, &str)]) -> Terminal {
    with_prices(home);
    let mut terminal = Terminal::start_sized(home, ARGS, extra, "", size);
    terminal.expect("the run ends here; nothing was done");
    terminal.expect("> ");
    terminal.type_text("go\n");
    terminal.expect("\u{2192} shell_exec while");
    terminal
}

#[test]
fn the_status_says_what_is_in_flight_for_how_long_and_what_the_run_took() {
    for size in SIZES {
        for (name, extra) in [("status", &[][..]), ("status_plain", &[("NO_COLOR", "1")])] {
            let home = TestHome::new();
            let mut terminal = waiting(&home, size, extra);
            terminal.expect("\u{2026} execute, step 1");
            terminal.expect("\u{b7} $0.0");
            terminal.expect("Ctrl-C cancels");
            snapshot(name, &home, &terminal);
            home.write("work/on", "");
            terminal.expect("look at it: ");
            terminal.expect("\n");
            snapshot(&format!("{name}_gone"), &home, &terminal);
            let (code, seen) = terminal.finish();
            assert_eq!(code, 0, "{seen}");
            assert_eq!(seen.contains("\u{1b}[2m\u{2026} execute"), extra.is_empty(), "{seen:?}");
        }
    }
}

#[test]
fn a_dumb_terminal_has_no_status_and_no_escapes() {
    for size in SIZES {
        let home = TestHome::new();
        let mut terminal = waiting(&home, size, &[("TERM", "dumb")]);
        home.write("work/on", "");
        terminal.expect("look at it: ");
        terminal.expect("\n");
        snapshot("dumb", &home, &terminal);
        let (code, seen) = terminal.finish();
        assert_eq!(code, 0, "{seen}");
        assert!(!seen.contains('\u{1b}') && !seen.contains(" in all"), "{seen:?}");
    }
}

/// A provider whose second reply stops after its first words.
fn stalling() -> Provider {
    Provider::start(Format::Messages, &[], |_, body: &Value| {
        let messages = body["messages"].as_array().expect("messages");
        match messages.iter().filter(|message| message["role"] == "assistant").count() {
            0 => Answer::Reply(Reply::says(SUMMARY)),
            _ => Answer::Stall(Reply::says("The first words of a reply")),
        }
    })
}

#[test]
fn a_reply_that_stalls_has_the_status_below_it() {
    for (size, name, plain) in [(SIZES[0], "stalled", ""), (SIZES[1], "stalled", ""), (SIZES[0], "stalled_plain", "1")]
    {
        let home = TestHome::new();
        home.write("brief.md", brief("mode: auto"));
        let provider = stalling();
        let args = [ARGS, &["--adapter", "anthropic", "--model", "claude-test"]].concat();
        let environment = [("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", provider.url()), ("NO_COLOR", plain)];
        let mut terminal = Terminal::start_sized(&home, &args, &environment, "", size);
        terminal.expect(PROMPT);
        terminal.type_text("go\n");
        terminal.expect("The first words of");
        terminal.expect("\u{2026} execute, step 1 \u{b7} turn 2");
        terminal.expect("Ctrl-C cancels");
        snapshot(name, &home, &terminal);
        terminal.type_text(CTRL_C);
        terminal.expect("cancelling what is in flight");
        terminal.expect("? ");
        terminal.expect(PROMPT);
        snapshot(&format!("{name}_cancelled"), &home, &terminal);
        terminal.type_text("done\n");
        terminal.finish();
        assert_eq!(said(&home), ["accept", "cancel", "done"]);
    }
}
