//! The wire formats behind one name each.

use serde_json::Value;

use crate::{Flavor, Refusal, Reply, anthropic, chat, gemini, responses};

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Anthropic's Messages.
    Messages,
    /// OpenAI's Responses.
    Responses,
    /// Chat Completions, as this server has it.
    Chat(Flavor),
    /// Google's Gemini API.
    Gemini,
}

/// The rules of a format, with what the server gave out so far.
#[derive(Debug, Clone)]
pub enum Rules {
    /// Anthropic's Messages.
    Messages(anthropic::Rules),
    /// OpenAI's Responses.
    Responses(responses::Rules),
    /// Chat Completions.
    Chat(chat::Rules),
    /// Google's Gemini API.
    Gemini(gemini::Rules),
}

impl Format {
    /// The rules of a server that has given out nothing yet.
    #[must_use]
    pub fn rules(self) -> Rules {
        match self {
            Self::Messages => Rules::Messages(anthropic::Rules::default()),
            Self::Responses => Rules::Responses(responses::Rules::default()),
            Self::Chat(flavor) => Rules::Chat(chat::Rules::new(flavor)),
            Self::Gemini => Rules::Gemini(gemini::Rules::default()),
        }
    }

    /// The whole response that streams these events.
    #[must_use]
    pub fn response(self, events: &[Value]) -> String {
        let end = if matches!(self, Self::Chat(_)) { "data: [DONE]\n\n" } else { "" };
        self.begun(events) + end
    }

    /// A response that streams these events and hasn't ended.
    pub(crate) fn begun(self, events: &[Value]) -> String {
        let named = |event: &Value| match (self, event["type"].as_str()) {
            (Self::Messages | Self::Responses, Some(name)) => format!("event: {name}\ndata: {event}\n\n"),
            (Self::Gemini, _) => format!("data: {event}\r\n\r\n"),
            (Self::Messages | Self::Responses | Self::Chat(_), _) => format!("data: {event}\n\n"),
        };
        let events: String = events.iter().map(named).collect();
        format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{events}")
    }
}

impl Rules {
    /// All that the provider would refuse in a request; the first is what it says.
    #[must_use]
    pub fn findings(&self, head: &str, body: &Value) -> Vec<Refusal> {
        match self {
            Self::Messages(rules) => rules.findings(head, body),
            Self::Responses(rules) => rules.findings(head, body),
            Self::Chat(rules) => rules.findings(head, body),
            Self::Gemini(rules) => rules.findings(head, body),
        }
    }

    /// Writes a reply to a request as the events of a stream, and remembers what is wanted back of it.
    pub fn give(&mut self, reply: &Reply, request: &Value) -> Vec<Value> {
        match self {
            Self::Messages(rules) => rules.give(reply),
            Self::Responses(rules) => rules.give(reply, request),
            Self::Chat(rules) => rules.give(reply),
            Self::Gemini(rules) => rules.give(reply),
        }
    }

    /// Returns what was given out with the replies in this request and hasn't come back unchanged, also where the
    /// provider would not refuse the request for it.
    #[must_use]
    pub fn lost(&self, body: &Value) -> Vec<String> {
        match self {
            Self::Messages(rules) => rules.lost(body),
            Self::Responses(rules) => rules.lost(body),
            Self::Chat(rules) => rules.lost(body),
            Self::Gemini(rules) => rules.lost(body),
        }
    }
}
