//! Asking for a turn: who, with what room, after which wait, and within which limits.

use super::context::Relief;
use super::machine::Decider;
use super::prompts::GivenUp;
use super::retry::Patience;
use super::state::TurnState;
use super::{AgentLimits, OUTPUT_TOKENS_MAX, prompts};
use crate::budget::Room;
use crate::procedure::{Command, Next, On};
use crate::run::AccountName;
use crate::trace::{Body, BudgetEvent, TurnEvent};
use crate::words::budget::Whose;
use crate::words::{FailureKind, LimitMetric, MessageKind, Metric, Mode, PhaseName, Slot, What};

impl Decider<'_> {
    /// Returns the next turn, whose number was never used.
    pub(super) fn new_turn(&self) -> Next {
        self.request(Slot::first(What::Turn, self.state.turns.count + 1))
    }

    /// Returns the next thing for a turn that was asked for and has no reply yet.
    pub(super) fn pursue(&self, turn: &TurnState) -> Next {
        let slot = Slot { what: What::Turn, number: turn.number, attempt: turn.attempt };
        if turn.in_flight {
            return if turn.cancelled { Next::Want(Vec::new()) } else { self.send(slot, self.agent().output_max) };
        }
        let again = Slot { attempt: slot.attempt + 1, ..slot };
        let Some(failed) = &turn.failed else { return self.request(again) };
        let place = self.agent().place;
        if self.run.is_retried_since(place, failed.at) {
            return self.request(again);
        }
        let next = self.setup.agents.get(self.state.turns.agent as usize + 1);
        let (ms, is_last) = (self.setup.patience_ms, next.is_none());
        let can_shrink = self.state.speech.owes_state || self.state.context.is_shorter() || self.relief().is_some();
        let may_shrink = can_shrink && turn.rejections == 1 && self.state.context.is_near(self.agent().window);
        let patience = Patience { ms, is_last, can_shrink, may_shrink, limit_ms: self.time_left_ms() };
        if failed.is_final(turn.failures, patience) {
            return match next {
                Some(next) => self.record(Body::Turn(TurnEvent::AgentChanged {
                    agent: self.state.turns.agent + 1,
                    name: next.name.clone(),
                    reason: failed.message.clone(),
                })),
                None if let Some(other) = self.run.asks_about_agent(&self.part, place) => {
                    Next::Wait(On::Part(other.clone()))
                }
                None => {
                    let why = match failed.asked_beyond(patience) {
                        _ if failed.kind == FailureKind::TooLong && !can_shrink => GivenUp::TooLong,
                        Some(asked_ms) => GivenUp::Impatient { asked_ms, patience_ms: patience.ms },
                        None => GivenUp::AsSaid,
                    };
                    self.ask(prompts::agent_failed(&failed.message, turn.failures, why))
                }
            };
        }
        let length_ms = failed.wait_ms(&self.part, slot, turn.failures, patience);
        if turn.waited || length_ms == 0 {
            return self.request(again);
        }
        let wait = self.state.turns.wait.map_or(Slot::first(What::Wait, self.state.turns.waits + 1), |wait| wait.slot);
        self.want(wait, Command::Wait { length_ms })
    }

    /// Asks for a turn once there is room for it, in the agent's window and within the limits.
    fn request(&self, slot: Slot) -> Next {
        let agent = self.agent();
        if self.state.speech.owes_state {
            return self.say(MessageKind::RuntimeState, self.state.steps.number, self.runtime_state());
        }
        if let Some(relief) = self.relief() {
            return self.record(match relief {
                Relief::Fold { messages, before, after } => {
                    Body::Turn(TurnEvent::ContextFolded { messages, before, after })
                }
                Relief::Cut { first, before, after } => Body::Turn(TurnEvent::ContextCut { first, before, after }),
            });
        }
        let input = self.state.context.tokens();
        let mut output = agent.output_max;
        for whose in [Whose::Run, Whose::Role, Whose::Session] {
            match self.spending(whose).room(&self.budget_of(whose), &self.part, agent.place, input, output) {
                Room::Over(metric) => return self.over(metric, whose),
                Room::Later => return Next::Wait(On::Reservations),
                Room::For { output: room } => output = room,
            }
        }
        match self.warning() {
            Some((whose, metric, used, limit)) => {
                let (role, phase, learned) = self.holder(whose);
                self.record(Body::Budget(BudgetEvent::BudgetWarn {
                    metric: LimitMetric::Counted(metric),
                    used,
                    limit,
                    role,
                    phase,
                    learned,
                }))
            }
            None => self.send(slot, output),
        }
    }

    /// Returns the way to make room in the agent's window, if room is needed and can be made.
    fn relief(&self) -> Option<Relief> {
        let (agent, state) = (self.agent(), || self.runtime_state().len() as u64);
        self.state.context.relief(agent.window, agent.output_max, &state)
    }

    /// Says that a limit forbids the next request or call, and asks for more.
    pub(super) fn over(&self, metric: Metric, whose: Whose) -> Next {
        let used = self.spent(whose, metric);
        let limit = self.limit(whose, metric).unwrap_or(0);
        match self.run.halted(&AccountName::of(whose, &self.part), metric) {
            Some(part) if *part == self.part => {
                let is_estimate = self.spending(whose).is_estimate(metric);
                return self.ask(prompts::budget_reached(metric, (used, is_estimate), limit, &self.whose_limit(whose)));
            }
            Some(asks) => return Next::Wait(On::Part(asks.clone())),
            None => {}
        }
        let (role, phase, learned) = self.holder(whose);
        self.record(Body::Budget(BudgetEvent::BudgetHalt {
            metric: LimitMetric::Counted(metric),
            used,
            limit,
            role,
            phase,
            learned,
        }))
    }

    /// Returns the owner of a limit as it is put on record: role, phase, and the profile that the limit comes from.
    fn holder(&self, whose: Whose) -> (Option<String>, Option<PhaseName>, Option<String>) {
        let role = || self.setup.role.as_ref().map(|role| role.name.clone());
        let learned = || self.setup.learned.as_ref().map(|learned| learned.slug.clone());
        match whose {
            Whose::Run => (None, None, None),
            Whose::Role => (role(), None, None),
            Whose::Session => (role(), None, learned()),
            Whose::Phase(phase) => (None, Some(phase), learned()),
        }
    }

    fn whose_limit(&self, whose: Whose) -> prompts::WhoseLimit {
        let (role, phase, learned) = self.holder(whose);
        prompts::WhoseLimit { role, phase, learned }
    }

    /// Returns the number of calls that may still be made, and the owner of the limit that says so.
    pub(super) fn calls_left(&self) -> (u64, Whose) {
        self.left(Metric::ToolCalls).unwrap_or((u64::MAX, Whose::Run))
    }

    /// Returns the rest of a metric under the strictest of the limits, and the owner of that limit; `None` if there is
    /// no limit.
    pub(super) fn left(&self, metric: Metric) -> Option<(u64, Whose)> {
        let left = self.limited().filter_map(|whose| {
            let limit = self.limit(whose, metric)?;
            Some((limit.saturating_sub(self.used(whose, metric)), whose))
        });
        left.min_by_key(|(left, _)| *left)
    }

    /// Returns the time that is left for anything in flight, in milliseconds, by the limits of minutes; `None` if there
    /// are none.
    pub(super) fn time_left_ms(&self) -> Option<u64> {
        self.left(Metric::WallClock).map(|(left, _)| left)
    }

    fn send(&self, slot: Slot, output_max: u32) -> Next {
        let command = Command::Turn {
            messages: self.state.context.range(),
            tools: self.setup.tools.clone(),
            may_call: self.may_call(),
            agent: self.agent().place,
            input_tokens: self.state.context.tokens(),
            output_max,
            limit_ms: self.time_left_ms(),
            workspace: self.workspace(),
        };
        self.want(slot, command)
    }

    /// Returns true if the agent may call tools now. They are part of every request all the same: a provider refuses a
    /// history with calls in it that offers none, and a change at the head of a request makes its cache worthless.
    fn may_call(&self) -> bool {
        self.state.phase() == Some(PhaseName::Execute)
    }

    /// Returns the limits of the agent that is asked now.
    fn agent(&self) -> AgentLimits {
        let (place, name) = (self.state.turns.agent, String::new());
        let unknown = AgentLimits { place, name, window: None, output_max: OUTPUT_TOKENS_MAX };
        let mut limits = self.setup.agents.get(self.state.turns.agent as usize).cloned().unwrap_or(unknown);
        limits.output_max = self.state.turns.reply_max(limits.output_max);
        limits
    }

    fn runtime_state(&self) -> String {
        let how = match self.settled_mode() {
            Some(Mode::Auto) => "Auto-pilot: stop only for a blocker or for something destructive or out of scope.",
            Some(Mode::Gated) | None => "Per-step gating: one step, then report; the operator answers between steps.",
        };
        let lock = if self.setup.scope_locked { " The scope is locked: nothing beyond the brief." } else { "" };
        let how = format!("{how}{lock}");
        prompts::runtime_state(&self.setup.brief, &self.state.past, self.state.steps.number, &how, &self.approved())
    }
}
