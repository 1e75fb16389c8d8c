//! Everything a command started, found again and killed.
//!
//! A signal to the process group misses what called `setsid`. So our process adopts orphans, and the
//! command's processes are told by four marks: its session, its process group, descent from one of those,
//! and a tag in their environment. A process escapes only if it leaves the session, loses its parent *and*
//! cleans its environment, all three; killing unmarked children of ours could hit somebody else's, so that
//! last gap is left to a pid namespace.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use tokio::process::Child;

/// The environment variable that marks a command's processes.
pub(super) const TAG_NAME: &str = "CUSTODY_TAG";
/// How often processes are looked for and killed before we give up on one that can't die (in the kernel).
const ROUNDS_MAX: usize = 40;
/// How long a killed process gets to be gone before it is looked for again.
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
pub(super) struct Tree {
    leader: Pid,
    tag: Tag,
    killed: BTreeSet<i32>,
    is_over: bool,
    /// Keeps the thread alive that forked the leader.
    _alive: std::sync::mpsc::Sender<()>,
}

impl Tree {
    pub(super) fn of(child: &Child, tag: Tag, alive: std::sync::mpsc::Sender<()>) -> Option<Self> {
        let leader = child.id().and_then(|id| Pid::from_raw(id.cast_signed()))?;
        Some(Self { leader, tag, killed: BTreeSet::new(), is_over: false, _alive: alive })
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

    /// Kills what is found; says whether anything was alive.
    fn kill_once(&mut self) -> bool {
        let found = self.members(&processes());
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
        !alive.is_empty()
    }

    /// Takes note of the deaths of orphans, so that none stays as a zombie. The leader is the child handle's.
    pub(super) async fn reap(&mut self) {
        for _ in 0..ROUNDS_MAX {
            let all = processes();
            let left: Vec<i32> = self
                .members(&all)
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
    fn members(&self, all: &BTreeMap<i32, Process>) -> Vec<Process> {
        let leader = self.leader.as_raw_pid();
        let us = rustix::process::getpid().as_raw_pid();
        let mut members: BTreeSet<i32> = BTreeSet::new();
        for process in all.values() {
            let is_ours = process.id == leader || process.session == leader || process.group == leader;
            if is_ours || (process.id != us && self.is_tagged(process.id)) {
                members.insert(process.id);
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
        members.into_iter().filter_map(|id| all.get(&id).copied()).collect()
    }

    fn is_tagged(&self, process: i32) -> bool {
        let mark = format!("{TAG_NAME}={}", self.tag.as_str());
        std::fs::read(format!("/proc/{process}/environ"))
            .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes()))
    }
}

impl Drop for Tree {
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
}

/// All processes there are. Those that end while we look are left out.
fn processes() -> BTreeMap<i32, Process> {
    let Ok(folder) = std::fs::read_dir("/proc") else {
        return BTreeMap::new();
    };
    let ids = folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.filter_map(|id| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        Some((id, read_stat(id, &stat)?))
    })
    .collect()
}

/// Reads `/proc/<id>/stat`: the name in brackets may itself hold brackets and spaces.
fn read_stat(id: i32, stat: &str) -> Option<Process> {
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let mut number = || fields.next()?.parse::<i32>().ok();
    Some(Process { id, state, parent: number()?, group: number()?, session: number()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_is_no_trouble() {
        let process = read_stat(7, "7 (a) b) c) S 1 2 3 0 -1")
            .map(|process| (process.state, process.parent, process.group, process.session));
        assert_eq!(process, Some(('S', 1, 2, 3)));
        assert!(read_stat(7, "7 (a").is_none());
        assert!(read_stat(7, "").is_none());
    }
}
