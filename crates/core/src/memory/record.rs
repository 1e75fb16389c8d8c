//! One entry of a project's memory, as its line says it.
//!
//! The lines are the peer's (`id`, `at`, `category`, the category's own fields, `brief_id`, `metadata`), so that its
//! folders are read as they are and ours by it. Ours is `supersedes`: an entry names the one that it takes the
//! place of, whose line stays as it was. The peer's `superseded_by` says the same from the other end.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

/// Kind of an entry; each kind has a file of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryCategory {
    /// Decisions, each with its reason.
    Decisions,
    /// Findings.
    Knowledge,
    /// Rules that must hold.
    Constraints,
}

impl MemoryCategory {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 3] = [Self::Decisions, Self::Knowledge, Self::Constraints];

    /// Returns the word by which it is written: in a line, as an argument, as the name of its file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Decisions => "decisions",
            Self::Knowledge => "knowledge",
            Self::Constraints => "constraints",
        }
    }
}

impl fmt::Display for MemoryCategory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for MemoryCategory {
    type Err = &'static str;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|category| category.as_str() == given)
            .ok_or("a category is `decisions`, `knowledge` or `constraints`")
    }
}

/// The longest id of an entry, in characters. The peer's have about 19.
const ID_CHARS_MAX: usize = 64;

/// The id of an entry: 1 to 64 letters, digits, `-` or `_`, beginning with a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RecordId(String);

/// Reason why an id was rejected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{given}` is no id of an entry: it takes 1 to 64 letters, digits, `-` or `_`, beginning with a letter or digit"
)]
pub struct BadRecordId {
    /// The id as it was given, cut to a length that can be shown.
    pub given: String,
}

impl RecordId {
    /// Returns the id of an entry that is written at `at` and whose content has this `digest` of 6 hexadecimal digits:
    /// `mem-<milliseconds since 1970 in base 36>-<digest>`, the peer's form.
    #[must_use]
    pub fn made(at: Timestamp, digest: &str) -> Self {
        Self(format!("mem-{}-{digest}", base36(at.as_millisecond().unsigned_abs())))
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RecordId {
    type Err = BadRecordId;

    fn from_str(given: &str) -> Result<Self, BadRecordId> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        let begins_well = given.starts_with(|c: char| c.is_ascii_alphanumeric());
        if given.len() <= ID_CHARS_MAX && begins_well && given.chars().all(allowed) {
            return Ok(Self(given.to_owned()));
        }
        Err(BadRecordId { given: given.chars().take(80).collect() })
    }
}

impl TryFrom<String> for RecordId {
    type Error = BadRecordId;

    fn try_from(given: String) -> Result<Self, BadRecordId> {
        given.parse()
    }
}

impl From<RecordId> for String {
    fn from(id: RecordId) -> Self {
        id.0
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    loop {
        let digit = u32::try_from(number % 36).ok().and_then(|digit| char::from_digit(digit, 36));
        digits.extend(digit);
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

/// Contents of an entry, by its category.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordContent {
    /// Something was decided.
    Decision {
        /// The decision.
        summary: String,
        /// Reason for the decision.
        rationale: String,
    },
    /// Something is so.
    Knowledge {
        /// The finding.
        content: String,
    },
    /// Something must hold.
    Constraint {
        /// The rule.
        rule: String,
        /// Reason for the rule, if one was given.
        rationale: Option<String>,
    },
}

impl RecordContent {
    /// Returns the category that it belongs to.
    #[must_use]
    pub const fn category(&self) -> MemoryCategory {
        match self {
            Self::Decision { .. } => MemoryCategory::Decisions,
            Self::Knowledge { .. } => MemoryCategory::Knowledge,
            Self::Constraint { .. } => MemoryCategory::Constraints,
        }
    }

    /// Its own fields with their values, the one that matters most first.
    #[must_use]
    pub fn fields(&self) -> Vec<(&'static str, &str)> {
        match self {
            Self::Decision { summary, rationale } => vec![("summary", summary), ("rationale", rationale)],
            Self::Knowledge { content } => vec![("content", content)],
            Self::Constraint { rule, rationale: None } => vec![("rule", rule)],
            Self::Constraint { rule, rationale: Some(rationale) } => vec![("rule", rule), ("rationale", rationale)],
        }
    }

    /// Returns the main text: the summary, the content or the rule.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Decision { summary: text, .. }
            | Self::Knowledge { content: text }
            | Self::Constraint { rule: text, .. } => text,
        }
    }

    /// Returns the same fields with each text changed by `change`.
    #[must_use]
    pub fn map(&self, change: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Decision { summary, rationale } => {
                Self::Decision { summary: change(summary), rationale: change(rationale) }
            }
            Self::Knowledge { content } => Self::Knowledge { content: change(content) },
            Self::Constraint { rule, rationale } => {
                Self::Constraint { rule: change(rule), rationale: rationale.as_deref().map(change) }
            }
        }
    }

    /// Takes the fields of `category` out of `object`.
    ///
    /// # Errors
    ///
    /// The field that is missing or no text, as half a sentence.
    pub(super) fn take(category: MemoryCategory, object: &mut Map<String, Value>) -> Result<Self, String> {
        let mut text = |name: &str| match object.shift_remove(name) {
            Some(Value::String(text)) => Ok(Some(text)),
            None | Some(Value::Null) => Ok(None),
            Some(_) => Err(format!("`{name}` is no text")),
        };
        let needed = |name: &str, text: Option<String>| text.ok_or_else(|| format!("`{name}` is missing"));
        Ok(match category {
            MemoryCategory::Decisions => Self::Decision {
                summary: needed("summary", text("summary")?)?,
                rationale: needed("rationale", text("rationale")?)?,
            },
            MemoryCategory::Knowledge => Self::Knowledge { content: needed("content", text("content")?)? },
            MemoryCategory::Constraints => {
                Self::Constraint { rule: needed("rule", text("rule")?)?, rationale: text("rationale")? }
            }
        })
    }
}

/// One entry of a project's memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct Record {
    /// Its id.
    pub id: RecordId,
    /// Time at which it was written.
    pub at: Timestamp,
    /// The entry's own fields.
    pub said: RecordContent,
    /// The brief in whose run an agent wrote it; absent for an operator's own.
    pub brief_id: Option<String>,
    /// The entry of its category that it takes the place of.
    pub supersedes: Option<RecordId>,
    /// The entry that took its place, as the peer writes it.
    pub superseded_by: Option<RecordId>,
    /// Whatever else its line holds, `metadata` among it.
    pub rest: Map<String, Value>,
}

impl Record {
    /// Reads the entry on `line`, in a file of `category`.
    ///
    /// # Errors
    ///
    /// The fault of the line, as half a sentence.
    pub fn read(line: &str, category: MemoryCategory) -> Result<Self, String> {
        let value: Value = serde_json::from_str(line).map_err(|error| format!("it is no JSON: {error}"))?;
        let record = Self::try_from(value)?;
        if record.said.category() != category {
            return Err(format!("it is one of {}, not of {category}", record.said.category()));
        }
        Ok(record)
    }

    /// Its line, without the end.
    #[must_use]
    pub fn line(&self) -> String {
        Value::from(self.clone()).to_string()
    }
}

impl TryFrom<Value> for Record {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let Value::Object(mut object) = value else { return Err("it is no object".to_owned()) };
        let mut text = |name: &str| match object.shift_remove(name) {
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(format!("`{name}` is no text")),
            None => Err(format!("`{name}` is missing")),
        };
        let id: RecordId = text("id")?.parse().map_err(|error: BadRecordId| error.to_string())?;
        let at: Timestamp = text("at")?.parse().map_err(|_| "`at` is no time".to_owned())?;
        let category: MemoryCategory = text("category")?.parse().map_err(str::to_owned)?;
        let said = RecordContent::take(category, &mut object)?;
        let brief_id = match object.shift_remove("brief_id") {
            Some(Value::String(brief_id)) => Some(brief_id),
            None | Some(Value::Null) => None,
            Some(_) => return Err("`brief_id` is no text".to_owned()),
        };
        let mut other = |name: &str| match object.shift_remove(name) {
            Some(Value::String(id)) => id.parse().map(Some).map_err(|error: BadRecordId| format!("`{name}`: {error}")),
            None | Some(Value::Null) => Ok(None),
            Some(_) => Err(format!("`{name}` is no text")),
        };
        let (supersedes, superseded_by) = (other("supersedes")?, other("superseded_by")?);
        Ok(Self { id, at, said, brief_id, supersedes, superseded_by, rest: object })
    }
}

impl From<Record> for Value {
    fn from(record: Record) -> Self {
        let mut object = Map::new();
        let mut put = |name: &str, value: &str| object.insert(name.to_owned(), Self::from(value));
        put("id", record.id.as_str());
        put("at", &crate::words::moment::timestamp(record.at));
        put("category", record.said.category().as_str());
        for (name, value) in record.said.fields() {
            put(name, value);
        }
        for (name, value) in [
            ("brief_id", record.brief_id.as_deref()),
            ("supersedes", record.supersedes.as_ref().map(RecordId::as_str)),
            ("superseded_by", record.superseded_by.as_ref().map(RecordId::as_str)),
        ] {
            if let Some(value) = value {
                put(name, value);
            }
        }
        object.extend(record.rest);
        Self::Object(object)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_is_the_peers_form() {
        let at = Timestamp::from_millisecond(1_714_982_400_000).expect("a time");
        let id = RecordId::made(at, "0a1b2c");
        assert_eq!(id.as_str(), "mem-lvuo8ow0-0a1b2c");
        let (_, rest) = id.as_str().split_once('-').expect("a prefix");
        let (time, _) = rest.split_once('-').expect("a time");
        assert_eq!(i64::from_str_radix(time, 36), Ok(at.as_millisecond()));
        assert_eq!(RecordId::made(Timestamp::UNIX_EPOCH, "ffffff").as_str(), "mem-0-ffffff");
    }

    #[test]
    fn an_id_can_name_no_path_and_forge_no_line() {
        for given in ["", "..", "-a", "a/b", "a b", "a\nb", "a`b", "[[PHASE", &"x".repeat(65)] {
            assert!(given.parse::<RecordId>().is_err(), "{given:?}");
        }
        assert!("mem-lvuo8ow0-0a1b2c".parse::<RecordId>().is_ok());
    }

    #[test]
    fn the_peers_lines_are_read_and_written_as_they_are() {
        for line in [
            r#"{"id":"mem-a-000001","at":"2024-05-06T08:00:00.000Z","category":"decisions","summary":"s","rationale":"r","brief_id":"b","superseded_by":"mem-b-000002","metadata":{"k":[1,null]}}"#,
            r#"{"id":"mem-a-000001","at":"2024-05-06T08:00:00.000Z","category":"knowledge","content":"a\nb","x":"y"}"#,
            r#"{"id":"mem-a-000001","at":"2024-05-06T08:00:00.000Z","category":"constraints","rule":"r"}"#,
            r#"{"id":"mem-a-000001","at":"2024-05-06T08:00:00.000Z","category":"constraints","rule":"r","rationale":"w","supersedes":"mem-0-1"}"#,
        ] {
            let value: Value = serde_json::from_str(line).expect("JSON");
            let record = Record::try_from(value).expect("a record");
            assert_eq!(record.line(), line);
        }
    }

    #[test]
    fn a_line_that_is_none_says_why() {
        let line = |rest: &str| format!(r#"{{"id":"a","at":"2024-05-06T08:00:00Z",{rest}}}"#);
        for (line, why) in [
            ("{".to_owned(), "no JSON"),
            ("[]".to_owned(), "no object"),
            ("{}".to_owned(), "`id` is missing"),
            (r#"{"id":7}"#.to_owned(), "`id` is no text"),
            (r#"{"id":"../x"}"#.to_owned(), "no id"),
            (r#"{"id":"a","at":"yesterday"}"#.to_owned(), "`at` is no time"),
            (line(r#""category":"secrets""#), "a category is"),
            (line(r#""category":"knowledge","content":"c""#), "one of knowledge"),
            (line(r#""category":"decisions","summary":"s""#), "`rationale` is missing"),
            (line(r#""category":"decisions","summary":7,"rationale":"r""#), "`summary` is no text"),
            (line(r#""category":"decisions","summary":"s","rationale":"r","brief_id":7"#), "`brief_id`"),
            (line(r#""category":"decisions","summary":"s","rationale":"r","supersedes":"a b""#), "`supersedes`"),
        ] {
            let refused = Record::read(&line, MemoryCategory::Decisions).expect_err(&line);
            assert!(refused.contains(why), "{line}: {refused}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_one_line_and_read_back(summary in ".{0,80}", rationale in ".{0,80}", ms in 0i64..4_000_000_000_000) {
            let at = Timestamp::from_millisecond(ms).expect("a time");
            let record = Record {
                id: RecordId::made(at, "abcdef"),
                at,
                said: RecordContent::Decision { summary: format!("{summary}\n\r"), rationale },
                brief_id: None,
                supersedes: None,
                superseded_by: None,
                rest: Map::new(),
            };
            let line = record.line();
            prop_assert!(!line.contains('\n') && !line.contains('\r'));
            prop_assert_eq!(Record::read(&line, MemoryCategory::Decisions), Ok(record));
        }

        #[test]
        fn no_line_is_more_than_damaged(line in ".{0,200}") {
            Record::read(&line, MemoryCategory::Knowledge).ok();
        }
    }
}
