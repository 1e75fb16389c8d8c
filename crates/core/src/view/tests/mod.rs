//! The views over whole traces: the peer's, our own, and those that nobody should have written.

mod hostile;
mod ours;
mod peers;
