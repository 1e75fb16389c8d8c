//! The settings of a run, from flags, environment, brief and configuration together.
//!
//! First wins: what was said for this run, environment, brief, the learned profile that it names, the project's
//! configuration (if its content is trusted), the home's configuration, defaults. Each value remembers where it came
//! from, for `doctor`. What is put on record of it is in `run_options.rs`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use adjutant_agents::scripted;
use adjutant_core::brief::Brief;
use adjutant_core::gate::shell::ProgramEntry;
use adjutant_core::gate::{AfterUntrusted, GuardHook};
use adjutant_core::learn::applying::{self, Taken};
use adjutant_core::session::MAX_STEPS_DEFAULT;
use adjutant_core::session::transcript::RESULT_BYTES_MAX_DEFAULT;
use adjutant_core::words::effort::Effort;
use adjutant_core::words::id::Slug;
use adjutant_core::words::nearest::did_you_mean;
use adjutant_core::words::role::RoleName;
use adjutant_core::words::{Mode, price};
use adjutant_store::Home;
use adjutant_store::config::{self, AdapterConfig, Config, ConfigError, Notice, SandboxConfig};
use adjutant_store::profiles::{self, ProfileError};
use jiff::Timestamp;
use thiserror::Error;

use super::agents::adapter_named;
use super::crew::{CrewError, CrewSettings};
use super::looped::{LoopOverrides, LoopSettings};
use super::option_table;
use super::sourced::{Sourced, configured, first, set};
use super::surroundings::{Environment, Surroundings};
use super::unready::with_cause;

/// Settings that were given for one run alone, such as flags: they come before everything else. Where nothing was said
/// of one, it is absent.
#[derive(Debug, Default, Clone)]
pub struct Overrides {
    /// The mode: how far the agent goes on its own.
    pub mode: Option<Mode>,
    /// The folder that tools work in.
    pub workdir: Option<PathBuf>,
    /// True to switch `shell_exec` off.
    pub no_shell: bool,
    /// The steps that a session may take before a person is asked.
    pub max_steps: Option<u32>,
    /// The adapter that takes the turns.
    pub adapter: Option<String>,
    /// The adapter's model.
    pub model: Option<String>,
    /// The script of a scripted agent, or the recording that is played.
    pub script: Option<PathBuf>,
    /// The address of the adapter's API.
    pub base_url: Option<String>,
    /// The adapters that take the turns when the first can't.
    pub fallback: Option<Vec<String>>,
    /// The most tokens of the run.
    pub max_tokens: Option<u64>,
    /// The most minutes of the run.
    pub max_minutes: Option<u64>,
    /// The most that the run may cost.
    pub max_nano_dollars: Option<u64>,
    /// The most turns of the run.
    pub max_turns: Option<u64>,
    /// The minutes that a provider that fails is waited for.
    pub patience_minutes: Option<u64>,
    /// The effort that the model is asked for.
    pub effort: Option<Effort>,
    /// The tokens that it may think for in one reply.
    pub thinking_tokens: Option<u32>,
    /// The roles of a crew.
    pub roles: Option<Vec<RoleName>>,
    /// True for one agent alone, whatever roles the brief names.
    pub single: bool,
    /// The adapters that play single roles: `adapter` or `adapter:model`.
    pub role_adapters: Vec<(RoleName, String)>,
    /// True if the critic judges without the executor's account.
    pub blind_critic: bool,
    /// The minutes that a question waits before its default holds.
    pub answer_within: Option<u64>,
    /// The settings of a loop; `None` for a run that is none.
    pub looped: Option<LoopOverrides>,
}

/// A reason why the settings of a run can't be told.
#[derive(Debug, Error)]
pub enum SettingsError {
    /// A variable of the environment can't be read.
    #[error("`{name}` must be {expected}, not `{found}`")]
    Variable {
        /// The variable.
        name: &'static str,
        /// The values that it may have.
        expected: &'static str,
        /// The value that it has.
        found: String,
    },
    /// A configuration can't be read.
    #[error("{}", with_cause(.0))]
    Config(ConfigError),
    /// The learned profile that the brief names can't be read.
    #[error("{}", with_cause(.error))]
    Profile {
        /// Its project.
        slug: Slug,
        /// The cause.
        error: ProfileError,
    },
    /// An adapter that is configured or fallen back on is not there.
    #[error("there is no adapter `{id}` in this version (from {from})")]
    UnknownAdapter {
        /// The adapter.
        id: String,
        /// The place that names it.
        from: String,
    },
    /// The crew is invalid.
    #[error(transparent)]
    Crew(#[from] CrewError),
}

// By hand: derived, the error would be its own cause, and be told twice.
impl From<ConfigError> for SettingsError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl SettingsError {
    /// Returns the hint for the operator, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Variable { .. } => None,
            Self::Config(error) => error.hint(),
            Self::Profile { slug, .. } => Some(format!(
                "`adjutant learn {slug}` says what runs teach, `--reset` removes what is there and `--apply` makes it \
                 anew; or take `learned_profile` out of the brief"
            )),
            Self::UnknownAdapter { id, .. } => {
                let known: Vec<&str> = adjutant_agents::adapters().iter().map(|adapter| adapter.id).collect();
                Some(did_you_mean(id, &known).unwrap_or_else(|| format!("the adapters are {}", known.join(", "))))
            }
            Self::Crew(error) => Some(error.hint()),
        }
    }
}

/// The settings of a run.
pub struct RunSettings {
    /// The mode, where it is fixed: how far the agent goes on its own.
    pub mode: Option<Sourced<Mode>>,
    /// The folder that tools work in.
    pub workdir: Sourced<PathBuf>,
    /// The environment that it was resolved in.
    pub(super) environment: Environment,
    /// The operator's home folder; empty if it is not known.
    pub home: String,
    /// Our own home.
    pub runtime_home: String,
    /// True if `shell_exec` is switched off.
    pub no_shell: Sourced<bool>,
    /// The steps that a session may take before a person is asked.
    pub max_steps: Sourced<u32>,
    /// The adapter that takes the turns; `None` if nothing names one, nor a script.
    pub adapter: Option<Sourced<String>>,
    /// The adapter's model.
    pub model: Option<Sourced<String>>,
    /// The script of a scripted agent, or the recording that is played.
    pub script: Option<Sourced<PathBuf>>,
    /// Detectors that are not at their default: name and sensitivity.
    pub detectors: BTreeMap<String, Sourced<String>>,
    /// The learned profile that the brief names.
    pub learned: LearnedSetting,
    /// The address of the adapter's API, if it was said for this run alone.
    pub base_url: Option<Sourced<String>>,
    /// The adapters that take the turns when the first can't, each with or without `:model`.
    pub fallback: Option<Sourced<Vec<String>>>,
    /// The most tokens of the run.
    pub max_tokens: Option<Sourced<u64>>,
    /// The most minutes of the run.
    pub max_minutes: Option<Sourced<u64>>,
    /// The most that the run may cost.
    pub max_nano_dollars: Option<Sourced<u64>>,
    /// The most turns of the run.
    pub max_turns: Option<Sourced<u64>>,
    /// The minutes that a provider that fails is waited for, if it was said.
    pub patience_minutes: Option<Sourced<u64>>,
    /// The effort that models are asked for, if it was said for the run.
    pub effort: Option<Sourced<Effort>>,
    /// The most tokens that a model may think for, if it was said for the run.
    pub thinking_tokens: Option<Sourced<u32>>,
    /// The same as far as it is configured for all adapters: what is configured for one goes before it.
    pub effort_configured: Option<config::Setting<Effort>>,
    /// The same for the tokens that a model may think for.
    pub thinking_tokens_configured: Option<config::Setting<u32>>,
    /// The time that a question waits for its answer.
    pub answer_within_ms: Option<u64>,
    /// The crew, if it is one.
    pub crew: CrewSettings,
    /// The loop, if it is one.
    pub looped: Option<LoopSettings>,
    /// The rule for a call that follows text from outside.
    pub after_untrusted: Sourced<AfterUntrusted>,
    /// Tools whose results count as text from outside.
    pub untrusted_tools: Option<Sourced<Vec<String>>>,
    /// True if results are sent to agents without a fence.
    pub plain_results: Sourced<bool>,
    /// The bytes of a tool's result that are sent to an agent.
    pub result_bytes_max: Sourced<u64>,
    /// The guard hooks.
    pub hooks: Vec<config::Setting<GuardHook>>,
    /// The operator's entries about programs and what they do.
    pub programs: Vec<config::Setting<ProgramEntry>>,
    /// Rules about single commands that allow what isn't known: the home's, then the project's.
    pub shell_allow: Vec<config::Setting<String>>,
    /// Rules about single commands that deny: the home's, then the project's.
    pub shell_deny: Vec<config::Setting<String>>,
    /// Paths that no agent may read: the home's, then the project's.
    pub deny_read: Vec<config::Setting<String>>,
    /// The configurations of single adapters.
    pub adapters: BTreeMap<String, config::Setting<AdapterConfig>>,
    /// The configuration of the sandbox of commands.
    pub sandbox: SandboxConfig,
    /// Notices about the configurations, for the operator.
    pub notices: Vec<Notice>,
}

/// The learned profile that a brief names.
#[derive(Debug)]
pub enum LearnedSetting {
    /// It names none.
    NotAsked,
    /// The project has none.
    Missing(Slug),
    /// The part that a run takes.
    Taken(Box<Taken>),
}

impl LearnedSetting {
    /// Returns its name, for settings that come from it.
    #[must_use]
    pub fn source(&self) -> Option<String> {
        match self {
            Self::NotAsked | Self::Missing(_) => None,
            Self::Taken(taken) => Some(format!("learned profile {}", taken.options.slug)),
        }
    }
}

/// Reads what a run that begins now takes from the learned profile of a project.
fn learned(home: &Home, slug: &Slug) -> Result<LearnedSetting, SettingsError> {
    let read = profiles::read(home, slug);
    Ok(match read.map_err(|error| SettingsError::Profile { slug: slug.clone(), error })? {
        None => LearnedSetting::Missing(slug.clone()),
        Some(profile) => LearnedSetting::Taken(Box::new(applying::take(&profile, slug.as_str(), Timestamp::now()))),
    })
}

/// Reads a mode's name.
#[must_use]
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
/// If a configuration or a variable can't be read, or names what is not there.
pub fn resolve(
    home: &Home,
    surroundings: &Surroundings,
    typed: &Overrides,
    brief: Option<(&Brief, &Path)>,
) -> Result<RunSettings, SettingsError> {
    let (environment, current) = (&surroundings.environment, &surroundings.folder);
    let variable = |name: &str| environment.variable(name);
    let of_brief = brief.map(|(brief, _)| brief);
    let workdir = first([
        option_table::WORKDIR.of_flag(typed.workdir.clone()),
        set(of_brief.and_then(|brief| brief.workdir.as_ref().map(PathBuf::from)), "the brief"),
        Some((current.clone(), "the current folder".to_owned())),
    ])
    .expect("the last candidate is there");
    let workdir = Sourced { value: current.join(workdir.value), from: workdir.from };
    let loaded = config::load(home, Some(&workdir.value))?;
    let config: &Config = &loaded.config;

    let script = first([
        option_table::SCRIPT.of_flag(typed.script.as_ref().map(|script| current.join(script))),
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
        None => LearnedSetting::NotAsked,
    };
    if let (LearnedSetting::Taken(taken), Some(from)) = (&learned, learned.source()) {
        for (detector, sensitivity) in &taken.detectors {
            let value = Sourced { value: sensitivity.to_string(), from: from.clone() };
            detectors.insert(detector.name().to_owned(), value);
        }
    }
    for (detector, sensitivity) in of_brief.into_iter().flat_map(|brief| brief.detectors.set()) {
        let value = Sourced { value: sensitivity.to_string(), from: "the brief".to_owned() };
        detectors.insert(detector.name().to_owned(), value);
    }
    let text = |text: &str| Some(text.to_owned());
    let whole = |text: &str| text.parse().ok().filter(|number: &u64| *number > 0);
    let budgets = of_brief.map(|brief| brief.budgets).unwrap_or_default();
    let fallback = first([
        option_table::FALLBACK.of_flag(typed.fallback.clone()),
        option_table::FALLBACK.of_variable(environment, |text| Some(listed(text)))?,
        set(of_brief.map(|brief| brief.fallback.clone()).filter(|list| !list.is_empty()), "the brief"),
        configured(config.fallback.as_ref()),
    ]);
    let adapter = first([
        option_table::ADAPTER.of_flag(typed.adapter.clone()),
        option_table::ADAPTER.of_variable(environment, text)?,
        set(of_brief.and_then(|brief| brief.adapter.clone()), "the brief"),
        configured(config.adapter.as_ref()),
        script.as_ref().map(|script| (scripted::ADAPTER_ID.to_owned(), script.from.clone())),
    ]);
    let named = adapter.as_ref().and_then(|adapter| adapter_named(&adapter.value));
    let of_adapter = named.and_then(|adapter| config.adapters.get(adapter.id));
    known_adapters(config, fallback.as_ref())?;
    let voters = typed.looped.iter().flat_map(|looped| &looped.voters);
    for voter in voters {
        let id = voter.split(':').next().unwrap_or(voter);
        if adapter_named(id).is_none() {
            return Err(SettingsError::UnknownAdapter { id: id.to_owned(), from: "--council-agent".to_owned() });
        }
    }
    Ok(RunSettings {
        answer_within_ms: typed.answer_within.map(|minutes| minutes.saturating_mul(60_000)),
        crew: CrewSettings::of(typed, of_brief, config)?,
        looped: typed.looped.as_ref().map(|looped| LoopSettings::of(looped, environment, config)),
        mode: first([
            option_table::MODE.of_flag(typed.mode),
            option_table::MODE.of_variable(environment, mode)?,
            set(of_brief.and_then(|brief| brief.mode), "the brief"),
            configured(config.mode.as_ref()),
            // A loop works unattended, once its goal is confirmed.
            set(typed.looped.is_some().then_some(Mode::Auto), "the default of loops"),
        ]),
        no_shell: first([
            option_table::NO_SHELL.of_flag(typed.no_shell.then_some(true)),
            configured(config.no_shell.as_ref()),
            Some((false, "the default".to_owned())),
        ])
        .expect("the last candidate is there"),
        max_steps: first([
            option_table::MAX_STEPS.of_flag(typed.max_steps),
            option_table::MAX_STEPS.of_variable(environment, |text| text.parse().ok().filter(|steps| *steps > 0))?,
            set(of_brief.and_then(|brief| brief.max_steps), "the brief"),
            configured(config.max_steps.as_ref()),
            Some((MAX_STEPS_DEFAULT, "the default".to_owned())),
        ])
        .expect("the last candidate is there"),
        model: first([
            option_table::MODEL.of_flag(typed.model.clone()),
            option_table::MODEL.of_variable(environment, text)?,
            set(of_brief.and_then(|brief| brief.model.clone()), "the brief"),
            configured(config.model.as_ref()),
            configured(of_adapter.and_then(|of_adapter| of_adapter.value.model.as_ref())),
        ]),
        adapter,
        script,
        workdir,
        environment: environment.clone(),
        home: variable("HOME").unwrap_or_default(),
        runtime_home: current.join(home.root()).display().to_string(),
        detectors,
        base_url: first([option_table::BASE_URL.of_flag(typed.base_url.clone())]),
        fallback,
        max_tokens: first([
            option_table::MAX_TOKENS.of_flag(typed.max_tokens),
            option_table::MAX_TOKENS.of_variable(environment, whole)?,
            set(budgets.max_tokens, "the brief"),
            configured(config.max_tokens.as_ref()),
        ]),
        patience_minutes: first([
            option_table::PATIENCE.of_flag(typed.patience_minutes),
            option_table::PATIENCE.of_variable(environment, |text| text.parse().ok())?,
            set(of_brief.and_then(|brief| brief.patience_minutes), "the brief"),
            configured(config.patience_minutes.as_ref()),
        ]),
        effort: first([
            option_table::EFFORT.of_flag(typed.effort),
            option_table::EFFORT.of_variable(environment, |text| text.parse().ok())?,
            set(of_brief.and_then(|brief| brief.effort), "the brief"),
        ]),
        thinking_tokens: first([
            option_table::THINKING_TOKENS.of_flag(typed.thinking_tokens),
            option_table::THINKING_TOKENS
                .of_variable(environment, |text| text.parse().ok().filter(|tokens| *tokens > 0))?,
            set(of_brief.and_then(|brief| brief.thinking_tokens), "the brief"),
        ]),
        effort_configured: config.effort.clone(),
        thinking_tokens_configured: config.thinking_tokens.clone(),
        max_minutes: first([
            option_table::MAX_MINUTES.of_flag(typed.max_minutes),
            option_table::MAX_MINUTES.of_variable(environment, whole)?,
            set(budgets.max_wall_clock_minutes, "the brief"),
            configured(config.max_minutes.as_ref()),
        ]),
        max_nano_dollars: first([
            option_table::MAX_DOLLARS.of_flag(typed.max_nano_dollars),
            option_table::MAX_DOLLARS.of_variable(environment, price::sum)?,
            set(budgets.max_dollars, "the brief"),
            configured(config.max_nano_dollars.as_ref()),
        ]),
        max_turns: first([
            option_table::MAX_TURNS.of_flag(typed.max_turns),
            option_table::MAX_TURNS.of_variable(environment, whole)?,
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
fn listed(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(str::to_owned).collect()
}

/// Checks that every adapter that is configured or fallen back on is there.
fn known_adapters(config: &Config, fallback: Option<&Sourced<Vec<String>>>) -> Result<(), SettingsError> {
    // A table is for the adapter itself; elsewhere the peer's word for one will do.
    let is_known = |id: &str| adjutant_agents::adapters().iter().any(|adapter| adapter.id == id);
    let configured = config.adapters.iter().map(|(id, setting)| (id.as_str(), setting.from.to_string(), is_known(id)));
    let fallen_back_on = fallback.into_iter().flat_map(|fallback| {
        fallback.value.iter().map(|entry| {
            let id = entry.split(':').next().unwrap_or(entry);
            (id, fallback.from.clone(), adapter_named(id).is_some())
        })
    });
    match configured.chain(fallen_back_on).find(|(_, _, is_known)| !is_known) {
        Some((id, from, _)) => Err(SettingsError::UnknownAdapter { id: id.to_owned(), from }),
        None => Ok(()),
    }
}
