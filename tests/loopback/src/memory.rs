//! Remembers what a server gave out and wants back.

use serde_json::Value;

/// The parts of one reply that only the provider can read.
#[derive(Debug, Clone)]
struct Given {
    /// Texts that show that the reply is in a request: the ids of its calls, else its words.
    anchors: Vec<String>,
    /// Texts that have to be there then, unchanged.
    opaque: Vec<String>,
}

/// Everything that a server gave out, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    given: Vec<Given>,
}

impl Memory {
    /// Remembers a reply by its calls, or by its words if it has none.
    pub(crate) fn keep(&mut self, reply: &crate::Reply, opaque: Vec<String>) {
        let ids = reply.calls.iter().map(|call| call.id.clone()).filter(|id| !id.is_empty());
        let mut anchors: Vec<String> = ids.collect();
        if anchors.is_empty() {
            anchors.push(reply.text.clone());
        }
        if !opaque.is_empty() {
            self.given.push(Given { anchors, opaque });
        }
    }

    /// Returns true if this was given out.
    pub(crate) fn has(&self, opaque: &str) -> bool {
        self.given.iter().any(|given| given.opaque.iter().any(|known| known == opaque))
    }

    /// Returns what was given out with replies that are in a request, and isn't in it unchanged.
    pub(crate) fn lost(&self, body: &Value) -> Vec<String> {
        let mut said = Vec::new();
        strings(body, &mut said);
        let is_there = |text: &String| said.contains(&text.as_str());
        let replies = self.given.iter().filter(|given| given.anchors.iter().any(is_there));
        replies.flat_map(|given| &given.opaque).filter(|opaque| !is_there(opaque)).cloned().collect()
    }
}

/// All texts in a value.
pub(crate) fn strings<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
