//! Decides. Everything here is a pure function of recorded events: no clock, no disk, no network, no
//! randomness, no async. Time, ids and outcomes come in as data.
//!
//! Begin with [`procedure`]: what it means to decide. Then [`trace`], the words in which things are
//! recorded, and [`session`], the one procedure that matters most.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests read their vectors from disk")
)]

pub mod words;
pub mod procedure;
pub mod trace;
pub mod brief;
pub mod budget;
pub mod run;
pub mod detect;
pub mod handoff;
pub mod session;
pub mod crew;
pub mod work;
pub mod gate;
pub mod patch;
pub mod inbox;
pub mod memory;
pub mod view;
pub mod learn;
pub mod supervise;
