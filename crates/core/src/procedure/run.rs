//! The root of every run: begins, is interrupted and taken over, stops and ends; all else is its child's.

use std::collections::BTreeSet;

use super::{Next, Procedure, SharedFacts};
use crate::trace::{AskEvent, Body, Entry, Event, PartEvent, RunEvent};
use crate::words::{Key, Message, Outcome, Part, Slot, What};

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
    paused: bool,
    stopped: bool,
    /// Turns, calls and what belongs to them that have begun and not ended.
    in_flight: BTreeSet<Key>,
}

impl<P: Procedure> Run<P> {
    /// Creates a run whose work is `child`, which was made to live in `part`.
    pub fn new(child: P, part: Part) -> Self {
        let facts = P::Facts::default();
        Self {
            child,
            facts,
            part,
            child_ended: None,
            ended: None,
            interrupted: false,
            paused: false,
            stopped: false,
            in_flight: BTreeSet::new(),
        }
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

    /// Returns true if the operator has it stand still and nothing is to land first: nothing is wanted until a driver takes
    /// it over.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.interrupted || self.paused && self.in_flight.is_empty()
    }

    /// Takes note of what happened: the shared facts first, then the part that does the work.
    pub fn apply(&mut self, event: &Event) {
        self.facts.apply(event);
        match &event.body {
            Body::Run(RunEvent::RunResume { .. }) => (self.interrupted, self.paused) = (false, false),
            // A message to a part alone is no word on the run.
            Body::Ask(AskEvent::OperatorMessage { message, .. })
                if event.part.is_root() && message.is_to_stand_still() =>
            {
                self.interrupted |= self.paused || *message == Message::Interrupt;
                self.paused = true;
            }
            Body::Ask(AskEvent::OperatorMessage { message: Message::Stop, .. }) if event.part.is_root() => {
                self.stopped = true
            }
            Body::Run(RunEvent::RunEnd { outcome }) => self.ended = Some(*outcome),
            _ => {}
        }
        self.track(event);
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

    /// Takes note of what has begun and ended of turns and calls: questions and waits are nothing that lands.
    fn track(&mut self, event: &Event) {
        let key = |slot: &Slot| Key { part: event.part.clone(), slot: *slot };
        if let Some(slot) = event.body.outcome() {
            self.in_flight.remove(&key(slot));
        }
        if let Some(slot) = event.body.intent()
            && !matches!(slot.what, What::Ask | What::Wait)
        {
            self.in_flight.insert(key(slot));
        }
    }

    /// Returns what should hold while a pause lets what is in flight land: nothing begins, and decisions go on record.
    fn landing(&self) -> Next {
        match self.child.next(&self.facts) {
            Next::Want(mut wants) => {
                wants.retain(|want| self.in_flight.contains(&want.key));
                Next::Want(wants)
            }
            Next::Done(outcome) => self.end(outcome),
            decided => decided,
        }
    }

    /// Returns the end of the part that does the work.
    fn end(&self, outcome: Outcome) -> Next {
        Next::Record(Entry { part: self.part.clone(), body: Body::Part(PartEvent::PartEnd { outcome }) })
    }

    /// Returns what should hold next; changes nothing.
    #[must_use]
    pub fn next(&self) -> Next {
        if let Some(outcome) = self.ended {
            return Next::Done(outcome);
        }
        let run_end = |outcome| Entry { part: Part::root(), body: Body::Run(RunEvent::RunEnd { outcome }) };
        match self.child_ended {
            Some(outcome) => Next::Record(run_end(outcome)),
            None if self.stopped => self.end(Outcome::Stopped),
            None if self.is_interrupted() => Next::Want(Vec::new()),
            None if self.paused => self.landing(),
            None => match self.child.next(&self.facts) {
                Next::Done(outcome) => self.end(outcome),
                wanted => wanted,
            },
        }
    }
}
