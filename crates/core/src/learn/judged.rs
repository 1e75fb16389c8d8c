//! Defines a false positive for each detector, and finds those of one session.
//!
//! A detector fires; what the session and the operator do next shows if it was right. The seed defines this for three
//! detectors and says of three others that nothing shows it: no rate is computed for those, and nothing is recommended
//! from one.
//!
//! | detector | right | wrong | undecided |
//! | --- | --- | --- | --- |
//! | blocker | the session halted in phase 2 and nobody resumed it | it was resumed and came to its end | it was resumed and halted again: half |
//! | destructive | the operator said no in phase 3 | the operator said yes | |
//! | completion | the session came to phase 4 | it did not | |
//!
//! "Wrong" for the destructive detector does not mean that it should not have fired: the operator considered the act
//! safe in its context. Every place that shows its rate says so ([`CALIBRATION_TRAP`]).

use serde::{Deserialize, Serialize};

use super::record::is_zero;

/// Warning that must stand beside the rate of the destructive detector.
pub const CALIBRATION_TRAP: &str = "a high rate for `destructive` says that you approved what it held, not that it was wrong to ask: it is doing \
                                    its job";

/// Returns the reason why the fires of a detector can't be judged by what happened next; `None` if they can.
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

/// Verdicts on fires.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Judged {
    /// Number decided: right, wrong or half.
    #[serde(skip_serializing_if = "is_zero")]
    pub decided: u64,
    /// Number that were wrong, in halves: 2 for a wrong one, 1 for a half one.
    #[serde(skip_serializing_if = "is_zero")]
    pub wrong_halves: u64,
    /// Number that can't be judged yet, or ever.
    #[serde(skip_serializing_if = "is_zero")]
    pub undecided: u64,
}

/// Times that a detector was silent although the thing it looks for was there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Missed {
    /// Number of times.
    #[serde(skip_serializing_if = "is_zero")]
    pub times: u64,
}

/// Verdict on one fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FireVerdict {
    Right,
    Half,
    Wrong,
    Undecided,
}

impl Judged {
    pub(super) fn add(&mut self, verdict: FireVerdict) {
        match verdict {
            FireVerdict::Undecided => self.undecided += 1,
            FireVerdict::Right => self.decided += 1,
            FireVerdict::Half => {
                self.decided += 1;
                self.wrong_halves += 1;
            }
            FireVerdict::Wrong => {
                self.decided += 1;
                self.wrong_halves += 2;
            }
        }
    }
}

/// The fires of one session that are not judged yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PendingFires {
    /// The blocker detector fired, in this run of the trace.
    blocker: Option<(usize, Blocked)>,
    /// The destructive detector fired, in this run of the trace, and the operator has not answered.
    destructive: Option<usize>,
    /// The completion detector fired so often, in this run of the trace.
    completion: Option<(usize, u64)>,
    /// True if the destructive detector fired in the current turn.
    has_announced: bool,
}

/// State of a session after its blocker detector fired.
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
pub(super) type JudgedFire = (usize, &'static str, FireVerdict);

impl PendingFires {
    /// Takes note of a request for a turn: acts announced before it no longer count as announced.
    pub(super) fn turn(&mut self) {
        self.has_announced = false;
    }

    /// Takes note that a detector fired in run `run` of the trace.
    pub(super) fn fired(&mut self, run: usize, detector: &str, decided: &mut Vec<JudgedFire>) {
        match detector {
            "blocker" => {
                // A second fire while the session is resumed says that the resume halted, too.
                self.end_blocker(FireVerdict::Half, FireVerdict::Undecided, decided);
                self.blocker = Some((run, Blocked::Fired));
            }
            "destructive" => {
                self.has_announced = true;
                if let Some(before) = self.destructive.replace(run) {
                    decided.push((before, "destructive", FireVerdict::Undecided));
                }
            }
            "completion" => match &mut self.completion {
                Some((_, times)) => *times += 1,
                None => self.completion = Some((run, 1)),
            },
            _ => {}
        }
    }

    /// Takes note that the session entered a phase.
    pub(super) fn entered(&mut self, phase: &str, decided: &mut Vec<JudgedFire>) {
        match (phase, self.blocker) {
            ("blocker", Some((run, Blocked::Fired))) => self.blocker = Some((run, Blocked::Halted)),
            ("blocker", Some((_, Blocked::Resumed))) => {
                self.end_blocker(FireVerdict::Half, FireVerdict::Undecided, decided)
            }
            ("execute", Some((run, Blocked::Halted))) => self.blocker = Some((run, Blocked::Resumed)),
            _ => {}
        }
        if matches!(phase, "completion" | "done") {
            self.end_blocker(FireVerdict::Wrong, FireVerdict::Undecided, decided);
            if let Some((run, times)) = self.completion.take() {
                decided.extend((0..times).map(|_| (run, "completion", FireVerdict::Right)));
            }
        }
    }

    /// Takes note of the operator's answer to an announced act.
    pub(super) fn answered(&mut self, is_yes: bool, decided: &mut Vec<JudgedFire>) {
        if let Some(run) = self.destructive.take() {
            decided.push((run, "destructive", if is_yes { FireVerdict::Wrong } else { FireVerdict::Right }));
        }
    }

    /// Returns true if the act that the operator now denies was not announced.
    pub(super) fn is_unannounced(&self) -> bool {
        !self.has_announced
    }

    /// Returns true if the blocker detector fired and the session has not ended since.
    pub(super) fn is_blocked(&self) -> bool {
        self.blocker.is_some()
    }

    /// Another run begins in the same trace: what can only be judged by what follows within a run ends here.
    pub(super) fn run_over(&mut self, decided: &mut Vec<JudgedFire>) {
        if let Some((run, times)) = self.completion.take() {
            decided.extend((0..times).map(|_| (run, "completion", FireVerdict::Wrong)));
        }
        if let Some(run) = self.destructive.take() {
            decided.push((run, "destructive", FireVerdict::Undecided));
        }
    }

    /// Nothing follows, as far as is known. `is_over` says that nothing will.
    pub(super) fn end(&mut self, is_over: bool, decided: &mut Vec<JudgedFire>) {
        if is_over {
            self.run_over(decided);
            match self.blocker.take() {
                Some((run, Blocked::Halted)) => decided.push((run, "blocker", FireVerdict::Right)),
                Some((run, Blocked::Resumed)) => decided.push((run, "blocker", FireVerdict::Half)),
                Some((run, Blocked::Fired)) => decided.push((run, "blocker", FireVerdict::Undecided)),
                None => {}
            }
            return;
        }
        if let Some((run, times)) = self.completion.take() {
            decided.extend((0..times).map(|_| (run, "completion", FireVerdict::Undecided)));
        }
        if let Some(run) = self.destructive.take() {
            decided.push((run, "destructive", FireVerdict::Undecided));
        }
        if let Some((run, _)) = self.blocker.take() {
            decided.push((run, "blocker", FireVerdict::Undecided));
        }
    }

    /// Closes the pending fire of the blocker detector: with the verdict `resumed` if the session had been resumed,
    /// else with `otherwise`.
    fn end_blocker(&mut self, resumed: FireVerdict, otherwise: FireVerdict, decided: &mut Vec<JudgedFire>) {
        match self.blocker.take() {
            Some((run, Blocked::Resumed)) => decided.push((run, "blocker", resumed)),
            Some((run, Blocked::Fired | Blocked::Halted)) => decided.push((run, "blocker", otherwise)),
            None => {}
        }
    }
}
