//! The root of every run: begins, is interrupted and taken over, stops and ends; all else is its child's.

use super::{Next, Part, Procedure};
use crate::inbox::Message;
use crate::trace::{Body, Entry, Event, Outcome};

/// A run around the one part that does the work.
#[derive(Debug, Clone)]
pub struct Run<P> {
    child: P,
    part: Part,
    child_ended: Option<Outcome>,
    ended: Option<Outcome>,
    interrupted: bool,
    stopped: bool,
}

impl<P: Procedure> Run<P> {
    /// A run whose work is `child`, which was made to live in `part`.
    pub fn new(child: P, part: Part) -> Self {
        Self { child, part, child_ended: None, ended: None, interrupted: false, stopped: false }
    }

    /// The part that does the work.
    #[must_use]
    pub fn child(&self) -> &P {
        &self.child
    }

    /// How the run ended, if it has.
    #[must_use]
    pub fn ended(&self) -> Option<Outcome> {
        self.ended
    }

    /// Whether the operator interrupted it: nothing is wanted until a driver takes it over.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.interrupted
    }
}

impl<P: Procedure> Procedure for Run<P> {
    fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::RunResume { .. } => self.interrupted = false,
            Body::OperatorMessage { message: Message::Interrupt, .. } => self.interrupted = true,
            Body::OperatorMessage { message: Message::Stop, .. } => self.stopped = true,
            Body::RunEnd { outcome } => self.ended = Some(*outcome),
            _ => {}
        }
        if event.part == self.part
            && let Body::PartEnd { outcome } = event.body
        {
            self.child_ended = Some(outcome);
        }
        // What is said to the run concerns its work too.
        if event.part.is_within(&self.part) || event.part.is_root() {
            self.child.apply(event);
        }
    }

    fn next(&self) -> Next {
        if let Some(outcome) = self.ended {
            return Next::Done(outcome);
        }
        let part_end = |outcome| Entry { part: self.part.clone(), body: Body::PartEnd { outcome } };
        let run_end = |outcome| Entry { part: Part::root(), body: Body::RunEnd { outcome } };
        match self.child_ended {
            Some(outcome) => Next::Record(run_end(outcome)),
            None if self.stopped => Next::Record(part_end(Outcome::Stopped)),
            None if self.interrupted => Next::Want(Vec::new()),
            None => match self.child.next() {
                Next::Done(outcome) => Next::Record(part_end(outcome)),
                wanted => wanted,
            },
        }
    }
}
