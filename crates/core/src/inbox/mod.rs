//! What waits for the operator: questions with their options, and how a reply is read.
//!
//! In: what an operator typed. Out: a choice, or the news that it can't be read as one. Nothing
//! destructive has yes as its default, and nothing here knows who asks or where the reply came from.
//!
//! Begin with [`Question`]; [`reply`] reads what was typed, [`mailbox`] what lies in a run's mailbox, [`open`] says
//! which questions of a run are open, [`notice`] what an operator is told of them, [`worker`] what is
//! gone on with without them.

pub mod reply;
pub mod hours;
mod address;
pub mod mailbox;
pub mod open;
pub mod notice;
pub mod worker;

pub use address::{NoAddress, find_part};
pub use open::{OpenQuestion, OpenQuestions};
