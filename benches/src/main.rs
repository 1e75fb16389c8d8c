//! Measures what the budgets promise, and prints each figure beside its budget and a baseline.
//!
//! In: the program to measure. Out: one table, and another of what the stuck signals are worth. A baseline does
//! the least that the same work could be done with, on the same machine, in the same run: ratios can be compared
//! between machines, times can't. Nothing here fails because a machine is slow: a missed budget is printed as missed.
//!
//! Begin with [`main`]; one file per group of figures. `figure.rs` prints, `world.rs` has the scripted
//! agent, tools and operator that sessions are measured with.

mod cache;
mod concurrent;
mod dashboard;
mod decisions;
mod display;
mod figure;
mod history;
mod resume;
mod signals;
mod size;
mod start_up;
mod streams;
mod turn;
mod world;

use std::num::NonZero;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::Parser;
use figure::Figure;

/// The program's own allocator: what is measured in this process is to cost what it costs there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measure the program and print each figure beside its budget and a baseline
#[derive(Parser)]
struct BenchArgs {
    /// The program to measure
    adjutant: PathBuf,
    /// Measure only the groups named: start-up, decisions, turn, resume, concurrent, cache, streams, display, history,
    /// dashboard, size, signals
    #[arg(long, value_name = "GROUP")]
    only: Vec<String>,
    /// The server that the process of its own speaks to
    #[arg(long, hide = true)]
    url: Option<String>,
    /// Be the process of its own that `concurrent` or `streams` measures
    #[arg(long, hide = true)]
    child: Option<concurrent::Child>,
}

/// One group of figures: `folder` is empty, on the disk that the build is on, and removed afterwards.
type FigureGroup = fn(adjutant: &Path, folder: &Path) -> anyhow::Result<Vec<Figure>>;

/// The group that measures no time: its table has columns of its own.
const SIGNALS: &str = "signals";

const GROUPS: &[(&str, FigureGroup)] = &[
    ("start-up", start_up::measure),
    ("decisions", decisions::measure),
    ("turn", turn::measure),
    ("resume", resume::measure),
    ("concurrent", concurrent::measure),
    ("cache", cache::measure),
    ("streams", streams::measure),
    ("display", display::measure),
    ("history", history::measure),
    ("dashboard", dashboard::measure),
    ("size", size::measure),
];

fn main() -> anyhow::Result<()> {
    let args = BenchArgs::parse();
    if let Some(child) = args.child {
        // The parent starts this process in the folder that it may use.
        let folder = std::env::current_dir()?;
        return match &args.url {
            Some(url) => streams::run_child(child, &folder, url),
            None => concurrent::run_child(child, &folder),
        };
    }
    let names: Vec<&str> = GROUPS.iter().map(|(name, _)| *name).chain([SIGNALS]).collect();
    if let Some(unknown) = args.only.iter().find(|only| !names.contains(&only.as_str())) {
        bail!("no group is called `{unknown}`; there are {}", names.join(", "));
    }
    let adjutant = args.adjutant.canonicalize().with_context(|| format!("there is no {}", args.adjutant.display()))?;
    // Not the system's folder for temporary files: that may be in memory, where a flush costs nothing.
    let beside = adjutant.parent().unwrap_or(Path::new("."));
    let before = load();
    let (mut figures, mut failed) = (Vec::new(), Vec::new());
    let is_wanted = |name: &str| args.only.is_empty() || args.only.iter().any(|only| only == name);
    for (name, measure) in GROUPS {
        if is_wanted(name) {
            eprintln!("measuring: {name}");
            let folder = tempfile::tempdir_in(beside).context("can't make a folder")?;
            match measure(&adjutant, folder.path()) {
                Ok(measured) => figures.extend(measured),
                Err(error) => failed.push(format!("can't measure {name}: {error:#}")),
            }
        }
    }
    if !figures.is_empty() {
        println!("{}", figure::table(&figures));
    }
    if is_wanted(SIGNALS) {
        match signals::measure() {
            Ok(table) => println!("{table}"),
            Err(error) => failed.push(format!("can't measure {SIGNALS}: {error:#}")),
        }
    }
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    println!("{processors} processors; load before {before}, after {}", load());
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

/// Returns the load average of the last minute. Above the number of processors, times are too long.
fn load() -> String {
    let averages = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    averages.split(' ').next().filter(|load| !load.is_empty()).unwrap_or("unknown").to_owned()
}
