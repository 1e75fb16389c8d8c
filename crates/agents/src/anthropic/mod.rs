//! The Messages API of Anthropic.
//!
//! Thinking is shown if it comes, and sent back with its signature in all later turns.
//!
//! Begin with [`Messages`]; `request.rs` writes what is sent, `stream.rs` reads what comes. [`VertexMessages`] is the
//! same API on Google's Vertex AI.

mod effort;
mod request;
mod stream;

use adjutant_ports::TurnRequest;
use serde_json::Value;
use stream::MessagesFold;

use crate::api::{ReplyReader, Terms, Wire, authorization, changed_names, path_name};

/// The adapter's word in a brief.
pub const ADAPTER_ID: &str = "anthropic";

/// The variable of the environment that a caller reads the key from, as the provider's own clients do.
pub const KEY_VARIABLE: &str = "ANTHROPIC_API_KEY";

/// The variable of the environment that a caller reads the base URL from, as the provider's own clients do.
pub const BASE_URL_VARIABLE: &str = "ANTHROPIC_BASE_URL";

/// The model if none is named: the present one of the size that the peer's default, `claude-sonnet-4-6`, has. The
/// provider calls that one a legacy model.
pub const MODEL_DEFAULT: &str = "claude-sonnet-5-5";

/// Default base URL; `/v1/messages` follows.
pub const BASE_URL: &str = "https://api.anthropic.com";

/// The version of the API that is spoken, from its reference.
const API_VERSION: &str = "2023-06-01";

/// The version that Vertex AI wants to find in the body, from the provider's page on it.
const VERTEX_VERSION: &str = "vertex-2023-10-16";

/// The Messages API.
#[derive(Debug, Clone, Copy, Default)]
pub struct Messages;

impl Wire for Messages {
    fn adapter_id(&self) -> &str {
        ADAPTER_ID
    }

    fn provider(&self) -> &str {
        "Anthropic"
    }

    fn path(&self, _model: &str) -> String {
        "/v1/messages".to_owned()
    }

    fn headers(&self, key: &str) -> Vec<(&'static str, String)> {
        vec![("x-api-key", key.to_owned()), ("anthropic-version", API_VERSION.to_owned())]
    }

    fn models_path(&self) -> &'static str {
        "/v1/models"
    }

    fn models_query(&self) -> &'static str {
        "?limit=1000"
    }

    fn body(&self, turn: &TurnRequest, terms: &Terms<'_>) -> Value {
        request::body(turn, terms, ("model", terms.model))
    }

    fn notes(&self, terms: &Terms<'_>) -> Vec<String> {
        effort::of(terms).notes
    }

    fn marks_cache(&self, _terms: &Terms<'_>) -> bool {
        true
    }

    fn reading(&self, turn: &TurnRequest) -> Box<dyn ReplyReader> {
        Box::new(MessagesFold::new(changed_names(&turn.tools)))
    }
}

/// The Messages API on Vertex AI: the model stands in the path, the version in the body, and a bearer token takes the
/// place of the key.
#[derive(Debug, Clone, Copy, Default)]
pub struct VertexMessages;

impl Wire for VertexMessages {
    fn adapter_id(&self) -> &str {
        ADAPTER_ID
    }

    fn provider(&self) -> &str {
        "Anthropic on Vertex AI"
    }

    fn path(&self, model: &str) -> String {
        format!("/models/{}:streamRawPredict", path_name(model))
    }

    fn headers(&self, key: &str) -> Vec<(&'static str, String)> {
        authorization(key)
    }

    fn without_list(&self) -> Option<&'static str> {
        Some(
            "name a model with --model, such as `claude-sonnet-4-5@20250929`; the names are in Google Cloud's Model \
             Garden",
        )
    }

    fn body(&self, turn: &TurnRequest, terms: &Terms<'_>) -> Value {
        request::body(turn, terms, ("anthropic_version", VERTEX_VERSION))
    }

    fn notes(&self, terms: &Terms<'_>) -> Vec<String> {
        Messages.notes(terms)
    }

    fn marks_cache(&self, terms: &Terms<'_>) -> bool {
        Messages.marks_cache(terms)
    }

    fn reading(&self, turn: &TurnRequest) -> Box<dyn ReplyReader> {
        Messages.reading(turn)
    }
}
