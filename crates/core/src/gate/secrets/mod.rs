//! Keeps secrets out of what agents and journals see: known shapes, and values an operator names.
//!
//! In: text on its way to a journal, a screen or a model. Out: the same text with each secret replaced
//! by `[masked:<kind>]`. What has no known shape, is in no assignment and was not named can't be seen;
//! this is a net, not a proof. The result is the same however the text is cut into chunks.
//!
//! Begin with [`mask`]. [`Masker`] does the same for text that arrives in pieces, [`SecretSet`] adds an
//! operator's own values. The shapes are in `shapes.rs`, the one pass over the text in `scan.rs`.

mod base64;
mod scan;
mod secret_set;
mod shapes;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::{Map, Value};

use scan::{CONTEXT_BYTES, Edit, Scanner};
pub use secret_set::{SecretSet, VALUE_BYTES_MIN};

/// How every mask of a secret begins.
pub(super) const MASKED: &str = "[masked:";

/// The text with every secret of a known shape replaced by `[masked:<kind>]`; borrowed if there is none.
#[must_use]
pub fn mask(text: &str) -> Cow<'_, str> {
    let mut edits = Vec::new();
    let end = Scanner::default().scan(text, 0, true, &mut edits);
    if edits.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut masked = String::with_capacity(text.len());
    apply(text, 0..end, &edits, &mut masked);
    Cow::Owned(masked)
}

/// The value with every string in it masked, keys too, and whether that changed anything.
///
/// A string under a key such as `password` counts as assigned to it.
#[must_use]
pub fn mask_value(value: &Value) -> (Value, bool) {
    mask_value_with(value, &SecretSet::default())
}

/// The same as [`mask_value`] with an operator's own values masked too.
#[must_use]
pub fn mask_value_with(value: &Value, known: &SecretSet) -> (Value, bool) {
    match value {
        Value::String(text) => {
            let masked = known.mask(text);
            let changed = masked != text.as_str();
            (Value::String(masked.into_owned()), changed)
        }
        Value::Array(items) => {
            let mut changed = false;
            let masked = items.iter().map(|item| {
                let (item, item_changed) = mask_value_with(item, known);
                changed |= item_changed;
                item
            });
            (Value::Array(masked.collect()), changed)
        }
        Value::Object(fields) => {
            let mut changed = false;
            let mut masked = Map::new();
            for (key, field) in fields {
                let (field, field_changed) = mask_field(key, field, known);
                let new_key = known.mask(key);
                changed |= field_changed || new_key != key.as_str();
                masked.insert(new_key.into_owned(), field);
            }
            (Value::Object(masked), changed)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => (value.clone(), false),
    }
}

fn mask_field(key: &str, field: &Value, known: &SecretSet) -> (Value, bool) {
    if let Value::String(text) = field
        && shapes::is_assigned(&format!("{key}: "), text)
    {
        return (Value::String(marker(shapes::ASSIGNED)), true);
    }
    mask_value_with(field, known)
}

/// Masks text that arrives in pieces.
///
/// What [`Masker::push`] and [`Masker::finish`] give together is what the whole text would have been
/// masked to, however it was cut. Held back is only what may be the beginning of a secret: the run of
/// characters at the end that has not ended yet, at most some 8 KiB, and what may begin a value of the
/// operator's.
#[derive(Debug, Default)]
pub struct Masker {
    known: SecretSet,
    /// What may begin a known value.
    held: String,
    /// Text already given, for context, then text not decided yet.
    buffer: String,
    /// Where in `buffer` the undecided text begins.
    from: usize,
    scanner: Scanner,
}

impl Masker {
    /// One that masks known shapes and the values of `known`.
    #[must_use]
    pub fn new(known: SecretSet) -> Self {
        Self { known, ..Self::default() }
    }

    /// Takes the next piece and gives what is decided by now.
    #[must_use]
    pub fn push(&mut self, chunk: &str) -> String {
        self.advance(chunk, false)
    }

    /// Gives the rest.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.advance("", true)
    }

    fn advance(&mut self, chunk: &str, last: bool) -> String {
        self.held.push_str(chunk);
        let known = self.known.replace(&self.held, last, &mut self.buffer);
        self.held.drain(..known);
        let mut edits = Vec::new();
        let to = self.scanner.scan(&self.buffer, self.from, last, &mut edits);
        let mut masked = String::new();
        apply(&self.buffer, self.from..to, &edits, &mut masked);
        let mut keep_from = to.saturating_sub(CONTEXT_BYTES);
        while !self.buffer.is_char_boundary(keep_from) {
            keep_from -= 1;
        }
        self.buffer.drain(..keep_from);
        self.from = to - keep_from;
        masked
    }
}

fn marker(kind: &str) -> String {
    format!("{MASKED}{kind}]")
}

/// Writes a range of `text` with the edits made; they lie in the range, in order, apart from each other.
fn apply(text: &str, range: std::ops::Range<usize>, edits: &[Edit], out: &mut String) {
    let mut from = range.start;
    for edit in edits {
        out.push_str(&text[from..edit.range.start]);
        if let Some(kind) = edit.kind {
            out.push_str(&marker(kind));
        }
        from = edit.range.end;
    }
    out.push_str(&text[from..range.end]);
}
