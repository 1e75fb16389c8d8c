//! Makes lines, has them judged, runs those that are called safe, and reports what they destroyed.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use adjutant_core::gate::shell::ShellReading;
use anyhow::{Context, Result};

use crate::arena::Arena;
use crate::judge::{Judge, SHELLS};
use crate::mutate::Mutator;
use crate::shrink::shrunk;
use crate::survivors::Survivors;
use crate::trial::Trial;

/// Number of lines run in one sandbox.
const BATCH: usize = 1000;
/// Number of repeats without a loss before it counts as a chance: under load a line may be too slow.
const REPEATS: usize = 5;
/// Number of preceding lines that are tried with a line that can't be repeated alone.
const BEFORE: usize = 12;
/// Slow programs run in one of so many lines.
const SLOW_EVERY: u64 = 8;
/// Factor by which a line may run longer when it is tried again.
const PATIENCE: u64 = 4;

/// Settings of a hunt.
#[derive(Debug, Clone)]
pub struct Hunt {
    /// Seed that the lines are made from.
    pub seed: u64,
    /// The number of the first line.
    pub from: u64,
    /// Number of lines made.
    pub lines: u64,
    /// Number of processes of this program's kind that hunt at the same time.
    pub jobs: u64,
    /// Longest time that a line may run.
    pub limit_ms: u64,
    /// Lines to be tried instead of made ones.
    pub given: Option<Vec<String>>,
    /// The file of what was run before and took nothing.
    pub survivors: Option<PathBuf>,
}

/// Outcome of a hunt.
#[derive(Debug, Default)]
pub struct HuntTally {
    /// Distinct lines, each judged for both shells.
    pub judged: u64,
    /// Runs of lines that are safe, in one shell or the other.
    pub run: u64,
    /// Lines that are safe and were run before, in the same shell and with the same things kept.
    pub survived: u64,
    /// Lines that are safe by the reader and lost something.
    pub found: u64,
    /// Losses that did not happen again.
    pub unrepeated: u64,
}

/// A line that was called safe and destroyed something.
struct DestructiveLine {
    index: u64,
    trial: Trial,
    canaries: Vec<String>,
}

impl Hunt {
    /// Hunts to the end, printing each finding as it comes.
    ///
    /// # Errors
    ///
    /// No corpus, or no sandbox with all its walls.
    pub fn run(&self) -> Result<HuntTally> {
        let mutator = Mutator::new()?;
        let shared = Mutex::new((HuntTally::default(), HashSet::new()));
        let survivors = self.survivors.as_deref().map(Survivors::open).transpose()?;
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let jobs: Vec<_> = (0..self.jobs.max(1))
                .map(|job| {
                    let (mutator, shared, survivors) = (&mutator, &shared, survivors.as_ref());
                    scope.spawn(move || Worker::new(self, mutator, shared, survivors, begun)?.work(job))
                })
                .collect();
            jobs.into_iter().try_for_each(|job| job.join().unwrap_or_else(|_| anyhow::bail!("a job panicked")))
        })?;
        Ok(shared.into_inner().unwrap_or_else(PoisonError::into_inner).0)
    }
}

type Shared = Mutex<(HuntTally, HashSet<u64>)>;

struct Worker<'a> {
    hunt: &'a Hunt,
    mutator: &'a Mutator,
    shared: &'a Shared,
    survivors: Option<&'a Survivors>,
    begun: Instant,
    arena: Arena,
    judge: Judge,
}

impl<'a> Worker<'a> {
    fn new(
        hunt: &'a Hunt,
        mutator: &'a Mutator,
        shared: &'a Shared,
        survivors: Option<&'a Survivors>,
        begun: Instant,
    ) -> Result<Self> {
        let arena = Arena::new()?;
        let judge = Judge::new(&arena.root());
        Ok(Self { hunt, mutator, shared, survivors, begun, arena, judge })
    }

    /// Every line whose number is this job's.
    fn work(&self, job: u64) -> Result<()> {
        let mut batch: Vec<(u64, Trial)> = Vec::new();
        let (mut judged, mut survived) = (0, 0);
        let mut index = self.hunt.from + job;
        while index < self.hunt.from + self.hunt.lines {
            let line = match &self.hunt.given {
                None => self.mutator.line(self.hunt.seed, index),
                Some(given) => usize::try_from(index).ok().and_then(|at| given.get(at)).cloned().unwrap_or_default(),
            };
            if self.is_new(&line) {
                judged += 1;
                let skips_slow = self.hunt.given.is_none() && !index.is_multiple_of(SLOW_EVERY);
                for shell in SHELLS {
                    let Some(trial) = self.judge.trial(&line, shell) else { continue };
                    if self.survivors.is_some_and(|survivors| survivors.has(&trial)) {
                        survived += 1;
                    } else {
                        batch.push((index, Trial { skips_slow, ..trial }));
                    }
                }
            }
            if batch.len() >= BATCH {
                self.run_batch(&batch, judged, survived)?;
                batch.clear();
                (judged, survived) = (0, 0);
            }
            index += self.hunt.jobs.max(1);
        }
        self.run_batch(&batch, judged, survived)
    }

    fn is_new(&self, line: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        line.hash(&mut hasher);
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).1.insert(hasher.finish())
    }

    fn run_batch(&self, batch: &[(u64, Trial)], judged: u64, survived: u64) -> Result<()> {
        let mut at = 0;
        let mut lost = HashSet::new();
        while at < batch.len() {
            let rest = &batch[at..];
            let trials: Vec<Trial> = rest.iter().map(|(_, trial)| trial.clone()).collect();
            let round = self.arena.run(&trials, self.hunt.limit_ms)?;
            for (number, canaries) in &round.lost {
                let from = number.saturating_sub(BEFORE);
                let (index, trial) = rest.get(*number).context("a line that there is")?;
                let finding = DestructiveLine { index: *index, trial: trial.clone(), canaries: canaries.clone() };
                self.report(&finding, &trials[from..=*number])?;
                lost.insert(at + number);
            }
            at += round.begun.max(1);
        }
        if let Some(survivors) = self.survivors {
            let whole = batch.iter().enumerate().filter(|(number, _)| !lost.contains(number));
            survivors.add(whole.map(|(_, (_, trial))| trial))?;
        }
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let tally = &mut shared.0;
        tally.judged += judged;
        tally.survived += survived;
        tally.run += batch.len() as u64;
        eprintln!(
            "{} judged, {} run, {} run before, {} found, {} unrepeated, {} s",
            tally.judged,
            tally.run,
            tally.survived,
            tally.found,
            tally.unrepeated,
            self.begun.elapsed().as_secs()
        );
        Ok(())
    }

    /// Tries a finding again, alone and then with the lines before it, and prints what is left of it.
    fn report(&self, finding: &DestructiveLine, sequence: &[Trial]) -> Result<()> {
        let alone = std::slice::from_ref(&finding.trial);
        let repeated = if self.is_lost_by(alone)? {
            Some(vec![shrunk(&self.arena, &self.judge, &finding.trial, self.hunt.limit_ms)?])
        } else if self.is_lost_by(sequence)? {
            Some(sequence.to_vec())
        } else {
            None
        };
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(least) = repeated else {
            shared.0.unrepeated += 1;
            println!("unrepeated: {}", self.told(finding));
            return Ok(());
        };
        shared.0.found += 1;
        println!("FOUND {}", self.told(finding));
        for trial in least {
            println!("  least: {} -c {:?}", trial.shell.program(), trial.line);
        }
        Ok(())
    }

    fn is_lost_by(&self, trials: &[Trial]) -> Result<bool> {
        for _ in 0..REPEATS {
            if !self.arena.run(trials, self.hunt.limit_ms * PATIENCE)?.lost.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn told(&self, finding: &DestructiveLine) -> String {
        let DestructiveLine { index, trial, canaries } = finding;
        let dialect = SHELLS.iter().find(|(shell, _)| *shell == trial.shell).map(|(_, dialect)| *dialect);
        let reading = dialect.map(|dialect| self.judge.reading(&trial.line, dialect)).unwrap_or_default();
        let (shell, line, seed) = (trial.shell.program(), &trial.line, self.hunt.seed);
        format!("seed {seed} line {index}: {shell} -c {line:?}\n  lost: {canaries:?}\n  read: {}", summary(&reading))
    }
}

/// A reading on one line.
fn summary(reading: &ShellReading) -> String {
    let effects = reading.effects.iter().map(|effect| format!("{} ({})", effect.reason, effect.category.as_str()));
    format!("runs {:?}, {}", reading.runs, effects.collect::<Vec<_>>().join(", "))
}
