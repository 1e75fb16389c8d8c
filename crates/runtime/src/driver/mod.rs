//! The driver: one run, from where its journal stands to its end or to a question that nobody is there
//! to answer.
//!
//! Of several things at once the operator's messages come first, then outcomes, then timers. Nothing
//! begins before its intent is in the journal, and an intent whose effect is more than a read is on the
//! disk before it begins. A call is looked at, and what it may destroy is kept, while everything else goes on and begins;
//! then it is asked for anew whether it is still wanted.

mod beginning;
mod folder;
mod landing;
mod recovery;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use adjutant_core::inbox::mailbox::Closing;
use adjutant_core::inbox::worker::SLEEP_OVER_MS;
use adjutant_core::procedure::run::Run;
use adjutant_core::procedure::{Begun, Breach, Command, Drive, Procedure, SharedFacts as _, Step, Want};
use adjutant_core::session::transcript::Speaker;
use adjutant_core::trace::{AskEvent, Body, CallEvent, Entry, Event, GateEvent, PartEvent};
use adjutant_core::words::id::WorkspaceId;
use adjutant_core::words::tool::{ToolCall, ToolSpecs};
use adjutant_core::words::{Key, Message, Outcome, Part, Question, QuestionKind};
use adjutant_ports::{
    Agent, Answered, AppendError, CancellationToken, Clock, Durability, GrantStore, Heard, Hooks, Journal, Operator,
    Progress, Tools, Workspaces,
};
use jiff::{SignedDuration, Timestamp};
use thiserror::Error;
use tokio::time::{Interval, MissedTickBehavior};

use crate::agent_past::AgentPast;
use crate::effects::RunEffects;
use crate::flight::{self, Readied};
use crate::folded::{DriverFacts, Folded};
use crate::in_flight::InFlight;
use crate::masking::Masks;
use crate::request::Outbox;
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
    /// The interrupt at which the questions here were left open.
    leaving: Option<Heard>,
    facts: DriverFacts,
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
        Command::Turn { .. } | Command::Call { .. } | Command::Hook(_) | Command::Look { .. } | Command::Do(_) => true,
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

/// The last thing that an agent said.
#[derive(Debug)]
pub struct LastReply<'d> {
    /// Its text.
    pub text: &'d str,
    /// The calls that it asked for and that have no result.
    pub open_calls: Vec<ToolCall>,
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
    #[error("the run's workspace `{0}` isn't there: nothing of it can go on; end it with `adjutant stop RUN`")]
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
        Self::after(Folded::new(run, ports.results).after(events), journal, ports, masks)
    }

    /// A driver for the run that `journal` holds. `folded` is the run as the journal has it so far.
    pub fn after(folded: Folded<P>, journal: &'j mut dyn Journal, ports: Ports, masks: Masks) -> Self {
        let Folded { drive, past, facts, offered, is_empty } = folded;
        let specs = ports.tools.specs();
        Self {
            drive,
            journal,
            ports,
            masks: Arc::new(masks),
            specs,
            offered_before: offered,
            past,
            outboxes: BTreeMap::new(),
            unmasked: BTreeMap::new(),
            flight: InFlight::default(),
            cancels: BTreeMap::new(),
            preparing: None,
            readied: None,
            parked: BTreeSet::new(),
            leaving: None,
            facts,
            // Somebody else may have been at work since its last driver.
            standing: if is_empty { Standing::AtWork } else { Standing::Still },
            lets_sleep: false,
            checked_out: None,
        }
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

    /// The facts that all parts of the run share, as the journal has them so far.
    #[must_use]
    pub fn facts(&self) -> &P::Facts {
        self.drive.run().facts()
    }

    /// Returns the effects of the run so far: files changed, commands run.
    #[must_use]
    pub fn effects(&self) -> &RunEffects {
        &self.facts.effects
    }

    /// Returns the parts whose agents said something, with the last reply of each.
    pub fn last_replies(&self) -> impl Iterator<Item = (&Part, LastReply<'_>)> {
        self.past.parts().filter_map(|part| Some((part, self.last_reply(part)?)))
    }

    /// Returns the last reply of the agent of `part`, for whoever is asked about it again; `None` if there was none.
    #[must_use]
    pub fn last_reply(&self, part: &Part) -> Option<LastReply<'_>> {
        let messages = self.past.transcript(part)?.messages();
        let (behind, said) = messages.iter().rev().enumerate().find_map(|(behind, said)| match &said.speaker {
            Speaker::Agent { calls, .. } => Some((behind, (&said.text, calls))),
            Speaker::System | Speaker::User | Speaker::Tool { .. } => None,
        })?;
        let is_answered = |call: &&ToolCall| {
            messages[messages.len() - behind..].iter().any(|said| match &said.speaker {
                Speaker::Tool { call_id, .. } => *call_id == call.call_id,
                Speaker::System | Speaker::User | Speaker::Agent { .. } => false,
            })
        };
        let (text, calls) = said;
        Some(LastReply { text, open_calls: calls.iter().filter(|call| !is_answered(call)).cloned().collect() })
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
            let step = self.step();
            if matches!(step, Step::Record(_) | Step::Begin(_))
                && let Some(interrupt) = self.leaving.take()
            {
                // An answer was faster than the leaving: there is more to stop than questions.
                self.record_message(interrupt)?;
                continue;
            }
            match step {
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
            _ = keep_alive.tick() => {
                self.look_for_answers();
                Ok(self.journal.keep_alive(self.ports.clock.now())?)
            }
        }
    }

    /// Asks again what nobody was there to answer: an answer may have come from elsewhere while the run went on.
    fn look_for_answers(&mut self) {
        for key in std::mem::take(&mut self.parked) {
            self.reattach(&key);
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

    /// Takes note of an event; says whether it counts.
    fn note(&mut self, event: &Event) -> bool {
        if !self.drive.apply(event) {
            return false;
        }
        self.facts.apply(event);
        match event.body {
            Body::Part(PartEvent::PartEnd { .. }) => {
                self.outboxes.remove(&event.part);
            }
            Body::Part(PartEvent::PartStart { .. }) => self.look_for_answers(),
            _ => {}
        }
        true
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
            Some(Begun::Turn | Begun::Call { .. } | Begun::Hook | Begun::Look | Begun::Keep | Begun::Deed(_))
            | None => {
                self.drive.aborted(key);
                return Ok(());
            }
        };
        self.parked.remove(&key);
        let came = kind.and_then(|kind| self.ports.operator.close(&key, kind, Closing::Withdrawn));
        let Key { part, slot } = key;
        // Asked beside the work, it may have been answered while nobody looked.
        if let Some(answered) = came.clone().filter(|_| kind == Some(QuestionKind::Stuck)) {
            let body = flight::answer(slot, self.with_own_id(answered));
            return self.write(Entry { part, body });
        }
        self.write(Entry { part: part.clone(), body: Body::Ask(AskEvent::Withdrawn { slot }) })?;
        match came.filter(|answered| !self.drive.ledger().has_used(&answered.id)) {
            Some(Answered { id, .. }) => {
                self.write(Entry { part, body: Body::Ask(AskEvent::AnswerIgnored { slot, id }) })
            }
            None => Ok(()),
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
        if heard.message == Message::Interrupt && heard.id.is_none() && self.only_asks() {
            self.leave_questions(heard);
            return Ok(());
        }
        self.record_message(heard)
    }

    /// Returns true if all that the run does is to ask.
    fn only_asks(&self) -> bool {
        let mut open = self.drive.ledger().open().map(|(_, open)| &open.begun).peekable();
        open.peek().is_some() && self.preparing.is_none() && open.all(|begun| matches!(begun, Begun::Question(_)))
    }

    /// Asks nobody here any more. An interrupt from this process (a mailbox's messages have ids) has nothing to stop while
    /// the run only asks: on record it would withdraw the questions, and keep a worker from what is answered elsewhere.
    fn leave_questions(&mut self, interrupt: Heard) {
        self.cancels.values().for_each(CancellationToken::cancel);
        self.leaving = Some(interrupt);
    }

    fn record_message(&mut self, heard: Heard) -> Result<(), DriveError> {
        let Heard { message, to, id, by } = heard;
        if id.as_ref().is_some_and(|id| self.drive.ledger().has_used(id)) {
            return Ok(());
        }
        let id = id.unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
        let by = by.unwrap_or_else(|| self.ports.operator.name());
        self.write(Entry { part: to, body: Body::Ask(AskEvent::OperatorMessage { id, message, by }) })
    }

    fn until_deadline(&self) -> Option<Duration> {
        let (deadline, _) = self.drive.ledger().next_deadline()?;
        let left = deadline.duration_since(self.ports.clock.now()).max(SignedDuration::ZERO);
        Some(Duration::try_from(left).unwrap_or_default())
    }
}
