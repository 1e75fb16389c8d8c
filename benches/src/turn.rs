//! Measures the cost of a session per turn: detectors, gate, requests and records, beyond what the disk takes.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use adjutant_core::words::id::RunId;
use adjutant_ports::{Durability, Journal};
use adjutant_store::{FileJournal, Home, Owner};
use jiff::Timestamp;

use crate::figure::{Amount, Figure, each, median};
use crate::world::{self, MemoryJournal, Noting, Unflushed};

const TURNS: u32 = 100;
const TURNS_LONG: u32 = 1_000;
const ROUNDS: usize = 7;
const BUDGET: Amount = Amount::Time(Duration::from_millis(1));

/// One turn with one write, in sessions of a hundred turns and of a thousand.
pub fn measure(_: &Path, folder: &Path) -> anyhow::Result<Vec<Figure>> {
    let home = Home::new(folder, None);
    let mut times: [Vec<Duration>; 7] = Default::default();
    for round in 0..ROUNDS {
        let [memory, unflushed, flushed, wrote, synced, long, long_memory] = &mut times;
        let created = |kind: &str| -> anyhow::Result<FileJournal> {
            let run_id: RunId = format!("{kind}-{round}").parse()?;
            Ok(FileJournal::create(&home, &run_id, &Owner::current(), Timestamp::now())?)
        };
        memory.push(session(TURNS, &mut MemoryJournal::default())?);
        unflushed.push(session(TURNS, &mut created("unflushed")?.on(Unflushed))?);
        let journal = created("flushed")?;
        let path = journal.path().to_owned();
        let mut noting = Noting { journal, durabilities: Vec::new() };
        flushed.push(session(TURNS, &mut noting)?);
        let lines = std::fs::read(path)?;
        wrote.push(append(&folder.join("wrote"), &lines, &[])?);
        synced.push(append(&folder.join("synced"), &lines, &noting.durabilities)?);
        // Takes a second and more, and varies little.
        if round == 0 {
            long.push(session(TURNS_LONG, &mut created("long")?.on(Unflushed))?);
            long_memory.push(session(TURNS_LONG, &mut MemoryJournal::default())?);
        }
    }
    let [memory, unflushed, flushed, wrote, synced, long, long_memory] = times.map(median);
    let turn = |time| each(time, TURNS as usize);
    let figure = |name: &str, measured, budget, against: &str, baseline| Figure {
        name: name.to_owned(),
        measured: Amount::Time(measured),
        budget,
        against: against.to_owned(),
        baseline: Amount::Time(baseline),
    };
    let own = turn(flushed.saturating_sub(synced));
    Ok(vec![
        figure("a turn, journal in memory", turn(memory), Some(BUDGET), "write(2) of the same lines", turn(wrote)),
        figure(
            "a turn, journal without flush",
            turn(unflushed),
            Some(BUDGET),
            "write(2) of the same lines",
            turn(wrote),
        ),
        figure("a turn, journal with flush", turn(flushed), None, "write(2), fdatasync where we flush", turn(synced)),
        figure(
            "a turn with flush, less the baseline",
            own,
            Some(BUDGET),
            "write(2), fdatasync where we flush",
            turn(synced),
        ),
        figure(
            "a turn of a thousand, without flush",
            each(long, TURNS_LONG as usize),
            Some(BUDGET),
            "a turn of a thousand, in memory",
            each(long_memory, TURNS_LONG as usize),
        ),
    ])
}

/// Runs a session of `turns` turns on `journal` and returns the time it took.
fn session(turns: u32, journal: &mut dyn Journal) -> anyhow::Result<Duration> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ports = world::ports(Arc::new(world::agent(turns)?));
    let began = Instant::now();
    runtime.block_on(world::whole_run(journal, ports))?;
    Ok(began.elapsed())
}

/// Appends `lines` to a new file one by one, flushing those that ask for it. Returns the time it took.
fn append(path: &Path, lines: &[u8], durabilities: &[Durability]) -> anyhow::Result<Duration> {
    let mut file = File::create(path)?;
    let began = Instant::now();
    for (number, line) in lines.split_inclusive(|byte| *byte == b'\n').enumerate() {
        file.write_all(line)?;
        if durabilities.get(number) == Some(&Durability::Synced) {
            file.sync_data()?;
        }
    }
    Ok(began.elapsed())
}
