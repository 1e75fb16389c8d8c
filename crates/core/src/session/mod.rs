//! One agent on one brief, under the phase machine.

pub mod detect;
mod mode;

pub use mode::Mode;
