//! Tells an operator who is not at a terminal that something waits: by a program of theirs, by a webhook.
//!
//! Each question is told of once over each channel, by one process. Nothing here fails a run: a notice that can't be
//! sent is a warning, and is sent later.

use std::ffi::OsString;
use std::time::Duration;

use adjutant_core::gate::secrets;
use adjutant_core::inbox::notice::{self, Due, Notice, Waits};
use adjutant_core::inbox::open::question_id;
use adjutant_core::words::visible::visible_line;
use adjutant_host::custody::{self, Cause, Command, Confinement};
use adjutant_host::environment;
use adjutant_host::http::{Hosts, HttpClient};
use adjutant_host::webhook::{self, Post};
use adjutant_ports::CancellationToken;
use adjutant_runtime::assembly::NOTIFY_KEY;
use adjutant_store::config::{self, NotifyConfig};
use adjutant_store::notices::{self, Channel};
use adjutant_store::runs;
use adjutant_store::{Home, Owner};
use anyhow::{Context, anyhow};
use jiff::Timestamp;
use rustix::fs::{Mode, OFlags};

use crate::{settings, sitting};

/// Time that the operator at a run's terminal has for a question before a notice is sent, in seconds: an operator who
/// sits there needs no notice.
const AT_TERMINAL_SECONDS: i64 = 60;

/// Longest time that a notifying program may take.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);

/// The most that is kept of what it says, in bytes.
const COMMAND_SAYS_BYTES_MAX: usize = 4 * 1024;

/// Tells of what waits, for a process that has just parked a run.
///
/// # Errors
///
/// If the system gives no event queue.
pub fn parked(home: &Home) -> anyhow::Result<()> {
    sitting::runtime()?.block_on(tell_when_gathered(home));
    Ok(())
}

/// Tells of what waits, once a few seconds have passed without more. Warns if that can't be done.
pub async fn tell_when_gathered(home: &Home) {
    loop {
        match tell(home).await {
            Ok(Some(gathering)) => tokio::time::sleep(gathering).await,
            Ok(None) => return,
            Err(error) => {
                tell!("warning: nobody is told of what waits: {}", visible_line(&format!("{error:#}")));
                return;
            }
        }
    }
}

/// Tells of what waits, if it is time to. Gives how long others are gathered, if they are.
///
/// # Errors
///
/// If something can't be told, or it can't be known what waits.
pub async fn tell(home: &Home) -> anyhow::Result<Option<Duration>> {
    let config = config::load(home, None)?.config.notify;
    let channels = [(Channel::Command, config.command.is_some()), (Channel::Webhook, config.webhook.is_some())];
    let channels = channels.into_iter().filter_map(|(channel, is_set)| is_set.then_some(channel));
    let mut gathering = None;
    let mut fault = None;
    let mut waiting: Option<Vec<Waits>> = None;
    for channel in channels {
        let waits = match &mut waiting {
            Some(waits) => waits,
            none => none.insert(waiting_now(home)?),
        };
        match tell_over(home, &config, channel, waits).await {
            Ok(left) => gathering = gathering.max(left),
            Err(error) => fault = Some(error),
        }
    }
    fault.map_or(Ok(gathering), Err)
}

/// Returns every unanswered question of the runs that wait, or that have waited at their terminal for long.
fn waiting_now(home: &Home) -> anyhow::Result<Vec<Waits>> {
    let now = Timestamp::now();
    let all = runs::open_questions(home, &Owner::current(), now).context("can't read the folder of sessions")?;
    let mut waits = Vec::new();
    for run in &all.runs {
        for (open, first) in &run.questions {
            let is_at_terminal = run.driver_alive && now.duration_since(open.at).as_secs() < AT_TERMINAL_SECONDS;
            if first.is_none() && !is_at_terminal {
                waits.push(Waits {
                    id: question_id(&run.run_id, &open.key),
                    run_id: run.run_id.to_string(),
                    kind: open.question.kind,
                    first_line: open.first_line().to_owned(),
                    at: open.at,
                });
            }
        }
    }
    Ok(waits)
}

async fn tell_over(
    home: &Home,
    config: &NotifyConfig,
    channel: Channel,
    waits: &[Waits],
) -> anyhow::Result<Option<Duration>> {
    let store = || format!("can't use `{}`", home.notices().display());
    let ids: Vec<String> = waits.iter().map(|one| one.id.clone()).collect();
    let untold = notices::untold(home, channel, &ids).with_context(store)?;
    let of = |ids: &[String]| waits.iter().filter(|one| ids.contains(&one.id)).cloned().collect::<Vec<Waits>>();
    let now = Timestamp::now();
    let quiet = config.quiet.as_ref().map(|setting| &setting.value);
    let local = quiet.map(|hours| (&hours.quiet, hours.zone.to_datetime(now).time()));
    let notice = match notice::due(&of(&untold), local, now) {
        Due::Nothing => return Ok(None),
        Due::Gathering(left_ms) => return Ok(Some(Duration::from_millis(u64::try_from(left_ms).unwrap_or(0)))),
        Due::Now(notice) => notice,
    };
    let meant: Vec<String> = notice.waits.iter().map(|one| one.id.clone()).collect();
    let ours = notices::claim(home, channel, &meant, now).with_context(store)?;
    // Somebody else may have told of some of them meanwhile: what is left is told in the words for it.
    let Due::Now(notice) = notice::due(&of(&ours), None, Timestamp::MAX) else { return Ok(None) };
    let told = match channel {
        Channel::Command => run_command(home, config, &notice).await,
        Channel::Webhook => post(home, config, &notice).await,
    };
    if told.is_err() {
        notices::give_back(home, channel, &ours, now).with_context(store)?;
    }
    told.map(|()| None)
}

async fn run_command(home: &Home, config: &NotifyConfig, notice: &Notice) -> anyhow::Result<()> {
    let words = config.command.as_ref().map(|command| command.value.as_slice()).unwrap_or_default();
    let Some((program, args)) = words.split_first() else { return Ok(()) };
    let folder = rustix::fs::open(home.root(), OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    // A desktop is found by these two; nothing else of the environment is a program's that tells.
    let named = ["DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"].map(str::to_owned);
    let command = Command {
        program: program.into(),
        args: args.iter().chain([&notice.title, &notice.text]).map(OsString::from).collect(),
        folder,
        environment: environment::for_commands(std::env::vars_os(), &named),
        timeout: COMMAND_TIMEOUT,
        stream_bytes_max: COMMAND_SAYS_BYTES_MAX,
        confinement: Confinement::None,
    };
    let ended = custody::run(command, CancellationToken::new()).await.map_err(|error| {
        let why = std::error::Error::source(&error).map(|why| format!(": {why}")).unwrap_or_default();
        anyhow!("{error}{why}")
    })?;
    match (ended.cause, ended.exit_code) {
        (Cause::Itself, Some(0)) => Ok(()),
        (Cause::Itself, code) => {
            let how = code.map_or_else(|| "by a signal".to_owned(), |code| format!("with {code}"));
            let said = ended.stderr.text().trim().to_owned();
            Err(anyhow!("`{program}` ended {how}: {}", secrets::mask(&said)))
        }
        (Cause::Timeout | Cause::Cancelled, _) => {
            Err(anyhow!("`{program}` took longer than {} s", COMMAND_TIMEOUT.as_secs()))
        }
    }
}

async fn post(home: &Home, config: &NotifyConfig, notice: &Notice) -> anyhow::Result<()> {
    let Some(url) = config.webhook.as_ref().map(|webhook| webhook.value.as_str()) else { return Ok(()) };
    let keys = settings::keys(home)?;
    // It was chosen by the operator, so it needs no entry in the list of hosts; a private address does.
    let hosts = Hosts::load(&home.root().join("http-allow.json")).chosen(url);
    let client = HttpClient::for_api(hosts, settings::proxies()?)?;
    let id = uuid::Uuid::now_v7().to_string();
    let format = config.format.as_ref().map(|format| format.value).unwrap_or_default();
    let body = notice::body(notice, format, &id, Timestamp::now());
    let it = Post { url, id: &id, body: &body, secret: keys.get(NOTIFY_KEY) };
    let sent = webhook::post(&client, &it, &webhook::WAITS, || Timestamp::now().as_second()).await;
    sent.map_err(|why| anyhow!("the webhook of `notify` can't be reached: {why}"))
}
