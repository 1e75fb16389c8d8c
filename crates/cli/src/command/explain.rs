//! `adjutant explain`: why the gate let a call through, held it or refused it.

use adjutant_core::session::explain;
use adjutant_core::view;
use adjutant_store::journal;
use adjutant_store::runs::{self, Found};

use super::resume;
use crate::exit::Ending;
use crate::failure::Failure;
use crate::settings::Place;
use crate::sitting;

/// Show why a call was allowed, held or refused
///
/// Reads the journal and changes nothing. Shows what the call would do, what each check found and about which part
/// of the call, who had said yes to what, what would have allowed it, and whether today's rules decide the same.
#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    /// The run: its name, a unique beginning of it, or its brief's id for the latest
    run: String,
    /// The call's number in the run, as in its journal; from 1
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    call: u32,
    /// Print the explanation as JSON
    #[arg(long)]
    json: bool,
}

/// Explains a call.
pub fn run(args: &ExplainArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let run_id = match runs::find(&home, &args.run).map_err(super::not_found)? {
        Found::Run(run_id) => run_id,
        Found::Peer(name) => {
            return Err(Failure::usage(format!("`{name}` is a session of another program, which records no reasons"))
                .hint(format!("`adjutant inspect {name} --tools` shows its calls"))
                .into());
        }
    };
    let reading = journal::read_only(&home, &run_id)?;
    let start = resume::start(&reading.events)?;
    let options = resume::latest_options(&reading.events, &start.options);
    let procedure = sitting::procedure(&sitting::recorded_brief(&start.brief)?, options);
    let Some(explanation) = explain::explain(&reading.events, procedure.child().clone(), args.call) else {
        return Err(Failure::ending(Ending::Failed, format!("the run `{run_id}` has no call {}", args.call))
            .hint(format!("`adjutant inspect {run_id} --tools` shows its calls in order, from 1"))
            .into());
    };
    if args.json {
        super::print_json(&explanation)?;
    } else {
        super::print(&view::explain::text(&explanation))?;
    }
    Ok(Ending::Done)
}
