//! Secrets that are broken in two: by a line end as `fold`, terminals and base64 tools write it, by a tab or a tag, or
//! into two string pieces of a program.
//!
//! The text before a break is put together with the text behind it, and on for as long as whole lines are unbroken
//! runs. What quoting, `cat -n`, `grep -n` and `diff` put before a line is left out. Lines of ordinary text go together
//! so as well; so only what has a mark of its own, is base64 of it, or is one of the operator's own values counts, and
//! only as far as it goes on looking like a key.
//!
//! Begin with [`find`]; what a break is, is in [`gap`].

use std::ops::Range;

use super::scan::{MaskEdit, end_of_run, is_run};
use super::secret_set::{KIND, SecretSet};
use super::shapes::{apart, in_base64, may_have_prefix, unmarked};
use super::{prefixes, scan};
use crate::words::invisible::is_odd_space;

/// The bytes before a break that count.
const LEFT_BYTES_MAX: usize = 1024;
/// The longest text that is put together, in bytes.
const JOINED_BYTES_MAX: usize = 8192;
/// Number of its bytes that are looked at again with the following text.
const OVERLAP_BYTES: usize = 512;
/// A shorter word may be what stands before a mark in a key of its kind.
const PLAIN_WORD_BYTES_MIN: usize = 4;
/// The longest break, indentation and quote marks included.
const GAP_BYTES_MAX: usize = 64;
/// The longest path and number before a line.
const PATH_BYTES_MAX: usize = 128;
/// The longest number before a line.
const NUMBER_BYTES_MAX: usize = 7;
/// Tags that change nothing about a word but its looks.
const TAGS: [&[u8]; 10] = [b"br", b"wbr", b"b", b"i", b"u", b"em", b"strong", b"span", b"mark", b"code"];
/// The longest of these, attributes included.
const TAG_BYTES_MAX: usize = 48;
/// The greatest distance, in bytes, between a key without a mark and the name that tells it.
pub(super) const CONTEXT_BYTES: usize = 16;
/// Ends of a line that goes on in the next one.
const LONG_LINE_BYTES: usize = 60;
/// The most marks within words behind which a key is still looked for.
const RESTARTS_MAX: u32 = 32;
/// The longest text that is looked at again without a limit.
const SHORT_BYTES: usize = 128;

/// Adds what to replace in `text` from `from` on to `edits`, and returns how far the text is decided; all of it if
/// this is the `last` of it.
pub(super) fn find(known: &SecretSet, text: &str, from: usize, last: bool, edits: &mut Vec<MaskEdit>) -> usize {
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(start) = bytes[at..].iter().position(|byte| is_run(*byte)).map(|length| at + length) {
        let end = end_of_run(bytes, start, bytes.len());
        let start = start.max(end.saturating_sub(LEFT_BYTES_MAX));
        if end == bytes.len() {
            return if last { end } else { start };
        }
        at = end;
        let gap = gap(bytes, end, last);
        let left = &text[start..end];
        if gap == Gap::Nothing || (is_plain_word(left) && !may_begin(known, left)) {
            continue;
        }
        let Gap::To(next) = gap else { return start };
        match Chain::of(bytes, start..end, next, last) {
            Joined::Undecided => return start,
            Joined::Nothing => {}
            Joined::Chain(chain) => {
                at = chain.go_on;
                let mut found = chain.secrets(known, bytes);
                if let Some(bare) = chain.without_signs(bytes) {
                    found.extend(bare.secrets(known, bytes));
                    found = apart(found);
                }
                at = found.last().map_or(at, |(range, _)| at.max(range.end));
                edits.extend(found.into_iter().map(|(range, kind)| MaskEdit { range, kind: Some(kind) }));
            }
        }
    }
    bytes.len()
}

/// The text between two pieces of a secret.
#[derive(Debug, PartialEq, Eq)]
enum Gap {
    /// Not enough text to tell.
    Undecided,
    /// Nothing that only breaks a text.
    Nothing,
    /// A break, up to where the next piece begins.
    To(usize),
}

/// Reads the gap that begins at `at`, where a run ends: a line end with the marks of lines around it, a tab, an odd
/// space, a tag, or the end of one string and the beginning of the next.
fn gap(bytes: &[u8], at: usize, last: bool) -> Gap {
    let (mut is_broken, mut is_line_start, mut lines, mut quotes) = (false, false, 0, 0);
    let mut next = at;
    loop {
        let Some(byte) = bytes.get(next) else { return if last { Gap::Nothing } else { Gap::Undecided } };
        if next - at > GAP_BYTES_MAX {
            return Gap::Nothing;
        }
        let rest = &bytes[next..];
        let length = match byte {
            b' ' => Some(1),
            b'\t' => {
                is_broken = true;
                Some(1)
            }
            b'\n' | b'\r' => {
                lines += usize::from(*byte == b'\n');
                (is_broken, is_line_start) = (true, true);
                (lines < 2).then_some(1)
            }
            b'"' | b'\'' | b'`' => {
                quotes += 1;
                (quotes < 3).then_some(1)
            }
            b'|' => Some(1),
            b'>' => is_line_start.then_some(1),
            b'<' => {
                is_broken = true;
                match tag(rest) {
                    None if !last && rest.len() < TAG_BYTES_MAX => return Gap::Undecided,
                    length => length,
                }
            }
            byte if byte.is_ascii() && !is_run(*byte) && *byte != b';' && *byte != b'&' => None,
            byte if !byte.is_ascii() => match odd_space(rest) {
                Some(length) => {
                    is_broken = true;
                    Some(length)
                }
                // A bar of a table.
                None => rest.starts_with("\u{2502}".as_bytes()).then_some(3),
            },
            // What puts two strings together, or says of which kind the second is.
            b'+' | b'.' | b'&' | b'b' | b'f' | b'r' | b'u' | b'$' | b'@' if quotes == 1 => match rest.get(1) {
                None if !last => return Gap::Undecided,
                Some(b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'') => Some(1),
                Some(_) | None => None,
            },
            _ if quotes == 1 && !is_line_start => None,
            _ => match if is_line_start { line_mark(rest, last) } else { Some(0) } {
                None => return Gap::Undecided,
                Some(0) if (is_broken || quotes == 2) && is_run(*byte) => return Gap::To(next),
                Some(0) => None,
                Some(length) => {
                    // A number and a bar, but not one number behind the other.
                    is_line_start = !bytes[next].is_ascii_alphanumeric();
                    if next + length - at > GAP_BYTES_MAX {
                        return if length > GAP_BYTES_MAX {
                            after_mark(bytes, next + length, last)
                        } else {
                            Gap::Nothing
                        };
                    }
                    Some(length)
                }
            },
        };
        match length {
            Some(length) => next += length,
            None => return Gap::Nothing,
        }
    }
}

/// The window behind a mark, as long as a break may be.
fn after_mark(bytes: &[u8], at: usize, last: bool) -> Gap {
    let spaces = bytes[at..].iter().take(2).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    match bytes.get(at + spaces) {
        None if !last => Gap::Undecided,
        Some(byte) if is_run(*byte) => Gap::To(at + spaces),
        Some(_) | None => Gap::Nothing,
    }
}

/// The length of the tag that `rest` begins with, if it is one of [`TAGS`].
fn tag(rest: &[u8]) -> Option<usize> {
    let short = &rest[..rest.len().min(TAG_BYTES_MAX)];
    let end = short.iter().position(|byte| matches!(byte, b'>' | b'\n'))?;
    let inner = short[1..end].strip_prefix(b"/").unwrap_or(&short[1..end]);
    let name = inner.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let is_known = short[end] == b'>' && TAGS.iter().any(|tag| inner[..name].eq_ignore_ascii_case(tag));
    // Otherwise it is longer than any break.
    Some(if is_known { end + 1 } else { GAP_BYTES_MAX + 1 })
}

/// The length of the space that `rest` begins with, if it is another than that of the keyboard.
fn odd_space(rest: &[u8]) -> Option<usize> {
    // All of them have at most three bytes.
    let c = (1..=3).find_map(|length| str::from_utf8(rest.get(..length)?).ok()?.chars().next())?;
    is_odd_space(c).then(|| c.len_utf8())
}

/// The length of what stands before the text of a line that `rest` begins with; `None` if that can't be told yet.
fn line_mark(rest: &[u8], last: bool) -> Option<usize> {
    let signs = rest.iter().take(3).take_while(|byte| matches!(byte, b'#' | b'*' | b';' | b'/')).count();
    if signs > 0 {
        return match rest.get(signs) {
            None if !last => None,
            Some(b' ' | b'\t') => Some(signs + 1),
            // A semicolon is no part of a run.
            Some(_) | None => Some(0),
        };
    }
    let digits = rest.iter().take(NUMBER_BYTES_MAX + 1).take_while(|byte| byte.is_ascii_digit()).count();
    if (1..=NUMBER_BYTES_MAX).contains(&digits) {
        let spaces = rest[digits..].iter().take(3).take_while(|byte| **byte == b' ').count();
        match rest.get(digits + spaces) {
            None if !last => return None,
            Some(b'\t' | b':' | b'|' | b'>' | b')') => return Some(digits + spaces + 1),
            Some(_) if !last && rest.len() < digits + spaces + 3 => return None,
            Some(_) if rest[digits + spaces..].starts_with("\u{2502}".as_bytes()) => return Some(digits + spaces + 3),
            Some(_) | None => {}
        }
    }
    let path = end_of_run(rest, 0, rest.len().min(PATH_BYTES_MAX));
    if path == PATH_BYTES_MAX {
        return Some(0);
    }
    let number = rest.get(path + 1..).unwrap_or_default();
    let digits = number.iter().take(NUMBER_BYTES_MAX).take_while(|byte| byte.is_ascii_digit()).count();
    match (rest.get(path), number.get(digits)) {
        (None, _) if !last => None,
        (Some(b':'), None) if !last => None,
        (Some(b':'), Some(b':')) if digits > 0 => Some(path + digits + 2),
        _ => Some(0),
    }
}

/// Returns whether `run` is a word of ordinary text, perhaps one that ends a sentence. Random characters rarely look
/// so. Such a word is shown when its line ends, not when the next line comes.
fn is_plain_word(run: &str) -> bool {
    let word = run.strip_suffix(['.', '!', '?']).unwrap_or(run);
    word.len() >= PLAIN_WORD_BYTES_MIN
        && word
            .bytes()
            .enumerate()
            .all(|(at, byte)| byte.is_ascii_lowercase() || (at == 0 && byte.is_ascii_uppercase()))
}

/// Returns whether a known mark or one of the operator's own values may begin with `word`.
fn may_begin(known: &SecretSet, word: &str) -> bool {
    prefixes::may_begin_mark(word) || known.may_begin_in(word)
}

enum Joined {
    /// More text may belong to it.
    Undecided,
    /// There is nothing that a line end could break.
    Nothing,
    Chain(Chain),
}

/// Runs on both sides of line ends, put together.
struct Chain {
    text: String,
    /// Each piece of the text: its start there, and its range in the original.
    pieces: Vec<(usize, Range<usize>)>,
    /// Start of the next search.
    go_on: usize,
}

impl Chain {
    /// Puts `left` together with the text at `next`, behind a break.
    fn of(bytes: &[u8], left: Range<usize>, next: usize, last: bool) -> Joined {
        let mut ranges = vec![left.clone()];
        let mut start = next;
        let is_whole = loop {
            let spent = start - left.start;
            let end = end_of_run(bytes, start, bytes.len().min(start + JOINED_BYTES_MAX.saturating_sub(spent).max(1)));
            if end == bytes.len() && !last {
                return Joined::Undecided;
            }
            ranges.push(start..end);
            if end - left.start >= JOINED_BYTES_MAX {
                break true;
            }
            match gap(bytes, end, last) {
                Gap::Undecided => return Joined::Undecided,
                Gap::Nothing => break false,
                Gap::To(next) => start = next,
            }
        };
        let mut chain = Self::joined(bytes, ranges);
        if chain.text.len() < scan::RUN_BYTES_MIN {
            return Joined::Nothing;
        }
        chain.go_on = chain.next_start(is_whole);
        Joined::Chain(chain)
    }

    fn joined(bytes: &[u8], ranges: Vec<Range<usize>>) -> Self {
        let mut chain = Self { text: String::new(), pieces: Vec::with_capacity(ranges.len()), go_on: 0 };
        for range in ranges {
            chain.pieces.push((chain.text.len(), range.clone()));
            // Runs are ASCII.
            chain.text.extend(bytes[range].iter().copied().map(char::from));
        }
        chain
    }

    /// The same without what `diff` and `grep` put before a line, which may as well be a part of it; `None` if there is
    /// nothing of the kind.
    fn without_signs(&self, bytes: &[u8]) -> Option<Self> {
        let mut is_changed = false;
        let bare = |(index, (_, range)): (usize, &(usize, Range<usize>))| {
            let piece = &bytes[range.clone()];
            let digits = piece.iter().take(NUMBER_BYTES_MAX).take_while(|byte| byte.is_ascii_digit()).count();
            let sign = match piece.get(digits) {
                Some(b'-') => digits + 1,
                Some(b'+') if digits == 0 => 1,
                Some(_) | None => 0,
            };
            let sign = if index > 0 && sign < piece.len() { sign } else { 0 };
            is_changed |= sign > 0;
            range.start + sign..range.end
        };
        let ranges = self.pieces.iter().enumerate().map(bare).collect();
        is_changed.then(|| Self::joined(bytes, ranges))
    }

    /// The last piece may be the beginning of a chain that goes on, if it was cut.
    fn next_start(&self, is_cut: bool) -> usize {
        let end = self.pieces.last().map_or(0, |(_, range)| range.end);
        let again = self.pieces.iter().skip(1).find(|(_, range)| is_cut && range.start + OVERLAP_BYTES >= end);
        again.map_or(end, |(_, range)| range.start)
    }

    fn secrets(&self, known: &SecretSet, bytes: &[u8]) -> Vec<(Range<usize>, &'static str)> {
        let mut found = Vec::new();
        if may_have_prefix(&self.text) {
            self.marked(bytes, &mut found);
            in_base64(&self.text[..self.base64_end()], &mut found);
        }
        let before = self.pieces[0].1.start;
        let context = String::from_utf8_lossy(&bytes[before.saturating_sub(CONTEXT_BYTES)..before]);
        let mut without_mark = Vec::new();
        unmarked(&context, &self.text, &mut without_mark);
        found.extend(without_mark.into_iter().filter_map(|(range, kind)| {
            // What is complete at the end of a line ends there, and what follows is something else.
            let line_end = self.line_end_in(&range)?;
            let first = self.pieces.partition_point(|(at, _)| *at < line_end);
            let mut ends = self.pieces[first..].iter().map(|(at, _)| *at).take_while(|at| *at < range.end);
            let complete = ends.find(|end| {
                let mut alone = Vec::new();
                unmarked(if range.start == 0 { &context } else { "" }, &self.text[range.start..*end], &mut alone);
                !alone.is_empty()
            });
            Some((range.start..complete.unwrap_or(range.end), kind)).filter(|(range, _)| range.end > line_end)
        }));
        found.extend(known.ranges(&self.text).into_iter().map(|range| (range, KIND)));
        found.retain(|(range, _)| self.line_end_in(range).is_some());
        apart(found).into_iter().map(|(range, kind)| (self.original(&range), kind)).collect()
    }

    /// Returns the end of what may be base64: its lines are equally long, except for the first, behind other text, and
    /// the last.
    fn base64_end(&self) -> usize {
        let width = self.pieces[1].1.len();
        let whole = self.pieces[1..].iter().take_while(|(_, range)| range.len() == width).count();
        let last = self.pieces.get(1 + whole).filter(|(_, range)| range.len() < width);
        let (at, range) = last.unwrap_or(&self.pieces[whole]);
        at + range.len()
    }

    fn marked(&self, bytes: &[u8], found: &mut Vec<(Range<usize>, &'static str)>) {
        let mut beginnings = None;
        let (mut at, mut last_end, mut restarts) = (0, usize::MAX, 0);
        while let Some(key) = prefixes::next(&self.text, at) {
            at = key.end;
            // To go on within what was looked at is free only where that is short: together it stays linear.
            let mut go_on = |again: usize| {
                let is_allowed = key.end - again <= SHORT_BYTES || restarts < RESTARTS_MAX;
                restarts += u32::from(key.end - again > SHORT_BYTES);
                if is_allowed { again } else { key.end }
            };
            // What begins a line begins no word within.
            let is_piece_start = key.start > 0 && self.begins_key(key.start);
            let before = match key.start {
                0 => self.pieces[0].1.start.checked_sub(1).map(|before| bytes[before]),
                start => Some(self.text.as_bytes()[start - 1]),
            };
            let is_within_word = !is_piece_start
                && key.start != last_end
                && self.text.as_bytes()[key.start].is_ascii_alphanumeric()
                && before.is_some_and(|byte| byte.is_ascii_alphanumeric());
            if is_within_word {
                at = go_on(key.start + 1);
                continue;
            }
            let Some(line_end) = self.line_end_in(&(key.start..key.end)) else { continue };
            let beginnings = beginnings.get_or_insert_with(|| self.beginnings());
            let next_key = beginnings.partition_point(|at| *at < line_end);
            let limit = beginnings.get(next_key).map_or(key.end, |next_key| key.end.min(*next_key));
            // What is complete on its line is found there, and what follows is something else.
            if limit == line_end || key.length.is_some_and(|length| line_end - key.start >= length) {
                at = go_on(line_end);
                continue;
            }
            let end = key.length.map_or_else(
                || self.goes_on_to(bytes, key.start, line_end, limit),
                |length| limit.min(key.start + length),
            );
            let is_key = || is_random(&self.text[key.start..end.min(limit)], key.length.is_some());
            if end > line_end && is_key() {
                found.push((key.start..end, key.kind));
                (at, last_end) = (end, end);
            } else {
                at = go_on(line_end);
            }
        }
    }

    /// Returns whether a piece begins at `at` that may begin with a key. Long lines of base64 may begin with what looks
    /// like a mark of letters alone.
    fn begins_key(&self, at: usize) -> bool {
        let Ok(index) = self.pieces.binary_search_by_key(&at, |(at, _)| *at) else { return false };
        let has_separator = self.text.as_bytes()[at..].iter().take(5).any(|byte| matches!(byte, b'-' | b'_' | b'.'));
        has_separator || index == 0 || self.pieces[index - 1].1.len() < LONG_LINE_BYTES
    }

    /// Returns the start of a line's own key.
    fn beginnings(&self) -> Vec<usize> {
        let is_key =
            |piece: &str| prefixes::next(piece.trim_start_matches(['+', '-']), 0).is_some_and(|key| key.start == 0);
        let pieces = self.pieces.iter().filter(|(at, range)| is_key(&self.text[*at..at + range.len()]));
        pieces.map(|(at, _)| *at).collect()
    }

    /// Returns the end of a key without a fixed length that goes on behind a line end: it goes on as long as the lines
    /// look random, and ends at the latest with the first line that is shorter than the one before. It takes lines as a
    /// whole.
    fn goes_on_to(&self, bytes: &[u8], start: usize, line_end: usize, limit: usize) -> usize {
        let mut end = line_end;
        let (mut width, mut are_equal) = (usize::MAX, false);
        let first = self.pieces.partition_point(|(at, _)| *at < line_end);
        for (at, range) in self.pieces[first..].iter().take_while(|(at, _)| *at < limit) {
            let piece = &self.text[*at..limit.min(at + range.len())];
            // `NAME2=` and `f1(` begin something else.
            let is_name = matches!(bytes.get(range.end), Some(b'=' | b':' | b'(' | b'['))
                && !bytes[range.end..].starts_with(b"==");
            let is_end = piece.len() == width || is_no_word(piece) || are_equal;
            if is_name || piece.len() > width || !is_end {
                break;
            }
            // Behind lines that are equally long the last may look like anything.
            are_equal = piece.len() == width || piece.len() == line_end - start;
            end = at + range.len();
            width = piece.len();
        }
        end
    }

    /// The first line end within `range`, in the text put together.
    fn line_end_in(&self, range: &Range<usize>) -> Option<usize> {
        self.pieces.iter().map(|(at, _)| *at).find(|at| range.start < *at && *at < range.end)
    }

    fn original(&self, range: &Range<usize>) -> Range<usize> {
        let place = |at: usize| {
            let piece = self.pieces.partition_point(|(begins, _)| *begins <= at) - 1;
            let (begins, original) = &self.pieces[piece];
            original.start + (at - begins)
        };
        place(range.start)..place(range.end - 1) + 1
    }
}

/// True if the text holds letters and digits, or a capital right behind a small letter.
fn is_no_word(text: &str) -> bool {
    let is_turn = |pair: &[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
    has_letters_and_digits(text) || text.as_bytes().windows(2).any(is_turn)
}

fn has_letters_and_digits(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit()) && text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// True if a key looks random behind its mark, even if its length doesn't tell: names have fewer digits, and no letters
/// of both cases among them.
fn is_random(key: &str, is_told_by_length: bool) -> bool {
    let body = &key[4..];
    let has = |is: fn(&u8) -> bool| body.as_bytes().iter().any(is);
    let digits = body.bytes().filter(u8::is_ascii_digit).count();
    let is_mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    let parts = |is: fn(u8) -> bool| -> usize {
        body.split(['-', '_', '.']).filter(|part| part.len() >= 4 && part.bytes().all(is)).map(str::len).sum()
    };
    let is_hexadecimal = parts(|byte| byte.is_ascii_hexdigit()) >= 16;
    let is_upper = digits >= 3 && parts(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()) >= 24;
    digits >= 1 && has_letters_and_digits(body) && (is_told_by_length || is_mixed || is_hexadecimal || is_upper)
}
