//! The peer's session file and transcript, as far as a viewer relies on them.
//!
//! In: the text of a file. Out: what it says, with the list of what it should have said and did not: a
//! missing time never hides a run. Files of all the peer's versions are read: version 2 added approvals
//! and tool calls, version 3 the coordinator; what a version did not have is empty. A newer version is
//! refused, because what it would mean is unknown.
//!
//! Begin with [`read`].

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::trace::read::mend_surrogates;

/// The newest version of the session file that is known: the peer's, as of its release 0.13.
pub const VERSION_MAX: u64 = 3;

/// A run of the peer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PeerSession {
    /// The version of the file, as it was written; a file without one is of version 1.
    pub schema_version: u64,
    /// The brief's id, which names the run.
    pub brief_id: String,
    /// The brief's project.
    pub project: Option<String>,
    /// Time of its beginning.
    pub started_at: Option<String>,
    /// Time of its last write.
    pub updated_at: Option<String>,
    /// The phase it is in.
    pub phase: Option<String>,
    /// The mode: how far it goes without asking; absent until that was settled.
    pub mode: Option<String>,
    /// The operator's answers in phase 3.
    pub approvals: Vec<Approval>,
    /// The changes of phase.
    pub transitions: Vec<Transition>,
    /// The categories that were approved for the whole run.
    pub session_approved_categories: Vec<String>,
    /// Number of tool calls that it has on record.
    pub tool_calls: u64,
    /// The categories that the brief authorized.
    pub authorized_costs: Vec<String>,
    /// The roles of a crew.
    pub active_roles: Vec<String>,
    /// The state of a crew's coordinator.
    pub coordinator_state: Option<String>,
    /// The messages.
    pub messages: Vec<PeerMessage>,
    /// The fields that were missing or mistyped, by their place in the file.
    pub damaged_fields: Vec<String>,
}

/// One answer of the operator in phase 3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Approval {
    /// Time of the answer.
    pub at: Option<String>,
    /// The action in question.
    pub action: String,
    /// True if the operator allowed it.
    pub approved: bool,
}

/// One change of phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Transition {
    /// Time of the change.
    pub at: Option<String>,
    /// Whence.
    pub from: String,
    /// The phase that follows.
    pub to: String,
    /// Reason for the change.
    pub reason: Option<String>,
}

/// One thing that was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PeerMessage {
    /// The speaker: `user`, `assistant`, `system`.
    pub role: String,
    /// Time of the message.
    pub at: Option<String>,
    /// In which phase.
    pub phase: Option<String>,
    /// The text.
    pub content: String,
}

/// The reason why a session file can't be used.
#[derive(Debug, Error)]
pub enum BadSession {
    /// It is not JSON.
    #[error("the session file is not valid JSON")]
    NotJson(#[from] serde_json::Error),
    /// It lacks what nothing can stand in for.
    #[error("the session file has no `{field}`")]
    Missing {
        /// The name of the field.
        field: &'static str,
    },
    /// Its version is not a whole number.
    #[error("`schema_version` of the session file must be a whole number, not `{found}`")]
    BadVersion {
        /// The value that was found, as JSON.
        found: String,
    },
    /// It is of a version that is not known yet.
    #[error("the session file has version {found}, and {VERSION_MAX} is the newest that can be read")]
    TooNew {
        /// Its version.
        found: u64,
    },
}

/// The session on record in `file`.
///
/// # Errors
///
/// [`BadSession`] if it is no JSON, newer than [`VERSION_MAX`], or has no `meta.brief_id`.
pub fn read(file: &str) -> Result<PeerSession, BadSession> {
    let file: Value = serde_json::from_str(&mend_surrogates(file))?;
    let schema_version = match file.get("schema_version") {
        None | Some(Value::Null) => 1,
        Some(version) => version.as_u64().ok_or_else(|| BadSession::BadVersion { found: short(version) })?,
    };
    if schema_version > VERSION_MAX {
        return Err(BadSession::TooNew { found: schema_version });
    }
    let meta = file.get("meta").and_then(Value::as_object).ok_or(BadSession::Missing { field: "meta" })?;
    let brief_id = meta.get("brief_id").and_then(Value::as_str);
    let brief_id = brief_id.ok_or(BadSession::Missing { field: "meta.brief_id" })?.to_owned();
    let mut reader = SessionReader::default();
    let frontmatter = file.pointer("/brief/frontmatter").and_then(Value::as_object).cloned().unwrap_or_default();
    let session = PeerSession {
        schema_version,
        brief_id,
        project: reader.text(meta, "meta", "project"),
        started_at: reader.text(meta, "meta", "started_at"),
        updated_at: reader.text(meta, "meta", "updated_at"),
        phase: reader.text(meta, "meta", "phase"),
        mode: reader.optional_text(meta, "meta", "mode"),
        approvals: reader.items(meta, "meta", "destructive_approvals", approval),
        transitions: reader.items(meta, "meta", "transitions", transition),
        session_approved_categories: reader.items(meta, "meta", "session_approved_categories", owned),
        tool_calls: reader.items(meta, "meta", "tool_calls", |call| call.is_object().then_some(())).len() as u64,
        authorized_costs: reader.items(&frontmatter, "brief.frontmatter", "authorized_costs", owned),
        active_roles: reader.items(meta, "meta", "active_roles", owned),
        coordinator_state: reader.optional_text(meta, "meta", "coordinator_state"),
        messages: file.as_object().map(|file| reader.items(file, "", "messages", message)).unwrap_or_default(),
        damaged_fields: Vec::new(),
    };
    Ok(PeerSession { damaged_fields: reader.damaged, ..session })
}

/// Reads the messages of the peer's transcript, in the order of the file, and the numbers of the lines that can't be
/// read.
#[must_use]
pub fn read_transcript(file: &str) -> (Vec<PeerMessage>, Vec<u64>) {
    let mut messages = Vec::new();
    let mut damaged = Vec::new();
    for (number, line) in (1..).zip(file.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let line: Option<Value> = serde_json::from_str(&mend_surrogates(line)).ok();
        match line.as_ref().and_then(|line| line.get("message")).and_then(message) {
            Some(message) => messages.push(message),
            None => damaged.push(number),
        }
    }
    (messages, damaged)
}

/// Reads fields and remembers which were not as they should be.
#[derive(Default)]
struct SessionReader {
    damaged: Vec<String>,
}

impl SessionReader {
    /// A text that every version has.
    fn text(&mut self, fields: &Map<String, Value>, place: &str, name: &str) -> Option<String> {
        let text = fields.get(name).and_then(owned);
        if text.is_none() {
            self.damaged.push(path(place, name).into_owned());
        }
        text
    }

    /// A text that may be absent.
    fn optional_text(&mut self, fields: &Map<String, Value>, place: &str, name: &str) -> Option<String> {
        match fields.get(name) {
            None | Some(Value::Null) => None,
            Some(_) => self.text(fields, place, name),
        }
    }

    /// The items of a list that may be absent; an item that can't be read is left out.
    fn items<T>(
        &mut self,
        fields: &Map<String, Value>,
        place: &str,
        name: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Vec<T> {
        let items = match fields.get(name) {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(_) => {
                self.damaged.push(path(place, name).into_owned());
                return Vec::new();
            }
        };
        let read_one = |(index, item)| {
            let read = read(item);
            if read.is_none() {
                self.damaged.push(format!("{}[{index}]", path(place, name)));
            }
            read
        };
        items.iter().enumerate().filter_map(read_one).collect()
    }
}

fn path<'a>(place: &str, name: &'a str) -> Cow<'a, str> {
    if place.is_empty() { Cow::Borrowed(name) } else { Cow::Owned(format!("{place}.{name}")) }
}

fn owned(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn field(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(owned)
}

fn approval(value: &Value) -> Option<Approval> {
    let approved = value.get("approved")?.as_bool()?;
    Some(Approval { at: field(value, "at"), action: field(value, "action")?, approved })
}

fn transition(value: &Value) -> Option<Transition> {
    let (from, to) = (field(value, "from")?, field(value, "to")?);
    Some(Transition { at: field(value, "at"), from, to, reason: field(value, "reason") })
}

fn message(value: &Value) -> Option<PeerMessage> {
    let phase = value.get("meta").and_then(|meta| field(meta, "phase"));
    Some(PeerMessage { role: field(value, "role")?, at: field(value, "at"), phase, content: field(value, "content")? })
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_version_is_of_the_first() {
        let session =
            read(r#"{"meta":{"brief_id":"b","project":"p","started_at":"s","updated_at":"u","phase":"done"}}"#)
                .expect("a session");
        assert_eq!((session.schema_version, session.tool_calls), (1, 0));
        assert_eq!(session.damaged_fields, Vec::<String>::new());
    }

    #[test]
    fn what_is_missing_or_mistyped_hides_nothing_else() {
        let session = read(
            r#"{"schema_version":2,"meta":{"brief_id":"b","project":5,"phase":"execute","mode":["auto"],
            "destructive_approvals":[null,{"at":"t","action":"x","approved":false},{"action":"y","approved":"yes"}],
            "transitions":{}},"messages":[{"role":"user","content":"half \ud83d","at":7},{"role":"user"}]}"#,
        )
        .expect("a session");
        assert_eq!(session.approvals, [Approval { at: Some("t".into()), action: "x".into(), approved: false }]);
        assert_eq!(session.messages[0].content, "half \u{fffd}");
        assert_eq!(
            session.damaged_fields,
            [
                "meta.project",
                "meta.started_at",
                "meta.updated_at",
                "meta.mode",
                "meta.destructive_approvals[0]",
                "meta.destructive_approvals[2]",
                "meta.transitions",
                "messages[1]",
            ]
        );
    }

    #[test]
    fn what_can_not_be_used_says_why() {
        for (file, message) in [
            ("{", "the session file is not valid JSON"),
            ("null", "the session file has no `meta`"),
            ("[]", "the session file has no `meta`"),
            (r#"{"meta":null}"#, "the session file has no `meta`"),
            (r#"{"meta":{"brief_id":7}}"#, "the session file has no `meta.brief_id`"),
            (
                r#"{"schema_version":4,"meta":{}}"#,
                "the session file has version 4, and 3 is the newest that can be read",
            ),
            (
                r#"{"schema_version":"3","meta":{}}"#,
                "`schema_version` of the session file must be a whole number, not `\"3\"`",
            ),
        ] {
            assert_eq!(read(file).expect_err(file).to_string(), message);
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(read(&deep).is_err());
    }

    #[test]
    fn a_damaged_line_of_a_transcript_is_skipped() {
        let file =
            "{\"message\":{\"role\":\"user\",\"content\":\"go\",\"meta\":{\"phase\":\"execute\"}}}\r\n\nnull\njunk\n";
        let (messages, damaged) = read_transcript(file);
        assert_eq!(messages.len(), 1);
        assert_eq!(messages[0].phase.as_deref(), Some("execute"));
        assert_eq!(damaged, [3, 4]);
    }
}
