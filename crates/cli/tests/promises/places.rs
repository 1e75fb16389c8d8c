//! Tests that a run keeps its files in the right place, and that the operator's settings hold wherever that is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

const FETCHING: &str = "- '# Phase 0'\n- text: I look.\n  calls: [{tool: http_fetch, args: {url: 'https://elsewhere.invalid/'}}]\n\
     - '# Phase 4'\n- '# Phase 4'\n";
const IDLE: &str = "- '# Phase 0'\n- '# Phase 4'\n- '# Phase 4'\n";

fn run(folder: &std::path::Path, script: &str, flags: &[&str]) -> Output {
    fs::write(folder.join("answers.yaml"), "- go\n").expect("written");
    fs::write(
        folder.join("brief.md"),
        "---\nproject: a\nmode: auto\nauthorized_costs: [http_fetch]\nscript: script.yaml\n---\n\
         # Objective\nx\n# Deliverables\ny\n# Constraints\nz\n",
    )
    .expect("written");
    fs::write(folder.join("script.yaml"), script).expect("written");
    Command::new(env!("CARGO_BIN_EXE_adjutant"))
        .args(["run", "brief.md", "--answers", "answers.yaml"])
        .args(flags)
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("ADJUTANT_HOME", folder.join("home"))
        .stdin(Stdio::null())
        .output()
        .expect("it runs")
}

#[test]
fn the_list_of_hosts_holds_for_a_run_that_keeps_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().join("home");
    fs::create_dir(&home).expect("a home");
    fs::write(home.join("http-allow.json"), r#"["example.org"]"#).expect("written");
    let output = run(folder.path(), FETCHING, &["--ephemeral"]);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert!(shown.contains("HOST_NOT_ALLOWED"), "{shown}");
    assert_eq!(fs::read_dir(&home).expect("a home").count(), 1, "something was kept");
}

#[test]
fn a_home_that_a_copy_makes_is_for_its_owner_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().join("home");
    fs::create_dir(folder.path().join("work")).expect("a folder");
    let output = run(folder.path(), IDLE, &["--copy", "--workdir", "work"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(fs::metadata(&home).expect("made").permissions().mode() & 0o077, 0, "{output:?}");
}
