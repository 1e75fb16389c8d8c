//! The journal port: append with the expected place, read from the start.

use std::fmt;
use std::io;

use adjutant_core::trace::{Entry, Event};
use jiff::Timestamp;
use thiserror::Error;

/// One run's journal, held by its driver. Appending is synchronous: nothing that depends on an event
/// begins before the event is written.
pub trait Journal: Send {
    /// Appends `entry` at the next place, as of `at`, and returns the event it became.
    ///
    /// An intent also reserves room for its outcome, so that a full disk stops a run before an effect.
    ///
    /// # Errors
    ///
    /// [`AppendError`]; nothing was appended then, and the driver must stop.
    fn append(&mut self, entry: Entry, at: Timestamp, durability: Durability) -> Result<Event, AppendError>;

    /// Records that the driver is alive, so that no other takes the run over. Called every few seconds.
    ///
    /// # Errors
    ///
    /// [`AppendError::Fenced`] if another driver has taken it over all the same.
    fn keep_alive(&mut self, at: Timestamp) -> Result<(), AppendError>;

    /// Keeps a content that is too large for a line; returns its hash.
    ///
    /// # Errors
    ///
    /// [`AppendError::Unwritable`] if it can't be kept.
    fn keep(&mut self, content: &[u8]) -> Result<String, AppendError>;

    /// Returns the content kept under `hash`, if it is there and matches the hash.
    fn kept(&self, hash: &str) -> Option<Vec<u8>>;
}

/// Durability that an append must reach before it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// With the operating system: survives the death of the process.
    Written,
    /// On the disk: survives a power cut. Before an effect, after an operator's answer, at the end.
    Synced,
}

/// Reason why an event was not appended.
#[derive(Debug, Error)]
pub enum AppendError {
    /// Another driver holds the run now.
    #[error("another driver has taken over the run (it is {holder})")]
    Fenced {
        /// The other driver.
        holder: Holder,
    },
    /// The journal can't be written: full, read-only, gone.
    #[error("can't write the journal `{path}`")]
    Unwritable {
        /// Path of the journal.
        path: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Somebody else wrote to the journal: its length is not what this driver left.
    #[error("the journal `{path}` was changed by somebody else")]
    Changed {
        /// Path of the journal.
        path: String,
    },
}

/// Holder of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The process, by its number.
    pub pid: u32,
    /// The machine, by its name.
    pub host: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {}", self.pid, self.host)
    }
}
