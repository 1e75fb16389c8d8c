//! `adjutant history`: what the runs of a project did.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use adjutant_core::learn::compat::PeerFold;
use adjutant_core::learn::history::{self as learned, HistoryFold, Window};
use adjutant_core::learn::sorted_json;
use adjutant_core::view::history;
use adjutant_core::words::id::Slug;
use adjutant_core::words::visible::visible_line;
use adjutant_runtime::past;
use adjutant_store::Home;
use adjutant_store::history::{self as store, Counting, Coverage};
use anyhow::Context;
use jiff::Timestamp;

use super::{parse_end, parse_time};
use crate::exit::Ending;
use crate::failure::Failure;
use crate::settings::Place;

/// Show what the runs of a project did
///
/// Counts tool calls, phases, detectors, tokens, money, questions and how long they waited, from the traces alone; reads
/// the sessions of the peer in the same folder, too. It recommends and changes nothing.
#[derive(Debug, clap::Args)]
pub struct HistoryArgs {
    /// The project
    project: Slug,
    #[command(flatten)]
    span: WindowArgs,
    /// How many runs the figures want; with fewer they are called thin
    #[arg(long, value_name = "N", default_value_t = learned::MIN_SAMPLES)]
    min_samples: u64,
    /// Print the report as JSON
    #[arg(long, conflicts_with = "html")]
    json: bool,
    /// Write the report with plots into a new HTML file that needs nothing else, or `-` for stdout
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Count as another program does, value for value
    #[arg(long, value_name = "PROGRAM", conflicts_with = "html")]
    compat: Option<Compat>,
}

/// The window of runs that are looked at.
#[derive(Debug, Clone, clap::Args)]
pub struct WindowArgs {
    /// Only runs that were not over before a day or a time, such as 2026-01-31
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only runs that began by then; a day counts whole
    #[arg(long, value_name = "TIME", value_parser = parse_end)]
    until: Option<Timestamp>,
    /// The time that counts as now [default: now]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    as_of: Option<Timestamp>,
}

impl WindowArgs {
    /// Checks the options and returns the window they describe.
    pub fn window(&self) -> anyhow::Result<Window> {
        let since = self.since.as_deref().map(parse_time).transpose();
        let since = since.map_err(|error| crate::failure::Failure::usage(format!("--since: {error}")))?;
        Ok(Window { since, until: self.until })
    }

    /// The time that counts as now.
    pub fn now(&self) -> Timestamp {
        self.as_of.unwrap_or_else(Timestamp::now)
    }

    /// The beginning as it was typed: the peer compares text.
    pub fn since(&self) -> Option<&str> {
        self.since.as_deref()
    }
}

/// A program whose figures can be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Compat {
    /// OpenWar 0.13
    Openwar,
}

/// Shows the history of a project.
pub fn run(args: &HistoryArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let slug = args.project.as_str();
    let generated_at = adjutant_core::words::moment::timestamp(args.span.now());
    if let Some(Compat::Openwar) = args.compat {
        // The peer takes a number of at least 2 and ignores all others.
        let min_samples = if args.min_samples >= 2 { args.min_samples } else { learned::MIN_SAMPLES };
        let report = as_peer(&home, slug, args.span.since())?.report(slug, &generated_at, min_samples);
        super::print(&sorted_json(&report))?;
        return Ok(Ending::Done);
    }
    let report = of(&home, slug, args.span.window()?)?.report(slug, &generated_at, args.min_samples);
    if let Some(path) = &args.html {
        write_page(path, &adjutant_core::view::history_page::page(&report))?;
        return Ok(Ending::Done);
    }
    if args.json {
        super::print(&sorted_json(&report))?;
    } else {
        use std::io::IsTerminal as _;
        super::print(&history::text(&report, std::io::stdout().is_terminal()))?;
    }
    Ok(Ending::Done)
}

/// Writes the page where there is nothing yet: a name that was mistyped must not cost a file.
fn write_page(path: &Path, page: &str) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return super::print(page);
    }
    let file = File::options().write(true).create_new(true).open(path);
    file.and_then(|mut file| file.write_all(page.as_bytes())).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Failure::usage(format!("`{}` is there already", path.display())).hint("remove it, or give another name")
        }
        _ => Failure::ending(Ending::Failed, format!("can't write `{}`: {error}", path.display()))
            .hint("give a name in a folder that you may write to"),
    })?;
    tell!("written: {}", path.display());
    Ok(())
}

/// Adds up the runs of a project that lie in `window`.
pub fn of(home: &Home, slug: &str, window: Window) -> anyhow::Result<HistoryFold> {
    let (fold, coverage) = past::history(home, slug, window).context("can't read the folder of sessions")?;
    tell_unreadable(&coverage);
    Ok(fold)
}

/// Adds up the same as the peer does.
pub fn as_peer(home: &Home, slug: &str, since: Option<&str>) -> anyhow::Result<PeerFold> {
    let mut fold = PeerFold::default();
    // To the peer nothing is no time.
    let since = since.filter(|since| !since.is_empty());
    let coverage = store::read(home, slug, Counting::ByFile, |trace| {
        if !trace.runs.is_empty() || trace.damaged_to_peer > 0 {
            fold.add(&trace.name, &trace.runs, trace.damaged_to_peer, since);
        }
    });
    tell_unreadable(&coverage.context("can't read the folder of sessions")?);
    Ok(fold)
}

/// Names what could not be read.
pub fn tell_unreadable(coverage: &Coverage) {
    for (path, error) in &coverage.unreadable {
        tell!("warning: `{}` is left out: {error}", visible_line(&path.display().to_string()));
    }
}
