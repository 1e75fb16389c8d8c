//! What agents know of files: how each was when it was last read or written by a call of theirs.
//!
//! In: the events of a run, also those that an earlier driver wrote. Out: for a call that is about to be made, what its
//! agent knows of the files it changes. A file that is another by then was changed by somebody else, and writing it as
//! a whole would lose that.

use std::collections::BTreeMap;

use adjutant_core::procedure::{Key, Part};
use adjutant_core::tool::{FileChange, FileSeen};
use adjutant_core::trace::{Body, Event};

/// What the agents of a run know, each in its own part.
#[derive(Debug, Default)]
pub(crate) struct KnownFiles {
    known: BTreeMap<(Part, String), FileSeen>,
    /// What calls that have no result yet will make of files.
    announced: BTreeMap<Key, Vec<FileChange>>,
}

impl KnownFiles {
    pub(crate) fn apply(&mut self, event: &Event) {
        let key = |slot| Key { part: event.part.clone(), slot };
        match &event.body {
            Body::ToolCall { slot, changes, .. } if !changes.is_empty() => {
                self.announced.insert(key(*slot), changes.clone());
            }
            Body::ToolResult { slot, success, seen, .. } => {
                let made = self.announced.remove(&key(*slot)).filter(|_| *success);
                for change in made.into_iter().flatten() {
                    self.changed(&event.part, change);
                }
                if let Some(seen) = seen {
                    self.known.insert((event.part.clone(), seen.path.clone()), seen.clone());
                }
            }
            Body::ToolCancelled { slot, .. } | Body::Interrupted { slot, .. } => {
                self.announced.remove(&key(*slot));
            }
            _ => {}
        }
    }

    fn changed(&mut self, part: &Part, FileChange { path, before, after }: FileChange) {
        let place = (part.clone(), path);
        let Some(hash) = after else {
            self.known.remove(&place);
            return;
        };
        // A patch and an addition keep the bytes that were shown as others.
        let known = self.known.get(&place).filter(|seen| before.as_ref() == Some(&seen.hash));
        let replaced = known.map_or(0, |seen| seen.replaced);
        let path = place.1.clone();
        self.known.insert(place, FileSeen { path, hash, replaced });
    }

    /// What the agent of `part` knows of the files that `changes` are about.
    pub(crate) fn of(&self, part: &Part, changes: &[FileChange]) -> Vec<FileSeen> {
        changes.iter().filter_map(|change| self.known.get(&(part.clone(), change.path.clone()))).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use adjutant_core::procedure::{Slot, What};
    use jiff::Timestamp;

    use super::*;

    fn event(body: Body) -> Event {
        Event { seq: 0, at: Timestamp::UNIX_EPOCH, part: Part::root(), body }
    }

    fn change(before: Option<&str>, after: Option<&str>) -> FileChange {
        FileChange { path: "f".to_owned(), before: before.map(str::to_owned), after: after.map(str::to_owned) }
    }

    fn call(number: u32, changes: Vec<FileChange>) -> Event {
        let slot = Slot::first(What::Call, number);
        event(Body::ToolCall {
            slot,
            call_id: String::new(),
            name: "write_file".to_owned(),
            args: serde_json::Value::Null,
            auth_decision: "allow".to_owned(),
            changes,
            network: false,
        })
    }

    fn result(number: u32, success: bool, seen: Option<(&str, u64)>) -> Event {
        let seen = seen.map(|(hash, replaced)| FileSeen { path: "f".to_owned(), hash: hash.to_owned(), replaced });
        event(Body::ToolResult {
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
            seen,
        })
    }

    #[track_caller]
    fn check(events: &[Event], expected: Option<(&str, u64)>) {
        let mut files = KnownFiles::default();
        for event in events {
            files.apply(event);
        }
        let known = files.of(&Part::root(), &[change(None, None)]);
        let known = known.first().map(|seen| (seen.hash.as_str(), seen.replaced));
        assert_eq!(known, expected);
        assert!(files.of(&Part::root().child("other"), &[change(None, None)]).is_empty(), "each agent knows its own");
    }

    #[test]
    fn a_file_is_known_as_it_was_last_read_or_written() {
        check(&[], None);
        let read = [call(1, Vec::new()), result(1, true, Some(("a", 2)))];
        check(&read, Some(("a", 2)));
        let wrote = |before, after, success| {
            let more = [call(2, vec![change(before, after)]), result(2, success, None)];
            [read.to_vec(), more.to_vec()].concat()
        };
        check(&wrote(Some("a"), Some("b"), true), Some(("b", 2)));
        check(&wrote(Some("x"), Some("b"), true), Some(("b", 0)));
        check(&wrote(Some("a"), Some("b"), false), Some(("a", 2)));
        check(&wrote(Some("a"), None, true), None);
    }
}
