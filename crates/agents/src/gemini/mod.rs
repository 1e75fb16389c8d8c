//! The Gemini API of Google, `generateContent` in its streamed form.
//!
//! Thinking is asked for and shown, since nothing else comes while a model thinks. The signatures that come with text
//! and calls are kept with the reply and sent back where they stood. A call of another model has none: where a model
//! insists on one, the word that the API has for calls without a signature is sent instead.
//!
//! Begin with [`Gemini`]; `request.rs` writes what is sent, `stream.rs` reads what comes. [`VertexGemini`] is the same
//! API on Google's Vertex AI.

mod effort;
mod model;
mod names;
mod request;
mod stream;

use adjutant_ports::TurnRequest;
use serde_json::Value;
use stream::GeminiFold;

use crate::api::vertex::PublisherBase;
use crate::api::{ReplyReader, Terms, Wire, authorization};

/// The adapter's word in a brief.
pub const ADAPTER_ID: &str = "gemini";

/// The variables of the environment that a caller reads the key from, the first that is set. The provider's
/// own clients read both, the second first; the first is the one that can mean nothing else.
pub const KEY_VARIABLES: [&str; 2] = ["GEMINI_API_KEY", "GOOGLE_API_KEY"];

/// The variable of the environment that a caller reads the base URL from, as the provider's own clients do.
pub const BASE_URL_VARIABLE: &str = "GOOGLE_GEMINI_BASE_URL";

/// The model if none is named: the newest stable one of the size made for agents, from the provider's list of
/// models. The peer's default is not served any more.
pub const MODEL_DEFAULT: &str = "gemini-3.8-flash";

/// Default base URL; `/v1beta/models/...` follows.
pub const BASE_URL: &str = "https://generativelanguage.googleapis.com";

/// The field of a part that carries the signature of the thinking which led to it.
const SIGNATURE: &str = "thoughtSignature";

/// The Gemini API.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gemini;

impl Wire for Gemini {
    fn adapter_id(&self) -> &str {
        ADAPTER_ID
    }

    fn provider(&self) -> &str {
        "Gemini"
    }

    fn path(&self, model: &str) -> String {
        format!("/v1beta/{}:streamGenerateContent?alt=sse", model::resource(model))
    }

    fn headers(&self, key: &str) -> Vec<(&'static str, String)> {
        vec![("x-goog-api-key", key.to_owned())]
    }

    fn models_path(&self) -> &'static str {
        "/v1beta/models"
    }

    fn models_query(&self) -> &'static str {
        "?pageSize=1000"
    }

    fn body(&self, turn: &TurnRequest, terms: &Terms<'_>) -> Value {
        request::body(turn, terms, true)
    }

    fn notes(&self, terms: &Terms<'_>) -> Vec<String> {
        effort::of(terms).notes
    }

    fn reading(&self, turn: &TurnRequest) -> Box<dyn ReplyReader> {
        Box::new(GeminiFold::new(turn.turn, names::changed(&turn.tools)))
    }
}

/// The Gemini API on Vertex AI: other paths, and a bearer token in the place of the key.
#[derive(Debug, Clone, Copy)]
pub struct VertexGemini {
    has_project: bool,
}

impl VertexGemini {
    /// Returns the format as it is spoken at this place.
    pub(crate) fn at(place: &PublisherBase) -> Self {
        Self { has_project: place.has_project }
    }
}

impl Wire for VertexGemini {
    fn adapter_id(&self) -> &str {
        ADAPTER_ID
    }

    fn provider(&self) -> &str {
        "Gemini on Vertex AI"
    }

    fn path(&self, model: &str) -> String {
        format!("/{}:streamGenerateContent?alt=sse", model::resource(model))
    }

    fn headers(&self, key: &str) -> Vec<(&'static str, String)> {
        // The express mode knows the project by the key.
        if self.has_project { authorization(key) } else { Gemini.headers(key) }
    }

    fn without_list(&self) -> Option<&'static str> {
        Some("name a model with --model, such as `gemini-2.5-pro`; the names are in Google Cloud's Model Garden")
    }

    fn body(&self, turn: &TurnRequest, terms: &Terms<'_>) -> Value {
        // It knows no ids with models before Gemini 3, and refuses fields that it doesn't know.
        request::body(turn, terms, model::insists_on_signatures(terms.model))
    }

    fn notes(&self, terms: &Terms<'_>) -> Vec<String> {
        Gemini.notes(terms)
    }

    fn reading(&self, turn: &TurnRequest) -> Box<dyn ReplyReader> {
        Gemini.reading(turn)
    }
}
