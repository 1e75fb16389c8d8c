//! Serves the pages that a browser connects to.
//!
//! In: connections from this machine. Out: pages, and what an operator decided on them, put where the runtime looks
//! for it. Decides nothing and computes no fact of a run: what is shown comes from `core`'s views, as on a terminal.
//!
//! Begin with [`dashboard`].

pub mod dashboard;
