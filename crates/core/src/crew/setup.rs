//! What a crew is made with, and what each of its sessions is made with.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::authority;
use super::handoff::HandoffKind;
use super::prompts;
use super::state::State;
use crate::budget::Budget;
use crate::gate::RoleLimit;
use crate::role::Role;
use crate::session::{AgentLimits, Piece, Setup, Task};
use crate::tool::{ToolEffect, ToolSpecs};

/// What a crew is made with.
#[derive(Debug, Clone)]
pub struct CrewSetup {
    /// What one session alone would be made with. Its budget is the run's, calls of tools for each sub-task.
    pub base: Setup,
    /// The roles, in the brief's order. Planner and executor are always played.
    pub roles: Vec<Role>,
    /// Who plays a role, where that is not whoever plays the others.
    pub agents: BTreeMap<Role, Vec<AgentLimits>>,
    /// What single roles may use.
    pub role_budgets: BTreeMap<Role, Budget>,
    /// How often a sub-task is done again before a person is asked.
    pub retries_max: u64,
    /// Whether the critic judges without the executor's account of its work.
    pub is_blind: bool,
    /// Whether the crew is at its end once there is a plan; nothing is asked before it.
    pub plans_only: bool,
}

impl CrewSetup {
    /// What the session of a role is made with; without one, that of the run's phase 0.
    pub(super) fn session(&self, role: Option<Role>, state: &State) -> Arc<Setup> {
        let mut setup = self.base.clone();
        setup.approved.clone_from(&state.approved);
        setup.mode = state.mode;
        let Some(role) = role else {
            setup.task = Task::Intake;
            setup.budget.max_tool_calls = None;
            return Arc::new(setup);
        };
        let limit = RoleLimit::of(role);
        setup.authorized = authority::effective(&setup.authorized, &limit);
        setup.approved = authority::effective(&setup.approved, &limit);
        setup.tools = tools_of(role, &setup.tools);
        if let Some(agents) = self.agents.get(&role) {
            setup.agents.clone_from(agents);
        }
        setup.role_budget = self.role_budgets.get(&role).copied().unwrap_or_default();
        if role != Role::Executor {
            setup.budget.max_tool_calls = None;
        }
        setup.standing_orders = prompts::standing_orders(&setup.standing_orders, &setup.brief, role);
        setup.role = Some(limit);
        let subtask_id = state.subtask().filter(|_| role != Role::Planner).map(|subtask| subtask.task.id.clone());
        setup.task = Task::Piece(Piece {
            handoff: match role {
                Role::Planner => HandoffKind::Plan,
                Role::Executor => HandoffKind::Execution,
                Role::Reviewer | Role::Critic => HandoffKind::Review,
            },
            subtask_id,
            request: prompts::request(role, state, self.is_blind),
            is_work: role == Role::Executor,
        });
        Arc::new(setup)
    }
}

/// The tools that a role is offered (C23): a planner none, an executor all, judges those that merely read.
fn tools_of(role: Role, tools: &ToolSpecs) -> ToolSpecs {
    let limit = RoleLimit::of(role);
    let is_offered = |effect: ToolEffect, in_scope: bool| match role {
        Role::Planner => false,
        Role::Executor => true,
        Role::Reviewer | Role::Critic => effect == ToolEffect::Reads && in_scope,
    };
    let offered = tools.iter().filter(|tool| {
        let in_scope = !tool.categories.is_empty() && limit.scope_of(&tool.categories).in_scope;
        is_offered(tool.effect, in_scope)
    });
    offered.cloned().collect::<Vec<_>>().into()
}
