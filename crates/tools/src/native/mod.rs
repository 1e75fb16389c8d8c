//! Carries out calls to the native tools below one workdir.
//!
//! Files are worked on in blocking threads, one file at a time replaced as a whole; a call that writes can
//! be announced beforehand ([`Tools::prepare`]) and looked for afterwards ([`Tools::settle`]).

mod fetch;
mod files;
mod listing;
mod looking;
mod memory;
mod patching;
mod places;
mod rescue;
mod shell;
mod state;
mod syntax;
mod wait;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use adjutant_core::gate::Places;
use adjutant_core::gate::custody::FolderChange;
use adjutant_core::gate::shell::Programs;
use adjutant_core::words::Look;
use adjutant_core::words::deed::StatusFile;
use adjutant_core::words::tool::{ContentHasher, FileChange, ResolvedPath, ToolCall, ToolOutput, ToolSpecs};
use adjutant_core::words::wait::WAIT_FOR;
use adjutant_host::environment;
use adjutant_host::http::{Hosts, HttpClient};
use adjutant_host::rescue::{Rescues, checked_out};
use adjutant_host::sandbox::{Network, Sandbox};
use adjutant_host::standstill::Standstill;
use adjutant_host::workdir::{WorkPath, Workdir, WorkdirError};
use adjutant_host::working_tree::Tree;
use adjutant_ports::{CancellationToken, Pending, Prepared, RescueName, Rescued, Settled, Tools, TreeAsk, TreeSight};

use tokio::task::JoinError;

use crate::args;
use crate::catalog::{LIST_MEMORY, READ_MEMORY, WRITE_MEMORY};

pub use memory::ProjectMemory;

/// Settings of the native tools.
#[derive(Debug, Clone)]
pub struct Options {
    /// Policy of `shell_exec`; if it may not run commands, it answers `SHELL_DISABLED`.
    pub shell: Shell,
    /// Hosts that `http_fetch` may reach.
    pub hosts: Hosts,
    /// The environment of the runtime; commands get what they need of it.
    pub environment: Vec<(OsString, OsString)>,
    /// Variables that they get besides, as the operator named them.
    pub variables: Vec<String>,
    /// Sandbox that commands run in.
    pub sandbox: Arc<Sandbox>,
}

/// Policy on running commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shell {
    /// They may.
    Enabled,
    /// They may not, whatever was authorized: `--no-shell`.
    Disabled,
}

/// The native tools of one workdir.
#[derive(Debug, Clone)]
pub struct NativeTools {
    inner: Arc<Inner>,
    /// Places of the run and the programs, if files that a call may destroy are to be kept.
    rescue_in: Option<(Places, Arc<Programs>)>,
    /// State of the tree before the first call, for a run that leaves nothing behind.
    passing: Arc<Mutex<Option<Tree>>>,
    /// State of the folder when the run stood still, for a run that leaves nothing behind.
    standstill: Arc<Mutex<Option<Standstill>>>,
    /// Memory of the run's project; the tools for it are offered only if there is any.
    memory: Option<ProjectMemory>,
    specs: ToolSpecs,
}

#[derive(Debug)]
struct Inner {
    workdir: Workdir,
    shell: Shell,
    hosts: Hosts,
    environment: Vec<(OsString, OsString)>,
    sandbox: Arc<Sandbox>,
    /// Made at the first use, since most runs fetch nothing and reading certificates takes time.
    http: OnceLock<Result<HttpClient, String>>,
}

impl NativeTools {
    /// Opens the workdir.
    ///
    /// # Errors
    ///
    /// The system's error, if there is no such folder.
    pub fn open(workdir: &Path, options: Options) -> io::Result<Self> {
        let Options { shell, hosts, environment, variables, sandbox } = options;
        let mut environment = environment::for_commands(environment, &variables);
        environment.push(("TMPDIR".into(), sandbox.temp().into()));
        Ok(Self {
            inner: Arc::new(Inner {
                workdir: Workdir::open(workdir)?,
                shell,
                hosts,
                environment,
                sandbox,
                http: OnceLock::new(),
            }),
            rescue_in: None,
            passing: Arc::default(),
            standstill: Arc::default(),
            memory: None,
            specs: crate::catalog::without_memory(),
        })
    }

    /// Keeps what a call may destroy of the workdir below the runtime's home, both as `places` has them; what programs
    /// of its command line do is in `programs`. Without a home nothing is kept.
    #[must_use]
    pub fn with_rescue(self, places: Places, programs: Arc<Programs>) -> Self {
        Self { rescue_in: Some((places, programs)).filter(|(places, _)| !places.runtime_home.is_empty()), ..self }
    }

    /// Offers the tools for the memory of the run's project.
    #[must_use]
    pub fn with_memory(self, memory: ProjectMemory) -> Self {
        Self { memory: Some(memory), specs: crate::catalog(), ..self }
    }
}

impl Tools for NativeTools {
    fn specs(&self) -> ToolSpecs {
        self.specs.clone()
    }

    fn resolve<'a>(&'a self, call: &'a ToolCall) -> Pending<'a, Vec<ResolvedPath>> {
        if call.malformed.is_some() {
            return Box::pin(std::future::ready(Vec::new()));
        }
        let call = call.clone();
        Box::pin(self.looking(move |inner| inner.resolved_paths(&call)))
    }

    fn prepare<'a>(&'a self, call: &'a ToolCall) -> Pending<'a, Prepared> {
        let is_writing = matches!(call.name.as_str(), "write_file" | "apply_patch");
        if !is_writing || call.malformed.is_some() {
            return Box::pin(std::future::ready(Prepared::default()));
        }
        let call = call.clone();
        Box::pin(self.looking(move |inner| Prepared { changes: inner.planned(&call), ..Prepared::default() }))
    }

    fn rescue<'a>(
        &'a self,
        name: RescueName<'a>,
        call: &'a ToolCall,
        prepared: &'a Prepared,
    ) -> Pending<'a, Result<Option<Rescued>, String>> {
        let Some((places, programs)) = self.rescue_in.clone() else { return Box::pin(std::future::ready(Ok(None))) };
        let (run, call_name) = (name.run.to_owned(), name.call.to_owned());
        let (call, prepared) = (call.clone(), prepared.clone());
        Box::pin(self.looking(move |inner| {
            let name = RescueName { run: &run, call: &call_name };
            inner.rescue((&places, &programs), name, &call, &prepared)
        }))
    }

    fn call_ended<'a>(&'a self, name: RescueName<'a>) -> Pending<'a, ()> {
        let Some((places, _)) = self.rescue_in.clone() else { return Box::pin(std::future::ready(())) };
        let (run, call_name) = (name.run.to_owned(), name.call.to_owned());
        Box::pin(self.looking(move |inner| {
            let noted = Rescues::of(Path::new(&places.runtime_home), &run).note_end(&inner.workdir, &call_name);
            // Undoing then goes by what differs, as it does after a kill.
            noted.ok();
        }))
    }

    fn call<'a>(
        &'a self,
        call: &'a ToolCall,
        prepared: &'a Prepared,
        cancel: CancellationToken,
    ) -> Pending<'a, ToolOutput> {
        Box::pin(async move {
            if let Some(malformed) = &call.malformed {
                return args::invalid(&call.name, &format!("the arguments are not valid JSON: {malformed}"));
            }
            let done = self.dispatch(call, prepared, cancel).await;
            done.unwrap_or_else(|failed| failed)
        })
    }

    fn look<'a>(&'a self, run: &'a str, look: Look) -> Pending<'a, Result<Vec<String>, String>> {
        Box::pin(self.look_at_tree(run, look))
    }

    fn identify<'a>(&'a self, ask: TreeAsk<'a>) -> Pending<'a, TreeSight> {
        let ask = state::OwnedTreeAsk {
            run: ask.run.to_owned(),
            keep: ask.keep.map(str::to_owned),
            files: ask.files.to_vec(),
            tests: ask.tests.to_vec(),
        };
        Box::pin(self.identified(ask))
    }

    fn write_state<'a>(&'a self, files: &'a [StatusFile]) -> Pending<'a, Result<(), String>> {
        Box::pin(self.state_written(files.to_vec()))
    }

    fn stand_still<'a>(&'a self, run: &'a str) -> Pending<'a, ()> {
        Box::pin(self.keep_standstill(run))
    }

    fn go_on<'a>(&'a self, run: &'a str) -> Pending<'a, Option<FolderChange>> {
        Box::pin(self.end_standstill(run))
    }

    fn checked_out(&self) -> Option<String> {
        checked_out(self.inner.workdir.root())
    }

    fn settle<'a>(&'a self, changes: &'a [FileChange]) -> Pending<'a, Settled> {
        let changes = changes.to_vec();
        Box::pin(self.looking(move |inner| inner.settle(&changes)))
    }
}

impl NativeTools {
    async fn dispatch(
        &self,
        call: &ToolCall,
        prepared: &Prepared,
        cancel: CancellationToken,
    ) -> Result<ToolOutput, ToolOutput> {
        let name = call.name.as_str();
        let resolved = call.resolved.clone();
        match name {
            "read_file" => {
                let args = args::read(name, &call.args)?;
                self.in_thread(cancel, move |inner, _| inner.read_file(&args, &resolved)).await
            }
            "list_dir" => {
                let args = args::read(name, &call.args)?;
                self.in_thread(cancel, move |inner, cancel| inner.list_dir(&args, &resolved, cancel)).await
            }
            "write_file" => {
                let args = args::read(name, &call.args)?;
                let prepared = prepared.clone();
                self.to_its_end(cancel, move |inner, _| inner.write_file(&args, &resolved, &prepared)).await
            }
            "apply_patch" => {
                let args = args::read(name, &call.args)?;
                let prepared = prepared.clone();
                let work = move |inner: &Inner, cancel: &CancellationToken| {
                    inner.apply_patch(&args, &resolved, &prepared, cancel)
                };
                self.to_its_end(cancel, work).await
            }
            "shell_exec" => {
                let network = if prepared.network { Network::On } else { Network::Off };
                self.inner.shell_exec(args::read(name, &call.args)?, &resolved, network, cancel).await
            }
            READ_MEMORY => {
                let (memory, args) = (self.remembered()?, args::read(name, &call.args)?);
                self.in_thread(cancel, move |_, _| memory.read(READ_MEMORY, &args)).await
            }
            LIST_MEMORY => {
                let (memory, args) = (self.remembered()?, args::read(name, &call.args)?);
                self.in_thread(cancel, move |_, _| memory.list(LIST_MEMORY, &args)).await
            }
            WRITE_MEMORY => {
                let (memory, args) = (self.remembered()?, args::read(name, &call.args)?);
                self.to_its_end(cancel, move |_, _| memory.write(&args)).await
            }
            WAIT_FOR => {
                let network = if prepared.network { Network::On } else { Network::Off };
                self.wait_for(args::read(name, &call.args)?, resolved, network, cancel).await
            }
            "http_fetch" => self.inner.http_fetch(args::read(name, &call.args)?, cancel).await,
            _ => Err(ToolOutput::failed("UNKNOWN_TOOL", format!("there is no tool `{name}`"))),
        }
    }

    /// Runs work in a blocking thread and waits for its end. A panic of it is passed on.
    async fn looking<T, F>(&self, work: F) -> T
    where
        T: Send + 'static,
        F: FnOnce(&Inner) -> T + Send + 'static,
    {
        let inner = self.inner.clone();
        match tokio::task::spawn_blocking(move || work(&inner)).await.map_err(JoinError::try_into_panic) {
            Ok(done) => done,
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            // The runtime shuts down: nobody waits for this any more.
            Err(Err(_)) => std::future::pending().await,
        }
    }

    fn remembered(&self) -> Result<ProjectMemory, ToolOutput> {
        let none =
            || ToolOutput::failed("NO_PROJECT", "this run belongs to no project, so there is nothing to remember");
        self.memory.clone().ok_or_else(none)
    }

    /// Runs reading work in a blocking thread; on cancel it is no longer waited for.
    async fn in_thread<F>(&self, cancel: CancellationToken, work: F) -> Result<ToolOutput, ToolOutput>
    where
        F: FnOnce(&Inner, &CancellationToken) -> Result<ToolOutput, ToolOutput> + Send + 'static,
    {
        let cancelled = cancel.clone();
        tokio::select! {
            biased;
            () = cancelled.cancelled() => Err(self::cancelled(None)),
            done = self.to_its_end(cancel, work) => done,
        }
    }

    /// Runs writing work in a blocking thread and waits for its end, so that its result is the truth.
    async fn to_its_end<F>(&self, cancel: CancellationToken, work: F) -> Result<ToolOutput, ToolOutput>
    where
        F: FnOnce(&Inner, &CancellationToken) -> Result<ToolOutput, ToolOutput> + Send + 'static,
    {
        if cancel.is_cancelled() {
            return Err(cancelled(None));
        }
        let inner = self.inner.clone();
        let done = tokio::task::spawn_blocking(move || work(&inner, &cancel)).await;
        done.unwrap_or_else(|failure| Err(ToolOutput::failed("INTERNAL", format!("the tool itself failed: {failure}"))))
    }
}

impl Inner {
    /// Returns what `call` would make of files. One that can't be prepared will fail before it writes anything.
    fn planned(&self, call: &ToolCall) -> Vec<FileChange> {
        let resolved = &call.resolved;
        let changes = match call.name.as_str() {
            "write_file" => {
                args::read(&call.name, &call.args).ok().and_then(|args| self.planned_write(&args, resolved).ok())
            }
            "apply_patch" => {
                args::read(&call.name, &call.args).ok().and_then(|args| self.planned_patch(&args, resolved).ok())
            }
            _ => None,
        };
        changes.unwrap_or_default()
    }

    fn settle(&self, changes: &[FileChange]) -> Settled {
        let mut made = !changes.is_empty();
        let mut not_made = !changes.is_empty();
        for change in changes {
            let now = self.workdir.resolve(&change.path).and_then(|path| {
                // Whoever was killed in the middle of a write left its temporary file.
                self.workdir.sweep_leftovers(&path)?;
                self.hash(&path)
            });
            let Ok(now) = now else {
                return Settled::Unknown;
            };
            made &= now == change.after;
            not_made &= now == change.before;
        }
        match (made, not_made) {
            (true, _) => Settled::Made,
            (false, true) => Settled::NotMade,
            (false, false) => Settled::Unknown,
        }
    }

    /// Returns the short hash of a file's content; `None` if there is no file.
    fn hash(&self, path: &WorkPath) -> Result<Option<String>, WorkdirError> {
        let mut hasher = ContentHasher::default();
        if self.workdir.kind(path)?.is_none() {
            return Ok(None);
        }
        self.workdir.read_through(path, &mut |piece| hasher.update(piece))?;
        Ok(Some(hasher.finish()))
    }
}

/// Returns the result for a path that can't be used.
fn refused(error: &WorkdirError) -> ToolOutput {
    ToolOutput::failed(error.code(), error.explained())
}

/// Returns the result of a cancelled call, with its output until then.
fn cancelled(partial: Option<String>) -> ToolOutput {
    let mut content = "The call was cancelled before it was done.".to_owned();
    if let Some(partial) = partial.filter(|partial| !partial.is_empty()) {
        content.push_str("\n--- partial output ---\n");
        content.push_str(&partial);
    }
    ToolOutput::failed("CANCELLED", content)
}

/// Refuses a call whose files are no longer what they were when it was announced: the record of what it
/// would do, by which an interruption is settled, would be wrong.
fn check_unchanged(prepared: &Prepared, now: &[FileChange]) -> Result<(), ToolOutput> {
    if prepared.changes.is_empty() || prepared.changes == now {
        return Ok(());
    }
    Err(ToolOutput::failed(
        "CHANGED_MEANWHILE",
        "The files changed between the decision about this call and the call itself. Nothing was written; read them again.",
    ))
}
