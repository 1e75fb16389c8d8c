//! The setup of a loop, and the setups of its sessions.

use std::sync::Arc;

use super::council::Seat;
use super::knobs::StuckKnobs;
use super::prompts;
use super::state::LoopProgress;
use crate::gate::RoleLimit;
use crate::gate::checks::{Checks, ChecksForJudge};
use crate::session::{AgentLimits, Piece, Setup, Task};
use crate::trace::{LoopOptions, OnStuck};
use crate::words::HandoffKind;
use crate::words::role::Role;

/// Subject of the votes of a council, where a judge in a crew names a sub-task.
pub(super) const GOAL: &str = "goal";

/// Setup of a loop.
#[derive(Debug, Clone)]
pub struct LoopSetup {
    /// Setup of a single session for the same brief.
    pub base: Setup,
    /// Options of the loop.
    pub options: LoopOptions,
    /// The commands by which the brief says that its work is checked.
    pub checks: Checks,
    /// Files that must be there before the goal counts as reached.
    pub expected_files: Vec<String>,
    /// Patterns of tests that must stay as they are; without any, tests may change, and none may go.
    pub protected_tests: Vec<String>,
    /// Agents of the voters, in turn; without any they are voted by the run's own.
    pub voters: Vec<AgentLimits>,
}

impl LoopSetup {
    /// Returns the setup of phase 0, in which the operator confirms what the whole loop is about.
    pub(super) fn intake(&self) -> Setup {
        Setup { task: Task::Intake, is_free_in_calls: true, ..self.base.clone() }
    }

    /// Returns the setup of the next iteration.
    pub(super) fn iteration(&self, state: &LoopProgress) -> Setup {
        let mut setup = self.base.clone();
        setup.standing_orders =
            prompts::standing_orders(&setup.standing_orders, &setup.brief, "iteration", prompts::ITERATION);
        setup.task = Task::Piece(Piece {
            handoff: HandoffKind::Iteration,
            subtask_id: None,
            request: prompts::iteration(self, state),
            is_work: true,
        });
        setup.is_free_in_calls = true;
        setup
    }

    /// Returns the setup of a voter, who reads, may run the brief's checks, and changes nothing.
    pub(super) fn voter(&self, seat: &Seat, state: &LoopProgress) -> Setup {
        let mut setup = self.base.clone();
        let limit = RoleLimit { name: seat.name.clone(), ..RoleLimit::of(Role::Reviewer) };
        setup.checks = ChecksForJudge::of(&self.checks, &limit).filter(|_| !self.base.shell_disabled);
        setup.only_reads = true;
        setup.role = Some(limit);
        setup.offer(&self.base.tools);
        if let Some(agent) = self.voters.get(seat.place % self.voters.len().max(1)) {
            setup.agents = vec![agent.clone()];
        }
        setup.standing_orders =
            prompts::standing_orders(&setup.standing_orders, &setup.brief, &seat.name, seat.instruction);
        setup.task = Task::Piece(Piece {
            handoff: HandoffKind::Review,
            subtask_id: Some(GOAL.to_owned()),
            request: prompts::vote(self, state, setup.checks.is_some()),
            is_work: false,
        });
        setup.is_free_in_calls = true;
        setup
    }

    /// Returns the thresholds of the stuck signals.
    #[must_use]
    pub fn knobs(&self) -> StuckKnobs {
        self.options.stuck.map_or(StuckKnobs { is_enabled: false, ..StuckKnobs::default() }, |stuck| StuckKnobs {
            is_enabled: true,
            rounds: stuck.rounds,
            nochange_min: stuck.nochange_min,
            split_rounds: stuck.split_rounds,
            stagnation_limit: self.options.stagnation_limit,
            evaluation_age: stuck.evaluation_age,
            cooldown: stuck.cooldown,
        })
    }

    /// Returns true if the loop stands still while it is stuck and nobody has answered.
    #[must_use]
    pub const fn halts(&self) -> bool {
        match self.options.on_stuck {
            OnStuck::Halt => true,
            OnStuck::Notify => false,
            OnStuck::Auto => !self.options.is_perpetual,
        }
    }
}

/// Shares a setup with a session.
pub(super) fn shared(setup: Setup) -> Arc<Setup> {
    Arc::new(setup)
}
