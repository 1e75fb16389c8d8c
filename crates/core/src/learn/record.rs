//! Figures of one run, as learning needs them: small, mergeable numbers, whatever the length of its trace.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::judged::{Judged, Missed};

/// Calls before any phase was entered are counted for this one, as the peer does.
pub const NO_PHASE: &str = "_unknown";

/// Figures of one run. A trace of the peer may hold several runs, a journal of ours holds one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRecord {
    /// Number of the run in its trace, from 1.
    pub number: u32,
    /// True if it continues the run before it in its trace, after a resume.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub continues: bool,
    /// The first time on its lines, as it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// The last time on its lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// Its sessions by part: one, whose part is empty, for an agent alone.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sessions: BTreeMap<String, SessionRecord>,
    /// Number of calls of each tool.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, u64>,
    /// The tools that it was offered, where that is on record.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub offered: BTreeSet<String>,
    /// Number of fires of each detector.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fires: BTreeMap<String, u64>,
    /// Verdicts on these fires, by detector.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub judged: BTreeMap<String, Judged>,
    /// Times that a detector was silent and should have fired, by detector.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub missed: BTreeMap<String, Missed>,
    /// The word with which it ended; absent if it has not, and for the peer, which has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// The phase entered last, by whichever session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_phase: Option<String>,
    /// Questions to the operator, by kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub questions: BTreeMap<String, QuestionCounts>,
    /// Number of these that are open.
    #[serde(skip_serializing_if = "is_zero")]
    pub open: u64,
    /// Turns that failed and were asked for again, or might have been.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed_turns: u64,
    /// Sub-tasks that were done again.
    #[serde(skip_serializing_if = "is_zero")]
    pub retried_subtasks: u64,
    /// Number of times that it made no progress, by symptom.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub stuck: BTreeMap<String, u64>,
}

/// Figures of one session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionRecord {
    /// Its phases.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub phases: BTreeMap<String, PhaseRecord>,
    /// Number of turns.
    #[serde(skip_serializing_if = "is_zero")]
    pub turns: u64,
    /// The tokens that went in, those of a cache included.
    #[serde(skip_serializing_if = "is_zero")]
    pub tokens_in: u64,
    /// The tokens that came out.
    #[serde(skip_serializing_if = "is_zero")]
    pub tokens_out: u64,
    /// Number of its turns whose tokens weren't counted.
    #[serde(skip_serializing_if = "is_zero")]
    pub turns_without_tokens: u64,
    /// Cost of its turns, in nano-dollars, as far as tokens and prices are on record.
    #[serde(skip_serializing_if = "is_zero")]
    pub nano_dollars: u64,
    /// Number of its turns that are not in that sum.
    #[serde(skip_serializing_if = "is_zero")]
    pub turns_without_cost: u64,
    /// Number of its turns that are in that sum at list prices.
    #[serde(skip_serializing_if = "is_zero")]
    pub turns_by_list: u64,
}

/// Figures of one phase of one session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseRecord {
    /// Number of times that it was entered.
    #[serde(skip_serializing_if = "is_zero")]
    pub entered: u64,
    /// Number of tool calls in it.
    #[serde(skip_serializing_if = "is_zero")]
    pub calls: u64,
    /// Number of times that it was left with its duration on record.
    #[serde(skip_serializing_if = "is_zero")]
    pub left: u64,
    /// Total of those durations, in milliseconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub duration_ms: u64,
}

/// Questions to the operator of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuestionCounts {
    /// Number of questions.
    #[serde(skip_serializing_if = "is_zero")]
    pub asked: u64,
    /// Number that a person answered.
    #[serde(skip_serializing_if = "is_zero")]
    pub answered: u64,
    /// Number that met their deadline.
    #[serde(skip_serializing_if = "is_zero")]
    pub expired: u64,
    /// Number that were withdrawn.
    #[serde(skip_serializing_if = "is_zero")]
    pub withdrawn: u64,
    /// Total time that the closed ones were open, in milliseconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub waiting_ms: u64,
    /// The longest of them.
    #[serde(skip_serializing_if = "is_zero")]
    pub longest_ms: u64,
}

impl RunRecord {
    /// Returns how it ended, in one word: an outcome, `waiting` for an operator, or `unfinished`.
    ///
    /// The peer records no outcome; for its runs, the phase entered last decides.
    #[must_use]
    pub fn fate(&self) -> &str {
        match (&self.outcome, self.last_phase.as_deref()) {
            (Some(outcome), _) => outcome,
            (None, _) if self.open > 0 => "waiting",
            (None, Some("completion" | "done")) => "completed",
            (None, Some("blocker")) => "blocked",
            (None, _) => "unfinished",
        }
    }

    /// Returns the number of tokens of all sessions.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.sessions.values().map(|session| session.tokens_in.saturating_add(session.tokens_out)).sum()
    }
}

impl SessionRecord {
    /// Returns the number of all its tokens; `None` if those of some turn were not counted, or it took no turn.
    #[must_use]
    pub fn tokens(&self) -> Option<u64> {
        let is_whole = self.turns > 0 && self.turns_without_tokens == 0;
        is_whole.then(|| self.tokens_in.saturating_add(self.tokens_out))
    }

    /// Returns the number of tool calls, in all phases.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.phases.values().map(|phase| phase.calls).sum()
    }
}

pub(super) fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

/// Counts one more of `name`. Names repeat, so that a new one is copied only the first time.
pub(super) fn count(counts: &mut BTreeMap<String, u64>, name: &str) {
    *entry(counts, name) += 1;
}

/// Returns the value for `name`, new if there was none.
pub(super) fn entry<'m, T: Default>(map: &'m mut BTreeMap<String, T>, name: &str) -> &'m mut T {
    if begins_with_empty(map, name) {
        let first = map.first_entry().expect("it begins with the empty name");
        return first.into_mut();
    }
    if !map.contains_key(name) {
        map.insert(name.to_owned(), T::default());
    }
    map.get_mut(name).expect("it was there or has just been put there")
}

/// Returns the value for `name`, if there is one.
pub(super) fn found<'m, T>(map: &'m BTreeMap<String, T>, name: &str) -> Option<&'m T> {
    if begins_with_empty(map, name) { map.values().next() } else { map.get(name) }
}

/// Returns true if `name` is empty and the first name of `map` is, too.
///
/// A session alone is the empty part, on every line of most traces, and no name sorts before the empty one. This is
/// found without comparing bytes: some processors take a hundred times as long to compare no bytes as to compare a few
/// (a masked load from a dangling address), which was two fifths of the time that a history took.
fn begins_with_empty<T>(map: &BTreeMap<String, T>, name: &str) -> bool {
    name.is_empty() && map.first_key_value().is_some_and(|(first, _)| first.is_empty())
}
