//! The state of a session, from the events: its phase, its latest turn, its open question and the calls that were
//! allowed.
//!
//! `apply` takes facts; it decides nothing. A thing that another version could decide otherwise is decided in
//! `machine.rs` and comes back here as an event.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::context::Context;
use super::custody::TreeState;
use super::hand_off::HandedOff;
use super::past::Past;
use super::permission::RequestProgress;
use super::retry::Failed;
use crate::detect;
use crate::detect::{Spoken, TurnReading};
use crate::gate::HookAnswer;
use crate::procedure::{Asking, NewAnswer};
use crate::run::ToTell;
use crate::trace::{
    AskEvent, Body, BudgetEvent, CallEvent, CrewEvent, Event, GateEvent, HandoffEvent, HostEvent, LearnedEvent,
    PartEvent, RunEvent, TurnEvent,
};
use crate::words::moment::after;
use crate::words::tool::ToolCall;
use crate::words::{
    Choice, FailureKind, GateAnswer, HookFault, InterruptedEffect, Layer, LimitMetric, Message, MessageKind,
    MessageRole, OperatorWord, Outcome, PhaseName, QuestionKind, Slot, Stop, What,
};

/// A wait before another attempt at a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) slot: Slot,
    pub(super) ends: Timestamp,
}

/// State of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionState {
    pub(super) started: bool,
    pub(super) ended: Option<Outcome>,
    pub(super) now: Option<Timestamp>,
    pub(super) stand: Stand,
    /// Messages in the part's transcript so far, the agent's and the tools' included.
    pub(super) messages: u32,
    /// The last thing said to the agent, and whether a turn is owed for it.
    pub(super) said: Option<MessageKind>,
    pub(super) owed: bool,
    pub(super) turns: u32,
    pub(super) turn: Option<TurnState>,
    pub(super) calls: u32,
    /// Guard hooks that were asked.
    pub(super) hooks: u32,
    /// The calls that brought text from outside which the agent has read, and those whose text it gets with its
    /// next turn.
    pub(super) untrusted: Vec<String>,
    pub(super) untrusted_next: Vec<String>,
    pub(super) asking: Asking,
    pub(super) nudges: u32,
    /// Number of turns in a row that had neither a word nor a call.
    pub(super) silences: u32,
    /// Number of turns in a row that said the same, without a call.
    pub(super) same_turns: u32,
    /// Text of the last turn.
    pub(super) last_text: String,
    pub(super) step: u32,
    /// Turns with tool calls in the present step.
    pub(super) rounds: u32,
    /// Steps that the operator added to the limit.
    pub(super) steps_added: u32,
    /// The limit of steps was reached and not yet extended.
    pub(super) is_out_of_steps: bool,
    /// The operator cancelled a turn: what now is theirs to say, whatever the mode.
    pub(super) held: bool,
    /// The operator's last word in phase 3.
    pub(super) word: Option<OperatorWord>,
    /// Words of the operator with it.
    pub(super) note: Option<String>,
    pub(super) approved_acts: Vec<String>,
    /// The requests for permissions that were denied, by name and arguments of the call.
    pub(super) denied: BTreeSet<String>,
    /// Number of times that each call failed in a row since the operator last said something, by name and arguments.
    pub(super) failures: BTreeMap<String, u32>,
    /// Agent that is asked for turns: its place in the setup.
    pub(super) agent: u32,
    pub(super) waits: u32,
    /// The wait that is on, before another attempt at a turn.
    pub(super) wait: Option<Wait>,
    pub(super) context: Context,
    /// The longest reply that was last asked for, and what agents turned out to give at most, by their place in the
    /// setup.
    pub(super) asked_output: u32,
    pub(super) reply_limits: BTreeMap<u32, u32>,
    /// Messages were left out and the runtime state is not yet said behind them.
    pub(super) owes_state: bool,
    pub(super) past: Past,
    /// True if the budget of the phase that was entered last is on record.
    pub(super) budget_consulted: bool,
    pub(super) tree: TreeState,
    pub(super) handed_off: HandedOff,
    /// What came for the agent while the session was at work, and how much of all that it is to be told was said.
    pub(super) said_to_it: Vec<ToTell>,
    pub(super) told: usize,
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

/// The latest turn that was asked for.
#[derive(Debug, Clone)]
pub(super) struct TurnState {
    pub(super) number: u32,
    /// The last attempt that began.
    pub(super) attempt: u32,
    pub(super) in_flight: bool,
    /// Attempts that failed for a passing reason since the turn was last tried afresh.
    pub(super) failures: u32,
    /// Time at which the first of them failed.
    pub(super) failing_since: Option<Timestamp>,
    /// Those of them that were rejected for an unknown reason.
    pub(super) rejections: u32,
    pub(super) failed: Option<Failed>,
    /// True if the wait after the last failure is over.
    pub(super) waited: bool,
    pub(super) cancelled: bool,
    pub(super) taken: Option<ReadTurn>,
}

/// A turn whose reply is there.
#[derive(Debug, Clone)]
pub(super) struct ReadTurn {
    pub(super) text: String,
    pub(super) thinking: String,
    /// True if the reply ended at its length limit.
    pub(super) is_cut: bool,
    pub(super) calls: Vec<Call>,
    /// Detectors on record for this turn, consulted or fired.
    pub(super) consulted: usize,
    pub(super) fired: Vec<(String, Value)>,
    pub(super) read: bool,
    /// Today's reading of the text, made once: a cache, never what is on record.
    pub(super) reading: OnceLock<Arc<TurnReading>>,
    pub(super) drift_told: bool,
    pub(super) phrases_told: bool,
    /// The operator's word on what the text announced.
    pub(super) act: Option<OperatorWord>,
}

impl ReadTurn {
    /// Returns the text that the detectors read.
    pub(super) fn spoken(&self) -> Spoken<'_> {
        Spoken::of(&self.text, &self.thinking, !self.calls.is_empty())
    }
}

/// Category of a declared phase 3 if no rule knows the act.
pub(super) const OUT_OF_SCOPE: &str = "out_of_scope";

/// One call of a turn.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) number: u32,
    pub(super) call: Arc<ToolCall>,
    pub(super) verdict: Option<CallVerdict>,
    pub(super) progress: CallProgress,
    /// Progress of its request for a permission, if it is one.
    pub(super) asking: RequestProgress,
    /// The grants of which it has used up a use.
    pub(super) paid: Vec<String>,
    /// The guard hooks that were asked about it, in order.
    pub(super) hooks: Vec<HookAsked>,
    /// True if it brings back text from outside.
    pub(super) brings_untrusted: bool,
}

/// A guard hook that was asked about a call.
#[derive(Debug, Clone)]
pub(super) struct HookAsked {
    pub(super) slot: Slot,
    pub(super) place: u32,
    pub(super) name: String,
    pub(super) answer: Option<HookAnswer>,
}

/// Answer to a call, by the gate or by the operator.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CallVerdict {
    Allowed,
    Asked { missing: Vec<String>, reason: String },
    Refused { reason: String, would_allow: Option<String>, layer: Layer },
    Approved,
    Denied { note: Option<String> },
}

/// Progress of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallProgress {
    /// Not begun, or to be tried again; `attempts` were begun.
    Waiting {
        attempts: u32,
    },
    InFlight {
        attempt: u32,
        cancelled: bool,
    },
    EffectUnknown,
    Finished,
}

/// Outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallOutcome {
    Well,
    Failed,
    Cancelled,
    NotMade,
}

impl CallOutcome {
    /// Returns it in a word, for the agent.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Well => "ok",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::NotMade => "not carried out",
        }
    }
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

    pub(super) fn apply(&mut self, event: &Event) {
        self.now = Some(event.at);
        self.context.apply(&event.body);
        self.tree.apply(&event.body);
        // What came before it began is the run's, which hands it to whoever begins next.
        if self.started {
            self.said_to_it.extend(ToTell::of(&event.body));
        }
        if let Some(slot) = event.body.intent().or(event.body.outcome()) {
            self.begun(*slot);
        }
        match &event.body {
            Body::Part(PartEvent::PartStart { .. }) => self.started = true,
            Body::Part(PartEvent::PartEnd { outcome }) => self.ended = Some(*outcome),
            Body::Run(RunEvent::RunResume { .. }) => {
                // Whoever resumes it before a wait is over wants it to go on now; afterwards it just goes on.
                match self.wait.filter(|wait| wait.ends <= event.at) {
                    Some(wait) => self.be_patient_for(event.at.duration_since(wait.ends)),
                    None => self.begin_with_first_agent(),
                }
                self.judge_again();
            }
            Body::Part(PartEvent::PhaseEnter { phase, reason }) => {
                self.stand = Stand::In { phase: *phase, since: event.at, reason: reason.clone() };
                self.budget_consulted = false;
            }
            Body::Part(PartEvent::PhaseExit { phase, to, reason, .. }) => {
                if *phase == PhaseName::Intake && *to == Some(PhaseName::Execute) {
                    self.past.summary = self.taken().map(|taken| taken.text.clone());
                }
                if let Some(to) = to {
                    self.stand = Stand::Between { to: *to, reason: reason.clone() };
                }
                self.asking.forget();
                self.held = false;
            }
            Body::Turn(TurnEvent::Message { role, kind, step, text, .. }) => {
                self.past.hear(*kind, text);
                self.say(*role, *kind, *step);
            }
            Body::Turn(TurnEvent::AgentRequest { slot, output_max, .. }) => {
                self.asked_output = *output_max;
                self.untrusted.append(&mut self.untrusted_next);
                self.request(*slot);
            }
            Body::Turn(TurnEvent::AgentReply { slot, text, thinking, calls, stop, .. }) => {
                self.reply(*slot, (text, thinking), calls, *stop == Stop::MaxTokens);
            }
            Body::Turn(TurnEvent::AgentFailed { kind, message, retry_after_ms, output_max, .. }) => {
                if *kind == FailureKind::ReplyTooLong {
                    self.shorten_replies(*output_max);
                }
                self.fail(Failed {
                    kind: *kind,
                    message: message.clone(),
                    retry_after_ms: *retry_after_ms,
                    at: event.at,
                    since: event.at,
                });
            }
            Body::Turn(TurnEvent::AgentChanged { agent, .. }) => {
                self.ask_agent(*agent);
                self.forgive();
            }
            Body::Turn(TurnEvent::ContextCut { .. }) => self.owes_state = true,
            Body::Learned(LearnedEvent::LearnedBudgetConsulted { .. }) => self.budget_consulted = true,
            Body::Learned(LearnedEvent::LearnedSensitivityConsulted { .. }) => {
                if let Some(taken) = self.taken_mut() {
                    taken.consulted += 1;
                }
            }
            Body::Turn(TurnEvent::DetectorFired { detector, payload, .. }) => {
                if let Some(taken) = self.taken_mut() {
                    taken.fired.push((detector.clone(), payload.clone()));
                }
            }
            Body::Turn(TurnEvent::TurnRead { .. }) => {
                if let Some(taken) = self.taken_mut() {
                    taken.read = true;
                }
            }
            Body::Part(PartEvent::PhaseDrift { .. }) => {
                if let Some(taken) = self.taken_mut() {
                    taken.drift_told = true;
                }
            }
            Body::Host(HostEvent::Warning { .. }) => {
                if let Some(taken) = self.taken_mut() {
                    taken.phrases_told = true;
                }
            }
            Body::Gate(GateEvent::AuthCheckFired {
                call: Some(number),
                layer,
                decision,
                answer,
                reason,
                missing,
                would_allow,
                untrusted,
                ..
            }) => {
                if let Some(call) = self.call_mut(*number) {
                    call.brings_untrusted = *untrusted;
                    call.verdict = Some(match GateAnswer::on_record(*answer, decision) {
                        GateAnswer::Allow => CallVerdict::Allowed,
                        GateAnswer::Refuse => CallVerdict::Refused {
                            reason: reason.clone(),
                            would_allow: would_allow.clone(),
                            layer: *layer,
                        },
                        GateAnswer::Ask => CallVerdict::Asked { missing: missing.clone(), reason: reason.clone() },
                    });
                }
            }
            Body::Gate(GateEvent::PermissionRequested { grant_id, call, .. }) => {
                self.asking(*call, RequestProgress::Asked { grant_id: grant_id.clone() });
            }
            Body::Gate(GateEvent::PermissionGranted { grant_id, scope_granted, operator_note, call, .. }) => {
                let (grant_id, note) = (grant_id.clone(), operator_note.clone());
                self.asking(*call, RequestProgress::Granted { grant_id, lasts: *scope_granted, note });
            }
            Body::Gate(GateEvent::PermissionDenied { grant_id, operator_note, call }) => {
                let (grant_id, note) = (grant_id.clone(), operator_note.clone());
                self.asking(*call, RequestProgress::Denied { grant_id, note });
                let denied = self.call_mut(*call).map(|call| same_call(&call.call));
                self.denied.extend(denied);
            }
            Body::Gate(GateEvent::PermissionGrantConsumed { grant_id, call, .. }) => {
                if let Some(call) = self.call_mut(*call) {
                    call.paid.push(grant_id.clone());
                }
            }
            Body::Gate(GateEvent::PermissionRevoked { grant_id, .. }) => self.revoked(grant_id),
            Body::Ask(asked) => {
                if let Some(answer) = self.asking.apply(asked) {
                    self.answered(answer);
                }
                match asked {
                    AskEvent::Timer { slot, length_ms } => {
                        self.waits = self.waits.max(slot.number);
                        self.wait = Some(Wait { slot: *slot, ends: after(event.at, *length_ms) });
                    }
                    AskEvent::Expired { slot } if self.is_waiting_in(*slot) => {
                        self.wait = None;
                        if let Some(turn) = &mut self.turn {
                            turn.waited = true;
                        }
                    }
                    AskEvent::Withdrawn { slot } if self.is_waiting_in(*slot) => self.wait = None,
                    AskEvent::OperatorMessage { message, .. } => self.told(message),
                    AskEvent::Question { .. }
                    | AskEvent::Answer { .. }
                    | AskEvent::Expired { .. }
                    | AskEvent::Withdrawn { .. }
                    | AskEvent::AnswerIgnored { .. } => {}
                }
            }
            Body::Gate(GateEvent::AuthPrompt { response, calls, acts, .. }) => self.prompted(*response, calls, acts),
            Body::Gate(GateEvent::HookCall { slot, hook, place, call }) => {
                let asked = HookAsked { slot: *slot, place: *place, name: hook.clone(), answer: None };
                if let Some(call) = self.call_mut(*call) {
                    call.hooks.push(asked);
                }
            }
            Body::Gate(GateEvent::HookResult { slot, decision, reason, fault, .. }) => {
                self.hook_said(*slot, HookAnswer { answer: *decision, reason: reason.clone(), fault: *fault });
            }
            Body::Call(CallEvent::ToolResult { slot, success, .. }) => {
                // A failure too: it may repeat what a server said.
                self.brought(slot.number);
                self.finish(slot.number, if *success { CallOutcome::Well } else { CallOutcome::Failed })
            }
            Body::Call(CallEvent::ToolCancelled { slot, .. }) => {
                self.brought(slot.number);
                self.finish(slot.number, CallOutcome::Cancelled);
            }
            Body::Call(CallEvent::ToolRejected { call, .. }) => self.finish(*call, CallOutcome::NotMade),
            Body::Call(CallEvent::Interrupted { slot, effect }) => self.interrupted(*slot, *effect),
            // Other limits are counted by the run.
            Body::Budget(BudgetEvent::BudgetHalt { metric, .. }) => {
                self.is_out_of_steps = *metric == LimitMetric::Steps
            }
            Body::Host(HostEvent::FolderChanged { .. }) => {}
            Body::Handoff(HandoffEvent::HandoffRead { turn, handoff, faults, .. }) => {
                self.handed_off.apply(*turn, handoff.as_ref(), faults)
            }
            Body::Run(RunEvent::TraceVersion { .. } | RunEvent::RunStart(_) | RunEvent::RunEnd { .. })
            | Body::Gate(GateEvent::AuthCheckFired { call: None, .. } | GateEvent::GrantsLoaded { .. })
            | Body::Part(PartEvent::ModeSet { .. })
            | Body::Host(HostEvent::SandboxReport { .. })
            | Body::Learned(LearnedEvent::MemoryInherited { .. } | LearnedEvent::LearnedProfileApplied { .. })
            | Body::Part(PartEvent::DeadlinePassed { .. })
            | Body::Call(CallEvent::ToolCall { .. })
            | Body::Turn(TurnEvent::ContextFolded { .. })
            | Body::Budget(BudgetEvent::BudgetWarn { .. })
            | Body::Call(CallEvent::RescueMade { .. })
            | Body::Gate(GateEvent::TreeLook { .. } | GateEvent::TreeSeen { .. })
            | Body::Gate(GateEvent::GrantKeep { .. } | GateEvent::GrantKept { .. })
            | Body::Crew(CrewEvent::CoordinatorState { .. } | CrewEvent::ScopeWarning { .. })
            | Body::Host(HostEvent::Error { .. }) => {}
        }
    }

    fn say(&mut self, role: MessageRole, kind: MessageKind, step: u32) {
        self.messages += 1;
        // It is said between what was due and what is due.
        if kind == MessageKind::RuntimeState {
            self.owes_state = false;
            return;
        }
        self.said = Some(kind);
        self.owed = role == MessageRole::User;
        self.asking.forget();
        match kind {
            MessageKind::Nudge => {
                self.nudges += 1;
                self.held = false;
            }
            MessageKind::Correction => {
                self.nudges = 0;
                self.held = false;
            }
            MessageKind::KickOff | MessageKind::Continue => {
                self.step = step;
                self.rounds = 0;
                self.held = false;
            }
            MessageKind::Redirect => {
                self.step = step;
                self.rounds = 0;
                self.failures.clear();
                self.held = false;
            }
            MessageKind::Steer => {
                self.told += 1;
                self.rounds = 0;
                self.failures.clear();
                self.held = false;
            }
            MessageKind::Context => {
                self.held = false;
                self.rounds = 0;
                self.failures.clear();
            }
            MessageKind::StandingOrders
            | MessageKind::Intake
            | MessageKind::Approval
            | MessageKind::Denial
            | MessageKind::RuntimeState
            | MessageKind::Handoff
            | MessageKind::Report => {}
        }
    }

    /// Takes note that the thing an event names had begun, also if the line that said so can't be read: damage that an
    /// operator accepted. Its key is never used again.
    fn begun(&mut self, slot: Slot) {
        match slot.what {
            What::Turn => {
                let is_known = match &self.turn {
                    Some(turn) if turn.number == slot.number => slot.attempt <= turn.attempt,
                    _ => slot.number <= self.turns,
                };
                if !is_known {
                    self.request(slot);
                }
            }
            What::Call => {
                self.calls = self.calls.max(slot.number);
                if let Some(call) = self.call_mut(slot.number)
                    && matches!(call.progress, CallProgress::Waiting { attempts } if attempts < slot.attempt)
                {
                    call.progress = CallProgress::InFlight { attempt: slot.attempt, cancelled: false };
                }
            }
            What::Ask => self.asking.begun(slot),
            What::Hook => self.hooks = self.hooks.max(slot.number),
            // The tree counts its looks itself, and the run knows its grants.
            What::Wait | What::Look | What::Keep => {}
        }
    }

    fn request(&mut self, slot: Slot) {
        self.owed = false;
        self.turns = self.turns.max(slot.number);
        match &mut self.turn {
            Some(turn) if turn.number == slot.number => {
                turn.attempt = slot.attempt;
                turn.in_flight = true;
                turn.failed = None;
                turn.waited = false;
            }
            _ => {
                self.turn = Some(TurnState {
                    number: slot.number,
                    attempt: slot.attempt,
                    in_flight: true,
                    failures: 0,
                    failing_since: None,
                    rejections: 0,
                    failed: None,
                    waited: false,
                    cancelled: false,
                    taken: None,
                });
            }
        }
    }

    fn reply(&mut self, slot: Slot, (text, thinking): (&str, &str), calls: &[ToolCall], is_cut: bool) {
        self.messages += 1;
        if !calls.is_empty() {
            self.rounds += 1;
        }
        let has_words = !text.trim().is_empty();
        self.silences = if has_words || !calls.is_empty() { 0 } else { self.silences + 1 };
        let is_same = has_words && text.trim() == self.last_text.trim();
        self.same_turns = match calls.is_empty() && has_words {
            true if is_same => self.same_turns + 1,
            is_plain => u32::from(is_plain),
        };
        text.clone_into(&mut self.last_text);
        let first = self.calls + 1;
        self.calls += u32::try_from(calls.len()).unwrap_or(u32::MAX);
        if self.phase() == Some(PhaseName::Execute) {
            self.past.take(slot.number, text, first, calls);
        }
        let calls = (first..).zip(calls).map(|(number, call)| Call {
            number,
            call: Arc::new(call.clone()),
            verdict: None,
            progress: CallProgress::Waiting { attempts: 0 },
            asking: RequestProgress::Not,
            paid: Vec::new(),
            hooks: Vec::new(),
            brings_untrusted: false,
        });
        let taken = ReadTurn {
            text: text.to_owned(),
            thinking: thinking.to_owned(),
            is_cut,
            calls: calls.collect(),
            consulted: 0,
            fired: Vec::new(),
            read: false,
            reading: OnceLock::new(),
            drift_told: false,
            phrases_told: false,
            act: None,
        };
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.number == slot.number) {
            turn.in_flight = false;
            turn.failures = 0;
            turn.failing_since = None;
            turn.taken = Some(taken);
        }
    }

    fn fail(&mut self, mut failed: Failed) {
        match failed.kind {
            FailureKind::TooLong => self.context.refused(),
            FailureKind::Rejected => self.context.doubt(),
            FailureKind::Transient
            | FailureKind::Unreadable
            | FailureKind::Unreached
            | FailureKind::Busy
            | FailureKind::ReplyTooLong
            | FailureKind::Permanent
            | FailureKind::Cancelled => {}
        }
        let Some(turn) = &mut self.turn else { return };
        turn.in_flight = false;
        match failed.kind {
            // Cancelled by the operator, who says what now; or by a driver that stood still, and then
            // another attempt is simply due.
            FailureKind::Cancelled if turn.cancelled => self.held = true,
            FailureKind::Cancelled => {}
            FailureKind::Transient
            | FailureKind::Unreadable
            | FailureKind::Unreached
            | FailureKind::Busy
            | FailureKind::TooLong
            | FailureKind::ReplyTooLong
            | FailureKind::Rejected => {
                turn.failures += 1;
                failed.since = *turn.failing_since.get_or_insert(failed.at);
                turn.rejections += u32::from(failed.kind == FailureKind::Rejected);
                turn.failed = Some(failed);
            }
            FailureKind::Permanent => turn.failed = Some(failed),
        }
    }

    /// Limits the replies of the present agent, which gives none as long as the last one that was asked for: to `most`
    /// tokens, or to half of the last if the provider doesn't say.
    fn shorten_replies(&mut self, most: Option<u32>) {
        let half = self.asked_output / 2;
        let most = most.filter(|most| *most < self.asked_output).unwrap_or(half).max(1);
        self.reply_limits.insert(self.agent, most);
    }

    /// Returns the longest reply to ask the present agent for, which may have `most` tokens as far as the setup says.
    pub(super) fn reply_max(&self, most: u32) -> u32 {
        self.reply_limits.get(&self.agent).map_or(most, |limit| most.min(*limit))
    }

    /// Clears the failures, so that the turn is tried again as if for the first time.
    fn forgive(&mut self) {
        self.context.trust();
        if let Some(turn) = &mut self.turn {
            turn.failures = 0;
            turn.failing_since = None;
            turn.rejections = 0;
            turn.failed = None;
            turn.waited = false;
        }
    }

    /// Takes note of an answer that changes what holds: what was asked about is settled by it.
    fn answered(&mut self, answer: NewAnswer) {
        match (answer.kind, answer.choice) {
            (QuestionKind::Limit, Choice::Extend) if self.is_out_of_steps => {
                let more = self.answer(QuestionKind::Limit).and_then(|(_, text)| text?.trim().parse().ok());
                self.steps_added = self.steps_added.saturating_add(more.unwrap_or(0));
                self.is_out_of_steps = false;
                return;
            }
            (QuestionKind::Limit, Choice::Extend) | (QuestionKind::Deadline, Choice::Continue) => {}
            (QuestionKind::Scope, Choice::Accept) => self.tree.accept(),
            (QuestionKind::Failure, Choice::Retry) => self.begin_with_first_agent(),
            _ => return,
        }
        self.asking.forget();
    }

    fn prompted(&mut self, word: OperatorWord, calls: &[u32], acts: &[String]) {
        let note = self.answer(QuestionKind::Destructive).and_then(|(_, text)| text.map(str::to_owned));
        self.asking.forget();
        self.word = Some(word);
        self.note.clone_from(&note);
        let Some(taken) = self.taken_mut() else { return };
        taken.act = (!acts.is_empty()).then_some(word);
        for call in taken.calls.iter_mut().filter(|call| calls.contains(&call.number)) {
            call.verdict = Some(if word == OperatorWord::No {
                CallVerdict::Denied { note: note.clone() }
            } else {
                CallVerdict::Approved
            });
        }
        if word != OperatorWord::No {
            let approved = taken.calls.iter().filter(|call| calls.contains(&call.number));
            let approved: Vec<Arc<ToolCall>> = approved.map(|call| call.call.clone()).collect();
            approved.iter().for_each(|call| self.tree.approve(call));
        }
        // C32: an announcement that was approved is not asked about again.
        if word != OperatorWord::No {
            self.approved_acts.extend(acts.iter().filter(|act| *act != OUT_OF_SCOPE).cloned());
        }
    }

    /// Takes note that the agent got an answer to a call. A call that was made tells whether it works.
    fn finish(&mut self, number: u32, came: CallOutcome) {
        self.messages += 1;
        self.past.came(number, came.as_str());
        let Some(call) = self.call_mut(number) else { return };
        call.progress = CallProgress::Finished;
        let call = call.call.clone();
        match came {
            CallOutcome::Well if self.failures.is_empty() => {}
            CallOutcome::Well => {
                self.failures.remove(&same_call(&call));
            }
            CallOutcome::Failed => *self.failures.entry(same_call(&call)).or_default() += 1,
            CallOutcome::Cancelled | CallOutcome::NotMade => {}
        }
    }

    fn interrupted(&mut self, slot: Slot, effect: InterruptedEffect) {
        match slot.what {
            What::Turn => {
                if let Some(turn) = &mut self.turn {
                    turn.in_flight = false;
                }
            }
            What::Call => {
                if let Some(call) = self.call_mut(slot.number) {
                    call.progress = match effect {
                        InterruptedEffect::None => CallProgress::Waiting { attempts: slot.attempt },
                        InterruptedEffect::Unknown => CallProgress::EffectUnknown,
                    };
                }
            }
            What::Hook => self.hook_said(slot, HookAnswer::none(HookFault::Interrupted, "")),
            What::Ask | What::Wait | What::Look | What::Keep => {}
        }
    }

    /// Takes note of what a guard hook said.
    fn hook_said(&mut self, slot: Slot, answer: HookAnswer) {
        let calls = self.taken_mut().into_iter().flat_map(|taken| &mut taken.calls);
        if let Some(asked) = calls.flat_map(|call| &mut call.hooks).find(|asked| asked.slot == slot) {
            asked.answer = Some(answer);
        }
    }

    /// Takes note that a call came to its end with whatever it brought.
    fn brought(&mut self, number: u32) {
        if let Some(call) = self.call_mut(number).filter(|call| call.brings_untrusted) {
            let source = format!("{} call {number}", call.call.name);
            self.untrusted_next.push(source);
        }
    }

    /// Moves the start of the failures by `time`, in which no process drove the run: it doesn't count as waiting.
    fn be_patient_for(&mut self, time: SignedDuration) {
        if let Some(since) = self.turn.as_mut().and_then(|turn| turn.failing_since.as_mut()) {
            *since = since.saturating_add(time).unwrap_or(*since);
        }
    }

    fn is_waiting_in(&self, slot: Slot) -> bool {
        self.wait.is_some_and(|wait| wait.slot == slot)
    }

    /// Asks the run's own agent again, as if nothing had failed.
    fn begin_with_first_agent(&mut self) {
        self.ask_agent(0);
        self.forgive();
    }

    /// Has this agent take the turns from here on.
    fn ask_agent(&mut self, agent: u32) {
        if self.agent != agent {
            self.context.change_agent();
        }
        self.agent = agent;
    }

    /// Has calls that were allowed and have not begun judged again by the rights that hold now.
    fn judge_again(&mut self) {
        if let Some(taken) = self.taken_mut() {
            for call in &mut taken.calls {
                if call.verdict == Some(CallVerdict::Allowed) && matches!(call.progress, CallProgress::Waiting { .. }) {
                    call.verdict = None;
                }
            }
        }
    }

    fn asking(&mut self, number: u32, asking: RequestProgress) {
        self.asking.forget();
        if let Some(call) = self.call_mut(number) {
            call.asking = asking;
        }
    }

    /// Has calls that rest on a revoked grant and have not begun judged again.
    fn revoked(&mut self, grant_id: &String) {
        for call in self.taken_mut().into_iter().flat_map(|taken| &mut taken.calls) {
            let is_idle = matches!(call.progress, CallProgress::Waiting { .. });
            if call.paid.contains(grant_id) && call.verdict == Some(CallVerdict::Allowed) && is_idle {
                call.verdict = None;
            }
        }
    }

    fn told(&mut self, message: &Message) {
        match message {
            Message::Cancel => {
                if let Some(turn) = self.turn.as_mut().filter(|turn| turn.in_flight) {
                    turn.cancelled = true;
                }
                // A wait is not worth an answer: what was to follow it is the operator's to say.
                self.held |= self.wait.is_some();
                for call in self.taken_mut().into_iter().flat_map(|taken| &mut taken.calls) {
                    if let CallProgress::InFlight { cancelled, .. } = &mut call.progress {
                        *cancelled = true;
                    }
                }
            }
            Message::Amend(_) => self.judge_again(),
            Message::Steer(_) | Message::Mode(_) | Message::Pause | Message::Interrupt | Message::Stop => {}
        }
    }

    pub(super) fn taken(&self) -> Option<&ReadTurn> {
        self.turn.as_ref().and_then(|turn| turn.taken.as_ref())
    }

    fn taken_mut(&mut self) -> Option<&mut ReadTurn> {
        self.turn.as_mut().and_then(|turn| turn.taken.as_mut())
    }

    fn call_mut(&mut self, number: u32) -> Option<&mut Call> {
        self.taken_mut().and_then(|taken| taken.calls.iter_mut().find(|call| call.number == number))
    }
}

/// Returns the text by which two calls are the same for the retry cap: the tool and its arguments.
pub(super) fn same_call(call: &ToolCall) -> String {
    format!("{} {}", call.name, call.args)
}

impl ReadTurn {
    /// Returns the finding of a detector, if it fired.
    pub(super) fn payload(&self, detector: &str) -> Option<&Value> {
        self.fired.iter().find(|(name, _)| name == detector).map(|(_, payload)| payload)
    }

    /// Returns the phase that the turn declared last.
    pub(super) fn declared(&self) -> Option<PhaseName> {
        let last = self.payload("phase_marker")?.get("last")?;
        serde_json::from_value(last.clone()).ok()
    }

    /// Returns the categories that the turn announced without being authorized.
    pub(super) fn announced(&self) -> Vec<String> {
        self.payload("destructive").map(detect::announced).unwrap_or_default()
    }
}
