//! The setup of a session: the facts of its brief and the limits it works under.

use std::sync::Arc;

use jiff::Timestamp;

use super::Session;
use super::learned::LearnedLimits;
use crate::detect::Sensitivities;
use crate::gate::checks::{Checks, ChecksForJudge};
use crate::gate::shell::Programs;
use crate::gate::{GuardHook, Places, RoleLimit, Scope, Untrusted};
use crate::run::RunFacts;
use crate::words::category::SHELL_EXEC;
use crate::words::tool::{ToolEffect, ToolSpec, ToolSpecs};
use crate::words::{Budget, Category, HandoffKind, Mode};

/// Number of steps that a session takes before the operator is asked (the peer's number).
pub const MAX_STEPS_DEFAULT: u32 = 30;
/// Number of times in a row that an agent without a confirmation summary is asked again (the peer's number).
pub const NUDGES_MAX: u32 = 1;
/// Number of times that an agent that replied with nothing, or with thinking alone, is asked in words to go on before
/// the operator is asked.
pub const SILENCES_MAX: u32 = 1;
/// Number of times that an agent may say the very same without a call before the operator is asked.
pub const SAME_TURNS_MAX: u32 = 2;
/// Number of turns with tool calls that one step may hold (the peer's number).
pub const TOOL_ROUNDS_MAX: u32 = 3;
/// Number of times in a row that the same call may fail before it is no longer made (the seed's retry cap). A word of
/// the operator in between begins the count anew.
pub const RETRIES_MAX: u32 = 3;
/// Number of times that an agent is told why its handoff is invalid before the operator is asked (C21).
pub const HANDOFF_RETRIES_MAX: u32 = 1;
/// Number of attempts at a turn that fails for a passing reason, before the operator is asked.
pub const TURN_ATTEMPTS_MAX: u32 = 3;

/// The most tokens of one reply if nothing else is said: what every model of today takes, and more than the
/// longest patch of a step needs.
pub const OUTPUT_TOKENS_MAX: u32 = 16_384;

/// Limits of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentLimits {
    /// Its place in the run's options.
    pub place: u32,
    /// Name of it for a person: adapter and model.
    pub name: String,
    /// The tokens of its window, where they are known.
    pub window: Option<u64>,
    /// The most tokens of one reply.
    pub output_max: u32,
}

/// Purpose of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Task {
    /// The whole brief, from phase 0 to the report.
    #[default]
    Brief,
    /// Phase 0 of a run by several sessions: it ends when the summary is accepted.
    Intake,
    /// One piece of a run: it ends with a handoff.
    Piece(Piece),
}

/// A piece of a run that ends with a handoff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Kind of the handoff.
    pub handoff: HandoffKind,
    /// The sub-task it must be about, if it is about one.
    pub subtask_id: Option<String>,
    /// Request to the agent.
    pub request: String,
    /// True if it has a phase 0 of its own, and may take several steps.
    pub is_work: bool,
}

/// Setup of a session. The same setup and the same events give the same decisions.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The standing orders, as the agent gets them.
    pub standing_orders: String,
    /// The brief, as the agent gets it.
    pub brief: String,
    /// Categories that the brief authorizes, whatever a role may hold of them.
    pub authorized: Vec<Category>,
    /// Places that paths are judged by.
    pub places: Places,
    /// Scope of the brief, its paths in plain form.
    pub scope: Scope,
    /// True if nothing may be added to the brief while it is worked on.
    pub scope_locked: bool,
    /// The brief's deadline as it was written, and the moment at which it has passed.
    pub deadline: Option<(String, Timestamp)>,
    /// The mode, if it was fixed before the run.
    pub mode: Option<Mode>,
    /// Number of steps that the session may take before the operator is asked.
    pub max_steps: u32,
    /// Sensitivities asked for, whatever safety says to them.
    pub sensitivities: Sensitivities,
    /// True if `shell_exec` is switched off.
    pub shell_disabled: bool,
    /// Rules for text from outside: which tools bring it, and the limits on calls after it.
    pub untrusted: Untrusted,
    /// Knowledge of programs, for command lines.
    pub programs: Arc<Programs>,
    /// The guard hooks, which are asked in this order.
    pub hooks: Vec<GuardHook>,
    /// The limit of the role that the agent works in; none if it works alone.
    pub role: Option<RoleLimit>,
    /// The only commands that the agent may run, if it is a judge; `None` for an agent that may run others.
    pub checks: Option<ChecksForJudge>,
    /// The commands that must pass before the work of the whole brief counts as done.
    pub end_checks: Checks,
    /// Purpose of the session.
    pub task: Task,
    /// True if it is offered only what merely reads, and the checks that it may run.
    pub only_reads: bool,
    /// The tools that it is offered.
    pub tools: ToolSpecs,
    /// Number of bytes of a tool's result that are sent to an agent; all if absent.
    pub result_bytes_max: Option<u64>,
    /// Agents that can be asked for turns, in this order; never empty.
    pub agents: Vec<AgentLimits>,
    /// Time for which a question waits for its answer, in milliseconds; for ever if absent.
    pub answer_within_ms: Option<u64>,
    /// Time for which a failing provider is waited for before it is given up, in milliseconds.
    pub patience_ms: u64,
    /// Budget of the run.
    pub budget: Budget,
    /// True if its limit of calls doesn't hold for the session.
    pub is_free_in_calls: bool,
    /// Budget of the session's role within it.
    pub role_budget: Budget,
    /// Limits of a learned profile for the session; `None` if no profile is applied.
    pub learned: Option<LearnedLimits>,
}

impl Session {
    /// Returns the setup as it holds now: as it was made, with what the operator amended since the run began, and with the
    /// tools of the version that took it over.
    pub(super) fn setup_now(&self, run: &RunFacts) -> &Setup {
        if run.amendments().is_empty() && run.offered().is_none() {
            return &self.setup;
        }
        self.setup_now.get_or_init(|| {
            let mut setup = (*self.setup).clone();
            run.amendments().iter().for_each(|amendment| setup.amend(amendment));
            if let Some(offered) = run.offered() {
                setup.offer(offered);
            }
            Box::new(setup)
        })
    }
}

impl Setup {
    /// Offers the agent of these tools what its role is offered (C23): all of them without a role, else those of which not
    /// every call lies beyond the role's grant. A judge that may run checks is offered commands for them.
    pub fn offer(&mut self, tools: &ToolSpecs) {
        let Some(limit) = &self.role else {
            self.tools = tools.clone();
            return;
        };
        let checks = self.checks.as_ref();
        let reads = |tool: &ToolSpec| {
            let in_scope = !tool.categories.is_empty() && limit.scope_of(&tool.categories).in_scope;
            tool.effect == ToolEffect::Reads && in_scope
        };
        let offered = tools.iter().filter(|tool| {
            let is_check = checks.is_some() && tool.name == SHELL_EXEC;
            is_check || (!self.only_reads || reads(tool)) && limit.beyond_grant(&tool.categories).is_empty()
        });
        self.tools = offered.map(|tool| checks.map_or_else(|| tool.clone(), |judge| judge.narrowed(tool))).collect();
    }
}
