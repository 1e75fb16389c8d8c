//! The journal in memory: what was written, what of it was synced, and who may write.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use adjutant_core::trace::{AskEvent, Body, CallEvent, Entry, Event, Line, TurnEvent, wire};
use adjutant_core::words::Key;
use adjutant_core::words::tool::whole_hash;
use adjutant_ports::{AppendError, Durability, Holder, Journal};
use jiff::{SignedDuration, Timestamp};

use crate::backdrop::{Life, OnRecord};
use crate::fate::PlantedFault;

/// What lies on the disk of a run.
#[derive(Debug, Default)]
pub(crate) struct JournalDisk {
    /// The lines of the journal.
    pub(crate) lines: Vec<String>,
    /// The events on them.
    pub(crate) events: Vec<Event>,
    /// How many of them were read back from their lines.
    read: usize,
    /// Lines that are read back as something else than what was appended.
    pub(crate) read_otherwise: Vec<String>,
    /// How many of them survive a power cut.
    synced: usize,
    /// How often an append was tried.
    appends: u64,
    /// The number of the driver that may write.
    pub(crate) lease: u64,
    kept: BTreeMap<String, Vec<u8>>,
}

impl JournalDisk {
    /// Reads back what was not read before. What is read takes the place of what was appended.
    pub(crate) fn read_back(&mut self) -> Vec<Event> {
        for (line, event) in self.lines.iter().zip(&mut self.events).skip(self.read) {
            match wire::decode(line) {
                Ok(Line::Event(read)) if read == *event => *event = read,
                _ => self.read_otherwise.push(line.clone()),
            }
        }
        self.read = self.events.len();
        self.events.clone()
    }

    pub(crate) fn lose_what_is_not_synced(&mut self) {
        self.read = self.read.min(self.synced);
        self.lines.truncate(self.synced);
        self.events.truncate(self.synced);
    }

    /// Returns how the first event that is `wanted` is on record.
    pub(crate) fn on_record(&self, wanted: impl Fn(&Event) -> bool) -> OnRecord {
        match self.events.iter().position(wanted) {
            None => OnRecord::Missing,
            Some(place) if place < self.synced => OnRecord::Synced,
            Some(_) => OnRecord::Written,
        }
    }

    /// Returns how the intent of `key` is on record.
    pub(crate) fn intent(&self, key: &Key) -> OnRecord {
        self.on_record(|event| event.part == key.part && event.body.intent() == Some(&key.slot))
    }
}

/// Returns what a driver is told of an event that it appended.
fn told(mut event: Event, planted: Option<PlantedFault>) -> Event {
    match (&mut event.body, planted) {
        (Body::Ask(AskEvent::Question { question, .. }), Some(PlantedFault::HidesDeadlines)) => {
            question.deadline_ms = None;
        }
        (Body::Turn(TurnEvent::AgentReply { calls, .. }), Some(PlantedFault::HidesCalls)) => calls.clear(),
        _ => {}
    }
    event
}

/// The journal as one driver holds it.
pub(crate) struct DiskJournal {
    pub(crate) life: Arc<Life>,
}

impl DiskJournal {
    fn unwritable(&self, why: &str) -> AppendError {
        self.life.failure.cancel();
        AppendError::Unwritable { path: "journal".to_owned(), source: io::Error::other(why.to_owned()) }
    }

    fn fenced(&self) -> Result<(), AppendError> {
        if self.life.backdrop.state().disk.lease == self.life.number {
            return Ok(());
        }
        self.life.failure.cancel();
        Err(AppendError::Fenced { holder: Holder { pid: 2, host: "elsewhere".to_owned() } })
    }
}

impl Journal for DiskJournal {
    fn append(&mut self, entry: Entry, at: Timestamp, durability: Durability) -> Result<Event, AppendError> {
        if self.life.death.is_cancelled() {
            return Err(self.unwritable("the driver is dead"));
        }
        self.fenced()?;
        self.life.backdrop.revoke_what_is_due();
        let fails = {
            let disk = &mut self.life.backdrop.state().disk;
            disk.appends += 1;
            self.life.backdrop.fate.failing_append == Some(disk.appends)
        };
        let planted = self.life.backdrop.fate.planted;
        match (fails, planted) {
            (true, Some(PlantedFault::HidesFailures)) => self.life.failure.cancel(),
            (true, _) => return Err(self.unwritable("the disk is full")),
            (false, _) => {}
        }
        let event = {
            let disk = &mut self.life.backdrop.state().disk;
            let event = entry.at(disk.events.len() as u64, at);
            if planted == Some(PlantedFault::LosesIntents)
                && matches!(event.body, Body::Call(CallEvent::ToolCall { .. }))
            {
                return Ok(event);
            }
            let prev = disk.lines.last().map(|line| wire::line_hash(line.as_bytes()));
            let line = match planted {
                Some(PlantedFault::WritesOtherwise) => wire::encode(
                    &Event { at: event.at + SignedDuration::from_millis(1), ..event.clone() },
                    prev.as_deref(),
                ),
                _ => wire::encode(&event, prev.as_deref()),
            };
            disk.lines.push(line);
            disk.events.push(event.clone());
            if durability == Durability::Synced && planted != Some(PlantedFault::NothingIsSynced) {
                disk.synced = disk.events.len();
            }
            event
        };
        self.life.tick();
        // Killed right here, a driver does nothing more: what it would have begun does not begin.
        if self.life.death.is_cancelled() {
            return Err(self.unwritable("the driver was killed"));
        }
        self.life.known.fetch_add(1, Ordering::Relaxed);
        Ok(told(event, planted))
    }

    fn keep_alive(&mut self, _: Timestamp) -> Result<(), AppendError> {
        self.fenced()
    }

    fn keep(&mut self, content: &[u8]) -> Result<String, AppendError> {
        let hash = whole_hash(content);
        self.life.backdrop.state().disk.kept.insert(hash.clone(), content.to_vec());
        Ok(hash)
    }

    fn kept(&self, hash: &str) -> Option<Vec<u8>> {
        self.life.backdrop.state().disk.kept.get(hash).cloned()
    }
}
