//! A patch is done to the disk as a whole, or not at all.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::place::Place;

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
fn a_write_that_fails_midway_puts_everything_back() {
    let place = Place::with(&[("a", "1\n"), ("z", "1\n"), ("locked/f", "1\n")]);
    fs::set_permissions(place.path("a"), fs::Permissions::from_mode(0o640)).unwrap();
    // The name fits, but not where the folder is that far down.
    let long = "n".repeat(255);
    let diff = format!(
        "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n--- /dev/null\n+++ b/new/deep/f\n@@ -0,0 +1 @@\n+x\n--- a/z\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n--- /dev/null\n+++ b/a.d/{long}/\u{1}/f\n@@ -0,0 +1 @@\n+x\n"
    );
    let before = place.files();
    // A dangling link where a folder has to be made is what the plan can't see.
    std::os::unix::fs::symlink("nowhere", place.path("a.d")).unwrap();
    let output = place.call("apply_patch", json!({ "diff": diff }));
    assert!(!output.success && output.content.contains("put back"), "{}", output.content);
    assert_eq!(place.files(), before);
    assert_eq!(mode(&place, "a"), 0o640);
    assert!(!place.path("new").exists());
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
