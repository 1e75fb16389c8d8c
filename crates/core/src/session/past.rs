//! What must not be lost when messages are left out: the confirmed summary, the operator's words, and in a line
//! each what the agent has done.

use crate::tool::ToolCall;
use crate::trace::MessageKind;

/// How much of a turn's text is kept, in characters.
const SAID_CHARS_MAX: usize = 160;
/// How much of a call's arguments is kept, in characters.
const ARGS_CHARS_MAX: usize = 100;

/// What a session has behind it.
#[derive(Debug, Clone, Default)]
pub(super) struct Past {
    /// The confirmation summary that the operator accepted.
    pub(super) summary: Option<String>,
    /// What the operator said since, in whole, each as the agent got it.
    pub(super) words: Vec<String>,
    /// The agent's turns in phase 1.
    pub(super) turns: Vec<PastTurn>,
}

/// One turn.
#[derive(Debug, Clone)]
pub(super) struct PastTurn {
    pub(super) number: u32,
    pub(super) said: String,
    pub(super) calls: Vec<PastCall>,
}

/// One call of it.
#[derive(Debug, Clone)]
pub(super) struct PastCall {
    number: u32,
    pub(super) what: String,
    pub(super) came: &'static str,
}

impl Past {
    /// Takes note of what was said to the agent, if the operator said it.
    pub(super) fn hear(&mut self, kind: MessageKind, text: &str) {
        match kind {
            MessageKind::Redirect
            | MessageKind::Steer
            | MessageKind::Context
            | MessageKind::Approval
            | MessageKind::Denial => {
                self.words.push(text.to_owned());
            }
            MessageKind::StandingOrders
            | MessageKind::Intake
            | MessageKind::Nudge
            | MessageKind::Correction
            | MessageKind::KickOff
            | MessageKind::Continue
            | MessageKind::RuntimeState
            | MessageKind::Handoff
            | MessageKind::Report => {}
        }
    }

    /// Takes note of a turn whose first call has the number `first`.
    pub(super) fn take(&mut self, number: u32, text: &str, first: u32, calls: &[ToolCall]) {
        let call = |(number, call): (u32, &ToolCall)| PastCall {
            number,
            what: format!("{} {}", call.name, shortened(&call.args.to_string(), ARGS_CHARS_MAX)),
            came: "no answer yet",
        };
        let calls = (first..).zip(calls).map(call).collect();
        self.turns.push(PastTurn { number, said: shortened(text, SAID_CHARS_MAX), calls });
    }

    /// Takes note of what came of a call.
    pub(super) fn came(&mut self, number: u32, came: &'static str) {
        let calls = self.turns.iter_mut().rev().flat_map(|turn| &mut turn.calls);
        if let Some(call) = calls.into_iter().find(|call| call.number == number) {
            call.came = came;
        }
    }
}

/// The beginning of a text, on one line.
fn shortened(text: &str, chars_max: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(chars_max) {
        Some((cut, _)) => format!("{}\u{2026}", &line[..cut]),
        None => line,
    }
}
