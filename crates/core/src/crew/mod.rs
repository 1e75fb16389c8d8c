//! Several agents by role on one brief: a planner divides it, an executor works, a reviewer and a critic judge.
//!
//! Begin with [`handoff`].

pub mod handoff;
pub mod states;
