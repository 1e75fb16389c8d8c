//! A document as a tree in which every value knows its line.
//!
//! In: the text of a YAML or JSON document. Out: a [`ScriptNode`], or the line and the words of the parser. So the code
//! that reads the tree can say in an error what it expected, and on which line.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::Spanned;

/// A value and the line it begins on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ScriptNode {
    /// The line, from 1; `None` where the parser did not say.
    pub(super) line: Option<u64>,
    /// The value.
    pub(super) kind: ScriptValue,
}

/// Kind of a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ScriptValue {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<ScriptNode>),
    Map(Vec<(ScriptKey, ScriptNode)>),
}

/// A key and the line it stands on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ScriptKey {
    pub(super) line: Option<u64>,
    pub(super) name: String,
}

/// Reason why a document could not be read at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotADocument {
    pub(super) line: Option<u64>,
    pub(super) message: String,
}

impl ScriptNode {
    /// Reads a document. Valid JSON is read as JSON, anything else as YAML.
    ///
    /// Lines come from the YAML reader, which reads nearly all JSON too; the exceptions, such as an escaped pair of
    /// surrogates, are read without lines.
    pub(super) fn parse(text: &str) -> Result<Self, NotADocument> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let yaml = serde_saphyr::from_str::<Spanned<ScriptValue>>(text).map(Self::from);
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
            Value::Null => ScriptValue::Null,
            Value::Bool(value) => ScriptValue::Bool(value),
            Value::Number(value) => ScriptValue::Number(value),
            Value::String(value) => ScriptValue::Text(value),
            Value::Array(items) => ScriptValue::List(items.into_iter().map(Self::without_lines).collect()),
            Value::Object(entries) => ScriptValue::Map(
                entries
                    .into_iter()
                    .map(|(name, value)| (ScriptKey { line: None, name }, Self::without_lines(value)))
                    .collect(),
            ),
        };
        Self { line: None, kind }
    }

    /// Returns the value without its lines, as a tool call carries it.
    pub(super) fn value(&self) -> Value {
        match &self.kind {
            ScriptValue::Null => Value::Null,
            ScriptValue::Bool(value) => Value::Bool(*value),
            ScriptValue::Number(value) => Value::Number(value.clone()),
            ScriptValue::Text(value) => Value::String(value.clone()),
            ScriptValue::List(items) => Value::Array(items.iter().map(Self::value).collect()),
            ScriptValue::Map(entries) => {
                Value::Object(entries.iter().map(|(key, node)| (key.name.clone(), node.value())).collect::<Map<_, _>>())
            }
        }
    }
}

impl fmt::Display for ScriptValue {
    /// Writes the value for an error: a scalar as it is (cut to 40 characters), anything else by its kind.
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

impl From<Spanned<ScriptValue>> for ScriptNode {
    fn from(spanned: Spanned<ScriptValue>) -> Self {
        Self { line: line_of(spanned.referenced.line()), kind: spanned.value }
    }
}

/// Returns the parser's line, where 0 stands for "unknown".
fn line_of(line: u64) -> Option<u64> {
    (line > 0).then_some(line)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

impl<'de> Deserialize<'de> for ScriptValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KindVisitor)
    }
}

struct KindVisitor;

impl<'de> Visitor<'de> for KindVisitor {
    type Value = ScriptValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, a number, true or false, a list or a map")
    }

    fn visit_unit<E: de::Error>(self) -> Result<ScriptValue, E> {
        Ok(ScriptValue::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<ScriptValue, E> {
        Ok(ScriptValue::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<ScriptValue, D::Error> {
        ScriptValue::deserialize(deserializer)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<ScriptValue, E> {
        Ok(ScriptValue::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<ScriptValue, E> {
        Ok(ScriptValue::Number(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<ScriptValue, E> {
        Ok(ScriptValue::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<ScriptValue, E> {
        Number::from_f64(value).map(ScriptValue::Number).ok_or_else(|| E::custom("a number must be finite"))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<ScriptValue, E> {
        Ok(ScriptValue::Text(value.to_owned()))
    }

    fn visit_string<E: de::Error>(self, value: String) -> Result<ScriptValue, E> {
        Ok(ScriptValue::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ScriptValue, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element::<Spanned<ScriptValue>>()? {
            items.push(item.into());
        }
        Ok(ScriptValue::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ScriptValue, A::Error> {
        let mut entries: Vec<(ScriptKey, ScriptNode)> = Vec::new();
        while let Some((key, value)) = map.next_entry::<Spanned<String>, Spanned<ScriptValue>>()? {
            if entries.iter().any(|(known, _)| known.name == key.value) {
                return Err(de::Error::custom(format_args!("the key `{}` is given twice", key.value)));
            }
            entries.push((ScriptKey { line: line_of(key.referenced.line()), name: key.value }, value.into()));
        }
        Ok(ScriptValue::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_knows_its_line() {
        let node = ScriptNode::parse("- one\n- two:\n    - 3\n").unwrap();
        let ScriptValue::List(items) = node.kind else { panic!() };
        assert_eq!((items[0].line, items[1].line), (Some(1), Some(2)));
        let ScriptValue::Map(entries) = &items[1].kind else { panic!() };
        assert_eq!((entries[0].0.line, entries[0].1.line), (Some(2), Some(3)));
    }

    #[test]
    fn json_is_read_as_json_says() {
        #[track_caller]
        fn check(text: &str) {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(ScriptNode::parse(text).unwrap().value(), expected, "{text}");
        }
        check(r#"{"a": [1, -2, 3.5, null, true, "\ud83d\ude00 \u00e9 \/ yes"]}"#);
        check("[\n\t\"tabs\"\n]");
        check(r#""a: b""#);
        check(r#"{"value": 1, "referenced": 2, "defined": 3}"#);
        check(r#"{"n": 123456789012345678901234567890}"#);
    }

    #[test]
    fn what_is_neither_yaml_nor_json_says_on_which_line() {
        let error = ScriptNode::parse("- a\n- \"b\n").unwrap_err();
        assert!(error.line.is_some(), "{error:?}");
        assert!(!error.message.contains('\n'), "{error:?}");
    }
}
