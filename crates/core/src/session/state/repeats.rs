//! Whether an agent's calls bring anything new: the same call with the same result again, states that alternate, one
//! error after another.
//!
//! In: replies, calls, and what came of them. Out: the signal that holds, with its count. A turn brings something new if
//! one of its calls, with its result, was not seen before in the session. Waiting that was declared (`wait_for`), what was
//! cancelled and what was interrupted move nothing, and a word of the operator begins the counting anew.

use std::collections::VecDeque;

use serde_json::Value;

use crate::trace::{Body, CallEvent, TurnEvent};
use crate::words::tool::ToolCall;
use crate::words::wait::WAIT_FOR;
use crate::words::{InterruptedEffect, MessageKind, Rejection};

/// Number of turns in a row without anything new after which an agent is told: that of the same call with the same
/// arguments in the workflow engine that we learn from.
const NUDGE_AT: u32 = 3;
/// Number of such turns after which the operator is asked.
const ASK_AT: u32 = 10;
/// Number of calls with their results that are remembered: a cycle of that length is seen.
const SEEN_MAX: usize = 64;

/// Arguments that change nothing of what a call does.
const COSMETIC: [&str; 6] = ["description", "explanation", "reason", "reasoning", "timeout_ms", "title"];

/// Calls with their results, and for how long nothing new came of them.
#[derive(Debug, Clone, Default)]
pub(in crate::session) struct Repeats {
    /// What was seen, the latest last.
    seen: VecDeque<u64>,
    /// The calls of the turn that have no result yet: the agent's own name for each, and what it is.
    open: Vec<(String, u64)>,
    /// What came of the others, each with the kind of the error if it failed.
    came: Vec<(u64, Option<u64>)>,
    /// True if something in the turn moves no count.
    is_neutral: bool,
    /// Turns in a row without anything new, and number of different calls among them.
    stale: u32,
    /// Turns in a row that failed with the same error.
    failing: u32,
    error: Option<u64>,
    /// True once the agent was told.
    is_told: bool,
    /// What the last turn was.
    last: Option<Vec<u64>>,
    /// Turns in a row that were the same as the one before.
    same: u32,
}

/// A sign that an agent repeats itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::session) enum RepeatSignal {
    /// The same calls with the same results, turn after turn.
    SameCalls(u32),
    /// Several states in turn, none of them new.
    Alternating(u32),
    /// Other calls, and the same error.
    SameError(u32),
}

impl RepeatSignal {
    /// Describes it, for an agent or a person.
    pub(in crate::session) fn described(self) -> String {
        match self {
            Self::SameCalls(turns) => format!("The same calls brought the same results {turns} turns in a row."),
            Self::Alternating(turns) => {
                format!("For {turns} turns every call with its result was there before: the work goes in a circle.")
            }
            Self::SameError(turns) => format!("The calls of {turns} turns in a row failed with the same error."),
        }
    }

    const fn turns(self) -> u32 {
        match self {
            Self::SameCalls(turns) | Self::Alternating(turns) | Self::SameError(turns) => turns,
        }
    }
}

impl Repeats {
    /// Takes note of an event of the session.
    pub(super) fn apply(&mut self, body: &Body) {
        match body {
            Body::Turn(TurnEvent::AgentReply { calls, .. }) if !calls.is_empty() => self.begin(calls),
            Body::Turn(TurnEvent::Message { kind, .. }) => self.said(*kind),
            Body::Call(CallEvent::ToolResult { call_id, success, content, artifact, code, .. }) => {
                let shown = content.as_deref().or(artifact.as_deref()).unwrap_or_default();
                let error = (!success).then(|| error_of(code.as_deref(), shown));
                self.result(call_id, mixed(u64::from(*success), shown), error);
            }
            Body::Call(CallEvent::ToolRejected { call_id, rejection, .. }) => {
                // What an operator denied is theirs, not the agent's.
                self.is_neutral |= matches!(rejection, Rejection::Denied | Rejection::Skipped | Rejection::Phase);
                let kind = mixed(2, &format!("{rejection:?}"));
                self.result(call_id, kind, Some(kind));
            }
            Body::Call(CallEvent::ToolCancelled { call_id, .. }) => {
                self.is_neutral = true;
                self.result(call_id, 3, None);
            }
            Body::Call(CallEvent::Interrupted { effect: InterruptedEffect::Unknown, .. }) => self.is_neutral = true,
            _ => {}
        }
    }

    /// Returns the signal after which the agent is to be told, unless it was.
    pub(in crate::session) fn to_tell(&self) -> Option<RepeatSignal> {
        self.signal().filter(|signal| signal.turns() >= NUDGE_AT && !self.is_told)
    }

    /// Returns the signal after which the operator is to be asked.
    pub(in crate::session) fn to_ask(&self) -> Option<RepeatSignal> {
        self.signal().filter(|signal| signal.turns() >= ASK_AT)
    }

    fn signal(&self) -> Option<RepeatSignal> {
        let stale = match self.stale {
            0 => None,
            turns if self.same >= turns => Some(RepeatSignal::SameCalls(turns + 1)),
            turns => Some(RepeatSignal::Alternating(turns)),
        };
        let failing = (self.failing > 0).then_some(RepeatSignal::SameError(self.failing));
        [stale, failing].into_iter().flatten().max_by_key(|signal| signal.turns())
    }

    fn begin(&mut self, calls: &[ToolCall]) {
        self.is_neutral = calls.iter().any(|call| call.name == WAIT_FOR);
        self.open = calls.iter().map(|call| (call.call_id.clone(), what_it_is(call))).collect();
        self.came.clear();
    }

    fn result(&mut self, call_id: &str, came: u64, error: Option<u64>) {
        let Some(place) = self.open.iter().position(|(id, _)| id == call_id).or((!self.open.is_empty()).then_some(0))
        else {
            return;
        };
        let (_, what) = self.open.remove(place);
        self.came.push((with(what, came), error));
        if self.open.is_empty() {
            self.end();
        }
    }

    /// Counts a turn whose calls have all come to their end.
    fn end(&mut self) {
        let mut came = std::mem::take(&mut self.came);
        if self.is_neutral {
            return;
        }
        came.sort_unstable();
        let turn: Vec<u64> = came.iter().map(|(hash, _)| *hash).collect();
        let is_new = came.iter().any(|(hash, _)| !self.seen.contains(hash));
        self.stale = if is_new { 0 } else { self.stale + 1 };
        self.same = if self.last.as_ref() == Some(&turn) { self.same + 1 } else { 0 };
        self.last = Some(turn);
        let has_failed = came.iter().all(|(_, error)| error.is_some());
        let error = came.first().and_then(|(_, error)| *error).filter(|_| has_failed);
        self.failing = match &error {
            None => 0,
            Some(_) if error == self.error => self.failing + 1,
            Some(_) => 1,
        };
        self.error = error;
        if self.stale == 0 && self.failing <= 1 {
            self.is_told = false;
        }
        for (hash, _) in came {
            if !self.seen.contains(&hash) {
                if self.seen.len() == SEEN_MAX {
                    self.seen.pop_front();
                }
                self.seen.push_back(hash);
            }
        }
    }

    /// Takes note of a word to the agent: the operator's begin the counting anew.
    fn said(&mut self, kind: MessageKind) {
        match kind {
            MessageKind::Nudge => self.is_told |= self.to_tell().is_some(),
            MessageKind::Redirect | MessageKind::Steer | MessageKind::Context | MessageKind::Correction => {
                *self = Self { seen: std::mem::take(&mut self.seen), last: self.last.take(), ..Self::default() };
            }
            MessageKind::StandingOrders
            | MessageKind::Intake
            | MessageKind::KickOff
            | MessageKind::Continue
            | MessageKind::Approval
            | MessageKind::Denial
            | MessageKind::RuntimeState
            | MessageKind::Handoff
            | MessageKind::Evidence
            | MessageKind::Report => {}
        }
    }
}

/// Mixes a number into a hash. It tells texts apart that nobody made to collide: whoever did would only be told that they
/// repeat themselves. A long run has tens of thousands of results, so it is as fast as reading them.
fn with(hash: u64, number: u64) -> u64 {
    // The fractional part of the golden ratio, an odd number that spreads neighbours.
    (hash.rotate_left(23) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Mixes a text into a hash.
fn mixed(hash: u64, text: &str) -> u64 {
    let mut words = text.as_bytes().chunks_exact(8);
    let hash = words.by_ref().fold(hash, |hash, word| with(hash, word.try_into().map_or(0, u64::from_le_bytes)));
    let hash = words.remainder().iter().fold(hash, |hash, byte| with(hash, u64::from(*byte)));
    with(hash, text.len() as u64)
}

/// Returns a hash of a call, without its cosmetic arguments.
fn what_it_is(call: &ToolCall) -> u64 {
    let name = mixed(0, &call.name);
    match &call.args {
        Value::Object(map) => map
            .iter()
            .filter(|(name, _)| !COSMETIC.contains(&name.as_str()))
            .fold(name, |hash, (name, value)| of_value(mixed(hash, name), value)),
        other => of_value(name, other),
    }
}

/// Mixes a value into a hash.
fn of_value(hash: u64, value: &Value) -> u64 {
    match value {
        Value::Null => with(hash, 1),
        Value::Bool(is_so) => with(hash, 2 + u64::from(*is_so)),
        Value::Number(number) => mixed(with(hash, 4), &number.to_string()),
        Value::String(text) => mixed(with(hash, 5), text),
        Value::Array(items) => items.iter().fold(with(hash, 6), of_value),
        Value::Object(map) => map.iter().fold(with(hash, 7), |hash, (name, value)| of_value(mixed(hash, name), value)),
    }
}

/// Returns a hash of the kind of an error: its code and its first line, in which every number is the same.
fn error_of(code: Option<&str>, shown: &str) -> u64 {
    let line = shown.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let mut kind = String::new();
    for c in line.chars().take(200) {
        match c {
            '0'..='9' if kind.ends_with('#') => {}
            '0'..='9' => kind.push('#'),
            c => kind.push(c),
        }
    }
    mixed(mixed(0, code.unwrap_or_default()), &kind)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::words::{MessageRole, PhaseName, Slot, Stop, What};

    /// Has turns happen: a capital letter is a call whose result depends on it, a digit one that fails with one error, `w` a
    /// declared wait, `.` a call whose result is new each time.
    fn after(turns: &str) -> Repeats {
        let mut repeats = Repeats::default();
        for (number, turn) in (1..).zip(turns.chars()) {
            let name = if turn == 'w' { WAIT_FOR } else { "run" };
            let call = ToolCall {
                call_id: format!("c{number}"),
                name: name.to_owned(),
                args: json!({"cmd": turn.to_string(), "description": number}),
                malformed: None,
                masked: false,
                resolved: Vec::new(),
            };
            let slot = Slot::first(What::Turn, number);
            repeats.apply(&Body::Turn(TurnEvent::AgentReply {
                slot,
                text: String::new(),
                thinking: String::new(),
                calls: vec![call],
                provider_data: None,
                usage: None,
                stop: Stop::ToolUse,
                duration_ms: 0,
            }));
            let content = match turn {
                '.' => format!("result {number}"),
                '0'..='9' => format!("line {number}: no such thing"),
                _ => format!("result of {turn}"),
            };
            repeats.apply(&Body::Call(CallEvent::ToolResult {
                slot: Slot::first(What::Call, number),
                call_id: format!("c{number}"),
                success: !turn.is_ascii_digit(),
                duration_ms: u64::from(number),
                bytes: 0,
                content: Some(content),
                artifact: None,
                code: None,
                exit_code: None,
                settled: false,
                seen: None,
            }));
        }
        repeats
    }

    #[test]
    fn what_brings_nothing_new_is_told_after_three_turns_and_asked_about_after_ten() {
        for (turns, told, asked) in [
            ("", None, false),
            ("AA", None, false),
            ("AAA", Some(RepeatSignal::SameCalls(3)), false),
            ("AAAAAAAAA", Some(RepeatSignal::SameCalls(9)), false),
            ("AAAAAAAAAA", Some(RepeatSignal::SameCalls(10)), true),
            ("ABAB", None, false),
            ("ABABA", Some(RepeatSignal::Alternating(3)), false),
            ("ABCABCABCABCA", Some(RepeatSignal::Alternating(10)), true),
            ("ABCDEFGH", None, false),
            ("AABBCCDD", None, false),
            ("AA.AA.AA.AA.", None, false),
            ("....................", None, false),
            ("wwwwwwwwwwwwwwwwwwww", None, false),
            ("123", Some(RepeatSignal::SameError(3)), false),
            ("1234567890", Some(RepeatSignal::SameError(10)), true),
            ("12A34A", None, false),
        ] {
            let repeats = after(turns);
            assert_eq!((repeats.to_tell(), repeats.to_ask().is_some()), (told, asked), "{turns}");
        }
    }

    #[test]
    fn it_is_told_once_and_a_word_of_the_operator_begins_anew() {
        let say = |repeats: &mut Repeats, kind| {
            let (role, phase) = (MessageRole::User, PhaseName::Execute);
            repeats.apply(&Body::Turn(TurnEvent::Message { role, kind, phase, step: 1, text: String::new() }));
        };
        let mut repeats = after("AAAAAAAAAAA");
        say(&mut repeats, MessageKind::Nudge);
        assert_eq!((repeats.to_tell(), repeats.to_ask().is_some()), (None, true));
        say(&mut repeats, MessageKind::Context);
        assert_eq!((repeats.to_tell(), repeats.to_ask()), (None, None));
        // A nudge about something else is none about this.
        let mut repeats = after("AA");
        say(&mut repeats, MessageKind::Nudge);
        assert!(!repeats.is_told);
    }
}
