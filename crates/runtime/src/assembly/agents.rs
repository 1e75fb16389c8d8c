//! The agents of a run, ready to be asked for turns, and whether their costs can be held to a limit.
//!
//! In: what the run's options name, and the [`Supplies`]. Out: one agent for each place of the options, in order.

use std::path::Path;
use std::sync::Arc;

use adjutant_agents::api::{ApiAgent, Thinking, Unusable};
use adjutant_agents::recorded::{self, ReadError};
use adjutant_agents::scripted::{self, Script, ScriptError};
use adjutant_agents::{Adapter, RecordedAgent, ScriptedAgent};
use adjutant_core::gate::secrets;
use adjutant_core::trace::{AgentOptions, RunOptions};
use adjutant_core::words::Budget;
use adjutant_host::http::{BadProxy, Proxies};
use adjutant_ports::Agent;
use thiserror::Error;

use super::equipment::{Equipment, Lack, Supplies};
use super::remark::Remark;
use super::sourced::Sourced;
use super::surroundings::Environment;
use super::unready::with_cause;

/// A reason why an agent can't be asked for turns.
#[derive(Debug, Error)]
pub enum AgentError {
    /// There is no such adapter.
    #[error("there is no adapter `{0}` in this version")]
    Unknown(String),
    /// A script or a recording can't be played.
    #[error("{}", with_cause(.0))]
    Script(ScriptError),
    /// No recording is named.
    #[error("the adapter `recorded` needs a recording to play")]
    NoRecording,
    /// A recording can't be played.
    #[error("`{path}`: {error}")]
    Unplayable {
        /// The file.
        path: String,
        /// The fault that was found in it.
        error: ReadError,
    },
    /// Its adapter lacks something.
    #[error(transparent)]
    Lacks(#[from] Lack),
    /// A proxy can't be used.
    #[error(transparent)]
    Proxy(#[from] BadProxy),
    /// Its API can't be used.
    #[error("{0}")]
    Unusable(Unusable),
    /// Nothing names an adapter or a script.
    #[error("nothing says who takes the turns: no adapter is chosen, and no script")]
    NotChosen,
    /// No script is named.
    #[error("the adapter `scripted` needs a script to play")]
    NoScript,
    /// We have a bug.
    #[error("the adapter `{0}` is listed and can't be used: a fault of this program")]
    NotMade(&'static str),
}

impl AgentError {
    /// Returns the hint for the operator, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown(_) => {
                let known: Vec<&str> = adjutant_agents::adapters().iter().map(|adapter| adapter.id).collect();
                Some(format!("the adapters are: {}", known.join(", ")))
            }
            Self::Script(error) => error.hint(),
            Self::NoRecording => Some("name one with --script, made by `adjutant run ... --record FILE`".to_owned()),
            Self::Unplayable { error, .. } => match error {
                ReadError::Unreadable(_) => Some("name a file that is there with --script".to_owned()),
                ReadError::NoRecording => Some("a script is played with --adapter scripted".to_owned()),
                ReadError::Version { .. } => Some("play it with the version that made it".to_owned()),
                ReadError::Line { .. } => None,
            },
            Self::Lacks(lack) => Some(lack.hint.clone()),
            Self::Proxy(_) => Some("mend or unset the variable".to_owned()),
            Self::Unusable(unusable) => Some(unusable.hint().to_owned()),
            Self::NotChosen => Some(
                "`--adapter anthropic` has a model take them (`adjutant adapters` lists all, with what each needs); \
                 `--script FILE` plays a script, without a model; `adapter` in the brief, or in `config.toml` of the \
                 home for all runs, chooses one for good"
                    .to_owned(),
            ),
            Self::NoScript => {
                Some("name one with --script, or choose another adapter: `adjutant adapters` lists them".to_owned())
            }
            Self::NotMade(_) => None,
        }
    }
}

/// A limit of dollars that would not hold: what an agent costs is not known.
#[derive(Debug, Error)]
#[error("a limit of dollars{whose} can't be held: what `{agent}` costs is not known")]
pub struct Unpriced {
    /// Owner of the limit: ` of the reviewer`, or nothing for the run's own.
    whose: String,
    /// The agent.
    agent: String,
    /// Its adapter.
    adapter: String,
}

impl Unpriced {
    /// Returns the hint for the operator.
    #[must_use]
    pub fn hint(&self) -> String {
        let adapter = &self.adapter;
        format!("set `price_input` and `price_output` under `[adapters.{adapter}]`, in dollars for a million tokens")
    }
}

/// The adapter of this build that a setting names; `mock` is the peer's word for the script.
#[must_use]
pub fn adapter_named(named: &str) -> Option<Adapter> {
    let id = if named == "mock" { scripted::ADAPTER_ID } else { named };
    adjutant_agents::adapters().into_iter().find(|adapter| adapter.id == id)
}

/// The same where it must be there.
///
/// # Errors
///
/// [`AgentError::Unknown`] if there is none.
pub fn known_adapter(named: &str) -> Result<Adapter, AgentError> {
    adapter_named(named).ok_or_else(|| AgentError::Unknown(named.to_owned()))
}

/// Checks that what the run may cost can be counted: every agent that costs something has its prices.
///
/// # Errors
///
/// [`Unpriced`] if a limit of dollars would not hold.
pub(super) fn can_hold(options: &RunOptions, tell: &dyn Fn(Remark)) -> Result<(), Unpriced> {
    let costs = |agent: &AgentOptions| adapter_named(&agent.adapter).is_some_and(|adapter| adapter.is_paid);
    let has_prices =
        |agent: &AgentOptions| agent.prices.is_some_and(|prices| prices.input.is_some() && prices.output.is_some());
    let lacks = |agent: &&AgentOptions| costs(agent) && !has_prices(agent);
    let agents = options.agents();
    let has_limit = |budget: &Budget| budget.max_nano_dollars.is_some();
    let of_run = agents.iter().find(lacks).filter(|_| has_limit(&options.budget));
    // Where only a role has such a limit, only those who may play it count.
    let of_role = || {
        let crew = options.work.crew()?;
        let mut limited = crew.role_budgets.iter().filter(|(_, budget)| has_limit(budget));
        limited.find_map(|(role, _)| {
            let agent = match crew.role_agents.get(role) {
                Some(own) => Some(own).filter(lacks),
                None => std::iter::once(&options.agent).chain(&options.fallback).find(lacks),
            };
            Some((agent?, format!(" of the {role}")))
        })
    };
    if let Some((agent, whose)) = of_run.map(|agent| (agent, String::new())).or_else(of_role) {
        return Err(Unpriced { whose, agent: agent.name(), adapter: agent.adapter.clone() });
    }
    let is_limited =
        has_limit(&options.budget) || options.work.crew().is_some_and(|crew| crew.role_budgets.values().any(has_limit));
    if let Some(day) = agents.iter().filter_map(|agent| agent.prices_listed.as_deref()).max().filter(|_| is_limited) {
        tell(Remark::Note(format!(
            "dollars are estimated by list prices of {day}; `price_input` and `price_output` make them yours"
        )));
    }
    Ok(())
}

/// The agent that `named` says, ready to be asked for turns, with what is to be told of its settings; one that plays a
/// script plays `script`.
pub(super) fn agent(
    supplies: &Supplies,
    named: &AgentOptions,
    script: Option<&str>,
    environment: &Environment,
) -> Result<(Arc<dyn Agent>, Vec<String>), AgentError> {
    let adapter = known_adapter(&named.adapter)?;
    match adapter.id {
        scripted::ADAPTER_ID => {
            let path = script.ok_or(AgentError::NoScript)?;
            let script = Script::read(Path::new(path)).map_err(AgentError::Script)?;
            Ok((Arc::new(ScriptedAgent::new(script)), Vec::new()))
        }
        recorded::ADAPTER_ID => {
            let path = script.ok_or(AgentError::NoRecording)?;
            let player = RecordedAgent::read(Path::new(path), environment.secrets(&supplies.keys));
            let player = player.map_err(|error| AgentError::Unplayable { path: path.to_owned(), error })?;
            Ok((Arc::new(player), Vec::new()))
        }
        _ => {
            let on_record = |value: &String| Sourced { value: value.clone(), from: "the run's options".to_owned() };
            // Of an address with a secret in it the journal has the rest: it comes from where it came from before.
            let base_url = named.base_url.as_ref().filter(|url| !secrets::is_masked(url)).map(on_record);
            let model = named.model.as_ref().map(on_record);
            let mut equipment = supplies.equip(adapter, model, base_url);
            if let Some(most) = named.output_tokens_max {
                equipment.output_tokens_max.value = most;
            }
            equipment.thinking = Thinking { effort: named.effort, tokens: named.thinking_tokens };
            let agent = api_agent(equipment, environment.proxies()?)?;
            let notes = agent.notes();
            Ok((Arc::new(agent), notes))
        }
    }
}

/// An agent over a model API, reached through these proxies.
fn api_agent(equipment: Equipment, proxies: Proxies) -> Result<ApiAgent, AgentError> {
    let id = equipment.adapter.id;
    let agent = adjutant_agents::api_agent(id, equipment.for_api(proxies)?).map_err(AgentError::Unusable)?;
    agent.ok_or(AgentError::NotMade(id))
}
