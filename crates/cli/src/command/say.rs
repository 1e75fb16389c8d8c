//! `adjutant pause`, `stop`, `steer`, `amend`: what an operator says to a run from another terminal.
//!
//! Each puts a message into the run's mailbox; the process that drives the run takes it from there. A run that no
//! process drives finds it when it is resumed.

use adjutant_core::brief;
use adjutant_core::gate::authorization::covers_something;
use adjutant_core::gate::scope::is_pattern_of_paths;
use adjutant_core::inbox::{NoAddress, find_part};
use adjutant_core::session::amendment::authorized_by;
use adjutant_core::trace::{Event, RunStart};
use adjutant_core::words::id::RunId;
use adjutant_core::words::visible::visible_line;
use adjutant_core::words::{Amendment, Budget, Category, Message, Part};
use adjutant_runtime::say::{self, NotTold};
use adjutant_store::Home;
use adjutant_store::runs::{self, Found};
use clap_complete::ArgValueCandidates;
use serde_json::json;

use super::run::parse_dollars;
use crate::candidates;
use crate::exit::Ending;
use crate::failure::Failure;
use crate::settings::Place;
use crate::sitting;
/// Have a run stand still, to be resumed later
///
/// Turns and calls in flight end first; nothing more begins. It stands still until `adjutant resume`, also for a worker,
/// and whatever is answered meanwhile.
#[derive(Debug, clap::Args)]
pub struct PauseArgs {
    /// The run: its name, a unique beginning of it, or its brief's id for the latest (`ID-r1`: the first)
    #[arg(add = ArgValueCandidates::new(candidates::runs))]
    run: String,
    /// Cancel what is in flight instead of letting it end
    #[arg(long)]
    now: bool,
    /// Print what was said to which run as JSON
    #[arg(long)]
    json: bool,
}

/// Stop a run for good
#[derive(Debug, clap::Args)]
pub struct StopArgs {
    /// The run: its name, a unique beginning of it, or its brief's id for the latest (`ID-r1`: the first)
    #[arg(add = ArgValueCandidates::new(candidates::runs))]
    run: String,
    /// Print what was said to which run as JSON
    #[arg(long)]
    json: bool,
}

/// Tell a running agent something at its next turn
#[derive(Debug, clap::Args)]
pub struct SteerArgs {
    /// The run: its name, a unique beginning of it, or its brief's id for the latest (`ID-r1`: the first)
    #[arg(add = ArgValueCandidates::new(candidates::runs))]
    run: String,
    /// Tell one part that is at work, such as `subtask/2.1` or `critic` [default: whichever is at work]
    #[arg(long, value_name = "PART")]
    part: Option<String>,
    /// What the agent is told
    #[arg(required = true)]
    words: Vec<String>,
    /// Print what was said to which run as JSON
    #[arg(long)]
    json: bool,
}

/// Change what a run may do while it runs
///
/// Widens or narrows the brief: what it authorizes, its scope, its limits. What was allowed and has not begun is judged
/// again; the agent is told; it is on record.
#[derive(Debug, clap::Args)]
pub struct AmendArgs {
    /// The run: its name, a unique beginning of it, or its brief's id for the latest (`ID-r1`: the first)
    #[arg(add = ArgValueCandidates::new(candidates::runs))]
    run: String,
    /// Authorize a category too (may be given several times)
    #[arg(long, value_name = "CATEGORY", add = ArgValueCandidates::new(candidates::categories))]
    authorize: Vec<String>,
    /// Withdraw a category that the brief authorizes, as it stands there (may be given several times)
    #[arg(long, value_name = "CATEGORY", add = ArgValueCandidates::new(candidates::categories))]
    withdraw: Vec<String>,
    /// Take a path into the brief's scope (may be given several times)
    #[arg(long, value_name = "PATH")]
    scope: Vec<String>,
    /// Take a path out of the brief's scope, as it stands there (may be given several times)
    #[arg(long, value_name = "PATH")]
    unscope: Vec<String>,
    /// New token limit for the whole run, including what it has used
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_tokens: Option<u64>,
    /// New limit of minutes for the whole run, including those it took
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_minutes: Option<u64>,
    /// New limit of dollars for the whole run, such as 2.50, including what it has cost
    #[arg(long, value_name = "DOLLARS", value_parser = parse_dollars)]
    max_dollars: Option<u64>,
    /// New limit of turns for the whole run, including those it took
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_turns: Option<u64>,
    /// Print what was said to which run as JSON
    #[arg(long)]
    json: bool,
}

/// Pauses a run.
pub fn pause(args: &PauseArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let (run_id, _) = unfinished(&home, &args.run)?;
    let is_driven = say::is_driven(&home, &run_id);
    put(&home, &run_id, Part::root(), if args.now { Message::Interrupt } else { Message::Pause })?;
    // A driver hears of it; a worker leaves alone what nobody drives.
    let until = match (is_driven, args.now) {
        (true, true) => "",
        (true, false) => " once what is in flight has ended",
        (false, _) => ", and no worker goes on with it",
    };
    said(
        &run_id,
        "pause",
        is_driven,
        args.json,
        &format!("it stands still{until}: adjutant resume {}", runs::called(&home, &run_id)),
    )
}

/// Stops a run.
pub fn stop(args: &StopArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let (run_id, _) = unfinished(&home, &args.run)?;
    let said = MessageResult { now: "it stops now", later: "it ends when a worker takes it up, or at once with" };
    tell(&home, &run_id, Message::Stop, args.json, &said)
}

/// Tells the agent of a run something.
pub fn steer(args: &SteerArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let (run_id, events) = unfinished(&home, &args.run)?;
    let text = args.words.join(" ").trim().to_owned();
    if text.is_empty() {
        return Err(Failure::usage("there is nothing to tell the agent").hint("write it behind the run's name").into());
    }
    let later = "the agent is told when the run goes on";
    let Some(given) = &args.part else {
        let said = MessageResult { now: "the agent is told at its next turn", later };
        return tell(&home, &run_id, Message::Steer(text), args.json, &said);
    };
    let part = find_part(&events, given).map_err(no_address)?;
    let (now, later) = (format!("{part} is told at its next turn"), format!("{part} is told when the run goes on"));
    tell_part(&home, &run_id, part, Message::Steer(text), args.json, &MessageResult { now: &now, later: &later })
}

fn no_address(error: NoAddress) -> Failure {
    let (NoAddress::Unknown { at_work: parts, .. } | NoAddress::Ambiguous { may_be: parts, .. }) = &error;
    let names: Vec<String> = parts.iter().map(|part| format!("`{part}`")).collect();
    let hint = match names.as_slice() {
        [] => "no session is at work now: without --part the next one is told".to_owned(),
        _ => format!("at work: {}", names.join(", ")),
    };
    Failure::usage(visible_line(&error.to_string()).into_owned()).hint(hint)
}

/// Changes what a run may do.
pub fn amend(args: &AmendArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let (run_id, events) = unfinished(&home, &args.run)?;
    let start = sitting::run_start(&events)?;
    let amendment = Amendment {
        authorize: args.authorize.iter().map(|name| named(name)).collect::<anyhow::Result<_>>()?,
        withdraw: args.withdraw.iter().map(|name| named(name)).collect::<anyhow::Result<_>>()?,
        scope: args.scope.clone(),
        unscope: args.unscope.clone(),
        budget: Budget {
            max_tokens: args.max_tokens,
            max_minutes: args.max_minutes,
            max_nano_dollars: args.max_dollars,
            max_turns: args.max_turns,
            max_tool_calls: None,
        },
    };
    if amendment.is_empty() {
        return Err(Failure::usage("nothing is amended")
            .hint("say what with --authorize, --scope, --max-turns ...")
            .into());
    }
    if let Some(entry) = amendment.scope.iter().find(|entry| !is_pattern_of_paths(entry)) {
        return Err(Failure::usage(format!("`{}` is no path or pattern of paths", visible_line(entry))).into());
    }
    check_scope(start, &amendment)?;
    check_withdrawn(&events, start, &amendment)?;
    for line in amendment.lines() {
        tell!("{}", visible_line(&line));
    }
    let said = MessageResult { now: "the brief is amended", later: "the brief is amended when the run goes on" };
    tell(&home, &run_id, Message::Amend(Box::new(amendment)), args.json, &said)
}

/// A scope that names no paths restrains nothing, and adding one to it would not either.
fn check_scope(start: &RunStart, amendment: &Amendment) -> anyhow::Result<()> {
    let Some(brief) = brief::read_with(&start.brief, start.options.work.custom_roles()).brief else { return Ok(()) };
    let words = brief.scope.words();
    let names_paths = [&words.paths, &words.files, &words.folders].into_iter().any(Option::is_some);
    let changes = !amendment.scope.is_empty() || !amendment.unscope.is_empty();
    if changes && !names_paths {
        return Err(Failure::usage("the brief has no scope of paths to amend: every path is within it").into());
    }
    if amendment.scope.iter().chain(&amendment.unscope).any(|entry| entry.trim().is_empty()) {
        return Err(Failure::usage("an empty path is none").into());
    }
    Ok(())
}

/// Checks that each withdrawn entry is one that is authorized. Otherwise a wider entry would go on covering it, and the
/// operator wouldn't notice.
fn check_withdrawn(events: &[Event], start: &RunStart, amendment: &Amendment) -> anyhow::Result<()> {
    let Some(brief) = brief::read_with(&start.brief, start.options.work.custom_roles()).brief else { return Ok(()) };
    let held = authorized_by(brief.authorized_costs, events);
    match amendment.withdraw.iter().find(|category| !held.contains(category)) {
        None => Ok(()),
        Some(category) => {
            let listed: Vec<&str> = held.iter().map(Category::as_str).collect();
            let listed = if listed.is_empty() { "nothing".to_owned() } else { listed.join(", ") };
            Err(Failure::usage(format!("`{category}` can't be withdrawn: it is not what is authorized"))
                .hint(format!("authorized is: {listed}; withdraw that, and authorize what shall stay"))
                .into())
        }
    }
}

pub(super) fn named(name: &str) -> anyhow::Result<Category> {
    let name = name.trim();
    if covers_something(name) {
        return Ok(Category::new(name));
    }
    Err(Failure::usage(format!("there is no category `{}`", visible_line(name)))
        .hint("`adjutant tools` shows what each tool needs")
        .into())
}

/// The run of that name with its events, if it can still be told something.
fn unfinished(home: &Home, name: &str) -> anyhow::Result<(RunId, Vec<Event>)> {
    let run_id = match runs::find(home, name).map_err(super::not_found)? {
        Found::Run(run_id) => run_id,
        Found::Peer(name) => {
            return Err(
                Failure::usage(format!("`{name}` is a session of another program: it can only be looked at")).into()
            );
        }
    };
    let events = say::unfinished(home, &run_id).map_err(not_told)?;
    Ok((run_id, events))
}

fn not_told(error: NotTold) -> anyhow::Error {
    match error {
        NotTold::Over { ref run_id } => {
            Failure::usage(error.to_string()).hint(format!("`adjutant inspect {run_id}` shows how it ended")).into()
        }
        NotTold::Unread(error) => error.into(),
        NotTold::Mailbox(error) => Failure::of(Ending::Failed, &error, error.hint()).into(),
    }
}

/// Puts a message into the run's mailbox.
fn put(home: &Home, run_id: &RunId, to: Part, message: Message) -> anyhow::Result<()> {
    say::say(home, run_id, to, message, "inbox").map_err(not_told)
}

/// What an operator is told of a message: what comes of it now, and later if the run is not running.
struct MessageResult<'w> {
    now: &'w str,
    later: &'w str,
}

/// Tells the whole run something, and the operator what comes of it.
fn tell(home: &Home, run_id: &RunId, message: Message, json: bool, then: &MessageResult<'_>) -> anyhow::Result<Ending> {
    tell_part(home, run_id, Part::root(), message, json, then)
}

fn tell_part(
    home: &Home,
    run_id: &RunId,
    to: Part,
    message: Message,
    json: bool,
    then: &MessageResult<'_>,
) -> anyhow::Result<Ending> {
    let what = word(&message);
    put(home, run_id, to, message)?;
    let is_driven = say::is_driven(home, run_id);
    let then = match is_driven {
        true => then.now.to_owned(),
        false => format!("not running; {}: adjutant resume {}", then.later, runs::called(home, run_id)),
    };
    said(run_id, what, is_driven, json, &then)
}

/// The command by which an operator says this.
const fn word(message: &Message) -> &'static str {
    match message {
        Message::Stop => "stop",
        Message::Steer(_) => "steer",
        Message::Amend(_) => "amend",
        Message::Cancel | Message::Pause | Message::Interrupt => "pause",
        Message::Mode(_) => "mode",
    }
}

/// Says what was said to a run, and what comes of it: a word for people, an object for programs.
fn said(run_id: &RunId, what: &str, is_driven: bool, json: bool, then: &str) -> anyhow::Result<Ending> {
    if json {
        super::print_json(&json!({ "run": run_id.as_str(), "said": what, "is_driven": is_driven }))?;
    } else {
        tell!("run {run_id}: {then}");
    }
    Ok(Ending::Done)
}
