//! What the front matter is made of, each value with its place.

use indexmap::IndexMap;

use super::problem::At;

/// Keys and their values, in the order in which they first appear.
pub(super) type Map = IndexMap<String, Field>;

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    pub(super) key_at: At,
    pub(super) node: Node,
}

/// A value with its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) at: At,
    pub(super) value: Value,
}

/// A value as the grammar reads it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    /// An optional minus and digits; too large ones stop at the largest.
    Number(i64),
    Text(String),
    /// One item per line.
    List(Vec<Node>),
    /// `[a, b]`, and as it is written.
    Inline(Vec<Node>, String),
    Map(Map),
    /// `{a: 1, b: 2}`, and as it is written.
    InlineMap(Map, String),
}

impl Node {
    /// The text; for an inline list or map, which the peer takes for text, as it is written.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) | Value::Inline(_, text) | Value::InlineMap(_, text) => Some(text),
            Value::Bool(_) | Value::Number(_) | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// The items of a list, however it is written.
    pub(super) fn items(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(items) | Value::Inline(items, _) => Some(items),
            Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Map(_) | Value::InlineMap(..) => None,
        }
    }

    /// The keys of a map, however it is written.
    pub(super) fn map(&self) -> Option<&Map> {
        match &self.value {
            Value::Map(map) | Value::InlineMap(map, _) => Some(map),
            Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) | Value::Inline(..) => None,
        }
    }

    /// Whether nothing stands after the colon.
    pub(super) fn is_blank(&self) -> bool {
        matches!(&self.value, Value::Text(text) if text.is_empty())
    }

    /// What it is, in a word for the operator.
    pub(super) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::Text(_) => "text",
            Value::List(_) | Value::Inline(..) => "a list",
            Value::Map(_) | Value::InlineMap(..) => "a map",
        }
    }
}

/// The value at the end of a path of keys.
pub(super) fn find<'a>(map: &'a Map, path: &[&str]) -> Option<&'a Node> {
    let (first, rest) = path.split_first()?;
    let node = &map.get(*first)?.node;
    if rest.is_empty() { Some(node) } else { find(node.map()?, rest) }
}
