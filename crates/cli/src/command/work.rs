//! `adjutant work`: goes on with runs that wait, once they can.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use adjutant_core::id::RunId;
use adjutant_core::inbox::hours::Hours;
use adjutant_core::inbox::mailbox::First;
use adjutant_core::view::visible_line;
use adjutant_store::runs::{self, Asking};
use adjutant_store::{Home, Mailbox, Owner};
use anyhow::Context;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::resume::{self, ResumeArgs};
use crate::exit::Ending;
use crate::failure;
use crate::settings::Place;
use crate::{notices, sitting};

/// How long after a notice that failed it is tried again.
const TELL_AGAIN: Duration = Duration::from_secs(60);

/// How often all runs are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Go on with runs that wait, once they were answered
///
/// Takes each run that nobody drives and that has an answer in its mailbox, or a question whose deadline has passed,
/// and goes on with it as `resume` does, one after another. Nobody is asked here: what comes up waits in the inbox.
/// Ends with Ctrl-C, which leaves the run at work to be resumed.
#[derive(Debug, clap::Args)]
pub struct WorkArgs {
    /// Look once, go on with what can, and end
    #[arg(long)]
    once: bool,
    /// Take runs up within these hours only, such as 09:00-18:00 [default: at any time]
    #[arg(long, value_name = "FROM-TO", value_parser = parse_hours)]
    hours: Option<Hours>,
    /// Whose clock the hours hang on, such as Europe/Berlin [default: this machine's]
    #[arg(long, value_name = "ZONE", requires = "hours", value_parser = parse_zone)]
    zone: Option<TimeZone>,
    /// Print every event as a line of JSON
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
    /// Whether runs are taken up at this moment.
    fn is_open(&self, now: Timestamp) -> bool {
        let zone = || self.zone.clone().unwrap_or_else(TimeZone::system);
        self.hours.is_none_or(|hours| hours.covers(zone().to_datetime(now).time()))
    }
}

/// How a run looked when it was gone on with: as long as nothing has come since, it is left alone.
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

    /// Whether nothing was written since, and no deadline has passed since. A clock that went back says nothing.
    fn is_still_so(&self, home: &Home, asking: &Asking) -> bool {
        let now = Self::of(home, &asking.run_id);
        let same_files = (now.journal_bytes, now.mailbox_bytes) == (self.journal_bytes, self.mailbox_bytes);
        let passed_since = |deadline: Timestamp| self.at < deadline && deadline <= now.at;
        let deadlines = asking.questions.iter().filter_map(|(open, _)| open.deadline());
        same_files && now.at >= self.at && !deadlines.into_iter().any(passed_since)
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
    let mut seen: BTreeMap<RunId, Sight> = BTreeMap::new();
    let mut quiet_until = Instant::now();
    loop {
        let mut failed = false;
        let open = if args.is_open(Timestamp::now()) { ready(&home)? } else { Vec::new() };
        for asking in open {
            if seen.get(&asking.run_id).is_some_and(|sight| sight.is_still_so(&home, &asking)) {
                continue;
            }
            let before = Sight::of(&home, &asking.run_id);
            let run_id = asking.run_id;
            match resume::run(&ResumeArgs::of_worker(&run_id, args.json), place) {
                Ok(Ending::Interrupted) => return Ok(Ending::Interrupted),
                Ok(_) => {}
                // Another worker was faster.
                Err(_) if super::is_driven(&home, &run_id) => continue,
                Err(error) => {
                    failed = true;
                    failure::report(&error);
                }
            }
            let journal_bytes = Sight::of(&home, &run_id).journal_bytes;
            seen.insert(run_id, Sight { journal_bytes, ..before });
        }
        if args.once {
            runtime.block_on(notices::tell_when_gathered(&home));
            return Ok(if failed { Ending::Failed } else { Ending::Done });
        }
        let [interrupt, terminate] = &mut signals;
        let interrupted = runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => true,
                _ = terminate.recv() => true,
                () = pause(&home, &mut quiet_until) => false,
            }
        });
        if interrupted {
            return Ok(Ending::Interrupted);
        }
    }
}

/// Tells of what waits, if that did not fail a short while ago, and rests.
async fn pause(home: &Home, quiet_until: &mut Instant) {
    if *quiet_until <= Instant::now()
        && let Err(error) = notices::tell(home).await
    {
        *quiet_until = Instant::now() + TELL_AGAIN;
        tell!("warning: nobody is told of what waits: {}", visible_line(&format!("{error:#}")));
    }
    tokio::time::sleep(LOOK_EVERY).await;
}

/// The runs that can go on and that nobody drives, those that waited longest first.
///
/// Deadlines are held against the clock on the wall: a machine that slept finds them when it wakes, and a clock that
/// jumped back finds none.
fn ready(home: &Home) -> anyhow::Result<Vec<Asking>> {
    let now = Timestamp::now();
    let all = runs::open_questions(home, &Owner::current(), now).context("can't read the folder of sessions")?;
    let can_go_on = |asking: &Asking| {
        !asking.driver_alive
            && asking.questions.iter().any(|(open, first)| matches!(first, Some(First::Answer(_))) || open.is_due(now))
    };
    let mut ready: Vec<Asking> = all.runs.into_iter().filter(can_go_on).collect();
    ready.sort_by_key(|asking| asking.questions.iter().map(|(open, _)| open.at).min());
    Ok(ready)
}
