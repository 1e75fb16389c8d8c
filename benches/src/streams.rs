//! Measures the cost of a model API besides the model: the first text of a reply, a cancel in mid-stream, and two
//! hundred sessions that stream at once.
//!
//! The server is on loopback and answers at once; it is in this process, the sessions are in one of their own,
//! so that nothing else is in their memory. In their second turn all of them are held in mid-stream until the
//! last has come there.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use adjutant_agents::ApiAgent;
use adjutant_agents::anthropic::Messages;
use adjutant_agents::api::{Extras, IDLE_MAX, OUTPUT_TOKENS_MAX, Proxies, Settings, Thinking};
use adjutant_core::words::id::RunId;
use adjutant_ports::{Agent, CancellationToken, Delta, OutgoingMessage, OutgoingRole, TurnRequest};
use adjutant_store::{FileJournal, Home, Owner};
use anyhow::{Context, ensure};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::concurrent::{Child, found_in, peak_memory};
use crate::figure::{Amount, Figure, median};
use crate::world;

const SESSIONS: usize = 200;
const ROUNDS: usize = 101;
/// Number of pieces in a reply of the second turn, and bytes in each: 100 KB of text.
const PIECES: usize = 1_000;
const PIECE_BYTES: usize = 100;
/// Head of a response that streams.
pub const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
const FIRST_TEXT_BUDGET: Amount = Amount::Time(Duration::from_millis(5));
const CANCEL_BUDGET: Amount = Amount::Time(Duration::from_millis(100));
/// Upper bound for the memory of a thousand scripted sessions.
const MEMORY_BUDGET: Amount = Amount::Bytes(300 * 1024 * 1024);

/// First text, cancel, and two hundred sessions.
pub fn measure(_: &Path, folder: &Path) -> anyhow::Result<Vec<Figure>> {
    let runtime = Runtime::new()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let url = format!("http://{}", listener.local_addr()?);
    runtime.spawn(serve(listener));

    let agent = agent(&url)?;
    let (mut ours, mut raw, mut cancels) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(runtime.block_on(first_text(&agent))?);
        raw.push(raw_first_text(&url)?);
        cancels.push(runtime.block_on(cancel(&agent))?);
    }
    let (ours, raw, cancels) = (median(ours), median(raw), median(cancels));

    let sessions = start(Child::Streams, "streams", folder, &url)?;
    let connections = start(Child::RawStreams, "raw-streams", folder, &url)?;
    let time = |name: &str, measured, budget, against: &str, baseline| Figure {
        name: name.to_owned(),
        measured: Amount::Time(measured),
        budget,
        against: against.to_owned(),
        baseline: Amount::Time(baseline),
    };
    let of_many = |name: &str| format!("{SESSIONS} sessions that stream at once, {name}");
    let against = format!("{SESSIONS} connections read the same bytes");
    let connects = "a plain socket, connected anew";
    Ok(vec![
        time("first text of a reply, over HTTP", ours, None, connects, raw),
        time("first text, less the baseline", ours.saturating_sub(raw), Some(FIRST_TEXT_BUDGET), connects, raw),
        time("a cancel in mid-stream", cancels, Some(CANCEL_BUDGET), connects, raw),
        time(&of_many("time"), sessions.took, None, &against, connections.took),
        Figure {
            name: of_many("peak memory"),
            measured: Amount::Bytes(sessions.memory),
            budget: Some(MEMORY_BUDGET),
            against,
            baseline: Amount::Bytes(connections.memory),
        },
    ])
}

fn start(child: Child, name: &str, folder: &Path, url: &str) -> anyhow::Result<crate::concurrent::ChildMeasurement> {
    let output = Command::new(std::env::current_exe()?)
        .args([".", "--child", name, "--url", url])
        .env_clear()
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "the process for {child:?} ended with {}", output.status);
    found_in(&serde_json::from_slice(&output.stdout)?)
}

/// Does what `child` says with the server at `url`, and prints what it took.
pub fn run_child(child: Child, folder: &Path, url: &str) -> anyhow::Result<()> {
    let runtime = Runtime::new()?;
    let began = Instant::now();
    match child {
        Child::Streams => runtime.block_on(sessions(folder, url))?,
        Child::RawStreams => runtime.block_on(connections(url))?,
        Child::Sessions | Child::Tasks => anyhow::bail!("{child:?} needs no server"),
    }
    let took_us = u64::try_from(began.elapsed().as_micros())?;
    println!("{}", json!({"took_us": took_us, "memory_bytes": peak_memory()?}));
    Ok(())
}

async fn sessions(folder: &Path, url: &str) -> anyhow::Result<()> {
    let home = Home::new(folder.join("home"), None);
    let agent: Arc<dyn Agent> = Arc::new(agent(url)?);
    let mut running = JoinSet::new();
    for number in 0..SESSIONS {
        let run_id: RunId = format!("bench-{number}").parse()?;
        let mut journal = FileJournal::create(&home, &run_id, &Owner::current(), Timestamp::now())?;
        let ports = world::ports(agent.clone());
        running.spawn(async move { world::whole_run(&mut journal, ports).await });
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    Ok(())
}

/// Reads what the sessions read, and does nothing with it.
async fn connections(url: &str) -> anyhow::Result<()> {
    let address = url.trim_start_matches("http://").to_owned();
    let mut running = JoinSet::new();
    for _ in 0..SESSIONS {
        let address = address.clone();
        running.spawn(async move {
            for turns in 0..4 {
                let mut stream = TcpStream::connect(&address).await?;
                stream.write_all(&raw_request(turns)).await?;
                let mut buffer = vec![0; 16 * 1024];
                while stream.read(&mut buffer).await? > 0 {}
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    Ok(())
}

fn agent(url: &str) -> anyhow::Result<ApiAgent> {
    Ok(ApiAgent::new(
        Messages,
        Settings {
            model: "bench".to_owned(),
            key: "bench".to_owned(),
            key_source: "the benchmark".to_owned(),
            base_url: url.to_owned(),
            output_tokens_max: OUTPUT_TOKENS_MAX,
            thinking: Thinking::default(),
            extras: Extras::default(),
            idle_max: IDLE_MAX,
            proxies: Proxies::default(),
        },
    )?)
}

/// A turn that the server answers with its first text and no more.
fn open_ended() -> TurnRequest {
    let brief =
        OutgoingMessage { role: OutgoingRole::User, text: "open-ended".into(), calls: Vec::new(), provider_data: None };
    TurnRequest {
        part: "session".to_owned(),
        turns_before: 0,
        turn: 1,
        attempt: 1,
        turns_left_out: 0,
        system: String::new(),
        messages: vec![Arc::new(brief)],
        tools: [].into(),
        may_call: true,
        output_max: None,
    }
}

async fn first_text(agent: &ApiAgent) -> anyhow::Result<Duration> {
    let (began, came) = (Instant::now(), Mutex::new(None));
    let token = CancellationToken::new();
    let show = |_: Delta| {
        came.lock().expect("nothing panics in between").get_or_insert(began.elapsed());
        token.cancel();
    };
    agent.turn(&open_ended(), &show, token.clone()).await.err().context("it ended by itself")?;
    came.into_inner()?.context("no text came")
}

async fn cancel(agent: &ApiAgent) -> anyhow::Result<Duration> {
    let cancelled = Mutex::new(None);
    let token = CancellationToken::new();
    let show = |_: Delta| {
        cancelled.lock().expect("nothing panics in between").get_or_insert_with(Instant::now);
        token.cancel();
    };
    agent.turn(&open_ended(), &show, token.clone()).await.err().context("it ended by itself")?;
    Ok(cancelled.into_inner()?.context("no text came")?.elapsed())
}

fn raw_first_text(url: &str) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let mut stream = std::net::TcpStream::connect(url.trim_start_matches("http://"))?;
    let body = json!({ "messages": [{ "role": "user", "content": "open-ended" }] }).to_string();
    stream.write_all(http(&body).as_bytes())?;
    let mut read = Vec::new();
    let mut buffer = [0; 4096];
    while !read.windows(10).any(|bytes| bytes == b"text_delta") {
        let count = stream.read(&mut buffer)?;
        ensure!(count > 0, "the server ended the answer");
        read.extend_from_slice(&buffer[..count]);
    }
    Ok(began.elapsed())
}

fn raw_request(turns: usize) -> Vec<u8> {
    let messages: Vec<Value> = (0..turns).map(|_| json!({ "role": "assistant", "content": "x" })).collect();
    http(&json!({ "messages": messages }).to_string()).into_bytes()
}

fn http(body: &str) -> String {
    format!("POST /v1/messages HTTP/1.1\r\nhost: bench\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

async fn serve(listener: TcpListener) {
    let gathered = Arc::new(Barrier::new(SESSIONS));
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(answer(stream, gathered.clone()));
    }
}

/// Answers one request: by how many turns it has behind it, as a session goes.
async fn answer(mut stream: TcpStream, gathered: Arc<Barrier>) -> anyhow::Result<()> {
    let body = request(&mut stream).await?;
    let taken = body["messages"].as_array().into_iter().flatten().filter(|said| said["role"] == "assistant").count();
    let piece = "x".repeat(PIECE_BYTES);
    stream.write_all(HEAD.as_bytes()).await?;
    stream
        .write_all(event(&json!({ "type": "message_start", "message": { "usage": { "input_tokens": 9 } } })).as_bytes())
        .await?;
    stream
        .write_all(
            event(
                &json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
            )
            .as_bytes(),
        )
        .await?;
    if body["messages"].to_string().contains("open-ended") {
        stream.write_all(text("now").as_bytes()).await?;
        // Until the other side has gone.
        while stream.read(&mut [0; 64]).await? > 0 {}
        return Ok(());
    }
    match taken {
        0 => stream.write_all(text(world::SUMMARY).as_bytes()).await?,
        1 => {
            for _ in 0..PIECES / 2 {
                stream.write_all(text(&piece).as_bytes()).await?;
            }
            gathered.wait().await;
            for _ in PIECES / 2..PIECES {
                stream.write_all(text(&piece).as_bytes()).await?;
            }
        }
        _ => stream.write_all(text("## Phase 4\n\nDelivered.").as_bytes()).await?,
    }
    let end =
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 9 } });
    stream.write_all(event(&end).as_bytes()).await?;
    stream.write_all(event(&json!({ "type": "message_stop" })).as_bytes()).await?;
    Ok(())
}

/// Returns the event that says a piece of text.
pub fn text(piece: &str) -> String {
    event(&json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": piece } }))
}

/// Returns an event as it is sent.
pub fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

/// Reads the body of one request.
pub async fn request(stream: &mut TcpStream) -> anyhow::Result<Value> {
    let mut read = Vec::new();
    loop {
        ensure!(stream.read_buf(&mut read).await? > 0, "the request broke off");
        let Some(end) = read.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&read[..end]).to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).context("no length")?;
        if read.len() - end - 4 == length.parse::<usize>()? {
            return Ok(serde_json::from_slice(&read[end + 4..])?);
        }
    }
}
