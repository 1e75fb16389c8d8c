//! One event as one line: fixed key order (`seq`, `at`, `type`, `part`, the event's own, `prev` last),
//! no spaces, so that a reader may search bytes first and parse only what it needs.
//!
//! In: events, or lines. Out: lines, or events. `prev` is the short hash of the line before as it was written, so that
//! a gap or a change shows; this module writes and reads it, the journal's keeper compares it.
//!
//! Begin with [`encode`] and [`decode`].

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, EnumAccess, VariantAccess, Visitor};
use thiserror::Error;

use super::event::{Body, Event, EventKind, Line};
use crate::words::Part;

/// Number of hexadecimal digits of a line's hash that the next line carries.
pub const PREV_CHARS: usize = 16;

/// The short hash of a line as it was written, without its line feed.
#[must_use]
pub fn line_hash(line: &[u8]) -> String {
    ShortHash::of_line(line).as_str().to_owned()
}

/// The part of a hash that is written down: its first [`PREV_CHARS`] digits.
#[must_use]
pub fn short(hash: &blake3::Hash) -> String {
    ShortHash::of(hash).as_str().to_owned()
}

/// The short hash of a line, kept where it stands: whoever checks a whole journal makes one for each line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortHash([u8; PREV_CHARS]);

impl ShortHash {
    /// Returns the short hash of a line without its line feed.
    #[must_use]
    pub fn of_line(line: &[u8]) -> Self {
        Self::of(&blake3::hash(line))
    }

    /// Returns the part of `hash` that is written down.
    #[must_use]
    pub fn of(hash: &blake3::Hash) -> Self {
        let hex = hash.to_hex();
        let mut digits = [0; PREV_CHARS];
        digits.copy_from_slice(&hex.as_bytes()[..PREV_CHARS]);
        Self(digits)
    }

    /// Returns the hash with these digits; they are not looked at.
    #[must_use]
    pub fn from_digits(digits: [u8; PREV_CHARS]) -> Self {
        Self(digits)
    }

    /// Returns its digits; nothing if they are none.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// The line for `event`, without a line feed. `prev` is the hash of the line before.
#[must_use]
pub fn encode(event: &Event, prev: Option<&str>) -> String {
    use std::fmt::Write as _;

    // Serde writes `{"phase_enter":{...}}`: the name and the fields are taken from there, so that the
    // order of fields is the order in which they are declared.
    let body = serde_json::to_string(&event.body).expect("every event body has string keys and finite numbers");
    let name_end = 2 + body[2..].find('"').expect("serde writes an enum as an object with one key");
    let (name, fields) = (&body[2..name_end], &body[name_end + 2..body.len() - 1]);

    let mut line = String::with_capacity(body.len() + 96);
    write!(line, r#"{{"seq":{},"at":"{:.3}","type":"{name}""#, event.seq, event.at).expect("writing to a string");
    if !event.part.is_root() {
        // A part is made of characters that JSON does not escape.
        write!(line, r#","part":"{}""#, event.part).expect("writing to a string");
    }
    let fields = &fields[1..fields.len() - 1];
    if !fields.is_empty() {
        line.push(',');
        line.push_str(fields);
    }
    if let Some(prev) = prev {
        write!(line, r#","prev":"{prev}""#).expect("writing to a string");
    }
    line.push('}');
    line
}

/// The fields that every line has, whatever its type.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct LineHead<'a> {
    /// Its place in the journal; absent in the peer's traces.
    pub seq: Option<u64>,
    /// Time of recording.
    #[serde(borrow)]
    pub at: Option<Cow<'a, str>>,
    /// The event's type.
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    /// The part of the run that it belongs to.
    #[serde(borrow)]
    pub part: Option<Cow<'a, str>>,
    /// The short hash of the line before.
    #[serde(borrow)]
    pub prev: Option<Cow<'a, str>>,
}

/// The reason why a line is damaged.
#[derive(Debug, Error)]
pub enum BadLine {
    /// It is not a JSON object with a type.
    #[error("not a JSON object with a `type`")]
    NotAnEvent(#[source] serde_json::Error),
    /// It has no number, or no time that can be read.
    #[error("`{field}` is missing or can't be read")]
    BadHead {
        /// The name of the field.
        field: &'static str,
    },
    /// Its type is known, but its fields are not what that type has.
    #[error("the fields of `{kind}` can't be read")]
    BadFields {
        /// The type.
        kind: String,
        /// The error of the reader.
        source: serde_json::Error,
    },
}

/// Reads the fields that every line has from `line`.
///
/// # Errors
///
/// [`BadLine::NotAnEvent`] if it is not a JSON object with a `type`.
pub fn head(line: &str) -> Result<LineHead<'_>, BadLine> {
    serde_json::from_str(line).map_err(BadLine::NotAnEvent)
}

/// The event on `line`; an unknown type is [`Line::Unknown`], not an error.
///
/// # Errors
///
/// [`BadLine`] says what is wrong with it.
pub fn decode(line: &str) -> Result<Line, BadLine> {
    LineReader::default().decode(line)
}

/// A reader of many lines. Neighbours mostly lie in one part of the run, whose name they then share.
#[derive(Debug, Default)]
pub struct LineReader {
    part: Part,
    /// Room for the fields of a line that only its type has.
    fields: String,
}

impl LineReader {
    /// Returns the event on `line`, as [`decode`] does.
    ///
    /// # Errors
    ///
    /// [`BadLine`] says what is wrong with it.
    pub fn decode(&mut self, line: &str) -> Result<Line, BadLine> {
        let (seq, at, kind, part, fields) = match as_we_write(line) {
            Some(Beginning { seq, at, kind, part, fields }) => {
                (Some(seq), Some(Cow::Borrowed(at)), Cow::Borrowed(kind), part.into(), fields)
            }
            None => {
                let LineHead { seq, at, kind, part, .. } = head(line)?;
                (seq, at, kind, part.unwrap_or_default(), None)
            }
        };
        let seq = seq.ok_or(BadLine::BadHead { field: "seq" })?;
        let at = at.as_deref().and_then(|at| at.parse().ok()).ok_or(BadLine::BadHead { field: "at" })?;
        let part = self.part(&part)?;
        let known = fields.and_then(|fields| self.body(&kind, fields));
        let read = known.map_or_else(|| body(&kind, line), |body| Ok(Some(body)))?;
        Ok(match read {
            Some(body) => Line::Event(Event { seq, at, part, body }),
            // Nobody parses the fields of an unknown type, so that at least it is JSON is seen to here.
            None => {
                head(line)?;
                Line::Unknown { seq, kind: kind.into_owned() }
            }
        })
    }

    /// Returns the body of an event from the fields that only its type has: parsing the others, to pass over them, takes
    /// longer than copying these. `None` if there is a fault, which the whole line tells best.
    fn body(&mut self, kind: &str, fields: &str) -> Option<Body> {
        self.fields.clear();
        self.fields.push('{');
        self.fields.push_str(fields);
        self.fields.push('}');
        body(kind, &self.fields).ok()?
    }

    fn part(&mut self, text: &str) -> Result<Part, BadLine> {
        if text.is_empty() {
            return Ok(Part::root());
        }
        if self.part.as_str() != text {
            self.part = text.parse().map_err(|_| BadLine::BadHead { field: "part" })?;
        }
        Ok(self.part.clone())
    }
}

/// The beginning of every line of ours.
struct Beginning<'a> {
    seq: u64,
    at: &'a str,
    kind: &'a str,
    part: &'a str,
    /// The fields that only its type has, as they are written; `None` if they can't be told apart.
    fields: Option<&'a str>,
}

/// The beginning of a line that is written as [`encode`] writes it; `None` sends the reader the long way,
/// which parses the whole line for these four.
fn as_we_write(line: &str) -> Option<Beginning<'_>> {
    let rest = line.strip_prefix(r#"{"seq":"#)?;
    let (seq, rest) = rest.split_at(rest.bytes().position(|byte| !byte.is_ascii_digit())?);
    let (at, rest) = plain(rest.strip_prefix(r#","at":""#)?)?;
    let (kind, rest) = plain(rest.strip_prefix(r#","type":""#)?)?;
    let (part, rest) = match rest.strip_prefix(r#","part":""#) {
        Some(rest) => plain(rest)?,
        // Something else than a text, which the long way has a word on.
        None if rest.starts_with(r#","part""#) => return None,
        None => ("", rest),
    };
    Some(Beginning { seq: seq.parse().ok()?, at, kind, part, fields: own_fields(rest) })
}

/// The fields at the end of a line that only its type has.
fn own_fields(rest: &str) -> Option<&str> {
    let fields = rest.strip_suffix('}')?;
    let fields = without_prev(fields).unwrap_or(fields);
    if fields.is_empty() { Some(fields) } else { fields.strip_prefix(',') }
}

/// The fields of a line without the hash of the line before, if that is the last of them. In a text its quotes would be
/// escaped.
fn without_prev(fields: &str) -> Option<&str> {
    let (rest, digits) = fields.strip_suffix('"')?.rsplit_once('"')?;
    let rest = rest.strip_suffix(r#","prev":"#)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(rest)
}

/// A string up to its closing quote, if nothing in it is escaped, and what follows.
fn plain(text: &str) -> Option<(&str, &str)> {
    let end = text.bytes().position(|byte| !byte.is_ascii_graphic() || byte == b'"' || byte == b'\\')?;
    let (text, rest) = text.split_at(end);
    Some((text, rest.strip_prefix('"')?))
}

/// The body of an event of type `kind`, its fields taken from `line`; `None` if the type is unknown.
///
/// # Errors
///
/// [`BadLine::BadFields`] if the type is known and the fields are not what it has.
pub fn body(kind: &str, line: &str) -> Result<Option<Body>, BadLine> {
    let Some(kind) = EventKind::named(kind) else { return Ok(None) };
    let read = Body::of_kind(kind, TypedLine { kind, line });
    read.map(Some).map_err(|source| BadLine::BadFields { kind: kind.as_str().to_owned(), source })
}

/// Presents a line to serde as an enum: the type picks the variant, the same line gives its fields. Unlike
/// serde's own internal tagging this copies nothing aside and parses each line once per reader.
struct TypedLine<'a> {
    kind: EventKind,
    line: &'a str,
}

impl<'de> Deserializer<'de> for TypedLine<'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(de::Error::custom("a line is read as an event"))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_enum(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'de> EnumAccess<'de> for TypedLine<'de> {
    type Error = serde_json::Error;
    type Variant = VariantFields<'de>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, VariantFields<'de>), Self::Error> {
        let variant = seed.deserialize(StrDeserializer::<serde_json::Error>::new(self.kind.as_str()))?;
        Ok((variant, VariantFields(self.line)))
    }
}

struct VariantFields<'a>(&'a str);

impl<'de> VariantAccess<'de> for VariantFields<'de> {
    type Error = serde_json::Error;

    fn unit_variant(self) -> Result<(), Self::Error> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Self::Error> {
        seed.deserialize(&mut serde_json::Deserializer::from_str(self.0))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Self::Error> {
        Err(de::Error::custom("events have named fields"))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Self::Error> {
        serde_json::Deserializer::from_str(self.0).deserialize_map(visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{CallEvent, PartEvent};
    use crate::words::{InterruptedEffect, PhaseName};

    fn event(body: Body) -> Event {
        Event {
            seq: 7,
            at: "2026-01-02T03:04:05.678Z".parse().expect("a time"),
            part: "session".parse().expect("a part"),
            body,
        }
    }

    #[track_caller]
    fn check(body: Body, expected: &str) {
        let event = event(body);
        let line = encode(&event, Some("00ff"));
        assert_eq!(line, expected);
        assert_eq!(decode(&line).expect("our own line"), Line::Event(event));
    }

    #[test]
    fn keys_stand_in_the_order_of_the_design() {
        check(
            Body::Part(PartEvent::PhaseEnter { phase: PhaseName::Intake, reason: None }),
            r#"{"seq":7,"at":"2026-01-02T03:04:05.678Z","type":"phase_enter","part":"session","phase":"intake","prev":"00ff"}"#,
        );
        check(
            Body::Call(CallEvent::Interrupted {
                slot: "call/3.1".parse().expect("a slot"),
                effect: InterruptedEffect::Unknown,
            }),
            r#"{"seq":7,"at":"2026-01-02T03:04:05.678Z","type":"interrupted","part":"session","slot":"call/3.1","effect":"unknown","prev":"00ff"}"#,
        );
    }

    #[test]
    fn an_unknown_type_is_skipped_and_an_unknown_field_ignored() {
        let line = r#"{"seq":1,"at":"2026-01-02T03:04:05.678Z","type":"some_future_event","x":1}"#;
        assert_eq!(decode(line).expect("skipped"), Line::Unknown { seq: 1, kind: "some_future_event".into() });
        let line =
            r#"{"seq":1,"at":"2026-01-02T03:04:05.678Z","type":"phase_enter","phase":"execute","mood":[1,{"a":2}]}"#;
        assert!(matches!(decode(line), Ok(Line::Event(Event { body: Body::Part(PartEvent::PhaseEnter { .. }), .. }))));
    }

    #[test]
    fn a_line_of_ours_in_another_order_reads_the_same() {
        let ours =
            r#"{"seq":1,"at":"2026-01-02T03:04:05.678Z","type":"phase_enter","part":"session","phase":"execute"}"#;
        let other = r#"{ "type": "phase_enter", "phase": "execute", "part": "session", "at": "2026-01-02T03:04:05.678Z", "seq": 1 }"#;
        assert_eq!(decode(ours).expect("ours"), decode(other).expect("the same"));
    }

    #[test]
    fn a_line_is_read_by_its_own_fields_as_it_is_read_whole() {
        let head = r#"{"seq":1,"at":"2026-01-02T03:04:05.678Z","type":"#;
        let mut reader = LineReader::default();
        for rest in [
            r#""warning","text":"one","prev":"00ff"}"#,
            r#""warning","text":"one"}"#,
            r#""warning","prev":"00ff"}"#,
            r#""warning"}"#,
            r#""warning","prev":"00ff","text":"one"}"#,
            r#""warning","text":"one","prev":"no hash"}"#,
            r#""warning","text":"one","prev":7}"#,
            // What looks like a hash within a text, and one that ends no text.
            r#""warning","text":"one\",\"prev\":\"00ff"}"#,
            r#""warning","text":"one,"prev":"00ff"}"#,
            // Fields of the head once more.
            r#""warning","text":"one","type":"phase_enter","seq":2,"prev":"00ff"}"#,
            r#""warning","text":"one","text":"two","prev":"00ff"}"#,
            // Too few brackets, too many, and something behind.
            r#""warning","text":"one","x":{"a":1,"prev":"00ff"}"#,
            r#""warning","text":"one","x":{"a":1,"prev":"00ff"}}"#,
            r#""warning","text":"one","prev":"00ff"}}"#,
            r#""warning","text":"one"},"prev":"00ff"}"#,
            r#""warning","text":"one","prev":"00ff"} "#,
            r#""warning",,"text":"one","prev":"00ff"}"#,
            r#""warning""text":"one","prev":"00ff"}"#,
        ] {
            let line = format!("{head}{rest}");
            let whole = body("warning", &line).map_err(|error| format!("{error:?}"));
            let read = match reader.decode(&line) {
                Ok(Line::Event(event)) => Ok(Some(event.body)),
                Ok(Line::Unknown { .. }) => Ok(None),
                Err(error) => Err(format!("{error:?}")),
            };
            assert_eq!(read, whole, "{line}");
        }
    }

    #[test]
    fn a_damaged_line_says_what_is_wrong() {
        for line in ["", "null", "5", "\"x\"", "[]", "{", r#"{"seq":1}"#, r#"{"type":"phase_enter"}"#] {
            assert!(decode(line).is_err(), "{line}");
        }
        let torn = r#"{"seq":1,"at":"2026-01-02T03:04:05.678Z","type":"some_future_event","x":"#;
        assert!(decode(torn).is_err());
        let line = r#"{"seq":1,"at":"2026-01-02T03:04:05.678Z","type":"phase_enter","phase":7}"#;
        assert!(matches!(decode(line), Err(BadLine::BadFields { .. })));
        // Not a line of the run itself because its part is no text.
        for part in ["7", "null", "{}", "\"a b\""] {
            let line =
                format!(r#"{{"seq":1,"at":"2026-01-02T03:04:05.678Z","type":"warning","part":{part},"text":""}}"#);
            assert_eq!(decode(&line).is_err(), part != "null", "{line}");
        }
    }
}
