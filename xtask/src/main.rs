//! The project's own commands: `cargo xtask test` checks everything that a change must pass.
//!
//! One file per command. `check.rs` runs a step and shows what it took, `tally.rs` counts test results,
//! `licences.rs` compares licences with `deny.toml`.

mod check;
mod licences;
mod tally;
mod test;

use std::process::ExitCode;

use clap::Parser;

/// The project's own commands
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Command {
    /// Check everything that a change must pass
    ///
    /// Installs what is missing where it may, then: formatting, lints, documentation, licences, all tests.
    /// Stops at the first step that fails. The last line is `N passed, N failed`.
    Test,
}

fn main() -> ExitCode {
    match Command::parse() {
        Command::Test => test::run(),
    }
}
