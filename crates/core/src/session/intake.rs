//! Phase 0: the agent restates the brief, the operator confirms; nothing is done before.

use super::due;
use super::hand_off::HANDED_OFF_AT_ONCE;
use super::machine::{DECLINED, Decider};
use super::prompts;
use super::setup::{NUDGES_MAX, Task};
use super::state::ReadTurn;
use crate::gate::authorization;
use crate::gate::shell::{Dialect, ShellContext, spoken};
use crate::memory::{self, View};
use crate::procedure::Next;
use crate::trace::{Body, PartEvent};
use crate::words::{Category, Choice, MessageKind, Mode, PhaseName, QuestionKind};

/// The reason of a transition out of phase 0 about which the operator was not asked.
const COVERED: &str = "covered by the confirmation of the run";

/// Words that an agent writes under Unknowns when there are none.
const NO_UNKNOWNS: [&str; 9] = ["", "none", "(none)", "no", "nothing", "n/a", "-", "no unknowns", "none known"];

impl Decider<'_> {
    pub(super) fn intake(&self) -> Next {
        match self.state.speech.said {
            None => return self.say(MessageKind::StandingOrders, 0, self.orders()),
            Some(MessageKind::StandingOrders) => {
                let text = match &self.setup.task {
                    Task::Piece(piece) => prompts::intake_of_piece(&piece.request),
                    Task::Brief | Task::Intake => prompts::intake(&self.setup.brief, self.settled_mode()),
                };
                return self.say(MessageKind::Intake, 0, text);
            }
            Some(_) => {}
        }
        if self.state.speech.owed {
            return self.steered().unwrap_or_else(|| self.new_turn());
        }
        let Some(turn) = &self.state.turns.latest else { return self.new_turn() };
        match &turn.taken {
            Some(taken) => self.due(due::INTAKE, taken),
            None if self.state.given.is_held => self.answer_to_summary(None),
            None => self.pursue(turn),
        }
    }

    /// Returns the standing orders; after them, once, the part of the project's memory that the role is shown.
    pub(super) fn orders(&self) -> String {
        let orders = &self.setup.standing_orders;
        let view = View::of(self.setup.role.as_ref().map(|role| role.name.as_str()));
        match memory::block(self.run.memory(), view) {
            None => orders.clone(),
            Some(block) => format!("{}\n\n---\n\n{block}\n", orders.trim_end()),
        }
    }

    /// Puts on record, once, that the agent announced another phase.
    pub(super) fn drift_from_intake(&self, taken: &ReadTurn) -> Option<Next> {
        let declared = taken.declared().filter(|declared| *declared != PhaseName::Intake && !taken.drift_told)?;
        let (turn, phase) = (self.state.turns.count, PhaseName::Intake);
        Some(self.record(Body::Part(PartEvent::PhaseDrift { turn, declared, phase })))
    }

    /// Leaves for phase 1 if the handoff is there in place of a summary.
    pub(super) fn handed_off_at_once(&self, taken: &ReadTurn) -> Option<Next> {
        let is_there = taken.payload("confirmation").is_none() && self.holds_handoff(taken);
        is_there.then(|| self.leave(PhaseName::Execute, HANDED_OFF_AT_ONCE))
    }

    /// Asks an agent that gave no summary for it.
    pub(super) fn nudge(&self, taken: &ReadTurn) -> Option<Next> {
        let is_missing = taken.payload("confirmation").is_none() && self.state.speech.nudges < NUDGES_MAX;
        is_missing.then(|| self.say(MessageKind::Nudge, 0, prompts::nudge()))
    }

    /// Puts a turn that gave a summary, or should have given one, to the operator.
    pub(super) fn summary_answered(&self, taken: &ReadTurn) -> Option<Next> {
        Some(self.answer_to_summary(Some((taken, taken.payload("confirmation").is_some()))))
    }

    /// Waits for the operator's word on the summary and acts on it. Never goes on without one.
    fn answer_to_summary(&self, summary: Option<(&ReadTurn, bool)>) -> Next {
        let mode = self.settled_mode();
        if let Some((taken, true)) = summary
            && self.is_covered(taken)
        {
            return self.leave(PhaseName::Execute, COVERED);
        }
        let chosen = match self.state.answer(QuestionKind::Confirmation) {
            None => {
                let late =
                    self.setup.deadline.as_ref().filter(|(_, ends)| self.state.now.is_some_and(|now| now >= *ends));
                let text = summary.map(|(taken, found)| (taken.text.as_str(), found));
                let late = late.map(|(deadline, _)| deadline.as_str());
                return self.ask(prompts::confirmation(text, mode, self.is_fixed_to(Mode::Gated), late));
            }
            Some((Choice::Decline, _)) => return self.leave(PhaseName::Done, DECLINED),
            Some((Choice::Correct, text)) => {
                return self.say(MessageKind::Correction, 0, prompts::correction(text.unwrap_or_default()));
            }
            // What was fixed before the run is not undone by a word at the summary: that takes `/auto`, which says so.
            Some((Choice::AcceptAuto, _)) if self.is_fixed_to(Mode::Gated) => mode.unwrap_or(Mode::Gated),
            Some((Choice::AcceptAuto, _)) => Mode::Auto,
            Some((Choice::AcceptGated, _)) => Mode::Gated,
            Some(_) => mode.unwrap_or(Mode::Gated),
        };
        if mode != Some(chosen) {
            return self.record(Body::Part(PartEvent::ModeSet { mode: chosen }));
        }
        // Nothing was said that could be accepted.
        if summary.is_none() {
            return self.say(MessageKind::Nudge, 0, prompts::no_summary());
        }
        let to = if self.setup.task == Task::Intake { PhaseName::Done } else { PhaseName::Execute };
        self.leave(to, "intake accepted")
    }

    /// Returns true if this mode was fixed before the run, by its brief or an option.
    fn is_fixed_to(&self, mode: Mode) -> bool {
        self.setup.mode == Some(mode)
    }

    /// Returns true if the operator's word on the run covers the summary of one of its pieces: nothing is asked between
    /// steps, and the summary asks for nothing beyond the brief.
    fn is_covered(&self, taken: &ReadTurn) -> bool {
        matches!(self.setup.task, Task::Piece(_))
            && self.settled_mode() == Some(Mode::Auto)
            && !self.asks_for_more(taken)
    }

    /// Returns true if a summary leaves something unclear, needs a tool that nothing authorizes, announces an act that
    /// nothing authorizes, or has a command in its code that needs more than is authorized.
    fn asks_for_more(&self, taken: &ReadTurn) -> bool {
        let section = |name: &str| {
            let sections = taken.payload("confirmation").and_then(|payload| payload.get("sections"));
            sections.and_then(|sections| sections.get(name)).and_then(|text| text.as_str()).unwrap_or_default()
        };
        let unknowns = section("unknowns").trim().trim_end_matches('.').to_lowercase();
        let tools = section("tools_required");
        let (authorized, approved) = (self.authorized(), self.approved());
        let is_open = |categories: &[Category]| !authorization::check(categories, &authorized, &approved).allowed;
        let wants_tool =
            self.setup.tools.iter().any(|tool| tools.contains(tool.name.as_str()) && is_open(&tool.categories));
        let (places, programs) = (&self.setup.places, self.setup.programs.as_ref());
        let context = ShellContext { shell: Dialect::Bash, folder: ".", places, programs };
        let wants_more = wants_tool || is_open(&spoken(&taken.text, &context));
        !NO_UNKNOWNS.contains(&unknowns.as_str()) || wants_more || !taken.announced().is_empty()
    }
}
