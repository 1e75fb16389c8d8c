//! The effects of a run, as its end tells them: files changed, commands run.
//!
//! In: the events of the run that count. Out: [`RunEffects`]. Nothing is decided by it, so it is no part of what core
//! folds; it is folded as events pass, so that nobody reads a long journal once more to say a few lines.

use std::collections::BTreeMap;

use adjutant_core::trace::{Body, CallEvent, Event};
use adjutant_core::words::category::SHELL_EXEC;
use adjutant_core::words::tool::FileChange;
use adjutant_core::words::{Part, Slot};

/// The effects of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunEffects {
    /// True if commands began: they may have changed anything.
    pub has_commands: bool,
    /// The hash of each file that a call changed, before the first such call; `None` if there was no such file.
    pub first_hashes: BTreeMap<String, Option<String>>,
    /// The changes of calls that have no outcome yet.
    begun: BTreeMap<(Part, Slot), Vec<FileChange>>,
}

impl RunEffects {
    /// Takes note of an event that counts.
    pub(crate) fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Call(CallEvent::ToolCall { slot, name, changes, .. }) => {
                self.has_commands |= name == SHELL_EXEC;
                if !changes.is_empty() {
                    self.begun.insert((event.part.clone(), *slot), changes.clone());
                }
            }
            // A call that failed changed nothing; of one that was cancelled or lost nobody knows.
            Body::Call(CallEvent::ToolResult { slot, success: false, .. }) => {
                self.outcome(event, slot);
            }
            Body::Call(
                CallEvent::ToolResult { slot, .. }
                | CallEvent::ToolCancelled { slot, .. }
                | CallEvent::Interrupted { slot, .. },
            ) => {
                for FileChange { path, before, .. } in self.outcome(event, slot) {
                    self.first_hashes.entry(path).or_insert(before);
                }
            }
            _ => {}
        }
    }

    /// Returns the changes that the call announced which now has an outcome.
    fn outcome(&mut self, event: &Event, slot: &Slot) -> Vec<FileChange> {
        if self.begun.is_empty() {
            return Vec::new();
        }
        self.begun.remove(&(event.part.clone(), *slot)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use adjutant_core::words::What;
    use jiff::Timestamp;

    use super::*;

    fn after(bodies: Vec<Body>) -> RunEffects {
        let mut effects = RunEffects::default();
        for body in bodies {
            effects.apply(&Event { seq: 0, at: Timestamp::UNIX_EPOCH, part: Part::root(), body });
        }
        effects
    }

    fn call(number: u32, name: &str, changes: &[(&str, Option<&str>)]) -> Body {
        let change = |(path, before): &(&str, Option<&str>)| FileChange {
            path: (*path).to_owned(),
            before: before.map(str::to_owned),
            after: Some("after".to_owned()),
        };
        Body::Call(CallEvent::ToolCall {
            slot: Slot::first(What::Call, number),
            call_id: String::new(),
            name: name.to_owned(),
            args: serde_json::Value::Null,
            auth_decision: "allow".to_owned(),
            changes: changes.iter().map(change).collect(),
            network: false,
            workspace: None,
        })
    }

    fn result(number: u32, success: bool) -> Body {
        Body::Call(CallEvent::ToolResult {
            slot: Slot::first(What::Call, number),
            call_id: String::new(),
            success,
            duration_ms: 0,
            bytes: 0,
            content: None,
            artifact: None,
            code: None,
            exit_code: None,
            settled: false,
            seen: None,
        })
    }

    #[test]
    fn a_file_is_as_it_was_before_the_first_call_that_may_have_changed_it() {
        let effects = after(vec![
            call(1, "write_file", &[("failed", Some("0")), ("later", Some("0"))]),
            result(1, false),
            call(2, "apply_patch", &[("later", Some("1")), ("new", None)]),
            result(2, true),
            call(3, "write_file", &[("later", Some("2")), ("new", Some("3"))]),
            result(3, true),
            call(4, "write_file", &[("open", Some("4"))]),
        ]);
        let expected = [("later", Some("1")), ("new", None)];
        let expected = expected.map(|(path, hash): (&str, Option<&str>)| (path.to_owned(), hash.map(str::to_owned)));
        assert_eq!(effects.first_hashes, BTreeMap::from(expected));
        assert!(!effects.has_commands);
    }

    #[test]
    fn a_command_counts_once_it_began() {
        assert!(!after(vec![call(1, "read_file", &[])]).has_commands);
        assert!(after(vec![call(1, SHELL_EXEC, &[])]).has_commands);
    }
}
