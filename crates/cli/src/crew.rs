//! What holds for a crew, from flags and brief together.

use std::collections::BTreeMap;
use std::path::Path;

use adjutant_core::brief::{self, Brief, Reading, RoleAdapter};
use adjutant_core::budget::Budget;
use adjutant_core::crew::{BadCrew, CustomRoles, Member, check_crew};
use adjutant_core::effort::Effort;
use adjutant_core::nearest::did_you_mean;
use adjutant_core::role::{Role, RoleName};
use adjutant_core::view::visible_text;
use adjutant_store::Home;
use adjutant_store::config::{self, Config};
use anyhow::Context;

use crate::command;
use crate::failure::Failure;
use crate::settings::Typed;
use crate::sitting;

/// What holds for a crew.
#[derive(Debug, Default)]
pub struct CrewSettings {
    /// The roles; none for one agent alone.
    pub roles: Vec<RoleName>,
    /// What was defined of them.
    pub custom: CustomRoles,
    /// Who plays a role of its own: adapter and model.
    pub adapters: BTreeMap<RoleName, (String, Option<String>)>,
    /// How hard single roles are asked to think.
    pub efforts: BTreeMap<RoleName, Effort>,
    /// What single roles may use.
    pub role_budgets: BTreeMap<RoleName, Budget>,
    /// How often a sub-task is done again, where that is not the default.
    pub retries_max: Option<u64>,
    /// How many calls of tools a sub-task may take, where the brief says it.
    pub tool_calls_max: Option<u64>,
    /// Whether the critic judges without the executor's account.
    pub is_blind: bool,
}

impl CrewSettings {
    /// Whether a role takes this place.
    #[must_use]
    pub fn has(&self, base: Role) -> bool {
        let members = self.roles.iter().filter_map(|name| Member::of(name, &self.custom));
        members.into_iter().any(|member| member.base == base)
    }

    /// What flags and brief say together.
    pub fn of(typed: &Typed, brief: Option<&Brief>, config: &Config) -> anyhow::Result<Self> {
        let mut custom = custom_roles(config);
        let budgets = brief.map(|brief| brief.budgets).unwrap_or_default();
        let roles = match &typed.roles {
            _ if typed.single => Vec::new(),
            Some(roles) => roles.clone(),
            None => brief.map(|brief| brief.roles.clone()).unwrap_or_default(),
        };
        check_roles(&roles, &typed.role_adapters, &custom)?;
        // Those of the brief too, if flags play others: the brief on record must stay readable.
        let of_brief = |name: &RoleName| brief.is_some_and(|brief| brief.roles.contains(name));
        custom.retain(|name, _| roles.contains(name) || of_brief(name));
        let mut adapters: BTreeMap<RoleName, (String, Option<String>)> = BTreeMap::new();
        for (role, definition) in &custom {
            if let Some(entry) = &definition.adapter {
                adapters.insert(role.clone(), divided(entry));
            }
        }
        for (role, adapter) in brief.into_iter().flat_map(|brief| &brief.role_adapters) {
            let RoleAdapter { adapter, model, .. } = adapter;
            adapters.insert(role.clone(), (adapter.clone(), model.clone()));
        }
        for (role, entry) in &typed.role_adapters {
            adapters.insert(role.clone(), divided(entry));
        }
        for (role, (id, _)) in &adapters {
            if sitting::adapter(id).is_none() {
                let known: Vec<&str> = adjutant_agents::adapters().iter().map(|adapter| adapter.id).collect();
                return Err(Failure::usage(format!("there is no adapter `{id}` in this version (for the {role})"))
                    .hint(format!("the adapters are: {}", known.join(", ")))
                    .into());
            }
        }
        let mut efforts: BTreeMap<RoleName, Effort> =
            custom.iter().filter_map(|(role, defined)| Some((role.clone(), defined.effort?))).collect();
        efforts.extend(brief.into_iter().flat_map(|brief| brief.role_effort.clone()));
        Ok(Self {
            roles,
            custom,
            adapters,
            efforts,
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
                    (role.clone(), budget)
                })
                .collect(),
            retries_max: budgets.max_retries_per_subtask,
            tool_calls_max: budgets.max_tool_calls_per_subtask,
            is_blind: typed.blind_critic,
        })
    }
}

/// Reads a brief. Where it names a role that not every crew knows, those that are configured are known too: in the
/// home, and in the folder to work in, which is `workdir`, else the brief's, else the current one.
///
/// # Errors
///
/// If the configuration can't be read.
pub fn read_brief(home: &Home, workdir: Option<&Path>, text: &str) -> anyhow::Result<Reading> {
    let reading = brief::read(text);
    let front = &reading.front_matter;
    if front.roles.iter().flatten().all(|id| Role::from_word(id).is_some()) {
        return Ok(reading);
    }
    let folder = workdir.or(front.workdir.as_deref().map(Path::new)).unwrap_or(Path::new(""));
    let folder = std::env::current_dir().context("can't tell the current folder")?.join(folder);
    let loaded = config::load(home, Some(&folder)).map_err(|error| command::config_failure(&error))?;
    let reading = brief::read_with(text, &custom_roles(&loaded.config));
    if !reading.is_valid() {
        for notice in loaded.notices.iter().filter(|notice| notice.wants_trust()) {
            tell!("warning: {}", visible_text(&notice.to_string()));
        }
    }
    Ok(reading)
}

/// The roles that a configuration defines.
pub fn custom_roles(config: &Config) -> CustomRoles {
    config.roles.iter().map(|(name, role)| (name.clone(), role.value.clone())).collect()
}

/// An entry `adapter` or `adapter:model`.
fn divided(entry: &str) -> (String, Option<String>) {
    match entry.split_once(':') {
        Some((adapter, model)) => (adapter.to_owned(), Some(model.to_owned())),
        None => (entry.to_owned(), None),
    }
}

/// Whether there are such roles, and a crew can be made of them.
fn check_roles(roles: &[RoleName], adapters: &[(RoleName, String)], custom: &CustomRoles) -> anyhow::Result<()> {
    let known: Vec<&str> = Role::WORDS.into_iter().chain(custom.keys().map(RoleName::as_str)).collect();
    for name in roles.iter().chain(adapters.iter().map(|(name, _)| name)) {
        if Member::of(name, custom).is_none() {
            let hint = did_you_mean(name.as_str(), &known).map(|guess| format!("; {guess}")).unwrap_or_default();
            return Err(Failure::usage(format!("there is no role `{name}`"))
                .hint(format!("a role is one of {}{hint}", known.join(", ")))
                .into());
        }
    }
    if roles.is_empty() {
        return Ok(());
    }
    let members: Vec<Member> = roles.iter().filter_map(|name| Member::of(name, custom)).collect();
    match check_crew(&members) {
        Ok(()) => Ok(()),
        Err(BadCrew::Lacks(_)) => Err(Failure::usage("a crew needs a planner and an executor")
            .hint("add them to `--roles`, or pass `--single` for one agent alone")
            .into()),
        Err(two @ BadCrew::Two { .. }) => Err(Failure::usage(two.to_string()).hint("leave one of them out").into()),
    }
}
