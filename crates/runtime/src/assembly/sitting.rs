//! A run that is put together: its agents, tools and journal, ready for a driver as soon as an operator is there.
//!
//! Made by [`begin`](super::begin()) or [`take_over`](super::take_over()). [`Sitting::driver`] gives the driver, and
//! the [`Opening`] that is to be recorded before anything is decided.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_agents::Recording;
use adjutant_agents::recorded::Existing;
use adjutant_core::brief::{self, Brief};
use adjutant_core::gate::custom_role::CustomRoles;
use adjutant_core::gate::grant_line::Kept;
use adjutant_core::gate::secrets::SecretSet;
use adjutant_core::gate::shell::Programs;
use adjutant_core::gate::{Grant, Places};
use adjutant_core::memory::{Inherited, Log, MemoryCategory};
use adjutant_core::procedure::run::Run;
use adjutant_core::trace::{Body, Entry, Event, GateEvent, HostEvent, LearnedEvent, RunEvent, RunOptions, TurnEvent};
use adjutant_core::words::id::{BriefId, RunId};
use adjutant_core::words::tool::{OfferedTools, ToolSpecs};
use adjutant_core::words::visible::visible_line;
use adjutant_core::words::{Lasts, MessageKind, Part};
use adjutant_core::work::Work;
use adjutant_host::hooks::HookRunner;
use adjutant_host::http::Hosts;
use adjutant_host::sandbox::SelfTest;
use adjutant_ports::{Agent, Clock, Heard, NoOtherWorkspaces, Operator, Tools};
use adjutant_store::{FileJournal, GrantFile, Home, MemoryStore};
use adjutant_tools::{NativeTools, Options, ProjectMemory, Shell};
use jiff::Timestamp;

use super::agents::{AgentError, agent};
use super::equipment::Supplies;
use super::folder::EnteredFolder;
use super::remark::Remark;
use super::sandbox::{self, SandboxPlan, TriedSandbox};
use super::settings::RunSettings;
use super::surroundings::Surroundings;
use super::unready::Unready;
use crate::{DriveError, Driver, Folded, Masks, Ports, Results};

/// The clock of this machine.
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A run that is put together, from here to its end or to where it is let go.
pub struct Sitting {
    opened: Opened,
    equipped: Equipped,
    /// Held until the sitting ends.
    folder: Option<EnteredFolder>,
    /// The events that come before those about sandbox, grants, memory and folder.
    first: Vec<Body>,
}

/// The entries that go on record before anything is decided: the beginning of a run, or that it was taken over, and what
/// was found of sandbox, grants, memory and folder.
#[must_use = "a run goes on only after its opening is on record"]
pub struct Opening(Vec<Entry>);

impl Opening {
    /// Records the opening, then what came while no process drove the run: messages, and answers that came with the
    /// word to go on.
    ///
    /// # Errors
    ///
    /// [`DriveError`] if the journal can't be written or must not hold it.
    pub fn record(
        self,
        driver: &mut Driver<'_, Work>,
        heard: Vec<Heard>,
        answers: Vec<Entry>,
    ) -> Result<(), DriveError> {
        for entry in self.0 {
            driver.append(entry)?;
        }
        for heard in heard {
            driver.hear(heard)?;
        }
        for entry in answers {
            driver.append(entry)?;
        }
        Ok(())
    }
}

/// Everything that a driver needs besides journal and operator.
pub(super) struct Equipped {
    brief: Brief,
    options: RunOptions,
    agents: Vec<Arc<dyn Agent>>,
    tools: Arc<NativeTools>,
    hooks: HookRunner,
    secrets: SecretSet,
    recording: Option<Recording>,
    sandbox: Option<SelfTest>,
    grants: Arc<GrantFile>,
    memory: MemoryStore,
}

/// The things that agents and tools of a run are made from.
pub(super) struct Needs<'a> {
    pub(super) home: &'a Home,
    pub(super) surroundings: &'a Surroundings,
    pub(super) brief: Brief,
    pub(super) brief_id: &'a BriefId,
    pub(super) options: RunOptions,
    pub(super) settings: RunSettings,
}

impl Equipped {
    /// Opens the workdir and makes the agents ready, before anything is on record.
    ///
    /// # Errors
    ///
    /// If the adapter, its script, the workdir or a sandbox that is required is not there, or the key file can't be
    /// relied on: also where no key is needed, since its keys could not be masked.
    pub(super) async fn with(needs: Needs<'_>, tell: &dyn Fn(Remark)) -> Result<Self, Unready> {
        let Needs { home, surroundings, brief, brief_id, options, settings } = needs;
        let environment = &surroundings.environment;
        let supplies = Supplies::new(home, settings.adapters, surroundings)?;
        for stranger in supplies.strangers() {
            tell(Remark::Warning(stranger));
        }
        let mut notes = BTreeSet::new();
        let agents = options.agents().into_iter().map(|named| {
            let (agent, told) = agent(&supplies, &named, options.script.as_deref(), environment)?;
            notes.extend(told);
            Ok(agent)
        });
        let agents = agents.collect::<Result<_, AgentError>>()?;
        for note in &notes {
            tell(Remark::Note(visible_line(note).into_owned()));
        }
        let workdir = Path::new(&options.workdir);
        let config = &settings.sandbox;
        let plan = SandboxPlan {
            config,
            workdir,
            // Not the recorded places: the homes to be guarded are those of this machine now.
            home: &environment.variable("HOME").unwrap_or_default(),
            runtime_home: home.root(),
            deny_read: options.deny_read.clone(),
            environment,
        };
        let TriedSandbox { sandbox, found } = sandbox::tried(&plan, options.no_shell, tell).await?;
        let secrets = environment.secrets(&supplies.keys);
        let tools = NativeTools::open(
            workdir,
            Options {
                shell: if options.no_shell { Shell::Disabled } else { Shell::Enabled },
                hosts: Hosts::load(&home.root().join("http-allow.json")),
                environment: environment.all().collect(),
                variables: sandbox::variables(config)?,
                sandbox,
            },
        )
        .map_err(|source| Unready::Workdir { workdir: options.workdir.clone(), source })?
        .with_rescue(places(home, &options), Programs::recorded(&options.programs, options.command_rules()))
        .with_memory(ProjectMemory {
            memory: Arc::new(MemoryStore::new(home.clone())),
            clock: Arc::new(SystemClock),
            project: brief.project.clone(),
            brief_id: brief_id.to_string(),
            secrets: secrets.clone(),
        });
        Ok(Self {
            agents,
            tools: Arc::new(tools),
            hooks: HookRunner::new(PathBuf::from(&options.runtime_home), environment.all()),
            secrets,
            recording: None,
            sandbox: found,
            grants: Arc::new(GrantFile::new(home.project(&brief.project))),
            memory: MemoryStore::new(home.clone()),
            brief,
            options,
        })
    }

    /// Has nothing kept of what calls may destroy: for a run of which nothing stays.
    pub(super) fn keep_nothing(&mut self) {
        self.tools =
            Arc::new(NativeTools::clone(&self.tools).with_rescue(Places::default(), Arc::clone(Programs::builtin())));
    }

    /// Has every exchange with the agents recorded in a file from here on.
    ///
    /// # Errors
    ///
    /// If the file can't be written, or holds something that is not to be overwritten.
    pub(super) fn record(&mut self, path: &Path, existing: Existing) -> Result<(), Unready> {
        let first = self.agents.first().expect("a run's options name at least one agent");
        let recording = Recording::open(&**first, path, existing, self.secrets.clone()).map_err(Unready::Recording)?;
        for agent in &mut self.agents {
            *agent = Arc::new(recording.of(agent.clone()));
        }
        self.recording = Some(recording);
        Ok(())
    }

    pub(super) fn brief(&self) -> &Brief {
        &self.brief
    }

    pub(super) fn options(&self) -> &RunOptions {
        &self.options
    }

    /// Returns all tools that can be offered.
    pub(super) fn tools(&self) -> ToolSpecs {
        self.tools.specs()
    }

    /// Makes the event of what was found of the sandbox; `None` where commands are switched off.
    fn sandbox_report(&self) -> Option<Body> {
        Some(sandbox::report(self.sandbox.as_ref()?))
    }

    /// Makes the event of the grants that the project keeps; `None` if there is none and never was.
    ///
    /// `events` is what the journal of the run says so far. A file that can't be read grants nothing.
    fn grants_loaded(&self, events: &[Event], tell: &dyn Fn(Remark)) -> Option<Body> {
        let is_known = events.iter().any(|event| match &event.body {
            Body::Gate(GateEvent::GrantsLoaded { .. }) => true,
            Body::Gate(GateEvent::PermissionGranted { scope_granted, .. }) => *scope_granted == Lasts::Persistent,
            _ => false,
        });
        let path = self.grants.path();
        let kept = self.grants.read().unwrap_or_else(|error| {
            let path = path.display();
            tell(Remark::Warning(format!("no grant of the project holds: can't read `{path}`: {error}")));
            Kept::default()
        });
        for (line, why) in &kept.skipped {
            tell(Remark::Warning(format!("{}:{line} is skipped: {why}", path.display())));
        }
        let now = Timestamp::now();
        let grants: Vec<Grant> = kept.grants.into_iter().filter(|grant| !grant.is_over(now)).collect();
        (is_known || !grants.is_empty()).then_some(Body::Gate(GateEvent::GrantsLoaded { grants }))
    }

    /// Makes the event of what the run takes from its project's memory; `None` if its brief does not say so, if there is
    /// nothing, or if the agent has heard its orders already.
    ///
    /// `events` is what the journal of the run says so far. What can't be read of the memory is named and left out.
    fn memory_inherited(&self, events: &[Event], tell: &dyn Fn(Remark)) -> Option<Body> {
        let is_past = |event: &Event| {
            matches!(
                event.body,
                Body::Learned(LearnedEvent::MemoryInherited { .. })
                    | Body::Turn(TurnEvent::Message { kind: MessageKind::StandingOrders, .. })
            )
        };
        if !self.brief.inherit_memory || events.iter().any(is_past) {
            return None;
        }
        let project = &self.brief.project;
        let logs = MemoryCategory::ALL.map(|category| {
            let path = self.memory.path(project, category);
            let log = self.memory.log(project, category).unwrap_or_else(|error| {
                let what = format!("can't read `{}`: {error}", path.display());
                tell(Remark::Warning(format!("the agent is shown no {category} of the project: {what}")));
                Log::default()
            });
            for damaged in log.damaged() {
                let (path, why) = (path.display(), visible_line(&damaged.why));
                tell(Remark::Warning(format!("{path}:{} can't be read: {why}", damaged.line)));
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
        Some(Body::Learned(LearnedEvent::MemoryInherited { project, records, left_out, contradictions }))
    }

    fn ports(&self, operator: Arc<dyn Operator>) -> Ports {
        Ports {
            agents: self.agents.clone(),
            tools: self.tools.clone(),
            workspaces: Arc::new(NoOtherWorkspaces),
            operator,
            clock: Arc::new(SystemClock),
            grants: self.grants.clone(),
            hooks: Arc::new(self.hooks.clone()),
            results: results(&self.options),
        }
    }
}

/// The journal of a run, as it was made or found.
pub(super) struct Opened {
    pub(super) run_id: RunId,
    pub(super) journal: FileJournal,
    /// Its events, until a driver takes them: all, or those that are kept beside `folded`.
    pub(super) events: Vec<Event>,
    /// The run after all its events; `None` if it is yet to be folded.
    pub(super) folded: Option<Folded<Work>>,
    /// The bytes of an unfinished last line that were cut off it.
    pub(super) torn_bytes: u64,
}

/// Returns true if the event is needed to put its run together, beside the fold of all.
pub(super) fn is_kept(event: &Event) -> bool {
    matches!(
        event.body,
        Body::Run(_)
            | Body::Gate(GateEvent::GrantsLoaded { .. } | GateEvent::PermissionGranted { .. })
            | Body::Learned(_)
            | Body::Turn(TurnEvent::Message { kind: MessageKind::StandingOrders, .. })
    )
}

impl Sitting {
    /// A sitting that has `first` put on record before all else.
    pub(super) fn of(opened: Opened, equipped: Equipped, folder: Option<EnteredFolder>, first: Vec<Body>) -> Self {
        Self { opened, equipped, folder, first }
    }

    /// The run.
    #[must_use]
    pub fn run_id(&self) -> &RunId {
        &self.opened.run_id
    }

    /// Its options, as they go on record.
    #[must_use]
    pub fn options(&self) -> &RunOptions {
        &self.equipped.options
    }

    /// The secrets that are masked wherever they are shown.
    #[must_use]
    pub fn secrets(&self) -> &SecretSet {
        &self.equipped.secrets
    }

    /// The agents: the run's own, those to fall back on, those of single roles.
    #[must_use]
    pub fn agents(&self) -> &[Arc<dyn Agent>] {
        &self.equipped.agents
    }

    /// The file of its journal.
    #[must_use]
    pub fn journal_path(&self) -> &Path {
        self.opened.journal.path()
    }

    /// The events in the journal, at least those of the run as a whole. Empty once there is a driver.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.opened.events
    }

    /// The bytes of an unfinished last line that were cut off the journal.
    #[must_use]
    pub fn torn_bytes(&self) -> u64 {
        self.opened.torn_bytes
    }

    /// A driver for the run, asking `operator`, and what is to go on record first. To be called once.
    pub fn driver(&mut self, operator: Arc<dyn Operator>, tell: &dyn Fn(Remark)) -> (Driver<'_, Work>, Opening) {
        let equipped = &self.equipped;
        let events = std::mem::take(&mut self.opened.events);
        let found = [
            equipped.sandbox_report(),
            equipped.grants_loaded(&events, tell),
            equipped.memory_inherited(&events, tell),
        ];
        let found = found.into_iter().flatten();
        let beside =
            self.folder.iter().flat_map(EnteredFolder::beside).map(|text| Body::Host(HostEvent::Warning { text }));
        let mut opening = std::mem::take(&mut self.first);
        // The order is a promise to those who compare journals.
        if events.is_empty() {
            opening.extend(beside);
            opening.extend(found);
        } else {
            opening.extend(found);
            opening.extend(beside);
        }
        let opening = Opening(opening.into_iter().map(|body| Entry { part: Part::root(), body }).collect());
        let folded = self.opened.folded.take().unwrap_or_else(|| {
            // A run that only begins has them on record with its first event.
            let now = events.is_empty().then(|| OfferedTools::of(&equipped.tools()));
            let offered = now.as_ref().or_else(|| began_with(&events));
            let procedure = procedure(&equipped.brief, &equipped.options, offered);
            Folded::new(procedure, results(&equipped.options)).after(events)
        });
        let masks = Masks::new(equipped.secrets.clone());
        let driver = Driver::after(folded, &mut self.opened.journal, equipped.ports(operator), masks);
        (driver, opening)
    }

    /// Ends the sitting: gives back the room that its journal had taken, and leaves the folder.
    ///
    /// # Errors
    ///
    /// If the journal's room can't be given back.
    pub fn close(self) -> io::Result<()> {
        self.opened.journal.close()
    }

    /// Says why the recording of the exchanges is not whole, if it isn't.
    #[must_use]
    pub fn recording_fault(&self) -> Option<String> {
        self.equipped.recording.as_ref().and_then(Recording::fault)
    }
}

/// Returns the places of this sitting: rescues go to the home that it has, whatever home the run began with.
fn places(home: &Home, options: &RunOptions) -> Places {
    let runtime_home = std::path::absolute(home.root()).unwrap_or_else(|_| home.root().to_owned());
    Places {
        workdir: options.workdir.clone(),
        home: options.home.clone(),
        runtime_home: runtime_home.display().to_string(),
        project: String::new(),
    }
}

/// Returns the form in which results of tools are sent to the agents of a run.
pub(super) fn results(options: &RunOptions) -> Results {
    if options.plain_results { Results::Plain } else { Results::Fenced }
}

/// Returns the tools that a run was offered when it began; `None` if they are not on record.
pub(super) fn began_with(events: &[Event]) -> Option<&OfferedTools> {
    events.iter().find_map(|event| match &event.body {
        Body::Run(RunEvent::RunStart(start)) => start.offered.as_deref(),
        _ => None,
    })
}

/// The procedure of a run, before any event. The tools are those that it was offered when it began; a run that has none on
/// record has those that there were before runs recorded them.
#[must_use]
pub fn procedure(brief: &Brief, options: &RunOptions, offered: Option<&OfferedTools>) -> Run<Work> {
    crate::work(brief, options, offered.map_or_else(adjutant_tools::catalog_before_records, OfferedTools::specs))
}

/// The brief that a journal holds, of a run with these roles.
///
/// # Errors
///
/// [`Unready::UnreadableBrief`] if this version can't read it any more.
pub fn recorded_brief(text: &str, roles: &CustomRoles) -> Result<Brief, Unready> {
    brief::read_with(text, roles).brief.ok_or(Unready::UnreadableBrief)
}
