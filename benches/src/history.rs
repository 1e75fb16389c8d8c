//! A history over many traces: the first, the next, and what reading the same bytes takes; and, where npm is at hand,
//! the peer's own command on a tenth of them.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::figure::{Amount, Figure, median};

const TRACES: usize = 1_000;
const EVENTS: usize = 1_000;
const ROUNDS: usize = 7;
/// Three times what `cat` takes for the same bytes.
const FIRST_BUDGET: f64 = 3.0;
const NEXT_BUDGET: Amount = Amount::Time(Duration::from_millis(50));
const MEMORY_BUDGET: Amount = Amount::Bytes(200 * 1024 * 1024);
/// The peer, in the version that our figures are compared with.
const PEER: &str = "@pythonluvr/openwar@0.13.0";

/// Measures `history` beside `cat` of the same traces, in turn.
pub fn measure(adjutant: &Path, folder: &Path) -> anyhow::Result<Vec<Figure>> {
    let home = folder.join("home");
    write_home(&home, TRACES, EVENTS)?;
    let traces: Vec<_> = traces_of(&home)?;
    let (mut cats, mut firsts, mut nexts, mut appended) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        cats.push(timed(Command::new("cat").args(&traces))?);
        let _ = std::fs::remove_file(home.join("rollups.jsonl"));
        firsts.push(timed(&mut history(adjutant, &home))?);
        nexts.push(timed(&mut history(adjutant, &home))?);
        append(&traces[0])?;
        appended.push(timed(&mut history(adjutant, &home))?);
    }
    let [cat, first, next, appended] = [cats, firsts, nexts, appended].map(median);
    let figure = |name: &str, measured, budget| Figure {
        name: format!("history of a million events, {name}"),
        measured: Amount::Time(measured),
        budget,
        against: format!("cat of the same bytes, median of {ROUNDS} in turn"),
        baseline: Amount::Time(cat),
    };
    let first_budget = Some(Amount::Time(cat.mul_f64(FIRST_BUDGET)));
    let mut figures = vec![
        figure("first", first, first_budget),
        figure("next", next, Some(NEXT_BUDGET)),
        figure("next, a line appended", appended, Some(NEXT_BUDGET)),
        Figure {
            name: "history of a million events, peak memory".to_owned(),
            measured: Amount::Bytes(peak_memory(adjutant, &home)?),
            budget: Some(MEMORY_BUDGET),
            against: "a tenth of the events".to_owned(),
            baseline: Amount::Bytes(0),
        },
    ];
    let tenth = folder.join("tenth");
    write_home(&tenth, TRACES / 10, EVENTS)?;
    let memory_of_tenth = peak_memory(adjutant, &tenth)?;
    if let Some(figure) = figures.last_mut() {
        figure.baseline = Amount::Bytes(memory_of_tenth);
    }
    match peer(folder, adjutant, &tenth) {
        Ok(figure) => figures.push(figure),
        Err(error) => eprintln!("not measured: the peer's own command ({error:#})"),
    }
    Ok(figures)
}

fn history(adjutant: &Path, home: &Path) -> Command {
    let mut command = Command::new(adjutant);
    command.args(["history", "demo", "--json"]).env_clear().env("ADJUTANT_HOME", home);
    command
}

/// Runs a command and returns the time it took.
pub fn timed(command: &mut Command) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    let took = began.elapsed();
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(took)
}

/// The most memory that a first history needs: what the system says of the largest child so far.
fn peak_memory(adjutant: &Path, home: &Path) -> anyhow::Result<u64> {
    let _ = std::fs::remove_file(home.join("rollups.jsonl"));
    let child = history(adjutant, home).stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    // Sampled while it runs: the figure of the process itself is gone when it has ended.
    let status = format!("/proc/{}/status", child.id());
    let mut child = child;
    let mut peak = 0;
    loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes: Option<u64> = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(kibibytes.unwrap_or(0) * 1024);
        if let Some(status) = child.try_wait()? {
            ensure!(status.success(), "history ended with {status}");
            return Ok(peak);
        }
    }
}

/// The peer's own history of a tenth of the events, beside ours of the same.
fn peer(folder: &Path, adjutant: &Path, home: &Path) -> anyhow::Result<Figure> {
    let installed = folder.join("peer");
    std::fs::create_dir_all(&installed)?;
    let npm = Command::new("npm")
        .args(["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", PEER])
        .current_dir(&installed)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("npm can't be started")?;
    ensure!(npm.success(), "npm has no {PEER}");
    let program = installed.join("node_modules/.bin/openwar");
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut command = Command::new(&program);
        theirs.push(timed(command.args(["history", "demo", "--json"]).env("OPENWAR_HOME", home))?);
        let _ = std::fs::remove_file(home.join("rollups.jsonl"));
        ours.push(timed(&mut history(adjutant, home))?);
    }
    Ok(Figure {
        name: "history of a tenth, first".to_owned(),
        measured: Amount::Time(median(ours)),
        budget: None,
        against: format!("{PEER} on the same"),
        baseline: Amount::Time(median(theirs)),
    })
}

fn traces_of(home: &Path) -> anyhow::Result<Vec<std::path::PathBuf>> {
    let entries = std::fs::read_dir(home.join("sessions"))?;
    let mut paths: Vec<_> = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "ndjson"));
    paths.sort();
    Ok(paths)
}

fn append(trace: &Path) -> anyhow::Result<()> {
    let mut file = File::options().append(true).open(trace)?;
    Ok(writeln!(file, "{}", json!({"type": "phase_enter", "phase": "execute", "at": "2026-01-01T01:00:00.000Z"}))?)
}

/// So many recorded runs of the peer, of so many events each, of a fixed mix.
fn write_home(home: &Path, traces: usize, events: usize) -> anyhow::Result<()> {
    let sessions = home.join("sessions");
    std::fs::create_dir_all(&sessions)?;
    for number in 0..traces {
        let id = format!("2026-01-{:02}-B{number}", number % 28 + 1);
        let session = json!({
            "schema_version": 3,
            "meta": {
                "brief_id": id, "project": "demo", "phase": "done", "destructive_approvals": [], "transitions": [],
                "started_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T01:00:00.000Z",
            },
            "brief": {"frontmatter": {"project": "demo", "brief_id": id, "authorized_costs": []}},
            "messages": [],
        });
        std::fs::write(sessions.join(format!("{id}.json")), session.to_string())?;
        let mut trace = BufWriter::new(File::create(sessions.join(format!("{id}.trace.ndjson")))?);
        let header = json!({"type": "trace_version", "version": 5, "openwar_version": "0.13.0", "brief_id": id, "at": "2026-01-01T00:00:00.000Z"});
        writeln!(trace, "{header}")?;
        for event in 0..events {
            writeln!(trace, "{}", line(event))?;
        }
        trace.flush()?;
    }
    Ok(())
}

fn line(event: usize) -> Value {
    let at = format!("2026-01-01T00:{:02}:{:02}.000Z", event / 60 % 60, event % 60);
    match event % 5 {
        0 => json!({"type": "phase_enter", "phase": "execute", "at": at}),
        1 => {
            json!({"type": "tool_call", "call_id": format!("c{event}"), "name": "read_file", "args": {"path": "x".repeat(60)}, "auth_decision": "allow", "at": at})
        }
        2 => {
            json!({"type": "tool_result", "call_id": format!("c{event}"), "success": true, "duration_ms": 3, "bytes": 120, "at": at})
        }
        3 => {
            json!({"type": "detector_fired", "detector": "phase_marker", "payload": {"declared": ["execute"]}, "at": at})
        }
        _ => json!({"type": "phase_exit", "phase": "execute", "duration_ms": event * 7 % 900 + 1, "at": at}),
    }
}
