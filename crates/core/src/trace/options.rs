//! The options that a run begins with.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::event::{Body, Event};

use crate::gate::custom_role::CustomRoles;
use crate::gate::shell::{ProgramEntry, RuleTexts};
use crate::gate::{AfterUntrusted, GuardHook};
use crate::words::effort::Effort;
use crate::words::id::{BriefId, RunId};
use crate::words::price::Prices;
use crate::words::role::RoleName;
use crate::words::tool::OfferedTools;
use crate::words::{Budget, Mode, PhaseName};

/// Everything needed to begin a run again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStart {
    /// The run's name.
    pub run_id: RunId,
    /// The brief's id.
    pub brief_id: BriefId,
    /// The brief's project.
    pub project: String,
    /// Path or address of the brief, as it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brief_path: Option<String>,
    /// The brief, whole.
    pub brief: String,
    /// The tools that its agents are offered, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// All tools of the run as they were offered when it began; absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<Box<OfferedTools>>,
    /// The run's options, after flags, environment, brief and configuration were combined.
    pub options: RunOptions,
    /// The versions of the program and of its standing orders.
    pub versions: Versions,
}

/// Returns the tools that were offered last, as the events of a run say; `None` in runs of earlier versions.
#[must_use]
pub fn offered_on_record(events: &[Event]) -> Option<&OfferedTools> {
    events.iter().rev().find_map(|event| match &event.body {
        Body::Run(run) => run.offered(),
        _ => None,
    })
}

/// Options of a run, after flags, environment, brief and configuration were combined.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOptions {
    /// The mode, where it is fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The folder that tools work in.
    pub workdir: String,
    /// The folder that the workdir is a copy of, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied_from: Option<String>,
    /// The operator's home folder; empty if it is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub home: String,
    /// Our own home, with journals, keys and profiles.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub runtime_home: String,
    /// True if `shell_exec` is switched off.
    #[serde(default)]
    pub no_shell: bool,
    /// Number of steps that a session may take before a person is asked.
    pub max_steps: u32,
    /// The agent that takes the turns.
    #[serde(flatten)]
    pub agent: AgentOptions,
    /// The agents that take the turns if the adapter can't, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<AgentOptions>,
    /// The kind of the run, with what only that kind has.
    #[serde(flatten)]
    pub work: WorkOptions,
    /// The time that a question waits for its answer, in milliseconds; without an end if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_within_ms: Option<u64>,
    /// The time that a failing provider is waited for, in milliseconds, where the operator set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience_ms: Option<u64>,
    /// True if no person sits at a terminal to be asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
    /// The limits of the run.
    #[serde(default, skip_serializing_if = "Budget::is_empty")]
    pub budget: Budget,
    /// The script of a scripted agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// The rule for calls that follow text from outside, where it is not the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_untrusted: Option<AfterUntrusted>,
    /// Tools whose results count as text from outside, besides those that contact a host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untrusted_tools: Vec<String>,
    /// True if results are sent to agents as they are, without a fence.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain_results: bool,
    /// Number of bytes of a tool's result that are sent to an agent; all if absent, as in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_bytes_max: Option<u64>,
    /// The guard hooks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<GuardHook>,
    /// The operator's own entries about programs, in addition to the builtin table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramEntry>,
    /// Rules about single commands that allow what can't be read or isn't known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shell_allow: Vec<String>,
    /// Rules about single commands that deny.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shell_deny: Vec<String>,
    /// Paths and patterns of what no agent may read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny_read: Vec<String>,
    /// Detectors that are not at their default: name and sensitivity.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub detectors: BTreeMap<String, String>,
    /// The values taken from a learned profile, besides the sensitivities, which are among `detectors`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<LearnedOptions>,
}

/// The kind of a run, decided at its beginning for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WorkFields", into = "WorkFields")]
pub enum WorkOptions {
    /// One agent on the whole brief.
    Session {
        /// Roles that the operator defined and that have no session: the brief on record names them, and is read with
        /// them.
        defined: CustomRoles,
    },
    /// Several agents, by role.
    Crew(CrewOptions),
    /// One session after another, until the goal is verified.
    Loop {
        /// Its options.
        options: Box<LoopOptions>,
        /// Roles that the operator defined and that have no session, as above.
        defined: CustomRoles,
    },
}

/// The options that only a crew has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CrewOptions {
    /// Its roles, one at least.
    pub roles: Vec<RoleName>,
    /// The operator's definitions of roles.
    pub custom_roles: CustomRoles,
    /// The agents of single roles, where they are not the run's own.
    pub role_agents: BTreeMap<RoleName, AgentOptions>,
    /// The limits of single roles.
    pub role_budgets: BTreeMap<RoleName, Budget>,
    /// The number of times a sub-task is done again before a person is asked, where that is not the default.
    pub retries_max: Option<u64>,
    /// True if the critic judges without the executor's account of its work.
    pub blind_critic: bool,
    /// True if it is at its end once there is a plan.
    pub plans_only: bool,
}

/// The options that only a loop has. Its own defaults are those of the rules' first publication, but for the first
/// iteration after which completion may be judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopOptions {
    /// Number of iterations that it may take before the operator is asked.
    pub iterations_max: u32,
    /// Number of iterations from one judgement of completion to the next, where nobody claims it.
    pub check_interval: u32,
    /// The first iteration after which completion may be judged.
    pub min_iterations: u32,
    /// Number of voters in the council; 0 for none.
    pub council: u32,
    /// Number of rounds without a change at which completion is judged; twice as many end the loop.
    pub stagnation_limit: u32,
    /// Number of times that completion may be claimed; the loop ends with a refused claim from there on.
    pub done_signal_limit: u32,
    /// Thresholds of the stuck signals; absent if escalation is switched off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<StuckOptions>,
    /// What a stuck loop does until somebody has answered.
    #[serde(default)]
    pub on_stuck: OnStuck,
    /// True if completion is never judged: it goes on until its limits, or its operator.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_perpetual: bool,
    /// True if the content of the files is kept after each iteration, so that it can be brought back.
    pub checkpoints: bool,
    /// Agents of the voters, in turn, where they are not the run's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub voters: Vec<AgentOptions>,
}

/// Thresholds of the stuck signals, each a number of rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StuckOptions {
    /// In a row in which two signals must hold.
    pub rounds: u32,
    /// Without a change from which that is a signal.
    pub nochange_min: u32,
    /// With a refused evaluation from which that is a signal.
    pub split_rounds: u32,
    /// For which an evaluation counts.
    pub evaluation_age: u32,
    /// After an escalation in which there is no other.
    pub cooldown: u32,
}

/// What a stuck loop does until somebody has answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnStuck {
    /// It stands still, unless it is perpetual.
    #[default]
    Auto,
    /// It stands still, perpetual or not.
    Halt,
    /// It goes on.
    Notify,
}

/// The kind of a run, as it is written: a run with roles is a crew, one with a loop's options a loop.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct WorkFields {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    roles: Vec<RoleName>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    custom_roles: CustomRoles,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    role_agents: BTreeMap<RoleName, AgentOptions>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    role_budgets: BTreeMap<RoleName, Budget>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retries_max: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    blind_critic: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    plans_only: bool,
    #[serde(default, rename = "loop", skip_serializing_if = "Option::is_none")]
    looped: Option<Box<LoopOptions>>,
}

impl Default for WorkOptions {
    fn default() -> Self {
        Self::Session { defined: CustomRoles::default() }
    }
}

impl WorkOptions {
    /// The crew, if it is one.
    #[must_use]
    pub fn crew(&self) -> Option<&CrewOptions> {
        match self {
            Self::Session { .. } | Self::Loop { .. } => None,
            Self::Crew(crew) => Some(crew),
        }
    }

    /// The loop, if it is one.
    #[must_use]
    pub fn looped(&self) -> Option<&LoopOptions> {
        match self {
            Self::Session { .. } | Self::Crew(_) => None,
            Self::Loop { options, .. } => Some(options),
        }
    }

    /// Returns the operator's definitions of roles, whether they are played or only named by the brief.
    #[must_use]
    pub fn custom_roles(&self) -> &CustomRoles {
        match self {
            Self::Session { defined } | Self::Loop { defined, .. } => defined,
            Self::Crew(crew) => &crew.custom_roles,
        }
    }
}

impl From<WorkFields> for WorkOptions {
    fn from(fields: WorkFields) -> Self {
        let WorkFields {
            roles,
            custom_roles,
            role_agents,
            role_budgets,
            retries_max,
            blind_critic,
            plans_only,
            looped,
        } = fields;
        if let Some(options) = looped {
            return Self::Loop { options, defined: custom_roles };
        }
        if roles.is_empty() {
            return Self::Session { defined: custom_roles };
        }
        Self::Crew(CrewOptions {
            roles,
            custom_roles,
            role_agents,
            role_budgets,
            retries_max,
            blind_critic,
            plans_only,
        })
    }
}

impl From<WorkOptions> for WorkFields {
    fn from(work: WorkOptions) -> Self {
        match work {
            WorkOptions::Session { defined } => Self { custom_roles: defined, ..Self::default() },
            WorkOptions::Loop { options, defined } => {
                Self { custom_roles: defined, looped: Some(options), ..Self::default() }
            }
            WorkOptions::Crew(crew) => Self {
                roles: crew.roles,
                custom_roles: crew.custom_roles,
                role_agents: crew.role_agents,
                role_budgets: crew.role_budgets,
                retries_max: crew.retries_max,
                blind_critic: crew.blind_critic,
                plans_only: crew.plans_only,
                looped: None,
            },
        }
    }
}

/// Values that a run takes from a learned profile. They are recorded once: a profile that changes later changes nothing
/// for a run that has begun.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedOptions {
    /// The project whose profile it is.
    pub slug: String,
    /// Number of tools that an agent alone may call in each phase.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub phase_calls: BTreeMap<PhaseName, u64>,
    /// Limits of a session of each role in a crew: calls of tools, and tokens.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<RoleName, Budget>,
}

/// Versions that decided, recorded so that a later reader knows which rules applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// The program.
    pub adjutant: String,
    /// The standing orders.
    pub standing_orders: u32,
    /// The rules of deciding ([`RULES_VERSION`]); 0 in runs of earlier versions.
    #[serde(default, skip_serializing_if = "is_first")]
    pub rules: u32,
}

/// Version of the rules by which a run that begins now decides. A run keeps those that it began with, so that a replay of
/// it decides as it did. 1: a message to the agent doesn't put off the question between gated steps. 2: the brief's checks must pass before work
/// counts as done, and an agent that repeats itself is told so.
pub const RULES_VERSION: u32 = 2;

const fn is_first(rules: &u32) -> bool {
    *rules == 0
}

/// One agent that a run can be given turns by.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentOptions {
    /// The adapter.
    pub adapter: String,
    /// The model, where it is fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Address of its API, where that is not its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The tokens of its window, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// The most tokens of one reply, where that is fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens_max: Option<u32>,
    /// The effort that it is asked to think with, where the operator set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// The most tokens that it may think for in one reply, where the operator said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_tokens: Option<u32>,
    /// Prices of its tokens, where the operator or the provider's list says them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
    /// The day of the list that the prices are from; absent if they are the operator's own. What is computed from
    /// a list is an estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices_listed: Option<String>,
}

impl AgentOptions {
    /// Returns its name for a person: the adapter, and the model if one is fixed.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.model {
            Some(model) => format!("{}:{model}", self.adapter),
            None => self.adapter.clone(),
        }
    }
}

impl RunOptions {
    /// The rules about single commands.
    #[must_use]
    pub fn command_rules(&self) -> RuleTexts<'_> {
        RuleTexts { allow: &self.shell_allow, deny: &self.shell_deny, deny_read: &self.deny_read }
    }

    /// The agents of the run: its own first, then those to fall back on, then those of single roles. Their places are
    /// what a request names.
    #[must_use]
    pub fn agents(&self) -> Vec<AgentOptions> {
        let roles = self.work.crew().into_iter().flat_map(|crew| crew.role_agents.values().cloned());
        let voters = self.work.looped().into_iter().flat_map(|looped| looped.voters.iter().cloned());
        std::iter::once(self.agent.clone()).chain(self.fallback.iter().cloned()).chain(roles).chain(voters).collect()
    }

    /// Returns the place of a role's own agent; `None` if it is played by the run's agent.
    #[must_use]
    pub fn place_of(&self, role: &RoleName) -> Option<usize> {
        let among = self.work.crew()?.role_agents.keys().position(|other| other == role)?;
        Some(1 + self.fallback.len() + among)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads options, and checks that they are written as they were: the same keys in the same order.
    #[track_caller]
    fn read(rest: &str) -> WorkOptions {
        let text = format!(
            r#"{{"workdir":"/w","no_shell":false,"max_steps":30,"adapter":"scripted",{rest}"answer_within_ms":1}}"#
        );
        let options: RunOptions = serde_json::from_str(&text).expect(&text);
        assert_eq!(serde_json::to_string(&options).expect("written"), text);
        options.work
    }

    const MINE: &str = r#""custom_roles":{"mine":{"base":"reviewer","instruction":"look","from":"here"}},"#;

    #[test]
    fn a_run_with_roles_is_a_crew_and_is_written_as_it_always_was() {
        let roles = r#""roles":["planner","executor"],"#;
        let rest = concat!(
            r#""role_agents":{"executor":{"adapter":"gemini"}},"role_budgets":{"planner":{"max_tokens":1}},"#,
            r#""retries_max":2,"blind_critic":true,"plans_only":true,"#
        );
        let work = read(&format!("{roles}{MINE}{rest}"));
        let WorkOptions::Crew(crew) = &work else { panic!("{work:?}") };
        assert_eq!((crew.roles.len(), crew.retries_max, crew.plans_only), (2, Some(2), true));
        assert_eq!(work.custom_roles().len(), 1);
    }

    #[test]
    fn a_run_without_roles_is_one_session() {
        assert_eq!(read(""), WorkOptions::default());
    }

    #[test]
    fn roles_that_nobody_plays_are_kept_for_the_brief_that_names_them() {
        let work = read(MINE);
        assert!(work.crew().is_none());
        assert_eq!(work.custom_roles().len(), 1);
    }
}
