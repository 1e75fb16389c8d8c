//! `cargo xtask test`: everything that a change must pass.
//!
//! Runs the steps in order of what they cost, cheapest first, and stops at the first that fails. Whatever
//! it installs comes by name from the system's or Rust's own installer, and only if it is missing.

use std::env;
use std::process::{Command, ExitCode, Stdio};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, bail};

use crate::check::{self, CheckStep, succeed};
use crate::memory;
use crate::tally::TestTally;
use crate::{clients, differential, licences, python_packages};

/// Programs that tests start, and the Debian packages that have them.
const PROGRAMS: &[(&str, &str)] = &[
    ("git", "git"),
    ("sh", "dash"),
    ("dash", "dash"),
    ("bash", "bash"),
    ("awk", "mawk"),
    ("python3", "python3"),
    ("perl", "perl"),
    ("make", "make"),
    ("find", "findutils"),
    ("rev", "bsdextrautils"),
    ("xxd", "xxd"),
    ("setsid", "util-linux"),
    ("chromium", "chromium"),
    ("chromedriver", "chromium-driver"),
];

/// Parts of the Rust toolchain, by the command that shows whether they are there.
const COMPONENTS: &[(&str, &str)] = &[("fmt", "rustfmt"), ("clippy", "clippy")];

/// Runs `steps` and prints the sum of the test results last.
pub fn run(steps: impl FnOnce(&mut TestTally) -> Result<()>) -> ExitCode {
    let mut tally = TestTally::default();
    let result = steps(&mut tally);
    if let Err(error) = &result {
        eprintln!("error: {error:#}");
        tally.step_failed();
    }
    println!("{tally}");
    if result.is_ok() && tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Everything that a change must pass.
///
/// # Errors
///
/// Those of the first step that fails.
pub fn steps(tally: &mut TestTally) -> Result<()> {
    check::timed("parts of the toolchain", install_components)?;
    // What comes over the network needs no core, so that it comes while the rest is checked.
    let installed = thread::spawn(|| -> Result<JoinHandle<Result<()>>> {
        check::timed("what is needed", install_programs)?;
        Ok(clients::prepared())
    });
    check::run(&CheckStep::cargo("format", &["fmt", "--all", "--check"]), tally)?;
    check::timed("licences", licences::check)?;
    if answers(&["deny", "--version"]) {
        check::run(
            &CheckStep::cargo("cargo-deny", &["deny", "--all-features", "check", "bans", "licenses", "sources"]),
            tally,
        )?;
    }
    let lints = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
    check::run(&CheckStep::cargo("lints", &lints), tally)?;
    // Built with the whole workspace, a crate may use what only another one asked for.
    check::run(&CheckStep::cargo("the program alone", &["check", "--package", "adjutant", "--locked"]), tally)?;
    let docs = CheckStep::cargo("documentation", &["doc", "--workspace", "--no-deps", "--locked"]);
    check::run(&docs.with_env("RUSTDOCFLAGS", "-D warnings"), tally)?;
    let clients = installed.join().unwrap_or_else(|_| bail!("the installation of what is needed panicked"))?;
    if answers(&["nextest", "--version"]) {
        let tests =
            ["nextest", "run", "--profile", "ci", "--workspace", "--locked", "--no-fail-fast", "--no-tests=pass"];
        check::run(&for_tests(CheckStep::cargo("tests", &tests)), tally)?;
        let doctests = CheckStep::cargo("doctests", &["test", "--workspace", "--locked", "--no-fail-fast", "--doc"]);
        check::run(&doctests.with_args(check::WITH_FAST_CORE), tally)?;
    } else {
        let tests = ["test", "--workspace", "--locked", "--no-fail-fast"];
        check::run(&for_tests(CheckStep::cargo("tests", &tests)), tally)?;
    }
    differential::check(tally)?;
    clients::check(clients, tally)
}

/// Adds the arguments and the environment of all tests. A browser that is missing is a failure; a run of single tests only reports it.
fn for_tests(step: CheckStep) -> CheckStep {
    let step = step.with_args(check::WITH_FAST_CORE).with_env("ADJUTANT_TEST_BROWSER", "1");
    // Many tests wait for a process now and then.
    let threads = std::thread::available_parallelism().map_or(2, usize::from) + 1;
    let step = step.with_env("NEXTEST_TEST_THREADS", threads.to_string());
    match memory::for_temporary_files() {
        Some(folder) => {
            println!("the tests' temporary files are in {folder}");
            step.with_env("TMPDIR", folder)
        }
        None => step,
    }
}

fn install_components() -> Result<()> {
    for (command, component) in COMPONENTS {
        if !answers(&[command, "--version"]) {
            succeed(Command::new("rustup").args(["component", "add", component]))
                .with_context(|| format!("`cargo {command}` is missing: install the component `{component}`"))?;
        }
    }
    Ok(())
}

fn install_programs() -> Result<()> {
    let mut missing: Vec<&str> =
        PROGRAMS.iter().filter(|(program, _)| !is_on_path(program)).map(|(_, package)| *package).collect();
    if !python_packages::can_install() {
        missing.push("python3-venv");
    }
    if missing.is_empty() {
        return Ok(());
    }
    install(&missing).with_context(|| format!("install these packages by hand: {}", missing.join(" ")))
}

/// Installs Debian packages as root or through a `sudo` that asks for nothing.
fn install(packages: &[&str]) -> Result<()> {
    if !is_on_path("apt-get") {
        bail!("this system has no apt-get");
    }
    let as_root = |args: &[&str]| -> Result<()> {
        let direct = succeed(Command::new("apt-get").args(args));
        if direct.is_ok() || !is_on_path("sudo") {
            return direct;
        }
        succeed(Command::new("sudo").args(["-n", "apt-get"]).args(args))
    };
    as_root(&["update", "-qq"])?;
    as_root(&[&["install", "-qq", "-y", "--no-install-recommends"], packages].concat())
}

/// Returns true if `cargo ARGS` ends well.
fn answers(args: &[&str]) -> bool {
    let mut cargo = check::cargo();
    cargo.args(args).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn is_on_path(program: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}
