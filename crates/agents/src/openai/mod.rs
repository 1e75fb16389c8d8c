//! The two formats of OpenAI, and everybody who speaks the older one.
//!
//! [`Responses`] is what OpenAI's own models are asked with, and the adapter `openai`. [`Chat`] is Chat
//! Completions: for OpenAI where the operator asks for it, for xAI, and for every server that calls itself
//! compatible; what differs between those is a table, [`Server`].
//!
//! Neither keeps anything at the provider: what was said before is sent with every turn, and so is what the server
//! wants back of the thinking that led to it.
//!
//! Begin with [`Responses`] or [`Chat`]. What both write is `history.rs`, what both count `usage.rs`.

mod chat;
mod history;
mod levels;
mod responses;
mod usage;

pub use chat::{Chat, Picked, Server, UnknownServer, pick};
pub use responses::Responses;

/// The word in a brief for OpenAI's models over the Responses API.
pub const ADAPTER_ID: &str = "openai";

/// The word in a brief for OpenAI's models over Chat Completions.
pub const CHAT_ADAPTER_ID: &str = "openai-chat";

/// The word in a brief for any server that speaks Chat Completions.
pub const COMPAT_ADAPTER_ID: &str = "openai-compat";

/// The word in a brief for xAI's models.
pub const GROK_ADAPTER_ID: &str = "grok";

/// The variable of the environment that a caller reads OpenAI's key from, as the provider's own clients do.
pub const KEY_VARIABLE: &str = "OPENAI_API_KEY";

/// The variable of the environment that a caller reads OpenAI's base URL from, as the provider's own clients do.
pub const BASE_URL_VARIABLE: &str = "OPENAI_BASE_URL";

/// Default base URL of OpenAI; `/responses` or `/chat/completions` follows.
pub const BASE_URL: &str = "https://api.openai.com/v1";

/// OpenAI's model if none is named. The peer's is `gpt-4o`, which the provider's list of deprecations shuts down
/// on 14 January 2027; this is the replacement that the list names.
pub const MODEL_DEFAULT: &str = "gpt-6-luna";

/// The variable that the key of a compatible server comes from: the peer's.
pub const COMPAT_KEY_VARIABLE: &str = "OPENAI_COMPAT_API_KEY";

/// The variable with its base URL, and with its kind as the fragment; see [`pick`].
pub const COMPAT_BASE_URL_VARIABLE: &str = "OPENAI_COMPAT_BASE_URL";

/// The variable that xAI's key comes from, as its documentation has it.
pub const GROK_KEY_VARIABLE: &str = "XAI_API_KEY";

/// The variable that another base URL for xAI comes from.
pub const GROK_BASE_URL_VARIABLE: &str = "XAI_BASE_URL";

/// Default base URL of xAI.
pub const GROK_BASE_URL: &str = "https://api.x.ai/v1";

/// xAI's model if none is named. The peer's is `grok-2-latest`, which is gone; this is the one that xAI's pages name
/// for work of agents.
pub const GROK_MODEL_DEFAULT: &str = "grok-4.7";
