//! Typographic quotes and dashes made plain, so that one rule matches both.
//!
//! Models write `I’ll` as often as `I'll`; a rule that only knows the second is blind to half of what
//! they say. In: a turn's text. Out: the text to match on, and the way back to the offsets of the
//! original, because whatever is quoted to an operator is quoted as it was written.

use std::borrow::Cow;

/// A text with plain quotes and dashes, and where its parts came from.
pub(super) struct Plain<'a> {
    /// The text to match on.
    pub(super) text: Cow<'a, str>,
    shifts: Vec<Shift>,
}

/// From `plain` on, offsets differ by what lies between the two.
struct Shift {
    plain: usize,
    original: usize,
}

impl<'a> Plain<'a> {
    pub(super) fn new(original: &'a str) -> Self {
        if original.is_ascii() {
            return Self { text: Cow::Borrowed(original), shifts: Vec::new() };
        }
        let mut text = String::with_capacity(original.len());
        let mut shifts = Vec::new();
        let mut from = 0;
        while let Some(ascii) = original.as_bytes()[from..].iter().position(|byte| !byte.is_ascii()) {
            let at = from + ascii;
            text.push_str(&original[from..at]);
            let Some(c) = original[at..].chars().next() else { break };
            from = at + c.len_utf8();
            match plain(c) {
                Some(replacement) => {
                    text.push(replacement);
                    shifts.push(Shift { plain: text.len(), original: from });
                }
                None => text.push(c),
            }
        }
        text.push_str(&original[from..]);
        Self { text: Cow::Owned(text), shifts }
    }

    /// Returns the offset in the original of the text that is at `at` here.
    pub(super) fn original_at(&self, at: usize) -> usize {
        let before = self.shifts.partition_point(|shift| shift.plain <= at);
        match before.checked_sub(1).and_then(|last| self.shifts.get(last)) {
            Some(shift) => shift.original + (at - shift.plain),
            None => at,
        }
    }
}

fn plain(c: char) -> Option<char> {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{201B}' | '\u{2032}' | '\u{02BC}' | '\u{FF07}' => Some('\''),
        '\u{201C}'..='\u{201F}' | '\u{2033}' => Some('"'),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some('-'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_lead_back_to_the_original() {
        let original = "a’b — “c” é’";
        let plain = Plain::new(original);
        assert_eq!(plain.text, "a'b - \"c\" é'");
        for (at, c) in plain.text.char_indices().filter(|(_, c)| c.is_ascii_alphabetic() || *c == 'é') {
            assert!(original[plain.original_at(at)..].starts_with(c), "{at} {c}");
        }
        assert_eq!(plain.original_at(plain.text.len()), original.len());
    }
}
