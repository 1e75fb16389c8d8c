//! Records what passes between a run and its agent, and plays it back.
//!
//! In: any agent and a file. Out: the same agent, with a line in the file for each exchange; or an agent that
//! answers from such a file, without whoever answered first. What is recorded has its secrets masked, as the
//! journal has. It is for reports of faults: whoever gets a recording sees the run that was seen.
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
