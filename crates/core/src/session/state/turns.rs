//! The turns of the agent: the latest one with its attempts and its reply, who takes it, and the wait before another
//! attempt.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::calls::Call;
use crate::detect;
use crate::detect::{Spoken, TurnReading};
use crate::session::retry::Failed;
use crate::words::moment::after;
use crate::words::tool::ToolCall;
use crate::words::{FailureKind, OperatorWord, PhaseName, Slot};

/// The turns so far.
#[derive(Debug, Clone, Default)]
pub(in crate::session) struct Turns {
    pub(in crate::session) count: u32,
    pub(in crate::session) latest: Option<TurnState>,
    /// Agent that is asked for turns: its place in the setup.
    pub(in crate::session) agent: u32,
    pub(in crate::session) waits: u32,
    /// The wait that is on, before another attempt at a turn.
    pub(in crate::session) wait: Option<Wait>,
    /// The longest reply that was last asked for, and what agents turned out to give at most, by their place in the
    /// setup.
    asked_output: u32,
    reply_limits: BTreeMap<u32, u32>,
}

/// A wait before another attempt at a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) struct Wait {
    pub(in crate::session) slot: Slot,
    pub(in crate::session) ends: Timestamp,
}

/// The latest turn that was asked for.
#[derive(Debug, Clone)]
pub(in crate::session) struct TurnState {
    pub(in crate::session) number: u32,
    /// The last attempt that began.
    pub(in crate::session) attempt: u32,
    pub(in crate::session) in_flight: bool,
    /// Attempts that failed for a passing reason since the turn was last tried afresh.
    pub(in crate::session) failures: u32,
    /// Time at which the first of them failed.
    pub(in crate::session) failing_since: Option<Timestamp>,
    /// Those of them that were rejected for an unknown reason.
    pub(in crate::session) rejections: u32,
    pub(in crate::session) failed: Option<Failed>,
    /// True if the wait after the last failure is over.
    pub(in crate::session) waited: bool,
    pub(in crate::session) cancelled: bool,
    pub(in crate::session) taken: Option<ReadTurn>,
}

/// A turn whose reply is there.
#[derive(Debug, Clone)]
pub(in crate::session) struct ReadTurn {
    pub(in crate::session) text: String,
    pub(in crate::session) thinking: String,
    /// True if the reply ended at its length limit.
    pub(in crate::session) is_cut: bool,
    pub(in crate::session) calls: Vec<Call>,
    /// Detectors on record for this turn, consulted or fired.
    pub(in crate::session) consulted: usize,
    pub(in crate::session) fired: Vec<(String, Value)>,
    pub(in crate::session) read: bool,
    /// Today's reading of the text, made once: a cache, never what is on record.
    pub(in crate::session) reading: OnceLock<Arc<TurnReading>>,
    pub(in crate::session) drift_told: bool,
    pub(in crate::session) phrases_told: bool,
    /// The operator's word on what the text announced.
    pub(in crate::session) act: Option<OperatorWord>,
}

impl Turns {
    /// Takes note that an attempt at a turn begins.
    pub(super) fn request(&mut self, slot: Slot) {
        self.count = self.count.max(slot.number);
        match &mut self.latest {
            Some(turn) if turn.number == slot.number => {
                turn.attempt = slot.attempt;
                turn.in_flight = true;
                turn.failed = None;
                turn.waited = false;
            }
            _ => {
                self.latest = Some(TurnState {
                    number: slot.number,
                    attempt: slot.attempt,
                    in_flight: true,
                    failures: 0,
                    failing_since: None,
                    rejections: 0,
                    failed: None,
                    waited: false,
                    cancelled: false,
                    taken: None,
                });
            }
        }
    }

    /// Takes note of the longest reply that is asked for.
    pub(super) fn ask_for(&mut self, output_max: u32) {
        self.asked_output = output_max;
    }

    /// Returns true if this attempt has begun, as far as the journal says.
    pub(super) fn knows(&self, slot: Slot) -> bool {
        match &self.latest {
            Some(turn) if turn.number == slot.number => slot.attempt <= turn.attempt,
            _ => slot.number <= self.count,
        }
    }

    /// Takes note of a reply; its calls are numbered from `first`.
    pub(super) fn reply(
        &mut self,
        slot: Slot,
        (text, thinking): (&str, &str),
        (first, calls): (u32, &[ToolCall]),
        is_cut: bool,
    ) {
        let Some(turn) = self.latest.as_mut().filter(|turn| turn.number == slot.number) else { return };
        turn.in_flight = false;
        turn.failures = 0;
        turn.failing_since = None;
        turn.taken = Some(ReadTurn {
            text: text.to_owned(),
            thinking: thinking.to_owned(),
            is_cut,
            calls: (first..).zip(calls).map(|(number, call)| Call::new(number, call)).collect(),
            consulted: 0,
            fired: Vec::new(),
            read: false,
            reading: OnceLock::new(),
            drift_told: false,
            phrases_told: false,
            act: None,
        });
    }

    /// Takes note that an attempt failed. Returns true if the operator cancelled it.
    pub(super) fn fail(&mut self, mut failed: Failed) -> bool {
        let Some(turn) = &mut self.latest else { return false };
        turn.in_flight = false;
        match failed.kind {
            // Cancelled by the operator, who says what now; or by a driver that stood still, and then
            // another attempt is simply due.
            FailureKind::Cancelled => return turn.cancelled,
            FailureKind::Transient
            | FailureKind::Unreadable
            | FailureKind::Unreached
            | FailureKind::Busy
            | FailureKind::TooLong
            | FailureKind::ReplyTooLong
            | FailureKind::Rejected => {
                turn.failures += 1;
                failed.since = *turn.failing_since.get_or_insert(failed.at);
                turn.rejections += u32::from(failed.kind == FailureKind::Rejected);
                turn.failed = Some(failed);
            }
            FailureKind::Permanent => turn.failed = Some(failed),
        }
        false
    }

    /// Takes note that the attempt in flight came to no end.
    pub(super) fn interrupted(&mut self) {
        if let Some(turn) = &mut self.latest {
            turn.in_flight = false;
        }
    }

    /// Takes note that the operator cancelled what is in flight.
    pub(super) fn cancel(&mut self) {
        if let Some(turn) = self.latest.as_mut().filter(|turn| turn.in_flight) {
            turn.cancelled = true;
        }
    }

    /// Limits the replies of the present agent, which gives none as long as the last one that was asked for: to `most`
    /// tokens, or to half of the last if the provider doesn't say.
    pub(super) fn shorten_replies(&mut self, most: Option<u32>) {
        let half = self.asked_output / 2;
        let most = most.filter(|most| *most < self.asked_output).unwrap_or(half).max(1);
        self.reply_limits.insert(self.agent, most);
    }

    /// Returns the longest reply to ask the present agent for, which may have `most` tokens as far as the setup says.
    pub(in crate::session) fn reply_max(&self, most: u32) -> u32 {
        self.reply_limits.get(&self.agent).map_or(most, |limit| most.min(*limit))
    }

    /// Clears the failures, so that the turn is tried again as if for the first time.
    pub(super) fn forgive(&mut self) {
        if let Some(turn) = &mut self.latest {
            turn.failures = 0;
            turn.failing_since = None;
            turn.rejections = 0;
            turn.failed = None;
            turn.waited = false;
        }
    }

    /// Takes note that a wait begins.
    pub(super) fn wait(&mut self, slot: Slot, at: Timestamp, length_ms: u64) {
        self.waits = self.waits.max(slot.number);
        self.wait = Some(Wait { slot, ends: after(at, length_ms) });
    }

    /// Takes note that the wait in `slot` is over, to its end or not.
    pub(super) fn stop_waiting(&mut self, slot: Slot, to_its_end: bool) {
        if self.wait.take_if(|wait| wait.slot == slot).is_some()
            && let Some(turn) = &mut self.latest
        {
            turn.waited |= to_its_end;
        }
    }

    /// Moves the start of the failures by `time`, in which no process drove the run: it doesn't count as waiting.
    pub(super) fn be_patient_for(&mut self, time: SignedDuration) {
        if let Some(since) = self.latest.as_mut().and_then(|turn| turn.failing_since.as_mut()) {
            *since = since.saturating_add(time).unwrap_or(*since);
        }
    }

    pub(in crate::session) fn taken(&self) -> Option<&ReadTurn> {
        self.latest.as_ref().and_then(|turn| turn.taken.as_ref())
    }

    pub(super) fn taken_mut(&mut self) -> Option<&mut ReadTurn> {
        self.latest.as_mut().and_then(|turn| turn.taken.as_mut())
    }

    /// Returns the calls of the latest reply.
    pub(super) fn calls_mut(&mut self) -> impl Iterator<Item = &mut Call> {
        self.taken_mut().into_iter().flat_map(|taken| &mut taken.calls)
    }

    pub(super) fn call_mut(&mut self, number: u32) -> Option<&mut Call> {
        self.calls_mut().find(|call| call.number == number)
    }
}

impl ReadTurn {
    /// Returns the text that the detectors read.
    pub(in crate::session) fn spoken(&self) -> Spoken<'_> {
        Spoken::of(&self.text, &self.thinking, !self.calls.is_empty())
    }

    /// Returns the finding of a detector, if it fired.
    pub(in crate::session) fn payload(&self, detector: &str) -> Option<&Value> {
        self.fired.iter().find(|(name, _)| name == detector).map(|(_, payload)| payload)
    }

    /// Returns the phase that the turn declared last.
    pub(in crate::session) fn declared(&self) -> Option<PhaseName> {
        let last = self.payload("phase_marker")?.get("last")?;
        serde_json::from_value(last.clone()).ok()
    }

    /// Returns the categories that the turn announced without being authorized.
    pub(in crate::session) fn announced(&self) -> Vec<String> {
        self.payload("destructive").map(detect::announced).unwrap_or_default()
    }
}
