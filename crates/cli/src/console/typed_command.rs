//! Commands that may be typed at a run's terminal at any time, whatever is asked.

use adjutant_core::words::{Message, Mode};
use tokio::sync::mpsc;

use crate::screen::Screen;

/// A command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypedCommand {
    Auto,
    Gated,
    Stop,
    Diff,
    Cost,
    Help,
}

/// The commands, by what is typed for them, each with its effect.
const COMMANDS: [(&str, TypedCommand, &str); 6] = [
    ("/auto", TypedCommand::Auto, "go on without asking between steps"),
    ("/gated", TypedCommand::Gated, "ask between steps"),
    ("/stop", TypedCommand::Stop, "stop the run for good"),
    ("/diff", TypedCommand::Diff, "show what file tools changed in this sitting"),
    ("/cost", TypedCommand::Cost, "show time, turns, tokens and cost so far"),
    ("/help", TypedCommand::Help, "show this; `?` and `help` too, while nothing is asked"),
];

/// The keys, each with its effect.
const KEYS: [(&str, &str); 6] = [
    ("Tab", "complete a command; send what was typed while nothing was asked to the agent"),
    ("Esc", "drop what is typed"),
    ("Up, Down", "earlier lines"),
    ("Alt-Enter", "a new line within an answer"),
    ("Ctrl-C", "cancel what is in flight; twice: interrupt the run; at a question: leave it open"),
    ("Ctrl-D", "leave the question open"),
];

impl TypedCommand {
    /// Returns the command that a line is.
    pub(super) fn read(line: &str) -> Option<Self> {
        COMMANDS.into_iter().find(|(typed, ..)| *typed == line.trim()).map(|(_, command, _)| command)
    }

    /// Carries it out: shows something, or sends a message to the run. Returns false if there is nobody to send to.
    pub(super) fn carry_out(self, screen: &Screen, messages: &mpsc::UnboundedSender<Message>) -> bool {
        let message = match self {
            Self::Auto => Message::Mode(Mode::Auto),
            Self::Gated => Message::Mode(Mode::Gated),
            Self::Stop => Message::Stop,
            Self::Diff | Self::Cost | Self::Help => {
                screen.with_renderer(|renderer| match self {
                    Self::Diff => renderer.show_changes(),
                    Self::Cost => renderer.show_cost(),
                    _ => help().iter().for_each(|line| renderer.note(line)),
                });
                return true;
            }
        };
        messages.send(message).is_ok()
    }
}

/// Returns the lines that say what may be typed.
fn help() -> Vec<String> {
    let commands = COMMANDS.iter().map(|(typed, _, effect)| (*typed, *effect));
    commands.chain(KEYS).map(|(typed, effect)| format!("  {typed:9}  {effect}")).collect()
}

/// Returns what the beginning of a command goes on with, as far as that is certain; `None` if no command begins so.
pub(super) fn completed(typed: &str) -> Option<String> {
    let mut found = COMMANDS.iter().map(|(command, ..)| *command).filter(|command| command.starts_with(typed));
    let first = found.next()?;
    let common = found.fold(first, |common, other| {
        let same = common.bytes().zip(other.bytes()).take_while(|(one, two)| one == two).count();
        &common[..same]
    });
    Some(common.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_whole_line() {
        assert_eq!(TypedCommand::read(" /auto "), Some(TypedCommand::Auto));
        for line in ["/aut", "/auto now", "auto", "", "/etc/hosts"] {
            assert_eq!(TypedCommand::read(line), None, "{line}");
        }
    }

    #[test]
    fn the_beginning_of_a_command_is_completed() {
        for (typed, whole) in
            [("/a", Some("/auto")), ("/st", Some("/stop")), ("/", Some("/")), ("/x", None), ("/auto", Some("/auto"))]
        {
            assert_eq!(completed(typed).as_deref(), whole, "{typed}");
        }
    }
}
