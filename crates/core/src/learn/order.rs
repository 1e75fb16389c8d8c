//! One order for everything that learning lists, and JSON in it.
//!
//! Names are ordered by their UTF-16 code units, on every machine, whatever its language; keys of objects, too.
//! The peer orders some lists as a dictionary would; only its own format needs that.

use std::cmp::Ordering;

use icu_collator::CollatorBorrowed;
use icu_collator::options::CollatorOptions;
use serde::Serialize;
use serde_json::{Map, Value};

/// Compares two texts by code units.
#[must_use]
pub fn by_code_units(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

/// The order of a dictionary: that of the Unicode collation algorithm, without a language of its own.
pub(super) fn by_dictionary(names: &mut [String]) {
    // By its constructor for the root alone, the program has no data of languages, which are a megabyte.
    let collator = CollatorBorrowed::new_root(CollatorOptions::default());
    names.sort_by(|a, b| collator.compare(a, b).then_with(|| by_code_units(a, b)));
}

/// `report` as JSON, two spaces for each level, keys in the order of code units at every level, with a line feed.
#[must_use]
pub fn sorted_json(report: &impl Serialize) -> String {
    let value = serde_json::to_value(report).expect("reports have string keys and finite numbers");
    let mut text = serde_json::to_string_pretty(&sorted(value)).expect("a value is JSON");
    text.push('\n');
    text
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut pairs: Vec<(String, Value)> = map.into_iter().collect();
            pairs.sort_by(|(a, _), (b, _)| by_code_units(a, b));
            Value::Object(pairs.into_iter().map(|(name, value)| (name, sorted(value))).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        // A whole number is written without a fraction, as the peer writes it.
        Value::Number(number) => match number.as_f64() {
            #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0 => {
                Value::from(float as i64)
            }
            _ => Value::Number(number),
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dictionary_puts_case_last_and_accents_before_it() {
        let mut names: Vec<String> =
            ["b-M", "b-m", "b-_m", "b-12", "b-5", "f", "é", "e", "B", "b", "a.b", "a-b", "a_b"]
                .map(str::to_owned)
                .into();
        by_dictionary(&mut names);
        // As JavaScript's localeCompare orders them.
        assert_eq!(names, ["a_b", "a-b", "a.b", "b", "B", "b-_m", "b-12", "b-5", "b-m", "b-M", "e", "é", "f"]);
    }

    #[test]
    fn keys_are_in_the_order_of_code_units() {
        let report = serde_json::json!({"b": {"z": 1.0, "a": 2.5}, "\u{e000}": 1, "😀": 2, "B": [{"y": 1, "x": 2}]});
        let text = sorted_json(&report);
        let place = |what: &str| text.find(what).expect("there");
        assert!(place("\"B\"") < place("\"b\"") && place("\"b\"") < place("😀") && place("😀") < place("\u{e000}"));
        assert!(place("\"x\"") < place("\"y\"") && text.contains("\"z\": 1\n"), "{text}");
    }
}
