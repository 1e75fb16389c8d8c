//! Decides for a worker about a run that is not over and that no process drives.
//!
//! In: the events of a journal (those of [`Sittings::NEEDED`], and that there was one of [`Sittings::PROGRESS`], are
//! enough), its open questions, the contents of its mailbox, how its last driver let go, and the time. Out: if the
//! worker resumes it, or the reason not to.
//!
//! Begin with [`Sittings::outlook`].

use crate::trace::{AskEvent, Body, Event, EventKind, OpenWaits, RunEvent};

use jiff::Timestamp;

use super::mailbox::{First, Said};
use super::open::OpenQuestion;
use crate::words::Message;

/// Sender of the interrupt to a run that a worker drives when the worker is told to end. It doesn't count as an
/// operator's word about the run.
pub const WORKER: &str = "worker";

/// Number of times in a row that a run may end the process that drives it before a worker leaves it: once may be
/// chance, and a thing that happens three times happens again.
pub const FRUITLESS_MAX: u32 = 3;

/// A run that waits longer than this for a provider is let go by its worker, in milliseconds, so that others have its
/// place: the longest wait that nobody asks for (`session::WAIT_MAX_MS`) is not worth it.
pub const SLEEP_OVER_MS: u64 = 60_000;

/// History of a run's drivers: a sitting begins with the run, and each time that it is resumed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sittings {
    /// Beginning of the last one; `None` if the run's start is not on record.
    began: Option<Timestamp>,
    /// The folder that the run works in; `None` if the run's start is not on record.
    workdir: Option<String>,
    /// True if an operator interrupted the run in it.
    is_interrupted: bool,
    /// Number of sittings in a row that were resumed and made no progress.
    fruitless: u32,
    waits: OpenWaits,
}

/// The way in which the last driver of a run let it go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LetGo {
    /// It said that it did.
    Itself,
    /// It was killed, or its machine went down.
    Killed,
}

/// Assessment of a run that no process drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlook {
    /// It can go on.
    GoesOn,
    /// It waits for an operator's answer.
    Waits,
    /// It waits for a provider.
    Sleeps {
        /// Until when.
        until: Timestamp,
    },
    /// An operator interrupted it, and it was not resumed since.
    Paused,
    /// It was killed each time that it was gone on with.
    Fruitless {
        /// Number of times.
        times: u32,
    },
    /// Its beginning is not on record: there is nothing to go on with.
    NotBegun,
}

impl Sittings {
    /// The types of events that matter here.
    pub const NEEDED: &[EventKind] = &[
        EventKind::RunStart,
        EventKind::RunResume,
        EventKind::OperatorMessage,
        EventKind::Timer,
        EventKind::Expired,
        EventKind::Withdrawn,
    ];

    /// The types of events that show progress in a sitting; only their presence matters. A reply alone is no progress,
    /// for the call that it asks for may be the one that kills the driver each time.
    pub const PROGRESS: &[EventKind] = &[
        EventKind::PhaseEnter,
        EventKind::Question,
        EventKind::Answer,
        EventKind::Expired,
        EventKind::ToolResult,
        EventKind::ToolCancelled,
        EventKind::HandoffRead,
        EventKind::CoordinatorState,
    ];

    /// Takes note of an event.
    pub fn apply(&mut self, event: &Event) {
        self.waits.apply(event);
        match &event.body {
            Body::Run(RunEvent::RunStart(start)) => {
                let workdir = Some(start.options.workdir.clone());
                *self = Self { began: Some(event.at), workdir, ..Self::default() };
            }
            Body::Run(RunEvent::RunResume { options, .. }) => {
                if let Some(options) = options {
                    self.workdir = Some(options.workdir.clone());
                }
                self.began = Some(event.at);
                self.is_interrupted = false;
                self.fruitless = self.fruitless.saturating_add(1);
            }
            // A driver that was told to end in peace was not killed.
            Body::Ask(AskEvent::OperatorMessage { message, by, .. }) => {
                self.is_interrupted |= message.is_to_stand_still() && by != WORKER;
                self.fruitless = 0;
            }
            _ => {}
        }
    }

    /// Takes note that there was an event of [`Self::PROGRESS`].
    pub fn progressed(&mut self) {
        self.fruitless = 0;
    }

    /// Returns the beginning of the last sitting; `None` if the run's start is not on record.
    #[must_use]
    pub fn began(&self) -> Option<Timestamp> {
        self.began
    }

    /// Returns the folder that the run works in, as its last sitting had it; `None` if the run's start is not on
    /// record.
    #[must_use]
    pub fn workdir(&self) -> Option<&str> {
        self.workdir.as_deref()
    }

    /// Returns the time at which the first of its waits for a provider ends; `None` if it has none.
    #[must_use]
    pub fn wakes_at(&self) -> Option<Timestamp> {
        self.waits.wakes_at()
    }

    /// Decides about the run at `now`. `questions` are those that are open, each with the first line about it in the
    /// mailbox, and `said` are the messages in the mailbox that answer no question.
    #[must_use]
    pub fn outlook(
        &self,
        questions: &[(OpenQuestion, Option<First>)],
        said: &[Said],
        let_go: LetGo,
        now: Timestamp,
    ) -> Outlook {
        let Some(began) = self.began else { return Outlook::NotBegun };
        // A driver that was killed may not have heard it; what was said before the last one began is past.
        let is_told = |what: Message| said.iter().any(|said| said.message == what && began <= said.at);
        let is_stopped = is_told(Message::Stop);
        if !is_stopped && (self.is_interrupted || is_told(Message::Interrupt) || is_told(Message::Pause)) {
            return Outlook::Paused;
        }
        let has_come =
            |(open, first): &(OpenQuestion, Option<First>)| matches!(first, Some(First::Answer(_))) || open.is_due(now);
        let wakes_at = self.wakes_at();
        if !is_stopped && !questions.iter().any(has_come) && wakes_at.is_none_or(|until| now < until) {
            match wakes_at {
                // Whoever let go by itself had nothing else to do. One that was killed may have had: another part of the
                // run, which asked nothing.
                _ if !questions.is_empty() && let_go == LetGo::Itself => return Outlook::Waits,
                _ if !questions.is_empty() => {}
                Some(until) => return Outlook::Sleeps { until },
                None => {}
            }
        }
        // With a question or a wait open, whoever resumed the run may have left it at that.
        let was_killed = (questions.is_empty() && wakes_at.is_none()) || let_go == LetGo::Killed;
        if was_killed && self.fruitless >= FRUITLESS_MAX {
            return Outlook::Fruitless { times: self.fruitless };
        }
        Outlook::GoesOn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inbox::mailbox::{Answer, Closing};
    use crate::trace::{PartEvent, RunOptions, RunStart, Versions};
    use crate::words::{Choice, Key, Part, PhaseName, Question, QuestionKind, Slot, What};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("a time")
    }

    fn slot() -> Slot {
        Slot::first(What::Ask, 1)
    }

    fn started() -> Body {
        Body::Run(RunEvent::RunStart(Box::new(RunStart {
            run_id: "a".parse().expect("a name"),
            brief_id: "a".parse().expect("a name"),
            project: String::new(),
            brief_path: None,
            brief: String::new(),
            tools: Vec::new(),
            offered: None,
            options: RunOptions::default(),
            versions: Versions { adjutant: String::new(), standing_orders: 1, rules: 0 },
        })))
    }

    fn resumed() -> Body {
        Body::Run(RunEvent::RunResume { options: None, accepted_damage: Vec::new(), offered: None })
    }

    fn interrupted(by: &str) -> Body {
        Body::Ask(AskEvent::OperatorMessage { id: "m".into(), message: Message::Interrupt, by: by.into() })
    }

    fn timer(length_ms: u64) -> Body {
        Body::Ask(AskEvent::Timer { slot: Slot::first(What::Wait, 1), length_ms })
    }

    fn expired() -> Body {
        Body::Ask(AskEvent::Expired { slot: Slot::first(What::Wait, 1) })
    }

    fn progress() -> Body {
        Body::Part(PartEvent::PhaseEnter { phase: PhaseName::Execute, reason: None })
    }

    fn sittings(bodies: &[Body]) -> Sittings {
        let mut sittings = Sittings::default();
        for (seq, body) in (0..).zip(bodies) {
            let second = i64::try_from(seq).expect("a small number");
            sittings.apply(&Event { seq, at: at(second), part: Part::root(), body: body.clone() });
            if *body == progress() {
                sittings.progressed();
            }
        }
        sittings
    }

    fn question(first: Option<First>, deadline_ms: Option<u64>) -> (OpenQuestion, Option<First>) {
        let question = Question {
            kind: QuestionKind::Limit,
            text: "?".into(),
            options: Vec::new(),
            default: Choice::Done,
            deadline_ms,
            acts: 0,
        };
        let key = Key { part: Part::root(), slot: slot() };
        (OpenQuestion { key, at: at(1), question, phase: None, categories: Default::default(), said: None }, first)
    }

    fn answered() -> First {
        First::Answer(Answer {
            key: Key { part: Part::root(), slot: slot() },
            kind: QuestionKind::Limit,
            choice: Choice::Extend,
            text: Some("3".into()),
            by: "operator".into(),
            whence: "inbox".into(),
            at: at(2),
            id: "x".into(),
        })
    }

    #[test]
    fn what_a_worker_makes_of_a_run() {
        let closed = First::Closed {
            key: Key { part: Part::root(), slot: slot() },
            kind: QuestionKind::Limit,
            why: Closing::Withdrawn,
            at: at(2),
        };
        let thrice = || vec![started(), progress(), resumed(), resumed(), resumed()];
        let with = |mut bodies: Vec<Body>, more: Body| {
            bodies.push(more);
            bodies
        };
        use LetGo::{Itself, Killed};
        use Outlook::{Fruitless, GoesOn, NotBegun, Paused, Sleeps, Waits};
        let none = || Vec::new();
        for (name, bodies, questions, let_go, expected) in [
            ("nothing is on record", vec![], none(), Killed, NotBegun),
            ("killed at work", vec![started(), progress()], none(), Killed, GoesOn),
            ("its driver failed", vec![started(), progress()], none(), Itself, GoesOn),
            ("killed before anything", vec![started()], none(), Killed, GoesOn),
            ("it asks", vec![started()], vec![question(None, None)], Itself, Waits),
            ("killed while it asked", vec![started()], vec![question(None, None)], Killed, GoesOn),
            ("let go while it asked", vec![started()], vec![question(None, None)], Itself, Waits),
            ("not due yet", vec![started()], vec![question(None, Some(60_000))], Itself, Waits),
            ("due", vec![started()], vec![question(None, Some(1_000))], Itself, GoesOn),
            ("closed", vec![started()], vec![question(Some(closed), None)], Itself, Waits),
            ("it waits for a provider", vec![started(), timer(60_000)], none(), Itself, Sleeps { until: at(61) }),
            ("killed meanwhile", vec![started(), timer(60_000)], none(), Killed, Sleeps { until: at(61) }),
            ("the wait is over", vec![started(), timer(9_000)], none(), Itself, GoesOn),
            ("it was seen to be over", vec![started(), timer(9_000), expired()], none(), Killed, GoesOn),
            ("it asks meanwhile", vec![started(), timer(60_000)], vec![question(None, None)], Itself, Waits),
            (
                "nobody answered until it was over",
                vec![started(), timer(9_000)],
                vec![question(None, None)],
                Itself,
                GoesOn,
            ),
            (
                "an answer came meanwhile",
                vec![started(), timer(60_000)],
                vec![question(Some(answered()), None)],
                Itself,
                GoesOn,
            ),
            ("paused meanwhile", vec![started(), timer(9_000), interrupted("operator")], none(), Itself, Paused),
            ("answered", vec![started()], vec![question(Some(answered()), None)], Itself, GoesOn),
            ("paused", vec![started(), interrupted("operator")], none(), Itself, Paused),
            (
                "paused and answered",
                vec![started(), interrupted("operator")],
                vec![question(Some(answered()), None)],
                Itself,
                Paused,
            ),
            ("paused and due", vec![started(), interrupted("operator")], vec![question(None, Some(1))], Itself, Paused),
            ("resumed since, and killed", vec![started(), interrupted("operator"), resumed()], none(), Killed, GoesOn),
            ("the worker ended", vec![started(), interrupted(WORKER)], none(), Itself, GoesOn),
            (
                "an operator and then a worker",
                vec![started(), interrupted("operator"), interrupted(WORKER)],
                none(),
                Itself,
                Paused,
            ),
            ("twice", vec![started(), resumed(), resumed()], none(), Killed, GoesOn),
            ("three times", thrice(), none(), Killed, Fruitless { times: 3 }),
            ("three times, and its driver failed", thrice(), none(), Itself, Fruitless { times: 3 }),
            ("progress at last", with(thrice(), progress()), none(), Killed, GoesOn),
            ("the worker ended at last", with(thrice(), interrupted(WORKER)), none(), Itself, GoesOn),
            ("a fourth time", with(thrice(), resumed()), none(), Killed, Fruitless { times: 4 }),
            ("looked at three times", thrice(), vec![question(Some(answered()), None)], Itself, GoesOn),
            ("killed by its answer", thrice(), vec![question(Some(answered()), None)], Killed, Fruitless { times: 3 }),
        ] {
            assert_eq!(sittings(&bodies).outlook(&questions, &[], let_go, at(10)), expected, "{name}");
        }
    }

    #[test]
    fn a_pause_that_nobody_heard_holds_until_somebody_resumes() {
        let said = |second| Said {
            id: "m".into(),
            by: "operator".into(),
            whence: "inbox".into(),
            at: at(second),
            to: Part::root(),
            message: Message::Interrupt,
        };
        let outlook = |bodies: &[Body], second| sittings(bodies).outlook(&[], &[said(second)], LetGo::Killed, at(10));
        assert_eq!(outlook(&[started(), progress()], 5), Outlook::Paused);
        assert_eq!(outlook(&[started(), resumed()], 0), Outlook::GoesOn);
        assert_eq!(outlook(&[started(), resumed()], 1), Outlook::Paused);
        // To its end, whatever it waits for.
        let stop = Said { message: Message::Stop, ..said(5) };
        let waits = [started(), timer(60_000)];
        for (bodies, questions) in [(&waits[..], vec![]), (&waits[..1], vec![question(None, None)])] {
            let said = [stop.clone(), said(6)];
            assert_eq!(sittings(bodies).outlook(&questions, &said, LetGo::Itself, at(10)), Outlook::GoesOn);
        }
        let thrice = [started(), resumed(), resumed(), resumed()];
        let left = sittings(&thrice).outlook(&[], &[stop], LetGo::Killed, at(10));
        assert_eq!(left, Outlook::Fruitless { times: 3 }, "what ends its driver each time is left all the same");
        let steer = Said { message: Message::Steer("x".into()), ..said(5) };
        assert_eq!(sittings(&[started()]).outlook(&[], &[steer], LetGo::Killed, at(10)), Outlook::GoesOn);
    }

    #[test]
    fn the_types_that_matter_are_named() {
        let (needed, progressed) = (Sittings::NEEDED, Sittings::PROGRESS);
        for (body, among) in [
            (started(), needed),
            (resumed(), needed),
            (interrupted("operator"), needed),
            (timer(1), needed),
            (expired(), needed),
            (Body::Ask(AskEvent::Withdrawn { slot: slot() }), needed),
            (progress(), progressed),
            (Body::Ask(AskEvent::Expired { slot: slot() }), progressed),
            (Body::Ask(AskEvent::Question { slot: slot(), question: question(None, None).0.question }), progressed),
        ] {
            assert!(among.contains(&body.kind()), "{body:?}");
        }
    }
}
