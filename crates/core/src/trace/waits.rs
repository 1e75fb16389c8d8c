//! The waits that are open in a run.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{AskEvent, Body, Event};
use crate::words::moment::after;
use crate::words::{Key, Slot};

/// The waits for providers that are open in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenWaits(BTreeMap<Key, Timestamp>);

impl OpenWaits {
    /// Takes note of an event.
    pub fn apply(&mut self, event: &Event) {
        let key = |slot: &Slot| Key { part: event.part.clone(), slot: *slot };
        if let Some(slot) = event.body.outcome() {
            self.0.remove(&key(slot));
        }
        if let Body::Ask(AskEvent::Timer { slot, length_ms }) = &event.body {
            self.0.insert(key(slot), after(event.at, *length_ms));
        }
    }

    /// Returns the time at which the first of them ends; `None` if there is none.
    #[must_use]
    pub fn wakes_at(&self) -> Option<Timestamp> {
        self.0.values().min().copied()
    }
}
