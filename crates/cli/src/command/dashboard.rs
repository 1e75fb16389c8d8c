//! `adjutant dashboard`: runs, inbox, memory, history and profiles in a browser on this machine.

use adjutant_serve::dashboard::Dashboard;
use anyhow::Context;
use tokio_util::sync::CancellationToken;

use super::inspect;
use crate::exit::Ending;
use crate::failure::Failure;
use crate::settings::Place;
use crate::sitting;

/// Show runs, inbox, memory and history in a browser
///
/// Serves pages to this machine alone, on 127.0.0.1, and prints an address that lets one browser in, once. What can be
/// done on them is what `inbox answer`, `pause`, `stop`, `steer` and `learn --apply` do. Ends with Ctrl-C; runs go on
/// without it.
#[derive(Debug, clap::Args)]
pub struct DashboardArgs {
    /// The port; 0 takes a free one
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
    /// Print the address as a JSON object
    #[arg(long)]
    json: bool,
}

/// Serves until Ctrl-C.
pub fn run(args: &DashboardArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let prices = inspect::prices(&home);
    sitting::runtime()?.block_on(async {
        let dashboard = Dashboard::bind(home, prices, args.port).await.map_err(|error| {
            Failure::ending(Ending::Failed, format!("can't serve on port {}: {error}", args.port))
                .hint("another program may have it: name another with --port, or leave it out")
        })?;
        // The address is the result: on stdout, whole, on a line of its own.
        if args.json {
            super::print_json(&serde_json::json!({ "url": dashboard.url() }))?;
        } else {
            super::print(&format!("{}\n", dashboard.url()))?;
        }
        tell!("open it in a browser on this machine: it works once; Ctrl-C ends the dashboard");
        let stop = CancellationToken::new();
        let serving = tokio::spawn(dashboard.serve(stop.clone()));
        tokio::signal::ctrl_c().await.context("can't listen for Ctrl-C")?;
        stop.cancel();
        serving.await.context("the dashboard panicked")?.context("the dashboard can't take connections any more")?;
        Ok(Ending::Done)
    })
}
