//! What holds for a crew, from flags and brief together.

use std::collections::BTreeMap;

use adjutant_core::brief::{BUDGET_MAX_TOOL_CALLS_PER_SUBTASK, Brief};
use adjutant_core::budget::Budget;
use adjutant_core::role::Role;

use crate::failure::Failure;
use crate::settings::Typed;
use crate::sitting;

/// What holds for a crew.
#[derive(Debug, Default)]
pub struct CrewSettings {
    /// The roles; none for one agent alone.
    pub roles: Vec<Role>,
    /// Who plays a role of its own: adapter and model.
    pub adapters: BTreeMap<Role, (String, Option<String>)>,
    /// What single roles may use.
    pub role_budgets: BTreeMap<Role, Budget>,
    /// How often a sub-task is done again, where that is not the default.
    pub retries_max: Option<u64>,
    /// How many calls of tools a sub-task may take.
    pub tool_calls_max: u64,
    /// Whether the critic judges without the executor's account.
    pub is_blind: bool,
}

impl CrewSettings {
    /// What flags and brief say together.
    pub fn of(typed: &Typed, brief: Option<&Brief>) -> anyhow::Result<Self> {
        let budgets = brief.map(|brief| brief.budgets).unwrap_or_default();
        let roles = match &typed.roles {
            _ if typed.single => Vec::new(),
            Some(roles) => roles.clone(),
            None => brief.map(|brief| brief.roles.clone()).unwrap_or_default(),
        };
        let is_whole = [Role::Planner, Role::Executor].iter().all(|role| roles.contains(role));
        if !roles.is_empty() && !is_whole {
            return Err(Failure::usage("a crew needs a planner and an executor")
                .hint("add them to `--roles`, or pass `--single` for one agent alone")
                .into());
        }
        let mut adapters: BTreeMap<Role, (String, Option<String>)> = BTreeMap::new();
        for (role, adapter) in brief.into_iter().flat_map(|brief| &brief.role_adapters) {
            adapters.insert(*role, (adapter.adapter.clone(), adapter.model.clone()));
        }
        for (role, entry) in &typed.role_adapters {
            let (adapter, model) =
                entry.split_once(':').map_or((entry.as_str(), None), |(id, model)| (id, Some(model)));
            adapters.insert(*role, (adapter.to_owned(), model.map(str::to_owned)));
        }
        for (role, (id, _)) in &adapters {
            if sitting::adapter(id).is_none() {
                let known: Vec<&str> = adjutant_agents::adapters().iter().map(|adapter| adapter.id).collect();
                return Err(Failure::usage(format!("there is no adapter `{id}` in this version (for the {role})"))
                    .hint(format!("the adapters are: {}", known.join(", ")))
                    .into());
            }
        }
        Ok(Self {
            roles,
            adapters,
            role_budgets: brief
                .into_iter()
                .flat_map(|brief| &brief.role_budgets)
                .map(|(role, budgets)| {
                    let budget = Budget {
                        max_tokens: budgets.max_tokens,
                        max_minutes: budgets.max_wall_clock_minutes,
                        max_nano_dollars: budgets.max_dollars,
                        max_turns: budgets.max_turns,
                        max_tool_calls: None,
                    };
                    (*role, budget)
                })
                .collect(),
            retries_max: budgets.max_retries_per_subtask,
            tool_calls_max: budgets.max_tool_calls_per_subtask.unwrap_or(BUDGET_MAX_TOOL_CALLS_PER_SUBTASK),
            is_blind: typed.blind_critic,
        })
    }
}
