//! Roles that an operator defines: each takes the place of one of the four, says what to look at, and may hold less.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::gate::RoleLimit;
use crate::gate::authorization::{covers, covers_something};
use crate::words::Category;
use crate::words::effort::Effort;
use crate::words::role::{Role, RoleName};

/// The roles that an operator defined, by their names.
pub type CustomRoles = BTreeMap<RoleName, CustomRole>;

/// The longest instruction of a role, in bytes: it is sent with every request of the role.
pub const INSTRUCTION_BYTES_MAX: usize = 16 * 1024;

/// A role that an operator defined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomRole {
    /// Base role whose place it takes: as an executor it works instead of the crew's, as a reviewer or critic it judges
    /// beside them.
    pub base: Role,
    /// Instruction that it gets beyond that of every role of its base.
    pub instruction: String,
    /// The categories that it may hold; those of its base if absent. Reading needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_hold: Option<Vec<Category>>,
    /// Agent that plays it, `adapter` or `adapter:model`; if absent, the agent that plays the other roles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    /// Effort asked of the agent that plays it; if absent, the same as for the other roles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Place of its definition.
    pub from: String,
    /// True if a project defined it: then its instruction reaches an agent inside a fence only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_projects: bool,
}

/// Reason that a role can't be defined like this.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadCustomRole {
    /// The four keep their names.
    #[error("`{0}` is a role that every crew knows, so no other can have its name")]
    NameTaken(RoleName),
    /// It says nothing.
    #[error("the role `{0}` has no instruction")]
    NoInstruction(RoleName),
    /// It says too much.
    #[error("the instruction of the role `{0}` has more than {INSTRUCTION_BYTES_MAX} bytes")]
    LongInstruction(RoleName),
    /// Its adapter names no agent that could play it.
    #[error("the role `{0}` is played by `{1}`, which is neither `adapter` nor `adapter:model`")]
    NoAdapter(RoleName, String),
    /// An entry of its `may_hold` is no category.
    #[error("the role `{0}` may hold `{1}`, which is no category")]
    NoCategory(RoleName, Category),
    /// It would hold more than its base.
    #[error("the role `{name}` may hold `{category}`, which its base, `{base}`, may never hold")]
    Wider {
        /// The role.
        name: RoleName,
        /// The category beyond its base.
        category: Category,
        /// Its base.
        base: Role,
    },
}

impl CustomRole {
    /// Checks a definition: its name is free, it has an instruction, and it may hold nothing that its base may not.
    ///
    /// # Errors
    ///
    /// The first fault of the definition.
    pub fn check(&self, name: &RoleName) -> Result<(), BadCustomRole> {
        if name.known().is_some() {
            return Err(BadCustomRole::NameTaken(name.clone()));
        }
        if self.instruction.trim().is_empty() {
            return Err(BadCustomRole::NoInstruction(name.clone()));
        }
        if self.instruction.len() > INSTRUCTION_BYTES_MAX {
            return Err(BadCustomRole::LongInstruction(name.clone()));
        }
        if let Some(adapter) = &self.adapter
            && (adapter.is_empty() || adapter.starts_with(':') || adapter.ends_with(':'))
        {
            return Err(BadCustomRole::NoAdapter(name.clone(), adapter.clone()));
        }
        let limit = RoleLimit::of(self.base);
        for category in self.may_hold.iter().flatten() {
            if !covers_something(category.as_str()) {
                return Err(BadCustomRole::NoCategory(name.clone(), category.clone()));
            }
            if !limit.may_hold.iter().any(|held| covers(held, category)) {
                return Err(BadCustomRole::Wider { name: name.clone(), category: category.clone(), base: self.base });
            }
        }
        Ok(())
    }
}

/// A role of a crew, and whose place it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: RoleName,
    /// Its place: that of itself, for one of the four.
    pub base: Role,
}

impl Member {
    /// Returns the member with the role of this name; `None` if no such role is defined.
    #[must_use]
    pub fn of(name: &RoleName, custom: &CustomRoles) -> Option<Self> {
        let base = name.known().or_else(|| Some(custom.get(name)?.base))?;
        Some(Self { name: name.clone(), base })
    }
}

impl From<Role> for Member {
    fn from(role: Role) -> Self {
        Self { name: role.into(), base: role }
    }
}

/// Reason that no crew can be made of some roles.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadCrew {
    /// Nobody takes this place.
    #[error("a crew needs the role `{0}`")]
    Lacks(Role),
    /// Two take a place for one.
    #[error("`{first}` and `{second}` are both `{base}` of the crew, which has one")]
    Two {
        /// The place.
        base: Role,
        /// The first that takes it.
        first: RoleName,
        /// The other.
        second: RoleName,
    },
}

/// Checks that a crew can be made of these: one planner, one executor, any number of judges. A role that is listed
/// twice counts once.
///
/// # Errors
///
/// The first reason that it can't.
pub fn check_crew(members: &[Member]) -> Result<(), BadCrew> {
    for base in [Role::Planner, Role::Executor] {
        let mut taken = members.iter().filter(|member| member.base == base);
        let Some(first) = taken.next() else { return Err(BadCrew::Lacks(base)) };
        if let Some(second) = taken.find(|member| member.name != first.name) {
            return Err(BadCrew::Two { base, first: first.name.clone(), second: second.name.clone() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> RoleName {
        text.parse().expect("a name")
    }

    fn role(base: Role, may_hold: Option<&[&str]>) -> CustomRole {
        CustomRole {
            base,
            instruction: "Look for secrets.".to_owned(),
            may_hold: may_hold.map(|held| held.iter().copied().map(Category::new).collect()),
            adapter: None,
            effort: None,
            from: "config.toml:1:1".to_owned(),
            is_projects: false,
        }
    }

    #[test]
    fn a_definition_may_hold_less_than_its_base_and_never_more() {
        for (base, may_hold, wrong) in [
            (Role::Executor, None, None),
            (Role::Executor, Some(&["filesystem_write", "mcp_tool:git:*"][..]), None),
            (Role::Executor, Some(&["*"]), None),
            (Role::Executor, Some(&[]), None),
            (Role::Executor, Some(&["filesystem_wirte"]), Some("no category")),
            (Role::Reviewer, Some(&["filesystem_read"]), None),
            (Role::Reviewer, Some(&["*"]), Some("may never hold")),
            (Role::Critic, Some(&["shell_exec"]), Some("its base, `critic`, may never hold")),
            (Role::Planner, Some(&["filesystem_read"]), None),
            (Role::Planner, Some(&["filesystem_write"]), Some("its base, `planner`, may never hold")),
        ] {
            let checked = role(base, may_hold).check(&name("auditor"));
            let told = checked.err().map(|error| error.to_string());
            assert_eq!(told.is_some(), wrong.is_some(), "{base} {may_hold:?}: {told:?}");
            assert!(told.unwrap_or_default().contains(wrong.unwrap_or_default()));
        }
    }

    #[test]
    fn a_definition_needs_a_name_of_its_own_and_something_to_say() {
        assert_eq!(role(Role::Critic, None).check(&name("critic")), Err(BadCustomRole::NameTaken(name("critic"))));
        for (instruction, wrong) in [
            ("  \n".to_owned(), BadCustomRole::NoInstruction(name("auditor"))),
            ("x".repeat(INSTRUCTION_BYTES_MAX + 1), BadCustomRole::LongInstruction(name("auditor"))),
        ] {
            assert_eq!(CustomRole { instruction, ..role(Role::Critic, None) }.check(&name("auditor")), Err(wrong));
        }
    }

    #[test]
    fn a_crew_has_one_planner_one_executor_and_any_number_of_judges() {
        let custom = CustomRoles::from([
            (name("migrator"), role(Role::Executor, None)),
            (name("security"), role(Role::Reviewer, None)),
        ]);
        for (names, wrong) in [
            (&["planner", "executor"][..], None),
            (&["planner", "migrator", "security", "critic"], None),
            (&["planner", "executor", "executor"], None),
            (&["planner", "executor", "migrator"], Some("both `executor`")),
            (&["executor"], Some("needs the role `planner`")),
            (&["planner", "security"], Some("needs the role `executor`")),
        ] {
            let members: Vec<Member> =
                names.iter().map(|text| Member::of(&name(text), &custom).expect("known")).collect();
            let told = check_crew(&members).err().map(|error| error.to_string()).unwrap_or_default();
            assert_eq!(told.is_empty(), wrong.is_none(), "{names:?}: {told}");
            assert!(told.contains(wrong.unwrap_or_default()), "{names:?}: {told}");
        }
        assert_eq!(Member::of(&name("nobody"), &custom), None);
    }
}
