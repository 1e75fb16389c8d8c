//! The check of a value against a schema that is made from a type of ours.
//!
//! It knows the keywords that these schemas have, and a test refuses any other. The crate jsonschema, which checks by
//! the whole standard, is a sixteenth of the binary for this; the words of a fault are its own, since journals have
//! them.

use serde_json::{Map, Value};

use super::{FAULTS_MAX, Fault};

/// The longest text of a fault, in characters.
const FAULT_CHARS_MAX: usize = 300;
/// The one pattern of our schemas: there is a character that is no white space.
const NOT_BLANK: &str = r"\S";
/// Words of an enum that a fault names before it only counts them.
const NAMED_MAX: usize = 3;

/// Returns the faults of a value by its schema, the first [`FAULTS_MAX`] of them.
pub(super) fn faults(schema: &Value, value: &Value) -> Vec<Fault> {
    let mut found = Vec::new();
    check(schema, value, "$", &mut found);
    found.truncate(FAULTS_MAX);
    found
}

fn check(schema: &Value, value: &Value, path: &str, found: &mut Vec<Fault>) {
    if found.len() >= FAULTS_MAX {
        return;
    }
    match &schema["type"] {
        Value::String(name) if !is_of(value, name) => add(found, path, &format!("{value} is not of type \"{name}\"")),
        Value::Array(names) if !strings(names).any(|name| is_of(value, name)) => {
            let mut names: Vec<String> = strings(names).map(|name| format!("\"{name}\"")).collect();
            names.sort_unstable();
            add(found, path, &format!("{value} is not of types {}", names.join(", ")));
        }
        _ => {}
    }
    if let Some(only) = schema.get("const").filter(|only| *only != value) {
        add(found, path, &format!("{only} was expected"));
    }
    if let Some(words) = schema["enum"].as_array().filter(|words| !words.contains(value)) {
        add(found, path, &format!("{value} is not one of {}", listed(words)));
    }
    match value {
        Value::String(text) if schema["pattern"] == NOT_BLANK && text.chars().all(is_blank) => {
            add(found, path, "must not be blank");
        }
        Value::Array(items) => check_items(schema, value, items, path, found),
        Value::Object(fields) => check_fields(schema, fields, path, found),
        _ => {}
    }
    // The choices of a `oneOf` are words that differ, so that no value is two of them.
    for keyword in ["anyOf", "oneOf"] {
        let Value::Array(choices) = &schema[keyword] else { continue };
        if choices.iter().all(|choice| !faults(choice, value).is_empty()) {
            let what = format!("{value} is not valid under any of the schemas listed in the '{keyword}' keyword");
            add(found, path, &what);
        }
    }
}

fn check_items(schema: &Value, value: &Value, items: &[Value], path: &str, found: &mut Vec<Fault>) {
    let items_of = |count: usize| if count == 1 { "item" } else { "items" };
    if let Some(least) = limit(schema, "minItems").filter(|least| items.len() < *least) {
        add(found, path, &format!("{value} has less than {least} {}", items_of(least)));
    }
    if let Some(most) = limit(schema, "maxItems").filter(|most| items.len() > *most) {
        add(found, path, &format!("{value} has more than {most} {}", items_of(most)));
    }
    if let of_item @ Value::Object(_) = &schema["items"] {
        for (index, item) in items.iter().enumerate() {
            check(of_item, item, &format!("{path}[{index}]"), found);
        }
    }
}

fn check_fields(schema: &Value, fields: &Map<String, Value>, path: &str, found: &mut Vec<Fault>) {
    for name in schema["required"].as_array().into_iter().flat_map(|names| strings(names)) {
        if !fields.contains_key(name) {
            add(found, path, &format!("\"{name}\" is a required property"));
        }
    }
    let Value::Object(properties) = &schema["properties"] else { return };
    let mut unknown = Vec::new();
    for (name, field) in fields {
        match properties.get(name) {
            Some(of_field) => check(of_field, field, &format!("{path}.{name}"), found),
            None => unknown.push(format!("'{name}'")),
        }
    }
    if schema["additionalProperties"] == false && !unknown.is_empty() {
        let were = if unknown.len() == 1 { "was" } else { "were" };
        let unknown = unknown.join(", ");
        add(found, path, &format!("Additional properties are not allowed ({unknown} {were} unexpected)"));
    }
}

fn add(found: &mut Vec<Fault>, path: &str, what: &str) {
    found.push(Fault { path: Some(path.to_owned()), what: what.chars().take(FAULT_CHARS_MAX).collect() });
}

fn limit(schema: &Value, keyword: &str) -> Option<usize> {
    schema[keyword].as_u64().and_then(|limit| usize::try_from(limit).ok())
}

fn is_of(value: &Value, type_name: &str) -> bool {
    match type_name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

/// Returns true for white space as ECMA-262 has it, whose patterns JSON Schema uses.
fn is_blank(c: char) -> bool {
    c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}')
}

fn strings(values: &[Value]) -> impl Iterator<Item = &str> {
    values.iter().filter_map(Value::as_str)
}

/// Returns the words of an enum, for a person.
fn listed(words: &[Value]) -> String {
    let named: Vec<String> = words.iter().map(Value::to_string).collect();
    if named.len() > NAMED_MAX {
        let shown = NAMED_MAX - 1;
        return format!("{} or {} other candidates", named[..shown].join(", "), named.len() - shown);
    }
    match named.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => named.concat(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::handoff::SCHEMAS;

    /// Asserts that `schema` says nothing that the check passes over.
    fn assert_is_known(schema: &Value) {
        let Value::Object(keywords) = schema else {
            assert_eq!(schema, true);
            return;
        };
        for (keyword, value) in keywords {
            match keyword.as_str() {
                "$schema" | "title" | "description" | "default" => {}
                // Said of numbers, and no more than said.
                "format" => assert_eq!(value, "double"),
                "const" => assert!(value.is_string(), "{value}"),
                "enum" => {
                    let are_words = |word: &Value| word.is_string() || word.is_null();
                    assert!(value.as_array().expect("words").iter().all(are_words), "{value}");
                }
                "type" => {
                    let known = ["null", "boolean", "number", "string", "array", "object"];
                    let names = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
                    assert!(strings(&names).all(|name| known.contains(&name)), "{value}");
                }
                "minItems" | "maxItems" => assert!(value.is_u64(), "{value}"),
                "required" => assert!(value.is_array(), "{value}"),
                "pattern" => assert_eq!(value, NOT_BLANK),
                "additionalProperties" => assert!(schema["properties"].is_object() && value == false, "{value}"),
                "items" => assert_is_known(value),
                "properties" => value.as_object().expect("properties").values().for_each(assert_is_known),
                "anyOf" => value.as_array().expect("choices").iter().for_each(assert_is_known),
                "oneOf" => {
                    let choices = value.as_array().expect("choices");
                    choices.iter().for_each(assert_is_known);
                    let words: std::collections::HashSet<_> =
                        choices.iter().map(|choice| choice["const"].as_str().expect("a word")).collect();
                    assert_eq!(words.len(), choices.len());
                }
                _ => panic!("the check passes over `{keyword}` in {schema}"),
            }
        }
    }

    #[test]
    fn every_keyword_of_our_schemas_is_checked() {
        for (_, schema) in SCHEMAS.iter() {
            assert_is_known(schema);
        }
    }

    #[test]
    fn a_fault_has_the_words_that_journals_have() {
        let told = |schema: Value, value: Value| {
            let lines: Vec<String> = faults(&schema, &value)
                .into_iter()
                .map(|fault| format!("{}: {}", fault.path.expect("a path"), fault.what))
                .collect();
            lines.join("\n")
        };
        for (schema, value, expected) in [
            (json!({"type": "string"}), json!(5), "$: 5 is not of type \"string\""),
            (json!({"type": ["string", "null"]}), json!([]), "$: [] is not of types \"null\", \"string\""),
            (json!({"const": "a"}), json!("b"), "$: \"a\" was expected"),
            (json!({"enum": ["a"]}), json!("x"), "$: \"x\" is not one of \"a\""),
            (json!({"enum": ["a", "b", "c"]}), json!("x"), "$: \"x\" is not one of \"a\", \"b\" or \"c\""),
            (
                json!({"enum": ["a", "b", "c", "d"]}),
                json!("x"),
                "$: \"x\" is not one of \"a\", \"b\" or 2 other candidates",
            ),
            (json!({"minItems": 1}), json!([]), "$: [] has less than 1 item"),
            (json!({"minItems": 2}), json!([1]), "$: [1] has less than 2 items"),
            (json!({"maxItems": 1}), json!([1, 2]), "$: [1,2] has more than 1 item"),
            (json!({"required": ["a", "b"]}), json!({"b": 1}), "$: \"a\" is a required property"),
            (json!({"pattern": r"\S"}), json!(" \u{feff}\u{2003}\n"), "$: must not be blank"),
            (json!({"pattern": r"\S"}), json!("\u{85}"), ""),
            (
                json!({"properties": {"a": {"items": {"type": "string"}}}}),
                json!({"a": ["x", 1, null]}),
                "$.a[1]: 1 is not of type \"string\"\n$.a[2]: null is not of type \"string\"",
            ),
            (
                json!({"properties": {"a": true}, "additionalProperties": false}),
                json!({"b": 1, "a": 2, "c": 3}),
                "$: Additional properties are not allowed ('b', 'c' were unexpected)",
            ),
            (
                json!({"anyOf": [{"enum": ["a"]}, {"type": "null"}]}),
                json!("b"),
                "$: \"b\" is not valid under any of the schemas listed in the 'anyOf' keyword",
            ),
            (json!({"anyOf": [{"enum": ["a"]}, {"type": "null"}]}), json!(null), ""),
            (
                json!({"oneOf": [{"const": "a"}, {"const": "b"}]}),
                json!("c"),
                "$: \"c\" is not valid under any of the schemas listed in the 'oneOf' keyword",
            ),
            (json!({"oneOf": [{"const": "a"}, {"const": "b"}]}), json!("b"), ""),
        ] {
            assert_eq!(told(schema.clone(), value.clone()), expected, "{value} by {schema}");
        }
    }

    #[test]
    fn so_many_faults_are_told_and_each_is_cut() {
        let found = faults(&json!({"items": {"type": "string"}}), &json!(vec![json!(["x".repeat(400)]); 20]));
        assert_eq!(found.len(), FAULTS_MAX);
        assert!(found.iter().all(|fault| fault.what.chars().count() == FAULT_CHARS_MAX), "{found:?}");
    }
}
