//! Model providers on loopback, for tests only.
//!
//! In: the requests of a client. Out: for each the refusal that the real provider would give, in its form and its
//! words, or the next reply as a stream. Begin with [`Provider`]; the rules of each wire format are a pure module
//! of their own, with where each rule is known from.
//!
//! The rules are those of the providers' public references, of their clients, and of error messages that people
//! quote in public issue threads. Where sources disagree the stricter rule is kept, and its docstring says so.

pub mod anthropic;
pub mod chat;
pub mod gemini;
pub mod responses;

mod format;
mod memory;
mod refusal;
mod reply;
mod server;

pub use chat::Flavor;
pub use format::{Format, Rules};
pub use refusal::Refusal;
pub use reply::{Call, Reply, Thought};
pub use server::{Answer, Exchange, Provider, read_request};
