//! `adjutant decide`: every vector of the peer through the binary, as a line of JSON.

use std::path::Path;

use serde_json::{Value, json};

use crate::home::{ROOT, TestHome};

fn vectors(name: &str) -> Vec<Value> {
    let path = Path::new(ROOT).join("tests/vectors").join(name);
    let text = std::fs::read_to_string(&path).expect("vectors");
    text.lines().map(|line| serde_json::from_str(line).expect("a vector")).collect()
}

/// Decides `what` for each input: one process, one line for each.
fn decide(what: &str, inputs: &[Value]) -> Vec<Value> {
    let lines: String = inputs.iter().map(|input| format!("{input}\n")).collect();
    let said = TestHome::new().run_with(&["decide", what], lines.as_bytes()).expect_code(0);
    assert_eq!(said.stderr, "");
    let answers: Vec<Value> = said.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(answers.len(), inputs.len());
    answers
}

/// The fields of the issues of one severity.
fn fields(issues: &Value, severity: &str) -> Vec<String> {
    let issues = issues.as_array().into_iter().flatten().filter(|issue| issue["severity"] == severity);
    issues.map(|issue| issue["field"].to_string()).collect()
}

#[test]
fn briefs_are_judged_as_the_peer_judges_them() {
    let verdicts = vectors("openwar/briefs/verdicts.jsonl");
    let folder = Path::new(ROOT).join("tests/vectors/openwar/briefs");
    let text = |verdict: &Value| {
        std::fs::read_to_string(folder.join(verdict["file"].as_str().expect("a file"))).expect("a brief")
    };
    let inputs: Vec<Value> = verdicts.iter().map(|verdict| json!({"text": text(verdict)})).collect();
    for (found, expected) in decide("brief", &inputs).iter().zip(&verdicts) {
        let file = &expected["file"];
        if expected["parse_error"] == true {
            for key in ["parse_error", "parse_error_line"] {
                assert_eq!(found[key], expected[key], "{file}: {key}");
            }
            assert_eq!(found["valid"], false, "{file}");
            continue;
        }
        for key in ["valid", "frontmatter", "sections"] {
            assert_eq!(found[key], expected[key], "{file}: {key}");
        }
        assert_eq!(fields(&found["issues"], "error"), fields(&expected["issues"], "error"), "{file}");
        let warnings = fields(&found["issues"], "warning");
        assert!(fields(&expected["issues"], "warning").iter().all(|warning| warnings.contains(warning)), "{file}");
    }
    assert!(verdicts.len() >= 13, "{}", verdicts.len());
}

#[test]
fn turns_are_read_as_the_peer_reads_them() {
    let vectors = vectors("openwar/detectors/vectors.jsonl");
    for (mut found, vector) in decide("detect", &vectors).into_iter().zip(&vectors) {
        // The ids of rules are ours; the peer's were never recorded.
        for payload in found.as_object_mut().expect("an object").values_mut() {
            if let Some(payload) = payload.as_object_mut() {
                payload.remove("matched_pattern");
            }
        }
        let consultations = found.as_object_mut().expect("an object").remove("consultations");
        assert_eq!(found, vector["expected"], "{vector}");
        assert_eq!(consultations.as_ref(), Some(&vector["consultations"]), "{vector}");
    }
}

#[test]
fn patches_end_as_recorded() {
    let cases = vectors("patch.jsonl");
    for (found, case) in decide("patch", &cases).iter().zip(&cases) {
        match &case["expected"] {
            Value::Null => assert!(found.get("rejected").is_some(), "{}: {found}", case["name"]),
            expected => assert_eq!(found.get("files"), Some(expected), "{}: {found}", case["name"]),
        }
    }
}

#[test]
fn the_gate_allows_what_the_peers_authorization_allows() {
    // The vectors name categories; the gate is asked for a tool that needs just these.
    let tool = |required: &Value| match required.as_array().expect("a list").as_slice() {
        [one] if one == "shell_exec" => Some(("shell_exec", json!({"cmd": "true"}))),
        [one] if one == "filesystem_write" => Some(("write_file", json!({"path": "a", "content": ""}))),
        [one] if one == "filesystem_read" => Some(("read_file", json!({"path": "a"}))),
        [one] if one == "http_fetch" => Some(("http_fetch", json!({"url": "https://example.com"}))),
        _ => None,
    };
    let mut compared = 0;
    for vector in vectors("openwar/aux/vectors.jsonl").iter().filter(|vector| vector["fn"] == "auth_check") {
        let input = &vector["input"];
        let Some((tool, arguments)) = tool(&input["required"]) else { continue };
        let found = decide(
            "gate",
            &[json!({
                "tool": tool, "arguments": arguments,
                "authorized_costs": input["authorized_costs"], "session_approved": input["session_approved"],
            })],
        );
        let decision = if vector["output"]["allowed"] == true { "allow" } else { "ask" };
        assert_eq!(found[0]["decision"], decision, "{vector}: {}", found[0]);
        assert_eq!(found[0]["missing"], vector["output"]["missing"], "{vector}");
        compared += 1;
    }
    assert!(compared >= 2, "only {compared} vectors name one tool's categories");
}

#[test]
fn a_bad_line_gets_an_error_in_its_place_and_the_rest_goes_on() {
    let good = r#"{"text":"Blocker: no key"}"#;
    for what in ["brief", "detect", "gate", "patch"] {
        let deep = "[".repeat(200_000);
        let input = format!("{good}\nnot json\n{{\"text\":5}}\n\u{fffd}\n[]\n{deep}\n\n{good}\n");
        let mut input = input.into_bytes();
        input.extend(b"{\"text\":\"\xff\"}\n");
        let said = TestHome::new().run_with(&["decide", what], &input).expect_code(0);
        let answers: Vec<Value> = said.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(answers.len(), 8, "{what}: {}", said.stdout);
        for bad in [1, 3, 5, 7] {
            assert!(answers[bad]["error"].is_string(), "{what}, line {bad}: {}", answers[bad]);
        }
        assert_eq!(answers[0], answers[6], "{what}");
    }
}
