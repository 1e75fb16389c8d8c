//! One simulated run: driver after driver, until it ends or waits for somebody who says nothing more.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use adjutant_core::gate::Grant;
use adjutant_core::procedure::Procedure;
use adjutant_core::procedure::run::Run;
use adjutant_core::run::RunFacts;
use adjutant_core::trace::{Body, Entry, Event, GateEvent, RunEvent};
use adjutant_core::words::{Key, Outcome, Part, QuestionKind};
use adjutant_ports::{Agent, CancellationToken};
use adjutant_runtime::{DriveError, Driver, Ended, Masks, Ports, Results};
use jiff::Timestamp;

use crate::agent::StagedAgent;
use crate::backdrop::{Backdrop, HadEffect, Life, ShownQuestion, VirtualClock};
use crate::disk::DiskJournal;
use crate::fate::{PlantedFault, RunFate};
use crate::grants::StagedGrants;
use crate::hooks::StagedHooks;
use crate::invariants::{self, BrokenInvariant, Invariant};
use crate::operator::StagedOperator;
use crate::scene::Scene;
use crate::sessions;
use crate::tools::{StagedTools, StagedWorkspaces};

/// The longest life of a driver, in virtual time: beyond it something waits that nobody will end.
const LIFE_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The most drivers that a run may take.
const LIVES_MAX: usize = 100;

/// The end of one driver.
#[derive(Debug, Clone, PartialEq)]
pub enum LifeEnd {
    /// It was killed.
    Died,
    /// It stopped as drivers do.
    Ended(Ended),
    /// It stopped with this error.
    Stopped(String),
}

/// A simulated run.
#[derive(Debug, Clone)]
pub struct SceneReport {
    /// Its outcome; `None` if it waits for an operator who says nothing more.
    pub outcome: Option<Outcome>,
    /// The questions that it waits for.
    pub waiting: Vec<(Key, QuestionKind)>,
    /// Its journal.
    pub journal: Vec<Event>,
    /// The same as lines.
    pub lines: Vec<String>,
    /// The calls that were carried out, in order.
    pub effects: Vec<HadEffect>,
    /// The questions that were put, in order.
    pub shown: Vec<ShownQuestion>,
    /// The files as they were at the end.
    pub files: BTreeMap<String, String>,
    /// The grants that the project keeps at the end.
    pub grants: Vec<Grant>,
    /// The rescues by name, each with how often it was made.
    pub rescues: BTreeMap<String, u64>,
    /// How many ticks the run took.
    pub ticks: u64,
    /// The ends of its drivers, in order.
    pub lives: Vec<LifeEnd>,
}

/// Runs what `make` makes in a scene until it ends, or waits for somebody who says nothing more.
///
/// # Errors
///
/// The [`BrokenInvariant`] of the first invariant that was found broken, after any of its drivers.
pub fn simulate<P>(make: &dyn Fn() -> Run<P>, scene: &Scene, fate: &RunFate) -> Result<SceneReport, BrokenInvariant>
where
    P: Procedure<Facts = RunFacts>,
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without input or output");
    runtime.block_on(async {
        let backdrop = Arc::new(Backdrop::new(scene, fate));
        let mut lives = Vec::new();
        while lives.len() < LIVES_MAX {
            for end in sitting(make, &backdrop).await? {
                lives.push(end);
            }
            let last = lives.last().expect("a sitting has a driver");
            match when_to_go_on(&backdrop, last) {
                Some(at) => backdrop.until(at).await,
                None => return Ok(report(&backdrop, lives)),
            }
        }
        Err(Invariant::ComesToAnEnd
            .broken(format!("{LIVES_MAX} drivers were not enough: {:?}", &lives[LIVES_MAX - 3..])))
    })
}

/// Lets one driver live, and a second one if the fate has it take the run over. Returns how they ended, the one that
/// has the run last.
async fn sitting<P>(make: &dyn Fn() -> Run<P>, backdrop: &Arc<Backdrop>) -> Result<Vec<LifeEnd>, BrokenInvariant>
where
    P: Procedure<Facts = RunFacts>,
{
    let life = Life::begin(backdrop);
    let (takeover, over) = (life.takeover.clone(), CancellationToken::new());
    let first = async {
        let end = live(make, &life).await;
        over.cancel();
        end
    };
    let second = async {
        tokio::select! {
            biased;
            () = takeover.cancelled() => Some(live(make, &Life::begin(backdrop)).await),
            () = over.cancelled() => None,
        }
    };
    let (first, second) = tokio::join!(first, second);
    [Some(first), second].into_iter().flatten().collect()
}

async fn live<P>(make: &dyn Fn() -> Run<P>, life: &Arc<Life>) -> Result<LifeEnd, BrokenInvariant>
where
    P: Procedure<Facts = RunFacts>,
{
    let backdrop = &life.backdrop;
    let events = backdrop.state().disk.read_back();
    if let Some(Event { body: Body::Run(RunEvent::RunEnd { outcome }), .. }) = events.last() {
        return Ok(LifeEnd::Ended(Ended::Finished(*outcome)));
    }
    let there = events.len();
    life.known.store(there, Ordering::Relaxed);
    let mut journal = DiskJournal { life: life.clone() };
    let is_blind = backdrop.fate.planted == Some(PlantedFault::NothingIsMasked);
    let masks = Masks::new(backdrop.scene.secrets.iter().filter(|_| !is_blind).collect());
    let mut driver = Driver::new(make(), events, &mut journal, ports(life), masks);
    if backdrop.scene.lets_sleep {
        driver.let_sleep();
    }
    let work = async {
        open(&mut driver, there, backdrop).await?;
        driver.run().await
    };
    let end = tokio::select! {
        biased;
        () = life.death.cancelled() => LifeEnd::Died,
        ended = work => match ended {
            Ok(ended) => LifeEnd::Ended(ended),
            Err(_) if life.death.is_cancelled() => LifeEnd::Died,
            Err(error) => LifeEnd::Stopped(error.to_string()),
        },
        () = tokio::time::sleep(LIFE_MAX) => {
            let open = backdrop.state().disk.events.last().cloned();
            return Err(Invariant::ComesToAnEnd.broken(format!("a driver waits for ever after {open:?}")));
        }
    };
    invariants::check(make, life, driver.work())?;
    drop(driver);
    Ok(end)
}

/// Records that the run begins or is taken over, and takes up what was left in flight.
async fn open<P: Procedure>(driver: &mut Driver<'_, P>, there: usize, backdrop: &Backdrop) -> Result<(), DriveError> {
    let beginning = sessions::beginning();
    if there < beginning.len() {
        for entry in beginning.into_iter().skip(there) {
            driver.append(entry)?;
        }
        return load_grants(driver, backdrop);
    }
    let body = Body::Run(RunEvent::RunResume { options: None, accepted_damage: Vec::new(), offered: None });
    driver.append(Entry { part: Part::root(), body })?;
    load_grants(driver, backdrop)?;
    for heard in backdrop.waiting_letters() {
        driver.hear(heard)?;
    }
    driver.recover().await
}

/// Records what the project keeps of grants, if it ever kept any.
fn load_grants<P: Procedure>(driver: &mut Driver<'_, P>, backdrop: &Backdrop) -> Result<(), DriveError> {
    if backdrop.state().grants.is_empty() {
        return Ok(());
    }
    let body = Body::Gate(GateEvent::GrantsLoaded { grants: backdrop.loaded_grants() });
    driver.append(Entry { part: Part::root(), body })
}

fn ports(life: &Arc<Life>) -> Ports {
    let agent = |place| Arc::new(StagedAgent { life: life.clone(), model: format!("model-{place}") }) as Arc<dyn Agent>;
    Ports {
        agents: (0..life.backdrop.scene.agents).map(agent).collect(),
        tools: Arc::new(StagedTools { life: life.clone(), specs: sessions::tools(), folder: None }),
        workspaces: Arc::new(StagedWorkspaces(life.clone())),
        hooks: Arc::new(StagedHooks(life.clone())),
        operator: Arc::new(StagedOperator(life.clone())),
        clock: Arc::new(VirtualClock(life.backdrop.clone())),
        grants: Arc::new(StagedGrants(life.clone())),
        results: Results::Fenced,
    }
}

/// Returns when somebody goes on with the run; `None` if nobody does.
fn when_to_go_on(backdrop: &Backdrop, end: &LifeEnd) -> Option<Timestamp> {
    let soon = || backdrop.now() + jiff::SignedDuration::from_millis(backdrop.fate.away_ms.cast_signed());
    match end {
        LifeEnd::Stopped(_) if backdrop.scene.stops_at_errors => None,
        LifeEnd::Died | LifeEnd::Stopped(_) => Some(soon()),
        LifeEnd::Ended(Ended::Finished(_)) => None,
        LifeEnd::Ended(Ended::Interrupted) => backdrop.scene.resumes_interrupted.then(soon),
        LifeEnd::Ended(Ended::Sleeping(until)) => Some(*until),
        LifeEnd::Ended(Ended::Waiting(open)) => {
            let keys: Vec<Key> = open.iter().map(|(key, _)| key.clone()).collect();
            let deadline = invariants::open_deadlines(&backdrop.state().disk.events).into_iter().min();
            backdrop.next_post(&keys).into_iter().chain(deadline).min()
        }
    }
}

fn report(backdrop: &Backdrop, lives: Vec<LifeEnd>) -> SceneReport {
    let (outcome, waiting) = match lives.last() {
        Some(LifeEnd::Ended(Ended::Finished(outcome))) => (Some(*outcome), Vec::new()),
        Some(LifeEnd::Ended(Ended::Waiting(open))) => {
            (None, open.iter().map(|(key, question)| (key.clone(), question.kind)).collect())
        }
        _ => (None, Vec::new()),
    };
    let state = backdrop.state();
    SceneReport {
        outcome,
        waiting,
        journal: state.disk.events.clone(),
        lines: state.disk.lines.clone(),
        effects: state.effects.clone(),
        shown: state.shown.clone(),
        files: state.files.clone(),
        grants: state.grants.clone(),
        rescues: state.rescues.clone(),
        ticks: state.ticks,
        lives,
    }
}
