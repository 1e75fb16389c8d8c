//! Takes content out of the lines of a journal and leaves its structure: types, numbers, hashes, names and times stay,
//! text that was said, written or read goes.
//!
//! In: a line. Out: a line that reads as the same event. Each text in it that was content is replaced by its length.
//! Fields that no rule decides about are content: an unknown type keeps its head, an unknown field its numbers. A line
//! with nothing to leave out comes back byte for byte.
//!
//! Begin with [`redact_line`]; what is content stands with each type of event.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::Value;

use super::event::EventKind;
use super::read::{Fields, object_of};
use super::spec::{Field, HEAD, RedactionRule, field_in};

/// The longest word that is kept, in bytes: names of tools, calls and parts, hashes, times.
const WORD_BYTES_MAX: usize = 128;

/// Returns the line without its content. A line that can't be read becomes one that says its length.
#[must_use]
pub fn redact_line(line: &str) -> Cow<'_, str> {
    let Some((kind, fields)) = object_of(line).and_then(|fields| Some((fields.text("type")?.into_owned(), fields)))
    else {
        return Cow::Owned(format!(r#"{{"type":"unreadable_line","bytes":{}}}"#, line.len()));
    };
    let mut redacted = String::with_capacity(line.len().min(4096));
    let known = EventKind::named(&kind).map(|kind| kind.spec().fields);
    redacted.push('{');
    object(&mut redacted, &fields, |name| rule_in(HEAD, name).or_else(|| rule_in(known?, name)));
    redacted.push('}');
    if redacted == line { Cow::Borrowed(line) } else { Cow::Owned(redacted) }
}

/// `text` if it is a word: short, and of characters of which names, hashes and times are made.
#[must_use]
pub fn word(text: &str) -> Cow<'_, str> {
    if is_word(text) { Cow::Borrowed(text) } else { Cow::Owned(marker(text.len())) }
}

/// Returns true if a redacted line has a mark for something that was left out.
#[must_use]
pub fn is_marked(line: &str) -> bool {
    line.contains("[redacted: ") || line.contains(r#"{"redacted_bytes":"#) || line.contains(r#""unreadable_line""#)
}

fn is_word(text: &str) -> bool {
    text.len() <= WORD_BYTES_MAX && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:/+".contains(&byte))
}

fn marker(bytes: usize) -> String {
    format!("[redacted: {bytes} bytes]")
}

/// Returns true if a text is already the marker of another.
fn is_marker(text: &str) -> bool {
    let digits = text.strip_prefix("[redacted: ").and_then(|rest| rest.strip_suffix(" bytes]"));
    digits.is_some_and(|digits| digits.len() <= 20 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the rule of the field of this name; `None` if no rule decides about it.
fn rule_in(fields: &'static [Field], name: &str) -> Option<&'static RedactionRule> {
    field_in(fields, name).map(|field| &field.rule).filter(|rule| !matches!(rule, RedactionRule::Unknown))
}

/// Writes the fields of an object, by the rule that each has; a name without a rule may be content too.
fn object<'r>(out: &mut String, fields: &Fields<'_>, rule: impl Fn(&str) -> Option<&'r RedactionRule>) {
    for (name, json) in fields.iter() {
        let known = rule(name);
        if matches!(known, Some(RedactionRule::Gone)) {
            continue;
        }
        if !out.ends_with('{') {
            out.push(',');
        }
        out.push_str(&quoted(&if known.is_some() { Cow::Borrowed(name) } else { word(name) }));
        out.push(':');
        value(out, json, known.unwrap_or(&RedactionRule::Unknown));
    }
}

fn value(out: &mut String, json: &str, rule: &RedactionRule) {
    match rule {
        RedactionRule::Plain => leaves(out, json, is_word),
        RedactionRule::Text => leaves(out, json, |text| text.is_empty()),
        RedactionRule::Whole => whole(out, json),
        RedactionRule::Unknown if json.starts_with(['{', '[']) => whole(out, json),
        RedactionRule::Unknown => leaves(out, json, |text| text.is_empty()),
        RedactionRule::Object(rules) => one(out, json, |name| rule_in(rules, name)),
        RedactionRule::Objects(rules) => {
            each(out, json, |out, item| one(out, item, |name| rule_in(rules, name)));
        }
        RedactionRule::MapOf(rules) => one(out, json, |name| is_word(name).then_some(*rules)),
        RedactionRule::Gone => out.push_str("null"),
    }
}

fn one<'r>(out: &mut String, json: &str, rule: impl Fn(&str) -> Option<&'r RedactionRule>) {
    match object_of(json) {
        Some(fields) => {
            out.push('{');
            object(out, &fields, rule);
            out.push('}');
        }
        // Not what is expected here; a unit variant of an enum is a word.
        None => leaves(out, json, is_word),
    }
}

fn each(out: &mut String, json: &str, mut item: impl FnMut(&mut String, &str)) {
    match super::read::items_of(json) {
        Some(items) => {
            out.push('[');
            for (index, one) in items.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                item(out, one);
            }
            out.push(']');
        }
        None => leaves(out, json, is_word),
    }
}

/// Writes a value whose texts stay if `keep` says so. What is in an object has names of its own, and goes.
fn leaves(out: &mut String, json: &str, keep: fn(&str) -> bool) {
    match json.as_bytes().first() {
        Some(b'"') => match super::read::text_of(json) {
            Some(text) if keep(&text) || is_marker(&text) => out.push_str(json),
            text => out.push_str(&quoted(&marker(text.map_or(json.len(), |text| text.len())))),
        },
        Some(b'[') => each(out, json, |out, item| leaves(out, item, keep)),
        Some(b'{') => whole(out, json),
        _ => out.push_str(json),
    }
}

/// Writes how long a value was.
fn whole(out: &mut String, json: &str) {
    let is_marked = object_of(json).is_some_and(|fields| {
        let mut names = fields.iter();
        matches!((names.next(), names.next()), (Some(("redacted_bytes", count)), None) if count.parse::<u64>().is_ok())
    });
    if is_marked || matches!(json, "null" | "{}" | "[]") {
        out.push_str(json);
    } else {
        out.push_str(&format!(r#"{{"redacted_bytes":{}}}"#, json.len()));
    }
}

fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
