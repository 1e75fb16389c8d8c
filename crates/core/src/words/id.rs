//! The names of things: checked once on the way in, never again.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The longest name of a run, in characters (design section 4).
pub const RUN_ID_CHARS_MAX: usize = 64;
/// The longest id of a brief, in characters: leaves room for `-r2` and the like (design section 4).
pub const BRIEF_ID_CHARS_MAX: usize = 56;

/// The longest name of a workspace, in characters: a folder can have it.
pub const WORKSPACE_ID_CHARS_MAX: usize = 64;

/// Reason why a name was rejected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{given}` can't name a {what}: it takes 1 to {chars_max} letters, digits, `-`, `_` or `.`, not beginning with a dot"
)]
pub struct BadName {
    /// The name as it was given, cut to a length that can be shown.
    pub given: String,
    what: &'static str,
    chars_max: usize,
}

/// Returns `name` if it is safe as a file name anywhere: letters, digits, `-`, `_`, `.`, no leading dot.
fn check(name: &str, what: &'static str, chars_max: usize) -> Result<String, BadName> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if (1..=chars_max).contains(&name.len()) && name.chars().all(allowed) && !name.starts_with('.') {
        return Ok(name.to_owned());
    }
    Err(BadName { given: name.chars().take(80).collect(), what, chars_max })
}

macro_rules! checked_name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $chars_max:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Returns the name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = BadName;

            fn from_str(given: &str) -> Result<Self, BadName> {
                check(given, $what, $chars_max).map(Self)
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadName;

            fn try_from(given: String) -> Result<Self, BadName> {
                given.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

checked_name!(
    /// The name of a run: a safe file name of 1 to 64 characters.
    RunId,
    "run",
    RUN_ID_CHARS_MAX
);
checked_name!(
    /// The name of a brief: a safe file name of 1 to 56 characters.
    BriefId,
    "brief",
    BRIEF_ID_CHARS_MAX
);
checked_name!(
    /// The name of a workspace of a run other than its own, such as a worktree for one stage: a safe file name of 1 to 64
    /// characters. Where it is absent, the run's own workspace is meant.
    WorkspaceId,
    "workspace",
    WORKSPACE_ID_CHARS_MAX
);

/// The name of a project: lower-case letters, digits and hyphens, beginning with a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slug(String);

/// Reason why a project's name was rejected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{given}` can't name a project: it takes 1 to 64 lower-case letters, digits and hyphens, beginning with a letter or digit"
)]
pub struct BadSlug {
    /// The name as it was given, cut to a length that can be shown.
    pub given: String,
}

impl Slug {
    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Slug {
    type Err = BadSlug;

    fn from_str(given: &str) -> Result<Self, BadSlug> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if (1..=64).contains(&given.len()) && given.chars().all(allowed) && !given.starts_with('-') {
            return Ok(Self(given.to_owned()));
        }
        Err(BadSlug { given: given.chars().take(80).collect() })
    }
}

impl TryFrom<String> for Slug {
    type Error = BadSlug;

    fn try_from(given: String) -> Result<Self, BadSlug> {
        given.parse()
    }
}

impl From<Slug> for String {
    fn from(slug: Slug) -> Self {
        slug.0
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_a_folder_are_refused() {
        for given in ["", ".", "..", ".hidden", "a/b", "a\\b", "a b", "a\0", "é", &"x".repeat(65)] {
            assert!(given.parse::<RunId>().is_err(), "{given:?}");
        }
        assert!("2024-05-05-P1-r2".parse::<RunId>().is_ok());
    }

    #[test]
    fn slugs_are_lower_case_and_begin_with_a_letter_or_digit() {
        for given in ["", "..", "-a", "Orchard", "a_b", "a.b", "a/b"] {
            assert!(given.parse::<Slug>().is_err(), "{given:?}");
        }
        assert!("orchard-2-".parse::<Slug>().is_ok());
    }
}
