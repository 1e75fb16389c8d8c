//! The state of a loop, from the events: its iterations, the files after each, the evidence, the votes, and what was
//! decided at the end of each round.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::Timestamp;

use super::knobs::StuckKnobs;
use super::stuck::{Evaluation, Round, StuckAnswer, StuckState};
use crate::handoff::{Handoff, Iteration, IterationStatus, ReviewVerdict};
use crate::procedure::{Asking, CheckCame, Children, DeedSlots, Gone, NewAnswer};
use crate::session::Session;
use crate::trace::{
    AskEvent, Body, CallEvent, DeedEvent, Event, EvidenceCheck, LoopEvent, LoopOptions, PartEvent, RunEvent,
    StuckValues,
};
use crate::words::deed::DeedKind;
use crate::words::{Choice, Message, Outcome, Part, QuestionKind};

/// Number of rounds whose line is shown to people and scripts.
const ROUND_LINES_MAX: usize = 7;
/// Number of changed paths that are remembered.
const CHANGED_MAX: usize = 1_000;
/// Number of iterations in a row that may fail before the loop does.
pub(super) const FAILURES_MAX: u32 = 3;

/// Progress of a loop.
#[derive(Debug, Clone, Default)]
pub(super) struct LoopProgress {
    pub(super) run: String,
    pub(super) started: bool,
    pub(super) ended: Option<Outcome>,
    /// Outcome of phase 0 of the run.
    pub(super) confirmed: Option<Outcome>,
    /// The sessions at work.
    pub(super) children: Children<Session>,
    /// The parts in which sessions began, of which none begins again.
    pub(super) begun: BTreeSet<Part>,
    /// Number of the iteration that began last; 0 before the first.
    pub(super) iteration: u32,
    /// Number of rounds that were closed: that of the iteration, once it is over.
    pub(super) rounds: u32,
    /// The end of the iteration that ended last.
    pub(super) last_end: Option<IterationEnd>,
    /// True if the iteration that began last has ended.
    pub(super) has_ended: bool,
    /// Number of iterations in a row that failed.
    pub(super) failures: u32,
    /// Number of times that an agent said that the goal is reached.
    pub(super) claims: u32,
    /// The files before the first iteration, and after the last.
    pub(super) baseline: Option<FilesSeen>,
    pub(super) tree: Option<FilesSeen>,
    /// The files after the checks ran on `tree`.
    pub(super) after: Option<FilesSeen>,
    /// The files once the council had approved.
    pub(super) voted: Option<FilesSeen>,
    /// The checks that ran on `tree`.
    pub(super) checks: Vec<CheckCame>,
    /// The check that runs now.
    pub(super) checking: Option<String>,
    /// True if the checks run a second time, since they changed files the first time.
    pub(super) is_second_pass: bool,
    /// The files on which they run then.
    pub(super) verified: Option<FilesSeen>,
    /// True once the evidence of this round is on record.
    pub(super) has_evidence: bool,
    /// The votes of this round, and the verdict.
    pub(super) votes: Vec<Voted>,
    pub(super) approved: Option<bool>,
    pub(super) approvals: u32,
    /// What became of the question in this round of whether the goal is reached.
    pub(super) evaluation: Option<Evaluation>,
    /// The gate that refused completion last, while nothing else was refused or approved since.
    pub(super) refused: Option<RefusedCompletion>,
    pub(super) stuck: StuckState,
    pub(super) signals: Option<StuckValues>,
    pub(super) is_completed: bool,
    pub(super) is_stalled: bool,
    pub(super) has_receipt: bool,
    /// Something that a person is to be asked about.
    pub(super) pending: Option<Pending>,
    /// The one that files tell of.
    pub(super) told: Option<Pending>,
    /// True if a person did something since the round before.
    pub(super) by_human: bool,
    /// Words of the operator for the next iteration.
    pub(super) hint: Option<String>,
    pub(super) asking: Asking,
    /// More iterations that the operator granted.
    pub(super) granted: u32,
    pub(super) deeds: DeedSlots,
    /// Time at which the last round was closed.
    pub(super) closed_at: Timestamp,
    /// The last rounds as lines, with the one up to which they were written.
    pub(super) lines: VecDeque<String>,
    pub(super) written: Option<u32>,
    /// Files that calls of this iteration named as changed.
    pub(super) changed: BTreeSet<String>,
    /// The files that changed since the loop began.
    pub(super) changed_since_begin: BTreeSet<String>,
    /// True if the operator said that it is enough.
    pub(super) is_enough: bool,
    /// True if the operator wants no more of it.
    pub(super) is_declined: bool,
}

/// The end of an iteration.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum IterationEnd {
    /// It handed off.
    Report(Iteration),
    /// It could not go on, for this reason.
    Blocked(String),
    /// It failed, for this reason.
    Failed(String),
    /// The operator declined it.
    Declined,
    /// The operator said that it is enough.
    Enough,
}

/// The files at a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FilesSeen {
    pub(super) tree: Option<String>,
    pub(super) head: Option<String>,
    pub(super) kept: Option<String>,
    pub(super) changed: Vec<String>,
    pub(super) more: u64,
    pub(super) absent: Vec<String>,
    pub(super) tests: BTreeMap<String, String>,
    pub(super) error: Option<String>,
}

/// A vote on completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Voted {
    /// Place in the council, from 0.
    pub(super) place: usize,
    pub(super) voter: String,
    pub(super) approves: Option<bool>,
    pub(super) reason: String,
}

/// A refusal of completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RefusedCompletion {
    pub(super) gate: String,
    pub(super) reasons: Vec<String>,
}

/// Something that a person is to be asked about, and the round after which.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pending {
    pub(super) round: u32,
    pub(super) cause: StuckCause,
    /// True once files tell of it.
    pub(super) is_told: bool,
}

/// The reason to ask a person.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum StuckCause {
    /// The stuck signals.
    Signals(StuckValues),
    /// The agent says that it can't go on.
    Agent(String),
}

impl LoopProgress {
    /// Returns the number of iterations that the loop may take.
    pub(super) fn iterations_max(&self, options: &LoopOptions) -> u32 {
        options.iterations_max.saturating_add(self.granted)
    }

    /// Returns the files that completion is judged of.
    pub(super) fn judged(&self) -> Option<&FilesSeen> {
        self.after.as_ref().or(self.tree.as_ref())
    }

    /// Returns true if the agent of the iteration that ended last said that the goal is reached.
    pub(super) fn is_claimed(&self) -> bool {
        matches!(&self.last_end, Some(IterationEnd::Report(report)) if report.status == IterationStatus::Complete)
    }

    /// Returns true if an agent worked in the iteration that ended last.
    pub(super) fn has_worked(&self) -> bool {
        matches!(self.last_end, Some(IterationEnd::Report(_) | IterationEnd::Blocked(_)))
    }

    /// Returns the round that is about to be closed, as the stuck signals see it.
    pub(super) fn round(&self) -> Round {
        Round {
            run: self.run.clone(),
            number: self.iteration,
            has_worked: self.has_worked(),
            tree: self.tree.as_ref().and_then(|tree| tree.tree.clone()),
            evaluation: self.evaluation.clone(),
            by_human: self.by_human,
        }
    }

    /// Returns the state of the stuck signals once the round at hand is closed, with its answer.
    pub(super) fn closed(&self, knobs: &StuckKnobs) -> (StuckState, StuckAnswer) {
        let mut stuck = self.stuck.clone();
        let answer = stuck.close(&self.round(), knobs);
        (stuck, answer)
    }

    /// Takes note of an event. `knobs` are the thresholds by which rounds are closed.
    pub(super) fn apply(&mut self, event: &Event, part: &Part, knobs: &StuckKnobs) {
        self.human(event, part);
        if event.part == *part {
            self.own(event, knobs);
        } else {
            if let Body::Call(CallEvent::ToolCall { changes, .. }) = &event.body {
                self.changed.extend(changes.iter().map(|change| change.path.clone()));
            }
            if let Some(gone) = self.children.apply(event) {
                self.came(gone, part);
            }
        }
        if let Body::Run(RunEvent::RunStart(start)) = &event.body {
            self.run = start.run_id.to_string();
        }
    }

    /// Takes note of a person who did something: what was counted before says nothing any more.
    fn human(&mut self, event: &Event, part: &Part) {
        let is_ours = event.part.is_root() || event.part.is_within(part);
        let is_human = match &event.body {
            Body::Ask(AskEvent::OperatorMessage { message, .. }) => {
                matches!(message, Message::Steer(_) | Message::Amend(_) | Message::Pause | Message::Interrupt)
            }
            Body::Ask(AskEvent::Answer { choice, .. }) => {
                matches!(choice, Choice::Context | Choice::Extend | Choice::Say | Choice::Correct | Choice::Continue)
            }
            _ => false,
        };
        // What is said before the first iteration begins the loop.
        self.by_human |= is_ours && is_human && self.iteration > 0;
    }

    fn own(&mut self, event: &Event, knobs: &StuckKnobs) {
        self.deeds.apply(&event.body);
        match &event.body {
            Body::Part(PartEvent::PartStart { .. }) => self.started = true,
            Body::Part(PartEvent::PartEnd { outcome }) => self.ended = Some(*outcome),
            Body::Deed(deed) => self.deed(deed),
            Body::Loop(decided) => self.decided(decided, event.at, knobs),
            Body::Ask(ask) => {
                if let Some(answer) = self.asking.apply(ask) {
                    self.answered(answer);
                }
            }
            _ => {}
        }
    }

    fn deed(&mut self, deed: &DeedEvent) {
        match deed {
            DeedEvent::DeedBegin { deed, objects, .. } => {
                if *deed == DeedKind::Check {
                    let command = objects.first().cloned().unwrap_or_default();
                    self.checking = Some(command);
                }
            }
            DeedEvent::TreeKept { slot: _, tree, head, kept, changed, more, absent, tests, error } => {
                let seen = FilesSeen {
                    tree: tree.clone(),
                    head: head.clone(),
                    kept: kept.clone(),
                    changed: changed.clone(),
                    more: *more,
                    absent: absent.clone(),
                    tests: tests.clone(),
                    error: error.clone(),
                };
                self.saw(seen);
            }
            DeedEvent::CheckRun { passed, exit_code, output, .. } => {
                let command = self.checking.take().unwrap_or_default();
                self.checks.push(CheckCame { command, passed: *passed, exit_code: *exit_code, output: output.clone() });
            }
            DeedEvent::FilesWritten { .. } => {
                self.written = Some(self.rounds);
                if let Some(pending) = &mut self.pending {
                    pending.is_told = true;
                }
                self.told = self.pending.clone();
            }
        }
    }

    /// Takes note of the files as they are at a point that the state tells.
    fn saw(&mut self, seen: FilesSeen) {
        if self.changed_since_begin.len() < CHANGED_MAX && self.baseline.is_some() {
            self.changed_since_begin.extend(seen.changed.iter().chain(&self.changed).cloned());
        }
        if self.approved == Some(true) {
            if self.judged().is_some_and(|judged| judged.tree != seen.tree) {
                let (gate, why) = ("files".to_owned(), "the files changed while the council voted".to_owned());
                self.evaluation = Some(Evaluation::Blocked { gate: gate.clone(), reason: why.clone() });
                self.refused = Some(RefusedCompletion { gate, reasons: vec![why] });
            }
            self.voted = Some(seen);
        } else if self.baseline.is_none() {
            self.baseline = Some(seen);
        } else if self.tree.is_none() {
            self.tree = Some(seen);
        } else if !self.is_second_pass && self.tree.as_ref().is_some_and(|tree| tree.tree != seen.tree) {
            // What checks build may be new to a repository that doesn't ignore it. The second time it is there.
            self.is_second_pass = true;
            self.checks.clear();
            self.verified = Some(seen);
        } else {
            self.after = Some(seen);
        }
    }

    fn decided(&mut self, decided: &LoopEvent, at: Timestamp, knobs: &StuckKnobs) {
        match decided {
            LoopEvent::Evidence { refused_by, reasons, checks, .. } => {
                self.has_evidence = true;
                if let Some(gate) = refused_by {
                    self.evaluation = Some(blocked(gate, checks));
                    self.refused = Some(RefusedCompletion { gate: gate.clone(), reasons: reasons.clone() });
                }
            }
            LoopEvent::CouncilVerdict { approve, is_approved, votes, .. } => {
                (self.approved, self.approvals) = (Some(*is_approved), *approve);
                self.evaluation = Some(Evaluation::Vote { approve: *approve, is_approved: *is_approved });
                self.refused = (!is_approved).then(|| RefusedCompletion {
                    gate: "the council".to_owned(),
                    reasons: votes
                        .iter()
                        .filter(|vote| vote.approves != Some(true))
                        .map(|vote| format!("{}: {}", vote.voter, vote.reason))
                        .collect(),
                });
            }
            LoopEvent::RoundClosed { round, answer, signals, files_changed, .. } => {
                // The same step as when it was decided: the event says what came of it.
                let (stuck, _) = self.closed(knobs);
                if answer != "completed" {
                    self.stuck = stuck;
                }
                self.close(*round, answer, *signals);
                let unchanged = signals.map_or(0, |signals| signals.rounds_unchanged);
                self.closed_at = at;
                self.lines.push_back(format!("{}|{round}|{files_changed}|{unchanged}|{}", at.as_second(), self.claims));
                if self.lines.len() > ROUND_LINES_MAX {
                    self.lines.pop_front();
                }
            }
            LoopEvent::EvidenceReceipt { .. } => self.has_receipt = true,
        }
    }

    fn close(&mut self, round: u32, answer: &str, signals: Option<StuckValues>) {
        self.rounds = round;
        self.signals = signals;
        self.is_completed = answer == "completed";
        self.is_stalled = answer == "stalled";
        self.by_human = false;
        let cause = match &self.last_end {
            _ if answer == "escalate" => signals.map(StuckCause::Signals),
            Some(IterationEnd::Blocked(reason)) if !self.is_completed => Some(StuckCause::Agent(reason.clone())),
            _ => None,
        };
        // One that still waits is not asked again.
        if let Some(cause) = cause
            && self.pending.is_none()
        {
            self.pending = Some(Pending { round, cause, is_told: false });
        }
    }

    fn answered(&mut self, answer: NewAnswer) {
        match (answer.kind, answer.choice) {
            (QuestionKind::Stuck, choice) => {
                let said = self.asking.answer(QuestionKind::Stuck).and_then(|(_, text)| text.map(str::to_owned));
                self.pending = None;
                match choice {
                    Choice::Say => self.hint = said,
                    Choice::Done => self.is_enough = true,
                    Choice::Continue => {}
                    _ => self.is_declined = true,
                }
            }
            (QuestionKind::Limit, Choice::Extend) => {
                let more = self.asking.answer(QuestionKind::Limit).and_then(|(_, text)| text?.trim().parse().ok());
                self.granted = self.granted.saturating_add(more.unwrap_or(0));
            }
            _ => return,
        }
        self.asking.forget();
    }

    /// Takes note that a session has begun: an iteration begins the next round.
    pub(super) fn begins(&mut self, part: &Part, place: SessionPlace) {
        self.begun.insert(part.clone());
        if let SessionPlace::Iteration(number) = place {
            let kept = std::mem::take(self);
            *self = Self {
                iteration: number,
                has_ended: false,
                tree: None,
                after: None,
                voted: None,
                verified: None,
                checks: Vec::new(),
                checking: None,
                is_second_pass: false,
                has_evidence: false,
                votes: Vec::new(),
                approved: None,
                approvals: 0,
                evaluation: None,
                changed: BTreeSet::new(),
                hint: None,
                ..kept
            };
        }
    }

    /// Takes note that a session has ended.
    fn came(&mut self, gone: Gone<Session>, part: &Part) {
        let Gone { part: ended, child: session, outcome } = gone;
        let handoff = session.handoff();
        match place_of(&ended, part) {
            Some(SessionPlace::Intake) => self.confirmed = Some(outcome),
            Some(SessionPlace::Iteration(_)) => {
                let end = match (handoff, outcome) {
                    (Some(Handoff::Iteration(report)), Outcome::Completed) => IterationEnd::Report(report),
                    (Some(Handoff::Escalation(escalation)), Outcome::Completed) => {
                        IterationEnd::Blocked(escalation.reason)
                    }
                    (_, Outcome::Completed) => IterationEnd::Enough,
                    (_, Outcome::Declined) => IterationEnd::Declined,
                    (_, Outcome::Stopped | Outcome::Superseded | Outcome::Stalled) => {
                        IterationEnd::Failed("it was stopped".to_owned())
                    }
                    (_, Outcome::Failed) => IterationEnd::Failed(session.failure()),
                };
                let has_failed = matches!(end, IterationEnd::Failed(_));
                self.failures = if has_failed { self.failures + 1 } else { 0 };
                self.is_enough |= end == IterationEnd::Enough;
                self.is_declined |= end == IterationEnd::Declined;
                self.last_end = Some(end);
                self.has_ended = true;
                self.claims += u32::from(self.is_claimed());
            }
            Some(SessionPlace::Voter(place)) => {
                let name = session.setup().role.as_ref().map(|role| role.name.clone()).unwrap_or_default();
                let (approves, reason) = match (handoff, outcome) {
                    (Some(Handoff::Review(review)), Outcome::Completed) => {
                        (Some(review.verdict == ReviewVerdict::Pass), review.rationale)
                    }
                    (Some(Handoff::Escalation(escalation)), _) => (None, escalation.reason),
                    (_, Outcome::Failed) => (None, session.failure()),
                    _ => (None, "it gave no judgement".to_owned()),
                };
                self.votes.push(Voted { place, voter: name, approves, reason });
                self.votes.sort_by_key(|vote| vote.place);
            }
            None => {}
        }
    }
}

/// Returns a refusal as the stuck signals see it: by the checks that fail, whatever else refuses beside them and whatever
/// they print, since both may differ each time; else by the gates.
fn blocked(gates: &str, checks: &[EvidenceCheck]) -> Evaluation {
    let failed: Vec<&str> = checks.iter().filter(|check| !check.passed).map(|check| check.command.as_str()).collect();
    match failed.as_slice() {
        [] => Evaluation::Blocked { gate: gates.to_owned(), reason: String::new() },
        failed => Evaluation::Blocked { gate: "checks".to_owned(), reason: failed.join("\n") },
    }
}

/// Place of a session in a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionPlace {
    /// Phase 0 of the run.
    Intake,
    /// An iteration, by its number.
    Iteration(u32),
    /// A voter, by its place in the council from 0.
    Voter(usize),
}

/// Returns the place of the session in `part`, which lies below that of the loop.
pub(super) fn place_of(part: &Part, of_loop: &Part) -> Option<SessionPlace> {
    let below = part.as_str().strip_prefix(of_loop.as_str())?.trim_start_matches('/');
    let segments: Vec<&str> = below.split('/').collect();
    match segments.as_slice() {
        ["intake"] => Some(SessionPlace::Intake),
        ["iteration", number] => Some(SessionPlace::Iteration(number.split('.').next()?.parse().ok()?)),
        ["iteration", _, "voter", place] => Some(SessionPlace::Voter(place.parse::<usize>().ok()?.checked_sub(1)?)),
        _ => None,
    }
}
