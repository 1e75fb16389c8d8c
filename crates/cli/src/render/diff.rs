//! The change that a write or a patch makes to files, as lines for a screen.
//!
//! In: a file as it is in the folder and as it is to be, or a patch as the agent wrote it. Out: a [`ShownDiff`].
//! Reads no file and knows nothing of a terminal.

use adjutant_core::session::act_text::patched_file;
use adjutant_core::words::line_diff;
use adjutant_core::words::visible::visible_text;

/// Number of unchanged lines around a change.
const CONTEXT_LINES: usize = 3;

/// The longest text that is compared, in lines: a comparison costs their product at worst.
const COMPARED_LINES_MAX: usize = 4_000;

/// The most columns of a line that are shown: what is longer is no text that anybody reads.
const LINE_BYTES_MAX: usize = 2_000;

/// Content of a file before a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Before {
    /// There is no such file.
    Absent,
    /// A text.
    Text(String),
    /// Not known, and why.
    Unknown(&'static str),
}

impl Before {
    /// Returns the text; nothing if there is none, or it is not known.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Absent | Self::Unknown(_) => "",
        }
    }
}

/// A change to one or more files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ShownDiff {
    /// The files, and what becomes of them, on one line.
    pub(super) title: String,
    /// Lines behind `+`, `-`, a space, or `@` for what stands between.
    pub(super) lines: Vec<(char, String)>,
    pub(super) added: usize,
    pub(super) removed: usize,
}

impl ShownDiff {
    fn of(title: String, lines: Vec<(char, String)>) -> Self {
        let count = |wanted: char| lines.iter().filter(|(sign, _)| *sign == wanted).count();
        let (added, removed) = (count('+'), count('-'));
        Self { title, added, removed, lines }
    }

    /// Returns the number of lines that come and go, such as `+3 -1`.
    pub(super) fn counts(&self) -> String {
        counts(self.added, self.removed)
    }

    /// Returns the lines that are shown where so many have room, in pieces that follow each other, and the number of those
    /// left out. A cut is worth a line of its own, and so is what is left out between two pieces. Where a change takes lines
    /// away and adds others, both are shown.
    pub(super) fn cut(&self, lines_max: usize) -> (Vec<&[(char, String)]>, usize) {
        if self.lines.len() <= lines_max {
            return (vec![&self.lines], 0);
        }
        let shown = lines_max.saturating_sub(1).max(1);
        let head = &self.lines[..shown];
        let has = |lines: &[(char, String)], wanted: char| lines.iter().any(|(sign, _)| *sign == wanted);
        let unseen = |sign: &char| has(&self.lines, *sign) && !has(head, *sign);
        let at = ['+', '-']
            .iter()
            .find(|sign| unseen(sign))
            .and_then(|missing| self.lines.iter().position(|(sign, _)| sign == missing));
        let Some(at) = at.filter(|_| shown >= 3) else { return (vec![head], self.lines.len() - shown) };
        let first = (shown - 1) / 2;
        let end = self.lines.len().min(at + shown - 1 - first);
        (vec![&self.lines[..first], &self.lines[at..end]], self.lines.len() - first - (end - at))
    }
}

/// Returns numbers of lines that come and go.
pub(super) fn counts(added: usize, removed: usize) -> String {
    format!("+{added} -{removed}")
}

/// Returns the change to a file that is written.
pub(super) fn written(path: &str, before: &Before, after: &str) -> ShownDiff {
    let all = |sign: char, text: &str| text.lines().map(|line| (sign, fit(line))).collect::<Vec<_>>();
    match before {
        Before::Absent => ShownDiff::of(format!("{path} (new)"), all('+', after)),
        Before::Unknown(why) => ShownDiff::of(format!("{path} ({why}; all that it will hold)"), all('+', after)),
        Before::Text(before) if before == after => ShownDiff::of(format!("{path} (unchanged)"), Vec::new()),
        Before::Text(before) if !is_comparable(before) || !is_comparable(after) => {
            ShownDiff::of(format!("{path} (too long to compare; all that it will hold)"), all('+', after))
        }
        Before::Text(before) => ShownDiff::of(path.to_owned(), compared(before, after)),
    }
}

/// Returns the change of text that is added at the end of a file.
pub(super) fn appended(path: &str, content: &str) -> ShownDiff {
    ShownDiff::of(format!("{path} (added at its end)"), content.lines().map(|line| ('+', fit(line))).collect())
}

/// Returns the change that a patch makes, as the agent wrote it.
pub(super) fn patched(patch: &str) -> ShownDiff {
    let mut lines = Vec::new();
    let mut paths: Vec<&str> = Vec::new();
    let mut rest = patch.lines().peekable();
    while let Some(line) = rest.next() {
        let is_head = line.starts_with("--- ") && rest.peek().is_some_and(|next| next.starts_with("+++ "));
        if is_head {
            let new = rest.next().unwrap_or_default();
            paths.push(patched_file(line, new));
            lines.extend([('@', fit(line)), ('@', fit(new))]);
            continue;
        }
        match line.chars().next() {
            Some(sign @ ('+' | '-' | ' ')) => lines.push((sign, fit(&line[1..]))),
            None => lines.push((' ', String::new())),
            Some(_) => lines.push(('@', fit(line))),
        }
    }
    ShownDiff::of(visible_text(&paths.join(", ")).into_owned(), lines)
}

/// Returns the numbers of lines that come and go between two texts; `None` if they are too long to compare.
pub(super) fn net_counts(before: &str, after: &str) -> Option<(usize, usize)> {
    if !is_comparable(before) || !is_comparable(after) {
        return None;
    }
    let hunks = line_diff::hunks(before, after, 0);
    let count = |wanted: char| hunks.iter().flat_map(|hunk| &hunk.lines).filter(|(sign, _)| *sign == wanted).count();
    Some((count('+'), count('-')))
}

fn compared(before: &str, after: &str) -> Vec<(char, String)> {
    let mut lines = Vec::new();
    for (number, hunk) in line_diff::hunks(before, after, CONTEXT_LINES).iter().enumerate() {
        if number > 0 {
            lines.push(('@', "...".to_owned()));
        }
        lines.extend(hunk.lines.iter().map(|(sign, line)| (*sign, fit(line.trim_end_matches(['\n', '\r'])))));
    }
    lines
}

fn is_comparable(text: &str) -> bool {
    text.lines().take(COMPARED_LINES_MAX + 1).count() <= COMPARED_LINES_MAX
}

/// Returns a line as it may be shown.
fn fit(line: &str) -> String {
    let end = line.floor_char_boundary(LINE_BYTES_MAX);
    let more = if end < line.len() { "\u{2026}" } else { "" };
    format!("{}{more}", visible_text(&line[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(diff: &ShownDiff) -> String {
        let lines: String = diff.lines.iter().map(|(sign, line)| format!("{sign}{line}\n")).collect();
        format!("{} {}\n{lines}", diff.title, diff.counts())
    }

    #[test]
    fn a_write_is_compared_with_what_is_there() {
        let before = Before::Text("a\nb\nc\n".to_owned());
        assert_eq!(shown(&written("x", &before, "a\nB\nc\n")), "x +1 -1\n a\n-b\n+B\n c\n");
        assert_eq!(shown(&written("x", &Before::Absent, "a\nb")), "x (new) +2 -0\n+a\n+b\n");
        assert_eq!(shown(&written("x", &before, "a\nb\nc\n")), "x (unchanged) +0 -0\n");
        let unknown = Before::Unknown("not text");
        assert_eq!(shown(&written("x", &unknown, "a\n")), "x (not text; all that it will hold) +1 -0\n+a\n");
    }

    #[test]
    fn a_patch_is_shown_as_it_is_written() {
        let patch = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-z\n";
        let diff = patched(patch);
        assert_eq!((diff.title.as_str(), diff.counts().as_str()), ("x, y", "+1 -2"));
        let patch = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n--- b\n+c\n";
        assert_eq!(shown(&patched(patch)), "x +1 -1\n@--- a/x\n@+++ b/x\n@@@ -1,2 +1,2 @@\n a\n--- b\n+c\n");
    }

    #[test]
    fn a_long_diff_is_cut_and_says_by_how_much() {
        let long: String = (0..100).map(|line| format!("{line}\n")).collect();
        let diff = written("x", &Before::Absent, &long);
        let (pieces, left) = diff.cut(20);
        assert_eq!((pieces.len(), pieces[0].len(), left), (1, 19, 81));
        assert_eq!(diff.cut(100).1, 0);
    }

    #[test]
    fn a_diff_that_is_cut_shows_what_goes_and_what_comes() {
        let lines = |word: &str| (0..40).map(|line| format!("{word} {line}\n")).collect::<String>();
        let diff = written("x", &Before::Text(lines("old")), &lines("new"));
        for lines_max in [4, 8, 20, 41, 60] {
            let (pieces, left) = diff.cut(lines_max);
            let shown: Vec<&(char, String)> = pieces.iter().copied().flatten().collect();
            for sign in ['-', '+'] {
                assert!(shown.iter().any(|(shown, _)| *shown == sign), "{sign} in {lines_max}");
            }
            assert_eq!(shown.len() + left, 80);
            assert!(shown.len() + pieces.len() <= lines_max, "{} in {lines_max}", shown.len());
        }
    }

    #[test]
    fn no_line_of_a_file_drives_the_terminal() {
        let diff = written("x", &Before::Text("\u{1b}[2J\r\n".to_owned()), "\u{9b}1m\r\n");
        assert_eq!(shown(&diff), "x +1 -1\n-\\u{1b}[2J\n+\\u{9b}1m\n");
    }
}
