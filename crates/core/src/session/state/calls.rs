//! The calls of the latest reply, each with its verdict and its progress, and what earlier calls left behind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::gate::HookAnswer;
use crate::session::permission::RequestProgress;
use crate::trace::{Body, Event, TurnEvent};
use crate::words::tool::ToolCall;
use crate::words::{InterruptedEffect, Layer, MessageKind, Slot};

/// What the calls so far left behind.
#[derive(Debug, Clone, Default)]
pub(in crate::session) struct PastCalls {
    pub(in crate::session) count: u32,
    /// Guard hooks that were asked.
    pub(in crate::session) hooks: u32,
    /// The calls that brought text from outside which the agent has read, and those whose text it gets with its
    /// next turn.
    pub(in crate::session) untrusted: Vec<String>,
    untrusted_next: Vec<String>,
    /// The requests for permissions that were denied, by name and arguments of the call.
    pub(in crate::session) denied: BTreeSet<String>,
    /// Number of times that each call failed in a row since the operator last said something, by name and arguments.
    failures: BTreeMap<String, u32>,
}

/// One call of a turn.
#[derive(Debug, Clone)]
pub(in crate::session) struct Call {
    pub(in crate::session) number: u32,
    pub(in crate::session) call: Arc<ToolCall>,
    pub(in crate::session) verdict: Option<CallVerdict>,
    pub(in crate::session) progress: CallProgress,
    /// Progress of its request for a permission, if it is one.
    pub(in crate::session) asking: RequestProgress,
    /// The grants of which it has used up a use.
    pub(in crate::session) paid: Vec<String>,
    /// The guard hooks that were asked about it, in order.
    pub(in crate::session) hooks: Vec<HookAsked>,
    /// True if it brings back text from outside.
    pub(in crate::session) brings_untrusted: bool,
}

/// A guard hook that was asked about a call.
#[derive(Debug, Clone)]
pub(in crate::session) struct HookAsked {
    pub(in crate::session) slot: Slot,
    pub(in crate::session) place: u32,
    pub(in crate::session) name: String,
    pub(in crate::session) answer: Option<HookAnswer>,
}

/// Answer to a call, by the gate or by the operator.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::session) enum CallVerdict {
    Allowed,
    Asked { missing: Vec<String>, reason: String },
    Refused { reason: String, would_allow: Option<String>, layer: Layer },
    Approved,
    Denied { note: Option<String> },
}

/// Progress of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum CallProgress {
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
pub(super) enum CallOutcome {
    Well,
    Failed,
    Cancelled,
    NotMade,
}

impl CallOutcome {
    /// Returns it in a word, for the agent.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Well => "ok",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::NotMade => "not carried out",
        }
    }
}

/// Returns the text by which two calls are the same for the retry cap: the tool and its arguments.
pub(in crate::session) fn same_call(call: &ToolCall) -> String {
    format!("{} {}", call.name, call.args)
}

impl PastCalls {
    pub(super) fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Turn(TurnEvent::AgentRequest { .. }) => self.untrusted.append(&mut self.untrusted_next),
            // Words of the operator: what failed before may work now.
            Body::Turn(TurnEvent::Message {
                kind: MessageKind::Redirect | MessageKind::Steer | MessageKind::Context,
                ..
            }) => self.failures.clear(),
            _ => {}
        }
    }

    /// Takes note of the calls of a reply; returns the number of the first.
    pub(super) fn number(&mut self, calls: &[ToolCall]) -> u32 {
        let first = self.count + 1;
        self.count += u32::try_from(calls.len()).unwrap_or(u32::MAX);
        first
    }

    /// Takes note that a call came to its end with whatever it brought.
    pub(super) fn brought(&mut self, call: &Call) {
        if call.brings_untrusted {
            self.untrusted_next.push(format!("{} call {}", call.call.name, call.number));
        }
    }

    /// Takes note of the outcome of a call. A call that was made tells whether it works.
    pub(super) fn finished(&mut self, call: &ToolCall, came: CallOutcome) {
        match came {
            CallOutcome::Well if self.failures.is_empty() => {}
            CallOutcome::Well => {
                self.failures.remove(&same_call(call));
            }
            CallOutcome::Failed => *self.failures.entry(same_call(call)).or_default() += 1,
            CallOutcome::Cancelled | CallOutcome::NotMade => {}
        }
    }

    /// Returns the number of times in a row that the same call failed.
    pub(in crate::session) fn failures(&self, call: &ToolCall) -> u32 {
        self.failures.get(&same_call(call)).copied().unwrap_or(0)
    }
}

impl Call {
    pub(super) fn new(number: u32, call: &ToolCall) -> Self {
        Self {
            number,
            call: Arc::new(call.clone()),
            verdict: None,
            progress: CallProgress::Waiting { attempts: 0 },
            asking: RequestProgress::Not,
            paid: Vec::new(),
            hooks: Vec::new(),
            brings_untrusted: false,
        }
    }

    /// Takes note that an attempt at it begins.
    pub(super) fn begin(&mut self, attempt: u32) {
        if matches!(self.progress, CallProgress::Waiting { attempts } if attempts < attempt) {
            self.progress = CallProgress::InFlight { attempt, cancelled: false };
        }
    }

    /// Takes note that the attempt in flight came to no end.
    pub(super) fn interrupted(&mut self, attempt: u32, effect: InterruptedEffect) {
        self.progress = match effect {
            InterruptedEffect::None => CallProgress::Waiting { attempts: attempt },
            InterruptedEffect::Unknown => CallProgress::EffectUnknown,
        };
    }

    /// Takes note that the operator cancelled what is in flight.
    pub(super) fn cancel(&mut self) {
        if let CallProgress::InFlight { cancelled, .. } = &mut self.progress {
            *cancelled = true;
        }
    }

    /// Has it judged again by the rights that hold now, if it was allowed and has not begun.
    pub(super) fn judge_again(&mut self) {
        if self.verdict == Some(CallVerdict::Allowed) && matches!(self.progress, CallProgress::Waiting { .. }) {
            self.verdict = None;
        }
    }
}
