//! `cargo xtask bench`: builds for release and measures what the budgets promise.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::check::{cargo, repo_root, target};

/// Builds the program and the benchmarks once, and runs these with `args`.
pub fn run(args: &[String]) -> ExitCode {
    match measure(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure(args: &[String]) -> Result<()> {
    let build = ["build", "--release", "--locked", "--package", "adjutant", "--package", "adjutant-bench"];
    let status = cargo().args(build).current_dir(repo_root()).status().context("can't start cargo")?;
    if !status.success() {
        bail!("`cargo {}` ended with {status}", build.join(" "));
    }
    let built = target().join("release");
    let status = std::process::Command::new(built.join("adjutant-bench"))
        .arg(built.join("adjutant"))
        .args(args)
        .status()
        .context("can't start the benchmarks")?;
    if !status.success() {
        bail!("the benchmarks ended with {status}");
    }
    Ok(())
}
