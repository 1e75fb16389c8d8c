//! Computes the authority of each role. The brief is the ceiling, a role has its own limit and may have a grant of its
//! own; a category is effective if all of them allow it. Delegation can only take authority away.

use serde::Serialize;

use crate::gate::custom_role::{CustomRoles, Member};
use crate::gate::role_limit::both;
use crate::gate::{RoleGrant, RoleLimit};
use crate::words::Category;
use crate::words::role::{Role, RoleName};

/// Authority of a role, and the limits that it follows from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Authority {
    /// The role.
    pub role: RoleName,
    /// Base role whose place it takes; for one of the four, the role itself.
    pub base: Role,
    /// Categories that the brief authorizes: the ceiling.
    pub ceiling: Vec<Category>,
    /// Categories that the role's base may hold, whatever a brief says.
    pub role_limit: Vec<Category>,
    /// Categories of these that the role's own definition leaves; `None` if it has no definition or the definition
    /// doesn't say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<Vec<Category>>,
    /// Categories that the brief grants the role; `None` if it doesn't say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role_grant: Option<Vec<Category>>,
    /// True if it may read.
    pub may_read: bool,
    /// Effective categories: those that all limits allow.
    pub effective: Vec<Category>,
}

impl Authority {
    /// Returns the authority of a role under what a brief authorizes and grants it.
    #[must_use]
    pub fn of(member: &Member, custom: &CustomRoles, authorized: &[Category], grant: Option<&[Category]>) -> Self {
        let limit = limit_of(member, custom, grant);
        Self {
            role: member.name.clone(),
            base: member.base,
            ceiling: authorized.to_vec(),
            effective: limit.narrow(authorized),
            may_read: limit.may_read,
            role_limit: limit.may_hold,
            definition: definition(member, custom).map(<[Category]>::to_vec),
            role_grant: grant.map(<[Category]>::to_vec),
        }
    }
}

/// Returns the categories that a member's own definition lets it hold.
fn definition<'c>(member: &Member, custom: &'c CustomRoles) -> Option<&'c [Category]> {
    custom.get(&member.name)?.may_hold.as_deref()
}

/// Returns the limit to which the gate holds a member: that of its base, narrowed by its definition and by the brief's
/// grant.
#[must_use]
pub fn limit_of(member: &Member, custom: &CustomRoles, grant: Option<&[Category]>) -> RoleLimit {
    const BY_DEFINITION: &str = "its definition";
    const BY_BRIEF: &str = "`role_grants` in the brief";
    let granted = match (definition(member, custom), grant) {
        (None, None) => None,
        (Some(held), None) => Some(RoleGrant { holds: held.to_vec(), by: BY_DEFINITION.to_owned() }),
        (None, Some(granted)) => Some(RoleGrant { holds: granted.to_vec(), by: BY_BRIEF.to_owned() }),
        (Some(held), Some(granted)) => {
            Some(RoleGrant { holds: both(granted, held), by: format!("{BY_BRIEF}, within {BY_DEFINITION},") })
        }
    };
    RoleLimit { name: member.name.to_string(), granted, ..RoleLimit::of(member.base) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::authorization::covers;
    use crate::gate::custom_role::CustomRole;

    fn categories(names: &[&str]) -> Vec<Category> {
        names.iter().copied().map(Category::new).collect()
    }

    #[test]
    fn no_hop_ever_holds_more_than_the_one_before() {
        let limit = |names: &[&str]| RoleLimit {
            name: "r".to_owned(),
            may_hold: categories(names),
            may_read: true,
            granted: None,
        };
        for (granted, held, expected) in [
            (&["shell_exec", "git_push"][..], &["*"][..], &["shell_exec", "git_push"][..]),
            (&["*"], &["filesystem_read"], &["filesystem_read"]),
            (&["shell_exec"], &["filesystem_read"], &[]),
            (&[], &["*"], &[]),
            (&["mcp_tool:a:b"], &["mcp_tool:*"], &["mcp_tool:a:b"]),
        ] {
            let found = limit(held).narrow(&categories(granted));
            assert_eq!(found, categories(expected), "{granted:?} {held:?}");
            assert!(found.iter().all(|category| categories(granted).iter().any(|entry| covers(entry, category))));
            assert!(found.iter().all(|category| categories(held).iter().any(|entry| covers(entry, category))));
        }
    }

    #[test]
    fn judges_and_planner_hold_nothing_that_changes_anything() {
        let everything = categories(&["*"]);
        let holds = |role: Role, authorized: &[Category]| {
            Authority::of(&role.into(), &CustomRoles::new(), authorized, None).effective
        };
        for role in [Role::Planner, Role::Reviewer, Role::Critic] {
            assert_eq!(holds(role, &everything), categories(&["filesystem_read"]));
        }
        assert_eq!(holds(Role::Executor, &categories(&["git_push"])), categories(&["git_push"]));
    }

    #[test]
    fn what_a_role_holds_is_what_brief_limit_definition_and_grant_all_allow() {
        let name: RoleName = "migrator".parse().expect("a name");
        for (base, authorized, definition, grant, expected) in [
            (Role::Executor, &["*"][..], None, None, &["*"][..]),
            (Role::Executor, &["*"], Some(&["shell_exec"][..]), None, &["shell_exec"]),
            (Role::Executor, &["*"], None, Some(&["git_write"][..]), &["git_write"]),
            (Role::Executor, &["shell_exec", "git_push"], Some(&["shell_exec", "deploy"]), Some(&["git_push"]), &[]),
            (Role::Executor, &["*"], Some(&["*"]), Some(&["mcp_tool:*"]), &["mcp_tool:*"]),
            (Role::Executor, &["mcp_tool:a:b"], Some(&["mcp_tool:a:*"]), Some(&["mcp_tool:*"]), &["mcp_tool:a:b"]),
            (Role::Executor, &["shell_exec"], None, Some(&[]), &[]),
            (Role::Reviewer, &["*"], None, Some(&["shell_exec"]), &[]),
            (Role::Planner, &["*"], None, Some(&["*"]), &["filesystem_read"]),
            (Role::Planner, &["shell_exec"], None, None, &[]),
        ] {
            let custom = CustomRole {
                base,
                instruction: "i".to_owned(),
                may_hold: definition.map(categories),
                adapter: None,
                effort: None,
                from: String::new(),
                is_projects: false,
            };
            let member = Member { name: name.clone(), base };
            let grant = grant.map(categories);
            let custom = CustomRoles::from([(name.clone(), custom)]);
            let found = Authority::of(&member, &custom, &categories(authorized), grant.as_deref());
            assert_eq!(found.effective, categories(expected), "{base} {authorized:?} {definition:?} {grant:?}");
            let limit = limit_of(&member, &custom, grant.as_deref());
            for category in &found.effective {
                assert!(limit.beyond_grant(std::slice::from_ref(category)).is_empty(), "{category}");
            }
        }
    }
}
