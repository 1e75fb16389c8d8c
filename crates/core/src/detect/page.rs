//! One turn's text made ready for all detectors: plain, lower-cased, with its fences and line heads.
//!
//! It is prepared once, because the six detectors look for the same things: a word at the head of a
//! line, behind hashes or not. Offsets are those of the lower-cased text unless a name says otherwise.

use super::fences::Fences;
use super::plain::Plain;
use super::words::{after, after_ws, ends_word};

/// A turn, ready to be read.
pub(super) struct Page<'a> {
    original: &'a str,
    plain: Plain<'a>,
    /// The plain text in lower case, byte for byte as long as the plain one: only ASCII is folded.
    pub(super) lower: String,
    pub(super) fences: Fences,
    pub(super) heads: Vec<HeadOfLine>,
}

/// First thing in a line that is not blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeadOfLine {
    /// Beginning of the whitespace before it, no further back than the newline that makes it a head.
    pub(super) from: usize,
    /// Beginning of its line.
    pub(super) line: usize,
    /// Number of hashes that lead it.
    pub(super) hashes: usize,
    /// Number of asterisks that lead it, if no hashes do.
    pub(super) stars: usize,
    /// Beginning of its first word: behind hashes and the whitespace after them, or behind asterisks.
    pub(super) word: usize,
}

impl HeadOfLine {
    /// Returns true if it is a heading as the rules mean it: one to four hashes.
    pub(super) fn is_heading(&self) -> bool {
        (1..=4).contains(&self.hashes)
    }

    /// Returns true if nothing leads its word.
    pub(super) fn is_bare(&self) -> bool {
        self.hashes == 0 && self.stars == 0
    }

    /// Returns the number of the phase that it names and the offset behind it: `phase`, whitespace, one digit.
    pub(super) fn phase(&self, lower: &str) -> Option<(u8, usize)> {
        let at = after_ws(lower, after(lower, self.word, "phase")?);
        let digit = lower.as_bytes().get(at).filter(|byte| (b'0'..=b'4').contains(*byte))?;
        Some((digit - b'0', at + 1))
    }

    /// Returns the same if the digit also ends its word.
    pub(super) fn whole_phase(&self, lower: &str) -> Option<(u8, usize)> {
        self.phase(lower).filter(|(_, end)| ends_word(lower, *end))
    }
}

impl<'a> Page<'a> {
    pub(super) fn new(original: &'a str) -> Self {
        let plain = Plain::new(original);
        let lower = plain.text.to_ascii_lowercase();
        let fences = Fences::of(&lower);
        let heads = heads(&lower);
        Self { original, plain, lower, fences, heads }
    }

    /// Returns the original text between two offsets.
    pub(super) fn original(&self, from: usize, to: usize) -> &'a str {
        self.original.get(self.plain.original_at(from)..self.plain.original_at(to)).unwrap_or_default()
    }

    /// Returns the original text from an offset on.
    pub(super) fn original_from(&self, from: usize) -> &'a str {
        self.original.get(self.plain.original_at(from)..).unwrap_or_default()
    }
}

fn heads(lower: &str) -> Vec<HeadOfLine> {
    let bytes = lower.as_bytes();
    let mut heads = Vec::with_capacity(16);
    let mut line = 0;
    // Where the newline stands that the next head may reach back to.
    let mut from = 0;
    loop {
        // Blank lines are skipped in one go: a reply of nothing else is read once, not once a line.
        let at = after_ws(lower, line);
        if at == lower.len() {
            return heads;
        }
        line = memchr::memrchr(b'\n', &bytes[line..at]).map_or(line, |newline| line + newline + 1);
        heads.push(head(lower, from, line, at));
        let Some(length) = memchr::memchr(b'\n', &bytes[at..]) else { return heads };
        from = at + length;
        line = from + 1;
    }
}

fn head(lower: &str, from: usize, line: usize, at: usize) -> HeadOfLine {
    let count = |mark: u8| lower.as_bytes()[at..].iter().take_while(|byte| **byte == mark).count();
    let hashes = count(b'#');
    let stars = if hashes == 0 { count(b'*') } else { 0 };
    let word = if hashes > 0 { after_ws(lower, at + hashes) } else { at + stars };
    HeadOfLine { from, line, hashes, stars, word }
}
