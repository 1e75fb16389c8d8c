//! `adjutant trace verify`: whether journals and packs are what was written.

use std::fmt::Write as _;
use std::path::PathBuf;

use adjutant_core::trace::verify::{JournalFinding, JournalReport, JournalVerdict, Length};
use adjutant_core::words::id::RunId;
use adjutant_core::words::visible::visible_line;
use adjutant_store::home::JOURNAL_ENDING;
use adjutant_store::pack::{PackReport, verify_pack};
use adjutant_store::runs::{self, Found, Listed};
use adjutant_store::{Home, Owner, verify};
use anyhow::Context as _;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use crate::command::{not_found, print, print_json};
use crate::exit::Ending;
use crate::failure::Failure;
use crate::settings::Place;

/// Number of findings shown; `--json` has all.
const SHOWN_MAX: usize = 50;

/// Say whether the record of a run is what was written
///
/// Every line has a number and the hash of the line before, and the run's lease names the last one. What was changed,
/// removed, added or moved is told by line, with what to do. Lines that were cut off the end show only where something
/// says how long the journal was. Exit code 0 if everything is whole, 1 if something is not. Changes nothing.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["run", "all", "pack"])))]
pub(super) struct VerifyArgs {
    /// The run: its name, a unique beginning of it, or its brief's id for the latest (`ID-r1`: the first)
    run: Option<String>,
    /// Every run there is
    #[arg(long)]
    all: bool,
    /// An evidence pack, file or folder: needs no home, and unpacks nothing
    #[arg(long, value_name = "FILE")]
    pack: Option<PathBuf>,
    /// Print what is known as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &VerifyArgs, place: &Place) -> anyhow::Result<Ending> {
    if let Some(path) = &args.pack {
        let report = verify_pack(path).with_context(|| format!("can't read the pack `{}`", path.display()))?;
        return told(args, report.verdict != JournalVerdict::NotWhole, &report, || {
            pack_text(&path.display().to_string(), &report)
        });
    }
    let home = place.home()?;
    let Some(run) = &args.run else { return all(args, &home) };
    let report = match runs::find(&home, run).map_err(not_found)? {
        Found::Run(run_id) => match verify::verify(&home, &run_id, &Owner::current(), Timestamp::now()) {
            Ok(report) => called(report, &home, &run_id),
            Err(error) => return Err(Failure::of(Ending::Failed, &error, error.hint()).into()),
        },
        Found::Peer(name) => {
            let trace = home.sessions().join(format!("{name}{JOURNAL_ENDING}"));
            verify::verify_peer(&name, &trace).with_context(|| format!("can't read the trace `{}`", trace.display()))?
        }
    };
    told(args, report.verdict != JournalVerdict::NotWhole, &report, || text(&report))
}

/// Has the hints of a report name the run so that it and no other of its brief is meant.
fn called(mut report: JournalReport, home: &Home, run_id: &RunId) -> JournalReport {
    report.call_run(&runs::called(home, run_id));
    report
}

/// Result for one run of many.
#[derive(Serialize)]
#[serde(untagged)]
enum VerifyRow {
    Report(JournalReport),
    Unreadable { run: String, verdict: JournalVerdict, error: String },
}

fn all(args: &VerifyArgs, home: &Home) -> anyhow::Result<Ending> {
    let now = Timestamp::now();
    let owner = Owner::current();
    let listed = runs::list(home, &owner, now).context("can't read the folder of sessions")?;
    let mut rows: Vec<VerifyRow> = Vec::new();
    for one in listed {
        let unreadable = |error: String| VerifyRow::Unreadable {
            run: one.name().to_owned(),
            verdict: JournalVerdict::NotWhole,
            error,
        };
        rows.push(match &one {
            Listed::Run(run) => verify::verify(home, &run.run_id, &owner, now)
                .map(|report| called(report, home, &run.run_id))
                .map_or_else(|error| unreadable(error.to_string()), VerifyRow::Report),
            Listed::Peer(peer) => match &peer.trace {
                Some(trace) => verify::verify_peer(&peer.name, trace)
                    .map_or_else(|error| unreadable(error.to_string()), VerifyRow::Report),
                None => continue,
            },
            Listed::Unreadable { why, .. } => unreadable(why.clone()),
        });
    }
    let not_whole = rows.iter().filter(|row| match row {
        VerifyRow::Report(report) => report.verdict == JournalVerdict::NotWhole,
        VerifyRow::Unreadable { .. } => true,
    });
    let not_whole = not_whole.count();
    told(args, not_whole == 0, &json!({ "runs": rows, "not_whole": not_whole }), || {
        let mut all = String::new();
        for row in &rows {
            match row {
                VerifyRow::Report(report) => all.push_str(&text(report)),
                VerifyRow::Unreadable { run, error, .. } => {
                    writeln!(all, "{}: not whole: {}", visible_line(run), visible_line(error)).unwrap_or_default();
                }
            }
        }
        writeln!(all, "{} verified, {not_whole} not whole", rows.len()).unwrap_or_default();
        all
    })
}

fn told(
    args: &VerifyArgs,
    is_whole: bool,
    report: &impl Serialize,
    text: impl FnOnce() -> String,
) -> anyhow::Result<Ending> {
    if args.json {
        print_json(report)?
    } else {
        print(&text())?
    }
    Ok(if is_whole { Ending::Done } else { Ending::Failed })
}

fn text(report: &JournalReport) -> String {
    let run = visible_line(&report.run);
    let lines = report.lines;
    let mut text = match report.verdict {
        JournalVerdict::NotWhole => {
            let faults = report.findings.iter().filter(|finding| finding.is_fault).count();
            format!("{run}: not whole: {faults} found in {lines} lines\n")
        }
        JournalVerdict::Unprovable => format!(
            "{run}: all {lines} lines can be read; it is a trace of another program, without numbers and hashes, so \
             nothing can be proven of it\n"
        ),
        JournalVerdict::Whole => {
            let last = report.last_hash.as_deref().unwrap_or("none");
            let length = match (report.length, report.driver_alive) {
                (_, true) => "a process is writing it",
                (Length::Sealed, _) => "its lease says that this is all",
                (Length::Ended, _) => "the run has ended, so that this is all",
                (Length::Unknown, _) => "nothing says how long it was: lines that were cut off its end would not show",
            };
            format!("{run}: whole: {lines} lines, the last with hash {last}; {length}\n")
        }
    };
    findings(&mut text, &report.findings);
    text
}

fn findings(text: &mut String, findings: &[JournalFinding]) {
    for finding in findings.iter().take(SHOWN_MAX) {
        let line = finding.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        let note = if finding.is_fault { "" } else { "note: " };
        writeln!(text, "  {note}{line}{}", visible_line(&finding.what)).unwrap_or_default();
        if let Some(next) = &finding.next {
            writeln!(text, "    {}", visible_line(next)).unwrap_or_default();
        }
    }
    if findings.len() > SHOWN_MAX {
        writeln!(text, "  and {} more: `--json` has all", findings.len() - SHOWN_MAX).unwrap_or_default();
    }
}

fn pack_text(path: &str, report: &PackReport) -> String {
    let run = report.run.as_deref().map_or_else(|| "nothing that can be read".into(), visible_line);
    let path = visible_line(path);
    let mut text = match report.verdict {
        JournalVerdict::NotWhole | JournalVerdict::Unprovable => format!("{path}: not whole: a pack of {run}\n"),
        JournalVerdict::Whole => format!(
            "{path}: whole: a pack of {run}, {} lines, {} of them as they were written, {} left out\n",
            report.lines, report.unchanged_lines, report.left_out
        ),
    };
    for fault in &report.faults {
        writeln!(text, "  {}", visible_line(fault)).unwrap_or_default();
    }
    findings(&mut text, &report.findings);
    for note in &report.notes {
        writeln!(text, "  note: {}", visible_line(note)).unwrap_or_default();
    }
    if let Some(hash) = &report.manifest_sha256 {
        writeln!(
            text,
            "  SHA-256 of its manifest: {hash}\n  it is the pack that was made if whoever made it says the same hash"
        )
        .unwrap_or_default();
    }
    text
}
