//! Lists runs: their names, the state of each, and the run that a person means.
//!
//! In: a [`Home`]. Out: summaries, newest first; a free name; the run behind a few typed letters. Reads
//! the head and the tail of each journal and nothing between them if it is long. What can't be read is
//! listed as such, and sessions of the peer in the same folder are recognised; neither is ever fatal.
//!
//! Begin with [`list`] and [`find`]; [`open_questions`] has what all runs ask, [`idle`] those that no process drives.
//! [`Catalogue`] is the list for a caller that looks again and again, [`Tail`] the lines that a journal gained since.

mod catalogue;
mod find;
mod open;
mod peer_files;
mod spending;
mod summary;
mod tail;
pub(crate) mod unbegun;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use adjutant_core::view::list::{ListRow, RunState};
use adjutant_core::words::id::{BriefId, RunId};
use jiff::Timestamp;

pub use catalogue::{Catalogue, Catalogued, Identity};
pub use find::{FindError, Found, called, find, named};
pub use open::{
    AllAsking, Asking, Beginnings, Idle, beginnings, begins_sitting, idle, open_questions, open_questions_of,
};
pub use peer_files::PeerFiles;
pub use spending::{TurnLines, turn_lines};
pub use summary::{PeerSummary, RunSummary};
pub use tail::{Gained, Tail};

use crate::home::{Home, JOURNAL_ENDING, PRUNED_ENDING};
use crate::lease::Owner;
use crate::shared;

/// One entry of the folder of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listed {
    /// A run of ours.
    Run(RunSummary),
    /// A session of the peer.
    Peer(PeerSummary),
    /// A file that has the name of a journal and can't be read as one.
    Unreadable {
        /// Its name without its ending.
        name: String,
        /// The file.
        path: PathBuf,
        /// The fault.
        why: String,
    },
}

impl Listed {
    fn updated_at(&self) -> Option<Timestamp> {
        match self {
            Self::Run(run) => Some(run.updated_at),
            Self::Peer(peer) => peer.updated_at,
            Self::Unreadable { .. } => None,
        }
    }

    /// The name under which it is listed.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Run(run) => run.run_id.as_str(),
            Self::Peer(peer) => &peer.name,
            Self::Unreadable { name, .. } => name,
        }
    }
}

impl Listed {
    /// Returns the state of the run; `None` if it is not one of ours.
    #[must_use]
    pub fn state(&self) -> Option<RunState> {
        match self {
            Self::Run(run) => Some(run.state()),
            Self::Peer(_) | Self::Unreadable { .. } => None,
        }
    }

    /// It as a row of the list.
    #[must_use]
    pub fn row(&self) -> ListRow {
        match self {
            Self::Run(run) => {
                let state = run.state();
                let with_damage = |state: String| match run.damaged {
                    0 => state,
                    1 => format!("{state}; 1 damaged line"),
                    damaged => format!("{state}; {damaged} damaged lines"),
                };
                ListRow {
                    called: None,
                    run_id: run.run_id.to_string(),
                    project: run.project.clone(),
                    title: run.title.clone(),
                    phase: run.phase.map(|phase| phase.as_str().to_owned()),
                    updated_at: Some(adjutant_core::words::moment::timestamp(run.updated_at)),
                    state: Some(with_damage(state.said())),
                    says: Some(with_damage(state.in_words(&run.categories))),
                    cost: None,
                }
            }
            Self::Peer(peer) => ListRow {
                called: None,
                run_id: peer.name.clone(),
                project: peer.project.clone(),
                phase: peer.phase.clone(),
                updated_at: peer.updated_at.map(adjutant_core::words::moment::timestamp),
                ..ListRow::default()
            },
            Self::Unreadable { name, why, .. } => {
                ListRow { run_id: name.clone(), state: Some(format!("unreadable: {why}")), ..ListRow::default() }
            }
        }
    }
}

impl RunSummary {
    /// Returns the state of the run.
    #[must_use]
    pub fn state(&self) -> RunState {
        RunState::of(self.outcome, self.asks, self.wakes_at, self.driver_alive)
    }
}

/// Summarizes one run; `seer` and `now` are for telling whether its driver is alive.
#[must_use]
pub fn summed_up(home: &Home, run_id: &RunId, seer: &Owner, now: Timestamp) -> Listed {
    let files = RunFiles { trace: Some(home.journal(run_id)), session: None };
    summary::summary(home, run_id.to_string(), files, seer, now)
}

/// Everything in the folder of sessions, newest first; what has no time comes last. A journal that was never begun is
/// left out. `seer` and `now` are for telling whether a run's driver is alive.
///
/// # Errors
///
/// If there is a folder and it can't be read. No folder means no runs.
pub fn list(home: &Home, seer: &Owner, now: Timestamp) -> io::Result<Vec<Listed>> {
    let mut all: Vec<Listed> =
        begun(home)?.map(|(name, files)| summary::summary(home, name, files, seer, now)).collect();
    all.sort_by(newest_first);
    Ok(all)
}

fn newest_first(a: &Listed, b: &Listed) -> std::cmp::Ordering {
    b.updated_at().cmp(&a.updated_at()).then_with(|| a.name().cmp(b.name()))
}

/// The files that share a name.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunFiles {
    /// `<name>.trace.ndjson`: ours or the peer's.
    pub(crate) trace: Option<PathBuf>,
    /// `<name>.json`: the peer's.
    pub(crate) session: Option<PathBuf>,
}

impl RunFiles {
    /// Those of exactly this name; `None` if there are none, or it is no name of a file.
    fn of(home: &Home, name: &str) -> Option<Self> {
        if name.is_empty() || name.contains('/') {
            return None;
        }
        let file = |ending: &str| {
            let path = home.sessions().join(format!("{name}{ending}"));
            path.symlink_metadata().is_ok().then_some(path)
        };
        let files = Self { trace: file(JOURNAL_ENDING), session: file(".json") };
        (files.trace.is_some() || files.session.is_some()).then_some(files)
    }
}

/// All names in the folder of sessions, with their files.
pub(crate) fn names(home: &Home) -> io::Result<BTreeMap<String, RunFiles>> {
    let mut names: BTreeMap<String, RunFiles> = BTreeMap::new();
    let entries = match fs::read_dir(home.sessions()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(names),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        // Neither of us writes a name that is not ASCII. It hides nothing: what it is the name of is said.
        let name = name.to_string_lossy();
        if let Some(name) = name.strip_suffix(JOURNAL_ENDING) {
            names.entry(name.to_owned()).or_default().trace = Some(entry.path());
        } else if let Some(name) = name.strip_suffix(".json") {
            names.entry(name.to_owned()).or_default().session = Some(entry.path());
        }
    }
    Ok(names)
}

/// All names that a new run can't have: those of runs that were pruned too, and of runs in other folders of sessions,
/// so that no name ever means two runs of a home.
fn taken(home: &Home) -> io::Result<BTreeMap<String, RunFiles>> {
    let mut taken = names(home)?;
    for name in pruned(home)?.into_iter().chain(shared::names_of_others(home)?) {
        taken.entry(name).or_default();
    }
    Ok(taken)
}

/// The names of the runs that were pruned, or are being pruned.
pub(crate) fn pruned(home: &Home) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(home.sessions()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        names.extend(name.to_str().and_then(|name| name.strip_suffix(PRUNED_ENDING)).map(str::to_owned));
    }
    names.sort_unstable();
    Ok(names)
}

/// The names of what was begun, with their files.
fn begun(home: &Home) -> io::Result<impl Iterator<Item = (String, RunFiles)>> {
    Ok(names(home)?.into_iter().filter(|(_, files)| !unbegun::are(files)))
}

/// The name that stands in the way of a new run `run_id`: the same without regard to case.
pub(crate) fn taken_name(home: &Home, run_id: &RunId, seer: &Owner, now: Timestamp) -> io::Result<Option<String>> {
    let mut same = taken(home)?.into_iter().filter(|(name, _)| name.eq_ignore_ascii_case(run_id.as_str()));
    Ok(same.find(|(name, files)| !unbegun::are_free(home, name, files, seer, now)).map(|(name, _)| name))
}

/// The name for the next run of `brief_id`: the brief's own for the first, then `-r2`, `-r3`, one more
/// than the highest there is, whatever was deleted before it; the number of a run that never began is free. `None` if
/// it would be too long. Only [`crate::FileJournal::create`] makes it taken.
///
/// # Errors
///
/// If there is a folder of sessions and it can't be read.
pub fn next_run_id(home: &Home, brief_id: &BriefId, seer: &Owner, now: Timestamp) -> io::Result<Option<RunId>> {
    let names = taken(home)?;
    let numbered = names.iter().filter_map(|(name, files)| Some((name, files, run_number(name, brief_id.as_str())?)));
    let taken = numbered.filter(|(name, files, _)| !unbegun::are_free(home, name, files, seer, now));
    let highest = taken.map(|(_, _, number)| number).max();
    let name = match highest {
        None => brief_id.to_string(),
        Some(highest) => format!("{brief_id}-r{}", highest.saturating_add(1)),
    };
    Ok(name.parse().ok())
}

/// Returns the number of the run of the brief `brief_id` that is called `name`: 1 for the brief's own name, N for
/// `-rN`, without regard to case; `None` if it is not a name of that brief.
fn run_number(name: &str, brief_id: &str) -> Option<u64> {
    let (own, rest) = name.split_at_checked(brief_id.len())?;
    if !own.eq_ignore_ascii_case(brief_id) {
        return None;
    }
    if rest.is_empty() {
        return Some(1);
    }
    let digits = rest.strip_prefix("-r").or_else(|| rest.strip_prefix("-R"))?;
    (!digits.starts_with(['0', '+'])).then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
#[path = "../runs_tests.rs"]
mod tests;
