//! Kinds of handoffs, by their names on the wire.

use serde::{Deserialize, Serialize};

/// Kind of handoff that a session has to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandoffKind {
    /// A plan.
    Plan,
    /// Account of the work on a sub-task.
    Execution,
    /// A judgement.
    Review,
    /// Account of one iteration of a loop.
    Iteration,
}

impl HandoffKind {
    /// Its word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Execution => "execution",
            Self::Review => "review",
            Self::Iteration => "iteration",
        }
    }
}
