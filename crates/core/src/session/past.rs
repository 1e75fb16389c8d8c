//! The facts that must not be lost when messages are left out: the confirmed summary, the operator's words, and in a
//! line each the agent's acts.

use std::fmt::{self, Write as _};

use crate::words::MessageKind;
use crate::words::tool::ToolCall;

/// Longest part of a turn's text that is kept, in characters.
const SAID_CHARS_MAX: usize = 160;
/// Longest part of a call's arguments that is kept, in characters.
const ARGS_CHARS_MAX: usize = 100;

/// Past of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct Past {
    /// The confirmation summary that the operator accepted.
    pub(super) summary: Option<String>,
    /// Words of the operator since then, in whole, each as the agent got it.
    pub(super) words: Vec<String>,
    /// The agent's turns in phase 1.
    pub(super) turns: Vec<PastTurn>,
}

/// One turn.
#[derive(Debug, Clone)]
pub(super) struct PastTurn {
    pub(super) number: u32,
    pub(super) said: String,
    pub(super) calls: Vec<PastCall>,
}

/// One call of it.
#[derive(Debug, Clone)]
pub(super) struct PastCall {
    number: u32,
    pub(super) what: String,
    pub(super) came: &'static str,
}

impl Past {
    /// Takes note of what was said to the agent, if the operator said it.
    pub(super) fn hear(&mut self, kind: MessageKind, text: &str) {
        match kind {
            MessageKind::Redirect
            | MessageKind::Steer
            | MessageKind::Context
            | MessageKind::Approval
            | MessageKind::Denial => {
                self.words.push(text.to_owned());
            }
            MessageKind::StandingOrders
            | MessageKind::Intake
            | MessageKind::Nudge
            | MessageKind::Correction
            | MessageKind::KickOff
            | MessageKind::Continue
            | MessageKind::RuntimeState
            | MessageKind::Handoff
            | MessageKind::Evidence
            | MessageKind::Report => {}
        }
    }

    /// Takes note of a turn whose first call has the number `first`.
    pub(super) fn take(&mut self, number: u32, text: &str, first: u32, calls: &[ToolCall]) {
        let call = |(number, call): (u32, &ToolCall)| PastCall {
            number,
            what: format!("{} {}", call.name, shortened(&call.args, ARGS_CHARS_MAX)),
            came: "no answer yet",
        };
        let calls = (first..).zip(calls).map(call).collect();
        self.turns.push(PastTurn { number, said: shortened(text, SAID_CHARS_MAX), calls });
    }

    /// Takes note of the outcome of a call.
    pub(super) fn came(&mut self, number: u32, came: &'static str) {
        let calls = self.turns.iter_mut().rev().flat_map(|turn| &mut turn.calls);
        if let Some(call) = calls.into_iter().find(|call| call.number == number) {
            call.came = came;
        }
    }
}

/// Returns the beginning of a text, on one line. No more of it is written out than is kept.
fn shortened(text: impl fmt::Display, chars_max: usize) -> String {
    let room = chars_max + '\u{2026}'.len_utf8();
    let mut line = BoundedLine { text: String::with_capacity(room), left: chars_max, owes_space: false };
    // The only error is that the room is used up.
    let _ = write!(line, "{text}");
    line.text.shrink_to_fit();
    line.text
}

/// A line with room for so many characters: takes what is written to it until it is full.
struct BoundedLine {
    text: String,
    left: usize,
    owes_space: bool,
}

impl fmt::Write for BoundedLine {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        for c in part.chars() {
            if c.is_whitespace() {
                self.owes_space = !self.text.is_empty();
            } else {
                if std::mem::take(&mut self.owes_space) {
                    self.take(' ')?;
                }
                self.take(c)?;
            }
        }
        Ok(())
    }
}

impl BoundedLine {
    /// Takes a character if there is room for it.
    fn take(&mut self, c: char) -> fmt::Result {
        let Some(left) = self.left.checked_sub(1) else {
            self.text.push('\u{2026}');
            return Err(fmt::Error);
        };
        self.left = left;
        self.text.push(c);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_where_the_room_ends_and_a_short_one_is_whole() {
        for (text, expected) in [
            ("", ""),
            ("  one\n\ttwo ", "one two"),
            ("1234567890", "1234567890"),
            ("1234567890  \n", "1234567890"),
            ("12345678901", "1234567890\u{2026}"),
            ("1234567890 1", "1234567890\u{2026}"),
            ("123456789 1", "123456789 \u{2026}"),
            (
                "\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}",
                "\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{2026}",
            ),
        ] {
            assert_eq!(shortened(text, 10), expected, "{text}");
        }
        let args = serde_json::json!({"path": "a  b", "content": "x".repeat(1 << 20)});
        assert_eq!(shortened(&args, 22), "{\"path\":\"a b\",\"content\u{2026}");
    }
}
