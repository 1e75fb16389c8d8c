//! The settings of a crew, from flags and brief together.

use std::collections::BTreeMap;
use std::path::Path;

use adjutant_core::brief::{self, Brief, Reading, RoleAdapter};
use adjutant_core::gate::custom_role::{BadCrew, CustomRoles, Member, check_crew};
use adjutant_core::words::Budget;
use adjutant_core::words::effort::Effort;
use adjutant_core::words::nearest::did_you_mean;
use adjutant_core::words::role::{Role, RoleName};
use adjutant_core::words::visible::visible_text;
use adjutant_store::Home;
use adjutant_store::config::{self, Config, ConfigError};
use thiserror::Error;

use super::agents::adapter_named;
use super::remark::Remark;
use super::settings::Overrides;

/// The settings of a crew.
#[derive(Debug, Default)]
pub struct CrewSettings {
    /// The roles; none for one agent alone.
    pub roles: Vec<RoleName>,
    /// The definitions of those that are the operator's own.
    pub custom: CustomRoles,
    /// The adapters of single roles, each with its model.
    pub adapters: BTreeMap<RoleName, (String, Option<String>)>,
    /// The effort that single roles are asked for.
    pub efforts: BTreeMap<RoleName, Effort>,
    /// The limits of single roles.
    pub role_budgets: BTreeMap<RoleName, Budget>,
    /// The number of times a sub-task is done again, where that is not the default.
    pub retries_max: Option<u64>,
    /// The most tool calls of a sub-task, where the brief says it.
    pub tool_calls_max: Option<u64>,
    /// True if the critic judges without the executor's account.
    pub is_blind: bool,
}

/// A reason why no crew can be made of the roles that are named.
#[derive(Debug, Error)]
pub enum CrewError {
    /// An adapter that plays a role is not there.
    #[error("there is no adapter `{adapter}` in this version (for the {role})")]
    UnknownAdapter {
        /// The adapter.
        adapter: String,
        /// The role.
        role: RoleName,
    },
    /// A role is not there.
    #[error("there is no role `{name}`")]
    UnknownRole {
        /// The role.
        name: RoleName,
        /// Those that are.
        known: Vec<String>,
    },
    /// A crew needs more.
    #[error("a crew needs a planner and an executor")]
    Lacks,
    /// Two have one place.
    #[error("{0}")]
    Two(BadCrew),
}

impl CrewError {
    /// Returns the hint for the operator.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownAdapter { .. } => {
                let known: Vec<&str> = adjutant_agents::adapters().iter().map(|adapter| adapter.id).collect();
                format!("the adapters are: {}", known.join(", "))
            }
            Self::UnknownRole { name, known } => {
                let words: Vec<&str> = known.iter().map(String::as_str).collect();
                let guess = did_you_mean(name.as_str(), &words).map(|guess| format!("; {guess}")).unwrap_or_default();
                format!("a role is one of {}{guess}", known.join(", "))
            }
            Self::Lacks => "add them to `--roles`, or pass `--single` for one agent alone".to_owned(),
            Self::Two(_) => "leave one of them out".to_owned(),
        }
    }
}

impl CrewSettings {
    /// True if a role takes this place.
    #[must_use]
    pub fn has(&self, base: Role) -> bool {
        let members = self.roles.iter().filter_map(|name| Member::of(name, &self.custom));
        members.into_iter().any(|member| member.base == base)
    }

    /// Combines flags and brief.
    pub(super) fn of(typed: &Overrides, brief: Option<&Brief>, config: &Config) -> Result<Self, CrewError> {
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
        if let Some((role, (adapter, _))) = adapters.iter().find(|(_, (id, _))| adapter_named(id).is_none()) {
            return Err(CrewError::UnknownAdapter { adapter: adapter.clone(), role: role.clone() });
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
/// home, and in the folder to work in, which is `workdir`, else the brief's, else `current`.
///
/// # Errors
///
/// If the configuration can't be read.
pub fn read_brief(
    home: &Home,
    current: &Path,
    workdir: Option<&Path>,
    text: &str,
    tell: &dyn Fn(Remark),
) -> Result<Reading, ConfigError> {
    let reading = brief::read(text);
    let front = &reading.front_matter;
    if front.roles.iter().flatten().all(|id| Role::from_word(id).is_some()) {
        return Ok(reading);
    }
    let folder = workdir.or(front.workdir.as_deref().map(Path::new)).unwrap_or(Path::new(""));
    let loaded = config::load(home, Some(&current.join(folder)))?;
    let reading = brief::read_with(text, &custom_roles(&loaded.config));
    if !reading.is_valid() {
        for notice in loaded.notices.iter().filter(|notice| notice.wants_trust()) {
            tell(Remark::warning(visible_text(&notice.to_string())));
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

/// Checks that there are such roles, and that a crew can be made of them.
fn check_roles(roles: &[RoleName], adapters: &[(RoleName, String)], custom: &CustomRoles) -> Result<(), CrewError> {
    let mut named = roles.iter().chain(adapters.iter().map(|(name, _)| name));
    if let Some(name) = named.find(|name| Member::of(name, custom).is_none()) {
        let known = Role::WORDS.into_iter().chain(custom.keys().map(RoleName::as_str)).map(str::to_owned).collect();
        return Err(CrewError::UnknownRole { name: name.clone(), known });
    }
    if roles.is_empty() {
        return Ok(());
    }
    let members: Vec<Member> = roles.iter().filter_map(|name| Member::of(name, custom)).collect();
    check_crew(&members).map_err(|bad| match bad {
        BadCrew::Lacks(_) => CrewError::Lacks,
        two @ BadCrew::Two { .. } => CrewError::Two(two),
    })
}
