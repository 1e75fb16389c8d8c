//! `adjutant list`: which runs there are.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::num::NonZero;

use adjutant_core::trace::read;
use adjutant_core::view::cost::{self, Pricing};
use adjutant_core::view::inbox::STOP_PENDING;
use adjutant_core::view::list::{self, ListRow, RunState};
use adjutant_core::words::price::Prices;
use adjutant_core::words::visible::visible_line;
use adjutant_runtime::say;
use adjutant_store::runs::{self, Listed};
use adjutant_store::{Home, Owner};
use anyhow::Context;
use clap::builder::PossibleValuesParser;
use jiff::Timestamp;

use crate::exit::Ending;
use crate::settings::Place;

/// List the runs and where they stand
///
/// The one that last did something comes first. Each has the first line of its brief's objective, its age and cost, and what it needs from you. On a
/// terminal the lines fit it; piped, nothing is cut. What can't be read is listed as such and never hides the rest.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
                  adjutant list --state waits --state answered\n  \
                  adjutant list --project orchard --limit 10")]
pub struct ListArgs {
    /// Only runs in this state; may be given several times
    #[arg(long, value_name = "STATE", value_parser = PossibleValuesParser::new(RunState::WORDS))]
    state: Vec<String>,
    /// Only runs of this project
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Only so many, those that last did something
    #[arg(long, value_name = "N")]
    limit: Option<NonZero<usize>>,
    /// Print the rows as JSON
    #[arg(long)]
    json: bool,
}

/// Lists the runs.
pub fn run(args: &ListArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let now = Timestamp::now();
    let listed = runs::list(&home, &Owner::current(), now).context("can't read the folder of sessions")?;
    let is_meant = |listed: &&Listed| {
        let word = listed.state().map(RunState::word);
        (args.state.is_empty() || args.state.iter().any(|state| word == Some(state)))
            && args.project.as_deref().is_none_or(|project| listed.row().project.as_deref() == Some(project))
    };
    let limit = args.limit.map_or(usize::MAX, NonZero::get);
    let meant: Vec<&Listed> = listed.iter().filter(is_meant).take(limit).collect();
    let mut rows = list::of(with_costs(&home, &meant));
    let names: Vec<String> = listed.iter().map(|listed| listed.row().run_id).collect();
    list::tell_apart(&mut rows, names.iter().map(String::as_str));
    if args.json {
        super::print_json(&rows)?;
    } else if rows.is_empty() && !listed.is_empty() {
        super::print(&none_meant(args, &listed))?;
    } else {
        super::print(&list::text(&rows, terminal_width(), now))?;
    }
    Ok(Ending::Done)
}

/// Says that no run is in a state or of a project that was asked for, and in which states there are runs.
fn none_meant(args: &ListArgs, listed: &[Listed]) -> String {
    let of_project = |listed: &&Listed| {
        args.project.as_deref().is_none_or(|project| listed.row().project.as_deref() == Some(project))
    };
    let states: Vec<&str> =
        listed.iter().filter(of_project).filter_map(|one| one.state().map(RunState::word)).collect();
    let of = args.project.as_ref().map(|project| format!(" of the project `{}`", visible_line(project)));
    let of = of.unwrap_or_default();
    let counts = RunState::WORDS.iter().filter_map(|word| match states.iter().filter(|state| *state == word).count() {
        0 => None,
        count => Some(format!("{word} {count}")),
    });
    let counts: Vec<String> = counts.collect();
    match (args.state.as_slice(), counts.as_slice()) {
        ([], _) | (_, []) => format!("no run{of}\n"),
        (asked, counts) => {
            format!("no run{of} is in the state {}; there are: {}\n", asked.join(" or "), counts.join(", "))
        }
    }
}

/// The columns of the terminal at stdout; `None` if that is none, or one that doesn't tell.
pub(super) fn terminal_width() -> Option<usize> {
    let out = std::io::stdout();
    let size = rustix::termios::tcgetwinsize(&out).ok().filter(|_| out.is_terminal())?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// The rows of runs, each with its cost: their journals are read side by side.
fn with_costs(home: &Home, listed: &[&Listed]) -> Vec<ListRow> {
    let prices = super::inspect::prices(home);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let each = listed.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let row = |listed: &&Listed| costed(home, listed, &prices);
        let parts: Vec<_> =
            (listed.chunks(each)).map(|part| scope.spawn(move || part.iter().map(row).collect::<Vec<_>>())).collect();
        let joined = parts.into_iter().map(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.flatten().collect()
    })
}

/// The row of a run, with its cost if anything was counted, and a word if its journal was changed after it was written.
fn costed(home: &Home, listed: &Listed, prices: &BTreeMap<String, Prices>) -> ListRow {
    let Listed::Run(run) = listed else { return listed.row() };
    let mut row = listed.row();
    if say::is_stop_pending(home, run) {
        row.says = Some(STOP_PENDING.to_owned());
    }
    let Ok(turns) = runs::turn_lines(&home.journal(&run.run_id)) else { return row };
    let trace = read::read_lines(turns.lines.iter().map(|(number, line)| (*number, line.as_str())));
    let cost = Some(cost::of(&trace, Pricing::Configured(prices)).in_short()).filter(|cost| cost != "-");
    let row = ListRow { cost, ..row };
    // Damaged lines don't fit either, and are counted already.
    if turns.breaks == 0 || run.damaged > 0 {
        return row;
    }
    let with_word = |state: Option<String>| state.map(|state| format!("{state}; changed after it was written"));
    ListRow { state: with_word(row.state), says: with_word(row.says), ..row }
}
