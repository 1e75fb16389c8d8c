//! Counts the tool calls of a session in each of its phases.

use std::collections::{BTreeMap, BTreeSet};

use super::WARN_PER_CENT;
use crate::trace::{Body, BudgetEvent, CallEvent, Event, PartEvent};
use crate::words::PhaseName;

/// The calls of one session by phase, folded from its events. A phase that is entered again goes on with its count, and
/// so does a run that is taken up by another driver.
#[derive(Debug, Clone, Default)]
pub struct PhaseCalls {
    /// The phase entered last: calls count for it, as history counts them.
    entered: Option<PhaseName>,
    calls: BTreeMap<PhaseName, u64>,
    added: BTreeMap<PhaseName, u64>,
    /// The phases whose warning is on record.
    warned: BTreeSet<PhaseName>,
}

impl PhaseCalls {
    /// Takes note of an event of the session.
    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Part(PartEvent::PhaseEnter { phase, .. }) => self.entered = Some(*phase),
            Body::Call(CallEvent::ToolCall { .. }) => {
                if let Some(phase) = self.entered {
                    *self.calls.entry(phase).or_default() += 1;
                }
            }
            Body::Budget(BudgetEvent::BudgetWarn { phase: Some(phase), .. }) => {
                self.warned.insert(*phase);
            }
            _ => {}
        }
    }

    /// Returns the number of calls that were begun in a phase.
    #[must_use]
    pub fn used(&self, phase: PhaseName) -> u64 {
        self.calls.get(&phase).copied().unwrap_or(0)
    }

    /// Returns a limit of a phase with what the operator added to it.
    #[must_use]
    pub fn limit(&self, phase: PhaseName, limit: u64) -> u64 {
        limit.saturating_add(self.added.get(&phase).copied().unwrap_or(0))
    }

    /// Adds to the limit of a phase.
    pub fn add(&mut self, phase: PhaseName, amount: u64) {
        let added = self.added.entry(phase).or_default();
        *added = added.saturating_add(amount);
        self.warned.remove(&phase);
    }

    /// Returns the usage and the limit of a phase that is close to its limit without a warning on record.
    #[must_use]
    pub fn warning(&self, phase: PhaseName, limit: u64) -> Option<(u64, u64)> {
        let (used, limit) = (self.used(phase), self.limit(phase, limit));
        let is_close = used.saturating_mul(100) >= limit.saturating_mul(WARN_PER_CENT);
        (is_close && !self.warned.contains(&phase)).then_some((used, limit))
    }
}
