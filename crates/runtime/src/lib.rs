//! Carries out what core decides.
//!
//! In: a procedure, a journal, ports. Out: how the run ended, or what it waits for. Decides nothing:
//! keeps what is in flight equal to what is wanted, and records what was decided, what begins and what
//! came of it.
//!
//! Begin with [`Driver`].

mod driver;
mod flight;
mod masking;
mod request;
mod rescue;
mod setup;

pub use driver::{DriveError, Driver, Ended, Ports, Results};
pub use masking::Masks;
pub use setup::{crew_setup, offered_tools, sensitivities, session_setup, work};
