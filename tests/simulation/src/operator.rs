//! The operator of a scene: a mailbox with answers that arrive when they are due, and letters.

use std::sync::Arc;
use std::time::Duration;

use adjutant_core::inbox::mailbox::Closing;
use adjutant_core::inbox::reply;
use adjutant_core::trace::{AskEvent, Body};
use adjutant_core::words::{Choice, Key, Question, QuestionKind};
use adjutant_ports::{Answered, CancellationToken, Heard, Operator, Pending, Progress};
use jiff::{SignedDuration, Timestamp};

use crate::backdrop::{Backdrop, Life, ShownQuestion, StagedPost};
use crate::fate::PlantedFault;
use crate::scene::{Presence, SceneMoment, StagedAnswer, staged_panic};

pub(crate) struct StagedOperator(pub(crate) Arc<Life>);

fn milliseconds(length_ms: u64) -> SignedDuration {
    SignedDuration::from_millis(i64::try_from(length_ms).expect("a short time"))
}

impl Backdrop {
    /// Returns what the mailbox has of a question; made when it is put for the first time.
    fn post(&self, key: &Key, question: &Question) -> StagedPost {
        let now = self.now();
        let mut state = self.state();
        if let Some(post) = state.mailbox.get(key).filter(|post| post.kind == question.kind) {
            return post.clone();
        }
        let is_alike =
            |(other, post): &(&Key, &StagedPost)| other.part == key.part && *other != key && post.kind == question.kind;
        let place = state.mailbox.iter().filter(is_alike).count();
        let staged = self.scene.answers.get(question.kind.as_str()).and_then(|answers| answers.get(place));
        // One that comes after the deadline is put into no mailbox.
        let put =
            state.disk.events.iter().find(|event| event.part == key.part && event.body.intent() == Some(&key.slot));
        let deadline = put.zip(question.deadline_ms).map(|(put, length_ms)| put.at + milliseconds(length_ms));
        let is_in_time =
            |staged: &&StagedAnswer| deadline.is_none_or(|deadline| now + milliseconds(staged.after_ms) < deadline);
        let takes_late = self.fate.planted == Some(PlantedFault::HidesDeadlines);
        let answer = staged.filter(|staged| takes_late || is_in_time(staged)).map(|staged| {
            let read = reply::read(question.kind, &staged.typed);
            let reply::Reply { choice, text } = read.unwrap_or(reply::Reply { choice: Choice::Deny, text: None });
            let (by, whence) = ("operator".to_owned(), "terminal".to_owned());
            let is_planted = self.fate.planted == Some(PlantedFault::AnswersAnotherQuestion);
            let id = if is_planted { format!("answer-another-{key}") } else { format!("answer-{key}") };
            (now + milliseconds(staged.after_ms), Answered { id, choice, text, by, whence })
        });
        let post = StagedPost { kind: question.kind, answer, closed: None };
        state.mailbox.insert(key.clone(), post.clone());
        post
    }

    /// Returns the letters that are not on record yet, with the time from the run's beginning at which each is due;
    /// `None` for one that waits for the journal to grow.
    fn open_letters(&self) -> Vec<(Heard, Option<Duration>)> {
        let state = self.state();
        let events = &state.disk.events;
        let is_on_record = |wanted: &str| {
            events
                .iter()
                .any(|event| matches!(&event.body, Body::Ask(AskEvent::OperatorMessage { id, .. }) if id == wanted))
        };
        let open = self.scene.letters.iter().enumerate().filter_map(|(number, letter)| {
            let id = format!("message-{number}");
            let due = match letter.due {
                SceneMoment::AfterMs(length_ms) => Some(Duration::from_millis(length_ms)),
                SceneMoment::AfterEvents(length) => (events.len() >= length).then_some(Duration::ZERO),
            };
            let by = Some("operator".to_owned());
            let is_astray = self.fate.planted == Some(PlantedFault::LettersGoAstray);
            let to = if is_astray { letter.to.child("astray") } else { letter.to.clone() };
            let heard = Heard { message: letter.message.clone(), to, id: Some(id.clone()), by };
            (!is_on_record(&id)).then_some((heard, due))
        });
        open.collect()
    }

    /// Returns the letters that are due and not on record.
    pub(crate) fn waiting_letters(&self) -> Vec<Heard> {
        let elapsed = self.elapsed();
        let is_due = |(_, due): &(Heard, Option<Duration>)| due.is_some_and(|due| due <= elapsed);
        self.open_letters().into_iter().filter(is_due).map(|(heard, _)| heard).collect()
    }

    /// Returns when the next thing comes from the operator to these questions or to the run, if anything does.
    pub(crate) fn next_post(&self, open: &[Key]) -> Option<Timestamp> {
        let letters = self.open_letters().into_iter().filter_map(|(_, due)| due);
        let began = self.now() - SignedDuration::try_from(self.elapsed()).expect("a short time");
        let letters = letters.map(|due| began + SignedDuration::try_from(due).expect("a short time"));
        let state = self.state();
        let posts = open.iter().filter_map(|key| state.mailbox.get(key).filter(|post| post.closed.is_none()));
        let answers = posts.filter_map(|post| Some(post.answer.as_ref()?.0));
        answers.chain(letters).min()
    }
}

impl Operator for StagedOperator {
    fn show(&self, _: Progress<'_>) {}

    fn ask<'a>(&'a self, key: &'a Key, question: &'a Question, _: CancellationToken) -> Pending<'a, Option<Answered>> {
        Box::pin(async move {
            let Self(life) = self;
            let backdrop = &life.backdrop;
            life.lives().await;
            life.begins(format!("question {key}"));
            let post = backdrop.post(key, question);
            {
                let mut state = backdrop.state();
                let on_record = state.disk.intent(key);
                let times = if backdrop.fate.planted == Some(PlantedFault::PutsQuestionsTwice) { 2 } else { 1 };
                let shown = ShownQuestion { key: key.clone(), on_record, life: life.number };
                state.shown.extend(std::iter::repeat_n(shown, times));
            }
            life.step().await;
            if backdrop.scene.panics_at == Some(question.kind) && life.number == 1 {
                staged_panic();
            }
            if backdrop.scene.presence == Presence::Attended && question.deadline_ms.is_some() && post.answer.is_none()
            {
                return std::future::pending().await;
            }
            let (arrives, answered) = post.answer.filter(|_| post.closed.is_none())?;
            if backdrop.scene.presence == Presence::Away && arrives > backdrop.now() {
                return None;
            }
            backdrop.until(arrives).await;
            life.lives().await;
            Some(answered)
        })
    }

    fn close(&self, key: &Key, _: QuestionKind, why: Closing) -> Option<Answered> {
        let backdrop = &self.0.backdrop;
        let now = backdrop.now();
        let mut state = backdrop.state();
        let post = state.mailbox.get_mut(key)?;
        match &post.answer {
            Some((arrives, answered)) if *arrives <= now => Some(answered.clone()),
            Some(_) | None => {
                post.closed = Some(why);
                None
            }
        }
    }

    fn message(&self) -> Pending<'_, Heard> {
        Box::pin(async move {
            let backdrop = &self.0.backdrop;
            let open = backdrop.open_letters().into_iter().filter_map(|(heard, due)| Some((due?, heard)));
            let Some((due, heard)) = open.min_by_key(|(due, _)| *due) else { return std::future::pending().await };
            tokio::time::sleep(due.saturating_sub(backdrop.elapsed())).await;
            self.0.lives().await;
            heard
        })
    }

    fn name(&self) -> String {
        "operator".to_owned()
    }
}
