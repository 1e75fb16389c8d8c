//! Whitespace, word boundaries and lengths as the detectors' rules mean them.
//!
//! The rules are the peer's: its whitespace is a fixed list, its words are ASCII, and its lengths count
//! UTF-16 units. Everything here takes offsets into lower-cased text and never cuts a character.

/// The whitespace of the rules as a regex class, for patterns built with `concat!`.
macro_rules! ws {
    () => {
        r"[\t\n\x0B\x0C\r \u{A0}\u{1680}\u{2000}-\u{200A}\u{2028}\u{2029}\u{202F}\u{205F}\u{3000}\u{FEFF}]"
    };
}
pub(super) use ws;

/// Returns true if `c` is whitespace to the rules: the peer's list, which has U+FEFF but not U+0085.
pub(super) fn is_ws(c: char) -> bool {
    matches!(c, '\t'..='\r' | ' ' | '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{2028}' | '\u{2029}')
        || matches!(c, '\u{202F}' | '\u{205F}' | '\u{3000}' | '\u{FEFF}')
}

/// Returns true if `byte` belongs to a word: ASCII letters, digits and `_`.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns true if a word that ends at `at` really ends there.
pub(super) fn ends_word(text: &str, at: usize) -> bool {
    text.as_bytes().get(at).is_none_or(|byte| !is_word(*byte))
}

/// Returns the offset of the first character at or after `at` that is not whitespace.
pub(super) fn after_ws(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + (rest.len() - rest.trim_start_matches(is_ws).len())
}

/// Returns the offset behind `literal` if it stands at `at`.
pub(super) fn after(text: &str, at: usize, literal: &str) -> Option<usize> {
    text.get(at..)?.starts_with(literal).then_some(at + literal.len())
}

/// Returns the offset behind `literal`, an optional `s` and the word's end, if that stands at `at`.
pub(super) fn after_noun(text: &str, at: usize, literal: &str) -> Option<usize> {
    let end = after(text, at, literal)?;
    let end = after(text, end, "s").unwrap_or(end);
    ends_word(text, end).then_some(end)
}

/// Returns the start of `text` that has at most `units_max` UTF-16 units, never half a character.
pub(super) fn cut_to_units(text: &str, units_max: usize) -> &str {
    if text.len() <= units_max {
        return text;
    }
    let mut units = 0;
    for (at, c) in text.char_indices() {
        units += c.len_utf16();
        if units > units_max {
            return &text[..at];
        }
    }
    text
}
