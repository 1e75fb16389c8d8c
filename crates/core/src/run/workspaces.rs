//! The workspaces in which parts work, where it is not the run's own.

use std::collections::BTreeMap;

use crate::trace::{Body, Event, PartEvent};
use crate::words::Part;
use crate::words::id::WorkspaceId;

/// The parts that were given a workspace, and have not ended.
#[derive(Debug, Clone, Default)]
pub(super) struct PartWorkspaces(BTreeMap<Part, WorkspaceId>);

impl PartWorkspaces {
    pub(super) fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Part(PartEvent::PartStart { workspace: Some(workspace), .. }) => {
                self.0.insert(event.part.clone(), workspace.clone());
            }
            Body::Part(PartEvent::PartEnd { .. }) => self.0.retain(|part, _| !part.is_within(&event.part)),
            _ => {}
        }
    }

    /// Returns the workspace of the nearest part around `part` that was given one; `None` for the run's own.
    pub(super) fn of(&self, part: &Part) -> Option<&WorkspaceId> {
        let around = self.0.iter().filter(|(other, _)| part.is_within(other));
        around.max_by_key(|(other, _)| other.as_str().len()).map(|(_, workspace)| workspace)
    }
}
