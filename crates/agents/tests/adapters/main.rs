//! The adapters from outside: what they send, what comes of replies that are cut, stall or fail, and the first example
//! as the scripted agent plays it.
//!
//! Begin with `loopback.rs`: servers whose answers a test writes byte by byte. `wire.rs` holds every format to files
//! that the providers' own clients are held to as well.

mod anthropic;
mod first_run;
mod gemini;
mod loopback;
mod openai;
mod wire;
