//! Holds our wire formats against the official clients of the providers, which are Python packages.
//!
//! They are installed into a folder of their own below `target/`, by pip as it is set up on this machine, once for
//! each change of `tests/sdk/requirements.txt`. `tests/sdk/check.py` says what is compared.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, bail};

use crate::check::{self, Step, repo_root, target};
use crate::tally::Tally;

/// Where the check and its requirements are, from the root.
const FOLDER: &str = "tests/sdk";

/// Begins to install the clients, if these are not the ones that are there.
pub fn prepared() -> JoinHandle<Result<()>> {
    thread::spawn(|| check::timed("official clients: what is needed", || install(&folder(), &python())))
}

/// Waits for the clients, and runs the check.
///
/// # Errors
///
/// If they can't be installed, or something differs.
pub fn check(prepared: JoinHandle<Result<()>>, tally: &mut Tally) -> Result<()> {
    prepared.join().unwrap_or_else(|_| bail!("the installation of the official clients panicked"))?;
    let python = python();
    let script = repo_root().join(FOLDER).join("check.py");
    // It must leave nothing behind beside the script.
    let args = ["-B".into(), script.into_os_string()];
    check::run(&Step::program("official clients", python.into_os_string(), args.to_vec()), tally)
}

fn folder() -> PathBuf {
    target().join("sdk")
}

fn python() -> PathBuf {
    folder().join("bin").join("python")
}

fn install(folder: &Path, python: &Path) -> Result<()> {
    let requirements = repo_root().join(FOLDER).join("requirements.txt");
    let wanted = fs::read_to_string(&requirements).context("can't read the requirements")?;
    // Written last: a folder without it is not whole.
    let stamp: PathBuf = folder.join("installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) && python.is_file() {
        return Ok(());
    }
    check::succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    check::succeed(Command::new(python).args(pip).arg(&requirements))
        .with_context(|| format!("can't install what {FOLDER}/requirements.txt lists"))?;
    fs::write(&stamp, wanted).with_context(|| format!("can't write `{}`", stamp.display()))
}

/// Whether the system's Python can make a folder of packages of its own.
pub fn can_install() -> bool {
    let mut python = Command::new("python3");
    python.args(["-c", "import ensurepip, venv"]).stderr(std::process::Stdio::null());
    python.status().is_ok_and(|status| status.success())
}
