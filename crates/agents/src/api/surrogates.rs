//! Characters of which an API sends each half in an event of its own.
//!
//! JSON may write a character beyond the first 65,536 as two escapes, `\ud83d\ude00`. A server that makes pieces of a
//! text without looking at characters sends the first half as the last thing in one event and the second as the first
//! in the next. Neither event is JSON to a strict reader then. Here such a half is read as a placeholder, a character
//! of a private plane that stands for one half of a character; in what comes of the events two placeholders in a row
//! are the character again, and one alone is U+FFFD.
//!
//! In: the reader of any format. Out: one that reads the same from events with halves of characters. Begin with
//! [`Joining`]; for JSON that is whole, such as the arguments of a call, there is [`whole_characters`].

use std::borrow::Cow;

use adjutant_core::words::tool::ToolCall;
use adjutant_ports::{Delta, Reply};
use serde_json::Value;

use super::parts;
use super::wire::{ReplyReader, StreamStep};
use crate::sse;

/// Half a character, `U+D800` to `U+DFFF`, has its placeholder so much higher, in the last private plane.
const PLACEHOLDERS: u32 = 0x10_0000;

/// A reader of events that may have halves of characters.
pub(super) struct Joining {
    inner: Box<dyn ReplyReader>,
    /// True if there was any; other characters of the private plane are left alone.
    has_halves: bool,
    /// The first half of a character that is not shown yet, of text and of thinking.
    text: Option<char>,
    thinking: Option<char>,
}

impl Joining {
    pub(super) fn new(inner: Box<dyn ReplyReader>) -> Self {
        Self { inner, has_halves: false, text: None, thinking: None }
    }

    fn shown(&mut self, delta: Delta) -> StreamStep {
        let show = |held: &mut Option<char>, piece: String| {
            let mut text: String = held.take().into_iter().collect();
            text.push_str(&piece);
            if let Some(last) = text.chars().next_back().filter(|c| half(*c).is_some_and(is_first)) {
                text.truncate(text.len() - last.len_utf8());
                *held = Some(last);
            }
            joined(text)
        };
        let (delta, is_empty) = match delta {
            Delta::Text(piece) => {
                let piece = show(&mut self.text, piece);
                (Delta::Text(piece.clone()), piece.is_empty())
            }
            Delta::Thinking(piece) => {
                let piece = show(&mut self.thinking, piece);
                (Delta::Thinking(piece.clone()), piece.is_empty())
            }
        };
        if is_empty { StreamStep::Nothing } else { StreamStep::Show(delta) }
    }
}

impl ReplyReader for Joining {
    fn read(&mut self, event: &sse::SseEvent) -> StreamStep {
        let step = match with_placeholders(&event.data) {
            Cow::Borrowed(_) => self.inner.read(event),
            Cow::Owned(data) => {
                self.has_halves = true;
                self.inner.read(&sse::SseEvent { data, ..event.clone() })
            }
        };
        match step {
            StreamStep::Show(delta) if self.has_halves => self.shown(delta),
            StreamStep::Failed(body) if self.has_halves => StreamStep::Failed(joined(body)),
            StreamStep::Unreadable(why) if self.has_halves => StreamStep::Unreadable(joined(why)),
            StreamStep::Show(_)
            | StreamStep::Failed(_)
            | StreamStep::Unreadable(_)
            | StreamStep::Nothing
            | StreamStep::Done => step,
        }
    }

    fn has_content(&self) -> bool {
        self.inner.has_content()
    }

    fn is_whole(&self) -> bool {
        self.inner.is_whole()
    }

    fn fills_window(&self) -> bool {
        self.inner.fills_window()
    }

    fn finish(self: Box<Self>) -> Reply {
        let reply = self.inner.finish();
        if !self.has_halves {
            return reply;
        }
        // Each field is named, so that a new one is thought of here.
        let Reply { text, thinking, calls, provider_data, usage, stop } = reply;
        // What is whole takes less room than its halves: what names places in the text names others then.
        let place = |at: usize| text.get(..at).map_or(at, |before| joined(before.to_owned()).len());
        let provider_data = provider_data.map(|kept| parts::moved(joined_value(kept), place));
        let calls = calls.into_iter().map(joined_call).collect();
        Reply { text: joined(text), thinking: joined(thinking), calls, provider_data, usage, stop }
    }
}

fn joined_call(call: ToolCall) -> ToolCall {
    ToolCall {
        call_id: joined(call.call_id),
        name: joined(call.name),
        args: joined_value(call.args),
        malformed: call.malformed.map(joined),
        ..call
    }
}

/// Returns a value with its characters whole. It is as deep as the JSON reader allows, so the recursion has an end.
fn joined_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(joined(text)),
        Value::Array(items) => Value::Array(items.into_iter().map(joined_value).collect()),
        Value::Object(map) => {
            Value::Object(map.into_iter().map(|(key, value)| (joined(key), joined_value(value))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// JSON in which half a character that stands alone is U+FFFD, which a strict reader takes.
pub(super) fn whole_characters(json: &str) -> String {
    joined(with_placeholders(json).into_owned())
}

/// JSON with a placeholder for each escape of half a character that does not stand with its other half.
fn with_placeholders(json: &str) -> Cow<'_, str> {
    let mut mended = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = json[at..].find('\\') {
        let escape = at + found;
        let Some(half) = escaped_half(json, escape) else {
            // An escape of one character, which may be a backslash: what follows is no escape.
            at = escape + 1 + json[escape + 1..].chars().next().map_or(0, char::len_utf8);
            continue;
        };
        at = escape + ESCAPE_BYTES;
        if is_first(half) && escaped_half(json, at).is_some_and(|next| !is_first(next)) {
            at += ESCAPE_BYTES;
            continue;
        }
        mended.push_str(&json[copied..escape]);
        mended.extend(char::from_u32(PLACEHOLDERS + u32::from(half)));
        copied = at;
    }
    if mended.is_empty() {
        return Cow::Borrowed(json);
    }
    mended.push_str(&json[copied..]);
    Cow::Owned(mended)
}

/// The length of `\ud83d`.
const ESCAPE_BYTES: usize = 6;

/// Returns the half of a character whose escape begins at `at`.
fn escaped_half(json: &str, at: usize) -> Option<u16> {
    let digits = json.get(at..at + ESCAPE_BYTES)?.strip_prefix("\\u")?;
    // A number may also have a sign, which an escape has not.
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let unit = u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
    (0xd800..=0xdfff).contains(&unit).then_some(unit)
}

/// Returns the half of a character that a placeholder stands for.
fn half(c: char) -> Option<u16> {
    let unit = u16::try_from(u32::from(c).checked_sub(PLACEHOLDERS)?).ok()?;
    (0xd800..=0xdfff).contains(&unit).then_some(unit)
}

/// Returns true if a half of a character is the first one.
fn is_first(half: u16) -> bool {
    half < 0xdc00
}

/// Text in which two placeholders in a row are the character that they are the halves of, and one alone is U+FFFD.
fn joined(text: String) -> String {
    if !text.contains(|c| half(c).is_some()) {
        return text;
    }
    let mut whole = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let Some(first) = half(c) else {
            whole.push(c);
            continue;
        };
        let second = chars.peek().and_then(|next| half(*next)).filter(|second| is_first(first) && !is_first(*second));
        let units = [Some(first), second];
        whole.extend(char::decode_utf16(units.into_iter().flatten()).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
        if second.is_some() {
            chars.next();
        }
    }
    whole
}

#[cfg(test)]
mod tests;
