//! `cargo xtask fuzz differential`: runs what the shell reader calls safe in real shells, in the sandbox.
//!
//! The program comes from the build of the tests, which has it beside them: built alone it would want most of the
//! dependencies once more, with other features. It is not optimized: reading takes a fiftieth of the time, starting
//! shells the rest.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::check::{self, CheckStep, cargo, repo_root, target};
use crate::tally::TestTally;

const PROGRAM: &str = "adjutant-differential";
/// Arguments that every change is tried with. The seed is fixed, so that nobody's change is held up by what somebody
/// else's seed would have found.
const EVERY_CHANGE: [&str; 6] = ["--seed", "1", "--lines", "50000", "--jobs", "2"];

/// Hunts with `args`, which the program takes.
pub fn run(args: &[String]) -> ExitCode {
    let hunted = build().and_then(|program| {
        let status = Command::new(&program).args(args).status();
        let status = status.with_context(|| format!("can't start `{}`", program.display()))?;
        if status.success() { Ok(()) } else { bail!("the hunt ended with {status}") }
    });
    match hunted {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The step of `cargo xtask test`.
///
/// # Errors
///
/// The program can't be built, or a line was found.
pub fn check(tally: &mut TestTally) -> Result<()> {
    let program = build()?;
    let args = EVERY_CHANGE.map(Into::into).into();
    check::run(&CheckStep::program("lines that are called safe", program.into(), args), tally)
}

fn build() -> Result<PathBuf> {
    let mut cargo = cargo();
    cargo.args(["test", "--quiet", "--no-run", "--locked", "--workspace"]).args(check::WITH_FAST_CORE);
    let status = cargo.current_dir(repo_root()).status().context("can't start cargo")?;
    if !status.success() {
        bail!("`{PROGRAM}` can't be built: {status}");
    }
    Ok(target().join("debug").join(PROGRAM))
}
