//! Whether an agent's calls bring anything new: the same call with the same result again, states that alternate, one
//! error after another.
//!
//! In: replies, calls, and what came of them. Out: the signal that holds, with its count. A turn brings something new if
//! one of its calls, with its result, was not seen before in the session. Waiting that was declared (`wait_for`), the look
//! after it, what was cancelled or has an unknown effect, and a fault of the network or the disk move nothing, and a word
//! of the operator begins the counting anew.

use std::collections::VecDeque;

use serde_json::Value;

use crate::trace::{Body, CallEvent, TurnEvent};
use crate::words::category::SHELL_EXEC;
use crate::words::tool::ToolCall;
use crate::words::wait::WAIT_FOR;
use crate::words::{InterruptedEffect, MessageKind, Rejection};

/// Number of turns in a row without anything new after which an agent is told: that of the same call with the same
/// arguments in the workflow engine that we learn from.
const NUDGE_AT: u32 = 3;
/// Number of turns in a row that only read after which an agent is told: more than a thorough look at a project takes.
const IDLE_AT: u32 = 40;
/// Number of such turns after which the operator is asked.
const ASK_AT: u32 = 10;
/// Number of calls with their results that are remembered: a cycle of that length is seen.
const SEEN_MAX: usize = 64;

/// Arguments that change nothing of what a call does.
const COSMETIC: [&str; 6] = ["description", "explanation", "reason", "reasoning", "timeout_ms", "title"];
/// Codes of errors that say nothing of the agent: the network is down, or the disk is full.
const INFRASTRUCTURE: [&str; 3] = ["FETCH_ERROR", "ENOSPC", "EDQUOT"];
/// The tool whose time limit is the network's. Elsewhere the limit says that a command takes too long.
const FETCHES: &str = "http_fetch";
/// The most words of a call that an error may name, and the longest argument in which they are looked for, in bytes.
const CALL_WORDS_MAX: usize = 16;
const WORDY_BYTES_MAX: usize = 256;
/// The most words of an error that are compared.
const ERROR_WORDS_MAX: usize = 300;

/// Calls with their results, and for how long nothing new came of them.
#[derive(Debug, Clone, Default)]
pub(in crate::session) struct Repeats {
    /// What was seen, the latest last.
    seen: VecDeque<u64>,
    /// The calls of the turn that have no result yet.
    open: Vec<UnansweredCall>,
    /// What came of the others, each with the kind of the error if it failed.
    came: Vec<(u64, Option<u64>)>,
    /// True if something in the turn moves no count.
    is_neutral: bool,
    /// True if the turn declares a wait, and if the one before did: then it looks what came of that.
    is_wait: bool,
    is_after_wait: bool,
    /// Turns in a row without anything new.
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
    /// Turns in a row that only read, and whether the agent was told.
    idle: u32,
    is_told_idle: bool,
    /// True if a call of the turn changed a file or ran a command.
    has_acted: bool,
}

/// A call that has no result yet.
#[derive(Debug, Clone)]
struct UnansweredCall {
    /// The agent's own name for it.
    id: String,
    fetches: bool,
    /// Hash of the call, without its cosmetic arguments.
    what: u64,
    /// Hashes of the words in its short arguments: an error that names one is the same as one that names another.
    words: Vec<u64>,
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
    /// Nothing but reading, turn after turn: it costs, and nothing comes of it yet.
    OnlyReads(u32),
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
            Self::OnlyReads(turns) => format!("For {turns} turns no file was changed and no command was run."),
        }
    }

    /// True if nothing was repeated, and nothing came of it either.
    pub(in crate::session) const fn is_idle(self) -> bool {
        matches!(self, Self::OnlyReads(_))
    }

    const fn turns(self) -> u32 {
        match self {
            Self::SameCalls(turns) | Self::Alternating(turns) | Self::SameError(turns) | Self::OnlyReads(turns) => {
                turns
            }
        }
    }
}

impl Repeats {
    /// Takes note of an event of the session.
    pub(super) fn apply(&mut self, body: &Body) {
        match body {
            Body::Turn(TurnEvent::AgentReply { calls, .. }) if !calls.is_empty() => self.begin(calls),
            Body::Turn(TurnEvent::Message { kind, .. }) => self.said(*kind),
            Body::Call(CallEvent::ToolCall { name, changes, .. }) => {
                self.has_acted |= !changes.is_empty() || name == SHELL_EXEC;
            }
            Body::Call(CallEvent::ToolResult { call_id, success, content, artifact, code, exit_code, .. }) => {
                let Some(call) = self.take(call_id) else { return };
                let code = code.as_deref();
                self.is_neutral |= call.is_infrastructure(code);
                let shown = content.as_deref().or(artifact.as_deref()).unwrap_or_default();
                let error = if *success { None } else { error_of(&call.words, code, *exit_code, shown) };
                self.came(&call, mixed(u64::from(*success), shown), error);
            }
            Body::Call(CallEvent::ToolRejected { call_id, rejection, .. }) => {
                // What an operator denied is theirs, not the agent's.
                self.is_neutral |= matches!(rejection, Rejection::Denied | Rejection::Skipped | Rejection::Phase);
                let kind = mixed(2, &format!("{rejection:?}"));
                if let Some(call) = self.take(call_id) {
                    self.came(&call, kind, Some(kind));
                }
            }
            Body::Call(CallEvent::ToolCancelled { call_id, .. }) => {
                self.is_neutral = true;
                if let Some(call) = self.take(call_id) {
                    self.came(&call, 3, None);
                }
            }
            Body::Call(CallEvent::Interrupted { effect: InterruptedEffect::Unknown, .. }) => self.is_neutral = true,
            _ => {}
        }
    }

    /// Returns the signal after which the agent is to be told, unless it was.
    pub(in crate::session) fn to_tell(&self) -> Option<RepeatSignal> {
        let repeated = self.signal().filter(|signal| signal.turns() >= NUDGE_AT && !self.is_told);
        let idle = (self.idle >= IDLE_AT && !self.is_told_idle).then_some(RepeatSignal::OnlyReads(self.idle));
        repeated.or(idle)
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
        // Of two that hold for as long, the last is told: equal calls say more than an equal error.
        [failing, stale].into_iter().flatten().max_by_key(|signal| signal.turns())
    }

    fn begin(&mut self, calls: &[ToolCall]) {
        self.is_after_wait = self.is_wait;
        self.is_wait = calls.iter().any(|call| call.name == WAIT_FOR);
        self.is_neutral = self.is_wait;
        self.open = calls.iter().map(UnansweredCall::of).collect();
        self.has_acted = false;
        self.came.clear();
    }

    /// Takes the call that came to its end out of those that are open.
    fn take(&mut self, call_id: &str) -> Option<UnansweredCall> {
        let named = self.open.iter().position(|call| call.id == call_id);
        let place = named.or((!self.open.is_empty()).then_some(0))?;
        Some(self.open.remove(place))
    }

    fn came(&mut self, call: &UnansweredCall, came: u64, error: Option<u64>) {
        self.came.push((with(call.what, came), error));
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
        self.idle = if self.has_acted { 0 } else { self.idle + 1 };
        self.is_told_idle &= !self.has_acted;
        came.sort_unstable();
        let turn: Vec<u64> = came.iter().map(|(hash, _)| *hash).collect();
        let is_new = came.iter().any(|(hash, _)| !self.seen.contains(hash));
        if self.is_after_wait && !is_new {
            return;
        }
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
            MessageKind::Nudge => match self.to_tell() {
                Some(RepeatSignal::OnlyReads(_)) => self.is_told_idle = true,
                told => self.is_told |= told.is_some(),
            },
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

impl UnansweredCall {
    fn of(call: &ToolCall) -> Self {
        let texts = call.args.as_object().into_iter().flat_map(|map| map.values()).filter_map(Value::as_str);
        let words = texts.filter(|text| text.len() <= WORDY_BYTES_MAX).flat_map(str::split_whitespace);
        // Numbers are all equal in an error anyway, and short words are found by chance.
        let telling = words.map(bare).filter(|word| word.len() > 2 && word.chars().any(char::is_alphabetic));
        let words = telling.take(CALL_WORDS_MAX).map(|word| mixed(0, word)).collect();
        Self { id: call.call_id.clone(), fetches: call.name == FETCHES, what: what_it_is(call), words }
    }

    /// Returns true if an error of the call is of something outside, and says nothing of the agent that met it.
    fn is_infrastructure(&self, code: Option<&str>) -> bool {
        code.is_some_and(|code| INFRASTRUCTURE.contains(&code) || (code == "TIMEOUT" && self.fetches))
    }
}

/// Returns a word without the marks around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| matches!(c, '`' | '\'' | '"' | ':' | ',' | ';' | '.' | '(' | ')'))
}

/// Returns a hash of the kind of an error, in which all numbers are equal, and all words of the call: its code and first
/// line, or all that a process printed. `None` for a process that failed without a word, as a search that finds nothing.
fn error_of(call_words: &[u64], code: Option<&str>, exit_code: Option<i32>, shown: &str) -> Option<u64> {
    let is_process = code.is_none() && exit_code.is_some();
    let said = if is_process {
        // Each result of a process begins with a line that says how it ended.
        shown.split_once("\nstdout:\n").map_or(shown, |(_, printed)| printed)
    } else {
        shown.lines().find(|line| !line.trim().is_empty()).unwrap_or_default()
    };
    let words = said.split_whitespace().filter(|word| !(is_process && *word == "stderr:"));
    let mut kind = mixed(0, code.unwrap_or_default());
    let mut is_silent = is_process;
    for word in words.take(ERROR_WORDS_MAX) {
        is_silent = false;
        let is_of_call = call_words.contains(&mixed(0, bare(word)));
        kind = if is_of_call { with(kind, 1) } else { mixed(kind, &with_equal_numbers(word)) };
    }
    (!is_silent).then_some(kind)
}

/// Returns a word with `#` for each number in it.
fn with_equal_numbers(word: &str) -> String {
    let mut equal = String::with_capacity(word.len());
    for c in word.chars() {
        match c {
            '0'..='9' if equal.ends_with('#') => {}
            '0'..='9' => equal.push('#'),
            c => equal.push(c),
        }
    }
    equal
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::words::{MessageRole, PhaseName, Slot, Stop, What};

    /// Result of the only call of a turn.
    struct CallResult<'a> {
        success: bool,
        content: &'a str,
        code: Option<&'a str>,
        exit_code: Option<i32>,
    }

    /// Has a turn happen that makes one call.
    fn turn(repeats: &mut Repeats, number: u32, name: &str, args: Value, result: CallResult<'_>) {
        let call_id = format!("c{number}");
        let call = ToolCall {
            call_id: call_id.clone(),
            name: name.to_owned(),
            args,
            malformed: None,
            masked: false,
            resolved: Vec::new(),
        };
        repeats.apply(&Body::Turn(TurnEvent::AgentReply {
            slot: Slot::first(What::Turn, number),
            text: String::new(),
            thinking: String::new(),
            calls: vec![call],
            provider_data: None,
            usage: None,
            stop: Stop::ToolUse,
            duration_ms: 0,
        }));
        let CallResult { success, content, code, exit_code } = result;
        repeats.apply(&Body::Call(CallEvent::ToolResult {
            slot: Slot::first(What::Call, number),
            call_id,
            success,
            duration_ms: u64::from(number),
            bytes: 0,
            content: Some(content.to_owned()),
            artifact: None,
            code: code.map(str::to_owned),
            exit_code,
            settled: false,
            seen: None,
        }));
    }

    /// Has turns happen: a capital letter is a call whose result depends on it, a digit one that fails with one error, `w` a
    /// declared wait, `.` a call whose result is new each time.
    fn after(turns: &str) -> Repeats {
        let mut repeats = Repeats::default();
        for (number, letter) in (1..).zip(turns.chars()) {
            let name = if letter == 'w' { WAIT_FOR } else { "run" };
            let content = match letter {
                '.' => format!("result {number}"),
                '0'..='9' => format!("line {number}: no such thing"),
                _ => format!("result of {letter}"),
            };
            let success = !letter.is_ascii_digit();
            let result = CallResult { success, content: &content, code: None, exit_code: None };
            turn(&mut repeats, number, name, json!({"cmd": letter.to_string(), "description": number}), result);
        }
        repeats
    }

    /// Returns the signal after ten turns that each fail: `one` returns tool, arguments, code, exit code and text of the
    /// turn that is about a word.
    fn after_ten(one: impl Fn(&str) -> (&'static str, Value, Option<&'static str>, Option<i32>, String)) -> Repeats {
        const WORDS: [&str; 10] =
            ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "jade"];
        let mut repeats = Repeats::default();
        for (number, word) in (1..).zip(WORDS) {
            let (tool, args, code, exit_code, content) = one(word);
            turn(&mut repeats, number, tool, args, CallResult { success: false, content: &content, code, exit_code });
        }
        repeats
    }

    fn process(exit_code: i32, stdout: &str, stderr: &str) -> String {
        format!("Exited with code {exit_code}.\n\nstdout:\n{stdout}\n\nstderr:\n{stderr}")
    }

    #[test]
    fn an_error_is_the_same_if_it_differs_in_words_of_the_call_only() {
        let path = |word: &str| json!({"path": format!("src/{word}.rs")});
        let same = after_ten(|word| {
            ("read_file", path(word), Some("ENOENT"), None, format!("can't use `src/{word}.rs`: No such file"))
        });
        assert_eq!(same.to_ask(), Some(RepeatSignal::SameError(10)));
        let same = after_ten(|word| {
            let stderr = format!("cat: {word}.rs: No such file");
            ("shell_exec", json!({"cmd": format!("cat {word}.rs")}), None, Some(1), process(1, "", &stderr))
        });
        assert_eq!(same.to_ask(), Some(RepeatSignal::SameError(10)));
    }

    #[test]
    fn processes_that_fail_for_other_reasons_or_without_a_word_have_no_error_in_common() {
        let command = |word: &str| json!({"cmd": format!("grep -rn {word} src")});
        let others = after_ten(|word| {
            let stdout = format!("running 1 test\nassertion failed: {}", word.to_uppercase());
            ("shell_exec", command(word), None, Some(101), process(101, &stdout, "error: test failed"))
        });
        let silent = after_ten(|word| ("shell_exec", command(word), None, Some(1), process(1, "", "")));
        assert_eq!((others.to_tell(), silent.to_tell()), (None, None));
    }

    #[test]
    fn faults_of_the_network_and_the_disk_move_nothing() {
        let url = json!({"url": "https://example.org"});
        for (tool, code) in [("http_fetch", "FETCH_ERROR"), ("http_fetch", "TIMEOUT"), ("write_file", "ENOSPC")] {
            let down = after_ten(|_| (tool, url.clone(), Some(code), None, "no answer".to_owned()));
            assert_eq!(down.to_tell(), None, "{tool} {code}");
        }
        let slow = after_ten(|_| ("shell_exec", json!({"cmd": "make"}), Some("TIMEOUT"), None, "no answer".to_owned()));
        assert_eq!(slow.to_ask(), Some(RepeatSignal::SameCalls(10)));
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
            ("wAwAwAwAwAwAwAwAwAwAwAwA", None, false),
            ("wAAAwAA", Some(RepeatSignal::SameCalls(4)), false),
            ("123", Some(RepeatSignal::SameError(3)), false),
            ("1234567890", Some(RepeatSignal::SameError(10)), true),
            ("12A34A", None, false),
        ] {
            let repeats = after(turns);
            assert_eq!((repeats.to_tell(), repeats.to_ask().is_some()), (told, asked), "{turns}");
        }
    }

    #[test]
    fn whoever_only_reads_is_told_after_forty_turns_and_never_asked_about() {
        assert_eq!(after(&".".repeat(39)).to_tell(), None);
        let repeats = after(&".".repeat(60));
        assert_eq!((repeats.to_tell(), repeats.to_ask()), (Some(RepeatSignal::OnlyReads(60)), None));
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
