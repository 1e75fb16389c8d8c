//! Every command in the README and the docs does what it says, in a copy of the examples.
//!
//! A line of a block marked `sh` that begins with `adjutant` or `cargo run` is run, in order, in one
//! folder for each page; it ends with exit code 0, or with N where the line says `# exits N`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::home::{ROOT, TestHome, copy};

/// The beginnings of lines that are not run here, and why.
const ELSEWHERE: &[(&str, &str)] = &[
    ("cargo xtask", "builds and tests everything; what runs these tests is one of them"),
    ("cargo install", "changes the machine"),
    ("cargo build", "was done before these tests began"),
    ("git clone", "there is no network"),
    ("cd ", "the folder is a copy of the checkout already"),
    ("export ", "the environment of a test is its own"),
    ("source ", "changes the operator's own shell"),
    ("# ", "is a comment"),
];

/// Prefixes that stand for `adjutant` in a checkout.
const PREFIXES: &[&str] =
    &["cargo run --release -- ", "cargo run -q --release -- ", "cargo run -q -- ", "cargo run -- "];

/// One command of a page.
#[derive(Debug, PartialEq)]
struct Line {
    command: String,
    code: i32,
}

/// The commands in the `sh` blocks of a page; lines that end in a backslash go on.
fn commands(page: &str) -> Vec<Line> {
    let mut found = Vec::new();
    let mut in_block = false;
    let mut before = String::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block && line.trim() == "```sh";
            continue;
        }
        if !in_block {
            continue;
        }
        if let Some(begun) = line.strip_suffix('\\') {
            before.push_str(begun);
            continue;
        }
        let whole = std::mem::take(&mut before) + line;
        let (command, code) = match whole.split_once("# exits ") {
            Some((command, code)) => (command, code.trim().parse().expect("an exit code")),
            None => (whole.as_str(), 0),
        };
        let command = command.trim().to_owned();
        let is_elsewhere = ELSEWHERE.iter().any(|(begins, _)| command.starts_with(begins));
        if !command.is_empty() && !is_elsewhere {
            found.push(Line { command, code });
        }
    }
    found
}

/// The pages that have commands: the README and the docs.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(ROOT);
    let docs = fs::read_dir(root.join("docs")).expect("docs").map(|entry| entry.expect("an entry").path());
    let docs = docs.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let mut pages: Vec<PathBuf> = docs.chain([root.join("README.md")]).collect();
    pages.sort();
    pages
}

/// Input that the operator of a page types when a command asks.
const TYPED: &str = "go\ny\ny\n";

/// Runs a command with the shell, the test's binary in place of `adjutant`.
#[track_caller]
fn check(home: &TestHome, page: &Path, line: &Line) {
    let place = format!("{}: {}", page.file_name().unwrap_or_default().display(), line.command);
    let command = PREFIXES.iter().fold(line.command.clone(), |command, prefix| command.replace(prefix, "adjutant "));
    // The name that the pages have for a run is that of the example's.
    let command = command.replace(" RUN", " 2026-01-15-FIRST");
    assert!(command.contains("adjutant "), "{place}: neither a command of ours nor one that `ELSEWHERE` names");
    let said = home.shell(&format!("adjutant() {{ \"$ADJUTANT\" \"$@\"; }}; {command}"), TYPED);
    assert_eq!(said.code, line.code, "{place}\n{}{}", said.stdout, said.stderr);
}

#[test]
fn every_command_on_every_page_does_what_it_says() {
    for page in pages() {
        let home = TestHome::new();
        copy(&Path::new(ROOT).join("examples"), &home.path("checkout/examples"));
        // A checkout in which something was built has this folder.
        fs::create_dir(home.path("checkout/target")).expect("a folder");
        copy(&Path::new(ROOT).join("tests/vectors"), &home.path("checkout/tests/vectors"));
        let page_text = fs::read_to_string(&page).expect("a page");
        // A page that does not make a brief speaks of one that is there.
        if !page_text.contains("--out brief.md") {
            copy(&home.path("checkout/examples/first-run"), &home.path("checkout"));
        }
        for line in commands(&page_text) {
            check(&home, &page, &line);
        }
    }
}

#[test]
fn the_readme_begins_with_a_command_that_is_run_here() {
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).expect("a README");
    let found = commands(&readme);
    assert!(found.iter().any(|line| line.command.contains("examples/first-run/brief.md")), "{found:?}");
}

#[test]
fn commands_are_found_where_they_stand() {
    let page = "```sh\nadjutant run x.md \\\n  --json  # exits 3\ncargo xtask test\n```\n```text\nadjutant no\n```\n";
    assert_eq!(commands(page), [Line { command: "adjutant run x.md   --json".to_owned(), code: 3 }]);
}
