//! Holds our wire formats against the official clients of the providers, which are Python packages.
//!
//! `tests/sdk/check.py` says what is compared.

use std::thread::{self, JoinHandle};

use anyhow::{Result, bail};

use crate::check;
use crate::python_packages::PythonCheck;
use crate::tally::TestTally;

const CHECK: PythonCheck = PythonCheck { name: "official clients", folder: "tests/sdk", installed: "sdk", pip: &[] };

/// Begins to install the clients, if these are not the ones that are there.
pub fn prepared() -> JoinHandle<Result<()>> {
    thread::spawn(|| check::timed("official clients: what is needed", || CHECK.install()))
}

/// Waits for the clients, and runs the check.
///
/// # Errors
///
/// If they can't be installed, or something differs.
pub fn check(prepared: JoinHandle<Result<()>>, tally: &mut TestTally) -> Result<()> {
    prepared.join().unwrap_or_else(|_| bail!("the installation of the official clients panicked"))?;
    check::run(&CHECK.step(), tally)
}
