//! One sitting of a run at this terminal: what is said when it begins, while it is driven and at its end, and its exit
//! code. The run itself is put together by the runtime's `assembly`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use adjutant_core::brief::Brief;
use adjutant_core::gate::custom_role::{CustomRoles, Member};
use adjutant_core::run::AccountName;
use adjutant_core::trace::{Event, RunOptions, RunStart};
use adjutant_core::view::list::RunState;
use adjutant_core::words::id::RunId;
use adjutant_core::words::role::{Role, RoleName};
use adjutant_core::words::{Key, Outcome, Part, Question, QuestionKind};
use adjutant_core::work::Work;
use adjutant_runtime::assembly::{self, Sitting};
use adjutant_runtime::{Driver, Ended};
use adjutant_store::{Home, runs};
use anyhow::Context;

use crate::exit::Ending;
use crate::failure::Failure;
use crate::loop_hand::HandFiles;
use crate::screen::Screen;
use crate::totals::SittingTotals;

/// The first line of a sitting: the version, what is about to happen (such as `run 2024-05-06-A1`), and who takes the
/// turns.
pub fn first_line(sitting: &Sitting, doing: &str) -> String {
    let agent = match sitting.agents().first() {
        None => "nobody".to_owned(),
        Some(agent) => {
            let note = if agent.id() == "scripted" { "; a script, no model is talking" } else { "" };
            format!("{} ({}{note})", agent.id(), agent.model())
        }
    };
    format!("adjutant {} \u{b7} {doing} \u{b7} {agent}", env!("CARGO_PKG_VERSION"))
}

/// Says that a run that was to go on is over already.
pub fn over_already(run_id: &RunId, outcome: Outcome) -> String {
    let outcome_name = format!("{outcome:?}").to_lowercase();
    format!("run {run_id}: is over already ({outcome_name}); nothing to resume")
}

/// Says that something was cut off the journal, if it was.
pub fn torn(sitting: &Sitting) -> Option<String> {
    let bytes = sitting.torn_bytes();
    (bytes > 0).then(|| format!("an unfinished last line of {bytes} bytes was cut off the journal"))
}

/// Says who plays which role, a line each; nothing for one agent alone.
pub fn crew(options: &RunOptions) -> Vec<String> {
    let Some(crew) = options.work.crew() else { return Vec::new() };
    let base = |role: &RoleName| Member::of(role, &crew.custom_roles).map(|member| member.base);
    let played = crew.roles.iter().filter(|role| !crew.plans_only || base(role) == Some(Role::Planner));
    let line = |role: &RoleName| {
        let agent = crew.role_agents.get(role).unwrap_or(&options.agent);
        let place = base(role).filter(|base| *role != *base).map(|base| format!(" (as {base})")).unwrap_or_default();
        format!("{role}{place}: {}", agent.name())
    };
    played.map(line).collect()
}

/// The beginning of a run, as its journal has it.
///
/// # Errors
///
/// If it has none.
pub fn run_start(events: &[Event]) -> anyhow::Result<&RunStart> {
    assembly::run_start(events).map_err(Failure::unready)
}

/// The brief that a journal holds, of a run with these roles.
///
/// # Errors
///
/// If this version can't read it any more.
pub fn recorded_brief(text: &str, roles: &CustomRoles) -> anyhow::Result<Brief> {
    assembly::recorded_brief(text, roles).map_err(Failure::unready)
}

/// The places of a sitting, which its end tells of.
pub struct SittingPlace {
    run_id: RunId,
    home: Home,
    journal: PathBuf,
    /// True if the journal stays once the run is over.
    is_kept: bool,
    workdir: PathBuf,
    /// True if the working folder is a copy that was made for the run.
    is_copy: bool,
}

impl SittingPlace {
    /// The places of `sitting`, whose copies are in `home`. `is_kept` says whether its journal stays.
    pub fn of(sitting: &Sitting, home: &Home, is_kept: bool) -> Self {
        let workdir = PathBuf::from(&sitting.options().workdir);
        Self {
            run_id: sitting.run_id().clone(),
            home: home.clone(),
            journal: sitting.journal_path().to_owned(),
            is_kept,
            is_copy: workdir.starts_with(home.root().join("workdirs")),
            workdir,
        }
    }
}

/// Drives a run while the operator is shown what is in flight, and says at the end what came of it and how to go on.
///
/// # Errors
///
/// If the journal can't be written any more, or another driver has the run.
pub async fn drive(
    driver: &mut Driver<'_, Work>,
    screen: &Screen,
    place: &SittingPlace,
    hand: Option<&HandFiles>,
) -> anyhow::Result<Ended> {
    let spending = driver.facts().accounts().spending(&AccountName::Under(Part::root())).clone();
    screen.with_renderer(|renderer| renderer.seed(spending));
    let ended = tokio::select! {
        ended = driver.run() => ended?,
        never = screen.keep_status() => match never {},
        never = watched(hand) => match never {},
    };
    let effects = driver.effects();
    let spending = driver.facts().accounts().spending(&AccountName::Under(Part::root()));
    screen.with_renderer(|renderer| {
        let files = renderer.file_totals(&effects.first_hashes);
        let totals = SittingTotals::of(spending, effects, files);
        renderer.close(&closing(&ended, place, &totals), &closing_json(&ended, place, &totals));
    });
    Ok(ended)
}

/// Watches the files by which a person has a hand on a loop; waits for ever for a run that is none.
async fn watched(hand: Option<&HandFiles>) -> std::convert::Infallible {
    match hand {
        Some(hand) => hand.watch().await,
        None => std::future::pending().await,
    }
}

/// Returns the exit code for the end of a sitting. A question that is open decides which.
pub fn ending(ended: &Ended) -> Ending {
    match ended {
        Ended::Finished(outcome) => outcome_ending(*outcome),
        Ended::Interrupted => Ending::Interrupted,
        Ended::Sleeping(_) => Ending::Waiting,
        Ended::Waiting(open) => {
            let is_open = |kind| open.iter().any(|(_, question)| question.kind == kind);
            if is_open(QuestionKind::Failure) {
                Ending::Failed
            } else if is_open(QuestionKind::Limit) {
                Ending::LimitReached
            } else if is_open(QuestionKind::Blocker) {
                Ending::Blocked
            } else {
                Ending::Waiting
            }
        }
    }
}

/// The exit code of a run that is over.
pub const fn outcome_ending(outcome: Outcome) -> Ending {
    match outcome {
        Outcome::Completed => Ending::Done,
        Outcome::Declined | Outcome::Stopped => Ending::Declined,
        // Only a part of a run is ever superseded; what it was to bring is not there.
        Outcome::Failed | Outcome::Superseded => Ending::Failed,
        // The number of rounds that it may get nowhere.
        Outcome::Stalled => Ending::LimitReached,
    }
}

/// Returns the lines printed at the end of a sitting: how it ended, what it took and changed, how to go on.
fn closing(ended: &Ended, place: &SittingPlace, totals: &SittingTotals) -> Vec<String> {
    let SittingPlace { run_id, home, journal, is_kept, workdir, is_copy } = place;
    let mut lines = vec![match ended {
        Ended::Finished(Outcome::Completed) if totals.files.is_empty() && !totals.has_commands => {
            format!("run {run_id}: completed; no file was changed and no command was run")
        }
        Ended::Finished(Outcome::Completed) => format!("run {run_id}: completed"),
        Ended::Finished(Outcome::Declined) => format!("run {run_id}: declined; nothing was done"),
        Ended::Finished(Outcome::Stopped) => format!("run {run_id}: stopped"),
        Ended::Finished(Outcome::Failed) => format!("run {run_id}: failed"),
        Ended::Finished(Outcome::Stalled) => format!("run {run_id}: stalled: it went on without getting anywhere"),
        Ended::Finished(Outcome::Superseded) => format!("run {run_id}: not needed any more"),
        Ended::Interrupted => format!("run {run_id}: interrupted"),
        Ended::Waiting(open) => format!("run {run_id}: waiting ({}): {}", kinds(open), wanted(open)),
        Ended::Sleeping(until) => {
            format!("run {run_id}: sleeps until {}", adjutant_core::words::moment::timestamp(*until))
        }
    }];
    lines.extend(totals.lines());
    if *is_kept {
        // Another run of the brief may have begun meanwhile.
        let called = runs::called(home, run_id);
        if *is_copy {
            lines.push(format!("copy: {}", workdir.display()));
            if matches!(ended, Ended::Finished(_)) && (totals.has_commands || !totals.files.is_empty()) {
                lines.push(format!("see its change: adjutant diff {called}"));
                lines.push(format!("bring it home: adjutant apply {called}"));
            }
        }
        lines.push(way_on(ended, &called));
        lines.push(format!("journal: {}", journal.display()));
    }
    lines
}

/// Returns the next command, with what it is for.
fn way_on(ended: &Ended, called: &str) -> String {
    match ended {
        Ended::Finished(_) => format!("look at it: adjutant inspect {called}"),
        Ended::Interrupted => format!("go on: adjutant resume {called}"),
        Ended::Sleeping(_) => {
            format!("a worker goes on with it then; to try again now: adjutant resume {called}")
        }
        Ended::Waiting(open) => match open.first().map(|(_, question)| (question.kind, question)) {
            Some((QuestionKind::Blocker, _)) => {
                format!("go on: adjutant resume {called} --context \"what the agent should know\"")
            }
            Some((QuestionKind::Limit, question)) => {
                let what = question.options.first().map(|offer| offer.changes.as_str()).unwrap_or_default();
                let amount = if what.contains("steps") { "10" } else { "N" };
                format!("go on: adjutant resume {called} --extend {amount} ({what})")
            }
            _ => format!("go on: adjutant resume {called}"),
        },
    }
}

/// Returns the same facts for a program.
fn closing_json(ended: &Ended, place: &SittingPlace, totals: &SittingTotals) -> serde_json::Value {
    let SittingPlace { run_id, home: _, journal, is_kept, workdir, is_copy } = place;
    let (state, outcome) = match ended {
        Ended::Finished(outcome) => ("finished", Some(outcome.as_str())),
        Ended::Interrupted => ("interrupted", None),
        Ended::Waiting(_) => ("waiting", None),
        Ended::Sleeping(_) => ("sleeping", None),
    };
    let mut facts = serde_json::json!({
        "run": run_id.to_string(), "type": "sitting_end", "state": state, "outcome": outcome, "totals": totals,
    });
    if *is_kept {
        facts["workdir"] = workdir.display().to_string().into();
        facts["is_copy"] = (*is_copy).into();
        facts["journal"] = journal.display().to_string().into();
    }
    facts
}

fn kinds(open: &[(Key, Question)]) -> String {
    open.iter().map(|(_, question)| question.kind.as_str()).collect::<Vec<_>>().join(", ")
}

/// Returns what a run waits for, as the list says it.
fn wanted(open: &[(Key, Question)]) -> String {
    let none = BTreeSet::new();
    let words = open.iter().map(|(_, question)| RunState::Waits(question.kind).in_words(&none));
    words.collect::<Vec<_>>().join(", ")
}

/// Ends a sitting that was driven, and says so if the recording of its exchanges is not whole.
///
/// # Errors
///
/// If the room of its journal can't be given back.
pub fn close(sitting: Sitting) -> anyhow::Result<()> {
    if let Some(fault) = sitting.recording_fault() {
        tell!("warning: {fault}");
    }
    sitting.close().context("can't close the journal")
}

/// The runtime that a sitting runs on. One thread: whatever takes long runs in processes of its own.
///
/// # Errors
///
/// If the system gives no event queue.
pub fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("can't start the runtime")
}
