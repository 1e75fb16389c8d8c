//! The state of files as agents know it: as each was when it was last read or written by a call of theirs.
//!
//! In: the events of a run, also those that an earlier driver wrote. Out: for a call that is about to be made, what its
//! agent knows of the files it changes. A file that is another by then was changed by somebody else, and writing it as
//! a whole would lose that. So would writing one of which the agent saw a part; parts of one content that were read one
//! after another add up.

use std::collections::BTreeMap;

use adjutant_core::trace::{Body, CallEvent, Event, RunEvent};
use adjutant_core::words::tool::{FileChange, FileSeen, SeenPart};
use adjutant_core::words::{Key, Part};

/// The knowledge of the agents of a run, each in its own part.
#[derive(Debug, Default)]
pub(crate) struct KnownFiles {
    known: BTreeMap<(Part, String), Known>,
    /// The most bytes of a result that are sent; all if absent.
    result_bytes_max: Option<u64>,
    /// The changes to files by calls that have no result yet.
    announced: BTreeMap<Key, Vec<FileChange>>,
}

/// A file as an agent knows it.
#[derive(Debug, Clone)]
struct Known {
    hash: String,
    replaced: u64,
    shown: Shown,
}

/// The lines of a file that an agent was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Shown {
    Whole,
    /// These of its lines, from the first to the last of each run of them, in order and apart; and how many it has.
    Lines(Vec<(u64, u64)>, u64),
}

impl Shown {
    /// The lines shown before, with these.
    fn and(self, other: Self) -> Self {
        let (Self::Lines(mut runs, lines), Self::Lines(more, others)) = (self, other) else { return Self::Whole };
        runs.extend(more);
        runs.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (first, last) in runs {
            match joined.last_mut() {
                Some((_, end)) if first <= end.saturating_add(1) => *end = (*end).max(last),
                Some(_) | None => joined.push((first, last)),
            }
        }
        // A number that nobody knows is the largest there is.
        let lines = lines.min(others);
        match joined[..] {
            [(1, last)] if last >= lines => Self::Whole,
            _ => Self::Lines(joined, lines),
        }
    }

    fn part(&self) -> Option<SeenPart> {
        match self {
            Self::Whole => None,
            Self::Lines(runs, lines) => {
                let (first, last) = runs.first().copied().unwrap_or((1, 0));
                Some(SeenPart { first, last, lines: *lines })
            }
        }
    }
}

impl KnownFiles {
    pub(crate) fn apply(&mut self, event: &Event) {
        let key = |slot| Key { part: event.part.clone(), slot };
        match &event.body {
            Body::Run(RunEvent::RunStart(start)) => self.result_bytes_max = start.options.result_bytes_max,
            Body::Call(CallEvent::ToolCall { slot, changes, .. }) if !changes.is_empty() => {
                self.announced.insert(key(*slot), changes.clone());
            }
            Body::Call(CallEvent::ToolResult { slot, success, seen, bytes, .. }) => {
                let made = self.announced.remove(&key(*slot)).filter(|_| *success);
                for change in made.into_iter().flatten() {
                    self.changed(&event.part, change);
                }
                if let Some(seen) = seen {
                    let is_cut = self.result_bytes_max.is_some_and(|most| *bytes > most);
                    self.read(&event.part, seen, is_cut);
                }
            }
            Body::Call(CallEvent::ToolCancelled { slot, .. } | CallEvent::Interrupted { slot, .. }) => {
                self.announced.remove(&key(*slot));
            }
            _ => {}
        }
    }

    /// A file was read; `is_cut` says that only the ends of the result were sent.
    fn read(&mut self, part: &Part, seen: &FileSeen, is_cut: bool) {
        let FileSeen { path, hash, replaced, part: lines } = seen;
        let shown = match lines {
            None if is_cut => Shown::Lines(Vec::new(), u64::MAX),
            None => Shown::Whole,
            Some(SeenPart { first, last, lines }) if is_cut || last < first => Shown::Lines(Vec::new(), *lines),
            Some(SeenPart { first, last, lines }) => Shown::Lines(vec![(*first, *last)], *lines),
        };
        let place = (part.clone(), path.clone());
        let before = self.known.remove(&place).filter(|known| known.hash == *hash);
        let known = match before {
            Some(known) if shown != Shown::Whole => {
                Known { replaced: known.replaced.max(*replaced), shown: known.shown.and(shown), ..known }
            }
            Some(_) | None => Known { hash: hash.clone(), replaced: *replaced, shown },
        };
        self.known.insert(place, known);
    }

    fn changed(&mut self, part: &Part, FileChange { path, before, after }: FileChange) {
        let place = (part.clone(), path);
        let Some(hash) = after else {
            self.known.remove(&place);
            return;
        };
        // A patch and an addition keep the bytes that were shown as others.
        let known = self.known.get(&place).filter(|known| before.as_ref() == Some(&known.hash));
        let replaced = known.map_or(0, |known| known.replaced);
        // Which lines the others are by now nobody knows.
        let shown = known.map_or(Shown::Whole, |known| match &known.shown {
            Shown::Whole => Shown::Whole,
            Shown::Lines(..) => Shown::Lines(Vec::new(), u64::MAX),
        });
        self.known.insert(place, Known { hash, replaced, shown });
    }

    /// Returns what the agent of `part` knows of the files that `changes` are about.
    pub(crate) fn of(&self, part: &Part, changes: &[FileChange]) -> Vec<FileSeen> {
        let of = |FileChange { path, .. }: &FileChange| {
            let known = self.known.get(&(part.clone(), path.clone()))?;
            let part = known.shown.part();
            Some(FileSeen { path: path.clone(), hash: known.hash.clone(), replaced: known.replaced, part })
        };
        changes.iter().filter_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use adjutant_core::words::{Slot, What};
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
        event(Body::Call(CallEvent::ToolCall {
            slot,
            call_id: String::new(),
            name: "write_file".to_owned(),
            args: serde_json::Value::Null,
            auth_decision: "allow".to_owned(),
            changes,
            network: false,
            workspace: None,
        }))
    }

    fn result(number: u32, success: bool, seen: Option<(&str, u64)>) -> Event {
        let known = |(hash, replaced): (&str, u64)| {
            Box::new(FileSeen { path: "f".to_owned(), hash: hash.to_owned(), replaced, part: None })
        };
        let seen = seen.map(known);
        event(Body::Call(CallEvent::ToolResult {
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
        }))
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

    /// A result that shows these lines of six of a file.
    fn lines(hash: &str, first: u64, last: u64) -> Event {
        let mut event = result(1, true, Some((hash, 0)));
        if let Body::Call(CallEvent::ToolResult { seen: Some(seen), .. }) = &mut event.body {
            seen.part = Some(SeenPart { first, last, lines: 6 });
        }
        event
    }

    #[track_caller]
    fn check_part(events: &[Event], expected: Option<(u64, u64)>) {
        let mut files = KnownFiles::default();
        for event in events {
            files.apply(event);
        }
        let known = files.of(&Part::root(), &[change(None, None)]).remove(0);
        assert_eq!(known.part.map(|part| (part.first, part.last)), expected);
    }

    #[test]
    fn parts_of_one_content_add_up_to_the_whole() {
        let whole = || result(9, true, Some(("a", 0)));
        check_part(&[whole()], None);
        check_part(&[lines("a", 2, 4)], Some((2, 4)));
        check_part(&[lines("a", 1, 3), lines("a", 5, 6)], Some((1, 3)));
        check_part(&[lines("a", 1, 3), lines("a", 4, 6)], None);
        check_part(&[lines("a", 5, 6), lines("a", 2, 3), lines("a", 1, 4)], None);
        check_part(&[whole(), lines("a", 2, 2)], None);
        check_part(&[lines("a", 2, 2), whole()], None);
        // Another content, and a change of what was seen in part.
        check_part(&[lines("a", 1, 3), lines("b", 4, 6)], Some((4, 6)));
        check_part(&[whole(), lines("b", 4, 6)], Some((4, 6)));
        let patch = [call(2, vec![change(Some("a"), Some("b"))]), result(2, true, None)];
        check_part(&[&[lines("a", 1, 3)][..], &patch].concat(), Some((1, 0)));
        check_part(&[&[lines("a", 1, 3)][..], &patch, &[lines("b", 1, 6)]].concat(), None);
    }

    #[test]
    fn a_result_of_which_the_ends_were_sent_shows_no_line_as_a_whole() {
        let mut files = KnownFiles { result_bytes_max: Some(10), ..KnownFiles::default() };
        let read = |bytes_read| {
            let mut event = result(1, true, Some(("a", 0)));
            if let Body::Call(CallEvent::ToolResult { bytes, .. }) = &mut event.body {
                *bytes = bytes_read;
            }
            event
        };
        let mut part = |event: Event| {
            files.apply(&event);
            files.of(&Part::root(), &[change(None, None)]).remove(0).part
        };
        assert!(part(read(11)).is_some());
        assert!(part(read(10)).is_none());
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
