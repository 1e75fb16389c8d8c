//! The views of a run, at a glance: pure projections of the lines of a trace.
//!
//! In: a [`Trace`](crate::trace::read::Trace), ours or the peer's, or the peer's session file. Out: for each view a
//! typed model (`of`), which serializes for `--json`, and its text (`text`), in the columns that the peer's operators
//! know; over the peer's files it is the peer's text, byte for byte. No view prints text unchecked: control characters
//! in it are shown, never sent to a terminal.
//!
//! One file per view. Begin with [`timing`], the smallest; [`label`] gives each event its label, `visible.rs` and
//! `columns.rs` put untrusted text on lines and in tables.

mod choice;
mod columns;
mod damage;
pub mod label;
mod phase;

pub mod adapters;
pub mod cost;
pub mod detectors;
pub mod explain;
pub mod history;
pub mod history_page;
pub mod inbox;
pub mod learned;
pub mod list;
pub mod mcp;
pub mod models;
pub mod peer_session;
pub mod peer_summary;
pub mod permissions;
pub mod plot;
pub mod replay;
pub mod show;
pub mod summary;
pub mod timeline;
pub mod timing;
pub mod tools;
pub mod trace;
pub mod transcript;
pub mod what_if;

#[cfg(test)]
mod tests;

pub use crate::words::text::short_name;
pub use choice::InspectView;
pub use columns::Sheet;
pub use phase::Phase;
