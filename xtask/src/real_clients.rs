//! Runs the program with a small real model behind a server of others: llama.cpp's.
//!
//! Both are Python packages, some 150 MB, and a run takes minutes: so it is none of the steps that a change must pass.
//! `tests/real-clients/check.py` says what must hold of a run.

use std::env;
use std::path::PathBuf;

use anyhow::Result;

use crate::check::{self, CheckStep, target};
use crate::python_packages::PythonCheck;
use crate::tally::TestTally;

/// The package of the model brings a plugin for another program along, which nothing here starts.
const CHECK: PythonCheck = PythonCheck {
    name: "real clients",
    folder: "tests/real-clients",
    installed: "real-clients",
    pip: &["--no-deps", "--only-binary", ":all:"],
};

/// Installs the server and the model, builds the program, and runs the check.
///
/// # Errors
///
/// If they can't be installed or built, or something does not hold.
pub fn check(tally: &mut TestTally) -> Result<()> {
    check::timed("real clients: what is needed", || CHECK.install())?;
    check::run(&CheckStep::cargo("the program", &["build", "--package", "adjutant", "--locked"]), tally)?;
    check::run(&CHECK.step().with_arg(program()), tally)
}

fn program() -> PathBuf {
    target().join("debug").join(format!("adjutant{}", env::consts::EXE_SUFFIX))
}
