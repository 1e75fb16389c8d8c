//! The driver: one run, from where its journal stands to its end or to a question that nobody is there
//! to answer.
//!
//! Of several things at once the operator's messages come first, then outcomes, then timers. Nothing
//! begins before its intent is in the journal, and an intent whose effect is more than a read is on the
//! disk before it begins. A call is looked at, and what it may destroy is kept, while everything else goes on and begins;
//! then it is asked for anew whether it is still wanted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use adjutant_core::gate::custody::FolderChange;
use adjutant_core::gate::secrets;
use adjutant_core::inbox::mailbox::Closing;
use adjutant_core::inbox::worker::SLEEP_OVER_MS;
use adjutant_core::procedure::run::Run;
use adjutant_core::procedure::{Begun, Breach, Command, Drive, Orphan, Procedure, SharedFacts as _, Step, Want};
use adjutant_core::session::sentences;
use adjutant_core::session::transcript::Transcript;
use adjutant_core::trace::{
    AskEvent, Body, CallEvent, Entry, Event, GateEvent, HostEvent, PartEvent, RunEvent, TurnEvent, offered_on_record,
};
use adjutant_core::words::id::WorkspaceId;
use adjutant_core::words::tool::{FileChange, OfferedTools, ToolCall, ToolEffect, ToolSpecs};
use adjutant_core::words::{InterruptedEffect, Key, Outcome, Part, PhaseName, Question};
use adjutant_ports::{
    Agent, Answered, AppendError, CancellationToken, Clock, Durability, GrantStore, Heard, Hooks, Journal, Operator,
    Prepared, Progress, Settled, Tools, Workspaces,
};
use jiff::{SignedDuration, Timestamp};
use thiserror::Error;
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior};

use crate::agent_past::AgentPast;
use crate::flight::{self, Landed, Landing, Readied};
use crate::in_flight::{self, Flown, InFlight};
use crate::masking::Masks;
use crate::request::{Asked, Outbox};
use crate::rescue;

/// The interval at which a driver says that it is alive: a third of the lease, so that two may be missed.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// The ports to the outside world that a driver needs.
#[derive(Clone)]
pub struct Ports {
    /// Take the turns: the run's own agent, then those to fall back on, in the order of its options.
    pub agents: Vec<Arc<dyn Agent>>,
    /// Carries out the calls in the run's own workspace.
    pub tools: Arc<dyn Tools>,
    /// Has the tools of other workspaces.
    pub workspaces: Arc<dyn Workspaces>,
    /// Asks the guard hooks.
    pub hooks: Arc<dyn Hooks>,
    /// Answers the questions.
    pub operator: Arc<dyn Operator>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Keeps the grants that outlive a run, and knows those that were revoked.
    pub grants: Arc<dyn GrantStore>,
    /// The form in which results of tools are sent to the agents.
    pub results: Results,
}

/// Drives one run.
pub struct Driver<'j, P: Procedure> {
    drive: Drive<P>,
    journal: &'j mut dyn Journal,
    ports: Ports,
    masks: Arc<Masks>,
    specs: ToolSpecs,
    /// The tools as they were offered last before this driver; `None` if they are not on record.
    offered_before: Option<ToolSpecs>,
    /// The past of the run as its agents know it.
    past: AgentPast,
    /// The messages sent so far, of each part that has not ended.
    outboxes: BTreeMap<Part, Outbox>,
    /// Calls whose arguments the journal has masked, as they were; gone with this process.
    unmasked: BTreeMap<(Part, u32), ToolCall>,
    flight: InFlight,
    cancels: BTreeMap<Key, CancellationToken>,
    /// The call that is being prepared. One at a time is: what the next one would do depends on what this one does.
    preparing: Option<WantedCall>,
    /// The call that may begin, if it is still wanted.
    readied: Option<(WantedCall, Readied)>,
    /// Questions that nobody is there to answer.
    parked: BTreeSet<Key>,
    /// The run's id, once its beginning is on record.
    run_id: Option<String>,
    /// Number of turns taken in the run.
    turns: usize,
    standing: Standing,
    /// True if the run is let go where it has long to wait: somebody takes it up again when the wait is over.
    lets_sleep: bool,
    /// The branch or commit that was checked out when an agent was asked, while it is at work; then nothing of the run changes it.
    checked_out: Option<Option<String>>,
}

/// Activity of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Something is, or was a moment ago.
    AtWork,
    /// Nothing is: the run waits for its operator, or was taken up just now.
    Still,
}

/// A call, with the key under which it is wanted.
#[derive(Debug, Clone, PartialEq)]
struct WantedCall {
    key: Key,
    call: Arc<ToolCall>,
    workspace: Option<WorkspaceId>,
}

/// The form in which results of tools are sent to an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Results {
    /// Below a line that says where they come from, between fences.
    #[default]
    Fenced,
    /// As they are.
    Plain,
}

/// Returns true if the command does or reads something in the folder, by itself or by the agent that it asks.
fn is_work(command: &Command) -> bool {
    match command {
        Command::Turn { .. } | Command::Call { .. } | Command::Hook(_) | Command::Look { .. } => true,
        Command::Keep(_) | Command::Ask(_) | Command::Wait { .. } => false,
    }
}

/// The end of a driver's work.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    /// The run is over.
    Finished(Outcome),
    /// These questions are open, and nobody is there to answer them.
    Waiting(Vec<(Key, Question)>),
    /// The run waits for a provider until this time, and is let go for so long.
    Sleeping(Timestamp),
    /// The operator interrupted the run; it goes on when it is resumed.
    Interrupted,
}

/// The reason why a driver stopped.
#[derive(Debug, Error)]
pub enum DriveError {
    /// The journal could not be written.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// A procedure broke the rules: a bug of ours.
    #[error("internal error: {0}")]
    Broken(#[from] Breach),
    /// A part works in a workspace that isn't there.
    #[error("there is no workspace `{0}` any more; make it again, or stop the run with `adjutant stop`")]
    NoSuchWorkspace(WorkspaceId),
    /// A procedure asks for an agent that the run doesn't have: a bug of ours.
    #[error("internal error: the run asks for its agent {number}, and has {agents}")]
    NoSuchAgent {
        /// The number of the agent, from 1.
        number: u64,
        /// Number of agents of the run.
        agents: usize,
    },
}

impl<'j, P: Procedure> Driver<'j, P> {
    /// A driver for the run that `journal` holds. `events` is what the journal says so far.
    pub fn new(run: Run<P>, events: Vec<Event>, journal: &'j mut dyn Journal, ports: Ports, masks: Masks) -> Self {
        let specs = ports.tools.specs();
        let past = AgentPast::new(ports.results);
        let mut driver = Self {
            drive: Drive::new(run),
            journal,
            ports,
            masks: Arc::new(masks),
            specs,
            offered_before: offered_on_record(&events).map(OfferedTools::specs),
            past,
            outboxes: BTreeMap::new(),
            unmasked: BTreeMap::new(),
            flight: InFlight::default(),
            cancels: BTreeMap::new(),
            preparing: None,
            readied: None,
            parked: BTreeSet::new(),
            run_id: None,
            turns: 0,
            // Somebody else may have been at work since its last driver.
            standing: if events.is_empty() { Standing::AtWork } else { Standing::Still },
            lets_sleep: false,
            checked_out: None,
        };
        driver.fold_all(events);
        driver
    }

    /// Ends the driver of a process that is about to end itself. What is remembered of a long run is left to the system,
    /// which takes it back at once: to free it message by message takes as long as it took to fold it.
    pub fn leave(self) {
        std::mem::forget((self.drive, self.past));
    }

    /// From here on the run is let go where all that is open is a wait of more than [`SLEEP_OVER_MS`], or a question
    /// that nobody is there to answer. For whoever looks at runs again when a wait is over: a worker.
    pub fn let_sleep(&mut self) {
        self.lets_sleep = true;
    }

    /// The work of the run, as the journal has it so far.
    #[must_use]
    pub fn work(&self) -> &P {
        self.drive.run().child()
    }

    /// Appends an event that no procedure decides: a run's beginning, its taking over, an answer that was
    /// given on the command line.
    ///
    /// # Errors
    ///
    /// [`DriveError`] if the journal can't be written or must not hold it.
    pub fn append(&mut self, entry: Entry) -> Result<(), DriveError> {
        self.drive.ledger().check(&entry)?;
        self.write(entry)
    }

    /// The questions that are open.
    #[must_use]
    pub fn open_questions(&self) -> Vec<(Key, Question)> {
        let question = |begun: &Begun| match begun {
            Begun::Question(question) => Some(question.clone()),
            _ => None,
        };
        self.drive.ledger().open().filter_map(|(key, open)| Some((key.clone(), question(&open.begun)?))).collect()
    }

    /// Takes up what an earlier driver left in flight: questions and timers go on, interrupted writes are
    /// settled by looking, everything else is recorded as interrupted. To be called once, before
    /// [`Driver::run`].
    ///
    /// # Errors
    ///
    /// [`DriveError`] if the journal can't be written.
    pub async fn recover(&mut self) -> Result<(), DriveError> {
        let (specs, offered) = (self.specs.clone(), self.offered_before.clone());
        let says_so =
            |specs: &ToolSpecs, name: &str| specs.iter().any(|tool| tool.name == name && tool.effect.is_repeatable());
        let workspaces = self.ports.workspaces.clone();
        let is_repeatable = |workspace: Option<&WorkspaceId>, name: &str| match workspace {
            // What the call did was done by the version that offered it.
            None => says_so(&specs, name) && offered.as_ref().is_none_or(|offered| says_so(offered, name)),
            Some(workspace) => workspaces.tools(workspace).is_some_and(|tools| says_so(&tools.specs(), name)),
        };
        let mut waiting = Vec::new();
        for (key, orphan) in self.drive.orphans(is_repeatable) {
            let slot = key.slot;
            let body = match orphan {
                Orphan::Reattach => {
                    waiting.push(key);
                    continue;
                }
                Orphan::Repeatable => Body::Call(CallEvent::Interrupted { slot, effect: InterruptedEffect::None }),
                Orphan::Unknown => Body::Call(CallEvent::Interrupted { slot, effect: InterruptedEffect::Unknown }),
                // A masked path is another one than that which may have been written.
                Orphan::Settle { changes, .. } if changes.iter().any(|change| secrets::is_masked(&change.path)) => {
                    Body::Call(CallEvent::Interrupted { slot, effect: InterruptedEffect::Unknown })
                }
                // Nobody can look into a workspace that is gone.
                Orphan::Settle { changes, workspace } => match self.tools_in(workspace.as_ref()) {
                    Ok(tools) => self.settle(&key, changes, tools).await?,
                    Err(_) => Body::Call(CallEvent::Interrupted { slot, effect: InterruptedEffect::Unknown }),
                },
            };
            self.append(Entry { part: key.part, body })?;
        }
        waiting.iter().for_each(|key| self.reattach(key));
        Ok(())
    }

    /// Looks whether an interrupted call was made, in a task of its own.
    async fn settle(&mut self, key: &Key, changes: Vec<FileChange>, tools: Arc<dyn Tools>) -> Result<Body, DriveError> {
        let (slot, looked_for) = (key.slot, changes.clone());
        let mut looking = JoinSet::new();
        looking.spawn(async move { tools.settle(&looked_for).await });
        let settled = match looking.join_next().await.expect("one was spawned") {
            Ok(settled) => settled,
            Err(error) => {
                self.tell_of_panic(key, &in_flight::said(error))?;
                Settled::Unknown
            }
        };
        Ok(match settled {
            Settled::Made => flight::settled(slot, &changes),
            Settled::NotMade => Body::Call(CallEvent::Interrupted { slot, effect: InterruptedEffect::None }),
            Settled::Unknown => Body::Call(CallEvent::Interrupted { slot, effect: InterruptedEffect::Unknown }),
        })
    }

    /// Drives the run until it ends, is interrupted, or waits for someone who is not there.
    ///
    /// # Errors
    ///
    /// [`DriveError`] if the journal can't be written any more, or another driver has the run.
    pub async fn run(&mut self) -> Result<Ended, DriveError> {
        let mut keep_alive = tokio::time::interval(KEEP_ALIVE);
        keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            self.take_in_revocations()?;
            match self.step() {
                Step::Record(entry) => self.write(entry)?,
                Step::Begin(want) if self.standing == Standing::Still && is_work(&want.command) => self.go_on().await?,
                Step::Begin(want) if is_work(&want.command) && self.is_elsewhere()? => {}
                Step::Begin(want) => self.begin(want)?,
                Step::Abort(key) => self.abort(key)?,
                // It would go on keeping files for a run that is over.
                Step::Finished(_) if self.preparing.is_some() => {
                    let landing = self.flight.next().await;
                    landing.map_or(Ok(()), |landing| self.land(landing))?;
                }
                Step::Finished(outcome) => {
                    self.forget_standstill().await;
                    return Ok(Ended::Finished(outcome));
                }
                Step::Broken(breach) => return Err(breach.into()),
                Step::Await if self.is_idle() => {
                    self.stand_still().await;
                    return Ok(match (self.open_questions(), self.drive.ledger().next_deadline()) {
                        (open, _) if !open.is_empty() => Ended::Waiting(open),
                        (_, Some((until, _))) => Ended::Sleeping(until),
                        (_, None) => Ended::Interrupted,
                    });
                }
                Step::Await => {
                    self.stand_still().await;
                    self.next_happening(&mut keep_alive).await?;
                }
            }
        }
    }

    /// Returns the next step beside the calls that wait for another one to be prepared and begun.
    fn step(&mut self) -> Step {
        let step = self.drive.step_besides(|want| self.must_wait(want));
        if step == Step::Await && self.readied.take().is_some() {
            // It is not wanted any more. What was found out for it may be otherwise when it is wanted again.
            return self.drive.step();
        }
        step
    }

    /// Returns true if a call can't begin before the one that is being prepared, or was: what it would do depends on
    /// what that one does.
    fn must_wait(&self, want: &Want) -> bool {
        let Want { key, command: Command::Call { call, workspace, .. } } = want else { return false };
        let is_other = |(ready, _): &(WantedCall, Readied)| ready.key != *key || ready.call != *call;
        !self.reads(workspace.as_ref(), &call.name)
            && (self.preparing.is_some() || self.readied.as_ref().is_some_and(is_other))
    }

    /// Waits for the next thing that happens, and takes note of it.
    async fn next_happening(&mut self, keep_alive: &mut Interval) -> Result<(), DriveError> {
        let operator = self.ports.operator.clone();
        let deadline = self.until_deadline();
        tokio::select! {
            biased;
            message = operator.message() => self.told(message),
            Some(landing) = self.flight.next() => self.land(landing),
            () = tokio::time::sleep(deadline.unwrap_or(Duration::MAX)), if deadline.is_some() => self.expire(),
            _ = keep_alive.tick() => Ok(self.journal.keep_alive(self.ports.clock.now())?),
        }
    }

    /// Keeps how the folder is, if nothing of the run is at work from now on: all that is open waits for an operator.
    async fn stand_still(&mut self) {
        // A short wait of its own is no time in which anybody else comes.
        let is_let_go = self.lets_sleep && self.is_idle();
        let waits = |begun: &Begun| matches!(begun, Begun::Question(_)) || is_let_go;
        if self.standing == Standing::AtWork
            && self.preparing.is_none()
            && let Some(run) = &self.run_id
            && self.drive.ledger().open().all(|(_, open)| waits(&open.begun))
        {
            self.ports.tools.stand_still(run).await;
            self.standing = Standing::Still;
        }
    }

    /// Puts on record what others changed in the folder while the run stood still, before anything of it begins.
    async fn go_on(&mut self) -> Result<(), DriveError> {
        self.standing = Standing::AtWork;
        let Some(run) = &self.run_id else { return Ok(()) };
        match self.ports.tools.go_on(run).await {
            Some(change) => {
                self.checked_out = None;
                self.folder_changed(change)
            }
            None => Ok(()),
        }
    }

    fn folder_changed(&mut self, change: FolderChange) -> Result<(), DriveError> {
        let FolderChange { paths, more, head_before, head_now } = change;
        let body = Body::Host(HostEvent::FolderChanged { paths, more, head_before, head_now });
        self.write(Entry { part: Part::root(), body })
    }

    /// Puts on record that somebody checked out something else while an agent was asked; says whether somebody did.
    fn is_elsewhere(&mut self) -> Result<bool, DriveError> {
        let Some(before) = self.checked_out.take() else { return Ok(false) };
        match FolderChange::of(Vec::new(), before, self.ports.tools.checked_out()) {
            Some(change) => self.folder_changed(change).map(|()| true),
            None => Ok(false),
        }
    }

    /// A run that is over goes on no more: how the folder was is of no use to anybody.
    async fn forget_standstill(&mut self) {
        if self.standing == Standing::Still
            && let Some(run) = &self.run_id
        {
            drop(self.ports.tools.go_on(run).await);
        }
    }

    /// Returns true if nothing is in flight but questions that nobody is there to answer, and long waits where the run may be
    /// let go. A deadline that is still to come keeps nobody here: whoever takes the run up later keeps it.
    fn is_idle(&self) -> bool {
        let now = self.ports.clock.now();
        let sleeps = |deadline: Timestamp| {
            self.lets_sleep && deadline.duration_since(now).as_millis() > i128::from(SLEEP_OVER_MS)
        };
        let keeps = |(key, begun, deadline): (&Key, &Begun, Timestamp)| match begun {
            Begun::Timer => !sleeps(deadline),
            _ => !self.parked.contains(key) || deadline <= now,
        };
        let deadlines = self.drive.ledger().open().filter_map(|(key, open)| Some((key, &open.begun, open.deadline?)));
        self.flight.is_empty() && !deadlines.into_iter().any(keeps)
    }

    fn now(&self) -> Timestamp {
        // The journal keeps milliseconds: what is folded now must equal what is read back later.
        let now = self.ports.clock.now();
        Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
    }

    /// Records which grants were revoked since the last step, so that nothing more is judged by them.
    fn take_in_revocations(&mut self) -> Result<(), DriveError> {
        let run = self.drive.run();
        let kept = run.facts().kept_grants();
        if kept.is_empty() || run.ended().is_some() {
            return Ok(());
        }
        for grant_id in self.ports.grants.revoked(&kept) {
            let body = Body::Gate(GateEvent::PermissionRevoked { grant_id, revoked_at: self.now() });
            self.write(Entry { part: Part::root(), body })?;
        }
        Ok(())
    }

    fn write(&mut self, entry: Entry) -> Result<(), DriveError> {
        let entry = self.masks.mask_entry(entry);
        let durability = self.durability(&entry.body);
        let event = self.journal.append(entry, self.now(), durability)?;
        self.ports.operator.show(Progress::Event(&event));
        self.fold(event);
        Ok(())
    }

    fn durability(&self, body: &Body) -> Durability {
        let workspace = match body {
            Body::Call(CallEvent::ToolCall { workspace, .. }) => workspace.as_ref(),
            _ => None,
        };
        if body.must_be_synced(|tool| self.reads(workspace, tool)) { Durability::Synced } else { Durability::Written }
    }

    fn fold(&mut self, event: Event) {
        if self.note(&event) {
            self.past.apply(event);
        }
    }

    /// Folds the events of a journal.
    fn fold_all(&mut self, events: Vec<Event>) {
        let past = std::mem::replace(&mut self.past, AgentPast::new(self.ports.results));
        self.past = past.after(events.into_iter().filter(|event| self.note(event)));
    }

    /// Takes note of an event; says whether it counts.
    fn note(&mut self, event: &Event) -> bool {
        if !self.drive.apply(event) {
            return false;
        }
        if let Body::Run(RunEvent::RunStart(start)) = &event.body {
            self.run_id = Some(start.run_id.to_string());
        }
        self.turns += usize::from(matches!(event.body, Body::Turn(TurnEvent::AgentReply { .. })));
        if let Body::Part(PartEvent::PartEnd { .. }) = event.body {
            self.outboxes.remove(&event.part);
        }
        true
    }

    fn begin(&mut self, want: Want) -> Result<(), DriveError> {
        let mut intent = want.intent();
        let Want { key, command } = want;
        let cancel = CancellationToken::new();
        match command {
            Command::Turn { tools, may_call, agent, output_max, limit_ms, workspace, .. } => {
                let hands = self.tools_in(workspace.as_ref())?;
                let agent = self.agent(agent)?;
                let asked = Asked { tools, may_call, output_max, turns_before: self.turns };
                let transcript = self.past.transcript(&key.part);
                let kept = |hash: &str| self.journal.kept(hash);
                let outbox = self.outboxes.entry(key.part.clone()).or_default();
                let request = outbox.request(&key, transcript, asked, &*agent, &kept);
                if let Body::Turn(TurnEvent::AgentRequest { hash, .. }) = &mut intent.body {
                    *hash = self.past.hash(&key.part);
                }
                self.write(intent)?;
                let is_call = |begun: &Begun| matches!(begun, Begun::Call { .. });
                if workspace.is_none() && !self.drive.ledger().open().any(|(_, open)| is_call(&open.begun)) {
                    self.checked_out = Some(self.ports.tools.checked_out());
                }
                let operator = self.ports.operator.clone();
                let parties = flight::TurnParties { agent, operator, tools: hands, masks: self.masks.clone() };
                let task = flight::turn(key.clone(), (request, limit_ms), parties, cancel.clone());
                self.flight.spawn(&key, Flown::Turn, task);
            }
            Command::Call { call, workspace, network, limit_ms } => {
                let hands = self.tools_in(workspace.as_ref())?;
                let wanted = WantedCall { key: key.clone(), call, workspace };
                let readied = self.readied.take_if(|(ready, _)| *ready == wanted).map(|(_, readied)| readied);
                let Some(Readied { call, mut prepared, rescued }) = readied.or_else(|| self.nothing_to_ready(&wanted))
                else {
                    self.prepare(wanted, hands);
                    return Ok(());
                };
                prepared.network = network;
                prepared.seen = self.past.files.of(&key.part, &prepared.changes);
                if let Body::Call(CallEvent::ToolCall { changes, .. }) = &mut intent.body {
                    changes.clone_from(&prepared.changes);
                }
                if let Some(made) = rescue::made(&key, &rescued) {
                    self.write(made)?;
                }
                self.write(intent)?;
                match rescued {
                    Ok(rescued) => {
                        self.start_call(&key, call, (prepared, rescued.is_some(), limit_ms), (hands, &cancel))
                    }
                    Err(why) => self.hold_back(&key, call, &why),
                }
            }
            Command::Hook(call) => {
                self.write(intent)?;
                let hooks = self.ports.hooks.clone();
                let task = flight::hook(key.clone(), call, hooks, self.masks.clone(), cancel.clone());
                self.flight.spawn(&key, Flown::Hook, task);
            }
            Command::Look { look, custody, workspace } => {
                let hands = self.tools_in(workspace.as_ref())?;
                self.write(intent)?;
                let run = self.run_id.clone().unwrap_or_default();
                let task = flight::look(key.clone(), run, look, custody, hands);
                self.flight.spawn(&key, Flown::Look(look), task);
            }
            Command::Keep(grant) => {
                self.write(intent)?;
                let task = flight::keep(key.clone(), grant, self.ports.grants.clone());
                self.flight.spawn(&key, Flown::Keep, task);
            }
            Command::Ask(question) => {
                self.write(intent)?;
                let task = flight::ask(key.clone(), question, self.ports.operator.clone(), cancel.clone());
                self.flight.spawn(&key, Flown::Question, task);
            }
            // The driver watches the deadlines of everything that is open.
            Command::Wait { .. } => self.write(intent)?,
        }
        self.cancels.insert(key, cancel);
        Ok(())
    }

    /// Returns the call as it is, if its tool merely reads: it changes nothing, so nothing is to be kept.
    fn nothing_to_ready(&self, wanted: &WantedCall) -> Option<Readied> {
        let call = self.as_it_was(&wanted.key, &wanted.call);
        let reads = self.reads(wanted.workspace.as_ref(), &wanted.call.name);
        reads.then(|| Readied { call, prepared: Prepared::default(), rescued: Ok(None) })
    }

    fn reads(&self, workspace: Option<&WorkspaceId>, tool: &str) -> bool {
        let reads =
            |specs: &ToolSpecs| specs.iter().any(|known| known.name == tool && known.effect == ToolEffect::Reads);
        match workspace {
            None => reads(&self.specs),
            Some(workspace) => self.ports.workspaces.tools(workspace).is_some_and(|tools| reads(&tools.specs())),
        }
    }

    /// Returns the tools of a workspace; without a name, of the run's own.
    fn tools_in(&self, workspace: Option<&WorkspaceId>) -> Result<Arc<dyn Tools>, DriveError> {
        let Some(workspace) = workspace else { return Ok(self.ports.tools.clone()) };
        let missing = || DriveError::NoSuchWorkspace(workspace.clone());
        self.ports.workspaces.tools(workspace).ok_or_else(missing)
    }

    /// Returns the agent at a place in the run's options.
    fn agent(&self, place: u32) -> Result<Arc<dyn Agent>, DriveError> {
        let agents = &self.ports.agents;
        // Another agent has another price, another window, and may not be one that the operator lets see the project.
        let missing = || DriveError::NoSuchAgent { number: u64::from(place) + 1, agents: agents.len() };
        agents.get(place as usize).cloned().ok_or_else(missing)
    }

    /// Looks at a call and keeps what it may destroy, before anything of it is on record.
    fn prepare(&mut self, wanted: WantedCall, tools: Arc<dyn Tools>) {
        let WantedCall { key, call, .. } = &wanted;
        let call = self.as_it_was(key, call);
        let task = flight::ready(key.clone(), call, self.run_id.clone(), tools);
        self.flight.spawn(key, Flown::Preparation, task);
        self.preparing = Some(wanted);
    }

    fn start_call(
        &mut self,
        key: &Key,
        call: Option<ToolCall>,
        (prepared, is_rescued, limit_ms): (Prepared, bool, Option<u64>),
        (tools, cancel): (Arc<dyn Tools>, &CancellationToken),
    ) {
        let key = key.clone();
        let rescue = self.run_id.clone().filter(|_| is_rescued).map(|run| (run, rescue::name(&key)));
        match call {
            Some(call) => {
                let masks = self.masks.clone();
                let task = flight::call(key.clone(), call, (prepared, rescue, limit_ms), tools, masks, cancel.clone());
                self.flight.spawn(&key, Flown::Call, task);
            }
            None => self.land_at_once(&key, Landed::Masked),
        }
    }

    /// Has something land that needs no task.
    fn land_at_once(&mut self, key: &Key, landed: Landed) {
        let landing = Landing { key: key.clone(), landed };
        self.flight.spawn(key, Flown::Call, std::future::ready(landing));
    }

    /// Answers a call that is not made, because what it may destroy could not be kept.
    fn hold_back(&mut self, key: &Key, call: Option<ToolCall>, why: &str) {
        let landed = match call {
            Some(call) => Landed::Call { call, output: sentences::not_rescued(why), is_late: false, duration_ms: 0 },
            None => Landed::Masked,
        };
        self.land_at_once(key, landed);
    }

    /// The call with its arguments as the agent gave them; `None` if the journal masked them and this
    /// process never saw them.
    fn as_it_was(&self, key: &Key, call: &ToolCall) -> Option<ToolCall> {
        if call.masked {
            return self.unmasked.get(&(key.part.clone(), key.slot.number)).cloned();
        }
        Some(call.clone())
    }

    fn reattach(&mut self, key: &Key) {
        let Some(open) = self.drive.ledger().get(key) else { return };
        if let Begun::Question(question) = &open.begun {
            let cancel = CancellationToken::new();
            let question = Arc::new(question.clone());
            let task = flight::ask(key.clone(), question, self.ports.operator.clone(), cancel.clone());
            self.flight.spawn(key, Flown::Question, task);
            self.cancels.insert(key.clone(), cancel);
        }
    }

    /// Asks what is in flight under `key` to end. A question or a wait ends at once.
    fn abort(&mut self, key: Key) -> Result<(), DriveError> {
        let cancel = self.cancels.remove(&key);
        if let Some(cancel) = cancel {
            cancel.cancel();
        }
        let kind = match self.drive.ledger().get(&key).map(|open| &open.begun) {
            Some(Begun::Question(question)) => Some(question.kind),
            Some(Begun::Timer) => None,
            Some(Begun::Turn | Begun::Call { .. } | Begun::Hook | Begun::Look | Begun::Keep) | None => {
                self.drive.aborted(key);
                return Ok(());
            }
        };
        self.parked.remove(&key);
        let came = kind.and_then(|kind| self.ports.operator.close(&key, kind, Closing::Withdrawn));
        let Key { part, slot } = key;
        self.write(Entry { part: part.clone(), body: Body::Ask(AskEvent::Withdrawn { slot }) })?;
        match came.filter(|answered| !self.drive.ledger().has_used(&answered.id)) {
            Some(Answered { id, .. }) => {
                self.write(Entry { part, body: Body::Ask(AskEvent::AnswerIgnored { slot, id }) })
            }
            None => Ok(()),
        }
    }

    fn land(&mut self, landing: Landing) -> Result<(), DriveError> {
        let Landing { key, landed } = landing;
        let is_open = self.drive.ledger().get(&key).is_some();
        let slot = key.slot;
        let body = match landed {
            Landed::Nobody => {
                if is_open {
                    self.parked.insert(key);
                }
                return Ok(());
            }
            Landed::Answer(answered) if is_open => flight::answer(slot, self.with_own_id(answered)),
            // On record already, as one that came too late.
            Landed::Answer(answered) if self.drive.ledger().has_used(&answered.id) => return Ok(()),
            Landed::Answer(answered) => Body::Ask(AskEvent::AnswerIgnored { slot, id: answered.id }),
            Landed::Turn { agent, result, received, duration_ms } => {
                let (body, unmasked) = flight::reply(slot, agent, (result, received), duration_ms, &self.masks);
                self.keep_unmasked(&key.part, unmasked);
                body
            }
            Landed::Call { call, output, is_late, duration_ms } => {
                flight::result(slot, &call, (output, is_late), duration_ms, self.journal)?
            }
            Landed::Hook { answer, duration_ms } => flight::hook_result(slot, answer, duration_ms),
            Landed::Look { look, found, duration_ms } => flight::seen(slot, look, found, duration_ms, &self.masks),
            Landed::Kept(kept) => flight::grant_kept(slot, kept.err(), &self.masks),
            Landed::Masked => flight::masked(slot),
            Landed::Readied(readied) => {
                self.readied = self.preparing.take().map(|wanted| (wanted, readied));
                return Ok(());
            }
            Landed::Panicked { flown, said } => {
                self.tell_of_panic(&key, &said)?;
                match self.after_panic(&key, flown, &said) {
                    Some(body) => body,
                    None => return Ok(()),
                }
            }
        };
        self.cancels.remove(&key);
        if !is_open && body.outcome().is_some() {
            return Ok(());
        }
        self.write(Entry { part: key.part, body })
    }

    /// Tells the operator that something in flight panicked. A warning would be taken for the session's own.
    fn tell_of_panic(&mut self, key: &Key, said: &str) -> Result<(), DriveError> {
        if self.drive.run().ended().is_some() {
            return Ok(());
        }
        let error = format!("internal error: `{key}` panicked: {said}");
        self.write(Entry {
            part: Part::root(),
            body: Body::Host(HostEvent::Error { error, phase: PhaseName::Execute }),
        })
    }

    /// Returns the outcome of something that panicked; `None` where it goes on without one.
    fn after_panic(&mut self, key: &Key, flown: Flown, said: &str) -> Option<Body> {
        let slot = key.slot;
        match flown {
            Flown::Turn => Some(flight::broken_turn(slot, said)),
            Flown::Call | Flown::Hook => {
                Some(Body::Call(CallEvent::Interrupted { slot, effect: InterruptedEffect::Unknown }))
            }
            Flown::Look(look) => Some(flight::seen(slot, look, Err(format!("it panicked: {said}")), 0, &self.masks)),
            Flown::Keep => Some(flight::grant_kept(slot, Some(format!("it panicked: {said}")), &self.masks)),
            Flown::Preparation => {
                let wanted = self.preparing.take()?;
                let call = self.as_it_was(&wanted.key, &wanted.call);
                let rescued = Err(format!("the program failed at it: {said}"));
                self.readied = Some((wanted, Readied { call, prepared: Prepared::default(), rescued }));
                None
            }
            Flown::Question => {
                // It stays open for whoever answers it from elsewhere.
                if self.drive.ledger().get(key).is_some() {
                    self.parked.insert(key.clone());
                }
                None
            }
        }
    }

    fn keep_unmasked(&mut self, part: &Part, calls: Vec<(usize, ToolCall)>) {
        let first = self.past.transcript(part).map_or(0, Transcript::calls) + 1;
        for (index, call) in calls {
            let number = first.saturating_add(u32::try_from(index).unwrap_or(u32::MAX));
            self.unmasked.insert((part.clone(), number), call);
        }
    }

    /// Takes note of something that was said while nobody drove the run. To be called before [`Driver::run`].
    ///
    /// # Errors
    ///
    /// [`DriveError`] if the journal can't be written.
    pub fn hear(&mut self, heard: Heard) -> Result<(), DriveError> {
        self.told(heard)
    }

    fn told(&mut self, heard: Heard) -> Result<(), DriveError> {
        let Heard { message, to, id, by } = heard;
        if id.as_ref().is_some_and(|id| self.drive.ledger().has_used(id)) {
            return Ok(());
        }
        let id = id.unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
        let by = by.unwrap_or_else(|| self.ports.operator.name());
        self.write(Entry { part: to, body: Body::Ask(AskEvent::OperatorMessage { id, message, by }) })
    }

    /// The answer with an id that no message of this run had: what lies in a mailbox may have been copied.
    fn with_own_id(&self, mut answered: Answered) -> Answered {
        if self.drive.ledger().has_used(&answered.id) {
            answered.id = uuid::Uuid::now_v7().to_string();
        }
        answered
    }

    fn until_deadline(&self) -> Option<Duration> {
        let (deadline, _) = self.drive.ledger().next_deadline()?;
        let left = deadline.duration_since(self.ports.clock.now()).max(SignedDuration::ZERO);
        Some(Duration::try_from(left).unwrap_or_default())
    }

    /// Records that a deadline passed, if one has; or the answer that came just before.
    fn expire(&mut self) -> Result<(), DriveError> {
        let due = self.drive.ledger().next_deadline().filter(|(deadline, _)| *deadline <= self.ports.clock.now());
        let Some(key) = due.map(|(_, key)| key.clone()) else { return Ok(()) };
        if let Some(cancel) = self.cancels.remove(&key) {
            cancel.cancel();
        }
        self.parked.remove(&key);
        let kind = match self.drive.ledger().get(&key).map(|open| &open.begun) {
            Some(Begun::Question(question)) => Some(question.kind),
            _ => None,
        };
        let slot = key.slot;
        let body = match kind.and_then(|kind| self.ports.operator.close(&key, kind, Closing::Expired)) {
            Some(answered) => flight::answer(slot, self.with_own_id(answered)),
            None => Body::Ask(AskEvent::Expired { slot }),
        };
        self.write(Entry { part: key.part, body })
    }
}
