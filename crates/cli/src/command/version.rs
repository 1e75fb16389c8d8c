//! `adjutant version`.

use crate::exit::Ending;

/// Print the version
#[derive(Debug, clap::Args)]
pub struct VersionArgs {}

/// Prints the version.
pub fn run(_args: &VersionArgs) -> anyhow::Result<Ending> {
    super::print(concat!(env!("CARGO_PKG_VERSION"), "\n"))?;
    Ok(Ending::Done)
}
