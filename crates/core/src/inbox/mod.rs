//! The questions that wait for the operator, with their options, and the reading of a reply.
//!
//! In: the text that an operator typed. Out: a choice, or the news that it can't be read as one. Nothing destructive
//! has yes as its default, and nothing here knows who asks or where the reply came from.
//!
//! Begin with [`Question`](crate::words::Question). [`reply`] reads the typed text, [`naming`] finds the question that a
//! line is for where several are open, [`mailbox`] reads the lines in a run's mailbox. [`open`] says which questions of
//! a run are open, [`notice`] how an operator is notified of them, [`worker`] if a run goes on without the operator.

pub mod reply;
pub mod naming;
pub mod hours;
mod address;
pub mod mailbox;
pub mod open;
pub mod notice;
pub mod worker;

pub use address::{NoAddress, find_part};
pub use open::{OpenQuestion, OpenQuestions};
