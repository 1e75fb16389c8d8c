//! Secrets that a line end breaks in two, as `fold`, terminals and base64 tools write them.
//!
//! What ends a line is put together with what begins the next one, and on for as long as whole lines are unbroken
//! runs. Lines of ordinary text go together so as well; so only what has a mark of its own, is base64 of it, or is
//! one of the operator's own values counts, and only as far as it goes on looking like a key.
//!
//! Begin with [`find`].

use std::ops::Range;

use super::scan::{Edit, start_of_last_run};
use super::secret_set::{KIND, SecretSet};
use super::shapes::{apart, in_base64, may_have_prefix};
use super::{prefixes, scan};

/// How much of what ends a line counts.
const LEFT_BYTES_MAX: usize = 1024;
/// How much is put together at most.
const JOINED_BYTES_MAX: usize = 8192;
/// How much of it is looked at again with what follows.
const OVERLAP_BYTES: usize = 512;
/// A shorter word may be what stands before a mark in a key of its kind.
const PLAIN_WORD_BYTES_MIN: usize = 4;
/// How far a line may be indented.
const INDENT_BYTES_MAX: usize = 32;

/// Adds what to replace in `text` from `from` on to `edits`, and returns how far the text is decided; all of it if
/// this is the `last` of it.
pub(super) fn find(known: &SecretSet, text: &str, from: usize, last: bool, edits: &mut Vec<Edit>) -> usize {
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(line_end) = memchr::memchr(b'\n', &bytes[at..]).map(|length| at + length) {
        let end = if line_end > at && bytes[line_end - 1] == b'\r' { line_end - 1 } else { line_end };
        let start = run_before(bytes, at, end);
        if is_plain_word(&text[start..end]) && !may_begin(known, &text[start..end]) {
            at = line_end + 1;
            continue;
        }
        match Chain::of(bytes, start..end, line_end, last) {
            Joined::Undecided => return start,
            Joined::Nothing => at = line_end + 1,
            Joined::Chain(chain) => {
                let found = chain.secrets(known, bytes);
                at = found.last().map_or(chain.go_on, |(range, _)| chain.go_on.max(range.end));
                edits.extend(found.into_iter().map(|(range, kind)| Edit { range, kind: Some(kind) }));
            }
        }
    }
    if last {
        return bytes.len();
    }
    let end = if bytes.ends_with(b"\r") { bytes.len() - 1 } else { bytes.len() };
    run_before(bytes, at, end).min(end)
}

/// Where the run begins that ends at `end`, at most [`LEFT_BYTES_MAX`] before and not before `from`.
fn run_before(bytes: &[u8], from: usize, end: usize) -> usize {
    let from = from.max(end.saturating_sub(LEFT_BYTES_MAX)).min(end);
    start_of_last_run(&bytes[..end], from)
}

/// Whether `run` is a word of ordinary text, perhaps one that ends a sentence. Random characters rarely look so, and it
/// is shown when its line ends, not when the next one comes.
fn is_plain_word(run: &str) -> bool {
    let word = run.strip_suffix(['.', '!', '?']).unwrap_or(run);
    word.len() >= PLAIN_WORD_BYTES_MIN
        && word
            .bytes()
            .enumerate()
            .all(|(at, byte)| byte.is_ascii_lowercase() || (at == 0 && byte.is_ascii_uppercase()))
}

/// Whether a known mark or one of the operator's own values may begin with `word`.
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
    /// Where each piece of the text begins, and where in the original it stands.
    pieces: Vec<(usize, Range<usize>)>,
    /// Where to go on.
    go_on: usize,
}

impl Chain {
    fn of(bytes: &[u8], left: Range<usize>, line_end: usize, last: bool) -> Joined {
        let mut ranges = vec![left.clone()];
        let (mut length, mut line_end) = (left.len(), line_end);
        let mut is_whole = false;
        loop {
            let after = line_end + 1;
            let indent = bytes[after..].iter().take(INDENT_BYTES_MAX).take_while(|byte| matches!(byte, b' ' | b'\t'));
            let start = after + indent.count();
            let limit = bytes.len().min(start + JOINED_BYTES_MAX - length.min(JOINED_BYTES_MAX));
            let end = scan::end_of_run(bytes, start, limit);
            let is_cut = !last && (end == bytes.len() || (bytes[end] == b'\r' && end + 1 == bytes.len()));
            if is_cut && (!left.is_empty() || ranges.len() > 1) {
                return Joined::Undecided;
            }
            if end == start || left.is_empty() {
                break;
            }
            ranges.push(start..end);
            length += end - start;
            let next_end = end + usize::from(bytes.get(end) == Some(&b'\r'));
            is_whole = length >= JOINED_BYTES_MAX;
            if is_whole || bytes.get(next_end) != Some(&b'\n') {
                break;
            }
            line_end = next_end;
        }
        if ranges.len() < 2 || length < scan::RUN_BYTES_MIN {
            return Joined::Nothing;
        }
        let mut chain = Self { text: String::with_capacity(length), pieces: Vec::new(), go_on: 0 };
        for range in ranges {
            chain.pieces.push((chain.text.len(), range.clone()));
            // Runs are ASCII.
            chain.text.extend(bytes[range].iter().copied().map(char::from));
        }
        chain.go_on = chain.next_start(is_whole);
        Joined::Chain(chain)
    }

    /// The last piece may be the beginning of a chain that goes on, if it was cut.
    fn next_start(&self, is_cut: bool) -> usize {
        let overlap = self.text.len().saturating_sub(OVERLAP_BYTES);
        let again = self.pieces.iter().skip(1).find(|(at, _)| is_cut && *at >= overlap);
        again.or(self.pieces.last()).map_or(0, |(_, range)| if again.is_some() { range.start } else { range.end })
    }

    fn secrets(&self, known: &SecretSet, bytes: &[u8]) -> Vec<(Range<usize>, &'static str)> {
        let mut found = Vec::new();
        if may_have_prefix(&self.text) {
            self.marked(bytes, &mut found);
            in_base64(&self.text[..self.base64_end()], &mut found);
        }
        found.extend(known.ranges(&self.text).into_iter().map(|range| (range, KIND)));
        found.retain(|(range, _)| self.line_end_in(range).is_some());
        apart(found).into_iter().map(|(range, kind)| (self.original(&range), kind)).collect()
    }

    /// How far this may be base64: lines of it are equally long, except for the first, behind other text, and the last.
    fn base64_end(&self) -> usize {
        let width = self.pieces[1].1.len();
        let whole = self.pieces[1..].iter().take_while(|(_, range)| range.len() == width).count();
        let last = self.pieces.get(1 + whole).filter(|(_, range)| range.len() < width);
        let (at, range) = last.unwrap_or(&self.pieces[whole]);
        at + range.len()
    }

    fn marked(&self, bytes: &[u8], found: &mut Vec<(Range<usize>, &'static str)>) {
        let mut at = 0;
        while let Some(key) = prefixes::next(&self.text, at) {
            at = key.end;
            let Some(line_end) = self.line_end_in(&(key.start..key.end)) else { continue };
            // What is complete on its line is found there, and what follows is something else.
            if key.length.is_some_and(|length| line_end - key.start >= length) {
                at = line_end;
                continue;
            }
            let before = match key.start {
                0 => self.pieces[0].1.start.checked_sub(1).map(|before| bytes[before]),
                start => Some(self.text.as_bytes()[start - 1]),
            };
            let is_within_word = self.text.as_bytes()[key.start].is_ascii_alphanumeric()
                && before.is_some_and(|byte| byte.is_ascii_alphanumeric());
            let end = key
                .length
                .map_or_else(|| self.goes_on_to(bytes, line_end, key.end), |length| key.end.min(key.start + length));
            if end > line_end && !is_within_word && is_random(&self.text[key.start..end], key.length.is_some()) {
                found.push((key.start..end, key.kind));
                at = end;
            }
        }
    }

    /// How far a key without a fixed length goes on behind a line end: as long as it looks random, and at most to the
    /// end of a line that is shorter than the one before.
    fn goes_on_to(&self, bytes: &[u8], line_end: usize, limit: usize) -> usize {
        let mut end = line_end;
        let mut width = usize::MAX;
        for (at, range) in self.pieces.iter().filter(|(at, _)| *at >= line_end && *at < limit) {
            let piece = &self.text[*at..limit.min(at + range.len())];
            // `NAME2=` and `f1(` begin something else.
            let is_name = matches!(bytes.get(range.end), Some(b'=' | b':' | b'(' | b'['))
                && !bytes[range.end..].starts_with(b"==");
            if is_name || range.len() > width || (range.len() != width && !is_no_word(piece)) {
                break;
            }
            end = at + piece.len();
            width = range.len();
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

/// Whether letters and digits stand together, or capitals behind small letters.
fn is_no_word(text: &str) -> bool {
    let is_turn = |pair: &[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
    has_letters_and_digits(text) || text.as_bytes().windows(2).any(is_turn)
}

fn has_letters_and_digits(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit()) && text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Whether a key looks like one behind its mark, also where its length doesn't tell: names have fewer digits, and no
/// letters of both cases among them.
fn is_random(key: &str, is_told_by_length: bool) -> bool {
    let body = &key[4..];
    let has = |is: fn(&u8) -> bool| body.as_bytes().iter().any(is);
    let digits = body.bytes().filter(u8::is_ascii_digit).count();
    let is_mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    let tail = body.rsplit(['-', '_', '.']).next().unwrap_or(body);
    let is_hexadecimal = tail.len() >= 16 && tail.bytes().all(|byte| byte.is_ascii_hexdigit());
    digits >= 1 && has_letters_and_digits(body) && (is_told_by_length || is_mixed || is_hexadecimal)
}
