//! The tasks of a driver, each under the key that it lands with.
//!
//! In: tasks. Out: how each ended, in the order in which they do. A task that panicked lands like any other and says
//! so, since nobody but the driver can tell the run that nothing will come of it.

use std::collections::HashMap;

use adjutant_core::words::deed::DeedKind;
use adjutant_core::words::{Key, Look};
use tokio::task::{Id, JoinError, JoinSet};

use crate::flight::{Landed, Landing};

/// Tasks that have not ended.
#[derive(Default)]
pub(crate) struct InFlight {
    tasks: JoinSet<Landing>,
    flown: HashMap<Id, (Key, Flown)>,
}

/// The kind of a task.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Flown {
    /// A turn of an agent.
    Turn,
    /// A tool call.
    Call,
    /// A guard hook.
    Hook,
    /// A look at the tree.
    Look(Look),
    /// Keeping a grant for later runs.
    Keep,
    /// An effect that is no tool call.
    Deed(DeedKind),
    /// A question to the operator.
    Question,
    /// Looking at a call and keeping what it may destroy, before it begins.
    Preparation,
}

impl InFlight {
    /// Begins a task.
    pub(crate) fn spawn(&mut self, key: &Key, flown: Flown, task: impl Future<Output = Landing> + Send + 'static) {
        let id = self.tasks.spawn(task).id();
        self.flown.insert(id, (key.clone(), flown));
    }

    /// Returns true if no task is in flight.
    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Waits for the next task to end; `None` if there is none. No end is lost if this is not waited for.
    pub(crate) async fn next(&mut self) -> Option<Landing> {
        let ended = self.tasks.join_next_with_id().await?;
        let id = ended.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let (key, flown) = self.flown.remove(&id).expect("a task was noted when it was spawned");
        Some(match ended {
            Ok((_, landing)) => landing,
            Err(error) => Landing { key, landed: Landed::Panicked { flown, said: said(error) } },
        })
    }
}

/// Returns what a task said when it panicked. Its number is left out, which is another one in every process.
pub(crate) fn said(error: JoinError) -> String {
    let Ok(panic) = error.try_into_panic() else { return "it was dropped".to_owned() };
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(said), _) => (*said).to_owned(),
        (None, Some(said)) => said.clone(),
        (None, None) => "it said nothing".to_owned(),
    }
}
