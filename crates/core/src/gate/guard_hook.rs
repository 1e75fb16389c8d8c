//! Guard hooks: an operator's own executables that are asked about calls, and can make the gate stricter.
//!
//! Core says which hooks a call needs, what each gets to read, and what its answer means. It runs none: that is
//! a command with an intent and an outcome like any other. A hook that gave no answer is as good as one that
//! says *ask*.

pub use crate::words::HookFault;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::decision::{Decision, Finding};
use super::effect::Effect;
use super::secrets::cut_chars;
use crate::words::{GateAnswer, Layer};

/// Time that a hook may take unless its settings name another, in milliseconds.
pub const TIMEOUT_MS_DEFAULT: u64 = 5_000;
/// The longest that a hook may ask for, in milliseconds.
pub const TIMEOUT_MS_MAX: u64 = 60_000;
/// The longest part of a hook's reason that is kept, in characters.
const REASON_CHARS_MAX: usize = 500;

/// One hook.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardHook {
    /// The program and its arguments; no shell reads them.
    pub command: Vec<String>,
    /// The tools whose calls it is asked about; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Time that it may take, in milliseconds.
    pub timeout_ms: u64,
    /// Files of a project that the command names, with the hash of what was trusted; empty where nothing was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<HookFile>,
}

/// A file of a project that a hook runs or reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookFile {
    /// Absolute path of the file.
    pub path: String,
    /// The hash of the content that the operator trusted; empty if it has none that is trusted.
    pub hash: String,
}

impl GuardHook {
    /// True if it is asked about calls to `tool`.
    #[must_use]
    pub fn is_for(&self, tool: &str) -> bool {
        self.tools.is_empty() || self.tools.iter().any(|listed| listed == tool || listed == "*")
    }

    /// Returns its name for the operator: the program without the folder.
    #[must_use]
    pub fn name(&self) -> &str {
        let program = self.command.first().map(String::as_str).unwrap_or_default();
        program.rsplit('/').next().unwrap_or(program)
    }
}

/// One question to one hook.
#[derive(Debug, Clone, PartialEq)]
pub struct HookCall {
    /// The hook.
    pub hook: GuardHook,
    /// Its place among the run's hooks.
    pub place: u32,
    /// The number of the call that it is about.
    pub call: u32,
    /// The JSON that it reads on stdin: see [`input`].
    pub input: Value,
}

/// The facts about a call that a hook is given.
#[derive(Debug, Clone, Copy)]
pub struct HookSubject<'a> {
    /// The tool.
    pub tool: &'a str,
    /// The number of the call in its part.
    pub call: u32,
    /// The arguments, with secrets masked as the journal has them.
    pub args: &'a Value,
    /// The effects of the call, as far as they can be read.
    pub effects: &'a [Effect],
    /// The gate's decision so far.
    pub decision: &'a Decision,
    /// The folder that tools work in.
    pub workdir: &'a str,
    /// The calls that brought text from outside before.
    pub after_untrusted: &'a [String],
}

/// Returns the JSON that a hook reads on stdin.
#[must_use]
pub fn input(asked: &HookSubject<'_>) -> Value {
    let HookSubject { tool, call, args, effects, decision, workdir, after_untrusted } = *asked;
    json!({
        "version": 1,
        "tool": tool,
        "call": call,
        "arguments": args,
        "workdir": workdir,
        "after_untrusted": after_untrusted,
        "effects": effects,
        "decision": decision.answer,
        "layer": decision.layer,
        "reason": decision.reason,
        "required": decision.required,
        "missing": decision.missing,
    })
}

/// The answer of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookAnswer {
    /// Its word; `Ask` if it gave none.
    pub answer: GateAnswer,
    /// The reason, in the hook's words or in ours.
    pub reason: Option<String>,
    /// The fault, if it gave no answer.
    pub fault: Option<HookFault>,
}

impl HookAnswer {
    /// No answer, because of `fault`; `detail` says more.
    #[must_use]
    pub fn none(fault: HookFault, detail: &str) -> Self {
        let reason = (!detail.is_empty()).then(|| shortened(detail));
        Self { answer: GateAnswer::Ask, reason, fault: Some(fault) }
    }

    /// Reads what a hook wrote: one JSON object `{decision, reason?}`, and nothing else.
    #[must_use]
    pub fn read(output: &str) -> Self {
        #[derive(Deserialize)]
        struct HookOutput {
            decision: String,
            reason: Option<String>,
        }
        let Ok(said) = serde_json::from_str::<HookOutput>(output) else {
            return Self::none(
                HookFault::Nonsense,
                "it must write {\"decision\": \"allow\", \"ask\" or \"refuse\", \"reason\": ...}",
            );
        };
        let answers = [GateAnswer::Allow, GateAnswer::Ask, GateAnswer::Refuse];
        match answers.into_iter().find(|known| known.as_str() == said.decision) {
            Some(answer) => Self { answer, reason: said.reason.as_deref().map(shortened), fault: None },
            None => Self::none(HookFault::Nonsense, &format!("`{}` is no decision", said.decision)),
        }
    }

    /// Returns the finding that follows from the answer.
    #[must_use]
    pub fn finding(&self, hook: &str) -> Finding {
        let why = self.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let reason = match (self.fault, self.answer) {
            (Some(fault), _) => format!("the guard hook `{hook}` {}{why}", fault.said()),
            (None, GateAnswer::Allow) => format!("the guard hook `{hook}` has nothing against it{why}"),
            (None, GateAnswer::Ask) => format!("the guard hook `{hook}` asks{why}"),
            (None, GateAnswer::Refuse) => format!("the guard hook `{hook}` refuses{why}"),
        };
        let would_allow = match self.answer {
            GateAnswer::Allow => None,
            GateAnswer::Ask => Some("an operator's yes to this call".to_owned()),
            GateAnswer::Refuse => Some("another call, or a hook that says otherwise".to_owned()),
        };
        Finding { answer: self.answer, layer: Layer::Hook, matched: None, reason, missing: Vec::new(), would_allow }
    }
}

/// A reason on one line, with secrets masked, and of a bounded length.
fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    cut_chars(&line, REASON_CHARS_MAX, "\u{2026}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fail_closed_hook_answers_nonsense() {
        for nonsense in [
            "",
            " ",
            "allow",
            "\"allow\"",
            "[]",
            "{}",
            "null",
            "true",
            r#"{"decision": true}"#,
            r#"{"decision": "Allow"}"#,
            r#"{"decision": "approve"}"#,
            r#"{"decision": "allow"} {"decision": "allow"}"#,
            r#"{"decision": "allow", "reason": 7}"#,
            r#"{"decision": "allow""#,
            r#"allow {"decision": "allow"}"#,
            r#"{"decision": "refuse", "decision": "allow"}"#,
            "\u{feff}{\"decision\": \"allow\"}",
        ] {
            let answer = HookAnswer::read(nonsense);
            assert_eq!((answer.answer, answer.fault), (GateAnswer::Ask, Some(HookFault::Nonsense)), "{nonsense}");
            assert_eq!(answer.finding("x").answer, GateAnswer::Ask);
        }
    }

    #[test]
    fn an_answer_is_read_with_its_reason() {
        for (output, answer, said) in [
            (r#"{"decision": "allow"}"#, GateAnswer::Allow, "nothing against it"),
            (" {\"decision\":\"ask\",\"reason\":\"who\\n are you\"}\n", GateAnswer::Ask, "asks: who are you"),
            (r#"{"reason": "no", "decision": "refuse", "more": 1}"#, GateAnswer::Refuse, "refuses: no"),
        ] {
            let read = HookAnswer::read(output);
            let finding = read.finding("guard");
            assert_eq!((read.fault, finding.answer, finding.layer), (None, answer, Layer::Hook), "{output}");
            assert!(finding.reason.contains(said), "{}", finding.reason);
        }
        let long = format!(r#"{{"decision": "ask", "reason": "{}"}}"#, "x".repeat(10_000));
        assert!(HookAnswer::read(&long).finding("guard").reason.len() < 1_000);
    }

    #[test]
    fn a_hook_is_asked_about_its_tools() {
        let hook = |tools: &[&str]| GuardHook {
            command: vec!["/usr/bin/guard".to_owned()],
            tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
            ..GuardHook::default()
        };
        assert!(hook(&[]).is_for("shell_exec") && hook(&["*"]).is_for("shell_exec"));
        assert!(hook(&["shell_exec"]).is_for("shell_exec") && !hook(&["write_file"]).is_for("shell_exec"));
        assert_eq!(hook(&[]).name(), "guard");
    }
}
