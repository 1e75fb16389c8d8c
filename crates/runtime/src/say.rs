//! Sends an operator's message to a run that didn't ask for it: the message is put into the run's mailbox, and the
//! process that drives the run takes it from there. A run that no process drives finds it when it is resumed.
//!
//! In: a run's name and a message. Out: whether a process will hear it now.

use adjutant_core::inbox::mailbox::{Letters, Said};
use adjutant_core::trace::{Body, Event, RunEvent};
use adjutant_core::words::id::RunId;
use adjutant_core::words::{Message, Outcome, Part};
use adjutant_store::lease::LeaseContent;
use adjutant_store::mailbox::{Mailbox, MailboxError};
use adjutant_store::runs::RunSummary;
use adjutant_store::{Home, OpenError, Owner, journal};
use jiff::Timestamp;
use thiserror::Error;

use crate::mail::OPERATOR;

/// Reason why a run can't be told anything.
#[derive(Debug, Error)]
pub enum NotTold {
    /// It has ended.
    #[error("the run `{run_id}` is over")]
    Over {
        /// The run.
        run_id: RunId,
    },
    /// Its journal can't be read.
    #[error(transparent)]
    Unread(#[from] OpenError),
    /// It could not be put down.
    #[error(transparent)]
    Mailbox(#[from] MailboxError),
}

/// Returns true if a process drives the run now.
#[must_use]
pub fn is_driven(home: &Home, run_id: &RunId) -> bool {
    let lease = LeaseContent::read(&home.lease(run_id)).ok().flatten();
    lease.is_some_and(|lease| lease.is_alive(&Owner::current(), Timestamp::now()))
}

/// Returns true if the operator told a run to stop that nobody drives and that has not ended: it stops once it is resumed
/// or a worker takes it up.
#[must_use]
pub fn is_stop_pending(home: &Home, run: &RunSummary) -> bool {
    run.outcome.is_none()
        && !run.driver_alive
        && is_told_to_stop(&Mailbox::of(home, &run.run_id).read().unwrap_or_default())
}

/// Returns true if a stop is among the letters to a run.
pub(crate) fn is_told_to_stop(letters: &Letters) -> bool {
    letters.messages.iter().any(|said| said.message == Message::Stop)
}

/// Returns the outcome of a run, if it has ended.
#[must_use]
pub fn outcome(events: &[Event]) -> Option<Outcome> {
    events.iter().rev().find_map(|event| match event.body {
        Body::Run(RunEvent::RunEnd { outcome }) => Some(outcome),
        _ => None,
    })
}

/// The events of a run that can still be told something.
///
/// # Errors
///
/// [`NotTold`] if it is over or can't be read.
pub fn unfinished(home: &Home, run_id: &RunId) -> Result<Vec<Event>, NotTold> {
    let reading = journal::read_only(home, run_id)?;
    if outcome(&reading.events).is_some() {
        return Err(NotTold::Over { run_id: run_id.clone() });
    }
    Ok(reading.events)
}

/// Says something to the part `to` of a run, from `whence`; the root stands for the whole run. Whether it can be told
/// anything is the caller's to have asked.
///
/// # Errors
///
/// [`NotTold::Mailbox`] if it is not on the disk.
pub fn say(home: &Home, run_id: &RunId, to: Part, message: Message, whence: &str) -> Result<(), NotTold> {
    let said = Said {
        id: uuid::Uuid::now_v7().to_string(),
        by: OPERATOR.to_owned(),
        whence: whence.to_owned(),
        at: Timestamp::now(),
        to,
        message,
    };
    Ok(Mailbox::of(home, run_id).say(&said)?)
}
