//! `adjutant completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::exit::Ending;

/// Print a completion script for a shell
///
/// Source it from the shell's start-up file: `adjutant completions bash > ~/.adjutant-completion`.
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Prints the script.
pub fn run(args: &CompletionsArgs) -> anyhow::Result<Ending> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "adjutant", &mut script);
    super::print(&String::from_utf8_lossy(&script))?;
    Ok(Ending::Done)
}
