//! The name of everything that is asked for: where in the run, what, its number, which attempt.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use super::role::RoleName;

/// Place of something in a run: segments with `/` between them; the root is empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Part(Option<Arc<str>>);

impl Part {
    /// Returns the run itself.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    pub(crate) fn from_checked(text: &str) -> Self {
        Self((!text.is_empty()).then(|| text.into()))
    }

    /// Returns true if this is the run itself.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the part that this one calls `segment`.
    #[must_use]
    pub fn child(&self, segment: &str) -> Self {
        match &self.0 {
            None => Self::from_checked(segment),
            Some(part) => Self::from_checked(&format!("{part}/{segment}")),
        }
    }

    /// Returns the rest of this part below `segment`, if it lies there.
    #[must_use]
    pub fn below(&self, segment: &str) -> Option<Self> {
        let rest = self.as_str().strip_prefix(segment)?;
        if rest.is_empty() { Some(Self::root()) } else { rest.strip_prefix('/').map(Self::from_checked) }
    }

    /// Returns true if this part is `other` or lies under it.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        let rest = self.as_str().strip_prefix(other.as_str());
        other.is_root() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Returns the segments, from the run down.
    pub fn segments(&self) -> impl Iterator<Item = PartSegment<'_>> {
        segments_of(self.as_str())
    }

    /// Returns the role that works here, such as `executor` in `crew/subtask/2.1/executor`; `None` if no role does.
    #[must_use]
    pub fn role(&self) -> Option<RoleName> {
        let (mut before, mut last) = (None, None);
        for segment in self.segments() {
            (before, last) = (last, Some(segment));
        }
        match (before?, last?) {
            (PartSegment::Numbered { kind: "plan" | "subtask", .. }, PartSegment::Named(role)) => role.parse().ok(),
            _ => None,
        }
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }
}

impl FromStr for Part {
    type Err = BadPart;

    fn from_str(text: &str) -> Result<Self, BadPart> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
        if text.len() <= 512 && text.chars().all(allowed) && !text.starts_with('/') && !text.ends_with('/') {
            return Ok(Self::from_checked(text));
        }
        Err(BadPart { given: text.chars().take(80).collect() })
    }
}

/// The reason why a part's name was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{given}` can't name a part of a run: it takes letters, digits, `-`, `_`, `.`, and `/` between segments")]
pub struct BadPart {
    /// The name as it was given, cut to a length that can be shown.
    pub given: String,
}

/// One segment of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartSegment<'a> {
    /// There is one of it: `session`, `crew`, a role.
    Named(&'a str),
    /// One of several of its kind: `subtask/2.1`, `stage/coding.1`.
    Numbered {
        /// The kind.
        kind: &'a str,
        /// Its number or name, with the attempt.
        number: &'a str,
    },
}

/// The kinds of segments of which there may be several.
const NUMBERED: [&str; 5] = ["plan", "subtask", "stage", "iteration", "voter"];

fn segments_of(part: &str) -> impl Iterator<Item = PartSegment<'_>> {
    let mut texts = part.split('/').filter(|text| !text.is_empty());
    std::iter::from_fn(move || {
        let text = texts.next()?;
        let number = NUMBERED.contains(&text).then(|| texts.next()).flatten();
        Some(number.map_or(PartSegment::Named(text), |number| PartSegment::Numbered { kind: text, number }))
    })
}

/// Returns the name by which the work of a part is added up: its role or other name, or its kind where there may be
/// several of them; `run` for the run itself.
#[must_use]
pub fn doer_of(part: &str) -> &str {
    match segments_of(part).last() {
        Some(PartSegment::Named(name) | PartSegment::Numbered { kind: name, .. }) => name,
        None => "run",
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Kind of thing that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// A turn of the agent.
    Turn,
    /// A tool call.
    Call,
    /// A question to the operator.
    Ask,
    /// A wait.
    Wait,
    /// A guard hook, asked about a call.
    Hook,
    /// A look at the working tree.
    Look,
    /// Keeping a grant for later runs.
    Keep,
    /// An effect that is no tool call.
    Deed,
}

impl What {
    const ALL: [Self; 8] =
        [Self::Turn, Self::Call, Self::Ask, Self::Wait, Self::Hook, Self::Look, Self::Keep, Self::Deed];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Call => "call",
            Self::Ask => "ask",
            Self::Wait => "wait",
            Self::Hook => "hook",
            Self::Look => "look",
            Self::Keep => "keep",
            Self::Deed => "deed",
        }
    }
}

/// One thing that is asked for within a part, and which attempt at it. On the wire `call/3.1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "String")]
pub struct Slot {
    /// Kind of thing.
    pub what: What,
    /// Its number, from 1.
    pub number: u32,
    /// Number of the attempt, from 1.
    pub attempt: u32,
}

impl Slot {
    /// Returns the first attempt at the `number`th `what`.
    #[must_use]
    pub const fn first(what: What, number: u32) -> Self {
        Self { what, number, attempt: 1 }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}.{}", self.what.as_str(), self.number, self.attempt)
    }
}

/// Error for a text that is no slot.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{given}` is not a slot: it has the form `call/3.1`")]
pub struct BadSlot {
    /// The text as it was given, cut to a length that can be shown.
    pub given: String,
}

impl FromStr for Slot {
    type Err = BadSlot;

    fn from_str(given: &str) -> Result<Self, BadSlot> {
        let read = || {
            let (what, rest) = given.split_once('/')?;
            let (number, attempt) = rest.split_once('.')?;
            let what = What::ALL.into_iter().find(|known| known.as_str() == what)?;
            Some(Self { what, number: number.parse().ok()?, attempt: attempt.parse().ok()? })
        };
        read().ok_or_else(|| BadSlot { given: given.chars().take(40).collect() })
    }
}

/// Read from the text where it stands: two lines of three in a journal have a slot.
impl<'de> Deserialize<'de> for Slot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SlotVisitor;

        impl Visitor<'_> for SlotVisitor {
            type Value = Slot;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, given: &str) -> Result<Slot, E> {
                given.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(SlotVisitor)
    }
}

impl From<Slot> for String {
    fn from(slot: Slot) -> Self {
        slot.to_string()
    }
}

/// The name of one thing that is asked for, unique within its run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Part that it belongs to.
    pub part: Part,
    /// Slot within the part.
    pub slot: Slot,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.part.is_root() { write!(f, "{}", self.slot) } else { write!(f, "{}:{}", self.part, self.slot) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_reads_back_as_it_was_written() {
        for text in ["turn/1.1", "call/30.2", "ask/2.1", "wait/1.9", "hook/4.1", "look/2.1", "keep/3.2", "deed/2.1"] {
            assert_eq!(text.parse::<Slot>().expect(text).to_string(), text);
        }
        for text in ["", "turn", "turn/1", "turn/x.1", "spin/1.1", "turn/1.1.1", "turn/-1.1"] {
            assert!(text.parse::<Slot>().is_err(), "{text}");
        }
    }

    #[test]
    fn work_is_added_up_by_role_or_by_kind() {
        for (part, doer) in [
            ("", "run"),
            ("session", "session"),
            ("crew/subtask/2.1/executor", "executor"),
            ("stage/coding.1", "stage"),
            ("iteration/7", "iteration"),
            ("iteration/7/voter/2", "voter"),
            ("subtask", "subtask"),
        ] {
            assert_eq!(doer_of(part), doer, "{part}");
        }
    }

    #[test]
    fn a_part_lies_below_whole_segments_only() {
        let part = Part::root().child("subtask/2.1").child("executor");
        assert_eq!(part.as_str(), "subtask/2.1/executor");
        assert_eq!(part.below("subtask/2.1"), Some(Part::root().child("executor")));
        assert_eq!(part.below("subtask/2"), None);
        assert!(part.is_within(&Part::root()));
    }
}
