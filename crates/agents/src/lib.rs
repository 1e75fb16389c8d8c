//! Talks to whatever takes turns.
//!
//! One module per adapter, each an implementation of [`adjutant_ports::Agent`]; [`adapters`] lists them.
//! An adapter translates: it decides nothing about a run, and keeps nothing between two turns that a
//! resumed run would miss.
//!
//! Begin with [`scripted`], the adapter that every test and every first run uses. What adapters of model
//! APIs share is [`api`], one exchange for one turn; [`sse`], which reads their streams; and [`failure`], which
//! says what may be done about an exchange that failed. [`models`] has what is known of the providers' models.

mod adapter;
pub mod api;
pub mod anthropic;
pub mod failure;
pub mod gemini;
pub mod models;
pub mod openai;
pub mod recorded;
pub mod scripted;
pub mod sse;

pub use adapter::{Adapter, adapters, api_agent};
pub use api::{ApiAgent, ListedModel, NoList};
pub use recorded::{RecordedAgent, Recording};
pub use scripted::ScriptedAgent;
