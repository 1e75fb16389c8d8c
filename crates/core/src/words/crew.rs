//! The states of a crew and what happens in them, by their names on the wire.

use serde::{Deserialize, Serialize};

/// The state of a crew. The words are the peer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CrewState {
    /// Before the plan.
    Init,
    /// The planner divides the work.
    Plan,
    /// The next sub-task is looked up.
    Dispatch,
    /// The executor works on it.
    Execute,
    /// Reviewer and critic judge it.
    ReviewStep,
    /// It passed.
    NextSubtask,
    /// It is done again.
    Retry,
    /// It can't go on without a person: blocked, or its judges disagree.
    Block,
    /// It can't go on without a person: something failed.
    Escalate,
    /// Every sub-task passed.
    Complete,
}

/// An event that moves a crew from one state to the next. The words are the peer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// It begins.
    Start,
    /// There is a plan.
    PlanReady,
    /// There is none, though it was asked for again.
    PlanInvalid,
    /// The sub-task is dispatched, or the plan is at its end.
    Dispatched,
    /// The executor handed off.
    ExecuteOk,
    /// It can't.
    ExecuteBlocked,
    /// The judges let it pass.
    ReviewPass,
    /// They want another attempt.
    ReviewNeedsRetry,
    /// They say that it can't be done this way.
    ReviewFail,
    /// They disagree.
    ReviewDisagreement,
    /// Another attempt begins.
    Again,
    /// A limit was reached.
    BudgetOverrun,
    /// A role failed for good.
    Fatal,
    /// The operator says that it is enough.
    OperatorDone,
}
