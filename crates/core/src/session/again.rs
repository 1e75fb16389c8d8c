//! What a session would decide today about what is on record, at the moment at which it stands.

use jiff::Timestamp;

use super::machine::Decider;
use super::state::Call;
use crate::detect;
use crate::detect::Reading;
use crate::gate::Decision;
use crate::words::budget::Whose;

impl Decider<'_> {
    /// The text of the turn that was taken last, and the detectors that are on record for it.
    pub(crate) fn turn_on_record(&self) -> Option<(&str, &[(String, serde_json::Value)])> {
        self.state.taken().map(|taken| (taken.text.as_str(), taken.fired.as_slice()))
    }

    /// That turn as it is read today.
    pub(crate) fn read_again(&self) -> Option<Reading> {
        let taken = self.state.taken()?;
        Some(detect::read_in_session(taken.spoken(), &self.setup.authorized, &self.setup.sensitivities))
    }

    /// A call of that turn.
    pub(crate) fn call_on_record(&self, number: u32) -> Option<&crate::words::tool::ToolCall> {
        self.call_numbered(number).map(|call| &*call.call)
    }

    fn call_numbered(&self, number: u32) -> Option<&Call> {
        self.state.taken()?.calls.iter().find(|call| call.number == number)
    }

    /// What the gate says to it today, by what was known at `at`, with what guard hooks had said.
    pub(crate) fn judge_again(&self, number: u32, at: Timestamp) -> Option<Decision> {
        let call = self.call_numbered(number)?;
        let tool = self.tool(&call.call.name)?;
        Some(call.tightened(self.decision_at(call, tool, at)))
    }

    /// Whose limit, if any, another call would break.
    pub(crate) fn limit_of_calls(&self) -> Option<Whose> {
        let (left, whose) = self.calls_left();
        (left == 0).then_some(whose)
    }
}
