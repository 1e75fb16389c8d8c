//! The project's own commands: `cargo xtask test` checks everything that a change must pass, `cargo xtask
//! bench` measures what the budgets promise.
//!
//! One file per command. `check.rs` runs a step and shows what it took, `tally.rs` counts test results,
//! `licences.rs` compares licences with `deny.toml`, `clients.rs` our wire formats with the official clients.

mod bench;
mod check;
mod clients;
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
    /// Installs what is missing where it may, then: formatting, lints, documentation, licences, all
    /// tests, and the wire formats beside the official clients.
    /// Stops at the first step that fails. The last line is `N passed, N failed`.
    Test,
    /// Hold the wire formats against the official clients
    ///
    /// The last step of `test` on its own: installs the providers' Python packages below `target/`, once, and has
    /// them read what we read and judge what we send.
    Clients,
    /// Measure speed, memory and size beside their budgets
    ///
    /// Builds for release, then prints one table: each figure, its budget, whether it is kept, and a baseline
    /// that was measured in the same run. Takes a minute or two; leave the machine alone meanwhile.
    Bench {
        /// Handed on, such as `--only resume`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
}

fn main() -> ExitCode {
    match Command::parse() {
        Command::Test => test::run(test::steps),
        Command::Clients => test::run(clients::check),
        Command::Bench { args } => bench::run(&args),
    }
}
