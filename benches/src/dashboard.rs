//! Measures how long the dashboard takes to list ten thousand runs: the first time, when it has read none of them, and
//! again.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use adjutant_core::words::id::RunId;
use adjutant_store::{FileJournal, Home, Owner};
use anyhow::{Context, ensure};
use jiff::Timestamp;

use crate::figure::{Amount, Figure, median};
use crate::history::timed;
use crate::world::{self, Unflushed};

const RUNS: usize = 10_000;
/// Number of dashboards started.
const ROUNDS: usize = 5;
/// Number of further requests to the same dashboard.
const AGAIN: usize = 5;
const BUDGET: Amount = Amount::Time(Duration::from_millis(300));
/// A run of so many turns leaves a journal of some fifty kilobytes.
const TURNS: u32 = 12;

/// The list in the browser's eyes, from the request to the last byte, beside `cat` of the same journals.
pub fn measure(adjutant: &Path, folder: &Path) -> anyhow::Result<Vec<Figure>> {
    let home = Home::new(folder.join("home"), None);
    let (journals, bytes) = write_home(&home)?;
    let (mut cats, mut firsts, mut agains) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        cats.push(timed(Command::new("cat").args(&journals))?);
        let dashboard = DashboardSession::start(adjutant, home.root())?;
        firsts.push(dashboard.list()?);
        for _ in 0..AGAIN {
            agains.push(dashboard.list()?);
        }
    }
    let [cat, first, again] = [cats, firsts, agains].map(median);
    let figure = |name: &str, measured| Figure {
        name: format!("list of {RUNS} runs in the dashboard, {name} ({} KB each)", bytes / 1000),
        measured: Amount::Time(measured),
        budget: Some(BUDGET),
        against: format!("cat of the same journals, median of {ROUNDS} in turn"),
        baseline: Amount::Time(cat),
    };
    Ok(vec![figure("first", first), figure("again", again)])
}

/// Writes one journal, and copies it under all other names. In the second part, how long one is.
fn write_home(home: &Home) -> anyhow::Result<(Vec<PathBuf>, u64)> {
    let id = |number: usize| format!("2026-01-15-BENCH-r{number}").parse::<RunId>();
    let first = id(1)?;
    let mut journal = FileJournal::create(home, &first, &Owner::current(), Timestamp::now())?.on(Unflushed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(world::whole_run(&mut journal, world::ports(Arc::new(world::agent(TURNS)?))))?;
    journal.close()?;
    let model = fs::read(home.journal(&first))?;
    let mut paths = Vec::with_capacity(RUNS);
    for number in 1..=RUNS {
        let path = home.journal(&id(number)?);
        if number > 1 {
            fs::write(&path, &model)?;
        }
        paths.push(path);
    }
    Ok((paths, model.len() as u64))
}

/// A dashboard that has let this browser in.
struct DashboardSession {
    child: Child,
    host: String,
    page: String,
    cookie: String,
}

impl DashboardSession {
    fn start(adjutant: &Path, home: &Path) -> anyhow::Result<Self> {
        let mut child = Command::new(adjutant)
            .arg("dashboard")
            .env_clear()
            .env("ADJUTANT_HOME", home)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut line = String::new();
        let stdout = child.stdout.as_mut().context("it has no output")?;
        BufReader::new(stdout).read_line(&mut line)?;
        let (host, door) = line
            .trim()
            .strip_prefix("http://")
            .and_then(|address| address.split_once('/'))
            .context("the dashboard printed no address")?;
        let mut dashboard = Self { child, host: host.to_owned(), page: String::new(), cookie: String::new() };
        let answer = dashboard.get(&format!("/{door}"))?;
        let header = |name: &str| {
            let line = answer.lines().find(|line| line.to_ascii_lowercase().starts_with(name));
            line.map(|line| line[name.len()..].trim().to_owned()).context("the dashboard let nobody in")
        };
        (dashboard.page, dashboard.cookie) = (header("location:")?, header("set-cookie:")?);
        Ok(dashboard)
    }

    /// Requests the list and returns the time it took.
    fn list(&self) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let answer = self.get(&self.page)?;
        let took = began.elapsed();
        ensure!(answer.contains(&format!("of {RUNS}")), "this is no list of {RUNS} runs: {answer:.200}");
        Ok(took)
    }

    fn get(&self, page: &str) -> anyhow::Result<String> {
        let mut stream = TcpStream::connect(&self.host)?;
        let (host, cookie) = (&self.host, self.cookie.split(';').next().unwrap_or_default());
        write!(stream, "GET {page} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }
}

impl Drop for DashboardSession {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
