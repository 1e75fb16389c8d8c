//! The `adjutant` command: parses what was typed, resolves it with the environment, acts, and answers
//! with an exit code.

mod command;
mod exit;

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(exit::exit_code(exit::Ending::Usage))
}
