//! What was said between the session and its agent: whether a turn is owed, and whether the agent says anything new.

use crate::trace::{Body, CallEvent, Event, TurnEvent};
use crate::words::{MessageKind, MessageRole};

/// The talk so far.
#[derive(Debug, Clone, Default)]
pub(in crate::session) struct Speech {
    /// Messages in the part's transcript so far, the agent's and the tools' included.
    pub(in crate::session) messages: u32,
    /// The last thing said to the agent, and whether a turn is owed for it.
    pub(in crate::session) said: Option<MessageKind>,
    pub(in crate::session) owed: bool,
    pub(in crate::session) nudges: u32,
    /// Number of turns in a row that had neither a word nor a call.
    pub(in crate::session) silences: u32,
    /// Number of turns in a row that said the same, without a call.
    pub(in crate::session) same_turns: u32,
    /// Text of the last turn.
    last_text: String,
    /// Messages were left out and the runtime state is not yet said behind them.
    pub(in crate::session) owes_state: bool,
}

impl Speech {
    pub(super) fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Turn(turn) => self.turn(turn),
            // Each answer to a call is a message.
            Body::Call(
                CallEvent::ToolResult { .. } | CallEvent::ToolCancelled { .. } | CallEvent::ToolRejected { .. },
            ) => self.messages += 1,
            _ => {}
        }
    }

    fn turn(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::Message { role, kind, .. } => self.say(*role, *kind),
            TurnEvent::AgentRequest { .. } => self.owed = false,
            TurnEvent::AgentReply { text, calls, .. } => self.reply(text, !calls.is_empty()),
            TurnEvent::ContextCut { .. } => self.owes_state = true,
            TurnEvent::AgentFailed { .. }
            | TurnEvent::AgentChanged { .. }
            | TurnEvent::ContextFolded { .. }
            | TurnEvent::DetectorFired { .. }
            | TurnEvent::TurnRead { .. } => {}
        }
    }

    fn say(&mut self, role: MessageRole, kind: MessageKind) {
        self.messages += 1;
        // It is said between what was due and what is due.
        if kind == MessageKind::RuntimeState {
            self.owes_state = false;
            return;
        }
        self.said = Some(kind);
        self.owed = role == MessageRole::User;
        match kind {
            MessageKind::Nudge => self.nudges += 1,
            MessageKind::Correction => self.nudges = 0,
            _ => {}
        }
    }

    fn reply(&mut self, text: &str, has_calls: bool) {
        self.messages += 1;
        let has_words = !text.trim().is_empty();
        self.silences = if has_words || has_calls { 0 } else { self.silences + 1 };
        let is_same = has_words && text.trim() == self.last_text.trim();
        self.same_turns = match !has_calls && has_words {
            true if is_same => self.same_turns + 1,
            is_plain => u32::from(is_plain),
        };
        text.clone_into(&mut self.last_text);
    }
}
