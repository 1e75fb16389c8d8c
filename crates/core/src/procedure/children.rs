//! Several procedures under one parent: each hears what concerns it, and all of them want together.

use super::{Next, On, Procedure, Want};
use crate::trace::{Body, Entry, Event, PartEvent};
use crate::words::{Outcome, Part};

/// The children of a part that are at work, in the order in which they were called in.
#[derive(Debug, Clone)]
pub struct Children<P> {
    at_work: Vec<(Part, P)>,
}

/// A child that has ended.
#[derive(Debug, Clone)]
pub struct Gone<P> {
    /// The part in which it worked.
    pub part: Part,
    /// The child as it was at its end.
    pub child: P,
    /// Its outcome.
    pub outcome: Outcome,
}

impl<P> Default for Children<P> {
    fn default() -> Self {
        Self { at_work: Vec::new() }
    }
}

impl<P: Procedure> Children<P> {
    /// Adds a child, which was made to live in `part`.
    pub fn call_in(&mut self, part: Part, child: P) {
        self.at_work.push((part, child));
    }

    /// Passes an event to each child that it concerns: what happens within its part, and what is said to the run.
    /// Returns the child that ended by it, which is no longer at work.
    pub fn apply(&mut self, event: &Event) -> Option<Gone<P>> {
        for (part, child) in &mut self.at_work {
            if event.part.is_root() || event.part.is_within(part) {
                child.apply(event);
            }
        }
        let Body::Part(PartEvent::PartEnd { outcome }) = event.body else { return None };
        let place = self.at_work.iter().position(|(part, _)| *part == event.part)?;
        let (part, child) = self.at_work.remove(place);
        Some(Gone { part, child, outcome })
    }

    /// Returns the first decision of any child, in their order; else all that they want together; else what the first of
    /// them waits for.
    #[must_use]
    pub fn next(&self, facts: &P::Facts) -> Next {
        let mut wants: Vec<Want> = Vec::new();
        let mut waits: Option<On> = None;
        for (part, child) in &self.at_work {
            match child.next(facts) {
                Next::Record(entry) => return Next::Record(entry),
                Next::Done(outcome) => {
                    return Next::Record(Entry {
                        part: part.clone(),
                        body: Body::Part(PartEvent::PartEnd { outcome }),
                    });
                }
                Next::Want(more) => wants.extend(more),
                Next::Wait(on) => drop(waits.get_or_insert(on)),
            }
        }
        match waits {
            Some(on) if wants.is_empty() => Next::Wait(on),
            _ => Next::Want(wants),
        }
    }

    /// Returns the child that works in `part`.
    #[must_use]
    pub fn get(&self, part: &Part) -> Option<&P> {
        self.iter().find(|(own, _)| *own == part).map(|(_, child)| child)
    }

    /// Returns the children at work, each with its part.
    pub fn iter(&self) -> impl Iterator<Item = (&Part, &P)> {
        self.at_work.iter().map(|(part, child)| (part, child))
    }

    /// Returns true if no child is at work.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.at_work.is_empty()
    }
}
