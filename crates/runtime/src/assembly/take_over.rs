//! Takes over a run that was begun: from its journal to a sitting that goes on where it stands.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use adjutant_agents::recorded::Existing;
use adjutant_core::trace::{Body, Event, RunEvent, RunOptions, RunStart, offered_on_record};
use adjutant_core::words::Outcome;
use adjutant_core::words::effort::Effort;
use adjutant_core::words::id::RunId;
use adjutant_core::words::tool::OfferedTools;
use adjutant_core::words::visible::visible_text;
use adjutant_core::work::Work;
use adjutant_store::{Damage, FileJournal, Home, Owner, Recovered, journal, runs};
use jiff::Timestamp;

use super::folder::EnteredFolder;
use super::remark::Remark;
use super::settings::{self, Overrides};
use super::sitting::{Equipped, Needs, Opened, Sitting, began_with, is_kept, procedure, recorded_brief, results};
use super::surroundings::Surroundings;
use super::unready::Unready;
use crate::{Folded, say};

/// A run that is to go on.
pub struct TakeOver<'a> {
    /// The home that it is kept in.
    pub home: &'a Home,
    /// The process that puts it together.
    pub surroundings: &'a Surroundings,
    /// The run.
    pub run_id: &'a RunId,
    /// The reaction to a damaged journal.
    pub damage: Damage,
    /// The options that change.
    pub changes: ResumeChanges,
    /// The claim on the folder that it works in, if it has one.
    pub folder: Option<EnteredFolder>,
    /// True if somebody sits at a terminal who can be asked.
    pub is_attended: bool,
    /// A file in which every exchange with the agents is recorded; a recording that is there goes on.
    pub recording: Option<&'a Path>,
    /// The beginnings of its sittings, as far as they are known before its journal is read: see [`runs::beginnings`].
    pub beginnings: Vec<Event>,
}

/// Options of a run that are other ones from here on; where nothing is said, they are as before.
#[derive(Debug, Default, Clone)]
pub struct ResumeChanges {
    /// The folder that tools work in.
    pub workdir: Option<PathBuf>,
    /// The script or recording that is played.
    pub script: Option<PathBuf>,
    /// The address of the API of the run's own adapter.
    pub base_url: Option<String>,
    /// The effort that the run's own model is asked for.
    pub effort: Option<Effort>,
    /// The minutes that a provider that fails is waited for.
    pub patience_minutes: Option<u64>,
}

/// A run that was taken over.
pub enum TakenOver {
    /// It is over already.
    Over(Outcome),
    /// It goes on.
    GoesOn(Box<Sitting>),
}

/// Takes a run over, and puts it together as it was.
///
/// # Errors
///
/// [`Unready`] if its journal can't be taken over, or anything is missing: its journal is as it was then, except for an
/// unfinished last line.
pub async fn take_over(run: TakeOver<'_>, tell: &dyn Fn(Remark)) -> Result<TakenOver, Unready> {
    // A sandbox is tried while the journal is read. What it says is told if the journal can be read, and as it turns out
    // to be.
    let told = RefCell::new(Vec::new());
    let early = |remark| told.borrow_mut().push(remark);
    let (read, equipped) = tokio::join!(ReadRun::read(&run), run.equipped(&run.beginnings, &early));
    let ReadRun { journal, recovered, folded } = read?;
    let events = &recovered.events;
    let start = run_start(events)?;
    if let Some(outcome) = say::outcome(events) {
        return Ok(TakenOver::Over(outcome));
    }
    let mut equipped = if folded.is_some() {
        told.into_inner().into_iter().for_each(tell);
        equipped?
    } else {
        run.equipped(events, tell).await?
    };
    if let Some(path) = run.recording {
        equipped.record(path, Existing::Append)?;
    }
    let before = latest_options(events, &start.options);
    let changed = (equipped.options() != before).then(|| Box::new(equipped.options().clone()));
    let offered = OfferedTools::of(&equipped.tools());
    let is_same = offered_on_record(events).is_some_and(|before| before.hash == offered.hash);
    let first = vec![Body::Run(RunEvent::RunResume {
        options: changed,
        accepted_damage: recovered.accepted_damage(),
        offered: (!is_same).then(|| Box::new(offered)),
    })];
    let torn_bytes = recovered.torn_bytes;
    let opened = Opened { run_id: run.run_id.clone(), journal, events: recovered.events, folded, torn_bytes };
    Ok(TakenOver::GoesOn(Box::new(Sitting::of(opened, equipped, run.folder, first))))
}

impl TakeOver<'_> {
    /// Makes ready what the run needs besides its journal, of which `events` are the beginnings of its sittings.
    async fn equipped(&self, events: &[Event], tell: &dyn Fn(Remark)) -> Result<Equipped, Unready> {
        let TakeOver { home, surroundings, .. } = *self;
        let start = run_start(events)?;
        let options = self.options_after(latest_options(events, &start.options));
        // What is not on record, such as how long an adapter may be silent, holds as it is set now.
        let overrides = Overrides { workdir: Some(PathBuf::from(&options.workdir)), ..Overrides::default() };
        let settings = settings::resolve(home, surroundings, &overrides, None)?;
        for notice in &settings.notices {
            tell(Remark::OfConfiguration(visible_text(&notice.to_string()).into_owned()));
        }
        let brief = recorded_brief(&start.brief, start.options.work.custom_roles())?;
        let needs = Needs { home, surroundings, brief, brief_id: &start.brief_id, options, settings };
        Equipped::with(needs, tell).await
    }

    /// Returns the options of this sitting.
    fn options_after(&self, before: &RunOptions) -> RunOptions {
        RunOptions { unattended: !self.is_attended, ..self.changes.made_to(before, self.surroundings) }
    }

    /// Returns the run before any event, from its beginning and its takings over; `None` if it can't be put together.
    fn before_any_event(&self, events: &[Event]) -> Option<Folded<Work>> {
        let start = run_start(events).ok()?;
        let options = self.options_after(latest_options(events, &start.options));
        let brief = recorded_brief(&start.brief, start.options.work.custom_roles()).ok()?;
        Some(Folded::new(procedure(&brief, &options, began_with(events)), results(&options)))
    }
}

/// A run as it was read when it was taken over.
struct ReadRun {
    journal: FileJournal,
    /// With all events, or beside `folded` with those that are kept.
    recovered: Recovered,
    /// The run after all its events; `None` if it is yet to be folded.
    folded: Option<Folded<Work>>,
}

impl ReadRun {
    /// Takes the run over, and folds its events as they are read, so that they need not all be kept. That takes its
    /// beginning and the options that it has by the end of the journal. If they turn out to be others than those known
    /// before, as when a line is not written as we write it, the events are read again to be folded later.
    async fn read(run: &TakeOver<'_>) -> Result<Self, Unready> {
        let TakeOver { home, run_id, damage, .. } = *run;
        let (owner, now) = (Owner::current(), Timestamp::now());
        let Some(before) = run.before_any_event(&run.beginnings) else {
            let (journal, recovered) =
                FileJournal::take_over(home, run_id, &owner, now, damage).map_err(Unready::Open)?;
            return Ok(Self { journal, recovered, folded: None });
        };
        let (place, named) = (home.clone(), run_id.clone());
        let reading = before.beside(move |take| {
            let mut kept = Vec::new();
            let taken = FileJournal::take_over_each(&place, &named, &owner, now, damage, |event| {
                if is_kept(&event) {
                    kept.push(event.clone());
                }
                take(event);
            });
            (kept, taken)
        });
        let (folded, (kept, taken)) = reading.await;
        let (journal, recovered) = taken.map_err(Unready::Open)?;
        let is_as_found = kept.iter().filter(|event| runs::begins_sitting(event)).eq(&run.beginnings);
        let (events, folded) = match is_as_found {
            true => (kept, Some(folded)),
            false => (journal::read_only(home, run_id).map_err(Unready::Open)?.events, None),
        };
        Ok(Self { journal, recovered: Recovered { events, ..recovered }, folded })
    }
}

impl ResumeChanges {
    fn made_to(&self, before: &RunOptions, surroundings: &Surroundings) -> RunOptions {
        let absolute = |path: &PathBuf| surroundings.folder.join(path).display().to_string();
        let mut options = before.clone();
        if let Some(workdir) = &self.workdir {
            options.workdir = absolute(workdir);
            // Another folder is a copy of nothing that is known.
            options.copied_from = options.copied_from.filter(|_| options.workdir == before.workdir);
        }
        if let Some(script) = &self.script {
            options.script = Some(absolute(script));
        }
        if let Some(base_url) = &self.base_url {
            options.agent.base_url = Some(base_url.clone());
        }
        if let Some(effort) = self.effort {
            options.agent.effort = Some(effort);
        }
        if let Some(minutes) = self.patience_minutes {
            options.patience_ms = Some(minutes.saturating_mul(60_000));
        }
        options
    }
}

/// The beginning of a run, as its journal has it.
///
/// # Errors
///
/// [`Unready::NotBegun`] if it has none, [`Unready::UnreadableStart`] if there are events that come after one.
pub fn run_start(events: &[Event]) -> Result<&RunStart, Unready> {
    let start = events.iter().find_map(|event| match &event.body {
        Body::Run(RunEvent::RunStart(start)) => Some(&**start),
        _ => None,
    });
    // Behind the header nothing comes before it.
    let is_behind_header = |event: &Event| !matches!(event.body, Body::Run(RunEvent::TraceVersion { .. }));
    start.ok_or(if events.iter().any(is_behind_header) { Unready::UnreadableStart } else { Unready::NotBegun })
}

/// The options that held last.
#[must_use]
pub fn latest_options<'e>(events: &'e [Event], started: &'e RunOptions) -> &'e RunOptions {
    let changed = events.iter().rev().find_map(|event| match &event.body {
        Body::Run(RunEvent::RunResume { options: Some(options), .. }) => Some(options),
        _ => None,
    });
    changed.map_or(started, AsRef::as_ref)
}
