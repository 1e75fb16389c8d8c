//! A run that is killed after any event and resumed ends as one that was never killed.
//!
//! Real processes: the binary prints each event once it is in the journal; at event N it is killed, then
//! resumed with the answers that were not used yet. It does not wait for the kill, so that a few events
//! more may be on record; the simulator in `core` stops at each of them exactly. Commands append to a log
//! outside the journal, which shows each effect at most once.
//!
//! Begin with `cases.rs`, the scripts; `play.rs` aims the kills, `compare.rs` judges what is left,
//! `kept.rs` lets a run go on from the same kill several times.

mod cases;
mod compare;
mod gate;
mod held;
mod kept;
mod once;
mod play;
mod twice;
