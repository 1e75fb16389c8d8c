//! What the events say of a crew: where it stands, its plan, what each role left, and who is at work.

use std::collections::BTreeSet;

use super::attempt::Attempt;
use super::machine::Questions;
use super::setup::CrewSetup;
use super::states::{Standing, Status};
use crate::gate::checks::Checks;
use crate::gate::custom_role::Member;
use crate::handoff::{Handoff, Plan, SubTask, Verdict};
use crate::procedure::{Children, Gone};
use crate::session::Session;
use crate::trace::{AskEvent, Body, CrewEvent, Event, HostEvent, PartEvent};
use crate::words::role::Role;
use crate::words::tool::ToolEffect;
use crate::words::{Category, CrewState, Message, Outcome, Part, Signal};

/// Where a crew stands.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) started: bool,
    pub(super) ended: Option<Outcome>,
    pub(super) at: CrewState,
    /// What led there, and why.
    pub(super) last: Option<Signal>,
    pub(super) reason: Option<String>,
    /// How phase 0 of the run ended.
    pub(super) confirmed: Option<Outcome>,
    /// How often the planner was asked, and what came of the last time.
    pub(super) plans: u32,
    pub(super) planned: Option<Came>,
    /// What of the plan the operator was warned of: sub-task and category.
    pub(super) warned_of: Vec<(String, Category)>,
    pub(super) plan: Option<Plan>,
    pub(super) index: usize,
    pub(super) subtasks: Vec<SubTaskState>,
    /// The sessions at work: one at a time.
    pub(super) children: Children<Session>,
    /// Whose they are; none for phase 0 of the run.
    pub(super) at_work: Option<Member>,
    pub(super) asked: Questions,
    /// What the operator said while nobody was at work.
    pub(super) unheard: Vec<Event>,
}

impl Default for State {
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
            at_work: None,
            asked: Questions::default(),
            unheard: Vec::new(),
        }
    }
}

/// What came of a session.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Came {
    /// This.
    Well(Handoff),
    /// The operator declined it.
    Declined,
    /// The operator said that it is enough.
    Enough,
    /// Nothing, for this reason.
    Failed(String),
}

/// How a sub-task stands.
#[derive(Debug, Clone)]
pub(super) struct SubTaskState {
    pub(super) task: SubTask,
    pub(super) status: Status,
    /// How often it was begun.
    pub(super) attempts: u32,
    /// How often the judges wanted it again since a person last looked.
    pub(super) retries: u64,
    pub(super) executed: Option<Came>,
    /// What came of its judges so far, in the order in which they are asked.
    pub(super) judged: Vec<(Member, Came)>,
    /// What came of the judges of the attempt before.
    pub(super) judged_before: Vec<(Member, Came)>,
    /// Whether judges disagreed and the stricter was followed without a person.
    pub(super) was_split: bool,
    /// What the operator said for the next attempt.
    pub(super) said: Option<String>,
    /// What this attempt did.
    pub(super) attempt: Attempt,
    /// The files that calls of earlier attempts named as changed.
    pub(super) changed_before: BTreeSet<String>,
}

impl SubTaskState {
    fn new(task: SubTask) -> Self {
        Self {
            task,
            status: Status::Pending,
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

    /// The verdicts of its judges so far.
    pub(super) fn verdicts(&self) -> impl Iterator<Item = Verdict> {
        self.judged.iter().filter_map(|(_, came)| match came {
            Came::Well(Handoff::Review(review)) => Some(review.verdict),
            _ => None,
        })
    }

    /// Whether its judges disagree.
    pub(super) fn is_split(&self) -> bool {
        let mut verdicts = self.verdicts();
        verdicts.next().is_some_and(|first| verdicts.any(|other| other != first))
    }
}

impl State {
    /// The present sub-task.
    pub(super) fn subtask(&self) -> Option<&SubTaskState> {
        self.subtasks.get(self.index)
    }

    pub(super) fn standing(&self, retries_max: u64) -> Standing {
        Standing {
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

    /// What the crew itself decided, or was told.
    fn own(&mut self, body: &Body) {
        self.asked.apply(body);
        match body {
            Body::Part(PartEvent::PartStart { .. }) => self.started = true,
            Body::Part(PartEvent::PartEnd { outcome }) => self.ended = Some(*outcome),
            Body::Crew(CrewEvent::ScopeWarning { subtask, category, .. }) => {
                self.warned_of.push((subtask.clone(), category.clone()))
            }
            Body::Crew(CrewEvent::CoordinatorState { state, signal, reason, .. }) => {
                self.moved(*state, *signal, reason.as_deref())
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
                if let Some(Came::Well(Handoff::Plan(plan))) = &self.planned {
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
                subtask.status = Status::Executing;
                subtask.attempts += 1;
                subtask.executed = None;
                subtask.changed_before.extend(std::mem::take(&mut subtask.attempt).changed);
            }
            CrewState::ReviewStep => {
                subtask.status = Status::Reviewing;
                subtask.judged_before = std::mem::take(&mut subtask.judged);
            }
            CrewState::NextSubtask => subtask.status = Status::Passed,
            CrewState::Retry if signal == Signal::Again => {
                subtask.status = Status::Retrying;
                subtask.retries = 0;
                subtask.said = reason.map(str::to_owned);
            }
            CrewState::Retry => {
                subtask.status = Status::Retrying;
                subtask.was_split |= subtask.is_split();
                subtask.retries += 1;
                subtask.said = None;
            }
            CrewState::Block => subtask.status = Status::Failed,
            CrewState::Escalate => subtask.status = Status::Escalated,
            CrewState::Init | CrewState::Plan | CrewState::Dispatch | CrewState::Complete => {}
        }
    }

    /// What the session at work hears, and what is seen of it.
    fn hear(&mut self, event: &Event, checks: &Checks) {
        // Nobody is at work: whoever is next is told.
        let is_said = matches!(
            event.body,
            Body::Ask(AskEvent::OperatorMessage { message: Message::Steer(_), .. })
                | Body::Host(HostEvent::FolderChanged { .. })
        );
        if self.children.is_empty() && is_said && event.part.is_root() {
            self.unheard.push(event.clone());
        }
        if let Some(session) = self.children.get(&event.part)
            && self.at_work.as_ref().is_some_and(|member| member.base == Role::Executor)
            && let Some(subtask) = self.subtasks.get_mut(self.index)
        {
            let tools = &session.setup().tools;
            let is_command = |name: &str| {
                tools.iter().find(|tool| tool.name == name).is_none_or(|tool| tool.effect == ToolEffect::Anything)
            };
            subtask.attempt.apply(&event.body, is_command, checks);
        }
        if let Some(gone) = self.children.apply(event) {
            self.came(gone);
        }
    }

    /// The session at work is at its end.
    fn came(&mut self, Gone { child: session, outcome, .. }: Gone<Session>) {
        let member = self.at_work.take();
        let came = match (session.handoff(), outcome) {
            (Some(handoff), Outcome::Completed) => Came::Well(handoff),
            (None, Outcome::Completed) => Came::Enough,
            (_, Outcome::Declined) => Came::Declined,
            (_, Outcome::Stopped) => Came::Failed("it was stopped".to_owned()),
            (_, Outcome::Superseded) => Came::Failed("it was not needed any more".to_owned()),
            (_, Outcome::Failed) => Came::Failed(session.failure()),
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

    /// Calls in whoever is due, if nobody is at work.
    pub(super) fn call_in(&mut self, setup: &CrewSetup, part: &Part) {
        if !self.children.is_empty() || !self.started || self.ended.is_some() {
            return;
        }
        let Some((segment, member)) = self.due(setup) else { return };
        let part = part.child(&segment);
        let mut session = Session::new(setup.session(member.as_ref(), self), part.clone());
        for event in std::mem::take(&mut self.unheard) {
            session.recall(&event);
        }
        self.at_work = member;
        self.children.call_in(part, session);
    }

    /// Who is due: the segment of their part, and who they are; nobody for phase 0 of the run.
    fn due(&self, setup: &CrewSetup) -> Option<(String, Option<Member>)> {
        match self.at {
            CrewState::Init => self.confirmed.is_none().then(|| ("intake".to_owned(), None)),
            CrewState::Plan => {
                let planner = setup.player(Role::Planner);
                self.planned.is_none().then(|| (format!("plan/{}/{}", self.plans, planner.name), Some(planner)))
            }
            CrewState::Execute | CrewState::ReviewStep => {
                let subtask = self.subtask()?;
                let has_judged = |judge: &Member| subtask.judged.iter().any(|(other, _)| other.name == judge.name);
                let member = if self.at == CrewState::Execute {
                    subtask.executed.is_none().then(|| setup.player(Role::Executor))
                } else {
                    setup.judges().find(|judge| !has_judged(judge)).cloned()
                }?;
                let segment = format!("subtask/{}.{}/{}", self.index + 1, subtask.attempts, member.name);
                Some((segment, Some(member)))
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
