//! Measures the cost of showing a run at a terminal, beside the same run that prints its events as JSON.
//!
//! The whole program runs, since the renderer is a part of it. The server is on loopback and streams a reply as fast as a
//! fast model does: text piece by piece with a silence in the middle, then a write that is shown as a diff. What was shown is
//! looked at, so that a display which shows nothing isn't praised for its speed.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, WaitId, WaitIdOptions};
use rustix::pty::OpenptFlags;
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

use crate::figure::{Amount, Figure, each, median};
use crate::streams::{HEAD, event, request, text};
use crate::world;

const ROUNDS: usize = 5;

/// Pieces of the streamed reply, and the time between two of them: some five hundred words in a second.
const PIECES: usize = 1_000;
const BETWEEN: Duration = Duration::from_millis(2);

/// A silence within the reply, long enough for the status to be shown below it.
const SILENCE: Duration = Duration::from_millis(2_500);

/// Lines of the file that is written; each tenth is another one.
const LINES: usize = 400;

/// The most that a turn may take longer because it is shown: less than this can't be told from noise.
const BUDGET_RATIO: f64 = 1.02;

/// The unit that `/proc` tells times in, whatever the kernel itself counts in.
const TICKS_PER_SECOND: u64 = 100;

const BRIEF: &str = "---\nproject: bench\nbrief_id: 2026-01-01-SHOWN\nmode: auto\nauthorized_costs:\n  - filesystem_write\n---\n\n\
                     # Objective\n\nOne thing.\n\n# Deliverables\n\n- A file.\n\n# Constraints\n\n- None.\n";

/// Place that a run is shown at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Terminal,
    Json,
}

/// Time of one run by the clock, and that of the processor.
struct RunTimes {
    took: Duration,
    worked: Duration,
}

/// A streamed turn with a write, shown at a terminal, and as JSON.
pub fn measure(adjutant: &Path, folder: &Path) -> anyhow::Result<Vec<Figure>> {
    let runtime = Runtime::new()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let url = format!("http://{}", listener.local_addr()?);
    runtime.spawn(serve(listener));
    let (mut shown, mut json) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        shown.push(run(adjutant, &folder.join(format!("shown-{round}")), &url, Place::Terminal)?);
        json.push(run(adjutant, &folder.join(format!("json-{round}")), &url, Place::Json)?);
    }
    let took = |runs: &[RunTimes]| median(runs.iter().map(|run| run.took).collect());
    // The processor's time is told in hundredths of a second: the sum of all runs is less coarse than the middle one.
    let worked = |runs: &[RunTimes]| each(runs.iter().map(|run| run.worked).sum(), runs.len());
    let figure = |name: &str, measured, baseline: Duration, budget| Figure {
        name: name.to_owned(),
        measured: Amount::Time(measured),
        budget,
        against: format!("the same with --json, {ROUNDS} runs in turn"),
        baseline: Amount::Time(baseline),
    };
    let budget = Amount::Time(took(&json).mul_f64(BUDGET_RATIO));
    Ok(vec![
        figure("a run shown at a terminal, by the clock", took(&shown), took(&json), Some(budget)),
        figure("a run shown at a terminal, the processor's time", worked(&shown), worked(&json), None),
    ])
}

/// Makes one run in a folder of its own.
fn run(adjutant: &Path, folder: &Path, url: &str, place: Place) -> anyhow::Result<RunTimes> {
    std::fs::create_dir_all(folder.join("work"))?;
    std::fs::write(folder.join("brief.md"), BRIEF)?;
    std::fs::write(folder.join("go.json"), "[\"go\"]")?;
    std::fs::write(folder.join("work/lines.txt"), lines("line"))?;
    let mut command = Command::new(adjutant);
    command.args(["run", "../brief.md", "--adapter", "anthropic", "--model", "bench", "--answers", "../go.json"]);
    command.args((place == Place::Json).then_some("--json")).current_dir(folder.join("work"));
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", folder);
    command.env("ADJUTANT_HOME", folder.join("home")).env("TERM", "xterm-256color");
    command.env("ANTHROPIC_API_KEY", "bench").env("ANTHROPIC_BASE_URL", url);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let (mut child, said) = match place {
        Place::Terminal => at_terminal(command)?,
        Place::Json => {
            let mut child = command.stdout(Stdio::piped()).spawn()?;
            let said = OwnedFd::from(child.stdout.take().context("it has a pipe")?);
            (child, said)
        }
    };
    let said = read_all(said.into());
    let worked = processor_time(&child)?;
    let took = began.elapsed();
    let status = child.wait()?;
    let expected: &[&str] = match place {
        Place::Terminal => &["word999", "\u{2026} execute", "+changed 10", "lines.txt  +40 -40", "completed"],
        Place::Json => &["word999", "changed 10", "\"sitting_end\""],
    };
    for text in expected {
        ensure!(said.contains(text), "`{text}` was not shown (exit {status}):\n{said}");
    }
    Ok(RunTimes { took, worked })
}

/// Starts a program whose stdout is a terminal, and returns what shows what it writes there.
fn at_terminal(mut command: Command) -> anyhow::Result<(Child, OwnedFd)> {
    let screen = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    rustix::pty::grantpt(&screen)?;
    rustix::pty::unlockpt(&screen)?;
    tcsetwinsize(&screen, Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 })?;
    let name = rustix::pty::ptsname(&screen, Vec::new())?;
    let terminal = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    let child = command.stdout(Stdio::from(terminal)).spawn()?;
    Ok((child, screen))
}

/// Reads to the end. A terminal whose last user is gone reads as an error.
fn read_all(mut from: File) -> String {
    let (mut said, mut buffer) = (Vec::new(), [0; 16 * 1024]);
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        said.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8_lossy(&said).into_owned()
}

/// Waits for the end of a process, and returns the time that it had of the processor, in user and system mode.
fn processor_time(child: &Child) -> anyhow::Result<Duration> {
    let pid = Pid::from_raw(i32::try_from(child.id())?).context("a process has a number")?;
    // What has ended and was not waited for still has its figures.
    rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()))?;
    // Behind the name, which may hold anything, comes the state, which is the third field.
    let (_, fields) = stat.rsplit_once(") ").context("a line of /proc")?;
    let ticks = fields.split(' ').skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 1_000 / TICKS_PER_SECOND))
}

fn lines(tenth: &str) -> String {
    let word = |number: usize| if number.is_multiple_of(10) { tenth } else { "line" };
    (1..=LINES).map(|number| format!("{} {number}\n", word(number))).collect()
}

async fn serve(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(answer(stream));
    }
}

/// Answers one request: with a summary, with the reply that is measured, or with a report.
async fn answer(mut stream: TcpStream) -> anyhow::Result<()> {
    // A piece is sent when it is said, as a provider does.
    stream.set_nodelay(true)?;
    let body = request(&mut stream).await?;
    let taken = body["messages"].as_array().into_iter().flatten().filter(|said| said["role"] == "assistant").count();
    let begin = json!({"type": "message_start", "message": {"usage": {"input_tokens": 9}}});
    let block = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}});
    stream.write_all(format!("{HEAD}{}{}", event(&begin), event(&block)).as_bytes()).await?;
    let mut stop = "end_turn";
    match taken {
        0 => stream.write_all(text(world::SUMMARY).as_bytes()).await?,
        1 => {
            // By the clock, so that a busy machine slows neither kind of run more than the other.
            let mut next = tokio::time::Instant::now();
            for number in 0..PIECES {
                let end = if number % 50 == 49 { ".\n\n" } else { " " };
                stream.write_all(text(&format!("`word{number}`{end}")).as_bytes()).await?;
                next += if number == PIECES / 2 { SILENCE } else { BETWEEN };
                tokio::time::sleep_until(next).await;
            }
            stream.write_all(write_call().as_bytes()).await?;
            stop = "tool_use";
        }
        _ => stream.write_all(text("## Phase 4\n\nDelivered.").as_bytes()).await?,
    }
    let end = json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 9}});
    stream.write_all(format!("{}{}", event(&end), event(&json!({"type": "message_stop"}))).as_bytes()).await?;
    Ok(())
}

/// The call that writes the file anew.
fn write_call() -> String {
    let args = json!({"path": "lines.txt", "content": lines("changed")}).to_string();
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "write_file", "input": {}});
    [
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": call}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": args}}),
        json!({"type": "content_block_stop", "index": 1}),
    ]
    .iter()
    .map(event)
    .collect()
}
