//! The help of the program as a whole: its commands in groups, with examples to begin with.
//!
//! The text on a command stands where it is defined; here is only its place. Begin with [`command`].

use clap::{Command, CommandFactory};

use crate::Cli;

/// The groups of commands, in the order in which they are shown. A test compares them with the commands.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Begin", &["new", "validate", "run", "loop", "plan"]),
    ("Go on and answer", &["inbox", "resume", "work"]),
    ("While it runs", &["steer", "amend", "pause", "stop"]),
    ("Look at runs", &["list", "show", "diff", "inspect", "explain", "dashboard"]),
    ("What came of it", &["apply", "undo", "history", "learn", "replay", "trace"]),
    ("What holds", &["adapters", "tools", "roles", "grants", "memory", "trust", "framework", "decide", "doctor"]),
    ("This program", &["completions", "man", "version", "help"]),
];

/// Examples for a beginning, and for each day.
const EXAMPLES: &str = "\
Examples:
  adjutant new --out brief.md                     begin a brief
  adjutant run brief.md --adapter anthropic       have an agent work on it
  adjutant run brief.md --script script.yaml      see a run without a model
  adjutant run brief.md --copy < /dev/null        work on a copy; questions wait in the inbox
  adjutant list --state waits                     which runs need you
  adjutant show RUN                               where one stands, and what to type next
  adjutant inbox answer RUN y                     answer from any terminal

`adjutant COMMAND --help` explains a command, `adjutant man COMMAND` has the same as a man page.";

/// The program's command, with its help.
pub fn command() -> Command {
    let command = Cli::command();
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}\n\n{EXAMPLES}",
        grouped(&command)
    );
    command.help_template(template)
}

/// The commands by group, each with what it does.
fn grouped(command: &Command) -> String {
    let width = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    let about = |name: &str| match command.find_subcommand(name) {
        Some(found) => found.get_about().map(ToString::to_string).unwrap_or_default(),
        // It is made when the command is built.
        None => "Explain a command".to_owned(),
    };
    let group = |(title, names): &(&str, &[&str])| {
        let lines = names.iter().map(|name| format!("  {name:width$}  {}\n", about(name)));
        format!("{title}:\n{}\n", lines.collect::<String>())
    };
    GROUPS.iter().map(group).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_stands_in_one_group() {
        let command = Cli::command();
        let names: BTreeSet<&str> =
            command.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name).collect();
        let grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, names)| *names).copied().filter(|name| *name != "help").collect();
        assert_eq!(grouped.iter().copied().collect::<BTreeSet<&str>>(), names);
        assert_eq!(grouped.len(), names.len(), "one stands in two groups");
    }
}
