//! Answers of a provider to requests that break a rule, and helpers to check requests.

use serde_json::Value;

/// An answer other than 200: its status, and the body in the provider's form.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The body, in the form in which this provider reports errors.
    pub body: Value,
}

impl Refusal {
    /// The sentence in the body, wherever this provider puts it.
    #[must_use]
    pub fn message(&self) -> &str {
        let body = self.body.get(0).unwrap_or(&self.body);
        let places = [&body["error"]["metadata"]["raw"], &body["error"]["message"], &body["message"]];
        let sentence = places.into_iter().find_map(Value::as_str);
        sentence.or_else(|| body["detail"][0]["msg"].as_str()).unwrap_or_default()
    }

    /// The whole response, as it goes over the wire.
    #[must_use]
    pub fn response(&self) -> String {
        let body = self.body.to_string();
        let length = body.len();
        format!(
            "HTTP/1.1 {} Refused\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n{body}",
            self.status
        )
    }
}

/// The value of a header, whose name is given in lower case.
pub(crate) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().skip(1).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.trim().eq_ignore_ascii_case(name).then_some(value.trim())
    })
}

/// The path and query of a request; empty if the head can't be read.
pub(crate) fn target(head: &str) -> &str {
    head.lines().next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default()
}

/// The path of a request without its query.
pub(crate) fn path(head: &str) -> &str {
    target(head).split('?').next().unwrap_or_default()
}

/// The fields of an object that aren't among the known ones; none if it is no object.
pub(crate) fn unknown<'a>(value: &'a Value, known: &[&str]) -> Vec<&'a str> {
    let fields = value.as_object().into_iter().flat_map(|object| object.keys());
    fields.map(String::as_str).filter(|name| !known.contains(name)).collect()
}

/// The items of an array; none if it is no array.
pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The text of a value; empty if it is no text.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns true if a name has 1 to `length_max` letters, digits, `_` and `-`.
pub(crate) fn is_plain_name(name: &str, length_max: usize) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=length_max).contains(&name.len()) && name.chars().all(is_plain)
}

/// The first value that stands twice.
pub(crate) fn repeated<'a>(values: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = Vec::new();
    for value in values {
        if seen.contains(&value) {
            return Some(value);
        }
        seen.push(value);
    }
    None
}

/// The kind of a value, as validators name it.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
