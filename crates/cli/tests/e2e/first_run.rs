//! The README's first command.

use std::path::{Path, PathBuf};

use crate::home::{TestHome, files};

const RUN: &str = "2026-01-15-FIRST";

pub const ARGS: &[&str] =
    &["run", "../examples/first-run/brief.md", "--workdir", "../examples/first-run/project", "--copy"];

/// The folder that a run works in, as its journal says.
pub fn workdir(home: &TestHome, run_id: &str) -> PathBuf {
    let journal = home.journal(run_id);
    let start = journal.iter().find(|event| event["type"] == "run_start").expect("a beginning");
    PathBuf::from(start["options"]["workdir"].as_str().expect("a folder"))
}

fn with_answers() -> Vec<&'static str> {
    [ARGS, &["--answers", "../examples/first-run/answers.yaml"]].concat()
}

/// Calls that run side by side end in any order.
fn with_ordered_results(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    for run in lines.chunk_by_mut(|a, b| a.contains('\u{2713}') && b.contains('\u{2713}')) {
        run.sort_unstable();
    }
    lines.join("\n")
}

#[test]
fn the_first_command_repairs_a_copy_and_leaves_the_checkout_clean() {
    let home = TestHome::with_examples();
    let before = files(&home.path("examples"));
    let said = home.run(&with_answers()).expect_code(0);
    assert_eq!(said.stderr, "");
    insta::assert_snapshot!(with_ordered_results(&home.settled(&said.stdout)));

    let project = files(&workdir(&home, RUN));
    let program = String::from_utf8_lossy(&project["invoice.awk"]);
    assert!(program.contains("if ($2 >= 10) {"), "{program}");
    assert!(!project.keys().any(|name| name.starts_with("build/")), "{:?}", project.keys());
    assert_eq!(files(&home.path("examples")), before);
}

#[test]
fn run_again_it_is_another_run_on_another_copy() {
    let home = TestHome::with_examples();
    home.run(&with_answers()).expect_code(0);
    home.run(&with_answers()).expect_code(0).expect_text("run 2026-01-15-FIRST-r2: completed");
    assert_ne!(workdir(&home, RUN), workdir(&home, "2026-01-15-FIRST-r2"));
    let again: &Path = &workdir(&home, "2026-01-15-FIRST-r2");
    assert!(!again.join("build").exists());
    home.run(&["replay", RUN]).expect_code(0).expect_text("no drift");
}
