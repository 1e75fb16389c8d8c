//! Kinds of parts.

use serde::{Deserialize, Serialize};

/// The kind of a part of a run: what it is, and so which procedure decides in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// One agent on one brief, or on a piece of a run.
    Session,
    /// Several agents by role.
    Crew,
    /// Several agents on the same question.
    Council,
    /// Sessions one after another until the goal is verified.
    Loop,
}

impl PartKind {
    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Crew => "crew",
            Self::Council => "council",
            Self::Loop => "loop",
        }
    }
}
