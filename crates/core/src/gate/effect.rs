//! One thing that a call would do: a file deleted, a host contacted, commits published.
//!
//! Effects are read from a call's arguments (`effects.rs`), of a command line by [`shell`](super::shell) or by
//! rules for one tool. They are facts for the gate: whether a fact is allowed is decided in `decision.rs`.

use serde::{Deserialize, Serialize};

use crate::words::Category;

/// The weight of an effect, from mild to strict. A whole command line counts as its strictest effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It reads, or works on what is easily made anew.
    Safe,
    /// Neither destroys nor leaves the machine, but the operator should know beforehand: packages, rights.
    Ask,
    /// Its effects can't be read beforehand.
    Opaque,
    /// It reaches others: published, sent, deployed.
    External,
    /// Something is lost: deleted, overwritten, discarded, killed.
    Destructive,
}

/// One effect of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Effect {
    /// The effect's weight.
    pub verdict: Verdict,
    /// The category that must be authorized.
    pub category: Category,
    /// The act and its target.
    #[serde(flatten)]
    pub act: Act,
    /// The part of the call that it was read from, as written; shortened where it is long.
    pub matched: String,
    /// The effect, as half a sentence: `deletes files`.
    pub reason: String,
}

/// An act with its target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum Act {
    /// A file is created or changed.
    Write(Target),
    /// A file's whole content is replaced or lost.
    Overwrite(Target),
    /// A file or folder is removed.
    Delete(Target),
    /// A host is contacted.
    Contact {
        /// Its name or address as written, without port and user; `?` if it can't be known.
        host: String,
    },
    /// A part of the call whose text can't be read: it doesn't parse, or is for a shell that is not read. Unlike
    /// a script, which is opaque and may be authorized, it hides what stands in the call itself.
    Unreadable,
    /// A command that a rule of the operator's denies.
    Denied {
        /// The rule, as it is written.
        rule: String,
    },
    /// Anything that has neither a path nor a host.
    Other,
}

/// The files that an effect is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Target {
    /// The path in plain form: relative to the workdir if it lies inside (`.` is the workdir itself), absolute
    /// otherwise; `?` if it can't be known.
    pub path: String,
    /// True if the path is a pattern (`*`, `?`, `[`) that stands for every path it matches.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_pattern: bool,
    /// True if everything below the path is meant too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_recursive: bool,
}

/// The path of a target that can't be known.
pub const UNKNOWN: &str = "?";

/// The categories of `effects`, each once, in order.
#[must_use]
pub fn categories(effects: &[Effect]) -> Vec<Category> {
    let mut categories: Vec<Category> = Vec::new();
    for effect in effects {
        if !categories.contains(&effect.category) {
            categories.push(effect.category.clone());
        }
    }
    categories
}
