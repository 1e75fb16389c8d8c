//! The line grammar of the front matter: a small part of YAML, read as OpenWar reads it.
//!
//! In: the lines between the markers. Out: a map of nodes, and what is wrong with each line. A line that
//! can't be read is an error, and reading goes on behind it, so that one slip does not hide the next.
//! Two levels of maps and lists: what is nested deeper can't hurt.
//!
//! Begin with [`read_front_matter`]; single values are read in `scalar.rs`.

use indexmap::map::Entry;

use super::node::{BriefField, BriefNode, Map, NodeValue};
use super::problem::{At, Problem, Problems};
use super::scalar::{LinePiece, is_key, scalar};
use super::whitespace::{is_space, trim};

/// The contents of a front matter's lines.
#[derive(Debug, Default)]
pub(super) struct FrontMatterNodes {
    pub(super) map: Map,
    /// The number of the first line that can't be read, from 1, counted within the front matter.
    pub(super) first_bad_line: Option<u32>,
}

/// Reads the lines of a front matter, a range of the problems' text.
pub(super) fn read_front_matter(front: At, problems: &mut Problems<'_>) -> FrontMatterNodes {
    let text = problems.text_at(front);
    let mut reader =
        FrontMatterReader { lines: content_lines(text, front.start), next: 0, first_bad_line: None, problems };
    reader.warn_of_tabs();
    let map = reader.top_level();
    FrontMatterNodes { map, first_bad_line: reader.first_bad_line }
}

/// A line that is neither blank nor a comment.
#[derive(Debug, Clone, Copy)]
struct FrontMatterLine<'a> {
    number: u32,
    /// The offset of its first character.
    start: usize,
    /// Number of characters of whitespace that it begins with.
    indent: usize,
    /// The text behind them.
    content: &'a str,
    content_start: usize,
}

impl<'a> FrontMatterLine<'a> {
    fn at(&self) -> At {
        let content = trim(self.content);
        At { start: self.content_start, end: self.content_start + content.len() }
    }

    /// The key, and what stands behind its colon.
    fn key(&self) -> Option<(LinePiece<'a>, LinePiece<'a>)> {
        let (key, rest) = self.content.split_once(':')?;
        if !is_key(key) {
            return None;
        }
        let rest_start = self.content_start + key.len() + 1;
        Some((LinePiece { text: key, start: self.content_start }, LinePiece { text: rest, start: rest_start }))
    }

    /// Returns the text behind the dash of a list item.
    fn item(&self) -> Option<LinePiece<'a>> {
        let rest = self.content.strip_prefix('-')?;
        (rest.is_empty() || rest.starts_with(is_space))
            .then_some(LinePiece { text: rest, start: self.content_start + 1 })
    }
}

fn content_lines(text: &str, offset: usize) -> Vec<FrontMatterLine<'_>> {
    let mut lines = Vec::new();
    let mut start = offset;
    for (number, whole) in (1..).zip(text.split('\n')) {
        let line = whole.strip_suffix('\r').unwrap_or(whole);
        let content = line.trim_start_matches(is_space);
        if !content.is_empty() && !content.starts_with('#') {
            let indent_bytes = line.len() - content.len();
            let indent = line[..indent_bytes].chars().count();
            lines.push(FrontMatterLine { number, start, indent, content, content_start: start + indent_bytes });
        }
        start += whole.len() + 1;
    }
    lines
}

struct FrontMatterReader<'a, 'p, 't> {
    lines: Vec<FrontMatterLine<'a>>,
    next: usize,
    first_bad_line: Option<u32>,
    problems: &'p mut Problems<'t>,
}

impl<'a> FrontMatterReader<'a, '_, '_> {
    fn peek(&self) -> Option<FrontMatterLine<'a>> {
        self.lines.get(self.next).copied()
    }

    fn warn_of_tabs(&mut self) {
        let tabbed = self.lines.iter().find(|line| {
            let indent = At { start: line.start, end: line.content_start };
            self.problems.text_at(indent).contains('\t')
        });
        if let Some(line) = tabbed {
            let at = At { start: line.start, end: line.content_start };
            let tab = Problem::warning(
                "front_matter",
                "a tab counts as one column of indentation here, and other YAML readers refuse it",
            )
            .fix("indent by spaces".to_owned());
            self.problems.push(tab, Some(at));
        }
    }

    fn top_level(&mut self) -> Map {
        let mut map = Map::new();
        while let Some(line) = self.peek() {
            self.next += 1;
            let key = if line.indent == 0 { line.key() } else { None };
            let Some((key, rest)) = key else {
                self.bad_line(line);
                // What is indented under a line that can't be read belongs to it.
                while self.peek().is_some_and(|below| below.indent > 0) {
                    self.next += 1;
                }
                continue;
            };
            let value = rest.without_comment().trimmed();
            let node = if value.text.is_empty() { self.children(key, value) } else { self.scalar(key.text, value) };
            self.insert(&mut map, "", key, node);
        }
        map
    }

    /// Reads the value of a key without a text behind its colon: a list, a map, or an empty text.
    fn children(&mut self, key: LinePiece<'a>, value: LinePiece<'a>) -> BriefNode {
        let empty = BriefNode { at: value.at(), value: NodeValue::Text(String::new()) };
        let Some(first) = self.peek() else {
            return empty;
        };
        if first.item().is_some() {
            if first.indent == 0 {
                self.item_at_column_0(first);
            }
            self.list(key, first.indent, first.indent.min(1))
        } else if first.indent > 0 && first.key().is_some() {
            self.map(key, first.indent)
        } else {
            empty
        }
    }

    /// Reads items from the next line on, as long as lines are indented by `indent_min` or more.
    fn list(&mut self, key: LinePiece<'a>, indent: usize, indent_min: usize) -> BriefNode {
        let start = self.peek().map_or(key.start, |line| line.content_start);
        let mut end = start;
        let mut items = Vec::new();
        let mut warned = false;
        while let Some(line) = self.peek().filter(|line| line.indent >= indent_min) {
            match line.item() {
                Some(piece) => {
                    self.next += 1;
                    self.warn_of_uneven(line, indent, &mut warned);
                    let item = self.scalar(key.text, piece.without_comment().trimmed());
                    end = item.at.end.max(line.content_start + 1);
                    items.push(item);
                }
                None if line.indent > 0 => {
                    self.next += 1;
                    self.bad_line(line);
                }
                None => break,
            }
        }
        BriefNode { at: At { start, end }, value: NodeValue::List(items) }
    }

    /// Reads the keys of a first-level map, whatever their indentation.
    fn map(&mut self, parent: LinePiece<'a>, indent: usize) -> BriefNode {
        let start = self.peek().map_or(parent.start, |line| line.content_start);
        let mut end = start;
        let mut map = Map::new();
        let mut warned = false;
        while let Some(line) = self.peek().filter(|line| line.indent > 0) {
            self.next += 1;
            let Some((key, rest)) = line.key() else {
                self.bad_line(line);
                continue;
            };
            self.warn_of_uneven(line, indent, &mut warned);
            let value = rest.without_comment().trimmed();
            let below = self.peek().filter(|below| below.indent > line.indent);
            let field = format!("{}.{}", parent.text, key.text);
            let node = match below {
                _ if !value.text.is_empty() => self.scalar(&field, value),
                Some(below) if below.item().is_some() => self.list(key, below.indent, line.indent + 1),
                Some(_) => self.second_level(key, &field, line.indent),
                None => BriefNode { at: value.at(), value: NodeValue::Map(Map::new()) },
            };
            end = node.at.end.max(key.at().end);
            self.insert(&mut map, parent.text, key, node);
        }
        BriefNode { at: At { start, end }, value: NodeValue::Map(map) }
    }

    /// Reads the keys under `parent`, which hold single values or lists. Ends before a key with keys of
    /// its own: to OpenWar, those are keys of the first level.
    fn second_level(&mut self, parent: LinePiece<'a>, field: &str, indent: usize) -> BriefNode {
        let start = self.peek().map_or(parent.start, |line| line.content_start);
        let mut end = start;
        let mut map = Map::new();
        while let Some(line) = self.peek().filter(|line| line.indent > indent) {
            let Some((key, rest)) = line.key() else {
                self.next += 1;
                self.bad_line(line);
                continue;
            };
            let value = rest.without_comment().trimmed();
            let below = self.lines.get(self.next + 1).copied().filter(|below| below.indent > line.indent);
            let node = match below {
                _ if !value.text.is_empty() => {
                    self.next += 1;
                    self.scalar(&format!("{field}.{}", key.text), value)
                }
                Some(below) if below.item().is_some() => {
                    self.next += 1;
                    self.list(key, below.indent, line.indent + 1)
                }
                Some(below) if below.key().is_some() => {
                    let deep = Problem::warning(
                        format!("{field}.{}", key.text),
                        "maps end at the second level: this key and what follows it are read one level further up",
                    );
                    self.problems.push(deep, Some(key.at()));
                    break;
                }
                Some(_) | None => {
                    self.next += 1;
                    BriefNode { at: value.at(), value: NodeValue::Text(String::new()) }
                }
            };
            end = node.at.end.max(key.at().end);
            self.insert(&mut map, field, key, node);
        }
        BriefNode { at: At { start, end }, value: NodeValue::Map(map) }
    }

    fn insert(&mut self, map: &mut Map, parent: &str, key: LinePiece<'_>, node: BriefNode) {
        let field = BriefField { key_at: key.at(), node };
        match map.entry(key.text.to_owned()) {
            Entry::Vacant(free) => {
                free.insert(field);
            }
            Entry::Occupied(mut taken) => {
                let name = if parent.is_empty() { key.text.to_owned() } else { format!("{parent}.{}", key.text) };
                let again = Problem::warning(name, "this key is given more than once; the last one counts")
                    .fix("keep one of them".to_owned());
                self.problems.push(again, Some(key.at()));
                taken.insert(field);
            }
        }
    }

    fn warn_of_uneven(&mut self, line: FrontMatterLine<'_>, indent: usize, warned: &mut bool) {
        if line.indent != indent && !*warned {
            *warned = true;
            let uneven = Problem::warning("front_matter", "this line is indented differently than those it belongs to")
                .fix("indent all of them alike".to_owned());
            self.problems.push(uneven, Some(line.at()));
        }
    }

    fn scalar(&mut self, field: &str, piece: LinePiece<'_>) -> BriefNode {
        scalar(field, piece, self.problems)
    }

    fn item_at_column_0(&mut self, line: FrontMatterLine<'_>) {
        let at_margin =
            Problem::error("front_matter", format!("line {} is a list item that is not indented", line.number))
                .expected("items that are indented under their key")
                .found(line.content)
                .fix("indent the items by two spaces".to_owned());
        self.report_bad(line, at_margin);
    }

    fn bad_line(&mut self, line: FrontMatterLine<'_>) {
        let number = line.number;
        let (message, fix) = if line.item().is_some() {
            (
                format!("line {number} is a list item without a key that takes it"),
                "put it under a key that ends in a colon",
            )
        } else if line.content.starts_with('-') {
            (format!("line {number} is neither a key nor a list item"), "put a space behind the dash of a list item")
        } else if line.indent > 0 && line.key().is_some() {
            (
                format!("line {number} is indented, but belongs to nothing"),
                "begin the key at the margin; a text ends with its line",
            )
        } else if line.content.contains(':') {
            let fix = "a key is letters, digits and `_`, followed by a colon without a space between";
            (format!("line {number} does not begin with a key"), fix)
        } else {
            (format!("line {number} can't be read"), "write `key: value`; a note begins with `#`")
        };
        let bad =
            Problem::error("front_matter", message).expected("`key: value`").found(line.content).fix(fix.to_owned());
        self.report_bad(line, bad);
    }

    fn report_bad(&mut self, line: FrontMatterLine<'_>, problem: Problem) {
        self.problems.push(problem, Some(line.at()));
        self.first_bad_line = self.first_bad_line.or(Some(line.number));
    }
}
