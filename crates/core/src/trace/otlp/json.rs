//! The protocol's JSON: ids in hexadecimal digits, whole numbers of 64 bits as text, enumerations as numbers.

use serde::Serialize;

use super::{Attribute, STATUS_ERROR, Span, Traces, Value, names};

/// One request with these spans of `traces`, as `POST /v1/traces` takes it.
#[must_use]
pub fn to_json(traces: &Traces, spans: &[Span]) -> String {
    let request = ExportRequest {
        resource_spans: [ResourceSpans {
            resource: Resource { attributes: attributes(&traces.resource) },
            scope_spans: [ScopeSpans {
                scope: InstrumentationScope { name: "adjutant", version: traces.scope_version },
                spans: spans.iter().map(|span| json_span(traces, span)).collect(),
                schema_url: names::SCHEMA_URL,
            }],
            schema_url: names::SCHEMA_URL,
        }],
    };
    serde_json::to_string(&request).expect("texts, whole numbers and flags can be written")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExportRequest<'t> {
    resource_spans: [ResourceSpans<'t>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'t> {
    resource: Resource<'t>,
    scope_spans: [ScopeSpans<'t>; 1],
    schema_url: &'static str,
}

#[derive(Serialize)]
struct Resource<'t> {
    attributes: Vec<KeyValue<'t>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ScopeSpans<'t> {
    scope: InstrumentationScope,
    spans: Vec<JsonSpan<'t>>,
    schema_url: &'static str,
}

#[derive(Serialize)]
struct InstrumentationScope {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonSpan<'t> {
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<String>,
    name: &'t str,
    kind: u32,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<KeyValue<'t>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    events: Vec<JsonEvent<'t>>,
    #[serde(skip_serializing_if = "is_zero")]
    dropped_events_count: u32,
    status: SpanStatus<'t>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonEvent<'t> {
    time_unix_nano: String,
    name: &'static str,
    attributes: Vec<KeyValue<'t>>,
}

#[derive(Serialize, Default)]
struct SpanStatus<'t> {
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'t str>,
    #[serde(skip_serializing_if = "is_zero")]
    code: u32,
}

#[derive(Serialize)]
struct KeyValue<'t> {
    key: &'static str,
    value: AnyValue<'t>,
}

#[derive(Serialize)]
enum AnyValue<'t> {
    #[serde(rename = "stringValue")]
    Text(&'t str),
    #[serde(rename = "boolValue")]
    Flag(bool),
    #[serde(rename = "intValue")]
    Number(String),
    #[serde(rename = "arrayValue")]
    Array(ArrayValue<'t>),
}

#[derive(Serialize)]
struct ArrayValue<'t> {
    values: Vec<AnyValue<'t>>,
}

fn json_span<'t>(traces: &Traces, span: &'t Span) -> JsonSpan<'t> {
    let events = span.events.iter().map(|event| JsonEvent {
        time_unix_nano: event.at.to_string(),
        name: event.name,
        attributes: attributes(&event.attributes),
    });
    JsonSpan {
        trace_id: hex(&traces.trace_id),
        span_id: hex(&span.id),
        parent_span_id: span.parent.as_ref().map(|parent| hex(parent)),
        name: &span.name,
        kind: span.kind as u32,
        start_time_unix_nano: span.start.to_string(),
        end_time_unix_nano: span.end.to_string(),
        attributes: attributes(&span.attributes),
        events: events.collect(),
        dropped_events_count: span.dropped_events,
        status: span
            .error
            .as_deref()
            .map_or_else(SpanStatus::default, |error| SpanStatus { message: Some(error), code: STATUS_ERROR }),
    }
}

fn attributes(all: &[Attribute]) -> Vec<KeyValue<'_>> {
    let value = |value| match value {
        &Value::Flag(flag) => AnyValue::Flag(flag),
        Value::Text(text) => AnyValue::Text(text),
        Value::Number(number) => AnyValue::Number(number.to_string()),
        Value::Texts(texts) => {
            AnyValue::Array(ArrayValue { values: texts.iter().map(|text| AnyValue::Text(text)).collect() })
        }
    };
    all.iter().map(|attribute| KeyValue { key: attribute.key, value: value(&attribute.value) }).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
