//! The protocol's bytes: of its messages the few fields that are used, by the numbers in its definition.
//!
//! Written by hand, since the generated types would bring a code generator's runtime into the program for seven
//! messages; tests read what is written with the generated ones.

use super::{Attribute, STATUS_ERROR, Span, SpanEvent, Traces, Value, names};

/// One `ExportTraceServiceRequest` with these spans of `traces`.
#[must_use]
pub fn to_protobuf(traces: &Traces, spans: &[Span]) -> Vec<u8> {
    let mut scope = ProtobufMessage::default();
    scope.text(1, "adjutant").text(2, traces.scope_version);
    let mut scope_spans = ProtobufMessage::default();
    scope_spans.message(1, &scope);
    for span in spans {
        scope_spans.message(2, &self::span(traces, span));
    }
    scope_spans.text(3, names::SCHEMA_URL);
    let mut resource = ProtobufMessage::default();
    attributes(&mut resource, 1, &traces.resource);
    let mut resource_spans = ProtobufMessage::default();
    resource_spans.message(1, &resource).message(2, &scope_spans).text(3, names::SCHEMA_URL);
    let mut request = ProtobufMessage::default();
    request.message(1, &resource_spans);
    request.0
}

fn span(traces: &Traces, span: &Span) -> ProtobufMessage {
    let mut message = ProtobufMessage::default();
    message.bytes(1, &traces.trace_id).bytes(2, &span.id);
    if let Some(parent) = &span.parent {
        message.bytes(4, parent);
    }
    message.text(5, &span.name).number(6, span.kind as u64).fixed(7, span.start).fixed(8, span.end);
    attributes(&mut message, 9, &span.attributes);
    for event in &span.events {
        message.message(11, &self::event(event));
    }
    message.number(12, u64::from(span.dropped_events));
    let mut status = ProtobufMessage::default();
    if let Some(error) = &span.error {
        status.text(2, error).number(3, u64::from(STATUS_ERROR));
    }
    message.message(15, &status);
    message
}

fn event(event: &SpanEvent) -> ProtobufMessage {
    let mut message = ProtobufMessage::default();
    message.fixed(1, event.at).text(2, event.name);
    attributes(&mut message, 3, &event.attributes);
    message
}

fn attributes(message: &mut ProtobufMessage, field: u64, all: &[Attribute]) {
    for attribute in all {
        let mut pair = ProtobufMessage::default();
        pair.text(1, attribute.key).message(2, &value(&attribute.value));
        message.message(field, &pair);
    }
}

/// A value is one of several fields, so that it is written even if it is empty.
fn value(value: &Value) -> ProtobufMessage {
    let mut message = ProtobufMessage::default();
    match value {
        Value::Text(text) => message.bytes(1, text.as_bytes()),
        Value::Flag(flag) => message.tag(2, VARINT).varint(u64::from(*flag)),
        Value::Number(number) => message.tag(3, VARINT).varint(number.cast_unsigned()),
        Value::Texts(texts) => {
            let mut values = ProtobufMessage::default();
            for text in texts {
                values.message(1, &self::value(&Value::Text(text.clone())));
            }
            message.message(5, &values)
        }
    };
    message
}

/// The kinds in which values follow their field's number.
const VARINT: u64 = 0;
const FIXED: u64 = 1;
const LENGTH: u64 = 2;

/// A message as it is written.
#[derive(Debug, Default)]
struct ProtobufMessage(Vec<u8>);

impl ProtobufMessage {
    fn varint(&mut self, mut number: u64) -> &mut Self {
        while number >= 0x80 {
            self.0.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
        self
    }

    fn tag(&mut self, field: u64, kind: u64) -> &mut Self {
        self.varint(field << 3 | kind)
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) -> &mut Self {
        self.tag(field, LENGTH).varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn message(&mut self, field: u64, message: &Self) -> &mut Self {
        self.bytes(field, &message.0)
    }

    fn text(&mut self, field: u64, text: &str) -> &mut Self {
        if text.is_empty() { self } else { self.bytes(field, text.as_bytes()) }
    }

    fn number(&mut self, field: u64, number: u64) -> &mut Self {
        if number == 0 { self } else { self.tag(field, VARINT).varint(number) }
    }

    fn fixed(&mut self, field: u64, number: u64) -> &mut Self {
        if number != 0 {
            self.tag(field, FIXED).0.extend_from_slice(&number.to_le_bytes());
        }
        self
    }
}

/// Returns the number of spans that an `ExportTraceServiceResponse` says were rejected, and its reason. `None` if it
/// can't be read.
#[must_use]
pub fn rejected(response: &[u8]) -> Option<(u64, String)> {
    let mut rejected = (0, String::new());
    for (field, value) in fields(response)? {
        if let (1, ProtobufField::Bytes(partial)) = (field, value) {
            for (field, value) in fields(partial)? {
                match (field, value) {
                    (1, ProtobufField::Number(count)) => rejected.0 = count,
                    (2, ProtobufField::Bytes(why)) => rejected.1 = String::from_utf8_lossy(why).into_owned(),
                    _ => {}
                }
            }
        }
    }
    Some(rejected)
}

enum ProtobufField<'b> {
    Number(u64),
    Bytes(&'b [u8]),
}

fn fields(mut bytes: &[u8]) -> Option<Vec<(u64, ProtobufField<'_>)>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = take_varint(&mut bytes)?;
        let field = match tag & 7 {
            VARINT => ProtobufField::Number(take_varint(&mut bytes)?),
            LENGTH => {
                let length = usize::try_from(take_varint(&mut bytes)?).ok()?;
                ProtobufField::Bytes(take(&mut bytes, length)?)
            }
            FIXED => ProtobufField::Bytes(take(&mut bytes, 8)?),
            5 => ProtobufField::Bytes(take(&mut bytes, 4)?),
            _ => return None,
        };
        found.push((tag >> 3, field));
    }
    Some(found)
}

fn take<'b>(bytes: &mut &'b [u8], count: usize) -> Option<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let [byte] = take(bytes, 1)? else { return None };
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
