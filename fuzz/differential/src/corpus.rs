//! The lines that mutations begin with: every line whose verdict this repository states somewhere.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use adjutant_core::gate::shell::ProgramEntry;
use anyhow::{Context, Result};
use serde_json::Value;

/// Lines behind a verdict.
const LINES: &str = "crates/core/src/gate/shell/lines.txt";
/// The table of programs, with examples and options.
const PROGRAMS: &str = "crates/core/src/gate/shell/programs.json";
/// Vectors with a line in `command`.
const VECTORS: [&str; 3] =
    ["tests/vectors/shell-commands.jsonl", "tests/vectors/shell-words.jsonl", "tests/vectors/shell-through.jsonl"];
/// Calls of tools, some of them with a line in `cmd`.
const ATTACKS: &str = "tests/attacks/attacks.jsonl";

/// All lines, sorted, each once: the same for the same tree, whatever the order of the files.
///
/// # Errors
///
/// A file that can't be read or is not what its name says.
pub fn lines() -> Result<Vec<String>> {
    let mut lines = Vec::new();
    let text = read(LINES)?;
    let stated = text.lines().filter(|line| !line.starts_with('#'));
    lines.extend(stated.filter_map(|line| line.split_once(' ')).map(|(_, line)| line.to_owned()));
    for vectors in VECTORS {
        for vector in values(vectors)? {
            lines.extend(vector["command"].as_str().map(str::to_owned));
        }
    }
    for attack in values(ATTACKS)? {
        let calls = attack["calls"].as_array().into_iter().flatten();
        lines.extend(calls.filter_map(|call| call["args"]["cmd"].as_str()).map(str::to_owned));
    }
    for entry in table()? {
        lines.extend(entry.examples.into_keys());
    }
    lines.sort_unstable();
    lines.dedup();
    Ok(lines)
}

/// The options that the table of programs knows, by program.
///
/// # Errors
///
/// The table can't be read.
pub fn options() -> Result<BTreeMap<String, Vec<String>>> {
    let mut options: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in table()? {
        let rules = entry.rules.iter().flat_map(|rule| rule.with.iter().chain(rule.and_with.iter()));
        let fields = [&entry.valued, &entry.code, &entry.runs, &entry.writes, &entry.makes];
        let named: Vec<&str> = rules.chain(fields.into_iter().flat_map(|words| words.iter())).collect();
        for name in entry.names.iter() {
            options.entry(name.to_owned()).or_default().extend(named.iter().map(|option| (*option).to_owned()));
        }
    }
    Ok(options)
}

fn table() -> Result<Vec<ProgramEntry>> {
    serde_json::from_str(&read(PROGRAMS)?).with_context(|| format!("`{PROGRAMS}`"))
}

fn read(path: &str) -> Result<String> {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(&path).with_context(|| format!("can't read `{}`", path.display()))
}

fn values(path: &str) -> Result<Vec<Value>> {
    let text = read(path)?;
    let values = text.lines().map(|line| serde_json::from_str(line).with_context(|| format!("`{path}`: {line}")));
    values.collect()
}
