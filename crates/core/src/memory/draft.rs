//! An entry before it is written: the text that an agent or an operator wants remembered, checked.

use jiff::Timestamp;
use serde_json::{Map, Value};
use thiserror::Error;

use super::record::{BadRecordId, MemoryCategory, Record, RecordContent, RecordId};
use crate::words::tool::content_hash;

/// The longest entry that is written, in bytes of its line: some pages of text. A longer text belongs in a file.
pub const ENTRY_BYTES_MAX: usize = 16 * 1024;

/// Fields that the store sets; never taken from a writer.
const OWN_FIELDS: [&str; 5] = ["id", "at", "category", "brief_id", "superseded_by"];

/// An entry that has no id and no time yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The entry's own fields.
    pub said: RecordContent,
    /// The brief in whose run an agent writes it; absent for an operator's own.
    pub brief_id: Option<String>,
    /// The entry of its category that it takes the place of.
    pub supersedes: Option<RecordId>,
    /// All other fields, `metadata` among them.
    pub rest: Map<String, Value>,
}

/// Reason why an entry can't be remembered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadDraft {
    /// A field is missing or of another type.
    #[error("an entry of {category} can't be written: {what}")]
    Field {
        /// The entry's category.
        category: MemoryCategory,
        /// Fault of the field, as half a sentence.
        what: String,
    },
    /// A text that says nothing.
    #[error("an entry of {category} needs a `{field}` that is not blank")]
    Blank {
        /// The entry's category.
        category: MemoryCategory,
        /// The field.
        field: &'static str,
    },
    /// The entry that it takes the place of has no name.
    #[error("`supersedes` must be the id of an entry: {0}")]
    Supersedes(#[from] BadRecordId),
    /// Too long.
    #[error(
        "the entry has {bytes} bytes, and at most {ENTRY_BYTES_MAX} are remembered: put the text into a file and remember its path"
    )]
    TooLong {
        /// Length of the entry.
        bytes: usize,
    },
}

impl Draft {
    /// Returns the entry that `object` describes. `id`, `at`, `category`, `brief_id` and `superseded_by` in it are
    /// ignored, because a writer may not set them. Unknown fields are kept.
    ///
    /// # Errors
    ///
    /// [`BadDraft`], which names the field.
    pub fn read(category: MemoryCategory, mut object: Map<String, Value>) -> Result<Self, BadDraft> {
        for name in OWN_FIELDS {
            object.shift_remove(name);
        }
        let field = |what: String| BadDraft::Field { category, what };
        let said = RecordContent::take(category, &mut object).map_err(field)?;
        let supersedes = match object.shift_remove("supersedes") {
            None | Some(Value::Null) => None,
            Some(Value::String(id)) => Some(id.parse()?),
            Some(_) => return Err(field("`supersedes` is no text".to_owned())),
        };
        Self { said, brief_id: None, supersedes, rest: object }.checked()
    }

    /// Returns the draft, if it can be remembered.
    ///
    /// # Errors
    ///
    /// [`BadDraft`] if a text is blank or all of it too long.
    pub fn checked(self) -> Result<Self, BadDraft> {
        let category = self.said.category();
        if let Some((field, _)) = self.said.fields().into_iter().find(|(_, text)| text.trim().is_empty()) {
            return Err(BadDraft::Blank { category, field });
        }
        let bytes = self.clone().written(Timestamp::UNIX_EPOCH).line().len();
        if bytes > ENTRY_BYTES_MAX { Err(BadDraft::TooLong { bytes }) } else { Ok(self) }
    }

    /// Returns the entry as it is written at `at`. Its id follows from that time and from all that it says.
    #[must_use]
    pub fn written(self, at: Timestamp) -> Record {
        let id = RecordId::made(at, &self.digest());
        let Self { said, brief_id, supersedes, rest } = self;
        Record { id, at, said, brief_id, supersedes, superseded_by: None, rest }
    }

    /// Returns true if `record` is this very entry, written before: the same words of the same brief. Thus a call that
    /// was interrupted and is repeated writes nothing twice.
    #[must_use]
    pub fn is_written_as(&self, record: &Record) -> bool {
        self.said == record.said
            && self.brief_id == record.brief_id
            && self.supersedes == record.supersedes
            && self.rest == record.rest
    }

    /// 6 hexadecimal digits that follow from all that it says.
    fn digest(&self) -> String {
        let mut text = self.said.category().to_string();
        let supersedes = self.supersedes.as_ref().map(RecordId::as_str);
        let fields = self.said.fields().into_iter().map(|(_, value)| value);
        for part in fields.chain(self.brief_id.as_deref()).chain(supersedes) {
            // The length keeps two different lists of texts from being the same text.
            text.push_str(&format!("\n{}:{part}", part.len()));
        }
        text.push_str(&Value::Object(self.rest.clone()).to_string());
        let mut hash = content_hash(text.as_bytes());
        hash.truncate(6);
        hash
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn draft(category: MemoryCategory, entry: Value) -> Result<Draft, BadDraft> {
        let Value::Object(entry) = entry else { panic!("an object") };
        Draft::read(category, entry)
    }

    #[test]
    fn what_is_the_stores_is_not_taken_from_the_writer() {
        let entry = json!({
            "id": "mem-x-1", "at": "1999-01-01T00:00:00Z", "category": "decisions", "brief_id": "other",
            "superseded_by": "mem-y-1", "content": "c", "metadata": {"a": 1}, "tag": "t",
        });
        let draft = draft(MemoryCategory::Knowledge, entry).expect("taken");
        assert_eq!((&draft.brief_id, &draft.supersedes), (&None, &None));
        assert_eq!(Value::Object(draft.rest.clone()), json!({"metadata": {"a": 1}, "tag": "t"}));
        let record = draft.written(Timestamp::UNIX_EPOCH);
        assert!(record.id.as_str().starts_with("mem-0-"), "{}", record.id);
        assert_eq!(record.said.category(), MemoryCategory::Knowledge);
    }

    #[test]
    fn what_says_nothing_or_too_much_is_refused_with_the_field() {
        use MemoryCategory::{Constraints, Decisions, Knowledge};
        for (category, entry, why) in [
            (Decisions, json!({"summary": "s"}), "`rationale` is missing"),
            (Decisions, json!({"summary": " \n", "rationale": "r"}), "needs a `summary`"),
            (Knowledge, json!({}), "`content` is missing"),
            (Knowledge, json!({"content": 7}), "`content` is no text"),
            (Constraints, json!({"rule": "r", "rationale": "\t"}), "needs a `rationale`"),
            (Constraints, json!({"rule": "r", "supersedes": "../x"}), "must be the id"),
            (Constraints, json!({"rule": "r", "supersedes": 7}), "`supersedes` is no text"),
            (Knowledge, json!({"content": "x".repeat(ENTRY_BYTES_MAX)}), "at most 16384"),
            (Knowledge, json!({"content": "x", "metadata": "x".repeat(ENTRY_BYTES_MAX)}), "at most 16384"),
        ] {
            let refused = draft(category, entry.clone()).expect_err("refused").to_string();
            assert!(refused.contains(why), "{entry}: {refused}");
        }
    }

    #[test]
    fn an_id_follows_from_what_is_said_and_when() {
        let said = |content: &str| draft(MemoryCategory::Knowledge, json!({"content": content})).expect("taken");
        let later = Timestamp::from_millisecond(1).expect("a time");
        let id = said("a").written(Timestamp::UNIX_EPOCH).id;
        assert_eq!(id, said("a").written(Timestamp::UNIX_EPOCH).id);
        assert_ne!(id, said("b").written(Timestamp::UNIX_EPOCH).id);
        assert_ne!(id, said("a").written(later).id);
        assert!(said("a").is_written_as(&said("a").written(later)));
        assert!(!said("a").is_written_as(&said("b").written(later)));
        let of_a_run = Draft { brief_id: Some("b".to_owned()), ..said("a") };
        assert!(!of_a_run.is_written_as(&said("a").written(later)));
    }
}
