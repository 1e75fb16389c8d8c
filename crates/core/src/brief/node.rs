//! The nodes of the front matter, each value with its place.

use indexmap::IndexMap;

use super::problem::At;

/// Keys and their values, in the order in which they first appear.
pub(super) type Map = IndexMap<String, BriefField>;

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BriefField {
    pub(super) key_at: At,
    pub(super) node: BriefNode,
}

/// A value with its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BriefNode {
    pub(super) at: At,
    pub(super) value: NodeValue,
}

/// A value as the grammar reads it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum NodeValue {
    Bool(bool),
    /// An optional minus and digits; too large ones stop at the largest.
    Number(i64),
    Text(String),
    /// One item per line.
    List(Vec<BriefNode>),
    /// `[a, b]`, and as it is written.
    Inline(Vec<BriefNode>, String),
    Map(Map),
    /// `{a: 1, b: 2}`, and as it is written.
    InlineMap(Map, String),
}

impl BriefNode {
    /// The text; for an inline list or map, which OpenWar takes for text, as it is written.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            NodeValue::Text(text) | NodeValue::Inline(_, text) | NodeValue::InlineMap(_, text) => Some(text),
            NodeValue::Bool(_) | NodeValue::Number(_) | NodeValue::List(_) | NodeValue::Map(_) => None,
        }
    }

    /// The items of a list, however it is written.
    pub(super) fn items(&self) -> Option<&[BriefNode]> {
        match &self.value {
            NodeValue::List(items) | NodeValue::Inline(items, _) => Some(items),
            NodeValue::Bool(_)
            | NodeValue::Number(_)
            | NodeValue::Text(_)
            | NodeValue::Map(_)
            | NodeValue::InlineMap(..) => None,
        }
    }

    /// The keys of a map, however it is written.
    pub(super) fn map(&self) -> Option<&Map> {
        match &self.value {
            NodeValue::Map(map) | NodeValue::InlineMap(map, _) => Some(map),
            NodeValue::Bool(_)
            | NodeValue::Number(_)
            | NodeValue::Text(_)
            | NodeValue::List(_)
            | NodeValue::Inline(..) => None,
        }
    }

    /// True if nothing stands after the colon.
    pub(super) fn is_blank(&self) -> bool {
        matches!(&self.value, NodeValue::Text(text) if text.is_empty())
    }

    /// Returns the kind of value, in a word for the operator.
    pub(super) fn kind(&self) -> &'static str {
        match &self.value {
            NodeValue::Bool(_) => "true or false",
            NodeValue::Number(_) => "a number",
            NodeValue::Text(_) => "text",
            NodeValue::List(_) | NodeValue::Inline(..) => "a list",
            NodeValue::Map(_) | NodeValue::InlineMap(..) => "a map",
        }
    }
}

/// The value at the end of a path of keys.
pub(super) fn find<'a>(map: &'a Map, path: &[&str]) -> Option<&'a BriefNode> {
    let (first, rest) = path.split_first()?;
    let node = &map.get(*first)?.node;
    if rest.is_empty() { Some(node) } else { find(node.map()?, rest) }
}
