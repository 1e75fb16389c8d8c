//! Work of a run: one session alone, a crew of them, or a loop.

use crate::crew::Crew;
use crate::procedure::{Next, Procedure};
use crate::run::RunFacts;
use crate::session::{HasSessions, Session};
use crate::supervise::GoalLoop;
use crate::trace::Event;
use crate::words::Part;

/// The work of a run.
#[derive(Debug, Clone)]
pub enum Work {
    /// One agent on the whole brief.
    Alone(Box<Session>),
    /// Several, by role.
    Crew(Box<Crew>),
    /// One after another, until the goal is verified.
    Loop(Box<GoalLoop>),
}

impl Work {
    /// Returns the session that is at work now; `None` between two.
    #[must_use]
    pub fn session(&self) -> Option<&Session> {
        match self {
            Self::Alone(session) => Some(session),
            Self::Crew(crew) => crew.session(),
            Self::Loop(work) => work.session(),
        }
    }
}

impl HasSessions for Work {
    fn session_in(&self, part: &Part) -> Option<&Session> {
        match self {
            Self::Alone(session) => session.session_in(part),
            Self::Crew(crew) => crew.session_in(part),
            Self::Loop(work) => work.session_in(part),
        }
    }
}

impl Procedure for Work {
    type Facts = RunFacts;

    fn apply(&mut self, event: &Event) {
        match self {
            Self::Alone(session) => session.apply(event),
            Self::Crew(crew) => crew.apply(event),
            Self::Loop(work) => work.apply(event),
        }
    }

    fn next(&self, facts: &RunFacts) -> Next {
        match self {
            Self::Alone(session) => session.next(facts),
            Self::Crew(crew) => crew.next(facts),
            Self::Loop(work) => work.next(facts),
        }
    }
}
