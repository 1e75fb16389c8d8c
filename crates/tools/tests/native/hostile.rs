//! Paths, links and files made to lead us out or wear us down.

use std::fs;
use std::os::unix::fs::symlink;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::place::Place;

/// Every call that takes a path, with this one.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    let quoted = path.replace('\\', "\\\\").replace('"', "\\\"").replace('\0', "\\000");
    vec![
        ("read_file", json!({"path": path})),
        ("write_file", json!({"path": path, "content": "evil"})),
        ("write_file", json!({"path": path, "content": "evil", "append": true})),
        ("list_dir", json!({"path": path, "depth": 9})),
        ("shell_exec", json!({"cmd": "echo evil > secret", "cwd": path})),
        ("wait_for", json!({"gone": path, "limit_seconds": 1})),
        ("apply_patch", json!({"diff": format!("--- /dev/null\n+++ \"{quoted}\"\n@@ -0,0 +1 @@\n+evil\n")})),
        (
            "apply_patch",
            json!({"diff": format!("--- \"{quoted}\"\n+++ \"{quoted}\"\n@@ -1 +1 @@\n-untouched\n+evil\n")}),
        ),
        ("apply_patch", json!({"diff": format!("diff --git a/f b/f\nrename from f\nrename to \"{quoted}\"\n")})),
        ("apply_patch", json!({"diff": format!("diff --git a/f b/f\ncopy from \"{quoted}\"\ncopy to got\n")})),
    ]
}

#[test]
fn nothing_leads_out() {
    let place = Place::with(&[("f", "x\n"), ("sub/f", "")]);
    let outside = place.folder.path().join("outside");
    symlink(outside.join("secret"), place.path("file")).unwrap();
    symlink(&outside, place.path("folder")).unwrap();
    symlink("../../outside", place.path("sub/up")).unwrap();
    symlink(outside.join("new"), place.path("dangling")).unwrap();
    symlink("loop", place.path("loop")).unwrap();
    let absolute = outside.join("secret").to_str().unwrap().to_owned();
    let long = format!("../{}", "x".repeat(5000));
    let paths = [
        "../outside/secret",
        "../outside",
        "sub/../../outside/secret",
        "..",
        "../work2/x",
        absolute.as_str(),
        "/etc/passwd",
        "file",
        "folder",
        "folder/secret",
        "folder/new",
        "sub/up",
        "sub/up/secret",
        "dangling",
        "loop",
        "loop/x",
        "a\0b",
        &long,
        "..\0",
        "sub/\0/../../outside/secret",
    ];
    for path in paths {
        // Not among those of any path: where nothing is, it lasts until its limit.
        let waits = ("wait_for", json!({"file": path, "limit_seconds": 1}));
        for (name, args) in calls(path).into_iter().chain([waits]) {
            let output = place.call(name, args.clone());
            assert!(!output.success, "{name} {args}: {}", output.content);
            assert!(
                !output.content.contains("untouched\n") || name == "apply_patch",
                "{name} {path:?}: {}",
                output.content
            );
            place.check_outside_is_untouched();
        }
    }
}

#[test]
fn odd_names_are_plain_names() {
    let place = Place::with(&[]);
    for path in [
        "~", "~root", "..foo", "...", "‥", "․․", "a\\..\\b", "－rf", "-rf", "%2e%2e", "new\nline", "$(touch x)",
        "\u{202e}txt", ".git2",
    ] {
        let output = place.call("write_file", json!({"path": path, "content": path}));
        assert!(output.success, "{path:?}: {}", output.content);
        assert_eq!(place.call("read_file", json!({"path": path})).content, path);
        assert_eq!(place.files().get(path).map(String::as_str), Some(path));
    }
    place.check_outside_is_untouched();
}

#[test]
fn special_files_are_refused_at_once() {
    let place = Place::with(&[]);
    rustix::fs::mknodat(rustix::fs::CWD, place.path("fifo"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    for (name, args) in [
        ("read_file", json!({"path": "fifo"})),
        ("write_file", json!({"path": "fifo", "content": "x"})),
        ("write_file", json!({"path": "fifo", "content": "x", "append": true})),
        ("apply_patch", json!({"diff": "--- a/fifo\n+++ b/fifo\n@@ -1 +1 @@\n-1\n+2\n"})),
    ] {
        assert_eq!(place.call(name, args).code.as_deref(), Some("NOT_REGULAR"), "{name}");
    }
    assert_eq!(place.call("list_dir", json!({"path": "."})).content, "[]");
}

#[test]
fn a_huge_line_is_read_in_part() {
    let place = Place::with(&[]);
    let file = fs::File::create(place.path("line")).unwrap();
    file.set_len(100 << 20).unwrap();
    let output = place.call("read_file", json!({"path": "line", "max_bytes": 10}));
    assert_eq!((output.content.len(), output.meta.truncated), (10, Some(true)));
    let output = place.call("read_file", json!({"path": "line", "max_bytes": 1e300}));
    assert!(output.content.len() < 17_000_000 && output.content.contains("[truncated: 16000000 of 104857600 bytes]"));
    let output = place.call("apply_patch", json!({"diff": "--- a/line\n+++ b/line\n@@ -1 +1 @@\n-1\n+2\n"}));
    assert_eq!(output.code.as_deref(), Some("TOO_LARGE"));
}

#[test]
fn a_patch_that_would_fill_the_disk_is_refused() {
    let place = Place::with(&[("big", &"x\n".repeat(4 << 20))]);
    let diff: String =
        (0..9).map(|copy| format!("diff --git a/big b/c{copy}\ncopy from big\ncopy to c{copy}\n")).collect();
    let output = place.call("apply_patch", json!({ "diff": diff }));
    assert_eq!(output.code.as_deref(), Some("TOO_LARGE"));
    assert_eq!(place.files().len(), 1);
}

#[test]
fn deep_and_odd_arguments_are_only_wrong() {
    let place = Place::with(&[]);
    let mut deep = json!("x");
    for _ in 0..100 {
        deep = json!([deep]);
    }
    for name in ["read_file", "write_file", "list_dir", "shell_exec", "http_fetch", "apply_patch"] {
        for args in [
            deep.clone(),
            json!({"path": deep, "cmd": deep, "url": deep, "diff": deep, "content": 1}),
            json!(null),
            json!({}),
        ] {
            assert_eq!(place.call(name, args).code.as_deref(), Some("INVALID_ARGS"), "{name}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_path_reaches_the_neighbour(path in "(\\.\\.?/|/|work/|outside/|folder/|secret|~|[a-z]|\\\\|‥){1,8}") {
        let place = Place::with(&[("f", "x\n")]);
        symlink(place.folder.path().join("outside"), place.path("folder")).unwrap();
        // `shell_exec` is confined by the sandbox, not by its path alone.
        for (name, args) in calls(&path).into_iter().filter(|(name, _)| *name != "shell_exec") {
            let output = place.call(name, args);
            prop_assert!(!(name == "read_file" && output.content == "untouched"));
            place.check_outside_is_untouched();
        }
    }
}
