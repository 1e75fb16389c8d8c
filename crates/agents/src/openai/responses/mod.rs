//! The Responses API of OpenAI.
//!
//! Begin with [`Responses`]; `request.rs` writes what is sent, `stream.rs` reads what comes.

mod model;
mod request;
mod stream;

use adjutant_ports::TurnRequest;
use serde_json::Value;

use super::{ADAPTER_ID, authorization};
use crate::api::{Reading, Wire, changed_names};
use stream::Fold;

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

    fn body(&self, turn: &TurnRequest, model: &str, output_tokens_max: u32) -> Value {
        request::body(turn, model, output_tokens_max)
    }

    fn reading(&self, turn: &TurnRequest) -> Box<dyn Reading> {
        Box::new(Fold::new(changed_names(&turn.tools)))
    }
}
