//! A call judged by where its paths really are: a link in a path leads to another place than its text says.
//!
//! In: a call with its [`ResolvedPath`]s, which whoever looked at the disk put there. Out: the effects of what is named
//! and of what is reached, so that the stricter of both decides. Core follows no link itself; the tool opens the place
//! that was judged, or nothing.

use serde_json::Value;

use super::deny_read::DenyRead;
use super::effect::{Act, Effect, Verdict};
use super::effects::{effects_of, written};
use super::places::Places;
use super::shell::Programs;
use crate::patch;
use crate::words::Category;
use crate::words::category::FILESYSTEM_READ;
use crate::words::tool::{ResolvedPath, ToolCall};
use crate::words::wait::WAIT_FOR;

/// The paths that a call to `tool` opens in the workdir, as its arguments name them. Arguments of a wrong type name
/// nothing: such a call fails before it opens anything.
#[must_use]
pub fn named_paths(tool: &str, args: &Value) -> Vec<String> {
    let text = |name: &str| args.get(name).and_then(Value::as_str);
    match tool {
        "read_file" | "write_file" | "list_dir" => text("path").map(str::to_owned).into_iter().collect(),
        "shell_exec" => text("cwd").map(str::to_owned).into_iter().collect(),
        WAIT_FOR => ["file", "gone"].into_iter().filter_map(text).map(str::to_owned).collect(),
        "apply_patch" => text("diff").map(patch::possible_paths).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Returns the effects of `call` beyond its tool's own categories: those of its arguments, as [`effects_of`] reads
/// them, and those of the real places of its paths.
#[must_use]
pub fn effects_of_call(call: &ToolCall, places: &Places, programs: &Programs) -> Vec<Effect> {
    let mut effects = effects_of(&call.name, &call.args, places, programs);
    effects.extend(denied_reads(call, places, programs.deny_read()));
    for resolved in &call.resolved {
        for name in std::iter::once(&resolved.place).chain(&resolved.known_as) {
            let reached = reached(call, resolved, name, places, programs, &effects);
            for effect in reached {
                if !effects.iter().any(|told| (&told.category, &told.act) == (&effect.category, &effect.act)) {
                    effects.push(effect);
                }
            }
        }
    }
    effects
}

/// Denies what `call` would read and nobody may: by the paths that it names, and by where they really are. A patch
/// shows what it doesn't fit, so it reads. A wait for a file says whether it is there.
fn denied_reads(call: &ToolCall, places: &Places, denied: &DenyRead) -> Vec<Effect> {
    if denied.is_empty() || !matches!(call.name.as_str(), "read_file" | "list_dir" | "apply_patch" | WAIT_FOR) {
        return Vec::new();
    }
    let named = named_paths(&call.name, &call.args).into_iter().map(|path| {
        let plain = places.plain(".", &path);
        (path, plain)
    });
    let reached = call.resolved.iter().flat_map(|resolved| {
        let names = std::iter::once(&resolved.place).chain(&resolved.known_as);
        names.map(|name| (format!("{}, which is {name}", resolved.path), name.clone()))
    });
    let effect = |(matched, path): (String, String)| {
        denied.entry(&path).map(|entry| Effect {
            verdict: Verdict::Destructive,
            category: Category::new(FILESYSTEM_READ),
            act: Act::Denied { rule: entry.to_owned() },
            matched,
            reason: "nobody may read it".to_owned(),
        })
    };
    named.chain(reached).filter_map(effect).collect()
}

/// Returns the effects of `call` at `name`, which it reaches by the path `resolved`.
fn reached(
    call: &ToolCall,
    resolved: &ResolvedPath,
    name: &str,
    places: &Places,
    programs: &Programs,
    effects: &[Effect],
) -> Vec<Effect> {
    match call.name.as_str() {
        "write_file" | "apply_patch" => {
            let matched = format!("{}, which is {name}", resolved.path);
            let own = written(name, places).into_iter();
            let same = effects.iter().filter_map(|effect| moved(effect, &resolved.path, name));
            own.chain(same).map(|effect| Effect { matched: matched.clone(), ..effect }).collect()
        }
        "shell_exec" => {
            let mut args = call.args.clone();
            if let Some(folder) = args.get_mut("cwd") {
                *folder = Value::from(name);
            }
            effects_of(&call.name, &args, places, programs)
        }
        _ => Vec::new(),
    }
}

/// `effect` at `to` instead of at `from`, if it is about that very path.
fn moved(effect: &Effect, from: &str, to: &str) -> Option<Effect> {
    let mut moved = effect.clone();
    match &mut moved.act {
        Act::Write(target) | Act::Overwrite(target) | Act::Delete(target) if target.path == from => {
            to.clone_into(&mut target.path);
            Some(moved)
        }
        Act::Write(_)
        | Act::Overwrite(_)
        | Act::Delete(_)
        | Act::Contact { .. }
        | Act::Denied { .. }
        | Act::Other
        | Act::Unreadable => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::protected::protected;
    use super::*;

    fn call(tool: &str, args: Value, resolved: &[(&str, &str, Option<&str>)]) -> ToolCall {
        let resolved = resolved.iter().map(|&(path, place, known_as)| ResolvedPath {
            path: path.to_owned(),
            place: place.to_owned(),
            known_as: known_as.map(str::to_owned),
        });
        ToolCall {
            call_id: "c".to_owned(),
            name: tool.to_owned(),
            args,
            malformed: None,
            masked: false,
            resolved: resolved.collect(),
        }
    }

    /// The categories of the effects, and the place that is protected.
    fn judged(call: &ToolCall) -> (Vec<String>, Option<String>) {
        let places = Places::default();
        let effects = effects_of_call(call, &places, Programs::builtin());
        let mut categories: Vec<String> = effects.iter().map(|effect| effect.category.to_string()).collect();
        categories.dedup();
        let place = effects.iter().find_map(|effect| protected(effect, &places)).map(|found| found.path);
        (categories, place)
    }

    #[track_caller]
    fn check(call: &ToolCall, categories: &[&str], place: Option<&str>) {
        let (told, found) = judged(call);
        for category in categories {
            assert!(told.iter().any(|told| told == category), "{call:?}: {category} is not among {told:?}");
        }
        assert_eq!(found.as_deref(), place, "{call:?}");
    }

    const PATCH: &str = "--- a/g/config\n+++ b/g/config\n@@ -1 +1 @@\n-a\n+b\n";

    #[test]
    fn a_write_is_judged_by_where_it_gets() {
        let write = |path: &str| json!({"path": path, "content": ""});
        check(&call("write_file", write("g/config"), &[]), &["filesystem_write"], None);
        let through = [("g/config", ".git/config", None)];
        check(&call("write_file", write("g/config"), &through), &["git_write"], Some(".git/config"));
        check(&call("write_file", write("./g//config"), &through), &["git_write"], Some(".git/config"));
        check(&call("apply_patch", json!({"diff": PATCH}), &through), &["git_write"], Some(".git/config"));
        let renamed = [("store/config", "store/config", Some(".git/config"))];
        check(&call("write_file", write("store/config"), &renamed), &["git_write"], Some(".git/config"));
        let ci = [("w/ci.yml", ".github/workflows/ci.yml", None)];
        check(&call("write_file", write("w/ci.yml"), &ci), &["ci_modify"], None);
        let delete = json!({"diff": "--- a/g/config\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"});
        check(&call("apply_patch", delete, &through), &["git_write", "filesystem_delete"], Some(".git/config"));
    }

    #[test]
    fn what_nobody_may_read_is_denied_by_where_it_is() {
        let texts = [".env".to_owned(), "keys/".to_owned()];
        let rules = crate::gate::shell::RuleTexts { deny_read: &texts, ..Default::default() };
        let programs = Programs::recorded(&[], rules);
        let read = |path: &str| json!({"path": path});
        let patch = json!({"diff": PATCH.replace("g/config", ".env")});
        for (call, expected) in [
            (call("read_file", read(".env"), &[]), Some(".env")),
            (call("read_file", read("/workdir/src/../.env"), &[]), Some(".env")),
            (call("read_file", read("l"), &[("l", ".env", None)]), Some(".env")),
            (call("read_file", read("l"), &[("l", "store/a", Some("keys/a"))]), Some("keys/")),
            (call("list_dir", read("keys"), &[]), Some("keys/")),
            (call("apply_patch", patch, &[]), Some(".env")),
            (call("read_file", read(".envrc"), &[]), None),
            (call("list_dir", read("."), &[]), None),
            (call("write_file", read(".env"), &[]), None),
            (call("wait_for", json!({"file": "keys/a"}), &[]), Some("keys/")),
            (call("wait_for", json!({"gone": "l"}), &[("l", ".env", None)]), Some(".env")),
            (call("read_file", read("l"), &[("l", "src/a", None)]), None),
        ] {
            let effects = effects_of_call(&call, &Places::default(), &programs);
            let denied = effects.iter().find_map(|effect| match &effect.act {
                Act::Denied { rule } => Some(rule.as_str()),
                _ => None,
            });
            assert_eq!(denied, expected, "{call:?}");
        }
    }

    #[test]
    fn what_is_named_counts_too() {
        let args = json!({"path": ".git/x", "content": ""});
        check(&call("write_file", args, &[(".git/x", "src/x", None)]), &["git_write"], Some(".git/x"));
    }

    #[test]
    fn a_command_is_read_in_the_folder_that_it_gets() {
        let args = json!({"cmd": "rm config", "cwd": "g"});
        check(&call("shell_exec", args.clone(), &[]), &["filesystem_delete"], None);
        check(&call("shell_exec", args, &[("g", ".git", None)]), &["filesystem_delete"], Some(".git/config"));
    }

    #[test]
    fn a_question_names_what_is_reached() {
        let call = call("write_file", json!({"path": "g/config"}), &[("g/config", ".git/config", None)]);
        let effects = effects_of_call(&call, &Places::default(), Programs::builtin());
        assert!(effects.iter().any(|effect| effect.matched == "g/config, which is .git/config"), "{effects:?}");
    }

    #[test]
    fn every_path_that_a_tool_opens_is_named() {
        for (tool, args, expected) in [
            ("read_file", json!({"path": "a"}), &["a"][..]),
            ("list_dir", json!({"path": "a/"}), &["a/"]),
            ("write_file", json!({"path": "a"}), &["a"]),
            ("write_file", json!({"path": 7}), &[]),
            ("shell_exec", json!({"cmd": "ls"}), &[]),
            ("shell_exec", json!({"cmd": "ls", "cwd": "b"}), &["b"]),
            ("apply_patch", json!({"diff": PATCH}), &["a/g/config", "b/g/config", "g/config"]),
            ("apply_patch", json!({"diff": "diff --git a/x b/y\nrename from x\nrename to y\n"}), &["x", "y"]),
            ("http_fetch", json!({"url": "https://a"}), &[]),
            ("wait_for", json!({"file": "a"}), &["a"]),
            ("wait_for", json!({"gone": "b"}), &["b"]),
            ("wait_for", json!({"command": "ls"}), &[]),
        ] {
            assert_eq!(named_paths(tool, &args), expected, "{tool} {args}");
        }
    }
}
