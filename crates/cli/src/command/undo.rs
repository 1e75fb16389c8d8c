//! `adjutant undo`: puts back what a call destroyed.

use std::fmt::Write;
use std::path::Path;

use adjutant_core::gate::rescue::Extent;
use adjutant_core::session::explain::{self, NamedCall};
use adjutant_core::words::id::RunId;
use adjutant_core::words::text::count_of;
use adjutant_core::words::visible::visible_line;
use adjutant_host::rescue::{Change, Manifest, NotRestored, Occasion, Plan, RUN, Reach, Rescues, UNDO};
use adjutant_host::workdir::{self, Workdir};
use adjutant_store::journal;
use adjutant_store::lease::LeaseError;
use adjutant_store::runs::{self, Found};
use adjutant_store::{Damage, FileJournal, Home, OpenError, Owner};
use anyhow::Context;
use clap_complete::ArgValueCandidates;
use jiff::Timestamp;
use serde_json::json;

use crate::candidates;
use crate::console::confirm;
use crate::exit::Ending;
use crate::failure::Failure;
use crate::settings::Place;
/// Number of paths shown for each kind of change; `--json` has all.
const SHOWN_MAX: usize = 20;

/// Number of paths named in a sentence.
const FEW_PATHS: usize = 3;

/// Put back what a call deleted or overwrote
///
/// Before a call that may destroy files of the workdir, what is there is kept. This shows how the files
/// differ from what was kept, asks, and puts back what was deleted, changed or given other permissions. Files that
/// came later stay, and so does what the call left as it was and was changed later; `--exact` undoes those too, `--file`
/// one of them. What is there now is kept first, so that an undo can be undone. Exit code 4 if nobody is there to be
/// asked, 1 if something could not be put back: it is named, and the rest is put back.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  adjutant undo RUN --list\n  adjutant undo RUN 9 --file src/main.rs")]
pub struct UndoArgs {
    /// The run: its name, a unique beginning of it, or its brief's id for the latest (`ID-r1`: the first)
    #[arg(add = ArgValueCandidates::new(candidates::runs))]
    run: String,
    /// The call: its number, a name that `--list` shows, or the agent's own name for it; the last one if it is left out
    call: Option<String>,
    /// Only list what can be undone
    #[arg(long, conflicts_with_all = ["call", "exact", "yes"])]
    list: bool,
    /// Also undo what came or was changed later, so that everything is as it was
    #[arg(long)]
    exact: bool,
    /// Put back only this file or folder, also if it was changed later; may be given several times
    #[arg(long = "file", value_name = "PATH", conflicts_with_all = ["exact", "list"])]
    files: Vec<String>,
    /// Don't ask
    #[arg(long)]
    yes: bool,
    /// Print what is done, or the list, as JSON
    #[arg(long)]
    json: bool,
}

/// Undoes a call.
pub fn run(args: &UndoArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let run_id = match runs::find(&home, &args.run).map_err(super::not_found)? {
        Found::Run(run_id) => run_id,
        Found::Peer(name) => {
            return Err(
                Failure::usage(format!("`{name}` is a session of another program: nothing of it was kept")).into()
            );
        }
    };
    let root = std::path::absolute(home.root()).context("can't tell where the home is")?;
    let rescues = Rescues::of(&root, run_id.as_str());
    let kept: Vec<Manifest> = rescues.list().into_iter().filter(|manifest| manifest.before != RUN).collect();
    if args.list {
        return list(args, &run_id, &kept);
    }
    let manifest = chosen(&home, &run_id, &kept, args.call.as_deref())?;
    let journal = hold(&home, &run_id)?;
    let run = NamedRun { called: runs::called(&home, &run_id), run_id };
    let ending = undo(args, &run, &rescues, manifest, &kept);
    if let Some(journal) = journal {
        journal.close().context("can't close the journal")?;
    }
    ending
}

/// Takes the right to the run while its files are written. Warns and returns `None` if its journal is beyond use: the
/// files can be had back all the same.
fn hold(home: &Home, run_id: &RunId) -> anyhow::Result<Option<FileJournal>> {
    match FileJournal::take_over(home, run_id, &Owner::current(), Timestamp::now(), Damage::Refuse) {
        Ok((journal, _)) => Ok(Some(journal)),
        Err(error @ (OpenError::Lease(LeaseError::Held { .. }) | OpenError::Busy { .. })) => {
            Err(Failure::ending(Ending::Failed, error.to_string())
                .hint(
                    "a run that goes on would be undone under its feet: end it first, with Ctrl-C twice where it runs",
                )
                .into())
        }
        Err(error) => {
            tell!("warning: {error}");
            Ok(None)
        }
    }
}

fn chosen<'k>(home: &Home, run_id: &RunId, kept: &'k [Manifest], call: Option<&str>) -> anyhow::Result<&'k Manifest> {
    // Only a name of the agent's needs the journal, which may be beyond reading where files are to be had back.
    let events = |name: &str| match journal::read_only(home, run_id) {
        Ok(reading) => explain::calls_named(&reading.events, name),
        Err(_) => Vec::new(),
    };
    let is_of = |manifest: &Manifest, call: &NamedCall| {
        let (part, slot) = manifest.name.rsplit_once("call-").unwrap_or_default();
        let number = slot.split_once('.').map(|(number, _)| number);
        let part = part.trim_end_matches('-');
        number == Some(call.number.to_string().as_str())
            && (part.is_empty() || part == call.part.as_str().replace('/', "-"))
    };
    let is_meant = |manifest: &&Manifest| match call {
        None => manifest.before != UNDO,
        Some(named) => {
            let named = named.replace('/', "-");
            let call = manifest.name.rsplit_once("call-").map(|(_, slot)| slot);
            manifest.name == named
                || call.and_then(|slot| slot.split_once('.')).is_some_and(|(number, _)| number == named)
        }
    };
    let by_name = kept.iter().rev().find(is_meant);
    let found = by_name.or_else(|| {
        let named = call.map(events).unwrap_or_default();
        kept.iter().rev().find(|manifest| named.iter().any(|call| is_of(manifest, call)))
    });
    found.ok_or_else(|| {
        let what = match call {
            Some(call) => format!("nothing was kept before the call `{}` of {run_id}", visible_line(call)),
            None => format!("nothing of {run_id} can be undone: before none of its calls anything was kept"),
        };
        Failure::usage(what)
            .hint(format!("`adjutant undo {} --list` shows what can be undone", runs::called(home, run_id)))
            .into()
    })
}

/// A run, and the name that means it and no other run of its brief.
struct NamedRun {
    run_id: RunId,
    called: String,
}

fn undo(
    args: &UndoArgs,
    run: &NamedRun,
    rescues: &Rescues,
    manifest: &Manifest,
    kept: &[Manifest],
) -> anyhow::Result<Ending> {
    let NamedRun { run_id, called } = run;
    let workdir = Workdir::open(Path::new(&manifest.workdir)).map_err(|source| {
        anyhow::Error::new(source).context(Failure::ending(
            Ending::Failed,
            format!("the folder `{}` of the run is not there", manifest.workdir),
        ))
    })?;
    rescues.sweep_leftovers(&workdir).context("what an undo that was killed left can't be removed")?;
    let named = args.files.iter().map(|file| named_file(&workdir, file)).collect::<anyhow::Result<Vec<_>>>()?;
    let reach = match (args.exact, named.as_slice()) {
        (true, _) => Reach::Exact,
        (false, []) => Reach::Call,
        (false, named) => Reach::Named(named),
    };
    let plan = rescues
        .plan(&workdir, manifest, reach)
        .with_context(|| format!("can't compare `{}` with what was kept", manifest.workdir))?;
    let touched = plan.touched();
    let blocked = !plan.paths(Change::Blocked).is_empty();
    let ending = if blocked { Ending::Failed } else { Ending::Done };
    let told = |undone_by: Option<&str>, is_done: bool, failed: &[NotRestored]| {
        json!({
            "run": run_id.as_str(),
            "rescue": manifest.name,
            "workdir": manifest.workdir,
            "differences": plan.differences,
            "unchanged": plan.unchanged,
            "not_kept": manifest.left_out,
            "failed": failed,
            "done": is_done,
            "undone_by": undone_by,
        })
    };
    if !args.json {
        super::print(&text(run_id, manifest, &plan))?;
    }
    if touched.is_empty() {
        let is_last = args.call.is_none() && reach == Reach::Call;
        let earlier = if is_last { earlier_with_changes(&workdir, rescues, manifest, kept) } else { None };
        if args.json {
            let mut told = told(None, true, &[]);
            if let Some((earlier, _)) = earlier {
                told["earlier"] = earlier.name.as_str().into();
            }
            super::print_json(&told)?;
        } else if let Some((earlier, paths)) = earlier {
            let (name, before) = (&earlier.name, visible_line(&earlier.before));
            super::print(&format!(
                "an earlier call can be undone ({before}, which changed {}): adjutant undo {called} {name}\n",
                named_paths(&paths)
            ))?;
        }
        return Ok(ending);
    }
    if !args.yes && !confirm(&format!("Put back what was there before {}?", manifest.name)) {
        if args.json {
            super::print_json(&told(None, false, &[]))?;
        }
        return super::not_confirmed();
    }
    let number = kept.iter().filter_map(|kept| kept.name.strip_prefix("undo-")?.parse::<u32>().ok()).max().unwrap_or(0);
    let name = format!("undo-{}", number + 1);
    let occasion = Occasion { name: &name, before: UNDO, even_if_empty: true };
    let before = rescues
        .keep(&workdir, &Extent::Paths(touched), occasion)
        .context("nothing was changed: what is there now could not be kept")?;
    let failed = rescues.restore(&workdir, manifest, &plan);
    let undone_by = before.map(|before| before.manifest.name);
    if let Some(Err(error)) = undone_by.as_deref().map(|name| rescues.note_end(&workdir, name)) {
        tell!("warning: what this undo changed can't be put on record: {error}");
    }
    if args.json {
        super::print_json(&told(undone_by.as_deref(), true, &failed))?;
    } else {
        let mut text = String::new();
        for NotRestored { path, why } in &failed {
            writeln!(text, "  {}: NOT as it was: {}", shown(path), visible_line(why)).unwrap_or_default();
        }
        let back = undone_by.map(|name| format!("; `adjutant undo {called} {name} --exact` takes that back"));
        let done = if failed.is_empty() { "done" } else { "done but for what is named above" };
        super::print(&format!("{text}{done}{}\n", back.unwrap_or_default()))?;
    }
    Ok(if failed.is_empty() { ending } else { Ending::Failed })
}

/// Returns the first few of `paths`, and how many more there are.
fn named_paths(paths: &[String]) -> String {
    let named: Vec<String> = paths.iter().take(FEW_PATHS).map(|path| shown(path)).collect();
    match paths.len().saturating_sub(named.len()) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Returns what was kept before the last earlier call of which something can be put back, with the paths: where the `last`
/// call changed nothing, an earlier one is meant.
fn earlier_with_changes<'k>(
    workdir: &Workdir,
    rescues: &Rescues,
    last: &Manifest,
    kept: &'k [Manifest],
) -> Option<(&'k Manifest, Vec<String>)> {
    let before_last = kept.iter().rev().skip_while(|other| other.name != last.name).skip(1);
    let mut of_calls = before_last.filter(|other| other.before != UNDO && other.workdir == last.workdir);
    of_calls.find_map(|other| {
        // What can't be compared can't be offered either; whoever names the call is told why.
        let touched = rescues.plan(workdir, other, Reach::Call).ok()?.touched();
        (!touched.is_empty()).then_some((other, touched))
    })
}

/// A path that the operator names, as the list of what was kept has it.
fn named_file(workdir: &Workdir, file: &str) -> anyhow::Result<String> {
    let path = workdir.resolve(file).map_err(|error| Failure::usage(error.explained()))?;
    Ok(path.to_string())
}

/// A path on a line of its own: what is no text is spelled out.
fn shown(path: &str) -> String {
    visible_line(&workdir::shown(path)).into_owned()
}

fn text(run_id: &RunId, manifest: &Manifest, plan: &Plan) -> String {
    let mut text = format!(
        "{run_id}, before {} ({}, {})\nfolder: {}\n",
        manifest.name,
        visible_line(&manifest.before),
        made_at(manifest),
        visible_line(&manifest.workdir)
    );
    for (change, what) in [
        (Change::Restore, "is gone, comes back"),
        (Change::Replace, "is another, is put back"),
        (Change::Mode, "has other permissions, gets its own"),
        (Change::Remove, "came later, is removed"),
        (
            Change::Later,
            "was changed after the call, which left it as it was: stays (--exact, or --file with its name)",
        ),
        (Change::Blocked, "can't come back: something else is in its place (--exact removes what came later)"),
    ] {
        let paths = plan.paths(change);
        for path in paths.iter().take(SHOWN_MAX) {
            writeln!(text, "  {}: {what}", shown(path)).unwrap_or_default();
        }
        if paths.len() > SHOWN_MAX {
            writeln!(text, "  and {} more: {what}", paths.len() - SHOWN_MAX).unwrap_or_default();
        }
    }
    if plan.differences.is_empty() {
        text.push_str("nothing to restore: the files match the saved copy\n");
    }
    if !manifest.left_out.is_empty() {
        let named: Vec<_> = manifest.left_out.iter().take(SHOWN_MAX).map(|path| shown(path)).collect();
        let more = manifest.left_out.len().saturating_sub(SHOWN_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        writeln!(text, "not kept, so it can't come back: {}{more}", named.join(", ")).unwrap_or_default();
    }
    text
}

fn made_at(manifest: &Manifest) -> String {
    let at = i64::try_from(manifest.made_at_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.map_or_else(|| "?".to_owned(), adjutant_core::words::moment::timestamp)
}

fn list(args: &UndoArgs, run_id: &RunId, kept: &[Manifest]) -> anyhow::Result<Ending> {
    if args.json {
        let rows = kept.iter().map(|manifest| {
            let (files, bytes) = manifest.size();
            json!({
                "rescue": manifest.name,
                "made_at": made_at(manifest),
                "before": manifest.before,
                "workdir": manifest.workdir,
                "paths": manifest.paths,
                "files": files,
                "bytes": bytes,
                "not_kept": manifest.left_out,
                "reference": manifest.reference,
            })
        });
        super::print_json(&rows.collect::<Vec<_>>())?;
        return Ok(Ending::Done);
    }
    if kept.is_empty() {
        super::print(&format!("{run_id}: before none of its calls anything was kept\n"))?;
        return Ok(Ending::Done);
    }
    let mut text = String::new();
    for manifest in kept {
        let (files, bytes) = manifest.size();
        let kept = match files {
            0 => "nothing was there".to_owned(),
            files => format!("{}, {}", count_of(files, "file", "files"), count_of(bytes, "byte", "bytes")),
        };
        let left_out = match manifest.left_out.len() {
            0 => String::new(),
            count => format!(", {count} not kept"),
        };
        let paths = manifest.paths.as_ref().map_or_else(|| "the whole folder".to_owned(), |paths| paths.join(", "));
        let (name, at) = (&manifest.name, made_at(manifest));
        let (before, paths) = (visible_line(&manifest.before), visible_line(&paths));
        writeln!(text, "{name}  {at}  {before}  {kept}{left_out}: {paths}").unwrap_or_default();
    }
    super::print(&text)?;
    Ok(Ending::Done)
}
