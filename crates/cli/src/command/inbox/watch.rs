//! `adjutant inbox watch`: questions as they come.

use std::collections::BTreeSet;
use std::time::Duration;

use adjutant_core::view::inbox;
use anyhow::Context;

use crate::exit::Ending;
use crate::settings::Place;
use crate::sitting;

/// Interval between looks at all runs: soon enough for a person, and little work for a thousand runs.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Print questions as they come, one line each
///
/// Begins with those that are open. Ends with Ctrl-C.
#[derive(Debug, clap::Args)]
pub(super) struct WatchArgs {
    /// Print each question as a line of JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &WatchArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let runtime = sitting::runtime()?;
    runtime.block_on(async {
        let mut every = tokio::time::interval(LOOK_EVERY);
        let mut shown: BTreeSet<String> = BTreeSet::new();
        loop {
            tokio::select! {
                interrupted = tokio::signal::ctrl_c() => {
                    interrupted.context("can't listen for Ctrl-C")?;
                    return Ok(Ending::Interrupted);
                }
                _ = every.tick() => {}
            }
            let waiting = super::read_silently(&home)?;
            for row in waiting.rows.iter().filter(|row| row.answered.is_none() && !shown.contains(&row.id)) {
                let line = if args.json { serde_json::to_string(row)? + "\n" } else { inbox::line_text(row) };
                super::super::print(&line)?;
            }
            shown = waiting.rows.into_iter().map(|row| row.id).collect();
        }
    })
}
