//! Scope custody: at the end of a step the session looks at what changed outside of what the brief is about.
//!
//! Only where the scope names paths, and only if a call was made that may have changed something. What lies
//! outside is the operator's to accept; under a locked scope it is a blocker. Nothing accepts it by itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::machine::Decider;
use super::prompts;
use crate::gate::custody::{Custody, Outside};
use crate::procedure::{Command, Next};
use crate::trace::{Body, CallEvent, GateEvent, TurnEvent};
use crate::words::tool::{ToolCall, ToolEffect};
use crate::words::{Choice, Look, MessageKind, PhaseName, QuestionKind, Slot, What};

/// State of the working tree, from the events.
#[derive(Debug, Clone, Default)]
pub(super) struct TreeState {
    looks: u32,
    looking: Option<Slot>,
    /// True if it was looked at before the first call.
    known: bool,
    /// The tools that were called since the last look, and whether that look left something open.
    called: BTreeSet<String>,
    open: bool,
    seen: Option<Seen>,
    accepted: BTreeSet<String>,
    /// The operator goes on without looks.
    waived: bool,
    /// The calls that the operator said yes to.
    approved: Vec<Arc<ToolCall>>,
}

/// Findings of the last look.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Seen {
    pub(super) outside: Outside,
    /// Reason that the look found nothing out.
    pub(super) error: Option<String>,
}

impl Seen {
    fn is_clean(&self) -> bool {
        self.outside == Outside::default() && self.error.is_none()
    }
}

impl TreeState {
    pub(super) fn apply(&mut self, body: &Body) {
        match body {
            Body::Gate(GateEvent::TreeLook { slot, .. }) => {
                self.begun(*slot);
                self.looking = Some(*slot);
            }
            Body::Gate(GateEvent::TreeSeen { slot, look, outside, more, error, .. }) => {
                self.begun(*slot);
                self.looking = None;
                match look {
                    Look::Before => self.known = true,
                    Look::After => {
                        let outside = Outside { paths: outside.clone(), more: *more };
                        let seen = Seen { outside, error: error.clone() };
                        self.called.clear();
                        self.open = !seen.is_clean();
                        self.seen = Some(seen);
                    }
                }
            }
            Body::Call(CallEvent::Interrupted { slot, .. }) if slot.what == What::Look => {
                self.begun(*slot);
                self.looking = None;
            }
            Body::Call(CallEvent::ToolCall { name, .. }) => {
                self.called.insert(name.clone());
                self.seen = None;
            }
            // The agent may do something about it, so the tree is looked at anew.
            Body::Turn(TurnEvent::Message { .. }) => self.seen = None,
            _ => {}
        }
    }

    fn begun(&mut self, slot: Slot) {
        self.looks = self.looks.max(slot.number);
    }

    pub(super) fn approve(&mut self, call: &Arc<ToolCall>) {
        self.approved.push(Arc::clone(call));
    }

    /// Takes note that the operator goes on with the changes that were found.
    pub(super) fn accept(&mut self) {
        let Some(seen) = self.seen.take() else { return };
        self.waived |= seen.error.is_some();
        self.open = seen.outside.more > 0;
        self.accepted.extend(seen.outside.paths);
    }
}

impl Decider<'_> {
    /// Returns the look before the first call, until it was had.
    pub(super) fn look_before(&self) -> Option<Next> {
        (self.setup.scope.names_paths() && !self.state.tree.known).then(|| self.look(Look::Before))
    }

    /// Returns the thing that is due before a step is over: a look, or a word on changes outside the scope.
    pub(super) fn look_after(&self) -> Option<Next> {
        let tree = &self.state.tree;
        if !self.setup.scope.names_paths() || tree.waived {
            return None;
        }
        let Some(seen) = &tree.seen else {
            let reads = |name: &String| self.tool(name).is_some_and(|tool| tool.effect == ToolEffect::Reads);
            let is_due = tree.open || !tree.called.iter().all(reads);
            return is_due.then(|| self.look(Look::After));
        };
        if seen.is_clean() {
            return None;
        }
        if self.setup.scope_locked {
            return Some(self.leave(PhaseName::Blocker, &prompts::outside_locked(seen)));
        }
        Some(match self.state.answer(QuestionKind::Scope) {
            None => self.ask(prompts::outside_scope(seen)),
            Some((Choice::Say, Some(text))) => {
                self.say(MessageKind::Context, self.state.steps.number, prompts::outside_said(seen, text))
            }
            Some(_) => self.leave(PhaseName::Blocker, &prompts::outside_refused(seen)),
        })
    }

    fn look(&self, look: Look) -> Next {
        let tree = &self.state.tree;
        let slot = tree.looking.unwrap_or(Slot::first(What::Look, tree.looks + 1));
        let custody = Custody::new(self.setup.scope.clone(), tree.accepted.clone());
        let approved = tree.approved.iter().map(|call| self.effects(call));
        let custody = approved.fold(custody, |custody, effects| custody.with_approved(&effects));
        self.want(slot, Command::Look { look, custody: Arc::new(custody), workspace: self.workspace() })
    }
}
