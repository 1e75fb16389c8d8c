//! The crew as a procedure: one session at a time, each a piece of the run, moved on by the table of states.
//!
//! The state is what the events say (`state.rs`); what follows from it is decided here. A crew that is blocked or
//! escalates is not over: it asks, and goes on with the answer.

use std::sync::Arc;

use super::questions;
use super::scope_warning::{ScopeWarning, scope_warnings};
use super::setup::CrewSetup;
use super::state::{CrewProgress, SessionOutcome, SubTaskState};
use super::states::step;
use crate::handoff::{Handoff, ReviewVerdict};
use crate::procedure::{CheckingNext, Command, Next, Procedure, Want};
use crate::run::RunFacts;
use crate::session::amendment::amend_authorized;
use crate::session::{HasSessions, Session};
use crate::trace::{Body, CrewEvent, Entry, Event, PartEvent};
use crate::words::deed::Deed;
use crate::words::{Category, Choice, CrewState, Key, Mode, Outcome, Part, PartKind, Question, QuestionKind, Signal};

/// Several agents by role on one brief.
#[derive(Debug, Clone)]
pub struct Crew {
    pub(super) setup: Arc<CrewSetup>,
    pub(super) part: Part,
    pub(super) state: CrewProgress,
}

impl Crew {
    /// Creates a crew that lives in `part`.
    #[must_use]
    pub fn new(setup: Arc<CrewSetup>, part: Part) -> Self {
        let confirmed = setup.plans_only.then_some(Outcome::Completed);
        let state = CrewProgress { confirmed, ..CrewProgress::default() };
        Self { setup, part, state }
    }

    /// Returns the session that is at work, if one is.
    #[must_use]
    pub fn session(&self) -> Option<&Session> {
        self.state.children.iter().next().map(|(_, session)| session)
    }

    /// Returns the state of the crew.
    #[must_use]
    pub fn stands(&self) -> CrewState {
        self.state.at
    }

    fn record(&self, body: Body) -> Next {
        Next::Record(Entry { part: self.part.clone(), body })
    }

    fn end(&self, outcome: Outcome) -> Next {
        self.record(Body::Part(PartEvent::PartEnd { outcome }))
    }

    /// Moves on as the table says.
    fn signal(&self, signal: Signal, reason: Option<String>) -> Next {
        let to = step(self.state.at, signal, &self.state.standing(self.setup.retries_max)).to;
        self.go(to, signal, reason)
    }

    fn go(&self, state: CrewState, signal: Signal, reason: Option<String>) -> Next {
        let subtask = self.state.subtask().map(|subtask| subtask.task.id.clone());
        self.record(Body::Crew(CrewEvent::CoordinatorState { state, signal, subtask, reason }))
    }

    fn ask(&self, question: Question) -> Next {
        let slot = self.state.asking.slot(question.kind);
        Next::Want(vec![Want {
            key: Key { part: self.part.clone(), slot },
            command: Command::Ask(Arc::new(question.within(self.setup.base.answer_within_ms))),
        }])
    }

    /// Returns what the brief authorizes and the operator approved for the run.
    fn authorized(&self, run: &RunFacts) -> Vec<Category> {
        let mut authorized = self.setup.base.authorized.clone();
        run.amendments().iter().for_each(|amendment| amend_authorized(&mut authorized, amendment));
        authorized.extend_from_slice(run.approved());
        authorized
    }

    /// Returns true if nothing is asked between steps.
    fn is_auto(&self, run: &RunFacts) -> bool {
        run.mode(&self.part).or(self.setup.base.mode) == Some(Mode::Auto)
    }

    /// Handles a new plan: if nothing is asked between steps, work on it begins at once.
    fn planned(&self, run: &RunFacts) -> Next {
        let plan = match &self.state.planned {
            Some(SessionOutcome::Well(Handoff::Plan(plan))) => plan,
            Some(SessionOutcome::Well(Handoff::Escalation(escalation))) => {
                return self.signal(Signal::PlanInvalid, Some(escalation.reason.clone()));
            }
            Some(SessionOutcome::Well(_)) | None => return self.signal(Signal::PlanInvalid, None),
            Some(SessionOutcome::Declined) => return self.end(Outcome::Declined),
            Some(SessionOutcome::Enough) => return self.signal(Signal::OperatorDone, None),
            Some(SessionOutcome::Failed(why)) => return self.signal(Signal::PlanInvalid, Some(why.clone())),
        };
        let warnings = scope_warnings(plan, &self.authorized(run));
        if let Some(ScopeWarning { subtask, category, word }) = warnings
            .iter()
            .find(|warning| !self.state.warned_of.contains(&(warning.subtask.clone(), warning.category.clone())))
        {
            let (subtask, category, word) = (subtask.clone(), category.clone(), word.clone());
            return self.record(Body::Crew(CrewEvent::ScopeWarning { subtask, category, word }));
        }
        if self.setup.plans_only {
            return self.end(Outcome::Completed);
        }
        if self.is_auto(run) {
            return self.signal(Signal::PlanReady, None);
        }
        match self.state.asking.answer(QuestionKind::Confirmation) {
            None => self.ask(questions::plan(plan, &warnings)),
            Some((Choice::Decline, _)) => self.end(Outcome::Declined),
            Some((Choice::Correct, text)) => {
                self.go(CrewState::Plan, Signal::Again, Some(text.unwrap_or_default().to_owned()))
            }
            Some((Choice::AcceptAuto, _)) => self.record(Body::Part(PartEvent::ModeSet { mode: Mode::Auto })),
            Some(_) => self.signal(Signal::PlanReady, None),
        }
    }

    fn executed(&self) -> Next {
        match self.state.subtask().and_then(|subtask| subtask.executed.as_ref()) {
            Some(SessionOutcome::Well(Handoff::Execution(_))) => self.signal(Signal::ExecuteOk, None),
            Some(SessionOutcome::Well(Handoff::Escalation(escalation))) => {
                self.signal(Signal::ExecuteBlocked, Some(escalation.reason.clone()))
            }
            Some(SessionOutcome::Declined) => {
                self.signal(Signal::ExecuteBlocked, Some("declined by the operator".to_owned()))
            }
            Some(SessionOutcome::Enough) => self.signal(Signal::OperatorDone, None),
            Some(SessionOutcome::Failed(why)) => self.signal(Signal::Fatal, Some(why.clone())),
            Some(SessionOutcome::Well(_)) | None => self.signal(Signal::Fatal, None),
        }
    }

    /// Combines the verdicts of the judges. Without judges the sub-task passes.
    fn judged(&self, run: &RunFacts) -> Next {
        let Some(subtask) = self.state.subtask() else { return self.signal(Signal::Fatal, None) };
        let mut verdicts = Vec::new();
        for (judge, came) in &subtask.judged {
            let judge = &judge.name;
            match came {
                SessionOutcome::Well(Handoff::Review(review)) => verdicts.push(review.verdict),
                SessionOutcome::Well(Handoff::Escalation(escalation)) => {
                    return self.signal(Signal::Fatal, Some(format!("the {judge}: {}", escalation.reason)));
                }
                SessionOutcome::Enough => return self.signal(Signal::OperatorDone, None),
                SessionOutcome::Failed(why) => return self.signal(Signal::Fatal, Some(format!("the {judge}: {why}"))),
                SessionOutcome::Declined | SessionOutcome::Well(_) => {
                    return self.signal(Signal::Fatal, Some(format!("the {judge} gave no judgement")));
                }
            }
        }
        match verdicts.as_slice() {
            [] => self.signal(Signal::ReviewPass, None),
            _ if subtask.is_split() => self.split(subtask, run),
            [verdict, ..] => self.signal(
                match verdict {
                    ReviewVerdict::Pass => Signal::ReviewPass,
                    ReviewVerdict::NeedsRetry => Signal::ReviewNeedsRetry,
                    ReviewVerdict::Fail => Signal::ReviewFail,
                },
                None,
            ),
        }
    }

    /// Handles judges that disagree. If nothing is asked between steps, the stricter of them is followed once for a
    /// sub-task: it is done again. The operator is asked if they disagree after that, or if no attempt is left.
    fn split(&self, subtask: &SubTaskState, run: &RunFacts) -> Next {
        let has_attempt = subtask.retries < self.setup.retries_max;
        if self.is_auto(run) && has_attempt && !subtask.was_split {
            let why = "the judges disagree, and the stricter is followed".to_owned();
            return self.signal(Signal::ReviewNeedsRetry, Some(why));
        }
        self.signal(Signal::ReviewDisagreement, None)
    }

    /// Returns the next thing for the brief's checks before the work counts as done; `None` once all of them pass.
    fn check_work(&self, run: &RunFacts) -> Option<Next> {
        if !run.checks_work() || self.setup.base.shell_disabled {
            return None;
        }
        let failed = match self.state.checking.next(self.setup.checks.lines()) {
            CheckingNext::Passed => return None,
            CheckingNext::Run(slot, command) => {
                let key = Key { part: self.part.clone(), slot };
                return Some(Next::Want(vec![Want { key, command: Command::Do(Arc::new(Deed::Check { command })) }]));
            }
            CheckingNext::Failed(failed) => failed,
        };
        Some(match self.state.asking.answer(QuestionKind::Escalation) {
            None => self.ask(questions::checks_failed(&failed)),
            Some((Choice::Accept, _)) => self.end(Outcome::Completed),
            Some((Choice::Retry, text)) => {
                let said = text.map(|text| format!("{text}\n\n")).unwrap_or_default();
                let why = format!("{said}The brief's checks fail after all sub-tasks:\n{}", failed.join("\n"));
                self.go(CrewState::Plan, Signal::Again, Some(why))
            }
            Some(_) => self.end(Outcome::Stopped),
        })
    }

    /// Asks a person, and goes on as they say.
    fn held_up(&self) -> Next {
        let is_split = self.state.last == Some(Signal::ReviewDisagreement);
        let kind = if is_split { QuestionKind::Disagreement } else { QuestionKind::Escalation };
        let again = if self.state.plan.is_none() { CrewState::Plan } else { CrewState::Retry };
        match self.state.asking.answer(kind) {
            None if is_split => self.ask(questions::disagreement(self.state.subtask())),
            None => self.ask(questions::escalation(self.state.subtask(), self.state.reason.as_deref())),
            Some((Choice::Accept, _)) if self.state.plan.is_some() => {
                self.go(CrewState::NextSubtask, Signal::ReviewPass, Some("the operator lets it pass".to_owned()))
            }
            Some((Choice::Retry, text)) => self.go(again, Signal::Again, text.map(str::to_owned)),
            Some(_) => self.end(Outcome::Stopped),
        }
    }
}

impl HasSessions for Crew {
    fn session_in(&self, part: &Part) -> Option<&Session> {
        self.state.children.get(part)
    }
}

impl Procedure for Crew {
    type Facts = RunFacts;

    fn apply(&mut self, event: &Event) {
        // By its `part_start`, or by what follows it if that line can't be read: damage that an operator accepted.
        let is_new = event.part != self.part && self.state.children.get(&event.part).is_none();
        if is_new && event.part.is_within(&self.part) && !event.body.is_from_operator() {
            self.state.call_in(&self.setup, &self.part, &event.part);
        }
        self.state.apply(event, &self.part, &self.setup.checks);
    }

    fn next(&self, facts: &RunFacts) -> Next {
        if !self.state.started {
            return self.record(Body::Part(PartEvent::PartStart {
                kind: PartKind::Crew,
                contract: None,
                agent: 0,
                workspace: None,
            }));
        }
        if let Some(outcome) = self.state.ended {
            return Next::Done(outcome);
        }
        if !self.state.children.is_empty() {
            return self.state.children.next(facts);
        }
        if let Some(begun) = self.state.next_child(&self.setup, &self.part) {
            return Next::Record(begun);
        }
        match self.state.at {
            CrewState::Init => match &self.state.confirmed {
                Some(Outcome::Completed) => self.signal(Signal::Start, None),
                Some(outcome) => self.end(*outcome),
                None => Next::Want(Vec::new()),
            },
            CrewState::Plan => self.planned(facts),
            CrewState::Dispatch | CrewState::NextSubtask => self.signal(Signal::Dispatched, None),
            CrewState::Execute => self.executed(),
            CrewState::ReviewStep => self.judged(facts),
            CrewState::Retry => self.signal(Signal::Again, None),
            CrewState::Block | CrewState::Escalate => self.held_up(),
            CrewState::Complete => self.check_work(facts).unwrap_or_else(|| self.end(Outcome::Completed)),
        }
    }
}
