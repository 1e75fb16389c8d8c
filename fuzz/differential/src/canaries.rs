//! Sets out what must survive every line that is called safe, and finds what was lost.
//!
//! Appending to a file of the workdir, committing, and making branches are safe, so a file counts as lost only if
//! what it held is no longer its beginning, and a commit only if nothing names it any more. What is kept for undo
//! before the line runs is not lost. Nor is what `git stash` puts away or takes back: it is safe, since the other place
//! has it then.

use std::fs;
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use rustix::process::{getpid, set_child_subreaper};

use crate::ground::{Ground, STASHED};
use crate::trial::UndoScope;

/// Port of a pretended proxy, which is us: a connection here was meant to reach others.
pub const PORT: u16 = 4280;
/// Files of the workdir that must keep what they hold.
const FILES: &[&str] = &[
    "src/main.c", "src/lib.c", "test/t.txt", "keep/one.txt", "README.md", "a.txt", "f.txt", "x", "f", "g", "a", "b",
    "notes.txt", "new/n.txt", ".env", "cache/c.bin", "zap.sh",
];
/// Files beside it that nothing may change.
const OUTSIDE: &[&str] = &["outside/precious.txt", "outside/x", "home/.bashrc", "home/docs/d.txt", "home/.gitconfig"];
/// Largest deviation of the clock from where it should be, in seconds.
const CLOCK_SECONDS: u64 = 5;

/// All canaries of a sandbox.
#[derive(Debug)]
pub struct Canaries {
    /// Every branch and tag, with what it names.
    refs: Vec<(String, String)>,
    /// Commits that they and stashes name.
    commits: Vec<String>,
    /// The stashes, each with what it adds to a file.
    stashes: Vec<(String, &'static str)>,
    /// Files that no commit holds as they are, with the names of their contents.
    uncommitted: Vec<(&'static str, String)>,
    process: u32,
    tcp: TcpListener,
    udp: UdpSocket,
    begun: (SystemTime, Instant),
}

impl Canaries {
    /// Sets them out. The process among them is no child of ours: it is started by one that ends.
    ///
    /// # Errors
    ///
    /// The system's, or git's.
    pub fn new(ground: &Ground) -> Result<Self> {
        let refs = refs(ground)?;
        let stashes = ground.git(&["stash", "list", "--format=%H"])?;
        let named = refs.iter().map(|(_, id)| id.as_str());
        let mut commits: Vec<String> = named.chain(stashes.lines()).map(str::to_owned).collect();
        commits.sort_unstable();
        commits.dedup();
        let stashes = stashes.lines().map(str::to_owned).zip(STASHED.into_iter().rev()).collect();
        let name = |path: &'static str| Ok((path, ground.git(&["hash-object", path])?.trim().to_owned()));
        let uncommitted = Ground::uncommitted().map(name).collect::<Result<_>>()?;
        let (tcp, udp) = (TcpListener::bind(("127.0.0.1", PORT))?, UdpSocket::bind(("127.0.0.1", PORT))?);
        tcp.set_nonblocking(true)?;
        udp.set_nonblocking(true)?;
        let process = start_process(ground)?;
        Ok(Self { refs, commits, stashes, uncommitted, process, tcp, udp, begun: (SystemTime::now(), Instant::now()) })
    }

    /// The number of the process that must live on.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// Returns what is lost, given the paths that changed. Lost canaries that can be had anew are set out again.
    ///
    /// # Errors
    ///
    /// The system's, if the process can't be started again.
    pub fn lost(&mut self, ground: &Ground, changed: &[PathBuf], kept: &UndoScope) -> Result<Vec<String>> {
        let mut lost = Vec::new();
        if !changed.is_empty() {
            // What can't be read any more is there still.
            ground.make_readable(changed);
            let mut files = lost_files(ground, kept);
            if changed.iter().any(|path| path.starts_with("work/.git")) {
                lost.extend(self.lost_commits(ground));
                let stored = ground.git(&["rev-list", "--objects", "--all"]).unwrap_or_default();
                let is_stored =
                    |lost: &String| self.uncommitted.iter().any(|(path, id)| lost == path && stored.contains(id));
                files.retain(|path| !is_stored(path));
            }
            // What `git mv` moves is not lost.
            if changed.iter().any(|path| path.ends_with(".git/index")) {
                files.retain(|path| !is_moved(ground, changed, path));
            }
            if changed.iter().any(|path| path.starts_with("outside/bare.git")) {
                lost.push("the remote: something was pushed".to_owned());
            }
            lost.extend(files.iter().map(|path| format!("file {path}")));
            let trip = fs::read_to_string(ground.root().join("trip")).unwrap_or_else(|_| "the log is gone".to_owned());
            if !trip.is_empty() {
                lost.push(format!("ran unseen: {}", trip.trim()));
            }
        }
        if self.is_reached() {
            lost.push("network: somebody was contacted".to_owned());
        }
        if priority(self.process) != priority(std::process::id()) {
            lost.push("another process".to_owned());
            self.process = start_process(ground)?;
        }
        if self.clock_is_wrong() {
            lost.push("the clock".to_owned());
            self.begun = (SystemTime::now(), Instant::now());
        }
        Ok(lost)
    }

    /// Refs that are gone, and commits that nothing names any more. A commit of a stash is named in its log.
    fn lost_commits(&self, ground: &Ground) -> Vec<String> {
        let log = fs::read_to_string(ground.workdir().join(".git/logs/refs/stash")).unwrap_or_default();
        let named = refs(ground).unwrap_or_default();
        let reached = ground.git(&["rev-list", "--all", "HEAD"]).unwrap_or_default();
        let read_me = fs::read_to_string(ground.workdir().join("README.md")).unwrap_or_default();
        let is_taken_back = |id: &str| self.stashes.iter().any(|(own, text)| own == id && read_me.contains(text));
        let is_reached = |id: &str| log.contains(id) || reached.contains(id) || named.iter().any(|(_, own)| own == id);
        // A branch that has another name now is not lost.
        let is_renamed =
            |id: &str| named.iter().any(|(other, own)| own == id && self.refs.iter().all(|(known, _)| known != other));
        let is_there = |name: &str| named.iter().any(|(own, _)| own == name);
        let refs = self.refs.iter().filter(|(name, id)| !is_there(name) && !is_renamed(id)).map(|(name, _)| name);
        let commits =
            self.commits.iter().filter(|id| !is_reached(id) && !is_taken_back(id)).map(|id| format!("commit {id}"));
        refs.cloned().chain(commits).collect()
    }

    fn is_reached(&self) -> bool {
        let mut reached = false;
        while self.tcp.accept().is_ok() {
            reached = true;
        }
        while self.udp.recv(&mut [0; 64]).is_ok() {
            reached = true;
        }
        reached
    }

    fn clock_is_wrong(&self) -> bool {
        let (time, instant) = self.begun;
        let passed = time.elapsed().map(|passed| passed.as_secs());
        passed.is_err() || passed.is_ok_and(|passed| passed.abs_diff(instant.elapsed().as_secs()) > CLOCK_SECONDS)
    }
}

/// Every branch, tag and the stash, with what it names.
fn refs(ground: &Ground) -> Result<Vec<(String, String)>> {
    let listed = ground.git(&["for-each-ref", "--format=%(refname) %(objectname)"])?;
    Ok(listed.lines().filter_map(|line| line.split_once(' ')).map(|(a, b)| (a.to_owned(), b.to_owned())).collect())
}

/// The files that are lost: those of the workdir by their path in it, others by their path below the root.
fn lost_files(ground: &Ground, kept: &UndoScope) -> Vec<String> {
    let holds = |path: &str| {
        let whole = ground.root().join(path);
        let is_file = fs::symlink_metadata(&whole).is_ok_and(|found| found.is_file());
        if is_file { fs::read(whole) } else { Err(io::Error::from(io::ErrorKind::NotFound)) }
    };
    let inside = FILES.iter().filter(|path| {
        let whole = format!("work/{path}");
        let is_whole = holds(&whole).is_ok_and(|now| now.starts_with(ground.original(&whole)));
        !is_whole && !kept.covers(path)
    });
    let outside = OUTSIDE.iter().filter(|path| !holds(path).is_ok_and(|now| now == ground.original(path)));
    inside.chain(outside).map(|path| (*path).to_owned()).collect()
}

/// Returns true if the content that a file of the workdir had is at another place now.
fn is_moved(ground: &Ground, changed: &[PathBuf], path: &str) -> bool {
    let original = ground.original(&format!("work/{path}"));
    let own = Path::new("work").join(path);
    let is_other = |other: &&PathBuf| **other != own && !other.starts_with("work/.git");
    changed.iter().filter(is_other).any(|other| fs::read(ground.root().join(other)).is_ok_and(|now| now == original))
}

/// Starts a process whose parent ends, and that is the first process's child then. What lines leave is ours.
fn start_process(ground: &Ground) -> Result<u32> {
    set_child_subreaper(None)?;
    let mut shell = ground.command("sh");
    let output = shell.args(["-c", "setsid sleep 1000000 >/dev/null 2>&1 & echo $!"]).stdout(Stdio::piped()).output();
    set_child_subreaper(Some(getpid()))?;
    let said = String::from_utf8_lossy(&output?.stdout).into_owned();
    let process = said.trim().parse().with_context(|| format!("no process was started: {said:?}"))?;
    // Until then it has another name than the one that lines end it by.
    while fs::read_to_string(format!("/proc/{process}/comm"))?.trim() != "sleep" {
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(process)
}

/// The priority of a process; none if it is not there or is stopped.
fn priority(process: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // After the name, which may contain anything: state, then numbers; the priority's is the seventeenth field.
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let is_awake = fields.first().is_some_and(|state| matches!(*state, "S" | "R" | "D"));
    fields.get(16).filter(|_| is_awake).map(|nice| (*nice).to_owned())
}
