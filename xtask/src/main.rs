//! The project's own commands: `cargo xtask test` checks everything that a change must pass, `cargo xtask
//! bench` measures what the budgets promise, `cargo xtask fuzz` looks for input that core's readers can't bear, and
//! `cargo xtask fuzz differential` for lines that are called safe and are not.
//!
//! One file per command. `check.rs` runs a step and shows what it took, `tally.rs` counts test results,
//! `licences.rs` compares licences with `deny.toml`, `clients.rs` our wire formats with the official clients,
//! `real_clients.rs` runs the program with a real model, `python_packages.rs` installs what these two need,
//! `memory.rs` says where the tests' temporary files go.

mod bench;
mod check;
mod clients;
mod differential;
mod fuzz;
mod licences;
mod memory;
mod python_packages;
mod real_clients;
mod tally;
mod test;

use std::process::ExitCode;

use clap::Parser;

/// The project's own commands
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum XtaskCommand {
    /// Check everything that a change must pass
    ///
    /// Installs what is missing where it may, then: formatting, lints, documentation, licences, all
    /// tests, and the wire formats beside the official clients.
    /// Stops at the first step that fails. The last line is `N passed, N failed`.
    Test {
        /// Run the program with a small real model instead, and nothing else
        ///
        /// Installs llama.cpp's server and a model below `target/`, once, and has the program work with them over
        /// the three wire formats that the server speaks. A run must end in an orderly way, whatever the model says.
        /// Takes some minutes.
        #[arg(long)]
        real_clients: bool,
    },
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
    /// Feed core's readers made-up input, looking for what must not happen
    ///
    /// Builds the targets of `fuzz/` with coverage, then runs each. What fails is saved and named. The corpus
    /// alone is gone through by every `cargo xtask test`.
    Fuzz {
        /// Time that each target runs
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// Only this one, such as `patch`; or `differential`, which `fuzz` alone leaves out
        ///
        /// `differential` makes lines of shells, has them read, and runs those that are called safe in bash and dash,
        /// in the sandbox: what one of them destroys is found. Every `cargo xtask test` tries 50,000.
        target: Option<String>,
        /// Seed that the lines of `differential` are made from
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Number of lines that `differential` makes
        #[arg(long, default_value_t = 50_000)]
        lines: u64,
        /// The number of the first of them
        #[arg(long, default_value_t = 0)]
        from: u64,
        /// Number of sandboxes that `differential` runs lines in at the same time
        #[arg(long, default_value_t = 1)]
        jobs: u64,
    },
}

fn main() -> ExitCode {
    match XtaskCommand::parse() {
        XtaskCommand::Test { real_clients: false } => test::run(test::steps),
        XtaskCommand::Test { real_clients: true } => test::run(real_clients::check),
        XtaskCommand::Clients => test::run(|tally| clients::check(clients::prepared(), tally)),
        XtaskCommand::Bench { args } => bench::run(&args),
        XtaskCommand::Fuzz { target: Some(target), seed, lines, from, jobs, .. } if target == "differential" => {
            let numbers = [("--seed", seed), ("--lines", lines), ("--from", from), ("--jobs", jobs)];
            let args = numbers.iter().flat_map(|(name, number)| [(*name).to_owned(), number.to_string()]);
            differential::run(&args.collect::<Vec<_>>())
        }
        XtaskCommand::Fuzz { seconds, target, .. } => fuzz::run(seconds, target.as_deref()),
    }
}
