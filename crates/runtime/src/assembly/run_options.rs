//! The part of a run's settings that is put on record: its options, so that a resume has the same.

use std::collections::BTreeMap;
use std::path::Path;

use adjutant_core::brief::{BUDGET_MAX_TOKENS, BUDGET_MAX_TOOL_CALLS_PER_SUBTASK, BUDGET_MAX_WALL_CLOCK_MINUTES};
use adjutant_core::gate::AfterUntrusted;
use adjutant_core::gate::custom_role::Member;
use adjutant_core::trace::{AgentOptions, CrewOptions, LoopOptions, RunOptions, WorkOptions};
use adjutant_core::words::Budget;
use adjutant_core::words::effort::Effort;
use adjutant_core::words::role::{Role, RoleName};
use adjutant_store::config::AdapterConfig;

use super::agents::{AgentError, adapter_named};
use super::equipment::{known_model, output_tokens_max, prices};
use super::settings::{LearnedSetting, RunSettings};
use super::sourced::{Sourced, configured, first};

impl RunSettings {
    /// Makes the options that are put on record, so that a resume has the same.
    ///
    /// # Errors
    ///
    /// [`AgentError::NotChosen`] if nothing says who takes the turns.
    pub fn options(&self) -> Result<RunOptions, AgentError> {
        let path = |path: &Path| path.display().to_string();
        let value = |set: &Option<Sourced<u64>>| set.as_ref().map(|set| set.value);
        let model = self.model.as_ref().map(|model| model.value.clone());
        let base_url = self.base_url.as_ref().map(|url| url.value.clone());
        let own = self.own_agent(model, base_url)?;
        let is_crew = self.looped.is_none() && !self.crew.roles.is_empty();
        Ok(RunOptions {
            mode: self.mode.as_ref().map(|mode| mode.value),
            workdir: path(&self.workdir.value),
            copied_from: None,
            home: self.home.clone(),
            runtime_home: self.runtime_home.clone(),
            no_shell: self.no_shell.value,
            max_steps: self.max_steps.value,
            agent: own.clone(),
            fallback: self
                .fallback
                .iter()
                .flat_map(|fallback| &fallback.value)
                .map(|entry| self.entry(entry))
                .collect(),
            budget: Budget {
                // A crew that nobody limited has the peer's limits.
                max_tokens: value(&self.max_tokens).or(is_crew.then_some(BUDGET_MAX_TOKENS)),
                max_minutes: value(&self.max_minutes).or(is_crew.then_some(BUDGET_MAX_WALL_CLOCK_MINUTES)),
                max_nano_dollars: value(&self.max_nano_dollars),
                max_turns: value(&self.max_turns),
                // Alone, the whole brief is one sub-task; there is no default for it.
                max_tool_calls: self.crew.tool_calls_max.or(is_crew.then_some(BUDGET_MAX_TOOL_CALLS_PER_SUBTASK)),
            },
            answer_within_ms: self.answer_within_ms,
            patience_ms: value(&self.patience_minutes).map(|minutes| minutes.saturating_mul(60_000)),
            // Whoever begins the run knows.
            unattended: false,
            work: self.work(&own),
            script: self.script.as_ref().map(|script| path(&script.value)),
            after_untrusted: Some(self.after_untrusted.value).filter(|after| *after != AfterUntrusted::default()),
            untrusted_tools: self.untrusted_tools.as_ref().map(|tools| tools.value.clone()).unwrap_or_default(),
            plain_results: self.plain_results.value,
            result_bytes_max: Some(self.result_bytes_max.value),
            hooks: self.hooks.iter().map(|hook| hook.value.clone()).collect(),
            programs: self.programs.iter().map(|program| program.value.clone()).collect(),
            shell_allow: self.shell_allow.iter().map(|rule| rule.value.clone()).collect(),
            shell_deny: self.shell_deny.iter().map(|rule| rule.value.clone()).collect(),
            deny_read: self.deny_read.iter().map(|entry| entry.value.clone()).collect(),
            learned: match &self.learned {
                LearnedSetting::Taken(taken) => Some(taken.options.clone()),
                LearnedSetting::NotAsked | LearnedSetting::Missing(_) => None,
            },
            detectors: self.detectors.iter().map(|(name, value)| (name.clone(), value.value.clone())).collect(),
        })
    }

    /// Returns the run's own agent: of the adapter that was chosen, else the planner's. A crew that names an adapter for
    /// each role needs no other to restate its brief.
    fn own_agent(&self, model: Option<String>, base_url: Option<String>) -> Result<AgentOptions, AgentError> {
        if let Some(adapter) = &self.adapter {
            return Ok(self.agent_options(&adapter.value, model, base_url));
        }
        let plans =
            |role: &RoleName| Member::of(role, &self.crew.custom).is_some_and(|member| member.base == Role::Planner);
        let planner = self.crew.adapters.iter().find(|(role, _)| plans(role));
        let (_, (adapter, planners)) = planner.ok_or(AgentError::NotChosen)?;
        Ok(self.agent_options(adapter, model.or_else(|| planners.clone()), base_url))
    }

    /// Returns the work of the run; `own` plays the roles that have no agent of their own.
    fn work(&self, own: &AgentOptions) -> WorkOptions {
        let crew = &self.crew;
        if let Some(looped) = &self.looped {
            let voters = looped.voters.iter().map(|voter| self.entry(voter)).collect();
            let options = Box::new(LoopOptions { voters, ..looped.options.clone() });
            return WorkOptions::Loop { options, defined: crew.custom.clone() };
        }
        if crew.roles.is_empty() {
            return WorkOptions::Session { defined: crew.custom.clone() };
        }
        let budgets = crew.role_budgets.iter().filter(|(role, _)| crew.roles.contains(role));
        WorkOptions::Crew(CrewOptions {
            roles: crew.roles.clone(),
            custom_roles: crew.custom.clone(),
            role_agents: self.role_agents(own),
            role_budgets: budgets.map(|(role, budget)| (role.clone(), *budget)).collect(),
            retries_max: crew.retries_max,
            blind_critic: crew.is_blind && crew.has(Role::Critic),
            plans_only: false,
        })
    }

    /// The limits of the learned profile that are in force: what is limited, and to what.
    #[must_use]
    pub fn learned_limits(&self) -> Vec<(String, String)> {
        let LearnedSetting::Taken(taken) = &self.learned else { return Vec::new() };
        let is_crew = !self.crew.roles.is_empty();
        let is_overruled = self.crew.tool_calls_max.is_some();
        let phases = taken.options.phase_calls.iter().filter(|_| !is_crew && !is_overruled);
        let phases =
            phases.map(|(phase, calls)| (format!("phase {}", phase.as_str()), format!("at most {calls} tool calls")));
        let roles = taken.options.roles.iter().filter_map(|(role, budget)| Some((role, self.taken_of(role, *budget)?)));
        let roles = roles.map(|(role, budget)| {
            let calls = budget.max_tool_calls.map(|calls| format!("{calls} tool calls"));
            let tokens = budget.max_tokens.map(|tokens| format!("{tokens} tokens"));
            let limits: Vec<String> = calls.into_iter().chain(tokens).collect();
            (format!("a session of the {role}"), format!("at most {}", limits.join(", ")))
        });
        phases.chain(roles).collect()
    }

    /// Returns the part of the learned profile's budget for `role` that applies to its sessions: the brief's own limits
    /// win. `None` if no part applies.
    fn taken_of(&self, role: &RoleName, learned: Budget) -> Option<Budget> {
        let member = Member::of(role, &self.crew.custom).filter(|_| self.crew.roles.contains(role))?;
        if self.crew.role_budgets.contains_key(role) {
            return None;
        }
        let limits_calls = member.base == Role::Executor && self.crew.tool_calls_max.is_some();
        let max_tool_calls = learned.max_tool_calls.filter(|_| !limits_calls);
        Some(Budget { max_tool_calls, ..learned }).filter(|budget| *budget != Budget::default())
    }

    /// Returns the agents of single roles: those with an adapter or an effort of their own. `own` plays the others.
    fn role_agents(&self, own: &AgentOptions) -> BTreeMap<RoleName, AgentOptions> {
        let mut agents = BTreeMap::new();
        for role in &self.crew.roles {
            let (adapter, effort) = (self.crew.adapters.get(role), self.crew.efforts.get(role).copied());
            if adapter.is_some() || effort.is_some() {
                let played = adapter.map(|(adapter, model)| self.agent_options(adapter, model.clone(), None));
                let played = played.unwrap_or_else(|| own.clone());
                agents.insert(role.clone(), AgentOptions { effort: effort.or(played.effort), ..played });
            }
        }
        agents
    }

    /// Returns the effort that the model of an adapter is asked for.
    #[must_use]
    pub fn effort_of(&self, config: &AdapterConfig) -> Option<Sourced<Effort>> {
        let of_run = self.effort.clone();
        of_run.or_else(|| first([configured(config.effort.as_ref()), configured(self.effort_configured.as_ref())]))
    }

    /// The most tokens that the model of an adapter may think for.
    #[must_use]
    pub fn thinking_tokens_of(&self, config: &AdapterConfig) -> Option<Sourced<u32>> {
        let (own, all) = (config.thinking_tokens.as_ref(), self.thinking_tokens_configured.as_ref());
        self.thinking_tokens.clone().or_else(|| first([configured(own), configured(all)]))
    }

    /// An entry of the fallback list: `adapter` or `adapter:model`.
    fn entry(&self, entry: &str) -> AgentOptions {
        match entry.split_once(':') {
            Some((adapter, model)) => self.agent_options(adapter, Some(model.to_owned()), None),
            None => self.agent_options(entry, None, None),
        }
    }

    /// Makes the options of an agent: what was named for it, else what is configured for its adapter.
    fn agent_options(&self, named: &str, model: Option<String>, base_url: Option<String>) -> AgentOptions {
        let adapter = adapter_named(named);
        let none = AdapterConfig::default();
        let config = adapter.as_ref().and_then(|adapter| self.adapters.get(adapter.id));
        let config = config.map_or(&none, |setting| &setting.value);
        let base_url = base_url
            .or_else(|| {
                adapter
                    .as_ref()
                    .and_then(|adapter| adapter.base_url_variable)
                    .and_then(|name| self.environment.variable(name))
            })
            .or_else(|| config.base_url.as_ref().map(|set| set.value.clone()));
        let own = adapter.as_ref().and_then(|adapter| adapter.base_url);
        // The default too: a later version may have another, and a resume goes on with the same model.
        let model = model
            .or_else(|| config.model.as_ref().map(|set| set.value.clone()))
            .or_else(|| adapter.as_ref().and_then(|adapter| adapter.model).map(str::to_owned));
        let known = adapter.as_ref().and_then(|adapter| known_model(adapter, model.as_deref()));
        let (prices, prices_listed) = prices(config, known.as_ref());
        AgentOptions {
            adapter: named.to_owned(),
            model,
            base_url: base_url.filter(|url| Some(url.as_str()) != own),
            window: config.window.as_ref().map(|set| set.value).or(known.and_then(|known| known.window)),
            output_tokens_max: config
                .output_tokens_max
                .as_ref()
                .map(|set| set.value)
                .or_else(|| output_tokens_max(known.as_ref())),
            effort: self.effort_of(config).map(|effort| effort.value),
            thinking_tokens: self.thinking_tokens_of(config).map(|tokens| tokens.value),
            prices: Some(prices).filter(|prices| !prices.is_empty()),
            prices_listed: prices_listed.map(str::to_owned),
        }
    }
}
