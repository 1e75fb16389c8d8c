//! History and what is learned from it, as an operator sees them.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::home::{ROOT, TestHome, copy};

/// One home of the peer, and what the peer says of it.
#[derive(Deserialize)]
struct Case {
    case: String,
    slug: String,
    history: Expected,
    learn: Expected,
    learn_apply: Applied,
}

#[derive(Deserialize)]
struct Expected {
    argv: Vec<String>,
    exit: i32,
    #[serde(default)]
    report: Value,
    #[serde(default)]
    profile: Value,
    #[serde(default)]
    diff: Vec<String>,
}

#[derive(Deserialize)]
struct Applied {
    exit: i32,
    file_written: bool,
    second_dry_run_has_no_changes: bool,
}

fn folder() -> PathBuf {
    Path::new(ROOT).join("tests/vectors/openwar/history")
}

fn cases() -> Vec<Case> {
    let mut paths: Vec<PathBuf> = (fs::read_dir(folder()).expect("vectors"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    paths.sort();
    paths.iter().map(|path| serde_json::from_slice(&fs::read(path).expect("a file")).expect("a case")).collect()
}

fn home_of(case: &str) -> TestHome {
    let home = TestHome::new();
    fs::create_dir_all(home.path("home/sessions")).expect("a folder");
    copy(&folder().join(format!("input-{case}")), &home.path("home"));
    home
}

/// Without what the vectors leave out: times of making, and wording.
fn comparable(mut value: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, _| !matches!(name.as_str(), "generated_at" | "notes" | "reason"));
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut value);
    value
}

fn count_of_notes(value: &Value) -> usize {
    value["notes"].as_array().map_or(0, Vec::len)
}

fn as_peer<'a>(argv: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    let mut argv: Vec<&str> = argv.iter().map(String::as_str).filter(|arg| *arg != "--json").collect();
    argv.extend_from_slice(&["--json", "--compat", "openwar"]);
    argv.extend_from_slice(more);
    argv
}

#[test]
fn every_home_of_the_peer_gives_the_figures_of_the_peer() {
    let cases = cases();
    assert_eq!(cases.len(), 15, "all vectors are there");
    for case in &cases {
        let home = home_of(&case.case);
        // The second time from what was remembered.
        for look in ["first", "second"] {
            let said = home.run(&as_peer(&case.history.argv, &[]));
            assert_eq!(said.code, case.history.exit, "{}: {said:?}", case.case);
            let report: Value = serde_json::from_str(&said.stdout).expect("JSON");
            assert_eq!(count_of_notes(&report), count_of_notes(&case.history.report), "{}", case.case);
            assert_eq!(comparable(report), comparable(case.history.report.clone()), "{} ({look} look)", case.case);
        }
        let said = home.run(&as_peer(&case.learn.argv, &[]));
        assert_eq!(said.code, case.learn.exit, "{}: {said:?}", case.case);
        let profile: Value = serde_json::from_str(&said.stdout).expect("JSON");
        assert_eq!(count_of_notes(&profile), count_of_notes(&case.learn.profile), "{}", case.case);
        assert_eq!(comparable(profile), comparable(case.learn.profile.clone()), "{}", case.case);
        let changes: Vec<&str> = said.stderr.lines().filter_map(|line| line.strip_prefix("  ")).collect();
        assert_eq!(changes, case.learn.diff, "{}", case.case);

        let path = home.path(&format!("home/projects/{}/learned.json", case.slug));
        let before = fs::read(&path).ok();
        let said = home.run(&as_peer(&case.learn.argv, &["--apply"]));
        assert_eq!(said.code, case.learn_apply.exit, "{}: {said:?}", case.case);
        assert_eq!(fs::read(&path).ok() != before, case.learn_apply.file_written, "{}", case.case);
        let again = home.run(&as_peer(&case.learn.argv, &[]));
        let is_settled = again.stderr.contains("no changes");
        assert_eq!(is_settled, case.learn_apply.second_dry_run_has_no_changes, "{}: {again:?}", case.case);
    }
}

/// Our output for the same homes: reviewed by hand, for the places where it differs from the peer's.
#[test]
fn what_ours_says_of_the_homes_of_the_peer() {
    for case in
        ["004-corrupt-and-traceless", "006-resumes", "010-twenty-one-runs", "011-ordering", "013-learn-with-existing"]
    {
        let home = home_of(case);
        let shown = |args: &[&str]| {
            let said = home.run(&[args, &["orchard", "--as-of", "2025-04-01"]].concat());
            assert_eq!(said.code, 0, "{case}: {said:?}");
            said.stdout
        };
        insta::assert_snapshot!(format!("history_{case}"), shown(&["history", "--json"]));
        insta::assert_snapshot!(format!("history_text_{case}"), shown(&["history"]));
        insta::assert_snapshot!(format!("learn_{case}"), shown(&["learn"]));
    }
}

#[test]
fn a_profile_is_applied_shown_and_removed() {
    let home = home_of("010-twenty-one-runs");
    let learn = |more: &[&str]| home.run(&[&["learn", "orchard", "--as-of", "2025-04-01"], more].concat());
    let path = home.path("home/projects/orchard/learned.json");

    let said = learn(&[]);
    assert!(said.stderr.contains("nothing is applied") && !path.exists(), "{said:?}");
    let said = learn(&["--apply", "--json"]);
    assert!(said.stderr.contains("applied: "), "{said:?}");
    let proposal: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let written: Value = serde_json::from_slice(&fs::read(&path).expect("written")).expect("JSON");
    assert_eq!(proposal["profile"], written);
    assert!(learn(&[]).stderr.contains("no changes"));
    let said = learn(&["--emit-frontmatter", "--json"]);
    let proposal: Value = serde_json::from_str(&said.stdout).expect("JSON and nothing else");
    assert_eq!(proposal["front_matter"], serde_json::json!({"learned_profile": "orchard"}));
    let said = learn(&["--emit-frontmatter", "--json", "--compat", "openwar"]);
    let profile: Value = serde_json::from_str(&said.stdout).expect("JSON and nothing else");
    assert!(profile.get("front_matter").is_none() && said.stderr.contains("learned_profile: orchard"), "{said:?}");
    assert!(learn(&["--emit-frontmatter"]).stdout.contains("\nlearned_profile: orchard\n"));

    fs::write(&path, "{").expect("written");
    let said = learn(&["--apply"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.stderr.contains("--reset"), "an unusable profile is not written over: {said:?}");
    assert_eq!(fs::read(&path).expect("there"), b"{");
    assert!(learn(&["--reset"]).stderr.contains("removed") && !path.exists());
    assert!(learn(&["--reset"]).stderr.contains("there is no profile"));
}

#[test]
fn names_and_times_are_checked_before_anything_is_read() {
    let home = TestHome::new();
    for args in [
        ["history", ".."].as_slice(),
        &["learn", "../x", "--apply"],
        &["history", "orchard", "--since", "yesterday"],
        &["learn", "orchard", "--min-samples", "4"],
        &["history", "orchard", "--compat", "openclaw"],
    ] {
        let said = home.run(args);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{args:?}: {said:?}");
    }
    let said = home.run(&["history", "orchard"]);
    assert_eq!(said.code, 0, "no runs are no failure: {said:?}");
    assert!(said.stdout.contains("no run of this project"), "{said:?}");
}

#[test]
fn the_page_needs_nothing_else() {
    let home = home_of("015-medium-mix");
    let path = home.path("history.html");
    let said = home.run(&["history", "orchard", "--html", path.to_str().expect("a path")]);
    assert_eq!(said.code, 0, "{said:?}");
    let page = fs::read_to_string(&path).expect("written");
    assert!(page.contains("<svg") && page.contains("execute"), "{page}");
    for from_outside in ["<script", "http://", "https://", "<link", "<img", "url("] {
        assert!(!page.contains(from_outside), "{from_outside}");
    }
}

/// Two hundred runs of mixed fate, recorded by the example, and everything that looks at them.
#[test]
fn two_hundred_runs_of_mixed_fate() {
    let home = TestHome::new();
    let script = Path::new(ROOT).join("examples/fates/record.sh");
    let recorded = std::process::Command::new("sh")
        .arg(script)
        .args(["200", env!("CARGO_BIN_EXE_adjutant")])
        .env("ADJUTANT_HOME", home.path("home"))
        .env_remove("ADJUTANT_SESSIONS_DIR")
        .status()
        .expect("a shell");
    assert!(recorded.success());
    let history: Value =
        serde_json::from_str(&home.run(&["history", "fates", "--json"]).expect_code(0).stdout).expect("JSON");
    assert_eq!(history["sample_size"], 200);
    // Of each ten: six end, one is resumed and ends, one meets its limit; of the two others some end, too.
    let count = |fate: &str| history["outcomes"][fate].as_u64().unwrap_or(0);
    assert_eq!((count("completed"), count("declined"), count("waiting")), (147, 10, 43), "{}", history["outcomes"]);
    let row = |list: &str, name: &str, value: &str| -> Value {
        let rows = history[list].as_array().expect("a list");
        rows.iter().find(|row| row[name] == value).unwrap_or_else(|| panic!("{value} in {list}")).clone()
    };
    // Resumed by new context and completed: each of these fires was wrong.
    assert_eq!(row("detectors", "detector", "blocker")["false_positives"]["wrong"], 20);
    // A yes and a no for each announced deletion.
    let destructive = row("detectors", "detector", "destructive");
    assert_eq!(
        (&destructive["false_positives"]["decided"], &destructive["false_positives"]["wrong"]),
        (&40.into(), &20.into())
    );
    assert_eq!(history["stuck"]["retry_cap"], 20);
    assert_eq!(history["stuck"]["limit"], 20);
    assert_eq!(row("questions", "kind", "confirmation")["open"], 10);

    let learned: Value =
        serde_json::from_str(&home.run(&["learn", "fates", "--json"]).expect_code(0).stdout).expect("JSON");
    let overrides = &learned["profile"]["detector_overrides"];
    assert_eq!(overrides["completion"]["sensitivity"], "default", "a healthy run fires it");
    // Twenty calls that failed until they were capped, and half as many blockers said: it hears too little.
    assert_eq!(overrides["blocker"]["evidence"], Value::Null, "{}", overrides["blocker"]);
    assert!(learned["profile"]["phase_budgets"]["execute"]["tool_calls"].as_u64().is_some_and(|calls| calls >= 5));

    // The same again from what was remembered, and by a full scan.
    let shown = || home.run(&["history", "fates", "--json", "--as-of", "2030-01-01"]).expect_code(0).stdout;
    let second = shown();
    fs::remove_file(home.path("home/rollups.jsonl")).expect("remembered");
    assert_eq!(shown(), second);
}
