//! A run as its journal has it, folded: what decisions are made from, beside what its agents know.
//!
//! In: a run before any event, then its events. Out: all that a driver goes on from, of which no event is a part: each may
//! be dropped as soon as it is read.
//!
//! Begin with [`Folded::new`].

use adjutant_core::procedure::run::Run;
use adjutant_core::procedure::{Drive, Procedure};
use adjutant_core::trace::{Body, Event, RunEvent, TurnEvent};
use adjutant_core::words::tool::{OfferedTools, ToolSpecs};

use crate::agent_past::AgentPast;
use crate::driver::Results;
use crate::effects::RunEffects;

/// A run, with everything that follows from its events.
pub struct Folded<P: Procedure> {
    pub(crate) drive: Drive<P>,
    /// The past of the run as its agents know it.
    pub(crate) past: AgentPast,
    pub(crate) facts: DriverFacts,
    /// The tools as they were offered last; `None` if they are not on record.
    pub(crate) offered: Option<ToolSpecs>,
    /// True if there was no event.
    pub(crate) is_empty: bool,
}

/// Facts of a run that nothing is decided by.
#[derive(Debug, Default)]
pub(crate) struct DriverFacts {
    /// The run's id, once its beginning is on record.
    pub(crate) run_id: Option<String>,
    /// Number of turns taken in the run.
    pub(crate) turns: usize,
    /// Effects of the run, for its end.
    pub(crate) effects: RunEffects,
}

impl DriverFacts {
    /// Takes note of an event that counts.
    pub(crate) fn apply(&mut self, event: &Event) {
        if let Body::Run(RunEvent::RunStart(start)) = &event.body {
            self.run_id = Some(start.run_id.to_string());
        }
        self.effects.apply(event);
        self.turns += usize::from(matches!(event.body, Body::Turn(TurnEvent::AgentReply { .. })));
    }
}

impl<P: Procedure> Folded<P> {
    /// A run before any event. `results` is how its agents get the results of tools.
    pub fn new(run: Run<P>, results: Results) -> Self {
        Self {
            drive: Drive::new(run),
            past: AgentPast::new(results),
            facts: DriverFacts::default(),
            offered: None,
            is_empty: true,
        }
    }

    /// The same run after `events`.
    #[must_use]
    pub fn after(mut self, events: Vec<Event>) -> Self {
        for event in events {
            if self.note(&event) {
                self.past.apply(event);
            }
        }
        self
    }

    /// The same run after all events that `go` hands over, and what `go` returns. Decisions are folded on the thread that
    /// `go` is carried out on, and what agents know at the same time here.
    pub async fn beside<R>(mut self, go: impl FnOnce(&mut dyn FnMut(Event)) -> R + Send + 'static) -> (Self, R)
    where
        Self: Send + 'static,
        R: Send + 'static,
    {
        let past = std::mem::replace(&mut self.past, AgentPast::new(Results::default()));
        let gone = past.beside(move |take| {
            let came = go(&mut |event| {
                if self.note(&event) {
                    take(event);
                }
            });
            (self, came)
        });
        let (past, (folded, came)) = gone.await;
        (Self { past, ..folded }, came)
    }

    /// Takes note of an event as far as decisions go; says whether it counts.
    fn note(&mut self, event: &Event) -> bool {
        self.is_empty = false;
        if let Body::Run(run) = &event.body
            && let Some(offered) = run.offered()
        {
            self.offered = Some(OfferedTools::specs(offered));
        }
        let counts = self.drive.apply(event);
        if counts {
            self.facts.apply(event);
        }
        counts
    }
}
