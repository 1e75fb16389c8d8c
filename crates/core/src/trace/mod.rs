//! The record of a run and its wire format: the vocabulary of events, and how they are written and read back.
//!
//! In: bodies of events. Out: lines of NDJSON, and bodies read back from lines. The names and fields of
//! events follow the peer's traces where it has them, so that its traces can be read; what is ours adds
//! to that. Nothing here touches a file.
//!
//! Begin with [`Body`]: every word a run can say. [`wire`] puts it on a line; [`read`] takes lines,
//! ours and the peer's, for those who only look. [`verify`] says whether a journal is what was written, [`redact`]
//! takes content out of it, [`otlp`] says it in the words of OpenTelemetry, [`pack`] has what a
//! third party can check, [`prune`] says what is old.

mod event;
pub(crate) mod object;
mod options;
pub mod read;
mod peer;
mod waits;
mod spec;
pub mod wire;
pub mod verify;
pub mod redact;
pub mod otlp;
pub mod pack;
pub mod prune;

pub use event::{
    AskEvent, Body, BudgetEvent, CallEvent, CrewEvent, DeedEvent, Entry, Event, EventKind, EvidenceCheck, Family,
    GateEvent, HandoffEvent, HostEvent, LearnedEvent, LedgerRole, Line, LoopEvent, PartEvent, RunEvent, StuckValues,
    TRACE_VERSION, TurnEvent, VoteCast,
};
pub use options::{
    AgentOptions, CrewOptions, LearnedOptions, LoopOptions, OnStuck, RULES_VERSION, RunOptions, RunStart, StuckOptions,
    Versions, WorkOptions, offered_on_record,
};
pub use peer::PeerKind;
pub use read::TraceLineKind;
pub use spec::{Spec, Tone, Weight};
pub use waits::OpenWaits;
