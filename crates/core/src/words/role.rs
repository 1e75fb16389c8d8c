//! The parts in a crew, as a brief names them and the gate limits them: four that every crew knows, and names for
//! those that an operator defines, each of which takes the place of one of the four.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The longest name of a role, in characters. A name is a segment of a part's name and stands in tables.
pub const ROLE_NAME_CHARS_MAX: usize = 32;

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

    /// Returns the word by which it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Planner => "planner",
            Self::Executor => "executor",
            Self::Reviewer => "reviewer",
            Self::Critic => "critic",
        }
    }

    /// Returns true if the role judges the work of others.
    #[must_use]
    pub const fn is_judge(self) -> bool {
        matches!(self, Self::Reviewer | Self::Critic)
    }

    /// Returns the role that `word` names, in exactly this spelling.
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

/// The name of a role: one of [`Role::WORDS`], or that of a role which an operator defined.
///
/// 1 to 32 lower-case letters, digits and hyphens, beginning with a letter. The four come first, in their order, then
/// all others by the alphabet: the places of a run's agents follow from it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RoleName(String);

/// Reason why a text names no role.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{given}` can't name a role: it takes 1 to 32 lower-case letters, digits and hyphens, beginning with a letter"
)]
pub struct BadRoleName {
    /// The text as it was given, cut to a length that can be shown.
    pub given: String,
}

impl RoleName {
    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the one of the four built-in roles that it names; `None` for a role that was defined.
    #[must_use]
    pub fn known(&self) -> Option<Role> {
        Role::from_word(&self.0)
    }
}

impl FromStr for RoleName {
    type Err = BadRoleName;

    fn from_str(given: &str) -> Result<Self, BadRoleName> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let begins = given.starts_with(|c: char| c.is_ascii_lowercase());
        if begins && given.len() <= ROLE_NAME_CHARS_MAX && given.chars().all(allowed) {
            return Ok(Self(given.to_owned()));
        }
        Err(BadRoleName { given: given.chars().take(80).collect() })
    }
}

impl TryFrom<String> for RoleName {
    type Error = BadRoleName;

    fn try_from(given: String) -> Result<Self, BadRoleName> {
        given.parse()
    }
}

impl From<RoleName> for String {
    fn from(name: RoleName) -> Self {
        name.0
    }
}

impl From<Role> for RoleName {
    fn from(role: Role) -> Self {
        Self(role.as_str().to_owned())
    }
}

impl PartialEq<Role> for RoleName {
    fn eq(&self, role: &Role) -> bool {
        self.0 == role.as_str()
    }
}

impl Ord for RoleName {
    fn cmp(&self, other: &Self) -> Ordering {
        let place = |name: &Self| Role::WORDS.iter().position(|word| *word == name.0).unwrap_or(Role::WORDS.len());
        place(self).cmp(&place(other)).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for RoleName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for RoleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Part;

    #[test]
    fn names_are_checked_and_the_four_come_first() {
        for good in ["a", "security", "second-reviewer", "r2", &"a".repeat(32)] {
            assert_eq!(good.parse::<RoleName>().map(String::from), Ok(good.to_owned()));
        }
        for bad in ["", "2nd", "-a", "Critic", "a b", "a/b", "a.b", "a_b", "\u{e4}", &"a".repeat(33)] {
            assert!(bad.parse::<RoleName>().is_err(), "{bad}");
        }
        let mut names: Vec<RoleName> = ["zoologist", "critic", "auditor", "planner", "executor"]
            .iter()
            .map(|name| name.parse().unwrap())
            .collect();
        names.sort();
        let sorted: Vec<&str> = names.iter().map(RoleName::as_str).collect();
        assert_eq!(sorted, ["planner", "executor", "critic", "auditor", "zoologist"]);
    }

    #[test]
    fn a_role_is_known_by_the_part_that_it_works_in() {
        for (part, role) in [
            ("crew/plan/1/planner", Some("planner")),
            ("crew/subtask/2.1/security", Some("security")),
            ("crew/intake", None),
            ("crew", None),
            ("session", None),
        ] {
            assert_eq!(part.parse::<Part>().expect("a part").role().as_ref().map(RoleName::as_str), role, "{part}");
        }
    }

    #[test]
    fn a_role_is_read_by_the_word_it_is_written_as() {
        assert_eq!(Role::WORDS.map(Role::from_word), Role::ALL.map(Some));
        assert_eq!(Role::from_word("Planner"), None);
    }
}
