//! Tests of each tool's messages and effects.

use std::fs;

use adjutant_ports::{CancellationToken, Prepared, Settled};
use adjutant_tools::Shell;
use serde_json::{Value, json};

use crate::place::{Place, call};

#[track_caller]
fn check_fails(place: &Place, name: &str, args: Value, code: &str) {
    let output = place.call(name, args.clone());
    assert_eq!((output.success, output.code.as_deref()), (false, Some(code)), "{name} {args}: {}", output.content);
}

#[test]
fn failures_have_stable_codes() {
    let place = Place::with(&[("f", "1\n"), ("d/x", "")]);
    check_fails(&place, "read_file", json!({"path": "none"}), "ENOENT");
    check_fails(&place, "read_file", json!({"path": "d"}), "EISDIR");
    check_fails(&place, "read_file", json!({"path": "f/x"}), "ENOTDIR");
    check_fails(&place, "read_file", json!("f"), "INVALID_ARGS");
    check_fails(&place, "write_file", json!({"path": "d", "content": ""}), "EISDIR");
    check_fails(&place, "write_file", json!({"path": "f/x", "content": ""}), "ENOTDIR");
    check_fails(&place, "list_dir", json!({"path": "f"}), "ENOTDIR");
    check_fails(&place, "list_dir", json!({"path": "none"}), "ENOENT");
    check_fails(&place, "list_dir", json!({"path": ".", "glob": "{"}), "INVALID_ARGS");
    check_fails(&place, "apply_patch", json!({"diff": " \n"}), "INVALID_ARGS");
    check_fails(&place, "apply_patch", json!({"diff": "hello"}), "PARSE_ERROR");
    check_fails(&place, "shell_exec", json!({"cmd": " "}), "INVALID_ARGS");
    check_fails(&place, "shell_exec", json!({"cmd": "true", "cwd": "none"}), "ENOENT");
    check_fails(&place, "shell_exec", json!({"cmd": "true", "shell": "no-such-shell"}), "SHELL_ERROR");
    for cmd in ["touch made\nfi", "touch made\necho \"x", "touch made; fi"] {
        check_fails(&place, "shell_exec", json!({"cmd": cmd}), "SYNTAX_ERROR");
        check_fails(&place, "shell_exec", json!({"cmd": cmd, "shell": "sh"}), "SYNTAX_ERROR");
    }
    check_fails(&place, "read_file", json!({"path": "made"}), "ENOENT");
    check_fails(&place, "http_fetch", json!({"url": "nope"}), "INVALID_URL");
    check_fails(&place, "http_fetch", json!({"url": "https://other.dev/"}), "HOST_NOT_ALLOWED");
    check_fails(&place, "http_fetch", json!({"url": "ftp://api.dev/"}), "BAD_SCHEME");
    check_fails(&place, "nothing", json!({}), "UNKNOWN_TOOL");
    check_fails(&Place::with_shell(&[], Shell::Disabled), "shell_exec", json!({"cmd": "touch x"}), "SHELL_DISABLED");
}

#[test]
fn malformed_arguments_come_back_with_their_text() {
    let place = Place::with(&[]);
    let mut malformed = call("read_file", Value::Null);
    malformed.malformed = Some("{\"path\": ".to_owned());
    let output = place.call_prepared(&malformed, &Prepared::default(), CancellationToken::new());
    assert_eq!(output.code.as_deref(), Some("INVALID_ARGS"));
    assert!(output.content.contains("{\"path\": "), "{}", output.content);
}

#[test]
fn a_file_cut_by_our_limit_says_so_in_its_content() {
    let place = Place::with(&[("big", &"x".repeat(1_000_010)), ("bytes", "ab")]);
    let output = place.call("read_file", json!({"path": "big"}));
    assert!(output.content.ends_with("x\n[truncated: 1000000 of 1000010 bytes]"));
    fs::write(place.path("lines"), "one more line\n".repeat(100_000)).unwrap();
    let lines = place.call("read_file", json!({"path": "lines"})).content;
    assert!(lines.ends_with("\n[truncated: 1000000 of 1400000 bytes; go on with offset 71429 of 100000 lines]"));
    assert_eq!((output.meta.bytes, output.meta.truncated), (Some(1_000_000), Some(true)));
    fs::write(place.path("bytes"), b"a\xffb").unwrap();
    let bytes = place.call("read_file", json!({"path": "bytes"})).content;
    assert!(bytes.starts_with("a\u{fffd}b\n[1 byte of the file is not UTF-8"), "{bytes}");
    assert_eq!(place.call("read_file", json!({"path": "bytes", "max_bytes": 0})).content, "");
}

#[test]
fn lines_of_a_file_are_read_with_how_many_there_are() {
    let place = Place::with(&[
        ("f", "one\ntwo\r\n\nfour\nfive"),
        ("ended", "one\ntwo\n"),
        ("empty", ""),
        ("long", &"x".repeat(50)),
    ]);
    let check = |path: &str, args: serde_json::Value, content: &str, part: Option<(u64, u64, u64)>| {
        let mut all = json!({ "path": path });
        all.as_object_mut().unwrap().extend(args.as_object().unwrap().clone());
        let output = place.call("read_file", all.clone());
        assert_eq!(output.content, content, "{all}");
        let seen = output.meta.seen.unwrap();
        assert_eq!(seen.part.map(|part| (part.first, part.last, part.lines)), part, "{all}");
    };
    check("f", json!({"offset": 2, "limit": 2}), "two\r\n\n[lines 2-3 of 5; go on with offset 4]", Some((2, 3, 5)));
    check("f", json!({"offset": 4}), "four\nfive\n[lines 4-5 of 5]", Some((4, 5, 5)));
    check("f", json!({"limit": 1}), "one\n[lines 1-1 of 5; go on with offset 2]", Some((1, 1, 5)));
    check("f", json!({"limit": 5}), "one\ntwo\r\n\nfour\nfive\n[lines 1-5 of 5]", None);
    check("f", json!({"offset": 6}), "[no such line: the file has 5 lines]", Some((6, 5, 5)));
    check("ended", json!({"offset": 2}), "two\n[lines 2-2 of 2]", Some((2, 2, 2)));
    check("ended", json!({"offset": 1, "limit": 9}), "one\ntwo\n[lines 1-2 of 2]", None);
    check("empty", json!({"offset": 1}), "[no such line: the file has 0 lines]", None);
    check(
        "f",
        json!({"offset": 1, "max_bytes": 6}),
        "one\n[truncated: lines 1-1 of 5; go on with offset 2]",
        Some((1, 1, 5)),
    );
    check(
        "long",
        json!({"offset": 1, "max_bytes": 6}),
        "xxxxxx\n[truncated: 6 bytes of line 1, of 1 lines]",
        Some((1, 0, 1)),
    );
    check("ended", json!({"max_bytes": 5}), "one\nt", Some((1, 1, 2)));
    for bad in [json!({"offset": 0}), json!({"limit": -1}), json!({"offset": "x"})] {
        let mut args = json!({"path": "f"});
        args.as_object_mut().unwrap().extend(bad.as_object().unwrap().clone());
        assert_eq!(place.call("read_file", args).code.as_deref(), Some("INVALID_ARGS"), "{bad}");
    }
}

#[test]
fn writing_keeps_what_it_is_given_and_adds_where_asked() {
    let place = Place::with(&[("f", "1\r\n")]);
    let output = place.call("write_file", json!({"path": "f", "content": "\u{feff}a\r\nb", "append": false}));
    assert_eq!(output.content, "Wrote 7 bytes to f.");
    assert_eq!(place.files()["f"], "\u{feff}a\r\nb");
    assert_eq!(
        place.call("write_file", json!({"path": "f", "content": "c\n", "append": true})).content,
        "Appended 2 bytes to f."
    );
    assert_eq!(place.files()["f"], "\u{feff}a\r\nbc\n");
    assert_eq!(
        place.call("write_file", json!({"path": "x/y/z", "content": ""})).content,
        "Wrote 0 bytes to z (created its folders)."
    );
}

#[test]
fn a_listing_leaves_out_what_is_ignored() {
    let place = Place::with(&[
        (".adjutantignore", "# comment\n*.log\n/top\n"),
        (".openwarignore", "secret*\n"),
        (".gitignore", "kept\n"),
        (".git/config", ""),
        ("node_modules/m", ""),
        ("a.log", ""),
        ("b/c.rs", "12"),
        ("b/d/e.rs", ""),
        ("b/top", ""),
        ("kept", ""),
        ("secret.txt", ""),
        ("top", ""),
    ]);
    std::os::unix::fs::symlink("kept", place.path("link")).unwrap();
    let names = |args: Value| -> Vec<String> {
        let listed: Vec<Value> = serde_json::from_str(&place.call("list_dir", args).content).unwrap();
        listed
            .iter()
            .map(|entry| format!("{} {}", entry["name"].as_str().unwrap(), entry["type"].as_str().unwrap()))
            .collect()
    };
    assert_eq!(
        names(json!({"path": "."})),
        [".adjutantignore file", ".gitignore file", ".openwarignore file", "b directory", "kept file"]
    );
    assert_eq!(names(json!({"path": "b", "depth": 9})), ["c.rs file", "d directory", "d/e.rs file", "top file"]);
    assert_eq!(names(json!({"path": ".", "depth": 9, "glob": "*.rs"})), ["b/c.rs file", "b/d/e.rs file"]);
    assert_eq!(names(json!({"path": ".", "depth": 9, "glob": "b/*"})), ["b/c.rs file", "b/d directory", "b/top file"]);
    assert_eq!(place.call("list_dir", json!({"path": "b/d", "glob": "x"})).content, "[]");
}

#[test]
fn a_command_reports_code_and_both_streams() {
    let place = Place::with(&[("sub/f", "")]);
    let output = place.call("shell_exec", json!({"cmd": "ls; echo oops >&2", "cwd": "sub"}));
    assert_eq!(output.content, "Exited with code 0.\n\nstdout:\nf\n\n\nstderr:\noops\n");
    assert_eq!((output.success, output.meta.exit_code, output.meta.bytes), (true, Some(0), Some(7)));
    let output = place.call("shell_exec", json!({"cmd": "kill -9 $$"}));
    assert_eq!((output.meta.exit_code, output.meta.signal.as_deref()), (Some(-1), Some("SIGKILL")));
    let output = place.call("shell_exec", json!({"cmd": "echo partial; exec sleep 1000", "timeout_ms": 1500}));
    assert_eq!(output.code.as_deref(), Some("TIMEOUT"));
    assert!(
        output.content.starts_with("Timed out after 1500 ms") && output.content.contains("partial"),
        "{}",
        output.content
    );
    let output = place.call("shell_exec", json!({"cmd": "echo \"[$MY_TOKEN][$EDITOR]\""}));
    assert!(output.content.contains("[][false]"), "{}", output.content);
    let output = place.call("shell_exec", json!({"cmd": "head -c 3000000 /dev/zero | tr '\\0' x"}));
    assert_eq!((output.meta.bytes, output.meta.truncated), (Some(3_000_000), Some(true)));
    assert!(
        output.content.starts_with("Exited with code 0. The output was truncated.") && output.content.len() < 1_001_000
    );
}

#[test]
fn a_cancelled_call_does_nothing_or_says_what_it_had() {
    let place = Place::with(&[("f", "1\n")]);
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    for (name, args) in [
        ("read_file", json!({"path": "f"})),
        ("list_dir", json!({"path": "."})),
        ("write_file", json!({"path": "f", "content": "2\n"})),
        ("apply_patch", json!({"diff": "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+2\n"})),
        ("shell_exec", json!({"cmd": "echo 2 > f"})),
    ] {
        let output = place.call_prepared(&call(name, args), &Prepared::default(), cancelled.clone());
        assert_eq!((output.success, output.code.as_deref()), (false, Some("CANCELLED")), "{name}");
        assert_eq!(place.files()["f"], "1\n", "{name}");
    }
    let cancel = CancellationToken::new();
    assert!(place.call("shell_exec", json!({"cmd": "mkfifo said"})).success);
    let running = call("shell_exec", json!({"cmd": "echo partial; echo > said; exec sleep 1000"}));
    let said = {
        let (path, cancel) = (place.path("said"), cancel.clone());
        std::thread::spawn(move || {
            fs::read(path).unwrap();
            cancel.cancel();
        })
    };
    let output = place.call_prepared(&running, &Prepared::default(), cancel);
    said.join().unwrap();
    assert_eq!(output.code.as_deref(), Some("CANCELLED"));
    assert!(output.content.ends_with("--- partial output ---\npartial\n"), "{}", output.content);
}

#[test]
fn an_interrupted_write_is_settled_by_looking() {
    let place = Place::with(&[("f", "1\n")]);
    for (name, args, after) in [
        ("write_file", json!({"path": "f", "content": "2\n"}), Some("2\n")),
        ("write_file", json!({"path": "f", "content": "2\n", "append": true}), Some("1\n2\n")),
        ("write_file", json!({"path": "new/f", "content": ""}), None),
        (
            "apply_patch",
            json!({"diff": "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+2\n--- /dev/null\n+++ b/g\n@@ -0,0 +1 @@\n+x\n"}),
            Some("2\n"),
        ),
        ("apply_patch", json!({"diff": "diff --git a/f b/h\nrename from f\nrename to h\n"}), None),
    ] {
        let place = if place.files()["f"] == "1\n" { &place } else { &Place::with(&[("f", "1\n")]) };
        fs::write(place.path("f"), "1\n").unwrap();
        for extra in ["g", "h"] {
            fs::remove_file(place.path(extra)).ok();
        }
        let call = call(name, args);
        let prepared = place.prepare(&call);
        assert!(!prepared.changes.is_empty(), "{call:?}");
        assert_eq!(place.settle(&prepared.changes), Settled::NotMade, "{call:?}");
        let output = place.call_prepared(&call, &prepared, CancellationToken::new());
        assert!(output.success, "{}", output.content);
        assert_eq!(place.settle(&prepared.changes), Settled::Made, "{call:?}");
        if let Some(after) = after {
            assert_eq!(place.files()["f"], after);
        }
        fs::write(place.path("f"), "something else").unwrap();
        if prepared.changes.iter().any(|change| change.path == "f") {
            assert_eq!(place.settle(&prepared.changes), Settled::Unknown, "{call:?}");
        }
    }
    assert_eq!(place.settle(&[]), Settled::Unknown);
}

#[test]
fn what_will_fail_or_writes_nothing_is_not_announced() {
    let place = Place::with(&[("f", "1\n")]);
    for (name, args) in [
        ("read_file", json!({"path": "f"})),
        ("shell_exec", json!({"cmd": "true"})),
        ("write_file", json!({"path": "../f", "content": ""})),
        ("write_file", json!({"path": "f"})),
        ("apply_patch", json!({"diff": "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-9\n+2\n"})),
    ] {
        assert_eq!(place.prepare(&call(name, args)).changes, [], "{name}");
    }
}

#[test]
fn a_call_whose_file_changed_after_the_decision_writes_nothing() {
    let place = Place::with(&[("f", "1\n2\n")]);
    for (name, args) in [
        ("write_file", json!({"path": "f", "content": "mine"})),
        ("apply_patch", json!({"diff": "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+one\n"})),
    ] {
        fs::write(place.path("f"), "1\n2\n").unwrap();
        let call = call(name, args);
        let prepared = place.prepare(&call);
        fs::write(place.path("f"), "1\n3\n").unwrap();
        let output = place.call_prepared(&call, &prepared, CancellationToken::new());
        assert_eq!(output.code.as_deref(), Some("CHANGED_MEANWHILE"));
        assert_eq!(place.files()["f"], "1\n3\n");
    }
}

#[test]
fn what_a_killed_writer_left_beside_its_file_is_swept_when_the_write_is_settled() {
    let place = Place::with(&[("a/b.txt", "old")]);
    let mut ended = std::process::Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let left = format!("a/.adjutant-tmp-{}-0-0", ended.id());
    let living = format!("a/.adjutant-tmp-{}-0-0", std::process::id());
    for name in [&left, &living] {
        std::fs::write(place.path(name), "half").unwrap();
    }
    let call = call("write_file", json!({"path": "a/b.txt", "content": "new"}));
    let prepared = place.prepare(&call);
    assert_eq!(place.settle(&prepared.changes), Settled::NotMade);
    assert!(!place.path(&left).exists());
    assert!(place.path(&living).exists());
}
