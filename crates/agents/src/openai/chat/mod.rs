//! Chat Completions, of OpenAI and of everybody who is compatible with it.
//!
//! Begin with [`Chat`]; `server.rs` has what differs between servers, `request.rs` writes what is sent,
//! `stream.rs` reads what comes, `thinking.rs` what of its text is thinking.

mod effort;
mod request;
mod server;
mod stream;
mod thinking;

use adjutant_ports::TurnRequest;
use serde_json::Value;
use stream::ChatFold;

use super::{CHAT_ADAPTER_ID, COMPAT_ADAPTER_ID, GROK_ADAPTER_ID};
use crate::api::{ReplyReader, Terms, Wire, authorization, changed_names};

pub use server::{Picked, Server, UnknownServer, pick};

/// Chat Completions, as one server speaks it.
#[derive(Debug, Clone, Copy)]
pub struct Chat {
    adapter_id: &'static str,
    server: &'static Server,
}

impl Chat {
    /// Returns the format as OpenAI speaks it.
    #[must_use]
    pub fn openai() -> Self {
        Self { adapter_id: CHAT_ADAPTER_ID, server: &server::OPENAI }
    }

    /// Returns the format as xAI speaks it.
    #[must_use]
    pub fn grok() -> Self {
        Self { adapter_id: GROK_ADAPTER_ID, server: &server::XAI }
    }

    /// Returns the format as that server speaks it, of those that [`pick`] knows.
    #[must_use]
    pub fn compat(server: &'static Server) -> Self {
        Self { adapter_id: COMPAT_ADAPTER_ID, server }
    }
}

impl Wire for Chat {
    fn adapter_id(&self) -> &str {
        self.adapter_id
    }

    fn provider(&self) -> &str {
        self.server.name
    }

    fn path(&self, _model: &str) -> String {
        "/chat/completions".to_owned()
    }

    fn headers(&self, key: &str) -> Vec<(&'static str, String)> {
        authorization(key)
    }

    fn body(&self, turn: &TurnRequest, terms: &Terms<'_>) -> Value {
        request::body(self.server, turn, terms)
    }

    fn notes(&self, terms: &Terms<'_>) -> Vec<String> {
        effort::of(self.server.effort, terms).notes
    }

    fn marks_cache(&self, terms: &Terms<'_>) -> bool {
        request::marks_cache(self.server, terms)
    }

    fn reading(&self, turn: &TurnRequest) -> Box<dyn ReplyReader> {
        Box::new(ChatFold::new(changed_names(&turn.tools), turn.turn))
    }
}
