//! `cargo xtask fuzz`: runs the targets of `fuzz/` under libFuzzer, on the stable compiler.
//!
//! The flags below are those that the coverage of libFuzzer is made of; no sanitizer is linked, since core has
//! no unsafe code that one could watch. The corpus in the tree is read and never written: what a run finds
//! new goes below `target/`, and what fails is saved there and named.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::check::{cargo, repo_root, target};

/// Counts each edge, and shows comparisons to the fuzzer.
const COVERAGE: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "--cfg",
    "fuzzing",
];

/// Limits for one input: this much memory in MiB, this many seconds, at this length in bytes.
const LIMITS: &[&str] = &["-rss_limit_mb=512", "-timeout=5", "-max_len=16384"];

/// Runs `named`, or all targets, each for `seconds`. Ends at the first that fails.
pub fn run(seconds: u64, named: Option<&str>) -> ExitCode {
    match fuzz(seconds, named) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn fuzz(seconds: u64, named: Option<&str>) -> Result<()> {
    let targets = targets()?;
    let chosen = match named {
        None => targets,
        Some(name) if targets.iter().any(|target| target == name) => vec![name.to_owned()],
        Some(name) => bail!("no target is called `{name}`; there are {}", targets.join(", ")),
    };
    let program = build()?;
    for name in chosen {
        println!("==> {name} for {seconds} s");
        run_one(&program, &name, seconds)?;
    }
    Ok(())
}

/// The targets, by their corpus folders.
fn targets() -> Result<Vec<String>> {
    let folder = repo_root().join("fuzz").join("corpus");
    let entries = fs::read_dir(&folder).with_context(|| format!("can't list `{}`", folder.display()))?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

fn build() -> Result<PathBuf> {
    let folder = target().join("fuzz");
    let platform = platform()?;
    let package = repo_root().join("fuzz").join("coverage");
    // With `--target` the flags don't reach build scripts, which have no fuzzer to link.
    let status = cargo()
        .args(["build", "--release", "--locked", "--target", &platform, "--target-dir"])
        .arg(&folder)
        .current_dir(&package)
        .env("CARGO_ENCODED_RUSTFLAGS", COVERAGE.join("\u{1f}"))
        .status()
        .context("can't start cargo")?;
    if !status.success() {
        bail!("the fuzzer can't be built: {status}; a C++ compiler is needed for libFuzzer");
    }
    Ok(folder.join(platform).join("release").join("adjutant-fuzz-coverage"))
}

/// The platform's name as rustc has it.
fn platform() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("can't start rustc")?;
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    told.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned).context("rustc names no host")
}

fn run_one(program: &PathBuf, name: &str, seconds: u64) -> Result<()> {
    let found = target().join("fuzz-found").join(name);
    let failed = target().join("fuzz-failed").join(name);
    for folder in [&found, &failed] {
        fs::create_dir_all(folder).with_context(|| format!("can't make `{}`", folder.display()))?;
    }
    let status = Command::new(program)
        .env("FUZZ_TARGET", name)
        .args(LIMITS)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", failed.display()))
        .args(["-print_final_stats=1", "-verbosity=1"])
        .arg(&found)
        .arg(repo_root().join("fuzz").join("corpus").join(name))
        .status()
        .with_context(|| format!("can't start `{}`", program.display()))?;
    if !status.success() {
        bail!(
            "{name}: {status}; the input is in `{}`: keep it in `fuzz/corpus/{name}/` with the repair",
            failed.display()
        );
    }
    Ok(())
}
