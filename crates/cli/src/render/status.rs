//! The line that says what a run is doing, also while nothing comes: phase, step, what is in flight and for how long,
//! tokens and cost so far, keys.
//!
//! In: events, and the ledger of the run when the sitting begins. Out: a text that fits a line. Knows no terminal.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use adjutant_core::budget::Spending;
use adjutant_core::trace::{Body, CallEvent, Event, PartEvent, TurnEvent};
use adjutant_core::words::price::sum_rounded;
use adjutant_core::words::visible::visible_line;
use adjutant_core::words::{Key, Metric, PhaseName};

use super::call;
use super::wrap::head_of;
use crate::totals::{duration, grouped};

/// The most columns of what is in flight, so that a long command leaves room for the rest.
const SUBJECT_COLUMNS_MAX: usize = 30;

/// The columns of it that are left where the rest needs the room.
const SUBJECT_COLUMNS_MIN: usize = 14;

/// State of a run, as far as a line has it.
#[derive(Debug)]
pub(super) struct RunStatus {
    phase: Option<PhaseName>,
    /// The step, from 1; 0 before the first.
    step: u32,
    spending: Spending,
    /// Work in flight: its beginning, and a description.
    in_flight: BTreeMap<Key, (Instant, String)>,
    /// True if what is in flight was asked to end.
    is_ending: bool,
    began: Instant,
}

impl RunStatus {
    pub(super) fn new(now: Instant) -> Self {
        let (spending, in_flight) = (Spending::default(), BTreeMap::new());
        Self { phase: None, step: 0, spending, in_flight, is_ending: false, began: now }
    }

    /// Returns the phase of the session that entered one last.
    pub(super) fn phase(&self) -> Option<PhaseName> {
        self.phase
    }

    /// Takes over what the run took so far.
    pub(super) fn seed(&mut self, spending: Spending) {
        self.spending = spending;
    }

    /// Returns what the run took so far.
    pub(super) fn spending(&self) -> &Spending {
        &self.spending
    }

    /// Takes note that what is in flight was asked to end.
    pub(super) fn note_ending(&mut self) {
        self.is_ending = !self.in_flight.is_empty();
    }

    /// Takes note of an event.
    pub(super) fn apply(&mut self, event: &Event, now: Instant) {
        self.spending.apply(event);
        let begun = match &event.body {
            Body::Part(PartEvent::PhaseEnter { phase, .. }) => {
                self.phase = Some(*phase);
                None
            }
            Body::Turn(TurnEvent::Message { step, .. }) => {
                self.step = *step;
                None
            }
            Body::Turn(TurnEvent::AgentRequest { slot, .. }) => Some((slot, format!("turn {}", slot.number))),
            Body::Call(CallEvent::ToolCall { slot, name, args, .. }) => Some((slot, call::subject(name, args))),
            _ => None,
        };
        let key = |slot| Key { part: event.part.clone(), slot };
        if let Some((slot, what)) = begun {
            self.in_flight.insert(key(*slot), (now, what));
        }
        if let Some(slot) = event.body.outcome() {
            self.in_flight.remove(&key(*slot));
            self.is_ending &= !self.in_flight.is_empty();
        }
    }

    /// Returns the line at `now` in so many columns; `None` if nothing is in flight.
    ///
    /// Where there is no room for all of it, the least important goes first: `/help`, the time in all, most of a long name,
    /// and the tokens if there is a cost. What still has no room is left out from the end.
    pub(super) fn line(&self, now: Instant, columns: usize) -> Option<String> {
        let (since, what) = self.in_flight.values().min_by_key(|(since, _)| *since)?;
        let since_ms = |since: &Instant| millis(now.saturating_duration_since(*since));
        let others = match self.in_flight.len() {
            0 | 1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        let subject = |columns_max: usize| {
            let short = head_of(what, columns_max);
            let cut = if short.len() < what.len() { "\u{2026}" } else { "" };
            format!("{}{cut}{others} {}", visible_line(short.trim_end()), duration(since_ms(since)))
        };
        let phase = self.phase.map(|phase| match self.step {
            0 => phase.said().to_owned(),
            step => format!("{}, step {step}", phase.said()),
        });
        let in_all = format!("{} in all", duration(since_ms(&self.began)));
        let tokens = self.spending.spent(Metric::Tokens).saturating_add(self.spending.cache_reads());
        let nano_dollars = self.spending.spent(Metric::Money);
        let guessed = if self.spending.has_guesses() { "~" } else { "" };
        let tokens = (tokens > 0).then(|| format!("{guessed}{} tokens", grouped(tokens)));
        let cost = (nano_dollars > 0).then(|| {
            let is_rough = self.spending.is_bound() || self.spending.is_estimate(Metric::Money);
            let about = if is_rough { "~" } else { "" };
            format!("{about}${}", sum_rounded(nano_dollars))
        });
        let keys = if self.is_ending { "cancelling" } else { "Ctrl-C cancels" };
        let (keys, help) = (Some(keys.to_owned()), Some("/help".to_owned()));
        let (long, short) = (Some(subject(SUBJECT_COLUMNS_MAX)), Some(subject(SUBJECT_COLUMNS_MIN)));
        let few_tokens = tokens.clone().filter(|_| cost.is_none());
        let in_all = Some(in_all);
        let forms = [
            vec![&phase, &long, &in_all, &tokens, &cost, &keys, &help],
            vec![&phase, &long, &in_all, &tokens, &cost, &keys],
            vec![&phase, &long, &tokens, &cost, &keys],
            vec![&phase, &short, &tokens, &cost, &keys],
            vec![&phase, &short, &few_tokens, &cost, &keys],
        ];
        let lines: Vec<Vec<&String>> = forms.into_iter().map(|form| form.into_iter().flatten().collect()).collect();
        let found = lines.iter().find_map(|parts| {
            let (line, is_whole) = joined(parts, columns);
            is_whole.then_some(line)
        });
        found.or_else(|| Some(joined(lines.last()?, columns).0))
    }
}

/// Returns as many of the parts as a line of so many columns holds, and whether that is all of them.
fn joined(parts: &[&String], columns: usize) -> (String, bool) {
    let mut line = "\u{2026}".to_owned();
    for (number, part) in parts.iter().enumerate() {
        let between = if number == 0 { " " } else { " \u{b7} " };
        let longer = format!("{line}{between}{part}");
        if head_of(&longer, columns).len() < longer.len() {
            return (line, false);
        }
        line = longer;
    }
    (line, true)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use adjutant_core::trace::Entry;
    use adjutant_core::words::{MessageKind, MessageRole, Part, Slot, What};
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    fn apply(status: &mut RunStatus, body: Body, now: Instant) {
        let part = Part::root().child("session");
        status.apply(&Entry { part, body }.at(0, Timestamp::UNIX_EPOCH), now);
    }

    fn request(number: u32) -> Body {
        Body::Turn(TurnEvent::AgentRequest {
            slot: Slot::first(What::Turn, number),
            messages: (0, 1),
            tools: 0,
            no_calls: false,
            agent: 0,
            input_tokens: 900,
            output_max: 100,
            hash: None,
        })
    }

    fn at_work() -> (RunStatus, Instant) {
        let began = Instant::now();
        let mut status = RunStatus::new(began);
        assert_eq!(status.line(began, 80), None);
        let (role, kind, phase) = (MessageRole::User, MessageKind::KickOff, PhaseName::Execute);
        apply(&mut status, Body::Part(PartEvent::PhaseEnter { phase, reason: None }), began);
        let text = String::new();
        apply(&mut status, Body::Turn(TurnEvent::Message { role, kind, phase, step: 3, text }), began);
        (status, began)
    }

    #[test]
    fn the_line_says_what_is_in_flight_for_how_long_and_what_it_took() {
        let (mut status, began) = at_work();
        apply(&mut status, request(7), began + Duration::from_secs(53));
        let now = began + Duration::from_secs(65);
        let line =
            "\u{2026} execute, step 3 \u{b7} turn 7 12 s \u{b7} 1 m 5 s in all \u{b7} Ctrl-C cancels \u{b7} /help";
        assert_eq!(status.line(now, 80).as_deref(), Some(line));
        assert_eq!(status.line(now, 40).as_deref(), Some("\u{2026} execute, step 3 \u{b7} turn 7 12 s"));
        let slot = Slot::first(What::Turn, 7);
        let failed = TurnEvent::AgentFailed {
            slot,
            kind: adjutant_core::words::FailureKind::Unreadable,
            message: String::new(),
            retry_after_ms: None,
            received: 400,
            output_max: None,
        };
        apply(&mut status, Body::Turn(failed), now);
        assert_eq!(status.line(now, 80), None);
        apply(&mut status, request(8), now);
        let line = status.line(now, 80).expect("a line");
        assert!(line.ends_with(" turn 8 0.0 s \u{b7} ~1,000 tokens \u{b7} Ctrl-C cancels"), "{line}");
    }

    #[test]
    fn of_several_things_the_oldest_is_named_and_no_command_takes_the_whole_line() {
        let (mut status, began) = at_work();
        let call = |number: u32, cmd: &str| {
            Body::Call(CallEvent::ToolCall {
                slot: Slot::first(What::Call, number),
                call_id: number.to_string(),
                name: "shell_exec".to_owned(),
                args: json!({"cmd": cmd}),
                auth_decision: "allow".to_owned(),
                changes: Vec::new(),
                network: false,
                workspace: None,
            })
        };
        apply(&mut status, call(1, &format!("printf '\u{1b}[2J' {}", "x".repeat(90))), began);
        apply(&mut status, call(2, "true"), began + Duration::from_secs(1));
        let line = |columns| status.line(began + Duration::from_secs(2), columns).expect("a line");
        let expected = "\u{2026} execute, step 3 \u{b7} shell_exec printf '\\u{1b}[2J'\u{2026} and 1 more 2.0 s \u{b7} 2.0 s in all";
        assert!(line(110).starts_with(expected), "{}", line(110));
        // The keys are worth more than the whole of a name that stands above.
        let short = "\u{2026} execute, step 3 \u{b7} shell_exec pri\u{2026} and 1 more 2.0 s \u{b7} Ctrl-C cancels";
        assert_eq!(line(70), short);
    }
}
