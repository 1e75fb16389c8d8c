//! Where things are and what holds, from flags, environment, brief and configuration together.
//!
//! First wins: flags, environment, brief, the learned profile that it names, the project's configuration (if its content is trusted), the
//! home's configuration, defaults. Each value remembers where it came from, for `doctor`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use adjutant_agents::Adapter;
use adjutant_core::brief::{
    BUDGET_MAX_TOKENS, BUDGET_MAX_TOOL_CALLS_PER_SUBTASK, BUDGET_MAX_WALL_CLOCK_MINUTES, Brief,
};
use adjutant_core::budget::Budget;
use adjutant_core::crew::Member;
use adjutant_core::effort::Effort;
use adjutant_core::gate::shell::ProgramEntry;
use adjutant_core::gate::{AfterUntrusted, GuardHook};
use adjutant_core::id::Slug;
use adjutant_core::learn::applying::{self, Taken};
use adjutant_core::nearest::did_you_mean;
use adjutant_core::price;
use adjutant_core::role::{Role, RoleName};
use adjutant_core::session::transcript::RESULT_BYTES_MAX_DEFAULT;
use adjutant_core::session::{MAX_STEPS_DEFAULT, Mode};
use adjutant_core::trace::{AgentOptions, RunOptions};
use adjutant_host::http::Proxies;
use adjutant_store::Home;
use adjutant_store::config::{self, AdapterConfig, Config, Notice, SandboxConfig};
use adjutant_store::keys::{self, Keys};
use adjutant_store::profiles;
use anyhow::Context;
use jiff::Timestamp;

use crate::command;
use crate::crew::CrewSettings;
use crate::equipment::{known_model, output_tokens_max, prices};
use crate::exit::Ending;
use crate::failure::Failure;
use crate::sitting;

/// The adapter that is taken where nobody names one: it needs no model and no key.
pub const ADAPTER_DEFAULT: &str = "scripted";

/// Where everything is kept.
#[derive(Debug, clap::Args)]
pub struct Place {
    /// The folder of journals, configuration and artifacts [default: ~/.adjutant]
    #[arg(long, global = true, env = "ADJUTANT_HOME", hide_env_values = true, value_name = "DIR", display_order = 900)]
    home: Option<PathBuf>,
    /// The folder of journals alone [default: sessions in the home]
    #[arg(
        long,
        global = true,
        env = "ADJUTANT_SESSIONS_DIR",
        hide_env_values = true,
        value_name = "DIR",
        display_order = 901
    )]
    sessions_dir: Option<PathBuf>,
}

impl Place {
    /// The home.
    ///
    /// # Errors
    ///
    /// If none was given and the environment has no `HOME`.
    pub fn home(&self) -> anyhow::Result<Home> {
        let root = match &self.home {
            Some(home) => home.clone(),
            None => std::env::home_dir()
                .filter(|home| !home.as_os_str().is_empty())
                .map(|home| home.join(".adjutant"))
                .ok_or_else(|| {
                    Failure::usage("there is no home folder to keep journals in")
                        .hint("set ADJUTANT_HOME, or pass --home")
                })?,
        };
        Ok(Home::new(root, self.sessions_dir.clone()))
    }
}

/// What was typed for a run, before anything else is known.
#[derive(Debug, Default, Clone)]
pub struct Typed {
    pub mode: Option<Mode>,
    pub workdir: Option<PathBuf>,
    pub no_shell: bool,
    pub max_steps: Option<u32>,
    pub adapter: Option<String>,
    pub model: Option<String>,
    pub script: Option<PathBuf>,
    pub base_url: Option<String>,
    pub fallback: Option<Vec<String>>,
    pub max_tokens: Option<u64>,
    pub max_minutes: Option<u64>,
    pub max_nano_dollars: Option<u64>,
    pub max_turns: Option<u64>,
    pub patience_minutes: Option<u64>,
    pub effort: Option<Effort>,
    pub thinking_tokens: Option<u32>,
    pub roles: Option<Vec<RoleName>>,
    pub single: bool,
    pub role_adapters: Vec<(RoleName, String)>,
    pub blind_critic: bool,
    pub answer_within: Option<u64>,
}

/// A value and where it came from.
#[derive(Debug, Clone)]
pub struct Sourced<T> {
    pub value: T,
    pub from: String,
}

/// What holds for a run.
#[derive(Debug)]
pub struct Settings {
    pub mode: Option<Sourced<Mode>>,
    pub workdir: Sourced<PathBuf>,
    /// The operator's home folder; empty if it is not known.
    pub home: String,
    /// Our own home.
    pub runtime_home: String,
    pub no_shell: Sourced<bool>,
    pub max_steps: Sourced<u32>,
    pub adapter: Sourced<String>,
    pub model: Option<Sourced<String>>,
    pub script: Option<Sourced<PathBuf>>,
    pub detectors: BTreeMap<String, Sourced<String>>,
    /// The learned profile that the brief names.
    pub learned: Learned,
    /// Where the API of the adapter is, if it was said for this run alone.
    pub base_url: Option<Sourced<String>>,
    /// What takes the turns when the adapter can't: adapters, each with or without `:model`.
    pub fallback: Option<Sourced<Vec<String>>>,
    pub max_tokens: Option<Sourced<u64>>,
    pub max_minutes: Option<Sourced<u64>>,
    pub max_nano_dollars: Option<Sourced<u64>>,
    pub max_turns: Option<Sourced<u64>>,
    /// How many minutes a provider that fails is waited for, if it was said.
    pub patience_minutes: Option<Sourced<u64>>,
    /// How hard models are asked to think, if it was said for the run.
    pub effort: Option<Sourced<Effort>>,
    /// The most tokens that a model may think for, if it was said for the run.
    pub thinking_tokens: Option<Sourced<u32>>,
    /// The same as far as it is configured for all adapters: what is configured for one goes before it.
    pub effort_configured: Option<config::Setting<Effort>>,
    pub thinking_tokens_configured: Option<config::Setting<u32>>,
    /// How long a question waits for its answer.
    pub answer_within_ms: Option<u64>,
    /// The crew, if it is one.
    pub crew: CrewSettings,
    pub after_untrusted: Sourced<AfterUntrusted>,
    pub untrusted_tools: Option<Sourced<Vec<String>>>,
    pub plain_results: Sourced<bool>,
    /// How many bytes of a tool's result are sent to an agent.
    pub result_bytes_max: Sourced<u64>,
    pub hooks: Vec<config::Setting<GuardHook>>,
    pub programs: Vec<config::Setting<ProgramEntry>>,
    /// Rules about single commands that allow what isn't known: the home's, then the project's.
    pub shell_allow: Vec<config::Setting<String>>,
    /// Rules about single commands that deny: the home's, then the project's.
    pub shell_deny: Vec<config::Setting<String>>,
    /// Paths that no agent may read: the home's, then the project's.
    pub deny_read: Vec<config::Setting<String>>,
    /// What is configured for single adapters.
    pub adapters: BTreeMap<String, config::Setting<AdapterConfig>>,
    /// What is configured for the sandbox of commands.
    pub sandbox: SandboxConfig,
    pub notices: Vec<Notice>,
}

/// The learned profile that a brief names.
#[derive(Debug)]
pub enum Learned {
    /// It names none.
    NotAsked,
    /// The project has none.
    Missing(Slug),
    /// What a run takes from it.
    Taken(Box<Taken>),
}

impl Learned {
    /// How it is named where something comes from it.
    #[must_use]
    pub fn source(&self) -> Option<String> {
        match self {
            Self::NotAsked | Self::Missing(_) => None,
            Self::Taken(taken) => Some(format!("learned profile {}", taken.options.slug)),
        }
    }
}

/// The first of several values that is there, with where it came from.
pub fn first<T>(candidates: impl IntoIterator<Item = Option<(T, String)>>) -> Option<Sourced<T>> {
    candidates.into_iter().flatten().next().map(|(value, from)| Sourced { value, from })
}

pub fn set<T>(value: Option<T>, from: &str) -> Option<(T, String)> {
    value.map(|value| (value, from.to_owned()))
}

pub fn configured<T: Clone>(setting: Option<&config::Setting<T>>) -> Option<(T, String)> {
    setting.map(|setting| (setting.value.clone(), setting.from.to_string()))
}

/// A variable of the environment without the white space that copying brings along; none if nothing is left.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// The key of an adapter, and where it came from. There is no `Debug`, so that it can't be shown by accident.
pub struct ApiKey {
    pub secret: String,
    /// Such as `ANTHROPIC_API_KEY` or `the key file ~/.adjutant/keys.toml`.
    pub source: String,
}

/// The keys of the key file in the home.
///
/// # Errors
///
/// If the file can't be read, or others could read or write it.
pub fn keys(home: &Home) -> anyhow::Result<Keys> {
    keys::load(home).map_err(|error| Failure::of(Ending::Usage, &error, error.hint()).into())
}

/// The key that signs what is sent to a webhook, by its name in the key file.
pub const NOTIFY_KEY: &str = "notify";

/// What to say about keys in the key file that no adapter uses.
pub fn strangers(keys: &Keys) -> Vec<String> {
    let adapters = adjutant_agents::adapters();
    let takers = adapters.iter().filter(|adapter| !adapter.key_variables.is_empty()).map(|adapter| adapter.id);
    let known: Vec<&str> = takers.chain([NOTIFY_KEY]).collect();
    keys.strangers(&known)
}

/// The key of an adapter: from the first of its variables that is set, else from the key file.
pub fn key_of(adapter: &Adapter, home: &Home, keys: &Keys) -> Option<ApiKey> {
    let from_variable = adapter.key_variables.iter().find_map(|name| {
        let secret = variable(name)?;
        Some(ApiKey { secret, source: (*name).to_owned() })
    });
    from_variable.or_else(|| {
        let secret = keys.get(adapter.id)?.to_owned();
        Some(ApiKey { secret, source: format!("the key file {}", sitting::shown(&home.keys()).display()) })
    })
}

/// The proxies that the environment names, for the APIs of models.
///
/// # Errors
///
/// If one of them can't be used.
pub fn proxies() -> anyhow::Result<Proxies> {
    Proxies::from_variables(variable)
        .map_err(|error| Failure::usage(error.to_string()).hint("mend or unset the variable").into())
}

/// Reads a variable of the environment as something; what can't be read is the operator's to mend.
fn parsed<T>(name: &str, read: impl Fn(&str) -> Option<T>, expected: &str) -> anyhow::Result<Option<(T, String)>> {
    let Some(text) = variable(name) else { return Ok(None) };
    match read(&text) {
        Some(value) => Ok(Some((value, name.to_owned()))),
        None => Err(Failure::usage(format!("`{name}` must be {expected}, not `{text}`")).into()),
    }
}

/// What a run that begins now takes from the learned profile of a project.
fn learned(home: &Home, slug: &Slug) -> anyhow::Result<Learned> {
    let read = profiles::read(home, slug).map_err(|error| {
        let hint = format!(
            "`adjutant learn {slug}` says what runs teach, `--reset` removes what is there and `--apply` makes it anew; \
             or take `learned_profile` out of the brief"
        );
        Failure::of(Ending::Usage, &error, Some(hint))
    })?;
    Ok(match read {
        None => Learned::Missing(slug.clone()),
        Some(profile) => Learned::Taken(Box::new(applying::take(&profile, slug.as_str(), Timestamp::now()))),
    })
}

/// Reads a mode's name.
pub fn mode(text: &str) -> Option<Mode> {
    match text {
        "gated" => Some(Mode::Gated),
        "auto" => Some(Mode::Auto),
        _ => None,
    }
}

/// Combines everything. `brief` comes with the folder that paths in it are relative to.
///
/// # Errors
///
/// If a configuration or a variable can't be read, or there is no working folder.
pub fn resolve(home: &Home, typed: &Typed, brief: Option<(&Brief, &Path)>) -> anyhow::Result<Settings> {
    let current = std::env::current_dir().context("can't tell the current folder")?;
    let of_brief = brief.map(|(brief, _)| brief);
    let workdir = first([
        set(typed.workdir.clone(), "--workdir"),
        set(of_brief.and_then(|brief| brief.workdir.as_ref().map(PathBuf::from)), "the brief"),
        Some((current.clone(), "the current folder".to_owned())),
    ])
    .expect("the last candidate is there");
    let workdir = Sourced { value: current.join(workdir.value), from: workdir.from };
    let loaded = config::load(home, Some(&workdir.value)).map_err(|error| command::config_failure(&error))?;
    let config: &Config = &loaded.config;

    let script = first([
        set(typed.script.as_ref().map(|script| current.join(script)), "--script"),
        set(
            brief.and_then(|(brief, folder)| brief.script.as_ref().map(|script| current.join(folder).join(script))),
            "the brief",
        ),
    ]);
    let mut detectors: BTreeMap<String, Sourced<String>> = BTreeMap::new();
    for (name, setting) in &config.detectors {
        let value = Sourced { value: setting.value.to_string(), from: setting.from.to_string() };
        detectors.insert(name.name().to_owned(), value);
    }
    let learned = match of_brief.and_then(|brief| brief.learned_profile.as_ref()) {
        Some(slug) => learned(home, slug)?,
        None => Learned::NotAsked,
    };
    if let (Learned::Taken(taken), Some(from)) = (&learned, learned.source()) {
        for (detector, sensitivity) in &taken.detectors {
            let value = Sourced { value: sensitivity.to_string(), from: from.clone() };
            detectors.insert(detector.name().to_owned(), value);
        }
    }
    for (detector, sensitivity) in of_brief.into_iter().flat_map(|brief| brief.detectors.set()) {
        let value = Sourced { value: sensitivity.to_string(), from: "the brief".to_owned() };
        detectors.insert(detector.name().to_owned(), value);
    }
    let whole = |text: &str| text.parse().ok().filter(|number: &u64| *number > 0);
    let budgets = of_brief.map(|brief| brief.budgets).unwrap_or_default();
    let fallback = first([
        set(typed.fallback.clone(), "--fallback"),
        parsed("ADJUTANT_FALLBACK", |text| Some(listed(text)), "a list of adapters")?,
        set(of_brief.map(|brief| brief.fallback.clone()).filter(|list| !list.is_empty()), "the brief"),
        configured(config.fallback.as_ref()),
    ]);
    let adapter = first([
        set(typed.adapter.clone(), "--adapter"),
        set(variable("ADJUTANT_ADAPTER"), "ADJUTANT_ADAPTER"),
        set(of_brief.and_then(|brief| brief.adapter.clone()), "the brief"),
        configured(config.adapter.as_ref()),
        Some((ADAPTER_DEFAULT.to_owned(), "the default".to_owned())),
    ])
    .expect("the last candidate is there");
    let of_adapter = sitting::adapter(&adapter.value).and_then(|adapter| config.adapters.get(adapter.id));
    known_adapters(config, fallback.as_ref())?;
    Ok(Settings {
        answer_within_ms: typed.answer_within.map(|minutes| minutes.saturating_mul(60_000)),
        crew: CrewSettings::of(typed, of_brief, config)?,
        mode: first([
            set(typed.mode, "--mode"),
            parsed("ADJUTANT_MODE", mode, "`gated` or `auto`")?,
            set(of_brief.and_then(|brief| brief.mode), "the brief"),
            configured(config.mode.as_ref()),
        ]),
        no_shell: first([
            typed.no_shell.then(|| (true, "--no-shell".to_owned())),
            configured(config.no_shell.as_ref()),
            Some((false, "the default".to_owned())),
        ])
        .expect("the last candidate is there"),
        max_steps: first([
            set(typed.max_steps, "--max-steps"),
            parsed("ADJUTANT_MAX_STEPS", |text| text.parse().ok().filter(|steps| *steps > 0), "a number from 1")?,
            set(of_brief.and_then(|brief| brief.max_steps), "the brief"),
            configured(config.max_steps.as_ref()),
            Some((MAX_STEPS_DEFAULT, "the default".to_owned())),
        ])
        .expect("the last candidate is there"),
        model: first([
            set(typed.model.clone(), "--model"),
            set(variable("ADJUTANT_MODEL"), "ADJUTANT_MODEL"),
            set(of_brief.and_then(|brief| brief.model.clone()), "the brief"),
            configured(config.model.as_ref()),
            configured(of_adapter.and_then(|of_adapter| of_adapter.value.model.as_ref())),
        ]),
        adapter,
        script,
        workdir,
        home: variable("HOME").unwrap_or_default(),
        runtime_home: current.join(home.root()).display().to_string(),
        detectors,
        base_url: first([set(typed.base_url.clone(), "--base-url")]),
        fallback,
        max_tokens: first([
            set(typed.max_tokens, "--max-tokens"),
            parsed("ADJUTANT_MAX_TOKENS", whole, "a number from 1")?,
            set(budgets.max_tokens, "the brief"),
            configured(config.max_tokens.as_ref()),
        ]),
        patience_minutes: first([
            set(typed.patience_minutes, "--patience"),
            parsed("ADJUTANT_PATIENCE", |text| text.parse().ok(), "a number of minutes")?,
            set(of_brief.and_then(|brief| brief.patience_minutes), "the brief"),
            configured(config.patience_minutes.as_ref()),
        ]),
        effort: first([
            set(typed.effort, "--effort"),
            parsed("ADJUTANT_EFFORT", |text| text.parse().ok(), "`low`, `medium`, `high` or `max`")?,
            set(of_brief.and_then(|brief| brief.effort), "the brief"),
        ]),
        thinking_tokens: first([
            set(typed.thinking_tokens, "--thinking-tokens"),
            parsed(
                "ADJUTANT_THINKING_TOKENS",
                |text| text.parse().ok().filter(|tokens| *tokens > 0),
                "a number from 1",
            )?,
            set(of_brief.and_then(|brief| brief.thinking_tokens), "the brief"),
        ]),
        effort_configured: config.effort.clone(),
        thinking_tokens_configured: config.thinking_tokens.clone(),
        max_minutes: first([
            set(typed.max_minutes, "--max-minutes"),
            parsed("ADJUTANT_MAX_MINUTES", whole, "a number from 1")?,
            set(budgets.max_wall_clock_minutes, "the brief"),
            configured(config.max_minutes.as_ref()),
        ]),
        max_nano_dollars: first([
            set(typed.max_nano_dollars, "--max-dollars"),
            parsed("ADJUTANT_MAX_DOLLARS", price::sum, "dollars such as 2.50")?,
            set(budgets.max_dollars, "the brief"),
            configured(config.max_nano_dollars.as_ref()),
        ]),
        max_turns: first([
            set(typed.max_turns, "--max-turns"),
            parsed("ADJUTANT_MAX_TURNS", whole, "a number from 1")?,
            set(budgets.max_turns, "the brief"),
            configured(config.max_turns.as_ref()),
        ]),
        after_untrusted: first([
            configured(config.after_untrusted.as_ref()),
            Some((AfterUntrusted::default(), "the default".to_owned())),
        ])
        .expect("the last candidate is there"),
        untrusted_tools: first([configured(config.untrusted_tools.as_ref())]),
        plain_results: first([configured(config.plain_results.as_ref()), Some((false, "the default".to_owned()))])
            .expect("the last candidate is there"),
        result_bytes_max: first([
            configured(config.result_bytes_max.as_ref()),
            Some((RESULT_BYTES_MAX_DEFAULT, "the default".to_owned())),
        ])
        .expect("the last candidate is there"),
        hooks: config.hooks.clone(),
        programs: config.programs.clone(),
        shell_allow: config.shell_allow.clone(),
        shell_deny: config.shell_deny.clone(),
        deny_read: config.deny_read.clone(),
        learned,
        adapters: loaded.config.adapters,
        sandbox: loaded.config.sandbox,
        notices: loaded.notices,
    })
}

/// The entries of a list with commas.
pub fn listed(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(str::to_owned).collect()
}

/// Whether every adapter that is configured or fallen back on is there.
fn known_adapters(config: &Config, fallback: Option<&Sourced<Vec<String>>>) -> anyhow::Result<()> {
    // A table is for the adapter itself; elsewhere the peer's word for one will do.
    let is_known = |id: &str| adjutant_agents::adapters().iter().any(|adapter| adapter.id == id);
    let configured = config.adapters.iter().map(|(id, setting)| (id.as_str(), setting.from.to_string(), is_known(id)));
    let fallen_back_on = fallback.into_iter().flat_map(|fallback| {
        fallback.value.iter().map(|entry| {
            let id = entry.split(':').next().unwrap_or(entry);
            (id, fallback.from.clone(), sitting::adapter(id).is_some())
        })
    });
    for (id, from, is_known) in configured.chain(fallen_back_on) {
        if !is_known {
            let known: Vec<&str> = adjutant_agents::adapters().iter().map(|adapter| adapter.id).collect();
            let hint = did_you_mean(id, &known).unwrap_or_else(|| format!("the adapters are {}", known.join(", ")));
            return Err(Failure::usage(format!("there is no adapter `{id}` in this version (from {from})"))
                .hint(hint)
                .into());
        }
    }
    Ok(())
}

impl Settings {
    /// What is put on record, so that a resume has the same.
    #[must_use]
    pub fn options(&self) -> RunOptions {
        let path = |path: &Path| path.display().to_string();
        let value = |set: &Option<Sourced<u64>>| set.as_ref().map(|set| set.value);
        let model = self.model.as_ref().map(|model| model.value.clone());
        let base_url = self.base_url.as_ref().map(|url| url.value.clone());
        let own = self.agent_options(&self.adapter.value, model, base_url);
        let is_crew = !self.crew.roles.is_empty();
        RunOptions {
            mode: self.mode.as_ref().map(|mode| mode.value),
            workdir: path(&self.workdir.value),
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
            roles: self.crew.roles.clone(),
            custom_roles: self.crew.custom.clone(),
            role_agents: self.role_agents(&own),
            role_budgets: self
                .crew
                .role_budgets
                .iter()
                .filter(|(role, _)| self.crew.roles.contains(role))
                .map(|(role, budget)| (role.clone(), *budget))
                .collect(),
            retries_max: self.crew.retries_max.filter(|_| !self.crew.roles.is_empty()),
            blind_critic: self.crew.is_blind && self.crew.has(Role::Critic),
            plans_only: false,
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
                Learned::Taken(taken) => Some(taken.options.clone()),
                Learned::NotAsked | Learned::Missing(_) => None,
            },
            detectors: self.detectors.iter().map(|(name, value)| (name.clone(), value.value.clone())).collect(),
        }
    }

    /// The limits of the learned profile that are in force: what is limited, and to what.
    #[must_use]
    pub fn learned_limits(&self) -> Vec<(String, String)> {
        let Learned::Taken(taken) = &self.learned else { return Vec::new() };
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

    /// What a session of `role` has of what the learned profile has for it: the brief's own limits win. Nothing, if
    /// that is none of it.
    fn taken_of(&self, role: &RoleName, learned: Budget) -> Option<Budget> {
        let member = Member::of(role, &self.crew.custom).filter(|_| self.crew.roles.contains(role))?;
        if self.crew.role_budgets.contains_key(role) {
            return None;
        }
        let limits_calls = member.base == Role::Executor && self.crew.tool_calls_max.is_some();
        let max_tool_calls = learned.max_tool_calls.filter(|_| !limits_calls);
        Some(Budget { max_tool_calls, ..learned }).filter(|budget| *budget != Budget::default())
    }

    /// Who plays a role of its own, or thinks harder or less for it than the others; `own` plays the others.
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

    /// How hard the model of an adapter is asked to think.
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

    /// What is recorded of an agent: what was named for it, else what is configured for its adapter.
    fn agent_options(&self, named: &str, model: Option<String>, base_url: Option<String>) -> AgentOptions {
        let adapter = sitting::adapter(named);
        let none = AdapterConfig::default();
        let config = adapter.as_ref().and_then(|adapter| self.adapters.get(adapter.id));
        let config = config.map_or(&none, |setting| &setting.value);
        let base_url = base_url
            .or_else(|| adapter.as_ref().and_then(|adapter| adapter.base_url_variable).and_then(variable))
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
