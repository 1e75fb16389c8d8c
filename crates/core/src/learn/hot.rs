//! The lines that traces are mostly made of, read without building a list of their fields.
//!
//! In: a line. Out: what a walk wants of it, or `None`: then [`read_one`](crate::trace::read::read_one) reads it, whose
//! word is the same wherever both have one. A test compares the two.

use crate::procedure::Slot;
use crate::trace::object;

/// A line of one of the commonest types.
pub(super) struct Hot<'a> {
    pub(super) at: Option<&'a str>,
    pub(super) part: &'a str,
    pub(super) is_ours: bool,
    pub(super) what: What<'a>,
}

/// What it says.
pub(super) enum What<'a> {
    Entered(&'a str),
    Left(&'a str, u64),
    Called(&'a str),
    Returned,
    Fired(&'a str),
}

/// The fields that are looked at, as they are written; of two with one name the last.
#[derive(Default)]
struct Written<'a> {
    kind: Option<&'a str>,
    at: Option<&'a str>,
    part: Option<&'a str>,
    seq: Option<&'a str>,
    prev: Option<&'a str>,
    phase: Option<&'a str>,
    duration_ms: Option<&'a str>,
    to: Option<&'a str>,
    reason: Option<&'a str>,
    call_id: Option<&'a str>,
    name: Option<&'a str>,
    auth_decision: Option<&'a str>,
    slot: Option<&'a str>,
    success: Option<&'a str>,
    bytes: Option<&'a str>,
    content: Option<&'a str>,
    artifact: Option<&'a str>,
    code: Option<&'a str>,
    settled: Option<&'a str>,
    detector: Option<&'a str>,
    turn: Option<&'a str>,
}

/// Reads a line, if it is one of these and written plainly.
pub(super) fn read(line: &str) -> Option<Hot<'_>> {
    let mut written = Written::default();
    object::fields(line, |name, value| {
        let place = match name {
            "type" => &mut written.kind,
            "at" => &mut written.at,
            "part" => &mut written.part,
            "seq" => &mut written.seq,
            "prev" => &mut written.prev,
            "phase" => &mut written.phase,
            "duration_ms" => &mut written.duration_ms,
            "to" => &mut written.to,
            "reason" => &mut written.reason,
            "call_id" => &mut written.call_id,
            "name" => &mut written.name,
            "auth_decision" => &mut written.auth_decision,
            "slot" => &mut written.slot,
            "success" => &mut written.success,
            "bytes" => &mut written.bytes,
            "content" => &mut written.content,
            "artifact" => &mut written.artifact,
            "code" => &mut written.code,
            "settled" => &mut written.settled,
            "detector" => &mut written.detector,
            "turn" => &mut written.turn,
            _ => return,
        };
        *place = Some(value);
    })?;
    written.read()
}

impl<'a> Written<'a> {
    fn read(&self) -> Option<Hot<'a>> {
        let what = match text(self.kind?)? {
            "phase_enter" => {
                is_text(self.reason)?;
                What::Entered(text(self.phase?)?)
            }
            "phase_exit" => {
                is_text(self.to)?;
                is_text(self.reason)?;
                What::Left(text(self.phase?)?, number(self.duration_ms?)?)
            }
            "tool_call" => {
                (is_written(self.call_id?) && is_written(self.auth_decision?)).then_some(())?;
                self.has_slot()?;
                What::Called(text(self.name?)?)
            }
            "tool_result" => {
                (is_written(self.call_id?) && matches!(self.success?, "true" | "false")).then_some(())?;
                number(self.duration_ms?)?;
                number(self.bytes?)?;
                self.has_slot()?;
                is_text(self.content)?;
                is_text(self.artifact)?;
                is_text(self.code)?;
                matches!(self.settled, None | Some("null" | "true" | "false")).then_some(())?;
                What::Returned
            }
            "detector_fired" => {
                number(self.turn.unwrap_or("0"))?;
                What::Fired(text(self.detector?)?)
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

/// Whether it is a string, whatever is in it.
fn is_written(json: &str) -> bool {
    json.starts_with('"')
}

/// Whether a field that may be absent is a string if it is there.
fn is_text(json: Option<&str>) -> Option<()> {
    json.is_none_or(is_written).then_some(())
}

/// A string without escapes.
fn text(json: &str) -> Option<&str> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    memchr::memchr(b'\\', inner.as_bytes()).is_none().then_some(inner)
}

/// A whole number.
fn number(json: &str) -> Option<u64> {
    json.parse().ok()
}
