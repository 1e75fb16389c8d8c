//! The peer's recorded calls. Ours answer alike, but for the faults that are named here.

use adjutant_host::http::Hosts;
use adjutant_host::workdir::resolve_below;
use serde_json::{Value, json};

use crate::place::Place;

fn vectors() -> Vec<Value> {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/openwar/aux/vectors.jsonl"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn recorded_tool_calls_end_as_recorded() {
    let mut seen = 0;
    for vector in vectors() {
        let Some(tool) = vector["fn"].as_str().and_then(|name| name.strip_prefix("tool:")) else {
            continue;
        };
        let files: Vec<(String, String)> =
            serde_json::from_value::<std::collections::BTreeMap<String, String>>(vector["input"]["files"].clone())
                .unwrap()
                .into_iter()
                .collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, content)| (path.as_str(), content.as_str())).collect();
        let place = Place::with(&files);
        let output = place.call(tool, vector["input"]["args"].clone());
        let expected = &vector["output"];
        assert_eq!(json!(output.success), expected["success"], "{vector}\n{output:?}");
        if let Some(content) = expected.get("content") {
            assert_eq!(&json!(output.content), content, "{vector}");
        }
        if let Some(code) = expected.get("code") {
            assert_eq!(&json!(output.code), code, "{vector}");
        }
        let meta = serde_json::to_value(&output.meta).unwrap();
        for (name, value) in expected.get("meta").and_then(Value::as_object).into_iter().flatten() {
            assert_eq!(&meta[name], value, "{vector}");
        }
        assert_eq!(json!(place.files()), expected["files_after"], "{vector}");
        seen += 1;
    }
    assert_eq!(seen, 7);
}

#[test]
fn recorded_paths_resolve_as_recorded() {
    for vector in vectors().iter().filter(|vector| vector["fn"] == "resolve_path") {
        let (workdir, path) = (vector["input"]["workdir"].as_str().unwrap(), vector["input"]["path"].as_str().unwrap());
        let resolved = match resolve_below(workdir.as_ref(), path) {
            Ok(below) => json!({ "ok": format!("{workdir}/{below}") }),
            Err(error) => json!({ "error": error.code() }),
        };
        // The peer compares text, not segments, and so refuses a legal name.
        let expected = if path == "..bar" { &json!({ "ok": "/W/..bar" }) } else { &vector["output"] };
        assert_eq!(&resolved, expected, "{vector}");
    }
}

#[test]
fn recorded_hosts_are_allowed_as_recorded() {
    for vector in vectors().iter().filter(|vector| vector["fn"] == "host_allowed") {
        let hosts = Hosts::parse(Some(&vector["input"]["list"].to_string()));
        assert_eq!(json!(hosts.allows(vector["input"]["host"].as_str().unwrap())), vector["output"], "{vector}");
    }
}
