//! What begins: its intent goes on record, and then a task of its own carries it out.

use std::sync::Arc;

use adjutant_core::procedure::{Begun, Command, Procedure, Want};
use adjutant_core::session::sentences;
use adjutant_core::trace::{Body, CallEvent, TurnEvent};
use adjutant_core::words::Key;
use adjutant_core::words::id::WorkspaceId;
use adjutant_core::words::tool::{ToolCall, ToolEffect, ToolSpecs};
use adjutant_ports::{Agent, CancellationToken, Prepared, Tools};

use super::{DriveError, Driver, WantedCall};
use crate::flight::{self, Landed, Landing, Readied};
use crate::in_flight::Flown;
use crate::request::Asked;
use crate::rescue;

impl<P: Procedure> Driver<'_, P> {
    pub(super) fn begin(&mut self, want: Want) -> Result<(), DriveError> {
        let mut intent = want.intent();
        let Want { key, command } = want;
        let cancel = CancellationToken::new();
        match command {
            Command::Turn { tools, may_call, agent, output_max, limit_ms, workspace, .. } => {
                let hands = self.tools_in(workspace.as_ref())?;
                let agent = self.agent(agent)?;
                let asked = Asked { tools, may_call, output_max, turns_before: self.facts.turns };
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
                let run = self.facts.run_id.clone().unwrap_or_default();
                let task = flight::look(key.clone(), run, look, custody, hands);
                self.flight.spawn(&key, Flown::Look(look), task);
            }
            Command::Keep(grant) => {
                self.write(intent)?;
                let task = flight::keep(key.clone(), grant, self.ports.grants.clone());
                self.flight.spawn(&key, Flown::Keep, task);
            }
            Command::Do(deed) => {
                self.write(intent)?;
                let run = self.facts.run_id.clone().unwrap_or_default();
                let (tools, masks) = (self.ports.tools.clone(), self.masks.clone());
                let task = flight::deed(key.clone(), (run, deed.clone()), tools, masks, cancel.clone());
                self.flight.spawn(&key, Flown::Deed(deed.kind()), task);
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
    pub(super) fn nothing_to_ready(&self, wanted: &WantedCall) -> Option<Readied> {
        let call = self.as_it_was(&wanted.key, &wanted.call);
        let reads = self.reads(wanted.workspace.as_ref(), &wanted.call.name);
        reads.then(|| Readied { call, prepared: Prepared::default(), rescued: Ok(None) })
    }

    pub(super) fn reads(&self, workspace: Option<&WorkspaceId>, tool: &str) -> bool {
        let reads =
            |specs: &ToolSpecs| specs.iter().any(|known| known.name == tool && known.effect == ToolEffect::Reads);
        match workspace {
            None => reads(&self.specs),
            Some(workspace) => self.ports.workspaces.tools(workspace).is_some_and(|tools| reads(&tools.specs())),
        }
    }

    /// Returns the tools of a workspace; without a name, of the run's own.
    pub(super) fn tools_in(&self, workspace: Option<&WorkspaceId>) -> Result<Arc<dyn Tools>, DriveError> {
        let Some(workspace) = workspace else { return Ok(self.ports.tools.clone()) };
        let missing = || DriveError::NoSuchWorkspace(workspace.clone());
        self.ports.workspaces.tools(workspace).ok_or_else(missing)
    }

    /// Returns the agent at a place in the run's options.
    pub(super) fn agent(&self, place: u32) -> Result<Arc<dyn Agent>, DriveError> {
        let agents = &self.ports.agents;
        // Another agent has another price, another window, and may not be one that the operator lets see the project.
        let missing = || DriveError::NoSuchAgent { number: u64::from(place) + 1, agents: agents.len() };
        agents.get(place as usize).cloned().ok_or_else(missing)
    }

    /// Looks at a call and keeps what it may destroy, before anything of it is on record.
    pub(super) fn prepare(&mut self, wanted: WantedCall, tools: Arc<dyn Tools>) {
        let WantedCall { key, call, .. } = &wanted;
        let call = self.as_it_was(key, call);
        let task = flight::ready(key.clone(), call, self.facts.run_id.clone(), tools);
        self.flight.spawn(key, Flown::Preparation, task);
        self.preparing = Some(wanted);
    }

    pub(super) fn start_call(
        &mut self,
        key: &Key,
        call: Option<ToolCall>,
        (prepared, is_rescued, limit_ms): (Prepared, bool, Option<u64>),
        (tools, cancel): (Arc<dyn Tools>, &CancellationToken),
    ) {
        let key = key.clone();
        let rescue = self.facts.run_id.clone().filter(|_| is_rescued).map(|run| (run, rescue::name(&key)));
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
    pub(super) fn land_at_once(&mut self, key: &Key, landed: Landed) {
        let landing = Landing { key: key.clone(), landed };
        self.flight.spawn(key, Flown::Call, std::future::ready(landing));
    }

    /// Answers a call that is not made, because what it may destroy could not be kept.
    pub(super) fn hold_back(&mut self, key: &Key, call: Option<ToolCall>, why: &str) {
        let landed = match call {
            Some(call) => Landed::Call { call, output: sentences::not_rescued(why), is_late: false, duration_ms: 0 },
            None => Landed::Masked,
        };
        self.land_at_once(key, landed);
    }

    /// The call with its arguments as the agent gave them; `None` if the journal masked them and this
    /// process never saw them.
    pub(super) fn as_it_was(&self, key: &Key, call: &ToolCall) -> Option<ToolCall> {
        if call.masked {
            return self.unmasked.get(&(key.part.clone(), key.slot.number)).cloned();
        }
        Some(call.clone())
    }
}
