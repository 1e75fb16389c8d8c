//! Finds the parts of a turn that are fenced code: text in them is shown, not said.
//!
//! A fence is a run of at least three backticks anywhere, or of tildes at the head of a line. One that opens at the
//! head of a line is closed as markdown closes it: by a run of the same character, at least as long, alone on its line.
//! One that opens within a line is closed by the next run that is long enough. A fence that is never closed reaches to
//! the end, and is kept apart: a cut turn hides phrases, but must not hide a marker that would halt or finish the run.

use std::ops::Range;

use memchr::memmem;

use super::words::{after_ws, is_ws};

/// The fenced parts of one text, as byte ranges.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fences {
    /// From the opening run to the end of the closing one, in order.
    pub(super) closed: Vec<Range<usize>>,
    open_from: Option<usize>,
}

/// Fence that is open while reading.
struct OpenFence {
    from: usize,
    mark: u8,
    length: usize,
    /// True if only a run alone on its line closes it.
    block: bool,
}

impl Fences {
    pub(super) fn of(text: &str) -> Self {
        if memmem::find(text.as_bytes(), b"```").is_none() && memmem::find(text.as_bytes(), b"~~~").is_none() {
            return Self::default();
        }
        let mut fences = Self::default();
        let mut open: Option<OpenFence> = None;
        let mut line_from = 0;
        for line in text.split_inclusive('\n') {
            for run in MarkerRun::all_in(line) {
                let at = line_from + run.from;
                match &open {
                    Some(fence)
                        if run.mark == fence.mark && run.length >= fence.length && (!fence.block || run.alone) =>
                    {
                        fences.closed.push(fence.from..at + run.length);
                        open = None;
                    }
                    Some(_) => {}
                    None if run.mark == b'`' || run.heads_line => {
                        let block = run.heads_line && run.last_in_line;
                        open = Some(OpenFence { from: at, mark: run.mark, length: run.length, block });
                    }
                    None => {}
                }
            }
            line_from += line.len();
        }
        fences.open_from = open.map(|fence| fence.from);
        fences
    }

    /// Returns true if a phrase at `at` is shown rather than said: inside a fence, closed or not.
    pub(super) fn hide(&self, at: usize) -> bool {
        self.hide_marker(at) || self.open_from.is_some_and(|from| from <= at)
    }

    /// Returns true if a marker at `at` is shown rather than said: inside a closed fence.
    pub(super) fn hide_marker(&self, at: usize) -> bool {
        let before = self.closed.partition_point(|fence| fence.end <= at);
        self.closed.get(before).is_some_and(|fence| fence.start <= at)
    }
}

/// A run of at least three backticks or tildes within one line.
struct MarkerRun {
    from: usize,
    length: usize,
    mark: u8,
    heads_line: bool,
    alone: bool,
    last_in_line: bool,
}

impl MarkerRun {
    fn all_in(line: &str) -> Vec<Self> {
        let bytes = line.as_bytes();
        let head = after_ws(line, 0);
        let mut runs: Vec<Self> = Vec::new();
        let mut at = 0;
        while let Some(found) = memchr::memchr2(b'`', b'~', bytes.get(at..).unwrap_or_default()) {
            let from = at + found;
            let mark = bytes[from];
            let length = bytes[from..].iter().take_while(|byte| **byte == mark).count();
            at = from + length;
            if length < 3 {
                continue;
            }
            if let Some(earlier) = runs.last_mut().filter(|earlier| earlier.mark == mark) {
                earlier.last_in_line = false;
            }
            let heads_line = from == head;
            let alone = heads_line && line[at..].chars().all(is_ws);
            runs.push(Self { from, length, mark, heads_line, alone, last_in_line: true });
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, said: &str) {
        let fences = Fences::of(text);
        let heard: String = text.char_indices().filter(|(at, _)| !fences.hide(*at)).map(|(_, c)| c).collect();
        assert_eq!(heard, said, "{text:?}");
    }

    #[test]
    fn only_what_is_outside_fences_is_said() {
        check("a\n```\nb\n```\nc", "a\n\nc");
        check("a ```b``` c", "a  c");
        check("a: ```\nb\n``` c", "a:  c");
        check("a\n~~~\n```\nb\n~~~\nc", "a\n\nc");
        check("````\n```\nb\n```\n````\nc", "\nc");
        check("```rust\n/// ```\nb\n```\nc", "\nc");
        check("  ```\n  b\n  ```\nc", "  \nc");
        check("a ~~~ b ~~~ c", "a ~~~ b ~~~ c");
        check("a `b` `` c", "a `b` `` c");
        check("```one``` two ```three``` four", " two  four");
    }

    #[test]
    fn an_open_fence_hides_phrases_but_no_markers() {
        let fences = Fences::of("a\n```\nb");
        assert!(fences.hide(6));
        assert!(!fences.hide_marker(6));
    }
}
