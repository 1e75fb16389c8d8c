//! `wait_for`: looks again and again until one thing holds, without the agent.
//!
//! A wait ends when its condition holds, when its limit is over (`WAIT_OVER`), when it can't hold any more, or when the
//! call is cancelled: a message of the operator's ends it so. A command is run as `shell_exec` runs it, in the same
//! sandbox.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use adjutant_core::words::tool::{ResolvedPath, ToolMeta, ToolOutput};
use adjutant_core::words::wait::WAIT_FOR;
use adjutant_host::custody::Cause;
use adjutant_host::sandbox::Network;
use adjutant_host::workdir::{Kind, WorkPath};
use adjutant_ports::CancellationToken;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::places::NotJudged;
use super::shell::RanCommand;
use super::{Inner, NativeTools, cancelled};
use crate::args::{Positive, ShellExec, WaitFor, invalid};

/// The limit unless asked otherwise, and the most that can be asked for, in seconds.
const LIMIT_S_DEFAULT: u64 = 3_600;
const LIMIT_S_MAX: u64 = 86_400;
/// How often is looked unless asked otherwise, in seconds: at this machine, and by a command.
const EVERY_S: u64 = 1;
const COMMAND_EVERY_S: u64 = 10;
/// The longest that one run of a command may take: as long as `shell_exec` allows.
const COMMAND_TIME_MAX: Duration = Duration::from_secs(300);
/// The longest that a port may take to accept.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(1);
/// The most characters of a line of output that are told.
const LINE_CHARS_MAX: usize = 500;

/// The condition that is waited for.
#[derive(Debug)]
enum Condition {
    Time(Duration),
    There(String),
    Gone(String),
    Port(u16),
    Exits(String),
    /// The command for the checks of a pull request, and its name for the result.
    Checks(String),
    /// The command for the state of a pull request.
    Closed(String),
    Message,
}

/// The outcome of one look.
enum Seen {
    /// It holds, with what else is worth telling.
    Holds {
        what: String,
        meta: ToolMeta,
    },
    NotYet,
    /// A command was run, and its condition doesn't hold yet.
    RanInVain(Box<RanCommand>),
    /// It can't hold any more.
    Never(ToolOutput),
}

/// A wait with its limits.
struct Wait {
    condition: Condition,
    every: Duration,
    limit: Duration,
    resolved: Vec<ResolvedPath>,
    network: Network,
}

impl NativeTools {
    pub(super) async fn wait_for(
        &self,
        args: WaitFor,
        resolved: Vec<ResolvedPath>,
        network: Network,
        cancel: CancellationToken,
    ) -> Result<ToolOutput, ToolOutput> {
        let wait = Wait::of(args, resolved, network)?;
        let begun = Instant::now();
        let mut runs = 0_u64;
        let mut last = None;
        loop {
            if cancel.is_cancelled() {
                return Err(cancelled(None));
            }
            let left = wait.limit.saturating_sub(begun.elapsed());
            match self.look_for(&wait, begun.elapsed(), left, &cancel).await? {
                Seen::Holds { what, meta } => {
                    let content = format!("{what}, after {}.", told(begun.elapsed()));
                    return Ok(ToolOutput { meta, ..ToolOutput::worked(content) });
                }
                Seen::Never(output) => return Ok(output),
                Seen::RanInVain(ran) => {
                    runs += 1;
                    last = Some(ran);
                }
                Seen::NotYet => {}
            }
            let left = wait.limit.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ok(wait.over(runs, last.as_deref()));
            }
            let pause = match wait.condition {
                Condition::Time(time) => time.saturating_sub(begun.elapsed()),
                Condition::Message => left,
                _ => wait.every,
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(cancelled(None)),
                () = sleep(pause.min(left)) => {}
            }
        }
    }

    /// Looks once.
    async fn look_for(
        &self,
        wait: &Wait,
        waited: Duration,
        left: Duration,
        cancel: &CancellationToken,
    ) -> Result<Seen, ToolOutput> {
        let holds = |is_so: bool, what: String| {
            if is_so { Seen::Holds { what, meta: ToolMeta::default() } } else { Seen::NotYet }
        };
        Ok(match &wait.condition {
            Condition::Time(time) => holds(waited >= *time, "The time is over".to_owned()),
            Condition::Message => Seen::NotYet,
            Condition::There(path) => holds(self.is_there(path, wait).await?, format!("`{path}` is there")),
            Condition::Gone(path) => holds(!self.is_there(path, wait).await?, format!("`{path}` is gone")),
            Condition::Port(port) => holds(accepts(*port).await, format!("Port {port} accepts connections")),
            // No run of a command begins after the limit.
            Condition::Exits(_) | Condition::Checks(_) | Condition::Closed(_) if left.is_zero() => Seen::NotYet,
            Condition::Exits(line) => {
                let ran = self.run_for(line, wait, left, cancel).await?;
                verdict(ran, |_| Some("The command exited with 0".to_owned()))
            }
            Condition::Checks(line) => {
                let ran = self.run_for(line, wait, left, cancel).await?;
                match failed_check(&ran) {
                    Some(failed) => Seen::Never(ToolOutput {
                        meta: meta_of(&ran),
                        ..ToolOutput::failed(
                            "CHECKS_FAILED",
                            format!("A check has failed, and none is going on: {failed}"),
                        )
                    }),
                    None => verdict(ran, |_| Some("All checks have passed".to_owned())),
                }
            }
            Condition::Closed(line) => {
                let ran = self.run_for(line, wait, left, cancel).await?;
                verdict(ran, |ran| match ran.ended.stdout.text().trim() {
                    "MERGED" => Some("The pull request is merged".to_owned()),
                    "CLOSED" => Some("The pull request is closed without having been merged".to_owned()),
                    _ => None,
                })
            }
        })
    }

    async fn is_there(&self, path: &str, wait: &Wait) -> Result<bool, ToolOutput> {
        let (path, resolved) = (path.to_owned(), wait.resolved.clone());
        self.looking(move |inner| inner.is_there(&path, &resolved)).await
    }

    async fn run_for(
        &self,
        line: &str,
        wait: &Wait,
        left: Duration,
        cancel: &CancellationToken,
    ) -> Result<RanCommand, ToolOutput> {
        let time = u64::try_from(left.min(COMMAND_TIME_MAX).as_millis()).unwrap_or(u64::MAX).max(1);
        let args = ShellExec { cmd: line.to_owned(), cwd: None, timeout_ms: Some(Positive(time)), shell: None };
        let ran = self.inner.run_command(WAIT_FOR, args, &[], wait.network, cancel.clone()).await?;
        // What ends the command early, and what it left in the repository, is told as ever.
        if ran.ended.cause == Cause::Cancelled || !ran.ended.findings.is_empty() {
            return Err(ran.report());
        }
        Ok(ran)
    }
}

impl Inner {
    /// Returns true if something is at `path`; a link counts, wherever it leads.
    fn is_there(&self, path: &str, resolved: &[ResolvedPath]) -> Result<bool, ToolOutput> {
        let kind = |path: &WorkPath| self.workdir.kind(path);
        let found = match self.judged_place(path, resolved) {
            Ok(place) => kind(&place),
            // A link that was not there when the call was judged: it is there now, and it isn't followed.
            Err(NotJudged::Moved(path)) if matches!(kind(&path), Ok(Some(Kind::Link))) => return Ok(true),
            Err(NotJudged::Unusable(error)) => Err(error),
            Err(refused) => return Err(refused.result()),
        };
        match found {
            Ok(found) => Ok(found.is_some()),
            // A folder above it is missing or is none, or a link on the way leads to nothing.
            Err(error) if matches!(error.code(), "ENOENT" | "ENOTDIR" | "NOT_REGULAR") => Ok(false),
            Err(error) => Err(super::refused(&error)),
        }
    }
}

impl Wait {
    fn of(args: WaitFor, resolved: Vec<ResolvedPath>, network: Network) -> Result<Self, ToolOutput> {
        let WaitFor { seconds, file, gone, port, command, ci, pull_request, message, every_seconds, limit_seconds } =
            args;
        let mut conditions = Vec::new();
        if let Some(Positive(seconds)) = seconds {
            if seconds > LIMIT_S_MAX {
                return Err(invalid(WAIT_FOR, &format!("`seconds` must be at most {LIMIT_S_MAX}")));
            }
            conditions.push(Condition::Time(Duration::from_secs(seconds)));
        }
        conditions.extend(file.map(Condition::There));
        conditions.extend(gone.map(Condition::Gone));
        if let Some(port) = port {
            let port = u16::try_from(port.0).ok().filter(|port| *port > 0);
            let port = port.ok_or_else(|| invalid(WAIT_FOR, "`port` must be a number from 1 to 65535"))?;
            conditions.push(Condition::Port(port));
        }
        if let Some(command) = command {
            if command.trim().is_empty() || command.contains('\0') {
                return Err(invalid(WAIT_FOR, "`command` must be text without a NUL and not blank"));
            }
            conditions.push(Condition::Exits(command));
        }
        conditions.extend(ci.map(|name| Condition::Checks(name.0.checks())));
        conditions.extend(pull_request.map(|name| Condition::Closed(name.0.state())));
        conditions.extend(message.filter(|message| *message).map(|_| Condition::Message));
        let (Some(condition), None) = (conditions.pop(), conditions.pop()) else {
            return Err(invalid(
                WAIT_FOR,
                "give exactly one of `seconds`, `file`, `gone`, `port`, `command`, `ci`, `pull_request` and \
                 `message: true`",
            ));
        };
        let every = match (every_seconds, &condition) {
            (Some(Positive(every)), _) => every,
            (None, Condition::Exits(_) | Condition::Checks(_) | Condition::Closed(_)) => COMMAND_EVERY_S,
            (None, _) => EVERY_S,
        };
        let limit = match (limit_seconds, &condition) {
            (Some(Positive(limit)), _) => Duration::from_secs(limit.min(LIMIT_S_MAX)),
            (None, Condition::Time(time)) => *time,
            (None, _) => Duration::from_secs(LIMIT_S_DEFAULT),
        };
        Ok(Self { condition, every: Duration::from_secs(every), limit, resolved, network })
    }

    /// The result of a wait whose limit is over.
    fn over(&self, runs: u64, last: Option<&RanCommand>) -> ToolOutput {
        let awaited = match &self.condition {
            Condition::Time(time) => format!("{} were over", told(*time)),
            Condition::There(path) => format!("`{path}` was there"),
            Condition::Gone(path) => format!("`{path}` was gone"),
            Condition::Port(port) => format!("port {port} accepted connections"),
            Condition::Exits(_) => "the command exited with 0".to_owned(),
            Condition::Checks(_) => "all checks had passed".to_owned(),
            Condition::Closed(_) => "the pull request was merged or closed".to_owned(),
            Condition::Message => "the operator said something".to_owned(),
        };
        let mut content = format!("The limit of {} was over before {awaited}.", told(self.limit));
        if let Some(ran) = last {
            let how = match (ran.ended.cause, ran.ended.exit_code) {
                (Cause::Timeout, _) => "it took too long and was ended".to_owned(),
                (_, Some(code)) => format!("it exited with code {code}"),
                (_, None) => "it was ended by a signal".to_owned(),
            };
            content.push_str(&format!(" The command was run {runs} times; the last time {how}"));
            content.push_str(&last_line(ran).map_or_else(|| ".".to_owned(), |line| format!(": {line}")));
            for note in &ran.notes {
                content.push('\n');
                content.push_str(note);
            }
        }
        let meta = last.map(meta_of).unwrap_or_default();
        ToolOutput { meta, ..ToolOutput::failed("WAIT_OVER", content) }
    }
}

/// The outcome of a command that ended: `holds` says what came true, if it exited with 0.
fn verdict(ran: RanCommand, holds: impl FnOnce(&RanCommand) -> Option<String>) -> Seen {
    let has_worked = ran.ended.cause == Cause::Itself && ran.ended.exit_code == Some(0);
    match has_worked.then(|| holds(&ran)).flatten() {
        Some(what) => Seen::Holds { what, meta: meta_of(&ran) },
        None => Seen::RanInVain(Box::new(ran)),
    }
}

/// The first line about a check that failed, if none is going on any more: then waiting changes nothing. `gh` prints a
/// line for each check, with tabs: its name, then its state.
fn failed_check(ran: &RanCommand) -> Option<String> {
    let said = ran.ended.stdout.text();
    let state = |line: &str| line.split('\t').nth(1).map(str::to_owned);
    if said.lines().any(|line| state(line).as_deref() == Some("pending")) {
        return None;
    }
    said.lines().find(|line| matches!(state(line).as_deref(), Some("fail" | "cancel"))).map(shortened)
}

fn meta_of(ran: &RanCommand) -> ToolMeta {
    ToolMeta { exit_code: Some(ran.ended.exit_code.unwrap_or(-1)), ..ToolMeta::default() }
}

/// The last line that a command said, of its errors if there are any.
fn last_line(ran: &RanCommand) -> Option<String> {
    let of = |text: &str| text.lines().rev().find(|line| !line.trim().is_empty()).map(shortened);
    of(&ran.ended.stderr.text()).or_else(|| of(&ran.ended.stdout.text()))
}

fn shortened(line: &str) -> String {
    line.trim().chars().take(LINE_CHARS_MAX).collect()
}

/// Returns true if the port of this machine accepts a connection, by either protocol. Nothing is sent.
async fn accepts(port: u16) -> bool {
    let addresses: [SocketAddr; 2] = [(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()];
    for address in addresses {
        if matches!(timeout(CONNECT_TIME_MAX, TcpStream::connect(address)).await, Ok(Ok(_))) {
            return true;
        }
    }
    false
}

/// A length of time for a reader, such as `2 min 5 s`.
fn told(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let parts = [(hours, "h"), (minutes, "min"), (rest, "s")];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count} {unit}")).collect();
    if parts.is_empty() { "less than a second".to_owned() } else { parts.join(" ") }
}
