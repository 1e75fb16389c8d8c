//! The setup of a crew, and the setups of its sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::authority;
use super::prompts::{self, JudgeMaterial};
use super::state::CrewProgress;
use crate::gate::RoleLimit;
use crate::gate::checks::{Checks, ChecksForJudge};
use crate::gate::custom_role::{CustomRoles, Member};
use crate::session::{AgentLimits, LearnedLimits, Piece, Setup, Task};
use crate::trace::LearnedOptions;
use crate::words::role::{Role, RoleName};
use crate::words::{Budget, Category, HandoffKind};

/// Setup of a crew.
#[derive(Debug, Clone)]
pub struct CrewSetup {
    /// Setup of a single session for the same brief. Its budget is the run's; its limit of tool calls is for each
    /// sub-task.
    pub base: Setup,
    /// The roles, in the brief's order. The places of planner and executor are always taken.
    pub roles: Vec<Member>,
    /// Roles that the operator defined.
    pub custom_roles: CustomRoles,
    /// Categories that the brief grants single roles. A role that it doesn't name holds all that it authorizes.
    pub role_grants: BTreeMap<RoleName, Vec<Category>>,
    /// Agents of single roles; other roles have the agents of `base`.
    pub agents: BTreeMap<RoleName, Vec<AgentLimits>>,
    /// Budgets of single roles.
    pub role_budgets: BTreeMap<RoleName, Budget>,
    /// The commands by which the brief says that its work is checked: judges may run them.
    pub checks: Checks,
    /// Number of retries of a sub-task before the operator is asked.
    pub retries_max: u64,
    /// True if the critic judges without the executor's account of its work.
    pub is_blind: bool,
    /// True if the crew ends as soon as there is a plan; nothing is asked before it.
    pub plans_only: bool,
    /// Options that the run takes from a learned profile.
    pub learned: Option<LearnedOptions>,
    /// True if the brief itself limits the tool calls of a sub-task.
    pub limits_calls: bool,
}

impl CrewSetup {
    /// Returns the member that takes the place of planner or executor.
    pub(super) fn player(&self, base: Role) -> Member {
        self.roles.iter().find(|member| member.base == base).cloned().unwrap_or_else(|| base.into())
    }

    /// Returns the judges in the order in which they are asked: those that review, then those that look for what others
    /// missed.
    pub(super) fn judges(&self) -> impl Iterator<Item = &Member> {
        let of = |base| self.roles.iter().filter(move |member: &&Member| member.base == base);
        of(Role::Reviewer).chain(of(Role::Critic))
    }

    /// Returns the setup for the session of a role; without a role, that for phase 0 of the run.
    pub(super) fn session(&self, member: Option<&Member>, state: &CrewProgress) -> Arc<Setup> {
        let mut setup = self.base.clone();
        let Some(member) = member else {
            setup.task = Task::Intake;
            setup.learned = self
                .learned
                .as_ref()
                .map(|learned| LearnedLimits { slug: learned.slug.clone(), ..LearnedLimits::default() });
            setup.is_free_in_calls = true;
            return Arc::new(setup);
        };
        let role = member.base;
        let grant = self.role_grants.get(&member.name).map(Vec::as_slice);
        let limit = authority::limit_of(member, &self.custom_roles, grant);
        self.limit(&mut setup, role, limit);
        if let Some(agents) = self.agents.get(&member.name) {
            setup.agents.clone_from(agents);
        }
        setup.role_budget = self.role_budgets.get(&member.name).copied().unwrap_or_default();
        setup.learned = self.learned_by(member);
        let has_calls = |learned: &LearnedLimits| {
            let is_overruled = learned.is_overruled || learned.is_overruled_for_calls;
            !is_overruled && learned.session.max_tool_calls.is_some()
        };
        // A session's own number takes the place of the default for a sub-task.
        if role != Role::Executor || setup.learned.as_ref().is_some_and(has_calls) {
            setup.is_free_in_calls = true;
        }
        let what_it_is = prompts::what_a_role_is(member, self.custom_roles.get(&member.name));
        setup.standing_orders =
            prompts::standing_orders(&setup.standing_orders, &setup.brief, &member.name, &what_it_is);
        let may_run = setup.checks.is_some();
        let request =
            prompts::request(member, state, &JudgeMaterial { is_blind: self.is_blind, checks: &self.checks, may_run });
        let subtask_id = state.subtask().filter(|_| role != Role::Planner).map(|subtask| subtask.task.id.clone());
        setup.task = Task::Piece(Piece {
            handoff: match role {
                Role::Planner => HandoffKind::Plan,
                Role::Executor => HandoffKind::Execution,
                Role::Reviewer | Role::Critic => HandoffKind::Review,
            },
            subtask_id,
            request,
            is_work: role == Role::Executor,
        });
        Arc::new(setup)
    }
}

impl CrewSetup {
    /// Returns the limits that a learned profile has for a session of a role. The brief's own limits of the role win,
    /// and its number of calls for a sub-task wins over the profile's number of calls.
    fn learned_by(&self, member: &Member) -> Option<LearnedLimits> {
        let learned = self.learned.as_ref()?;
        Some(LearnedLimits {
            slug: learned.slug.clone(),
            phase_calls: BTreeMap::new(),
            session: learned.roles.get(&member.name).copied().unwrap_or_default(),
            is_overruled: self.role_budgets.contains_key(&member.name),
            is_overruled_for_calls: self.limits_calls && member.base == Role::Executor,
        })
    }

    /// Returns the checks that a role may run; `None` for a role that doesn't judge, and if commands are switched off.
    fn checks_of(&self, role: Role, limit: &RoleLimit) -> Option<ChecksForJudge> {
        let may_run = role.is_judge() && !self.base.shell_disabled;
        ChecksForJudge::of(&self.checks, limit).filter(|_| may_run)
    }

    /// Puts a session under the limit of its role, and offers it what the role is offered.
    fn limit(&self, setup: &mut Setup, role: Role, limit: RoleLimit) {
        setup.checks = self.checks_of(role, &limit);
        setup.only_reads = role != Role::Executor;
        setup.role = Some(limit);
        setup.offer(&self.base.tools);
    }

    /// Returns the names of the tools that sessions of the crew are offered.
    #[must_use]
    pub fn offered(&self) -> BTreeSet<String> {
        let of = |member: &Member| {
            let grant = self.role_grants.get(&member.name).map(Vec::as_slice);
            let mut setup = self.base.clone();
            self.limit(&mut setup, member.base, authority::limit_of(member, &self.custom_roles, grant));
            setup.tools
        };
        let members = [self.player(Role::Planner), self.player(Role::Executor)];
        let tools =
            members.iter().chain(self.judges()).filter(|member| !self.plans_only || member.base == Role::Planner);
        tools.flat_map(|member| of(member).iter().map(|tool| tool.name.clone()).collect::<Vec<_>>()).collect()
    }
}
