//! Tests word for word what the program says of journals that were recorded once and for all.
//!
//! The journals are in `tests/golden/journals/`, those of the peer in `tests/vectors/openwar/`; what is said of them is
//! in `tests/golden/said/`, a folder for each run and in it a file for each group of commands. With
//! `ADJUTANT_WRITE_VECTORS` set these files are written instead: look at what changed before it is committed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use regex::Regex;

use crate::home::{ROOT, TestHome, copy, files};

/// The end of a journal's file name.
const ENDING: &str = ".trace.ndjson";

/// The time that counts as now in a history.
const NOW: &str = "2027-01-01";

/// The run of which the traces are shown with content, too.
const WITH_CONTENT: &str = "2026-01-15-CALLS";

/// The homes of the peer that are looked at: all events, resumes, damage, and lines that end as on Windows.
const PEERS: &[&str] = &[
    "inspect/input-inspect",
    "history/input-003-four-runs-one-foreign",
    "history/input-004-corrupt-and-traceless",
    "history/input-005-reentry-and-unattributed",
    "history/input-006-resumes",
    "history/input-012-crlf",
];

/// The files of one run, each with the commands that it shows. `RUN` and `PROJECT` stand for the names of both.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "inspect.txt",
        &[
            "inspect RUN",
            "inspect RUN --timing",
            "inspect RUN --cost",
            "inspect RUN --tools",
            "inspect RUN --detectors",
            "inspect RUN --permissions",
            "inspect RUN --mcp",
        ],
    ),
    ("transcript.txt", &["inspect RUN --transcript"]),
    ("trace.txt", &["inspect RUN --trace --full"]),
    ("replay.txt", &["replay RUN", "replay RUN --detector destructive=loose --detector completion=strict"]),
    ("verify.txt", &["trace verify RUN", "trace verify RUN --json"]),
    ("json.txt", &["inspect RUN --json", "replay RUN --json"]),
    ("history.txt", &["history PROJECT", "history PROJECT --json"]),
    ("export.txt", &["trace export RUN", "trace export RUN --redact"]),
    ("otlp.txt", &["trace export RUN --format otlp-json"]),
];

#[test]
fn what_is_said_of_journals_of_every_kind_stays_the_same() {
    let folder = Path::new(ROOT).join("tests/golden/journals");
    let runs = runs_in(&folder);
    assert!(runs.len() >= 20, "all journals are there: {runs:?}");
    let look = |run: &String| {
        let home = TestHome::new();
        home.write(&format!("home/sessions/{run}{ENDING}"), fs::read(journal(&folder, run)).expect("a journal"));
        said_of(&home, run)
    };
    check("runs", two_at_a_time(&runs, look));
}

#[test]
fn what_is_said_of_all_journals_together_stays_the_same() {
    let home = TestHome::new();
    copy(&Path::new(ROOT).join("tests/golden/journals"), &home.path("home/sessions"));
    let lines = |commands: &[&str]| commands.iter().map(|line| shown(&home, line)).collect::<String>();
    let learned =
        ["history golden", "history golden --json", "learn golden"].map(|line| format!("{line} --as-of {NOW}"));
    let said = [
        ("list.txt", lines(&["list", "list --json", "trace verify --all"])),
        ("history.txt", lines(&learned.each_ref().map(String::as_str))),
    ];
    check("together", said.into_iter().map(|(file, text)| (file.to_owned(), text)).collect());
}

#[test]
fn what_is_said_of_traces_of_the_peer_stays_the_same() {
    let look = |peer: &String| {
        let from = Path::new(ROOT).join("tests/vectors/openwar").join(peer);
        let home = TestHome::new();
        copy(&from, &home.path("home"));
        let runs = runs_in(&from.join("sessions"));
        let said = runs.iter().flat_map(|run| said_of(&home, run));
        let name = peer.rsplit('/').next().expect("a name").trim_start_matches("input-");
        said.map(|(file, text)| (format!("{name}/{file}"), text)).collect()
    };
    let peers: Vec<String> = PEERS.iter().map(|peer| (*peer).to_owned()).collect();
    check("openwar", two_at_a_time(&peers, look));
}

fn journal(folder: &Path, run: &str) -> PathBuf {
    folder.join(format!("{run}{ENDING}"))
}

/// The runs that have a journal in a folder, sorted.
fn runs_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let names = names.map(|name| name.into_string().expect("UTF-8"));
    let runs: BTreeSet<String> = names.filter_map(|name| name.strip_suffix(ENDING).map(str::to_owned)).collect();
    runs.into_iter().collect()
}

/// Looks at all of them in two threads, and gives what all looks gave.
fn two_at_a_time(
    names: &[String],
    look: impl Fn(&String) -> BTreeMap<String, String> + Sync,
) -> BTreeMap<String, String> {
    let left = Mutex::new(names.iter());
    let work = || {
        let mut found = BTreeMap::new();
        loop {
            let next = left.lock().expect("no look fails").next();
            let Some(name) = next else { return found };
            found.extend(look(name));
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no look fails")).collect()
    })
}

/// All that is said of a run of this home, by the name of the file in which it is kept.
fn said_of(home: &TestHome, run: &str) -> BTreeMap<String, String> {
    let events = home.journal(run);
    let project = events.iter().find_map(|event| event["project"].as_str()).unwrap_or("orchard");
    let calls = events.iter().filter_map(|event| event["call"].as_u64()).max().unwrap_or(0);
    let mut said: BTreeMap<String, String> = GROUPS
        .iter()
        .map(|(file, commands)| {
            let lines = commands.iter().map(|line| line.replace("RUN", run).replace("PROJECT", project));
            let lines =
                lines.map(|line| if line.starts_with("history") { format!("{line} --as-of {NOW}") } else { line });
            (format!("{run}/{file}"), lines.map(|line| shown(home, &line)).collect())
        })
        .collect();
    let each_call = (1..=calls).map(|call| format!("explain {run} {call}"));
    if run == WITH_CONTENT {
        let with_content = shown(home, &format!("trace export {run} --format otlp-json --with-content"));
        said.insert(format!("{run}/otlp-with-content.txt"), with_content);
    }
    let explained = each_call.chain([format!("explain {run} --authority")]).map(|line| shown(home, &line)).collect();
    said.insert(format!("{run}/explain.txt"), explained);
    said
}

/// Returns a command's output and ending, with whatever depends on the test's place and time replaced.
fn shown(home: &TestHome, line: &str) -> String {
    let args: Vec<&str> = line.split(' ').collect();
    let said = home.run(&args);
    let mut shown = format!("$ adjutant {line}\n");
    let place = home.path("").display().to_string();
    for (title, text) in [("", &said.stdout), ("[stderr]\n", &said.stderr)] {
        if text.is_empty() {
            continue;
        }
        let is_journal = line
            .strip_prefix("trace export ")
            .is_some_and(|run| fs::read(home.journal_path(run)).is_ok_and(|bytes| bytes == text.as_bytes()));
        let text =
            if is_journal { "[the journal, byte for byte]\n".to_owned() } else { text.replace(&place, "[TEMP]/") };
        // OpenTelemetry's JSON is one line: a line for each span.
        let text = text.replace("{\"traceId\"", "\n{\"traceId\"");
        shown.push_str(title);
        // Not by `lines`, which takes a carriage return for a part of the end.
        text.split_terminator('\n').for_each(|line| writeln!(shown, "{}", without_clock(line)).expect("to a text"));
        if !text.ends_with('\n') {
            shown.push_str("[no end of line]\n");
        }
    }
    writeln!(shown, "[exit code {}]\n", said.code).expect("to a text");
    shown
}

/// A line without the hour of a replay of the peer's traces, which is the clock's.
fn without_clock(line: &str) -> String {
    for label in ["[replay] Replayed at: ", "  \"replayed_at\": "] {
        if line.starts_with(label) {
            return format!("{label}[NOW]");
        }
    }
    // The age of a run in the list.
    static AGE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^(2026-01-15-\S+ +)\d+ (s|min|h|d) +").expect("a pattern"));
    if let Some(found) = AGE.captures(line) {
        return format!("{}[AGE]  {}", &found[1], &line[found[0].len()..]);
    }
    line.to_owned()
}

/// Fails unless the files of `tests/golden/said/<part>` hold just this; or writes them, if that was asked for.
fn check(part: &str, said: BTreeMap<String, String>) {
    let folder = Path::new(ROOT).join("tests/golden/said").join(part);
    if std::env::var_os("ADJUTANT_WRITE_VECTORS").is_some() {
        for (file, text) in &said {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("written");
        }
    }
    let kept = files(&folder);
    let names: BTreeSet<&String> = kept.keys().chain(said.keys()).collect();
    let mut wrong = String::new();
    for name in names {
        let difference = match (kept.get(name), said.get(name)) {
            (Some(kept), Some(said)) => first_difference(&String::from_utf8_lossy(kept), said),
            (None, _) => Some("there is no such file, and the program says something".to_owned()),
            (_, None) => Some("there is such a file, and no journal or command that it is about".to_owned()),
        };
        if let Some(difference) = difference {
            writeln!(wrong, "tests/golden/said/{part}/{name}: {difference}").expect("to a text");
        }
    }
    assert!(wrong.is_empty(), "what is said changed:\n{wrong}\n(ADJUTANT_WRITE_VECTORS=1 writes what is said now)");
}

/// The first line in which two texts differ, if they do.
fn first_difference(kept: &str, said: &str) -> Option<String> {
    if kept == said {
        return None;
    }
    let (mut kept, mut said) = (kept.split('\n'), said.split('\n'));
    let mut number = 0;
    loop {
        number += 1;
        let (kept, said) = (kept.next(), said.next());
        if kept != said || kept.is_none() {
            let shown = |line: Option<&str>| line.unwrap_or("[the end]").to_owned();
            return Some(format!("line {number}\n  - {}\n  + {}", shown(kept), shown(said)));
        }
    }
}
