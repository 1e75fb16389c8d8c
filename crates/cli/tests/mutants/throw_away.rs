//! A folder to run command lines in, made anew for each of them, and what a line did in it. The lines run in the
//! kernel's sandbox: a mutant that does more than its command changes nothing else.
//!
//! A sandbox is started once for many lines, since that takes far longer than a line does. Nothing goes from one line
//! to the next: all processes of a line are killed before the next begins, and its folders are judged from outside,
//! removed, and made again.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use adjutant_host::custody::{self, Command};
use adjutant_host::sandbox::{Mode, Network, Places, Sandbox, Settings};
use rustix::fs::{CWD, FileType, Mode as Rights, mknodat};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The longest life of a sandbox. A test needs a fraction of it.
const LIFE_MAX: Duration = Duration::from_secs(900);
/// The longest wait for the end of a line: more than the shell below allows.
const PATIENCE: Duration = Duration::from_secs(30);
/// The bytes kept of what lines print, which nobody reads.
const STREAM_BYTES_MAX: usize = 100_000;

/// Runs each line that comes through a pipe, and says through another when all of its processes are gone. A line
/// that hangs is one that does nothing, and none gets at the pipes: they are closed for it, and have no name.
const SHELL: &str = r#"
    there="$1" path="$2"
    exec 8<"$there/lines" 9>"$there/ended"
    echo >&9
    while IFS= read -r -d '' -u 8 line; do
        (
            cd "$there/work" || exit
            exec env -i PATH="$path" HOME="$PWD" TMPDIR="$TMPDIR" timeout -s KILL 10 bash -c "$line"
        ) 8<&- 9>&-
        # Of the sandbox's processes this reaches all but its init and this shell.
        while kill -KILL -- -1; do :; done 2>/dev/null
        echo >&9
    done
"#;

/// Programs that write down that they were called; all but `rm` do nothing else.
const FAKES: [&str; 19] = [
    "rm", "git", "psql", "redis-cli", "kubectl", "terraform", "docker", "pkill", "crontab", "dd", "curl", "gh", "npm",
    "scp", "cargo", "killall", "kill", "sudo", "ssh",
];

/// Effects of a line.
#[derive(Debug)]
pub struct Done {
    /// The files that are not as they were, and what they are now: none if they are gone.
    pub changed: BTreeMap<String, Option<String>>,
    /// The calls of fakes, with their words.
    pub called: Vec<String>,
}

/// A place that runs lines, one after another.
pub struct ThrowAway {
    folder: TempDir,
    runtime: Runtime,
    /// Started for the first line, and again behind one that ended it.
    shell: Option<Shell>,
}

impl ThrowAway {
    /// A place with the fakes, which no line can change.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let place = Self { folder, runtime, shell: None };
        for folder in [place.there(), place.fakes()] {
            fs::create_dir(folder).expect("a folder");
        }
        for name in FAKES {
            let fake = place.fakes().join(name);
            fs::write(&fake, fake_program(name, &place.log())).expect("a file");
            fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).expect("a mode");
        }
        place
    }

    /// Runs `line` in bash, in a folder made for it.
    pub fn run(&mut self, line: &str) -> Done {
        empty(&self.there(), &[]).expect("what a line left can be removed");
        let work = self.there().join("work");
        lay_out(&work);
        fs::write(self.log(), "").expect("a file");
        let before = manifest(&work);
        let mut shell = match self.shell.take() {
            Some(shell) => shell,
            None => self.runtime.block_on(Shell::start(&self.there(), &self.fakes())),
        };
        empty(&shell.sandbox.temp(), &shell.mounted).expect("what a line left can be removed");
        if self.runtime.block_on(shell.run(line)) {
            self.shell = Some(shell);
        } else {
            self.runtime.block_on(shell.end());
        }
        let mut changed: BTreeMap<String, Option<String>> = BTreeMap::new();
        let after = manifest(&work);
        for (path, state) in &before {
            if after.get(path) != Some(state) {
                changed.insert(path.clone(), after.get(path).cloned());
            }
        }
        for (path, state) in after {
            if !before.contains_key(&path) {
                changed.insert(path, Some(state));
            }
        }
        let called = fs::read_to_string(self.log()).unwrap_or_default().lines().map(str::to_owned).collect();
        Done { changed, called }
    }

    /// The folder that a line may change.
    fn there(&self) -> PathBuf {
        self.folder.path().join("there")
    }

    fn fakes(&self) -> PathBuf {
        self.folder.path().join("fakes")
    }

    fn log(&self) -> PathBuf {
        self.there().join("log")
    }
}

impl Drop for ThrowAway {
    fn drop(&mut self) {
        if let Some(shell) = self.shell.take() {
            self.runtime.block_on(shell.end());
        }
    }
}

/// A shell in a sandbox that runs lines.
struct Shell {
    lines: pipe::Sender,
    ended: pipe::Receiver,
    command: JoinHandle<()>,
    cancel: CancellationToken,
    sandbox: Sandbox,
    /// The entries of its temporary folder at the beginning: our folders are mounted there if they lie in `/tmp`.
    mounted: Vec<PathBuf>,
}

impl Shell {
    /// A shell that can change nothing but the folder `there`, reach nobody, and of which nothing lives on.
    async fn start(there: &Path, fakes: &Path) -> Self {
        let [lines, ended] = ["lines", "ended"].map(|name| there.join(name));
        // Opened for both, so that opening waits for nobody.
        let [to, from] = [&lines, &ended].map(|path| {
            mknodat(CWD, path, FileType::Fifo, Rights::RUSR | Rights::WUSR, 0).expect("a pipe");
            File::options().read(true).write(true).open(path).expect("a pipe")
        });
        let places = Places { workdir: there.to_owned(), read: vec![fakes.to_owned()], ..Places::default() };
        let settings = Settings { mode: Mode::Required, ..Settings::default() };
        let sandbox = Sandbox::new(settings, places, Path::new(env!("CARGO_BIN_EXE_adjutant"))).expect("a sandbox");
        let path = format!("{}:/usr/bin:/bin", fakes.display());
        let command = Command {
            program: "bash".into(),
            args: vec!["-c".into(), SHELL.into(), "shell".into(), there.into(), path.into()],
            folder: OwnedFd::from(File::open(there).expect("a folder")),
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            timeout: LIFE_MAX,
            stream_bytes_max: STREAM_BYTES_MAX,
            confinement: sandbox.confinement(Network::Off).expect("a policy"),
        };
        let cancel = CancellationToken::new();
        let running = custody::run(command, cancel.clone());
        let command = tokio::spawn(async {
            running.await.expect("bash runs in its sandbox");
        });
        let mut shell = Self {
            lines: pipe::Sender::from_file(to).expect("a pipe"),
            ended: pipe::Receiver::from_file(from).expect("a pipe"),
            command,
            cancel,
            sandbox,
            mounted: Vec::new(),
        };
        assert!(shell.is_waiting().await, "the shell did not begin");
        for pipe in [lines, ended] {
            fs::remove_file(pipe).expect("a pipe's name");
        }
        let temp = fs::read_dir(shell.sandbox.temp()).expect("a folder");
        shell.mounted = temp.map(|entry| entry.expect("an entry").path()).collect();
        shell
    }

    /// Runs `line`; whether the shell can run another.
    async fn run(&mut self, line: &str) -> bool {
        self.lines.write_all(&[line.as_bytes(), b"\0"].concat()).await.expect("a pipe has room for a line");
        self.is_waiting().await
    }

    /// Waits until the shell waits for a line; false if it ended, or does not come to it.
    async fn is_waiting(&mut self) -> bool {
        let mut said = [0];
        tokio::select! {
            read = self.ended.read_exact(&mut said) => read.is_ok(),
            _ = &mut self.command => false,
            () = tokio::time::sleep(PATIENCE) => false,
        }
    }

    /// Kills it with all that it started.
    async fn end(self) {
        self.cancel.cancel();
        if !self.command.is_finished() {
            self.command.await.expect("the shell ended");
        }
    }
}

/// Removes all that is in `folder` but what is `kept`.
fn empty(folder: &Path, kept: &[PathBuf]) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if kept.contains(&path) {
            continue;
        }
        if fs::symlink_metadata(&path)?.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
    }
    Ok(())
}

/// A script that writes down its name and words, and prints what a caller needs to go on.
fn fake_program(name: &str, log: &Path) -> String {
    let prints = match name {
        "git" => "[ \"$1\" = ls-files ] && echo f1",
        // The real one too: only what it says of `.` would else leave no trace.
        "rm" => "exec /bin/rm \"$@\"",
        "curl" => "echo touch fetched-and-run",
        _ => ":",
    };
    format!("#!/bin/sh\n{{ printf '%s' '{name}'; printf ' <%s>' \"$@\"; echo; }} >> '{}'\n{prints}\n:\n", log.display())
}

/// The files that the commands of the vectors are about.
fn lay_out(work: &Path) {
    for folder in ["dist", "target", "src", "tmp", "scripts", "a", "b"] {
        fs::create_dir_all(work.join(folder)).expect("a folder");
    }
    for (path, content) in [
        ("dist/app", "built"),
        ("src/lib.rs", "// TODO"),
        ("old_notes.txt", "notes"),
        ("tmp/old", "old"),
        ("change.orig", "orig"),
        ("f1", "1"),
        ("one.tmp", "1"),
        ("two.tmp", "2"),
        ("a.db", "rows"),
        // `touch decoded-and-run`
        ("payload.txt", "dG91Y2ggZGVjb2RlZC1hbmQtcnVu"),
        ("step.txt", "touch read-and-run"),
        ("server.log", "lines"),
        ("data.txt", "b\na\n"),
        ("new.cron", "* * * * * true"),
        ("build.tar", "tar"),
    ] {
        fs::write(work.join(path), content).expect("a file");
    }
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::options().write(true).open(work.join("tmp/old")).and_then(|file| file.set_modified(old)).expect("a time");
}

/// Every file and folder with its mode and content.
fn manifest(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            let content = if metadata.is_dir() {
                open.push(path.clone());
                String::new()
            } else {
                fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
            };
            let name = path.strip_prefix(folder).expect("below").display().to_string();
            found.insert(name, format!("{:o} {content}", metadata.permissions().mode()));
        }
    }
    found
}
