//! The lines in which two texts differ.
//!
//! Lines are numbered first, and one algorithm is called: by way of similar's own types for texts the program would
//! have all six of its algorithms, each for several kinds of number. A test holds the result to theirs.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{DiffOp, DiffTag, DiffableStr as _, group_diff_ops};

/// A part in which two texts differ, with the lines around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffHunk<'a> {
    /// Its lines with their ends, each behind `' '`, `'-'` or `'+'`.
    pub lines: Vec<(char, &'a str)>,
    before: Range<usize>,
    after: Range<usize>,
}

/// Returns the parts in which two texts differ, each with so many lines around it.
#[must_use]
pub fn hunks<'a>(before: &'a str, after: &'a str, context_lines: usize) -> Vec<DiffHunk<'a>> {
    let (before, after) = (before.tokenize_lines(), after.tokenize_lines());
    let groups = group_diff_ops(ops(&before, &after), context_lines);
    groups.iter().filter_map(|group| DiffHunk::of(group, &before, &after)).collect()
}

/// Returns the difference of two texts as a unified diff with three lines of context; nothing if there is none.
#[must_use]
pub fn unified(before: &str, after: &str, name_before: &str, name_after: &str) -> String {
    let mut text = String::new();
    for (number, hunk) in hunks(before, after, 3).iter().enumerate() {
        if number == 0 {
            let _ = writeln!(text, "--- {name_before}\n+++ {name_after}");
        }
        let _ = writeln!(text, "@@ -{} +{} @@", span(&hunk.before), span(&hunk.after));
        for (sign, line) in &hunk.lines {
            let _ = write!(text, "{sign}{line}");
            if !line.ends_with(['\n', '\r']) {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    text
}

fn ops<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<DiffOp> {
    let mut numbers: HashMap<&'a str, usize> = HashMap::new();
    let mut numbered = |lines: &[&'a str]| -> Vec<usize> {
        let mut number_of = |line: &'a str| {
            let next = numbers.len();
            *numbers.entry(line).or_insert(next)
        };
        lines.iter().map(|line| number_of(line)).collect()
    };
    let (before, after) = (numbered(before), numbered(after));
    let mut found = Compact::new(Replace::new(Capture::new()), &before[..], &after[..]);
    let Ok(()) = myers::diff(&mut found, &before[..], 0..before.len(), &after[..], 0..after.len());
    found.into_inner().into_inner().into_ops()
}

impl<'a> DiffHunk<'a> {
    fn of(group: &[DiffOp], before: &[&'a str], after: &[&'a str]) -> Option<Self> {
        let (first, last) = (group.first()?, group.last()?);
        let mut lines = Vec::new();
        for op in group {
            let (old, new) = (&before[op.old_range()], &after[op.new_range()]);
            if op.tag() == DiffTag::Equal {
                lines.extend(old.iter().map(|line| (' ', *line)));
            } else {
                lines.extend(old.iter().map(|line| ('-', *line)));
                lines.extend(new.iter().map(|line| ('+', *line)));
            }
        }
        let before = first.old_range().start..last.old_range().end;
        let after = first.new_range().start..last.new_range().end;
        Some(Self { lines, before, after })
    }
}

/// The lines of a hunk as its head names them: the first and their number, the line before it if there are none.
fn span(lines: &Range<usize>) -> String {
    match lines.len() {
        1 => (lines.start + 1).to_string(),
        0 => format!("{},0", lines.start),
        len => format!("{},{len}", lines.start + 1),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use similar::{ChangeTag, TextDiff};

    use super::*;

    fn assert_as_similar_has_it(before: &str, after: &str) {
        let diff = TextDiff::from_lines(before, after);
        let expected = diff.unified_diff().context_radius(3).header("a", "b").to_string();
        assert_eq!(unified(before, after, "a", "b"), expected);
        let expected: Vec<Vec<(char, &str)>> = diff
            .grouped_ops(1)
            .iter()
            .map(|group| {
                let changes = group.iter().flat_map(|op| diff.iter_changes(op));
                changes
                    .map(|change| match change.tag() {
                        ChangeTag::Equal => (' ', change.value()),
                        ChangeTag::Delete => ('-', change.value()),
                        ChangeTag::Insert => ('+', change.value()),
                    })
                    .collect()
            })
            .collect();
        let found: Vec<_> = hunks(before, after, 1).into_iter().map(|hunk| hunk.lines).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_change_is_shown_with_the_lines_around_it() {
        let before = "a\nb\nc\nd\ne\nf";
        assert_eq!(
            unified(before, "a\nb\nc\nd\nE\nf\ng\n", "trusted", "now"),
            "--- trusted\n+++ now\n@@ -2,5 +2,6 @@\n b\n c\n d\n-e\n-f\n\\ No newline at end of file\n+E\n+f\n+g\n"
        );
        assert_eq!(unified(before, before, "trusted", "now"), "");
        assert_eq!(unified("", "a\n", "x", "y"), "--- x\n+++ y\n@@ -0,0 +1 @@\n+a\n");
    }

    #[test]
    fn long_texts_differ_as_similar_has_it() {
        let text = |skip: usize, every: usize| -> String {
            (0..900).filter(|line| line % skip != 1).map(|line| format!("line {}\n", line % every)).collect()
        };
        for (before, after) in
            [(7, 900), (3, 11), (2, 400), (5, 2)].into_iter().flat_map(|a| [(a, (7, 90)), (a, (4, 13))])
        {
            assert_as_similar_has_it(&text(before.0, before.1), &text(after.0, after.1));
        }
    }

    proptest! {
        #[test]
        fn texts_differ_as_similar_has_it(before in "([abc]{0,2}(\n|\r\n|\r)){0,40}[ab]{0,1}", after in "([abc]{0,2}(\n|\r\n|\r)){0,40}[ab]{0,1}") {
            assert_as_similar_has_it(&before, &after);
        }
    }
}
