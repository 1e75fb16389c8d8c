//! The limits that a learned profile gives a session: the number of tools it may call in each phase, or as a role of a
//! crew in all.
//!
//! First wins: the brief's own limit, the profile, the default. The numbers are limits like all others: nothing is
//! called beyond them, and the operator is asked for more. At each phase that is entered it is put on record which
//! number is in force, and where it comes from.

use std::collections::BTreeMap;

use super::machine::Decider;
use super::state::Stand;
use crate::budget::{PhaseCalls, Spending};
use crate::procedure::Next;
use crate::run::AccountName;
use crate::trace::{Body, LearnedEvent};
use crate::words::budget::Whose;
use crate::words::{Budget, LimitSource, Metric, PhaseName};

/// Limits that a learned profile has for one session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LearnedLimits {
    /// The project whose profile it is.
    pub slug: String,
    /// Number of tools that may be called in each phase: for an agent alone.
    pub phase_calls: BTreeMap<PhaseName, u64>,
    /// Budget of the whole session: for a role of a crew.
    pub session: Budget,
    /// True if the brief has limits of its own, in place of these.
    pub is_overruled: bool,
    /// True if the brief has a number of calls of its own, in place of that of the session alone.
    pub is_overruled_for_calls: bool,
}

impl LearnedLimits {
    /// Returns the number of tools that may be called in `phase`, by the profile; `None` if it has no number for the
    /// phase.
    #[must_use]
    pub fn recommended(&self, phase: PhaseName) -> Option<u64> {
        self.phase_calls.get(&phase).copied().or(self.session.max_tool_calls)
    }
}

impl<'a> Decider<'a> {
    fn learned(&self) -> Option<&LearnedLimits> {
        self.setup.learned.as_ref().filter(|learned| !learned.is_overruled)
    }

    /// Returns the session's budget by the profile.
    pub(super) fn session_budget(&self) -> Budget {
        let Some(learned) = self.learned() else { return Budget::default() };
        let max_tool_calls = learned.session.max_tool_calls.filter(|_| !learned.is_overruled_for_calls);
        Budget { max_tool_calls, ..learned.session }
    }

    /// Returns the number of tools that may be called in `phase` by the profile, before anything was added.
    pub(super) fn phase_limit(&self, phase: PhaseName) -> Option<u64> {
        self.learned()?.phase_calls.get(&phase).copied()
    }

    /// Returns the owners of the limits that hold now, in the order in which they are checked.
    pub(super) fn limited(&self) -> impl Iterator<Item = Whose> {
        let phase = self.state.phase().map(Whose::Phase);
        [Whose::Run, Whose::Role, Whose::Session].into_iter().chain(phase)
    }

    /// Returns the limit of a metric, with what was added to it.
    pub(super) fn limit(&self, whose: Whose, metric: Metric) -> Option<u64> {
        match whose {
            Whose::Phase(phase) if metric == Metric::ToolCalls => {
                Some(self.phase_calls().limit(phase, self.phase_limit(phase)?))
            }
            Whose::Phase(_) => None,
            Whose::Run | Whose::Role | Whose::Session => self.spending(whose).limit(&self.budget_of(whose), metric),
        }
    }

    /// Returns what is limited for `whose` account before anything was added, but for calls by phase.
    pub(super) fn budget_of(&self, whose: Whose) -> Budget {
        match whose {
            Whose::Run if self.setup.is_free_in_calls => Budget { max_tool_calls: None, ..self.setup.budget },
            Whose::Run => self.setup.budget,
            Whose::Role => self.setup.role_budget,
            Whose::Session => self.session_budget(),
            Whose::Phase(_) => Budget::default(),
        }
    }

    /// Returns what `whose` account has used.
    pub(super) fn spending(&self, whose: Whose) -> &'a Spending {
        self.run.accounts().spending(&AccountName::of(whose, &self.part))
    }

    fn phase_calls(&self) -> &'a PhaseCalls {
        self.run.accounts().phase_calls(&self.part)
    }

    /// Returns the usage of a metric.
    pub(super) fn used(&self, whose: Whose, metric: Metric) -> u64 {
        match whose {
            Whose::Phase(phase) if metric == Metric::ToolCalls => self.phase_calls().used(phase),
            Whose::Phase(_) => 0,
            Whose::Run | Whose::Role | Whose::Session => self.spending(whose).used(metric),
        }
    }

    /// Returns how much of a metric is used for good, without what other parts have reserved.
    pub(super) fn spent(&self, whose: Whose, metric: Metric) -> u64 {
        match whose {
            Whose::Phase(_) => self.used(whose, metric),
            Whose::Run | Whose::Role | Whose::Session => self.spending(whose).spent(metric),
        }
    }

    /// Returns a limit that is almost used up without a warning on record: its owner, its metric, the usage, the limit.
    pub(super) fn warning(&self) -> Option<(Whose, Metric, u64, u64)> {
        self.limited().find_map(|whose| {
            let (metric, used, limit) = match whose {
                Whose::Phase(phase) => {
                    let (used, limit) = self.phase_calls().warning(phase, self.phase_limit(phase)?)?;
                    (Metric::ToolCalls, used, limit)
                }
                Whose::Run | Whose::Role | Whose::Session => self.spending(whose).warning(&self.budget_of(whose))?,
            };
            Some((whose, metric, used, limit))
        })
    }

    /// Puts on record, once for each time a phase is entered, how many tools may be called in it.
    pub(super) fn consult_budget(&self) -> Option<Next> {
        let learned = self.setup.learned.as_ref()?;
        let Stand::In { phase, .. } = &self.state.stand else { return None };
        if self.state.budget_consulted {
            return None;
        }
        let recommended = learned.recommended(*phase);
        let of_run = self.limit(Whose::Run, Metric::ToolCalls).unwrap_or(0);
        let (active, source) = match recommended {
            _ if learned.is_overruled || learned.is_overruled_for_calls => (of_run, LimitSource::Brief),
            Some(_) => {
                let whose = if learned.phase_calls.contains_key(phase) { Whose::Phase(*phase) } else { Whose::Session };
                (self.limit(whose, Metric::ToolCalls).unwrap_or(0), LimitSource::Learned)
            }
            None => (of_run, LimitSource::Default),
        };
        let recommended = recommended.unwrap_or(0);
        Some(self.record(Body::Learned(LearnedEvent::LearnedBudgetConsulted {
            phase: *phase,
            recommended,
            active,
            source,
        })))
    }
}
