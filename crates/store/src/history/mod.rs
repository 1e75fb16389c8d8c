//! Walks over all traces of a project, in parallel, and remembers how far: a second look reads what was appended.
//!
//! In: a [`Home`] and a project. Out: the runs of each trace, in the order of the traces' names, whoever read them and
//! in whatever order; they are handed out a block at a time, so that the memory needed does not grow with how many
//! there are. What a trace holds is `core`'s to say ([`Walk`]).
//!
//! Begin with [`read`].

mod rollups;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use adjutant_core::learn::{PeerFacts, RunRecord, Walk};
use rayon::prelude::*;
use rollups::Rollups;
use serde::{Deserialize, Serialize};

use crate::home::Home;
use crate::plain_file;
use crate::runs;
use crate::scan::{self, Use};

/// Number of traces in memory at once.
const BLOCK: usize = 256;

/// Number of bytes read at once when looking for a file's last line feed from its end.
const TAIL_BYTES: u64 = 4 * 1024;

/// Number of bytes before the place that was read up to that must be unchanged.
const PROOF_BYTES: u64 = 256;

/// The way to count traces as runs of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// Each trace once, however many session files name it.
    Once,
    /// Once for each session file, as the peer does.
    ByFile,
}

/// The runs of one trace.
#[derive(Debug, Clone)]
pub struct TraceRuns {
    /// Its name: the id of a run of ours, or the brief's id of a session of the peer.
    pub name: String,
    /// Its runs; none if there is no trace.
    pub runs: Vec<RunRecord>,
    /// Number of its lines that can't be used.
    pub damaged: u64,
    /// Number of its lines that the peer would call damaged.
    pub damaged_to_peer: u64,
}

/// The extent of a reading.
#[derive(Debug, Default)]
pub struct Coverage {
    /// Traces that were looked at.
    pub traces: u64,
    /// Bytes that were read of them this time.
    pub bytes: u64,
    /// The files that could not be read, each with the error; everything else was counted.
    pub unreadable: Vec<(PathBuf, io::Error)>,
}

/// Hands the runs of every trace of `project` to `each`, in the order of the traces' names.
///
/// The results are remembered in the home. If that can't be written, the next reading starts from the beginning of
/// every file.
///
/// # Errors
///
/// If the folder of sessions can't be read. No folder means no runs; a file that can't be read is named in the
/// coverage.
pub fn read(home: &Home, project: &str, counting: Counting, mut each: impl FnMut(TraceRuns)) -> io::Result<Coverage> {
    let rollups = Rollups::open(home);
    let names = names(home)?;
    let mut coverage = Coverage::default();
    let sessions = sessions(&names, &rollups, &mut coverage);

    // The traces that belong to sessions of the peer, each with the sessions that name it.
    let mut of_peer: BTreeMap<String, Vec<&PeerFacts>> = BTreeMap::new();
    for facts in sessions.iter().filter_map(|(_, seen)| seen.facts.as_ref()) {
        of_peer.entry(facts.trace_name()).or_default().push(facts);
    }
    let mut wanted: Vec<(&str, Option<&PathBuf>, &[&PeerFacts])> = Vec::new();
    let all: BTreeSet<&str> = names.traces.keys().chain(of_peer.keys()).map(String::as_str).collect();
    for name in all {
        let facts: &[&PeerFacts] = of_peer.get(name).map_or(&[], Vec::as_slice);
        if facts.is_empty() || facts.iter().any(|facts| facts.project == project) {
            wanted.push((name, names.traces.get(name), facts));
        }
    }

    let mut remembered = Vec::new();
    for block in wanted.chunks(BLOCK) {
        let seen: Vec<io::Result<SeenTrace>> = block
            .par_iter()
            .map(|(name, path, _)| path.map_or(Ok(SeenTrace::default()), |path| look(path, rollups.trace(name))))
            .collect();
        for ((name, path, facts), seen) in block.iter().zip(seen) {
            let SeenTrace { kept, walk, bytes } = match seen {
                Ok(seen) => seen,
                Err(error) => {
                    coverage.unreadable.push((path.cloned().unwrap_or_default(), error));
                    continue;
                }
            };
            coverage.traces += u64::from(path.is_some());
            coverage.bytes += bytes;
            if path.is_some() {
                remembered.push(((*name).to_owned(), kept));
            }
            if let Some(why) = unusable(name, &walk, facts) {
                let error = io::Error::new(io::ErrorKind::InvalidData, why);
                coverage.unreadable.push((path.cloned().unwrap_or_default(), error));
                continue;
            }
            hand_out(name, walk, facts, (project, counting), &mut each);
        }
    }
    rollups.keep(sessions, remembered, &names, coverage.bytes > 0);
    Ok(coverage)
}

/// Returns the reason why a journal of ours can't be counted; `None` if it can.
fn unusable(name: &str, walk: &Walk, facts: &[&PeerFacts]) -> Option<String> {
    if !facts.is_empty() || !walk.is_ours() {
        return None;
    }
    match walk.run_id() {
        // A copy would be counted as another run.
        Some(run_id) if run_id != name => Some(format!("it is the journal of the run `{run_id}`")),
        None if walk.damaged() > 0 => Some("its beginning is damaged, so that nobody knows whose it is".to_owned()),
        _ => None,
    }
}

fn hand_out(
    name: &str,
    walk: Walk,
    facts: &[&PeerFacts],
    (project, counting): (&str, Counting),
    each: &mut impl FnMut(TraceRuns),
) {
    let (damaged, is_empty) = (walk.damaged(), walk.is_empty());
    let damaged_to_peer = damaged + walk.white() - walk.passed();
    if facts.is_empty() {
        // A trace without a session file is ours, and says whose it is, or is of no project.
        if walk.project() == Some(project) {
            each(TraceRuns { name: name.to_owned(), runs: walk.into_runs(), damaged, damaged_to_peer });
        }
        return;
    }
    let runs = if is_empty { Vec::new() } else { walk.into_runs() };
    let mut facts: Vec<&&PeerFacts> = facts.iter().filter(|facts| facts.project == project).collect();
    if counting == Counting::Once {
        facts.truncate(1);
    }
    for facts in facts {
        let mut runs = runs.clone();
        facts.complete(&mut runs);
        each(TraceRuns { name: facts.brief_id.clone(), runs, damaged, damaged_to_peer });
    }
}

/// The files of the folder of sessions.
#[derive(Debug, Default)]
struct Names {
    /// Traces by name without ending.
    traces: BTreeMap<String, PathBuf>,
    /// Session files of the peer.
    sessions: BTreeMap<String, PathBuf>,
}

fn names(home: &Home) -> io::Result<Names> {
    let mut names = Names::default();
    for (name, files) in runs::names(home)? {
        names.traces.extend(files.trace.map(|path| (name.clone(), path)));
        names.sessions.extend(files.session.map(|path| (name, path)));
    }
    Ok(names)
}

/// The state of a file when it was read: another time, size or place on the disk means another content. The time of the
/// last change of any kind is included, since no program can set it back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct HistoryStamp {
    bytes: u64,
    seconds: i64,
    nanoseconds: i64,
    changed_seconds: i64,
    changed_nanoseconds: i64,
    inode: u64,
}

impl HistoryStamp {
    fn of(metadata: &fs::Metadata) -> Self {
        Self {
            bytes: metadata.len(),
            seconds: metadata.mtime(),
            nanoseconds: metadata.mtime_nsec(),
            changed_seconds: metadata.ctime(),
            changed_nanoseconds: metadata.ctime_nsec(),
            inode: metadata.ino(),
        }
    }
}

/// A session file of the peer as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SessionSeen {
    stamp: HistoryStamp,
    /// The facts of the session; `None` if the file can't be used.
    facts: Option<PeerFacts>,
}

/// A trace as far as it was walked over.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct TraceRollup {
    stamp: HistoryStamp,
    /// Up to where, in bytes: behind the last line feed.
    read_to: u64,
    /// The hash of the bytes before that.
    proof: String,
    walk: Walk,
}

fn sessions(names: &Names, rollups: &Rollups, coverage: &mut Coverage) -> Vec<(String, SessionSeen)> {
    let seen: Vec<_> =
        names.sessions.par_iter().map(|(name, path)| (name, path, session(path, rollups.session(name)))).collect();
    let mut sessions = Vec::with_capacity(seen.len());
    for (name, path, seen) in seen {
        match seen {
            Ok(seen) => sessions.push((name.clone(), seen)),
            Err(error) => coverage.unreadable.push((path.clone(), error)),
        }
    }
    sessions
}

fn session(path: &Path, before: Option<&SessionSeen>) -> io::Result<SessionSeen> {
    let metadata = fs::metadata(path)?;
    let stamp = HistoryStamp::of(&metadata);
    if let Some(before) = before.filter(|before| before.stamp == stamp) {
        return Ok(before.clone());
    }
    let is_usable = metadata.is_file() && metadata.len() <= scan::LINE_BYTES_MAX as u64;
    let text = if is_usable { fs::read(path)? } else { Vec::new() };
    Ok(SessionSeen { stamp, facts: PeerFacts::read(&String::from_utf8_lossy(&text)) })
}

/// The result of reading a trace.
#[derive(Default)]
struct SeenTrace {
    /// The part to remember.
    kept: TraceRollup,
    /// All of it, a last line without a line feed included.
    walk: Walk,
    /// Number of bytes that were read.
    bytes: u64,
}

fn look(path: &Path, before: Option<&TraceRollup>) -> io::Result<SeenTrace> {
    let mut file = plain_file::open(path)?;
    let metadata = file.metadata()?;
    let stamp = HistoryStamp::of(&metadata);
    let mut kept = match before {
        Some(before) if before.stamp == stamp && before.read_to == stamp.bytes => {
            return Ok(SeenTrace { walk: before.walk.clone(), kept: before.clone(), bytes: 0 });
        }
        Some(before) if goes_on(&file, before, stamp)? => before.clone(),
        _ => TraceRollup::default(),
    };
    let from = kept.read_to;
    let end = whole_lines(&file, from, stamp.bytes)?;
    file.seek(SeekFrom::Start(from))?;
    walk(&mut kept.walk, (&file).take(end - from))?;
    let mut all = kept.walk.clone();
    if end < stamp.bytes {
        walk(&mut all, (&file).take(stamp.bytes - end))?;
    }
    kept.proof = proof(&file, end)?;
    (kept.stamp, kept.read_to) = (stamp, end);
    Ok(SeenTrace { kept, walk: all, bytes: stamp.bytes - from })
}

/// Returns true if the file is the one that was read, and longer. A file that was touched without having grown may have
/// another content throughout.
fn goes_on(file: &File, before: &TraceRollup, now: HistoryStamp) -> io::Result<bool> {
    let has_grown = before.stamp.inode == now.inode && before.stamp.bytes < now.bytes;
    Ok(has_grown && proof(file, before.read_to)? == before.proof)
}

/// The hash of the bytes before `end`, and of the first ones.
fn proof(file: &File, end: u64) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    let length = end.min(PROOF_BYTES);
    for from in [0, end - length] {
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        file.read_exact_at(&mut bytes, from)?;
        hasher.update(&bytes);
    }
    Ok(hasher.finalize().to_hex()[..16].to_owned())
}

/// Returns the place right after the last whole line of `from..end`.
fn whole_lines(file: &File, from: u64, end: u64) -> io::Result<u64> {
    let mut until = end;
    while until > from {
        let length = (until - from).min(TAIL_BYTES);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        file.read_exact_at(&mut bytes, until - length)?;
        if let Some(place) = memchr::memrchr(b'\n', &bytes) {
            return Ok(until - length + place as u64 + 1);
        }
        until -= length;
    }
    Ok(from)
}

fn walk(walk: &mut Walk, from: impl io::Read) -> io::Result<()> {
    let scan = scan::scan(from, |_, line| {
        walk.line(line);
        Use::Taken
    })?;
    walk.white_lines(scan.white_lines);
    walk.lists(scan.list_lines);
    // Lines that are no object are not handed out.
    for _ in 0..scan.damaged_lines {
        walk.unreadable();
    }
    Ok(())
}

#[cfg(test)]
#[path = "../history_tests.rs"]
mod tests;
