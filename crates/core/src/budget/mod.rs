//! Keeps a run within its limits: counts its usage and says if there is room for another request.
//!
//! In: events. Out: the usage of each metric, and before a request the answer if it may be sent and how long its reply
//! may be. The most that a request may cost is reserved when it is sent and settled when its reply is there: so a limit
//! holds before money is spent, and a run that is killed and resumed keeps its usage. There is one [`Spending`] for a
//! whole run.
//!
//! Begin with [`Spending`].

mod phase_calls;
mod spending;

pub use phase_calls::PhaseCalls;
pub use spending::{Room, Spending};

/// The least that a reply must have room for, in tokens: with less no step of work comes to an end.
pub const OUTPUT_TOKENS_MIN: u64 = 1_024;

/// The part of a limit at which the operator is warned, in per cent.
pub const WARN_PER_CENT: u64 = 80;
