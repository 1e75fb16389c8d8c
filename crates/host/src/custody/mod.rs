//! Runs a command so that it can't hang, flood us, or leave anything behind.
//!
//! A command gets a session of its own, no terminal, no stdin, and the environment it is given. It ends by
//! itself, at its time limit or on cancel; then everything it started is killed, also what left its session
//! (`tree.rs`). Output beyond the limit is counted and dropped from the middle (`output.rs`).
//!
//! It does not confine: a [`Confinement`] says what does, and the [sandbox](crate::sandbox) does it between
//! custody's start of a process and the command. Begin with [`run`].

mod output;
mod tree;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Child;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::sandbox::{
    LAUNCH_WORD, LaunchFailure, LaunchOrders, LaunchReport, Layers, Policy, Probe, RepositoryFinding, Watch,
};

pub use output::CapturedOutput;

/// Time that a command has after SIGTERM before it is killed: the peer's two seconds.
pub const GRACE: Duration = Duration::from_secs(2);
/// Time that its pipes are read after everything was killed, should something still hold them open.
const DRAIN: Duration = Duration::from_secs(2);
/// The bytes kept of each stream: the peer's limit.
pub const STREAM_BYTES_MAX: usize = 1_000_000;

/// A command to run.
#[derive(Debug)]
pub struct Command {
    /// The program, looked up in `PATH` if it has no slash.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// The folder it runs in.
    pub folder: OwnedFd,
    /// Its whole environment; see [`crate::environment::for_commands`].
    pub environment: Vec<(OsString, OsString)>,
    /// The longest it may run.
    pub timeout: Duration,
    /// The bytes kept of each stream.
    pub stream_bytes_max: usize,
    /// The sandbox it runs in, if any.
    pub confinement: Confinement,
}

/// The confinement of a command by the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confinement {
    /// Nothing: it may do what the user may.
    None,
    /// To a sandbox: everything outside it is out of reach.
    Sandbox(Box<Confined>),
}

impl Confinement {
    /// The same for something that is run before the command and changes nothing: the look at the repository is left
    /// to the command, whose end it is.
    #[must_use]
    pub fn without_watch(&self) -> Self {
        match self {
            Self::None => Self::None,
            Self::Sandbox(confined) => {
                Self::Sandbox(Box::new(Confined { watch: Watch::default(), ..(**confined).clone() }))
            }
        }
    }
}

/// A sandbox for one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confined {
    /// Our program, which is started anew to become the command.
    pub launcher: PathBuf,
    /// The policy that the command runs under.
    pub policy: Policy,
    /// Attempts of a self-test, made instead of running the command.
    pub(crate) probe: Option<Probe>,
    /// The state of the repository before the command, to compare with when it has ended.
    pub(crate) watch: Watch,
}

/// The end of a command and its output.
#[derive(Debug)]
pub struct Ended {
    /// Reason why it ended.
    pub cause: Cause,
    /// Its exit code; absent if a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it, such as `SIGKILL`.
    pub signal: Option<String>,
    /// Its stdout.
    pub stdout: CapturedOutput,
    /// Its stderr.
    pub stderr: CapturedOutput,
    /// Number of processes that were still running when it ended, and were killed.
    pub left_behind: usize,
    /// The sandbox layers that held and those that didn't; `None` without a sandbox.
    pub layers: Option<Layers>,
    /// Things it left in the repository that would have run something outside, each with the place it was moved to.
    pub findings: Vec<RepositoryFinding>,
}

/// Reason why a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// By itself.
    Itself,
    /// It reached its time limit.
    Timeout,
    /// It was cancelled.
    Cancelled,
}

/// A command that could not be started.
#[derive(Debug, Error)]
#[error("can't start `{program}`")]
pub struct NotStarted {
    /// The program.
    pub program: String,
    /// True if the sandbox could not be set up.
    pub is_unconfined: bool,
    /// The reason.
    pub source: io::Error,
}

/// Runs a command to its end; when it returns, nothing of it is left running.
///
/// Dropping the future kills the command as a cancel would, without the grace.
///
/// # Errors
///
/// [`NotStarted`] if the program or folder can't be used.
pub async fn run(command: Command, cancel: CancellationToken) -> Result<Ended, NotStarted> {
    run_with(command, Stdio::null(), cancel).await
}

/// The same, with `input` to read on stdin. A command that doesn't read it is none the worse.
///
/// # Errors
///
/// [`NotStarted`] if the program or folder can't be used, or the system has no pipe or thread left.
pub async fn run_with_input(command: Command, input: Vec<u8>, cancel: CancellationToken) -> Result<Ended, NotStarted> {
    let program = command.program.to_string_lossy().into_owned();
    let not_started = |source| NotStarted { program: program.clone(), is_unconfined: false, source };
    let (reader, mut writer) = io::pipe().map_err(not_started)?;
    // A pipe holds less than an input may have, and a command may never read: a thread of its own can wait for it
    // until the last reader is gone, which is when the command has ended.
    std::thread::Builder::new()
        .name("input".to_owned())
        .spawn(move || writer.write_all(&input))
        .map_err(not_started)?;
    run_with(command, Stdio::from(reader), cancel).await
}

async fn run_with(command: Command, stdin: Stdio, cancel: CancellationToken) -> Result<Ended, NotStarted> {
    let bytes_max = command.stream_bytes_max;
    let timeout = command.timeout;
    let program = command.program.to_string_lossy().into_owned();
    let watch = match &command.confinement {
        Confinement::None => Watching(None),
        Confinement::Sandbox(confined) => Watching(Some(confined.watch.clone())),
    };
    let (mut child, mut tree, report) = start(command, stdin).await?;
    let mut streams = Streams {
        stdout: OutputStream::new(child.stdout.take(), bytes_max),
        stderr: OutputStream::new(child.stderr.take(), bytes_max),
    };
    let deadline = Instant::now() + timeout;
    let running = streams.read_while(async {
        tokio::select! {
            biased;
            status = child.wait() => (Cause::Itself, Some(status)),
            () = cancel.cancelled() => (Cause::Cancelled, None),
            () = tokio::time::sleep_until(deadline) => (Cause::Timeout, None),
        }
    });
    let (cause, mut status) = running.await;
    if status.is_none() {
        tree.terminate();
        let ending = streams.read_while(async { tokio::time::timeout(GRACE, child.wait()).await.ok() });
        status = ending.await;
    }
    let left_behind = tree.kill().await;
    let status = match status {
        Some(status) => status,
        None => child.wait().await,
    };
    streams.read_to_end().await;
    tree.reap().await;
    let status = status.ok();
    let findings = watch.end();
    let report = match report {
        // Whoever could write into it is gone.
        Some(report) => Some(whole(LaunchReport::read(report), cause, &program)?),
        None => None,
    };
    Ok(Ended {
        cause,
        exit_code: status.and_then(|status| status.code()),
        signal: status.and_then(signal_name),
        stdout: streams.stdout.output,
        stderr: streams.stderr.output,
        left_behind: left_behind + report.as_ref().map_or(0, |report| report.left_behind),
        layers: report.and_then(|report| report.layers),
        findings,
    })
}

/// Looks at the repository when the command is over, also if nobody waits for its end any more.
struct Watching(Option<Watch>);

impl Watching {
    fn end(mut self) -> Vec<RepositoryFinding> {
        self.0.take().map_or_else(Vec::new, |watch| watch.end())
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        if let Some(watch) = self.0.take() {
            watch.end();
        }
    }
}

/// The report, if it says that the command was started in a sandbox.
fn whole(report: LaunchReport, cause: Cause, program: &str) -> Result<LaunchReport, NotStarted> {
    let source = match &report.failure {
        None if report.layers.is_some() || cause != Cause::Itself => return Ok(report),
        None => io::Error::other("the sandbox ended before it was set up"),
        Some(LaunchFailure::Sandbox(why)) => io::Error::other(why.clone()),
        Some(LaunchFailure::Program(number)) => {
            let (program, source) = (program.to_owned(), io::Error::from_raw_os_error(*number));
            return Err(NotStarted { program, is_unconfined: false, source });
        }
    };
    Err(NotStarted { program: program.to_owned(), is_unconfined: true, source })
}

/// Starts the command from a thread that lives as long as the command.
///
/// The parent-death signal is sent when the *thread* that forked ends, and threads of an async runtime may
/// end before the process does.
async fn start(command: Command, stdin: Stdio) -> Result<(Child, tree::ProcessTree, Option<File>), NotStarted> {
    let program = command.program.to_string_lossy().into_owned();
    let is_confined = command.confinement != Confinement::None;
    let not_started = |source: io::Error| NotStarted { program: program.clone(), is_unconfined: is_confined, source };
    tree::adopt_orphans().map_err(not_started)?;
    let runtime = tokio::runtime::Handle::current();
    let tag = tree::Tag::new();
    let (started, starting) = oneshot::channel();
    let (alive, ended) = std::sync::mpsc::channel::<()>();
    let spawning = tag.clone();
    std::thread::Builder::new()
        .name("custody".to_owned())
        .spawn(move || {
            let _in_runtime = runtime.enter();
            let child = spawn(&command, &spawning, stdin);
            if started.send(child).is_ok() {
                // Ends when the tree's half of the channel is dropped.
                ended.recv().ok();
            }
        })
        .map_err(not_started)?;
    let (child, report) = match starting.await {
        Ok(child) => child.map_err(not_started)?,
        Err(_) => return Err(not_started(io::Error::other("the starting thread ended"))),
    };
    let tree = tree::ProcessTree::of(&child, tag, alive)
        .ok_or_else(|| not_started(io::Error::other("it ended before it could be watched")))?;
    Ok((child, tree, report))
}

/// Starts the command, and says where a sandbox will report.
fn spawn(command: &Command, tag: &tree::Tag, stdin: Stdio) -> io::Result<(Child, Option<File>)> {
    let folder = command.folder.as_fd().try_clone_to_owned()?;
    let parent = rustix::process::getpid();
    let (mut process, report, reporting) = match &command.confinement {
        Confinement::None => (tokio::process::Command::new(&command.program), None, None),
        Confinement::Sandbox(confined) => {
            let (report, reporting) = pipe()?;
            (launch(confined, &command.program, &reporting)?, Some(report), Some(reporting))
        }
    };
    process.args(&command.args).env_clear().envs(command.environment.iter().map(|(name, value)| (name, value)));
    process.env(tree::TAG_NAME, tag.as_str());
    process.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let prepare = move || {
        rustix::process::fchdir(&folder)?;
        rustix::process::setsid()?;
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
        // Our process may have died between the fork and the line above.
        if rustix::process::getppid() != Some(parent) {
            return Err(io::Error::from_raw_os_error(rustix::io::Errno::CHILD.raw_os_error()));
        }
        if let Some(reporting) = &reporting {
            rustix::io::fcntl_setfd(reporting, rustix::io::FdFlags::empty())?;
        }
        Ok(())
    };
    #[expect(unsafe_code, reason = "only this hook runs between fork and exec")]
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. The closure makes plain system
    // calls through rustix and builds an error from a number: no allocation, no lock, no panic.
    unsafe {
        process.pre_exec(prepare);
    }
    Ok((process.spawn()?, report))
}

/// Our program, told to become `program` in a sandbox and to report what came of that.
fn launch(confined: &Confined, program: &OsString, reporting: &OwnedFd) -> io::Result<tokio::process::Command> {
    let orders = LaunchOrders { policy: confined.policy.clone(), probe: confined.probe.clone() };
    let mut process = tokio::process::Command::new(&confined.launcher);
    process.arg(LAUNCH_WORD).arg(reporting.as_raw_fd().to_string()).arg(serde_json::to_string(&orders)?).arg(program);
    Ok(process)
}

/// A pipe whose reading end never waits: it is read when everybody who could write is gone.
fn pipe() -> io::Result<(File, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    rustix::fs::fcntl_setfl(&read, rustix::fs::OFlags::NONBLOCK)?;
    Ok((File::from(read), write))
}

/// One stream of a command.
struct OutputStream<R> {
    pipe: Option<R>,
    output: CapturedOutput,
}

impl<R: AsyncRead + Unpin> OutputStream<R> {
    fn new(pipe: Option<R>, bytes_max: usize) -> Self {
        Self { pipe, output: CapturedOutput::new(bytes_max) }
    }

    /// Reads what is there next; waits for ever once the stream has ended.
    async fn next(&mut self, buffer: &mut [u8]) -> usize {
        match &mut self.pipe {
            Some(pipe) => pipe.read(buffer).await.unwrap_or(0),
            None => std::future::pending().await,
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            self.pipe = None;
            return;
        }
        self.output.push(bytes);
    }
}

/// Both streams, read as they come.
struct Streams<O, E> {
    stdout: OutputStream<O>,
    stderr: OutputStream<E>,
}

impl<O: AsyncRead + Unpin, E: AsyncRead + Unpin> Streams<O, E> {
    /// Reads both until `event` is there.
    async fn read_while<T>(&mut self, event: impl Future<Output = T>) -> T {
        let mut event = std::pin::pin!(event);
        let (mut out, mut err) = (vec![0; 64 << 10], vec![0; 64 << 10]);
        loop {
            tokio::select! {
                biased;
                happened = &mut event => return happened,
                read = self.stdout.next(&mut out) => self.stdout.take(out.get(..read).unwrap_or(&[])),
                read = self.stderr.next(&mut err) => self.stderr.take(err.get(..read).unwrap_or(&[])),
            }
        }
    }

    /// Reads what is left in the pipes, and stops waiting should something hold them open.
    async fn read_to_end(&mut self) {
        let (mut out, mut err) = (vec![0; 64 << 10], vec![0; 64 << 10]);
        let deadline = Instant::now() + DRAIN;
        while self.stdout.pipe.is_some() || self.stderr.pipe.is_some() {
            tokio::select! {
                read = self.stdout.next(&mut out) => self.stdout.take(out.get(..read).unwrap_or(&[])),
                read = self.stderr.next(&mut err) => self.stderr.take(err.get(..read).unwrap_or(&[])),
                () = tokio::time::sleep_until(deadline) => return,
            }
        }
    }
}

fn signal_name(status: ExitStatus) -> Option<String> {
    let number = status.signal()?;
    const NAMES: [(i32, &str); 12] = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (6, "SIGABRT"),
        (7, "SIGBUS"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (14, "SIGALRM"),
        (15, "SIGTERM"),
    ];
    let name = NAMES.iter().find(|(known, _)| *known == number).map(|(_, name)| (*name).to_owned());
    Some(name.unwrap_or_else(|| format!("signal {number}")))
}
