//! Records the acts of an attempt at a sub-task from the journal: the changes that its calls made to files, and the
//! output of its commands. Judges are shown both.
//!
//! The diff is made from the calls: of a patch its text, of a file that was written its lines. So it is on record
//! without another look at the tree, and the same in every replay. No call holds the changes that a command made, so
//! the diff doesn't have them; judges are told the number of commands.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::gate::checks::Checks;
use crate::trace::{Body, CallEvent};
use crate::words::fence::fenced;
use crate::words::tool::FileChange;
use crate::words::{InterruptedEffect, Slot};

/// The longest diff that a judge is shown, in characters.
const DIFF_CHARS_MAX: usize = 40_000;
/// Longest output of a command that is shown, in characters: its end, since tools report failures there.
const OUTPUT_CHARS_MAX: usize = 6_000;
/// Number of declared checks that are shown with their output.
const CHECKS_MAX: usize = 8;
/// Number of commands that are shown, the last ones, if no declared check was run.
const COMMANDS_MAX: usize = 3;

/// Acts of an attempt.
#[derive(Debug, Clone, Default)]
pub(super) struct Attempt {
    /// Number of calls.
    pub(super) calls: u32,
    /// Number of them that could change anything without naming it.
    pub(super) commands: u32,
    /// The files that calls named as changed.
    pub(super) changed: BTreeSet<String>,
    acts: Vec<AttemptCall>,
}

/// A call that changed files or ran a command.
#[derive(Debug, Clone)]
struct AttemptCall {
    slot: Slot,
    did: Did,
    end: End,
}

#[derive(Debug, Clone)]
enum Did {
    /// It changed files: its diff, cut at the longest that is shown, and how long it is in characters.
    Changed { diff: String, chars: usize },
    /// It ran this command line.
    Ran { cmd: String, check: Option<usize> },
}

/// Outcome of a call.
#[derive(Debug, Clone)]
enum End {
    Open,
    Returned(Returned),
    /// It was interrupted or cancelled.
    BrokenOff,
}

#[derive(Debug, Clone)]
struct Returned {
    success: bool,
    exit_code: Option<i32>,
    /// The end of what it returned; none if it was too long for the journal.
    output: Option<String>,
    /// Length of the whole output: in characters, or in bytes if the output is not here.
    length: usize,
}

impl Attempt {
    /// Takes note of an event of the executor's session.
    pub(super) fn apply(&mut self, body: &Body, is_command: impl Fn(&str) -> bool, checks: &Checks) {
        match body {
            Body::Call(CallEvent::ToolCall { slot, name, args, changes, .. }) => {
                self.calls += 1;
                let is_command = is_command(name);
                self.commands += u32::from(is_command);
                self.changed.extend(changes.iter().map(|change| change.path.clone()));
                let cmd = args.get("cmd").and_then(Value::as_str).filter(|_| is_command);
                let did = match cmd {
                    Some(cmd) => Did::Ran { cmd: cmd.to_owned(), check: checks.place_of(name, args) },
                    None if !changes.is_empty() => {
                        let diff = diff(name, args, changes);
                        let chars = diff.chars().count();
                        Did::Changed { diff: beginning(&diff, DIFF_CHARS_MAX).to_owned(), chars }
                    }
                    None => return,
                };
                self.acts.push(AttemptCall { slot: *slot, did, end: End::Open });
            }
            Body::Call(CallEvent::ToolResult { slot, success, content, exit_code, bytes, .. }) => {
                let whole = content.as_deref();
                let length = whole.map_or(usize::try_from(*bytes).unwrap_or(usize::MAX), |text| text.chars().count());
                let output = whole.map(|text| ending(text, OUTPUT_CHARS_MAX).to_owned());
                let (success, exit_code) = (*success, *exit_code);
                self.ended(*slot, End::Returned(Returned { success, exit_code, output, length }));
            }
            Body::Call(
                CallEvent::ToolCancelled { slot, .. }
                | CallEvent::Interrupted { slot, effect: InterruptedEffect::Unknown },
            ) => {
                self.ended(*slot, End::BrokenOff);
            }
            Body::Call(CallEvent::Interrupted { slot, effect: InterruptedEffect::None }) => {
                self.acts.retain(|act| act.slot != *slot)
            }
            _ => {}
        }
    }

    fn ended(&mut self, slot: Slot, end: End) {
        if let Some(act) = self.acts.iter_mut().rev().find(|act| act.slot == slot) {
            act.end = end;
        }
    }

    /// Returns the changes that calls made, in their order, for a judge.
    pub(super) fn changes_shown(&self) -> String {
        let mut shown = String::new();
        let (mut used, mut left_out, mut cut) = (0, 0, 0);
        for act in &self.acts {
            let Did::Changed { diff, chars } = &act.did else { continue };
            let broken_off = match &act.end {
                End::Returned(returned) if !returned.success => continue,
                End::Returned(_) => "",
                End::Open | End::BrokenOff => "(broken off: look whether it was done)\n",
            };
            let room = DIFF_CHARS_MAX - used;
            if room == 0 {
                (left_out, cut) = (left_out + chars, cut + 1);
                continue;
            }
            let part = beginning(diff, room);
            let length = part.chars().count();
            used += length;
            if length < *chars {
                (left_out, cut) = (left_out + (chars - length), cut + 1);
            }
            shown.push_str(&format!("{broken_off}{}\n", part.trim_end_matches('\n')));
        }
        if shown.is_empty() {
            return "No call of this attempt changed a file by name, so there is no diff.".to_owned();
        }
        let fence = fenced("the journal: the changes that calls of this attempt made, in their order", &shown);
        let more = if cut == 0 {
            String::new()
        } else {
            format!(
                "\n\nLeft out of this, since it would be too long: {left_out} characters of the changes of {cut} calls. \
                 Read the files."
            )
        };
        format!("{fence}{more}")
    }

    /// Returns the output of the last checks, for a judge: those that the brief declares, or else the last commands.
    pub(super) fn checks_shown(&self, checks: &Checks) -> String {
        let ran = |act: &AttemptCall| match &act.did {
            Did::Ran { cmd, check } => Some((cmd.clone(), *check)),
            Did::Changed { .. } => None,
        };
        let last_of =
            |check: usize| self.acts.iter().rposition(|act| matches!(ran(act), Some((_, Some(of))) if of == check));
        let declared: Vec<(&str, Option<usize>)> =
            checks.lines().iter().enumerate().map(|(place, line)| (line.as_str(), last_of(place))).collect();
        let idle: Vec<String> =
            declared.iter().filter(|(_, ran)| ran.is_none()).map(|(line, _)| format!("`{line}`")).collect();
        let mut shown: Vec<usize> = declared.iter().filter_map(|(_, ran)| *ran).take(CHECKS_MAX).collect();
        let mut texts = Vec::new();
        if shown.is_empty() {
            let commands = (0..self.acts.len()).rev().filter(|place| ran(&self.acts[*place]).is_some());
            shown = commands.take(COMMANDS_MAX).collect();
            shown.reverse();
            texts.extend((!shown.is_empty()).then(|| "What the last commands of this attempt returned:".to_owned()));
        } else {
            texts.push("What the brief's checks returned when this attempt ran them last:".to_owned());
        }
        for place in shown {
            let act = &self.acts[place];
            let Some((cmd, _)) = ran(act) else { continue };
            texts.push(of_command(&cmd, &act.end));
            if self.acts[place..].iter().any(|later| matches!(later.did, Did::Changed { .. })) {
                texts.push("Files were changed after it.".to_owned());
            }
        }
        if !idle.is_empty() {
            texts.push(format!("Checks of the brief that this attempt did not run: {}.", idle.join(", ")));
        }
        if texts.is_empty() { "This attempt ran no command.".to_owned() } else { texts.join("\n\n") }
    }
}

/// Returns the output of a command, fenced, with a sentence on the part that is left out.
fn of_command(cmd: &str, end: &End) -> String {
    let source = |how: &str| format!("the journal: {how}, of the command {cmd}");
    match end {
        End::Open | End::BrokenOff => fenced(&source("no result"), "It was broken off before it ended."),
        End::Returned(Returned { success, exit_code, output, length }) => {
            let how = match exit_code {
                Some(code) => format!("exit code {code}"),
                None if *success => "success".to_owned(),
                None => "failure".to_owned(),
            };
            let Some(output) = output else {
                let none = format!("Its output of {length} bytes is too long to be shown here.");
                return fenced(&source(&how), &none);
            };
            let fence = fenced(&source(&how), output);
            if output.chars().count() < *length {
                format!("{fence}\n\nOf its {length} characters only the last {OUTPUT_CHARS_MAX} are shown.")
            } else {
                fence
            }
        }
    }
}

/// Returns the change that a call makes, as a diff as far as its arguments are one.
fn diff(name: &str, args: &Value, changes: &[FileChange]) -> String {
    let text = |key: &str| args.get(key).and_then(Value::as_str);
    match (name, text("diff"), text("content"), changes) {
        ("apply_patch", Some(diff), ..) => diff.to_owned(),
        ("write_file", _, Some(content), [FileChange { path, before, .. }]) => {
            let is_added = args.get("append").and_then(Value::as_bool).unwrap_or(false);
            let (from, note) = match before {
                None => ("/dev/null".to_owned(), ""),
                Some(_) if is_added => (format!("a/{path}"), "(added at its end)\n"),
                Some(_) => (format!("a/{path}"), "(written as a whole; what was there before is not shown)\n"),
            };
            let lines: String = content.lines().map(|line| format!("+{line}\n")).collect();
            format!("--- {from}\n+++ b/{path}\n{note}{lines}")
        }
        _ => changes.iter().map(|FileChange { path, .. }| format!("(changed by {name}: {path})\n")).collect(),
    }
}

/// Returns the first characters of a text, at most so many.
fn beginning(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

/// Returns the last characters of a text, at most so many.
fn ending(text: &str, chars: usize) -> &str {
    match chars.checked_sub(1).and_then(|last| text.char_indices().rev().nth(last)) {
        Some((start, _)) => &text[start..],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::words::What;

    fn slot(number: u32) -> Slot {
        Slot::first(What::Call, number)
    }

    fn begun(number: u32, name: &str, args: Value, changes: &[(&str, bool)]) -> Body {
        let change = |(path, is_new): &(&str, bool)| FileChange {
            path: (*path).to_owned(),
            before: (!is_new).then(|| "1".to_owned()),
            after: Some("2".to_owned()),
        };
        Body::Call(CallEvent::ToolCall {
            slot: slot(number),
            call_id: number.to_string(),
            name: name.to_owned(),
            args,
            auth_decision: "allow".to_owned(),
            changes: changes.iter().map(change).collect(),
            network: false,
            workspace: None,
        })
    }

    fn returned(number: u32, success: bool, content: Option<String>, exit_code: Option<i32>) -> Body {
        Body::Call(CallEvent::ToolResult {
            slot: slot(number),
            call_id: number.to_string(),
            success,
            duration_ms: 0,
            bytes: 99_999,
            content,
            artifact: None,
            code: None,
            exit_code,
            settled: false,
            seen: None,
        })
    }

    fn attempt(events: &[Body], checks: &Checks) -> Attempt {
        let mut attempt = Attempt::default();
        for event in events {
            attempt.apply(event, |name| name == "shell_exec", checks);
        }
        attempt
    }

    fn done(number: u32, name: &str, args: Value, changes: &[(&str, bool)]) -> [Body; 2] {
        [begun(number, name, args, changes), returned(number, true, Some("done".to_owned()), None)]
    }

    #[test]
    fn changes_are_shown_as_calls_made_them_and_what_failed_is_not() {
        let whole = json!({"path": "a", "content": "1\n2\n"});
        let added = json!({"path": "a", "content": "3", "append": true});
        let patch = json!({"diff": "--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n"});
        let cases = [
            (done(1, "write_file", whole.clone(), &[("a", true)]).to_vec(), "--- /dev/null\n+++ b/a\n+1\n+2\n"),
            (
                done(1, "write_file", whole.clone(), &[("a", false)]).to_vec(),
                "--- a/a\n+++ b/a\n(written as a whole; what was there before is not shown)\n+1\n+2\n",
            ),
            (done(1, "write_file", added, &[("a", false)]).to_vec(), "+++ b/a\n(added at its end)\n+3\n"),
            (done(1, "apply_patch", patch, &[("b", false)]).to_vec(), "--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n"),
            (done(1, "other", json!({}), &[("c", false)]).to_vec(), "(changed by other: c)\n"),
            (
                vec![begun(1, "write_file", whole.clone(), &[("a", true)])],
                "(broken off: look whether it was done)\n---",
            ),
            (
                vec![
                    begun(1, "write_file", whole.clone(), &[("a", true)]),
                    Body::Call(CallEvent::Interrupted { slot: slot(1), effect: InterruptedEffect::None }),
                ],
                "No call of this attempt changed a file by name",
            ),
            (
                vec![begun(1, "write_file", whole, &[("a", true)]), returned(1, false, None, None)],
                "No call of this attempt changed a file by name",
            ),
        ];
        for (events, expected) in cases {
            let shown = attempt(&events, &Checks::default()).changes_shown();
            assert!(shown.contains(expected), "{expected}: {shown}");
            assert!(!shown.contains("Left out"), "{shown}");
        }
    }

    #[test]
    fn a_long_diff_is_cut_and_says_so_with_all_that_follows() {
        let long = |number: u32, chars: usize| {
            done(number, "apply_patch", json!({"diff": "\u{e9}".repeat(chars)}), &[("a", false)])
        };
        let shown = |events: &[[Body; 2]]| attempt(&events.concat(), &Checks::default()).changes_shown();
        assert!(!shown(&[long(1, DIFF_CHARS_MAX)]).contains("Left out"));
        let over = shown(&[long(1, DIFF_CHARS_MAX - 1), long(2, 10), long(3, 20)]);
        assert!(
            over.contains("it would be too long: 29 characters of the changes of 2 calls. Read the files."),
            "{}",
            &over[over.len() - 200..]
        );
        assert_eq!(over.chars().filter(|c| *c == '\u{e9}').count(), DIFF_CHARS_MAX);
    }

    #[test]
    fn of_what_a_check_returned_last_the_end_is_shown() {
        let checks = Checks::new(vec!["t".to_owned(), "lint".to_owned()]);
        let ran = |number: u32, cmd: &str, content: Option<String>, exit_code: i32| {
            let args = json!({"cmd": cmd});
            [begun(number, "shell_exec", args, &[]), returned(number, exit_code == 0, content, Some(exit_code))]
        };
        let long = format!("first{}last", "x".repeat(OUTPUT_CHARS_MAX));
        let events =
            [ran(1, "t", Some("old".to_owned()), 1), ran(2, "t", Some(long), 0), ran(3, "ls", None, 0)].concat();
        let shown = attempt(&events, &checks).checks_shown(&checks);
        assert!(shown.contains("exit code 0, of the command t.") && shown.contains("xlast"), "{shown}");
        assert!(shown.contains(&format!("Of its {} characters only the last", OUTPUT_CHARS_MAX + 9)), "{shown}");
        assert!(!shown.contains("old") && !shown.contains("firstx") && !shown.contains("command ls"), "{shown}");
        assert!(shown.contains("did not run: `lint`.") && !shown.contains("changed after it"), "{shown}");

        let none = Checks::default();
        let shown = attempt(&events, &none).checks_shown(&none);
        assert!(shown.contains("Its output of 99999 bytes is too long to be shown here."), "{shown}");
        assert!(shown.contains("exit code 1, of the command t."), "{shown}");
        let broken_off = [
            begun(1, "shell_exec", json!({"cmd": "t"}), &[]),
            Body::Call(CallEvent::Interrupted { slot: slot(1), effect: InterruptedEffect::Unknown }),
        ];
        assert!(attempt(&broken_off, &checks).checks_shown(&checks).contains("It was broken off before it ended."));
        assert_eq!(Attempt::default().checks_shown(&none), "This attempt ran no command.");
    }
}
