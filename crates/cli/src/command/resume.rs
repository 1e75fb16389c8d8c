//! `adjutant resume`: goes on where a run's journal stands.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use adjutant_agents::recorded::Existing;
use adjutant_core::budget;
use adjutant_core::effort::Effort;
use adjutant_core::id::RunId;
use adjutant_core::inbox::reply::Reply;
use adjutant_core::inbox::{Choice, Message, QuestionKind};
use adjutant_core::procedure::Part;
use adjutant_core::session::Mode;
use adjutant_core::trace::{Body, Entry, Event, RunOptions, RunStart, wire};
use adjutant_core::view::visible_text;
use adjutant_core::work::Work;
use adjutant_host::text_file;
use adjutant_ports::{Answered, CancellationToken};
use adjutant_runtime::mail::{self, Given, OPERATOR};
use adjutant_runtime::{Driver, Ended, say};
use adjutant_store::folders::Claimant;
use adjutant_store::runs::{self, Found};
use adjutant_store::{Damage, FileJournal, Home, Mailbox, OpenError, Owner};
use anyhow::Context;
use jiff::Timestamp;

use crate::answers::Answers;
use crate::console::Console;
use crate::exit::Ending;
use crate::failure::Failure;
use crate::folder::{self, Asked, Entered, FolderArgs};
use crate::notices;
use crate::render::Renderer;
use crate::settings::{self, Place, Typed};
use crate::sitting::{self, Sitting};

/// Resume a run where it stopped
///
/// Folds the run's journal and goes on from there with the options it was started with. A call that was
/// interrupted is repeated only if it merely reads or its files show that it did not happen; otherwise
/// the agent is told that its effect is unknown. Questions that are open are asked again.
#[derive(Debug, Default, clap::Args)]
pub struct ResumeArgs {
    /// The run: its name, a unique beginning of it, or its brief's id for the latest
    run: String,
    /// What a blocked agent should know: a text, or the name of a file that holds it
    #[arg(long, value_name = "TEXT|FILE")]
    context: Option<String>,
    /// How much more the run may use, if a limit was reached: steps, turns, minutes, tokens or dollars, whichever
    /// it was
    #[arg(long, value_name = "N", value_parser = amount)]
    extend: Option<String>,
    /// From here on go this far alone: `gated` or `auto`
    #[arg(long, value_name = "MODE", value_parser = |text: &str| settings::mode(text).ok_or("a mode is `gated` or `auto`"))]
    mode: Option<Mode>,
    /// Work in another folder than before, such as one that was moved
    #[arg(long, value_name = "DIR")]
    workdir: Option<PathBuf>,
    /// Ask the adapter's API at another address than before
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// From here on wait so many minutes for a provider that fails before it is given up
    #[arg(long, value_name = "N")]
    patience: Option<u64>,
    /// From here on ask the run's model to think so hard: `low`, `medium`, `high` or `max`
    #[arg(long, value_name = "EFFORT")]
    effort: Option<Effort>,
    /// Play another script or recording than before
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Record every exchange with the agent in this file; a recording that is there goes on
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Go on although the journal is damaged; what can't be read counts as never having happened
    #[arg(long)]
    accept_damage: bool,
    /// Take answers to questions from a file, in order
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    #[command(flatten)]
    folder: FolderArgs,
    /// Print every event as a line of JSON
    #[arg(long)]
    json: bool,
    /// The worker that goes on with the run: nobody is asked then, whoever may be at the terminal
    #[arg(skip)]
    worker: Option<Worker>,
}

/// The worker that goes on with a run.
#[derive(Debug, Clone)]
pub struct Worker {
    /// The very run: its name alone might mean a later one of its brief.
    pub run_id: RunId,
    /// Cancelled when it ends.
    pub stop: CancellationToken,
    /// Whether other runs are shown beside this one.
    pub several: bool,
}

impl ResumeArgs {
    /// Those of a worker, which goes on with `run` by what its mailbox says.
    pub fn of_worker(json: bool, worker: Worker) -> Self {
        Self { json, worker: Some(worker), ..Self::default() }
    }
}

/// Resumes a run.
pub fn run(args: &ResumeArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let run_id = match &args.worker {
        Some(worker) => worker.run_id.clone(),
        None => named(&home, &args.run)?,
    };
    let answers = args.answers.as_deref().map(Answers::read).transpose()?;
    let entered = claim_folder(args, &home, &run_id)?;
    let damage = if args.accept_damage { Damage::Accept } else { Damage::Refuse };
    let (mut journal, recovered) =
        FileJournal::take_over(&home, &run_id, &Owner::current(), Timestamp::now(), damage).map_err(cant_open)?;
    let events = &recovered.events;
    let start = start(events)?;
    if let Some(outcome) = say::outcome(events) {
        let outcome_name = format!("{outcome:?}").to_lowercase();
        match &args.worker {
            Some(worker) => Renderer::of_worker(args.json, &run_id, worker.several),
            None => Renderer::on_stdout(args.json),
        }
        .note(&format!("run {run_id}: is over already ({outcome_name}); nothing to resume"));
        return Ok(sitting::outcome_ending(outcome));
    }
    let before = latest_options(events, &start.options).clone();
    let options = changed(args, &before)?;
    // What is not on record, such as how long an adapter may be silent, holds as it is set now.
    let typed = Typed { workdir: Some(PathBuf::from(&options.workdir)), ..Typed::default() };
    let settings = settings::resolve(&home, &typed, None)?;
    let of_run = if args.worker.is_some() { format!("run {run_id}: ") } else { String::new() };
    for notice in &settings.notices {
        tell!("warning: {of_run}{}", visible_text(&notice.to_string()));
    }
    let brief = sitting::recorded_brief(&start.brief, &start.options.custom_roles)?;
    let brief_id = start.brief_id.clone();
    let mut sitting = Sitting::open(&home, brief, &brief_id, options.clone(), settings.adapters, &settings.sandbox)?;
    if let Some(path) = &args.record {
        sitting.record(path, Existing::Append)?;
    }
    let path = journal.path().to_owned();
    let accepted_damage = recovered.accepted_damage();

    let runtime = sitting::runtime()?;
    let ended = runtime.block_on(async {
        let doing = format!("resuming {run_id}");
        let console = match &args.worker {
            Some(worker) => {
                let renderer = Renderer::of_worker(args.json, &run_id, worker.several);
                let console = Console::unattended(renderer, worker.stop.clone(), last_sitting(&recovered.events))?;
                sitting.unattended_console(&doing, console)
            }
            None => sitting.console(&doing, args.json, answers)?,
        };
        let mailbox = Mailbox::of(&home, &run_id);
        console.use_mailbox(mailbox.clone());
        if recovered.torn_bytes > 0 {
            let torn = format!("an unfinished last line of {} bytes was cut off the journal", recovered.torn_bytes);
            console.with_renderer(|renderer| renderer.note(&torn));
        }
        let loaded = sitting.grants_loaded(&recovered.events);
        let inherited = sitting.memory_inherited(&recovered.events);
        let mut driver = sitting.driver(recovered.events, &mut journal, &console);
        let from_flags = answers_from_flags(args, &driver, &mailbox)?;
        let resume = Body::RunResume { options: (options != before).then(|| Box::new(options)), accepted_damage };
        driver.append(Entry { part: Part::root(), body: resume })?;
        if let Some(report) = sitting.sandbox_report() {
            driver.append(report)?;
        }
        for entry in [loaded, inherited].into_iter().flatten() {
            driver.append(entry)?;
        }
        for text in entered.iter().flat_map(Entered::beside) {
            driver.append(Entry { part: Part::root(), body: Body::Warning { text } })?;
        }
        for heard in console.waiting_letters() {
            driver.hear(heard)?;
        }
        for entry in from_flags {
            driver.append(entry)?;
        }
        for (_, question) in driver.open_questions() {
            console.show_question(&question);
        }
        if args.worker.is_some() {
            driver.let_sleep();
        }
        driver.recover()?;
        sitting::drive(&mut driver, &console, run_id.as_str(), Some(&path)).await
    })?;
    runtime.shutdown_background();
    sitting.close_recording();
    journal.close().context("can't close the journal")?;
    // A worker tells of all at once.
    if args.worker.is_none() && matches!(ended, Ended::Waiting(_)) {
        notices::parked(&home)?;
    }
    Ok(sitting::ending(&ended))
}

/// Claims the folder that the run works in; nothing for a run that is over, or whose folder is not on record.
fn claim_folder(args: &ResumeArgs, home: &Home, run_id: &RunId) -> anyhow::Result<Option<Entered>> {
    // A journal that can't be read is told of where it is taken over.
    let Some(recorded) = runs::workdir(home, run_id).ok().flatten() else { return Ok(None) };
    let workdir = args.workdir.clone().unwrap_or_else(|| PathBuf::from(recorded));
    let asked = if args.worker.is_some() { Asked::Nobody } else { Asked::WithoutCopy };
    folder::enter(home, Claimant::Run(run_id.as_str()), &workdir, &args.folder, asked).map(Some)
}

/// The run that was typed.
fn named(home: &Home, typed: &str) -> anyhow::Result<RunId> {
    match runs::find(home, typed).map_err(super::not_found)? {
        Found::Run(run_id) => Ok(run_id),
        Found::Peer(name) => {
            Err(Failure::usage(format!("`{name}` is a session of another program: it can be looked at, not resumed"))
                .hint(format!("`adjutant inspect {name}` shows it"))
                .into())
        }
    }
}

/// The beginning of a run, as its journal has it.
pub fn start(events: &[Event]) -> anyhow::Result<&RunStart> {
    let start = events.iter().find_map(|event| match &event.body {
        Body::RunStart(start) => Some(&**start),
        _ => None,
    });
    start.ok_or_else(|| {
        Failure::ending(Ending::Failed, "the run was killed before its beginning was on record")
            .hint("start it anew with `adjutant run --new`")
            .into()
    })
}

/// When the last sitting of a run began; the beginning of time if none is on record.
fn last_sitting(events: &[Event]) -> Timestamp {
    let is_begin = |event: &&Event| matches!(event.body, Body::RunStart(_) | Body::RunResume { .. });
    events.iter().rev().find(is_begin).map_or(Timestamp::UNIX_EPOCH, |event| event.at)
}

/// The options that held last.
pub fn latest_options<'e>(events: &'e [Event], started: &'e RunOptions) -> &'e RunOptions {
    let changed = events.iter().rev().find_map(|event| match &event.body {
        Body::RunResume { options: Some(options), .. } => Some(options),
        _ => None,
    });
    changed.map_or(started, AsRef::as_ref)
}

fn changed(args: &ResumeArgs, before: &RunOptions) -> anyhow::Result<RunOptions> {
    let current = std::env::current_dir().context("can't tell the current folder")?;
    let absolute = |path: &Path| current.join(path).display().to_string();
    let mut options = before.clone();
    if let Some(workdir) = &args.workdir {
        options.workdir = absolute(workdir);
    }
    if let Some(script) = &args.script {
        options.script = Some(absolute(script));
    }
    if let Some(base_url) = &args.base_url {
        options.agent.base_url = Some(base_url.clone());
    }
    if let Some(effort) = args.effort {
        options.agent.effort = Some(effort);
    }
    if let Some(minutes) = args.patience {
        options.patience_ms = Some(minutes.saturating_mul(60_000));
    }
    options.unattended = args.worker.is_some() || !std::io::stdin().is_terminal();
    Ok(options)
}

/// Flags that answer an open question are answers like any other. Found before anything is on record, so
/// that a flag which answers nothing leaves the journal as it was.
fn answers_from_flags(args: &ResumeArgs, driver: &Driver<'_, Work>, mailbox: &Mailbox) -> anyhow::Result<Vec<Entry>> {
    let by = || OPERATOR.to_owned();
    let id = || uuid::Uuid::now_v7().to_string();
    let mode = args.mode.map(|mode| Entry {
        part: Part::root(),
        body: Body::OperatorMessage { id: id(), message: Message::Mode(mode), by: by() },
    });
    let mut entries: Vec<Entry> = mode.into_iter().collect();
    let context = args.context.as_ref().map(|given| context(given)).transpose()?;
    for (kind, choice, text, flag) in [
        (QuestionKind::Blocker, Choice::Context, context, "--context"),
        (QuestionKind::Limit, Choice::Extend, args.extend.clone(), "--extend"),
    ] {
        let Some(text) = text else { continue };
        let Some((key, _)) = driver.open_questions().into_iter().find(|(_, question)| question.kind == kind) else {
            let what = if kind == QuestionKind::Blocker { "is not blocked" } else { "has not reached its limit" };
            return Err(Failure::usage(format!("{flag} answers nothing: the run {what}"))
                .hint("resume it without the flag")
                .into());
        };
        let ours = mail::answer(&key, kind, Reply { choice, text: Some(text) }, "resume");
        let Answered { id, choice, text, by, whence } = match mail::give(mailbox, ours.clone()) {
            Ok(Given::Ours(answered)) => answered,
            Ok(Given::Theirs(theirs)) => {
                let when = wire::timestamp(theirs.at);
                let said = format!("{flag} comes too late: {} answered, {}, at {when}", theirs.by, theirs.whence);
                return Err(Failure::ending(Ending::Waiting, said).hint("resume it without the flag").into());
            }
            Err(error) => {
                tell!("warning: no answer from elsewhere counts: {error}");
                mail::answered(ours)
            }
        };
        entries.push(Entry { part: key.part, body: Body::Answer { slot: key.slot, id, choice, text, by, whence } });
    }
    Ok(entries)
}

/// A positive number; what it counts is the limit's to say.
fn amount(typed: &str) -> Result<String, String> {
    if budget::is_amount(typed) {
        return Ok(typed.trim().to_owned());
    }
    Err("it must be a number above 0, such as 10 or 2.50".to_owned())
}

/// The longest context that is read from a file, in bytes.
const CONTEXT_BYTES_MAX: u64 = 4 << 20;

/// A text as it is, or the content of the file of that name.
fn context(given: &str) -> anyhow::Result<String> {
    let path = Path::new(given);
    if given.len() <= 1024 && !given.contains('\n') && path.is_file() {
        return text_file::read(path, CONTEXT_BYTES_MAX).with_context(|| format!("can't read the context `{given}`"));
    }
    let names_a_file = !given.contains(char::is_whitespace)
        && (given.contains('/') || [".md", ".markdown", ".txt"].iter().any(|ending| given.ends_with(ending)));
    if names_a_file {
        return Err(Failure::usage(format!("there is no file `{given}` to read the context from"))
            .hint("name a file that is there, or write the context itself")
            .into());
    }
    Ok(given.to_owned())
}

fn cant_open(error: OpenError) -> anyhow::Error {
    Failure::of(Ending::Failed, &error, error.hint()).into()
}
