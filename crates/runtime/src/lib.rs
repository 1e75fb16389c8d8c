//! Carries out what core decides.
//!
//! In: a procedure, a journal, ports. Out: how the run ended, or what it waits for. Decides nothing:
//! keeps what is in flight equal to what is wanted, and records what was decided, what begins and what
//! came of it.
//!
//! Begin with [`Driver`], or with [`assembly`], which puts a run together for it. What an operator does from elsewhere is in [`waiting`], which answers questions, and in
//! [`say`]; [`past`] is what past runs teach and what is applied of it; [`Correspondence`] is what comes
//! by a run's mailbox to whoever sits at its terminal, and [`Unattended`] an operator that has nothing else; [`mail`] is how
//! both use it.

pub mod assembly;
mod correspondence;
mod driver;
mod flight;
mod known_files;
pub mod mail;
mod masking;
pub mod past;
mod request;
mod rescue;
pub mod say;
mod setup;
mod unattended;
pub mod waiting;

pub use correspondence::{Correspondence, DisplayFn, DisplayItem};
pub use driver::{DriveError, Driver, Ended, Ports, Results};
pub use masking::Masks;
pub use setup::{crew_setup, offered_tools, sensitivities, session_setup, work};
pub use unattended::Unattended;
