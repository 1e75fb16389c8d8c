//! The vocabulary: everything that can happen in a run, in families.
//!
//! These types are the wire format on purpose, names and field order included: what a journal says
//! must not change when a decision's inner types do. Those inner types live elsewhere and are converted.
//! On the wire there are no families: a line names the event's own type.
//!
//! A family is one file, and has all that is said of its events: its fields, what each event is to the
//! ledger, and its [`Spec`](super::spec::Spec): how readers of traces show it, check it and redact it.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

use crate::words::deed::DeedKind;
use crate::words::{Part, Slot};

mod run;
mod part;
mod turn;
mod call;
mod ask;
mod gate;
mod budget;
mod crew;
mod deed;
mod handoff;
mod learned;
mod rounds;
mod host;
mod kind;

pub use ask::AskEvent;
pub use budget::BudgetEvent;
pub use call::CallEvent;
pub use crew::CrewEvent;
pub use deed::DeedEvent;
pub use gate::GateEvent;
pub use handoff::HandoffEvent;
pub use host::HostEvent;
pub(super) use kind::named_types;
pub use kind::{EventKind, Family};
pub use learned::LearnedEvent;
pub use part::PartEvent;
pub use rounds::{EvidenceCheck, LoopEvent, StuckValues, VoteCast};
pub use run::RunEvent;
pub use turn::TurnEvent;

/// The version in the header of a journal. The peer's traces end at 5; from 6 on lines carry `seq`.
pub const TRACE_VERSION: u32 = 6;

/// One thing that happened, where and when: a line of the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its place in the journal, from 0, without gaps.
    pub seq: u64,
    /// Time of recording, to the millisecond.
    pub at: Timestamp,
    /// The part of the run that it belongs to.
    pub part: Part,
    /// The event itself.
    pub body: Body,
}

/// An event before it has a place and a time: what a procedure decided, or an outcome that came in.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The part of the run that it belongs to.
    pub part: Part,
    /// The event itself.
    pub body: Body,
}

impl Entry {
    /// The event that this becomes at a place and a time.
    #[must_use]
    pub fn at(self, seq: u64, at: Timestamp) -> Event {
        Event { seq, at, part: self.part, body: self.body }
    }
}

/// A line of a journal as it was read: the event, or what could not be understood.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "nearly every line is an event: a box would cost each of them")]
pub enum Line {
    /// An event of our vocabulary.
    Event(Event),
    /// A line of a type or with fields that this version does not know: skipped, never fatal.
    Unknown {
        /// The line's sequence number.
        seq: u64,
        /// Its type.
        kind: String,
    },
}

/// An event of one of the families.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Body {
    /// The run as a whole.
    Run(RunEvent),
    /// Parts and phases.
    Part(PartEvent),
    /// Turns of an agent.
    Turn(TurnEvent),
    /// Tool calls.
    Call(CallEvent),
    /// Questions, waits, and the words of the operator.
    Ask(AskEvent),
    /// The gate, and what it rests on.
    Gate(GateEvent),
    /// Limits.
    Budget(BudgetEvent),
    /// Crews.
    Crew(CrewEvent),
    /// Effects that are no tool calls.
    Deed(DeedEvent),
    /// Loops.
    Loop(LoopEvent),
    /// Handoffs.
    Handoff(HandoffEvent),
    /// Profiles and memory.
    Learned(LearnedEvent),
    /// The machine, and notes for the operator.
    Host(HostEvent),
}

/// The part that an event plays in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerRole<'a> {
    /// Something begins that will have an outcome under this slot.
    Intent(&'a Slot),
    /// Something that had begun under this slot came to its end.
    Outcome(&'a Slot),
    /// A procedure decided it.
    Decision,
    /// The driver found it out, or it was done outside.
    Fact,
}

impl Body {
    /// Returns true if it is something that the operator said unasked: it may come to a part that has not begun.
    #[must_use]
    pub fn is_from_operator(&self) -> bool {
        matches!(self, Self::Ask(AskEvent::OperatorMessage { .. }))
    }

    /// Reads the event of a type from the fields of a line.
    ///
    /// # Errors
    ///
    /// Those of `line`, and those of fields that are not what the type has.
    pub fn of_kind<'de, D: Deserializer<'de>>(kind: EventKind, line: D) -> Result<Self, D::Error> {
        match kind.family() {
            Family::Run => RunEvent::deserialize(line).map(Self::Run),
            Family::Part => PartEvent::deserialize(line).map(Self::Part),
            Family::Turn => TurnEvent::deserialize(line).map(Self::Turn),
            Family::Call => CallEvent::deserialize(line).map(Self::Call),
            Family::Ask => AskEvent::deserialize(line).map(Self::Ask),
            Family::Gate => GateEvent::deserialize(line).map(Self::Gate),
            Family::Budget => BudgetEvent::deserialize(line).map(Self::Budget),
            Family::Crew => CrewEvent::deserialize(line).map(Self::Crew),
            Family::Deed => DeedEvent::deserialize(line).map(Self::Deed),
            Family::Loop => LoopEvent::deserialize(line).map(Self::Loop),
            Family::Handoff => HandoffEvent::deserialize(line).map(Self::Handoff),
            Family::Learned => LearnedEvent::deserialize(line).map(Self::Learned),
            Family::Host => HostEvent::deserialize(line).map(Self::Host),
        }
    }

    fn role(&self) -> LedgerRole<'_> {
        match self {
            Self::Run(event) => event.role(),
            Self::Part(event) => event.role(),
            Self::Turn(event) => event.role(),
            Self::Call(event) => event.role(),
            Self::Ask(event) => event.role(),
            Self::Gate(event) => event.role(),
            Self::Budget(event) => event.role(),
            Self::Crew(event) => event.role(),
            Self::Deed(event) => event.role(),
            Self::Loop(event) => event.role(),
            Self::Handoff(event) => event.role(),
            Self::Learned(event) => event.role(),
            Self::Host(event) => event.role(),
        }
    }

    /// The slot, if this begins something that will have an outcome.
    #[must_use]
    pub fn intent(&self) -> Option<&Slot> {
        match self.role() {
            LedgerRole::Intent(slot) => Some(slot),
            LedgerRole::Outcome(_) | LedgerRole::Decision | LedgerRole::Fact => None,
        }
    }

    /// The slot, if this is the outcome of something that had begun.
    #[must_use]
    pub fn outcome(&self) -> Option<&Slot> {
        match self.role() {
            LedgerRole::Outcome(slot) => Some(slot),
            LedgerRole::Intent(_) | LedgerRole::Decision | LedgerRole::Fact => None,
        }
    }

    /// The id of the message from outside that this is, if it is one.
    #[must_use]
    pub fn outside_id(&self) -> Option<&str> {
        match self {
            Self::Ask(event) => event.outside_id(),
            _ => None,
        }
    }

    /// Returns true if the event must be on the disk before anything follows from it: the intent of an effect that is more
    /// than a read, an operator's word, the two ends of a run, and a permission, which is kept or used up elsewhere.
    /// `reads` says whether a tool merely reads.
    #[must_use]
    pub fn must_be_synced(&self, reads: impl FnOnce(&str) -> bool) -> bool {
        match self {
            Self::Run(event) => matches!(event, RunEvent::RunStart(_) | RunEvent::RunEnd { .. }),
            Self::Ask(event) => matches!(event, AskEvent::Answer { .. } | AskEvent::OperatorMessage { .. }),
            Self::Gate(event) => matches!(
                event,
                GateEvent::HookCall { .. }
                    | GateEvent::GrantKeep { .. }
                    | GateEvent::PermissionGranted { .. }
                    | GateEvent::PermissionGrantConsumed { .. }
                    | GateEvent::PermissionRevoked { .. }
            ),
            Self::Call(CallEvent::ToolCall { name, .. }) => !reads(name),
            Self::Deed(event) => matches!(event, DeedEvent::DeedBegin { deed: DeedKind::Check | DeedKind::Files, .. }),
            Self::Call(_)
            | Self::Part(_)
            | Self::Turn(_)
            | Self::Budget(_)
            | Self::Crew(_)
            | Self::Loop(_)
            | Self::Handoff(_)
            | Self::Learned(_)
            | Self::Host(_) => false,
        }
    }

    /// True if a procedure decided this, as opposed to the world having done it.
    #[must_use]
    pub fn is_decision(&self) -> bool {
        self.role() == LedgerRole::Decision
    }
}

/// For fields that say nothing where they are zero.
fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}
