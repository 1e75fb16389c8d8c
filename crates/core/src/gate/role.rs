//! What a role may ever hold, whatever a brief authorizes.
//!
//! A call beyond its role's limit means that work was handed to the wrong role: a mistake of ours or of
//! a role's definition, which no operator can approve. Roles are data; the four of a crew are in
//! [`Role::built_in`].

use serde::{Deserialize, Serialize};

use super::authorization::covers;
use super::category::{Category, FILESYSTEM_READ};

/// A role and its limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// Its name, such as `executor`.
    pub name: String,
    /// The categories it may hold, by the same matching as `authorized_costs`.
    #[serde(default)]
    pub may_hold: Vec<Category>,
    /// Whether it may read: a call that needs nothing but `filesystem_read`, or nothing at all.
    #[serde(default)]
    pub may_read: bool,
}

/// Whether a call lies within a role's limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoleScope {
    /// Whether it does.
    pub in_scope: bool,
    /// The required categories that the role may never hold.
    pub missing: Vec<Category>,
}

impl Role {
    /// The names of the roles that need no definition.
    pub const BUILT_IN: [&str; 4] = ["planner", "executor", "reviewer", "critic"];

    /// The role of a crew with this name: a planner calls no tool, an executor any, reviewer and critic
    /// only read (the peer's limits).
    #[must_use]
    pub fn built_in(name: &str) -> Option<Self> {
        let (may_hold, may_read): (&[&str], bool) = match name {
            "planner" => (&[], false),
            "executor" => (&["*"], true),
            "reviewer" | "critic" => (&[FILESYSTEM_READ], true),
            _ => return None,
        };
        let may_hold = may_hold.iter().map(|category| Category::new(*category)).collect();
        Some(Self { name: name.to_owned(), may_hold, may_read })
    }

    /// Checks what a call requires against the role's limit.
    ///
    /// A call that requires nothing is within the limit of every role that may do anything.
    #[must_use]
    pub fn scope_of(&self, required: &[Category]) -> RoleScope {
        let may = |category: &Category| {
            (self.may_read && category.is_default_allowed())
                || self.may_hold.iter().any(|entry| covers(entry, category))
        };
        let missing: Vec<Category> = required.iter().filter(|category| !may(category)).cloned().collect();
        let may_anything = self.may_read || !self.may_hold.is_empty();
        RoleScope { in_scope: missing.is_empty() && may_anything, missing }
    }
}
