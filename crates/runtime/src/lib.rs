//! Carries out what core decides.
//!
//! In: a procedure, a journal, ports. Out: the run's outcome, or the question or time that it waits for. Decides
//! nothing: keeps what is in flight equal to what is wanted, and records decisions, beginnings and outcomes.
//!
//! Begin with [`Driver`], or with [`assembly`], which puts a run together for it. [`waiting`] answers questions from
//! elsewhere, and [`say`] gives a run the operator's words. [`past`] is what past runs teach and what is applied of it.
//! [`Correspondence`] is the operator at a terminal who also hears by the run's mailbox, and [`Unattended`] the one who
//! has only the mailbox; [`mail`] is how both use it.

mod agent_past;
pub mod assembly;
mod correspondence;
mod deeds;
mod driver;
mod effects;
mod flight;
mod folded;
mod in_flight;
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
pub use driver::{DriveError, Driver, Ended, LastReply, Ports, Results};
pub use effects::RunEffects;
pub use folded::Folded;
pub use masking::Masks;
pub use setup::{crew_setup, offered_tools, sensitivities, session_setup, work};
pub use unattended::Unattended;
