//! What agents are to be told and what came while no session that it is for was at work: the next one that begins has
//! it.

use std::collections::{BTreeMap, BTreeSet};

use crate::gate::custody::FolderChange;
use crate::trace::{AskEvent, Body, Event, HostEvent, PartEvent};
use crate::words::{Amendment, Message, Part, PartKind};

/// One thing that an agent is to be told with its next turn.
#[derive(Debug, Clone, PartialEq)]
pub enum ToTell {
    /// Words of the operator.
    Steer(String),
    /// The operator amended the brief.
    Amended(Box<Amendment>),
    /// Others changed the folder.
    Changed(FolderChange),
}

impl ToTell {
    /// Returns what the event has an agent told.
    #[must_use]
    pub fn of(body: &Body) -> Option<Self> {
        match body {
            Body::Ask(AskEvent::OperatorMessage { message: Message::Steer(text), .. }) => {
                Some(Self::Steer(text.clone()))
            }
            Body::Ask(AskEvent::OperatorMessage { message: Message::Amend(amendment), .. }) => {
                Some(Self::Amended(amendment.clone()))
            }
            Body::Host(HostEvent::FolderChanged { paths, more, head_before, head_now }) => {
                let (head_before, head_now) = (head_before.clone(), head_now.clone());
                Some(Self::Changed(FolderChange { paths: paths.clone(), more: *more, head_before, head_now }))
            }
            _ => None,
        }
    }
}

/// What was said to the run, or to one part of it, while no session was at work there.
#[derive(Debug, Clone, Default)]
pub(super) struct Unheard {
    sessions: BTreeSet<Part>,
    /// What waits for a session, with the part that it was said to.
    waiting: Vec<(Part, ToTell)>,
    /// What each session at work was left when it began.
    left: BTreeMap<Part, Vec<ToTell>>,
}

impl Unheard {
    pub(super) fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Part(PartEvent::PartStart { kind: PartKind::Session, .. }) => {
                self.sessions.insert(event.part.clone());
                let is_for_it = |(to, _): &mut (Part, ToTell)| event.part.is_within(to);
                let said: Vec<ToTell> = self.waiting.extract_if(.., is_for_it).map(|(_, said)| said).collect();
                if !said.is_empty() {
                    self.left.insert(event.part.clone(), said);
                }
            }
            Body::Part(PartEvent::PartEnd { .. }) => {
                self.sessions.retain(|part| !part.is_within(&event.part));
                self.left.retain(|part, _| !part.is_within(&event.part));
            }
            body if !self.sessions.iter().any(|session| session.is_within(&event.part)) => {
                self.waiting.extend(ToTell::of(body).map(|said| (event.part.clone(), said)));
            }
            _ => {}
        }
    }

    /// Returns what was said before the session in `part` began and heard by none.
    pub(super) fn left_to(&self, part: &Part) -> &[ToTell] {
        self.left.get(part).map_or(&[], Vec::as_slice)
    }
}
