//! `adjutant work`: goes on with runs that wait, once they can.

mod going_on;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread;
use std::time::Duration;

use adjutant_core::inbox::hours::Hours;
use adjutant_core::inbox::worker::Outlook;
use adjutant_core::words::id::RunId;
use adjutant_core::words::visible::visible_line;
use adjutant_ports::CancellationToken;
use adjutant_runtime::assembly::{HeldUp, Surroundings, at_work};
use adjutant_runtime::say;
use adjutant_store::folders;
use adjutant_store::runs::{self, Asking, Idle};
use adjutant_store::{Home, Mailbox, Owner};
use anyhow::{Context, anyhow};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::Instant;

use self::going_on::GoingOn;
use crate::exit::Ending;
use crate::failure;
use crate::settings::{self, Place};
use crate::{notices, sitting};

/// Wait before a notice that failed is tried again.
const TELL_AGAIN: Duration = Duration::from_secs(60);

/// The most runs at once: each has a thread, and commands of its own.
const JOBS_MAX: i64 = 64;

/// Interval between looks at all runs.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Go on with runs that nobody drives, once they can
///
/// Takes each run that has an answer or a `stop` in its mailbox or a question whose deadline has passed, and each whose
/// process was killed at work, and goes on with it as `resume` does. What an operator paused or interrupted is left until they
/// resume it. A run that has to wait for its provider for more than a minute gives its place to another and is taken up
/// again when the wait is over. Nobody is asked here: what comes up waits in the inbox. Ends with Ctrl-C, which leaves
/// the runs at work to the next worker.
#[derive(Debug, clap::Args)]
pub struct WorkArgs {
    /// Look once, go on with what can, and end
    #[arg(long)]
    once: bool,
    /// How many runs to go on with at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=JOBS_MAX))]
    jobs: u16,
    /// Take runs up within these hours only, such as 09:00-18:00 [default: at any time]
    #[arg(long, value_name = "FROM-TO", value_parser = parse_hours)]
    hours: Option<Hours>,
    /// Whose clock the hours hang on, such as Europe/Berlin [default: this machine's]
    #[arg(long, value_name = "ZONE", requires = "hours", value_parser = parse_zone)]
    zone: Option<TimeZone>,
    /// Print every event as a line of JSON, with its run
    #[arg(long)]
    json: bool,
}

fn parse_hours(text: &str) -> Result<Hours, String> {
    Hours::read(text).ok_or_else(|| "write two times of day that differ, such as 09:00-18:00".to_owned())
}

fn parse_zone(text: &str) -> Result<TimeZone, String> {
    TimeZone::get(text).map_err(|_unknown| "name a time zone that this machine knows, such as Europe/Berlin".to_owned())
}

impl WorkArgs {
    /// Returns true if runs are taken up at this moment.
    fn is_open(&self, now: Timestamp) -> bool {
        let zone = || self.zone.clone().unwrap_or_else(TimeZone::system);
        self.hours.is_none_or(|hours| hours.covers(zone().to_datetime(now).time()))
    }
}

/// State of a run when the worker resumed it. The run is left alone as long as nothing has come since.
///
/// Its mailbox as it was before, since an answer may come just when the run is let go, and its journal as it was left.
#[derive(Debug, Clone, Copy)]
struct Sight {
    at: Timestamp,
    journal_bytes: u64,
    mailbox_bytes: u64,
}

impl Sight {
    fn of(home: &Home, run_id: &RunId) -> Self {
        let journal_bytes = std::fs::metadata(home.journal(run_id)).map_or(0, |found| found.len());
        Self { at: Timestamp::now(), journal_bytes, mailbox_bytes: Mailbox::of(home, run_id).bytes() }
    }

    /// The same with the journal as it is now.
    fn left(self, home: &Home, run_id: &RunId) -> Self {
        Self { journal_bytes: Self::of(home, run_id).journal_bytes, ..self }
    }

    /// Returns true if nothing was written since, and no deadline has passed since, `wakes_at` among them. A clock that
    /// went back says nothing.
    fn is_still_so(&self, home: &Home, asking: &Asking, wakes_at: Option<Timestamp>) -> bool {
        let now = Self::of(home, &asking.run_id);
        let same_files = (now.journal_bytes, now.mailbox_bytes) == (self.journal_bytes, self.mailbox_bytes);
        let passed_since = |deadline: Timestamp| self.at < deadline && deadline <= now.at;
        let deadlines = asking.questions.iter().filter_map(|(open, _)| open.deadline());
        same_files && now.at >= self.at && !deadlines.chain(wakes_at).any(passed_since)
    }
}

/// Works until it is interrupted, or once.
pub fn run(args: &WorkArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let runtime = sitting::runtime()?;
    let mut signals = {
        let _within = runtime.enter();
        let listening = || -> std::io::Result<[Signal; 2]> {
            Ok([signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?])
        };
        listening().context("can't listen for Ctrl-C")?
    };
    // Each run has a thread: what takes long in one, such as a flush, keeps no other waiting.
    thread::scope(|scope| {
        let (done_in, mut done) = mpsc::unbounded_channel::<(RunId, ResumeOutcome)>();
        let stop = CancellationToken::new();
        let begin = |run_id: RunId| -> std::io::Result<()> {
            let done_in = done_in.clone();
            let going_on =
                GoingOn { run_id: run_id.clone(), stop: stop.clone(), has_others: args.jobs > 1, json: args.json };
            thread::Builder::new().name(run_id.to_string()).spawn_scoped(scope, move || {
                let came = match catch_unwind(AssertUnwindSafe(|| going_on.carry_out(place))) {
                    Ok(Ok(())) => ResumeOutcome::Away,
                    Ok(Err(error)) => ResumeOutcome::NotOn(error),
                    // What was said of it stands on stderr already.
                    Err(_) => ResumeOutcome::Panicked,
                };
                // Nobody listens any more only if the worker itself failed.
                done_in.send((run_id, came)).ok();
            })?;
            Ok(())
        };
        let ended = runtime.block_on(work(args, &home, begin, &mut done, &mut signals, &stop));
        // Whatever ended the worker ends the runs.
        stop.cancel();
        ended
    })
}

/// Takes runs up with `begin`, and hears in `done` when they have ended.
async fn work(
    args: &WorkArgs,
    home: &Home,
    begin: impl Fn(RunId) -> std::io::Result<()>,
    done: &mut mpsc::UnboundedReceiver<(RunId, ResumeOutcome)>,
    [interrupt, terminate]: &mut [Signal; 2],
    stop: &CancellationToken,
) -> anyhow::Result<Ending> {
    let mut board = Board::of(home)?;
    let mut next = board.ready(args)?;
    let mut rest = Box::pin(rest(home, Instant::now()));
    loop {
        while !stop.is_cancelled() && board.at_work.len() < usize::from(args.jobs) && args.is_open(Timestamp::now()) {
            let Some(run_id) = next.pop_front() else { break };
            board.at_work.insert(run_id.clone(), Sight::of(home, &run_id));
            if let Err(error) = begin(run_id.clone()) {
                let _nothing_is_free =
                    board.ended(&run_id, ResumeOutcome::NotOn(anyhow!("can't start a thread for it: {error}")));
            }
        }
        if board.at_work.is_empty() {
            if stop.is_cancelled() {
                return Ok(Ending::Interrupted);
            }
            if args.once {
                break;
            }
        }
        tokio::select! {
            _ = interrupt.recv() => stop.cancel(),
            _ = terminate.recv() => stop.cancel(),
            Some((run_id, came)) = done.recv() => {
                let is_free_again = board.ended(&run_id, came);
                if !args.once {
                    next = board.ready(args)?;
                } else if is_free_again {
                    next.extend(std::mem::take(&mut board.held_up));
                }
            }
            quiet_until = &mut rest, if !args.once => {
                rest.set(self::rest(home, quiet_until));
                next = board.ready(args)?;
            }
        }
    }
    tokio::select! {
        _ = interrupt.recv() => return Ok(Ending::Interrupted),
        _ = terminate.recv() => return Ok(Ending::Interrupted),
        () = notices::tell_when_gathered(home) => {}
    }
    Ok(if board.has_failed { Ending::Failed } else { Ending::Done })
}

/// State of a worker: the runs it works on, has finished with or can't take up.
struct Board<'h> {
    home: &'h Home,
    surroundings: Surroundings,
    /// Those it goes on with, as they were when it took them up.
    at_work: BTreeMap<RunId, Sight>,
    /// Those it is done with, as it left them.
    seen: BTreeMap<RunId, Sight>,
    /// Those that another run kept from their folder when they were taken up.
    held_up: Vec<RunId>,
    /// Those of which it was said that another run works in their folder.
    told: BTreeSet<RunId>,
    /// True if a run could not be resumed.
    has_failed: bool,
}

impl<'h> Board<'h> {
    fn of(home: &'h Home) -> anyhow::Result<Self> {
        Ok(Self {
            home,
            surroundings: settings::surroundings()?,
            at_work: BTreeMap::new(),
            seen: BTreeMap::new(),
            held_up: Vec::new(),
            told: BTreeSet::new(),
            has_failed: false,
        })
    }

    /// Returns the runs that can go on and that no process drives, those that waited longest first. Says once of each
    /// run that is left for good why that is so.
    ///
    /// Deadlines are held against the clock on the wall: a machine that slept finds them when it wakes, and a clock that
    /// jumped back finds none.
    fn ready(&mut self, args: &WorkArgs) -> anyhow::Result<VecDeque<RunId>> {
        let now = Timestamp::now();
        if !args.is_open(now) {
            return Ok(VecDeque::new());
        }
        let mut idle = runs::idle(self.home, &Owner::current(), now).context("can't read the folder of sessions")?;
        idle.runs.sort_by_key(|idle| idle.asking.questions.iter().map(|(open, _)| open.at).min().or(idle.began));
        let mut ready = VecDeque::new();
        for (run_id, why) in idle.unreadable {
            if !self.seen.contains_key(&run_id) {
                self.leave(&run_id, &format!("its journal can't be read: {why}"));
            }
        }
        for Idle { asking, outlook, workdir, wakes_at, .. } in idle.runs {
            let run_id = &asking.run_id;
            let is_seen = self.seen.get(run_id).is_some_and(|sight| sight.is_still_so(self.home, &asking, wakes_at));
            if is_seen || self.at_work.contains_key(run_id) {
                continue;
            }
            let left = match (outlook, &asking.mailbox_fault) {
                (Outlook::GoesOn, None) => {
                    if !self.is_kept_out(run_id, workdir.as_deref()) {
                        ready.push_back(asking.run_id);
                    }
                    continue;
                }
                (Outlook::Waits | Outlook::Sleeps { .. } | Outlook::Paused, _) => continue,
                (Outlook::NotBegun, _) => "its journal has no beginning to go on from; run its brief again".to_owned(),
                (Outlook::GoesOn, Some(fault)) => match fault.hint() {
                    Some(hint) => format!("{fault}; {hint}"),
                    None => fault.to_string(),
                },
                (Outlook::Fruitless { times }, _) => format!(
                    "the process that ran it died {times} times in a row; `adjutant resume {}` tries again",
                    runs::called(self.home, run_id)
                ),
            };
            self.leave(run_id, &left);
        }
        Ok(ready)
    }

    /// Returns true if another run works in the folder of this one, which is then left until the folder is free. Says
    /// so once.
    fn is_kept_out(&mut self, run_id: &RunId, workdir: Option<&str>) -> bool {
        // What can't be told now is told when the run is taken up.
        let others = workdir.and_then(|workdir| folders::occupants(self.home, Path::new(workdir)).ok());
        // A process of the run itself that sleeps is its lease's to tell of.
        let mut others = others.into_iter().flatten().filter(|other| other.run != run_id.as_str());
        let Some(other) = others.next() else {
            self.told.remove(run_id);
            return false;
        };
        let is_ours = other.run.parse().is_ok_and(|other: RunId| self.at_work.contains_key(&other));
        if !is_ours {
            self.tell_who(run_id, &at_work(&other, &self.surroundings));
        }
        true
    }

    fn tell_who(&mut self, run_id: &RunId, who: &str) {
        if self.told.insert(run_id.clone()) {
            tell!("run {run_id} waits: {who}");
        }
    }

    /// Says why a run is left for its operator, once.
    fn leave(&mut self, run_id: &RunId, why: &str) {
        self.has_failed = true;
        tell!("run {run_id} is left: {}", visible_line(why));
        self.seen.insert(run_id.clone(), Sight::of(self.home, run_id));
    }

    /// Records the outcome of resuming a run. Returns true if a folder may be free that was not before.
    #[must_use]
    fn ended(&mut self, run_id: &RunId, came: ResumeOutcome) -> bool {
        let Some(before) = self.at_work.remove(run_id) else { return false };
        match came {
            ResumeOutcome::Away => {}
            // Another run was faster: this one is taken up again once the folder is free.
            ResumeOutcome::NotOn(error) if error.is::<HeldUp>() => {
                if self.at_work.is_empty() {
                    self.tell_who(run_id, &error.to_string());
                }
                self.held_up.push(run_id.clone());
                return false;
            }
            // Another worker was faster.
            ResumeOutcome::NotOn(_) if say::is_driven(self.home, run_id) => return false,
            ResumeOutcome::NotOn(error) => {
                self.has_failed = true;
                let because: String = error.chain().skip(1).map(|cause| format!(": {cause}")).collect();
                tell!("error: run {run_id}: {}", visible_line(&format!("{}{because}", failure::text(&error))));
            }
            ResumeOutcome::Panicked => {
                self.has_failed = true;
                tell!("error: run {run_id}: a fault of this program ended it; the other runs go on");
            }
        }
        self.seen.insert(run_id.clone(), before.left(self.home, run_id));
        true
    }
}

/// Outcome of resuming a run.
enum ResumeOutcome {
    /// It went as far as it could.
    Away,
    /// It could not be gone on with.
    NotOn(anyhow::Error),
    /// We have a bug.
    Panicked,
}

/// Tells of what waits, if that did not fail a short while ago, and rests. Gives until when not to tell.
async fn rest(home: &Home, quiet_until: Instant) -> Instant {
    let mut until = quiet_until;
    if quiet_until <= Instant::now()
        && let Err(error) = notices::tell(home).await
    {
        until = Instant::now() + TELL_AGAIN;
        tell!("warning: nobody is told of what waits: {}", visible_line(&format!("{error:#}")));
    }
    tokio::time::sleep(LOOK_EVERY).await;
    until
}
