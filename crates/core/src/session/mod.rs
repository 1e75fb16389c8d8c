//! One agent on one brief, under the phase machine.
//!
//! In: events. Out: what to record, ask, request or call next, as a [`Procedure`](crate::procedure). The
//! machine's state is what the events say (`state/`); what follows from it is decided in `machine.rs`,
//! with one file for each phase's part of the decision. The words that agents and operators get to read
//! are in `prompts.rs`, the standing orders in `standing_orders.md`.
//!
//! Begin with [`Session`].

pub mod act_text;
mod again;
pub mod amendment;
mod checked;
mod context;
mod custody;
mod due;
mod execute;
pub mod explain;
mod hand_off;
mod held;
mod intake;
mod learned;
mod machine;
mod past;
mod permission;
pub mod prompts;
mod repeated;
pub mod replay;
mod request;
mod retry;
pub mod sentences;
mod setup;
pub mod standing_orders;
mod state;
pub mod transcript;

use crate::procedure::Procedure;
use crate::procedure::run::Run;
use crate::run::RunFacts;
use crate::words::Part;

pub use learned::LearnedLimits;
pub(crate) use machine::Decider;
pub use machine::Session;
pub use retry::{PATIENCE_ALONE_MS, PATIENCE_ATTENDED_MS, REPLY_ATTEMPTS_MAX, WAIT_FIRST_MS, WAIT_MAX_MS};
pub use setup::{
    AgentLimits, HANDOFF_RETRIES_MAX, MAX_STEPS_DEFAULT, NUDGES_MAX, OUTPUT_TOKENS_MAX, Piece, RETRIES_MAX, Setup,
    TOOL_ROUNDS_MAX, TURN_ATTEMPTS_MAX, Task,
};

/// A procedure whose work is done by sessions, alone or several of them.
pub trait HasSessions: Procedure<Facts = RunFacts> {
    /// Returns the session at work in `part`; `None` if another one is at work, or none.
    fn session_in(&self, part: &Part) -> Option<&Session>;
}

impl HasSessions for Session {
    fn session_in(&self, part: &Part) -> Option<&Session> {
        (self.part() == part).then_some(self)
    }
}

impl<P: HasSessions> Run<P> {
    /// Returns the session at work in `part`, with the facts that it decides by; `None` if there is none.
    #[must_use]
    pub(crate) fn session_at(&self, part: &Part) -> Option<Decider<'_>> {
        Some(Decider::new(self.child().session_in(part)?, self.facts()))
    }
}
