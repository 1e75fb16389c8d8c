//! `adjutant tools`: what an agent may call.

use serde_json::{Value, json};

use crate::exit::Ending;

/// List the tools that an agent may call, and what each needs
///
/// A category that the brief's `authorized_costs` does not cover is asked for before the call is made.
#[derive(Debug, clap::Args)]
pub struct ToolsArgs {
    /// Print names, categories, descriptions and schemas as JSON
    #[arg(long)]
    json: bool,
}

/// Lists the tools.
pub fn run(args: &ToolsArgs) -> anyhow::Result<Ending> {
    let catalog = adjutant_tools::catalog();
    if args.json {
        let tool = |tool: &adjutant_core::words::tool::ToolSpec| -> Value {
            json!({"name": tool.name, "categories": tool.categories, "description": tool.description, "schema": tool.schema})
        };
        super::print_json(&catalog.iter().map(tool).collect::<Vec<_>>())?;
        return Ok(Ending::Done);
    }
    let mut text = format!("{} tools\n", catalog.len());
    for tool in catalog.iter() {
        let categories: Vec<&str> = tool.categories.iter().map(|category| category.as_str()).collect();
        text.push_str(&format!("\n{}  [{}]\n  {}\n", tool.name, categories.join(", "), tool.description));
    }
    super::print(&text)?;
    Ok(Ending::Done)
}
