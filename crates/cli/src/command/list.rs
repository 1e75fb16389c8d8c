//! `adjutant list`: which runs there are.

use adjutant_core::view::list;
use adjutant_store::Owner;
use adjutant_store::runs::{self, Listed};
use anyhow::Context;
use jiff::Timestamp;

use crate::exit::Ending;
use crate::settings::Place;

/// List the runs and where they stand
///
/// Newest first. What can't be read is listed as such and never hides the rest.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Print the rows as JSON
    #[arg(long)]
    json: bool,
}

/// Lists the runs.
pub fn run(args: &ListArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let listed = runs::list(&home, &Owner::current(), Timestamp::now()).context("can't read the folder of sessions")?;
    let rows = list::of(listed.iter().map(Listed::row).collect());
    if args.json {
        super::print_json(&rows)?;
    } else {
        super::print(&list::text(&rows))?;
    }
    Ok(Ending::Done)
}
