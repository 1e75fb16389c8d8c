//! Everything a command started, found again and killed.
//!
//! A signal to the process group misses what called `setsid`. So our process adopts orphans, and the
//! command's processes are told by four marks: its session, its process group, descent from one of those,
//! and a tag in their environment. A process escapes only if it leaves the session, loses its parent *and*
//! cleans its environment, all three; killing unmarked children of ours could hit somebody else's, so that
//! last gap is left to a pid namespace.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use tokio::process::Child;

/// The environment variable that marks a command's processes.
pub(super) const TAG_NAME: &str = "CUSTODY_TAG";
/// Number of rounds of looking for processes and killing them before we give up on one that can't die (in the kernel).
const ROUNDS_MAX: usize = 40;
/// The bytes of a process's state that are read: all of it, since it has fifty numbers and a short name.
const STAT_BYTES_MAX: usize = 4096;
/// Number of bytes of an environment read at once: more than nearly all have.
const ENVIRONMENT_PIECE: usize = 128 << 10;
/// Time for a killed process to be gone before it is looked for again.
const ROUND: Duration = Duration::from_millis(5);

/// Marks one command's processes, unlike any other's.
#[derive(Debug, Clone)]
pub(super) struct Tag(String);

impl Tag {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Makes orphans of our commands our own children, for the rest of the process's life.
pub(super) fn adopt_orphans() -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// A running command's processes. Dropping it kills them.
pub(super) struct ProcessTree {
    leader: Pid,
    /// The time the leader began. Older processes are not its children, and need not be looked at closely.
    since: u64,
    tag: Tag,
    killed: BTreeSet<i32>,
    is_over: bool,
    /// Keeps the thread alive that forked the leader.
    _alive: std::sync::mpsc::Sender<()>,
}

impl ProcessTree {
    pub(super) fn of(child: &Child, tag: Tag, alive: std::sync::mpsc::Sender<()>) -> Option<Self> {
        let leader = child.id().and_then(|id| Pid::from_raw(id.cast_signed()))?;
        let since = process(leader.as_raw_pid()).map_or(0, |process| process.started);
        Some(Self { leader, since, tag, killed: BTreeSet::new(), is_over: false, _alive: alive })
    }

    /// Asks the command's own group to end.
    pub(super) fn terminate(&self) {
        // A group that is gone has ended.
        rustix::process::kill_process_group(self.leader, Signal::TERM).ok();
    }

    /// Kills everything; says how many processes it was, the leader not counted.
    pub(super) async fn kill(&mut self) -> usize {
        for _ in 0..ROUNDS_MAX {
            if !self.kill_once() {
                break;
            }
            tokio::time::sleep(ROUND).await;
        }
        self.killed.len()
    }

    /// Kills what is found; says whether anything was alive, or may have been.
    fn kill_once(&mut self) -> bool {
        let Members { found, is_unsure } = self.members(&processes());
        let alive: Vec<i32> = found.iter().filter(|process| process.state != 'Z').map(|process| process.id).collect();
        for process in &alive {
            if *process != self.leader.as_raw_pid() {
                self.killed.insert(*process);
            }
            if let Some(process) = Pid::from_raw(*process) {
                rustix::process::kill_process(process, Signal::KILL).ok();
            }
        }
        reap(
            found
                .iter()
                .map(|process| process.id)
                .chain(self.killed.iter().copied())
                .filter(|id| *id != self.leader.as_raw_pid()),
        );
        is_unsure || !alive.is_empty()
    }

    /// Takes note of the deaths of orphans, so that none stays as a zombie. The leader is the child handle's.
    pub(super) async fn reap(&mut self) {
        for _ in 0..ROUNDS_MAX {
            let all = processes();
            let left: Vec<i32> = self
                .members(&all)
                .found
                .iter()
                .map(|process| process.id)
                .filter(|id| *id != self.leader.as_raw_pid())
                .collect();
            reap(left.iter().chain(&self.killed).copied());
            if left.is_empty() {
                break;
            }
            tokio::time::sleep(ROUND).await;
        }
        self.is_over = true;
    }

    /// The processes that are this command's.
    fn members(&self, all: &BTreeMap<i32, Process>) -> Members {
        let leader = self.leader.as_raw_pid();
        let us = rustix::process::getpid().as_raw_pid();
        let our_session = all.get(&us).map_or(0, |process| process.session);
        let mut members: BTreeSet<i32> = BTreeSet::new();
        let mut is_unsure = false;
        for process in all.values().filter(|process| process.started >= self.since && process.id != us) {
            // Once the leader is gone, its number may be another's.
            let is_leader = process.id == leader && process.started == self.since;
            if is_leader || process.session == leader || process.group == leader {
                members.insert(process.id);
                continue;
            }
            match self.mark(process.id) {
                Mark::Ours => {
                    members.insert(process.id);
                }
                Mark::Hidden => {
                    is_unsure |= process.state != 'Z' && process.parent == us && process.session != our_session
                }
                Mark::Absent => {}
            }
        }
        // Descent, however long: each round adds the children of the last.
        loop {
            let children: Vec<i32> = all
                .values()
                .filter(|process| members.contains(&process.parent) && !members.contains(&process.id))
                .map(|process| process.id)
                .collect();
            if children.is_empty() {
                break;
            }
            members.extend(children);
        }
        Members { found: members.into_iter().filter_map(|id| all.get(&id).copied()).collect(), is_unsure }
    }

    fn mark(&self, process: i32) -> Mark {
        let ours = format!("{TAG_NAME}={}", self.tag.as_str());
        match environment(process) {
            // Nothing, or an end in the middle of an entry: it was being replaced.
            Ok(environment) if environment.last() != Some(&0) => Mark::Hidden,
            Ok(environment) if environment.split(|byte| *byte == 0).any(|entry| entry == ours.as_bytes()) => Mark::Ours,
            Ok(_) => Mark::Absent,
            Err(_) => Mark::Hidden,
        }
    }
}

/// The processes of a command that were found.
struct Members {
    found: Vec<Process>,
    /// True if some adopted orphan could not be identified, so that it has to be looked at again.
    is_unsure: bool,
}

/// Presence of the command's mark in a process's environment.
enum Mark {
    Ours,
    Absent,
    /// It can't be seen: while a program replaces itself by another, it has no environment for a moment.
    Hidden,
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        if !self.is_over {
            for _ in 0..ROUNDS_MAX {
                if !self.kill_once() {
                    break;
                }
            }
        }
    }
}

/// A process's environment in as few reads as possible: one that comes after the process replaced itself says
/// that there is no more.
fn environment(process: i32) -> io::Result<Vec<u8>> {
    let mut file = std::fs::File::open(format!("/proc/{process}/environ"))?;
    let mut environment = Vec::new();
    let mut piece = vec![0; ENVIRONMENT_PIECE];
    loop {
        let read = file.read(&mut piece)?;
        environment.extend_from_slice(piece.get(..read).unwrap_or(&[]));
        if read < piece.len() {
            return Ok(environment);
        }
    }
}

/// Takes note of deaths, without waiting for any.
fn reap(ids: impl Iterator<Item = i32>) {
    for process in ids.filter_map(Pid::from_raw) {
        // Not a child of ours, or not dead yet: nothing to note.
        rustix::process::waitid(WaitId::Pid(process), WaitIdOptions::EXITED | WaitIdOptions::NOHANG).ok();
    }
}

/// One process as the kernel shows it.
#[derive(Debug, Clone, Copy)]
struct Process {
    id: i32,
    state: char,
    parent: i32,
    group: i32,
    session: i32,
    /// The time it began, in ticks since the system did.
    started: u64,
}

/// All processes there are. Those that end while we look are left out.
fn processes() -> BTreeMap<i32, Process> {
    let Ok(folder) = std::fs::read_dir("/proc") else {
        return BTreeMap::new();
    };
    let ids = folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.filter_map(|id| Some((id, process(id)?))).collect()
}

fn process(id: i32) -> Option<Process> {
    // One read is enough, and there is one for every process of the machine, several times for each command.
    let mut stat = [0; STAT_BYTES_MAX];
    let read = std::fs::File::open(format!("/proc/{id}/stat")).ok()?.read(&mut stat).ok()?;
    read_stat(id, stat.get(..read)?)
}

/// Reads `/proc/<id>/stat`: the name in brackets may itself hold brackets, spaces, and bytes that are no text.
fn read_stat(id: i32, stat: &[u8]) -> Option<Process> {
    let behind_name = stat.get(stat.iter().rposition(|byte| *byte == b')')? + 1..)?;
    let mut fields = std::str::from_utf8(behind_name).ok()?.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let mut number = || fields.next()?.parse::<i32>().ok();
    let (parent, group, session) = (number()?, number()?, number()?);
    // The 22nd field of all; the session is the sixth.
    let started = fields.nth(15)?.parse().ok()?;
    Some(Process { id, state, parent, group, session, started })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_or_without_text_is_no_trouble() {
        let process = read_stat(7, b"7 (a) \xff) c) S 1 2 3 0 -1 4 5 6 7 8 9 10 11 12 13 14 15 16 99 1")
            .map(|process| (process.state, process.parent, process.group, process.session, process.started));
        assert_eq!(process, Some(('S', 1, 2, 3, 99)));
        assert!(read_stat(7, b"7 (a").is_none());
        assert!(read_stat(7, b"").is_none());
    }
}
