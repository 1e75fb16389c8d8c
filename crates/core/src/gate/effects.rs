//! The effects of a call beyond its tool's own categories, read from its arguments.
//!
//! A command line is read by [`shell`](super::shell). Of other calls only what is certain counts: a patch that deletes
//! a file, a request that does more than read, a write into a file that says what continuous integration runs. An
//! ordinary edit adds nothing. Arguments of a wrong type add nothing either: such a call fails before it does anything.
//! Deletions are looked for anywhere in a patch, not only where its counts say that headers stand, because the program
//! that applies it may be more lenient than the gate.

use serde_json::Value;

use super::effect::{Act, Effect, Target, UNKNOWN, Verdict};
use super::places::Places;
use super::secrets::MASKED;
use super::shell::{self, Dialect, Programs, ShellContext};
use crate::patch::{self, PatchPaths};
use crate::words::Category;
use crate::words::category::{
    CI_MODIFY, EXTERNAL_MESSAGE, FILESYSTEM_DELETE, FILESYSTEM_READ, FILESYSTEM_WRITE, GIT_WRITE, HTTP_FETCH,
    OPAQUE_EXEC, OTHER_MEMORY_READ, SHELL_EXEC,
};
use crate::words::wait::{self, WAIT_FOR};

/// Returns the effects of a call to `tool` with `args`, beyond the tool's own categories.
///
/// `apply_patch` with a file deleted needs `filesystem_delete`; `http_fetch` with a method other than
/// GET, HEAD or OPTIONS needs `external_message`, since it may say or change something outside; a
/// write to a CI file needs `ci_modify`, one to git's own folder `git_write`; the memory of another project needs
/// `other_memory_read`. Files written are effects too. A wait for a command needs what `shell_exec` needs for it.
/// `programs` says what the programs of a command line do.
#[must_use]
pub fn effects_of(tool: &str, args: &Value, places: &Places, programs: &Programs) -> Vec<Effect> {
    let text = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
    match tool {
        "apply_patch" => patched(text("diff"), places),
        "write_file" => written(text("path"), places),
        "shell_exec" => {
            let shell = args.get("shell").and_then(Value::as_str).map_or(Dialect::Bash, Dialect::of);
            command(text("cmd"), text("cwd"), shell, places, programs)
        }
        "http_fetch" => request(text("method"), text("url")),
        "read_project_memory" | "list_project_memory" => others_memory(args.get("project"), places),
        WAIT_FOR => waited(args, places, programs),
        _ => Vec::new(),
    }
}

/// Returns the effects of a wait: of one that runs a command those of that command in `shell_exec`, whose category is
/// an effect here since not every wait needs it; of any other that it looks at this machine.
fn waited(args: &Value, places: &Places, programs: &Programs) -> Vec<Effect> {
    let safe = |category: &str, matched: &str, reason: &str| Effect {
        verdict: Verdict::Safe,
        category: Category::new(category),
        act: Act::Other,
        matched: matched.chars().take(80).collect(),
        reason: reason.to_owned(),
    };
    let looked_at = ["file", "gone", "port"].iter().filter_map(|name| args.get(*name).filter(|value| !value.is_null()));
    let looked_at = looked_at.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    let looks = looked_at.map(|what| safe(FILESYSTEM_READ, &what, "looks whether something is there"));
    let Some(line) = wait::command(args) else { return looks.collect() };
    let itself = safe(SHELL_EXEC, &line, "runs a command, again and again");
    looks.chain([itself]).chain(command(&line, "", Dialect::Bash, places, programs)).collect()
}

/// Returns the effects of a command line, as far as it can be read.
fn command(line: &str, cwd: &str, shell: Dialect, places: &Places, programs: &Programs) -> Vec<Effect> {
    let folder = places.plain(".", cwd);
    let mut effects = shell::read(line, &ShellContext { shell, folder: &folder, places, programs }).effects;
    if [line, cwd].iter().any(|text| text.contains(MASKED)) {
        effects.push(behind_a_mask(line));
    }
    effects
}

/// Returns the effect that stands for a masked part of a command: the text judged here is not the text that would run.
fn behind_a_mask(line: &str) -> Effect {
    Effect {
        verdict: Verdict::Opaque,
        category: Category::new(OPAQUE_EXEC),
        act: Act::Delete(Target { path: UNKNOWN.to_owned(), is_pattern: false, is_recursive: true }),
        matched: line.chars().skip_while(|c| *c != '[').take(80).collect(),
        reason: "holds a secret that was masked, so that it can't be read whole".to_owned(),
    }
}

fn patched(diff: &str, places: &Places) -> Vec<Effect> {
    let mut effects = Vec::new();
    let PatchPaths { written: paths, deleted } = patch::named(diff);
    // Whoever applies a patch may be more lenient than whoever reads it here.
    if deleted.is_empty() && deletes_file(diff) {
        effects.push(Effect {
            verdict: Verdict::Destructive,
            category: Category::new(FILESYSTEM_DELETE),
            act: Act::Other,
            matched: "+++ /dev/null".to_owned(),
            reason: "the patch deletes a file".to_owned(),
        });
    }
    for path in patched_paths(diff).filter(|path| *path != "/dev/null") {
        let in_workdir = path.strip_prefix("a/").or(path.strip_prefix("b/")).unwrap_or(path);
        effects.extend(written(in_workdir, places));
    }
    // What the lines above don't show: names with escapes, and files that only a `diff --git` line names.
    for path in paths {
        let more = written(&path, places);
        let is_new =
            |more: &Effect| !effects.iter().any(|told| (&told.category, &told.act) == (&more.category, &more.act));
        let new: Vec<_> = more.into_iter().filter(is_new).collect();
        effects.extend(new);
    }
    effects.extend(deleted.iter().map(|path| Effect {
        verdict: Verdict::Destructive,
        category: Category::new(FILESYSTEM_DELETE),
        act: Act::Delete(target(path, places)),
        matched: path.clone(),
        reason: "the patch deletes a file".to_owned(),
    }));
    effects
}

/// A file that is created or changed.
pub(super) fn written(path: &str, places: &Places) -> Vec<Effect> {
    let target = target(path, places);
    let effect = |category: &str, verdict, reason: &str| Effect {
        verdict,
        category: Category::new(category),
        act: Act::Write(target.clone()),
        matched: path.to_owned(),
        reason: reason.to_owned(),
    };
    let mut effects = vec![effect(FILESYSTEM_WRITE, Verdict::Safe, "writes a file")];
    if is_ci_file(path) {
        effects.push(effect(CI_MODIFY, Verdict::Ask, "changes what continuous integration runs"));
    }
    if is_gits_own(path) {
        effects.push(effect(GIT_WRITE, Verdict::Ask, "changes git's own folder"));
    }
    effects
}

/// The memory of a project that is not the run's own. An absent name means the own one; an empty name is no name.
fn others_memory(project: Option<&Value>, places: &Places) -> Vec<Effect> {
    let Some(project) = project.filter(|project| !project.is_null()) else { return Vec::new() };
    let project = project.as_str().map_or_else(|| project.to_string(), str::to_owned);
    if !project.is_empty() && project == places.project {
        return Vec::new();
    }
    vec![Effect {
        verdict: Verdict::Ask,
        category: Category::new(OTHER_MEMORY_READ),
        act: Act::Other,
        matched: if project.is_empty() { "\"\"".to_owned() } else { project.chars().take(80).collect() },
        reason: "reads what another project remembers".to_owned(),
    }]
}

fn target(path: &str, places: &Places) -> Target {
    Target { path: places.plain(".", path), is_pattern: false, is_recursive: false }
}

fn request(method: &str, url: &str) -> Vec<Effect> {
    let reads = ["", "GET", "HEAD", "OPTIONS"].iter().any(|reading| method.eq_ignore_ascii_case(reading));
    let (verdict, category, reason) = if reads {
        (Verdict::Ask, HTTP_FETCH, "fetches from the network")
    } else {
        (Verdict::External, EXTERNAL_MESSAGE, "may say or change something outside")
    };
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = after_scheme.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    vec![Effect {
        verdict,
        category: Category::new(category),
        act: Act::Contact { host: host.to_owned() },
        matched: format!("{method} {url}").trim().to_owned(),
        reason: reason.to_owned(),
    }]
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

/// True if `path` lies in a repository's own folder: a hook there runs commands, a setting names programs.
pub(super) fn is_gits_own(path: &str) -> bool {
    path.split('/').any(is_git_name)
}

/// True if a file system may take `name` for `.git`: some ignore case or characters without a width; Windows drops some
/// characters at a name's end and has short names. Git refuses the same names.
pub(super) fn is_git_name(name: &str) -> bool {
    if name.eq_ignore_ascii_case(".git") {
        return true;
    }
    let is_odd = !name.is_ascii() || name.contains(['~', ':']) || name.ends_with(['.', ' ']);
    is_odd && {
        let seen: String = name.chars().filter(|c| !is_ignored(*c)).collect();
        let seen = seen.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
        seen.eq_ignore_ascii_case(".git") || seen.eq_ignore_ascii_case("git~1")
    }
}

/// The characters that HFS+ ignores in names.
const fn is_ignored(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
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

/// A name as a file system that ignores case sees it: the Kelvin sign is a `k` to it, the long s an `s`.
fn folded(name: &str) -> String {
    if name.is_ascii() { name.to_ascii_lowercase() } else { name.to_uppercase().to_lowercase() }
}

/// True if the file at `path` configures continuous integration. Case does not count, because some file systems ignore
/// it.
pub(super) fn is_ci_file(path: &str) -> bool {
    let mut segments: Vec<String> = Vec::new();
    for segment in path.split(['/', '\\']) {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            name => segments.push(folded(name)),
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
        let own = super::super::native::categories(tool).expect("a native tool");
        let effects =
            super::super::effect::categories(&effects_of(tool, &args, &Places::default(), Programs::builtin()));
        let names: Vec<_> = effects.iter().filter(|category| !own.contains(category)).map(Category::as_str).collect();
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
        check(
            "apply_patch",
            json!({"diff": "--- a/x\n+++ \"\\057dev/null\"\n@@ -1 +0,0 @@\n-a\n"}),
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
        for git in ["a/.GIT", ".g\u{200c}it", "\u{feff}.git", "git~1", ".git.", ".git ", ".git::$INDEX_ALLOCATION"] {
            check("write_file", json!({"path": format!("{git}/config")}), &[GIT_WRITE]);
        }
        for other in [".github", "git", "git~2", ".gitx.", "a.git", ".git~", "\u{200c}"] {
            check("write_file", json!({"path": format!("{other}/config")}), &[]);
        }
        check("write_file", json!({"path": ".github/wor\u{212a}flow\u{17f}/a.yml"}), &[CI_MODIFY]);
        check("write_file", json!({"path": ".gitignore"}), &[]);
        check("apply_patch", json!({"diff": "--- a/.circleci/config.yml\n+++ b/.circleci/config.yml\n"}), &[CI_MODIFY]);
        check("apply_patch", json!({"diff": "--- a/.travis.yml\n+++ /dev/null\n"}), &[FILESYSTEM_DELETE, CI_MODIFY]);
        for diff in [
            "--- /dev/null\n+++ \"b/.git\\150ub/workflows/a.yml\"\n@@ -0,0 +1 @@\n+b\n",
            "diff --git a/.github/workflows/a.yml b/.github/workflows/a.yml\nnew file mode 100644\n",
            "diff --git a/x b/.github/workflows/a.yml\nsimilarity index 100%\nrename from x\nrename to \".git\\150ub/workflows/a.yml\"\n",
        ] {
            check("apply_patch", json!({"diff": diff}), &[CI_MODIFY]);
        }
        check("apply_patch", json!({"diff": "rename from a.yml\nrename to .github/workflows/a.yml\n"}), &[CI_MODIFY]);
    }

    #[test]
    fn a_command_that_was_masked_is_never_known_to_be_harmless() {
        let effects = effects_of(
            "shell_exec",
            &json!({"cmd": "cat [masked:known_value]"}),
            &Places::default(),
            Programs::builtin(),
        );
        assert!(effects.iter().any(|effect| effect.verdict == Verdict::Opaque), "{effects:?}");
        let place = effects.iter().find_map(|effect| super::super::protected::protected(effect, &Places::default()));
        assert!(place.is_some(), "no wildcard covers it");
    }

    #[test]
    fn s9_the_memory_of_another_project_needs_an_authorization_of_its_own() {
        let own = Places { project: "orchard".to_owned(), ..Places::default() };
        for tool in ["read_project_memory", "list_project_memory"] {
            for (places, project, expected) in [
                (&own, json!("orchard"), &[][..]),
                (&own, json!(null), &[]),
                (&own, json!("other"), &[OTHER_MEMORY_READ]),
                (&own, json!(""), &[OTHER_MEMORY_READ]),
                (&own, json!(" "), &[OTHER_MEMORY_READ]),
                (&own, json!(7), &[OTHER_MEMORY_READ]),
                (&Places::default(), json!(""), &[OTHER_MEMORY_READ]),
                (&Places::default(), json!(null), &[]),
                (&own, json!("Orchard"), &[OTHER_MEMORY_READ]),
                (&own, json!("../orchard"), &[OTHER_MEMORY_READ]),
                (&Places::default(), json!("orchard"), &[OTHER_MEMORY_READ]),
            ] {
                let effects = effects_of(tool, &json!({"project": project}), places, Programs::builtin());
                let names: Vec<_> = effects.iter().map(|effect| effect.category.as_str()).collect();
                assert_eq!(names, expected, "{tool} {project}");
            }
        }
        check("write_project_memory", json!({"category": "knowledge", "project": "other"}), &[]);
    }

    #[test]
    fn a_wait_needs_what_it_does_and_a_waiting_command_what_the_command_needs() {
        for args in [json!({"seconds": 5}), json!({"message": true}), json!({"file": null}), json!(null)] {
            check("wait_for", args, &[]);
        }
        for args in [json!({"file": "dist/app"}), json!({"gone": "x.lock"}), json!({"port": 80}), json!({"file": 7})] {
            check("wait_for", args, &[FILESYSTEM_READ]);
        }
        check("wait_for", json!({"ci": 12}), &[SHELL_EXEC, HTTP_FETCH]);
        check("wait_for", json!({"pull_request": "fix/a"}), &[SHELL_EXEC, HTTP_FETCH]);
        check(
            "wait_for",
            json!({"command": "rm -r build", "file": "x"}),
            &[FILESYSTEM_READ, SHELL_EXEC, FILESYSTEM_DELETE],
        );
        for line in ["test -f x", "rm -r build", "./ready.sh", "curl https://x.dev/", "git push", "rm [masked:x]", "if"]
        {
            let effects = |tool: &str, args: Value| effects_of(tool, &args, &Places::default(), Programs::builtin());
            let waited = effects("wait_for", json!({"command": line}));
            assert_eq!(waited[0].category.as_str(), SHELL_EXEC);
            assert_eq!(waited[1..], effects("shell_exec", json!({"cmd": line})), "{line}");
        }
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
