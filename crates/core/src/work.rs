//! What a run does: one session alone, or a crew of them.

use crate::crew::Crew;
use crate::procedure::{Next, Procedure};
use crate::session::Session;
use crate::trace::Event;

/// The work of a run.
#[derive(Debug, Clone)]
pub enum Work {
    /// One agent on the whole brief.
    Alone(Box<Session>),
    /// Several, by role.
    Crew(Box<Crew>),
}

impl Work {
    /// The session that is at work now; none between two.
    #[must_use]
    pub fn session(&self) -> Option<&Session> {
        match self {
            Self::Alone(session) => Some(session),
            Self::Crew(crew) => crew.session(),
        }
    }
}

impl Procedure for Work {
    fn apply(&mut self, event: &Event) {
        match self {
            Self::Alone(session) => session.apply(event),
            Self::Crew(crew) => crew.apply(event),
        }
    }

    fn next(&self) -> Next {
        match self {
            Self::Alone(session) => session.next(),
            Self::Crew(crew) => crew.next(),
        }
    }
}
