//! Chooses the view that is shown when several are asked for.

use serde::Serialize;

/// A view that `inspect` can be asked for, in the order in which one wins over another (the peer's).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InspectView {
    /// The events, one line each.
    Trace,
    /// The phases and how long they lasted.
    Timing,
    /// Tokens by role.
    Cost,
    /// The number of times that each detector fired.
    Detectors,
    /// The tool calls.
    Tools,
    /// The events of bridged tools and of their set-up.
    Mcp,
    /// The history of the run's project.
    History,
    /// The values that the run took from its project's learned profile.
    Learned,
    /// The grants, and what became of them.
    Permissions,
}

impl InspectView {
    /// The one that is shown of those that were `asked` for; none if none was.
    #[must_use]
    pub fn first_of(asked: &[Self]) -> Option<Self> {
        asked.iter().copied().min()
    }
}
