//! The roles that are defined: the tables `[roles.<name>]`.

use std::collections::BTreeMap;

use adjutant_core::gate::custom_role::CustomRole;
use adjutant_core::words::Category;
use adjutant_core::words::role::{Role, RoleName};

use super::keys::ConfigKey;
use super::{ConfigError, ConfigOwner, Setting};

/// The keys of a role.
pub const ROLE_KEYS: &[&str] = &["base", "instruction", "may_hold", "adapter", "effort"];

/// The tables of all roles, from the key `roles`.
pub(super) fn read(roles: &ConfigKey<'_, '_>) -> Result<BTreeMap<RoleName, Setting<CustomRole>>, ConfigError> {
    let table = roles.value.get_ref().as_table();
    let table = table.ok_or_else(|| roles.bad("a table for each role, such as `[roles.security]`"))?;
    let mut found = BTreeMap::new();
    for (id, value) in table {
        let full = format!("roles.{}", id.get_ref());
        let key = ConfigKey { file: roles.file, name: &full, value };
        let name: RoleName = id.get_ref().parse().map_err(|_bad| ConfigError::BadValue {
            at: roles.file.origin(&id.span()),
            key: "roles".to_owned(),
            expected: "named with 1 to 32 lower-case letters, digits and hyphens, beginning with a letter",
            found: format!("`{}`", id.get_ref().chars().take(80).collect::<String>()),
        })?;
        let from = roles.file.origin(&id.span());
        let role = role(&key, from.to_string())?;
        role.check(&name).map_err(|why| ConfigError::BadRole { at: from.clone(), why })?;
        found.insert(name, Setting { value: role, from });
    }
    Ok(found)
}

fn role(role: &ConfigKey<'_, '_>, from: String) -> Result<CustomRole, ConfigError> {
    let table = role.value.get_ref().as_table().ok_or_else(|| role.bad("a table with `base` and `instruction`"))?;
    let is_projects = role.file.whose == ConfigOwner::Projects;
    let mut base = None;
    // Without one, the check of the whole says so.
    let mut defined = CustomRole {
        base: Role::Critic,
        instruction: String::new(),
        may_hold: None,
        adapter: None,
        effort: None,
        from,
        is_projects,
    };
    for (name, value) in table {
        let full = format!("{}.{}", role.name, name.get_ref());
        let key = ConfigKey { file: role.file, name: &full, value };
        match name.get_ref().as_ref() {
            "base" => base = Some(base_of(&key)?),
            "instruction" => {
                let text =
                    value.get_ref().as_str().ok_or_else(|| key.bad("what the role looks at or does, as text"))?;
                text.trim().clone_into(&mut defined.instruction);
            }
            "may_hold" => {
                let held = key.texts("a list of categories")?.value;
                defined.may_hold = Some(held.into_iter().map(Category::new).collect());
            }
            "adapter" => defined.adapter = Some(key.text("the name of an adapter, with or without `:model`")?.value),
            "effort" => defined.effort = Some(key.effort()?.value),
            other => return Err(role.file.unknown(&name.span(), other, full.clone(), ROLE_KEYS.to_vec())),
        }
    }
    defined.base = base.ok_or_else(|| {
        role.bad("a table with `base`, which says whose place the role takes, such as `base = \"reviewer\"`")
    })?;
    Ok(defined)
}

fn base_of(key: &ConfigKey<'_, '_>) -> Result<Role, ConfigError> {
    let given = key.value.get_ref().as_str().and_then(Role::from_word);
    given.ok_or_else(|| key.bad("`planner`, `executor`, `reviewer` or `critic`"))
}
