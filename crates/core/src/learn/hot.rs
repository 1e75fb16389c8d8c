//! The lines that traces are mostly made of, read without building a list of their fields.
//!
//! In: a line. Out: the fields that a walk needs, or `None`: then [`read_one`](crate::trace::read::read_one) reads it.
//! A test checks that the two agree wherever both can read a line.

use crate::trace::EventKind;
use crate::trace::object::{self, WrittenValue};
use crate::words::Slot;

/// A line of one of the commonest types.
pub(super) struct Hot<'a> {
    pub(super) at: Option<&'a str>,
    pub(super) part: &'a str,
    pub(super) is_ours: bool,
    pub(super) what: HotKind<'a>,
}

/// Contents of the line.
pub(super) enum HotKind<'a> {
    Entered(&'a str),
    Left(&'a str, u64),
    Called(&'a str),
    Returned,
    Fired(&'a str),
}

/// The fields that are looked at, as they are written; of two with one name the last.
#[derive(Default)]
struct HotFields<'a> {
    kind: Option<WrittenValue<'a>>,
    at: Option<WrittenValue<'a>>,
    part: Option<WrittenValue<'a>>,
    seq: Option<WrittenValue<'a>>,
    prev: Option<WrittenValue<'a>>,
    phase: Option<WrittenValue<'a>>,
    duration_ms: Option<WrittenValue<'a>>,
    to: Option<WrittenValue<'a>>,
    reason: Option<WrittenValue<'a>>,
    call_id: Option<WrittenValue<'a>>,
    name: Option<WrittenValue<'a>>,
    auth_decision: Option<WrittenValue<'a>>,
    slot: Option<WrittenValue<'a>>,
    success: Option<WrittenValue<'a>>,
    bytes: Option<WrittenValue<'a>>,
    content: Option<WrittenValue<'a>>,
    artifact: Option<WrittenValue<'a>>,
    code: Option<WrittenValue<'a>>,
    settled: Option<WrittenValue<'a>>,
    detector: Option<WrittenValue<'a>>,
    turn: Option<WrittenValue<'a>>,
}

/// Reads a line, if it is one of these and written plainly.
pub(super) fn read(line: &str) -> Option<Hot<'_>> {
    let mut written = HotFields::default();
    object::fields(line, |name, value| {
        if let Some(place) = written.place(name) {
            *place = Some(value);
        }
    })?;
    written.read()
}

impl<'a> HotFields<'a> {
    /// Returns the field of this name; names are compared by their length first.
    fn place(&mut self, name: &str) -> Option<&mut Option<WrittenValue<'a>>> {
        Some(match name.len() {
            2 => match name {
                "at" => &mut self.at,
                "to" => &mut self.to,
                _ => return None,
            },
            3 => match name {
                "seq" => &mut self.seq,
                _ => return None,
            },
            4 => match name {
                "type" => &mut self.kind,
                "part" => &mut self.part,
                "prev" => &mut self.prev,
                "name" => &mut self.name,
                "slot" => &mut self.slot,
                "code" => &mut self.code,
                "turn" => &mut self.turn,
                _ => return None,
            },
            5 => match name {
                "phase" => &mut self.phase,
                "bytes" => &mut self.bytes,
                _ => return None,
            },
            6 => match name {
                "reason" => &mut self.reason,
                _ => return None,
            },
            7 => match name {
                "call_id" => &mut self.call_id,
                "success" => &mut self.success,
                "content" => &mut self.content,
                "settled" => &mut self.settled,
                _ => return None,
            },
            8 => match name {
                "artifact" => &mut self.artifact,
                "detector" => &mut self.detector,
                _ => return None,
            },
            11 => match name {
                "duration_ms" => &mut self.duration_ms,
                _ => return None,
            },
            13 => match name {
                "auth_decision" => &mut self.auth_decision,
                _ => return None,
            },
            _ => return None,
        })
    }

    fn read(&self) -> Option<Hot<'a>> {
        let what = match EventKind::named(text(self.kind?)?)? {
            EventKind::PhaseEnter => {
                is_text(self.reason)?;
                HotKind::Entered(text(self.phase?)?)
            }
            EventKind::PhaseExit => {
                is_text(self.to)?;
                is_text(self.reason)?;
                HotKind::Left(text(self.phase?)?, number(self.duration_ms?)?)
            }
            EventKind::ToolCall => {
                (is_written(self.call_id?) && is_written(self.auth_decision?)).then_some(())?;
                self.has_slot()?;
                HotKind::Called(text(self.name?)?)
            }
            EventKind::ToolResult => {
                (is_written(self.call_id?) && matches!(self.success?.json, "true" | "false")).then_some(())?;
                number(self.duration_ms?)?;
                number(self.bytes?)?;
                self.has_slot()?;
                is_text(self.content)?;
                is_text(self.artifact)?;
                is_text(self.code)?;
                matches!(self.settled.map(|settled| settled.json), None | Some("null" | "true" | "false"))
                    .then_some(())?;
                HotKind::Returned
            }
            EventKind::DetectorFired => {
                self.turn.map_or(Some(0), number)?;
                HotKind::Fired(text(self.detector?)?)
            }
            _ => return None,
        };
        is_text(self.prev)?;
        Some(Hot {
            at: self.at.map_or(Some(None), |at| text(at).map(Some))?,
            part: self.part.map_or(Some(""), text)?,
            is_ours: self.seq.map_or(Some(false), |seq| number(seq).map(|_| true))?,
            what,
        })
    }

    fn has_slot(&self) -> Option<()> {
        self.slot.is_none_or(|slot| text(slot).is_some_and(|slot| slot.parse::<Slot>().is_ok())).then_some(())
    }
}

/// Returns true if it is a string, whatever its contents.
fn is_written(value: WrittenValue<'_>) -> bool {
    value.json.starts_with('"')
}

/// Returns `None` if an optional field is there and isn't a string.
fn is_text(value: Option<WrittenValue<'_>>) -> Option<()> {
    value.is_none_or(is_written).then_some(())
}

/// Returns the text of a string without escapes.
fn text<'a>(value: WrittenValue<'a>) -> Option<&'a str> {
    let inner = value.json.strip_prefix('"')?.strip_suffix('"')?;
    (!value.is_escaped).then_some(inner)
}

/// Reads a whole number.
fn number(value: WrittenValue<'_>) -> Option<u64> {
    value.json.parse().ok()
}
