//! Decides which parts ask the operator about acts, and about which categories.
//!
//! Parts side by side that need the same category ask one after the other: a yes for the run to the first answers the
//! others too. Parts that need other categories don't wait, so that an operator who was away finds all questions that
//! are independent.

use std::collections::BTreeMap;

use crate::detect;
use crate::gate::authorization::covers;
use crate::trace::{Body, Event, GateEvent, PartEvent, TurnEvent};
use crate::words::{Category, GateAnswer, Part, PhaseName};

/// The parts in phase 3.
#[derive(Debug, Clone, Default)]
pub(super) struct ActsAsked {
    /// The categories that each part's latest turn needs and nothing allows.
    held: BTreeMap<Part, Vec<Category>>,
    /// The categories that each part in phase 3 asks about.
    asks: BTreeMap<Part, Vec<Category>>,
}

impl ActsAsked {
    pub(super) fn apply(&mut self, event: &Event) {
        let part = &event.part;
        match &event.body {
            Body::Turn(TurnEvent::AgentReply { .. }) => drop(self.held.remove(part)),
            Body::Gate(GateEvent::AuthCheckFired { answer: Some(GateAnswer::Ask), missing, .. }) => {
                self.hold(part, missing.iter().map(Category::new));
            }
            Body::Turn(TurnEvent::DetectorFired { detector, payload, .. }) if detector == "destructive" => {
                self.hold(part, detect::announced(payload).iter().map(Category::new));
            }
            // From here on nobody else may ask about the same, though the phase is entered only with the next event.
            Body::Part(PartEvent::PhaseExit { to: Some(PhaseName::Destructive), .. }) => {
                let held = self.held.remove(part).unwrap_or_default();
                self.asks.insert(part.clone(), held);
            }
            Body::Part(PartEvent::PhaseExit { phase: PhaseName::Destructive, .. }) => drop(self.asks.remove(part)),
            Body::Part(PartEvent::PartEnd { .. }) => {
                self.held.retain(|other, _| !other.is_within(part));
                self.asks.retain(|other, _| !other.is_within(part));
            }
            _ => {}
        }
    }

    fn hold(&mut self, part: &Part, categories: impl Iterator<Item = Category>) {
        self.held.entry(part.clone()).or_default().extend(categories);
    }

    /// Returns another part that asks about one of these categories already. A part that names none asks about anything.
    pub(super) fn about(&self, part: &Part, categories: &[Category]) -> Option<&Part> {
        let overlap = |asked: &[Category]| {
            let is_covered = |category| asked.iter().any(|other| covers(other, category) || covers(category, other));
            asked.is_empty() || categories.is_empty() || categories.iter().any(is_covered)
        };
        self.asks.iter().find(|(other, asked)| *other != part && overlap(asked)).map(|(other, _)| other)
    }
}
