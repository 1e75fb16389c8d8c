//! Measures how long a command takes that starts, does nothing much and ends.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::figure::{Amount, Figure, median};

const SPAWNS: usize = 300;
const BUDGET: Amount = Amount::Time(Duration::from_millis(5));

const BRIEF: &str = "---
project: bench
mode: auto
authorized_costs:
  - filesystem_write
---

# Objective

Orders of exactly ten pieces get the discount.

# Deliverables

- A fix, and a test for it.

# Constraints

- Change no other file.

# Tools required

- read_file, write_file
";

/// Start-up of `version` and `validate`, beside that of `/bin/true`, in turn.
pub fn measure(adjutant: &Path, folder: &Path) -> anyhow::Result<Vec<Figure>> {
    let brief = folder.join("brief.md");
    std::fs::write(&brief, BRIEF)?;
    let brief = brief.to_str().context("the folder's name is not UTF-8")?;
    let mut commands = [
        (Path::new("/bin/true"), vec![], Vec::new()),
        (adjutant, vec!["version"], Vec::new()),
        (adjutant, vec!["validate", brief], Vec::new()),
    ];
    for _ in 0..SPAWNS {
        for (program, args, times) in &mut commands {
            times.push(spawn(program, args, folder)?);
        }
    }
    let [nothing, version, validate] = commands.map(|(_, _, times)| Amount::Time(median(times)));
    let figure = |name: &str, measured| Figure {
        name: format!("start-up of `{name}`"),
        measured,
        budget: Some(BUDGET),
        against: format!("/bin/true, median of {SPAWNS}"),
        baseline: nothing,
    };
    Ok(vec![figure("version", version), figure("validate", validate)])
}

fn spawn(program: &Path, args: &[&str], home: &Path) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let status = Command::new(program)
        .args(args)
        .env_clear()
        .env("ADJUTANT_HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    let took = began.elapsed();
    ensure!(status.success(), "{} {args:?} ended with {status}", program.display());
    Ok(took)
}
