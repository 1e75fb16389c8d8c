//! Reads the lines of a trace for views: our journals, and the peer's traces of every version (no `seq`, `at` last),
//! with the same accessors.
//!
//! In: lines with their numbers. Out: [`Trace`], in which every line of a known type has the fields of that type,
//! rightly typed; all other damage is a list of line numbers. Unknown types are kept, unknown fields ignored. No
//! sequence is checked here: a view shows the lines that there are. A resume checks that they are whole.
//!
//! Values stay as the text they were read from until they are asked for, so that a line costs one pass and a value
//! nested a million deep costs nothing. Begin with [`read_bytes`]; the fields that each type must have stand with the
//! events.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::event::EventKind;
use super::object;
use super::peer::PeerKind;
use super::spec::{HEAD, Spec, hold};

/// A trace as far as it can be read.
#[derive(Debug, Clone, Default)]
pub struct Trace<'a> {
    /// The readable lines, in the order of the file.
    pub lines: Vec<TraceLine<'a>>,
    /// The numbers of the lines that can't be read, ascending, from 1.
    pub damaged: Vec<u64>,
    /// The version in the first header; absent if there is none.
    pub version: Option<u64>,
}

impl Trace<'_> {
    /// Returns true if there is nothing in it, not even damage: the peer's meaning of a run without a trace.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.damaged.is_empty()
    }

    /// Returns true if this is one of our journals; the peer's lines carry no `seq`.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.lines.iter().any(TraceLine::is_ours)
    }
}

/// One readable line.
#[derive(Debug, Clone)]
pub struct TraceLine<'a> {
    /// Its number in the file, from 1.
    pub number: u64,
    /// Its place in the journal, from 0; absent in the peer's traces.
    pub seq: Option<u64>,
    /// Time of recording, as it was written.
    pub at: Option<Cow<'a, str>>,
    /// Its type.
    pub kind: TraceLineKind<'a>,
    /// The part of the run that it belongs to; empty for the run itself.
    pub part: Cow<'a, str>,
    /// All its fields, the ones above included.
    pub fields: Fields<'a>,
}

impl TraceLine<'_> {
    /// Returns true if one of our drivers wrote it.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.seq.is_some()
    }
}

/// The type of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceLineKind<'a> {
    /// One of our events; the peer may have it too.
    Known(EventKind),
    /// An event that only the peer has.
    Peer(PeerKind),
    /// A type that this version does not know.
    Unknown(Cow<'a, str>),
}

impl<'a> TraceLineKind<'a> {
    /// Returns the type of this name.
    #[must_use]
    pub fn named(name: Cow<'a, str>) -> Self {
        match (EventKind::named(&name), PeerKind::named(&name)) {
            (Some(kind), _) => Self::Known(kind),
            (None, Some(kind)) => Self::Peer(kind),
            (None, None) => Self::Unknown(name),
        }
    }

    /// Returns its name on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(kind) => kind.as_str(),
            Self::Peer(kind) => kind.as_str(),
            Self::Unknown(name) => name,
        }
    }

    /// Returns what is said of such events; `None` for an unknown type.
    #[must_use]
    pub fn spec(&self) -> Option<&'static Spec> {
        match self {
            Self::Known(kind) => Some(kind.spec()),
            Self::Peer(kind) => Some(kind.spec()),
            Self::Unknown(_) => None,
        }
    }

    /// Returns the type, if it is one of ours.
    #[must_use]
    pub fn known(&self) -> Option<EventKind> {
        match self {
            Self::Known(kind) => Some(*kind),
            Self::Peer(_) | Self::Unknown(_) => None,
        }
    }
}

impl PartialEq<EventKind> for TraceLineKind<'_> {
    fn eq(&self, kind: &EventKind) -> bool {
        self.known() == Some(*kind)
    }
}

impl PartialEq<PeerKind> for TraceLineKind<'_> {
    fn eq(&self, kind: &PeerKind) -> bool {
        matches!(self, Self::Peer(own) if own == kind)
    }
}

impl fmt::Display for TraceLineKind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The fields of an object, in the order of the text; of two with one name the last counts.
#[derive(Debug, Clone, Default)]
pub struct Fields<'a>(Vec<(Cow<'a, str>, &'a str)>);

impl<'a> Fields<'a> {
    /// The field as the JSON it was read from; a field that is `null` counts as absent.
    #[must_use]
    pub fn json(&self, name: &str) -> Option<&'a str> {
        // A plain loop that looks at lengths first: this is asked a dozen times for every line of a trace.
        let mut found = None;
        for (known, value) in &self.0 {
            let known: &str = known;
            if known.len() == name.len() && known == name {
                found = Some(*value);
            }
        }
        found.filter(|json| *json != "null")
    }

    /// The field as text; absent if it is anything else. Half a surrogate pair, which the peer's cuts can
    /// leave, reads as U+FFFD.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        text_of(self.json(name)?)
    }

    /// The field as text; empty if there is none.
    #[must_use]
    pub fn word(&self, name: &str) -> Cow<'a, str> {
        self.text(name).unwrap_or_default()
    }

    /// The field as a number; absent if it is anything else.
    ///
    /// A fraction is rounded and a negative number is 0: the peer's durations can be either.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        number_of(self.json(name)?)
    }

    /// The field as a number; 0 if there is none.
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        self.number(name).unwrap_or(0)
    }

    /// Returns true if the field is `true`.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        self.json(name) == Some("true")
    }

    /// The field as a list of texts; empty if it is anything else.
    #[must_use]
    pub fn texts(&self, name: &str) -> Vec<Cow<'a, str>> {
        self.items(name).into_iter().filter_map(text_of).collect()
    }

    /// The field as a list of numbers; empty if it is anything else.
    #[must_use]
    pub fn numbers(&self, name: &str) -> Vec<u64> {
        self.items(name).into_iter().filter_map(number_of).collect()
    }

    /// The field as an object; without fields if it is anything else.
    #[must_use]
    pub fn object(&self, name: &str) -> Self {
        self.json(name).and_then(object_of).unwrap_or_default()
    }

    /// The fields that are objects themselves, in the order of the text.
    #[must_use]
    pub fn values(&self) -> Vec<Self> {
        self.0.iter().filter_map(|(_, json)| object_of(json)).collect()
    }

    /// The field as a list of objects; empty if it is anything else.
    #[must_use]
    pub fn objects(&self, name: &str) -> Vec<Self> {
        self.items(name).into_iter().filter_map(object_of).collect()
    }

    /// All of them as they stand, each with the JSON it was read from.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), *value))
    }

    fn items(&self, name: &str) -> Vec<&'a str> {
        self.json(name).and_then(items_of).unwrap_or_default()
    }
}

/// The text that a JSON string stands for; `None` if `json` is no string.
pub(super) fn text_of(json: &str) -> Option<Cow<'_, str>> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    let whole: Result<String, _> = serde_json::from_str(json);
    whole.or_else(|_| serde_json::from_str(&mend_surrogates(json))).ok().map(Cow::Owned)
}

/// Returns the number in `json`, rounded and not below 0; `None` if it is no number, or beyond what a peer's number can
/// hold exactly.
pub(super) fn number_of(json: &str) -> Option<u64> {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    json.parse().ok().or_else(|| {
        let number: f64 = json.parse().ok()?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 2^53")]
        (number.abs() <= EXACT_MAX).then(|| number.max(0.0).round() as u64)
    })
}

pub(crate) fn object_of(json: &str) -> Option<Fields<'_>> {
    let mut fields = Vec::with_capacity(8);
    match object::fields(json, |name, value| fields.push((Cow::Borrowed(name), value.json))) {
        Some(()) => Some(Fields(fields)),
        None => serde_json::from_str(json).ok(),
    }
}

pub(super) fn items_of(json: &str) -> Option<Vec<&str>> {
    let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    Some(items.into_iter().map(RawValue::get).collect())
}

/// `json` with every escape that is half a surrogate pair replaced by that of U+FFFD, which strict
/// readers take. The peer counts and cuts in UTF-16, so its files can hold such halves.
#[must_use]
pub fn mend_surrogates(json: &str) -> Cow<'_, str> {
    let unit_at = |at: usize| {
        let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut mended = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = memchr::memchr(b'\\', json.as_bytes().get(at..).unwrap_or_default()) {
        at += found;
        at += match (unit_at(at), unit_at(at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                mended.push_str(&json[copied..at]);
                mended.push_str("\\ufffd");
                copied = at + 6;
                6
            }
            _ => 2,
        };
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    mended.push_str(&json[copied..]);
    Cow::Owned(mended)
}

/// Reads the lines of a file: split at line feeds, with or without a carriage return. A line that is not
/// UTF-8 is damaged.
#[must_use]
pub fn read_bytes(file: &[u8]) -> Trace<'_> {
    let mut trace = Trace::default();
    for (number, line) in (1..).zip(file.split(|byte| *byte == b'\n')) {
        match std::str::from_utf8(line) {
            Ok(line) => trace.read(number, line),
            Err(_) => trace.damaged.push(number),
        }
    }
    trace
}

/// Reads lines that are already split and numbered. Blank lines are skipped.
#[must_use]
pub fn read_lines<'a>(lines: impl IntoIterator<Item = (u64, &'a str)>) -> Trace<'a> {
    let mut trace = Trace::default();
    for (number, line) in lines {
        trace.read(number, line);
    }
    trace
}

impl<'a> Trace<'a> {
    fn read(&mut self, number: u64, line: &'a str) {
        let line = match read_one(line) {
            Read::Blank => return,
            Read::Line(line) => TraceLine { number, ..line },
            Read::Mistyped | Read::NotJson => {
                self.damaged.push(number);
                return;
            }
        };
        if self.version.is_none() && line.kind == EventKind::TraceVersion {
            self.version = line.fields.number("version");
        }
        self.lines.push(line);
    }
}

/// One line, as far as it can be read.
#[derive(Debug)]
pub enum Read<'a> {
    /// Nothing stands on it.
    Blank,
    /// A readable line; its number is left at 0.
    Line(TraceLine<'a>),
    /// JSON, but no object with a type, or one whose fields are not what its type has.
    Mistyped,
    /// No JSON at all.
    NotJson,
}

/// Reads one line.
#[must_use]
pub fn read_one(line: &str) -> Read<'_> {
    if line.trim_ascii_start().is_empty() && line.trim().is_empty() {
        return Read::Blank;
    }
    let Some(fields) = object_of(line) else {
        let is_json = serde_json::from_str::<&RawValue>(line).is_ok();
        return if is_json { Read::Mistyped } else { Read::NotJson };
    };
    let Some(kind) = fields.text("type") else { return Read::Mistyped };
    let kind = TraceLineKind::named(kind);
    if !(hold(HEAD, &fields) && kind.spec().is_none_or(|spec| hold(spec.fields, &fields))) {
        return Read::Mistyped;
    }
    Read::Line(TraceLine {
        number: 0,
        seq: fields.number("seq"),
        at: fields.text("at"),
        kind,
        part: fields.word("part"),
        fields,
    })
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;

        #[derive(Deserialize)]
        struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut fields = Vec::with_capacity(8);
                while let Some(Name(name)) = map.next_key()? {
                    let value: &RawValue = map.next_value()?;
                    fields.push((name, value.get()));
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(FieldsVisitor)
    }
}

/// The object as it was read; of two fields with one name the last only.
impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (index, (name, value)) in self.0.iter().enumerate() {
            if self.0[index + 1..].iter().all(|(later, _)| later != name) {
                let value: &RawValue = serde_json::from_str(value).map_err(serde::ser::Error::custom)?;
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads one line; what comes out is its `phase` and `duration_ms`, or nothing if it is damaged.
    #[track_caller]
    fn check(line: &str, expected: Option<(&str, u64)>) {
        let trace = read_lines([(7, line)]);
        let read = trace.lines.first().map(|line| (line.fields.word("phase"), line.fields.count("duration_ms")));
        assert_eq!(read.as_ref().map(|(phase, length)| (phase.as_ref(), *length)), expected, "{line}");
        let damaged: &[u64] = if expected.is_some() { &[] } else { &[7] };
        assert_eq!(trace.damaged, damaged, "{line}");
    }

    #[test]
    fn a_line_with_the_fields_of_its_type_is_read() {
        let line = r#"{"type": "phase_exit", "phase": "execute", "duration_ms": 45, "at": "2026-01-02T03:04:05.678Z"}"#;
        check(line, Some(("execute", 45)));
        check(&format!("{line}\r"), Some(("execute", 45)));
        check(r#"{"seq":3,"at":"x","type":"phase_exit","phase":"execute","duration_ms":4.6}"#, Some(("execute", 5)));
        check(r#"{"type":"phase_exit","phase":"execute","duration_ms":-3}"#, Some(("execute", 0)));
        check(r#"{"type":"phase_exit","phase":"a\n\u00e9\ud83d","duration_ms":1}"#, Some(("a\né\u{fffd}", 1)));
        check(r#"{"type":"phase_exit","phase":"b","phase":"c","duration_ms":1}"#, Some(("c", 1)));
    }

    #[test]
    fn a_line_with_anything_else_is_damaged() {
        let typed = |phase: &str, length: &str| {
            check(&format!(r#"{{"type":"phase_exit","phase":{phase},"duration_ms":{length}}}"#), None);
        };
        for not_text in ["null", "7", "true", "[]", "{}", "[\"execute\"]"] {
            typed(not_text, "1");
        }
        for not_number in ["null", "\"7\"", "true", "[]", "{}", "1e400", "18446744073709551616"] {
            typed("\"execute\"", not_number);
        }
        for line in ["null", "5", "\"x\"", "[]", "{", "BROKEN", "{}", r#"{"type":5}"#, r#"{"type":null}"#] {
            check(line, None);
        }
        check(r#"{"type":"phase_exit","phase":"execute"}"#, None);
        check(r#"{"type":"phase_exit","phase":"execute","duration_ms":1,"at":5}"#, None);
        check(r#"{"seq":"1","type":"phase_exit","phase":"execute","duration_ms":1}"#, None);
        check(r#"{"type":"phase_exit","phase":"execute","duration_ms":1} x"#, None);
    }

    #[test]
    fn an_unknown_type_keeps_its_fields() {
        let trace = read_lines([(1, r#"{"type":"some_future_event","x":[1,{"a":2}]}"#)]);
        assert_eq!(trace.lines[0].kind.spec().map(|spec| spec.label), None);
        assert_eq!(trace.lines[0].fields.json("x"), Some(r#"[1,{"a":2}]"#));
    }

    #[test]
    fn a_file_is_split_at_line_feeds_and_numbered_from_one() {
        let file =
            b"{\"type\":\"trace_version\",\"version\":5,\"brief_id\":\"b\"}\r\n\r\n\xff\n{\"type\":\"chat\"}\n\n";
        let trace = read_bytes(file);
        assert_eq!(trace.version, Some(5));
        assert_eq!(trace.damaged, [3]);
        assert_eq!(trace.lines.iter().map(|line| line.number).collect::<Vec<_>>(), [1, 4]);
        assert!(read_bytes(b"\n \r\n\n").is_empty() && !read_bytes(b"x").is_empty());
    }

    #[test]
    fn nesting_has_no_limit() {
        let deep = format!(
            r#"{{"type":"tool_call","call_id":"c","name":"n","auth_decision":"allow","args":{}{}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        assert_eq!(read_lines([(1, deep.as_str())]).lines.len(), 1);
        let deep = deep.replace("\"n\"", &format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)));
        assert_eq!(read_lines([(1, deep.as_str())]).damaged, [1]);
    }

    #[test]
    fn only_half_pairs_are_mended() {
        for (json, mended) in [
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\ude00\ud83dx""#, r#""\ufffd\ufffdx""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""é\"#, r#""é\"#),
            (r#""\ué""#, r#""\ué""#),
        ] {
            assert_eq!(mend_surrogates(json), mended);
        }
    }
}
