//! The Responses API of OpenAI.
//!
//! Begin with [`Responses`]; `request.rs` writes what is sent, `stream.rs` reads what comes.

mod effort;
mod model;
mod request;
mod stream;

use adjutant_ports::TurnRequest;
use serde_json::Value;
use stream::ResponsesFold;

use super::ADAPTER_ID;
use crate::api::{ReplyReader, Terms, Wire, authorization, changed_names};

pub(super) use model::thinks;

/// The Responses API.
#[derive(Debug, Clone, Copy, Default)]
pub struct Responses;

impl Wire for Responses {
    fn adapter_id(&self) -> &str {
        ADAPTER_ID
    }

    fn provider(&self) -> &str {
        "OpenAI"
    }

    fn path(&self, _model: &str) -> String {
        "/responses".to_owned()
    }

    fn headers(&self, key: &str) -> Vec<(&'static str, String)> {
        authorization(key)
    }

    fn body(&self, turn: &TurnRequest, terms: &Terms<'_>) -> Value {
        request::body(turn, terms)
    }

    fn notes(&self, terms: &Terms<'_>) -> Vec<String> {
        effort::of(terms).notes
    }

    fn reading(&self, turn: &TurnRequest) -> Box<dyn ReplyReader> {
        Box::new(ResponsesFold::new(changed_names(&turn.tools)))
    }
}
