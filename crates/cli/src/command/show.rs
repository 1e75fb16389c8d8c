//! `adjutant show`: a run at first sight.

use adjutant_core::trace::read;
use adjutant_core::view::cost::{self, Pricing};
use adjutant_core::view::inbox::STOP_PENDING;
use adjutant_core::view::show::{self, Besides};
use adjutant_core::view::summary;
use adjutant_runtime::say;
use adjutant_store::Owner;
use adjutant_store::runs::{self, Listed};
use adjutant_store::scan::{self, Use};
use anyhow::Context;
use clap_complete::ArgValueCandidates;
use jiff::Timestamp;

use super::changes::{RunChanges, listed, named_run};
use crate::candidates;
use crate::exit::Ending;
use crate::failure::{self, Failure};
use crate::settings::Place;
/// Show what a run is for, where it stands and what it changed
///
/// Its objective and state, what it waits for, the last words of its agent, the files that it changed, what it used,
/// where its copy is, and what to type next. Changes nothing.
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// The run: its name, a unique beginning of it, or its brief's id for the latest (`ID-r1`: the first)
    #[arg(add = ArgValueCandidates::new(candidates::runs))]
    run: String,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// Shows a run.
pub fn run(args: &ShowArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let run_id = named_run(&home, &args.run)?;
    let summed = match runs::summed_up(&home, &run_id, &Owner::current(), Timestamp::now()) {
        Listed::Run(run) => run,
        Listed::Peer(_) => return Err(Failure::usage(format!("`{run_id}` is a session of another program")).into()),
        Listed::Unreadable { path, why, .. } => {
            return Err(Failure::ending(Ending::Failed, format!("can't read `{}`: {why}", path.display())).into());
        }
    };
    let path = home.journal(&run_id);
    let mut lines = Vec::new();
    scan::scan_file(&path, |number, line| {
        lines.push((number, line.to_owned()));
        Use::Taken
    })
    .with_context(|| format!("can't read the journal `{}`", path.display()))?;
    let trace = read::read_lines(lines.iter().map(|(number, line)| (*number, line.as_str())));
    super::warn_of_changes(&args.run, &trace, lines.iter().map(|(_, line)| line.as_bytes()));
    let cost = cost::of(&trace, Pricing::Configured(&super::inspect::prices(&home)));
    // What it changed is worth much, but a run whose folder is gone can be looked at all the same.
    let (files, not_shown, workdir) = match RunChanges::of(&home, run_id) {
        Ok(changes) => {
            let files = changes.diffs(&[]).iter().map(listed).collect();
            let options = &changes.options;
            (Some(files), changes.not_shown(), Some((options.workdir.clone(), options.copied_from.clone())))
        }
        Err(error) => (None, vec![format!("what it changed can't be told: {}", failure::text(&error))], None),
    };
    let row = Listed::Run(summed.clone());
    let besides = Besides {
        called: runs::called(&home, &summed.run_id),
        state: summed.state(),
        says: match say::is_stop_pending(&home, &summed) {
            true => STOP_PENDING.to_owned(),
            false => row.row().says.unwrap_or_default(),
        },
        cost: &cost,
        files,
        not_shown,
        workdir,
    };
    let card = show::of(&trace, &summary::of(&trace), besides);
    if args.json {
        super::print_json(&card)?;
    } else {
        super::print(&show::text(&card))?;
    }
    Ok(Ending::Done)
}
