//! The operator's amendments of the brief, in order: they hold for all parts, also for those that begin later.

use crate::trace::{AskEvent, Body, Event};
use crate::words::{Amendment, Message};

/// The operator's amendments since the run began.
#[derive(Debug, Clone, Default)]
pub(super) struct Amended(Vec<Amendment>);

impl Amended {
    pub(super) fn apply(&mut self, event: &Event) {
        if let Body::Ask(AskEvent::OperatorMessage { message: Message::Amend(amendment), .. }) = &event.body
            && event.part.is_root()
        {
            self.0.push((**amendment).clone());
        }
    }

    pub(super) fn in_order(&self) -> &[Amendment] {
        &self.0
    }
}
