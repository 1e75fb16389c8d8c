//! The states of a crew and what leads from one to the next: the peer's table.
//!
//! A table and nothing else: what is asked of whom in a state is in `machine.rs`.

use serde::{Deserialize, Serialize};

use crate::words::{CrewState, Signal};

/// The state of a sub-task. The words are the peer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words say it")]
pub enum SubTaskStatus {
    Pending,
    Executing,
    Reviewing,
    Passed,
    Failed,
    Retrying,
    Escalated,
    Skipped,
}

/// Facts besides state and signal that a move depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoveFacts {
    /// Number of sub-tasks in the plan; `None` before there is one.
    pub subtasks: Option<usize>,
    /// The place of the present one.
    pub index: usize,
    /// Number of times that it was done again.
    pub retries: u64,
    /// Largest number of times that it may be.
    pub retries_max: u64,
}

/// Target state of a move, and its effect on the present sub-task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// The next state.
    pub to: CrewState,
    /// New status of the present sub-task, if that changes.
    pub status: Option<SubTaskStatus>,
    /// True if another attempt is counted.
    pub is_retry: bool,
    /// True if the next sub-task is the present one from here on.
    pub advances: bool,
}

/// Returns the move for `signal` in `state`. It is total: a signal that fits nowhere escalates.
#[must_use]
pub fn step(state: CrewState, signal: Signal, standing: &MoveFacts) -> Move {
    use {CrewState as S, Signal as G};
    let to = |to| Move { to, status: None, is_retry: false, advances: false };
    let with = |next, status| Move { status: Some(status), ..to(next) };
    match (state, signal) {
        (_, G::BudgetOverrun | G::Fatal) => to(S::Escalate),
        (_, G::OperatorDone) => to(S::Complete),
        (S::Init, _) => to(S::Plan),
        (S::Plan, G::PlanReady) => to(S::Dispatch),
        (S::Dispatch, _) => match standing.subtasks {
            None => to(S::Escalate),
            Some(subtasks) if standing.index >= subtasks => to(S::Complete),
            Some(_) => with(S::Execute, SubTaskStatus::Executing),
        },
        (S::Execute, G::ExecuteOk) => with(S::ReviewStep, SubTaskStatus::Reviewing),
        (S::Execute, G::ExecuteBlocked) => with(S::Block, SubTaskStatus::Failed),
        (S::ReviewStep, G::ReviewPass) => with(S::NextSubtask, SubTaskStatus::Passed),
        (S::ReviewStep, G::ReviewNeedsRetry) if standing.retries < standing.retries_max => {
            Move { is_retry: true, ..with(S::Retry, SubTaskStatus::Retrying) }
        }
        (S::ReviewStep, G::ReviewNeedsRetry | G::ReviewFail) => with(S::Escalate, SubTaskStatus::Escalated),
        (S::ReviewStep, G::ReviewDisagreement) => with(S::Block, SubTaskStatus::Failed),
        (S::Retry, _) => to(S::Execute),
        (S::NextSubtask, _) => {
            let is_last = standing.subtasks.is_none_or(|subtasks| standing.index + 1 >= subtasks);
            Move { advances: true, ..to(if is_last { S::Complete } else { S::Dispatch }) }
        }
        (S::Block | S::Complete, _) => to(state),
        _ => to(S::Escalate),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const VECTORS: &str =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/openwar/aux/vectors.jsonl"));

    /// Returns the peer's list of what changes.
    fn mutations(made: &Move) -> Value {
        let mut all = Vec::new();
        if let Some(status) = made.status {
            all.push(json!({"type": "set_subtask_status", "id": "a", "status": status}));
        }
        if made.is_retry {
            all.push(json!({"type": "incr_subtask_attempts", "id": "a"}));
        }
        if made.advances {
            all.push(json!({"type": "advance_subtask_index"}));
        }
        Value::Array(all)
    }

    #[test]
    fn every_move_of_the_vectors_is_made() {
        // The vectors were taken with a plan of two sub-tasks, at the first.
        let standing = MoveFacts { subtasks: Some(2), index: 0, retries: 0, retries_max: 3 };
        let mut checked = 0;
        for line in VECTORS.lines() {
            let vector: Value = serde_json::from_str(line).expect("a vector");
            if vector["fn"] != "fsm" {
                continue;
            }
            checked += 1;
            let state = serde_json::from_value(vector["input"]["state"].clone()).expect("a state");
            let signal = serde_json::from_value(vector["input"]["signal"].clone()).expect("a signal");
            let made = step(state, signal, &standing);
            assert_eq!(serde_json::to_value(made.to).expect("json"), vector["output"]["next"], "{line}");
            assert_eq!(mutations(&made), vector["output"]["mutations"], "{line}");
        }
        assert_eq!(checked, 30);
    }

    #[test]
    fn retries_have_an_end_and_the_last_subtask_completes() {
        let at = |index, retries| MoveFacts { subtasks: Some(2), index, retries, retries_max: 3 };
        for (state, signal, standing, to) in [
            (CrewState::ReviewStep, Signal::ReviewNeedsRetry, at(0, 2), CrewState::Retry),
            (CrewState::ReviewStep, Signal::ReviewNeedsRetry, at(0, 3), CrewState::Escalate),
            (CrewState::NextSubtask, Signal::Dispatched, at(1, 0), CrewState::Complete),
            (CrewState::Dispatch, Signal::Dispatched, at(2, 0), CrewState::Complete),
            (CrewState::Dispatch, Signal::Dispatched, MoveFacts { subtasks: None, ..at(0, 0) }, CrewState::Escalate),
            (CrewState::Plan, Signal::PlanInvalid, at(0, 0), CrewState::Escalate),
            (CrewState::Execute, Signal::OperatorDone, at(0, 0), CrewState::Complete),
        ] {
            assert_eq!(step(state, signal, &standing).to, to, "{state:?} {signal:?}");
        }
    }
}
