//! `adjutant apply`: brings the change of a copy home.

use std::path::Path;

use adjutant_core::gate::rescue::Extent;
use adjutant_core::patch::file_change::{FileState, Merged, merged};
use adjutant_host::rescue::{APPLY, Occasion, PathChange, obstacle, put, state_of};
use adjutant_host::workdir::Workdir;
use adjutant_runtime::say;
use adjutant_store::folders::Claimant;
use anyhow::Context;
use clap_complete::ArgValueCandidates;
use serde_json::json;

use super::changes::{RunChanges, named_run, open, shown};
use crate::candidates;
use crate::console::confirm;
use crate::exit::Ending;
use crate::failure::Failure;
use crate::folder::{self, FolderArgs, FolderPrompt};
use crate::settings::{self, Place};
/// Bring what a run changed in its copy home
///
/// For a run with --copy: merges its change into the folder that was copied, which may have been changed meanwhile. All
/// of it or nothing: if one file can't be merged, nothing is changed, and the files are named (exit code 1). Shows the
/// files and asks first; exit code 4 if nobody is there to be asked. What is there is kept before, so that `adjutant
/// undo` takes it back. Nothing is committed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  adjutant apply RUN\n  adjutant undo RUN apply-1 --exact")]
pub struct ApplyArgs {
    /// The run: its name, a unique beginning of it, or its brief's id for the latest (`ID-r1`: the first)
    #[arg(add = ArgValueCandidates::new(candidates::runs))]
    run: String,
    /// Don't ask
    #[arg(long)]
    yes: bool,
    /// Print what is done as JSON
    #[arg(long)]
    json: bool,
}

/// A change of one file.
struct Step<'c> {
    change: &'c PathChange,
    /// The state that the file gets; `None` if it is removed.
    becomes: Option<FileState>,
    what: &'static str,
}

/// Brings it home.
pub fn run(args: &ApplyArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let run_id = named_run(&home, &args.run)?;
    if say::is_driven(&home, &run_id) {
        let what = format!("the run `{run_id}` is at work: its change is not whole");
        return Err(Failure::ending(Ending::Failed, what).hint("wait for its end, or `adjutant pause` it").into());
    }
    let changes = RunChanges::of(&home, run_id)?;
    let run_id = &changes.run_id;
    let Some(target) = changes.options.copied_from.clone() else {
        let what = format!(
            "the run `{run_id}` worked in `{}` itself: there is nothing to bring home",
            changes.options.workdir
        );
        return Err(Failure::usage(what)
            .hint(format!("`adjutant diff {}` shows what it changed", changes.called))
            .into());
    };
    if !changes.change.is_from_start {
        let what =
            format!("how the copy of `{run_id}` was at its beginning is not on record, so nothing can be merged");
        return Err(Failure::ending(Ending::Failed, what)
            .hint(format!("the copy is `{}`: compare it by hand", changes.options.workdir))
            .into());
    }
    let folder = open(Path::new(&target))?;
    let surroundings = settings::surroundings()?;
    let claimant = Claimant::Run(run_id.as_str());
    let claim = folder::enter(
        &home,
        &surroundings,
        claimant,
        Path::new(&target),
        &FolderArgs::default(),
        FolderPrompt::WithoutCopy,
    )?;
    let ending = bring_home(args, &changes, &folder, &target);
    drop(claim);
    ending
}

fn bring_home(args: &ApplyArgs, changes: &RunChanges, folder: &Workdir, target: &str) -> anyhow::Result<Ending> {
    let RunChanges { run_id, called, .. } = changes;
    let (mut steps, mut conflicts) = (Vec::new(), Vec::new());
    for change in &changes.change.paths {
        match step(change, folder) {
            Ok(Some(step)) => steps.push(step),
            Ok(None) => {}
            Err(why) => conflicts.push((&change.path, why)),
        }
    }
    let told = |is_done: bool, undone_by: Option<&str>| {
        let files = steps.iter().map(|step| json!({ "path": step.change.path, "what": step.what }));
        let conflicts = conflicts.iter().map(|(path, why)| json!({ "path": path, "why": why }));
        json!({
            "run": run_id.as_str(),
            "from": changes.options.workdir,
            "to": target,
            "files": files.collect::<Vec<_>>(),
            "conflicts": conflicts.collect::<Vec<_>>(),
            "not_compared": changes.change.not_kept,
            "done": is_done,
            "undone_by": undone_by,
        })
    };
    let say = |is_done: bool, undone_by: Option<&str>| -> anyhow::Result<()> {
        if args.json { super::print_json(&told(is_done, undone_by)) } else { Ok(()) }
    };
    for line in changes.not_shown() {
        tell!("note: {line}");
    }
    if !conflicts.is_empty() {
        say(false, None)?;
        for (path, why) in &conflicts {
            tell!("  {}: {why}", shown(path));
        }
        let what = format!("nothing was changed in `{target}`: {} can't be merged", files(conflicts.len()));
        return Err(Failure::ending(Ending::Failed, what)
            .hint(format!(
                "undo or commit your own change of them and try again, or take them from the copy: {}",
                changes.options.workdir
            ))
            .into());
    }
    if steps.is_empty() {
        say(true, None)?;
        if !args.json {
            super::print(&format!("nothing to bring home: `{target}` has what the run changed\n"))?;
        }
        return Ok(Ending::Done);
    }
    if !args.json {
        let lines = steps.iter().map(|step| format!("  {}: {}\n", shown(&step.change.path), step.what));
        super::print(&format!("{run_id}, into {target}\n{}", lines.collect::<String>()))?;
    }
    if !args.yes && !confirm(&format!("Change {} in {target}?", files(steps.len()))) {
        say(false, None)?;
        return super::not_confirmed();
    }
    let name = keep(changes, folder, &steps)?;
    for step in &steps {
        put(folder, &step.change.path, step.becomes.as_ref()).with_context(|| {
            Failure::ending(Ending::Failed, format!("`{}` can't be written", shown(&step.change.path)))
                .hint(format!("`adjutant undo {called} {name} --exact` takes back what was written before it"))
        })?;
    }
    if let Err(error) = changes.rescues.note_end(folder, &name) {
        tell!("warning: what was changed can't be put on record: {error}");
    }
    say(true, Some(&name))?;
    if !args.json {
        super::print(&format!("done; `adjutant undo {called} {name} --exact` takes it back\n"))?;
    }
    Ok(Ending::Done)
}

/// Keeps what is there of the files that are written. Returns the name by which `undo` finds it.
fn keep(changes: &RunChanges, folder: &Workdir, steps: &[Step<'_>]) -> anyhow::Result<String> {
    let numbers = changes.rescues.list().into_iter();
    let number = numbers.filter_map(|kept| kept.name.strip_prefix("apply-")?.parse::<u32>().ok()).max().unwrap_or(0);
    let name = format!("apply-{}", number + 1);
    let paths = Extent::Paths(steps.iter().map(|step| step.change.path.clone()).collect());
    let occasion = Occasion { name: &name, before: APPLY, even_if_empty: true };
    changes
        .rescues
        .keep(folder, &paths, occasion)
        .context("nothing was changed: what is there now could not be kept")?;
    Ok(name)
}

/// Returns what is done to the file of a change; `None` if it is as the run left it already, and the reason if it can't
/// be done.
fn step<'c>(change: &'c PathChange, folder: &Workdir) -> Result<Option<Step<'c>>, String> {
    if let Some(why) = &change.unknown {
        return Err(why.clone());
    }
    let ours = state_of(folder, &change.path).map_err(|error| error.to_string())?;
    let (base, theirs) = (change.before.as_ref(), change.after.as_ref());
    if let Some(obstacle) = obstacle(folder, &change.path).filter(|_| theirs.is_some()) {
        return Err(obstacle.to_owned());
    }
    let (becomes, what) = match merged(base, ours.as_ref(), theirs) {
        Merged::Ours => return Ok(None),
        Merged::Conflict(why) => return Err(why.to_owned()),
        Merged::Both(state) => (Some(state), "merged with your change"),
        Merged::Theirs => match (&ours, theirs) {
            (_, None) => (None, "removed"),
            (None, Some(state)) => (Some(state.clone()), "added"),
            (Some(_), Some(state)) => (Some(state.clone()), "changed"),
        },
    };
    Ok(Some(Step { change, becomes, what }))
}

fn files(count: usize) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}
