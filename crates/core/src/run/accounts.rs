//! The one ledger of a run: an account for each scope of its spending, with what the operator added to its limits.
//!
//! An event counts in every account that it lies in, and so does a reservation, at once: parts side by side can't
//! overdraw together what each of them alone could pay.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::budget::{PhaseCalls, Spending};
use crate::trace::{Body, BudgetEvent, CrewEvent, Event, PartEvent, RunEvent};
use crate::words::budget::Whose;
use crate::words::role::RoleName;
use crate::words::{CrewState, Metric, Part, PhaseName, Signal};

/// The name of an account: a part of the run whose spending is counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccountName {
    /// A part's, with everything under it. The root's is the run's.
    Under(Part),
    /// A role's, over all its sessions; `None` stands for the parts in which no role works.
    Role(Option<RoleName>),
    /// One phase's of a part. Only calls are counted by phase.
    Phase(Part, PhaseName),
}

impl AccountName {
    /// Returns the account of `whose` limit, as `part` sees it.
    #[must_use]
    pub fn of(whose: Whose, part: &Part) -> Self {
        match whose {
            Whose::Run => Self::Under(Part::root()),
            Whose::Role => Self::Role(part.role()),
            Whose::Session => Self::Under(part.clone()),
            Whose::Phase(phase) => Self::Phase(part.clone(), phase),
        }
    }
}

/// The accounts of a run.
#[derive(Debug, Clone, Default)]
pub struct Accounts {
    /// A new account: the prices, and nothing used.
    unused: Spending,
    run: Spending,
    /// The parts that have begun and not ended.
    parts: BTreeMap<Part, Spending>,
    roles: BTreeMap<Option<RoleName>, Spending>,
    phases: BTreeMap<Part, PhaseCalls>,
    no_calls: PhaseCalls,
    last: Option<Timestamp>,
}

impl Accounts {
    pub(super) fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Run(RunEvent::RunStart(_) | RunEvent::RunResume { .. }) => {
                let last = self.last;
                for spending in self.all() {
                    // The journal knows best until when the last driver lived.
                    if let Some(last) = last {
                        spending.note_last(last);
                    }
                    spending.apply(event);
                }
            }
            _ => self.count(event),
        }
        match &event.body {
            Body::Budget(BudgetEvent::BudgetWarn { metric, role, phase, learned, .. }) => {
                let whose = Whose::on_record(role.as_deref(), *phase, learned.as_deref());
                if let (Some(metric), Some(spending)) = (metric.counted(), self.at_mut(whose, &event.part)) {
                    spending.note_warning(metric);
                }
            }
            // The first attempt at a sub-task: each may call so many tools.
            Body::Crew(CrewEvent::CoordinatorState {
                state: CrewState::Execute, signal: Signal::Dispatched, ..
            }) => {
                self.run.begin_subtask();
            }
            Body::Part(PartEvent::PartEnd { .. }) => {
                // What is stopped ends with everything under it.
                self.parts.retain(|part, _| !part.is_within(&event.part));
                self.phases.retain(|part, _| !part.is_within(&event.part));
            }
            _ => {}
        }
        self.last = Some(event.at);
    }

    /// Counts an event in the run, in each part that it lies in, and in its role.
    fn count(&mut self, event: &Event) {
        self.run.apply(event);
        if event.part.is_root() {
            return;
        }
        let unused = &self.unused;
        // Not only where it starts: damage that an operator accepted may have taken that line.
        self.parts.entry(event.part.clone()).or_insert_with(|| unused.beside());
        for (_, spending) in self.parts.iter_mut().filter(|(part, _)| event.part.is_within(part)) {
            spending.apply(event);
        }
        let role = event.part.role();
        self.roles.entry(role).or_insert_with(|| unused.beside()).apply(event);
        self.phases.entry(event.part.clone()).or_default().apply(event);
    }

    /// Returns every account.
    fn all(&mut self) -> impl Iterator<Item = &mut Spending> {
        let scopes = self.parts.values_mut().chain(self.roles.values_mut());
        [&mut self.unused, &mut self.run].into_iter().chain(scopes)
    }

    fn at_mut(&mut self, whose: Whose, part: &Part) -> Option<&mut Spending> {
        match AccountName::of(whose, part) {
            AccountName::Under(part) if part.is_root() => Some(&mut self.run),
            AccountName::Under(part) => self.parts.get_mut(&part),
            AccountName::Role(role) => self.roles.get_mut(&role),
            AccountName::Phase(..) => None,
        }
    }

    /// Adds to a limit.
    pub(super) fn add(&mut self, whose: Whose, part: &Part, metric: Metric, more: u64) {
        if let Whose::Phase(phase) = whose {
            self.phases.entry(part.clone()).or_default().add(phase, more);
        } else if let Some(spending) = self.at_mut(whose, part) {
            spending.add(metric, more);
        }
    }

    /// Returns what an account has used: nothing before its part has begun. Of a phase only calls are counted, by
    /// [`phase_calls`](Self::phase_calls).
    #[must_use]
    pub fn spending(&self, scope: &AccountName) -> &Spending {
        let found = match scope {
            AccountName::Under(part) if part.is_root() => Some(&self.run),
            AccountName::Under(part) => self.parts.get(part),
            AccountName::Role(role) => self.roles.get(role),
            AccountName::Phase(..) => None,
        };
        found.unwrap_or(&self.unused)
    }

    /// Returns the calls of a part by phase.
    #[must_use]
    pub fn phase_calls(&self, part: &Part) -> &PhaseCalls {
        self.phases.get(part).unwrap_or(&self.no_calls)
    }
}
