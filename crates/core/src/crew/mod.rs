//! Several agents by role on one brief: a planner divides it, an executor works, a reviewer and a critic judge.
//!
//! In: events. Out: what to record, ask, request or call next, as a [`Procedure`](crate::procedure). One session works
//! at a time, each as a piece of the run in a part of its own (`subtask/2.1/executor`), and ends with a [`handoff`](crate::handoff). A
//! role that an operator defines ([`CustomRole`](crate::gate::custom_role::CustomRole)) takes the place of one of the four. The state of the crew is one of
//! those in `states.rs`, and is kept nowhere but in the journal.
//!
//! Begin with [`Crew`].

mod attempt;
pub mod authority;
mod machine;
pub mod prompts;
pub mod questions;
mod scope_warning;
mod setup;
mod state;
pub mod states;

pub use machine::Crew;
pub use scope_warning::{ScopeWarning, scope_warnings};
pub use setup::CrewSetup;
