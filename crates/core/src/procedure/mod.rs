//! Decides the next thing of a run: folds events as facts, then says what should hold next.
//!
//! In: events. Out: one decision to record, or the whole set of commands that should be in flight, or the end.
//! [`Ledger`] keeps one intent and at most one outcome for every key. [`Drive`] is the driver without hands: it
//! compares the wanted commands with those in flight and says the next step; its caller (the runtime, the simulator of
//! the tests) carries it out.
//!
//! Begin with [`Procedure`].

mod asking;
mod checking;
mod children;
mod drive;
mod ledger;
pub mod run;

use std::sync::Arc;

use crate::gate::custody::Custody;
use crate::gate::{Grant, HookCall};
use crate::trace::{Entry, Event};
use crate::words::deed::Deed;
use crate::words::id::WorkspaceId;
use crate::words::tool::{ToolCall, ToolSpecs};
use crate::words::{Key, Look, Outcome, Part, Question};

pub use asking::{Asking, NewAnswer};
pub use checking::{CheckCame, Checking, CheckingNext, DeedSlots};
pub use children::{Children, Gone};
pub use drive::{Drive, Orphan, Step};
pub use ledger::{Begun, Breach, Ledger};

/// A decision procedure: folds events as facts, then says what should hold next. Total and deterministic.
///
/// A procedure is made with the part of the run that it lives in, and speaks of it in full: a parent
/// passes down the events within a child's part and passes up what the child decides, as they are.
///
/// The facts that all parts of a run share are folded once, by the [`Run`](run::Run), and lent to each decision. They are
/// not needed to take note of an event: where a parent seems to need them, the child looks when it decides.
pub trait Procedure {
    /// The facts that are shared by all parts of the run.
    type Facts: SharedFacts;

    /// Takes note of what happened. Decides nothing: what was decided is in the event.
    fn apply(&mut self, event: &Event);

    /// Returns what should hold next, given the facts of the run; changes nothing.
    fn next(&self, facts: &Self::Facts) -> Next;
}

/// Facts of a whole run, folded from all of its events.
pub trait SharedFacts: Clone + Default + std::fmt::Debug {
    /// Takes note of what happened anywhere in the run.
    fn apply(&mut self, event: &Event);

    /// Returns the ids of the grants that hold and are kept outside the run, where they may be revoked at any time.
    fn kept_grants(&self) -> Vec<&str> {
        Vec::new()
    }
}

/// The facts of procedures that share none.
impl SharedFacts for () {
    fn apply(&mut self, _event: &Event) {}
}

/// State that should hold next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// One decision to put on record.
    Record(Entry),
    /// The whole set of commands that should be in flight now.
    Want(Vec<Want>),
    /// No command, until something else of the run has come to its end. Not to be mistaken for an interruption.
    Wait(On),
    /// It is over.
    Done(Outcome),
}

/// Another part's doing that a part waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum On {
    /// A part asks the operator about what this one needs too.
    Part(Part),
    /// Requests in flight have reserved all that a limit leaves; some of it may come back.
    Reservations,
}

/// One command that should be in flight, under a name that is never used again in the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Want {
    /// Its name.
    pub key: Key,
    /// The command.
    pub command: Command,
}

/// Command to the runtime. Commands are cheap: they name messages, they don't carry them.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Ask the agent for a turn.
    Turn {
        /// The messages to send: the first and last number in the part's transcript.
        messages: (u32, u32),
        /// The tools that are described.
        tools: ToolSpecs,
        /// True if they may be called.
        may_call: bool,
        /// Agent that is asked: its place in the run's options.
        agent: u32,
        /// About how many tokens are sent.
        input_tokens: u64,
        /// The most tokens of the reply.
        output_max: u32,
        /// Longest time it may take before it is cancelled, in milliseconds, if a limit of minutes sets one.
        limit_ms: Option<u64>,
        /// The workspace that it is about; `None` for the run's own.
        workspace: Option<WorkspaceId>,
    },
    /// Carry out a call.
    Call {
        /// The call.
        call: Arc<ToolCall>,
        /// The workspace in which it is made; `None` for the run's own.
        workspace: Option<WorkspaceId>,
        /// True if a command that it runs may use the network.
        network: bool,
        /// Longest time it may take before it is cancelled, in milliseconds, if a limit of minutes sets one.
        limit_ms: Option<u64>,
    },
    /// Ask a guard hook about a call.
    Hook(Arc<HookCall>),
    /// Look at the working tree, changing nothing of it.
    Look {
        /// Purpose of the look.
        look: Look,
        /// Changes that need not be told.
        custody: Arc<Custody>,
        /// The workspace whose tree it is; `None` for the run's own.
        workspace: Option<WorkspaceId>,
    },
    /// Keep a grant for later runs. Keeping it again changes nothing.
    Keep(Arc<Grant>),
    /// Do something that is no tool call.
    Do(Arc<Deed>),
    /// Ask the operator.
    Ask(Arc<Question>),
    /// Wait.
    Wait {
        /// Length of the wait, in milliseconds.
        length_ms: u64,
    },
}
