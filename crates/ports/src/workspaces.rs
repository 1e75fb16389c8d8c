//! The workspaces port: which tools work in which folder.

use std::sync::Arc;

use adjutant_core::words::id::WorkspaceId;

use crate::Tools;

/// Whatever knows the workspaces that a run has besides its own.
pub trait Workspaces: Send + Sync {
    /// Returns the tools that work in the workspace of this name; `None` if there is no such workspace.
    fn tools(&self, workspace: &WorkspaceId) -> Option<Arc<dyn Tools>>;
}

/// A run whose own workspace is its only one.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoOtherWorkspaces;

impl Workspaces for NoOtherWorkspaces {
    fn tools(&self, _: &WorkspaceId) -> Option<Arc<dyn Tools>> {
        None
    }
}
