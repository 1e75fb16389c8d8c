//! The phases of a session, by their names on the wire.

use serde::{Deserialize, Serialize};

/// The phases, by their names on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseName {
    /// 0: the agent restates the brief, the operator confirms.
    Intake,
    /// 1: work.
    Execute,
    /// 2: the agent can't go on.
    Blocker,
    /// 3: something destructive or out of scope waits for the operator.
    Destructive,
    /// 4: the report.
    Completion,
    /// It is over.
    Done,
}

impl PhaseName {
    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Intake => "intake",
            Self::Execute => "execute",
            Self::Blocker => "blocker",
            Self::Destructive => "destructive",
            Self::Completion => "completion",
            Self::Done => "done",
        }
    }

    /// Its name for an operator. What waits in phase 3 is seldom destructive: it needs an approval.
    #[must_use]
    pub const fn said(self) -> &'static str {
        match self {
            Self::Destructive => "approval",
            Self::Intake | Self::Execute | Self::Blocker | Self::Completion | Self::Done => self.as_str(),
        }
    }

    /// The name for an operator of a phase by its name on the wire; any other word is itself.
    #[must_use]
    pub fn said_of(word: &str) -> &str {
        match Self::named(word) {
            Some(phase) => phase.said(),
            None => word,
        }
    }

    /// The phase of a name on the wire.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        let all = [Self::Intake, Self::Execute, Self::Blocker, Self::Destructive, Self::Completion, Self::Done];
        all.into_iter().find(|phase| phase.as_str() == word)
    }

    /// Its number, as people and agents say it.
    #[must_use]
    pub const fn number(self) -> Option<u8> {
        match self {
            Self::Intake => Some(0),
            Self::Execute => Some(1),
            Self::Blocker => Some(2),
            Self::Destructive => Some(3),
            Self::Completion => Some(4),
            Self::Done => None,
        }
    }
}
