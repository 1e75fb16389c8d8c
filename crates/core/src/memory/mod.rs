//! What a project remembers between runs: decisions, knowledge and constraints.
//!
//! In: the lines of its files, new entries with time and id as data. Out: what is live, what an agent is shown of
//! it, what contradicts what, and which entries fit a few words. Pure: the files are the store's. What an entry
//! says is data wherever it goes: it gives no order and authorizes nothing.
//!
//! Begin with [`Record`], one line of a file; [`Log`] is a whole file, [`Draft`] an entry before it is written.
//! [`Inherited`] is what a run takes from it, [`block`] how an agent is shown that.

mod record;
mod draft;
mod log;
mod contradiction;
mod inherited;
mod render;
pub mod search;
mod query;

pub use contradiction::{Contradiction, Rule, contradictions};
pub use draft::{BadDraft, Draft, ENTRY_BYTES_MAX};
pub use inherited::{INHERITED_BYTES_MAX, INHERITED_MAX, Inherited};
pub use log::{Damaged, Log};
pub use query::{Found, LIMIT_MAX, Query};
pub use record::{BadRecordId, MemoryCategory, Record, RecordId, Said};
pub use render::{View, block};
