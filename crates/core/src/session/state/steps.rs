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
                    self.rounds = 0;
                }
                MessageKind::Steer | MessageKind::Context => self.rounds = 0,
                _ => {}
            },
            Body::Turn(TurnEvent::AgentReply { calls, .. }) => self.rounds += u32::from(!calls.is_empty()),
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
