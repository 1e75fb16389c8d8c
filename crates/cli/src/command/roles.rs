//! `adjutant roles`: the roles that a crew can have and what each may do.

use std::path::PathBuf;

use adjutant_core::crew::authority::limit_of;
use adjutant_core::crew::prompts::{overlay, what_a_role_is};
use adjutant_core::gate::RoleLimit;
use adjutant_core::gate::custom_role::{CustomRole, CustomRoles, Member};
use adjutant_core::words::Category;
use adjutant_core::words::role::Role;
use adjutant_core::words::visible::visible_text;
use adjutant_runtime::assembly::custom_roles;
use adjutant_store::config;
use anyhow::Context;
use serde_json::{Value, json};

use crate::exit::Ending;
use crate::settings::Place;

/// List the roles that a crew can have and what each may ever do
///
/// Those that every crew knows, then those that the configuration defines, each with where it comes from.
#[derive(Debug, clap::Args)]
pub struct RolesArgs {
    /// The folder whose project may define roles [default: the current folder]
    #[arg(long, value_name = "DIR")]
    workdir: Option<PathBuf>,
    /// Print them as JSON
    #[arg(long)]
    json: bool,
}

/// Source of the roles that every crew knows.
const BUILT_IN: &str = "built in";

/// Lists them.
pub fn run(args: &RolesArgs, place: &Place) -> anyhow::Result<Ending> {
    let current = std::env::current_dir().context("can't tell the current folder")?;
    let folder = args.workdir.as_ref().map_or_else(|| current.clone(), |workdir| current.join(workdir));
    let loaded = config::load(&place.home()?, Some(&folder)).map_err(|error| super::config_failure(&error))?;
    for notice in &loaded.notices {
        tell!("warning: {}", visible_text(&notice.to_string()));
    }
    let custom = custom_roles(&loaded.config);
    let members: Vec<Member> = Role::ALL
        .into_iter()
        .map(Member::from)
        .chain(custom.keys().filter_map(|name| Member::of(name, &custom)))
        .collect();
    if args.json {
        let roles: Vec<Value> = members.iter().map(|member| as_json(member, &custom)).collect();
        super::print_json(&roles)?;
    } else {
        let text: String = members.iter().map(|member| as_text(member, &custom)).collect();
        super::print(&visible_text(&text))?;
    }
    Ok(Ending::Done)
}

fn as_json(member: &Member, custom: &CustomRoles) -> Value {
    let defined = custom.get(&member.name);
    json!({
        "role": member.name,
        "base": member.base,
        "limit": limit_of(member, custom, None),
        "orders": what_a_role_is(member, defined),
        "adapter": defined.and_then(|defined| defined.adapter.as_deref()),
        "effort": defined.and_then(|defined| defined.effort),
        "from": defined.map_or(BUILT_IN, |defined| defined.from.as_str()),
    })
}

fn as_text(member: &Member, custom: &CustomRoles) -> String {
    let may = may(&limit_of(member, custom, None));
    let Some(defined) = custom.get(&member.name) else {
        return format!("{:<10} {may}\n           {}\n", member.name.as_str(), overlay(member.base));
    };
    let CustomRole { base, instruction, adapter, effort, from, .. } = defined;
    let played = adapter.as_ref().map(|adapter| format!("; played by {adapter}")).unwrap_or_default();
    let thinks = effort.map(|effort| format!("; effort {effort}")).unwrap_or_default();
    let instruction = instruction.trim().replace('\n', "\n           ");
    format!("{:<10} as {base}: {may}{played}{thinks}; from {from}\n           {instruction}\n", member.name.as_str())
}

/// Describes in words what a role may do.
fn may(limit: &RoleLimit) -> String {
    let held = limit.granted.as_ref().map_or(&limit.may_hold, |granted| &granted.holds);
    let held: Vec<&str> = held.iter().map(Category::as_str).filter(|held| *held != "filesystem_read").collect();
    match (limit.may_read, held.as_slice()) {
        (false, _) => "calls no tool".to_owned(),
        (true, ["*"]) => "whatever the brief authorizes".to_owned(),
        (true, []) => "reads, and changes nothing".to_owned(),
        (true, held) => format!("reads, and of what the brief authorizes: {}", held.join(", ")),
    }
}
