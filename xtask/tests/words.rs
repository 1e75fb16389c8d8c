//! Ratchets of words: doc comments that say what a thing is or does, type names that are found once, and event types
//! that are matched as types.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The Rust sources of the project, each with its path from the root.
fn sources() -> Vec<(String, String)> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = entry.path();
            if path.is_dir() && !name.starts_with('.') && !["target", "node_modules"].contains(&name.as_str()) {
                walk(&path, found);
            } else if name.ends_with(".rs") {
                found.push(path);
            }
        }
    }
    let root = root();
    let mut found = Vec::new();
    walk(&root, &mut found);
    found.sort();
    let relative = |path: &Path| path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
    found.iter().map(|path| (relative(path), fs::read_to_string(path).unwrap())).collect()
}

/// Words that ask: a doc comment that begins with one says neither what a thing is nor what it does.
const QUESTION_WORDS: [&str; 9] = ["What", "Whether", "Who", "Whose", "How", "Where", "Why", "When", "Which"];

/// Returns the text of a doc comment's line.
fn doc(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
    Some(text.strip_prefix(' ').unwrap_or(text))
}

fn asks(doc: &str) -> bool {
    let word = doc.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    QUESTION_WORDS.contains(&word)
}

#[test]
fn hardly_a_doc_line_begins_with_a_question_word() {
    let (mut lines, mut asking) = (0, Vec::new());
    for (path, text) in sources() {
        for (number, doc) in text.lines().enumerate().filter_map(|(index, line)| Some((index + 1, doc(line)?))) {
            lines += 1;
            if asks(doc) {
                asking.push(format!("{path}:{number}: {doc}"));
            }
        }
    }
    assert!(lines > 10_000, "{lines} lines were found");
    // Help texts of commands and descriptions in schemas are sentences for somebody else.
    assert!(asking.len() * 100 <= lines, "more than 1 % of {lines} doc lines:\n{}", asking.join("\n"));
}

/// Returns the name of the type that a line declares.
fn declared(line: &str) -> Option<&str> {
    let line = line.strip_prefix("    ").unwrap_or(line);
    let line = match line.strip_prefix("pub") {
        Some(rest) => {
            rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest).trim_start()
        }
        None => line,
    };
    let name = ["struct ", "enum ", "trait ", "union "].iter().find_map(|word| line.strip_prefix(word))?;
    let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len());
    (end > 0).then(|| &name[..end])
}

#[test]
fn a_type_name_is_found_once_in_a_crate_and_seldom_twice_in_the_workspace() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut count = 0;
    for (path, text) in sources() {
        // Types of tests are read beside what they test.
        let is_test = path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("tests.rs");
        if is_test || !path.contains("/src/") {
            continue;
        }
        let code = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
        for name in code.filter_map(declared) {
            places.entry(name.to_owned()).or_default().push(path.clone());
            count += 1;
        }
    }
    assert!(count > 1_000, "{count} types were found");
    let krate = |path: &String| path.split("/src/").next().unwrap_or_default().to_owned();
    let shared: BTreeMap<_, _> = places.iter().filter(|(_, paths)| paths.len() > 1).collect();
    let twice: Vec<_> = shared
        .iter()
        .filter(|(_, paths)| paths.iter().map(krate).collect::<BTreeSet<_>>().len() < paths.len())
        .collect();
    assert!(twice.is_empty(), "type names that a crate has twice: {twice:#?}");
    let sharing: usize = shared.values().map(|paths| paths.len()).sum();
    assert!(sharing * 100 <= count * 4, "{sharing} of {count} types share their name: {shared:#?}");
}

/// Returns the names of event types on the wire that a file of `named_types!` declares.
fn event_names(path: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(path)).unwrap();
    let names = text.lines().filter_map(|line| line.split_once("=> \"")?.1.split_once('"'));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// Returns the event types that a line of code compares with or matches as text.
fn matched<'n>(line: &str, names: &'n [String]) -> Vec<&'n str> {
    let code = line.split("//").next().unwrap_or_default();
    let is_matched = |name: &str| {
        let quoted = format!("\"{name}\"");
        code.match_indices(&quoted).any(|(at, _)| {
            let (before, after) = (code[..at].trim_end(), code[at + quoted.len()..].trim_start());
            before.ends_with("==") || before.ends_with("!=") || after.starts_with("=>") || after.starts_with('|')
        })
    };
    names.iter().map(String::as_str).filter(|name| is_matched(name)).collect()
}

/// Crates that read journals; adapters speak of messages and errors of other people's formats.
const READ_JOURNALS: [&str; 5] = ["core", "store", "runtime", "serve", "cli"];

/// The two places that know the names of event types: ours, and OpenWar's own.
const KNOW_NAMES: [&str; 2] = ["crates/core/src/trace/event/kind.rs", "crates/core/src/trace/peer.rs"];

#[test]
fn nothing_but_their_tables_knows_event_types_as_text() {
    let names: Vec<String> = KNOW_NAMES.iter().flat_map(|path| event_names(path)).collect();
    assert!(names.len() > 70, "{names:?}");
    // A word that is no event type in that place.
    let other = ["error", "warning", "message", "question", "answer", "timer"];
    let names: Vec<String> = names.into_iter().filter(|name| !other.contains(&name.as_str())).collect();
    let mut found = Vec::new();
    for (path, text) in sources() {
        let is_reader = READ_JOURNALS.iter().any(|krate| path.starts_with(&format!("crates/{krate}/src/")));
        let is_test = path.ends_with("tests.rs") || path.contains("/tests/");
        if !is_reader || is_test || KNOW_NAMES.contains(&path.as_str()) {
            continue;
        }
        let code = text.lines().enumerate().take_while(|(_, line)| !line.starts_with("#[cfg(test)]"));
        for (index, line) in code {
            found.extend(matched(line, &names).into_iter().map(|name| format!("{path}:{}: \"{name}\"", index + 1)));
        }
    }
    assert!(found.is_empty(), "match the `EventKind` instead:\n{}", found.join("\n"));
}

#[test]
fn what_breaks_a_ratchet_is_found() {
    assert!(asks("Whether it is so.") && !asks("True if it is so.") && !asks("Whatever is left."));
    assert_eq!(doc("    /// What it is."), Some("What it is."));
    assert_eq!(doc("let x = 1; /// What"), None);
    for (line, name) in [
        ("pub struct One {", Some("One")),
        ("    pub(super) enum Two<'a> {", Some("Two")),
        ("trait Three: Four {", Some("Three")),
        ("impl Five {", None),
        ("        struct Inner;", None),
    ] {
        assert_eq!(declared(line), name, "{line}");
    }
    let names = ["run_end".to_owned()];
    for (line, is_found) in [
        (r#"if kind == "run_end" {"#, true),
        (r#""run_end" => 1,"#, true),
        (r#""run_end" | "x" => 1,"#, true),
        (r#"label: "run_end","#, false),
        (r#"// kind == "run_end""#, false),
    ] {
        assert_eq!(!matched(line, &names).is_empty(), is_found, "{line}");
    }
}
