//! `adjutant trace`: whether the record of a run is whole, a copy of it for others, and its removal.

mod export;
mod headers;
mod prune;
mod send;
mod verify;

use crate::exit::Ending;
use crate::settings::Place;

/// Verify, export or remove the records of runs
///
/// A run is its journal. `verify` says whether it is what was written, `export` puts it up for others: as lines, as
/// OpenTelemetry traces, or as a pack that a third party verifies. `prune` removes what is old.
#[derive(Debug, clap::Args)]
pub struct TraceArgs {
    #[command(subcommand)]
    action: TraceCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TraceCommand {
    Verify(verify::VerifyArgs),
    Export(export::ExportArgs),
    Prune(prune::PruneArgs),
}

/// Does what was asked for.
pub fn run(args: &TraceArgs, place: &Place) -> anyhow::Result<Ending> {
    match &args.action {
        TraceCommand::Verify(args) => verify::run(args, place),
        TraceCommand::Export(args) => export::run(args, place),
        TraceCommand::Prune(args) => prune::run(args, place),
    }
}
