//! One sitting of a run: agent, tools, operator and journal put together, driven to its end or to a
//! question that nobody is there to answer, and what is said then.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_agents::api::{ApiAgent, Thinking};
use adjutant_agents::recorded::{self, Existing, ReadError};
use adjutant_agents::scripted::{self, Script};
use adjutant_agents::{Adapter, RecordedAgent, Recording, ScriptedAgent};
use adjutant_core::brief::{self, Brief};
use adjutant_core::crew::{CustomRoles, Member};
use adjutant_core::gate::grant_line::Kept;
use adjutant_core::gate::secrets::{self, SecretSet};
use adjutant_core::gate::shell::Programs;
use adjutant_core::gate::{Grant, Lasts, Places};
use adjutant_core::id::BriefId;
use adjutant_core::inbox::{Question, QuestionKind};
use adjutant_core::memory::{Inherited, Log, MemoryCategory};
use adjutant_core::procedure::run::Run;
use adjutant_core::procedure::{Key, Part};
use adjutant_core::role::{Role, RoleName};
use adjutant_core::trace::{AgentOptions, Body, Entry, Event, MessageKind, Outcome, RunOptions, wire};
use adjutant_core::view::visible_line;
use adjutant_core::work::Work;
use adjutant_host::environment;
use adjutant_host::hooks::HookRunner;
use adjutant_host::http::Hosts;
use adjutant_host::sandbox::SelfTest;
use adjutant_ports::{Agent, Clock, GrantStore, Journal};
use adjutant_runtime::{Driver, Ended, Masks, Ports, Results};
use adjutant_store::config::{AdapterConfig, SandboxConfig, Setting};
use adjutant_store::keys::Keys;
use adjutant_store::{GrantFile, Home, MemoryStore};
use adjutant_tools::{NativeTools, Options, ProjectMemory, Shell};
use anyhow::Context;
use jiff::Timestamp;

use crate::answers::Answers;
use crate::console::Console;
use crate::equipment::{Equipment, Supplies};
use crate::exit::Ending;
use crate::failure::Failure;
use crate::render::Renderer;
use crate::sandbox::{self, Plan, Tried};
use crate::settings::{self, Sourced};

/// The clock of this machine.
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// Everything a driver needs besides the journal.
pub struct Sitting {
    pub brief: Brief,
    pub options: RunOptions,
    agents: Vec<Arc<dyn Agent>>,
    tools: Arc<NativeTools>,
    hooks: HookRunner,
    keys: Keys,
    recording: Option<Recording>,
    sandbox: Option<SelfTest>,
    grants: Arc<GrantFile>,
    memory: MemoryStore,
}

impl Sitting {
    /// Opens the workdir and makes the agent ready, before anything is on record.
    ///
    /// # Errors
    ///
    /// If the adapter, its script, the workdir or a sandbox that is required is not there, or the key file can't be relied on: also where
    /// no key is needed, since its keys could not be masked.
    pub fn open(
        home: &Home,
        brief: Brief,
        brief_id: &BriefId,
        options: RunOptions,
        adapters: BTreeMap<String, Setting<AdapterConfig>>,
        config: &SandboxConfig,
    ) -> anyhow::Result<Self> {
        let supplies = Supplies::new(home, adapters)?;
        for stranger in settings::strangers(&supplies.keys) {
            tell!("warning: {stranger}");
        }
        let falls_back_on_script = options.fallback.iter().any(|agent| agent.adapter == scripted::ADAPTER_ID);
        if falls_back_on_script && options.script.is_none() {
            // The built-in script does nothing and says so: a failure would end as a success.
            return Err(Failure::usage("`scripted` can't take over from another agent without a script")
                .hint("name a script with --script, or take it off the fallback list")
                .into());
        }
        let mut notes = BTreeSet::new();
        let agents = options.agents().into_iter().map(|named| {
            let (agent, told) = agent(&supplies, &named, options.script.as_deref())?;
            notes.extend(told);
            Ok(agent)
        });
        let agents = agents.collect::<anyhow::Result<_>>()?;
        for note in &notes {
            tell!("note: {}", visible_line(note));
        }
        let workdir = Path::new(&options.workdir);
        // Not the recorded places: the homes to be guarded are those of this machine now.
        let operators = settings::variable("HOME").unwrap_or_default();
        let deny_read = options.deny_read.clone();
        let plan = Plan { config, workdir, home: &operators, runtime_home: home.root(), deny_read };
        let Tried { sandbox, found } = sandbox::tried(&plan, options.no_shell)?;
        let tools = NativeTools::open(
            workdir,
            Options {
                shell: if options.no_shell { Shell::Disabled } else { Shell::Enabled },
                hosts: Hosts::load(&home.root().join("http-allow.json")),
                environment: std::env::vars_os().collect(),
                variables: sandbox::variables(config)?,
                sandbox,
            },
        )
        .map_err(|source| {
            anyhow::Error::new(source).context(
                Failure::usage(format!("can't work in the folder `{}`", options.workdir))
                    .hint("name a folder that is there with --workdir"),
            )
        })?
        .with_rescue(places(home, &options), Programs::recorded(&options.programs, options.command_rules()))
        .with_memory(ProjectMemory {
            memory: Arc::new(MemoryStore::new(home.clone())),
            clock: Arc::new(SystemClock),
            project: brief.project.clone(),
            brief_id: brief_id.to_string(),
            secrets: own_secrets(&supplies.keys),
        });
        let tools = Arc::new(tools);
        let grants = Arc::new(GrantFile::new(home.project(&brief.project)));
        let hooks = HookRunner::new(PathBuf::from(&options.runtime_home), std::env::vars_os());
        let memory = MemoryStore::new(home.clone());
        Ok(Self {
            brief,
            options,
            agents,
            tools,
            hooks,
            keys: supplies.keys,
            recording: None,
            sandbox: found,
            grants,
            memory,
        })
    }

    /// What was found of the sandbox, to be put on record; nothing where commands are switched off.
    pub fn sandbox_report(&self) -> Option<Entry> {
        let body = sandbox::report(self.sandbox.as_ref()?);
        Some(Entry { part: Part::root(), body })
    }

    /// Has nothing kept of what calls may destroy: for a run of which nothing stays.
    pub fn keep_nothing(&mut self) {
        self.tools =
            Arc::new(NativeTools::clone(&self.tools).with_rescue(Places::default(), Arc::clone(Programs::builtin())));
    }

    /// Has every exchange with the agents recorded in a file from here on.
    ///
    /// # Errors
    ///
    /// If the file can't be written, or holds something that is not to be overwritten.
    pub fn record(&mut self, path: &Path, existing: Existing) -> anyhow::Result<()> {
        let first = self.agents.first().context("a run has at least one agent")?;
        let recording = Recording::open(&**first, path, existing, own_secrets(&self.keys))
            .map_err(|error| Failure::usage(error.to_string()).hint("name another file with --record"))?;
        for agent in &mut self.agents {
            *agent = Arc::new(recording.of(agent.clone()));
        }
        self.recording = Some(recording);
        Ok(())
    }

    /// What the project keeps of grants, to be put on record; nothing if there is none and never was.
    ///
    /// `events` is what the journal of the run says so far: a grant that was given there and did not reach the file
    /// is kept now. A file that can't be read grants nothing.
    pub fn grants_loaded(&self, events: &[Event]) -> Option<Entry> {
        let mut is_known = false;
        for event in events {
            match &event.body {
                Body::GrantsLoaded { .. } => is_known = true,
                Body::PermissionGranted { scope_granted: Lasts::Persistent, grant: Some(grant), .. } => {
                    is_known = true;
                    if let Err(error) = self.grants.keep(grant) {
                        tell!("warning: {error}");
                    }
                }
                _ => {}
            }
        }
        let path = self.grants.path();
        let kept = self.grants.read().unwrap_or_else(|error| {
            tell!("warning: no grant of the project holds: can't read `{}`: {error}", path.display());
            Kept::default()
        });
        for (line, why) in &kept.skipped {
            tell!("warning: {}:{line} is skipped: {why}", path.display());
        }
        let now = Timestamp::now();
        let grants: Vec<Grant> = kept.grants.into_iter().filter(|grant| !grant.is_over(now)).collect();
        (is_known || !grants.is_empty()).then(|| Entry { part: Part::root(), body: Body::GrantsLoaded { grants } })
    }

    /// What the run takes from its project's memory, to be put on record; nothing if its brief does not say so, if
    /// there is nothing, or if the agent has heard its orders already.
    ///
    /// `events` is what the journal of the run says so far. What can't be read of the memory is named and left out.
    pub fn memory_inherited(&self, events: &[Event]) -> Option<Entry> {
        let is_past = |event: &Event| {
            matches!(event.body, Body::MemoryInherited { .. } | Body::Message { kind: MessageKind::StandingOrders, .. })
        };
        if !self.brief.inherit_memory || events.iter().any(is_past) {
            return None;
        }
        let project = &self.brief.project;
        let logs = MemoryCategory::ALL.map(|category| {
            let path = self.memory.path(project, category);
            let log = self.memory.log(project, category).unwrap_or_else(|error| {
                let what = format!("can't read `{}`: {error}", path.display());
                tell!("warning: the agent is shown no {category} of the project: {what}");
                Log::default()
            });
            for damaged in log.damaged() {
                let why = visible_line(&damaged.why).into_owned();
                tell!("warning: {}:{} can't be read: {why}", path.display(), damaged.line);
            }
            (category, log)
        });
        let none = Log::default();
        let log_of = |category| logs.iter().find(|(one, _)| *one == category).map_or(&none, |(_, log)| log);
        let inherited = Inherited::of(project.as_str(), log_of);
        if inherited.is_empty() {
            return None;
        }
        let Inherited { project, records, left_out, contradictions } = inherited;
        let body = Body::MemoryInherited { project, records, left_out, contradictions };
        Some(Entry { part: Part::root(), body })
    }

    /// Says so if the recording is not whole.
    pub fn close_recording(&self) {
        if let Some(fault) = self.recording.as_ref().and_then(Recording::fault) {
            tell!("warning: {fault}");
        }
    }

    /// The console of this sitting, its first line said: the version, what is about to happen (such as
    /// `run 2024-05-06-A1`), and who takes the turns. To be called within the runtime.
    ///
    /// # Errors
    ///
    /// If the system lets nobody listen for Ctrl-C.
    pub fn console(&self, doing: &str, json: bool, answers: Option<Answers>) -> anyhow::Result<Arc<Console>> {
        Ok(self.begun(Console::new(Renderer::on_stdout(json), answers)?, doing))
    }

    /// The same with `console`, which nobody is at: for a worker.
    pub fn unattended_console(&self, doing: &str, console: Console) -> Arc<Console> {
        self.begun(console, doing)
    }

    fn begun(&self, console: Console, doing: &str) -> Arc<Console> {
        let (version, agent) = (env!("CARGO_PKG_VERSION"), self.agent_name());
        console.with_renderer(|renderer| renderer.note(&format!("adjutant {version} \u{b7} {doing} \u{b7} {agent}")));
        Arc::new(console)
    }

    /// The agent's adapter and model, for a person.
    fn agent_name(&self) -> String {
        let Some(agent) = self.agents.first() else { return "nobody".to_owned() };
        let note = if agent.id() == "scripted" { "; a script, no model is talking" } else { "" };
        format!("{} ({}{note})", agent.id(), agent.model())
    }

    /// Who plays which role, a line each; nothing for one agent alone.
    pub fn crew(&self) -> Vec<String> {
        let roles = self.options.roles.iter();
        let base = |role: &RoleName| Member::of(role, &self.options.custom_roles).map(|member| member.base);
        let played = roles.filter(|role| !self.options.plans_only || base(role) == Some(Role::Planner)).map(|role| {
            let agent = self.options.role_agents.get(role).unwrap_or(&self.options.agent);
            let place =
                base(role).filter(|base| *role != *base).map(|base| format!(" (as {base})")).unwrap_or_default();
            format!("{role}{place}: {}", agent.name())
        });
        played.collect()
    }

    /// A driver for the run that `journal` holds.
    pub fn driver<'j>(
        &self,
        events: Vec<Event>,
        journal: &'j mut dyn Journal,
        console: &Arc<Console>,
    ) -> Driver<'j, Work> {
        let ports = Ports {
            agents: self.agents.clone(),
            tools: self.tools.clone(),
            operator: console.clone(),
            clock: Arc::new(SystemClock),
            grants: self.grants.clone(),
            hooks: Arc::new(self.hooks.clone()),
            results: if self.options.plain_results { Results::Plain } else { Results::Fenced },
        };
        Driver::new(self.procedure(), events, journal, ports, masks(&self.keys))
    }

    /// The procedure of this run, before any event.
    pub fn procedure(&self) -> Run<Work> {
        procedure(&self.brief, &self.options)
    }
}

/// Where things are for this sitting: rescues go to the home that it has, whatever home the run began with.
fn places(home: &Home, options: &RunOptions) -> Places {
    let runtime_home = std::path::absolute(home.root()).unwrap_or_else(|_| home.root().to_owned());
    Places {
        workdir: options.workdir.clone(),
        home: options.home.clone(),
        runtime_home: runtime_home.display().to_string(),
        project: String::new(),
    }
}

/// The procedure of a run.
pub fn procedure(brief: &Brief, options: &RunOptions) -> Run<Work> {
    adjutant_runtime::work(brief, options, adjutant_tools::catalog())
}

/// The brief that a journal holds, of a run with these roles.
///
/// # Errors
///
/// If this version can't read it any more.
pub fn recorded_brief(text: &str, roles: &CustomRoles) -> anyhow::Result<Brief> {
    brief::read_with(text, roles).brief.context("the brief in the journal can't be read by this version")
}

/// The adapter of this build that a setting names; `mock` is the peer's word for the script.
pub fn adapter(named: &str) -> Option<Adapter> {
    let id = if named == "mock" { scripted::ADAPTER_ID } else { named };
    adjutant_agents::adapters().into_iter().find(|adapter| adapter.id == id)
}

/// Whether what the run may cost can be counted: every agent that costs something has its prices.
///
/// # Errors
///
/// If a limit of dollars would not hold.
pub fn can_hold(options: &RunOptions) -> anyhow::Result<()> {
    let costs = |agent: &AgentOptions| adapter(&agent.adapter).is_some_and(|adapter| adapter.is_paid);
    let has_prices =
        |agent: &AgentOptions| agent.prices.is_some_and(|prices| prices.input.is_some() && prices.output.is_some());
    let lacks = |agent: &&AgentOptions| costs(agent) && !has_prices(agent);
    let agents = options.agents();
    let of_run = agents.iter().find(lacks).filter(|_| options.budget.max_nano_dollars.is_some());
    // Where only a role has such a limit, only those who may play it count.
    let of_role = || {
        let limited = options.role_budgets.iter().filter(|(_, budget)| budget.max_nano_dollars.is_some());
        limited.into_iter().find_map(|(role, _)| {
            let agent = match options.role_agents.get(role) {
                Some(own) => Some(own).filter(lacks),
                None => std::iter::once(&options.agent).chain(&options.fallback).find(lacks),
            };
            Some((agent?, format!(" of the {role}")))
        })
    };
    match of_run.map(|agent| (agent, String::new())).or_else(of_role) {
        Some((agent, whose)) => Err(Failure::usage(format!(
            "a limit of dollars{whose} can't be held: what `{}` costs is not known",
            agent.name()
        ))
        .hint(format!(
            "set `price_input` and `price_output` under `[adapters.{}]`, in dollars for a million tokens",
            agent.adapter
        ))
        .into()),
        None => {
            let limits = options.budget.max_nano_dollars.is_some()
                || options.role_budgets.values().any(|budget| budget.max_nano_dollars.is_some());
            if let Some(day) = agents.iter().filter_map(|agent| agent.prices_listed.as_deref()).max().filter(|_| limits)
            {
                tell!(
                    "note: dollars are estimated by list prices of {day}; `price_input` and `price_output` make them yours"
                );
            }
            Ok(())
        }
    }
}

/// The adapter of this build that a setting names.
///
/// # Errors
///
/// If there is none.
pub fn known_adapter(named: &str) -> anyhow::Result<Adapter> {
    adapter(named).ok_or_else(|| {
        let known: Vec<&str> = adjutant_agents::adapters().iter().map(|adapter| adapter.id).collect();
        Failure::usage(format!("there is no adapter `{named}` in this version"))
            .hint(format!("the adapters are: {}", known.join(", ")))
            .into()
    })
}

/// The agent that `named` says, ready to be asked for turns, with what is to be told of its settings; one that plays a
/// script plays `script`.
fn agent(
    supplies: &Supplies,
    named: &AgentOptions,
    script: Option<&str>,
) -> anyhow::Result<(Arc<dyn Agent>, Vec<String>)> {
    let adapter = known_adapter(&named.adapter)?;
    match adapter.id {
        scripted::ADAPTER_ID => Ok(match script {
            None => (Arc::new(ScriptedAgent::builtin()), Vec::new()),
            Some(path) => {
                let script = Script::read(Path::new(path));
                let script = script.map_err(|error| Failure::of(Ending::Usage, &error, error.hint()))?;
                (Arc::new(ScriptedAgent::new(script)), Vec::new())
            }
        }),
        recorded::ADAPTER_ID => {
            let Some(path) = script else {
                return Err(Failure::usage("the adapter `recorded` needs a recording to play")
                    .hint("name one with --script, made by `adjutant run ... --record FILE`")
                    .into());
            };
            let player = RecordedAgent::read(Path::new(path), own_secrets(&supplies.keys));
            Ok((Arc::new(player.map_err(|error| unplayable(path, &error))?), Vec::new()))
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
            let agent = api_agent(equipment)?;
            let notes = agent.notes();
            Ok((Arc::new(agent), notes))
        }
    }
}

fn unplayable(path: &str, error: &ReadError) -> Failure {
    let failure = Failure::usage(format!("`{path}`: {error}"));
    match error {
        ReadError::Unreadable(_) => failure.hint("name a file that is there with --script"),
        ReadError::NoRecording => failure.hint("a script is played with --adapter scripted"),
        ReadError::Version { .. } => failure.hint("play it with the version that made it"),
        ReadError::Line { .. } => failure,
    }
}

/// An agent over a model API.
///
/// # Errors
///
/// If anything is missing: said before anything is on record.
fn api_agent(equipment: Equipment) -> anyhow::Result<ApiAgent> {
    let id = equipment.adapter.id;
    let agent = adjutant_agents::api_agent(id, equipment.for_api(settings::proxies()?)?)
        .map_err(|unusable| Failure::usage(unusable.to_string()).hint(unusable.hint()))?;
    agent.with_context(|| format!("the adapter `{id}` is listed and can't be used: a fault of this program"))
}

/// The values of the runtime's own secrets are masked wherever they turn up.
fn masks(keys: &Keys) -> Masks {
    Masks::new(own_secrets(keys))
}

/// The runtime's own secrets: those of its environment, of the key file, and the passwords of proxies.
fn own_secrets(keys: &Keys) -> SecretSet {
    // A variable that is no text can't be looked for in text.
    let own =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let own = environment::secrets(own).into_iter();
    // A proxy that can't be used is said where it is needed; a password in its address has a known shape.
    let proxies = settings::proxies().map_or_else(|_| Vec::new(), |proxies| proxies.passwords());
    own.chain(keys.values().map(str::to_owned)).chain(proxies).collect()
}

/// Drives a run while the operator is shown what is in flight, and says at the end how to go on.
///
/// # Errors
///
/// If the journal can't be written any more, or another driver has the run.
pub async fn drive(
    driver: &mut Driver<'_, Work>,
    console: &Console,
    run_id: &str,
    journal: Option<&Path>,
) -> anyhow::Result<Ended> {
    let ended = tokio::select! {
        ended = driver.run() => ended?,
        never = console.keep_status() => match never {},
    };
    console.with_renderer(|renderer| {
        renderer.note("");
        for line in closing(&ended, run_id, journal) {
            renderer.note(&line);
        }
    });
    Ok(ended)
}

/// How a sitting ended, as an exit code. What is open says which.
pub fn ending(ended: &Ended) -> Ending {
    match ended {
        Ended::Finished(outcome) => outcome_ending(*outcome),
        Ended::Interrupted => Ending::Interrupted,
        Ended::Sleeping(_) => Ending::Waiting,
        Ended::Waiting(open) => {
            let is_open = |kind| open.iter().any(|(_, question)| question.kind == kind);
            if is_open(QuestionKind::Failure) {
                Ending::Failed
            } else if is_open(QuestionKind::Limit) {
                Ending::LimitReached
            } else if is_open(QuestionKind::Blocker) {
                Ending::Blocked
            } else {
                Ending::Waiting
            }
        }
    }
}

/// The exit code of a run that is over.
pub const fn outcome_ending(outcome: Outcome) -> Ending {
    match outcome {
        Outcome::Completed => Ending::Done,
        Outcome::Declined | Outcome::Stopped => Ending::Declined,
        Outcome::Failed => Ending::Failed,
    }
}

/// What is said at the end of a sitting: how it ended, where the journal is, how to go on.
fn closing(ended: &Ended, run_id: &str, journal: Option<&Path>) -> Vec<String> {
    let mut lines = vec![match ended {
        Ended::Finished(Outcome::Completed) => format!("run {run_id}: completed"),
        Ended::Finished(Outcome::Declined) => format!("run {run_id}: declined; nothing was done"),
        Ended::Finished(Outcome::Stopped) => format!("run {run_id}: stopped"),
        Ended::Finished(Outcome::Failed) => format!("run {run_id}: failed"),
        Ended::Interrupted => format!("run {run_id}: interrupted"),
        Ended::Waiting(open) => format!("run {run_id}: waiting ({})", kinds(open)),
        Ended::Sleeping(until) => format!("run {run_id}: sleeps until {}", wire::timestamp(*until)),
    }];
    let Some(journal) = journal else { return lines };
    match ended {
        Ended::Finished(_) => lines.push(format!("look at it: adjutant inspect {run_id}")),
        Ended::Interrupted => lines.push(format!("go on: adjutant resume {run_id}")),
        Ended::Sleeping(_) => {
            lines.push(format!("a worker goes on with it then; to try again now: adjutant resume {run_id}"));
        }
        Ended::Waiting(open) => lines.push(match open.first().map(|(_, question)| (question.kind, question)) {
            Some((QuestionKind::Blocker, _)) => {
                format!("go on: adjutant resume {run_id} --context \"what the agent should know\"")
            }
            Some((QuestionKind::Limit, question)) => {
                let what = question.options.first().map(|offer| offer.changes.as_str()).unwrap_or_default();
                let amount = if what.contains("steps") { "10" } else { "N" };
                format!("go on: adjutant resume {run_id} --extend {amount} ({what})")
            }
            _ => format!("go on: adjutant resume {run_id}"),
        }),
    }
    lines.push(format!("journal: {}", journal.display()));
    lines
}

fn kinds(open: &[(Key, Question)]) -> String {
    open.iter().map(|(_, question)| question.kind.as_str()).collect::<Vec<_>>().join(", ")
}

/// The runtime that a sitting runs on. One thread: whatever takes long runs in processes of its own.
///
/// # Errors
///
/// If the system gives no event queue.
pub fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("can't start the runtime")
}

/// A path as it is shown: below the home folder with `~`.
pub fn shown(path: &Path) -> PathBuf {
    match std::env::home_dir().and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned)) {
        Some(below) => Path::new("~").join(below),
        None => path.to_owned(),
    }
}
