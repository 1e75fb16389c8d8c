//! Makes untrusted text fit to be seen: what would drive a terminal is spelled out instead.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::words::invisible::{is_invisible, is_odd_space};

/// `text` on one line: every control character is spelled out, line feeds and tabs too, so that no text
/// can forge a line or a cell of its own; and whatever can't be seen, so that no name looks like another.
#[must_use]
pub fn visible_line(text: &str) -> Cow<'_, str> {
    spell_out(text, |_, c| is_unfit(c))
}

/// `text` on lines of its own: line feeds and tabs stay, a carriage return before a line feed goes, every
/// other control character and whatever can't be seen is spelled out. The two that make one sign of several emoji
/// stay behind one, and so does the space of Chinese and Japanese, which is seen.
#[must_use]
pub fn visible_text(text: &str) -> Cow<'_, str> {
    lines(text, |before, c| {
        let joins = matches!(c, '\u{fe0f}' | '\u{200d}')
            && before.is_some_and(|before| is_emoji(before) || before == '\u{fe0f}');
        is_unfit(c) && c != '\u{3000}' && !joins
    })
}

/// Returns an agent's words, which are no act: as [`visible_text`] does, but with their spaces and the signs that join
/// or vary letters.
#[must_use]
pub fn visible_prose(text: &str) -> Cow<'_, str> {
    let is_writing = |c| is_odd_space(c) || matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{200b}'..='\u{200d}' | '\u{ad}');
    lines(text, |_, c| is_unfit(c) && !is_writing(c))
}

/// JSON as it may be shown on a terminal: what would drive it or can't be seen is escaped as JSON has it.
#[must_use]
pub fn visible_json(json: &str) -> Cow<'_, str> {
    let is_unfit = |c: char| is_unfit(c) && !matches!(c, '\n' | '\t');
    if json.bytes().all(is_plain) || !json.contains(is_unfit) {
        return Cow::Borrowed(json);
    }
    let mut shown = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_unfit(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string can't fail.
                let _: Result<(), std::fmt::Error> = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

fn lines(text: &str, is_unfit: impl Fn(Option<char>, char) -> bool) -> Cow<'_, str> {
    let is_unfit = |before, c| is_unfit(before, c) && !matches!(c, '\n' | '\t');
    if text.contains("\r\n") {
        return Cow::Owned(spell_out(&text.replace("\r\n", "\n"), is_unfit).into_owned());
    }
    spell_out(text, is_unfit)
}

/// Control characters of both sets, which drive a terminal, and what can't be seen or told from another.
fn is_unfit(c: char) -> bool {
    c.is_control() || is_invisible(c) || is_odd_space(c)
}

/// Returns true if `c` is a sign of those that emoji are made of.
const fn is_emoji(c: char) -> bool {
    matches!(c, '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{27bf}' | '\u{2900}'..='\u{2bff}'
        | '\u{1f000}'..='\u{1faff}')
}

const fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

fn spell_out(text: &str, is_unfit: impl Fn(Option<char>, char) -> bool) -> Cow<'_, str> {
    // Most text has none; printable ASCII needs no closer look.
    if text.bytes().all(is_plain) || !text.contains(self::is_unfit) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut before = None;
    for c in text.chars() {
        match c {
            '\n' if is_unfit(before, c) => shown.push_str("\\n"),
            '\t' if is_unfit(before, c) => shown.push_str("\\t"),
            c if is_unfit(before, c) => {
                // Writing to a string can't fail.
                let _: Result<(), std::fmt::Error> = write!(shown, "\\u{{{:x}}}", u32::from(c));
            }
            c => shown.push(c),
        }
        before = Some(c);
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

    #[test]
    fn what_can_not_be_seen_is_spelled_out() {
        for c in "\u{200b}\u{200d}\u{2060}\u{feff}\u{3164}\u{115f}\u{e0041}\u{e0100}\u{fe0f}\u{ad}\u{a0}\u{202f}\u{2003}\u{34f}\u{2800}".chars() {
            let (text, shown) = (format!("rm a{c}b"), format!("rm a\\u{{{:x}}}b", u32::from(c)));
            check(&text, &shown, &shown);
        }
        check("\u{26a0}\u{fe0f} 字\u{3000}字", "\u{26a0}\\u{fe0f} 字\\u{3000}字", "\u{26a0}\u{fe0f} 字\u{3000}字");
        assert_eq!(visible_prose("voilà\u{a0}! a\u{202e}b"), "voilà\u{a0}! a\\u{202e}b");
    }

    #[test]
    fn json_stays_what_it_is() {
        let json = "{\"a\":\"\u{9b}31m\u{202e}\u{e0041}\u{a0}字\"}\n";
        let shown = visible_json(json);
        assert_eq!(shown, "{\"a\":\"\\u009b31m\\u202e\\udb40\\udc41\\u00a0字\"}\n");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        assert_eq!(read(&shown), read(json));
        assert!(matches!(visible_json("{\"a\": \"é\"}\n"), Cow::Borrowed(_)));
    }
}
