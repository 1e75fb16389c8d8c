//! Phase 3: the acts of a turn that wait for the operator, the question about them, and what follows from the answer.
//!
//! Acts are numbered from 1 as the question shows them: the calls in their order, then what the agent announced. Each gets a
//! word of its own; whatever the answer doesn't name is a no. A yes to the same act again becomes a grant for the run.

use std::collections::BTreeMap;

use super::machine::Decider;
use super::prompts;
use super::state::{Call, CallVerdict, OUT_OF_SCOPE, ReadTurn};
use crate::gate::again::ActBound;
use crate::gate::grant::Subject;
use crate::gate::{Finding, Grant};
use crate::procedure::Next;
use crate::trace::{Body, GateEvent};
use crate::words::selection::{ActWord, Selection};
use crate::words::{Category, Choice, Lasts, OperatorWord, PhaseName, QuestionKind};

/// Number under which a note on what was announced is kept: calls are numbered from 1.
pub(super) const ANNOUNCEMENT: u32 = 0;

/// Acts that are held for the operator in phase 3: one question for all of them.
pub(super) struct Held<'a> {
    /// The calls that nothing allows yet.
    pub(super) calls: Vec<&'a Call>,
    /// The categories that the text announced without being authorized.
    pub(super) acts: Vec<String>,
    /// True if the agent declared phase 3 without an act that a rule knows.
    pub(super) declared: bool,
}

/// One held call, as a question shows it.
pub(super) struct HeldCall<'a> {
    pub(super) call: &'a Call,
    /// The findings about which the gate asks: the operator's yes is for these.
    pub(super) findings: Vec<Finding>,
    /// The act, if a yes may be for the same act again.
    pub(super) again: Option<ActBound>,
}

impl Held<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty() && !self.has_announcement()
    }

    pub(super) fn has_announcement(&self) -> bool {
        self.declared || !self.acts.is_empty()
    }

    /// Returns the number of acts.
    pub(super) fn count(&self) -> usize {
        self.calls.len() + usize::from(self.has_announcement())
    }

    /// Returns all categories that a yes would be for, each once.
    pub(super) fn categories(&self) -> Vec<String> {
        categories(self.calls.iter().copied(), &self.acts)
    }

    /// Returns the categories that the agent announced, as they are put on record.
    fn announced(&self) -> Vec<String> {
        if self.declared { vec![OUT_OF_SCOPE.to_owned()] } else { self.acts.clone() }
    }
}

/// Returns the categories that calls and announcements need, each once.
fn categories<'a>(calls: impl Iterator<Item = &'a Call>, acts: &'a [String]) -> Vec<String> {
    let mut categories: Vec<String> = Vec::new();
    let missing = calls.flat_map(|call| match &call.verdict {
        Some(CallVerdict::Asked { missing, .. }) => missing.as_slice(),
        _ => &[],
    });
    for category in missing.chain(acts) {
        if !categories.contains(category) {
            categories.push(category.clone());
        }
    }
    categories
}

impl Decider<'_> {
    /// Returns the acts of a turn that wait for the operator in phase 3.
    pub(super) fn held<'a>(&self, taken: &'a ReadTurn) -> Held<'a> {
        let calls =
            taken.calls.iter().filter(|call| call.is_idle() && matches!(call.verdict, Some(CallVerdict::Asked { .. })));
        let open = |act: &String| !self.state.given.approved_acts.contains(act);
        let acts: Vec<String> = if taken.act.is_some() || !self.may_act() {
            Vec::new()
        } else {
            taken.announced().into_iter().filter(open).collect()
        };
        let known = taken.payload("destructive").is_some();
        let declared =
            taken.declared() == Some(PhaseName::Destructive) && !known && taken.act.is_none() && self.may_act();
        Held { calls: calls.collect(), declared: declared && acts.is_empty(), acts }
    }

    /// Returns the findings about which the gate would ask for a call: the operator's yes is for these.
    fn asked_about(&self, call: &Call) -> Vec<Finding> {
        let Some(tool) = self.tool(&call.call.name) else { return Vec::new() };
        let findings = self.decision(call, tool).findings;
        findings.into_iter().filter(|finding| finding.answer == crate::words::GateAnswer::Ask).collect()
    }

    /// Returns the act that a call is and the categories that nothing allows, if a yes may be for the same act again: not
    /// under a locked scope, where a yes is for once, and not if the gate asks for another reason than a category.
    fn again(&self, call: &Call, findings: &[Finding]) -> Option<(ActBound, Vec<Category>)> {
        let mut missing: Vec<Category> = Vec::new();
        for finding in findings {
            if finding.missing.is_empty() {
                return None;
            }
            missing.extend(finding.missing.iter().filter(|one| !missing.contains(one)).cloned().collect::<Vec<_>>());
        }
        if self.setup.scope_locked || missing.is_empty() {
            return None;
        }
        let effects = self.effects(&call.call);
        let subject = Subject { tool: &call.call.name, args: &call.call.args, effects: &effects };
        Some((ActBound::of(&subject)?, missing))
    }

    pub(super) fn destructive(&self) -> Next {
        let Some(taken) = self.state.taken() else { return self.leave(PhaseName::Execute, "nothing is held") };
        if let Some(granted) = self.grant_again() {
            return granted;
        }
        let held = self.held(taken);
        match self.state.answer(QuestionKind::Destructive) {
            None if held.is_empty() => self.leave(PhaseName::Execute, self.settled_reason(taken)),
            None => {
                let calls: Vec<HeldCall<'_>> = held
                    .calls
                    .iter()
                    .map(|call| {
                        let findings = self.asked_about(call);
                        let again = self.again(call, &findings).map(|(act, _)| act);
                        HeldCall { call, findings, again }
                    })
                    .collect();
                self.ask(prompts::held(&held, &calls, &taken.text, self.setup.scope_locked))
            }
            Some((choice, text)) => self.record(self.heard(&held, choice, text)),
        }
    }

    /// Puts an answer on record, as it is for each act.
    fn heard(&self, held: &Held<'_>, choice: Choice, text: Option<&str>) -> Body {
        let is_locked = self.setup.scope_locked;
        let all = |word: ActWord| vec![word; held.count()];
        let no = || ActWord::No { note: None };
        let words = match choice {
            Choice::Once | Choice::ForRun => all(ActWord::Once),
            Choice::Again => all(ActWord::Again),
            Choice::Chosen => match text.and_then(Selection::read) {
                Some(chosen) => (1..).take(held.count()).map(|number| chosen.word(number)).collect(),
                None => all(no()),
            },
            _ => all(no()),
        };
        let is_yes = |word: &ActWord| matches!(word, ActWord::Once | ActWord::Again);
        let any_yes = words.iter().any(is_yes);
        let (call_words, rest) = words.split_at(held.calls.len());
        let with_words = || held.calls.iter().copied().zip(call_words);
        let numbers = |wanted: bool| {
            let those = with_words().filter(|(_, word)| is_yes(word) == wanted);
            those.map(|(call, _)| call.number).collect::<Vec<u32>>()
        };
        let announced = if held.has_announcement() { held.announced() } else { Vec::new() };
        let is_announcement_approved = rest.first().is_some_and(is_yes);
        let (acts, denied_acts) = match any_yes && !is_announcement_approved {
            true => (Vec::new(), announced),
            false => (announced, Vec::new()),
        };
        let (calls, denied) = if any_yes { (numbers(true), numbers(false)) } else { (numbers(false), Vec::new()) };
        let may_be_again = |call: &Call| self.again(call, &self.asked_about(call)).is_some();
        let again = with_words().filter(|(call, word)| **word == ActWord::Again && may_be_again(call));
        let note = |word: &ActWord| match word {
            ActWord::No { note } => note.clone(),
            ActWord::Once | ActWord::Again => None,
        };
        let noted = with_words().map(|(call, word)| (call.number, word));
        let noted = noted.chain(rest.first().map(|word| (ANNOUNCEMENT, word)));
        let notes: BTreeMap<u32, String> = noted.filter_map(|(number, word)| Some((number, note(word)?))).collect();
        let is_mixed = !denied.is_empty() || !denied_acts.is_empty();
        let approved = with_words().filter(|(_, word)| is_yes(word)).map(|(call, _)| call);
        let own_acts: &[String] = if held.declared { &[] } else { &acts };
        Body::Gate(GateEvent::AuthPrompt {
            categories: if is_mixed { categories(approved, own_acts) } else { held.categories() },
            response: match choice {
                _ if !any_yes => OperatorWord::No,
                // Under a locked scope a yes is for this once: the brief is not widened while it is worked on.
                Choice::ForRun if !is_locked => OperatorWord::ForRun,
                _ => OperatorWord::Once,
            },
            calls,
            again: again.map(|(call, _)| call.number).collect(),
            acts,
            denied,
            denied_acts,
            notes,
        })
    }

    /// Makes a grant of a yes to the same act again, one after the other.
    fn grant_again(&self) -> Option<Next> {
        let now = self.state.now?;
        self.state.given.again.iter().find_map(|number| {
            let call = self.state.taken()?.calls.iter().find(|call| call.number == *number)?;
            let (act, categories) = self.again(call, &self.asked_about(call))?;
            let grant_id = self.run.grants().id(&self.part, *number);
            let grant = Grant {
                grant_id: grant_id.clone(),
                action: act.describe(&call.call.name),
                reasoning: String::new(),
                categories,
                tool: Some(call.call.name.clone()),
                command: None,
                path: None,
                act: Some(Box::new(act)),
                lasts: Lasts::ThisRun,
                until: None,
                uses: None,
                granted_at: now,
            };
            Some(self.record(Body::Gate(GateEvent::PermissionGranted {
                grant_id,
                scope_granted: Lasts::ThisRun,
                operator_note: None,
                call: *number,
                grant: Some(Box::new(grant)),
            })))
        })
    }

    /// Returns the reason that phase 3 is left, in the peer's words.
    fn settled_reason(&self, taken: &ReadTurn) -> &'static str {
        match (self.state.given.word, taken.act) {
            (_, Some(OperatorWord::No)) => "destructive denied",
            (_, Some(_)) => "destructive approved",
            (Some(OperatorWord::No), None) => "tool call denied",
            (Some(OperatorWord::ForRun), None) => "tool approved (session)",
            (Some(OperatorWord::Once) | None, None) => "tool approved (once)",
        }
    }
}
