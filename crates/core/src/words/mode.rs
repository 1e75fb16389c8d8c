//! The mode of a session: how far it goes on its own.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Mode of a session: how far it goes on its own. Phase 3 asks in either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The operator is asked between steps.
    Gated,
    /// Clean steps follow one another.
    Auto,
}

impl Mode {
    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gated => "gated",
            Self::Auto => "auto",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
