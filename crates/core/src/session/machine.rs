//! The phase machine: 0 intake, 1 execute, 2 blocker, 3 destructive, 4 completion, then done.
//!
//! Every decision is made here and in the two larger phases' files, from what `state` says, and
//! returned as one event or as the whole set of commands. Nothing is remembered on the side.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::context::{self, Context};
use super::due;
use super::hand_off::HANDOFF_FAILED;
use super::prompts;
use super::setup::{SILENCES_MAX, Setup, Task};
use super::state::{ReadTurn, SessionState, Stand};
use crate::detect;
use crate::procedure::{Command, Next, Procedure, Want};
use crate::run::RunFacts;
use crate::trace::{AskEvent, Body, Entry, Event, LearnedEvent, PartEvent, RunEvent, TurnEvent};
use crate::words::id::WorkspaceId;
use crate::words::{
    Category, Key, Message, MessageKind, MessageRole, Mode, Outcome, Part, PartKind, PhaseName, Question, QuestionKind,
    Rejection, Slot,
};

/// The reason of a transition that ends a run because the operator declined it.
pub(super) const DECLINED: &str = "declined by the operator";
/// The reason of a transition to completion because the operator said that it is enough.
pub(super) const OPERATOR_ENDED: &str = "operator ended";
/// The reason of a transition that ends a run because a role did what no role may do.
pub(super) const ROLE_VIOLATED: &str = "a role did what it may never do";

/// One agent on one brief.
#[derive(Debug, Clone)]
pub struct Session {
    pub(super) setup: Arc<Setup>,
    pub(super) part: Part,
    pub(super) state: SessionState,
    /// The setup with all that changed since it was made, put together once after each change: a cache, never what is on
    /// record.
    pub(super) setup_now: OnceLock<Box<Setup>>,
}

/// A session beside the facts of its run: everything that its decisions are made from.
#[derive(Debug, Clone, Copy)]
pub struct Decider<'a> {
    session: &'a Session,
    pub(super) run: &'a RunFacts,
    /// The setup as it holds now. It stands before the one that the session was made with.
    pub(super) setup: &'a Setup,
}

impl<'a> Decider<'a> {
    pub(crate) fn new(session: &'a Session, run: &'a RunFacts) -> Self {
        Self { session, run, setup: session.setup_now(run) }
    }
}

impl Deref for Decider<'_> {
    type Target = Session;

    fn deref(&self) -> &Session {
        self.session
    }
}

impl Procedure for Session {
    type Facts = RunFacts;

    fn apply(&mut self, event: &Event) {
        // Also if the line of its `part_start` can't be read. What an operator says to a part may come before it begins.
        self.state.started |= event.part == self.part && !event.body.is_from_operator();
        if event.part == self.part || event.part.is_root() {
            self.state.apply(event);
        }
        if let Body::Ask(AskEvent::OperatorMessage { message: Message::Amend(_), .. })
        | Body::Run(RunEvent::RunResume { offered: Some(_), .. }) = &event.body
        {
            self.setup_now.take();
        }
    }

    fn next(&self, facts: &RunFacts) -> Next {
        let decider = Decider::new(self, facts);
        decider.keeping_grants(decider.next())
    }
}

impl Decider<'_> {
    fn next(&self) -> Next {
        if !self.state.started {
            return self.record(Body::Part(PartEvent::PartStart {
                kind: PartKind::Session,
                contract: None,
                agent: 0,
                workspace: None,
            }));
        }
        if let Some(outcome) = self.state.ended {
            return Next::Done(outcome);
        }
        if let Some(consulted) = self.consult_budget() {
            return consulted;
        }
        match &self.state.stand {
            Stand::Outside => self.record(Body::Part(PartEvent::PhaseEnter {
                phase: self.first_phase(),
                reason: Some("starting".to_owned()),
            })),
            Stand::Between { to, reason } => {
                self.record(Body::Part(PartEvent::PhaseEnter { phase: *to, reason: reason.clone() }))
            }
            Stand::In { phase: PhaseName::Intake, .. } => self.intake(),
            Stand::In { phase: PhaseName::Execute, .. } => self.execute(),
            Stand::In { phase: PhaseName::Blocker, reason, .. } => self.blocker(reason.as_deref().unwrap_or_default()),
            Stand::In { phase: PhaseName::Destructive, .. } => self.destructive(),
            Stand::In { phase: PhaseName::Completion, reason, .. } => self.completion(reason.as_deref()),
            Stand::In { phase: PhaseName::Done, reason, .. } => {
                let outcome = match reason.as_deref() {
                    Some(DECLINED) => Outcome::Declined,
                    Some(ROLE_VIOLATED | HANDOFF_FAILED) => Outcome::Failed,
                    _ => Outcome::Completed,
                };
                self.record(Body::Part(PartEvent::PartEnd { outcome }))
            }
        }
    }
}

impl Session {
    /// Creates a session that lives in `part`.
    #[must_use]
    pub fn new(setup: Arc<Setup>, part: Part) -> Self {
        let tools =
            setup.tools.iter().map(|tool| tool.schema.to_string().len() + tool.description.len()).sum::<usize>();
        let context = Context::new(context::guess(tools as u64), setup.result_bytes_max);
        let state = SessionState { context, ..SessionState::default() };
        Self { setup, part, state, setup_now: OnceLock::new() }
    }

    /// Returns the part that it lives in.
    pub(crate) fn part(&self) -> &Part {
        &self.part
    }

    /// Returns the phase that the session is in; `None` before the first and between two.
    #[must_use]
    pub fn phase(&self) -> Option<PhaseName> {
        self.state.phase()
    }

    /// Returns the phase it begins with: a session that only answers has nothing to confirm.
    fn first_phase(&self) -> PhaseName {
        match &self.setup.task {
            Task::Piece(piece) if !piece.is_work => PhaseName::Execute,
            Task::Brief | Task::Intake | Task::Piece(_) => PhaseName::Intake,
        }
    }

    /// Returns the number of the latest turn.
    #[must_use]
    pub fn turn(&self) -> u32 {
        self.state.turns.count
    }

    /// Returns the reason that the session stands where it stands: that of the last transition.
    #[must_use]
    pub fn phase_reason(&self) -> Option<&str> {
        match &self.state.stand {
            Stand::In { reason, .. } | Stand::Between { reason, .. } => reason.as_deref(),
            Stand::Outside => None,
        }
    }

    /// Returns the reason that it failed, for a person.
    #[must_use]
    pub fn failure(&self) -> String {
        match self.phase_reason() {
            Some(HANDOFF_FAILED) => self.handoff_faults(),
            Some(reason) => reason.to_owned(),
            None => "it failed".to_owned(),
        }
    }

    /// Returns the setup that it was made with, without what changed since.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }
}

impl<'a> Decider<'a> {
    /// Returns who decides between steps: the operator's last word, or what was fixed before the run.
    pub(super) fn settled_mode(&self) -> Option<Mode> {
        self.run.mode(&self.part).or(self.setup.mode)
    }

    /// Returns what the brief authorizes by now, as far as the role may hold it.
    pub(super) fn authorized(&self) -> Cow<'a, [Category]> {
        self.as_role(&self.setup.authorized)
    }

    /// Returns what the operator approved for the run, as far as the role may hold it.
    pub(super) fn approved(&self) -> Cow<'a, [Category]> {
        self.as_role(self.run.approved())
    }

    fn as_role(&self, held: &'a [Category]) -> Cow<'a, [Category]> {
        match &self.setup.role {
            Some(limit) => Cow::Owned(limit.narrow(held)),
            None => Cow::Borrowed(held),
        }
    }

    /// Returns the number of steps that there may be in all.
    pub(super) fn step_limit(&self) -> u32 {
        self.setup.max_steps.saturating_add(self.state.steps.added)
    }

    pub(super) fn record(&self, body: Body) -> Next {
        Next::Record(Entry { part: self.part.clone(), body })
    }

    /// Leaves the present phase.
    pub(super) fn leave(&self, to: PhaseName, reason: &str) -> Next {
        let Stand::In { phase, since, .. } = &self.state.stand else { return Next::Want(Vec::new()) };
        let lasted = self.state.now.map_or(0, |now| now.as_millisecond().saturating_sub(since.as_millisecond()));
        self.record(Body::Part(PartEvent::PhaseExit {
            phase: *phase,
            duration_ms: u64::try_from(lasted).unwrap_or(0),
            to: Some(to),
            reason: Some(reason.to_owned()),
        }))
    }

    /// Says something to the agent.
    pub(super) fn say(&self, kind: MessageKind, step: u32, text: String) -> Next {
        let role = if kind == MessageKind::StandingOrders { MessageRole::System } else { MessageRole::User };
        let phase = self.state.phase().unwrap_or(PhaseName::Intake);
        self.record(Body::Turn(TurnEvent::Message { role, kind, phase, step, text }))
    }

    /// Puts a question, or waits for the answer to it.
    pub(super) fn ask(&self, question: Question) -> Next {
        let slot = self.state.asking.slot(question.kind);
        self.want(slot, Command::Ask(Arc::new(question.within(self.setup.answer_within_ms))))
    }

    /// Returns the workspace in which the session works; `None` for the run's own.
    pub(super) fn workspace(&self) -> Option<WorkspaceId> {
        self.run.workspace(&self.part).cloned()
    }

    pub(super) fn want(&self, slot: Slot, command: Command) -> Next {
        Next::Want(vec![Want { key: Key { part: self.part.clone(), slot }, command }])
    }

    /// Puts on record what the detectors see in a turn; `None` once all of it is there.
    pub(super) fn read(&self, taken: &ReadTurn) -> Option<Next> {
        if taken.read {
            return None;
        }
        let turn = self.state.turns.count;
        let reading = taken.reading.get_or_init(|| {
            Arc::new(detect::read_in_session(taken.spoken(), &self.authorized(), &self.setup.sensitivities))
        });
        if let Some(consultation) = reading.consultations.get(taken.consulted) {
            return Some(self.record(Body::Learned(LearnedEvent::LearnedSensitivityConsulted {
                detector: consultation.detector.name().to_owned(),
                sensitivity: consultation.sensitivity.to_string(),
                fired: consultation.fired,
                bypassed: consultation.bypassed,
                turn: Some(turn),
            })));
        }
        if let Some((detector, payload)) = reading.fired().nth(taken.fired.len()) {
            return Some(self.record(Body::Turn(TurnEvent::DetectorFired {
                detector: detector.name().to_owned(),
                payload,
                turn: Some(turn),
            })));
        }
        let fired = taken.fired.iter().map(|(name, _)| name.clone()).collect();
        Some(self.record(Body::Turn(TurnEvent::TurnRead { turn, fired })))
    }

    /// Answers a call that was asked for in a phase without tools.
    pub(super) fn reject_in_this_phase(&self, taken: &ReadTurn) -> Option<Next> {
        self.reject_all(taken, Rejection::Phase)
    }

    /// Answers the next call that needs an answer without being carried out.
    pub(super) fn reject_all(&self, taken: &ReadTurn, rejection: Rejection) -> Option<Next> {
        let call = taken.calls.iter().find(|call| call.is_idle())?;
        let content = prompts::rejected(rejection, &call.call.name, None);
        Some(self.reject(call, rejection, content))
    }

    fn blocker(&self, reason: &str) -> Next {
        if self.state.speech.owed {
            return self.leave(PhaseName::Execute, "context given");
        }
        if self.state.answer(QuestionKind::Limit).is_some() {
            return self.leave(PhaseName::Execute, "limit extended");
        }
        if let Some((_, Some(text))) = self.state.answer(QuestionKind::Blocker) {
            return self.say(MessageKind::Context, self.state.steps.number, prompts::context(text));
        }
        if self.state.steps.are_out {
            return self.ask(prompts::limit_reached(self.step_limit()));
        }
        self.ask(prompts::blocked(reason))
    }

    fn completion(&self, reason: Option<&str>) -> Next {
        if reason == Some(OPERATOR_ENDED) {
            return self.record(Body::Part(PartEvent::PartEnd { outcome: Outcome::Completed }));
        }
        if self.state.speech.said != Some(MessageKind::Report) {
            return self.say(MessageKind::Report, self.state.steps.number, prompts::report());
        }
        if self.state.speech.owed {
            return self.new_turn();
        }
        let Some(turn) = &self.state.turns.latest else { return self.new_turn() };
        let Some(taken) = &turn.taken else {
            return if self.state.given.is_held {
                self.leave(PhaseName::Done, "report cancelled")
            } else {
                self.pursue(turn)
            };
        };
        self.due(due::COMPLETION, taken)
    }

    /// Asks an agent that said nothing for its report once more.
    pub(super) fn report_again(&self, _: &ReadTurn) -> Option<Next> {
        let is_silent = (1..=SILENCES_MAX).contains(&self.state.speech.silences);
        is_silent.then(|| self.say(MessageKind::Report, self.state.steps.number, prompts::report()))
    }

    /// Ends the session once its report is there.
    pub(super) fn delivered(&self) -> Next {
        self.leave(PhaseName::Done, "completion report delivered")
    }
}
