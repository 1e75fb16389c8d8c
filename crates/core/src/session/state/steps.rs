//! The steps of phase 1: which one is on, how many rounds of tool calls it has had, and the limit of all.

use crate::trace::{Body, BudgetEvent, Event, TurnEvent};
use crate::words::{LimitMetric, MessageKind};

/// The steps so far.
#[derive(Debug, Clone, Default)]
pub(in crate::session) struct Steps {
    /// The number of the present step; 0 before the first.
    pub(in crate::session) number: u32,
    /// Turns with tool calls in the present step.
    pub(in crate::session) rounds: u32,
    /// Those since the operator's last message: what runs of earlier versions count.
    pub(in crate::session) rounds_since_message: u32,
    /// Steps that the operator added to the limit.
    pub(in crate::session) added: u32,
    /// The limit was reached and not yet extended.
    pub(in crate::session) are_out: bool,
}

impl Steps {
    pub(super) fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Turn(TurnEvent::Message { kind, step, .. }) => match kind {
                MessageKind::KickOff | MessageKind::Continue | MessageKind::Redirect => {
                    self.number = *step;
                    (self.rounds, self.rounds_since_message) = (0, 0);
                }
                MessageKind::Context => (self.rounds, self.rounds_since_message) = (0, 0),
                MessageKind::Steer => self.rounds_since_message = 0,
                _ => {}
            },
            Body::Turn(TurnEvent::AgentReply { calls, .. }) => {
                let round = u32::from(!calls.is_empty());
                self.rounds += round;
                self.rounds_since_message += round;
            }
            // Other limits are counted by the run.
            Body::Budget(BudgetEvent::BudgetHalt { metric, .. }) => self.are_out = *metric == LimitMetric::Steps,
            _ => {}
        }
    }

    /// Adds the steps that an operator gives.
    pub(super) fn extend(&mut self, more: u32) {
        self.added = self.added.saturating_add(more);
        self.are_out = false;
    }
}
