//! Git, asked in a way in which the repository runs nothing.
//!
//! Whoever wrote the repository's files may be the one that we guard against: its hooks, its watcher, its filters,
//! and fetching of what is missing are switched off or never reached. Content goes in through `fast-import` as it
//! is, so that no filter and no setting of line endings stands between a file and what is kept of it.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::workdir::name::{name_of, text_of};

/// The longest git may take for one thing: far longer than it needs for the most that is handed to it.
const TIME_MAX: Duration = Duration::from_secs(120);

/// Settings that hold whatever the repository's say.
const SETTINGS: [&str; 11] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.fsync=all",
    "core.quotePath=false",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
];

/// A repository, seen from the workdir in it.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    workdir: PathBuf,
    git_dir: PathBuf,
}

impl Git {
    /// The repository that `workdir` is in; `None` if there is none, or git can't or won't work with it.
    pub(super) fn around(workdir: &Path) -> Option<Self> {
        if !may_be_in_one(workdir) {
            return None;
        }
        let asked = ["rev-parse", "--is-inside-work-tree", "--absolute-git-dir"];
        let told = run(command(workdir, None).args(asked), |_| Ok(())).ok()?;
        let told = String::from_utf8(told).ok()?;
        let git_dir = told.strip_prefix("true\n")?.trim_end_matches('\n');
        Some(Self { workdir: workdir.to_owned(), git_dir: PathBuf::from(git_dir) })
    }

    /// The repository at `git_dir`, for reading what was kept in it.
    pub(super) fn at(git_dir: &Path) -> Self {
        Self { workdir: git_dir.to_owned(), git_dir: git_dir.to_owned() }
    }

    /// A repository of our own at `git_dir` for what is in `workdir`, made if it is not there: it takes commits, and
    /// nothing is ever checked out of it.
    ///
    /// # Errors
    ///
    /// If git fails.
    pub(super) fn store(workdir: &Path, git_dir: &Path) -> io::Result<Self> {
        let mut git = command(Path::new("/"), None);
        run(git.args(["init", "--quiet", "--bare", "--template="]).arg(git_dir), |_| Ok(()))?;
        Ok(Self { workdir: workdir.to_owned(), git_dir: git_dir.to_owned() })
    }

    /// The repository at `git_dir`, of which `tree` is checked out.
    pub(crate) fn of(git_dir: &Path, tree: &Path) -> Self {
        Self { workdir: tree.to_owned(), git_dir: git_dir.to_owned() }
    }

    /// The paths that the index has as submodules, relative to the tree.
    ///
    /// # Errors
    ///
    /// If git fails.
    pub(crate) fn submodules(&self) -> io::Result<Vec<OsString>> {
        let mut git = command(&self.workdir, Some(&self.git_dir));
        git.args([OsStr::new("--work-tree"), self.workdir.as_os_str()]);
        let told = run(git.args(["ls-files", "--stage", "-z"]), |_| Ok(()))?;
        let entries = told.split(|byte| *byte == 0).filter(|entry| entry.starts_with(b"160000 "));
        let path = |entry: &[u8]| {
            let tab = entry.iter().position(|byte| *byte == b'\t')?;
            entry.get(tab + 1..).map(|path| OsStr::from_bytes(path).to_owned())
        };
        Ok(entries.filter_map(path).collect())
    }

    pub(super) fn dir(&self) -> &Path {
        &self.git_dir
    }

    /// Returns the paths that git has or would take below `paths`, relative to the workdir; a repository within ends
    /// with `/`.
    ///
    /// # Errors
    ///
    /// If git fails.
    pub(super) fn known(&self, paths: &[String]) -> io::Result<Vec<String>> {
        self.list(&["--cached", "--others", "--exclude-standard"], paths)
    }

    /// Returns the paths that git ignores below `paths`. Without `in_full` a folder that is ignored stands for all
    /// below it and ends with `/`.
    ///
    /// # Errors
    ///
    /// If git fails.
    pub(super) fn ignored(&self, paths: &[String], in_full: bool) -> io::Result<Vec<String>> {
        let short: &[&str] = if in_full { &[] } else { &["--directory"] };
        self.list(&[&["--others", "--ignored", "--exclude-standard"], short].concat(), paths)
    }

    fn list(&self, which: &[&str], paths: &[String]) -> io::Result<Vec<String>> {
        let mut git = command(&self.workdir, None);
        let paths = paths.iter().map(|path| name_of(path));
        let told = run(git.args(["ls-files", "-z"]).args(which).arg("--").args(paths), |_| Ok(()))?;
        let names = told.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let mut names: Vec<String> = names.map(|name| text_of(OsStr::from_bytes(name))).collect();
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// Makes a commit without a parent under `reference`, of what `write` hands over; returns its name.
    ///
    /// # Errors
    ///
    /// If git fails, or `write` does.
    pub(super) fn commit(
        &self,
        reference: &str,
        message: &str,
        write: impl FnOnce(&mut Importing<'_>) -> io::Result<()>,
    ) -> io::Result<String> {
        let mut git = command(&self.workdir, Some(&self.git_dir));
        git.args(["fast-import", "--quiet", "--done", "--force", "--date-format=raw"]);
        let told = run(&mut git, |stdin| {
            write!(
                stdin,
                "commit {reference}\nmark :1\ncommitter Adjutant <> 0 +0000\ndata {}\n{message}\n",
                message.len()
            )?;
            write(&mut Importing { stdin })?;
            stdin.write_all(b"\nget-mark :1\ndone\n")
        })?;
        let name = String::from_utf8_lossy(&told).trim().to_owned();
        let is_name = name.len() >= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_name { Ok(name) } else { Err(io::Error::other("git named no commit")) }
    }

    /// The content at `path` in `commit`.
    ///
    /// # Errors
    ///
    /// If git fails, or it is not there.
    pub(super) fn content(&self, commit: &str, path: &str) -> io::Result<Vec<u8>> {
        let mut git = command(&self.workdir, Some(&self.git_dir));
        let mut object = OsString::from(format!("{commit}:"));
        object.push(name_of(path));
        run(git.args(["cat-file", "blob"]).arg(object), |_| Ok(()))
    }
}

/// A commit whose files are being handed over.
pub(super) struct Importing<'a> {
    stdin: &'a mut dyn Write,
}

impl Importing<'_> {
    pub(super) fn file(&mut self, path: &str, mode: u32, content: &[u8]) -> io::Result<()> {
        // All that git tells apart; the other bits are in the manifest.
        let mode = if mode & 0o100 == 0 { "100644" } else { "100755" };
        write!(self.stdin, "M {mode} inline \"")?;
        for byte in name_of(path).as_bytes() {
            match byte {
                b'\\' | b'"' => self.stdin.write_all(&[b'\\', *byte])?,
                b'\n' => self.stdin.write_all(b"\\n")?,
                byte => self.stdin.write_all(&[*byte])?,
            }
        }
        write!(self.stdin, "\"\ndata {}\n", content.len())?;
        self.stdin.write_all(content)?;
        self.stdin.write_all(b"\n")
    }
}

/// The names of the settings in the file `path`, without those that it includes.
///
/// # Errors
///
/// If git fails: the file is not there, or is no file of settings.
pub(crate) fn settings(path: &Path) -> io::Result<Vec<String>> {
    Ok(own_settings(path)?.into_iter().map(|(name, _)| name).collect())
}

/// The settings in the file `path`, without those that it includes: names with values. A name without a value has
/// `None`.
///
/// # Errors
///
/// If git fails: the file is not there, or is no file of settings.
pub(crate) fn own_settings(path: &Path) -> io::Result<Vec<(String, Option<String>)>> {
    let mut git = command(Path::new("/"), None);
    git.args(["config", "--no-includes", "--null", "--list", "--file"]).arg(path);
    Ok(with_values(&run(&mut git, |_| Ok(()))?))
}

/// The settings in the file `path` of the user whose home is `home`, and in those that it includes for `folder`: names
/// with values, in order. A name without a value has `None`.
///
/// # Errors
///
/// If git fails: the file is not there, or is no file of settings.
pub(crate) fn settings_with_values(
    path: &Path,
    home: &Path,
    folder: &Path,
) -> io::Result<Vec<(String, Option<String>)>> {
    let mut git = command(folder, None);
    git.env("HOME", home).args(["config", "--includes", "--null", "--list", "--file"]).arg(path);
    Ok(with_values(&run(&mut git, |_| Ok(()))?))
}

/// Names and values as git lists them with `--null`.
fn with_values(told: &[u8]) -> Vec<(String, Option<String>)> {
    let entries = told.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    let entries = entries.map(|entry| String::from_utf8_lossy(entry).into_owned());
    entries
        .map(|entry| match entry.split_once('\n') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (entry, None),
        })
        .collect()
}

/// Returns the branch, if there is one, and the commit that are checked out in `workdir`, such as `main at
/// 1a2b3c4d5e6f`; `None` where there is no repository, or nothing that git can read.
#[must_use]
pub fn head(workdir: &Path) -> Option<String> {
    if !may_be_in_one(workdir) {
        return None;
    }
    let told = |words: &[&str]| {
        let said = run(command(workdir, None).args(words), |_| Ok(())).ok()?;
        Some(String::from_utf8_lossy(&said).trim().to_owned())
    };
    // A branch without a commit has a name alone, a commit without a branch is HEAD's.
    let branch = told(&["symbolic-ref", "--quiet", "--short", "HEAD"]);
    let commit = told(&["rev-parse", "--quiet", "--verify", "--short=12", "HEAD"]);
    match (branch, commit) {
        (None, None) => None,
        (Some(branch), None) => Some(format!("{branch}, without a commit")),
        (branch, Some(commit)) => Some(format!("{} at {commit}", branch.as_deref().unwrap_or("no branch"))),
    }
}

/// Returns true if git, which looks for `.git` in a folder and all above it, may find a repository from `folder`. Where
/// it can't, git need not be asked: this is done before every turn, and starting a program takes a hundred times as
/// long.
pub(crate) fn may_be_in_one(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    folder.ancestors().any(|folder| match folder.join(".git").symlink_metadata() {
        Ok(_) => true,
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    })
}

/// Git in `folder`, with nothing of the repository's that runs, no settings of the user, and nobody to ask.
pub(crate) fn command(folder: &Path, git_dir: Option<&Path>) -> Command {
    let mut git = Command::new("git");
    // A group of its own: Ctrl-C at the terminal is for us, and ends no half of a commit.
    git.env_clear().current_dir(folder).process_group(0);
    if let Some(path) = std::env::var_os("PATH") {
        git.env("PATH", path);
    }
    for (name, value) in [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_LITERAL_PATHSPECS", "1"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_ALLOW_PROTOCOL", "none"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_NO_REPLACE_OBJECTS", "1"),
        ("LC_ALL", "C"),
    ] {
        git.env(name, value);
    }
    for setting in SETTINGS {
        git.args(["-c", setting]);
    }
    if let Some(git_dir) = git_dir {
        git.args([OsStr::new("--git-dir"), git_dir.as_os_str()]);
    }
    git
}

/// Runs `git` with what `write` says to it; returns what it said.
///
/// # Errors
///
/// If it can't be started, takes longer than [`TIME_MAX`], or does not end well.
fn run(git: &mut Command, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Vec<u8>> {
    run_within(git, TIME_MAX, write)
}

/// Runs `git` for at most `time` with what `write` says to it; returns what it said.
///
/// # Errors
///
/// If it can't be started, takes longer ([`io::ErrorKind::TimedOut`]), or does not end well.
pub(crate) fn run_within(
    git: &mut Command,
    time: Duration,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<Vec<u8>> {
    let mut child = git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (over, is_over) = mpsc::channel::<()>();
    let (said, complaint, written, in_time) = thread::scope(|scope| {
        let guard = scope.spawn(move || {
            let in_time = !matches!(is_over.recv_timeout(time), Err(mpsc::RecvTimeoutError::Timeout));
            // It is reaped only after this thread has ended, so that the number is still its own.
            if let (false, Some(pid)) = (in_time, pid) {
                kill_process(pid, Signal::KILL).ok();
            }
            in_time
        });
        let said = scope.spawn(move || read_all(stdout));
        let complaint = scope.spawn(move || read_all(stderr));
        let written = hand_over(stdin, write);
        let said = said.join().unwrap_or_else(|_| Err(io::Error::other("the reader failed")));
        let complaint = complaint.join().unwrap_or_else(|_| Ok(Vec::new()));
        drop(over);
        let in_time = guard.join().unwrap_or(true);
        (said, complaint, written, in_time)
    });
    let status = child.wait()?;
    if !in_time && !status.success() {
        let why = format!("git took longer than {} seconds", time.as_secs());
        return Err(io::Error::new(io::ErrorKind::TimedOut, why));
    }
    if !status.success() {
        let complaint = complaint.unwrap_or_default();
        let first = String::from_utf8_lossy(&complaint).lines().next().unwrap_or_default().to_owned();
        return Err(io::Error::other(format!("git ended with {status}: {first}")));
    }
    written?;
    said
}

fn hand_over(stdin: Option<ChildStdin>, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let Some(stdin) = stdin else { return Ok(()) };
    let mut stdin = io::BufWriter::with_capacity(1 << 16, stdin);
    write(&mut stdin)?;
    stdin.flush()
}

fn read_all(from: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        from.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
