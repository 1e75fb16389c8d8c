//! One pass over a text that finds the runs a secret could be in, and skips everything else.
//!
//! No secret we know is shorter than [`RUN_BYTES_MIN`] characters without a break, and most of a text is
//! shorter words: a run that is long enough fills one of the text's words of eight bytes. What a run means
//! depends on the run, at most [`CONTEXT_BYTES`] before it and three facts carried along; so the pass
//! may stop before a run that has not ended and go on when more text has come, with the same result.

use std::ops::Range;

use super::shapes::{PRIVATE_KEY, secrets};

/// No shape is shorter than this.
pub(super) const RUN_BYTES_MIN: usize = 16;
/// Distance over which text before a run may give it its meaning, in bytes: a PEM header with encryption headers behind
/// it.
pub(super) const CONTEXT_BYTES: usize = 320;
/// A longer run is looked at in pieces of this size, so that what is held back is bounded.
const PIECE_BYTES: usize = 8192;
/// Number of bytes of a piece that are looked at again with the next one, so that a secret across the cut is seen.
const OVERLAP_BYTES: usize = 512;
/// The most separators between two lines of a PEM body: newlines, escapes, quotes, indentation.
const SEPARATOR_BYTES_MAX: usize = 64;

/// The longest mark before a line of a PEM body: a number and what sets it off.
const LINE_MARK_BYTES_MAX: usize = 16;

/// A part of the text to replace: by a marker, or by nothing if it belongs to the secret before.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MaskEdit {
    pub(super) range: Range<usize>,
    pub(super) kind: Option<&'static str>,
}

/// The state that is carried from run to run.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    /// The rest of the current run belongs to a secret that was cut.
    in_secret: bool,
    /// The lines that follow may belong to the body of a PEM block.
    in_pem: bool,
}

/// True if secrets may contain `byte`.
pub(super) const fn is_run(byte: u8) -> bool {
    RUN[byte as usize]
}

static RUN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let c = byte as u8;
        table[byte] = c.is_ascii_alphanumeric()
            || matches!(c, b'_' | b'-' | b'+' | b'/' | b'.' | b'~' | b'%' | b'!' | b'@' | b'#' | b'$' | b'^' | b'*');
        byte += 1;
    }
    table
};

impl Scanner {
    /// Looks at `text` from `from` on, adds what to replace to `edits`, and returns how far the text is
    /// decided; all of it if this is the `last` of it.
    pub(super) fn scan(&mut self, text: &str, from: usize, last: bool, edits: &mut Vec<MaskEdit>) -> usize {
        let bytes = text.as_bytes();
        let ended = if last { bytes.len() } else { start_of_last_run(bytes, from) };
        let mut at = from;
        loop {
            if self.in_secret {
                let end = end_of_run(bytes, at, bytes.len());
                push(edits, at..end, None);
                at = end;
                if end == bytes.len() && !last {
                    return at;
                }
                self.in_secret = false;
            }
            if self.in_pem {
                match pem_line(bytes, at, last) {
                    PemLine::Undecided => return at,
                    PemLine::Body { end, more } => {
                        push(edits, at..end, None);
                        at = end;
                        self.in_pem = more;
                    }
                    PemLine::Other => self.in_pem = false,
                }
                continue;
            }
            let run = match next_run(bytes, at, ended) {
                Some(run) => run,
                None if !last && bytes.len() - ended.max(at) >= PIECE_BYTES => {
                    ended.max(at)..ended.max(at) + PIECE_BYTES
                }
                None => return ended.max(at),
            };
            at = self.look_at(text, run, edits);
        }
    }

    /// Looks at one run, or at a piece of a longer one, and returns where to go on.
    fn look_at(&mut self, text: &str, run: Range<usize>, edits: &mut Vec<MaskEdit>) -> usize {
        let is_piece = run.len() >= PIECE_BYTES;
        let mut go_on = if is_piece { run.end - OVERLAP_BYTES } else { run.end };
        let mut context = run.start.saturating_sub(CONTEXT_BYTES);
        while !text.is_char_boundary(context) {
            context += 1;
        }
        let after = text.as_bytes().get(run.end).copied();
        for (secret, kind) in secrets(&text[context..run.start], &text[run.clone()], after) {
            let range = run.start + secret.start..run.start + secret.end;
            let reaches_end = range.end == run.end;
            go_on = go_on.max(range.end);
            self.in_secret = is_piece && reaches_end;
            self.in_pem = kind == PRIVATE_KEY && reaches_end;
            push(edits, range, Some(kind));
        }
        go_on
    }
}

fn push(edits: &mut Vec<MaskEdit>, range: Range<usize>, kind: Option<&'static str>) {
    if !range.is_empty() {
        edits.push(MaskEdit { range, kind });
    }
}

pub(super) fn start_of_last_run(bytes: &[u8], from: usize) -> usize {
    let run = bytes[from..].iter().rev().take_while(|byte| is_run(**byte)).count();
    bytes.len() - run
}

pub(super) fn end_of_run(bytes: &[u8], from: usize, limit: usize) -> usize {
    from + bytes[from..limit].iter().take_while(|byte| is_run(**byte)).count()
}

/// The next run of at least [`RUN_BYTES_MIN`] bytes between `from` and `limit`, at most a piece of it.
fn next_run(bytes: &[u8], from: usize, limit: usize) -> Option<Range<usize>> {
    let mut at = from;
    while let Some(word) = bytes[..limit].get(at..at + WORD_BYTES) {
        // A run that is long enough fills one of the words, wherever it begins.
        if has_break(word) || !word.iter().all(|byte| is_run(*byte)) {
            at += WORD_BYTES;
            continue;
        }
        let start = at - bytes[from..at].iter().rev().take_while(|byte| is_run(**byte)).count();
        let end = end_of_run(bytes, at, limit.min(start + PIECE_BYTES));
        if end - start >= RUN_BYTES_MIN {
            return Some(start..end);
        }
        at = end;
    }
    None
}

/// Number of bytes that are looked at together: every run of at least twice as many fills one such word.
const WORD_BYTES: usize = RUN_BYTES_MIN / 2;

/// True if one of eight bytes is a space, a control character or not ASCII. These most often end a run, and are found
/// without looking at each byte.
fn has_break(word: &[u8]) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let Ok(word) = word.try_into().map(u64::from_le_bytes) else { return false };
    (word.wrapping_sub(ONES * 0x21) | word) & HIGHS != 0
}

/// The length of what `cat -n`, `grep -n`, `diff` and quoting put before a line.
fn line_mark(line: &[u8]) -> usize {
    let is_end = |byte: &u8| matches!(byte, b' ' | b'\t' | b'|' | b':' | b'>');
    let mark = line.iter().take(LINE_MARK_BYTES_MAX).take_while(|byte| byte.is_ascii_digit() || is_end(byte)).count();
    let length = line[..mark].iter().rposition(is_end).map_or(0, |last| last + 1);
    let is_removed = line[length..].starts_with(b"-") && !line[length..].starts_with(b"--");
    length + usize::from(is_removed)
}

/// The next part of a PEM block's body.
enum PemLine {
    /// Not enough text to tell.
    Undecided,
    /// A piece of the body up to `end`; `more` may follow.
    Body { end: usize, more: bool },
    /// Not the body.
    Other,
}

fn pem_line(bytes: &[u8], at: usize, last: bool) -> PemLine {
    let is_separator = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'\\' | b'"' | b'\'' | b',' | b'=');
    // Programs put texts together with a plus sign that stands alone.
    let is_plus = |at: usize| bytes[at] == b'+' && bytes.get(at + 1).is_some_and(u8::is_ascii_whitespace);
    let limit = bytes.len().min(at + SEPARATOR_BYTES_MAX);
    let separators = (at..limit).take_while(|at| is_separator(bytes[*at]) || is_plus(*at)).count();
    if separators == SEPARATOR_BYTES_MAX {
        return PemLine::Other;
    }
    let from = at + separators + line_mark(&bytes[at + separators..]);
    let end = end_of_run(bytes, from, bytes.len().min(from + PIECE_BYTES));
    if end == bytes.len() && !last && end - from < PIECE_BYTES {
        return PemLine::Undecided;
    }
    let body =
        bytes[from..end].iter().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')).count();
    match body {
        0 => PemLine::Other,
        _ if from + body == end => PemLine::Body { end, more: body >= RUN_BYTES_MIN },
        _ if body >= RUN_BYTES_MIN => PemLine::Body { end: from + body, more: false },
        _ => PemLine::Other,
    }
}
