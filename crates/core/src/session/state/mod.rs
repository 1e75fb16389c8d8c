//! The state of a session, from the events: its phase, its turns and calls, its talk with the agent, its steps, and what
//! it asked the operator.
//!
//! Each part of the state folds for itself (one file each); here is what one event means for several of them. `apply`
//! takes facts; it decides nothing. A thing that another version could decide otherwise is decided in `machine.rs` and
//! comes back here as an event.

mod calls;
mod repeats;
mod speech;
mod steps;
mod turns;

use std::sync::Arc;

use jiff::Timestamp;

use super::context::Context;
use super::custody::TreeState;
use super::hand_off::HandedOff;
use super::held::ANNOUNCEMENT;
use super::past::Past;
use super::permission::RequestProgress;
use super::retry::Failed;
use crate::gate::HookAnswer;
use crate::procedure::{Asking, Checking, NewAnswer};
use crate::trace::{
    AskEvent, Body, CallEvent, Event, GateEvent, HandoffEvent, HostEvent, LearnedEvent, PartEvent, RunEvent, TurnEvent,
};
use crate::words::tool::ToolCall;
use crate::words::{
    Choice, FailureKind, GateAnswer, HookFault, InterruptedEffect, Message, MessageKind, OperatorWord, Outcome,
    PhaseName, QuestionKind, Slot, Stop, What,
};

use calls::CallOutcome;
pub(super) use calls::{Call, CallProgress, CallVerdict, HookAsked, PastCalls, same_call};
pub(super) use repeats::Repeats;
pub(super) use speech::Speech;
pub(super) use steps::Steps;
pub(super) use turns::{ReadTurn, TurnState, Turns};

/// Category of a declared phase 3 if no rule knows the act.
pub(super) const OUT_OF_SCOPE: &str = "out_of_scope";

/// State of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionState {
    pub(super) started: bool,
    pub(super) ended: Option<Outcome>,
    pub(super) now: Option<Timestamp>,
    pub(super) stand: Stand,
    /// True if the budget of the phase that was entered last is on record.
    pub(super) budget_consulted: bool,
    pub(super) speech: Speech,
    pub(super) steps: Steps,
    pub(super) turns: Turns,
    pub(super) calls: PastCalls,
    pub(super) asking: Asking,
    pub(super) given: WordGiven,
    pub(super) context: Context,
    pub(super) past: Past,
    pub(super) tree: TreeState,
    pub(super) handed_off: HandedOff,
    pub(super) checking: Checking,
    pub(super) repeats: Repeats,
}

/// Between phases, or in one.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Stand {
    /// Before the first phase.
    #[default]
    Outside,
    /// One phase was left, the next not yet entered.
    Between { to: PhaseName, reason: Option<String> },
    /// In a phase.
    In { phase: PhaseName, since: Timestamp, reason: Option<String> },
}

/// The operator's word on acts, and whether the session waits for one.
#[derive(Debug, Clone, Default)]
pub(super) struct WordGiven {
    /// The operator cancelled a turn: what now is theirs to say, whatever the mode.
    pub(super) is_held: bool,
    /// The operator's last word in phase 3.
    pub(super) word: Option<OperatorWord>,
    /// Words of the operator with it.
    pub(super) note: Option<String>,
    pub(super) approved_acts: Vec<String>,
    /// The calls that were approved for the same act again and have no grant yet.
    pub(super) again: Vec<u32>,
}

impl SessionState {
    pub(super) fn phase(&self) -> Option<PhaseName> {
        match &self.stand {
            Stand::In { phase, .. } => Some(*phase),
            Stand::Outside | Stand::Between { .. } => None,
        }
    }

    /// Returns the answer to the question that was put last, if it is of `kind`.
    pub(super) fn answer(&self, kind: QuestionKind) -> Option<(Choice, Option<&str>)> {
        self.asking.answer(kind)
    }

    pub(super) fn taken(&self) -> Option<&ReadTurn> {
        self.turns.taken()
    }

    pub(super) fn apply(&mut self, event: &Event) {
        self.now = Some(event.at);
        self.context.apply(&event.body);
        self.tree.apply(&event.body);
        self.checking.apply(&event.body);
        self.repeats.apply(&event.body);
        if let Some(slot) = event.body.intent().or(event.body.outcome()) {
            self.begun(*slot);
        }
        self.speech.apply(event);
        self.steps.apply(event);
        self.calls.apply(event);
        match &event.body {
            Body::Run(run) => self.run(run, event.at),
            Body::Part(part) => self.part(part, event.at),
            Body::Turn(turn) => self.turn(turn, event.at),
            Body::Call(call) => self.call(call),
            Body::Ask(asked) => self.ask(asked, event.at),
            Body::Gate(gate) => self.gate(gate),
            Body::Handoff(HandoffEvent::HandoffRead { turn, handoff, faults, .. }) => {
                self.handed_off.apply(*turn, handoff.as_ref(), faults);
            }
            Body::Learned(learned) => self.learned(learned),
            // One at the root is about the run.
            Body::Host(HostEvent::Warning { .. }) if !event.part.is_root() => {
                if let Some(taken) = self.turns.taken_mut() {
                    taken.phrases_told = true;
                }
            }
            Body::Host(
                HostEvent::Warning { .. }
                | HostEvent::SandboxReport { .. }
                | HostEvent::FolderChanged { .. }
                | HostEvent::Error { .. },
            )
            | Body::Budget(_)
            | Body::Crew(_)
            | Body::Deed(_)
            | Body::Loop(_) => {}
        }
    }

    /// Takes note that the thing an event names had begun, also if the line that said so can't be read: damage that an
    /// operator accepted. Its key is never used again.
    fn begun(&mut self, slot: Slot) {
        match slot.what {
            What::Turn => {
                if !self.turns.knows(slot) {
                    self.turns.request(slot);
                    self.speech.owed = false;
                }
            }
            What::Call => {
                self.calls.count = self.calls.count.max(slot.number);
                if let Some(call) = self.turns.call_mut(slot.number) {
                    call.begin(slot.attempt);
                }
            }
            What::Ask => self.asking.begun(slot),
            What::Hook => self.calls.hooks = self.calls.hooks.max(slot.number),
            // The tree counts its looks itself, the run keeps its grants.
            What::Wait | What::Look | What::Keep | What::Deed => {}
        }
    }

    fn run(&mut self, event: &RunEvent, at: Timestamp) {
        match event {
            RunEvent::RunResume { .. } => {
                // Whoever resumes it before a wait is over wants it to go on now; afterwards it just goes on.
                match self.turns.wait.filter(|wait| wait.ends <= at) {
                    Some(wait) => self.turns.be_patient_for(at.duration_since(wait.ends)),
                    None => self.begin_with_first_agent(),
                }
                self.judge_again();
            }
            RunEvent::TraceVersion { .. } | RunEvent::RunStart(_) | RunEvent::RunEnd { .. } => {}
        }
    }

    fn part(&mut self, event: &PartEvent, at: Timestamp) {
        match event {
            PartEvent::PartStart { .. } => self.started = true,
            PartEvent::PartEnd { outcome } => self.ended = Some(*outcome),
            PartEvent::PhaseEnter { phase, reason } => {
                self.stand = Stand::In { phase: *phase, since: at, reason: reason.clone() };
                self.budget_consulted = false;
            }
            PartEvent::PhaseExit { phase, to, reason, .. } => {
                if *phase == PhaseName::Intake && *to == Some(PhaseName::Execute) {
                    self.past.summary = self.taken().map(|taken| taken.text.clone());
                }
                if let Some(to) = to {
                    self.stand = Stand::Between { to: *to, reason: reason.clone() };
                }
                self.asking.forget();
                self.given.is_held = false;
            }
            PartEvent::PhaseDrift { .. } => {
                if let Some(taken) = self.turns.taken_mut() {
                    taken.drift_told = true;
                }
            }
            PartEvent::ModeSet { .. } | PartEvent::DeadlinePassed { .. } => {}
        }
    }

    fn turn(&mut self, event: &TurnEvent, at: Timestamp) {
        match event {
            TurnEvent::Message { kind, text, .. } => {
                self.past.hear(*kind, text);
                self.say(*kind);
            }
            TurnEvent::AgentRequest { slot, output_max, .. } => {
                self.turns.ask_for(*output_max);
                self.turns.request(*slot);
            }
            TurnEvent::AgentReply { slot, text, thinking, calls, stop, .. } => {
                let first = self.calls.number(calls);
                if self.phase() == Some(PhaseName::Execute) {
                    self.past.take(slot.number, text, first, calls);
                }
                self.turns.reply(*slot, (text, thinking), (first, calls), *stop == Stop::MaxTokens);
            }
            TurnEvent::AgentFailed { kind, message, retry_after_ms, output_max, .. } => {
                match kind {
                    FailureKind::ReplyTooLong => self.turns.shorten_replies(*output_max),
                    FailureKind::TooLong => self.context.refused(),
                    FailureKind::Rejected => self.context.doubt(),
                    FailureKind::Transient
                    | FailureKind::Unreadable
                    | FailureKind::Unreached
                    | FailureKind::Busy
                    | FailureKind::Permanent
                    | FailureKind::Cancelled => {}
                }
                let (message, retry_after_ms) = (message.clone(), *retry_after_ms);
                let failed = Failed { kind: *kind, message, retry_after_ms, at, since: at };
                self.given.is_held |= self.turns.fail(failed);
            }
            TurnEvent::AgentChanged { agent, .. } => {
                self.ask_agent(*agent);
                self.forgive();
            }
            TurnEvent::DetectorFired { detector, payload, .. } => {
                if let Some(taken) = self.turns.taken_mut() {
                    taken.fired.push((detector.clone(), payload.clone()));
                }
            }
            TurnEvent::TurnRead { .. } => {
                if let Some(taken) = self.turns.taken_mut() {
                    taken.read = true;
                }
            }
            TurnEvent::ContextCut { .. } | TurnEvent::ContextFolded { .. } => {}
        }
    }

    /// Takes note that something was said to the agent: what was asked is answered by it.
    fn say(&mut self, kind: MessageKind) {
        match kind {
            // It is said between what was due and what is due.
            MessageKind::RuntimeState => return,
            MessageKind::Nudge
            | MessageKind::Correction
            | MessageKind::KickOff
            | MessageKind::Continue
            | MessageKind::Redirect
            | MessageKind::Steer
            | MessageKind::Evidence
            | MessageKind::Context => self.given.is_held = false,
            MessageKind::StandingOrders
            | MessageKind::Intake
            | MessageKind::Approval
            | MessageKind::Denial
            | MessageKind::Handoff
            | MessageKind::Report => {}
        }
        self.asking.forget();
    }

    fn call(&mut self, event: &CallEvent) {
        match event {
            CallEvent::ToolResult { slot, success, .. } => {
                // A failure too: it may repeat what a server said.
                self.finish(slot.number, if *success { CallOutcome::Well } else { CallOutcome::Failed });
            }
            CallEvent::ToolCancelled { slot, .. } => self.finish(slot.number, CallOutcome::Cancelled),
            CallEvent::ToolRejected { call, .. } => self.finish(*call, CallOutcome::NotMade),
            CallEvent::Interrupted { slot, effect } => self.interrupted(*slot, *effect),
            CallEvent::ToolCall { .. } | CallEvent::RescueMade { .. } => {}
        }
    }

    /// Takes note that the agent got an answer to a call.
    fn finish(&mut self, number: u32, came: CallOutcome) {
        self.past.came(number, came.as_str());
        let Some(call) = self.turns.call_mut(number) else { return };
        call.progress = CallProgress::Finished;
        if came != CallOutcome::NotMade {
            self.calls.brought(call);
        }
        self.calls.finished(&call.call, came);
    }

    fn interrupted(&mut self, slot: Slot, effect: InterruptedEffect) {
        match slot.what {
            What::Turn => self.turns.interrupted(),
            What::Call => {
                if let Some(call) = self.turns.call_mut(slot.number) {
                    call.interrupted(slot.attempt, effect);
                }
            }
            What::Hook => self.hook_said(slot, HookAnswer::none(HookFault::Interrupted, "")),
            What::Ask | What::Wait | What::Look | What::Keep | What::Deed => {}
        }
    }

    /// Takes note of what a guard hook said.
    fn hook_said(&mut self, slot: Slot, answer: HookAnswer) {
        if let Some(asked) = self.turns.calls_mut().flat_map(|call| &mut call.hooks).find(|asked| asked.slot == slot) {
            asked.answer = Some(answer);
        }
    }

    fn ask(&mut self, event: &AskEvent, at: Timestamp) {
        if let Some(answer) = self.asking.apply(event) {
            self.answered(answer);
        }
        match event {
            AskEvent::Timer { slot, length_ms } => self.turns.wait(*slot, at, *length_ms),
            AskEvent::Expired { slot } => self.turns.stop_waiting(*slot, true),
            AskEvent::Withdrawn { slot } => self.turns.stop_waiting(*slot, false),
            AskEvent::OperatorMessage { message, .. } => self.told(message),
            AskEvent::Question { .. } | AskEvent::Answer { .. } | AskEvent::AnswerIgnored { .. } => {}
        }
    }

    /// Takes note of an answer that changes what holds: what was asked about is settled by it.
    fn answered(&mut self, answer: NewAnswer) {
        match (answer.kind, answer.choice) {
            (QuestionKind::Limit, Choice::Extend) if self.steps.are_out => {
                let more = self.answer(QuestionKind::Limit).and_then(|(_, text)| text?.trim().parse().ok());
                self.steps.extend(more.unwrap_or(0));
                return;
            }
            (QuestionKind::Limit, Choice::Extend) | (QuestionKind::Deadline, Choice::Continue) => {}
            (QuestionKind::Scope, Choice::Accept) => self.tree.accept(),
            (QuestionKind::Failure, Choice::Retry) => self.begin_with_first_agent(),
            _ => return,
        }
        self.asking.forget();
    }

    fn told(&mut self, message: &Message) {
        match message {
            Message::Cancel => {
                self.turns.cancel();
                // A wait is not worth an answer: what was to follow it is the operator's to say.
                self.given.is_held |= self.turns.wait.is_some();
                self.turns.calls_mut().for_each(Call::cancel);
            }
            Message::Amend(_) => self.judge_again(),
            Message::Steer(_) | Message::Mode(_) | Message::Pause | Message::Interrupt | Message::Stop => {}
        }
    }

    fn gate(&mut self, event: &GateEvent) {
        match event {
            GateEvent::AuthCheckFired { call: Some(number), .. } => self.judged(*number, event),
            GateEvent::AuthPrompt { .. } => self.prompted(event),
            GateEvent::PermissionRequested { grant_id, call, .. } => {
                self.request_is(*call, RequestProgress::Asked { grant_id: grant_id.clone() });
            }
            GateEvent::PermissionGranted { grant_id, scope_granted, operator_note, call, .. } => {
                self.given.again.retain(|number| number != call);
                let (grant_id, note) = (grant_id.clone(), operator_note.clone());
                self.request_is(*call, RequestProgress::Granted { grant_id, lasts: *scope_granted, note });
            }
            GateEvent::PermissionDenied { grant_id, operator_note, call } => {
                let (grant_id, note) = (grant_id.clone(), operator_note.clone());
                self.request_is(*call, RequestProgress::Denied { grant_id, note });
                self.calls.denied.extend(self.turns.call_mut(*call).map(|call| same_call(&call.call)));
            }
            GateEvent::PermissionGrantConsumed { grant_id, call, .. } => {
                if let Some(call) = self.turns.call_mut(*call) {
                    call.paid.push(grant_id.clone());
                }
            }
            GateEvent::PermissionRevoked { grant_id, .. } => {
                let rest_on_it = self.turns.calls_mut().filter(|call| call.paid.contains(grant_id));
                rest_on_it.for_each(Call::judge_again);
            }
            GateEvent::HookCall { slot, hook, place, call } => {
                let asked = HookAsked { slot: *slot, place: *place, name: hook.clone(), answer: None };
                if let Some(call) = self.turns.call_mut(*call) {
                    call.hooks.push(asked);
                }
            }
            GateEvent::HookResult { slot, decision, reason, fault, .. } => {
                self.hook_said(*slot, HookAnswer { answer: *decision, reason: reason.clone(), fault: *fault });
            }
            GateEvent::AuthCheckFired { call: None, .. }
            | GateEvent::GrantsLoaded { .. }
            | GateEvent::GrantKeep { .. }
            | GateEvent::GrantKept { .. }
            | GateEvent::TreeLook { .. }
            | GateEvent::TreeSeen { .. } => {}
        }
    }

    /// Takes note of the gate's verdict on a call.
    fn judged(&mut self, number: u32, verdict: &GateEvent) {
        let GateEvent::AuthCheckFired { layer, decision, answer, reason, missing, would_allow, untrusted, .. } =
            verdict
        else {
            return;
        };
        let Some(call) = self.turns.call_mut(number) else { return };
        call.brings_untrusted = *untrusted;
        let reason = reason.clone();
        call.verdict = Some(match GateAnswer::on_record(*answer, decision) {
            GateAnswer::Allow => CallVerdict::Allowed,
            GateAnswer::Refuse => CallVerdict::Refused { reason, would_allow: would_allow.clone(), layer: *layer },
            GateAnswer::Ask => CallVerdict::Asked { missing: missing.clone(), reason },
        });
    }

    /// Takes note of the operator's word on what was held.
    fn prompted(&mut self, prompt: &GateEvent) {
        let GateEvent::AuthPrompt { response: word, calls, acts, denied, denied_acts, again, notes, .. } = prompt
        else {
            return;
        };
        // The words of a choice among several acts are on record for each of them.
        let note = self.answer(QuestionKind::Destructive).and_then(|(choice, text)| match choice {
            Choice::Chosen => None,
            _ => text.map(str::to_owned),
        });
        self.asking.forget();
        self.given.word = Some(*word);
        self.given.note = note.clone().or_else(|| notes.get(&ANNOUNCEMENT).cloned());
        self.given.again.clone_from(again);
        let Some(taken) = self.turns.taken_mut() else { return };
        taken.act = match (acts.is_empty(), denied_acts.is_empty()) {
            (false, _) => Some(*word),
            (true, false) => Some(OperatorWord::No),
            (true, true) => None,
        };
        let mut approved: Vec<Arc<ToolCall>> = Vec::new();
        for call in &mut taken.calls {
            let is_denied =
                denied.contains(&call.number) || (*word == OperatorWord::No && calls.contains(&call.number));
            if is_denied {
                let note = notes.get(&call.number).cloned().or_else(|| note.clone());
                call.verdict = Some(CallVerdict::Denied { note });
            } else if calls.contains(&call.number) {
                approved.push(call.call.clone());
                call.verdict = Some(CallVerdict::Approved);
            }
        }
        approved.iter().for_each(|call| self.tree.approve(call));
        // C32: an announcement that was approved is not asked about again.
        if *word != OperatorWord::No {
            self.given.approved_acts.extend(acts.iter().filter(|act| *act != OUT_OF_SCOPE).cloned());
        }
    }

    /// Takes note of the progress of a call's request for a permission.
    fn request_is(&mut self, number: u32, progress: RequestProgress) {
        self.asking.forget();
        if let Some(call) = self.turns.call_mut(number) {
            call.asking = progress;
        }
    }

    fn learned(&mut self, event: &LearnedEvent) {
        match event {
            LearnedEvent::LearnedBudgetConsulted { .. } => self.budget_consulted = true,
            LearnedEvent::LearnedSensitivityConsulted { .. } => {
                if let Some(taken) = self.turns.taken_mut() {
                    taken.consulted += 1;
                }
            }
            LearnedEvent::MemoryInherited { .. } | LearnedEvent::LearnedProfileApplied { .. } => {}
        }
    }

    /// Clears the failures, so that the turn is tried again as if for the first time.
    fn forgive(&mut self) {
        self.context.trust();
        self.turns.forgive();
    }

    /// Asks the run's own agent again, as if nothing had failed.
    fn begin_with_first_agent(&mut self) {
        self.ask_agent(0);
        self.forgive();
    }

    /// Has this agent take the turns from here on.
    fn ask_agent(&mut self, agent: u32) {
        if self.turns.agent != agent {
            self.context.change_agent();
        }
        self.turns.agent = agent;
    }

    /// Has calls that were allowed and have not begun judged again by the rights that hold now.
    fn judge_again(&mut self) {
        self.turns.calls_mut().for_each(Call::judge_again);
    }
}
