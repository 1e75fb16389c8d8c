//! The book of what was asked for: one intent and at most one outcome for every key, every message from
//! outside once. Rebuilt from the journal, and asked before anything is appended to it.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use jiff::Timestamp;
use thiserror::Error;

use crate::trace::{AskEvent, Body, CallEvent, DeedEvent, Entry, Event, GateEvent, PartEvent, RunEvent, TurnEvent};
use crate::words::deed::DeedKind;
use crate::words::id::WorkspaceId;
use crate::words::moment::after;
use crate::words::tool::FileChange;
use crate::words::wait;
use crate::words::{Key, Part, Question, Slot};

/// Record of the things that a run asked for, with their outcomes.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    open: BTreeMap<Key, Open>,
    closed: ClosedSlots,
    messages: HashSet<String>,
    ended: bool,
}

/// The slots that have an outcome, by part: a long run has tens of thousands, in few parts.
#[derive(Debug, Clone, Default)]
struct ClosedSlots(BTreeMap<Part, HashSet<Slot, BuildHasherDefault<SlotHasher>>>);

impl ClosedSlots {
    fn contains(&self, part: &Part, slot: &Slot) -> bool {
        self.0.get(part).is_some_and(|closed| closed.contains(slot))
    }

    fn insert(&mut self, part: &Part, slot: Slot) {
        match self.0.get_mut(part) {
            Some(closed) => closed.insert(slot),
            None => self.0.entry(part.clone()).or_default().insert(slot),
        };
    }
}

/// Hashes slots, which are small numbers that the program counts itself: nobody can choose them so that they collide.
#[derive(Default)]
struct SlotHasher(u64);

impl SlotHasher {
    fn mix(&mut self, number: u64) {
        // The fractional part of the golden ratio, an odd number that spreads neighbours.
        self.0 = (self.0.rotate_left(23) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for SlotHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.mix(u64::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.mix(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.mix(number.unsigned_abs() as u64);
    }

    fn finish(&self) -> u64 {
        // Tables take their place from the low bits, which a product leaves the least mixed.
        self.0 ^ (self.0 >> 32)
    }
}

/// Something that was asked for and has no outcome yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Open {
    /// The intent.
    pub begun: Begun,
    /// Time of the intent.
    pub at: Timestamp,
    /// Time at which it expires, if it is a question with a deadline or a wait.
    pub deadline: Option<Timestamp>,
}

/// Data of an intent that is kept until its outcome: as much as taking a run over needs.
#[derive(Debug, Clone, PartialEq)]
pub enum Begun {
    /// A turn of an agent.
    Turn,
    /// A tool call.
    Call {
        /// The tool.
        name: String,
        /// Changes that it will make to files, if they were known before.
        changes: Vec<FileChange>,
        /// The workspace in which it is made; `None` for the run's own.
        workspace: Option<WorkspaceId>,
        /// True if it waits by running a command: then it isn't simply repeated, whatever its tool is.
        waits_on_command: bool,
    },
    /// A question to the operator.
    Question(Question),
    /// A wait.
    Timer,
    /// A guard hook that is asked.
    Hook,
    /// A look at the tree.
    Look,
    /// Keeping a grant for later runs.
    Keep,
    /// An effect that is no tool call.
    Deed(DeedKind),
}

impl Begun {
    fn by(intent: &Body) -> Option<Self> {
        Some(match intent {
            Body::Turn(TurnEvent::AgentRequest { .. }) => Self::Turn,
            Body::Call(CallEvent::ToolCall { name, args, changes, workspace, .. }) => Self::Call {
                name: name.clone(),
                changes: changes.clone(),
                workspace: workspace.clone(),
                waits_on_command: wait::runs_command(name, args),
            },
            Body::Ask(AskEvent::Question { question, .. }) => Self::Question(question.clone()),
            Body::Ask(AskEvent::Timer { .. }) => Self::Timer,
            Body::Gate(GateEvent::HookCall { .. }) => Self::Hook,
            Body::Gate(GateEvent::TreeLook { .. }) => Self::Look,
            Body::Gate(GateEvent::GrantKeep { .. }) => Self::Keep,
            Body::Deed(DeedEvent::DeedBegin { deed, .. }) => Self::Deed(*deed),
            _ => return None,
        })
    }
}

/// An entry that no journal may hold: always a bug of a procedure or a driver, never the world's doing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Breach {
    /// Something was begun under a name that was used before.
    #[error("`{0}` was used before: a key names one thing in a run")]
    KeyReused(Key),
    /// An outcome came to something that was never begun.
    #[error("`{0}` has an outcome and no intent")]
    OutcomeWithoutIntent(Key),
    /// A second outcome came.
    #[error("`{0}` has an outcome already")]
    SecondOutcome(Key),
    /// An outcome of another kind came: an answer to a call, say.
    #[error("`{key}` can't end with `{outcome}`")]
    WrongKind {
        /// Key of the intent.
        key: Key,
        /// Type of the outcome that came.
        outcome: &'static str,
    },
    /// A message from outside came a second time.
    #[error("the message `{0}` was used before")]
    MessageReused(String),
    /// A part ended with something under it still open.
    #[error("`{part}` can't end while `{open}` is open")]
    EndedTooEarly {
        /// The part.
        part: Part,
        /// One thing that is open.
        open: Key,
    },
    /// Every part waits for another one, and nothing is in flight.
    #[error("every part of the run waits for another one")]
    Stuck,
    /// Something came after the end of the run.
    #[error("the run has ended: nothing can follow")]
    AfterTheEnd,
}

impl Ledger {
    /// Checks that `entry` may be appended.
    ///
    /// # Errors
    ///
    /// The [`Breach`] that appending it would be.
    pub fn check(&self, entry: &Entry) -> Result<(), Breach> {
        if self.ended {
            return Err(Breach::AfterTheEnd);
        }
        if let Some(id) = entry.body.outside_id()
            && self.messages.contains(id)
        {
            return Err(Breach::MessageReused(id.to_owned()));
        }
        if let Some(slot) = entry.body.intent() {
            let key = Key { part: entry.part.clone(), slot: *slot };
            if self.knows(&key) {
                return Err(Breach::KeyReused(key));
            }
        }
        if let Some(slot) = entry.body.outcome() {
            let key = Key { part: entry.part.clone(), slot: *slot };
            if self.closed.contains(&key.part, &key.slot) {
                return Err(Breach::SecondOutcome(key));
            }
            let Some(open) = self.open.get(&key) else {
                return Err(Breach::OutcomeWithoutIntent(key));
            };
            if let Some(outcome) = mismatch(&open.begun, &entry.body) {
                return Err(Breach::WrongKind { key, outcome });
            }
        }
        if matches!(entry.body, Body::Part(PartEvent::PartEnd { .. }) | Body::Run(RunEvent::RunEnd { .. }))
            && let Some(open) = self.open_within(&entry.part).next()
        {
            return Err(Breach::EndedTooEarly { part: entry.part.clone(), open: open.clone() });
        }
        Ok(())
    }

    /// Returns true if `event` is about something that has an outcome already: in a journal whose damage was accepted a
    /// line may be there twice, or an outcome before its intent. Then the first counts, and this one never happened.
    #[must_use]
    pub fn is_over(&self, event: &Event) -> bool {
        let slot = event.body.intent().or_else(|| event.body.outcome());
        slot.is_some_and(|slot| self.closed.contains(&event.part, slot))
    }

    /// Takes note of an event that is in the journal.
    pub fn apply(&mut self, event: &Event) {
        if let Some(id) = event.body.outside_id() {
            self.messages.insert(id.to_owned());
        }
        if let Some((slot, begun)) = event.body.intent().zip(Begun::by(&event.body)) {
            let key = Key { part: event.part.clone(), slot: *slot };
            let deadline = length_ms(&event.body).map(|length| after(event.at, length));
            self.open.insert(key, Open { begun, at: event.at, deadline });
        }
        if let Some(slot) = event.body.outcome() {
            let key = Key { part: event.part.clone(), slot: *slot };
            self.open.remove(&key);
            self.closed.insert(&event.part, *slot);
        }
        self.ended |= matches!(event.body, Body::Run(RunEvent::RunEnd { .. }));
    }

    /// Returns all intents without an outcome, in the order of the keys.
    pub fn open(&self) -> impl Iterator<Item = (&Key, &Open)> {
        self.open.iter()
    }

    /// Returns the intent that is open under `key`, if any.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Open> {
        self.open.get(key)
    }

    /// Returns true if `key` was ever begun.
    #[must_use]
    pub fn knows(&self, key: &Key) -> bool {
        self.open.contains_key(key) || self.closed.contains(&key.part, &key.slot)
    }

    /// Returns true if a message with this id was used before.
    #[must_use]
    pub fn has_used(&self, id: &str) -> bool {
        self.messages.contains(id)
    }

    /// Returns the keys that are open within `part`.
    pub fn open_within<'a>(&'a self, part: &'a Part) -> impl Iterator<Item = &'a Key> {
        self.open.keys().filter(move |key| key.part.is_within(part))
    }

    /// Returns the earliest deadline of an open intent, with its key.
    #[must_use]
    pub fn next_deadline(&self) -> Option<(Timestamp, &Key)> {
        self.open.iter().filter_map(|(key, open)| open.deadline.map(|at| (at, key))).min()
    }
}

fn length_ms(intent: &Body) -> Option<u64> {
    match intent {
        Body::Ask(AskEvent::Question { question, .. }) => question.deadline_ms,
        Body::Ask(AskEvent::Timer { length_ms, .. }) => Some(*length_ms),
        _ => None,
    }
}

/// Returns the type of `outcome`, if it can't be how `begun` ends.
fn mismatch(begun: &Begun, outcome: &Body) -> Option<&'static str> {
    let waits = matches!(begun, Begun::Question(_) | Begun::Timer);
    let fits = match outcome {
        Body::Turn(TurnEvent::AgentReply { .. } | TurnEvent::AgentFailed { .. }) => *begun == Begun::Turn,
        Body::Gate(GateEvent::HookResult { .. }) => *begun == Begun::Hook,
        Body::Gate(GateEvent::TreeSeen { .. }) => *begun == Begun::Look,
        Body::Gate(GateEvent::GrantKept { .. }) => *begun == Begun::Keep,
        Body::Deed(DeedEvent::TreeKept { .. }) => *begun == Begun::Deed(DeedKind::Tree),
        Body::Deed(DeedEvent::CheckRun { .. }) => *begun == Begun::Deed(DeedKind::Check),
        Body::Deed(DeedEvent::FilesWritten { .. }) => *begun == Begun::Deed(DeedKind::Files),
        Body::Ask(AskEvent::Answer { .. }) => matches!(begun, Begun::Question(_)),
        Body::Ask(AskEvent::Expired { .. } | AskEvent::Withdrawn { .. }) => waits,
        Body::Call(CallEvent::ToolResult { .. } | CallEvent::ToolCancelled { .. }) => {
            matches!(begun, Begun::Call { .. })
        }
        Body::Call(CallEvent::Interrupted { .. }) => !waits,
        _ => true,
    };
    (!fits).then(|| outcome.kind().as_str())
}
