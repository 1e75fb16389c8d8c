//! `adjutant learn`: what past runs recommend, and the operator's hand on the switch.

mod what_if;

use adjutant_core::learn::compat::takes_as_profile;
use adjutant_core::learn::profile::{Change, Profile};
use adjutant_core::learn::{sorted_json, thresholds};
use adjutant_core::view::learned;
use adjutant_core::words::id::Slug;
use adjutant_runtime::past;
use adjutant_store::{Home, profiles};
use anyhow::Context;
use serde::Serialize;

use super::history::{Compat, WindowArgs};
use crate::exit::Ending;
use crate::failure::Failure;
use crate::settings::Place;

/// Propose what runs of a project teach, and apply it if you say so
///
/// Prints a profile made from the traces of past runs, with the evidence for each line of it, and how it differs from
/// the one that is applied. Nothing changes without --apply, and a run uses a profile only if its brief has
/// `learned_profile`.
#[derive(Debug, clap::Args)]
pub struct LearnArgs {
    /// The project
    project: Slug,
    /// Put the profile in the place of the one before
    #[arg(long)]
    apply: bool,
    /// Remove the profile
    #[arg(long, conflicts_with_all = ["apply", "emit_frontmatter", "compat"])]
    reset: bool,
    #[command(flatten)]
    span: WindowArgs,
    /// How many runs every recommendation wants, where that is more than it wants anyway
    #[arg(long, value_name = "N", default_value_t = thresholds::SMALLEST_MIN_SAMPLES)]
    min_samples: u64,
    /// Print the lines for a brief that is to use the profile; with --json they are `front_matter`
    #[arg(long)]
    emit_frontmatter: bool,
    /// Print the profile as JSON, with the changes
    #[arg(long)]
    json: bool,
    /// Decide recorded runs anew under a change, and show what would differ: the file of a profile, `learned` for the
    /// one that is applied, `candidate` for the one that would be proposed; a detector, as `blocker=loose`; or a rule
    /// of the gate, as `authorize=git_push`, `withdraw=shell_exec` or `grant=FILE` (may be given several times)
    #[arg(long, value_name = "CHANGE", conflicts_with_all = ["apply", "reset", "emit_frontmatter", "compat"])]
    what_if: Vec<String>,
    /// Recommend as another program does, value for value
    #[arg(long, value_name = "PROGRAM")]
    compat: Option<Compat>,
}

/// The proposal as printed in JSON.
#[derive(Serialize)]
struct Proposal<'a> {
    profile: &'a Profile,
    applied: bool,
    /// Changes proposed or applied; absent if there was no profile before.
    changes: Option<Vec<Change>>,
    /// The lines for a brief; absent unless they are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    front_matter: Option<ProfileFrontMatter<'a>>,
}

/// Front matter of a brief that uses the profile.
#[derive(Serialize)]
struct ProfileFrontMatter<'a> {
    learned_profile: &'a str,
}

/// Proposes a profile, applies it or removes it.
pub fn run(args: &LearnArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    // The peer ignores a number that is too small.
    if args.compat.is_none() && args.min_samples < thresholds::MIN_SAMPLES_FLOOR {
        let floor = thresholds::MIN_SAMPLES_FLOOR;
        return Err(Failure::usage(format!(
            "--min-samples {}: fewer than {floor} runs teach nothing",
            args.min_samples
        ))
        .into());
    }
    if args.reset {
        return reset(&home, &args.project);
    }
    if !args.what_if.is_empty() {
        return what_if::run(args, &home);
    }
    let (before, incomparable) = match profiles::read(&home, &args.project) {
        Ok(before) => (before, None),
        Err(error) if args.compat.is_some() && !args.apply && peer_takes(&error) => (None, Some(error)),
        Err(error) => return unusable(args, &error),
    };
    let candidate = candidate(args, &home)?;
    let changes = before.as_ref().map(|before| before.changes(&candidate));
    if args.apply && args.compat.is_none() && candidate.source_runs.is_empty() {
        let what = format!("there is nothing to apply: no run of `{}` counts", args.project);
        return Err(Failure::ending(Ending::Failed, what)
            .hint(format!(
                "`adjutant history {}` says which there are; `--since` and `--until` may leave out all",
                args.project
            ))
            .into());
    }
    let written = if args.apply { Some(apply(args, &home, &candidate)?) } else { None };
    if args.json {
        match args.compat {
            Some(Compat::Openwar) => super::print(&sorted_json(&candidate))?,
            None => super::print(&sorted_json(&Proposal {
                profile: &candidate,
                applied: written.is_some(),
                changes: changes.clone(),
                front_matter: args
                    .emit_frontmatter
                    .then(|| ProfileFrontMatter { learned_profile: args.project.as_str() }),
            }))?,
        }
    } else {
        super::print(&learned::profile_text(&candidate))?;
    }
    let lines = format!("# in the front matter of a brief:\nlearned_profile: {}", args.project);
    match (args.emit_frontmatter, args.json, args.compat) {
        (false, ..) | (true, true, None) => {}
        (true, false, _) => super::print(&format!("\n{lines}\n"))?,
        // The peer's JSON has no place for it.
        (true, true, Some(Compat::Openwar)) => tell!("{lines}"),
    }
    if let Some(path) = &written {
        tell!("applied: {}", path.display());
    } else {
        tell!("nothing is applied: `adjutant learn {} --apply` does that", args.project);
    }
    if candidate.is_idle() {
        tell!("it would change nothing: there is no sensitivity, budget or dead tool in it");
    }
    match incomparable {
        Some(error) => tell!("it can't be compared with what was applied before: {error}"),
        None => tell_changes(changes.as_deref(), &candidate),
    }
    Ok(Ending::Done)
}

/// Returns true if the peer accepts a profile that we can't use.
fn peer_takes(error: &profiles::ProfileError) -> bool {
    matches!(error, profiles::ProfileError::Bad { text, .. } if takes_as_profile(text))
}

fn tell_changes(changes: Option<&[Change]>, candidate: &Profile) {
    match changes {
        None => tell!("new profile, from {} runs: there was none before", candidate.source_runs.len()),
        Some([]) => tell!("no changes to the profile that was applied before"),
        Some(changes) => {
            tell!("changes to the profile that was applied before:");
            tell!("{}", learned::changes_text(changes).trim_end_matches('\n'));
        }
    }
}

fn candidate(args: &LearnArgs, home: &Home) -> anyhow::Result<Profile> {
    let slug = args.project.as_str();
    if let Some(Compat::Openwar) = args.compat {
        let fold = super::history::as_peer(home, slug, args.span.since())?;
        return Ok(fold.profile(slug, &adjutant_core::words::moment::timestamp(args.span.now())));
    }
    let window = args.span.window()?;
    let read = past::candidate(home, slug, window, args.span.now(), args.min_samples);
    let (candidate, coverage) = read.context("can't read the folder of sessions")?;
    super::history::tell_unreadable(&coverage);
    Ok(candidate)
}

fn apply(args: &LearnArgs, home: &Home, candidate: &Profile) -> anyhow::Result<std::path::PathBuf> {
    profiles::write(home, &args.project, candidate)
        .map_err(|error| Failure::of(Ending::Failed, &error, error.hint(&args.project)).into())
}

fn reset(home: &Home, project: &Slug) -> anyhow::Result<Ending> {
    let removed =
        profiles::remove(home, project).map_err(|error| Failure::of(Ending::Failed, &error, error.hint(project)))?;
    if removed {
        tell!("removed: {}", profiles::path(home, project).display());
    } else {
        tell!("there is no profile of `{project}`");
    }
    Ok(Ending::Done)
}

/// Reports that the file in the place of the profile can't be used: nothing is proposed over it.
fn unusable(args: &LearnArgs, error: &profiles::ProfileError) -> anyhow::Result<Ending> {
    let failure = Failure::of(Ending::Failed, error, error.hint(&args.project));
    if args.compat.is_none() {
        return Err(failure.into());
    }
    // The peer says why and is content.
    if args.json {
        super::print("null\n")?;
    }
    tell!("{failure}");
    Ok(Ending::Done)
}
