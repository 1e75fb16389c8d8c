//! The state of a crew, from the events: where it stands, its plan, the handoffs of its roles, and the member at work.

use std::collections::BTreeSet;

use super::attempt::Attempt;
use super::setup::CrewSetup;
use super::states::{MoveFacts, SubTaskStatus};
use crate::gate::checks::Checks;
use crate::gate::custom_role::Member;
use crate::handoff::{Handoff, ReviewVerdict, SubTask, WorkPlan};
use crate::procedure::{Asking, Checking, Children, Gone};
use crate::session::{Session, Task};
use crate::trace::{Body, CrewEvent, Entry, Event, PartEvent};
use crate::words::role::Role;
use crate::words::tool::ToolEffect;
use crate::words::{Category, CrewState, Outcome, Part, PartKind, Signal};

/// Progress of a crew: where it stands, its plan and its sub-tasks.
#[derive(Debug, Clone)]
pub(super) struct CrewProgress {
    pub(super) started: bool,
    pub(super) ended: Option<Outcome>,
    pub(super) at: CrewState,
    /// Signal that led there, and its reason.
    pub(super) last: Option<Signal>,
    pub(super) reason: Option<String>,
    /// Outcome of phase 0 of the run.
    pub(super) confirmed: Option<Outcome>,
    /// Number of times that the planner was asked, and the outcome of the last time.
    pub(super) plans: u32,
    pub(super) planned: Option<SessionOutcome>,
    /// Warnings of the plan that the operator has had: sub-task and category.
    pub(super) warned_of: Vec<(String, Category)>,
    pub(super) plan: Option<WorkPlan>,
    pub(super) index: usize,
    pub(super) subtasks: Vec<SubTaskState>,
    /// The sessions at work: one at a time.
    pub(super) children: Children<Session>,
    /// The parts in which sessions began, of which none begins again.
    pub(super) begun: BTreeSet<Part>,
    /// Member whose sessions they are; `None` for phase 0 of the run.
    pub(super) at_work: Option<Member>,
    pub(super) asking: Asking,
    /// The brief's checks, which run once all sub-tasks have passed.
    pub(super) checking: Checking,
}

impl Default for CrewProgress {
    fn default() -> Self {
        Self {
            started: false,
            ended: None,
            at: CrewState::Init,
            last: None,
            reason: None,
            confirmed: None,
            plans: 0,
            planned: None,
            warned_of: Vec::new(),
            plan: None,
            index: 0,
            subtasks: Vec::new(),
            children: Children::default(),
            begun: BTreeSet::new(),
            at_work: None,
            asking: Asking::default(),
            checking: Checking::default(),
        }
    }
}

/// Outcome of a session.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SessionOutcome {
    /// This.
    Well(Handoff),
    /// The operator declined it.
    Declined,
    /// The operator said that it is enough.
    Enough,
    /// Nothing, for this reason.
    Failed(String),
}

/// State of a sub-task.
#[derive(Debug, Clone)]
pub(super) struct SubTaskState {
    pub(super) task: SubTask,
    pub(super) status: SubTaskStatus,
    /// Number of times that it was begun.
    pub(super) attempts: u32,
    /// Number of retries that the judges asked for since the operator last decided.
    pub(super) retries: u64,
    pub(super) executed: Option<SessionOutcome>,
    /// Outcomes of its judges so far, in the order in which they are asked.
    pub(super) judged: Vec<(Member, SessionOutcome)>,
    /// Outcomes of the judges of the attempt before.
    pub(super) judged_before: Vec<(Member, SessionOutcome)>,
    /// True if judges disagreed and the stricter was followed without asking the operator.
    pub(super) was_split: bool,
    /// Words of the operator for the next attempt.
    pub(super) said: Option<String>,
    /// Acts of this attempt.
    pub(super) attempt: Attempt,
    /// The files that calls of earlier attempts named as changed.
    pub(super) changed_before: BTreeSet<String>,
}

impl SubTaskState {
    fn new(task: SubTask) -> Self {
        Self {
            task,
            status: SubTaskStatus::Pending,
            attempts: 0,
            retries: 0,
            executed: None,
            judged: Vec::new(),
            judged_before: Vec::new(),
            was_split: false,
            said: None,
            attempt: Attempt::default(),
            changed_before: BTreeSet::new(),
        }
    }

    /// Returns the verdicts of its judges so far.
    pub(super) fn verdicts(&self) -> impl Iterator<Item = ReviewVerdict> {
        self.judged.iter().filter_map(|(_, came)| match came {
            SessionOutcome::Well(Handoff::Review(review)) => Some(review.verdict),
            _ => None,
        })
    }

    /// Returns true if its judges disagree.
    pub(super) fn is_split(&self) -> bool {
        let mut verdicts = self.verdicts();
        verdicts.next().is_some_and(|first| verdicts.any(|other| other != first))
    }
}

impl CrewProgress {
    /// Returns the present sub-task.
    pub(super) fn subtask(&self) -> Option<&SubTaskState> {
        self.subtasks.get(self.index)
    }

    pub(super) fn standing(&self, retries_max: u64) -> MoveFacts {
        MoveFacts {
            subtasks: self.plan.as_ref().map(|plan| plan.subtasks.len()),
            index: self.index,
            retries: self.subtask().map_or(0, |subtask| subtask.retries),
            retries_max,
        }
    }

    pub(super) fn apply(&mut self, event: &Event, part: &Part, checks: &Checks) {
        if event.part == *part {
            self.own(&event.body);
        }
        self.hear(event, checks);
    }

    /// Takes note of an event of the crew itself: its decisions and the answers to it.
    fn own(&mut self, body: &Body) {
        self.checking.apply(body);
        match body {
            Body::Ask(asked) => {
                self.asking.apply(asked);
            }
            Body::Part(PartEvent::PartStart { .. }) => self.started = true,
            Body::Part(PartEvent::PartEnd { outcome }) => self.ended = Some(*outcome),
            Body::Crew(CrewEvent::ScopeWarning { subtask, category, .. }) => {
                self.warned_of.push((subtask.clone(), category.clone()))
            }
            Body::Crew(CrewEvent::CoordinatorState { state, signal, reason, .. }) => {
                self.moved(*state, *signal, reason.as_deref());
                self.checking.forget();
                // What was asked was asked where the crew stood.
                self.asking.forget();
            }
            _ => {}
        }
    }

    fn moved(&mut self, to: CrewState, signal: Signal, reason: Option<&str>) {
        let from = std::mem::replace(&mut self.at, to);
        self.last = Some(signal);
        self.reason = reason.map(str::to_owned);
        match to {
            CrewState::Plan => {
                self.plans += 1;
                self.planned = None;
                self.warned_of.clear();
            }
            CrewState::Dispatch if from == CrewState::Plan => {
                if let Some(SessionOutcome::Well(Handoff::Plan(plan))) = &self.planned {
                    self.subtasks = plan.subtasks.iter().cloned().map(SubTaskState::new).collect();
                    self.plan = Some(plan.clone());
                    self.index = 0;
                }
            }
            CrewState::Dispatch | CrewState::Complete if from == CrewState::NextSubtask => self.index += 1,
            _ => {}
        }
        let Some(subtask) = self.subtasks.get_mut(self.index) else { return };
        match to {
            CrewState::Execute => {
                subtask.status = SubTaskStatus::Executing;
                subtask.attempts += 1;
                subtask.executed = None;
                subtask.changed_before.extend(std::mem::take(&mut subtask.attempt).changed);
            }
            CrewState::ReviewStep => {
                subtask.status = SubTaskStatus::Reviewing;
                subtask.judged_before = std::mem::take(&mut subtask.judged);
            }
            CrewState::NextSubtask => subtask.status = SubTaskStatus::Passed,
            CrewState::Retry if signal == Signal::Again => {
                subtask.status = SubTaskStatus::Retrying;
                subtask.retries = 0;
                subtask.said = reason.map(str::to_owned);
            }
            CrewState::Retry => {
                subtask.status = SubTaskStatus::Retrying;
                subtask.was_split |= subtask.is_split();
                subtask.retries += 1;
                subtask.said = None;
            }
            CrewState::Block => subtask.status = SubTaskStatus::Failed,
            CrewState::Escalate => subtask.status = SubTaskStatus::Escalated,
            CrewState::Init | CrewState::Plan | CrewState::Dispatch | CrewState::Complete => {}
        }
    }

    /// Passes an event to the session at work and takes note of it.
    fn hear(&mut self, event: &Event, checks: &Checks) {
        if let Some(session) = self.children.get(&event.part)
            && self.at_work.as_ref().is_some_and(|member| member.base == Role::Executor)
            && let Some(subtask) = self.subtasks.get_mut(self.index)
        {
            let tools = &session.setup().tools;
            let is_command = |name: &str| {
                tools
                    .iter()
                    .find(|tool| tool.name == name)
                    .is_none_or(|tool| matches!(tool.effect, ToolEffect::Anything | ToolEffect::Waits))
            };
            subtask.attempt.apply(&event.body, is_command, checks);
        }
        if let Some(gone) = self.children.apply(event) {
            self.came(gone);
        }
    }

    /// Takes note that the session at work has ended.
    fn came(&mut self, Gone { child: session, outcome, .. }: Gone<Session>) {
        let member = self.at_work.take();
        let came = match (session.handoff(), outcome) {
            (Some(handoff), Outcome::Completed) => SessionOutcome::Well(handoff),
            (None, Outcome::Completed) => SessionOutcome::Enough,
            (_, Outcome::Declined) => SessionOutcome::Declined,
            (_, Outcome::Stopped) => SessionOutcome::Failed("it was stopped".to_owned()),
            (_, Outcome::Stalled) => SessionOutcome::Failed("it got nowhere".to_owned()),
            (_, Outcome::Superseded) => SessionOutcome::Failed("it was not needed any more".to_owned()),
            (_, Outcome::Failed) => SessionOutcome::Failed(session.failure()),
        };
        let subtask = self.subtasks.get_mut(self.index);
        let Some(member) = member else {
            self.confirmed = Some(outcome);
            return;
        };
        match (member.base, subtask) {
            (Role::Planner, _) => self.planned = Some(came),
            (Role::Executor, Some(subtask)) => subtask.executed = Some(came),
            (Role::Reviewer | Role::Critic, Some(subtask)) => subtask.judged.push((member, came)),
            (Role::Executor | Role::Reviewer | Role::Critic, None) => {}
        }
    }

    /// Returns the beginning of the session of the member that is due, with its contract and its agent.
    pub(super) fn next_child(&self, setup: &CrewSetup, part: &Part) -> Option<Entry> {
        let (segment, member) = self.due(setup, part)?;
        let session = setup.session(member.as_ref(), self);
        let contract = match &session.task {
            Task::Piece(piece) => Some(piece.handoff),
            _ => None,
        };
        let agent = session.agents.first().map_or(0, |agent| agent.place);
        let body = Body::Part(PartEvent::PartStart { kind: PartKind::Session, contract, agent, workspace: None });
        Some(Entry { part: part.child(&segment), body })
    }

    /// Calls in the member that is due, if its session begins in `begun`. One that is still at work has ended: only damage
    /// takes the line that said so.
    pub(super) fn call_in(&mut self, setup: &CrewSetup, part: &Part, begun: &Part) {
        let is_new = self.started && self.ended.is_none() && !self.begun.contains(begun);
        if let Some((segment, member)) = self.due(setup, part).filter(|_| is_new)
            && part.child(&segment) == *begun
        {
            let session = Session::new(setup.session(member.as_ref(), self), begun.clone());
            self.at_work = member;
            self.children = Children::default();
            self.children.call_in(begun.clone(), session);
        }
        self.begun.insert(begun.clone());
    }

    /// Returns the member that is due, with the segment of its part; no member for phase 0 of the run.
    fn due(&self, setup: &CrewSetup, part: &Part) -> Option<(String, Option<Member>)> {
        // An attempt that began already is not known to have ended if damage took the lines that said so: another follows.
        let fresh = |number: u32, segment: &dyn Fn(u32) -> String| {
            let is_free = |number: &u32| !self.begun.contains(&part.child(&segment(*number)));
            (number..).find(is_free).map_or_else(|| segment(number), segment)
        };
        match self.at {
            CrewState::Init => self.confirmed.is_none().then(|| ("intake".to_owned(), None)),
            CrewState::Plan => {
                let planner = setup.player(Role::Planner);
                self.planned.is_none().then(|| {
                    let segment = |number| format!("plan/{number}/{}", planner.name);
                    (fresh(self.plans, &segment), Some(planner))
                })
            }
            CrewState::Execute | CrewState::ReviewStep => {
                let subtask = self.subtask()?;
                let has_judged = |judge: &Member| subtask.judged.iter().any(|(other, _)| other.name == judge.name);
                let member = if self.at == CrewState::Execute {
                    subtask.executed.is_none().then(|| setup.player(Role::Executor))
                } else {
                    setup.judges().find(|judge| !has_judged(judge)).cloned()
                }?;
                let segment = |number| format!("subtask/{}.{number}/{}", self.index + 1, member.name);
                Some((fresh(subtask.attempts, &segment), Some(member)))
            }
            CrewState::Dispatch
            | CrewState::NextSubtask
            | CrewState::Retry
            | CrewState::Block
            | CrewState::Escalate
            | CrewState::Complete => None,
        }
    }
}
