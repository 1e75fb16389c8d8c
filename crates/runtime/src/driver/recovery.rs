//! A run that is taken over: what an earlier driver left in flight is taken up, settled or given up.

use std::sync::Arc;

use adjutant_core::gate::secrets;
use adjutant_core::procedure::{Begun, Orphan, Procedure};
use adjutant_core::trace::{Body, CallEvent, Entry};
use adjutant_core::words::id::WorkspaceId;
use adjutant_core::words::tool::{FileChange, ToolSpecs};
use adjutant_core::words::{InterruptedEffect, Key};
use adjutant_ports::{CancellationToken, Settled, Tools};
use tokio::task::JoinSet;

use super::{DriveError, Driver};
use crate::flight;
use crate::in_flight::{self, Flown};

impl<P: Procedure> Driver<'_, P> {
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
    pub(super) async fn settle(
        &mut self,
        key: &Key,
        changes: Vec<FileChange>,
        tools: Arc<dyn Tools>,
    ) -> Result<Body, DriveError> {
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

    pub(super) fn reattach(&mut self, key: &Key) {
        let Some(open) = self.drive.ledger().get(key) else { return };
        if let Begun::Question(question) = &open.begun {
            let cancel = CancellationToken::new();
            let question = Arc::new(question.clone());
            let task = flight::ask(key.clone(), question, self.ports.operator.clone(), cancel.clone());
            self.flight.spawn(key, Flown::Question, task);
            self.cancels.insert(key.clone(), cancel);
        }
    }
}
