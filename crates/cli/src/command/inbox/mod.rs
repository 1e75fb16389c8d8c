//! `adjutant inbox`: everything that waits for an operator, across all runs.

mod answer;
mod watch;

use adjutant_core::view::inbox::{self, Row};
use adjutant_core::words::QuestionKind;
use adjutant_core::words::visible::visible_line;
use adjutant_runtime::mail::SKIPPED_TOLD_MAX;
use adjutant_runtime::waiting::{NotFound, Waiting};
use adjutant_store::{Home, Owner};
use anyhow::Context;
use clap_complete::ArgValueCandidates;
use jiff::Timestamp;

use crate::candidates;
use crate::exit::Ending;
use crate::failure::Failure;
use crate::settings::Place;

/// See and answer what waits for you, in all runs
///
/// Without a subcommand it lists the open questions, oldest first. An answer counts wherever it is given: here, at the
/// terminal of the run, or at another one; the first wins.
#[derive(Debug, clap::Args)]
pub struct InboxArgs {
    #[command(subcommand)]
    action: Option<InboxCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum InboxCommand {
    List(InboxListArgs),
    Show(InboxShowArgs),
    Answer(answer::AnswerArgs),
    Watch(watch::WatchArgs),
}

/// List the open questions, oldest first
///
/// A question that was answered stays until its run has taken the answer up.
#[derive(Debug, Default, clap::Args)]
struct InboxListArgs {
    /// Only those of one kind, such as `destructive`
    #[arg(long, value_name = "KIND", value_parser = kind, add = ArgValueCandidates::new(candidates::kinds))]
    kind: Option<QuestionKind>,
    /// Print the questions as JSON
    #[arg(long)]
    json: bool,
}

/// Show a question in whole, with what each answer would change
#[derive(Debug, clap::Args)]
struct InboxShowArgs {
    /// The question: its id, its short one, or its run if that has no other
    id: String,
    /// Print the question as JSON
    #[arg(long)]
    json: bool,
}

/// Lists, shows, answers or watches.
pub fn run(args: &InboxArgs, place: &Place) -> anyhow::Result<Ending> {
    match &args.action {
        None => list(&InboxListArgs::default(), place),
        Some(InboxCommand::List(args)) => list(args, place),
        Some(InboxCommand::Show(args)) => show(args, place),
        Some(InboxCommand::Answer(args)) => answer::run(args, place),
        Some(InboxCommand::Watch(args)) => watch::run(args, place),
    }
}

fn list(args: &InboxListArgs, place: &Place) -> anyhow::Result<Ending> {
    let waiting = read(&place.home()?)?;
    let is_meant = |row: &Row| args.kind.is_none_or(|kind| kind.as_str() == row.kind);
    let rows: Vec<Row> = waiting.rows.into_iter().filter(is_meant).collect();
    if args.json {
        super::print_json(&rows)?;
    } else {
        super::print(&inbox::list_text(&rows, super::list::terminal_width()))?;
    }
    Ok(Ending::Done)
}

fn show(args: &InboxShowArgs, place: &Place) -> anyhow::Result<Ending> {
    let waiting = read(&place.home()?)?;
    let row = find(&waiting, &args.id)?;
    if args.json {
        super::print_json(row)?;
    } else {
        super::print(&inbox::show_text(row))?;
    }
    Ok(Ending::Done)
}

fn kind(text: &str) -> Result<QuestionKind, String> {
    QuestionKind::named(text).ok_or_else(|| {
        let kinds: Vec<&str> = QuestionKind::ALL.iter().map(|kind| kind.as_str()).collect();
        format!("the kinds are {}", kinds.join(", "))
    })
}

/// Returns everything that waits in all runs now; prints what could not be read.
fn read(home: &Home) -> anyhow::Result<Waiting> {
    let waiting = read_silently(home)?;
    for (path, why) in &waiting.all.unreadable {
        tell!("warning: can't read `{}`: {}", path.display(), visible_line(why));
    }
    for run in &waiting.all.runs {
        if let Some(fault) = &run.mailbox_fault {
            tell!("warning: {fault}");
        }
        for (line, why) in run.skipped.iter().take(SKIPPED_TOLD_MAX) {
            let path = home.mailbox(&run.run_id);
            tell!("warning: {}:{line} is skipped: {}", path.display(), visible_line(why));
        }
        let more = run.skipped.len().saturating_sub(SKIPPED_TOLD_MAX);
        if more > 0 {
            tell!("warning: {more} more lines of the mailbox of `{}` are skipped", run.run_id);
        }
    }
    Ok(waiting)
}

fn read_silently(home: &Home) -> anyhow::Result<Waiting> {
    Waiting::read(home, &Owner::current(), Timestamp::now()).context("can't read the folder of sessions")
}

/// The row that `given` names.
fn find<'w>(waiting: &'w Waiting, given: &str) -> anyhow::Result<&'w Row> {
    waiting.find(given).map_err(|error| {
        let failure = match error {
            NotFound::Unknown { .. } => Failure::ending(Ending::Failed, error.to_string()),
            NotFound::Several { .. } => Failure::usage(error.to_string()),
        };
        failure.hint(error.hint()).into()
    })
}
