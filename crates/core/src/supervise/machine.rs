//! The loop as a procedure: iterations one after another, each with a fresh session; after each the files are identified,
//! completion is judged where it is due, and the round is closed. It ends when completion is verified, when it stalls, or
//! by the operator's word.
//!
//! The state is what the events say (`state.rs`); what follows from it is decided here. Every effect is a deed of the
//! runtime with an intent and an outcome, and every decision is an event, so that a killed loop goes on where it was.

use std::sync::Arc;

use super::council::{self, Seat};
use super::evidence::{self, Gathered};
use super::projection;
use super::questions;
use super::setup::{LoopSetup, shared};
use super::state::{FAILURES_MAX, FilesSeen, LoopProgress, SessionPlace, place_of};
use super::stuck::{Evaluation, StuckAnswer};
use crate::procedure::{Command, Next, Procedure, Want};
use crate::run::RunFacts;
use crate::session::{HasSessions, Session, Setup, Task};
use crate::trace::{Body, Entry, Event, LoopEvent, PartEvent, StuckValues};
use crate::words::deed::Deed;
use crate::words::{Key, Outcome, Part, PartKind, Question};

/// Iterations on one goal until it is verified.
#[derive(Debug, Clone)]
pub struct GoalLoop {
    setup: Arc<LoopSetup>,
    part: Part,
    state: LoopProgress,
}

impl GoalLoop {
    /// Creates a loop that lives in `part`.
    #[must_use]
    pub fn new(setup: Arc<LoopSetup>, part: Part) -> Self {
        Self { setup, part, state: LoopProgress::default() }
    }

    /// Returns the session that is at work, if one is.
    #[must_use]
    pub fn session(&self) -> Option<&Session> {
        self.state.children.iter().next().map(|(_, session)| session)
    }

    /// Returns the number of the iteration that began last, from 1; 0 before the first.
    #[must_use]
    pub fn iteration(&self) -> u32 {
        self.state.iteration
    }

    fn record(&self, body: Body) -> Next {
        Next::Record(Entry { part: self.part.clone(), body })
    }

    fn decide(&self, decided: LoopEvent) -> Next {
        self.record(Body::Loop(decided))
    }

    fn end(&self, outcome: Outcome) -> Next {
        self.record(Body::Part(PartEvent::PartEnd { outcome }))
    }

    fn ask(&self, question: Question) -> Want {
        let slot = self.state.asking.slot(question.kind);
        Want { key: Key { part: self.part.clone(), slot }, command: Command::Ask(Arc::new(question)) }
    }

    fn deed(&self, deed: Deed) -> Next {
        let key = Key { part: self.part.clone(), slot: self.state.deeds.slot() };
        Next::Want(vec![Want { key, command: Command::Do(Arc::new(deed)) }])
    }

    /// Returns a look at what the files are; `keep` if their content is to be kept.
    fn look(&self, keep: bool) -> Next {
        self.deed(Deed::Tree {
            keep: keep.then(|| self.state.iteration.to_string()),
            files: self.setup.expected_files.clone(),
            tests: self.setup.protected_tests.clone(),
        })
    }

    /// Returns the beginning of a session.
    fn begin(&self, segment: &str, setup: &Setup) -> Next {
        let contract = match &setup.task {
            Task::Piece(piece) => Some(piece.handoff),
            Task::Brief | Task::Intake => None,
        };
        let agent = setup.agents.first().map_or(0, |agent| agent.place);
        let body = Body::Part(PartEvent::PartStart { kind: PartKind::Session, contract, agent, workspace: None });
        Next::Record(Entry { part: self.part.child(segment), body })
    }

    /// Calls in the session that begins in `begun`, if it is the one that is due.
    fn call_in(&mut self, begun: &Part) {
        let Some(place) = place_of(begun, &self.part).filter(|_| !self.state.begun.contains(begun)) else { return };
        let setup = match place {
            SessionPlace::Intake => self.setup.intake(),
            SessionPlace::Iteration(_) => self.setup.iteration(&self.state),
            SessionPlace::Voter(place) => match self.seats().into_iter().nth(place) {
                Some(seat) => self.setup.voter(&seat, &self.state),
                None => return,
            },
        };
        self.state.begins(begun, place);
        self.state.children.call_in(begun.clone(), Session::new(shared(setup), begun.clone()));
    }

    /// Returns the seats of the council in the round at hand.
    fn seats(&self) -> Vec<Seat> {
        let size = self.setup.options.council;
        council::seats(size, council::wants_contrarian(size, &self.state.votes))
    }

    /// Returns the next thing after an iteration has ended: the files, the evidence, the votes, the end of the round.
    fn round(&self) -> Next {
        let state = &self.state;
        let Some(tree) = &state.tree else { return self.look(self.setup.options.checkpoints) };
        if self.is_due(tree) {
            if let Some(next) = self.evidence(tree) {
                return next;
            }
            if state.evaluation.is_none()
                && let Some(next) = self.vote()
            {
                return next;
            }
            if state.approved == Some(true) && state.voted.is_none() {
                return self.look(false);
            }
        }
        self.close(tree)
    }

    /// Returns true if completion is to be judged in this round: the agent says that the goal is reached, nothing has
    /// changed for long, or it is time to look.
    fn is_due(&self, tree: &FilesSeen) -> bool {
        let (state, options) = (&self.state, &self.setup.options);
        if options.is_perpetual || !state.has_worked() || state.iteration < options.min_iterations {
            return false;
        }
        let is_same = state.stuck.ring.back().is_some() && state.stuck.ring.back() == tree.tree.as_ref();
        let unchanged = if is_same { state.stuck.no_change + 1 } else { 0 };
        state.is_claimed()
            || unchanged >= options.stagnation_limit
            || state.iteration.is_multiple_of(options.check_interval.max(1))
    }

    /// Returns the next thing for the evidence; `None` once it is on record.
    fn evidence(&self, tree: &FilesSeen) -> Option<Next> {
        let state = &self.state;
        if state.has_evidence {
            return None;
        }
        let checks = self.setup.checks.lines();
        if let Some(command) = checks.get(state.checks.len()) {
            return Some(self.deed(Deed::Check { command: command.clone() }));
        }
        let ran_on = state.verified.as_ref().unwrap_or(tree);
        let after = match &state.after {
            _ if checks.is_empty() => tree,
            Some(after) => after,
            // What checks did to the files is seen by looking once more.
            None => return Some(self.look(false)),
        };
        let none = FilesSeen::default();
        let baseline = state.baseline.as_ref().unwrap_or(&none);
        Some(self.decide(evidence::judge(
            &self.setup,
            &Gathered { iteration: state.iteration, baseline, tree: ran_on, after, checks: &state.checks },
        )))
    }

    /// Returns the next thing for the votes; `None` once there is a verdict.
    fn vote(&self) -> Option<Next> {
        let (state, size) = (&self.state, self.setup.options.council);
        if size == 0 || state.approved.is_some() {
            return None;
        }
        Some(self.next_voter().unwrap_or_else(|| self.decide(council::verdict(state.iteration, size, &state.votes))))
    }

    /// Returns the beginning of the next voter; `None` if all have begun, or if nobody votes now.
    fn next_voter(&self) -> Option<Next> {
        let state = &self.state;
        if !state.has_evidence || state.evaluation.is_some() || state.rounds == state.iteration {
            return None;
        }
        let part = |place: usize| format!("iteration/{}/voter/{}", state.iteration, place + 1);
        let seats = self.seats();
        let due = seats.iter().find(|seat| !state.begun.contains(&self.part.child(&part(seat.place))))?;
        Some(self.begin(&part(due.place), &self.setup.voter(due, state)))
    }

    /// Returns true if completion is verified in the round at hand.
    fn is_verified(&self) -> bool {
        let state = &self.state;
        let is_approved = match &state.evaluation {
            None => self.setup.options.council == 0,
            Some(Evaluation::Vote { is_approved, .. }) => *is_approved,
            Some(Evaluation::Blocked { .. }) => false,
        };
        state.has_evidence && is_approved
    }

    fn close(&self, tree: &FilesSeen) -> Next {
        let (state, options, knobs) = (&self.state, &self.setup.options, self.setup.knobs());
        let (stuck, said) = state.closed(&knobs);
        let is_completed = self.is_verified();
        let is_stalled = stuck.is_stalled(&knobs) || state.claims >= options.done_signal_limit && state.is_claimed();
        let answer = match said {
            _ if is_completed => "completed",
            _ if is_stalled && !options.is_perpetual => "stalled",
            StuckAnswer::Escalate => "escalate",
            StuckAnswer::Skipped => "skipped",
            StuckAnswer::No => "go_on",
        };
        let signals = knobs.is_enabled.then_some(StuckValues {
            no_change: stuck.signals.no_change,
            revisit: stuck.signals.revisit,
            refused: stuck.signals.refused,
            rounds_unchanged: stuck.no_change,
            streak: stuck.streak,
        });
        self.decide(LoopEvent::RoundClosed {
            round: state.iteration,
            has_worked: state.has_worked(),
            tree: tree.tree.clone(),
            // Without a repository only what calls named is known.
            files_changed: (tree.changed.len() as u64 + tree.more).max(state.changed.len() as u64),
            is_claimed: state.is_claimed(),
            by_human: state.by_human,
            answer: answer.to_owned(),
            signals,
        })
    }

    /// Returns the next thing between two rounds.
    fn between(&self) -> Next {
        let (state, options) = (&self.state, &self.setup.options);
        if state.is_completed && !state.has_receipt {
            let none = FilesSeen::default();
            let seen = state.tree.as_ref().unwrap_or(&none);
            let tree = state.after.as_ref().unwrap_or(seen);
            // What is kept is what was seen before the checks ran.
            let kept = seen.kept.clone().filter(|_| seen.tree == tree.tree);
            let tree = FilesSeen { kept, ..tree.clone() };
            return self.decide(projection::receipt(state, &tree, options.council > 0));
        }
        let is_untold = state.pending.as_ref().is_some_and(|one| !one.is_told);
        let is_told_in_vain = state.told.is_some() && state.pending.is_none();
        // From the beginning on, so that the folder is there before a command could make it.
        if state.written != Some(state.rounds) || is_untold || is_told_in_vain {
            return self.deed(Deed::Files(projection::files(state, &self.setup)));
        }
        if state.is_completed || state.is_enough {
            return self.end(Outcome::Completed);
        }
        if state.is_declined {
            return self.end(Outcome::Stopped);
        }
        if state.is_stalled {
            return self.end(Outcome::Stalled);
        }
        if state.failures >= FAILURES_MAX {
            return self.end(Outcome::Failed);
        }
        if let Some(pending) = state.pending.as_ref().filter(|_| self.setup.halts()) {
            return Next::Want(vec![self.ask(questions::stuck(pending, state, true))]);
        }
        let limit = state.iterations_max(options);
        if state.iteration >= limit {
            return Next::Want(vec![self.ask(questions::iterations_used(limit, !options.is_perpetual))]);
        }
        self.begin(&format!("iteration/{}", state.iteration + 1), &self.setup.iteration(state))
    }

    /// Adds the question that a loop that goes on has open meanwhile.
    fn with_open_question(&self, next: Next) -> Next {
        let pending = self.state.pending.as_ref().filter(|pending| pending.is_told && !self.setup.halts());
        let is_question = |want: &Want| want.key.part == self.part && matches!(want.command, Command::Ask(_));
        match (next, pending) {
            // One question at a time.
            (Next::Want(mut wants), Some(pending)) if !wants.iter().any(is_question) => {
                wants.push(self.ask(questions::stuck(pending, &self.state, false)));
                Next::Want(wants)
            }
            (next, _) => next,
        }
    }
}

impl HasSessions for GoalLoop {
    fn session_in(&self, part: &Part) -> Option<&Session> {
        self.state.children.get(part)
    }
}

impl Procedure for GoalLoop {
    type Facts = RunFacts;

    fn apply(&mut self, event: &Event) {
        // By its `part_start`, or by what follows it if that line can't be read: damage that an operator accepted.
        let is_new = event.part != self.part && self.state.children.get(&event.part).is_none();
        if is_new && event.part.is_within(&self.part) && !event.body.is_from_operator() {
            self.call_in(&event.part);
        }
        self.state.apply(event, &self.part, &self.setup.knobs());
    }

    fn next(&self, facts: &RunFacts) -> Next {
        self.with_open_question(self.due(facts))
    }
}

impl GoalLoop {
    /// Returns the next thing, without the question that is open meanwhile.
    fn due(&self, facts: &RunFacts) -> Next {
        let state = &self.state;
        if !state.started {
            let kind = PartKind::Loop;
            return self.record(Body::Part(PartEvent::PartStart { kind, contract: None, agent: 0, workspace: None }));
        }
        if let Some(outcome) = state.ended {
            return Next::Done(outcome);
        }
        if !state.children.is_empty() {
            return self.next_voter().unwrap_or_else(|| state.children.next(facts));
        }
        match state.confirmed {
            None => return self.begin("intake", &self.setup.intake()),
            Some(Outcome::Completed) => {}
            Some(outcome) => return self.end(outcome),
        }
        if state.baseline.is_none() {
            return self.look(self.setup.options.checkpoints);
        }
        if state.has_ended && state.rounds < state.iteration {
            return self.round();
        }
        self.between()
    }
}
