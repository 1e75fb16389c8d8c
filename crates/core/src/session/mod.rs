//! One agent on one brief, under the phase machine.

pub mod detect;
