//! What a session is made with: the facts of its brief and the limits it works under.

use std::sync::Arc;

use jiff::Timestamp;

use super::learned::LearnedLimits;
use crate::detect::Sensitivities;
use crate::gate::checks::ChecksForJudge;
use crate::gate::shell::Programs;
use crate::gate::{GuardHook, Places, RoleLimit, Scope, Untrusted};
use crate::handoff::HandoffKind;
use crate::words::tool::ToolSpecs;
use crate::words::{Budget, Category, Mode};

/// How many steps a session takes before a person is asked (the peer's number).
pub const MAX_STEPS_DEFAULT: u32 = 30;
/// How many times in a row an agent that gave no confirmation summary is asked again (the peer's number).
pub const NUDGES_MAX: u32 = 1;
/// How often an agent that replied with nothing, or with thinking alone, is asked in words to go on before a person is.
pub const SILENCES_MAX: u32 = 1;
/// How often an agent may say the very same without a call before a person is asked.
pub const SAME_TURNS_MAX: u32 = 2;
/// How many turns with tool calls one step may hold (the peer's number).
pub const TOOL_ROUNDS_MAX: u32 = 3;
/// How often the same call may fail in a row before it is no longer made (the seed's retry cap). What the
/// operator says in between begins the count anew.
pub const RETRIES_MAX: u32 = 3;
/// How often an agent whose handoff is none is told what is wrong with it before a person is asked (C21).
pub const HANDOFF_RETRIES_MAX: u32 = 1;
/// How often a turn that failed for a passing reason is asked for before a person is.
pub const TURN_ATTEMPTS_MAX: u32 = 3;

/// The most tokens of one reply if nothing else is said: what every model of today takes, and more than the
/// longest patch of a step needs.
pub const OUTPUT_TOKENS_MAX: u32 = 16_384;

/// What an agent can take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentLimits {
    /// Its place in the run's options.
    pub place: u32,
    /// What a person calls it: adapter and model.
    pub name: String,
    /// The tokens of its window, where they are known.
    pub window: Option<u64>,
    /// The most tokens of one reply.
    pub output_max: u32,
}

/// What a session is for.
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
    /// What is handed off.
    pub handoff: HandoffKind,
    /// The sub-task it must be about, if it is about one.
    pub subtask_id: Option<String>,
    /// What is asked of the agent.
    pub request: String,
    /// Whether it has a phase 0 of its own, and may take several steps.
    pub is_work: bool,
}

/// What a session is made with. The same setup and the same events give the same decisions.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The standing orders, as the agent gets them.
    pub standing_orders: String,
    /// The brief, as the agent gets it.
    pub brief: String,
    /// What the brief authorizes.
    pub authorized: Vec<Category>,
    /// Where things are.
    pub places: Places,
    /// What the brief is about, its paths in plain form.
    pub scope: Scope,
    /// Whether nothing may be added to the brief while it is worked on.
    pub scope_locked: bool,
    /// The brief's deadline as it was written, and the moment at which it has passed.
    pub deadline: Option<(String, Timestamp)>,
    /// The mode, if it was fixed before the run.
    pub mode: Option<Mode>,
    /// How many steps the session may take before a person is asked.
    pub max_steps: u32,
    /// How sensitive the detectors are to be, whatever safety says to it.
    pub sensitivities: Sensitivities,
    /// Whether `shell_exec` is switched off.
    pub shell_disabled: bool,
    /// What counts as text from outside, and what holds for calls after it.
    pub untrusted: Untrusted,
    /// What programs do, for command lines.
    pub programs: Arc<Programs>,
    /// The guard hooks, which are asked in this order.
    pub hooks: Vec<GuardHook>,
    /// The limit of the role that the agent works in; none if it works alone.
    pub role: Option<RoleLimit>,
    /// The only commands that the agent may run, where it is a judge; none for whoever may run others.
    pub checks: Option<ChecksForJudge>,
    /// What the session is for.
    pub task: Task,
    /// The tools there are.
    pub tools: ToolSpecs,
    /// How many bytes of a tool's result are sent to an agent; all if absent.
    pub result_bytes_max: Option<u64>,
    /// Who can be asked for turns, in this order; never empty.
    pub agents: Vec<AgentLimits>,
    /// How long a question waits for its answer, in milliseconds; for ever if absent.
    pub answer_within_ms: Option<u64>,
    /// How long a provider that fails is waited for before it is given up, in milliseconds.
    pub patience_ms: u64,
    /// What the run may use.
    pub budget: Budget,
    /// What the session's role may use of it.
    pub role_budget: Budget,
    /// What a learned profile has for the session; none if none is applied.
    pub learned: Option<LearnedLimits>,
}
