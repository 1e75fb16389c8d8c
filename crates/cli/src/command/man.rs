//! `adjutant man`: the help as man pages.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Command;
use clap_mangen::Man;

use crate::exit::Ending;
use crate::failure::Failure;
use crate::help;

/// Print the help as a man page
///
/// `adjutant man run | man -l -` shows one. With `--out` the pages of all commands are written, `adjutant.1`,
/// `adjutant-run.1` and so on: `adjutant man --out ~/.local/share/man/man1` has `man adjutant` find them.
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// The command, with its own if it has some, such as `trace verify` [default: the program as a whole]
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    command: Vec<String>,
    /// Write the pages of all commands into a folder, which is made if it is not there
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints a page, or writes all.
pub fn run(args: &ManArgs) -> anyhow::Result<Ending> {
    let mut program = help::command();
    program.build();
    if let Some(folder) = &args.out {
        fs::create_dir_all(folder).with_context(|| format!("can't make `{}`", folder.display()))?;
        let written = write_all(&program, "adjutant", folder)?;
        tell!("wrote {written} pages to {}", folder.display());
        return Ok(Ending::Done);
    }
    let mut command = &program;
    for word in &args.command {
        command = command.find_subcommand(word).ok_or_else(|| {
            Failure::usage(format!("there is no command `{}`", args.command.join(" ")))
                .hint("`adjutant --help` lists them")
        })?;
    }
    let name = ["adjutant"].into_iter().chain(args.command.iter().map(String::as_str)).collect::<Vec<_>>().join("-");
    super::print(&String::from_utf8_lossy(&page(command, &name)?))?;
    Ok(Ending::Done)
}

/// The man page of a command that is called `name` there.
fn page(command: &Command, name: &str) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    let title = name.to_uppercase();
    Man::new(command.clone().name(name.to_owned())).title(title).manual("Adjutant").render(&mut page)?;
    Ok(page)
}

/// Writes the pages of a command and all below it. Returns how many.
fn write_all(command: &Command, name: &str, folder: &Path) -> anyhow::Result<usize> {
    let file = folder.join(format!("{name}.1"));
    fs::write(&file, page(command, name)?).with_context(|| format!("can't write `{}`", file.display()))?;
    let mut written = 1;
    for own in command.get_subcommands().filter(|own| own.get_name() != "help" && !own.is_hide_set()) {
        written += write_all(own, &format!("{name}-{}", own.get_name()), folder)?;
    }
    Ok(written)
}
