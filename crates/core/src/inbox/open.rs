//! The questions of one run that are open, with what an operator must know to answer them without its terminal.
//!
//! In: the events of a journal; those of [`OpenQuestions::NEEDED`] are enough. Out: the questions, each with the
//! phase it came up in, the categories that are in question, and its deadline.
//!
//! Begin with [`OpenQuestions`].

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::trace::{AskEvent, Body, Event, EventKind, GateEvent, PartEvent, RunEvent, TurnEvent};
use crate::words::id::RunId;
use crate::words::{GateAnswer, Key, Part, PhaseName, Question, QuestionKind};

/// The fewest digits of a question's short name: some million values.
const SHORT_CHARS_MIN: usize = 5;

/// Facts of a run that bear on its questions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpenQuestions {
    /// The project; `None` until the run's start is on record.
    pub project: Option<String>,
    /// The brief's text; empty until the run's start is on record.
    pub brief: String,
    /// True if the run is over.
    pub has_ended: bool,
    open: BTreeMap<Key, OpenQuestion>,
    phases: BTreeMap<Part, PhaseName>,
    /// Categories that the gate has asked about since the last answer, by part.
    missing: BTreeMap<Part, BTreeSet<String>>,
    /// Last words of an agent, by part.
    said: BTreeMap<Part, String>,
}

/// One question that is open.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenQuestion {
    /// Place in the run.
    pub key: Key,
    /// Since when.
    pub at: Timestamp,
    /// The question.
    pub question: Question,
    /// The phase of its part when it was asked.
    pub phase: Option<PhaseName>,
    /// The categories that a yes would be for, as far as the journal has them.
    pub categories: BTreeSet<String>,
    /// Words of the agent that the question is about, if it is about any: the summary that is to be confirmed.
    pub said: Option<String>,
}

impl OpenQuestion {
    /// Returns the time at which it gets its default; `None` if never.
    ///
    /// Counted from the time it was asked, by the clock on the wall: a machine that slept is late, never early.
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        let length = SignedDuration::from_millis(i64::try_from(self.question.deadline_ms?).unwrap_or(i64::MAX));
        Some(self.at.saturating_add(length).unwrap_or(Timestamp::MAX))
    }

    /// Returns true if its deadline has passed at `now`.
    #[must_use]
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.deadline().is_some_and(|deadline| deadline <= now)
    }

    /// Returns the first line of the question.
    #[must_use]
    pub fn first_line(&self) -> &str {
        self.question.text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
    }
}

impl OpenQuestions {
    /// The types of events that matter here.
    pub const NEEDED: &[EventKind] = &[
        EventKind::TraceVersion,
        EventKind::RunStart,
        EventKind::RunEnd,
        EventKind::PhaseEnter,
        EventKind::Question,
        EventKind::Answer,
        EventKind::Expired,
        EventKind::Withdrawn,
        EventKind::AuthCheckFired,
        EventKind::PermissionRequested,
        EventKind::DetectorFired,
        EventKind::AgentReply,
    ];

    /// Takes note of an event.
    pub fn apply(&mut self, event: Event) {
        let part = event.part;
        if let Some(slot) = event.body.outcome()
            && self.open.remove(&Key { part: part.clone(), slot: *slot }).is_some()
        {
            self.missing.remove(&part);
        }
        match event.body {
            Body::Run(RunEvent::RunStart(start)) => {
                self.project = Some(start.project);
                self.brief = start.brief;
            }
            Body::Run(RunEvent::RunEnd { .. }) => self.has_ended = true,
            Body::Part(PartEvent::PhaseEnter { phase, .. }) => {
                self.phases.insert(part, phase);
            }
            Body::Gate(GateEvent::AuthCheckFired { answer: Some(GateAnswer::Ask), layer, missing, .. }) => {
                // What is asked about for another reason than a category is told by the layer that asks.
                let why = if missing.is_empty() { vec![layer.as_str().to_owned()] } else { missing };
                self.missing.entry(part).or_default().extend(why);
            }
            Body::Gate(GateEvent::PermissionRequested { categories, .. }) => {
                self.missing.insert(part, categories.into_iter().collect());
            }
            Body::Turn(TurnEvent::DetectorFired { detector, payload, .. }) if detector == "destructive" => {
                self.missing.entry(part).or_default().extend(announced(&payload));
            }
            Body::Turn(TurnEvent::AgentReply { text, .. }) => {
                self.said.insert(part, text);
            }
            Body::Ask(AskEvent::Question { slot, question }) => {
                let is_about_words = question.kind == QuestionKind::Confirmation;
                let said = is_about_words.then(|| self.said.get(&part).cloned()).flatten();
                let categories = self.missing.get(&part).cloned().unwrap_or_default();
                let phase = self.phases.get(&part).copied();
                let key = Key { part, slot };
                self.open.insert(key.clone(), OpenQuestion { key, at: event.at, question, phase, categories, said });
            }
            _ => {}
        }
    }

    /// Returns the open questions, in the order of their keys; empty once the run is over.
    pub fn open(&self) -> impl Iterator<Item = &OpenQuestion> {
        self.open.values().filter(|_| !self.has_ended)
    }
}

/// Returns the categories that a turn announced without being authorized, by the payload of its detector.
#[must_use]
pub fn announced(payload: &Value) -> Vec<String> {
    let acts = match payload.get("actions").and_then(Value::as_array) {
        Some(acts) => acts.iter().collect(),
        None => vec![payload],
    };
    let open = acts.into_iter().filter(|act| act.get("authorized") != Some(&Value::Bool(true)));
    open.filter_map(|act| act.get("action").and_then(Value::as_str).map(str::to_owned)).collect()
}

/// Returns the name of a question among those of all runs.
#[must_use]
pub fn question_id(run_id: &RunId, key: &Key) -> String {
    format!("{run_id}:{key}")
}

/// Returns a short name for each of `ids`, by which no other of them is known, and which stays the same when others
/// come or go: the beginning of a hash.
#[must_use]
pub fn short_names<'a>(ids: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let hashes: Vec<String> = ids.into_iter().map(|id| blake3::hash(id.as_bytes()).to_hex().to_string()).collect();
    // In order, neighbours share the longest beginnings.
    let mut order: Vec<usize> = (0..hashes.len()).collect();
    order.sort_by(|a, b| hashes[*a].cmp(&hashes[*b]));
    let mut names = vec![String::new(); hashes.len()];
    for (place, index) in order.iter().enumerate() {
        let neighbours = [place.checked_sub(1), Some(place + 1)].into_iter().flatten();
        let others = neighbours.filter_map(|place| order.get(place)).map(|other| &hashes[*other]);
        let common = |other: &String| other.bytes().zip(hashes[*index].bytes()).take_while(|(a, b)| a == b).count();
        let chars = others.map(|other| common(other) + 1).max().unwrap_or(0).max(SHORT_CHARS_MIN);
        names[*index] = hashes[*index][..chars.min(hashes[*index].len())].to_owned();
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::{Choice, Layer, QuestionKind, Slot, What};
    use serde_json::json;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("a time")
    }

    fn question(number: u32, deadline_ms: Option<u64>) -> Body {
        let question = Question {
            kind: QuestionKind::Destructive,
            text: "\n May it?\nmore".into(),
            options: Vec::new(),
            default: Choice::Deny,
            deadline_ms,
            acts: 0,
        };
        Body::Ask(AskEvent::Question { slot: Slot::first(What::Ask, number), question })
    }

    fn asked(tool: &str, missing: &[&str]) -> Body {
        Body::Gate(GateEvent::AuthCheckFired {
            layer: Layer::Default,
            tool: tool.into(),
            decision: "deny".into(),
            reason: String::new(),
            answer: Some(GateAnswer::Ask),
            call: Some(1),
            missing: missing.iter().map(|name| (*name).to_owned()).collect(),
            would_allow: None,
            untrusted: false,
            after_untrusted: Vec::new(),
        })
    }

    fn fold(bodies: Vec<(i64, Body)>) -> OpenQuestions {
        let mut fold = OpenQuestions::default();
        for (seq, (second, body)) in (0..).zip(bodies) {
            fold.apply(Event { seq, at: at(second), part: Part::root().child("session"), body });
        }
        fold
    }

    #[test]
    fn a_question_has_what_the_gate_asked_about_since_the_answer_before() {
        let expired = Body::Ask(AskEvent::Expired { slot: Slot::first(What::Ask, 1) });
        let acts =
            json!({"actions": [{"action": "git_push", "authorized": false}, {"action": "x", "authorized": true}]});
        let found = fold(vec![
            (0, Body::Part(PartEvent::PhaseEnter { phase: PhaseName::Execute, reason: None })),
            (1, asked("shell_exec", &["filesystem_delete"])),
            (2, question(1, None)),
            (3, expired),
            (4, Body::Turn(TurnEvent::DetectorFired { detector: "destructive".into(), payload: acts, turn: None })),
            (5, question(2, None)),
        ]);
        let open: Vec<_> = found.open().collect();
        assert_eq!(open.len(), 1);
        assert_eq!((open[0].at, open[0].phase, open[0].first_line()), (at(5), Some(PhaseName::Execute), "May it?"));
        assert_eq!(open[0].categories, BTreeSet::from(["git_push".to_owned()]));
        assert_eq!(question_id(&"a-r2".parse().expect("a name"), &open[0].key), "a-r2:session:ask/2.1");
    }

    #[test]
    fn a_summary_that_is_to_be_confirmed_is_shown_with_the_question() {
        let reply = |text: &str| {
            Body::Turn(TurnEvent::AgentReply {
                slot: Slot::first(What::Turn, 1),
                text: text.into(),
                thinking: String::new(),
                calls: Vec::new(),
                provider_data: None,
                usage: None,
                stop: crate::words::Stop::EndTurn,
                duration_ms: 1,
            })
        };
        let confirm = |number| match question(number, None) {
            Body::Ask(AskEvent::Question { slot, question }) => Body::Ask(AskEvent::Question {
                slot,
                question: Question { kind: QuestionKind::Confirmation, ..question },
            }),
            other => other,
        };
        let found = fold(vec![(0, reply("first")), (1, reply("the summary")), (2, confirm(1)), (3, question(2, None))]);
        let said: Vec<_> = found.open().map(|open| open.said.as_deref()).collect();
        assert_eq!(said, [Some("the summary"), None]);
    }

    #[test]
    fn a_deadline_is_counted_from_the_asking_and_a_clock_that_jumps_back_is_never_early() {
        let found = fold(vec![(100, question(1, Some(5_000))), (100, question(2, None))]);
        let due = |second| found.open().map(|open| open.is_due(at(second))).collect::<Vec<_>>();
        assert_eq!(due(104), [false, false]);
        assert_eq!(due(105), [true, false]);
        assert_eq!(due(-1_000_000), [false, false]);
        let beyond = fold(vec![(0, question(1, Some(u64::MAX)))]);
        assert!(beyond.open().all(|open| open.deadline() == Some(Timestamp::MAX)));
    }

    #[test]
    fn nothing_is_open_once_the_run_is_over() {
        let end = Body::Run(RunEvent::RunEnd { outcome: crate::words::Outcome::Stopped });
        assert_eq!(fold(vec![(0, question(1, None)), (1, end)]).open().count(), 0);
    }

    #[test]
    fn short_names_are_unique_and_stay_when_others_go() {
        let ids: Vec<String> = (0..3_000).map(|number| format!("run:session:ask/{number}.1")).collect();
        let names = short_names(ids.iter().map(String::as_str));
        let different: BTreeSet<&String> = names.iter().collect();
        assert_eq!(different.len(), ids.len());
        assert!(names.iter().all(|name| (5..=12).contains(&name.len())));
        for (id, name) in ids.iter().zip(&names).step_by(500) {
            let alone = short_names([id.as_str()]);
            assert!(name.starts_with(&alone[0]) && alone[0].len() == 5, "{name} {alone:?}");
        }
        assert!(short_names([]).is_empty());
    }
}
