//! Measures how well the stuck signals tell work that gets nowhere from work that is slow, waits, or meets a fault outside.
//!
//! In: a labelled set of journals, each made by a script through the real decisions at the defaults. Out: precision and
//! recall of each signal, and of asking a person, as a table. A signal of a session holds if the agent was told of it;
//! one of a loop if a round was closed with it; a person was asked if there is a question of the kind `stuck`.
//!
//! Begin with [`measure`]. The scripts are in `sessions.rs` and `loops.rs`, `script.rs` carries them out.

mod loops;
mod script;
mod sessions;

use std::collections::{BTreeMap, BTreeSet};

use adjutant_core::trace::{AskEvent, Body, LoopEvent, TurnEvent};
use adjutant_core::words::{MessageKind, Outcome, QuestionKind};
use anyhow::Context;
use script::{ScriptedJournal, ScriptedRun};

/// A scripted run with its label.
#[derive(Debug, Clone)]
pub struct LabelledRun {
    pub class: ScenarioClass,
    /// The way in which it is stuck, slow, waiting or disturbed.
    pub way: &'static str,
    pub name: String,
    /// The signals that are true of it.
    pub shows: Vec<LabelledSignal>,
    pub run: ScriptedRun,
}

/// Label of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScenarioClass {
    /// It gets nowhere: a person must be asked.
    Stuck,
    /// It is slow and gets on.
    Fine,
    /// It waits for something, as it says.
    Waiting,
    /// Something outside failed.
    Infrastructure,
}

impl ScenarioClass {
    const fn name(self) -> &'static str {
        match self {
            Self::Stuck => "stuck",
            Self::Fine => "fine",
            Self::Waiting => "waiting",
            Self::Infrastructure => "infrastructure",
        }
    }
}

/// A sign that work gets nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LabelledSignal {
    NoChange,
    Revisit,
    Refused,
    SameCalls,
    Alternating,
    SameError,
}

impl LabelledSignal {
    const ALL: [Self; 6] =
        [Self::NoChange, Self::Revisit, Self::Refused, Self::SameCalls, Self::Alternating, Self::SameError];

    const fn name(self) -> &'static str {
        match self {
            Self::NoChange => "loop: no_change",
            Self::Revisit => "loop: revisit",
            Self::Refused => "loop: refused",
            Self::SameCalls => "session: same calls",
            Self::Alternating => "session: alternating",
            Self::SameError => "session: same error",
        }
    }

    /// Returns the signal that an agent or a person is told of in these words.
    fn told(text: &str) -> Option<Self> {
        [
            (Self::SameCalls, "The same calls brought the same results"),
            (Self::Alternating, "the work goes in a circle"),
            (Self::SameError, "failed with the same error"),
        ]
        .into_iter()
        .find_map(|(signal, words)| text.contains(words).then_some(signal))
    }
}

/// Reading of a journal: the signals that held, and if a person was asked.
#[derive(Debug, Default)]
struct SignalReading {
    held: BTreeSet<LabelledSignal>,
    is_asked: bool,
    /// Outcome of the run; `None` if it waits for the operator.
    outcome: Option<Outcome>,
}

impl SignalReading {
    fn of(journal: &ScriptedJournal) -> Self {
        let mut reading = Self { outcome: journal.outcome, ..Self::default() };
        for event in &journal.events {
            match &event.body {
                Body::Turn(TurnEvent::Message { kind: MessageKind::Nudge, text, .. }) => {
                    reading.held.extend(LabelledSignal::told(text));
                }
                Body::Ask(AskEvent::Question { question, .. }) if question.kind == QuestionKind::Stuck => {
                    reading.is_asked = true;
                    reading.held.extend(LabelledSignal::told(&question.text));
                }
                Body::Loop(LoopEvent::RoundClosed { signals: Some(values), .. }) => {
                    let held = [
                        (values.no_change, LabelledSignal::NoChange),
                        (values.revisit, LabelledSignal::Revisit),
                        (values.refused, LabelledSignal::Refused),
                    ];
                    reading.held.extend(held.into_iter().filter_map(|(holds, signal)| holds.then_some(signal)));
                }
                _ => {}
            }
        }
        reading
    }
}

/// Counts of right and wrong answers.
#[derive(Debug, Clone, Copy, Default)]
struct SignalCounts {
    right: usize,
    false_alarms: usize,
    missed: usize,
}

impl SignalCounts {
    fn count(&mut self, is_true: bool, holds: bool) {
        self.right += usize::from(is_true && holds);
        self.false_alarms += usize::from(!is_true && holds);
        self.missed += usize::from(is_true && !holds);
    }

    /// Returns the share of alarms that are right, in percent.
    fn precision(self) -> Option<usize> {
        share(self.right, self.right + self.false_alarms)
    }

    /// Returns the share of what is true that has an alarm, in percent.
    fn recall(self) -> Option<usize> {
        share(self.right, self.right + self.missed)
    }
}

/// Returns a share in percent, rounded down; `None` of nothing.
fn share(of: usize, all: usize) -> Option<usize> {
    (100 * of).checked_div(all)
}

/// The labelled set with what the signals say of it.
struct SignalReport {
    runs: Vec<(LabelledRun, SignalReading)>,
}

impl SignalReport {
    /// Makes all journals, and reads them.
    fn make() -> anyhow::Result<Self> {
        let runs = [sessions::all(), loops::all()].concat();
        let read = |run: LabelledRun| {
            let journal = run.run.journal().with_context(|| format!("{}: {}", run.way, run.name))?;
            let reading = SignalReading::of(&journal);
            Ok((run, reading))
        };
        Ok(Self { runs: runs.into_iter().map(read).collect::<anyhow::Result<_>>()? })
    }

    fn of(&self, signal: LabelledSignal) -> SignalCounts {
        let mut counts = SignalCounts::default();
        self.runs
            .iter()
            .for_each(|(run, reading)| counts.count(run.shows.contains(&signal), reading.held.contains(&signal)));
        counts
    }

    /// Returns the counts of asking a person.
    fn asked(&self) -> SignalCounts {
        let mut counts = SignalCounts::default();
        self.runs.iter().for_each(|(run, reading)| counts.count(run.class == ScenarioClass::Stuck, reading.is_asked));
        counts
    }

    /// Returns the runs that were judged wrongly: one that is stuck without a question, or another with one.
    fn wrong(&self) -> impl Iterator<Item = &(LabelledRun, SignalReading)> {
        let is_wrong =
            |(run, reading): &&(LabelledRun, SignalReading)| (run.class == ScenarioClass::Stuck) != reading.is_asked;
        self.runs.iter().filter(is_wrong)
    }

    /// Returns the tables: signals, ways, and what was judged wrongly.
    fn table(&self) -> String {
        let mut rows = vec![["signal", "right", "false alarms", "missed", "precision", "recall"].map(str::to_owned)];
        let percent = |share: Option<usize>| share.map_or_else(|| "-".to_owned(), |share| format!("{share} %"));
        let signals = LabelledSignal::ALL.map(|signal| (signal.name(), self.of(signal)));
        for (name, counts) in signals.into_iter().chain([("a person was asked", self.asked())]) {
            let SignalCounts { right, false_alarms, missed } = counts;
            let numbers = [right, false_alarms, missed].map(|count| count.to_string());
            let [right, false_alarms, missed] = numbers;
            rows.push([
                name.to_owned(),
                right,
                false_alarms,
                missed,
                percent(counts.precision()),
                percent(counts.recall()),
            ]);
        }
        let mut ways: BTreeMap<(ScenarioClass, &str), [usize; 2]> = BTreeMap::new();
        for (run, reading) in &self.runs {
            let counts = ways.entry((run.class, run.way)).or_default();
            counts[0] += 1;
            counts[1] += usize::from(reading.is_asked);
        }
        let mut of_ways = vec![["class", "way", "journals", "asked"].map(str::to_owned)];
        of_ways.extend(ways.into_iter().map(|((class, way), [journals, asked])| {
            [class.name().to_owned(), way.to_owned(), journals.to_string(), asked.to_string()]
        }));
        let mut text = format!("{} journals\n\n{}\n{}", self.runs.len(), aligned(&rows, 1), aligned(&of_ways, 2));
        for (run, reading) in self.wrong() {
            let end = reading.outcome.map_or("waits", Outcome::as_str);
            let what = if run.class == ScenarioClass::Stuck { "nobody was asked" } else { "a person was asked" };
            text.push_str(&format!("\n{what}: {}: {}, {} ({end})", run.class.name(), run.way, run.name));
        }
        text.push('\n');
        text
    }
}

/// Returns rows with their columns aligned: the first `words` to the left, the others to the right.
fn aligned<const N: usize>(rows: &[[String; N]], words: usize) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let width = width(column);
            if column < words { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Returns precision and recall of the stuck signals over the labelled set, as a table.
pub fn measure() -> anyhow::Result<String> {
    Ok(SignalReport::make()?.table())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stuck runs in which nobody is asked. All else that is stuck is seen: 67 of 75 runs, a recall of 89 %.
    const MISSED: [(&str, &str); 8] = [
        // Results that differ in a number count as new, for a number may be progress.
        ("equal successful calls", "tests that pass, in another time each"),
        ("busy polling", "a log with a clock in it"),
        // A vote that nobody approves is no split, so that one signal holds. The loop ends as stalled.
        ("no change, completion refused", "the whole council refuses"),
        // Where each round brings other files one signal holds. Ten claims end the loop as stalled.
        ("a council that stays split", "other files each round"),
        ("a council that stays split", "other files each round, not claimed"),
        ("claims that the same check refuses", "nothing changes after five rounds"),
        ("claims that the same check refuses", "other files each round"),
        ("claims that the same check refuses", "other files each round, a claim every second"),
    ];

    /// The runs that are not stuck and don't complete: they wait for their operator, who says nothing.
    const WAITING: [&str; 2] = ["never given", "60 failures (Unreached)"];

    #[test]
    fn a_person_is_asked_of_nothing_that_is_not_stuck_and_of_most_that_is() {
        let report = SignalReport::make().expect("every script is carried out");
        let wrong = |is_stuck: bool| {
            let of = |run: &&LabelledRun| (run.class == ScenarioClass::Stuck) == is_stuck;
            let runs = report.wrong().map(|(run, _)| run);
            runs.filter(of).map(|run| (run.way, run.name.as_str())).collect::<Vec<_>>()
        };
        assert_eq!(wrong(false), [], "asked though it isn't stuck:\n{}", report.table());
        assert_eq!(wrong(true), MISSED, "stuck, and nobody was asked:\n{}", report.table());
        let counts = report.asked();
        assert_eq!((counts.precision(), counts.recall()), (Some(100), Some(89)));
    }

    #[test]
    fn the_set_has_what_it_is_to_have_and_ends_as_it_is_meant_to() {
        let report = SignalReport::make().expect("every script is carried out");
        assert!(report.runs.len() >= 60, "{}", report.runs.len());
        let ways: BTreeSet<&str> =
            report.runs.iter().filter(|(run, _)| run.class == ScenarioClass::Stuck).map(|(run, _)| run.way).collect();
        assert_eq!(ways.len(), 8, "{ways:?}");
        for (run, reading) in &report.runs {
            let is_done = reading.outcome == Some(Outcome::Completed);
            let is_meant = match run.class {
                ScenarioClass::Stuck => !run.shows.is_empty(),
                ScenarioClass::Fine | ScenarioClass::Waiting | ScenarioClass::Infrastructure => {
                    run.shows.is_empty() && is_done != WAITING.contains(&run.name.as_str())
                }
            };
            assert!(is_meant, "{}, {}: {reading:?}", run.way, run.name);
        }
    }

    #[test]
    fn a_script_makes_the_same_journal_again() {
        for run in [sessions::all(), loops::all()].concat().iter().step_by(9) {
            let journal = || run.run.journal().expect("it is carried out").events;
            assert!(journal() == journal(), "{}, {}", run.way, run.name);
        }
    }
}
