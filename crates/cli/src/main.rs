//! The `adjutant` command: parses what was typed, resolves it with the environment, acts, and answers
//! with an exit code.

mod command;
mod diagnostics;
mod exit;

use std::process::ExitCode;

use clap::Parser;

/// Run coding agents under discipline
#[derive(Debug, clap::Parser)]
#[command(name = "adjutant", version)]
enum Cli {
    New(command::new::NewArgs),
    Validate(command::validate::ValidateArgs),
}

fn main() -> ExitCode {
    let ended = match Cli::parse() {
        Cli::New(args) => command::new::run(&args),
        Cli::Validate(args) => command::validate::run(&args),
    };
    let ending = ended.unwrap_or_else(|failure| {
        eprintln!("{failure:#}");
        exit::Ending::Failed
    });
    ExitCode::from(exit::exit_code(ending))
}
