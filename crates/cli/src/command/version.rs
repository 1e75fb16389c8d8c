//! `adjutant version`.

use crate::exit::Ending;

/// Print the version
#[derive(Debug, clap::Args)]
pub struct VersionArgs {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// Prints the version.
pub fn run(args: &VersionArgs) -> anyhow::Result<Ending> {
    if args.json {
        super::print_json(&serde_json::json!({ "version": env!("CARGO_PKG_VERSION") }))?;
    } else {
        super::print(concat!(env!("CARGO_PKG_VERSION"), "\n"))?;
    }
    Ok(Ending::Done)
}
