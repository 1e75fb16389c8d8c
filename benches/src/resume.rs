//! Measures how long it takes to resume a run that has a long journal.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use adjutant_core::procedure::{Command as Wanted, Drive, Step, Want};
use adjutant_core::trace::{AskEvent, Body, CallEvent, Entry, TurnEvent};
use adjutant_core::words::id::RunId;
use adjutant_core::words::tool::ToolCall;
use adjutant_core::words::{Key, Mode, Stop};
use adjutant_ports::{Durability, Journal};
use adjutant_runtime::{Driver, Folded, Masks};
use adjutant_store::{Damage, FileJournal, Home, Owner};
use anyhow::{bail, ensure};
use jiff::Timestamp;

use crate::figure::{Amount, Figure, median};
use crate::world::{self, Unflushed};

const EVENTS: u64 = 100_000;
const ROUNDS: usize = 11;
const BUDGET: Amount = Amount::Time(Duration::from_millis(200));
/// Exit code of `resume` while a question is open and no operator is there to answer it.
const WAITING: i32 = 4;

/// A run that stands at a question after 100,000 events: resumed in this process, and by the command.
pub fn measure(adjutant: &Path, folder: &Path) -> anyhow::Result<Vec<Figure>> {
    let home = Home::new(folder.join("home"), None);
    let run_id: RunId = "bench".parse()?;
    generate(&home, &run_id, folder)?;
    let script = folder.join("script.yaml");
    std::fs::write(&script, "- never said\n")?;
    let path = home.journal(&run_id);
    let mut times: [Vec<Duration>; 3] = Default::default();
    for _ in 0..ROUNDS {
        let [hashed, folded, resumed] = &mut times;
        let began = Instant::now();
        blake3::hash(&std::fs::read(&path)?);
        hashed.push(began.elapsed());
        folded.push(fold(&home, &run_id, folder)?);
        resumed.push(resume(adjutant, home.root(), &script)?);
    }
    let [hashed, folded, resumed] = times.map(median);
    let megabytes = std::fs::metadata(&path)?.len() / 1_000_000;
    let figure = |name: &str, measured| Figure {
        name: format!("{name} ({EVENTS} events, {megabytes} MB)"),
        measured: Amount::Time(measured),
        budget: Some(BUDGET),
        against: "reading the file and hashing it with BLAKE3".to_owned(),
        baseline: Amount::Time(hashed),
    };
    Ok(vec![figure("taking over and folding", folded), figure("`resume`, whole process", resumed)])
}

fn fold(home: &Home, run_id: &RunId, folder: &Path) -> anyhow::Result<Duration> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let options = world::options(folder, Mode::Gated);
    let (procedure, ports) = (world::procedure(&options)?, world::ports(Arc::new(world::agent(1)?)));
    let began = Instant::now();
    let (place, named) = (home.clone(), run_id.clone());
    let reading = Folded::new(procedure, ports.results).beside(move |take| {
        FileJournal::take_over_each(&place, &named, &Owner::current(), Timestamp::now(), Damage::Refuse, take)
    });
    let (folded, taken) = runtime.block_on(reading);
    let (mut journal, _) = taken?;
    let driver = Driver::after(folded, &mut journal, ports, Masks::default());
    let took = began.elapsed();
    ensure!(driver.open_questions().len() == 1, "the run does not stand at its question");
    Ok(took)
}

fn resume(adjutant: &Path, home: &Path, script: &Path) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let output = Command::new(adjutant)
        .args(["resume", "bench", "--script"])
        .arg(script)
        .env_clear()
        .env("ADJUTANT_HOME", home)
        .stdin(Stdio::null())
        .output()?;
    let took = began.elapsed();
    ensure!(output.status.code() == Some(WAITING), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(took)
}

/// Writes the journal of a session that was asked, and went on, until it was long enough.
fn generate(home: &Home, run_id: &RunId, workdir: &Path) -> anyhow::Result<()> {
    let options = world::options(workdir, Mode::Gated);
    let mut drive = Drive::new(world::procedure(&options)?);
    let mut journal = FileJournal::create(home, run_id, &Owner::current(), Timestamp::now())?.on(Unflushed);
    let mut append = |drive: &mut Drive<_>, entry: Entry| -> anyhow::Result<()> {
        drive.apply(&journal.append(entry, Timestamp::now(), Durability::Written)?);
        Ok(())
    };
    for entry in world::beginning(&options)? {
        append(&mut drive, entry)?;
    }
    loop {
        match drive.step() {
            Step::Record(entry) => append(&mut drive, entry)?,
            Step::Begin(want) => {
                append(&mut drive, want.intent())?;
                let is_last = matches!(want.command, Wanted::Ask(_)) && drive.next_seq() >= EVENTS;
                if is_last {
                    break;
                }
                let outcome = outcome(&want)?;
                append(&mut drive, outcome)?;
            }
            step => bail!("the session came to {step:?}"),
        }
    }
    journal.close()?;
    Ok(())
}

fn outcome(want: &Want) -> anyhow::Result<Entry> {
    let Key { part, slot } = want.key.clone();
    let body = match &want.command {
        Wanted::Turn { .. } => Body::Turn(TurnEvent::AgentReply {
            slot,
            text: if slot.number == 1 { world::SUMMARY } else { world::WORK }.to_owned(),
            thinking: String::new(),
            provider_data: None,
            calls: if slot.number == 1 { Vec::new() } else { vec![call(slot.number)] },
            usage: None,
            stop: Stop::EndTurn,
            duration_ms: 1,
        }),
        Wanted::Call { call, .. } => Body::Call(CallEvent::ToolResult {
            slot,
            call_id: call.call_id.clone(),
            success: true,
            duration_ms: 1,
            bytes: world::OUTPUT.len() as u64,
            content: Some(world::OUTPUT.to_owned()),
            artifact: None,
            code: None,
            exit_code: None,
            settled: false,
            seen: None,
        }),
        Wanted::Ask(question) => {
            let Some(choice) = world::agreed(question) else { bail!("nobody answers {question:?}") };
            let id = format!("answer-{}", slot.number);
            Body::Ask(AskEvent::Answer {
                slot,
                id,
                choice,
                text: None,
                by: "bench".to_owned(),
                whence: "answers".to_owned(),
            })
        }
        Wanted::Hook(asked) => bail!("nobody answers for the hook {}", asked.hook.name()),
        Wanted::Look { .. } => bail!("the bench's brief has no scope to look after"),
        Wanted::Keep(_) => bail!("nobody asked the bench for a permission"),
        Wanted::Do(deed) => bail!("a session does nothing by itself, such as {deed:?}"),
        Wanted::Wait { .. } => Body::Ask(AskEvent::Expired { slot }),
    };
    Ok(Entry { part, body })
}

fn call(number: u32) -> ToolCall {
    ToolCall {
        call_id: format!("call_{number}_1"),
        name: "write_file".to_owned(),
        // Another content each time: an agent that repeats itself is asked about.
        args: serde_json::json!({"path": "price.rs", "content": format!("{number}\n{}", world::OUTPUT)}),
        malformed: None,
        masked: false,
        resolved: Vec::new(),
    }
}
