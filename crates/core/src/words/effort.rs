//! Effort: how hard a model is asked to think.
//!
//! In: an operator's word, or a number of tokens. Out: the same as a type. Each adapter translates it for its provider.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Effort that a model may spend on a turn before it answers, in four words that every provider's own map to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// As little as it can.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// As much as it can.
    Max,
}

/// There is no such effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("an effort is `low`, `medium`, `high` or `max`")]
pub struct UnknownEffort;

impl Effort {
    /// All of them, from little to much.
    pub const ALL: [Self; 4] = [Self::Low, Self::Medium, Self::High, Self::Max];

    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Max => "max",
        }
    }
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Effort {
    type Err = UnknownEffort;

    fn from_str(given: &str) -> Result<Self, UnknownEffort> {
        Self::ALL.into_iter().find(|effort| effort.as_str() == given).ok_or(UnknownEffort)
    }
}
