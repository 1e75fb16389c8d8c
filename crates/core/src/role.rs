//! The parts in a crew, as a brief names them and the gate limits them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A part in a crew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Divides the work into sub-tasks.
    Planner,
    /// Does them.
    Executor,
    /// Judges what was done.
    Reviewer,
    /// Looks for what the others missed.
    Critic,
}

impl Role {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 4] = [Self::Planner, Self::Executor, Self::Reviewer, Self::Critic];

    /// All of them, as they are written in a brief.
    pub const WORDS: [&'static str; 4] =
        [Self::Planner.as_str(), Self::Executor.as_str(), Self::Reviewer.as_str(), Self::Critic.as_str()];

    /// The word by which it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Planner => "planner",
            Self::Executor => "executor",
            Self::Reviewer => "reviewer",
            Self::Critic => "critic",
        }
    }

    /// The one that `word` names, in exactly this spelling.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == word)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_read_by_the_word_it_is_written_as() {
        assert_eq!(Role::WORDS.map(Role::from_word), Role::ALL.map(Some));
        assert_eq!(Role::from_word("Planner"), None);
    }
}
