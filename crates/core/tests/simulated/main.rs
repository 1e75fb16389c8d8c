//! Decisions of `core` under the simulator: runs of one session, of a crew and of several sessions side by side,
//! killed anywhere, with the same end.
//!
//! Begin with `simulator/mod.rs`: a world of fakes, and a driver in it that is killed when a test says so. Each module
//! is about one part of what is decided.

mod agents;
mod council;
mod crew;
mod grants;
mod guarded;
mod learned;
mod looped;
mod memory;
mod procedure;
mod repeats;
mod session;
mod simulator;
mod told;
mod what_if;
