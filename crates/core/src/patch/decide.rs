//! The planner from the shell: JSON in, JSON out.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Lookup, plan};

/// Answers `{"files": {path: content}, "patch": text}` with `{"files": {..}}`, the whole tree afterwards, or
/// `{"rejected": reason, "code": name}`. Input of another shape is rejected with code `INVALID_ARGS`; bytes
/// that are not UTF-8 can't come in and don't come out.
#[must_use]
pub fn decide(input: &Value) -> Value {
    let invalid = |what: &str| json!({ "rejected": what, "code": "INVALID_ARGS" });
    let Some(patch) = input.get("patch").and_then(Value::as_str) else {
        return invalid("`patch` must be a string");
    };
    let mut files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    match input.get("files") {
        None => {}
        Some(Value::Object(given)) => {
            for (path, content) in given {
                let Some(content) = content.as_str() else {
                    return invalid("each of `files` must be a string");
                };
                files.insert(path.clone(), content.as_bytes().into());
            }
        }
        Some(_) => return invalid("`files` must be an object"),
    }
    let planned = plan(patch, &|path| files.get(path).cloned().map_or(Lookup::Absent, Lookup::File));
    match planned {
        Err(rejected) => {
            json!({ "rejected": rejected.to_string(), "code": rejected.code.as_str() })
        }
        Ok(planned) => {
            for file in planned.files {
                match file.after {
                    Some(after) => files.insert(file.path, after),
                    None => files.remove(&file.path),
                };
            }
            let files: serde_json::Map<String, Value> = files
                .into_iter()
                .map(|(path, content)| (path, Value::from(String::from_utf8_lossy(&content))))
                .collect();
            json!({ "files": files })
        }
    }
}
