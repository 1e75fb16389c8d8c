//! A document as a tree in which every value knows its line.
//!
//! In: the text of a YAML or JSON document. Out: a [`Node`], or the line and the words of the parser.
//! Whatever reads the tree can then say for itself what it expected and where.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::Spanned;

/// A value and the line it begins on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    /// The line, from 1; `None` where the parser did not say.
    pub(super) line: Option<u64>,
    /// The value.
    pub(super) kind: Kind,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A key and the line it stands on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Key {
    pub(super) line: Option<u64>,
    pub(super) name: String,
}

/// Why a document could not be read at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotADocument {
    pub(super) line: Option<u64>,
    pub(super) message: String,
}

impl Node {
    /// Reads a document. What is valid JSON means what JSON says, anything else is read as YAML.
    ///
    /// Lines come from the YAML reader, which reads nearly all JSON too; the exceptions, such as an escaped
    /// pair of surrogates, are read without lines.
    pub(super) fn parse(text: &str) -> Result<Self, NotADocument> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let yaml = serde_saphyr::from_str::<Spanned<Kind>>(text).map(Self::from);
        match (yaml, serde_json::from_str::<Value>(text)) {
            (Ok(with_lines), Ok(json)) if with_lines.value() == json => Ok(with_lines),
            (_, Ok(json)) => Ok(Self::without_lines(json)),
            (Ok(node), Err(_)) => Ok(node),
            (Err(error), Err(_)) => Err(NotADocument {
                line: error.location().map(|location| location.line()),
                message: first_line(&error.without_snippet().to_string()),
            }),
        }
    }

    fn without_lines(value: Value) -> Self {
        let kind = match value {
            Value::Null => Kind::Null,
            Value::Bool(value) => Kind::Bool(value),
            Value::Number(value) => Kind::Number(value),
            Value::String(value) => Kind::Text(value),
            Value::Array(items) => Kind::List(items.into_iter().map(Self::without_lines).collect()),
            Value::Object(entries) => Kind::Map(
                entries
                    .into_iter()
                    .map(|(name, value)| (Key { line: None, name }, Self::without_lines(value)))
                    .collect(),
            ),
        };
        Self { line: None, kind }
    }

    /// The value without its lines, as a tool call carries it.
    pub(super) fn value(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(value) => Value::Number(value.clone()),
            Kind::Text(value) => Value::String(value.clone()),
            Kind::List(items) => Value::Array(items.iter().map(Self::value).collect()),
            Kind::Map(entries) => {
                Value::Object(entries.iter().map(|(key, node)| (key.name.clone(), node.value())).collect::<Map<_, _>>())
            }
        }
    }
}

impl fmt::Display for Kind {
    /// What was found, for an error: a scalar as it is (cut to 40 characters), anything else by its kind.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("nothing"),
            Self::Bool(value) => write!(f, "`{value}`"),
            Self::Number(value) => write!(f, "`{value}`"),
            Self::Text(value) => {
                let line = first_line(value);
                let shown: String = line.chars().take(40).collect();
                let more = if shown.len() < value.len() { "…" } else { "" };
                write!(f, "`{shown}{more}`")
            }
            Self::List(_) => f.write_str("a list"),
            Self::Map(_) => f.write_str("a map"),
        }
    }
}

impl From<Spanned<Kind>> for Node {
    fn from(spanned: Spanned<Kind>) -> Self {
        Self { line: line_of(spanned.referenced.line()), kind: spanned.value }
    }
}

/// The parser's line, where 0 stands for "unknown".
fn line_of(line: u64) -> Option<u64> {
    (line > 0).then_some(line)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KindVisitor)
    }
}

struct KindVisitor;

impl<'de> Visitor<'de> for KindVisitor {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, a number, true or false, a list or a map")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kind, D::Error> {
        Kind::deserialize(deserializer)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::Number(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Kind, E> {
        Ok(Kind::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Kind, E> {
        Number::from_f64(value).map(Kind::Number).ok_or_else(|| E::custom("a number must be finite"))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Kind, E> {
        Ok(Kind::Text(value.to_owned()))
    }

    fn visit_string<E: de::Error>(self, value: String) -> Result<Kind, E> {
        Ok(Kind::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Kind, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element::<Spanned<Kind>>()? {
            items.push(item.into());
        }
        Ok(Kind::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Kind, A::Error> {
        let mut entries: Vec<(Key, Node)> = Vec::new();
        while let Some((key, value)) = map.next_entry::<Spanned<String>, Spanned<Kind>>()? {
            if entries.iter().any(|(known, _)| known.name == key.value) {
                return Err(de::Error::custom(format_args!("the key `{}` is given twice", key.value)));
            }
            entries.push((Key { line: line_of(key.referenced.line()), name: key.value }, value.into()));
        }
        Ok(Kind::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_knows_its_line() {
        let node = Node::parse("- one\n- two:\n    - 3\n").unwrap();
        let Kind::List(items) = node.kind else { panic!() };
        assert_eq!((items[0].line, items[1].line), (Some(1), Some(2)));
        let Kind::Map(entries) = &items[1].kind else { panic!() };
        assert_eq!((entries[0].0.line, entries[0].1.line), (Some(2), Some(3)));
    }

    #[test]
    fn json_is_read_as_json_says() {
        #[track_caller]
        fn check(text: &str) {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(Node::parse(text).unwrap().value(), expected, "{text}");
        }
        check(r#"{"a": [1, -2, 3.5, null, true, "\ud83d\ude00 \u00e9 \/ yes"]}"#);
        check("[\n\t\"tabs\"\n]");
        check(r#""a: b""#);
        check(r#"{"value": 1, "referenced": 2, "defined": 3}"#);
        check(r#"{"n": 123456789012345678901234567890}"#);
    }

    #[test]
    fn what_is_neither_yaml_nor_json_says_on_which_line() {
        let error = Node::parse("- a\n- \"b\n").unwrap_err();
        assert!(error.line.is_some(), "{error:?}");
        assert!(!error.message.contains('\n'), "{error:?}");
    }
}
