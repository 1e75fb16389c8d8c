//! The last line of a screen, which is no part of what was said: the line that is being typed, or the status.
//!
//! In: what is asked, what is typed, the status. Out: a text that fits the line, and the column of the cursor. Knows no
//! terminal.

use adjutant_core::words::visible::visible_line;

use super::wrap::{head_of, width_of};
use crate::keyboard::TypedView;

/// The prompt of what answers nothing.
const MESSAGE_PROMPT: &str = "\u{bb} ";

/// The way to do something with what is typed while nothing is asked.
const OFFER: &str = "Tab sends it to the agent, Esc drops it";

const OFFER_SEVERAL: &str = "Tab sends them to the agent, Esc drops them";

/// The most columns of a text that is offered to be sent.
const OFFERED_COLUMNS_MAX: usize = 20;

/// The last line of a screen.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FooterLine {
    pub(super) text: String,
    /// Column of the cursor; `None` if nothing is typed there.
    pub(super) cursor: Option<usize>,
}

/// Returns the last line of a screen with so many columns; `None` if nothing is to stand there. The line that is typed comes
/// before the status.
pub(super) fn footer_line(
    prompt: Option<&str>,
    typed: &TypedView,
    status: Option<String>,
    columns: usize,
) -> Option<FooterLine> {
    if let Some(prompt) = prompt {
        return Some(typed_line(prompt, typed, columns));
    }
    if !typed.line.text.is_empty() {
        let FooterLine { mut text, cursor } = typed_line(MESSAGE_PROMPT, typed, columns);
        let hint = if typed.line.text.starts_with('/') { "Tab completes it" } else { OFFER };
        let hint = format!("  ({hint})");
        if width_of(&text) + width_of(&hint) < columns {
            text += &hint;
        }
        return Some(FooterLine { text, cursor });
    }
    if !typed.unsent.is_empty() {
        let said = typed.unsent.join("\n");
        let said = visible_line(&said);
        let short = head_of(&said, OFFERED_COLUMNS_MAX);
        let more = if short.len() < said.len() { "\u{2026}" } else { "" };
        let text = match typed.unsent.len() {
            1 => format!("not an answer: \"{short}{more}\". {OFFER}"),
            lines => format!("not an answer, {lines} lines: \"{short}{more}\". {OFFER_SEVERAL}"),
        };
        return Some(FooterLine { text: head_of(&text, columns.saturating_sub(1)).to_owned(), cursor: None });
    }
    status.map(|text| FooterLine { text, cursor: None })
}

/// Returns the prompt and as much of the line around the cursor as has room.
fn typed_line(prompt: &str, typed: &TypedView, columns: usize) -> FooterLine {
    let (before, after) = typed.line.text.split_at(typed.line.cursor);
    let (before, after) = (visible_line(before), visible_line(after));
    // The cursor itself needs a column.
    let room = columns.saturating_sub(width_of(prompt) + 1);
    let shown = tail_of(&before, room);
    let cut = if shown.len() < before.len() { "\u{2026}" } else { "" };
    let shown = if cut.is_empty() { shown } else { tail_of(&before, room.saturating_sub(1)) };
    let text = format!("{prompt}{cut}{shown}");
    let cursor = width_of(&text);
    let rest = head_of(&after, columns.saturating_sub(cursor + 1));
    FooterLine { text: text + rest, cursor: Some(cursor) }
}

/// Returns the end of `text` that takes at most so many columns.
fn tail_of(text: &str, columns: usize) -> &str {
    let mut left = width_of(text);
    for (at, c) in text.char_indices() {
        if left <= columns {
            return &text[at..];
        }
        left -= width_of(c.encode_utf8(&mut [0; 4]));
    }
    ""
}

#[cfg(test)]
mod tests {
    use crate::keyboard::LineView;

    use super::*;

    fn typed(text: &str, cursor: usize, unsent: &[&str]) -> TypedView {
        let line = LineView { text: text.to_owned(), cursor };
        TypedView { line, unsent: unsent.iter().map(|text| (*text).to_owned()).collect() }
    }

    #[track_caller]
    fn check(prompt: Option<&str>, typed: &TypedView, columns: usize, text: &str, cursor: Option<usize>) {
        let line = footer_line(prompt, typed, Some("status".to_owned()), columns);
        assert_eq!(line, Some(FooterLine { text: text.to_owned(), cursor }), "{typed:?} in {columns} columns");
    }

    #[test]
    fn the_line_that_is_typed_is_shown_around_its_cursor() {
        check(Some("> "), &typed("", 0, &[]), 20, "> ", Some(2));
        check(Some("> "), &typed("yes", 1, &[]), 20, "> yes", Some(3));
        check(Some("> "), &typed("0123456789", 10, &[]), 10, "> \u{2026}456789", Some(9));
        check(Some("> "), &typed("0123456789", 2, &[]), 10, "> 0123456", Some(4));
        check(Some("> "), &typed("a\nb\u{1b}", 4, &[]), 20, "> a\\nb\\u{1b}", Some(12));
    }

    #[test]
    fn what_is_typed_while_nothing_is_asked_says_what_can_be_done_with_it() {
        let hint = "\u{bb} hi  (Tab sends it to the agent, Esc drops it)";
        check(None, &typed("hi", 2, &[]), 80, hint, Some(4));
        check(None, &typed("hi", 2, &[]), 30, "\u{bb} hi", Some(4));
        let offered = "not an answer: \"y\". Tab sends it to the agent, Esc drops it";
        check(None, &typed("", 0, &["y"]), 100, offered, None);
        let offered = "not an answer, 2 lines: \"y\\nn\". Tab sends them to the agent, Esc drops them";
        check(None, &typed("", 0, &["y", "n"]), 100, offered, None);
        check(None, &typed("", 0, &[]), 80, "status", None);
    }
}
