//! The categories that a role may ever hold, whatever a brief authorizes.
//!
//! A call beyond its role's limit means that work was handed to the wrong role: a mistake of ours or of
//! a role's definition, which no operator can approve. Limits are data; those of a crew's roles are in
//! [`RoleLimit::of`].

use serde::{Deserialize, Serialize};

use super::authorization::covers;
use crate::words::Category;
use crate::words::category::FILESYSTEM_READ;
use crate::words::role::Role;

/// The limit of a role: one of a crew's, or one that only this limit defines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleLimit {
    /// The role's name, such as `executor`.
    pub name: String,
    /// The categories it may hold, by the same matching as `authorized_costs`.
    #[serde(default)]
    pub may_hold: Vec<Category>,
    /// True if it may read: make a call that needs only `filesystem_read`, or nothing at all.
    #[serde(default)]
    pub may_read: bool,
    /// The part of its limit that it was granted; everything if absent. Reading needs no grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<RoleGrant>,
}

/// The categories that a role was granted, and by what: narrower than its limit. A call beyond the limit means that the
/// kind of work is wrong for the role; a call beyond the grant doesn't, so it is refused and the run goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleGrant {
    /// The categories, by the same matching as `authorized_costs`.
    pub holds: Vec<Category>,
    /// The source of the grant, such as `` `role_grants` in the brief ``.
    pub by: String,
}

/// The result of checking a call against a role's limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoleScope {
    /// True if the call lies within the limit.
    pub in_scope: bool,
    /// The required categories that the role may never hold.
    pub missing: Vec<Category>,
}

impl RoleLimit {
    /// The limit of a crew's role: an executor may call any tool, the others only read. They are OpenWar's limits but
    /// for the planner's, which there may not even read.
    #[must_use]
    pub fn of(role: Role) -> Self {
        let (may_hold, may_read): (&[&str], bool) = match role {
            Role::Executor => (&["*"], true),
            Role::Planner | Role::Reviewer | Role::Critic => (&[FILESYSTEM_READ], true),
        };
        let may_hold = may_hold.iter().map(|category| Category::new(*category)).collect();
        Self { name: role.to_string(), may_hold, may_read, granted: None }
    }

    /// The required categories that lie beyond the role's grant; none where it has none of its own.
    #[must_use]
    pub fn beyond_grant(&self, required: &[Category]) -> Vec<Category> {
        let Some(granted) = &self.granted else { return Vec::new() };
        let may = |category: &Category| {
            category.is_default_allowed() || granted.holds.iter().any(|entry| covers(entry, category))
        };
        required.iter().filter(|category| !may(category)).cloned().collect()
    }

    /// Returns what `held` and the role both allow, its own grant included: never more than any of them.
    #[must_use]
    pub fn narrow(&self, held: &[Category]) -> Vec<Category> {
        let held = both(held, &self.may_hold);
        self.granted.as_ref().map_or_else(|| held.clone(), |granted| both(&held, &granted.holds))
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

/// Returns what two lists both allow: each entry that the other covers. So it never holds more than either.
pub(crate) fn both(granted: &[Category], held: &[Category]) -> Vec<Category> {
    let mut both: Vec<Category> = Vec::new();
    let within = granted.iter().filter(|entry| held.iter().any(|held| covers(held, entry)));
    let beneath = held.iter().filter(|held| granted.iter().any(|entry| covers(entry, held)));
    for category in within.chain(beneath) {
        if !both.contains(category) {
            both.push(category.clone());
        }
    }
    both
}
