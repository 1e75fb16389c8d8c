//! Finds the run that a person means by what they typed.

use std::io;

use adjutant_core::words::id::RunId;
use adjutant_core::words::nearest::{nearest, question};
use jiff::Timestamp;
use thiserror::Error;

use super::{RunFiles, names, run_number, summary, unbegun};
use crate::home::Home;
use crate::prune;

/// The thing found under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A run of ours.
    Run(RunId),
    /// A session of the peer, by the name of its files: to look at only.
    Peer(String),
}

/// Reason why no run was found.
#[derive(Debug, Error)]
pub enum FindError {
    /// No run's name begins like that.
    #[error("there is no run `{given}`")]
    Unknown {
        /// The text that was typed.
        given: String,
        /// Names that may have been meant.
        nearest: Vec<String>,
    },
    /// There was one, and it was pruned.
    #[error("the run `{given}` was pruned at {}", adjutant_core::words::moment::timestamp(*at))]
    Pruned {
        /// The text that was typed.
        given: String,
        /// The time it was pruned.
        at: Timestamp,
    },
    /// Runs of several briefs begin like that.
    #[error("`{given}` may mean any of {}", candidates.join(", "))]
    Ambiguous {
        /// The text that was typed.
        given: String,
        /// All that begin like that.
        candidates: Vec<String>,
    },
    /// The folder can't be read.
    #[error("can't read the folder of sessions")]
    Unreadable(#[from] io::Error),
}

impl FindError {
    /// Returns a hint at what to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { nearest, .. } => {
                question(nearest).or_else(|| Some("`adjutant list` shows all runs".into()))
            }
            Self::Pruned { .. } => Some("an evidence pack that was exported before has all of it".into()),
            Self::Ambiguous { .. } => Some("type more of the name".into()),
            Self::Unreadable(_) => None,
        }
    }
}

struct RunCandidate {
    name: String,
    /// The brief's id; for a session of the peer its own name.
    brief_id: String,
    number: u64,
    is_peers: bool,
}

/// The run that `given` means, without regard to case. In this order: a run of that name; the latest run
/// of the brief of that id, for a bare brief id names the first run too; with `-r1` the first; the run,
/// or the latest run of the only brief, whose name begins so.
///
/// # Errors
///
/// [`FindError`], with the names that may have been meant.
pub fn find(home: &Home, given: &str) -> Result<Found, FindError> {
    let all = names(home)?;
    let first_of = given.strip_suffix("-r1").or_else(|| given.strip_suffix("-R1")).filter(|brief| !brief.is_empty());
    let begins = |name: &str, with: &str| name.get(..with.len()).is_some_and(|own| own.eq_ignore_ascii_case(with));
    // A run's name begins with its brief's id, so that no other journal need be opened.
    let mut candidates: Vec<RunCandidate> = all
        .iter()
        .filter(|(name, files)| !given.is_empty() && begins(name, first_of.unwrap_or(given)) && !unbegun::are(files))
        .map(|(name, files)| {
            let brief_id = files.trace.as_deref().and_then(summary::brief_id);
            let is_peers = is_peers(name, files, brief_id.as_deref());
            let brief_id = brief_id.unwrap_or_else(|| name.clone());
            let number = run_number(name, &brief_id).unwrap_or(0);
            RunCandidate { name: name.clone(), brief_id, number, is_peers }
        })
        .collect();
    candidates.sort_by(|a, b| a.number.cmp(&b.number).then_with(|| a.name.cmp(&b.name)));

    if let Some(run) = candidates.iter().find(|run| run.name.eq_ignore_ascii_case(given))
        && !run.brief_id.eq_ignore_ascii_case(given)
    {
        return found(run);
    }
    // The peer's names may differ in nothing but case.
    let exactly = candidates.iter().rev().find(|run| run.brief_id == given);
    if let Some(latest) = exactly.or_else(|| of_brief(&candidates, given).last()) {
        return found(latest);
    }
    if let Some(first) = first_of.and_then(|brief_id| of_brief(&candidates, brief_id).find(|run| run.number == 1)) {
        return found(first);
    }
    // `-r1` is a whole number, not the beginning of `-r19`.
    let is_numbered =
        |run: &RunCandidate| run.number > 0 && run_number(given, &run.brief_id).is_some_and(|n| n != run.number);
    let begun: Vec<&RunCandidate> =
        candidates.iter().filter(|run| begins(&run.name, given) && !is_numbered(run)).collect();
    match begun.as_slice() {
        [] => {
            let pruned = [Some(given), first_of].into_iter().flatten().find_map(|name| pruned_at(home, name));
            if let Some(at) = pruned {
                return Err(FindError::Pruned { given: shown(given), at });
            }
            let near = nearest(given, all.keys().map(String::as_str));
            Err(FindError::Unknown { given: shown(given), nearest: near.into_iter().map(str::to_owned).collect() })
        }
        [.., latest] if begun.iter().all(|run| run.brief_id.eq_ignore_ascii_case(&latest.brief_id)) => found(latest),
        _ => {
            let mut candidates: Vec<String> = begun.iter().map(|run| run.name.clone()).collect();
            candidates.sort();
            Err(FindError::Ambiguous { given: shown(given), candidates })
        }
    }
}

/// Returns the name by which [`find`] finds `run_id` and no other: the first run of a brief has the brief's id, which means
/// the latest once there are several, so that it is `-r1` then.
#[must_use]
pub fn called(home: &Home, run_id: &RunId) -> String {
    match find(home, run_id.as_str()) {
        Ok(Found::Run(found)) if found != *run_id => format!("{run_id}-r1"),
        Ok(_) | Err(_) => run_id.to_string(),
    }
}

/// Returns the run or session with exactly the name `name`, if there is one. Only its own files are looked at.
#[must_use]
pub fn named(home: &Home, name: &str) -> Option<Found> {
    let files = RunFiles::of(home, name).filter(|files| !unbegun::are(files))?;
    let brief_id = files.trace.as_deref().and_then(summary::brief_id);
    Some(match name.parse() {
        Ok(run_id) if !is_peers(name, &files, brief_id.as_deref()) => Found::Run(run_id),
        _ => Found::Peer(name.to_owned()),
    })
}

/// Returns true if these are files of the peer: they have no header of ours, and a session file or a name that we don't
/// give.
fn is_peers(name: &str, files: &RunFiles, brief_id: Option<&str>) -> bool {
    brief_id.is_none() && (files.session.is_some() || name.parse::<RunId>().is_err())
}

fn of_brief<'a>(candidates: &'a [RunCandidate], brief_id: &'a str) -> impl Iterator<Item = &'a RunCandidate> {
    candidates.iter().filter(move |run| run.brief_id.eq_ignore_ascii_case(brief_id))
}

fn found(candidate: &RunCandidate) -> Result<Found, FindError> {
    match candidate.name.parse() {
        Ok(run_id) if !candidate.is_peers => Ok(Found::Run(run_id)),
        _ => Ok(Found::Peer(candidate.name.clone())),
    }
}

/// Returns the time at which the run of this name was pruned, if it was.
fn pruned_at(home: &Home, given: &str) -> Option<Timestamp> {
    prune::note(home, &given.parse().ok()?).map(|note| note.pruned_at)
}

/// Returns the typed text, cut to a length that can be shown.
fn shown(given: &str) -> String {
    given.chars().take(80).collect()
}
