//! `adjutant resume`: goes on where a run's journal stands.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_core::inbox::reply::Reply;
use adjutant_core::trace::{AskEvent, Body, Entry};
use adjutant_core::words::effort::Effort;
use adjutant_core::words::id::RunId;
use adjutant_core::words::{Choice, Message, Mode, Part, QuestionKind};
use adjutant_core::work::Work;
use adjutant_host::text_file;
use adjutant_ports::Answered;
use adjutant_runtime::assembly::{self, ResumeChanges, TakeOver, TakenOver};
use adjutant_runtime::mail::{self, Given, OPERATOR};
use adjutant_runtime::{Driver, Ended};
use adjutant_store::runs::{self, Found};
use adjutant_store::{Damage, Home, Mailbox};
use anyhow::Context;
use clap_complete::ArgValueCandidates;

use crate::answers::Answers;
use crate::candidates;
use crate::console::Console;
use crate::exit::Ending;
use crate::failure::Failure;
use crate::folder::{self, FolderArgs, FolderPrompt};
use crate::loop_hand::{self, HandFiles};
use crate::notices;
use crate::order::Began;
use crate::render::Renderer;
use crate::screen::Screen;
use crate::settings::{self, Place, remark};
use crate::sitting::{self, SittingPlace};

/// Resume a run where it stopped
///
/// Folds the run's journal and goes on from there with the options it was started with. A call that was
/// interrupted is repeated only if it merely reads or its files show that it did not happen; otherwise
/// the agent is told that its effect is unknown. Questions that are open are asked again.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = "Examples:\n  \
                  adjutant resume RUN\n  \
                  adjutant resume RUN --context \"the port is 8080\"\n  \
                  adjutant resume RUN --extend 10")]
pub struct ResumeArgs {
    /// The run: its name, a unique beginning of it, or its brief's id for the latest (`ID-r1`: the first)
    #[arg(add = ArgValueCandidates::new(candidates::runs))]
    run: String,
    /// What a blocked agent should know: a text, or the name of a file that holds it
    #[arg(long, value_name = "TEXT|FILE")]
    context: Option<String>,
    /// How much more the run may use, if a limit was reached: steps, turns, minutes, tokens or dollars, whichever
    /// it was
    #[arg(long, value_name = "N", value_parser = amount)]
    extend: Option<String>,
    /// From here on go this far alone: `gated` or `auto`
    #[arg(long, value_name = "MODE", value_parser = |text: &str| assembly::mode(text).ok_or("a mode is `gated` or `auto`"))]
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
    /// End with exit code 4 where a loop would wait for you, instead of waiting
    #[arg(long)]
    no_wait: bool,
    /// Print every event as a line of JSON
    #[arg(long)]
    json: bool,
}

/// Resumes a run, and stays with a loop that stands still.
pub fn run(args: &ResumeArgs, place: &Place) -> anyhow::Result<Ending> {
    let began = sit(args, place)?;
    if args.no_wait {
        return Ok(began.ending);
    }
    loop_hand::stay(began, &place.home()?, |run_id| go_on(run_id, args.json, place))
}

/// Goes on with a run as it is.
pub(super) fn go_on(run_id: &RunId, json: bool, place: &Place) -> anyhow::Result<Began> {
    let args = ResumeArgs { run: run_id.to_string(), json, ..ResumeArgs::default() };
    sit(&args, place)
}

fn sit(args: &ResumeArgs, place: &Place) -> anyhow::Result<Began> {
    let home = place.home()?;
    let run_id = named(&home, &args.run)?;
    let answers = args.answers.as_deref().map(Answers::read).transpose()?;
    let surroundings = settings::surroundings()?;
    // A journal that can't be read is told of where it is taken over.
    let beginnings = runs::beginnings(&home, &run_id).unwrap_or_default();
    let (recorded, workdir) = (beginnings.workdir.as_deref(), args.workdir.as_deref());
    let asked = FolderPrompt::WithoutCopy;
    let run = TakeOver {
        home: &home,
        surroundings: &surroundings,
        run_id: &run_id,
        damage: if args.accept_damage { Damage::Accept } else { Damage::Refuse },
        changes: args.changes(),
        folder: folder::enter_again(&home, &surroundings, &run_id, recorded, workdir, &args.folder, asked)?,
        beginnings: beginnings.events,
        is_attended: std::io::stdin().is_terminal(),
        recording: args.record.as_deref(),
    };
    let runtime = sitting::runtime()?;
    let taken_over = runtime.block_on(assembly::take_over(run, &remark)).map_err(Failure::unready)?;
    let mut sitting = match taken_over {
        TakenOver::Over(outcome) => {
            Renderer::on_stdout(args.json).note(&sitting::over_already(&run_id, outcome));
            return Ok(Began::not(sitting::outcome_ending(outcome)));
        }
        TakenOver::GoesOn(sitting) => *sitting,
    };
    let workdir = PathBuf::from(&sitting.options().workdir);
    let hand = HandFiles::of_loop(&home, &run_id, sitting.options());
    let ended = runtime.block_on(async {
        let screen = Screen::new(Renderer::on_stdout(args.json));
        screen.attend(&sitting);
        let mailbox = Mailbox::of(&home, &run_id);
        let console = Arc::new(Console::new(screen.clone(), answers, Some(mailbox.clone()))?);
        screen.note(&sitting::first_line(&sitting, &format!("resuming {run_id}")));
        console.correspondence().show_skipped();
        if let Some(torn) = sitting::torn(&sitting) {
            screen.note(&torn);
        }
        let at = SittingPlace::of(&sitting, &home, true);
        let (mut driver, opening) = sitting.driver(console.clone(), &remark);
        let from_flags = answers_from_flags(args, &driver, &mailbox)?;
        opening.record(&mut driver, console.correspondence().waiting_letters(), from_flags)?;
        screen.recall(&driver);
        for (key, question) in driver.open_questions() {
            console.show_question(&key, &question);
        }
        if let Some(hand) = &hand {
            hand.answer_by_removal(&driver.open_questions());
        }
        driver.recover().await?;
        let ended = sitting::drive(&mut driver, &screen, &at, hand.as_ref()).await?;
        console.say_unused().await;
        driver.leave();
        anyhow::Ok(ended)
    })?;
    runtime.shutdown_background();
    sitting::close(sitting)?;
    if matches!(ended, Ended::Waiting(_)) {
        notices::parked(&home)?;
    }
    Ok(Began { ending: sitting::ending(&ended), ended, run: hand.map(|_| (run_id, workdir)) })
}

impl ResumeArgs {
    /// The options that are other ones from here on.
    fn changes(&self) -> ResumeChanges {
        ResumeChanges {
            workdir: self.workdir.clone(),
            script: self.script.clone(),
            base_url: self.base_url.clone(),
            effort: self.effort,
            patience_minutes: self.patience,
        }
    }
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

/// Flags that answer an open question are answers like any other. Found before anything is on record, so
/// that a flag which answers nothing leaves the journal as it was.
fn answers_from_flags(args: &ResumeArgs, driver: &Driver<'_, Work>, mailbox: &Mailbox) -> anyhow::Result<Vec<Entry>> {
    let by = || OPERATOR.to_owned();
    let id = || uuid::Uuid::now_v7().to_string();
    let mode = args.mode.map(|mode| Entry {
        part: Part::root(),
        body: Body::Ask(AskEvent::OperatorMessage { id: id(), message: Message::Mode(mode), by: by() }),
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
                let when = adjutant_core::words::moment::timestamp(theirs.at);
                let said = format!("{flag} comes too late: {} answered, {}, at {when}", theirs.by, theirs.whence);
                return Err(Failure::ending(Ending::Waiting, said).hint("resume it without the flag").into());
            }
            Err(error) => {
                tell!("warning: no answer from elsewhere counts: {error}");
                mail::answered(ours)
            }
        };
        entries.push(Entry {
            part: key.part,
            body: Body::Ask(AskEvent::Answer { slot: key.slot, id, choice, text, by, whence }),
        });
    }
    Ok(entries)
}

/// A positive number; what it counts is the limit's to say.
fn amount(typed: &str) -> Result<String, String> {
    if adjutant_core::words::budget::is_amount(typed) {
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
