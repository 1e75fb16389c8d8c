//! The limits that were reached and not yet extended.
//!
//! One halt for each scope and metric: the part whose halt it is asks, and all others that reach the same limit wait
//! until it is extended or that part has ended. If each recorded a halt of its own, each would take the question away
//! from the other, for ever.

use std::collections::BTreeMap;

use super::accounts::{AccountName, Accounts};
use crate::trace::{AskEvent, Body, BudgetEvent, Event, PartEvent};
use crate::words::budget::Whose;
use crate::words::{Choice, Key, Metric, Part, QuestionKind};

/// A limit that was reached: whose, and of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Halt {
    whose: Whose,
    metric: Metric,
}

/// The limits that were reached and not yet extended.
#[derive(Debug, Clone, Default)]
pub(super) struct Halts {
    /// The last halt of each part.
    by_part: BTreeMap<Part, Halt>,
    /// The questions for more, and what each is about.
    asked: BTreeMap<Key, Halt>,
}

impl Halts {
    /// Takes note of an event; adds to the accounts what an operator gives.
    pub(super) fn apply(&mut self, event: &Event, accounts: &mut Accounts) {
        let key = |slot| Key { part: event.part.clone(), slot };
        match &event.body {
            Body::Budget(BudgetEvent::BudgetHalt { metric, role, phase, learned, .. }) => {
                let whose = Whose::on_record(role.as_deref(), *phase, learned.as_deref());
                match metric.counted() {
                    Some(metric) => drop(self.by_part.insert(event.part.clone(), Halt { whose, metric })),
                    // Steps are a session's own.
                    None => drop(self.by_part.remove(&event.part)),
                }
            }
            Body::Ask(AskEvent::Question { slot, question }) if question.kind == QuestionKind::Limit => {
                if let Some(halt) = self.by_part.get(&event.part) {
                    self.asked.insert(key(*slot), *halt);
                }
            }
            Body::Ask(AskEvent::Answer { slot, choice: Choice::Extend, text, .. }) => {
                let more = |metric: Metric| text.as_deref().and_then(|text| metric.amount(text)).unwrap_or(0);
                if let Some(Halt { whose, metric }) = self.asked.remove(&key(*slot)) {
                    accounts.add(whose, &event.part, metric, more(metric));
                    self.by_part.remove(&event.part);
                }
            }
            // The question expired without an amount: the next request that does not fit is another halt.
            Body::Ask(AskEvent::Expired { slot }) if self.asked.remove(&key(*slot)).is_some() => {
                self.by_part.remove(&event.part);
            }
            Body::Ask(AskEvent::Withdrawn { slot }) => drop(self.asked.remove(&key(*slot))),
            Body::Part(PartEvent::PartEnd { .. }) => {
                self.by_part.retain(|part, _| !part.is_within(&event.part));
                self.asked.retain(|key, _| !key.part.is_within(&event.part));
            }
            _ => {}
        }
    }

    /// Returns the part that recorded a halt at this limit and asks for more of it.
    pub(super) fn owner(&self, scope: &AccountName, metric: Metric) -> Option<&Part> {
        let is_it = |part: &Part, halt: &Halt| halt.metric == metric && AccountName::of(halt.whose, part) == *scope;
        self.by_part.iter().find(|(part, halt)| is_it(part, halt)).map(|(part, _)| part)
    }
}
