//! `adjutant replay`: re-decides a recorded run with today's rules.

use std::io::Read;
use std::str::FromStr;

use adjutant_core::detect;
use adjutant_core::detect::{Detector, Sensitivity};
use adjutant_core::session::replay;
use adjutant_core::trace::read;
use adjutant_core::view::peer_session;
use adjutant_core::view::replay as peer_replay;
use adjutant_core::words::Category;
use adjutant_core::words::visible::visible_line;
use adjutant_runtime::assembly::{latest_options, procedure};
use adjutant_store::home::JOURNAL_ENDING;
use adjutant_store::runs::{self, Found};
use adjutant_store::{Home, journal, plain_file};
use anyhow::Context;
use clap_complete::ArgValueCandidates;
use jiff::Timestamp;

use crate::candidates;
use crate::exit::Ending;
use crate::failure::Failure;
use crate::settings::Place;
use crate::sitting;
/// Re-decide a recorded run with today's rules
///
/// No model, no tool and no operator is needed: what they said is in the journal. Every reading of a
/// turn, every decision of the gate and every transition is compared with what would be decided today;
/// exit code 1 if anything differs. Changes nothing.
#[derive(Debug, clap::Args)]
pub struct ReplayArgs {
    /// The run: its name, a unique beginning of it, or its brief's id for the latest (`ID-r1`: the first)
    #[arg(add = ArgValueCandidates::new(candidates::runs))]
    run: String,
    /// Try a detector at another sensitivity, as `blocker=loose` (may be given several times)
    #[arg(long, value_name = "DETECTOR=SENSITIVITY", value_parser = parse_change)]
    detector: Vec<(Detector, Sensitivity)>,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

fn parse_change(text: &str) -> Result<(Detector, Sensitivity), String> {
    let (detector, sensitivity) = text.split_once('=').ok_or("write it as `blocker=loose`")?;
    let detector = Detector::from_str(detector).map_err(|error| error.to_string())?;
    let sensitivity = Sensitivity::from_str(sensitivity).map_err(|error| error.to_string())?;
    Ok((detector, sensitivity))
}

/// Replays a run.
pub fn run(args: &ReplayArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    match runs::find(&home, &args.run).map_err(super::not_found)? {
        Found::Run(run_id) => {
            let reading = journal::read_only(&home, &run_id)?;
            let start = sitting::run_start(&reading.events)?;
            let mut options = latest_options(&reading.events, &start.options).clone();
            for (detector, sensitivity) in &args.detector {
                options.detectors.insert(detector.name().to_owned(), sensitivity.to_string());
            }
            let brief = sitting::recorded_brief(&start.brief, start.options.work.custom_roles())?;
            let procedure = procedure(&brief, &options, start.offered.as_deref());
            let report = replay::replay(&reading.events, procedure);
            let ending = if report.drift.is_empty() { Ending::Done } else { Ending::Failed };
            let mut damaged: Vec<u64> = reading.damaged.iter().map(|damaged| damaged.line).collect();
            damaged.extend(&reading.accepted_before);
            damaged.sort_unstable();
            if args.json {
                let mut json = serde_json::to_value(&report)?;
                json["damaged"] = damaged.into();
                super::print_json(&json)?;
            } else {
                super::print(&text(run_id.as_str(), &report, &damaged))?;
            }
            Ok(ending)
        }
        Found::Peer(name) => peers(args, &home, &name),
    }
}

fn text(run_id: &str, report: &replay::ReplayReport, damaged: &[u64]) -> String {
    let mut text = format!("replayed {run_id}: {} decisions, {} turns\n", report.decisions, report.turns);
    if !damaged.is_empty() {
        let lines: Vec<String> = damaged.iter().map(ToString::to_string).collect();
        text.push_str(&format!(
            "damaged lines, skipped: {}; what follows from them shows as drift\n",
            lines.join(", ")
        ));
    }
    for drift in &report.drift {
        let turn = drift.turn.map(|turn| format!("turn {turn}, ")).unwrap_or_default();
        text.push_str(&format!("drift at {turn}event {} ({})\n", drift.seq, drift.part));
        text.push_str(&format!(
            "  recorded: {}\n  today:    {}\n",
            visible_line(&drift.recorded),
            visible_line(&drift.today)
        ));
    }
    text.push_str(&match report.drift.len() {
        0 => "no drift: today's rules decide the same\n".to_owned(),
        count => format!("{count} decisions would differ today\n"),
    });
    text
}

/// The peer records no decisions but its detectors', so only those are compared.
fn peers(args: &ReplayArgs, home: &Home, name: &str) -> anyhow::Result<Ending> {
    let (session, transcript) = super::inspect::peer_files(home, name)?;
    let Some(session) = session else {
        return Err(Failure::ending(Ending::Failed, format!("`{name}` has no session file to replay")).into());
    };
    let path = home.sessions().join(format!("{name}{JOURNAL_ENDING}"));
    // A pipe would be waited for.
    let read_whole = |mut file: std::fs::File| {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map(|_| bytes)
    };
    let bytes = match plain_file::open(&path).and_then(read_whole) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).with_context(|| format!("can't read the trace `{}`", path.display())),
    };
    let trace = read::read_bytes(&bytes);
    let authorized: Vec<Category> = session.authorized_costs.iter().map(Category::new).collect();
    let mut sensitivities = detect::Sensitivities::default();
    for (detector, sensitivity) in &args.detector {
        sensitivities = sensitivities.with(*detector, *sensitivity);
    }
    let read = |text: &str| peer_replay::Fired::from(&detect::read(text, &authorized, &sensitivities));
    let now = adjutant_core::words::moment::timestamp(Timestamp::now());
    // Its newer sessions keep what was said in a file of its own.
    let (said, _) = transcript.as_deref().map(peer_session::read_transcript).unwrap_or_default();
    let said = if said.is_empty() { &session.messages } else { &said };
    let replayed = peer_replay::of(&session, said, &trace, &now, &read);
    if args.json {
        super::print_json(&replayed)?;
    } else {
        super::print(&peer_replay::text(&replayed))?;
    }
    Ok(if replayed.drift_count > 0 { Ending::Failed } else { Ending::Done })
}
