//! `adjutant completions`.

use clap::builder::PossibleValuesParser;
use clap_complete::env::Shells;

use crate::exit::Ending;
use crate::failure::Failure;

/// The variable by which a shell asks this program what may stand somewhere: its own, for others have a `COMPLETE`, too.
pub const ASKED_BY: &str = "ADJUTANT_COMPLETE";

/// Print a completion script for a shell
///
/// The script asks this program, which knows your runs, adapters, kinds of questions and categories. Have the shell's
/// start-up file run it, so that it fits the program: `source <(adjutant completions bash)`.
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_parser = PossibleValuesParser::new(Shells::builtins().names()))]
    shell: String,
}

/// Prints the script.
pub fn run(args: &CompletionsArgs) -> anyhow::Result<Ending> {
    let shells = Shells::builtins();
    let shell = shells.completer(&args.shell).ok_or_else(|| Failure::usage("there is no such shell"))?;
    let mut script = Vec::new();
    shell.write_registration(ASKED_BY, "adjutant", "adjutant", "adjutant", &mut script)?;
    super::print(&String::from_utf8_lossy(&script))?;
    Ok(Ending::Done)
}
