//! The driver without hands: keeps what is in flight equal to what is wanted.
//!
//! In: events that were appended. Out: the next [`Step`]. Starts one thing at a time and asks again
//! after every event; an abort is a request, its end still arrives as an outcome. Whoever has hands
//! carries the steps out: the runtime with a real clock, disk and tools, the tests' simulator with fakes.

use std::collections::BTreeSet;

use super::run::Run;
use super::{Begun, Breach, Command, Ledger, Next, Procedure, Want};
use crate::trace::{AskEvent, Body, CallEvent, DeedEvent, Entry, Event, GateEvent, TurnEvent};
use crate::words::id::WorkspaceId;
use crate::words::tool::FileChange;
use crate::words::{Key, Outcome, Part};

/// A run with its ledger, and what was asked to end.
#[derive(Debug, Clone)]
pub struct Drive<P: Procedure> {
    run: Run<P>,
    ledger: Ledger,
    aborting: BTreeSet<Key>,
    next_seq: u64,
}

/// Next step of a driver.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Append this decision.
    Record(Entry),
    /// Append this command's intent, then begin it.
    Begin(Want),
    /// Ask what is in flight under this key to end; its outcome will come.
    Abort(Key),
    /// Nothing to do until something happens.
    Await,
    /// The run is over.
    Finished(Outcome),
    /// The procedure broke the rules: a bug, never the world's doing.
    Broken(Breach),
}

/// Treatment of an intent without an outcome when a driver takes a run over.
#[derive(Debug, Clone, PartialEq)]
pub enum Orphan {
    /// It waits on: a question, a timer.
    Reattach,
    /// Looking at the files says whether it happened.
    Settle {
        /// The changes that it would have made.
        changes: Vec<FileChange>,
        /// The workspace in which it was made; `None` for the run's own.
        workspace: Option<WorkspaceId>,
    },
    /// It may be tried again: a turn, a look at the tree, keeping a grant, a call that merely reads.
    Repeatable,
    /// Its effect is unknown.
    Unknown,
}

impl<P: Procedure> Drive<P> {
    /// Creates a drive at the very beginning of a run.
    pub fn new(run: Run<P>) -> Self {
        Self { run, ledger: Ledger::default(), aborting: BTreeSet::new(), next_seq: 0 }
    }

    /// Takes note of an event that was appended; says whether it counts ([`Ledger::is_over`]).
    pub fn apply(&mut self, event: &Event) -> bool {
        if self.ledger.is_over(event) {
            self.next_seq = event.seq + 1;
            return false;
        }
        self.ledger.apply(event);
        if let Some(slot) = event.body.outcome() {
            self.aborting.remove(&Key { part: event.part.clone(), slot: *slot });
        }
        self.next_seq = event.seq + 1;
        self.run.apply(event);
        true
    }

    /// Returns the sequence number of the next event.
    #[must_use]
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Returns the record of intents and outcomes.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns the run.
    #[must_use]
    pub fn run(&self) -> &Run<P> {
        &self.run
    }

    /// Returns the next step where everything that is wanted may begin: [`Drive::step_besides`].
    #[must_use]
    pub fn step(&self) -> Step {
        self.step_besides(|_| false)
    }

    /// Returns the next step, without beginning the commands that `must_wait` holds back: those can't begin yet, as one
    /// that waits for another to be prepared. They have no intent, so they count as not begun, and all else goes on.
    /// After [`Step::Abort`], call [`Drive::aborted`] so that it is asked for only once.
    ///
    /// **Invariant:** one thing is begun at a time, and the run is asked again after every event. Parts that work side
    /// by side all see room for one more turn and all want it; once one of them has begun, its reservation is a fact
    /// and the others want it no more. Budgets, approvals and questions that are asked once rest on this.
    #[must_use]
    pub fn step_besides(&self, must_wait: impl Fn(&Want) -> bool) -> Step {
        match self.run.next() {
            Next::Record(entry) => self.record(entry),
            Next::Want(wants) => self.adjust(&wants, must_wait),
            // Parts that wait for others would wait for ever.
            Next::Wait(_) if self.ledger.open().next().is_none() => Step::Broken(Breach::Stuck),
            Next::Wait(_) => self.adjust(&[], must_wait),
            Next::Done(outcome) => match self.ledger.open().next() {
                None => Step::Finished(outcome),
                Some(_) => self.adjust(&[], must_wait),
            },
        }
    }

    /// Takes note that `key` was asked to end.
    pub fn aborted(&mut self, key: Key) {
        self.aborting.insert(key);
    }

    fn record(&self, entry: Entry) -> Step {
        match self.ledger.check(&entry) {
            Ok(()) => Step::Record(entry),
            Err(Breach::EndedTooEarly { part, .. }) => self.clear(&part),
            Err(breach) => Step::Broken(breach),
        }
    }

    /// Waits with the end of a part until nothing under it is open. Things that are open beside it are not its to end.
    fn clear(&self, part: &Part) -> Step {
        let open = self.ledger.open_within(part).find(|key| !self.aborting.contains(*key));
        open.map_or(Step::Await, |key| Step::Abort(key.clone()))
    }

    /// Returns the step for the first difference between the wanted commands and those in flight, beside those that must
    /// wait.
    fn adjust(&self, wants: &[Want], must_wait: impl Fn(&Want) -> bool) -> Step {
        let unwanted = |key: &&Key| !self.aborting.contains(*key) && !wants.iter().any(|want| want.key == **key);
        if let Some(key) = self.ledger.open().map(|(key, _)| key).find(unwanted) {
            return Step::Abort(key.clone());
        }
        match wants.iter().find(|want| self.ledger.get(&want.key).is_none() && !must_wait(want)) {
            Some(want) if self.ledger.knows(&want.key) => Step::Broken(Breach::KeyReused(want.key.clone())),
            Some(want) => Step::Begin(want.clone()),
            None => Step::Await,
        }
    }

    /// Returns the intents that are open from before, and the treatment of each: to be settled before the first step.
    ///
    /// `is_repeatable` says if a call to a tool of a workspace may simply be made again.
    pub fn orphans(&self, is_repeatable: impl Fn(Option<&WorkspaceId>, &str) -> bool) -> Vec<(Key, Orphan)> {
        let becomes = |begun: &Begun| match begun {
            Begun::Question(_) | Begun::Timer => Orphan::Reattach,
            Begun::Call { name, workspace, waits_on_command: false, .. } if is_repeatable(workspace.as_ref(), name) => {
                Orphan::Repeatable
            }
            Begun::Call { changes, workspace, .. } if !changes.is_empty() => {
                Orphan::Settle { changes: changes.clone(), workspace: workspace.clone() }
            }
            // A hook is anything that an operator wrote: it is not asked twice.
            Begun::Call { .. } | Begun::Hook => Orphan::Unknown,
            Begun::Turn | Begun::Look | Begun::Keep | Begun::Deed(_) => Orphan::Repeatable,
        };
        self.ledger.open().map(|(key, open)| (key.clone(), becomes(&open.begun))).collect()
    }
}

impl Want {
    /// Returns the intent that announces this command, as far as core knows it. The runtime adds the facts that it
    /// finds before the command begins: the hash of the request, the changes that a call will make to files.
    #[must_use]
    pub fn intent(&self) -> Entry {
        let slot = self.key.slot;
        let body = match &self.command {
            Command::Turn { messages, tools, may_call, agent, input_tokens, output_max, limit_ms: _, workspace: _ } => {
                Body::Turn(TurnEvent::AgentRequest {
                    slot,
                    messages: *messages,
                    tools: u32::try_from(tools.len()).unwrap_or(u32::MAX),
                    no_calls: !may_call,
                    agent: *agent,
                    input_tokens: *input_tokens,
                    output_max: *output_max,
                    hash: None,
                })
            }
            Command::Call { call, network, limit_ms: _, workspace } => Body::Call(CallEvent::ToolCall {
                slot,
                call_id: call.call_id.clone(),
                name: call.name.clone(),
                args: call.args.clone(),
                auth_decision: "allow".to_owned(),
                changes: Vec::new(),
                network: *network,
                workspace: workspace.clone(),
            }),
            Command::Hook(asked) => Body::Gate(GateEvent::HookCall {
                slot,
                hook: asked.hook.name().to_owned(),
                place: asked.place,
                call: asked.call,
            }),
            Command::Look { look, workspace, custody: _ } => {
                Body::Gate(GateEvent::TreeLook { slot, look: *look, workspace: workspace.clone() })
            }
            Command::Keep(grant) => Body::Gate(GateEvent::GrantKeep { slot, grant_id: grant.grant_id.clone() }),
            Command::Do(deed) => Body::Deed(DeedEvent::DeedBegin { slot, deed: deed.kind(), objects: deed.objects() }),
            Command::Ask(question) => Body::Ask(AskEvent::Question { slot, question: (**question).clone() }),
            Command::Wait { length_ms } => Body::Ask(AskEvent::Timer { slot, length_ms: *length_ms }),
        };
        Entry { part: self.key.part.clone(), body }
    }
}
