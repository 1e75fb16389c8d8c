//! Makes untrusted text fit to be seen: what would drive a terminal is spelled out instead.

use std::borrow::Cow;
use std::fmt::Write as _;

/// `text` on one line: every control character is spelled out, line feeds and tabs too, so that no text
/// can forge a line or a cell of its own.
#[must_use]
pub fn visible_line(text: &str) -> Cow<'_, str> {
    spell_out(text, drives_a_terminal)
}

/// `text` on lines of its own: line feeds and tabs stay, a carriage return before a line feed goes, every
/// other control character is spelled out.
#[must_use]
pub fn visible_text(text: &str) -> Cow<'_, str> {
    let keeps = |c: char| drives_a_terminal(c) && !matches!(c, '\n' | '\t');
    if text.contains("\r\n") {
        return Cow::Owned(spell_out(&text.replace("\r\n", "\n"), keeps).into_owned());
    }
    spell_out(text, keeps)
}

/// Control characters of both sets, line and paragraph separators, and those that turn the direction of
/// writing around, with which a line can be made to read as another.
fn drives_a_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn spell_out(text: &str, is_unfit: impl Fn(char) -> bool) -> Cow<'_, str> {
    // Most text has none; printable ASCII needs no closer look.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || !text.contains(&is_unfit) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' if is_unfit(c) => shown.push_str("\\n"),
            '\t' if is_unfit(c) => shown.push_str("\\t"),
            c if is_unfit(c) => {
                // Writing to a string can't fail.
                let _: Result<(), std::fmt::Error> = write!(shown, "\\u{{{:x}}}", u32::from(c));
            }
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, line: &str, lines: &str) {
        assert_eq!(visible_line(text), line, "{text:?} on a line");
        assert_eq!(visible_text(text), lines, "{text:?} on lines of its own");
    }

    #[test]
    fn control_characters_are_spelled_out() {
        check("plain, é, 字, 🌲", "plain, é, 字, 🌲", "plain, é, 字, 🌲");
        check("a\nb\tc", "a\\nb\\tc", "a\nb\tc");
        check("a\r\nb\rc", "a\\u{d}\\nb\\u{d}c", "a\nb\\u{d}c");
        check("\u{1b}[2J\u{7f}\0", "\\u{1b}[2J\\u{7f}\\u{0}", "\\u{1b}[2J\\u{7f}\\u{0}");
        check("\u{9b}31m\u{202e}x\u{2028}", "\\u{9b}31m\\u{202e}x\\u{2028}", "\\u{9b}31m\\u{202e}x\\u{2028}");
    }
}
