//! A run in the words of OpenTelemetry: spans with the attributes of its conventions for generative AI.
//!
//! In: the events of a journal. Out: [`Traces`], a projection that can be made again at any time: ids come from the
//! run's name, its beginning and the names of what was asked for, so that the same journal gives the same bytes.
//! By default it has no text that was said, written or read in the run ([`Content`]). Sends nothing.
//!
//! Begin with [`Projection`]; `json.rs` and `protobuf.rs` write what it gives in the two formats of the protocol,
//! `names.rs` has every name that a convention gave.

mod json;
mod names;
mod projection;
mod protobuf;
#[cfg(test)]
mod tests;

pub use json::to_json;
pub use projection::{Content, Projection};
pub use protobuf::{rejected, to_protobuf};

/// About how many bytes one request to a collector may have: they refuse more than 4 MiB by default.
pub const REQUEST_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The most events on one span; what is beyond is counted. A collector refuses a span that is too large.
pub const SPAN_EVENTS_MAX: usize = 4096;

/// The spans of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traces {
    /// The run's own id.
    pub trace_id: [u8; 16],
    /// Attributes of the program that produced the spans.
    pub resource: Vec<Attribute>,
    /// The version of the program that made them of the journal.
    pub scope_version: &'static str,
    /// In the order in which they began, the run itself first.
    pub spans: Vec<Span>,
}

/// Something that took time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Its id, never all zeros.
    pub id: [u8; 8],
    /// The span that it lies in; absent for the run itself.
    pub parent: Option<[u8; 8]>,
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: SpanKind,
    /// Its beginning, in nanoseconds since 1970.
    pub start: u64,
    /// Its end, in nanoseconds since 1970; never before its beginning, and never after its parent's end.
    pub end: u64,
    /// Its attributes.
    pub attributes: Vec<Attribute>,
    /// Events within the span.
    pub events: Vec<SpanEvent>,
    /// Number of events that were left out.
    pub dropped_events: u32,
    /// A word for the error; absent if it didn't fail.
    pub error: Option<String>,
}

/// The kinds of spans that are used, with their numbers in the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// Within the program.
    Internal = 1,
    /// A request to another program.
    Client = 3,
}

/// The number of the status of a span that failed.
const STATUS_ERROR: u32 = 2;

/// Something that happened at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanEvent {
    /// Its time, in nanoseconds since 1970.
    pub at: u64,
    /// Its name.
    pub name: &'static str,
    /// Its attributes.
    pub attributes: Vec<Attribute>,
}

/// One thing that is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// Its name.
    pub key: &'static str,
    /// Its value.
    pub value: Value,
}

/// The kinds of values that are used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Text.
    Text(String),
    /// A whole number.
    Number(i64),
    /// Yes or no.
    Flag(bool),
    /// Several texts.
    Texts(Vec<String>),
}

impl Traces {
    /// The spans in pieces that a collector takes at once.
    #[must_use]
    pub fn requests(&self) -> Vec<&[Span]> {
        let mut requests = Vec::new();
        let (mut begin, mut bytes) = (0, 0);
        for (index, span) in self.spans.iter().enumerate() {
            let size = size(span);
            if bytes + size > REQUEST_BYTES_MAX && index > begin {
                requests.push(&self.spans[begin..index]);
                (begin, bytes) = (index, 0);
            }
            bytes += size;
        }
        requests.push(&self.spans[begin..]);
        requests
    }
}

/// About how many bytes a span takes in the larger of the two formats.
fn size(span: &Span) -> usize {
    let attributes = |all: &[Attribute]| -> usize {
        let values = all.iter().map(|attribute| match &attribute.value {
            Value::Text(text) => text.len() * 2,
            Value::Texts(texts) => texts.iter().map(|text| text.len() + 24).sum(),
            Value::Number(_) | Value::Flag(_) => 20,
        });
        values.sum::<usize>() + all.len() * 64
    };
    let events: usize = span.events.iter().map(|event| 96 + attributes(&event.attributes)).sum();
    300 + attributes(&span.attributes) + events
}
