//! The root of every run: begins, is interrupted and taken over, stops and ends; all else is its child's.

use super::{Next, Procedure, SharedFacts};
use crate::trace::{AskEvent, Body, Entry, Event, PartEvent, RunEvent};
use crate::words::{Message, Outcome, Part};

/// A run around the one part that does the work, and the facts that its parts share.
///
/// It is no [`Procedure`] itself, so that nothing can be decided without the facts, and the facts are folded once.
#[derive(Debug, Clone)]
pub struct Run<P: Procedure> {
    child: P,
    facts: P::Facts,
    part: Part,
    child_ended: Option<Outcome>,
    ended: Option<Outcome>,
    interrupted: bool,
    stopped: bool,
}

impl<P: Procedure> Run<P> {
    /// Creates a run whose work is `child`, which was made to live in `part`.
    pub fn new(child: P, part: Part) -> Self {
        let facts = P::Facts::default();
        Self { child, facts, part, child_ended: None, ended: None, interrupted: false, stopped: false }
    }

    /// Returns the part that does the work.
    #[must_use]
    pub fn child(&self) -> &P {
        &self.child
    }

    /// Returns the facts that all parts of the run share.
    #[must_use]
    pub fn facts(&self) -> &P::Facts {
        &self.facts
    }

    /// Returns the outcome of the run, if it has ended.
    #[must_use]
    pub fn ended(&self) -> Option<Outcome> {
        self.ended
    }

    /// Returns true if the operator interrupted it: nothing is wanted until a driver takes it over.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    /// Takes note of what happened: the shared facts first, then the part that does the work.
    pub fn apply(&mut self, event: &Event) {
        self.facts.apply(event);
        match &event.body {
            Body::Run(RunEvent::RunResume { .. }) => self.interrupted = false,
            // A message to a part alone is no word on the run.
            Body::Ask(AskEvent::OperatorMessage { message: Message::Interrupt, .. }) if event.part.is_root() => {
                self.interrupted = true
            }
            Body::Ask(AskEvent::OperatorMessage { message: Message::Stop, .. }) if event.part.is_root() => {
                self.stopped = true
            }
            Body::Run(RunEvent::RunEnd { outcome }) => self.ended = Some(*outcome),
            _ => {}
        }
        if event.part == self.part
            && let Body::Part(PartEvent::PartEnd { outcome }) = event.body
        {
            self.child_ended = Some(outcome);
        }
        // A message to the run concerns its work too.
        if event.part.is_within(&self.part) || event.part.is_root() {
            self.child.apply(event);
        }
    }

    /// Returns what should hold next; changes nothing.
    #[must_use]
    pub fn next(&self) -> Next {
        if let Some(outcome) = self.ended {
            return Next::Done(outcome);
        }
        let part_end = |outcome| Entry { part: self.part.clone(), body: Body::Part(PartEvent::PartEnd { outcome }) };
        let run_end = |outcome| Entry { part: Part::root(), body: Body::Run(RunEvent::RunEnd { outcome }) };
        match self.child_ended {
            Some(outcome) => Next::Record(run_end(outcome)),
            None if self.stopped => Next::Record(part_end(Outcome::Stopped)),
            None if self.interrupted => Next::Want(Vec::new()),
            None => match self.child.next(&self.facts) {
                Next::Done(outcome) => Next::Record(part_end(outcome)),
                wanted => wanted,
            },
        }
    }
}
