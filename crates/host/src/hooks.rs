//! Runs guard hooks: an operator's executables, in custody, with JSON in and JSON out.
//!
//! A hook runs with the operator's rights and outside any sandbox, in our own home and not in the workdir, so
//! that it picks up nothing that an agent left there. A file of a project that it names is run only if its
//! content is what the operator trusted, looked at right before.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use adjutant_core::gate::{GuardHook, HookAnswer, HookCall};
use adjutant_core::words::HookFault;
use adjutant_ports::{CancellationToken, Hooks, Pending};
use rustix::fs::{Mode, OFlags};

use crate::custody::{self, Cause, Command, Confinement, Ended};
use crate::environment;

/// The most that a hook may write: an answer is a line.
const OUTPUT_BYTES_MAX: usize = 64 * 1024;

/// The longest file of a project that a hook may name, in bytes.
pub const HOOK_FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Asks hooks.
#[derive(Debug, Clone)]
pub struct HookRunner {
    folder: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

impl HookRunner {
    /// A runner whose hooks run in `folder`, with what `environment` has for commands: no secrets.
    #[must_use]
    pub fn new(folder: PathBuf, environment: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { folder, environment: environment::for_commands(environment, &[]) }
    }

    async fn asked(&self, call: &HookCall, cancel: CancellationToken) -> Option<HookAnswer> {
        let hook = &call.hook;
        if let Some(changed) = untrusted(hook) {
            return Some(HookAnswer::none(HookFault::Untrusted, &changed));
        }
        let Some((program, args)) = hook.command.split_first() else {
            return Some(HookAnswer::none(HookFault::NotStarted, "its command is empty"));
        };
        let folder = match self.open_folder() {
            Ok(folder) => folder,
            Err(error) => {
                let detail = format!("can't open `{}`: {error}", self.folder.display());
                return Some(HookAnswer::none(HookFault::NotStarted, &detail));
            }
        };
        let command = Command {
            program: program.into(),
            args: args.iter().map(OsString::from).collect(),
            folder,
            environment: self.environment.clone(),
            timeout: Duration::from_millis(hook.timeout_ms),
            stream_bytes_max: OUTPUT_BYTES_MAX,
            confinement: Confinement::None,
        };
        let input = format!("{}\n", call.input).into_bytes();
        match custody::run_with_input(command, input, cancel).await {
            Ok(ended) => answer(&ended),
            Err(error) => {
                let why = std::error::Error::source(&error).map(|why| format!(": {why}")).unwrap_or_default();
                Some(HookAnswer::none(HookFault::NotStarted, &format!("{error}{why}")))
            }
        }
    }

    fn open_folder(&self) -> io::Result<OwnedFd> {
        // The home is made with the first journal, which is before any hook.
        let folder = if self.folder.is_dir() { &self.folder } else { Path::new("/") };
        Ok(rustix::fs::open(folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
    }
}

impl Hooks for HookRunner {
    fn ask<'a>(&'a self, call: &'a HookCall, cancel: CancellationToken) -> Pending<'a, Option<HookAnswer>> {
        Box::pin(self.asked(call, cancel))
    }
}

/// Returns the answer of a hook that has ended.
fn answer(ended: &Ended) -> Option<HookAnswer> {
    let said = |output: &custody::CapturedOutput| String::from_utf8_lossy(&output.bytes()).trim().to_owned();
    match (ended.cause, ended.exit_code) {
        (Cause::Cancelled, _) => None,
        (Cause::Timeout, _) => Some(HookAnswer::none(HookFault::Timeout, "")),
        (Cause::Itself, Some(0)) if ended.stdout.dropped() > 0 => {
            Some(HookAnswer::none(HookFault::Nonsense, "it writes more than an answer has"))
        }
        (Cause::Itself, Some(0)) => Some(match String::from_utf8(ended.stdout.bytes()) {
            Ok(output) => HookAnswer::read(&output),
            Err(_) => HookAnswer::none(HookFault::Nonsense, "it is not UTF-8"),
        }),
        (Cause::Itself, code) => {
            let how = match (code, &ended.signal) {
                (Some(code), _) => format!("code {code}"),
                (None, Some(signal)) => signal.clone(),
                (None, None) => "unknown".to_owned(),
            };
            Some(HookAnswer::none(HookFault::Exit, &format!("{how} {}", said(&ended.stderr))))
        }
    }
}

/// The first file of a project that is not what the operator trusted.
fn untrusted(hook: &GuardHook) -> Option<String> {
    let changed = hook.files.iter().find(|file| {
        let now = file_hash(Path::new(&file.path));
        !matches!(now, Ok(hash) if hash == file.hash)
    })?;
    Some(format!("`{}`; read it, then trust it with `adjutant trust add`", changed.path))
}

/// The hash of a file's content: 64 hexadecimal digits, as the trust store has it.
///
/// # Errors
///
/// The system's, also for what is no file or too long for one that a hook runs.
pub fn file_hash(path: &Path) -> io::Result<String> {
    let file = File::from(rustix::fs::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?);
    let found = file.metadata()?;
    if !found.is_file() || found.len() > HOOK_FILE_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file that can be trusted"));
    }
    let mut content = Vec::new();
    file.take(HOOK_FILE_BYTES_MAX + 1).read_to_end(&mut content)?;
    Ok(adjutant_core::words::tool::whole_hash(&content))
}
