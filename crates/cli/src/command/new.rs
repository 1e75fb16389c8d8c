//! `adjutant new`: a brief to begin with.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use adjutant_core::brief;
use adjutant_core::words::id::Slug;
use anyhow::Context;
use serde_json::json;

use crate::exit::Ending;

/// Print a new brief, with its fields explained
///
/// The fields that most briefs need are explained, the others named. It is valid once its sections say what you want. Without `--out` nothing is written. A file that exists is
/// never overwritten.
#[derive(Debug, clap::Args)]
pub struct NewArgs {
    /// The project: lower-case letters, digits and hyphens [default: named like the current folder]
    #[arg(value_name = "PROJECT")]
    pub project: Option<Slug>,

    /// Write the brief to a new file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Print the brief and the file it was written to as JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints the template of a brief, or writes it to a new file.
///
/// # Errors
///
/// If the file can't be written for another reason than that it exists, or nothing can be printed.
pub fn run(args: &NewArgs) -> anyhow::Result<Ending> {
    let project = match &args.project {
        Some(project) => project.clone(),
        None => project_of(&std::env::current_dir().context("can't find the current folder")?),
    };
    let today = jiff::tz::TimeZone::UTC.to_datetime(jiff::Timestamp::now()).date();
    let text = brief::template(&project, today);
    match &args.out {
        Some(file) => write_new(file, &text, args.json),
        None if args.json => {
            super::print_json(&json!({ "brief": text, "file": null }))?;
            Ok(Ending::Done)
        }
        None => {
            io::stdout().lock().write_all(text.as_bytes()).context("can't print the brief")?;
            Ok(Ending::Done)
        }
    }
}

/// The project that a folder's name suggests; `my-project` if it suggests none.
fn project_of(folder: &Path) -> Slug {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    brief::slug_like(&name)
        .unwrap_or_else(|| "my-project".parse().expect("`my-project` is lower-case letters and a hyphen"))
}

fn write_new(file: &Path, text: &str, json: bool) -> anyhow::Result<Ending> {
    let written =
        OpenOptions::new().write(true).create_new(true).open(file).and_then(|mut new| new.write_all(text.as_bytes()));
    match written {
        Ok(()) => {
            if json {
                super::print_json(&json!({ "brief": text, "file": file.display().to_string() }))?;
            }
            tell!("wrote {file}", file = file.display());
            tell!("hint: fill in its sections; `adjutant validate {file}` says what is left", file = file.display());
            Ok(Ending::Done)
        }
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {
            tell!("can't write {file}: it exists, and nothing is overwritten", file = file.display());
            tell!("hint: name another file with `--out`");
            Ok(Ending::Usage)
        }
        Err(why) => Err(why).with_context(|| format!("can't write {file}", file = file.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_suggests_its_project() {
        for (folder, expected) in [
            ("/home/Old Orchard_2", "old-orchard-2"),
            ("/home/orchard", "orchard"),
            ("/", "my-project"),
            ("/果樹園", "my-project"),
        ] {
            assert_eq!(project_of(Path::new(folder)).as_str(), expected);
        }
    }

    #[test]
    fn a_file_that_exists_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("brief.md");
        let args = NewArgs { project: Some("orchard".parse().unwrap()), out: Some(file.clone()), json: false };
        assert_eq!(run(&args).unwrap(), Ending::Done);
        let written = std::fs::read_to_string(&file).unwrap();
        assert!(written.contains("project: orchard"), "{written}");

        std::fs::write(&file, "mine").unwrap();
        assert_eq!(run(&args).unwrap(), Ending::Usage);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    }

    #[test]
    fn a_folder_that_is_missing_is_an_error_that_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let args = NewArgs {
            project: Some("orchard".parse().unwrap()),
            out: Some(folder.path().join("no/brief.md")),
            json: false,
        };
        assert!(run(&args).unwrap_err().to_string().contains("no/brief.md"));
    }
}
