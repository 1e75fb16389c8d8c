//! `adjutant inspect`: what a run did, from its journal or from the peer's files.

use std::collections::BTreeMap;

use adjutant_core::learn::history::{self as learned_history, Window};
use adjutant_core::learn::sorted_json;
use adjutant_core::trace::EventKind;
use adjutant_core::trace::read::{self, Trace};
use adjutant_core::view::cost::Pricing;
use adjutant_core::view::learned::Learned;
use adjutant_core::view::peer_session::{self, PeerSession};
use adjutant_core::view::trace::TraceExtent;
use adjutant_core::view::{
    InspectView, cost, detectors, history, learned, mcp, peer_summary, permissions, summary, timing, tools, trace,
    transcript,
};
use adjutant_core::words::id::Slug;
use adjutant_core::words::price::Prices;
use adjutant_runtime::assembly::Overrides;
use adjutant_store::home::JOURNAL_ENDING;
use adjutant_store::runs::{self, Found, PeerFiles};
use adjutant_store::scan::{self, Use};
use adjutant_store::{Home, profiles};
use anyhow::Context;
use clap_complete::ArgValueCandidates;
use jiff::Timestamp;
use serde::Serialize;

use crate::candidates;
use crate::exit::Ending;
use crate::failure::{self, Failure};
use crate::settings::{self, Place};
/// Show what a run did
///
/// Reads the journal and changes nothing; also reads the sessions of the peer in the same folder. Lines
/// that can't be read are named and skipped. Of several views the first in the order below is shown.
#[derive(Debug, clap::Args)]
pub struct InspectArgs {
    /// The run: its name, a unique beginning of it, or its brief's id for the latest (`ID-r1`: the first)
    #[arg(add = ArgValueCandidates::new(candidates::runs))]
    run: String,
    /// Show the events, one line each
    #[arg(long)]
    trace: bool,
    /// With --trace: how many of the last events to show [default: 100]
    #[arg(long, value_name = "N")]
    tail: Option<usize>,
    /// With --trace: show all events
    #[arg(long)]
    full: bool,
    /// Show how long each phase lasted
    #[arg(long)]
    timing: bool,
    /// Show tokens by role and session, and what they cost by your prices or a list
    #[arg(long)]
    cost: bool,
    /// With --cost: what a thousand tokens cost, in place of all prices
    #[arg(long, value_name = "DOLLARS", value_parser = parse_dollars)]
    dollar_per_1k: Option<f64>,
    /// Show how often each detector fired
    #[arg(long)]
    detectors: bool,
    /// Show the tool calls
    #[arg(long)]
    tools: bool,
    /// Show the events of bridged tools
    #[arg(long)]
    mcp: bool,
    /// Show the history of the run's project
    #[arg(long)]
    history: bool,
    /// Show the learned profile of the run's project, and what the run made of it
    #[arg(long)]
    learned: bool,
    /// Show the grants and what became of them
    #[arg(long)]
    permissions: bool,
    /// Show everything that was said
    #[arg(long)]
    transcript: bool,
    /// Print the view as JSON
    #[arg(long)]
    json: bool,
}

fn parse_dollars(text: &str) -> Result<f64, String> {
    let dollars = text.parse().ok().filter(|dollars: &f64| dollars.is_finite() && *dollars >= 0.0);
    dollars.ok_or_else(|| "dollars are a number from 0 on, such as 0.5".to_owned())
}

/// Files of the run to inspect.
struct InspectedRun {
    /// The peer's session, if it is one of the peer's.
    peer: Option<PeerSession>,
    peer_transcript: Option<String>,
    lines: Vec<(u64, String)>,
    /// Lines that could not even be handed out, by number.
    unusable: Vec<u64>,
    has_trace: bool,
}

/// Shows a run.
pub fn run(args: &InspectArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let files = files(&home, &args.run)?;
    let mut trace = read::read_lines(files.lines.iter().map(|(number, line)| (*number, line.as_str())));
    trace.damaged.extend(&files.unusable);
    trace.damaged.sort_unstable();
    trace.damaged.dedup();
    super::warn_of_changes(&args.run, &trace, files.lines.iter().map(|(_, line)| line.as_bytes()));
    show(args, &home, &files, &trace)?;
    Ok(Ending::Done)
}

fn show(args: &InspectArgs, home: &Home, files: &InspectedRun, trace: &Trace<'_>) -> anyhow::Result<()> {
    let asked = [
        (args.trace, InspectView::Trace),
        (args.timing, InspectView::Timing),
        (args.cost, InspectView::Cost),
        (args.detectors, InspectView::Detectors),
        (args.tools, InspectView::Tools),
        (args.mcp, InspectView::Mcp),
        (args.history, InspectView::History),
        (args.learned, InspectView::Learned),
        (args.permissions, InspectView::Permissions),
    ];
    let asked: Vec<InspectView> = asked.into_iter().filter_map(|(is_asked, view)| is_asked.then_some(view)).collect();
    let view = InspectView::first_of(&asked);
    // A project's history and profile are there without this run's trace.
    let is_of_trace = view.is_some_and(|view| !matches!(view, InspectView::History | InspectView::Learned));
    if is_of_trace && !files.has_trace {
        return super::print("no trace was recorded for this session\n");
    }
    match view {
        Some(InspectView::Trace) => {
            let extent = match (args.full, args.tail) {
                (true, _) => TraceExtent::All,
                (false, Some(count)) => TraceExtent::Last(count),
                (false, None) => TraceExtent::default(),
            };
            put(args.json, &trace::of(trace, extent), trace::text)
        }
        Some(InspectView::Timing) => put(args.json, &timing::of(trace), timing::text),
        Some(InspectView::Cost) => {
            let cost = match args.dollar_per_1k {
                Some(dollars) => cost::of(trace, Pricing::PerThousand(dollars)),
                None => cost::of(trace, Pricing::Configured(&prices(home))),
            };
            put(args.json, &cost, cost::text)
        }
        Some(InspectView::Detectors) => put(args.json, &detectors::of(trace), detectors::text),
        Some(InspectView::Tools) => put(args.json, &tools::of(trace), tools::text),
        Some(InspectView::Mcp) => put(args.json, &mcp::of(trace), mcp::text),
        Some(InspectView::Permissions) => put(args.json, &permissions::of(trace), permissions::text),
        Some(InspectView::History) => {
            let (_, project) = whose(files, trace)?;
            let fold = super::history::of(home, project.as_str(), Window::default())?;
            let report = fold.report(
                project.as_str(),
                &adjutant_core::words::moment::timestamp(Timestamp::now()),
                learned_history::MIN_SAMPLES,
            );
            if args.json { super::print(&sorted_json(&report)) } else { super::print(&history::text(&report, false)) }
        }
        Some(InspectView::Learned) => {
            let (brief_id, project) = whose(files, trace)?;
            let profile = profiles::read(home, &project)
                .map_err(|error| Failure::of(Ending::Failed, &error, error.hint(&project)))?;
            let consulted = learned::of(trace);
            put(args.json, &Learned { brief_id, slug: project.to_string(), profile, consulted }, learned::text)
        }
        None => match &files.peer {
            Some(session) if args.transcript => {
                let said = transcript::of_peer(session, files.peer_transcript.as_deref());
                put(args.json, &said, |said| transcript::peer_text(session, said))
            }
            Some(session) => put(args.json, session, peer_summary::text),
            None if args.transcript => {
                let head = summary::of(trace);
                put(args.json, &transcript::of(trace), |said| transcript::text(&head, said))
            }
            None => put(args.json, &summary::of(trace), summary::text),
        },
    }
}

/// The brief's id and the project of what is looked at.
fn whose(files: &InspectedRun, trace: &Trace<'_>) -> anyhow::Result<(String, Slug)> {
    let (brief_id, project) = match &files.peer {
        Some(session) => (session.brief_id.clone(), session.project.clone()),
        None => {
            let start = trace.lines.iter().find(|line| line.kind == EventKind::RunStart);
            let word = |name: &str| start.map(|line| line.fields.word(name).into_owned());
            (word("brief_id").unwrap_or_default(), word("project"))
        }
    };
    let Some(project) = project else {
        return Err(Failure::ending(Ending::Failed, "it is not on record which project this is about").into());
    };
    let slug = project
        .parse()
        .map_err(|error: adjutant_core::words::id::BadSlug| Failure::of(Ending::Failed, &error, None))?;
    Ok((brief_id, slug))
}

/// The prices that are configured now, by adapter. A configuration that can't be used has none: what was spent
/// can be looked at all the same.
pub fn prices(home: &Home) -> BTreeMap<String, Prices> {
    match settings::resolve(home, &Overrides::default(), None) {
        Ok(settings) => {
            let adapters = settings.adapters.into_iter().map(|(id, config)| (id, config.value.prices()));
            adapters.filter(|(_, prices)| !prices.is_empty()).collect()
        }
        Err(error) => {
            tell!("warning: no prices: {}", failure::text(&error));
            BTreeMap::new()
        }
    }
}

fn put<T: Serialize>(json: bool, model: &T, text: impl Fn(&T) -> String) -> anyhow::Result<()> {
    if json { super::print_json(model) } else { super::print(&text(model)) }
}

/// Finds a run's files and reads them, in bounded memory for each line.
fn files(home: &Home, given: &str) -> anyhow::Result<InspectedRun> {
    let (trace, peer) = match runs::find(home, given).map_err(super::not_found)? {
        Found::Run(run_id) => (home.journal(&run_id), None),
        Found::Peer(name) => (home.sessions().join(format!("{name}{JOURNAL_ENDING}")), Some(name)),
    };
    let (session, said) = match &peer {
        Some(name) => peer_files(home, name)?,
        None => (None, None),
    };
    let mut lines = Vec::new();
    let scanned = match scan::scan_file(&trace, |number, line| {
        lines.push((number, line.to_owned()));
        Use::Taken
    }) {
        Ok(scanned) => Some(scanned),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("can't read the trace `{}`", trace.display())),
    };
    let has_trace = scanned.as_ref().is_some_and(|scanned| scanned.lines > 0);
    let unusable = scanned.map(|scanned| scanned.damaged.into_iter().map(|(number, _)| number).collect());
    Ok(InspectedRun { peer: session, peer_transcript: said, lines, unusable: unusable.unwrap_or_default(), has_trace })
}

/// The peer's session and transcript; a trace without a session file has neither.
pub fn peer_files(home: &Home, name: &str) -> anyhow::Result<(Option<PeerSession>, Option<String>)> {
    let files = PeerFiles::read(home, name)?;
    let session = files.session.as_deref().map(peer_session::read).transpose().map_err(|error| {
        let path = home.sessions().join(format!("{name}.json"));
        anyhow::Error::new(error)
            .context(Failure::ending(Ending::Failed, format!("can't read the session `{}`", path.display())))
    })?;
    let transcript = files.transcript.filter(|_| session.is_some());
    Ok((session, transcript))
}
