//! Single values of the front matter, and inline lists and maps of them.
//!
//! In: a piece of a line. Out: a node. Numbers, quotes and comments follow OpenWar's rules, not YAML's:
//! there are no escapes, and a comment may begin within quotes. Inline maps are ours; to OpenWar they are text.

use super::node::{BriefField, BriefNode, Map, NodeValue};
use super::problem::{At, Problem, Problems};
use super::whitespace::{is_space, trim};

/// A piece of the text with its offset.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinePiece<'a> {
    pub(super) text: &'a str,
    pub(super) start: usize,
}

impl<'a> LinePiece<'a> {
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

/// The greatest depth to which inline maps may lie in each other: a map of roles, each with a map.
const DEPTH_MAX: usize = 2;

/// Reads one value: `true`, `false`, a number, quoted text without escapes, an inline list or map, or text.
pub(super) fn scalar(field: &str, piece: LinePiece<'_>, problems: &mut Problems<'_>) -> BriefNode {
    value(field, piece, DEPTH_MAX, problems)
}

fn value(field: &str, piece: LinePiece<'_>, depth: usize, problems: &mut Problems<'_>) -> BriefNode {
    let text = piece.text;
    let within = |open, close| {
        let inner = text.strip_prefix(open)?.strip_suffix(close)?;
        Some(LinePiece { text: inner, start: piece.start + 1 })
    };
    let value = if let Some(inner) = within('[', ']') {
        NodeValue::Inline(inline_items(field, inner, problems), text.to_owned())
    } else if let Some(map) = within('{', '}').and_then(|inner| inline_map(field, inner, depth, problems)) {
        NodeValue::InlineMap(map, text.to_owned())
    } else {
        single(field, piece, problems)
    };
    BriefNode { at: piece.at(), value }
}

/// The keys between the braces of an inline map; `None` if that is something else. Commas within quotes and brackets do
/// not divide. Of a key that is given twice the last one counts, with a warning.
fn inline_map(field: &str, inner: LinePiece<'_>, depth: usize, problems: &mut Problems<'_>) -> Option<Map> {
    let depth = depth.checked_sub(1)?;
    let mut entries = Vec::new();
    for piece in divided(inner) {
        let (key, rest) = piece.text.split_once(':')?;
        let value = LinePiece { text: rest, start: piece.start + key.len() + 1 }.trimmed();
        let key = LinePiece { text: key, start: piece.start }.trimmed();
        let name = unquoted(key.text).unwrap_or(key.text);
        if !is_key(name) {
            return None;
        }
        entries.push((key, name, value));
    }
    let mut map = Map::new();
    for (key, name, piece) in entries {
        let path = format!("{field}.{name}");
        let node = value(&path, piece, depth, problems);
        if map.insert(name.to_owned(), BriefField { key_at: key.at(), node }).is_some() {
            let again = Problem::warning(path, "this key is given more than once; the last one counts")
                .fix("keep one of them".to_owned());
            problems.push(again, Some(key.at()));
        }
    }
    Some(map)
}

/// True if a text can be a key: letters, digits and `_`, not beginning with a digit.
pub(super) fn is_key(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The pieces between those commas that stand in no quotes, brackets or braces, trimmed; a blank one behind the last
/// comma is none.
fn divided(inner: LinePiece<'_>) -> Vec<LinePiece<'_>> {
    let mut pieces = Vec::new();
    let (mut start, mut open, mut quote, mut begins) = (0, 0_usize, None, true);
    let mut take = |from: usize, to: usize| {
        pieces.push(LinePiece { text: &inner.text[from..to], start: inner.start + from }.trimmed());
    };
    for (at, c) in inner.text.char_indices() {
        match (quote, c) {
            (None, ',') if open == 0 => {
                take(start, at);
                start = at + 1;
            }
            // A quote in the middle of a word is an apostrophe.
            (None, '"' | '\'') if begins => quote = Some(c),
            (Some(quoted), c) if c == quoted => quote = None,
            (None, '[' | '{') => open += 1,
            (None, ']' | '}') => open = open.saturating_sub(1),
            (None | Some(_), _) => {}
        }
        begins = matches!(c, ',' | ':' | '[' | '{') || (begins && is_space(c));
    }
    take(start, inner.text.len());
    if pieces.last().is_some_and(|last| last.text.is_empty()) {
        pieces.pop();
    }
    pieces
}

/// Reads one value that is no list and no map.
fn single(field: &str, piece: LinePiece<'_>, problems: &mut Problems<'_>) -> NodeValue {
    let text = piece.text;
    if let Some(inner) = unquoted(text) {
        return NodeValue::Text(inner.to_owned());
    }
    if text == "true" || text == "false" {
        return NodeValue::Bool(text == "true");
    }
    if let Some(number) = number(text) {
        return NodeValue::Number(number);
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
    NodeValue::Text(text.to_owned())
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
fn inline_items(field: &str, inner: LinePiece<'_>, problems: &mut Problems<'_>) -> Vec<BriefNode> {
    let mut items = Vec::new();
    let mut start = 0;
    let mut quote = None;
    let mut take = |from: usize, to: usize, is_last: bool| {
        let piece = LinePiece { text: &inner.text[from..to], start: inner.start + from }.trimmed();
        // `[]` and `[a, ]` have no item behind the last comma.
        if !(is_last && piece.text.is_empty()) {
            items.push(BriefNode { at: piece.at(), value: single(field, piece, problems) });
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
