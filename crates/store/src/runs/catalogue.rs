//! The list of runs for who looks again and again: what is known of a run is kept as long as its files are the same.
//!
//! In: a [`Home`]. Out: what [`super::list`] gives, without reading what was read before. A cache and nothing else: it
//! is never written down, and a test compares it with the list.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use super::{Listed, RunFiles, newest_first, summary, unbegun};
use crate::home::Home;
use crate::lease::{LeaseContent, Owner};

/// The fewest runs that a thread of its own is worth.
const RUNS_PER_THREAD_MIN: usize = 64;

/// The facts that tell a file from an earlier state of it: place, length and time of the last change. A journal only
/// grows, so its length alone says nearly everything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Identity {
    device: u64,
    inode: u64,
    bytes: u64,
    changed_ns: i128,
}

impl Identity {
    /// That of the file at `path`; `None` if it can't be looked at.
    fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        let changed_ns = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
        Some(Self { device: found.dev(), inode: found.ino(), bytes: found.size(), changed_ns })
    }
}

/// The files of one name: its trace, and the session file of the peer.
type Identities = [Option<Identity>; 2];

/// A run in the catalogue.
#[derive(Debug, Clone)]
pub struct Catalogued {
    /// Its entry in the list.
    pub listed: Arc<Listed>,
    /// The identity of its files: anything else that was derived from them holds as long as this is the same.
    pub identity: [Option<Identity>; 2],
}

/// The runs that were read so far.
#[derive(Debug, Default)]
pub struct Catalogue {
    known: HashMap<String, Catalogued>,
}

impl Catalogue {
    /// Everything in the folder of sessions, newest first, as [`super::list`] has it.
    ///
    /// # Errors
    ///
    /// If there is a folder and it can't be read. No folder means no runs.
    pub fn refresh(&mut self, home: &Home, seer: &Owner, now: Timestamp) -> io::Result<Vec<Catalogued>> {
        let names: Vec<(String, RunFiles)> = super::names(home)?.into_iter().collect();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let each = names.len().div_ceil(threads).max(RUNS_PER_THREAD_MIN);
        let known = &self.known;
        let read = &|part: &[(String, RunFiles)]| -> Vec<Catalogued> {
            part.iter().filter_map(|(name, files)| look(known.get(name), home, name, files, seer, now)).collect()
        };
        let parts: io::Result<Vec<Vec<Catalogued>>> = std::thread::scope(|scope| {
            let parts: Vec<_> = names.chunks(each).map(|part| scope.spawn(move || read(part))).collect();
            parts.into_iter().map(|part| part.join().map_err(|_| io::Error::other("a reader panicked"))).collect()
        });
        let mut all: Vec<Catalogued> = parts?.into_iter().flatten().collect();
        self.known = all.iter().map(|run| (run.listed.name().to_owned(), run.clone())).collect();
        all.sort_by(|a, b| newest_first(&a.listed, &b.listed));
        Ok(all)
    }
}

/// Returns the run with the files of one name; `None` if it never began.
fn look(
    known: Option<&Catalogued>,
    home: &Home,
    name: &str,
    files: &RunFiles,
    seer: &Owner,
    now: Timestamp,
) -> Option<Catalogued> {
    // Before the reading: what is written meanwhile is read again next time.
    let identity: Identities = [&files.trace, &files.session].map(|file| file.as_deref().and_then(Identity::of));
    if let Some(known) = known.filter(|known| known.identity == identity) {
        return Some(Catalogued { listed: driven_or_not(&known.listed, home, seer, now), identity });
    }
    let may_be_unbegun = identity[0].is_none_or(|trace| trace.bytes <= unbegun::BYTES_MAX);
    if may_be_unbegun && unbegun::are(files) {
        return None;
    }
    let listed = summary::summary(home, name.to_owned(), files.clone(), seer, now);
    Some(Catalogued { listed: Arc::new(listed), identity })
}

/// The same, with what its lease, its mailbox and the clock say now: that is no part of its files.
fn driven_or_not(listed: &Arc<Listed>, home: &Home, seer: &Owner, now: Timestamp) -> Arc<Listed> {
    let Listed::Run(run) = listed.as_ref() else { return listed.clone() };
    if run.outcome.is_some() && !run.driver_alive {
        return listed.clone();
    }
    let lease = LeaseContent::read(&home.lease(&run.run_id)).ok().flatten();
    let driver_alive = lease.is_some_and(|lease| lease.is_alive(seer, now));
    let wakes_at = run.wakes_at.filter(|until| *until > now);
    let asks = summary::asks(home, &run.run_id, &run.open);
    if (driver_alive, wakes_at, asks) == (run.driver_alive, run.wakes_at, run.asks) {
        return listed.clone();
    }
    let mut run = run.clone();
    (run.driver_alive, run.wakes_at, run.asks) = (driver_alive, wakes_at, asks);
    Arc::new(Listed::Run(run))
}
