//! Judges a recorded session again by today's rules, at the moment at which it stands.

use jiff::Timestamp;

use super::machine::Decider;
use super::state::Call;
use crate::detect;
use crate::detect::TurnReading;
use crate::gate::Decision;
use crate::words::budget::Whose;

impl Decider<'_> {
    /// Returns the text of the turn that was taken last, and the detectors that are on record for it.
    pub(crate) fn turn_on_record(&self) -> Option<(&str, &[(String, serde_json::Value)])> {
        self.state.taken().map(|taken| (taken.text.as_str(), taken.fired.as_slice()))
    }

    /// Returns that turn as it is read today.
    pub(crate) fn read_again(&self) -> Option<TurnReading> {
        let taken = self.state.taken()?;
        Some(detect::read_in_session(taken.spoken(), &self.authorized(), &self.setup.sensitivities))
    }

    /// Returns a call of that turn.
    pub(crate) fn call_on_record(&self, number: u32) -> Option<&crate::words::tool::ToolCall> {
        self.call_numbered(number).map(|call| &*call.call)
    }

    fn call_numbered(&self, number: u32) -> Option<&Call> {
        self.state.taken()?.calls.iter().find(|call| call.number == number)
    }

    /// Returns the gate's decision on the call today, by the facts known at `at`, with the recorded answers of guard
    /// hooks.
    pub(crate) fn judge_again(&self, number: u32, at: Timestamp) -> Option<Decision> {
        let call = self.call_numbered(number)?;
        let tool = self.tool(&call.call.name)?;
        Some(call.tightened(self.decision_at(call, tool, at)))
    }

    /// Returns the owner of the limit that another call would break, if any.
    pub(crate) fn limit_of_calls(&self) -> Option<Whose> {
        let (left, whose) = self.calls_left();
        (left == 0).then_some(whose)
    }
}
