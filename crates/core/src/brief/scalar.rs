//! Single values of the front matter, and inline lists of them.
//!
//! In: a piece of a line. Out: a node. Numbers, quotes and comments follow the peer's rules, not YAML's:
//! there are no escapes, and a comment may begin within quotes.

use super::node::{Node, Value};
use super::problem::{At, Problem, Problems};
use super::whitespace::{is_space, trim};

/// A piece of the text with its offset.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) text: &'a str,
    pub(super) start: usize,
}

impl<'a> Piece<'a> {
    pub(super) fn trimmed(self) -> Self {
        let begun = self.text.trim_start_matches(is_space);
        Self { text: trim(begun), start: self.start + (self.text.len() - begun.len()) }
    }

    /// Without its comment: from the first `#`, if that is at the beginning or behind whitespace. If the
    /// first `#` is glued to a word, later ones begin no comment either.
    pub(super) fn without_comment(self) -> Self {
        let Some(mark) = self.text.find('#') else {
            return self;
        };
        let before = &self.text[..mark];
        if before.is_empty() || before.ends_with(is_space) { Self { text: before, ..self } } else { self }
    }

    pub(super) fn at(self) -> At {
        At { start: self.start, end: self.start + self.text.len() }
    }
}

/// Reads one value: `true`, `false`, a number, quoted text without escapes, an inline list, or text.
pub(super) fn scalar(field: &str, piece: Piece<'_>, problems: &mut Problems<'_>) -> Node {
    let text = piece.text;
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let value = match inner {
        Some(inner) => {
            let inner = Piece { text: inner, start: piece.start + 1 };
            Value::Inline(inline_items(field, inner, problems), text.to_owned())
        }
        None => single(field, piece, problems),
    };
    Node { at: piece.at(), value }
}

/// Reads one value that is no list.
fn single(field: &str, piece: Piece<'_>, problems: &mut Problems<'_>) -> Value {
    let text = piece.text;
    if let Some(inner) = unquoted(text) {
        return Value::Text(inner.to_owned());
    }
    if text == "true" || text == "false" {
        return Value::Bool(text == "true");
    }
    if let Some(number) = number(text) {
        return Value::Number(number);
    }
    if text.starts_with(['"', '\'']) {
        let unclosed = Problem::warning(field, "the quote is not closed, so it is part of the text")
            .found(text)
            .fix("close it on the same line; a `#` behind a space begins a comment even within quotes".to_owned());
        problems.push(unclosed, Some(piece.at()));
    } else if text.starts_with(['*', '&', '!', '%', '@', '`']) {
        let indicator = Problem::warning(field, "other YAML readers refuse a value that begins like this")
            .found(text)
            .fix(format!("write `\"{}\"`", super::problem::shown(text)));
        problems.push(indicator, Some(piece.at()));
    }
    Value::Text(text.to_owned())
}

fn unquoted(text: &str) -> Option<&str> {
    ['"', '\''].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

/// An optional minus and digits; a number that is too large stops at the largest.
fn number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let largest = if digits.len() < text.len() { i64::MIN } else { i64::MAX };
    Some(text.parse().unwrap_or(largest))
}

/// The items between the brackets of an inline list; commas within quotes do not divide.
fn inline_items(field: &str, inner: Piece<'_>, problems: &mut Problems<'_>) -> Vec<Node> {
    let mut items = Vec::new();
    let mut start = 0;
    let mut quote = None;
    let mut take = |from: usize, to: usize, is_last: bool| {
        let piece = Piece { text: &inner.text[from..to], start: inner.start + from }.trimmed();
        // `[]` and `[a, ]` have no item behind the last comma.
        if !(is_last && piece.text.is_empty()) {
            items.push(Node { at: piece.at(), value: single(field, piece, problems) });
        }
    };
    for (at, c) in inner.text.char_indices() {
        match (quote, c) {
            (None, ',') => {
                take(start, at, false);
                start = at + 1;
            }
            (None, '"' | '\'') if trim(&inner.text[start..at]).is_empty() => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None | Some(_), _) => {}
        }
    }
    take(start, inner.text.len(), true);
    items
}
