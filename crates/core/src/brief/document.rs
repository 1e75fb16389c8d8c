//! Splits a brief's text where the front matter ends and the body begins.

use super::problem::At;
use super::sections;

/// The parts of a brief's text.
#[derive(Debug, PartialEq)]
pub(super) struct BriefParts {
    pub(super) front: Front,
    pub(super) body: At,
    /// The text after the closing marker on its line; it belongs to the body.
    pub(super) after_marker: Option<At>,
}

/// The front matter of a brief's text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Front {
    /// The text does not begin with a marker.
    None,
    /// The text between two markers.
    Closed(At),
    /// There is no second marker: what is most likely meant.
    Unclosed(At),
}

/// Splits a text at its markers: OpenWar's rule, but a carriage return before a line feed never counts.
///
/// A text without a second marker is split before its first line that is the heading of a known section.
pub(super) fn split(text: &str) -> BriefParts {
    let begin = if text.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
    if !text[begin..].starts_with("---") {
        return BriefParts { front: Front::None, body: At { start: begin, end: text.len() }, after_marker: None };
    }
    let marker_end = begin + 3;
    let Some(before_closing) = text[marker_end..].find("\n---") else {
        let end = first_known_heading(text, marker_end).unwrap_or(text.len());
        let start = after_newline(text, marker_end);
        return BriefParts {
            front: Front::Unclosed(At { start, end: end.max(start) }),
            body: At { start: end.max(start), end: text.len() },
            after_marker: None,
        };
    };
    let front_end = marker_end + before_closing;
    let closed = front_end + "\n---".len();
    let line_end = text[closed..].find('\n').map_or(text.len(), |feed| closed + feed);
    let rest = At { start: closed, end: line_end };
    BriefParts {
        front: Front::Closed(At { start: after_newline(text, marker_end).min(front_end), end: front_end }),
        body: At { start: after_newline(text, closed), end: text.len() },
        after_marker: (!super::whitespace::trim(&text[rest.start..rest.end]).is_empty()).then_some(rest),
    }
}

/// The offset behind one line ending at `at`, or `at` if there is none.
fn after_newline(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    if rest.starts_with("\r\n") {
        at + 2
    } else if rest.starts_with('\n') {
        at + 1
    } else {
        at
    }
}

fn first_known_heading(text: &str, from: usize) -> Option<usize> {
    let mut start = from;
    for line in text[from..].split_inclusive('\n') {
        if sections::is_known_heading(line) {
            return Some(start);
        }
        start += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows the front matter and the body of a text.
    #[track_caller]
    fn check(text: &str, front: Option<&str>, body: &str) {
        let parts = split(text);
        let found = match parts.front {
            Front::None => None,
            Front::Closed(at) | Front::Unclosed(at) => Some(&text[at.start..at.end]),
        };
        assert_eq!((found, &text[parts.body.start..parts.body.end]), (front, body), "{text:?}");
    }

    #[test]
    fn the_front_matter_stands_between_two_markers() {
        check("---\na: b\n---\nbody", Some("a: b"), "body");
        check("---\r\na: b\r\n---\r\nbody\r\n", Some("a: b\r"), "body\r\n");
        check("\u{FEFF}---\na: b\n---\nbody", Some("a: b"), "body");
        check("---\n---\n# x", Some(""), "# x");
        check("---\n---", Some(""), "");
        check("---\na: b\n----\n", Some("a: b"), "-\n");
        check("---a: b\n---\n", Some("a: b"), "");
    }

    #[test]
    fn a_text_that_does_not_begin_with_a_marker_is_all_body() {
        check("", None, "");
        check("\n---\na: b\n---\n", None, "\n---\na: b\n---\n");
    }

    #[test]
    fn without_a_second_marker_the_first_known_heading_begins_the_body() {
        check("---\na: b\n# note\n# Objective\nx", Some("a: b\n# note\n"), "# Objective\nx");
        check("---\na: b", Some("a: b"), "");
        check("---", Some(""), "");
    }

    #[test]
    fn text_behind_the_closing_marker_is_noticed() {
        assert!(split("---\n--- x\n").after_marker.is_some());
        assert!(split("---\n--- \r\n").after_marker.is_none());
    }
}
