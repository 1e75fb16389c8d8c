//! The question that a part has put to its operator: its slot, whether it still stands, and its answer.
//!
//! In: what becomes of questions. Out: the slot under which one is put, or stays put, and the answer to the last one. An
//! answer counts for the question that it names and for no other.

use crate::trace::AskEvent;
use crate::words::{Choice, QuestionKind, Slot, What};

/// The questions of one part: the last one that was put, and the number of all.
#[derive(Debug, Clone, Default)]
pub struct Asking {
    count: u32,
    put: Option<PutQuestion>,
}

/// A question that was put.
#[derive(Debug, Clone)]
struct PutQuestion {
    slot: Slot,
    kind: QuestionKind,
    default: Choice,
    withdrawn: bool,
    answer: Option<(Choice, Option<String>)>,
}

/// An answer that came for the question that was put last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewAnswer {
    /// The kind of the question.
    pub kind: QuestionKind,
    /// The operator's choice, or the default if nobody answered in time.
    pub choice: Choice,
}

impl Asking {
    /// Takes note of what became of a question. Returns the answer, if this is one to the question that was put last.
    pub fn apply(&mut self, event: &AskEvent) -> Option<NewAnswer> {
        match event {
            AskEvent::Question { slot, question } => {
                self.begun(*slot);
                let (kind, default) = (question.kind, question.default);
                self.put = Some(PutQuestion { slot: *slot, kind, default, withdrawn: false, answer: None });
                None
            }
            AskEvent::Answer { slot, choice, text, .. } => self.answered(*slot, Some((*choice, text.clone()))),
            AskEvent::Expired { slot } => self.answered(*slot, None),
            AskEvent::Withdrawn { slot } => {
                if let Some(put) = self.put.as_mut().filter(|put| put.slot == *slot) {
                    put.withdrawn = true;
                }
                None
            }
            AskEvent::AnswerIgnored { .. } | AskEvent::OperatorMessage { .. } | AskEvent::Timer { .. } => None,
        }
    }

    /// Takes note that the question in `slot` was put, also if the line that said so can't be read: its number is never
    /// used again.
    pub fn begun(&mut self, slot: Slot) {
        self.count = self.count.max(slot.number);
    }

    fn answered(&mut self, slot: Slot, answer: Option<(Choice, Option<String>)>) -> Option<NewAnswer> {
        let put = self.put.as_mut().filter(|put| put.slot == slot)?;
        let answer = answer.unwrap_or((put.default, None));
        let new = NewAnswer { kind: put.kind, choice: answer.0 };
        put.answer = Some(answer);
        Some(new)
    }

    /// Forgets the question: what it was about is settled, and the next one is a new one.
    pub fn forget(&mut self) {
        self.put = None;
    }

    /// Returns the answer to the question that was put last, if it is of `kind`.
    #[must_use]
    pub fn answer(&self, kind: QuestionKind) -> Option<(Choice, Option<&str>)> {
        let put = self.put.as_ref().filter(|put| put.kind == kind)?;
        put.answer.as_ref().map(|(choice, text)| (*choice, text.as_deref()))
    }

    /// Returns the slot of a question of `kind`: of the one that is open, of another attempt at one that was withdrawn, or
    /// of a new one.
    #[must_use]
    pub fn slot(&self, kind: QuestionKind) -> Slot {
        match &self.put {
            Some(PutQuestion { slot, withdrawn: true, .. }) => Slot { attempt: slot.attempt + 1, ..*slot },
            Some(put) if put.kind == kind && put.answer.is_none() => put.slot,
            _ => Slot::first(What::Ask, self.count + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::{Offer, Question};

    fn put(number: u32, kind: QuestionKind) -> AskEvent {
        let options = vec![Offer::new(Choice::Deny, "n", "")];
        let question =
            Question { kind, text: String::new(), options, default: Choice::Deny, deadline_ms: None, acts: 0 };
        AskEvent::Question { slot: Slot::first(What::Ask, number), question }
    }

    fn answer(number: u32) -> AskEvent {
        let slot = Slot::first(What::Ask, number);
        let (id, by, whence) = (String::new(), String::new(), String::new());
        AskEvent::Answer { slot, id, choice: Choice::Once, text: None, by, whence }
    }

    #[test]
    fn an_answer_counts_for_the_question_that_it_names() {
        let mut asking = Asking::default();
        assert_eq!(asking.apply(&put(1, QuestionKind::Destructive)), None);
        assert_eq!(asking.slot(QuestionKind::Destructive), Slot::first(What::Ask, 1));
        assert_eq!(asking.apply(&put(2, QuestionKind::Permission)), None);
        assert_eq!((asking.apply(&answer(1)), asking.answer(QuestionKind::Destructive)), (None, None));
        let new = NewAnswer { kind: QuestionKind::Permission, choice: Choice::Once };
        assert_eq!(asking.apply(&answer(2)), Some(new));
        assert_eq!(asking.answer(QuestionKind::Permission), Some((Choice::Once, None)));
        assert_eq!(asking.answer(QuestionKind::Destructive), None);
    }

    #[test]
    fn a_question_that_was_withdrawn_is_put_again_and_one_that_expired_has_its_default() {
        let mut asking = Asking::default();
        asking.apply(&put(1, QuestionKind::Permission));
        let slot = Slot::first(What::Ask, 1);
        asking.apply(&AskEvent::Withdrawn { slot });
        assert_eq!(asking.slot(QuestionKind::Permission), Slot { attempt: 2, ..slot });
        asking.apply(&put(2, QuestionKind::Permission));
        let expired = asking.apply(&AskEvent::Expired { slot: Slot::first(What::Ask, 2) });
        assert_eq!(expired, Some(NewAnswer { kind: QuestionKind::Permission, choice: Choice::Deny }));
        asking.forget();
        assert_eq!(asking.slot(QuestionKind::Permission), Slot::first(What::Ask, 3));
    }
}
