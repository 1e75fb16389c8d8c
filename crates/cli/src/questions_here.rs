//! The questions that are open at this terminal or pipe: what of them stands on the screen, under which numbers, and
//! where the answer to each goes.
//!
//! One question at a time is shown as it is. As soon as a second one is open, each has a number, which it keeps; numbers
//! begin anew when none is open. Shows and reads nothing itself: the console does, and says here what came of it.

use adjutant_core::inbox::naming::{NumberedQuestion, NumbersShown};
use adjutant_core::inbox::reply::Reply;
use adjutant_core::words::{Key, Question};
use tokio::sync::oneshot;

/// Number of unreadable replies after which a question is left open.
const REPLIES_MAX: u32 = 5;

/// The questions that are open here, in the order in which they were announced.
#[derive(Debug)]
pub struct QuestionsHere {
    announced: Vec<AnnouncedQuestion>,
    open: Vec<QuestionHere>,
    numbers: NumbersShown,
    /// True if a question came or went since they were last shown.
    is_changed: bool,
}

/// A question that the run asks, which may be answered before anybody here is asked.
#[derive(Debug)]
struct AnnouncedQuestion {
    key: Key,
    is_seen: bool,
}

/// A question that waits for a line.
#[derive(Debug)]
struct QuestionHere {
    key: Key,
    question: Question,
    /// Its number; 0 while it has none.
    number: u32,
    is_seen: bool,
    refused: u32,
    answer: oneshot::Sender<Option<Reply>>,
}

/// A question that is to be shown.
#[derive(Debug, PartialEq)]
pub struct ToShow {
    /// Number to show it under, if several are open.
    pub number: Option<u32>,
    /// Place in the run.
    pub key: Key,
    /// The question.
    pub question: Question,
}

impl Default for QuestionsHere {
    fn default() -> Self {
        Self { announced: Vec::new(), open: Vec::new(), numbers: NumbersShown::Never, is_changed: false }
    }
}

impl QuestionsHere {
    /// Takes note of a question that the run asks. Returns true if it is to be shown now: it is the only one.
    /// Any other is shown with its number, once it is known that it waits for a line here.
    pub fn announce(&mut self, key: &Key) -> bool {
        let is_seen = self.announced.is_empty();
        self.announced.push(AnnouncedQuestion { key: key.clone(), is_seen });
        is_seen
    }

    /// Returns true if the question was not shown yet; it counts as shown from now on.
    pub fn take_unseen(&mut self, key: &Key) -> bool {
        let found = self.announced.iter_mut().find(|one| one.key == *key);
        found.is_some_and(|one| !std::mem::replace(&mut one.is_seen, true))
    }

    /// Opens a question for lines from here. Its answer will come through what is returned; `None` leaves it open.
    pub fn open(&mut self, key: &Key, question: &Question) -> oneshot::Receiver<Option<Reply>> {
        let place = |key: &Key| self.announced.iter().position(|one| one.key == *key).unwrap_or(usize::MAX);
        let is_seen = self.announced.iter().any(|one| one.key == *key && one.is_seen);
        let at = self.open.partition_point(|one| place(&one.key) <= place(key));
        let (answer, receiver) = oneshot::channel();
        let (key, question) = (key.clone(), question.clone());
        self.open.insert(at, QuestionHere { key, question, number: 0, is_seen, refused: 0, answer });
        self.is_changed = true;
        receiver
    }

    /// Forgets a question that was closed before it waited for a line here.
    pub fn forget(&mut self, key: &Key) {
        if !self.is_open(key) {
            self.announced.retain(|one| one.key != *key);
        }
    }

    /// Closes a question for lines from here.
    pub fn close(&mut self, key: &Key) {
        self.announced.retain(|one| one.key != *key);
        self.take(|one| one.key == *key);
    }

    /// Returns true if the question waits for a line here.
    pub fn is_open(&self, key: &Key) -> bool {
        self.open.iter().any(|one| one.key == *key)
    }

    /// Returns true if no question waits for a line here.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The questions on the screen that wait for a line, as a line may name them.
    pub fn seen(&self) -> Vec<NumberedQuestion> {
        let seen = self.open.iter().filter(|one| one.is_seen);
        seen.map(|one| NumberedQuestion { number: one.number, kind: one.question.kind }).collect()
    }

    /// The question with this number that is on the screen and waits for a line.
    pub fn question(&self, number: u32) -> Option<&Question> {
        self.seen_here(number).map(|one| &one.question)
    }

    /// The place in the run of that question.
    pub fn key(&self, number: u32) -> Option<&Key> {
        self.seen_here(number).map(|one| &one.key)
    }

    fn seen_here(&self, number: u32) -> Option<&QuestionHere> {
        self.open.iter().find(|one| one.number == number && one.is_seen)
    }

    /// Numbers on the screen.
    pub const fn numbers(&self) -> NumbersShown {
        self.numbers
    }

    /// Returns true if what stands on the screen is not what is open.
    pub fn is_outdated(&self) -> bool {
        let is_mode_wrong = match (self.open.len(), self.numbers) {
            (0, _) | (1, NumbersShown::Never | NumbersShown::Before { .. }) => false,
            (1, NumbersShown::All { .. }) | (_, NumbersShown::Never | NumbersShown::Before { .. }) => true,
            (_, NumbersShown::All { .. }) => self.is_changed,
        };
        is_mode_wrong || self.open.iter().any(|one| !one.is_seen)
    }

    /// Returns what is to be shown so that the screen is as it should be, and takes it for shown.
    pub fn take_changes(&mut self) -> Vec<ToShow> {
        let is_numbered = self.open.len() > 1;
        let (has_numbers, mut max) = match self.numbers {
            NumbersShown::Never => (false, 0),
            NumbersShown::Before { max } => (false, max),
            NumbersShown::All { max } => (true, max),
        };
        let mut shown = Vec::new();
        for one in &mut self.open {
            if is_numbered && one.number == 0 {
                max += 1;
                one.number = max;
            }
            if !std::mem::replace(&mut one.is_seen, true) || is_numbered != has_numbers {
                let number = is_numbered.then_some(one.number);
                self.announced
                    .iter_mut()
                    .filter(|announced| announced.key == one.key)
                    .for_each(|one| one.is_seen = true);
                shown.push(ToShow { number, key: one.key.clone(), question: one.question.clone() });
            }
        }
        self.numbers = match max {
            _ if is_numbered => NumbersShown::All { max },
            0 => NumbersShown::Never,
            _ => NumbersShown::Before { max },
        };
        self.is_changed = false;
        shown
    }

    /// Gives a question its answer, or leaves it open.
    pub fn answer(&mut self, number: u32, reply: Option<Reply>) {
        if let Some(one) = self.take(|one| one.number == number && one.is_seen) {
            // Whoever asked may have gone.
            one.answer.send(reply).ok();
        }
    }

    /// Counts a reply that can't be read. After too many the question is left open.
    pub fn refuse(&mut self, number: u32) {
        let Some(one) = self.open.iter_mut().find(|one| one.number == number && one.is_seen) else { return };
        one.refused += 1;
        if one.refused == REPLIES_MAX {
            self.answer(number, None);
        }
    }

    /// Leaves all questions open: nothing comes any more.
    pub fn leave_all(&mut self) {
        for one in std::mem::take(&mut self.open) {
            one.answer.send(None).ok();
        }
        self.numbers = NumbersShown::Never;
    }

    fn take(&mut self, is_it: impl Fn(&QuestionHere) -> bool) -> Option<QuestionHere> {
        let at = self.open.iter().position(is_it)?;
        self.is_changed = true;
        let one = self.open.remove(at);
        if self.open.is_empty() {
            self.numbers = NumbersShown::Never;
        }
        Some(one)
    }
}
