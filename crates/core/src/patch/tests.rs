//! Behaviour of the planner as tables: the recorded cases first, then what each rule promises.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use super::*;

type FileTexts<'a> = &'a [(&'a str, &'a str)];

fn planned(files: FileTexts<'_>, patch: &str) -> Result<Plan, Rejected> {
    let files: BTreeMap<&str, &str> = files.iter().copied().collect();
    plan(patch, &|path| match files.get(path) {
        Some(&"<folder>") => Lookup::Refused { code: "EISDIR".to_owned(), reason: "it is a folder".to_owned() },
        Some(content) => Lookup::File(content.as_bytes().into()),
        None => Lookup::Absent,
    })
}

fn tree_after(files: FileTexts<'_>, plan: &Plan) -> BTreeMap<String, String> {
    let mut tree: BTreeMap<String, String> =
        files.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned())).collect();
    for file in &plan.files {
        tree.remove(&file.path);
        if let Some(after) = &file.after {
            tree.insert(file.path.clone(), String::from_utf8_lossy(after).into_owned());
        }
    }
    tree
}

#[track_caller]
fn check(files: FileTexts<'_>, patch: &str, expected: FileTexts<'_>) {
    let plan = planned(files, patch).unwrap_or_else(|rejected| panic!("{rejected}\n{patch}"));
    let expected: BTreeMap<String, String> =
        expected.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned())).collect();
    assert_eq!(tree_after(files, &plan), expected, "{patch}");
}

/// One file `f` becomes `expected`.
#[track_caller]
fn check_one(before: &str, hunks: &str, expected: &str) {
    check(&[("f", before)], &format!("--- a/f\n+++ b/f\n{hunks}"), &[("f", expected)]);
}

#[track_caller]
fn check_rejected(files: FileTexts<'_>, patch: &str, code: &str, reason: &str) {
    match planned(files, patch) {
        Ok(plan) => panic!("was taken: {:?}\n{patch}", tree_after(files, &plan)),
        Err(rejected) => {
            assert_eq!(rejected.code.as_str(), code, "{rejected}");
            assert!(rejected.to_string().contains(reason), "{rejected}");
        }
    }
}

#[track_caller]
fn check_one_rejected(before: &str, hunks: &str, reason: &str) {
    check_rejected(&[("f", before)], &format!("--- a/f\n+++ b/f\n{hunks}"), "HUNK_FAILED", reason);
}

#[track_caller]
fn fits(before: &str, hunks: &str) -> Vec<Fit> {
    let plan = planned(&[("f", before)], &format!("--- a/f\n+++ b/f\n{hunks}")).unwrap();
    plan.files[0].hunks.iter().map(|hunk| hunk.fit).collect()
}

#[test]
fn every_recorded_case_ends_as_recorded() {
    let cases = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/patch.jsonl"));
    for case in cases.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let answer = decide(&case);
        match &case["expected"] {
            Value::Null => assert!(answer.get("rejected").is_some(), "{}: {answer}", case["name"]),
            expected => assert_eq!(answer.get("files"), Some(expected), "{}: {answer}", case["name"]),
        }
    }
}

#[test]
fn later_hunks_find_their_place_after_earlier_ones_added_or_removed_lines() {
    let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    check_one(
        before,
        "@@ -1,3 +1,5 @@\n 1\n+a\n+b\n 2\n 3\n@@ -7,3 +9,2 @@\n 7\n-8\n 9\n",
        "1\na\nb\n2\n3\n4\n5\n6\n7\n9\n",
    );
    // Numbers that were all counted in the old file, or all in the new one.
    check_one(
        before,
        "@@ -1,2 +1,4 @@\n 1\n+a\n+b\n 2\n@@ -9,3 +11,2 @@\n 7\n-8\n 9\n",
        "1\na\nb\n2\n3\n4\n5\n6\n7\n9\n",
    );
}

#[test]
fn hunks_may_stand_out_of_order_and_share_context() {
    check_one(
        "1\n2\n3\n4\n5\n",
        "@@ -4,2 +4,2 @@\n 4\n-5\n+five\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n",
        "1\ntwo\n3\n4\nfive\n",
    );
    check_one(
        "1\n2\n3\n4\n5\n",
        "@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n@@ -3,3 +3,3 @@\n 3\n-4\n+four\n 5\n",
        "1\ntwo\n3\nfour\n5\n",
    );
}

#[test]
fn additions_without_context_go_after_the_stated_line() {
    check_one("1\n2\n3\n", "@@ -2,0 +3,1 @@\n+x\n", "1\n2\nx\n3\n");
    check_one("1\n2\n3\n", "@@ -0,0 +1,1 @@\n+x\n", "x\n1\n2\n3\n");
    check_one("1\n2\n3\n", "@@ -3,0 +4,1 @@\n+x\n", "1\n2\n3\nx\n");
    check_one("1\n2\n3\n", "@@ -1,0 +2,1 @@\n+x\n@@ -3,0 +5,1 @@\n+y\n", "1\nx\n2\n3\ny\n");
    check_one("", "@@ -0,0 +1,1 @@\n+x\n", "x\n");
    check_one("", "@@\n+x\n", "x\n");
    check_one_rejected("1\n2\n", "@@ -9,0 +10,1 @@\n+x\n", "beyond the end of the file, which has 2 lines");
    check_one_rejected("1\n2\n", "@@\n+x\n", "nothing says where");
    check_one_rejected("1\n2\n", "@@ -1 +1,2 @@\n+x\n", "nothing says where");
}

#[test]
fn counts_in_headers_may_be_wrong() {
    check_one("1\n2\n3\n4\n", "@@ -1,9 +1,9 @@\n 1\n-2\n+two\n 3\n", "1\ntwo\n3\n4\n");
    check_one("1\n2\n3\n4\n", "@@ -1,1 +1,1 @@\n 1\n-2\n+two\n 3\n", "1\ntwo\n3\n4\n");
    check_one("1\n\n3\n4\n", "@@ -1,1 +1,1 @@\n 1\n \n-3\n+three\n", "1\n\nthree\n4\n");
    check(
        &[("f", "1\n2\n"), ("g", "1\n")],
        "--- a/f\n+++ b/f\n@@ -1,7 +1,7 @@\n 1\n-2\n+two\n\n--- a/g\n+++ b/g\n@@ -1,3 +1,3 @@\n-1\n+one\n",
        &[("f", "1\ntwo\n"), ("g", "one\n")],
    );
}

#[test]
fn removed_and_added_lines_may_look_like_headers() {
    check_one("-- x\n1\n", "@@ -1,2 +1,2 @@\n--- x\n+++ y\n 1\n", "++ y\n1\n");
    check_one("1\n-- x\n2\n", "@@ -1,2 +1,2 @@\n 1\n--- x\n+++ y\n@@ -3 +3 @@\n-2\n+two\n", "1\n++ y\ntwo\n");
}

#[test]
fn prose_fences_and_signatures_around_a_patch_are_ignored() {
    let body = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+2\n";
    for around in [
        format!("Here it is:\n\n```diff\n{body}```\n\n- it changes one line\n"),
        format!("- one change\n{body}"),
        format!("From abc\nSubject: x\n---\n f | 2 +-\n\n{body}-- \n2.39.5\n\n"),
        format!("  ~~~\n{body}~~~\nDone.\n"),
        format!("\u{feff}{body}\n\n"),
        body.trim_end().to_owned(),
    ] {
        check(&[("f", "1\n")], &around, &[("f", "2\n")]);
    }
}

#[test]
fn unchanged_lines_may_differ_a_little() {
    let before = "fn a() {\n    one();\n    two();\n    three();\n}\n";
    // The last line differs.
    check_one(
        before,
        "@@ -2,3 +2,3 @@\n     one();\n-    two();\n+    TWO();\n     drei();\n",
        "fn a() {\n    one();\n    TWO();\n    three();\n}\n",
    );
    // A line that the file doesn't have.
    check_one(
        before,
        "@@ -1,4 +1,4 @@\n fn a() {\n     zero();\n     one();\n-    two();\n+    TWO();\n",
        "fn a() {\n    one();\n    TWO();\n    three();\n}\n",
    );
    assert_eq!(
        fits(before, "@@ -2,3 +2,3 @@\n     one();\n-    two();\n+    TWO();\n     drei();\n"),
        [Fit::Fuzzy { moved: 0, differing: 1 }]
    );
}

#[test]
fn a_hunk_that_differs_too_much_or_where_it_matters_is_refused() {
    let before = "fn a() {\n    one();\n    two();\n    three();\n}\n";
    check_one_rejected(
        before,
        "@@ -1,3 +1,3 @@\n fn a() {\n-    eins();\n+    ONE();\n     two();\n",
        "nearest in the file",
    );
    check_one_rejected(
        before,
        "@@ -1,3 +1,3 @@\n fn x() {\n     eins();\n-    two();\n+    TWO();\n     drei();\n }\n",
        "not in the file",
    );
    // Would the new line go before or after the one that the hunk doesn't know?
    check_one_rejected(
        before,
        "@@ -1,3 +1,3 @@\n fn a() {\n     one();\n+    new();\n     three();\n }\n",
        "not in the file",
    );
}

#[test]
fn white_space_alone_never_makes_the_difference() {
    check_one_rejected(
        "\tone();\n\ttwo();\n\tthree();\n",
        "@@ -1,3 +1,3 @@\n     one();\n-\ttwo();\n+\tTWO();\n \tthree();\n",
        "white space",
    );
    check_one_rejected(
        "if x:\n    a()\n    b()\n",
        "@@ -1,3 +1,3 @@\n if x:\n-  a()\n+  c()\n   b()\n",
        "line 1, but differ in white space",
    );
    check_one_rejected("a \nb\nc\nd\n", "@@ -1,4 +1,4 @@\n a\n b\n-c\n+C\n d\n", "white space");
}

#[test]
fn the_report_says_how_each_hunk_fitted() {
    assert_eq!(fits("1\n2\n3\n", "@@ -1,2 +1,2 @@\n 1\n-2\n+x\n"), [Fit::Exact]);
    assert_eq!(fits("0\n0\n1\n2\n3\n", "@@ -1,2 +1,2 @@\n 1\n-2\n+x\n"), [Fit::Moved(2)]);
    assert_eq!(fits("1\n2\n3\n", "@@ -9,2 +9,2 @@\n 1\n-2\n+x\n"), [Fit::Moved(-8)]);
}

#[test]
fn places_are_never_guessed() {
    let twice = "a\nx\nb\n\na\nx\nb\n";
    check_one_rejected(twice, "@@\n a\n-x\n+y\n b\n", "more than one place: lines 1, 5");
    check_one(twice, "@@ -5,3 +5,3 @@\n a\n-x\n+y\n b\n", "a\nx\nb\n\na\ny\nb\n");
    // How near it is to one of them says nothing.
    for stated in [2, 3, 4, 6, 100] {
        let patch = format!("@@ -{stated},3 +{stated},3 @@\n a\n-x\n+y\n b\n");
        check_one_rejected(twice, &patch, "more than one place: lines 1, 5");
    }
    // What an earlier hunk moved is counted.
    check_one(
        "0\n1\na\nx\nb\na\nx\nb\n",
        "@@ -1,2 +1,2 @@\n 1\n-a\n+A\n@@ -5,3 +5,3 @@\n a\n-x\n+y\n b\n",
        "0\n1\nA\nx\nb\na\ny\nb\n",
    );
    // A bare removed line must be where it is said to be, or be the only one.
    check_one_rejected("x\n1\n2\nx\n", "@@ -2 +2 @@\n-x\n+y\n", "more than one place");
    check_one("x\n1\n2\n", "@@ -3 +3 @@\n-x\n+y\n", "y\n1\n2\n");
    // The first hunk without numbers says where the second may be.
    check_one("h\nq\na\nx\n", "@@\n h\n-q\n+Q\n@@\n a\n-x\n+y\n", "h\nQ\na\ny\n");
    // The same hunk twice goes to two places, or nowhere.
    check_one_rejected(
        "a\nx\nb\n",
        "@@ -1,3 +1,3 @@\n a\n-x\n+y\n b\n@@ -1,3 +1,3 @@\n a\n-x\n+y\n b\n",
        "earlier hunk",
    );
}

#[test]
fn a_wrong_line_chooses_none_of_several_places() {
    let thrice = "x\nflush()\nend\ny\nflush()\nend\nz\nflush()\nend\n";
    for stated in [1, 3, 4, 6, 7, 9, 100] {
        let patch = format!("@@ -{stated},2 +{stated},2 @@\n-flush()\n+FLUSH()\n end\n");
        check_one_rejected(thrice, &patch, "more than one place: lines 2, 5, 8");
    }
    check_one(
        thrice,
        "@@ -5,2 +5,2 @@\n-flush()\n+FLUSH()\n end\n",
        "x\nflush()\nend\ny\nFLUSH()\nend\nz\nflush()\nend\n",
    );
    // The same where an unchanged line differs.
    let alike = "a\nb\nflush()\nend\nx\na\nb\nflush()\nend\n";
    for stated in [2, 4, 5] {
        let patch = format!("@@ -{stated},4 +{stated},4 @@\n a\n other\n-flush()\n+FLUSH()\n end\n");
        check_one_rejected(alike, &patch, "more than one place");
    }
}

#[test]
fn hunks_that_touch_are_no_conflict() {
    let file = "one\ntwo\nthree\n";
    for (patch, after) in [
        // What is added stands before what is replaced, whichever hunk comes first.
        ("@@ -1 +1,2 @@\n one\n+1.5\n@@ -2 +3 @@\n-two\n+2\n", "one\n1.5\n2\nthree\n"),
        ("@@ -2 +3 @@\n-two\n+2\n@@ -1 +1,2 @@\n one\n+1.5\n", "one\n1.5\n2\nthree\n"),
        ("@@ -1 +1 @@\n-one\n+1\n@@ -2 +2 @@\n-two\n+2\n@@ -3 +3 @@\n-three\n+3\n", "1\n2\n3\n"),
        ("@@ -1 +1 @@\n-one\n+1\n@@ -2 +2,2 @@\n+1.5\n two\n", "1\n1.5\ntwo\nthree\n"),
        ("@@ -2 +1,0 @@\n-two\n@@ -3 +2,2 @@\n+2.5\n three\n", "one\n2.5\nthree\n"),
        // Both add between the same two lines, in the order of the patch.
        ("@@ -1 +1,2 @@\n one\n+1.3\n@@ -2 +3,2 @@\n+1.6\n two\n", "one\n1.3\n1.6\ntwo\nthree\n"),
    ] {
        check_one(file, patch, after);
    }
    for patch in [
        "@@ -1 +1,2 @@\n one\n+1.5\n@@ -1 +1,2 @@\n one\n+1.5\n",
        "@@ -1,2 +1,3 @@\n one\n+1.5\n two\n@@ -1,2 +1,3 @@\n one\n+1.6\n two\n",
        "@@ -1,0 +2 @@\n+1.3\n@@ -1,0 +2 @@\n+1.6\n",
        "@@ -1,2 +1 @@\n-one\n-two\n+1\n@@ -1,2 +1,3 @@\n one\n+1.5\n two\n",
        "@@ -2 +2 @@\n-two\n+2\n@@ -2 +2 @@\n-two\n+zwei\n",
    ] {
        check_one_rejected(file, patch, "earlier hunk");
    }
}

#[test]
fn line_endings_stay_as_they_are() {
    let mixed = "a\r\nb\nc\r\nd\n";
    check_one(mixed, "@@ -1,4 +1,4 @@\n a\n-b\n+B\n c\n d\n", "a\r\nB\nc\r\nd\n");
    check_one(mixed, "@@ -1,4 +1,4 @@\n a\n b\n-c\n+C\n+D\n d\n", "a\r\nb\nC\r\nD\r\nd\n");
    check_one("a\r\nb\r\n", "@@ -1,2 +1,3 @@\n a\n+n\n b\n", "a\r\nn\r\nb\r\n");
    check_one("a\r\nb\r\n", "@@ -0,0 +1 @@\n+n\n", "n\r\na\r\nb\r\n");
    check_one("a\r\nb\r\n", "@@ -2,0 +3 @@\n+n\n", "a\r\nb\r\nn\r\n");
    check(
        &[("f", "a\r\nb\r\n")],
        "--- a/f\r\n+++ b/f\r\n@@ -1,2 +1,2 @@\r\n a\r\n-b\r\n+c\r\n",
        &[("f", "a\r\nc\r\n")],
    );
    // A patch whose headers end in a line feed means its carriage returns.
    check_one("a\r\nb\r\n", "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\r\n", "a\nb\r\n");
    check_one("a\nb\n", "@@ -1,2 +1,2 @@\n-a\n+a\r\n b\n", "a\r\nb\n");
}

#[test]
fn the_end_of_a_file_stays_open_or_closed_as_it_was() {
    check_one("a\nb", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n", "A\nb");
    check_one("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "a\nB");
    check_one("a\nb", "@@ -1,2 +1,3 @@\n a\n b\n+c\n", "a\nb\nc");
    check_one("a\r\nb", "@@ -1,2 +1,3 @@\n a\n b\n+c\n", "a\r\nb\r\nc");
    check_one("a\nb", "@@ -2,0 +3 @@\n+c\n", "a\nb\nc\n");
    check_one("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n", "a\nc\n");
    check_one("a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n", "a\nc");
    check_one_rejected("a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n", "not in the file");
    check_one("a\nb\n", "@@ -1,2 +0,0 @@\n-a\n-b\n", "");
}

#[test]
fn a_byte_order_mark_is_kept_unless_the_patch_names_it() {
    check_one("\u{feff}a\nb\n", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n", "\u{feff}A\nb\n");
    check_one("\u{feff}a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "\u{feff}a\nB\n");
    check_one("\u{feff}a\nb\n", "@@ -1,2 +1,2 @@\n-\u{feff}a\n+a\n b\n", "a\nb\n");
    check_one("a\nb\n", "@@ -1,2 +1,2 @@\n-a\n+\u{feff}a\n b\n", "\u{feff}a\nb\n");
}

#[test]
fn files_are_created_deleted_renamed_and_copied() {
    check(&[], "--- /dev/null\n+++ b/d/n\n@@ -0,0 +1,2 @@\n+x\n+y\n\\ No newline at end of file\n", &[("d/n", "x\ny")]);
    check(&[], "--- a/n\n+++ b/n\n@@ -0,0 +1 @@\n+x\n", &[("n", "x\n")]);
    check(&[], "--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+x\r\n+y\r\n", &[("n", "x\r\ny\r\n")]);
    check(&[("z", "x\n")], "--- a/z\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", &[]);
    check(&[("z", "")], "diff --git a/z b/z\ndeleted file mode 100644\nindex e69de29..0000000\n", &[]);
    check(
        &[("f", "1\n2\n3\n")],
        "diff --git a/f b/g\nsimilarity index 80%\nrename from f\nrename to g\n--- a/f\n+++ b/g\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n",
        &[("g", "1\ntwo\n3\n")],
    );
    check(
        &[("f", "1\n")],
        "diff --git a/f b/g\nsimilarity index 100%\ncopy from f\ncopy to g\n",
        &[("f", "1\n"), ("g", "1\n")],
    );
    check(
        &[("a", "A\n"), ("b", "B\n")],
        "diff --git a/a b/b\nrename from a\nrename to b\ndiff --git a/b b/a\nrename from b\nrename to a\n",
        &[("a", "B\n"), ("b", "A\n")],
    );
    check(
        &[("my file", "1\n")],
        "diff --git a/my file b/new file\nrename from my file\nrename to new file\n",
        &[("new file", "1\n")],
    );
}

#[test]
fn modes_are_planned_and_renames_say_where_they_came_from() {
    let plan = planned(&[("f", "1\n")], "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n").unwrap();
    assert_eq!((plan.files[0].mode, plan.files[0].before == plan.files[0].after), (Some(FileMode::Executable), true));
    let plan =
        planned(&[], "diff --git a/f b/f\nnew file mode 100755\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n").unwrap();
    assert_eq!((plan.files[0].mode, plan.files[0].before.is_none()), (Some(FileMode::Executable), true));
    let plan = planned(&[("f", "1\n")], "diff --git a/f b/g\nrename from f\nrename to g\n").unwrap();
    let moved: Vec<_> =
        plan.files.iter().map(|file| (file.path.as_str(), file.from.as_deref(), file.after.is_some())).collect();
    assert_eq!(moved, [("f", None, false), ("g", Some("f"), true)]);
}

#[test]
fn parts_about_the_same_file_build_on_each_other() {
    check(
        &[("f", "1\n2\n")],
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+one\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-2\n+two\n",
        &[("f", "one\ntwo\n")],
    );
    let plan =
        planned(&[("f", "1\n")], "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+2\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-2\n+3\n")
            .unwrap();
    assert_eq!(plan.files.len(), 1);
    assert_eq!(plan.files[0].before.as_deref(), Some(&b"1\n"[..]));
}

#[test]
fn several_files_change_together_or_not_at_all() {
    let patch = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+2\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-1\n+2\n";
    check(&[("f", "1\n"), ("g", "1\n")], patch, &[("f", "2\n"), ("g", "2\n")]);
    check_rejected(&[("f", "1\n"), ("g", "9\n")], patch, "HUNK_FAILED", "g: hunk 1 (line 8 of the patch)");
    check_rejected(&[("f", "1\n")], patch, "ENOENT", "no such file");
}

#[test]
fn names_with_and_without_prefixes_are_found() {
    check(&[("src/x", "1\n")], "--- src/x\n+++ src/x\n@@ -1 +1 @@\n-1\n+2\n", &[("src/x", "2\n")]);
    check(&[("a/x", "1\n")], "--- a/x\n+++ a/x\n@@ -1 +1 @@\n-1\n+2\n", &[("a/x", "2\n")]);
    check(&[("x", "1\n")], "--- ./x\n+++ ./x\n@@ -1 +1 @@\n-1\n+2\n", &[("x", "2\n")]);
    check(&[("x", "1\n")], "--- x.orig\n+++ x\n@@ -1 +1 @@\n-1\n+2\n", &[("x", "2\n")]);
    check(&[("x", "1\n")], "diff --git i/x w/x\n--- i/x\n+++ w/x\n@@ -1 +1 @@\n-1\n+2\n", &[("x", "2\n")]);
    check_rejected(&[("old", "1\n")], "--- a/old\n+++ b/new\n@@ -1 +1 @@\n-1\n+2\n", "ENOENT", "rename from");
}

#[test]
fn paths_that_no_patch_may_touch_are_refused() {
    for path in [
        "../x",
        "x/../../y",
        "x/../y",
        "/x",
        "b//../x",
        ".git/config",
        "sub/.git/hooks/x",
        ".GIT/config",
        "d/",
        "\"b/\\000\"",
        "\"b/x\\000y\"",
        &"x".repeat(256),
        &"x/".repeat(3000),
    ] {
        check_rejected(&[], &format!("--- /dev/null\n+++ {path}\n@@ -0,0 +1 @@\n+x\n"), "PATH_ESCAPE", "hint");
    }
    check_rejected(&[("f", "")], "diff --git a/f b/f\nrename from f\nrename to ../g\n", "PATH_ESCAPE", "`..`");
    check(&[], "--- /dev/null\n+++ b/.gitignore\n@@ -0,0 +1 @@\n+x\n", &[(".gitignore", "x\n")]);
    check(&[], "--- /dev/null\n+++ b/..x\n@@ -0,0 +1 @@\n+x\n", &[("..x", "x\n")]);
}

#[test]
fn what_would_overwrite_or_collide_is_refused() {
    check_rejected(
        &[("f", "1\n"), ("g", "2\n")],
        "diff --git a/f b/g\ncopy from f\ncopy to g\n",
        "EEXIST",
        "there already",
    );
    check_rejected(&[("d", "1\n")], "--- /dev/null\n+++ b/d/x\n@@ -0,0 +1 @@\n+x\n", "EEXIST", "`d` is a file");
    check_rejected(&[("d", "<folder>")], "--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+x\n", "EISDIR", "folder");
    check_rejected(
        &[],
        "--- /dev/null\n+++ b/d/x\n@@ -0,0 +1 @@\n+x\n--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+x\n",
        "EEXIST",
        "below",
    );
    check_rejected(
        &[("z", "x\ny\n")],
        "--- a/z\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
        "HUNK_FAILED",
        "all of its lines",
    );
    check_rejected(
        &[("z", "x\n")],
        "diff --git a/z b/z\ndeleted file mode 100644\n",
        "HUNK_FAILED",
        "all of its lines",
    );
}

#[test]
fn what_is_no_readable_patch_says_what_to_send() {
    let file = [("f", "1\n2\n")];
    for (patch, reason) in [
        ("", "no file header"),
        ("hello\n", "no file header"),
        ("--- a/f\n+++ b/f\n", "without hunks"),
        ("diff --git a/f b/f\nindex 1..2 100644\n", "without hunks"),
        ("@@ -1 +1 @@\n-1\n+x\n", "without the two file header lines"),
        ("--- a/f\n@@ -1 +1 @@\n-1\n+x\n", "without the two file header lines"),
        ("*** Begin Patch\n*** Update File: f\n", "not a unified diff"),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n 1\n", "changes nothing"),
        ("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-1\n+x\n2\n", "without its prefix: `2`"),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+x\n\n-2\n+y\n", "outside any hunk: `-2`"),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-1\n+x\n", "both sides"),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+1\n", "changes nothing"),
        ("rename from f\nrename to g\n", "without a `diff --git`"),
        ("diff --git a/f b/g\nrename from f\n", "only one of its two lines"),
        ("--- \"a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+x\n", "quoted name"),
        ("--- \"a/\\377\"\n+++ \"b/\\377\"\n@@ -1 +1 @@\n-1\n+x\n", "not UTF-8"),
    ] {
        check_rejected(&file, patch, "PARSE_ERROR", reason);
    }
    for patch in [
        "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n",
        "diff --git a/m b/m\nnew file mode 160000\n--- /dev/null\n+++ b/m\n@@ -0,0 +1 @@\n+Subproject commit 1\n",
        "diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n",
        "Binary files a/x and b/x differ\n",
    ] {
        check_rejected(&file, patch, "UNSUPPORTED", "can't be patched");
    }
}

#[test]
fn a_refusal_says_where_what_and_what_now() {
    let patch = "--- a/f.rs\n+++ b/f.rs\n@@ -1,3 +1,3 @@\n fn a() {\n-    two(1);\n+    TWO();\n }\n";
    let rejected = planned(&[("f.rs", "fn a() {\n    one();\n    two(2);\n}\n")], patch).unwrap_err();
    assert_eq!(
        rejected.to_string(),
        "f.rs: hunk 1 (line 3 of the patch): its lines are not in the file\n\
         expected:\n  | fn a() {\n  |     two(1);\n  | }\n\
         nearest in the file:\n  3:     two(2);\n\
         hint: read the file again and copy the unchanged and removed lines from it exactly"
    );
}

#[test]
fn a_short_patch_can_not_grow_without_bound() {
    let big = "x\n".repeat(1 << 20);
    let mut patch = String::new();
    for copy in 0..64 {
        patch.push_str(&format!("diff --git a/big b/c{copy}\ncopy from big\ncopy to c{copy}\n"));
    }
    check_rejected(&[("big", &big)], &patch, "TOO_LARGE", "more than 67108864");
    check_rejected(&[], &"+".repeat(PATCH_BYTES_MAX + 1), "TOO_LARGE", "bytes");
    let many: String = (0..=FILES_MAX + 1).map(|n| format!("diff --git a/{n} b/{n}\nnew file mode 100644\n")).collect();
    check_rejected(&[], &many, "TOO_LARGE", "files");
}

#[test]
fn a_patch_made_to_be_slow_is_refused_soon() {
    let blank = "\n".repeat(200_000);
    let hunk: String = format!("@@ -9 +9 @@\n{}-x\n+y\n", " \n".repeat(20_000));
    check_one_rejected(&blank, &hunk, "");
    let near: String = format!("@@ -190000 +9 @@\n{} x\n-\n+y\n", " \n".repeat(20_000));
    check_one_rejected(&blank, &near, "");
}

fn lines() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("a"),
        Just("b"),
        Just("}"),
        Just(""),
        Just("    x();"),
        Just("-- q"),
        Just("++ q"),
        Just("@@ -1 +1 @@")
    ];
    (proptest::collection::vec(line, 0..30), any::<bool>()).prop_map(|(lines, is_open)| {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        if is_open { text.trim_end_matches('\n').to_owned() } else { text }
    })
}

proptest! {
    #[test]
    fn a_diff_between_two_texts_makes_the_one_from_the_other(before in lines(), after in lines(), context in 0usize..4) {
        prop_assume!(before != after);
        let patch = diffy::DiffOptions::new().set_context_len(context).create_patch(&before, &after).to_string();
        let patch = patch.replacen("--- original", "--- a/f", 1).replacen("+++ modified", "+++ b/f", 1);
        let plan = planned(&[("f", &before)], &patch).map_err(|rejected| TestCaseError::fail(format!("{rejected}\n{patch}")))?;
        prop_assert_eq!(String::from_utf8_lossy(plan.files[0].after.as_deref().unwrap()), after, "{}", patch);
    }

    #[test]
    fn a_file_that_grew_above_changes_in_the_same_place(above in 1usize..60, after in "[a-z]{1,8}") {
        let before = "fn a() {\n    one();\n    two();\n}\n";
        let grown = "// above\n".repeat(above) + before;
        let patch = format!("--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n fn a() {{\n     one();\n-    two();\n+    {after}\n }}\n");
        let plan = planned(&[("f", &grown)], &patch).unwrap();
        prop_assert_eq!(plan.files[0].hunks[0].fit, Fit::Moved(i64::try_from(above).unwrap()));
        prop_assert_eq!(String::from_utf8_lossy(plan.files[0].after.as_deref().unwrap()), grown.replace("    two();", &format!("    {after}")));
    }

    #[test]
    fn no_text_makes_the_planner_panic(patch in "(--- a/f\n|[+]{3} b/f\n|@@ -[0-9],[0-9] [+][0-9] @@\n|diff --git a/f b/f\n|[-+ ](a|b)\n|\\\\ No\n|\n|\r\n|```\n|-- \n|[ -~\u{80}-\u{fff}]{0,5}\n){0,12}", file in lines()) {
        if let Err(rejected) = planned(&[("f", &file)], &patch) {
            prop_assert!(!rejected.to_string().is_empty());
        }
    }
}
