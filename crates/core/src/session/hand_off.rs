//! The end of a session that is a piece of a run: its handoff, read and held to its schema.
//!
//! The agent is told once why its handoff is invalid; then the operator decides.

use serde_json::Value;

use super::machine::{Decider, Session};
use super::prompts;
use super::setup::{HANDOFF_RETRIES_MAX, Piece, Task};
use super::state::ReadTurn;
use crate::handoff;
use crate::handoff::{BadHandoff, Fault, Handoff};
use crate::procedure::Next;
use crate::trace::{Body, HandoffEvent};
use crate::words::{MessageKind, PhaseName};

/// The reason of a transition to the end because there is a handoff.
const HANDED_OFF: &str = "handed off";
/// The reason of a transition out of phase 0 of an agent that had its handoff at once: it called nothing.
pub(super) const HANDED_OFF_AT_ONCE: &str = "handed off at once";
/// The reason of a transition to the end because what should have been a handoff was none.
pub(super) const HANDOFF_FAILED: &str = "no handoff";

/// Fault of a handoff in a reply that was cut.
const CUT: &str = "the reply reached its length limit and was cut: give the whole handoff, and say less around it";

/// State of a session's handoff, from the events.
#[derive(Debug, Clone, Default)]
pub(super) struct HandedOff {
    /// The handoff.
    pub(super) handoff: Option<Value>,
    /// The turn that was read last, and what was wrong with its handoff.
    turn: u32,
    faults: Vec<String>,
    /// Number of replies without a valid handoff.
    bad: u32,
}

impl HandedOff {
    pub(super) fn apply(&mut self, turn: u32, handoff: Option<&Value>, faults: &[String]) {
        self.turn = turn;
        self.faults = faults.to_vec();
        self.handoff = handoff.cloned();
        self.bad += u32::from(handoff.is_none());
    }
}

impl Session {
    /// Returns the session's handoff, if it has given one.
    #[must_use]
    pub fn handoff(&self) -> Option<Handoff> {
        serde_json::from_value(self.state.handed_off.handoff.clone()?).ok()
    }

    /// Describes the faults of the last handoff, for a person.
    pub(super) fn handoff_faults(&self) -> String {
        format!("no handoff that could be read: {}", self.state.handed_off.faults.join("; "))
    }
}

impl Decider<'_> {
    /// Returns true if a turn without calls holds the handoff that the session is to end with.
    pub(super) fn holds_handoff(&self, taken: &ReadTurn) -> bool {
        let Task::Piece(piece) = &self.setup.task else { return false };
        taken.calls.is_empty() && !taken.is_cut && fitting(piece, &taken.text).is_ok()
    }

    /// Returns the next thing for the session's handoff after a turn; `None` if the turn doesn't bear on it.
    pub(super) fn hand_off(&self, taken: &ReadTurn) -> Option<Next> {
        let Task::Piece(piece) = &self.setup.task else { return None };
        if !taken.calls.is_empty() {
            return None;
        }
        let handed = &self.state.handed_off;
        if handed.handoff.is_some() {
            return Some(self.look_after().unwrap_or_else(|| self.leave(PhaseName::Done, HANDED_OFF)));
        }
        if handed.turn == self.state.turns.count {
            return Some(if handed.bad > HANDOFF_RETRIES_MAX {
                self.leave(PhaseName::Done, HANDOFF_FAILED)
            } else {
                self.say(
                    MessageKind::Handoff,
                    self.state.steps.number,
                    prompts::no_handoff(piece.handoff, &handed.faults),
                )
            });
        }
        let (read, faults) = match fitting(piece, &taken.text) {
            Ok(handoff) => (serde_json::to_value(handoff).ok(), Vec::new()),
            // Who works in steps is not at its end with each.
            Err(BadHandoff::NoFence) if piece.is_work && handed.bad == 0 && taken.payload("completion").is_none() => {
                return None;
            }
            Err(bad) => (None, bad.lines()),
        };
        // It may have been more, or other, had it ended by itself.
        let (read, faults) = match read {
            Some(_) if taken.is_cut => (None, vec![CUT.to_owned()]),
            read => (read, faults),
        };
        Some(self.record(Body::Handoff(HandoffEvent::HandoffRead {
            turn: self.state.turns.count,
            expected: piece.handoff.as_str().to_owned(),
            handoff: read,
            faults,
        })))
    }
}

/// Returns the handoff in a reply, if it is one that the piece may end with.
fn fitting(piece: &Piece, reply: &str) -> Result<Handoff, BadHandoff> {
    let handoff = handoff::read(reply)?;
    let fault = |path: &str, what: String| BadHandoff::Invalid(vec![Fault { path: Some(path.to_owned()), what }]);
    let about = match &handoff {
        Handoff::Escalation(_) => return Ok(handoff),
        other if other.kind() != piece.handoff.as_str() => {
            let what = format!("must be `{}` here, not `{}`", piece.handoff.as_str(), other.kind());
            return Err(fault("$.kind", what));
        }
        Handoff::Plan(_) | Handoff::Iteration(_) => None,
        Handoff::Execution(execution) => Some(&execution.subtask_id),
        Handoff::Review(review) => Some(&review.subtask_id),
    };
    match (about, &piece.subtask_id) {
        (Some(given), Some(expected)) if given != expected => {
            Err(fault("$.subtask_id", format!("must be `{expected}`, not `{given}`")))
        }
        _ => Ok(handoff),
    }
}
