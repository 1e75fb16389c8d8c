//! An operator's own values: masked wherever they stand, as they are and in base64.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use super::base64::encoded;
use super::mask_with;
use super::scan::{MaskEdit, start_of_last_run};
use super::shapes::begins_secret;

/// The shortest value that is masked, in bytes: what is shorter stands in too many ordinary words.
pub const VALUE_BYTES_MIN: usize = 8;

/// A longer value is looked for in pieces of about this size, so that what is held back is bounded.
const PIECE_BYTES: usize = 4096;

/// The kind under which such a value is masked.
pub(super) const KIND: &str = "known_value";

/// Exact values to mask, such as those of environment variables that hold keys.
///
/// Values shorter than [`VALUE_BYTES_MIN`] are left out. It never shows what it holds.
#[derive(Clone, Default)]
pub struct SecretSet {
    /// The texts to look for, by their first two bytes; the longest first.
    needles: BTreeMap<[u8; 2], Vec<String>>,
    /// The length of the longest.
    bytes_max: usize,
}

impl fmt::Debug for SecretSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count: usize = self.needles.values().map(Vec::len).sum();
        write!(f, "SecretSet({count} patterns)")
    }
}

impl<T: AsRef<str>> FromIterator<T> for SecretSet {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut set = Self::default();
        for value in values {
            set.add(value.as_ref());
        }
        for needles in set.needles.values_mut() {
            needles.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
            needles.dedup();
        }
        set
    }
}

impl SecretSet {
    /// True if there is nothing to look for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// The text with these values and every secret of a known shape masked.
    #[must_use]
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        mask_with(text, self)
    }

    /// A text that was cut at its end, without what may be the beginning of a secret there: of one of these values, of
    /// a key with a mark, or of what something called a password is set to.
    #[must_use]
    pub fn without_secret_begun<'t>(&self, text: &'t str) -> &'t str {
        let known = if self.is_empty() { text.len() } else { self.held_from(text, 0) };
        let run = start_of_last_run(text.as_bytes(), text.len().saturating_sub(PIECE_BYTES));
        let begun = if begins_secret(&text[..run], &text[run..]) { run } else { text.len() };
        &text[..known.min(begun)]
    }

    /// Returns whether what `text` ends with may be the beginning of a value.
    pub(super) fn may_begin_in(&self, text: &str) -> bool {
        !self.is_empty() && self.held_from(text, 0) < text.len()
    }

    fn add(&mut self, value: &str) {
        for piece in pieces(value) {
            self.add_needle(piece.to_owned());
            for before in 0..3 {
                encoded(piece.as_bytes(), before).into_iter().for_each(|needle| self.add_needle(needle));
            }
        }
    }

    fn add_needle(&mut self, needle: String) {
        if needle.len() >= VALUE_BYTES_MIN {
            let key = [needle.as_bytes()[0], needle.as_bytes()[1]];
            self.bytes_max = self.bytes_max.max(needle.len());
            self.needles.entry(key).or_default().push(needle);
        }
    }

    /// Adds the values in `text` from `from` on to `edits`, and returns how far the text is decided: all of it if it is
    /// the `last`, else up to what may begin a value.
    pub(super) fn find(&self, text: &str, from: usize, last: bool, edits: &mut Vec<MaskEdit>) -> usize {
        let mut at = from;
        loop {
            let held = if last { text.len() } else { self.held_from(text, at) };
            match self.next(text, at).filter(|found| found.start < held) {
                Some(found) => {
                    at = found.end;
                    edits.push(MaskEdit { range: found, kind: Some(KIND) });
                }
                None => return held,
            }
        }
    }

    /// Returns the ranges of the values in `text`.
    pub(super) fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        let mut edits = Vec::new();
        self.find(text, 0, true, &mut edits);
        edits.into_iter().map(|edit| edit.range).collect()
    }

    /// The next value at or behind `from`; of several that begin together the longest.
    fn next(&self, text: &str, from: usize) -> Option<Range<usize>> {
        if self.needles.is_empty() {
            return None;
        }
        let mut firsts = [false; 256];
        self.needles.keys().for_each(|key| firsts[usize::from(key[0])] = true);
        let bytes = text.as_bytes();
        (from..bytes.len().saturating_sub(VALUE_BYTES_MIN - 1)).filter(|at| firsts[usize::from(bytes[*at])]).find_map(
            |at| {
                let needles = self.needles.get(&[bytes[at], bytes[at + 1]])?;
                let found = needles.iter().find(|needle| bytes[at..].starts_with(needle.as_bytes()))?;
                Some(at..at + found.len())
            },
        )
    }

    /// Returns the start of the longest end of `text` that may be the beginning of a value.
    fn held_from(&self, text: &str, from: usize) -> usize {
        let bytes = text.as_bytes();
        let first = from.max(bytes.len().saturating_sub(self.bytes_max.saturating_sub(1)));
        let begins_value = |at: &usize| {
            let end = &bytes[*at..];
            let range = [end[0], *end.get(1).unwrap_or(&0)]..=[end[0], *end.get(1).unwrap_or(&u8::MAX)];
            self.needles
                .range(range)
                .flat_map(|(_, needles)| needles)
                .any(|needle| needle.len() > end.len() && needle.as_bytes().starts_with(end))
        };
        (first..bytes.len()).find(begins_value).unwrap_or(bytes.len())
    }
}

/// A value in pieces of about [`PIECE_BYTES`], none of them too short to be looked for.
fn pieces(value: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = value;
    while rest.len() > PIECE_BYTES + VALUE_BYTES_MIN {
        let mut cut = PIECE_BYTES;
        while !rest.is_char_boundary(cut) {
            cut -= 1;
        }
        let (piece, after) = rest.split_at(cut);
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}
