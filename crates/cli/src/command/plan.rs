//! `adjutant plan`: what a planner would make of a brief.

use std::path::PathBuf;

use adjutant_core::words::role::RoleName;
use adjutant_runtime::assembly::{Overrides, RunExtent};
use clap_complete::ArgValueCandidates;

use super::run::parse_role_adapter;
use crate::candidates;
use crate::exit::Ending;
use crate::order::Order;
use crate::settings::Place;

/// Have a planner divide a brief into sub-tasks, and do nothing
///
/// Asks the planner alone and prints the plan. It may read files. Nothing is confirmed or changed, no journal is kept.
#[derive(Debug, clap::Args)]
pub struct PlanArgs {
    /// The brief's file; `-` reads standard input
    brief: PathBuf,
    /// Who plans [default: the brief's planner, else its adapter]
    #[arg(long, value_name = "ADAPTER", add = ArgValueCandidates::new(candidates::adapters))]
    adapter: Option<String>,
    /// The adapter's model
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Where the adapter's API is [default: the configured address, else the provider's]
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Who plays a role, as `planner=anthropic` or `planner=anthropic:MODEL`
    #[arg(long, value_name = "ROLE=ADAPTER", value_parser = parse_role_adapter)]
    role_adapter: Vec<(RoleName, String)>,
    /// The script that the scripted agent plays
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Print every event as a line of JSON
    #[arg(long)]
    json: bool,
}

/// Plans.
pub fn run(args: &PlanArgs, place: &Place) -> anyhow::Result<Ending> {
    let overrides = Overrides {
        adapter: args.adapter.clone(),
        model: args.model.clone(),
        base_url: args.base_url.clone(),
        role_adapters: args.role_adapter.clone(),
        script: args.script.clone(),
        ..Overrides::default()
    };
    let order = Order {
        brief: &args.brief,
        overrides,
        extent: RunExtent::PlanOnly,
        is_ephemeral: true,
        may_be_second: true,
        folder: None,
        answers: None,
        recording: None,
        json: args.json,
    };
    Ok(order.carry_out(place)?.ending)
}
