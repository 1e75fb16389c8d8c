//! Watching over a run that goes on by itself: when it is stuck, and when a person is to be asked.
//!
//! In: what each round of a loop came to. Out: whether to escalate, and the values that say why. Pure and in constant
//! time: nothing here looks at files, and no model is asked.
//!
//! Begin with [`stuck`], the machine that a loop uses. [`upstream`] decides by the three inputs of the program that the
//! rule comes from, for whoever compares; [`knobs`] has the thresholds of both.

pub mod knobs;
pub mod stuck;
pub mod upstream;

pub use upstream::decide;
