//! Measures the cost of one decision of the gate, of the detectors and of whether a loop is stuck, through `adjutant
//! decide`.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::ensure;
use serde_json::{Value, json};

use crate::figure::{Amount, Figure, each};

const LINES: usize = 200_000;
/// Of the gate. The detectors have no budget of their own: they are part of a turn's.
const GATE_BUDGET: Amount = Amount::Time(Duration::from_micros(30));

/// Of whether a loop is stuck, a round.
const STUCK_BUDGET: Amount = Amount::Time(Duration::from_micros(20));
/// A million rounds, in lines of a hundred.
const STUCK_LINES: usize = 10_000;
const ROUNDS: usize = 100;

/// The line of a number.
type LineMaker = fn(usize) -> Value;

/// Decisions one by one, each beside copying the same lines and beside parsing and printing them.
pub fn measure(adjutant: &Path, folder: &Path) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let measured: [(&str, &str, LineMaker, Option<Amount>); 5] = [
        ("gate", "calls of every tool", gate, Some(GATE_BUDGET)),
        ("gate", "command lines of a day", commands, Some(GATE_BUDGET)),
        ("gate", "plain command lines", plain_commands, Some(GATE_BUDGET)),
        ("gate", "command lines that need the grammar", grammar_commands, Some(GATE_BUDGET)),
        ("detect", "turns", detect, None),
    ];
    for (what, of, line, budget) in measured {
        let input = write(folder, what, LINES, line)?;
        let decided = time(Command::new(adjutant).args(["decide", what]), &input)?;
        let copied = time(&mut Command::new("cat"), &input)?;
        let parsed = parse_and_print(&input)?;
        let rate = LINES as u128 * 1_000_000 / decided.as_micros().max(1);
        let figure = |against: &str, baseline, budget| Figure {
            name: format!("`decide {what}`, {of}, one line ({rate}/s)"),
            measured: Amount::Time(each(decided, LINES)),
            budget,
            against: against.to_owned(),
            baseline: Amount::Time(each(baseline, LINES)),
        };
        figures.push(figure("serde_json parses and prints the line", parsed, budget));
        figures.push(figure("cat", copied, None));
    }
    for (of, line) in [("the rule as it was published", stuck as LineMaker), ("ours", stuck_by_ours)] {
        let input = write(folder, "stuck", STUCK_LINES, line)?;
        let decided = time(Command::new(adjutant).args(["decide", "stuck"]), &input)?;
        figures.push(Figure {
            name: format!("`decide stuck`, {of}, one round of a million"),
            measured: Amount::Time(each(decided, STUCK_LINES * ROUNDS)),
            budget: Some(STUCK_BUDGET),
            against: "serde_json parses and prints the round".to_owned(),
            baseline: Amount::Time(each(parse_and_print(&input)?, STUCK_LINES * ROUNDS)),
        });
    }
    Ok(figures)
}

fn write(folder: &Path, what: &str, lines: usize, line: fn(usize) -> Value) -> anyhow::Result<PathBuf> {
    let path = folder.join(what);
    let mut file = std::io::BufWriter::new(File::create(&path)?);
    for number in 0..lines {
        writeln!(file, "{}", line(number))?;
    }
    file.flush()?;
    Ok(path)
}

fn time(command: &mut Command, input: &Path) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let status = command.stdin(File::open(input)?).stdout(Stdio::null()).status()?;
    let took = began.elapsed();
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(took)
}

fn parse_and_print(input: &Path) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let text = fs::read(input)?;
    let mut output = std::io::BufWriter::new(File::options().write(true).open("/dev/null")?);
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let value: Value = serde_json::from_slice(line)?;
        serde_json::to_writer(&mut output, &value)?;
        output.write_all(b"\n")?;
    }
    output.flush()?;
    Ok(began.elapsed())
}

/// Calls of every tool, among them command lines that must be read for what they would do.
fn gate(number: usize) -> Value {
    let (tool, arguments) = match number % 8 {
        0 => ("read_file", json!({"path": format!("src/part_{number}.rs")})),
        1 => ("write_file", json!({"path": format!("src/part_{number}.rs"), "content": "fn main() {}\n".repeat(20)})),
        2 => ("shell_exec", json!({"cmd": format!("cargo test -p part_{number} -- --nocapture")})),
        3 => ("shell_exec", json!({"cmd": "git add -A && git commit -m \"rm -rf is only a word here\""})),
        4 => ("shell_exec", json!({"cmd": "find . -name '*.o' -print0 | xargs -0 rm -f; git push origin main"})),
        5 => ("list_dir", json!({"path": "."})),
        6 => ("http_fetch", json!({"url": format!("https://example.org/{number}")})),
        _ => ("apply_patch", json!({"diff": "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+too\n three\n"})),
    };
    json!({"tool": tool, "arguments": arguments, "authorized_costs": ["filesystem_write", "shell_exec"]})
}

/// Command lines that the short way reads.
const PLAIN: [&str; 26] = [
    "ls -la",
    "git status --short",
    "git diff --stat HEAD~1",
    "git log --oneline -20",
    "cargo test -p core -- --nocapture",
    "cargo build --release 2>&1 | tail -20",
    "cargo clippy --all-targets -- -D warnings",
    "npm test",
    "npm run build && npm run lint",
    "python3 -m pytest -q tests",
    "grep -rn 'fn main' src",
    "rg -n TODO --glob '*.rs' src | head -50",
    "cat Cargo.toml",
    "sed -n '1,120p' src/lib.rs",
    "find . -name '*.o' -print0 | xargs -0 rm -f",
    "find src -type f -name '*.py' -newer setup.py",
    "wc -l src/*.rs | sort -n",
    "cd crates/core && cargo check",
    "mkdir -p out/reports && cp report.txt out/reports/",
    "git add -A && git commit -m 'fix the reader: rm -rf is a word here'",
    "git push origin main",
    "rm -rf build",
    "curl -s https://example.org/api | jq .name",
    "docker compose logs --tail 50 web",
    "make -j8 test",
    "python3 -c 'import sys; print(sys.version)'",
];

/// Command lines that need the whole grammar.
const GRAMMAR: [&str; 14] = [
    "for f in src/*.rs; do wc -l \"$f\"; done",
    "if [ -f Cargo.toml ]; then cargo test; else npm test; fi",
    "cat <<'EOF' > notes.md\n# Notes\nrm -rf is only a word here.\nEOF",
    "git diff --stat $(git merge-base main HEAD)..HEAD",
    "(cd web && npm ci && npm run build)",
    "while read -r line; do echo \"$line\"; done < list.txt",
    "diff <(sort a.txt) <(sort b.txt)",
    "export RUST_LOG=debug; cargo run -- --help",
    "echo \"built at $(date +%s) by $(whoami)\"",
    "test -d dist && { rm -rf dist; }",
    "bash -c 'set -e; cargo fmt --check; cargo test'",
    "python3 - <<'EOF'\nimport json\nprint(json.load(open('a.json')))\nEOF",
    "case \"$1\" in start) make run;; stop) pkill server;; esac",
    "ls > /dev/null 2>&1 || true; echo $?",
];

fn command(line: &str) -> Value {
    json!({"tool": "shell_exec", "arguments": {"cmd": line}, "authorized_costs": ["filesystem_write", "shell_exec"]})
}

/// Commands like those that agents run in a day of work.
fn commands(number: usize) -> Value {
    let place = number % (PLAIN.len() + GRAMMAR.len());
    command(PLAIN.get(place).copied().unwrap_or_else(|| GRAMMAR[place - PLAIN.len()]))
}

fn plain_commands(number: usize) -> Value {
    command(PLAIN[number % PLAIN.len()])
}

fn grammar_commands(number: usize) -> Value {
    command(GRAMMAR[number % GRAMMAR.len()])
}

/// Turns as agents give them: work, a summary, a report, a blocker, an announced deletion.
fn detect(number: usize) -> Value {
    let text = match number % 5 {
        0 => crate::world::SUMMARY.to_owned(),
        1 => format!("{}\nThat was file {number}.", crate::world::WORK),
        2 => format!("## Phase 4\n\nEverything in item {number} is delivered; all tests pass. {}", crate::world::WORK),
        3 => format!(
            "## Phase 2\n\nI am blocked on item {number}: the credentials for the test server are missing. Tried: \
             the ones in the brief. Needed: new ones."
        ),
        _ => format!("{}\nNext I will run `rm -rf build/{number}` and drop the old table.", crate::world::WORK),
    };
    json!({"text": text, "authorized_costs": ["filesystem_write"]})
}

/// Rounds of a loop that changes something, comes back to what it was, and stands still, in turn.
fn trees(number: usize) -> impl Iterator<Item = (usize, String)> {
    (1..=ROUNDS).map(move |round| {
        let tree = match round / 10 % 3 {
            0 => number * ROUNDS + round,
            1 => round % 2,
            _ => 7,
        };
        (round, format!("{tree:064x}"))
    })
}

/// The rounds with the inputs of the program that the rule comes from.
fn stuck(number: usize) -> Value {
    let verdict = |at: usize| json!({"iteration": at, "approve": 1, "reject": 2, "result": "REJECTED"});
    let rounds = trees(number).map(|(round, tree)| {
        let verdicts: Vec<Value> = (1..=round % 4).map(verdict).collect();
        let inputs = json!({"consecutive_no_change": round % 7, "last_diff_hash": tree, "verdicts": verdicts});
        json!({"iteration": round, "inputs": inputs})
    });
    json!({"rounds": rounds.collect::<Vec<_>>()})
}

/// The same as rounds of ours.
fn stuck_by_ours(number: usize) -> Value {
    let rounds = trees(number).map(|(round, tree)| {
        let refused = json!({"kind": "blocked", "gate": "checks", "reason": "tests fail"});
        let evaluation = if round.is_multiple_of(3) { refused } else { Value::Null };
        json!({"run": "bench", "number": round, "has_worked": true, "tree": tree, "evaluation": evaluation})
    });
    json!({"machine": "ours", "rounds": rounds.collect::<Vec<_>>()})
}
