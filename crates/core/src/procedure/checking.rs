//! The brief's checks, run one after another by the runtime before a part's work counts as done.
//!
//! In: what becomes of deeds, and what may change the files. Out: the check that is due, or how all of them came out. A
//! check that passed says nothing after the next call of a tool, or the next word to an agent.

use crate::trace::{Body, CallEvent, DeedEvent, TurnEvent};
use crate::words::deed::DeedKind;
use crate::words::{Slot, What};

/// Slots of the deeds of a part: one at a time.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeedSlots {
    done: u32,
    interrupted: u32,
}

impl DeedSlots {
    /// Returns the slot of the deed that is due: another attempt at one that was interrupted, or a new one.
    #[must_use]
    pub const fn slot(&self) -> Slot {
        Slot { what: What::Deed, number: self.done + 1, attempt: self.interrupted + 1 }
    }

    /// Takes note of what became of a deed.
    pub fn apply(&mut self, body: &Body) {
        match body {
            Body::Deed(DeedEvent::DeedBegin { slot, .. }) => {
                (self.done, self.interrupted) = (slot.number.saturating_sub(1), slot.attempt.saturating_sub(1));
            }
            Body::Deed(
                DeedEvent::TreeKept { slot, .. }
                | DeedEvent::CheckRun { slot, .. }
                | DeedEvent::FilesWritten { slot, .. },
            ) => (self.done, self.interrupted) = (slot.number, 0),
            Body::Call(CallEvent::Interrupted { slot, .. })
                if slot.what == What::Deed && slot.number == self.done + 1 =>
            {
                self.interrupted = slot.attempt;
            }
            _ => {}
        }
    }
}

/// A check as it came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckCame {
    /// The command line.
    pub command: String,
    /// True if it passed.
    pub passed: bool,
    /// Exit code; `None` if it did not end by itself.
    pub exit_code: Option<i32>,
    /// End of its output.
    pub output: String,
}

impl CheckCame {
    /// Describes how it came out, with the end of what it printed.
    #[must_use]
    pub fn described(&self) -> String {
        let how = match (self.passed, self.exit_code) {
            (true, _) => return format!("`{}` passed", self.command),
            (false, Some(code)) => format!("`{}` failed with exit code {code}", self.command),
            (false, None) => format!("`{}` could not be run", self.command),
        };
        let output = self.output.trim();
        if output.is_empty() { how } else { format!("{how}:\n{output}") }
    }
}

/// The checks of one part.
#[derive(Debug, Clone, Default)]
pub struct Checking {
    slots: DeedSlots,
    running: Option<String>,
    came: Vec<CheckCame>,
}

/// The next thing for the checks of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckingNext {
    /// This one is to be run.
    Run(Slot, String),
    /// All have run, and all passed.
    Passed,
    /// All have run, and these failed, as they are described.
    Failed(Vec<String>),
}

impl Checking {
    /// Takes note of an event of the part.
    pub fn apply(&mut self, body: &Body) {
        self.slots.apply(body);
        match body {
            Body::Deed(DeedEvent::DeedBegin { deed: DeedKind::Check, objects, .. }) => {
                self.running = objects.first().cloned();
            }
            Body::Deed(DeedEvent::CheckRun { passed, exit_code, output, .. }) => {
                if let Some(command) = self.running.take() {
                    let (passed, exit_code, output) = (*passed, *exit_code, output.clone());
                    self.came.push(CheckCame { command, passed, exit_code, output });
                }
            }
            Body::Call(CallEvent::ToolCall { .. }) | Body::Turn(TurnEvent::Message { .. }) => self.forget(),
            _ => {}
        }
    }

    /// Forgets how the checks came out: they say nothing any more.
    pub fn forget(&mut self) {
        self.came.clear();
    }

    /// Returns the next thing for these checks.
    #[must_use]
    pub fn next(&self, checks: &[String]) -> CheckingNext {
        if let Some(command) = checks.get(self.came.len()) {
            return CheckingNext::Run(self.slots.slot(), command.clone());
        }
        let failed: Vec<String> = self.came.iter().filter(|check| !check.passed).map(CheckCame::described).collect();
        if failed.is_empty() { CheckingNext::Passed } else { CheckingNext::Failed(failed) }
    }
}
