//! `adjutant learn PROJECT --what-if CHANGE`: what would have been decided otherwise.

use std::fs;
use std::path::{Path, PathBuf};

use adjutant_core::detect::{Detector, Sensitivity};
use adjutant_core::gate::grant_line::Kept;
use adjutant_core::learn::what_if::{Changes, WhatIf, WhatIfReport};
use adjutant_core::learn::{applying, sorted_json};
use adjutant_core::view::{peer_session, replay, what_if};
use adjutant_core::words::Category;
use adjutant_core::words::nearest::did_you_mean;
use adjutant_core::words::visible::visible_line;
use adjutant_runtime::assembly::{latest_options, procedure};
use adjutant_store::history::{self as store, Counting};
use adjutant_store::{Home, journal, profiles};
use anyhow::Context;
use serde::Serialize;

use super::super::{inspect, say};
use super::LearnArgs;
use crate::exit::Ending;
use crate::failure::Failure;
use crate::sitting;

/// The answer as printed in JSON.
#[derive(Serialize)]
struct WhatIfAnswer<'a> {
    project: &'a str,
    changes: &'a [String],
    /// Parts of a profile that would not have been taken.
    left_out: &'a [String],
    /// Changes that were not tried.
    not_tried: &'a [String],
    /// Runs that could not be read.
    unreadable: &'a [String],
    #[serde(flatten)]
    report: &'a WhatIfReport,
}

/// Decides the runs of a project anew.
pub fn run(args: &LearnArgs, home: &Home) -> anyhow::Result<Ending> {
    let changes = changes(args, home)?;
    let left_out = changes.profile.as_ref().map(|taken| taken.left_out.clone()).unwrap_or_default();
    for why in &left_out {
        tell!("warning: of the profile: {}", visible_line(why));
    }
    let not_tried = changes.not_tried();
    let mut whole = WhatIf::default();
    let mut unreadable = Vec::new();
    for name in names(args, home)? {
        // One journal in memory at a time.
        if let Err(error) = add(&mut whole, home, &name, &changes) {
            tell!("warning: `{}` is left out: {error:#}", visible_line(&name));
            unreadable.push(name);
        }
    }
    let report = whole.report();
    if args.json {
        let (project, changes) = (args.project.as_str(), &args.what_if);
        let (left_out, not_tried, unreadable) = (&left_out, &not_tried, &unreadable);
        let answer = WhatIfAnswer { project, changes, left_out, not_tried, unreadable, report: &report };
        super::super::print(&sorted_json(&answer))?;
    } else {
        let text =
            what_if::text(args.project.as_str(), &args.what_if, &report, changes.is_about_the_gate(), &not_tried);
        super::super::print(&text)?;
    }
    Ok(Ending::Done)
}

/// The runs that are looked at, in the order of their names.
fn names(args: &LearnArgs, home: &Home) -> anyhow::Result<Vec<String>> {
    let window = args.span.window()?;
    let is_bounded = window.since.is_some() || window.until.is_some();
    let mut names = Vec::new();
    let coverage = store::read(home, args.project.as_str(), Counting::Once, |trace| {
        // A session without a trace says no time.
        let is_within = trace.runs.iter().any(|run| window.holds(run)) || (trace.runs.is_empty() && !is_bounded);
        if is_within {
            names.push(trace.name);
        }
    });
    super::super::history::tell_unreadable(&coverage.context("can't read the folder of sessions")?);
    names.sort();
    Ok(names)
}

fn add(whole: &mut WhatIf, home: &Home, name: &str, changes: &Changes) -> anyhow::Result<()> {
    let (session, transcript) = inspect::peer_files(home, name)?;
    if let Some(session) = session {
        let authorized: Vec<Category> = session.authorized_costs.iter().map(Category::new).collect();
        let (said, _) = transcript.as_deref().map(peer_session::read_transcript).unwrap_or_default();
        let said = if said.is_empty() { &session.messages } else { &said };
        whole.peer_session(name, replay::turns_read(said), &authorized, changes);
        return Ok(());
    }
    let reading = journal::read_only(home, &name.parse()?)?;
    let start = sitting::run_start(&reading.events)?;
    let options = latest_options(&reading.events, &start.options);
    let brief = sitting::recorded_brief(&start.brief, start.options.work.custom_roles())?;
    let before = procedure(&brief, options, start.offered.as_deref());

    let (mut changed, mut changed_brief) = (options.clone(), brief.clone());
    let sensitivities = changes.sensitivities(&adjutant_runtime::sensitivities(options), &brief.detectors);
    changed.detectors =
        sensitivities.set().map(|(detector, set)| (detector.name().to_owned(), set.to_string())).collect();
    if let Some(taken) = &changes.profile {
        changed.learned = Some(taken.options.clone());
    }
    changed_brief.authorized_costs = changes.authorized(&brief.authorized_costs);
    let after = procedure(&changed_brief, &changed, start.offered.as_deref());
    whole.run(name, &reading.events, before, after, &changes.grants);
    Ok(())
}

/// Everything that is to be tried.
fn changes(args: &LearnArgs, home: &Home) -> anyhow::Result<Changes> {
    let mut changes = Changes::default();
    for typed in &args.what_if {
        match typed.split_once('=') {
            Some(("authorize", category)) => changes.authorize.push(say::named(category)?),
            Some(("withdraw", category)) => changes.withdraw.push(say::named(category)?),
            Some(("grant", file)) => changes.grants.extend(grants(Path::new(file))?),
            Some((name, sensitivity)) if !name.contains('/') => {
                let (detector, sensitivity) = detector(name, sensitivity)?;
                if changes.detectors.insert(detector, sensitivity).is_some_and(|before| before != sensitivity) {
                    return Err(Failure::usage(format!("`{name}` can have one sensitivity at a time")).into());
                }
            }
            _ => {
                if changes.profile.is_some() {
                    return Err(Failure::usage("one profile can be tried at a time").into());
                }
                changes.profile = Some(profile(args, home, typed)?);
            }
        }
    }
    if let Some(category) = changes.authorize.iter().find(|category| changes.withdraw.contains(category)) {
        return Err(Failure::usage(format!("`{category}` can't be authorized and withdrawn at once")).into());
    }
    Ok(changes)
}

fn detector(name: &str, sensitivity: &str) -> anyhow::Result<(Detector, Sensitivity)> {
    let detector = name.parse::<Detector>().map_err(|error| {
        let known: Vec<&str> =
            Detector::ALL.iter().map(|detector| detector.name()).chain(["authorize", "withdraw", "grant"]).collect();
        let hint = did_you_mean(name, &known).unwrap_or_else(|| {
            "a change is a profile, DETECTOR=SENSITIVITY, authorize=, withdraw= or grant=".to_owned()
        });
        Failure::usage(error.to_string()).hint(hint)
    })?;
    let sensitivity = sensitivity.parse().map_err(|error| Failure::usage(format!("{error}")))?;
    Ok((detector, sensitivity))
}

fn profile(args: &LearnArgs, home: &Home, typed: &str) -> anyhow::Result<applying::Taken> {
    let cant_use = |error: profiles::ProfileError| Failure::of(Ending::Usage, &error, error.hint(&args.project));
    let profile = match typed {
        "candidate" => super::candidate(args, home)?,
        "learned" => profiles::read(home, &args.project).map_err(cant_use)?.ok_or_else(|| {
            Failure::usage(format!("no profile of `{}` is applied", args.project))
                .hint("`--what-if candidate` tries the one that would be proposed")
        })?,
        path => profiles::read_file(PathBuf::from(path)).map_err(cant_use)?.ok_or_else(|| {
            Failure::usage(format!("there is no profile `{path}`")).hint(
                "a change is the file of a profile, `learned`, `candidate`, DETECTOR=SENSITIVITY, authorize=CATEGORY, \
                 withdraw=CATEGORY or grant=FILE",
            )
        })?,
    };
    Ok(applying::take(&profile, args.project.as_str(), args.span.now()))
}

/// The largest file of grants that is read, in bytes.
const GRANTS_BYTES_MAX: u64 = 4 << 20;

/// The grants in a file of the form in which a project keeps them.
fn grants(path: &Path) -> anyhow::Result<Vec<adjutant_core::gate::Grant>> {
    let cant = |error: &std::io::Error| Failure::usage(format!("can't read the grants `{}`: {error}", path.display()));
    let metadata = fs::metadata(path).map_err(|error| cant(&error))?;
    if !metadata.is_file() || metadata.len() > GRANTS_BYTES_MAX {
        return Err(cant(&std::io::Error::other("it is no file of the size of grants")).into());
    }
    let kept = Kept::read(&fs::read_to_string(path).map_err(|error| cant(&error))?);
    for (line, why) in &kept.skipped {
        tell!("warning: {}:{line} is skipped: {}", path.display(), visible_line(why));
    }
    if kept.grants.is_empty() {
        return Err(Failure::usage(format!("`{}` has no grant that can be used", path.display())).into());
    }
    Ok(kept.grants)
}
