//! What a false positive is, for each detector, and how those of one session are found out.
//!
//! A detector fires; whether it was right shows later, in what the session and the operator did next. The seed
//! defines it, and for three detectors it says that nothing shows it: there no rate is computed, and none is
//! recommended from.
//!
//! | detector | right | wrong | undecided |
//! | --- | --- | --- | --- |
//! | blocker | the session halted in phase 2 and nobody resumed it | it was resumed and came to its end | it was resumed and halted again: half |
//! | destructive | the operator said no in phase 3 | the operator said yes | |
//! | completion | the session came to phase 4 | it did not | |
//!
//! "Wrong" for the destructive detector does not mean that it should not have fired: the operator considered
//! the act safe in its context. Whoever shows its rate says so ([`CALIBRATION_TRAP`]).

use serde::{Deserialize, Serialize};

use super::record::is_zero;

/// What must stand where the rate of the destructive detector is shown.
pub const CALIBRATION_TRAP: &str = "a high rate for `destructive` says that you approved what it held, not that it was wrong to ask: it is doing \
                                    its job";

/// Whether the fires of a detector can be judged by what happened next.
#[must_use]
pub fn undefined_because(detector: &str) -> Option<&'static str> {
    match detector {
        "blocker" | "destructive" | "completion" => None,
        "banned_phrases" => Some("it only warns, and nobody says whether it was right"),
        "phase_marker" => Some("it only observes, and nothing depends on it"),
        "confirmation" => Some("a session can't begin without it"),
        _ => Some("nothing is defined for it"),
    }
}

/// What became of fires.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Judged {
    /// How many were decided one way or the other, or half.
    #[serde(skip_serializing_if = "is_zero")]
    pub decided: u64,
    /// How many were wrong, in halves: 2 for one that was wrong, 1 for one that was half.
    #[serde(skip_serializing_if = "is_zero")]
    pub wrong_halves: u64,
    /// How many nobody can judge yet, or ever.
    #[serde(skip_serializing_if = "is_zero")]
    pub undecided: u64,
}

/// How often a detector was silent although what it looks for was there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Missed {
    /// How often.
    #[serde(skip_serializing_if = "is_zero")]
    pub times: u64,
}

/// What one fire turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Right,
    Half,
    Wrong,
    Undecided,
}

impl Judged {
    pub(super) fn add(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Undecided => self.undecided += 1,
            Verdict::Right => self.decided += 1,
            Verdict::Half => {
                self.decided += 1;
                self.wrong_halves += 1;
            }
            Verdict::Wrong => {
                self.decided += 1;
                self.wrong_halves += 2;
            }
        }
    }
}

/// The fires of one session that are not judged yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Pending {
    /// The blocker detector fired, in this run of the trace.
    blocker: Option<(usize, Blocked)>,
    /// The destructive detector fired, in this run of the trace, and the operator has not answered.
    destructive: Option<usize>,
    /// The completion detector fired so often, in this run of the trace.
    completion: Option<(usize, u64)>,
    /// Whether the destructive detector fired in the turn that is going on.
    has_announced: bool,
}

/// Where a session stands after its blocker detector fired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Blocked {
    /// It fired.
    Fired,
    /// The session halted in phase 2.
    Halted,
    /// It went on.
    Resumed,
}

/// One fire that was judged: the run of the trace, the detector, and the verdict.
pub(super) type Decided = (usize, &'static str, Verdict);

impl Pending {
    /// A turn was asked for: what was announced before it is announced no more.
    pub(super) fn turn(&mut self) {
        self.has_announced = false;
    }

    /// A detector fired in run `run` of the trace.
    pub(super) fn fired(&mut self, run: usize, detector: &str, decided: &mut Vec<Decided>) {
        match detector {
            "blocker" => {
                // A second fire while the session is resumed says that the resume halted, too.
                self.end_blocker(Verdict::Half, Verdict::Undecided, decided);
                self.blocker = Some((run, Blocked::Fired));
            }
            "destructive" => {
                self.has_announced = true;
                if let Some(before) = self.destructive.replace(run) {
                    decided.push((before, "destructive", Verdict::Undecided));
                }
            }
            "completion" => match &mut self.completion {
                Some((_, times)) => *times += 1,
                None => self.completion = Some((run, 1)),
            },
            _ => {}
        }
    }

    /// The session entered a phase.
    pub(super) fn entered(&mut self, phase: &str, decided: &mut Vec<Decided>) {
        match (phase, self.blocker) {
            ("blocker", Some((run, Blocked::Fired))) => self.blocker = Some((run, Blocked::Halted)),
            ("blocker", Some((_, Blocked::Resumed))) => self.end_blocker(Verdict::Half, Verdict::Undecided, decided),
            ("execute", Some((run, Blocked::Halted))) => self.blocker = Some((run, Blocked::Resumed)),
            _ => {}
        }
        if matches!(phase, "completion" | "done") {
            self.end_blocker(Verdict::Wrong, Verdict::Undecided, decided);
            if let Some((run, times)) = self.completion.take() {
                decided.extend((0..times).map(|_| (run, "completion", Verdict::Right)));
            }
        }
    }

    /// The operator answered what was announced.
    pub(super) fn answered(&mut self, is_yes: bool, decided: &mut Vec<Decided>) {
        if let Some(run) = self.destructive.take() {
            decided.push((run, "destructive", if is_yes { Verdict::Wrong } else { Verdict::Right }));
        }
    }

    /// Whether what the operator denies now was announced by nobody.
    pub(super) fn is_unannounced(&self) -> bool {
        !self.has_announced
    }

    /// Whether the blocker detector fired and the session has not come to its end since.
    pub(super) fn is_blocked(&self) -> bool {
        self.blocker.is_some()
    }

    /// Another run begins in the same trace: what can only be judged by what follows within a run ends here.
    pub(super) fn run_over(&mut self, decided: &mut Vec<Decided>) {
        if let Some((run, times)) = self.completion.take() {
            decided.extend((0..times).map(|_| (run, "completion", Verdict::Wrong)));
        }
        if let Some(run) = self.destructive.take() {
            decided.push((run, "destructive", Verdict::Undecided));
        }
    }

    /// Nothing follows, as far as is known. `is_over` says that nothing will.
    pub(super) fn end(&mut self, is_over: bool, decided: &mut Vec<Decided>) {
        if is_over {
            self.run_over(decided);
            match self.blocker.take() {
                Some((run, Blocked::Halted)) => decided.push((run, "blocker", Verdict::Right)),
                Some((run, Blocked::Resumed)) => decided.push((run, "blocker", Verdict::Half)),
                Some((run, Blocked::Fired)) => decided.push((run, "blocker", Verdict::Undecided)),
                None => {}
            }
            return;
        }
        if let Some((run, times)) = self.completion.take() {
            decided.extend((0..times).map(|_| (run, "completion", Verdict::Undecided)));
        }
        if let Some(run) = self.destructive.take() {
            decided.push((run, "destructive", Verdict::Undecided));
        }
        if let Some((run, _)) = self.blocker.take() {
            decided.push((run, "blocker", Verdict::Undecided));
        }
    }

    /// What was pending of the blocker detector ends: one verdict if the session had been resumed, another if not.
    fn end_blocker(&mut self, resumed: Verdict, otherwise: Verdict, decided: &mut Vec<Decided>) {
        match self.blocker.take() {
            Some((run, Blocked::Resumed)) => decided.push((run, "blocker", resumed)),
            Some((run, Blocked::Fired | Blocked::Halted)) => decided.push((run, "blocker", otherwise)),
            None => {}
        }
    }
}
