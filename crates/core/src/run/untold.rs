//! Messages for agents, and the sessions that are still to tell them.
//!
//! A message that comes while no session is at work that it is for waits for the next one, and so does one that a session
//! leaves untold when it ends. Amendments hold for every session that begins later, whose brief doesn't say so: each is told all of
//! them.

use std::collections::{BTreeMap, VecDeque};

use crate::gate::custody::FolderChange;
use crate::trace::{AskEvent, Body, Event, HostEvent, PartEvent, TurnEvent};
use crate::words::{Amendment, Message, MessageKind, Part, PartKind};

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

/// Messages that are still to be told, by session.
#[derive(Debug, Clone, Default)]
pub(super) struct Untold {
    /// The sessions at work, each with what it is to tell its agent, in order, and the part that it was said to.
    sessions: BTreeMap<Part, VecDeque<(Part, ToTell)>>,
    /// What waits for a session.
    waiting: VecDeque<(Part, ToTell)>,
}

impl Untold {
    /// Takes note of an event; `amendments` are those of the run so far.
    pub(super) fn apply(&mut self, event: &Event, amendments: &[Amendment]) {
        let part = &event.part;
        match &event.body {
            Body::Part(PartEvent::PartStart { kind: PartKind::Session, .. }) => {
                let told = |amendment: &Amendment| (Part::root(), ToTell::Amended(Box::new(amendment.clone())));
                let amended = amendments.iter().map(told);
                let is_for_it = |(to, _): &(Part, ToTell)| part.is_within(to);
                let (its_own, others) = self.waiting.drain(..).partition::<Vec<_>, _>(is_for_it);
                self.waiting = others.into();
                self.sessions.insert(part.clone(), amended.chain(its_own).collect());
            }
            Body::Turn(TurnEvent::Message { kind: MessageKind::Steer, .. }) => {
                if let Some(untold) = self.sessions.get_mut(part) {
                    untold.pop_front();
                }
            }
            Body::Part(PartEvent::PartEnd { .. }) => self.end(part),
            body => {
                if let Some(said) = ToTell::of(body) {
                    self.say(part, said);
                }
            }
        }
    }

    fn say(&mut self, to: &Part, said: ToTell) {
        let mut is_heard = false;
        for (session, untold) in &mut self.sessions {
            if to.is_root() || session == to {
                untold.push_back((to.clone(), said.clone()));
                is_heard = true;
            }
        }
        if !is_heard && !matches!(said, ToTell::Amended(_)) {
            self.waiting.push_back((to.clone(), said));
        }
    }

    /// Takes note of the end of a part. What its sessions leave untold is for the next one, unless others at work have
    /// heard it too.
    fn end(&mut self, part: &Part) {
        let ended: Vec<Part> = self.sessions.keys().filter(|session| session.is_within(part)).cloned().collect();
        for session in ended {
            let untold = self.sessions.remove(&session).unwrap_or_default();
            if self.sessions.is_empty() {
                let is_left = |(to, said): &(Part, ToTell)| to.is_root() && !matches!(said, ToTell::Amended(_));
                self.waiting.extend(untold.into_iter().filter(is_left));
            }
        }
    }

    /// Returns the next thing that the session in `part` is to tell its agent.
    pub(super) fn next(&self, part: &Part) -> Option<&ToTell> {
        self.sessions.get(part)?.front().map(|(_, said)| said)
    }
}
