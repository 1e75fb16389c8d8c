//! `shell_exec`: a command line in a shell, in custody and in the sandbox.

use std::path::Path;
use std::time::Duration;

use adjutant_core::words::tool::{ResolvedPath, ToolMeta, ToolOutput};
use adjutant_host::custody::{self, Cause, Command, Ended, NotStarted, STREAM_BYTES_MAX};
use adjutant_host::sandbox::Network;
use adjutant_ports::CancellationToken;

use super::{Inner, Shell, cancelled, refused, syntax};
use crate::args::{ShellExec, invalid};

/// The time limit unless asked otherwise, and the most that can be asked for: the peer's.
const TIMEOUT_MS_DEFAULT: u64 = 30_000;
const TIMEOUT_MS_MAX: u64 = 300_000;

impl Inner {
    pub(super) async fn shell_exec(
        &self,
        args: ShellExec,
        resolved: &[ResolvedPath],
        network: Network,
        cancel: CancellationToken,
    ) -> Result<ToolOutput, ToolOutput> {
        let ran = self.run_command("shell_exec", args, resolved, network, cancel).await?;
        Ok(ran.report())
    }

    /// Runs a command line for `tool`.
    ///
    /// # Errors
    ///
    /// The result of a command that was not run.
    pub(super) async fn run_command(
        &self,
        tool: &str,
        args: ShellExec,
        resolved: &[ResolvedPath],
        network: Network,
        cancel: CancellationToken,
    ) -> Result<RanCommand, ToolOutput> {
        if self.shell == Shell::Disabled {
            return Err(ToolOutput::failed(
                "SHELL_DISABLED",
                "Commands are switched off for this run, whatever is authorized.",
            ));
        }
        for (name, value) in [("cmd", Some(args.cmd.as_str())), ("shell", args.shell.as_deref())] {
            if value.is_some_and(|value| value.trim().is_empty() || value.contains('\0')) {
                return Err(invalid(tool, &format!("`{name}` must be text without a NUL and not blank")));
            }
        }
        let place = self.workdir.root().join(args.cwd.as_deref().unwrap_or("."));
        let folder = args.cwd.as_deref().unwrap_or(".");
        let folder = self.judged_place(folder, resolved).map_err(|error| error.result())?;
        let folder = self.workdir.open_folder(&folder).map_err(|error| refused(&error))?;
        let confinement = self.sandbox.confinement(network).map_err(|error| unconfined(&error))?;
        let timeout_ms = args.timeout_ms.map_or(TIMEOUT_MS_DEFAULT, |timeout| timeout.0).min(TIMEOUT_MS_MAX);
        let shell = args.shell.unwrap_or_else(|| "bash".to_owned());
        let question = syntax::question(&shell, &args.cmd);
        let command = Command {
            program: shell.into(),
            args: vec!["-c".into(), args.cmd.into()],
            folder,
            environment: self.environment.clone(),
            timeout: Duration::from_millis(timeout_ms),
            stream_bytes_max: STREAM_BYTES_MAX,
            confinement,
        };
        if cancel.is_cancelled() {
            return Err(cancelled(None));
        }
        if let Some(question) = question {
            let asking = syntax::asking(&command, question).map_err(|error| unconfined(&error))?;
            let asked = custody::run(asking, cancel.clone()).await;
            // A shell that can't even be asked can't be run either, and says so then.
            if let Some(refusal) = asked.ok().as_ref().and_then(syntax::refusal) {
                return Err(refusal);
            }
            if cancel.is_cancelled() {
                return Err(cancelled(None));
            }
        }
        let ended = custody::run(command, cancel).await.map_err(|error| not_started(&error))?;
        let notes = self.notes(&ended, network, &place);
        Ok(RanCommand { ended, timeout_ms, notes })
    }

    /// Lists the walls that a failed command may have run into, with the settings that would allow its attempt.
    fn notes(&self, ended: &Ended, network: Network, place: &Path) -> Vec<String> {
        match &ended.layers {
            Some(layers) if ended.exit_code != Some(0) => {
                let (stdout, stderr) = (ended.stdout.text(), ended.stderr.text());
                self.sandbox.explain(network, layers, place, (&stdout, &stderr))
            }
            Some(_) | None => Vec::new(),
        }
    }
}

/// A command that was run, and the walls that it may have run into.
pub(super) struct RanCommand {
    pub(super) ended: Ended,
    timeout_ms: u64,
    pub(super) notes: Vec<String>,
}

impl RanCommand {
    /// Returns the result as `shell_exec` has it.
    pub(super) fn report(&self) -> ToolOutput {
        report(&self.ended, self.timeout_ms, &self.notes)
    }
}

fn not_started(error: &NotStarted) -> ToolOutput {
    if error.is_unconfined {
        return unconfined(&error.source);
    }
    ToolOutput::failed("SHELL_ERROR", format!("{error}: {}", error.source))
}

/// Returns the result where the sandbox could not be set up: a command that is not confined is not run.
fn unconfined(why: &std::io::Error) -> ToolOutput {
    ToolOutput::failed(
        "SANDBOX_ERROR",
        format!("The command was not run, because its sandbox could not be set up: {why}. Tell the operator."),
    )
}

/// Describes the findings in the repository; empty if there are none.
fn left_in_repository(ended: &Ended) -> String {
    if ended.findings.is_empty() {
        return String::new();
    }
    let findings: Vec<String> = ended.findings.iter().map(ToString::to_string).collect();
    format!("The repository is not as it was, where git follows, runs or needs it: {}. ", findings.join("; "))
}

fn report(ended: &Ended, timeout_ms: u64, notes: &[String]) -> ToolOutput {
    let truncated = ended.stdout.dropped() + ended.stderr.dropped() > 0;
    let exit_code = ended.exit_code.unwrap_or(-1);
    let meta = ToolMeta {
        bytes: Some(ended.stdout.total() + ended.stderr.total()),
        truncated: Some(truncated),
        exit_code: Some(exit_code),
        signal: ended.signal.clone(),
        seen: None,
    };
    let (stdout, stderr) = (ended.stdout.text(), ended.stderr.text());
    let mut first = match (ended.cause, &ended.signal) {
        (Cause::Cancelled, _) => {
            let partial = if stderr.is_empty() { stdout } else { format!("{stdout}\nstderr:\n{stderr}") };
            let partial = left_in_repository(ended) + &partial;
            return ToolOutput { meta, ..cancelled(Some(partial)) };
        }
        (Cause::Timeout, _) => {
            format!("Timed out after {timeout_ms} ms; everything it started was ended.")
        }
        (Cause::Itself, Some(signal)) => format!("Exited with code {exit_code} ({signal})."),
        (Cause::Itself, None) => format!("Exited with code {exit_code}."),
    };
    if truncated {
        first.push_str(" The output was truncated.");
    }
    if ended.cause == Cause::Itself && ended.left_behind > 0 {
        first.push_str(" What it left running was ended.");
    }
    for note in notes {
        first.push('\n');
        first.push_str(note);
    }
    let left = left_in_repository(ended);
    first.insert_str(0, &left);
    let content = format!("{first}\n\nstdout:\n{stdout}\n\nstderr:\n{stderr}");
    if !left.is_empty() {
        return ToolOutput { meta, ..ToolOutput::failed("REPOSITORY_CHANGED", content) };
    }
    match ended.cause {
        Cause::Itself if exit_code == 0 => ToolOutput { meta, ..ToolOutput::worked(content) },
        Cause::Itself | Cause::Cancelled => ToolOutput { success: false, content, code: None, meta },
        Cause::Timeout => ToolOutput { meta, ..ToolOutput::failed("TIMEOUT", content) },
    }
}
