//! What one run did, as far as learning asks: numbers, small and mergeable, whatever the length of its trace.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::judged::{Judged, Missed};

/// Calls before any phase was entered are counted for this one, as the peer does.
pub const NO_PHASE: &str = "_unknown";

/// What one run did. A trace of the peer may hold several runs, a journal of ours holds one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRecord {
    /// Which run of its trace it is, from 1.
    pub number: u32,
    /// Whether it goes on with the run before it in its trace: somebody resumed.
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
    /// How often each tool was called.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, u64>,
    /// The tools that it was offered, where that is on record.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub offered: BTreeSet<String>,
    /// How often each detector fired.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fires: BTreeMap<String, u64>,
    /// Which of these fires turned out to be right, by detector.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub judged: BTreeMap<String, Judged>,
    /// Where a detector was silent and should not have been, by detector.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub missed: BTreeMap<String, Missed>,
    /// The word with which it ended; absent if it has not, and for the peer, which has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// The phase entered last, by whichever session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_phase: Option<String>,
    /// What it asked the operator, by kind of question.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub questions: BTreeMap<String, Asked>,
    /// How many of these are open.
    #[serde(skip_serializing_if = "is_zero")]
    pub open: u64,
    /// Turns that failed and were asked for again, or might have been.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed_turns: u64,
    /// Sub-tasks that were done again.
    #[serde(skip_serializing_if = "is_zero")]
    pub retried_subtasks: u64,
    /// How often it made no progress, by symptom.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub stuck: BTreeMap<String, u64>,
}

/// What one session did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionRecord {
    /// Its phases.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub phases: BTreeMap<String, PhaseRecord>,
    /// How many turns it took.
    #[serde(skip_serializing_if = "is_zero")]
    pub turns: u64,
    /// The tokens that went in, those of a cache included.
    #[serde(skip_serializing_if = "is_zero")]
    pub tokens_in: u64,
    /// The tokens that came out.
    #[serde(skip_serializing_if = "is_zero")]
    pub tokens_out: u64,
    /// How many of its turns nobody counted the tokens of.
    #[serde(skip_serializing_if = "is_zero")]
    pub turns_without_tokens: u64,
    /// What its turns cost, in nano-dollars, as far as tokens and prices are on record.
    #[serde(skip_serializing_if = "is_zero")]
    pub nano_dollars: u64,
    /// How many of its turns are not in that sum.
    #[serde(skip_serializing_if = "is_zero")]
    pub turns_without_cost: u64,
    /// How many of its turns are in that sum by a list of prices.
    #[serde(skip_serializing_if = "is_zero")]
    pub turns_by_list: u64,
}

/// What happened in one phase of one session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseRecord {
    /// How often it was entered.
    #[serde(skip_serializing_if = "is_zero")]
    pub entered: u64,
    /// How many tools were called in it.
    #[serde(skip_serializing_if = "is_zero")]
    pub calls: u64,
    /// How often it was left, with its length on record.
    #[serde(skip_serializing_if = "is_zero")]
    pub left: u64,
    /// How long that took in all, in milliseconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub duration_ms: u64,
}

/// What was asked of the operator, of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// How many questions.
    #[serde(skip_serializing_if = "is_zero")]
    pub asked: u64,
    /// How many a person answered.
    #[serde(skip_serializing_if = "is_zero")]
    pub answered: u64,
    /// How many met their deadline.
    #[serde(skip_serializing_if = "is_zero")]
    pub expired: u64,
    /// How many were no longer wanted.
    #[serde(skip_serializing_if = "is_zero")]
    pub withdrawn: u64,
    /// How long those that are closed were open in all, in milliseconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub waiting_ms: u64,
    /// The longest of them.
    #[serde(skip_serializing_if = "is_zero")]
    pub longest_ms: u64,
}

impl RunRecord {
    /// How it ended, in one word: an outcome, `waiting` for an operator, or `unfinished`.
    ///
    /// The peer records no outcome; there the phase entered last tells.
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

    /// All tokens of all sessions.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.sessions.values().map(|session| session.tokens_in.saturating_add(session.tokens_out)).sum()
    }
}

impl SessionRecord {
    /// All its tokens; `None` if nobody counted those of some turn, or it took none.
    #[must_use]
    pub fn tokens(&self) -> Option<u64> {
        let is_whole = self.turns > 0 && self.turns_without_tokens == 0;
        is_whole.then(|| self.tokens_in.saturating_add(self.tokens_out))
    }

    /// How many tools it called, in whichever phase.
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

/// The value for `name`, new if there was none.
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

/// The value for `name`, if there is one.
pub(super) fn found<'m, T>(map: &'m BTreeMap<String, T>, name: &str) -> Option<&'m T> {
    if begins_with_empty(map, name) { map.values().next() } else { map.get(name) }
}

/// Whether `name` is empty and the first name of `map` is, too.
///
/// A session alone is the empty part, on every line of most traces, and no name is before the empty one. Found without
/// comparing bytes: some processors take a hundred times as long for no bytes as for a few (a masked load from the
/// address that stands for nothing), which was two fifths of a history.
fn begins_with_empty<T>(map: &BTreeMap<String, T>, name: &str) -> bool {
    name.is_empty() && map.first_key_value().is_some_and(|(first, _)| first.is_empty())
}
