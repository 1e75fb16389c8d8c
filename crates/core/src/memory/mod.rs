//! Memory of a project between runs: decisions, knowledge and constraints.
//!
//! In: the lines of its files, new entries with time and id as data. Out: the live entries, the text that an agent is
//! shown of them, the contradictions among them, and the entries that fit a few words. Pure: the files are the store's.
//! The text of an entry is data wherever it goes: it gives no order and authorizes nothing.
//!
//! Begin with [`Record`], one line of a file; [`Log`] is a whole file, [`Draft`] an entry before it is written.
//! [`Inherited`] holds the entries that a run takes from it, and [`block`] writes those for an agent.

mod record;
mod draft;
mod log;
mod contradiction;
mod inherited;
mod render;
pub mod search;
mod query;

pub use contradiction::{Contradiction, ContradictionRule, contradictions};
pub use draft::{BadDraft, Draft, ENTRY_BYTES_MAX};
pub use inherited::{INHERITED_BYTES_MAX, INHERITED_MAX, Inherited};
pub use log::{Damaged, Log};
pub use query::{LIMIT_MAX, Query, QueryResult};
pub use record::{BadRecordId, MemoryCategory, Record, RecordContent, RecordId};
pub use render::{View, block};
