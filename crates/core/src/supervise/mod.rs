//! Watching over a run that goes on by itself: when it is done, when it is stuck, and when a person is to be asked.
//!
//! In: events. Out: what to record, ask, request or do next, as a [`Procedure`](crate::procedure). A [`GoalLoop`] has one
//! iteration after another work on a goal, each with a fresh session. After each the files are identified; where
//! completion is claimed or due, evidence is gathered and a council votes; then the round is closed, and [`stuck`] says if
//! a person is to be asked.
//!
//! Begin with [`GoalLoop`]. [`upstream`] decides by the three inputs of the program that the rule comes from, for whoever
//! compares; [`knobs`] has the thresholds of both.

mod council;
mod evidence;
pub mod knobs;
mod machine;
mod projection;
mod prompts;
mod questions;
mod setup;
mod state;
pub mod stuck;
pub mod upstream;

pub use council::votes_needed;
pub use machine::GoalLoop;
pub use projection::receipt_hash;
pub use setup::LoopSetup;
pub use upstream::decide;
