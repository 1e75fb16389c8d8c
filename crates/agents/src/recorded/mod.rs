//! Records what passes between a run and its agent, and plays it back.
//!
//! In: any agent and a file. Out: the same agent, with a line in the file for each exchange; or an agent that answers
//! from such a file, without the agent that answered first. Secrets in a recording are masked, as in the journal. It is
//! for reports of faults: a reader of the recording sees the same run.
//!
//! Begin with [`Recording`] and [`RecordedAgent`]; `lines.rs` has the format of the file.

mod lines;
mod player;
mod recorder;
#[cfg(test)]
mod tests;

pub use lines::{RECORDING_VERSION, ReadError};
pub use player::RecordedAgent;
pub use recorder::{Existing, OpenError, Recorder, Recording};

/// The adapter's word for `--adapter`.
pub const ADAPTER_ID: &str = "recorded";
