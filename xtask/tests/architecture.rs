//! The rules that the compiler can't keep: who may name whom, what core may touch, and that the map shows
//! the tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Crates that each crate of ours may name, itself left out. An absent name is forbidden.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("ports", &["core"]),
    ("host", &["core", "ports"]),
    ("store", &["core", "ports", "host"]),
    ("agents", &["core", "ports", "host"]),
    ("tools", &["core", "ports", "host"]),
    ("forge", &["core", "ports", "host"]),
    // Its tests speak with a model provider on loopback, and simulate the driver.
    ("runtime", &["core", "ports", "host", "store", "agents", "tools", "forge", "loopback", "simulation"]),
    ("serve", &["core", "ports", "host", "store", "agents", "tools", "forge", "runtime"]),
    // Its tests speak with model providers on loopback.
    ("cli", &["core", "ports", "host", "store", "agents", "tools", "forge", "runtime", "serve", "loopback"]),
];

/// The crates of others that core may use: none of them does I/O there.
const CORE_MAY_USE: &[&str] = &[
    "blake3", "brush-parser", "diffy", "globset", "icu_collator", "indexmap", "jiff", "memchr", "mpatch",
    "pulldown-cmark", "regex", "schemars", "serde", "serde_json", "shlex", "similar", "thiserror",
];

/// Words that core's code can't contain: each of them is a way to the outside.
const CORE_MAY_NOT_SAY: &[&str] = &["SystemTime", "Instant", "tokio", "rand", "async", "await"];

/// Modules of `std` that core can't name, for the same reason.
const CORE_MAY_NOT_IMPORT: &[&str] = &["fs", "net", "env", "process", "thread", "os"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("can't read {}: {error}", path.display()))
}

/// The names of the folders in `folder`, without hidden ones and what builds leave behind.
fn folders(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("can't list {}: {error}", folder.display()));
    let entries = entries.map(Result::unwrap).filter(|entry| entry.file_type().unwrap().is_dir());
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    names.filter(|name| !name.starts_with('.') && name != "target").collect()
}

/// All files under `folder` that a commit could contain, hidden folders but `.git` included.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        let is_ours = ![".git", "target", "node_modules"].iter().any(|skipped| path.ends_with(skipped));
        if kind.is_dir() && is_ours {
            found.extend(files(&path));
        } else if kind.is_file() && is_ours {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The crates that a manifest names in any of its tables of dependencies, targets' own included.
fn dependencies(manifest: &toml::Table) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for (key, value) in manifest {
        let Some(table) = value.as_table() else { continue };
        match key.as_str() {
            "dependencies" | "dev-dependencies" | "build-dependencies" => named.extend(table.keys().cloned()),
            "target" => {
                named.extend(table.values().filter_map(toml::Value::as_table).flat_map(dependencies));
            }
            _ => {}
        }
    }
    named
}

fn manifest(krate: &str) -> toml::Table {
    let path = root().join("crates").join(krate).join("Cargo.toml");
    read(&path).parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn dependencies_between_our_crates_point_one_way() {
    let allowed: BTreeMap<&str, &[&str]> = MAY_NAME.iter().copied().collect();
    for krate in folders(&root().join("crates")) {
        let may_name =
            allowed.get(krate.as_str()).unwrap_or_else(|| panic!("crates/{krate} is missing in MAY_NAME of this test"));
        for named in dependencies(&manifest(&krate)).iter().filter_map(|name| name.strip_prefix("adjutant-")) {
            assert!(may_name.contains(&named), "crates/{krate} names `{named}`; it may name {may_name:?}");
        }
    }
}

/// The members beside `crates/`: who works on the project needs its program, not its crates, and only the
/// benchmarks measure crates from within, and only fuzzing calls readers directly. Beside them the differential
/// fuzzing needs the sandbox, in which it runs what was read. The providers on loopback know nothing of us: they keep
/// other people's rules. The simulation has fakes of all ports, and nothing that does something.
const BESIDE_MAY_NAME: &[(&str, &[&str])] = &[
    ("xtask", &[]),
    ("fuzz", &["core"]),
    ("fuzz/differential", &["core", "host"]),
    ("tests/loopback", &[]),
    ("tests/simulation", &["core", "ports", "runtime"]),
    ("benches", &["core", "ports", "store", "agents", "tools", "runtime"]),
];

#[test]
fn members_beside_the_crates_name_only_what_they_may() {
    for (member, may_name) in BESIDE_MAY_NAME {
        let path = root().join(member).join("Cargo.toml");
        let manifest = read(&path).parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for named in dependencies(&manifest).iter().filter_map(|name| name.strip_prefix("adjutant-")) {
            assert!(may_name.contains(&named), "{member} names `{named}`; it may name {may_name:?}");
        }
    }
}

#[test]
fn core_uses_only_what_does_no_io() {
    let manifest = manifest("core");
    let table = manifest.get("dependencies").and_then(toml::Value::as_table).unwrap();
    for name in table.keys() {
        assert!(CORE_MAY_USE.contains(&name.as_str()), "core may not use `{name}`: it may use {CORE_MAY_USE:?}");
    }
}

/// Returns what is wrong with a line of core's code, if anything.
fn impurity(line: &str) -> Option<String> {
    let code = line.split("//").next().unwrap_or_default();
    let word = |c: char| !(c.is_alphanumeric() || c == '_');
    if let Some(said) = code.split(word).find(|said| CORE_MAY_NOT_SAY.contains(said)) {
        return Some(format!("says `{said}`"));
    }
    if code.contains("::now()") {
        return Some("asks for the time".to_owned());
    }
    let imported = code.split("std::").skip(1).flat_map(|after| match after.strip_prefix('{') {
        Some(list) => list.split('}').next().unwrap_or_default().split(',').collect(),
        None => vec![after],
    });
    let mut modules = imported.map(|path| path.trim().split(word).next().unwrap_or_default());
    modules.find(|module| CORE_MAY_NOT_IMPORT.contains(module)).map(|module| format!("names `std::{module}`"))
}

#[test]
fn core_touches_nothing_outside() {
    let source = root().join("crates/core/src");
    for path in files(&source) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_test = name.ends_with("tests.rs") || path.components().any(|part| part.as_os_str() == "tests");
        if is_test || !name.ends_with(".rs") {
            continue;
        }
        // Tests come last in a file, and may read vectors.
        for (index, line) in read(&path).lines().enumerate().take_while(|(_, line)| !line.starts_with("#[cfg(test)]")) {
            if let Some(what) = impurity(line) {
                panic!("{}:{} {what}; time, files and chance come in as data", path.display(), index + 1);
            }
        }
    }
}

#[test]
fn an_impure_line_is_found_and_a_pure_one_is_left_alone() {
    #[track_caller]
    fn check(line: &str, expected: Option<&str>) {
        assert_eq!(impurity(line).as_deref(), expected, "{line}");
    }
    check("use std::fs;", Some("names `std::fs`"));
    check("let text = std::fs::read_to_string(path)?;", Some("names `std::fs`"));
    check("use std::{fmt, fs};", Some("names `std::fs`"));
    check("use std::{fmt, str};", None);
    check("use std::fmt; // not std::fs", None);
    check("use std::time::{Duration, SystemTime};", Some("says `SystemTime`"));
    check("pub async fn drive() {", Some("says `async`"));
    check("let at = Zoned::now();", Some("asks for the time"));
    check("let operand = brand;", None);
    check("//! No clock: tokio is for others.", None);
    check("env!(\"CARGO_MANIFEST_DIR\")", None);
}

/// Ways to the environment, the arguments and the current folder of the process.
const ENVIRONMENT: &[&str] =
    &["env::var", "env::args", "env::current_dir", "env::home_dir", "env::temp_dir", "env::set_var"];

/// Files below `cli` that look at their process all the same, for no setting of ours: what becomes a command is a process
/// of its own, git is found where every program is, and scratch folders lie where the system has them.
const LOOK_AT_THEIR_PROCESS: &[&str] =
    &["host/src/sandbox/launch.rs", "host/src/rescue/git.rs", "host/src/sandbox/scratch.rs"];

#[test]
fn below_cli_nothing_reads_the_environment() {
    let crates = root().join("crates");
    for krate in folders(&crates).iter().filter(|krate| *krate != "cli") {
        for path in files(&crates.join(krate).join("src")) {
            let within = path.strip_prefix(&crates).unwrap().to_string_lossy().into_owned();
            let is_test = within.ends_with("tests.rs") || within.contains("/tests/");
            if is_test || !within.ends_with(".rs") || LOOK_AT_THEIR_PROCESS.contains(&within.as_str()) {
                continue;
            }
            let text = read(&path);
            // Tests come last in a file, and run programs of this machine.
            let code = text.lines().enumerate().take_while(|(_, line)| !line.starts_with("#[cfg(test)]"));
            for (index, line) in code {
                let code = line.split("//").next().unwrap_or_default();
                let found = ENVIRONMENT.iter().find(|way| code.contains(*way));
                assert!(found.is_none(), "{within}:{} says {found:?}; the environment comes in as a value", index + 1);
            }
        }
    }
}

/// The folders that ARCHITECTURE.md tells of: list items that begin with a name in backquotes ending in `/`.
fn mapped() -> BTreeSet<String> {
    let path = root().join("ARCHITECTURE.md");
    assert!(path.is_file(), "ARCHITECTURE.md is missing: it is the map of this tree");
    let text = read(&path);
    let named = text.lines().filter_map(|line| line.trim_start().strip_prefix("- `")?.split_once('`'));
    named.filter_map(|(name, _)| name.strip_suffix('/')).map(str::to_owned).collect()
}

#[test]
fn the_map_shows_every_folder_and_no_other() {
    let root = root();
    let mut tree = folders(&root);
    for below in ["crates", "crates/core/src"] {
        tree.extend(folders(&root.join(below)).into_iter().map(|name| format!("{below}/{name}")));
    }
    // The two that only hold what the map lists itself.
    tree.remove("crates");
    let mapped = mapped();
    let missing: Vec<_> = tree.difference(&mapped).collect();
    let gone: Vec<_> = mapped.difference(&tree).collect();
    assert!(
        missing.is_empty() && gone.is_empty(),
        "ARCHITECTURE.md: not on the map {missing:?}, not in the tree {gone:?}"
    );
}

#[test]
fn the_lock_files_name_no_source_but_the_public_registry() {
    for lock in ["Cargo.lock", "fuzz/coverage/Cargo.lock"] {
        for line in read(&root().join(lock)).lines() {
            let Some(source) = line.strip_prefix("source = ") else { continue };
            assert_eq!(source, "\"registry+https://github.com/rust-lang/crates.io-index\"");
        }
    }
}

#[test]
fn no_file_names_a_path_of_the_machine_it_was_written_on() {
    let root = root();
    let home = std::env::var("HOME").unwrap_or_default();
    let cargo_home = std::env::var("CARGO_HOME").unwrap_or_else(|_| format!("{home}/.cargo"));
    let checkout = root.to_string_lossy().into_owned();
    // A path of one segment, such as `/src`, is found in any text.
    let paths: Vec<String> = [checkout, cargo_home].into_iter().filter(|path| path.matches('/').count() > 1).collect();
    for file in files(&root) {
        let bytes = fs::read(&file).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for path in &paths {
            assert!(!text.contains(path.as_str()), "{} names {path}", file.display());
        }
    }
}

/// Returns true if the code of `text` names the crate `name`.
fn names_crate(text: &str, name: &str) -> bool {
    let name = name.replace('-', "_");
    let word = |c: char| !(c.is_alphanumeric() || c == '_');
    text.split(word).any(|said| said == name)
}

/// The Rust sources below the folders `within` of a crate.
fn sources(folder: &Path, within: &[&str]) -> String {
    let folders = within.iter().map(|name| folder.join(name)).filter(|path| path.is_dir());
    let files = folders.flat_map(|path| files(&path));
    files.filter(|path| path.extension().is_some_and(|end| end == "rs")).map(|path| read(&path)).collect()
}

#[test]
fn every_declared_dependency_is_used_by_the_crate_that_declares_it() {
    let workspace: toml::Table = read(&root().join("Cargo.toml")).parse().unwrap();
    let members = BESIDE_MAY_NAME.iter().map(|(member, _)| root().join(member));
    let crates = folders(&root().join("crates")).into_iter().map(|name| root().join("crates").join(name));
    let mut declared = BTreeSet::new();
    for folder in crates.chain(members) {
        let manifest: toml::Table = read(&folder.join("Cargo.toml")).parse().unwrap();
        let of = |manifest: &toml::Table, kind: &str| -> BTreeSet<String> {
            manifest
                .get(kind)
                .and_then(toml::Value::as_table)
                .into_iter()
                .flat_map(|table| table.keys().cloned())
                .collect()
        };
        let targets = manifest.get("target").and_then(toml::Value::as_table);
        let targets: Vec<&toml::Table> =
            targets.into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_table).collect();
        for (kind, within) in [("dependencies", &["src"][..]), ("dev-dependencies", &["src", "tests", "examples"])] {
            let text = sources(&folder, within);
            let named = targets.iter().flat_map(|target| of(target, kind)).chain(of(&manifest, kind));
            for name in named {
                assert!(
                    names_crate(&text, &name),
                    "{} declares `{name}` in [{kind}] and uses it nowhere",
                    folder.display()
                );
                declared.insert(name);
            }
        }
    }
    let offered = workspace["workspace"]["dependencies"].as_table().unwrap();
    for name in offered.keys().filter(|name| !name.starts_with("adjutant-")) {
        assert!(declared.contains(name), "the workspace declares `{name}`, and no crate takes it");
    }
}

/// The modules of core from the foot up, and what each may name. Those of a later row name those of earlier rows; `learn`
/// and `view` are one: a history is shown, and what is learned is counted on what is shown.
const CORE_MODULES: &[(&str, &[&str])] = &[
    ("words", &[]),
    ("patch", &["words"]),
    ("gate", &["words", "patch"]),
    ("memory", &["words"]),
    ("trace", &["words", "gate", "memory"]),
    ("detect", &["words"]),
    ("handoff", &["words"]),
    ("brief", &["words", "gate", "detect"]),
    ("budget", &["words", "trace"]),
    ("procedure", &["words", "gate", "trace"]),
    ("inbox", &["words", "gate", "trace"]),
    ("run", &["words", "gate", "memory", "trace", "detect", "budget", "procedure"]),
    ("session", &["words", "gate", "memory", "trace", "detect", "handoff", "budget", "procedure", "run"]),
    ("crew", &["words", "gate", "trace", "handoff", "procedure", "run", "session"]),
    ("supervise", &["words", "gate", "trace", "handoff", "procedure", "run", "session"]),
    ("work", &["words", "trace", "procedure", "run", "session", "crew", "supervise"]),
    ("learn", &["words", "gate", "trace", "detect", "procedure", "session", "work", "view"]),
    ("view", &["words", "gate", "trace", "detect", "brief", "inbox", "session", "learn"]),
];

/// Returns the code of a source without its tests and comments.
fn code_of(text: &str) -> String {
    let code = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
    code.map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Returns the modules of core that `code` names by way of the crate.
fn named_modules(code: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for path in code.split("crate::").skip(1) {
        let list = match path.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap_or_default().split(',').map(str::trim).collect(),
            None => vec![path],
        };
        let first = |path: &str| path.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().map(str::to_owned);
        named.extend(list.into_iter().filter_map(first));
    }
    named
}

#[test]
fn modules_of_core_name_only_what_stands_below_them() {
    let source = root().join("crates/core/src");
    let known: BTreeMap<&str, &[&str]> = CORE_MODULES.iter().copied().collect();
    let mut wrong = Vec::new();
    for path in files(&source).iter().filter(|path| path.extension().is_some_and(|end| end == "rs")) {
        let within = path.strip_prefix(&source).unwrap().to_string_lossy().into_owned();
        let is_test = within.ends_with("tests.rs") || within.contains("/tests/");
        let module = within.split(['/', '.']).next().unwrap_or_default();
        if is_test || module == "lib" {
            continue;
        }
        let may_name =
            known.get(module).unwrap_or_else(|| panic!("`{module}` is missing in CORE_MODULES of this test"));
        let named = named_modules(&code_of(&read(path)));
        let upward = named.into_iter().filter(|named| known.contains_key(named.as_str()) && named != module);
        wrong.extend(
            upward.filter(|named| !may_name.contains(&named.as_str())).map(|named| format!("{within}: {named}")),
        );
    }
    assert!(wrong.is_empty(), "imports that run upward: {wrong:#?}");
}

#[test]
fn the_order_of_cores_modules_has_no_circle() {
    let mut below = BTreeSet::from(["learn", "view"]);
    for (module, may_name) in CORE_MODULES {
        let unknown: Vec<_> = may_name.iter().filter(|named| !below.contains(*named)).collect();
        assert!(unknown.is_empty(), "`{module}` names {unknown:?}, which stand above it");
        below.insert(module);
    }
}
