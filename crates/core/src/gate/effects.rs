//! What a call would do beyond its tool's own categories, read from its arguments.
//!
//! Only what is certain without reading shell: a patch that deletes a file, a request that does more
//! than read, a write into a file that says what continuous integration runs. An ordinary edit adds
//! nothing. Arguments of a wrong type add nothing either: such a call fails before it does anything.
//! Deletions are looked for anywhere in a patch, not only where its counts say that headers stand,
//! because whoever applies it may be more lenient than whoever judges it.

use serde_json::Value;

use super::category::{CI_MODIFY, Category, EXTERNAL_MESSAGE, FILESYSTEM_DELETE, GIT_WRITE};

/// The categories that a call to `tool` with `args` needs in addition to the tool's own.
///
/// `apply_patch` with a file deleted needs `filesystem_delete`; `http_fetch` with a method other than
/// GET, HEAD or OPTIONS needs `external_message`, since it may say or change something outside; a
/// write to a CI file needs `ci_modify`, one to git's own folder `git_write`. For other tools there is nothing to read.
#[must_use]
pub fn effects_of(tool: &str, args: &Value) -> Vec<Category> {
    let text = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
    let mut effects = Vec::new();
    let mut add = |is_needed: bool, category: &str| {
        if is_needed {
            effects.push(Category::new(category));
        }
    };
    match tool {
        "apply_patch" => {
            let diff = text("diff");
            add(deletes_file(diff), FILESYSTEM_DELETE);
            add(patched_paths(diff).any(is_ci_file), CI_MODIFY);
            add(patched_paths(diff).any(is_gits_own), GIT_WRITE);
        }
        "write_file" => {
            add(is_ci_file(text("path")), CI_MODIFY);
            add(is_gits_own(text("path")), GIT_WRITE);
        }
        "http_fetch" => {
            let method = text("method");
            let reads = ["", "GET", "HEAD", "OPTIONS"].iter().any(|reading| method.eq_ignore_ascii_case(reading));
            add(!reads, EXTERNAL_MESSAGE);
        }
        _ => {}
    }
    effects
}

fn deletes_file(diff: &str) -> bool {
    let mut before = "";
    for line in diff.lines() {
        let is_gone = line.strip_prefix("+++ ").is_some_and(|path| header_path(path) == "/dev/null");
        if line.starts_with("deleted file mode") || (is_gone && before.starts_with("--- ")) {
            return true;
        }
        before = line;
    }
    false
}

/// Every path that a line of the patch names where a header might stand.
fn patched_paths(diff: &str) -> impl Iterator<Item = &str> {
    let headers = ["+++ ", "--- ", "rename to ", "rename from ", "copy to "];
    diff.lines().filter_map(move |line| headers.iter().find_map(|header| line.strip_prefix(header))).map(header_path)
}

/// The path of a header: without what follows a tab, quotes and whitespace around it.
fn header_path(header: &str) -> &str {
    header.split('\t').next().unwrap_or_default().trim().trim_matches('"')
}

/// Whether `path` lies in a repository's own folder: a hook there runs commands, a setting names programs.
fn is_gits_own(path: &str) -> bool {
    path.split('/').any(|segment| segment.eq_ignore_ascii_case(".git"))
}

/// Folders whose files say what continuous integration runs.
const CI_FOLDERS: [&[&str]; 6] = [
    &[".github", "workflows"],
    &[".github", "actions"],
    &[".gitea", "workflows"],
    &[".forgejo", "workflows"],
    &[".circleci"],
    &[".buildkite"],
];

/// Names of files that say so themselves.
const CI_FILES: [&str; 11] = [
    ".gitlab-ci.yml",
    ".gitlab-ci.yaml",
    ".travis.yml",
    ".drone.yml",
    ".woodpecker.yml",
    ".cirrus.yml",
    "appveyor.yml",
    "azure-pipelines.yml",
    "azure-pipelines.yaml",
    "bitbucket-pipelines.yml",
    "jenkinsfile",
];

/// Whether the file at `path` says what continuous integration runs. Case does not count, because to
/// some file systems it does not.
fn is_ci_file(path: &str) -> bool {
    let mut segments: Vec<String> = Vec::new();
    for segment in path.split(['/', '\\']) {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            name => segments.push(name.to_ascii_lowercase()),
        }
    }
    let Some((file, folders)) = segments.split_last() else { return false };
    CI_FILES.contains(&file.as_str())
        || CI_FOLDERS.iter().any(|ci| folders.windows(ci.len()).any(|window| window == *ci))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(tool: &str, args: Value, expected: &[&str]) {
        let effects = effects_of(tool, &args);
        let names: Vec<_> = effects.iter().map(Category::as_str).collect();
        assert_eq!(names, expected, "{tool} {args}");
    }

    #[test]
    fn an_ordinary_edit_adds_nothing() {
        check("write_file", json!({"path": "src/workflows/a.yml", "content": ".github/workflows"}), &[]);
        check("apply_patch", json!({"diff": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"}), &[]);
        check("apply_patch", json!({"diff": "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n"}), &[]);
        check("read_file", json!({"path": ".github/workflows/ci.yml"}), &[]);
        check("write_file", json!({"path": ".github/workflows/../README.md"}), &[]);
    }

    #[test]
    fn a_patch_that_deletes_needs_the_right_to_delete() {
        check("apply_patch", json!({"diff": "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"}), &[FILESYSTEM_DELETE]);
        check("apply_patch", json!({"diff": "--- a/x\r\n+++ /dev/null\t2024\r\n"}), &[FILESYSTEM_DELETE]);
        check("apply_patch", json!({"diff": "diff --git a/x b/x\ndeleted file mode 100644\n"}), &[FILESYSTEM_DELETE]);
        check(
            "apply_patch",
            json!({"diff": "--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n--- a/y\n+++ /dev/null\n"}),
            &[FILESYSTEM_DELETE],
        );
    }

    #[test]
    fn a_ci_file_is_one_however_it_is_spelled() {
        for path in [
            ".github/workflows/ci.yml",
            "./.github//workflows/x/../ci.yml",
            "sub/.GitHub/Workflows/a",
            "a\\.gitlab-ci.yml",
            "/w/Jenkinsfile",
        ] {
            check("write_file", json!({"path": path}), &[CI_MODIFY]);
        }
        check("write_file", json!({"path": ".git/hooks/pre-commit"}), &[GIT_WRITE]);
        check("write_file", json!({"path": "a/.GIT/config"}), &[GIT_WRITE]);
        check("write_file", json!({"path": ".gitignore"}), &[]);
        check("apply_patch", json!({"diff": "--- a/.circleci/config.yml\n+++ b/.circleci/config.yml\n"}), &[CI_MODIFY]);
        check("apply_patch", json!({"diff": "--- a/.travis.yml\n+++ /dev/null\n"}), &[FILESYSTEM_DELETE, CI_MODIFY]);
        check("apply_patch", json!({"diff": "rename from a.yml\nrename to .github/workflows/a.yml\n"}), &[CI_MODIFY]);
    }

    #[test]
    fn a_request_that_may_change_something_speaks_to_the_outside() {
        for method in ["POST", "delete", "Put", "PATCH", "FROB"] {
            check("http_fetch", json!({"url": "https://x", "method": method}), &[EXTERNAL_MESSAGE]);
        }
        for args in [
            json!({"url": "https://x"}),
            json!({"method": "get"}),
            json!({"method": "HEAD"}),
            json!({"method": 7}),
            json!(null),
        ] {
            check("http_fetch", args, &[]);
        }
    }
}
