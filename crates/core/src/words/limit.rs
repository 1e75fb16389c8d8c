//! Names for limits.

use serde::{Deserialize, Serialize};

/// The source of the number of tools that may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitSource {
    /// A learned profile.
    Learned,
    /// The brief's own limit.
    Brief,
    /// Neither.
    Default,
}
