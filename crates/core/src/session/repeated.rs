//! An agent that repeats itself: it is told once, with what shows it; if it goes on, the operator is asked.

use super::machine::{Decider, OPERATOR_ENDED};
use super::prompts;
use super::state::ReadTurn;
use crate::procedure::Next;
use crate::words::{Choice, MessageKind, PhaseName, QuestionKind};

impl Decider<'_> {
    /// Returns what is due for an agent whose calls bring nothing new; `None` if they do.
    pub(super) fn repeats(&self, taken: &ReadTurn) -> Option<Next> {
        if taken.calls.is_empty() || !self.run.checks_work() {
            return None;
        }
        let (repeats, step) = (&self.state.repeats, self.state.steps.number);
        if let Some(signal) = repeats.to_ask() {
            return Some(match self.state.answer(QuestionKind::Stuck) {
                None => self.ask(prompts::stuck(&signal.described())),
                Some((Choice::Say, Some(text))) => self.say(MessageKind::Context, step, prompts::context(text)),
                Some((Choice::Continue, _)) => self.say(MessageKind::Context, step, prompts::go_on_repeating()),
                Some(_) => self.leave(PhaseName::Completion, OPERATOR_ENDED),
            });
        }
        let signal = repeats.to_tell()?;
        Some(self.say(MessageKind::Nudge, step, prompts::repeats_itself(&signal.described(), signal.is_idle())))
    }
}
