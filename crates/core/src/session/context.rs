//! The size of a request, and the messages that are left out when it gets too big for the agent's window.
//!
//! In: the messages of the part, and the provider's own count of every request it answered. Out: about how many tokens
//! the next request has, and which messages make room. The results of old calls go first, since they can be had again;
//! then whole steps, the oldest first, behind which the runtime state is said anew. A call and its result are never
//! parted: messages are left out only when a turn is due, and a cut lies before something that the runtime or the
//! operator said.

use std::fmt::{self, Write as _};

use serde_json::Value;

use super::transcript::SHORTENED_NOTE_BYTES;
use crate::trace::{Body, CallEvent, TurnEvent};
use crate::words::tool::ToolCall;
use crate::words::{MessageRole, Usage};

/// Bytes of text per token, until the provider has counted a request: the peer's number.
const BYTES_PER_TOKEN: u64 = 4;
/// Tokens of a message besides its text.
const MESSAGE_TOKENS: u64 = 4;
/// Tokens of a folded result: its note and both its ends.
const FOLDED_TOKENS: u64 = 160;
/// Smallest result that is worth folding, in tokens.
const FOLD_TOKENS_MIN: u64 = 2 * FOLDED_TOKENS;
/// Fullness of a window at which room is made, and the fullness after that, in per cent. The provider's count lags one
/// turn behind, so the first is not close to 100; making room costs the provider's cache, so it is done seldom and
/// well.
const FULL_PER_CENT: u64 = 80;
const ROOMY_PER_CENT: u64 = 50;
/// The part of a window that is kept free for the reply, at most: one in so many.
const REPLY_SHARE: u64 = 4;
/// The window where nobody knows it and nothing has shown it: few models that call tools have less, and a server
/// on the own machine is often given no more.
const WINDOW_GUESS: u64 = 32_768;
/// Fullness of a window, in per cent, from which a rejection without a known reason is taken to be about its length. A
/// session keeps its requests well below a window that it knows, so that half of it is near.
const NEAR_PER_CENT: u64 = 50;

/// Messages of a part, by weight.
#[derive(Debug, Clone, Default)]
pub(super) struct Context {
    weights: Vec<MessageWeight>,
    /// The weight of those that are sent.
    sent: u64,
    /// Weight of the tools, which are in every request.
    tools: u64,
    /// Number of bytes of a result that are sent; all if absent.
    result_bytes_max: Option<u64>,
    /// The first message that is still sent, besides the standing orders.
    first: usize,
    /// The weight of the last request, and what the provider counted for a request of some weight.
    asked: u64,
    counted: Option<(u64, u64)>,
    /// The window as a provider's refusal showed it.
    seen: Option<u64>,
    /// The same after a rejection that may have been about the length; an answer to a shorter request confirms it.
    doubted: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
struct MessageWeight {
    tokens: u64,
    kind: WeightKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WeightKind {
    System,
    User,
    Agent,
    Result,
    Folded,
}

/// A way to make room.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Relief {
    /// These results are folded.
    Fold { messages: Vec<u32>, before: u64, after: u64 },
    /// The messages before this one are left out.
    Cut { first: u32, before: u64, after: u64 },
}

impl Context {
    pub(super) fn new(tools: u64, result_bytes_max: Option<u64>) -> Self {
        Self { tools, result_bytes_max, ..Self::default() }
    }

    /// Takes note of an event of the session's part.
    pub(super) fn apply(&mut self, body: &Body) {
        match body {
            Body::Turn(TurnEvent::Message { role, text, .. }) => {
                let kind = if *role == MessageRole::System { WeightKind::System } else { WeightKind::User };
                self.push(kind, text.len() as u64);
            }
            Body::Turn(TurnEvent::AgentRequest { tools, .. }) => self.asked = self.weight(*tools > 0),
            Body::Turn(TurnEvent::AgentReply { text, calls, provider_data, usage, .. }) => {
                if let Some(doubted) = self.doubted.take() {
                    self.seen = Some(self.seen.map_or(doubted, |seen| seen.min(doubted)));
                }
                if let Some(counted) = usage.and_then(input) {
                    self.counted = Some((self.asked.max(1), counted));
                }
                let data = provider_data.as_ref().map_or(0, |data| written(&data.parts));
                self.push(WeightKind::Agent, text.len() as u64 + data + calls.iter().map(bytes).sum::<u64>());
            }
            Body::Call(CallEvent::ToolResult { bytes, .. }) => self.push_result(*bytes),
            Body::Call(CallEvent::ToolCancelled { partial_output, .. }) => {
                self.push_result(partial_output.len() as u64)
            }
            Body::Call(CallEvent::ToolRejected { content, .. }) => self.push_result(content.len() as u64),
            Body::Turn(TurnEvent::ContextFolded { messages, .. }) => {
                for message in messages {
                    if let Some(weight) = self.weights.get_mut(*message as usize) {
                        *weight = MessageWeight { tokens: FOLDED_TOKENS, kind: WeightKind::Folded };
                    }
                }
                self.weigh();
            }
            Body::Turn(TurnEvent::ContextCut { first, .. }) => {
                self.first = *first as usize;
                self.weigh();
            }
            _ => {}
        }
    }

    /// Takes note that the last request was too long.
    pub(super) fn refused(&mut self) {
        let shorter = self.shorter();
        self.seen = Some(self.seen.map_or(shorter, |seen| seen.min(shorter)));
    }

    /// Takes note that the last request may have been too long.
    pub(super) fn doubt(&mut self) {
        self.doubted = Some(self.shorter());
    }

    /// Takes note that it was not.
    pub(super) fn trust(&mut self) {
        self.doubted = None;
    }

    /// Takes note that another agent is asked from here on: its window is another one.
    pub(super) fn change_agent(&mut self) {
        self.seen = None;
        self.doubted = None;
    }

    /// Returns a size that is surely less than the last request.
    fn shorter(&self) -> u64 {
        self.tokens_of(self.asked) / 4 * 3
    }

    /// Returns true if less is sent now than in the last request.
    pub(super) fn is_shorter(&self) -> bool {
        self.weight(true) < self.asked
    }

    /// Returns true if the last request came near the window, as far as that is known.
    pub(super) fn is_near(&self, window: Option<u64>) -> bool {
        let most = window.into_iter().chain(self.seen).min().unwrap_or(WINDOW_GUESS);
        self.tokens_of(self.asked) >= most / 100 * NEAR_PER_CENT
    }

    /// Returns the numbers of the first and the last message that are sent besides the standing orders.
    pub(super) fn range(&self) -> (u32, u32) {
        let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        (number(self.first), number(self.weights.len().saturating_sub(1)))
    }

    /// Returns about how many tokens a request has now.
    pub(super) fn tokens(&self) -> u64 {
        self.tokens_of(self.weight(true))
    }

    /// Returns the step that makes room in a window of `window` tokens, of which a reply may take `output`; `state`
    /// bytes are said anew behind a cut. `None` if there is room, or if nothing can be left out.
    pub(super) fn relief(&self, window: Option<u64>, output: u32, state: &dyn Fn() -> u64) -> Option<Relief> {
        let free = |window: u64| window - u64::from(output).min(window / REPLY_SHARE);
        let most = window.map(free).into_iter().chain(self.seen).chain(self.doubted).min()?;
        let (full, roomy) = (most / 100 * FULL_PER_CENT, most / 100 * ROOMY_PER_CENT);
        let before = self.tokens();
        if before <= full {
            return None;
        }
        let latest = self.weights.iter().rposition(|weight| weight.kind == WeightKind::Agent).unwrap_or(0);
        let old = self.fold(self.first..latest, before, roomy);
        match old {
            Some((messages, after)) if after <= full => Some(Relief::Fold { messages, before, after }),
            old => self
                .cut(before, roomy, self.tokens_of(state() / BYTES_PER_TOKEN))
                .or_else(|| old.map(|(messages, after)| Relief::Fold { messages, before, after }))
                .or_else(|| {
                    let (messages, after) = self.fold(latest..self.weights.len(), before, roomy)?;
                    Some(Relief::Fold { messages, before, after })
                }),
        }
    }

    /// Returns the results in `range` to fold, the oldest first, until no more than `roomy` is left of `before`.
    fn fold(&self, range: std::ops::Range<usize>, before: u64, roomy: u64) -> Option<(Vec<u32>, u64)> {
        let mut after = before;
        let mut messages = Vec::new();
        for index in range {
            let MessageWeight { tokens, kind } = self.weights[index];
            if kind == WeightKind::Result && tokens > FOLD_TOKENS_MIN && after > roomy {
                after = after.saturating_sub(self.tokens_of(tokens - FOLDED_TOKENS));
                messages.push(u32::try_from(index).unwrap_or(u32::MAX));
            }
        }
        (!messages.is_empty()).then_some((messages, after))
    }

    /// Returns the earliest cut that leaves no more than `roomy`, else the latest that leaves less than there is.
    fn cut(&self, before: u64, roomy: u64, state: u64) -> Option<Relief> {
        let mut left = self.weight(true);
        let mut best = None;
        for (index, weight) in self.weights.iter().enumerate().skip(self.first) {
            if weight.kind == WeightKind::User && index > self.first {
                let after = self.tokens_of(left);
                if after + state < before {
                    best = Some((index, after));
                }
                if after + state <= roomy {
                    break;
                }
            }
            if weight.kind != WeightKind::System {
                left = left.saturating_sub(weight.tokens);
            }
        }
        best.map(|(first, after)| Relief::Cut { first: u32::try_from(first).unwrap_or(u32::MAX), before, after })
    }

    /// Adds a result. If it is too long, only its two ends count, for no more is sent.
    fn push_result(&mut self, bytes: u64) {
        let most = self.result_bytes_max.filter(|most| bytes > *most);
        self.push(WeightKind::Result, most.map_or(bytes, |most| most + SHORTENED_NOTE_BYTES));
    }

    fn push(&mut self, kind: WeightKind, bytes: u64) {
        let tokens = bytes / BYTES_PER_TOKEN + MESSAGE_TOKENS;
        self.weights.push(MessageWeight { tokens, kind });
        self.sent = self.sent.saturating_add(tokens);
    }

    /// Weighs anew what is sent, since something less is.
    fn weigh(&mut self) {
        let first = self.first;
        let is_sent = |(index, weight): &(usize, &MessageWeight)| *index >= first || weight.kind == WeightKind::System;
        self.sent = self
            .weights
            .iter()
            .enumerate()
            .filter(is_sent)
            .fold(0, |sum: u64, (_, weight)| sum.saturating_add(weight.tokens));
    }

    /// Returns the weight of a request, in guessed tokens.
    fn weight(&self, tools: bool) -> u64 {
        self.sent.saturating_add(if tools { self.tools } else { 0 })
    }

    /// Tokens as they are guessed, by the measure of what the provider last counted. A count that is off by more
    /// than four times was of something else.
    fn tokens_of(&self, weight: u64) -> u64 {
        match self.counted {
            Some((guessed, counted)) => {
                weight.saturating_mul(counted.clamp(guessed / 4, guessed.saturating_mul(4))) / guessed
            }
            None => weight,
        }
    }
}

/// Returns the tokens that a provider read for a request, if it said.
fn input(usage: Usage) -> Option<u64> {
    let cached = [usage.cache_read_tokens, usage.cache_write_tokens].into_iter().flatten();
    usage.input_tokens.map(|input| cached.fold(input, u64::saturating_add))
}

fn bytes(call: &ToolCall) -> u64 {
    call.name.len() as u64 + written(&call.args)
}

/// Returns the number of bytes that a value has as JSON.
fn written(value: &Value) -> u64 {
    let listed = |count: usize| 2 + count.saturating_sub(1) as u64;
    match value {
        // A journal holds what is written here a hundred thousand times over: texts are counted where they stand.
        Value::String(text) => written_text(text),
        Value::Array(items) => listed(items.len()) + items.iter().map(written).sum::<u64>(),
        Value::Object(fields) => {
            let fields_bytes = fields.iter().map(|(name, value)| written_text(name) + 1 + written(value));
            listed(fields.len()) + fields_bytes.sum::<u64>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            let mut counted = Counted(0);
            // It takes whatever it is given.
            let _ = write!(counted, "{value}");
            counted.0
        }
    }
}

/// Returns the number of bytes that a text has as JSON, with its quotes.
fn written_text(text: &str) -> u64 {
    // Counted so, many bytes are looked at in one step; few texts have any that are escaped by their code.
    let escaped = text.bytes().filter(|byte| (*byte < 0x20) | (*byte == b'"') | (*byte == b'\\')).count();
    let by_code = || text.bytes().filter(|byte| *byte < 0x20 && !b"\n\r\t\x08\x0c".contains(byte)).count();
    let codes = if escaped == 0 { 0 } else { by_code() };
    (2 + text.len() + escaped + 4 * codes) as u64
}

/// Number of bytes that were written to it.
struct Counted(u64);

impl fmt::Write for Counted {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.0 += part.len() as u64;
        Ok(())
    }
}

/// Returns about how many tokens `bytes` of text have.
pub(super) const fn guess(bytes: u64) -> u64 {
    bytes / BYTES_PER_TOKEN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::{MessageKind, PhaseName, Slot, What};

    #[test]
    fn what_one_agent_refused_another_may_take() {
        let mut context = Context::new(0, None);
        for text in ["a".repeat(40_000), "b".repeat(40_000)] {
            let (role, kind, phase) = (MessageRole::User, MessageKind::Steer, PhaseName::Execute);
            context.apply(&Body::Turn(TurnEvent::Message { role, kind, phase, step: 0, text }));
        }
        context.asked = context.weight(true);
        context.refused();
        let state = || 0;
        assert!(context.relief(Some(200_000), 1000, &state).is_some());
        context.change_agent();
        assert_eq!(context.relief(Some(200_000), 1000, &state), None);
    }

    #[test]
    fn the_bytes_of_a_value_are_those_that_are_written() {
        let every_byte: String = (0..0x250).filter_map(char::from_u32).collect();
        for value in [
            serde_json::json!(null),
            serde_json::json!([]),
            serde_json::json!({}),
            serde_json::json!([1, -2.5, 1e300, true, [false, "a"], {"b": {}}]),
            serde_json::json!({"a\n": every_byte, "\u{1}\u{7f}": {"c": [null], "d": "\u{2028}\"\\/"}}),
        ] {
            assert_eq!(written(&value), value.to_string().len() as u64, "{value}");
        }
    }

    #[test]
    fn a_result_weighs_what_is_sent_of_it() {
        let weight = |bytes: u64, most: Option<u64>| {
            let mut context = Context::new(0, most);
            context.apply(&Body::Call(CallEvent::ToolResult {
                slot: Slot::first(What::Call, 1),
                call_id: String::new(),
                success: true,
                duration_ms: 0,
                bytes,
                content: None,
                artifact: None,
                code: None,
                exit_code: None,
                settled: false,
                seen: None,
            }));
            context.tokens()
        };
        let tokens = |bytes: u64| bytes / BYTES_PER_TOKEN + MESSAGE_TOKENS;
        assert_eq!(weight(1_000_000, None), tokens(1_000_000));
        assert_eq!(weight(1000, Some(1000)), tokens(1000));
        assert_eq!(weight(1_000_000, Some(1000)), tokens(1000 + SHORTENED_NOTE_BYTES));
    }
}
