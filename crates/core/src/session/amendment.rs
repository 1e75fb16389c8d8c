//! The operator widens or narrows a brief while it is worked on: what it authorizes, its scope, its limits.
//!
//! Calls that were allowed and have not begun are judged again; acts that were done stay done. The agent is told.

use crate::words::{Amendment, Budget, Category, Message, OperatorWord};

use super::Setup;
use crate::gate::Scope;
use crate::trace::{AskEvent, Body, Event, GateEvent};

impl Setup {
    /// Takes in what the operator amended.
    pub(super) fn amend(&mut self, amendment: &Amendment) {
        amend_authorized(&mut self.authorized, amendment);
        if !amendment.scope.is_empty() || !amendment.unscope.is_empty() {
            self.rescope(amendment);
        }
        let Budget { max_tokens, max_minutes, max_nano_dollars, max_turns, max_tool_calls } = amendment.budget;
        let budget = &mut self.budget;
        budget.max_tokens = max_tokens.or(budget.max_tokens);
        budget.max_minutes = max_minutes.or(budget.max_minutes);
        budget.max_nano_dollars = max_nano_dollars.or(budget.max_nano_dollars);
        budget.max_turns = max_turns.or(budget.max_turns);
        budget.max_tool_calls = max_tool_calls.or(budget.max_tool_calls);
    }

    /// Applies an amendment to the paths of the scope. A scope without paths doesn't limit them, so nothing is widened
    /// then.
    fn rescope(&mut self, amendment: &Amendment) {
        let mut words = self.scope.words().clone();
        let mut names_paths = false;
        for list in [&mut words.paths, &mut words.files, &mut words.folders].into_iter().flatten() {
            names_paths = true;
            list.retain(|entry| !amendment.unscope.contains(entry));
        }
        if names_paths {
            words.paths.get_or_insert_default().extend(amendment.scope.iter().cloned());
            self.scope = Scope::new(&words).placed(&self.places);
        }
    }
}

/// Applies an amendment to what a brief authorizes.
pub(crate) fn amend_authorized(authorized: &mut Vec<Category>, amendment: &Amendment) {
    authorized.retain(|category| !amendment.withdraw.contains(category));
    for category in &amendment.authorize {
        if !authorized.contains(category) {
            authorized.push(category.clone());
        }
    }
}

/// Returns what the brief authorizes by now: with every amendment of the run.
#[must_use]
pub fn amended(mut authorized: Vec<Category>, events: &[Event]) -> Vec<Category> {
    for event in events.iter().filter(|event| event.part.is_root()) {
        if let Body::Ask(AskEvent::OperatorMessage { message: Message::Amend(amendment), .. }) = &event.body {
            amend_authorized(&mut authorized, amendment);
        }
    }
    authorized
}

/// Returns the categories that are authorized by now: those of the brief, with every amendment and every approval for
/// the run.
#[must_use]
pub fn authorized_by(brief: Vec<Category>, events: &[Event]) -> Vec<Category> {
    let mut held = brief;
    for event in events {
        match &event.body {
            // An approval for the run goes with what is withdrawn.
            Body::Ask(AskEvent::OperatorMessage { message: Message::Amend(amendment), .. }) => {
                amend_authorized(&mut held, amendment);
            }
            Body::Gate(GateEvent::AuthPrompt { categories, response: OperatorWord::ForRun, .. }) => {
                held.extend(categories.iter().map(Category::new));
            }
            _ => {}
        }
    }
    held
}
