//! The fields of a type of event: what each must be so that a line can be read, and what redaction does to it.
//!
//! A field that a view prints or adds up is needed; one that it can do without may be absent or `null`.
//! Either way a field that is there has the right type, or the line is damaged.

use serde::de::DeserializeOwned;

use crate::trace::read::{Fields, items_of, number_of, object_of, text_of};
use crate::words::Slot;

/// One field of an event.
#[derive(Debug)]
pub(in crate::trace) struct Field {
    name: &'static str,
    shape: Shape,
    is_needed: bool,
    /// The rule by which it is redacted.
    pub(in crate::trace) rule: RedactionRule,
}

#[derive(Debug)]
enum Shape {
    /// Any value: no reader relies on it.
    Any,
    Text,
    Number,
    Flag,
    Texts,
    Numbers,
    Object(&'static [Field]),
    Objects(&'static [Field]),
    /// The name of something asked for.
    Slot,
    /// A value that serde reads as one of our own types.
    Typed(fn(&str) -> bool),
}

/// The rule by which a field is redacted.
#[derive(Debug)]
pub(in crate::trace) enum RedactionRule {
    /// Numbers, flags and words stay: names, hashes, times, words of ours. A text that is no word is content.
    Plain,
    /// A text, or several: each says how long it was.
    Text,
    /// A value of any form: it says how long it was.
    Whole,
    /// It is left out with its name.
    Gone,
    /// An object with these fields.
    Object(&'static [Field]),
    /// A list of such objects.
    Objects(&'static [Field]),
    /// An object whose names are words, and whose values are of one kind.
    MapOf(&'static RedactionRule),
    /// Not decided: numbers and flags stay.
    Unknown,
}

impl Field {
    const fn new(name: &'static str, shape: Shape, is_needed: bool) -> Self {
        Self { name, shape, is_needed, rule: RedactionRule::Plain }
    }

    /// The field may be absent.
    pub(in crate::trace) const fn or_absent(mut self) -> Self {
        self.is_needed = false;
        self
    }

    /// Marks the field as text, or several, that was said, written or read in the run.
    pub(in crate::trace) const fn content(self) -> Self {
        self.redacted(RedactionRule::Text)
    }

    /// The field is content of any form.
    pub(in crate::trace) const fn whole(self) -> Self {
        self.redacted(RedactionRule::Whole)
    }

    /// The field is left out with its name when redacted.
    pub(in crate::trace) const fn gone(self) -> Self {
        self.redacted(RedactionRule::Gone)
    }

    /// Marks the field as the peer's: whether it is content is not decided.
    pub(in crate::trace) const fn undecided(self) -> Self {
        self.redacted(RedactionRule::Unknown)
    }

    /// The field is redacted by this rule.
    pub(in crate::trace) const fn redacted(mut self, rule: RedactionRule) -> Self {
        self.rule = rule;
        self
    }
}

/// A field that no reader relies on; it may be anything, or absent.
pub(in crate::trace) const fn any(name: &'static str) -> Field {
    Field::new(name, Shape::Any, false)
}

pub(in crate::trace) const fn text(name: &'static str) -> Field {
    Field::new(name, Shape::Text, true)
}

pub(in crate::trace) const fn number(name: &'static str) -> Field {
    Field::new(name, Shape::Number, true)
}

pub(in crate::trace) const fn flag(name: &'static str) -> Field {
    Field::new(name, Shape::Flag, true)
}

pub(in crate::trace) const fn texts(name: &'static str) -> Field {
    Field::new(name, Shape::Texts, true)
}

pub(in crate::trace) const fn numbers(name: &'static str) -> Field {
    Field::new(name, Shape::Numbers, true)
}

pub(in crate::trace) const fn slot() -> Field {
    Field::new("slot", Shape::Slot, true)
}

pub(in crate::trace) const fn typed<T: DeserializeOwned>(name: &'static str) -> Field {
    Field::new(name, Shape::Typed(reads_as::<T>), true)
}

/// An object that is read and redacted field by field.
pub(in crate::trace) const fn object(name: &'static str, fields: &'static [Field]) -> Field {
    Field::new(name, Shape::Object(fields), true).redacted(RedactionRule::Object(fields))
}

/// A list of objects that are read and redacted field by field.
pub(in crate::trace) const fn objects(name: &'static str, fields: &'static [Field]) -> Field {
    Field::new(name, Shape::Objects(fields), true).redacted(RedactionRule::Objects(fields))
}

fn reads_as<T: DeserializeOwned>(json: &str) -> bool {
    serde_json::from_str::<T>(json).is_ok()
}

/// Returns the field of this name.
pub(in crate::trace) fn field_in(fields: &'static [Field], name: &str) -> Option<&'static Field> {
    fields.iter().find(|field| field.name == name)
}

/// True if `fields` are as `expected` says.
pub(in crate::trace) fn hold(expected: &[Field], fields: &Fields<'_>) -> bool {
    expected.iter().filter(|field| !matches!(field.shape, Shape::Any)).all(|field| match fields.json(field.name) {
        None => !field.is_needed,
        Some(json) => field.shape.fits(json),
    })
}

impl Shape {
    fn fits(&self, json: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Text => text_of(json).is_some(),
            Self::Number => number_of(json).is_some(),
            Self::Flag => matches!(json, "true" | "false"),
            Self::Texts => items_of(json).is_some_and(|items| items.into_iter().all(|item| text_of(item).is_some())),
            Self::Numbers => {
                items_of(json).is_some_and(|items| items.into_iter().all(|item| number_of(item).is_some()))
            }
            Self::Object(expected) => object_of(json).is_some_and(|fields| hold(expected, &fields)),
            Self::Objects(expected) => items_of(json).is_some_and(|items| {
                items.into_iter().all(|item| object_of(item).is_some_and(|fields| hold(expected, &fields)))
            }),
            Self::Slot => text_of(json).is_some_and(|text| text.parse::<Slot>().is_ok()),
            Self::Typed(reads) => reads(json),
        }
    }
}

/// The fields that every line may have. The peer's `permission_revoked` has no `at`, so none is needed.
pub(in crate::trace) static HEAD: &[Field] = &[
    text("type"),
    text("at").or_absent(),
    number("seq").or_absent(),
    text("part").or_absent(),
    text("prev").or_absent(),
];
