//! What survives a driver: time, disk, files, mailbox; and the life of a driver, which may end at any tick.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use adjutant_core::gate::Grant;
use adjutant_core::inbox::mailbox::Closing;
use adjutant_core::words::{Key, QuestionKind};
use adjutant_ports::{Answered, CancellationToken, Clock};
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::disk::JournalDisk;
use crate::fate::{Death, RunFate};
use crate::scene::Scene;

/// When every run begins: 2026-01-15, 8 o'clock.
const BEGAN: Timestamp = Timestamp::constant(1_768_464_000, 0);
/// How often a clock may be looked at in one run: a hundred times as often as any run needs.
const LOOKS_MAX: u64 = 1_000_000;

/// Everything that survives the death of a driver.
pub(crate) struct Backdrop {
    pub(crate) scene: Scene,
    pub(crate) fate: RunFate,
    began: Instant,
    /// How often somebody looked at the clock.
    looks: AtomicU64,
    state: Mutex<BackdropState>,
}

/// What changes of it.
#[derive(Default)]
pub(crate) struct BackdropState {
    pub(crate) disk: JournalDisk,
    pub(crate) ticks: u64,
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) effects: Vec<HadEffect>,
    pub(crate) requests: Vec<BegunTurn>,
    pub(crate) shown: Vec<ShownQuestion>,
    pub(crate) mailbox: BTreeMap<Key, StagedPost>,
    /// The grants that the project keeps.
    pub(crate) grants: Vec<Grant>,
    /// The grants that were revoked, each with how many events there were then.
    pub(crate) revoked: BTreeMap<String, u64>,
    /// The grants that drivers had kept, each with how its intent was on record then.
    pub(crate) kept_grants: Vec<(String, OnRecord)>,
    /// The rescues by name, each with how often it was made.
    pub(crate) rescues: BTreeMap<String, u64>,
    /// What was begun by a driver whose journal had failed.
    pub(crate) begun_after_failure: Vec<String>,
}

/// A call that a tool began to carry out.
#[derive(Debug, Clone)]
pub struct HadEffect {
    /// The agent's name for the call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// How its intent was on record when it began.
    pub on_record: OnRecord,
    /// True once its effect was had.
    pub was_had: bool,
    /// The driver that it was made by, from 1.
    pub life: u64,
}

/// How an intent was on record when what it announces began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OnRecord {
    /// It was not.
    Missing,
    /// The operating system had it.
    Written,
    /// It was on the disk.
    Synced,
}

/// A turn that an agent began.
#[derive(Debug, Clone)]
pub(crate) struct BegunTurn {
    pub(crate) key: String,
    pub(crate) on_record: OnRecord,
}

/// A question that was put to the operator.
#[derive(Debug, Clone)]
pub struct ShownQuestion {
    /// Its key.
    pub key: Key,
    /// How it was on record then.
    pub on_record: OnRecord,
    /// The driver that put it, from 1.
    pub life: u64,
}

/// What the mailbox has of one question.
#[derive(Debug, Clone)]
pub(crate) struct StagedPost {
    pub(crate) kind: QuestionKind,
    pub(crate) answer: Option<(Timestamp, Answered)>,
    pub(crate) closed: Option<Closing>,
}

impl Backdrop {
    pub(crate) fn new(scene: &Scene, fate: &RunFate) -> Self {
        let (files, grants) = (scene.files.clone(), scene.grants.clone());
        let state = BackdropState { files, grants, ..BackdropState::default() };
        Self {
            scene: scene.clone(),
            fate: fate.clone(),
            began: Instant::now(),
            looks: AtomicU64::new(0),
            state: Mutex::new(state),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, BackdropState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time that has passed since the run began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    pub(crate) fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.elapsed()).expect("a run takes less than an age");
        // Time stands still for a driver that goes round in circles, so that nothing else would end it.
        assert!(self.looks.fetch_add(1, Ordering::Relaxed) < LOOKS_MAX, "a driver goes round in circles");
        BEGAN + elapsed
    }

    /// Waits until a time.
    pub(crate) async fn until(&self, at: Timestamp) {
        let left = at.duration_since(self.now()).max(SignedDuration::ZERO);
        tokio::time::sleep(Duration::try_from(left).expect("not negative")).await;
    }
}

/// The life of one driver.
pub(crate) struct Life {
    pub(crate) backdrop: Arc<Backdrop>,
    /// Which driver it is, from 1; also its token for the lease.
    pub(crate) number: u64,
    /// How many events of the journal it knows to be there.
    pub(crate) known: AtomicUsize,
    /// Fires when it dies.
    pub(crate) death: CancellationToken,
    /// Fires when another driver takes the run over.
    pub(crate) takeover: CancellationToken,
    /// Fires when an append failed: nothing may begin from then on.
    pub(crate) failure: CancellationToken,
}

impl Life {
    /// Begins a life, which takes the lease.
    pub(crate) fn begin(backdrop: &Arc<Backdrop>) -> Arc<Self> {
        let number = {
            let disk = &mut backdrop.state().disk;
            disk.lease += 1;
            disk.lease
        };
        Arc::new(Self {
            backdrop: backdrop.clone(),
            number,
            known: AtomicUsize::new(0),
            death: CancellationToken::new(),
            takeover: CancellationToken::new(),
            failure: CancellationToken::new(),
        })
    }

    /// Counts a tick, at which the driver may die or lose the run.
    pub(crate) fn tick(&self) {
        if self.death.is_cancelled() {
            return;
        }
        let fate = &self.backdrop.fate;
        let mut state = self.backdrop.state();
        state.ticks += 1;
        if fate.kills.contains(&state.ticks) {
            if fate.death == Death::Machine {
                state.disk.lose_what_is_not_synced();
            }
            self.death.cancel();
        }
        if fate.taken_over_at == Some(state.ticks) {
            state.disk.lease += 1;
            self.takeover.cancel();
        }
    }

    /// Goes on if the driver lives, for ever not if it is dead.
    pub(crate) async fn lives(&self) {
        if self.death.is_cancelled() {
            std::future::pending::<()>().await;
        }
    }

    /// Counts a tick of something in flight, and goes on if the driver survives it.
    pub(crate) async fn step(&self) {
        self.tick();
        self.lives().await;
    }

    /// Takes as long as the fate says.
    pub(crate) async fn takes(&self, what: &str, usual_ms: u64) {
        let length_ms = self.backdrop.fate.length_ms(&format!("{what} {}", self.number), usual_ms);
        tokio::time::sleep(Duration::from_millis(length_ms)).await;
        self.lives().await;
    }

    /// Takes note that something begins.
    pub(crate) fn begins(&self, what: impl Into<String>) {
        if self.failure.is_cancelled() {
            self.backdrop.state().begun_after_failure.push(what.into());
        }
    }
}

/// The clock of the scene: virtual, so that hours pass at once.
pub(crate) struct VirtualClock(pub(crate) Arc<Backdrop>);

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        self.0.now()
    }
}
