//! Learns from past runs: history, and recommendations that an operator may apply.
//!
//! In: the lines of traces, ours and the peer's. Out: history, recommendations with their evidence, profiles.
//! Everything here is deterministic: the same traces give the same bytes, in whatever order and pieces they were read,
//! and nothing is learned that an operator did not apply.
//!
//! Begin with [`Walk`]: one trace becomes a few numbers for each of its runs. [`history`] adds those up for people,
//! [`LearnFold`] makes a [`profile`] of them, by the bars in [`thresholds`]; [`compat`] does both as the peer does.

pub mod applying;
pub mod compat;
pub mod history;
mod hot;
mod judged;
mod numbers;
mod order;
mod peer;
pub mod profile;
mod recommend;
mod record;
pub mod thresholds;
mod walk;
pub mod what_if;

pub use judged::{CALIBRATION_TRAP, Judged, Missed, undefined_because};
pub use order::{by_code_units, sorted_json};
pub use peer::PeerFacts;
pub use recommend::LearnFold;
pub use record::{NO_PHASE, PhaseRecord, QuestionCounts, RunRecord, SessionRecord};
pub use walk::Walk;

#[cfg(test)]
mod tests;
