//! What each role may do: the brief is the ceiling, a role has its own limit, and what holds is what both allow.
//! Whatever is delegated can only lose by it.

use serde::Serialize;

use crate::gate::authorization::covers;
use crate::gate::{Category, RoleLimit};
use crate::role::Role;

/// What a role may do, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Authority {
    /// The role.
    pub role: Role,
    /// What the brief authorizes: the ceiling.
    pub ceiling: Vec<Category>,
    /// What the role may hold, whatever a brief says.
    pub role_limit: Vec<Category>,
    /// Whether it may read.
    pub may_read: bool,
    /// What holds: both.
    pub effective: Vec<Category>,
}

impl Authority {
    /// The authority of a role under what a brief authorizes.
    #[must_use]
    pub fn of(role: Role, authorized: &[Category]) -> Self {
        let limit = RoleLimit::of(role);
        Self {
            role,
            ceiling: authorized.to_vec(),
            effective: effective(authorized, &limit),
            may_read: limit.may_read,
            role_limit: limit.may_hold,
        }
    }
}

/// What both a grant and a limit allow: each entry that the other covers. So it never holds more than either.
#[must_use]
pub fn effective(granted: &[Category], limit: &RoleLimit) -> Vec<Category> {
    let mut both: Vec<Category> = Vec::new();
    let within = granted.iter().filter(|entry| limit.may_hold.iter().any(|held| covers(held, entry)));
    let beneath = limit.may_hold.iter().filter(|held| granted.iter().any(|entry| covers(entry, held)));
    for category in within.chain(beneath) {
        if !both.contains(category) {
            both.push(category.clone());
        }
    }
    both
}

#[cfg(test)]
mod tests {
    use super::*;

    fn categories(names: &[&str]) -> Vec<Category> {
        names.iter().copied().map(Category::new).collect()
    }

    #[test]
    fn no_hop_ever_holds_more_than_the_one_before() {
        let limit = |names: &[&str]| RoleLimit { name: "r".to_owned(), may_hold: categories(names), may_read: true };
        for (granted, held, expected) in [
            (&["shell_exec", "git_push"][..], &["*"][..], &["shell_exec", "git_push"][..]),
            (&["*"], &["filesystem_read"], &["filesystem_read"]),
            (&["shell_exec"], &["filesystem_read"], &[]),
            (&[], &["*"], &[]),
            (&["mcp_tool:a:b"], &["mcp_tool:*"], &["mcp_tool:a:b"]),
        ] {
            let found = effective(&categories(granted), &limit(held));
            assert_eq!(found, categories(expected), "{granted:?} {held:?}");
            assert!(found.iter().all(|category| categories(granted).iter().any(|entry| covers(entry, category))));
            assert!(found.iter().all(|category| categories(held).iter().any(|entry| covers(entry, category))));
        }
    }

    #[test]
    fn judges_and_planner_hold_nothing_that_changes_anything() {
        let everything = categories(&["*"]);
        assert_eq!(Authority::of(Role::Planner, &everything).effective, []);
        for role in [Role::Reviewer, Role::Critic] {
            assert_eq!(Authority::of(role, &everything).effective, categories(&["filesystem_read"]));
        }
        assert_eq!(Authority::of(Role::Executor, &categories(&["git_push"])).effective, categories(&["git_push"]));
    }
}
