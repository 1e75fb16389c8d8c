//! The faults of a simulated run: where its drivers die, and what fails.

use std::collections::BTreeSet;

/// Where drivers die and what fails. A tick is one append, or one step of an effect: begun, had.
#[derive(Debug, Clone)]
pub struct RunFate {
    /// The ticks at which a driver dies.
    pub kills: BTreeSet<u64>,
    /// How it dies.
    pub death: Death,
    /// How long nobody drives the run after a death, in milliseconds.
    pub away_ms: u64,
    /// Decides how long everything takes; 0 gives each kind of thing a length of its own.
    pub seed: u64,
    /// The append that fails, counted from 1 over all drivers.
    pub failing_append: Option<u64>,
    /// The tick at which another driver takes the run over while the first one still works.
    pub taken_over_at: Option<u64>,
    /// A fault of the world itself, which the checks must catch.
    pub planted: Option<PlantedFault>,
}

/// A fault that no driver can help: planted to see that the checks catch what they are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlantedFault {
    /// Nothing is synced, whatever the driver asks for.
    NothingIsSynced,
    /// The intents of calls are not written, and the driver is told that they are.
    LosesIntents,
    /// Every answer says that it is another one's.
    AnswersAnotherQuestion,
    /// A call that is made has its effect twice.
    HasEffectsTwice,
    /// A grant that is kept for later runs is nowhere.
    LosesGrants,
    /// No driver is told what was revoked.
    HidesRevocations,
    /// No effect is found of a call that was interrupted.
    DeniesEffects,
    /// The lines of the journal say another time than what was appended.
    WritesOtherwise,
    /// A driver is told that turns asked for no calls.
    HidesCalls,
    /// No agent ever answers.
    NeverAnswers,
    /// Every question is put twice.
    PutsQuestionsTwice,
    /// Drivers see no deadlines, and the mailbox takes what comes after one.
    HidesDeadlines,
    /// The provider counts more for each reply than any limit leaves.
    BillsTooMuch,
    /// A driver is not told that its append failed.
    HidesFailures,
    /// A message to one part arrives as one to another.
    LettersGoAstray,
    /// The driver knows none of the secrets.
    NothingIsMasked,
}

/// How a driver dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Death {
    /// Its process is killed: what was written stays.
    Process,
    /// The machine loses its power: only what was synced stays.
    Machine,
}

impl Default for RunFate {
    fn default() -> Self {
        Self {
            kills: BTreeSet::new(),
            death: Death::Process,
            away_ms: 5_000,
            seed: 0,
            failing_append: None,
            taken_over_at: None,
            planted: None,
        }
    }
}

impl RunFate {
    /// Returns a fate in which drivers die at these ticks.
    #[must_use]
    pub fn killed_at(ticks: impl IntoIterator<Item = u64>) -> Self {
        Self { kills: ticks.into_iter().collect(), ..Self::default() }
    }

    /// Returns how long something takes, in milliseconds: `usual_ms`, or with a seed from 1 to four times as much.
    pub(crate) fn length_ms(&self, what: &str, usual_ms: u64) -> u64 {
        if self.seed == 0 {
            return usual_ms;
        }
        // FNV-1a, and a step of splitmix64 so that texts that differ in their last byte lie apart.
        let hash = what.bytes().fold(0xcbf2_9ce4_8422_2325 ^ self.seed, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mixed = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        1 + (mixed ^ (mixed >> 27)) % (usual_ms * 4)
    }
}
