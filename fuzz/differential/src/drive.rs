//! The process in the sandbox: runs line after line, and says what each destroyed.
//!
//! It outlives every line unless a line kills it, which the process outside sees. Whatever a line starts is waited
//! for a while and then killed, so that a loss belongs to one line.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::Child;
use std::time::{Duration, Instant};

use adjutant_host::removal::remove_tree;
use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, wait};

use crate::canaries::Canaries;
use crate::ground::Ground;
use crate::trial::{Trial, TrialOrders, TrialReport};

/// Interval between looks at the processes that a line left running.
const LOOK: Duration = Duration::from_millis(1);
/// Longest time that processes left running by a line may go on.
const STRAGGLERS: Duration = Duration::from_millis(120);

/// Reads orders from stdin and carries them out.
pub fn run() -> Result<()> {
    let done = orders().and_then(|orders| carry_out(&orders));
    match done {
        Ok(()) => say(&TrialReport::Done),
        Err(error) => say(&TrialReport::Failed(format!("{error:#}"))),
    }
}

fn orders() -> Result<TrialOrders> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    serde_json::from_str(&text).context("can't read the orders")
}

fn carry_out(orders: &TrialOrders) -> Result<()> {
    let mut ground = Ground::new(&orders.root, &orders.stand_ins, &orders.slow)?;
    let mut canaries = Canaries::new(&ground)?;
    let limit = Duration::from_millis(orders.limit_ms);
    for (number, trial) in orders.trials.iter().enumerate() {
        say(&TrialReport::Begun(number))?;
        run_line(&ground, trial, limit, canaries.process())?;
        let changed = ground.changed();
        let lost = canaries.lost(&ground, &changed, &trial.kept)?;
        if !lost.is_empty() {
            say(&TrialReport::Lost(number, lost))?;
        }
        if !changed.is_empty() {
            ground.restore(&changed).context("the folder can't be made anew")?;
        }
        empty_temporary();
    }
    Ok(())
}

fn say(said: &TrialReport) -> Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, said)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// Runs one line to its end or its limit; when it returns, nothing of it is running.
fn run_line(ground: &Ground, trial: &Trial, limit: Duration, canary: u32) -> Result<()> {
    let begun = Instant::now();
    let mut command = ground.line(trial);
    command.process_group(0);
    // With a line that has too many processes still ending, there may be no room for another.
    let child = command.spawn().or_else(|_| {
        end_all(canary);
        command.spawn()
    })?;
    wait_for(&child, limit)?;
    let patience = (begun + limit).saturating_duration_since(Instant::now()).max(LOOK * 20).min(STRAGGLERS);
    let deadline = Instant::now() + patience;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) if Instant::now() < deadline => std::thread::sleep(LOOK),
            Ok(None) => {
                end_all(canary);
                std::thread::sleep(LOOK);
            }
            Err(_) => return Ok(()),
        }
    }
}

/// Waits until a child has ended, or the limit.
fn wait_for(child: &Child, limit: Duration) -> Result<()> {
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).context("no such process")?;
    let handle = pidfd_open(id, PidfdFlags::empty())?;
    let limit = Timespec { tv_sec: limit.as_secs().cast_signed(), tv_nsec: limit.subsec_nanos().into() };
    match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&limit)) {
        Ok(0) => kill_process(id, Signal::KILL).ok(),
        Ok(_) | Err(_) => None,
    };
    Ok(())
}

/// Kills every process but the first of the namespace, this one, and the canary.
fn end_all(canary: u32) {
    let own = std::process::id();
    let names = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    let numbers = names.filter_map(|name| name.to_str()?.parse::<u32>().ok());
    for number in numbers.filter(|number| ![1, own, canary].contains(number)) {
        if let Some(id) = i32::try_from(number).ok().and_then(Pid::from_raw) {
            kill_process(id, Signal::KILL).ok();
        }
    }
}

/// Empties the temporary folder, so that the next line doesn't find what this one left there.
fn empty_temporary() {
    for entry in fs::read_dir("/tmp").into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_tree(&path).ok();
        } else {
            fs::remove_file(path).ok();
        }
    }
}
