//! Remembers: the journals of runs, the right to drive one, contents too large for a line, configuration.
//!
//! In: a [`Home`] and the time, both as arguments; nothing here reads the environment or a clock. Out:
//! files that survive the death of whoever wrote them. Decides nothing about a run: what an event means
//! is `core`'s.

pub mod home;
pub mod disk;
pub mod artifacts;
pub mod scan;
pub mod nearest;

pub use artifacts::Artifacts;
pub use home::Home;
