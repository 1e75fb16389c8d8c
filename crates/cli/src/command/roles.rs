//! `adjutant roles`: the roles of a crew and what each may do.

use adjutant_core::crew::prompts::overlay;
use adjutant_core::gate::RoleLimit;
use adjutant_core::role::Role;
use serde_json::{Value, json};

use crate::exit::Ending;

/// List the roles of a crew and what each may ever do
#[derive(Debug, clap::Args)]
pub struct RolesArgs {
    /// Print them as JSON
    #[arg(long)]
    json: bool,
}

/// Lists them.
pub fn run(args: &RolesArgs) -> anyhow::Result<Ending> {
    if args.json {
        let roles: Vec<Value> = Role::ALL
            .into_iter()
            .map(|role| json!({"role": role, "limit": RoleLimit::of(role), "orders": overlay(role)}))
            .collect();
        super::print_json(&roles)?;
        return Ok(Ending::Done);
    }
    let text: String = Role::ALL
        .into_iter()
        .map(|role| {
            let limit = RoleLimit::of(role);
            let held: Vec<&str> = limit.may_hold.iter().map(|category| category.as_str()).collect();
            let may = match (limit.may_read, held.as_slice()) {
                (false, []) => "calls no tool".to_owned(),
                (true, ["*"]) => "whatever the brief authorizes".to_owned(),
                _ => "reads, and changes nothing".to_owned(),
            };
            format!("{:<10} {may}\n           {}\n", role.as_str(), overlay(role))
        })
        .collect();
    super::print(&text)?;
    Ok(Ending::Done)
}
