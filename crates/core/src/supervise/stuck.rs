//! Decides whether a loop is stuck: two of three signals, some rounds in a row, once for each time that it is.
//!
//! In: a [`Round`], closed once for each iteration, after its checks and its council. Out: a [`StuckAnswer`]; the state is
//! what the rounds before left. The signals are that the files stay as they are, that they come back to what they were
//! before, and that completion is refused again and again. None of them escalates alone.
//!
//! Begin with [`StuckState::close`].

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::knobs::StuckKnobs;

/// Number of states of the files that are remembered: a cycle of that length is seen.
const RING_LEN: usize = 6;
/// Number of evaluations that are remembered.
const EVALUATIONS_LEN: usize = 16;

/// One round of a loop: an iteration with all that was checked after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// The loop's run. A round of another run begins afresh.
    pub run: String,
    /// Its number in the run, from 1.
    pub number: u32,
    /// True if an agent worked. One that was rate-limited, interrupted or said nothing moves no signal.
    pub has_worked: bool,
    /// Identity of all files that are or could be committed; `None` if it is not known, which moves no signal.
    pub tree: Option<String>,
    /// The evaluation of whether the goal is reached, if there was one.
    #[serde(default)]
    pub evaluation: Option<Evaluation>,
    /// True if a person did something since the round before: what was seen until then says nothing any more.
    #[serde(default)]
    pub by_human: bool,
}

/// The outcome of asking whether a goal is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Evaluation {
    /// A council voted.
    Vote {
        /// Number of voters who approve.
        approve: u32,
        /// True if these are enough.
        is_approved: bool,
    },
    /// A check refused it before there was a vote.
    Blocked {
        /// The check.
        gate: String,
        /// The reason.
        reason: String,
    },
}

/// The signals of a round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StuckSignals {
    /// The files have stayed as they are.
    pub no_change: bool,
    /// The files came back to a state that they had before.
    pub revisit: bool,
    /// Completion was refused again and again.
    pub refused: bool,
}

impl StuckSignals {
    /// Returns the number of signals that hold.
    #[must_use]
    pub fn count(self) -> u32 {
        u32::from(self.no_change) + u32::from(self.revisit) + u32::from(self.refused)
    }
}

/// The answer to a round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StuckAnswer {
    /// There is nothing to do.
    #[default]
    No,
    /// A person is to be asked.
    Escalate,
    /// The round moved no signal.
    Skipped,
}

/// The state between two rounds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StuckState {
    /// The run whose rounds these were; `None` before the first.
    pub run: Option<String>,
    /// Number of the last round.
    pub last_round: u32,
    /// Its answer.
    pub last_answer: StuckAnswer,
    /// The signals of the last round that moved any.
    pub signals: StuckSignals,
    /// Number of rounds since the files changed last.
    pub no_change: u32,
    /// States of the files that followed one another, the latest last.
    pub ring: VecDeque<String>,
    /// Number of rounds for which it still counts that the files came back.
    pub hold: u32,
    /// Evaluations with their rounds since a person did something last, the latest last.
    pub evaluations: VecDeque<(u32, Evaluation)>,
    /// Number of rounds in a row in which two signals held.
    pub streak: u32,
    /// True from an escalation until fewer than two signals hold.
    pub is_escalated: bool,
    /// Round of the last escalation; 0 if there was none.
    pub escalated_at: u32,
    /// Number of rounds in which there is no other escalation.
    pub cooldown: u32,
}

impl StuckState {
    /// Closes a round, and says whether a person is to be asked. A round that was closed before, or an earlier one, gets
    /// the last answer again and changes nothing.
    pub fn close(&mut self, round: &Round, knobs: &StuckKnobs) -> StuckAnswer {
        if !knobs.is_enabled {
            return StuckAnswer::No;
        }
        if self.run.as_ref() != Some(&round.run) {
            *self = Self { run: Some(round.run.clone()), ..Self::default() };
        }
        if round.number <= self.last_round {
            return self.last_answer;
        }
        if round.by_human {
            self.begin_anew();
        }
        if let Some(evaluation) = &round.evaluation {
            push_up_to(&mut self.evaluations, (round.number, evaluation.clone()), EVALUATIONS_LEN);
        }
        self.last_round = round.number;
        self.last_answer = match &round.tree {
            Some(tree) if round.has_worked => {
                self.see(tree, knobs);
                self.judge(round.number, knobs)
            }
            _ => StuckAnswer::Skipped,
        };
        self.last_answer
    }

    /// Returns true if the files have stayed as they are for so long that the loop ends as stalled. That is never an
    /// approval.
    #[must_use]
    pub fn is_stalled(&self, knobs: &StuckKnobs) -> bool {
        self.no_change >= knobs.stagnation_limit.saturating_mul(2)
    }

    /// Forgets what was seen before a person did something.
    fn begin_anew(&mut self) {
        let latest = self.ring.pop_back();
        *self = Self {
            run: self.run.take(),
            last_round: self.last_round,
            escalated_at: self.escalated_at,
            cooldown: self.cooldown,
            ring: latest.into_iter().collect(),
            ..Self::default()
        };
    }

    /// Takes note of the files after a round.
    fn see(&mut self, tree: &str, knobs: &StuckKnobs) {
        if self.ring.back().is_some_and(|latest| latest == tree) {
            self.no_change = self.no_change.saturating_add(1);
            self.hold = self.hold.saturating_sub(1);
            return;
        }
        self.no_change = 0;
        let is_back = self.ring.iter().any(|known| known == tree);
        self.hold = if is_back { knobs.nochange_min.saturating_add(knobs.rounds) } else { 0 };
        push_up_to(&mut self.ring, tree.to_owned(), RING_LEN);
    }

    fn judge(&mut self, round: u32, knobs: &StuckKnobs) -> StuckAnswer {
        self.signals = StuckSignals {
            no_change: self.no_change >= knobs.nochange_min,
            revisit: self.hold > 0,
            refused: self.is_refused(round, knobs),
        };
        let is_cool = self.cooldown == 0;
        self.cooldown = self.cooldown.saturating_sub(1);
        if self.signals.count() < 2 {
            (self.streak, self.is_escalated) = (0, false);
            return StuckAnswer::No;
        }
        self.streak = self.streak.saturating_add(1);
        if self.streak < knobs.rounds || self.is_escalated || !is_cool {
            return StuckAnswer::No;
        }
        (self.is_escalated, self.escalated_at, self.cooldown) = (true, round, knobs.cooldown);
        StuckAnswer::Escalate
    }

    /// Returns true if completion was refused often enough, and lately: by votes that some approved, or by one check for
    /// one reason.
    fn is_refused(&self, round: u32, knobs: &StuckKnobs) -> bool {
        let Some((newest, _)) = self.evaluations.back() else { return false };
        let blocked = |evaluation: &&Evaluation| matches!(evaluation, Evaluation::Blocked { .. });
        let newest_block = self.evaluations.iter().rev().map(|(_, evaluation)| evaluation).find(blocked);
        let is_refusal = |evaluation: &Evaluation| match evaluation {
            Evaluation::Vote { approve, is_approved } => !is_approved && *approve > 0,
            Evaluation::Blocked { .. } => newest_block == Some(evaluation),
        };
        let refusals = self.evaluations.iter().rev().take_while(|(_, evaluation)| is_refusal(evaluation)).count();
        refusals >= knobs.split_rounds as usize && round - newest <= knobs.evaluation_age
    }
}

/// Puts something behind a line of which only the last `len_max` stay.
fn push_up_to<T>(line: &mut VecDeque<T>, item: T, len_max: usize) {
    if line.len() == len_max {
        line.pop_front();
    }
    line.push_back(item);
}

#[cfg(test)]
#[path = "stuck_tests.rs"]
mod tests;
