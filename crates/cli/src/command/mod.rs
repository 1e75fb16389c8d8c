//! One file per command: what can be typed, and what is done about it.

pub mod new;
pub mod validate;
