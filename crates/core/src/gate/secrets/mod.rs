//! Keeps secrets out of what agents and journals see: known shapes, and values an operator names.
//!
//! In: text on its way to a journal, a screen or a model. Out: the same text with each secret replaced
//! by `[masked:<kind>]`. What has no known shape, is in no assignment and was not named can't be seen;
//! this is a net, not a proof. The result is the same however the text is cut into chunks.
//!
//! Begin with [`mask`]. [`Masker`] does the same for text that arrives in pieces, [`SecretSet`] adds an
//! operator's own values. The shapes are in `shapes.rs` and `prefixes.rs`, the pass over the text in `scan.rs`; a
//! secret with escapes in it is found in `unescaped.rs`, one that a line end breaks in `wrapped.rs`. `Finder` has
//! the order of all of them.

mod base64;
mod prefixes;
mod scan;
mod secret_set;
mod shapes;
mod unescaped;
mod wrapped;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use serde_json::{Map, Value};

use scan::{CONTEXT_BYTES, MaskEdit, Scanner};
pub use secret_set::{SecretSet, VALUE_BYTES_MIN};
use unescaped::{Unescaped, has_escapes};

/// The beginning of every mask of a secret.
pub(super) const MASKED: &str = "[masked:";

/// The text with every secret of a known shape replaced by `[masked:<kind>]`; borrowed if there is none.
#[must_use]
pub fn mask(text: &str) -> Cow<'_, str> {
    mask_with(text, &SecretSet::default())
}

fn mask_with<'t>(text: &'t str, known: &SecretSet) -> Cow<'t, str> {
    let mut masked = Cow::Borrowed(text);
    let (mut has_escapes_left, mut is_changed) = (true, true);
    for mut finder in Finder::all() {
        match finder {
            Finder::Known if known.is_empty() => continue,
            Finder::KnownEscaped => {
                has_escapes_left = has_escapes(&masked);
                if known.is_empty() || !has_escapes_left {
                    continue;
                }
            }
            // Without escapes it was looked at just so.
            Finder::WrappedEscaped | Finder::Plain(_) if !has_escapes_left && !is_changed => continue,
            Finder::Known | Finder::Wrapped | Finder::WrappedEscaped | Finder::Escaped(_) | Finder::Plain(_) => {}
        }
        let mut edits = Vec::new();
        let DecidedRange { to, .. } = finder.find(known, &masked, 0, true, &mut edits);
        is_changed = !edits.is_empty();
        if is_changed {
            let mut out = String::with_capacity(masked.len());
            apply(&masked, 0..to, &edits, &mut out);
            masked = Cow::Owned(out);
        }
    }
    masked
}

/// One way of finding secrets, after the other: each gets what the one before has left.
#[derive(Debug)]
enum Finder {
    /// An operator's values, as they are.
    Known,
    /// Secrets that a line end breaks; first, since a part of one may look whole.
    Wrapped,
    /// An operator's values with escapes in them.
    KnownEscaped,
    /// Finds keys that a break with escapes in it breaks.
    WrappedEscaped,
    /// Known shapes, as they are read with escapes decoded.
    Escaped(Scanner),
    /// Known shapes as they are: decoding may take apart what is no escape.
    Plain(Scanner),
}

/// The end of the decided text, and the beginning of the text that is needed to go on.
struct DecidedRange {
    to: usize,
    keep: usize,
}

impl Finder {
    fn all() -> [Self; 6] {
        [
            Self::Known,
            Self::Wrapped,
            Self::KnownEscaped,
            Self::WrappedEscaped,
            Self::Escaped(Scanner::default()),
            Self::Plain(Scanner::default()),
        ]
    }

    /// Adds what to replace in `text` from `from` on to `edits`, in order and apart from each other.
    fn find(
        &mut self,
        known: &SecretSet,
        text: &str,
        from: usize,
        last: bool,
        edits: &mut Vec<MaskEdit>,
    ) -> DecidedRange {
        match self {
            Self::Known => {
                let to = known.find(text, from, last, edits);
                DecidedRange { to, keep: to }
            }
            Self::Wrapped => {
                let to = wrapped::find(known, text, from, last, edits);
                DecidedRange { to, keep: before(text, to, wrapped::CONTEXT_BYTES) }
            }
            Self::KnownEscaped => {
                let read = Unescaped::of(&text[from..], last);
                let mut found = Vec::new();
                let to = known.find(&read.text, 0, last, &mut found);
                let in_text = |range: Range<usize>| from + range.start..from + range.end;
                edits.extend(
                    found.into_iter().map(|edit| MaskEdit { range: in_text(read.original(&edit.range)), ..edit }),
                );
                let to = from + read.start(to);
                DecidedRange { to, keep: to }
            }
            Self::WrappedEscaped => {
                let read = Unescaped::of(text, last);
                let mut found = Vec::new();
                let to = wrapped::find(known, &read.text, read.read_at(from), last, &mut found);
                edits.extend(found.into_iter().map(|edit| MaskEdit { range: read.original(&edit.range), ..edit }));
                let end = if last { text.len() } else { read.end(to).max(from) };
                DecidedRange { to: end, keep: read.start(before(&read.text, to, wrapped::CONTEXT_BYTES)).min(end) }
            }
            Self::Escaped(scanner) => {
                let read = Unescaped::of(text, last);
                let mut found = Vec::new();
                let to = scanner.scan(&read.text, read.read_at(from), last, &mut found);
                edits.extend(found.into_iter().map(|edit| {
                    let range = read.original(&edit.range);
                    // What goes on with a secret goes on right behind it, with the escapes between.
                    let start = if edit.kind.is_none() { read.end(edit.range.start).max(from) } else { range.start };
                    MaskEdit { range: start..range.end, ..edit }
                }));
                let end = if last { text.len() } else { read.end(to).max(from) };
                DecidedRange { to: end, keep: read.start(before(&read.text, to, CONTEXT_BYTES)).min(end) }
            }
            Self::Plain(scanner) => {
                let to = scanner.scan(text, from, last, edits);
                DecidedRange { to, keep: before(text, to, CONTEXT_BYTES) }
            }
        }
    }
}

/// The place so many bytes before `at`, a little more where that would cut a character.
fn before(text: &str, at: usize, bytes: usize) -> usize {
    let mut before = at.saturating_sub(bytes);
    while !text.is_char_boundary(before) {
        before -= 1;
    }
    before
}

/// True if something in `text` was masked.
#[must_use]
pub fn is_masked(text: &str) -> bool {
    text.contains(MASKED)
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
/// The outputs of [`Masker::push`] and [`Masker::finish`] together are the whole text, masked, however it was cut. Held
/// back is only the possible beginning of a secret: the run of characters at the end that has not ended yet, at most
/// some 8 KiB for each `Finder`, lines that go on with one, and the possible beginning of a value of the operator's.
#[derive(Debug)]
pub struct Masker {
    known: SecretSet,
    stages: Vec<Stage>,
}

impl Default for Masker {
    fn default() -> Self {
        Self::new(SecretSet::default())
    }
}

/// One finder over text that arrives in pieces.
#[derive(Debug)]
struct Stage {
    finder: Finder,
    /// Text already given, for context, then text not decided yet.
    buffer: String,
    /// Start of the undecided text in `buffer`.
    from: usize,
}

impl Masker {
    /// One that masks known shapes and the values of `known`.
    #[must_use]
    pub fn new(known: SecretSet) -> Self {
        let stages = Finder::all().into_iter().map(|finder| Stage { finder, buffer: String::new(), from: 0 });
        Self { known, stages: stages.collect() }
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
        let Self { known, stages } = self;
        stages.iter_mut().fold(chunk.to_owned(), |text, stage| stage.advance(known, &text, last))
    }
}

impl Stage {
    fn advance(&mut self, known: &SecretSet, chunk: &str, last: bool) -> String {
        self.buffer.push_str(chunk);
        let mut edits = Vec::new();
        let DecidedRange { to, keep } = self.finder.find(known, &self.buffer, self.from, last, &mut edits);
        let mut masked = String::new();
        apply(&self.buffer, self.from..to, &edits, &mut masked);
        self.buffer.drain(..keep);
        self.from = to - keep;
        masked
    }
}

/// The text with secrets masked, then cut to `chars_max` characters, with `mark` behind it if it was longer. In this
/// order, since of a secret that is cut nobody can tell what it is; a long word that the cut goes through is left out
/// as well, since it may be a value that only whoever masks later knows.
#[must_use]
pub fn cut_chars(text: &str, chars_max: usize, mark: &str) -> String {
    let masked = mask(text);
    let Some((end, _)) = masked.char_indices().nth(chars_max) else { return masked.into_owned() };
    let cut = without_part_at_end(&masked[..end]);
    let rest = scan::end_of_run(masked.as_bytes(), end, masked.len()) - end;
    let part = end - cut.len();
    // A word that is short as a whole is no secret.
    let kept = if rest > 0 && part + rest >= scan::RUN_BYTES_MIN { cut } else { &masked[..end] };
    format!("{kept}{mark}")
}

/// Length of a part of a secret that may be left at a cut, in bytes: a shorter part reveals nothing.
const PART_BYTES_MIN: usize = 8;
/// A longer run at a cut is not left out whole.
const PART_BYTES_MAX: usize = 4096;

/// A text that was cut at its end, without the run of characters there, which may be a part of a secret.
#[must_use]
pub fn without_part_at_end(text: &str) -> &str {
    let from = text.len().saturating_sub(PART_BYTES_MAX);
    let start = scan::start_of_last_run(text.as_bytes(), from);
    if text.len() - start < PART_BYTES_MIN { text } else { &text[..start] }
}

/// The same for a text that was cut at its beginning.
#[must_use]
pub fn without_part_at_start(text: &str) -> &str {
    let end = scan::end_of_run(text.as_bytes(), 0, text.len().min(PART_BYTES_MAX));
    if end < PART_BYTES_MIN { text } else { &text[end..] }
}

fn marker(kind: &str) -> String {
    format!("{MASKED}{kind}]")
}

/// Writes a range of `text` with the edits made; they lie in the range, in order, apart from each other.
fn apply(text: &str, range: Range<usize>, edits: &[MaskEdit], out: &mut String) {
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
