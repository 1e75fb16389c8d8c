//! The renderer on a terminal that is emulated: what stands on the screen at any moment.

use std::io::{self, Write};
use std::num::NonZero;
use std::sync::{Arc, Mutex};

use adjutant_core::trace::{Body, CallEvent, Entry, PartEvent, TurnEvent};
use adjutant_core::words::tool::ToolCall;
use adjutant_core::words::{Choice, Key, Part, PhaseName, Question, QuestionKind, Rejection, Slot, Stop, What};
use adjutant_ports::{Delta, Progress};
use adjutant_runtime::LastReply;
use jiff::Timestamp;
use serde_json::json;

use super::drawing::{Surface, fitted};
use super::{RenderStyle, Renderer};

/// An emulated terminal.
#[derive(Clone)]
struct Emulated(Arc<Mutex<vt100::Parser>>);

impl Write for Emulated {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // What the kernel does for a process: a line feed goes to the beginning of the next line.
        let sent: Vec<u8> =
            bytes.iter().flat_map(|byte| if *byte == b'\n' { vec![b'\r', b'\n'] } else { vec![*byte] }).collect();
        self.0.lock().expect("no panic").process(&sent);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct TestScreen {
    renderer: Renderer,
    terminal: Emulated,
}

const LINES: NonZero<u16> = NonZero::new(8).expect("some");
const COLUMNS: NonZero<u16> = NonZero::new(40).expect("some");

impl TestScreen {
    fn new(look: RenderStyle, surface: Surface) -> Self {
        let terminal = Emulated(Arc::new(Mutex::new(vt100::Parser::new(LINES, COLUMNS, 0))));
        let renderer = Renderer {
            look,
            surface,
            out: Box::new(terminal.clone()),
            measure: || Some((LINES.get().into(), COLUMNS.get().into())),
            ..Renderer::on_stdout(false)
        };
        Self { renderer, terminal }
    }

    fn show(&mut self, body: Body) {
        let event = Entry { part: Part::root().child("session"), body }.at(0, Timestamp::UNIX_EPOCH);
        self.renderer.show(&Progress::Event(&event));
    }

    fn say(&mut self, text: &str) {
        let part = Part::root().child("session");
        self.renderer.show(&Progress::Turn(&part, Delta::Text(text.to_owned())));
    }

    /// Returns what stands on the screen, times settled.
    fn seen(&self) -> String {
        let seen = self.terminal.0.lock().expect("no panic").screen().contents();
        regex::Regex::new(r"\d+\.\d s").expect("a pattern").replace_all(seen.trim_end(), "[N] s").into_owned()
    }
}

fn request() -> Body {
    Body::Turn(TurnEvent::AgentRequest {
        slot: Slot::first(What::Turn, 1),
        messages: (0, 1),
        tools: 0,
        no_calls: false,
        agent: 0,
        input_tokens: 0,
        output_max: 0,
        hash: None,
    })
}

fn reply(text: &str) -> Body {
    Body::Turn(TurnEvent::AgentReply {
        slot: Slot::first(What::Turn, 1),
        text: text.to_owned(),
        thinking: String::new(),
        calls: Vec::new(),
        provider_data: None,
        usage: None,
        stop: Stop::EndTurn,
        duration_ms: 1,
    })
}

const STATUS: &str = "\u{2026} turn 1 [N] s \u{b7} Ctrl-C cancels";

#[test]
fn a_reply_that_stalls_has_the_status_below_it_and_goes_on_where_it_was() {
    for look in [RenderStyle::Coloured, RenderStyle::Plain] {
        let mut screen = TestScreen::new(look, Surface::Screen);
        screen.show(request());
        assert!(screen.seen().starts_with(STATUS), "{}", screen.seen());
        screen.say("The first words of ");
        screen.renderer.tick();
        assert_eq!(screen.seen(), "The first words of", "text that comes is not disturbed");
        screen.renderer.tick();
        assert!(screen.seen().starts_with(&format!("The first words of\n{STATUS}")), "{}", screen.seen());
        screen.say("a reply that is wider than one line of the screen, ");
        screen.say("done.");
        screen.show(reply(""));
        assert_eq!(screen.seen(), "The first words of a reply that is wider\nthan one line of the screen, done.");
    }
}

#[test]
fn the_status_at_the_bottom_of_the_screen_scrolls_nothing_away() {
    let mut screen = TestScreen::new(RenderStyle::Coloured, Surface::Screen);
    screen.show(request());
    screen.say("1\n2\n3\n4\n5\n6\n7\nlast ");
    screen.renderer.tick();
    screen.renderer.tick();
    assert!(screen.seen().starts_with(&format!("2\n3\n4\n5\n6\n7\nlast\n{STATUS}")), "{}", screen.seen());
    screen.say("line\nnext\n");
    assert_eq!(screen.seen(), "3\n4\n5\n6\n7\nlast line\nnext");
}

fn call(call_id: &str, cmd: &str) -> ToolCall {
    let (name, args) = ("shell_exec".to_owned(), json!({ "cmd": cmd }));
    ToolCall { call_id: call_id.to_owned(), name, args, malformed: None, masked: false, resolved: Vec::new() }
}

#[test]
fn calls_that_were_not_made_are_told_apart() {
    let mut screen = TestScreen::new(RenderStyle::Plain, Surface::Screen);
    let Body::Turn(TurnEvent::AgentReply { slot, text, thinking, usage, stop, .. }) = reply("") else { return };
    let calls = vec![call("a", "rm 1"), call("b", "rm 2")];
    let provider_data = None;
    let reply = TurnEvent::AgentReply { slot, text, thinking, calls, provider_data, usage, stop, duration_ms: 1 };
    screen.show(Body::Turn(reply));
    for (call, call_id) in [(1, "a"), (2, "b"), (3, "c")] {
        let (call_id, name) = (call_id.to_owned(), "shell_exec".to_owned());
        let rejection = Rejection::Denied;
        screen.show(Body::Call(CallEvent::ToolRejected { call, call_id, name, rejection, content: String::new() }));
    }
    let expected = "  \u{2717} shell_exec rm 1 was not called:\n    denied\n  \u{2717} shell_exec rm 2 was not called:\n    \
                    denied\n  \u{2717} shell_exec was not called: denied";
    assert_eq!(screen.seen(), expected);
}

#[test]
fn a_question_that_is_longer_than_the_screen_says_so_below() {
    let question = |lines: usize| Question {
        kind: QuestionKind::Blocker,
        text: vec!["line"; lines].join("\n"),
        options: Vec::new(),
        default: Choice::Deny,
        deadline_ms: None,
        acts: 0,
    };
    let key = Key { part: Part::root(), slot: Slot::first(What::Ask, 1) };
    for (lines, is_longer) in [(6, false), (7, true)] {
        let mut screen = TestScreen::new(RenderStyle::Plain, Surface::Screen);
        screen.renderer.question(&key, &question(lines));
        let seen = screen.seen();
        assert_eq!(seen.contains("! This question is longer than the"), is_longer, "{lines} lines in:\n{seen}");
    }
}

/// A place that keeps what is written.
#[derive(Clone, Default)]
struct SharedBytes(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl SharedBytes {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("no panic").clone()).expect("text")
    }
}

#[test]
fn each_of_several_questions_stands_below_the_reply_that_it_is_about() {
    let mut screen = TestScreen::new(RenderStyle::Plain, Surface::Lines);
    let kept = SharedBytes::default();
    screen.renderer.out = Box::new(kept.clone());
    let keys = ["voter/1", "voter/2"].map(|part| Key {
        part: part.split('/').fold(Part::root(), |part, name| part.child(name)),
        slot: Slot::first(What::Ask, 1),
    });
    let question = Question {
        kind: QuestionKind::Step,
        text: "Go on?".to_owned(),
        options: Vec::new(),
        default: Choice::Done,
        deadline_ms: None,
        acts: 0,
    };
    for (key, text) in keys.iter().zip(["The first.", "The second."]) {
        screen.renderer.recall(&key.part, &LastReply { text, open_calls: Vec::new() });
    }
    screen.renderer.question(&keys[0], &question);
    for (number, key) in (1..).zip(&keys) {
        screen.renderer.numbered_question(number, key, &question);
    }
    let seen: String = kept.text().lines().filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect();
    assert_eq!(
        seen,
        "the agent said:\nThe first.\n? Go on?\n? question 1 (voter/1): Go on?\nthe agent said:\nThe second.\n\
         ? question 2 (voter/2): Go on?\n"
    );
}

#[test]
fn a_terminal_that_only_knows_lines_gets_no_escapes_and_no_status() {
    let mut screen = TestScreen::new(RenderStyle::Plain, Surface::Lines);
    let kept = SharedBytes::default();
    screen.renderer.out = Box::new(kept.clone());
    screen.show(Body::Part(PartEvent::PhaseEnter { phase: PhaseName::Execute, reason: None }));
    screen.show(request());
    screen.say("**Words** that are wider than the line ");
    screen.renderer.tick();
    screen.renderer.tick();
    screen.show(reply(""));
    assert_eq!(
        kept.text(),
        "\n\u{2500}\u{2500} Phase 1: execute \u{2500}\u{2500}\n**Words** that are wider than the line\n"
    );
}

#[test]
fn what_is_told_on_stderr_is_broken_between_words() {
    let said = "error: no such run: A\nhint: `adjutant list` shows which runs there are";
    assert_eq!(fitted(said, None), said);
    let broken = "error: no such run: A\nhint: `adjutant list`\n  shows which runs there\n  are";
    assert_eq!(fitted(said, Some(24)), broken);
}
