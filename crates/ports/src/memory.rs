//! The port to what projects remember between runs.

use adjutant_core::memory::{Draft, Log, MemoryCategory, Record, RecordId};
use adjutant_core::words::id::Slug;
use jiff::Timestamp;
use thiserror::Error;

/// Store of the projects' memories.
pub trait Memory: Send + Sync {
    /// Reads the entries of a category that a project remembers; an empty log if there are none.
    ///
    /// # Errors
    ///
    /// The fault, as a sentence.
    fn read(&self, project: &Slug, category: MemoryCategory) -> Result<Log, String>;

    /// Writes an entry, at the time `at`; on the disk when this returns. An entry that is there already, word by word
    /// and from the same brief, is not written again; an operator's is, if it was superseded.
    ///
    /// # Errors
    ///
    /// [`NotWritten`]; then nothing was written.
    fn append(&self, project: &Slug, draft: &Draft, at: Timestamp) -> Result<Written, NotWritten>;
}

/// An entry that is on the disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// The entry; in `superseded_by` what took its place, if it was there before.
    pub record: Record,
    /// True if it was there before.
    pub was_there: bool,
}

/// Reason why an entry was not written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotWritten {
    /// It would take the place of one that is not there.
    #[error("there is no entry `{0}` of this category to take the place of")]
    UnknownEntry(RecordId),
    /// It would take the place of one that another took already.
    #[error("`{older}` was superseded by `{by}` already; take the place of that one")]
    Superseded {
        /// The one whose place it would take.
        older: RecordId,
        /// The one that took it.
        by: RecordId,
    },
    /// An agent's entry would take the place of an operator's.
    #[error("`{0}` was written by the operator, and only the operator supersedes it: say so in your report")]
    OperatorsEntry(RecordId),
    /// It could not be put on the disk.
    #[error("{0}")]
    Failed(String),
}
