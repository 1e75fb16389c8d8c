//! What ends: how it goes on record, also if its task panicked.

use adjutant_core::inbox::mailbox::Closing;
use adjutant_core::procedure::{Begun, Procedure};
use adjutant_core::session::transcript::Transcript;
use adjutant_core::trace::{AskEvent, Body, CallEvent, Entry, HostEvent};
use adjutant_core::words::tool::ToolCall;
use adjutant_core::words::{InterruptedEffect, Key, Part, PhaseName};
use adjutant_ports::{Answered, Prepared};

use super::{DriveError, Driver};
use crate::deeds::DeedDone;
use crate::flight::{self, Landed, Landing, Readied};
use crate::in_flight::Flown;

impl<P: Procedure> Driver<'_, P> {
    pub(super) fn land(&mut self, landing: Landing) -> Result<(), DriveError> {
        let Landing { key, landed } = landing;
        let is_open = self.drive.ledger().get(&key).is_some();
        let slot = key.slot;
        let body = match landed {
            Landed::Nobody => {
                if is_open {
                    self.parked.insert(key);
                }
                return Ok(());
            }
            Landed::Answer(answered) if is_open => flight::answer(slot, self.with_own_id(answered)),
            // On record already, as one that came too late.
            Landed::Answer(answered) if self.drive.ledger().has_used(&answered.id) => return Ok(()),
            Landed::Answer(answered) => Body::Ask(AskEvent::AnswerIgnored { slot, id: answered.id }),
            Landed::Turn { agent, result, received, duration_ms } => {
                let (body, unmasked) = flight::reply(slot, agent, (result, received), duration_ms, &self.masks);
                self.keep_unmasked(&key.part, unmasked);
                body
            }
            Landed::Call { call, output, is_late, duration_ms } => {
                flight::result(slot, &call, (output, is_late), duration_ms, self.journal)?
            }
            Landed::Hook { answer, duration_ms } => flight::hook_result(slot, answer, duration_ms),
            Landed::Look { look, found, duration_ms } => flight::seen(slot, look, found, duration_ms, &self.masks),
            Landed::Kept(kept) => flight::grant_kept(slot, kept.err(), &self.masks),
            Landed::Deed(done) => done.on_record(slot, &self.masks),
            Landed::Masked => flight::masked(slot),
            Landed::Readied(readied) => {
                self.readied = self.preparing.take().map(|wanted| (wanted, readied));
                return Ok(());
            }
            Landed::Panicked { flown, said } => {
                self.tell_of_panic(&key, &said)?;
                match self.after_panic(&key, flown, &said) {
                    Some(body) => body,
                    None => return Ok(()),
                }
            }
        };
        self.cancels.remove(&key);
        if !is_open && body.outcome().is_some() {
            return Ok(());
        }
        self.write(Entry { part: key.part, body })
    }

    /// Tells the operator that something in flight panicked. A warning would be taken for the session's own.
    pub(super) fn tell_of_panic(&mut self, key: &Key, said: &str) -> Result<(), DriveError> {
        if self.drive.run().ended().is_some() {
            return Ok(());
        }
        let error = format!("internal error: `{key}` panicked: {said}");
        self.write(Entry {
            part: Part::root(),
            body: Body::Host(HostEvent::Error { error, phase: PhaseName::Execute }),
        })
    }

    /// Returns the outcome of something that panicked; `None` where it goes on without one.
    pub(super) fn after_panic(&mut self, key: &Key, flown: Flown, said: &str) -> Option<Body> {
        let slot = key.slot;
        match flown {
            Flown::Turn => Some(flight::broken_turn(slot, said)),
            Flown::Call | Flown::Hook => {
                Some(Body::Call(CallEvent::Interrupted { slot, effect: InterruptedEffect::Unknown }))
            }
            Flown::Look(look) => Some(flight::seen(slot, look, Err(format!("it panicked: {said}")), 0, &self.masks)),
            Flown::Keep => Some(flight::grant_kept(slot, Some(format!("it panicked: {said}")), &self.masks)),
            Flown::Deed(kind) => Some(DeedDone::broken(kind, said).on_record(slot, &self.masks)),
            Flown::Preparation => {
                let wanted = self.preparing.take()?;
                let call = self.as_it_was(&wanted.key, &wanted.call);
                let rescued = Err(format!("the program failed at it: {said}"));
                self.readied = Some((wanted, Readied { call, prepared: Prepared::default(), rescued }));
                None
            }
            Flown::Question => {
                // It stays open for whoever answers it from elsewhere.
                if self.drive.ledger().get(key).is_some() {
                    self.parked.insert(key.clone());
                }
                None
            }
        }
    }

    pub(super) fn keep_unmasked(&mut self, part: &Part, calls: Vec<(usize, ToolCall)>) {
        let first = self.past.transcript(part).map_or(0, Transcript::calls) + 1;
        for (index, call) in calls {
            let number = first.saturating_add(u32::try_from(index).unwrap_or(u32::MAX));
            self.unmasked.insert((part.clone(), number), call);
        }
    }

    /// The answer with an id that no message of this run had: what lies in a mailbox may have been copied.
    pub(super) fn with_own_id(&self, mut answered: Answered) -> Answered {
        if self.drive.ledger().has_used(&answered.id) {
            answered.id = uuid::Uuid::now_v7().to_string();
        }
        answered
    }

    /// Records that a deadline passed, if one has; or the answer that came just before.
    pub(super) fn expire(&mut self) -> Result<(), DriveError> {
        let due = self.drive.ledger().next_deadline().filter(|(deadline, _)| *deadline <= self.ports.clock.now());
        let Some(key) = due.map(|(_, key)| key.clone()) else { return Ok(()) };
        if let Some(cancel) = self.cancels.remove(&key) {
            cancel.cancel();
        }
        self.parked.remove(&key);
        let kind = match self.drive.ledger().get(&key).map(|open| &open.begun) {
            Some(Begun::Question(question)) => Some(question.kind),
            _ => None,
        };
        let slot = key.slot;
        let body = match kind.and_then(|kind| self.ports.operator.close(&key, kind, Closing::Expired)) {
            Some(answered) => flight::answer(slot, self.with_own_id(answered)),
            None => Body::Ask(AskEvent::Expired { slot }),
        };
        self.write(Entry { part: key.part, body })
    }
}
