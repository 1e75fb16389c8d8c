//! A patch is done to the disk as a whole, or not at all.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use adjutant_ports::CancellationToken;
use serde_json::json;

use crate::place::{Place, call};

fn mode(place: &Place, path: &str) -> u32 {
    fs::metadata(place.path(path)).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_report_has_a_line_for_each_file() {
    let place =
        Place::with(&[("a", "0\n1\n2\n"), ("b", "one();\ntwo();\nthree();\nfour();\n"), ("c", "x\n"), ("d", "y\n")]);
    let diff = "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n\
                --- a/b\n+++ b/b\n@@ -1,4 +1,4 @@\n eins();\n two();\n-three();\n+THREE();\n four();\n\
                diff --git a/c b/e\nold mode 100644\nnew mode 100755\nrename from c\nrename to e\n\
                diff --git a/d b/d\ndeleted file mode 100644\n--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n\
                --- /dev/null\n+++ b/n/f\n@@ -0,0 +1 @@\n+new\n";
    let output = place.call("apply_patch", json!({ "diff": diff }));
    assert_eq!(
        output.content,
        "Applied 4 hunk(s) to 5 file(s).\n\
         a: changed; hunk 1 moved by 1 lines\n\
         b: changed; hunk 1 fuzzy (moved by 0, 1 unchanged line(s) differ: check the result)\n\
         e: from c; executable\n\
         d: deleted\n\
         n/f: created"
    );
    assert_eq!(mode(&place, "e"), 0o755);
    let names: Vec<String> = place.files().into_keys().collect();
    assert_eq!(names, ["a", "b", "e", "n/f"]);
}

#[test]
fn permissions_and_bytes_that_no_hunk_names_stay() {
    let place = Place::with(&[("run.sh", "a\r\nb\n\u{feff}c")]);
    fs::set_permissions(place.path("run.sh"), fs::Permissions::from_mode(0o700)).unwrap();
    let output =
        place.call("apply_patch", json!({"diff": "--- a/run.sh\n+++ b/run.sh\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n"}));
    assert!(output.success, "{}", output.content);
    assert_eq!(place.files()["run.sh"], "a\r\nB\n\u{feff}c");
    assert_eq!(mode(&place, "run.sh"), 0o700);
}

#[test]
fn a_patch_that_ends_midway_puts_everything_back() {
    let place = Place::with(&[("a", "1\n"), ("z", "1\n")]);
    fs::set_permissions(place.path("a"), fs::Permissions::from_mode(0o640)).unwrap();
    let mut diff = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n--- a/z\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n".to_owned();
    for number in 0..2000 {
        diff.push_str(&format!("--- /dev/null\n+++ b/new/deep/f{number}\n@@ -0,0 +1 @@\n+x\n"));
    }
    let before = place.files();
    let (call, cancel) = (call("apply_patch", json!({ "diff": diff })), CancellationToken::new());
    let prepared = place.prepare(&call);
    let output = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !place.path("new/deep/f0").exists() {
                std::thread::yield_now();
            }
            cancel.cancel();
        });
        place.call_prepared(&call, &prepared, cancel.clone())
    });
    assert_eq!(output.code.as_deref(), Some("CANCELLED"), "{}", output.content);
    assert!(output.content.contains("put back"), "{}", output.content);
    assert_eq!(place.files(), before);
    assert_eq!(mode(&place, "a"), 0o640);
    assert!(!place.path("new").exists());
}

#[test]
fn what_is_in_the_way_of_a_folder_is_seen_before_anything_is_written() {
    let place = Place::with(&[("a", "1\n")]);
    rustix::fs::mknodat(rustix::fs::CWD, place.path("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    std::os::unix::fs::symlink("nowhere", place.path("link")).unwrap();
    for way in ["pipe", "link"] {
        let diff = format!("--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n--- /dev/null\n+++ b/{way}/f\n@@ -0,0 +1 @@\n+x\n");
        let output = place.call("apply_patch", json!({ "diff": diff }));
        assert!(!output.success, "{way}: {}", output.content);
        assert_eq!(place.files()["a"], "1\n", "{way}");
    }
}

#[test]
fn a_refused_patch_says_that_nothing_changed() {
    let place = Place::with(&[("f", "1\n"), ("g", "1\n")]);
    let output = place.call(
        "apply_patch",
        json!({"diff": "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+2\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-7\n+2\n"}),
    );
    assert_eq!(output.code.as_deref(), Some("HUNK_FAILED"));
    assert!(
        output.content.starts_with("g: hunk 1") && output.content.ends_with("Nothing was changed."),
        "{}",
        output.content
    );
    assert_eq!(place.files()["f"], "1\n");
}
