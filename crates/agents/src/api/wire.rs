//! Wire format of an API, as far as the APIs differ.

use adjutant_core::words::tool::ToolCall;
use adjutant_ports::{Delta, Reply, TurnRequest};
use serde_json::{Value, json};

use super::Terms;
use super::surrogates::whole_characters;
use crate::sse;

/// One wire format: how a turn is written, and who reads its answer.
pub trait Wire: Send + Sync {
    /// Returns the adapter's word in a brief, such as `anthropic`.
    fn adapter_id(&self) -> &str;

    /// Returns the provider's name for people, such as `Anthropic`.
    fn provider(&self) -> &str;

    /// Returns the path that takes turns, below the base URL, such as `/v1/messages`.
    fn path(&self, model: &str) -> String;

    /// Returns the headers of the format, among them the one that carries the key. Never the URL: those are logged by
    /// whoever stands between.
    fn headers(&self, key: &str) -> Vec<(&'static str, String)>;

    /// Returns the path of the list of models, below the base URL.
    fn models_path(&self) -> &'static str {
        "/models"
    }

    /// Returns the query that makes its pages long, such as `?limit=1000`.
    fn models_query(&self) -> &'static str {
        ""
    }

    /// Returns the hint for the operator where the API has no list of models.
    fn without_list(&self) -> Option<&'static str> {
        None
    }

    /// Returns the body that asks for a streamed reply on these terms.
    fn body(&self, turn: &TurnRequest, terms: &Terms<'_>) -> Value;

    /// Lists the terms that the model doesn't take, or takes in another way: a sentence each, for the operator.
    fn notes(&self, terms: &Terms<'_>) -> Vec<String>;

    /// True if a request on these terms marks what is to be cached, so that it can say for how long.
    fn marks_cache(&self, _terms: &Terms<'_>) -> bool {
        false
    }

    /// Returns a reader of the answer to that turn, to which nothing has come yet.
    fn reading(&self, turn: &TurnRequest) -> Box<dyn ReplyReader>;
}

/// Returns the header of a key that is sent as a bearer token, if there is one.
pub(crate) fn authorization(key: &str) -> Vec<(&'static str, String)> {
    if key.is_empty() { Vec::new() } else { vec![("authorization", format!("Bearer {key}"))] }
}

/// Folds the events of one answer into a reply.
pub trait ReplyReader: Send {
    /// Takes in the next event.
    fn read(&mut self, event: &sse::SseEvent) -> StreamStep;

    /// Returns true if a part of the reply has come.
    fn has_content(&self) -> bool;

    /// Returns true if the stream may end here without [`StreamStep::Done`]: for formats, and servers, that don't mark
    /// the end.
    fn is_whole(&self) -> bool {
        false
    }

    /// True if the server said that the reply ended because the model's window is full.
    fn fills_window(&self) -> bool {
        false
    }

    /// Returns the whole reply; to be asked for after [`StreamStep::Done`], or where [`ReplyReader::is_whole`].
    fn finish(self: Box<Self>) -> Reply;
}

/// Meaning of an event for the caller that waits for the reply.
#[derive(Debug, PartialEq)]
pub enum StreamStep {
    /// Nothing that is shown.
    Nothing,
    /// Something to show.
    Show(Delta),
    /// The reply is whole.
    Done,
    /// The server sent an error instead of the rest; its data.
    Failed(String),
    /// The event can't be read; why.
    Unreadable(String),
}

/// Returns the call as the runtime knows it. `json` holds its arguments as far as they came; a text that can't be read
/// as JSON goes back to the agent as such. Half a character in it is U+FFFD; servers also write no arguments as `null`,
/// as `""` and as `{}""`, the last in two pieces. `is_cut` says that the reply ended at its limit within this call, so
/// that no arguments at all are not the same as none needed.
#[must_use]
pub fn malformed_or(call_id: String, name: String, json: &str, is_cut: bool) -> ToolCall {
    let read = match json.trim() {
        "" if is_cut => Err("the reply was cut before the arguments came".to_owned()),
        "" | "null" | "\"\"" | "{}\"\"" => Ok(json!({})),
        _ => serde_json::from_str(json)
            .or_else(|error| serde_json::from_str(&whole_characters(json)).map_err(|_| error))
            .map_err(|error| format!("{error}: {json}")),
    };
    let (args, malformed) = match read {
        Ok(args) => (args, None),
        Err(why) => (Value::Null, Some(why)),
    };
    ToolCall { call_id, name, args, malformed, masked: false, resolved: Vec::new() }
}
