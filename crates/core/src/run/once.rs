//! Questions that all parts of a run would put at the same time, and that are put once: about the deadline, and about an
//! agent that can't be reached.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::trace::{AskEvent, Body, Event, PartEvent, TurnEvent};
use crate::words::{Choice, Key, Part, QuestionKind};

/// The deadline of the run, once it has passed.
#[derive(Debug, Clone, Default)]
pub(super) struct PassedDeadline {
    /// The part that put on record that it has passed, and asks.
    asks: Option<Part>,
    questions: BTreeSet<Key>,
    is_waived: bool,
}

impl PassedDeadline {
    pub(super) fn apply(&mut self, event: &Event) {
        let key = |slot| Key { part: event.part.clone(), slot };
        match &event.body {
            Body::Part(PartEvent::DeadlinePassed { .. }) => self.asks = Some(event.part.clone()),
            Body::Ask(AskEvent::Question { slot, question }) if question.kind == QuestionKind::Deadline => {
                self.questions.insert(key(*slot));
            }
            Body::Ask(AskEvent::Answer { slot, choice, .. }) if self.questions.remove(&key(*slot)) => {
                self.is_waived |= *choice == Choice::Continue;
            }
            Body::Part(PartEvent::PartEnd { .. })
                if self.asks.as_ref().is_some_and(|part| part.is_within(&event.part)) =>
            {
                self.asks = None;
            }
            _ => {}
        }
    }

    /// Returns true if the operator said that the work goes on.
    pub(super) fn is_waived(&self) -> bool {
        self.is_waived
    }

    /// Returns the part that asks about it.
    pub(super) fn asks(&self) -> Option<&Part> {
        self.asks.as_ref()
    }
}

/// The agents that failed for good, by their place in the run's options.
#[derive(Debug, Clone, Default)]
pub(super) struct Failures {
    /// The agent that each part asked last.
    asked: BTreeMap<Part, u32>,
    /// The open questions, and which agent each is about.
    questions: BTreeMap<Key, u32>,
    /// Time at which the operator last said that an agent is to be tried again.
    retried: BTreeMap<u32, Timestamp>,
}

impl Failures {
    pub(super) fn apply(&mut self, event: &Event) {
        let key = |slot| Key { part: event.part.clone(), slot };
        match &event.body {
            Body::Turn(TurnEvent::AgentRequest { agent, .. }) => drop(self.asked.insert(event.part.clone(), *agent)),
            Body::Ask(AskEvent::Question { slot, question }) if question.kind == QuestionKind::Failure => {
                if let Some(agent) = self.asked.get(&event.part) {
                    self.questions.insert(key(*slot), *agent);
                }
            }
            Body::Ask(AskEvent::Answer { slot, choice, .. }) => {
                if let Some(agent) = self.questions.remove(&key(*slot))
                    && *choice == Choice::Retry
                {
                    self.retried.insert(agent, event.at);
                }
            }
            Body::Ask(AskEvent::Expired { slot } | AskEvent::Withdrawn { slot }) => {
                self.questions.remove(&key(*slot));
            }
            Body::Part(PartEvent::PartEnd { .. }) => {
                self.asked.retain(|part, _| !part.is_within(&event.part));
                self.questions.retain(|key, _| !key.part.is_within(&event.part));
            }
            _ => {}
        }
    }

    /// Returns another part that asks what to do about `agent`.
    pub(super) fn about(&self, part: &Part, agent: u32) -> Option<&Part> {
        self.questions.iter().find(|(key, about)| key.part != *part && **about == agent).map(|(key, _)| &key.part)
    }

    /// Returns true if the operator had the agent tried again after `failed_at`.
    pub(super) fn is_retried_since(&self, agent: u32, failed_at: Timestamp) -> bool {
        self.retried.get(&agent).is_some_and(|at| *at > failed_at)
    }
}
