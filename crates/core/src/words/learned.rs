//! Names for what a run takes from a learned profile.

use serde::{Deserialize, Serialize};

/// Number of settings in a profile, by kind; the fields of the peer's event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// Detectors that are not at their default.
    pub detectors: u64,
    /// Phases with a budget.
    pub phase_budgets: u64,
    /// Tools that count as dead.
    pub tool_callouts: u64,
}
