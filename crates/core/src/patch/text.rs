//! A file's content as lines, and the content that edits make of it, byte for byte.

use super::FILE_LINES_MAX;
use super::parse::{Hunk, HunkLine, LineKind};
use super::place::Placement;
use super::reject::{RejectCode, Rejected};

const BOM: &[u8] = b"\xef\xbb\xbf";

/// A file's content, split into lines without copying it.
pub(super) struct Text<'a> {
    /// The bytes before the first line: a byte order mark that no hunk mentions, or nothing.
    bom: &'a [u8],
    bytes: &'a [u8],
    /// Start of each line, and at last the end.
    starts: Vec<usize>,
}

impl<'a> Text<'a> {
    /// Splits `content`. A byte order mark is set aside, unless the hunks mention one.
    pub(super) fn new(content: &'a [u8], hunks: &[Hunk<'_>]) -> Result<Self, Rejected> {
        let mentioned = || {
            hunks
                .iter()
                .flat_map(|hunk| &hunk.lines)
                .any(|line| line.kind != LineKind::Add && line.text.starts_with('\u{feff}'))
        };
        let (bom, bytes) = match content.strip_prefix(BOM) {
            Some(rest) if !mentioned() => (BOM, rest),
            _ => (&b""[..], content),
        };
        let mut starts = vec![0];
        for feed in memchr::memchr_iter(b'\n', bytes) {
            if starts.len() > FILE_LINES_MAX {
                return Err(Rejected::new(
                    RejectCode::TooLarge,
                    format!("the file has more than {FILE_LINES_MAX} lines"),
                ));
            }
            starts.push(feed + 1);
        }
        if starts.last() != Some(&bytes.len()) {
            starts.push(bytes.len());
        }
        Ok(Self { bom, bytes, starts })
    }

    /// Returns the number of lines; an end without line feed counts as one.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The line with its ending.
    pub(super) fn whole(&self, line: usize) -> &'a [u8] {
        match (self.starts.get(line), self.starts.get(line + 1)) {
            (Some(start), Some(end)) => &self.bytes[*start..*end],
            _ => b"",
        }
    }

    /// The line without its line feed.
    pub(super) fn raw(&self, line: usize) -> &'a [u8] {
        let whole = self.whole(line);
        whole.strip_suffix(b"\n").unwrap_or(whole)
    }

    /// The line without its ending, whichever it is.
    pub(super) fn body(&self, line: usize) -> &'a [u8] {
        without_cr(self.raw(line))
    }

    fn ending(&self, line: usize) -> Option<&'static [u8]> {
        let whole = self.whole(line);
        if whole.ends_with(b"\r\n") { Some(b"\r\n") } else { whole.ends_with(b"\n").then_some(b"\n") }
    }

    /// True if the last line has no line feed.
    pub(super) fn ends_open(&self) -> bool {
        !self.bytes.is_empty() && !self.bytes.ends_with(b"\n")
    }

    /// The ending for a line put at `at` where `removed` lines go: that of the line it replaces, else of the
    /// line before, else of the line after, else of the first, else a line feed.
    fn ending_for(&self, at: usize, removed: usize, nth: usize) -> &'static [u8] {
        let replaced = removed.checked_sub(1).map(|last| at + nth.min(last));
        [replaced, at.checked_sub(1), Some(at), Some(0)]
            .into_iter()
            .flatten()
            .find_map(|line| self.ending(line))
            .unwrap_or(b"\n")
    }
}

pub(super) fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The content after all placements, whose edits don't overlap.
pub(super) fn rewritten(text: &Text<'_>, hunks: &[Hunk<'_>], placements: &[Placement]) -> Vec<u8> {
    let mut edits: Vec<_> = placements
        .iter()
        .zip(hunks)
        .flat_map(|(placement, hunk)| placement.edits.iter().map(move |edit| (edit, placement, hunk)))
        .collect();
    edits.sort_by_key(|(edit, ..)| (edit.at, edit.at + edit.remove));
    let mut out = Vec::with_capacity(text.bytes.len() + text.bom.len());
    out.extend_from_slice(text.bom);
    let mut next = 0;
    for (edit, placement, hunk) in &edits {
        for line in next..edit.at {
            out.extend_from_slice(text.whole(line));
        }
        next = next.max(edit.at + edit.remove);
        let added = edit.insert.iter().filter_map(|index| hunk.lines.get(*index));
        for (nth, line) in added.enumerate() {
            close_line(&mut out, text, edit.at, text.bom.len());
            out.extend_from_slice(if placement.as_written {
                line.text.as_bytes()
            } else {
                without_cr(line.text.as_bytes())
            });
            let is_last = next >= text.len() && nth + 1 == edit.insert.len();
            let stays_open = line.no_newline || placement.keeps_open_end;
            if !(is_last && stays_open) {
                let ending = if placement.as_written { b"\n" } else { text.ending_for(edit.at, edit.remove, nth) };
                out.extend_from_slice(ending);
            }
        }
    }
    for line in next..text.len() {
        out.extend_from_slice(text.whole(line));
    }
    if out == text.bom && !edits.is_empty() { Vec::new() } else { out }
}

/// Gives the line at the end of `out` its ending, if something is to follow a file's open end.
fn close_line(out: &mut Vec<u8>, text: &Text<'_>, at: usize, bom_len: usize) {
    if out.len() > bom_len && !out.ends_with(b"\n") {
        out.extend_from_slice(text.ending_for(at, 0, 0));
    }
}

/// The content of a new file made of all added lines.
pub(super) fn created(hunks: &[Hunk<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    let added: Vec<&HunkLine<'_>> =
        hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.kind == LineKind::Add).collect();
    for (nth, line) in added.iter().enumerate() {
        out.extend_from_slice(line.text.as_bytes());
        if !(line.no_newline && nth + 1 == added.len()) {
            out.push(b'\n');
        }
    }
    out
}
