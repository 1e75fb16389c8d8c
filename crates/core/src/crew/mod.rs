//! Several agents by role on one brief: a planner divides it, an executor works, a reviewer and a critic judge.
//!
//! In: events. Out: what to record, ask, request or call next, as a [`Procedure`](crate::procedure). One session works
//! at a time, each as a piece of the run in a part of its own (`subtask/2.1/executor`); what it leaves is a
//! [`handoff`]. Where the crew stands is one of the states of `states.rs`, and nowhere but in the journal.
//!
//! Begin with [`Crew`].

pub mod authority;
pub mod handoff;
mod machine;
pub mod prompts;
mod questions;
mod setup;
mod state;
pub mod states;

pub use machine::Crew;
pub use setup::CrewSetup;
