//! `adjutant list`: which runs there are.

use adjutant_core::trace::wire;
use adjutant_core::view::list::{self, ListRow};
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
    let rows = list::of(listed.iter().map(row).collect());
    if args.json {
        super::print_json(&rows)?;
    } else {
        super::print(&list::text(&rows))?;
    }
    Ok(Ending::Done)
}

fn row(listed: &Listed) -> ListRow {
    match listed {
        Listed::Run(run) => {
            let state = match (run.outcome, run.waiting, run.driver_alive) {
                (Some(outcome), ..) => format!("{outcome:?}").to_lowercase(),
                (None, _, true) => "running".to_owned(),
                (None, Some(kind), false) => format!("waits: {}", kind.as_str()),
                (None, None, false) => "unfinished".to_owned(),
            };
            let state = match run.damaged {
                0 => state,
                damaged => format!("{state}; {damaged} damaged lines"),
            };
            ListRow {
                run_id: run.run_id.to_string(),
                project: run.project.clone(),
                phase: run.phase.map(|phase| phase.as_str().to_owned()),
                updated_at: Some(wire::timestamp(run.updated_at)),
                state: Some(state),
            }
        }
        Listed::Peer(peer) => ListRow {
            run_id: peer.name.clone(),
            project: peer.project.clone(),
            phase: peer.phase.clone(),
            updated_at: peer.updated_at.map(wire::timestamp),
            state: None,
        },
        Listed::Unreadable { name, why, .. } => ListRow {
            run_id: name.clone(),
            project: None,
            phase: None,
            updated_at: None,
            state: Some(format!("unreadable: {why}")),
        },
    }
}
