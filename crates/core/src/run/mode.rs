//! The mode: who decides between steps, for the run and for single parts.
//!
//! The last word holds for the run. A session at work keeps the word that it works by where one beside it is told
//! another: one of several that work side by side doesn't settle for the others how often the operator is asked.

use std::collections::{BTreeMap, BTreeSet};

use crate::trace::{AskEvent, Body, Event, PartEvent};
use crate::words::{Message, Mode, Part, PartKind};

/// The operator's words on the mode.
#[derive(Debug, Clone, Default)]
pub(super) struct Modes {
    last: Option<Mode>,
    /// The words on single parts that have not ended.
    own: BTreeMap<Part, Mode>,
    sessions: BTreeSet<Part>,
}

impl Modes {
    pub(super) fn apply(&mut self, event: &Event) {
        let part = &event.part;
        match &event.body {
            Body::Part(PartEvent::PartStart { kind: PartKind::Session, .. }) => {
                self.sessions.insert(part.clone());
            }
            Body::Part(PartEvent::ModeSet { mode }) => {
                let kept = self.sessions.iter().filter_map(|session| Some((session.clone(), self.of(session)?)));
                self.own.extend(kept.collect::<Vec<_>>());
                self.own.retain(|other, _| !part.is_within(other));
                self.own.insert(part.clone(), *mode);
                self.last = Some(*mode);
            }
            Body::Ask(AskEvent::OperatorMessage { message: Message::Mode(mode), .. }) => {
                self.own.retain(|other, _| !other.is_within(part));
                if part.is_root() {
                    self.last = Some(*mode);
                } else {
                    self.own.insert(part.clone(), *mode);
                }
            }
            Body::Part(PartEvent::PartEnd { .. }) => {
                self.own.retain(|other, _| !other.is_within(part));
                self.sessions.retain(|other| !other.is_within(part));
            }
            _ => {}
        }
    }

    /// Returns the word that holds for `part`: the one on the nearest part around it, else the last one of the run.
    pub(super) fn of(&self, part: &Part) -> Option<Mode> {
        let around = self.own.iter().filter(|(other, _)| part.is_within(other));
        around.max_by_key(|(other, _)| other.as_str().len()).map(|(_, mode)| *mode).or(self.last)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::words::Outcome;

    fn part(text: &str) -> Part {
        text.parse().expect("a part")
    }

    fn modes(events: &[(&str, Body)]) -> Modes {
        let mut modes = Modes::default();
        for (at, body) in events {
            let part = if at.is_empty() { Part::root() } else { part(at) };
            modes.apply(&Event { seq: 0, at: Timestamp::UNIX_EPOCH, part, body: body.clone() });
        }
        modes
    }

    fn set(mode: Mode) -> Body {
        Body::Part(PartEvent::ModeSet { mode })
    }

    fn message(mode: Mode) -> Body {
        let message = Message::Mode(mode);
        Body::Ask(AskEvent::OperatorMessage { id: String::new(), message, by: String::new() })
    }

    #[test]
    fn a_word_on_one_part_holds_for_later_parts_and_for_no_sibling_that_had_its_own() {
        let end = Body::Part(PartEvent::PartEnd { outcome: Outcome::Completed });
        let told = modes(&[("c/1", set(Mode::Gated)), ("c/2", set(Mode::Auto))]);
        for (of, mode) in [("c/1", Mode::Gated), ("c/2", Mode::Auto), ("c/3", Mode::Auto), ("c", Mode::Auto)] {
            assert_eq!(told.of(&part(of)), Some(mode), "{of}");
        }
        let ended = modes(&[("c/1", set(Mode::Gated)), ("c/2", set(Mode::Auto)), ("c/1", end)]);
        assert_eq!(ended.of(&part("c/1")), Some(Mode::Auto));
        // A part's word is the last one on what it is a part of.
        let under = modes(&[("c", set(Mode::Auto)), ("c/1", set(Mode::Gated))]);
        assert_eq!(under.of(&part("c")), Some(Mode::Gated));
        assert_eq!(modes(&[]).of(&part("c")), None);
    }

    #[test]
    fn a_session_at_work_keeps_the_word_that_it_works_by() {
        let start =
            Body::Part(PartEvent::PartStart { kind: PartKind::Session, contract: None, agent: 0, workspace: None });
        let told = modes(&[
            ("c/1", start.clone()),
            ("c/2", start.clone()),
            ("c/1", set(Mode::Gated)),
            ("c/3", start),
            ("c/3", set(Mode::Auto)),
        ]);
        assert_eq!((told.of(&part("c/2")), told.of(&part("c/3"))), (Some(Mode::Gated), Some(Mode::Auto)));
    }

    #[test]
    fn the_operators_message_holds_for_all_or_for_the_part_that_it_names() {
        let all = modes(&[("c/1", set(Mode::Gated)), ("", message(Mode::Auto))]);
        assert_eq!(all.of(&part("c/1")), Some(Mode::Auto));
        let one = modes(&[("", message(Mode::Gated)), ("c/1", message(Mode::Auto))]);
        assert_eq!((one.of(&part("c/1/x")), one.of(&part("c/10"))), (Some(Mode::Auto), Some(Mode::Gated)));
    }
}
