//! `adjutant diff`: what a run changed, as a diff.

use std::io::IsTerminal;

use adjutant_core::view::show;
use adjutant_core::words::visible::visible_text;
use clap_complete::ArgValueCandidates;
use serde_json::json;

use super::changes::{RunChanges, listed, named_run};
use crate::candidates;
use crate::exit::Ending;
use crate::settings::Place;
/// Show what a run changed, as a diff
///
/// Compares the files as they are with what was kept of them before the run changed them: with everything, for a run
/// with --copy. What you changed yourself since is shown too. What can't be shown is named on stderr. Changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  adjutant diff RUN --stat\n  adjutant diff RUN src | git apply")]
pub struct DiffArgs {
    /// The run: its name, a unique beginning of it, or its brief's id for the latest (`ID-r1`: the first)
    #[arg(add = ArgValueCandidates::new(candidates::runs))]
    run: String,
    /// Only these files and folders
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// Show the files and how many lines changed, not the lines
    #[arg(long)]
    stat: bool,
    /// Print the files, with their diffs, as JSON
    #[arg(long)]
    json: bool,
}

/// Shows the change.
pub fn run(args: &DiffArgs, place: &Place) -> anyhow::Result<Ending> {
    let home = place.home()?;
    let changes = RunChanges::of(&home, named_run(&home, &args.run)?)?;
    let diffs = changes.diffs(&args.paths);
    let not_shown = changes.not_shown();
    if args.json {
        let files = diffs.iter().map(|diff| {
            let mut file = serde_json::to_value(listed(diff)).unwrap_or_default();
            if !args.stat {
                file["diff"] = diff.shown.text.clone().into();
            }
            file
        });
        super::print_json(&json!({
            "run": changes.run_id.as_str(),
            "workdir": changes.options.workdir,
            "copied_from": changes.options.copied_from,
            "files": files.collect::<Vec<_>>(),
            "not_shown": not_shown,
        }))?;
        return Ok(Ending::Done);
    }
    if args.stat {
        let files: Vec<_> = diffs.iter().map(listed).collect();
        super::print(&show::files_text(&files))?;
    } else {
        let is_terminal = std::io::stdout().is_terminal();
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let text: String = diffs.iter().map(|diff| diff.shown.text.as_str()).collect();
        super::print(&match (is_terminal, no_color) {
            (true, false) => coloured(&text),
            (true, true) => visible_text(&text).into_owned(),
            // As it is, so that `git apply` can read it.
            (false, _) => text,
        })?;
    }
    if diffs.is_empty() {
        tell!("{}: nothing was changed{}", changes.run_id, if args.paths.is_empty() { "" } else { " there" });
    }
    for line in not_shown {
        tell!("note: {line}");
    }
    Ok(Ending::Done)
}

/// A diff in the colours of git, in which nothing else drives the terminal.
fn coloured(diff: &str) -> String {
    let mut is_head = false;
    let line = |line: &str| {
        // A line of a hunk may look like a head: heads come between `diff` and the first `@@`.
        is_head = line.starts_with("diff --git ") || (is_head && !line.starts_with("@@"));
        let colour = match line.chars().next() {
            _ if is_head => "1",
            Some('@') => "36",
            Some('+') => "32",
            Some('-') => "31",
            Some(_) | None => return format!("{}\n", visible_text(line)),
        };
        format!("\x1b[{colour}m{}\x1b[0m\n", visible_text(line))
    };
    diff.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_has_the_colours_of_git_and_drives_no_terminal() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- gone\n+new\u{1b}[2J\n same\n";
        assert_eq!(
            coloured(diff),
            "\x1b[1mdiff --git a/x b/x\x1b[0m\n\x1b[1m--- a/x\x1b[0m\n\x1b[1m+++ b/x\x1b[0m\n\
             \x1b[36m@@ -1 +1 @@\x1b[0m\n\x1b[31m--- gone\x1b[0m\n\x1b[32m+new\\u{1b}[2J\x1b[0m\n same\n"
        );
    }
}
