//! `adjutant framework`: what every agent is told.

use adjutant_core::session::standing_orders;
use serde_json::json;

use crate::exit::Ending;

/// Show the standing orders that every agent gets
///
/// They are sent as the system's word at the beginning of every session, recorded in its journal, and
/// enforced by detectors and the gate where a rule can.
#[derive(Debug, clap::Args)]
pub struct FrameworkArgs {
    /// Print the version and the text as JSON
    #[arg(long)]
    json: bool,
}

/// Shows the standing orders.
pub fn run(args: &FrameworkArgs) -> anyhow::Result<Ending> {
    if args.json {
        super::print_json(&json!({"version": standing_orders::VERSION, "text": standing_orders::text()}))?;
    } else {
        super::print(&format!("{}\n", standing_orders::text().trim_end()))?;
    }
    Ok(Ending::Done)
}
