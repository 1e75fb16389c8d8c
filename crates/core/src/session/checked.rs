//! The end of a session whose brief declares checks: an agent that says that all is done is believed once they pass.
//!
//! The program runs them itself. What failed is told to the agent, which goes on with the step; nothing is told twice of
//! the same files, since a check says nothing after the next call or the next word.

use std::sync::Arc;

use super::machine::Decider;
use super::prompts;
use super::setup::Task;
use crate::procedure::{CheckingNext, Command, Next};
use crate::words::MessageKind;
use crate::words::deed::Deed;

impl Decider<'_> {
    /// Returns the next thing for the brief's checks before the work counts as done; `None` once all of them pass.
    pub(super) fn check_work(&self) -> Option<Next> {
        let is_due = self.setup.task == Task::Brief && self.run.checks_work() && !self.setup.shell_disabled;
        match self.state.checking.next(self.setup.end_checks.lines()) {
            _ if !is_due => None,
            CheckingNext::Passed => None,
            CheckingNext::Run(slot, command) => Some(self.want(slot, Command::Do(Arc::new(Deed::Check { command })))),
            CheckingNext::Failed(failed) => {
                Some(self.say(MessageKind::Evidence, self.state.steps.number, prompts::checks_failed(&failed)))
            }
        }
    }
}
