//! A thousand sessions at once in one process: how long, and how much memory at the most.
//!
//! Measured in a process of its own, so that nothing else is in the figure. Every session waits at its last
//! turn until all of them have come there: at that moment a thousand are alive.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use adjutant_agents::ScriptedAgent;
use adjutant_core::words::id::RunId;
use adjutant_ports::{Agent, AgentFailure, CancellationToken, Delta, Durability, Pending, Reply, TurnRequest};
use adjutant_store::{FileJournal, Home, Owner};
use anyhow::{Context, ensure};
use jiff::Timestamp;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::figure::{Amount, Figure};
use crate::world::{self, Noting};

const SESSIONS: usize = 1_000;
const TURNS: u32 = 10;
/// The turn of the summary, those of work, the one that ends work, and the report.
const LAST_TURN: u32 = TURNS + 3;
const MEMORY_BUDGET: Amount = Amount::Bytes(300 * 1024 * 1024);

/// The work of the child process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Child {
    /// Sessions.
    Sessions,
    /// Tasks that append as many lines to as many files.
    Tasks,
    /// Sessions over a model API.
    Streams,
    /// Connections that read as many bytes.
    RawStreams,
}

/// Time and memory that the child process measured.
pub struct ChildMeasurement {
    pub took: Duration,
    pub memory: u64,
}

/// Both processes, one after the other.
pub fn measure(_: &Path, folder: &Path) -> anyhow::Result<Vec<Figure>> {
    let sessions = found_in(&start(Child::Sessions, "sessions", folder)?)?;
    let tasks = found_in(&start(Child::Tasks, "tasks", folder)?)?;
    let figure = |name: &str, measured, budget, baseline| Figure {
        name: format!("{SESSIONS} sessions of {LAST_TURN} turns, {name}"),
        measured,
        budget,
        against: format!("{SESSIONS} tasks append and flush the same lines"),
        baseline,
    };
    Ok(vec![
        figure("time", Amount::Time(sessions.took), None, Amount::Time(tasks.took)),
        figure("peak memory", Amount::Bytes(sessions.memory), Some(MEMORY_BUDGET), Amount::Bytes(tasks.memory)),
    ])
}

fn start(child: Child, name: &str, folder: &Path) -> anyhow::Result<Value> {
    let output = Command::new(std::env::current_exe()?)
        .args([".", "--child", name])
        .env_clear()
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "the process for {child:?} ended with {}", output.status);
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Reads the measurements out of the child process's output.
pub fn found_in(said: &Value) -> anyhow::Result<ChildMeasurement> {
    let number = |name: &str| said[name].as_u64().with_context(|| format!("the process did not say its {name}"));
    Ok(ChildMeasurement { took: Duration::from_micros(number("took_us")?), memory: number("memory_bytes")? })
}

/// Does what `child` says in `folder`, and prints what it took.
pub fn run_child(child: Child, folder: &Path) -> anyhow::Result<()> {
    // Every session holds a few files open, and the usual limit is 1,024.
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?;
    let runtime = tokio::runtime::Runtime::new()?;
    let began = Instant::now();
    match child {
        Child::Sessions => runtime.block_on(sessions(folder))?,
        Child::Tasks => runtime.block_on(tasks(folder))?,
        Child::Streams | Child::RawStreams => anyhow::bail!("{child:?} needs a server"),
    }
    let took_us = u64::try_from(began.elapsed().as_micros())?;
    println!("{}", json!({"took_us": took_us, "memory_bytes": peak_memory()?}));
    Ok(())
}

/// The most memory that this process had resident, in bytes.
pub fn peak_memory() -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM in the status")?;
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kibibytes * 1024)
}

async fn sessions(folder: &Path) -> anyhow::Result<()> {
    let home = Home::new(folder.join("home"), None);
    let agent: Arc<dyn Agent> = Arc::new(Gathering { script: world::agent(TURNS)?, gathered: Barrier::new(SESSIONS) });
    let mut running = JoinSet::new();
    for number in 0..SESSIONS {
        let run_id: RunId = format!("bench-{number}").parse()?;
        let journal = FileJournal::create(&home, &run_id, &Owner::current(), Timestamp::now())?;
        let ports = world::ports(agent.clone());
        running.spawn(async move {
            let mut noting = Noting { journal, durabilities: Vec::new() };
            world::whole_run(&mut noting, ports).await?;
            let path = noting.journal.path().to_owned();
            noting.journal.close()?;
            anyhow::Ok((path, noting.durabilities))
        });
    }
    let mut one = None;
    while let Some(ended) = running.join_next().await {
        one = Some(ended??);
    }
    // What one of them wrote is what each task of the baseline writes.
    let (path, durabilities) = one.context("there was no session")?;
    fs::copy(path, folder.join("lines"))?;
    let synced = durabilities.iter().map(|durability| u8::from(*durability == Durability::Synced));
    fs::write(folder.join("synced"), synced.collect::<Vec<u8>>())?;
    Ok(())
}

async fn tasks(folder: &Path) -> anyhow::Result<()> {
    let lines: Arc<[u8]> = fs::read(folder.join("lines"))?.into();
    let synced: Arc<[u8]> = fs::read(folder.join("synced"))?.into();
    let mut running = JoinSet::new();
    for number in 0..SESSIONS {
        let (lines, synced) = (lines.clone(), synced.clone());
        let mut file = File::create(folder.join(format!("task-{number}")))?;
        running.spawn(async move {
            for (number, line) in lines.split_inclusive(|byte| *byte == b'\n').enumerate() {
                file.write_all(line)?;
                if synced.get(number) == Some(&1) {
                    file.sync_data()?;
                }
                tokio::task::yield_now().await;
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    Ok(())
}

/// A scripted agent whose last turn waits until every session has come to it.
struct Gathering {
    script: ScriptedAgent,
    gathered: Barrier,
}

impl Agent for Gathering {
    fn id(&self) -> &str {
        self.script.id()
    }

    fn model(&self) -> &str {
        self.script.model()
    }

    fn turn<'a>(
        &'a self,
        request: &'a TurnRequest,
        deltas: &'a (dyn Fn(Delta) + Send + Sync),
        cancel: CancellationToken,
    ) -> Pending<'a, Result<Reply, AgentFailure>> {
        Box::pin(async move {
            if request.turn == LAST_TURN {
                self.gathered.wait().await;
            }
            self.script.turn(request, deltas, cancel).await
        })
    }
}
