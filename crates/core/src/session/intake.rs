//! Phase 0: the agent restates the brief, the operator confirms; nothing is done before.

use super::Mode;
use super::machine::{DECLINED, Session};
use super::prompts;
use super::setup::NUDGES_MAX;
use super::state::Taken;
use crate::inbox::{Choice, QuestionKind};
use crate::procedure::Next;
use crate::trace::{Body, MessageKind, PhaseName, Rejection};

impl Session {
    pub(super) fn intake(&self) -> Next {
        match self.state.said {
            None => return self.say(MessageKind::StandingOrders, 0, self.setup.standing_orders.clone()),
            Some(MessageKind::StandingOrders) => {
                return self.say(MessageKind::Intake, 0, prompts::intake(&self.setup.brief, self.state.mode));
            }
            Some(_) => {}
        }
        if self.state.owed {
            return self.new_turn();
        }
        let Some(turn) = &self.state.turn else { return self.new_turn() };
        match &turn.taken {
            Some(taken) => self.confirm(taken),
            None if self.state.held => self.answer_to_summary(None),
            None => self.pursue(turn),
        }
    }

    /// A summary was given, or should have been.
    fn confirm(&self, taken: &Taken) -> Next {
        if let Some(reading) = self.read(taken) {
            return reading;
        }
        if let Some(rejection) = self.reject_all(taken, Rejection::Phase) {
            return rejection;
        }
        if let Some(declared) = taken.declared()
            && declared != PhaseName::Intake
            && !taken.drift_told
        {
            return self.record(Body::PhaseDrift { turn: self.state.turns, declared, phase: PhaseName::Intake });
        }
        let found = taken.payload("confirmation").is_some();
        if !found && self.state.nudges < NUDGES_MAX {
            return self.say(MessageKind::Nudge, 0, prompts::nudge());
        }
        self.answer_to_summary(Some((taken, found)))
    }

    /// Waits for the operator's word on the summary and acts on it. Never goes on without one.
    fn answer_to_summary(&self, summary: Option<(&Taken, bool)>) -> Next {
        let mode = self.state.mode;
        let chosen = match self.state.answer(QuestionKind::Confirmation) {
            None => {
                let late =
                    self.setup.deadline.as_ref().filter(|(_, ends)| self.state.now.is_some_and(|now| now >= *ends));
                let text = summary.map(|(taken, found)| (taken.text.as_str(), found));
                return self.ask(prompts::confirmation(text, mode, late.map(|(deadline, _)| deadline.as_str())));
            }
            Some((Choice::Decline, _)) => return self.leave(PhaseName::Done, DECLINED),
            Some((Choice::Correct, text)) => {
                return self.say(MessageKind::Correction, 0, prompts::correction(text.unwrap_or_default()));
            }
            Some((Choice::AcceptAuto, _)) => Mode::Auto,
            Some((Choice::AcceptGated, _)) => Mode::Gated,
            Some(_) => mode.unwrap_or(Mode::Gated),
        };
        if mode != Some(chosen) {
            return self.record(Body::ModeSet { mode: chosen });
        }
        // Nothing was said that could be accepted.
        if summary.is_none() {
            return self.say(MessageKind::Nudge, 0, prompts::no_summary());
        }
        self.leave(PhaseName::Execute, "intake accepted")
    }
}
