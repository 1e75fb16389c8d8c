//! Arguments of each tool, and the message for an agent that gave invalid ones.
//!
//! The JSON Schemas are generated from these types, so that the schema offered is the schema read.

use adjutant_core::memory::MemoryCategory;
use adjutant_core::words::tool::ToolOutput;
use adjutant_core::words::wait::PullRequestName;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Arguments of `read_file`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ReadFile {
    /// Path of the file, relative to the working directory.
    pub(crate) path: String,
    /// The first line to return, from 1.
    #[serde(default)]
    pub(crate) offset: Option<Positive>,
    /// How many lines to return; all if absent.
    #[serde(default)]
    pub(crate) limit: Option<Positive>,
    /// The most bytes to return; 1000000 if absent.
    #[serde(default)]
    pub(crate) max_bytes: Option<Size>,
}

/// Arguments of `write_file`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct WriteFile {
    /// Path of the file, relative to the working directory. Missing folders are created.
    pub(crate) path: String,
    /// The whole content, written as given.
    pub(crate) content: String,
    /// Whether to add to the end of the file instead of replacing it; false if absent.
    #[serde(default)]
    pub(crate) append: Option<bool>,
}

/// Arguments of `list_dir`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ListDir {
    /// Path of the folder, relative to the working directory; `.` is the working directory.
    pub(crate) path: String,
    /// How many levels to list; 1 if absent.
    #[serde(default)]
    pub(crate) depth: Option<Positive>,
    /// List only what matches this pattern, by name or by path from the listed folder.
    #[serde(default)]
    pub(crate) glob: Option<String>,
}

/// Arguments of `shell_exec`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ShellExec {
    /// The command line.
    pub(crate) cmd: String,
    /// The folder to run it in, relative to the working directory.
    #[serde(default)]
    pub(crate) cwd: Option<String>,
    /// The time limit in milliseconds; 30000 if absent, at most 300000.
    #[serde(default)]
    pub(crate) timeout_ms: Option<Positive>,
    /// The shell that gets the command line after `-c`; `bash` if absent.
    #[serde(default)]
    pub(crate) shell: Option<String>,
}

/// Arguments of `wait_for`: one condition, and limits.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct WaitFor {
    /// Wait so many seconds.
    #[serde(default)]
    pub(crate) seconds: Option<Positive>,
    /// Wait until something is at this path, relative to the working directory.
    #[serde(default)]
    pub(crate) file: Option<String>,
    /// Wait until nothing is at this path any more.
    #[serde(default)]
    pub(crate) gone: Option<String>,
    /// Wait until this port of this machine accepts connections.
    #[serde(default)]
    pub(crate) port: Option<Size>,
    /// Wait until this command line exits with 0. It is run again and again.
    #[serde(default)]
    pub(crate) command: Option<String>,
    /// Wait until all checks of this pull request, a number or branch, have passed, or one has failed.
    #[serde(default)]
    pub(crate) ci: Option<PullRequest>,
    /// Wait until this pull request, a number or branch, is merged or closed.
    #[serde(default)]
    pub(crate) pull_request: Option<PullRequest>,
    /// true: wait until the operator says something.
    #[serde(default)]
    pub(crate) message: Option<bool>,
    /// How often to look, in seconds; 10 if absent where a command is run, else 1.
    #[serde(default)]
    pub(crate) every_seconds: Option<Positive>,
    /// The most seconds to wait; 3600 if absent, at most 86400.
    #[serde(default)]
    pub(crate) limit_seconds: Option<Positive>,
}

/// A pull request by its number or branch.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) struct PullRequest(pub(crate) PullRequestName);

impl TryFrom<Value> for PullRequest {
    type Error = &'static str;

    fn try_from(given: Value) -> Result<Self, Self::Error> {
        PullRequestName::read(&given).map(Self).ok_or("a pull request is named by its number or its branch")
    }
}

impl JsonSchema for PullRequest {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PullRequest".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["string", "number"] })
    }
}

/// Arguments of `http_fetch`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct HttpFetch {
    /// The address; https, or http for hosts that the operator listed by name.
    pub(crate) url: String,
    /// The method; GET if absent.
    #[serde(default)]
    pub(crate) method: Option<String>,
    /// Headers to send, by name.
    #[serde(default)]
    pub(crate) headers: Option<std::collections::BTreeMap<String, String>>,
    /// The body to send.
    #[serde(default)]
    pub(crate) body: Option<String>,
    /// The time limit for everything in milliseconds; 15000 if absent, at most 300000.
    #[serde(default)]
    pub(crate) timeout_ms: Option<Positive>,
    /// The most bytes of the body to return; 5000000 if absent.
    #[serde(default)]
    pub(crate) max_bytes: Option<Size>,
}

/// Arguments of `apply_patch`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ApplyPatch {
    /// A unified diff; it may change, create, delete, rename and copy several files. All of it is done or
    /// none.
    pub(crate) diff: String,
}

/// Arguments of `read_project_memory`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ReadMemory {
    /// What to read.
    pub(crate) category: MemoryKind,
    /// The project; your own if absent. Another one needs an authorization.
    #[serde(default)]
    pub(crate) project: Option<String>,
    /// Only the entry of this id.
    #[serde(default)]
    pub(crate) id: Option<String>,
    /// Only entries that hold this text, in any case.
    #[serde(default)]
    pub(crate) query: Option<String>,
    /// Only entries that hold any of these words, best first.
    #[serde(default)]
    pub(crate) words: Option<String>,
    /// Only entries from this day or time on, such as 2026-01-31.
    #[serde(default)]
    pub(crate) since: Option<String>,
    /// The most entries, newest first; 50 if absent, 0 for as many as there may be: 500.
    #[serde(default)]
    pub(crate) limit: Option<Size>,
}

/// Arguments of `list_project_memory`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ListMemory {
    /// The project; your own if absent. Another one needs an authorization.
    #[serde(default)]
    pub(crate) project: Option<String>,
    /// Only this category.
    #[serde(default)]
    pub(crate) category: Option<MemoryKind>,
    /// Only entries from this day or time on, such as 2026-01-31.
    #[serde(default)]
    pub(crate) since: Option<String>,
    /// The most entries of each category, newest first; 100 if absent, 0 for as many as there may be: 500.
    #[serde(default)]
    pub(crate) limit: Option<Size>,
}

/// Arguments of `write_project_memory`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct WriteMemory {
    /// What kind of entry it is.
    pub(crate) category: MemoryKind,
    /// What to remember.
    pub(crate) entry: MemoryEntry,
}

/// A category of what a project remembers.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct MemoryKind(pub(crate) MemoryCategory);

impl TryFrom<String> for MemoryKind {
    type Error = &'static str;

    fn try_from(given: String) -> Result<Self, Self::Error> {
        given.parse().map(Self)
    }
}

impl JsonSchema for MemoryKind {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "MemoryKind".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "enum": MemoryCategory::ALL.map(MemoryCategory::as_str) })
    }
}

/// The fields of an entry; which are needed depends on the category.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct MemoryEntry(pub(crate) serde_json::Map<String, Value>);

impl JsonSchema for MemoryEntry {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "MemoryEntry".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let text = |description: &str| serde_json::json!({ "type": "string", "description": description });
        schemars::json_schema!({
            "type": "object",
            "properties": {
                "summary": text("decisions: what was decided"),
                "rationale": text("decisions: why; constraints: why, if you know"),
                "content": text("knowledge: what was found out"),
                "rule": text("constraints: what must hold"),
                "supersedes": text("the id of the entry of this category that this one takes the place of"),
            },
        })
    }
}

/// A number of at least 0; a fraction is cut, since agents write `100.0`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "f64")]
pub(crate) struct Size(pub(crate) u64);

/// A number above 0; below 1 it counts as 1.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "f64")]
pub(crate) struct Positive(pub(crate) u64);

impl TryFrom<f64> for Size {
    type Error = &'static str;

    fn try_from(number: f64) -> Result<Self, Self::Error> {
        if number.is_finite() && number >= 0.0 { Ok(Self(whole(number))) } else { Err("a number of at least 0") }
    }
}

impl TryFrom<f64> for Positive {
    type Error = &'static str;

    fn try_from(number: f64) -> Result<Self, Self::Error> {
        if number.is_finite() && number > 0.0 { Ok(Self(whole(number).max(1))) } else { Err("a number above 0") }
    }
}

/// Returns the number without its fraction, at most `u64::MAX`.
fn whole(number: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, and the callers have refused what is negative"
    )]
    let whole = number as u64;
    whole
}

macro_rules! number_schema {
    ($name:ident, $bound:literal, $value:expr) => {
        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "number", $bound: $value })
            }
        }
    };
}

number_schema!(Size, "minimum", 0);
number_schema!(Positive, "exclusiveMinimum", 0);

/// Reads a tool's arguments; unknown ones are ignored, and `null` counts as absent.
///
/// # Errors
///
/// The result to send back, code `INVALID_ARGS`: which argument, what it must be, what came.
pub(crate) fn read<T: DeserializeOwned + JsonSchema>(tool: &str, args: &Value) -> Result<T, ToolOutput> {
    let Value::Object(given) = args else {
        return Err(invalid(tool, &format!("the arguments must be an object, not {}", kind(args))));
    };
    T::deserialize(args).map_err(|error| {
        let schema = schemars::schema_for!(T).to_value();
        let faults = faults(&schema, given);
        if faults.is_empty() { invalid(tool, &error.to_string()) } else { invalid(tool, &faults.join("; ")) }
    })
}

/// Returns the result for arguments that can't be used.
pub(crate) fn invalid(tool: &str, what: &str) -> ToolOutput {
    ToolOutput::failed("INVALID_ARGS", format!("{tool}: {what}"))
}

/// Lists every argument that is missing or of another type than the schema says.
fn faults(schema: &Value, given: &serde_json::Map<String, Value>) -> Vec<String> {
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    let mut faults = Vec::new();
    for (name, property) in properties {
        let expected = expectation(property);
        match given.get(name).filter(|value| !value.is_null()) {
            None if required.contains(&name.as_str()) => {
                faults.push(format!("`{name}` is missing: it must be {expected}"))
            }
            None => {}
            Some(value) if fits(property, value) => {}
            Some(value) => faults.push(format!("`{name}` must be {expected}, not {}", kind(value))),
        }
    }
    faults
}

fn types(property: &Value) -> Vec<&str> {
    let mut types: Vec<&str> = match property.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => property.get("anyOf").and_then(Value::as_array).into_iter().flatten().flat_map(types).collect(),
    };
    types.retain(|name| *name != "null");
    types
}

fn bound<'a>(property: &'a Value, name: &str) -> Option<&'a Value> {
    property.get(name).or_else(|| property.get("anyOf")?.as_array()?.iter().find_map(|one| one.get(name)))
}

fn expectation(property: &Value) -> String {
    let suffix = match (bound(property, "minimum"), bound(property, "exclusiveMinimum")) {
        (Some(least), _) => format!(" of at least {least}"),
        (None, Some(below)) => format!(" above {below}"),
        (None, None) => String::new(),
    };
    match types(property).first() {
        Some(&"string") => "a string".to_owned(),
        Some(&"boolean") => "true or false".to_owned(),
        Some(&"object") if property.get("properties").is_some() => "an object".to_owned(),
        Some(&"object") => "an object of strings".to_owned(),
        Some(&"number" | &"integer") => format!("a number{suffix}"),
        Some(other) => format!("of type {other}"),
        None => "something else".to_owned(),
    }
}

fn fits(property: &Value, value: &Value) -> bool {
    types(property).iter().any(|name| match (*name, value) {
        ("string", Value::String(_)) | ("boolean", Value::Bool(_)) => true,
        ("object", Value::Object(entries)) => {
            property.get("properties").is_some() || entries.values().all(Value::is_string)
        }
        ("number" | "integer", Value::Number(number)) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            let above = bound(property, "exclusiveMinimum").and_then(Value::as_f64).is_none_or(|below| number > below);
            above && bound(property, "minimum").and_then(Value::as_f64).is_none_or(|least| number >= least)
        }
        _ => false,
    })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "this number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "this object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check<T: DeserializeOwned + JsonSchema + std::fmt::Debug>(args: &Value, expected: &str) {
        let refused = read::<T>("tool", args).unwrap_err();
        assert_eq!((refused.code.as_deref(), refused.content.as_str()), (Some("INVALID_ARGS"), expected));
    }

    #[test]
    fn a_refusal_names_each_argument_and_what_it_must_be() {
        check::<ReadFile>(&json!([]), "tool: the arguments must be an object, not an array");
        check::<ReadFile>(&json!({}), "tool: `path` is missing: it must be a string");
        check::<ReadFile>(&json!({"path": null}), "tool: `path` is missing: it must be a string");
        check::<ReadFile>(&json!({"path": 1}), "tool: `path` must be a string, not this number");
        check::<ReadFile>(
            &json!({"path": "f", "max_bytes": -1}),
            "tool: `max_bytes` must be a number of at least 0, not this number",
        );
        check::<ListDir>(&json!({"path": "f", "depth": 0}), "tool: `depth` must be a number above 0, not this number");
        check::<WriteFile>(
            &json!({"content": 1, "append": "no"}),
            "tool: `path` is missing: it must be a string; `content` must be a string, not this number; `append` must be true or false, not a string",
        );
        check::<HttpFetch>(
            &json!({"url": "u", "headers": {"a": 1}}),
            "tool: `headers` must be an object of strings, not this object",
        );
    }

    #[test]
    fn unknown_arguments_fractions_and_nulls_are_no_trouble() {
        let read: ReadFile = read("tool", &json!({"path": "f", "max_bytes": 4.0, "other": [[[[]]]]})).unwrap();
        assert_eq!(read.max_bytes.map(|size| size.0), Some(4));
        let read: ReadFile = super::read("tool", &json!({"path": "f", "max_bytes": null})).unwrap();
        assert!(read.max_bytes.is_none());
    }
}
