//! Re-decides a journal with today's rules and says where they would have decided otherwise.
//!
//! In: the events, and a run made with the rules to try. Out: the differences. What was recorded
//! stays what happened: each event is applied as it stands, so that one difference does not hide or
//! invent the next. A turn is read once, as a whole: it differs or it doesn't.

use serde::Serialize;
use serde_json::Value;

use super::{Decider, HasSessions};
use crate::procedure::run::Run;
use crate::procedure::{Next, On};
use crate::trace::{
    AskEvent, Body, BudgetEvent, CallEvent, Entry, Event, GateEvent, HostEvent, LearnedEvent, PartEvent, RunEvent,
    TurnEvent,
};
use crate::words::GateAnswer;

/// One decision that would be another one today.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drift {
    /// The number of the event that records it.
    pub seq: u64,
    /// The part it belongs to.
    pub part: String,
    /// The turn, if it is a reading of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// Recorded decision.
    pub recorded: String,
    /// Today's decision.
    pub today: String,
}

/// Result of re-deciding a journal.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ReplayReport {
    /// Number of decisions that were compared.
    pub decisions: u64,
    /// Number of turns that were read again.
    pub turns: u64,
    /// The differences, in the order of the journal.
    pub drift: Vec<Drift>,
}

/// Re-decides `events` with `run`, which must be fresh. A turn is read by what its session may do at that point.
pub fn replay<P: HasSessions>(events: &[Event], run: Run<P>) -> ReplayReport {
    replay_changed(events, run, |_| {})
}

/// Re-decides `events` as [`replay`] does, after `change` was made to today's reading of each turn: the detectors that
/// fire on it, with what they see. For what a change of a detector would do.
pub fn replay_changed<P: HasSessions>(
    events: &[Event],
    mut run: Run<P>,
    change: impl Fn(&mut Vec<(String, Value)>),
) -> ReplayReport {
    let mut report = ReplayReport::default();
    for event in events {
        match &event.body {
            Body::Turn(TurnEvent::TurnRead { turn, .. }) => {
                report.decisions += 1;
                report.turns += 1;
                let session = run.session_at(&event.part);
                let recorded = session.as_ref().and_then(Decider::turn_on_record).map_or(&[][..], |(_, fired)| fired);
                let reading = session.as_ref().and_then(Decider::read_again);
                let fired = reading.iter().flat_map(|reading| reading.fired());
                let mut today = fired.map(|(detector, payload)| (detector.name().to_owned(), payload)).collect();
                change(&mut today);
                if today != recorded {
                    report.drift.push(drift(
                        event,
                        Some(*turn),
                        described_readings(recorded),
                        described_readings(&today),
                    ));
                }
            }
            // Parts of a turn's reading, which is compared as a whole.
            Body::Learned(LearnedEvent::LearnedSensitivityConsulted { .. })
            | Body::Turn(TurnEvent::DetectorFired { .. })
            | Body::Host(HostEvent::Warning { .. }) => {}
            body if body.is_decision() => {
                report.decisions += 1;
                compare(event, run.next(), &mut report);
            }
            body if body.intent().is_some() => {
                report.decisions += 1;
                compare_intent(event, run.next(), &mut report);
            }
            _ => {}
        }
        run.apply(event);
    }
    report
}

fn compare(event: &Event, next: Next, report: &mut ReplayReport) {
    let recorded = Entry { part: event.part.clone(), body: event.body.clone() };
    match next {
        Next::Record(today) if same(&today, &recorded) => {}
        // The end of a part may have waited for what was still in flight under it.
        other => report.drift.push(drift(event, None, decision(&recorded.body), described(&other))),
    }
}

fn compare_intent(event: &Event, next: Next, report: &mut ReplayReport) {
    let slot = event.body.intent();
    let wanted = match &next {
        Next::Want(wants) => wants.iter().any(|want| want.key.part == event.part && Some(&want.key.slot) == slot),
        Next::Record(_) | Next::Wait(_) | Next::Done(_) => false,
    };
    if !wanted {
        report.drift.push(drift(event, None, decision(&event.body), described(&next)));
    }
}

fn drift(event: &Event, turn: Option<u32>, recorded: String, today: String) -> Drift {
    Drift { seq: event.seq, part: event.part.to_string(), turn, recorded, today }
}

/// Returns true if two decisions are the same: wording may change from version to version, the decision may not.
fn same(today: &Entry, recorded: &Entry) -> bool {
    today.part == recorded.part && decision(&today.body) == decision(&recorded.body)
}

/// Describes a decision in a line: without the wording and without times.
fn decision(body: &Body) -> String {
    match body {
        Body::Turn(TurnEvent::Message { kind, phase, step, .. }) => {
            format!("message {kind:?} in {} (step {step})", phase.as_str())
        }
        Body::Part(PartEvent::PhaseEnter { phase, .. }) => format!("enter {}", phase.as_str()),
        Body::Part(PartEvent::PhaseExit { phase, to, .. }) => {
            format!("leave {} for {}", phase.as_str(), to.map_or("?", crate::words::PhaseName::as_str))
        }
        Body::Gate(GateEvent::AuthCheckFired { tool, decision, answer, missing, call, .. }) => {
            let answer = GateAnswer::on_record(*answer, decision).as_str();
            let call = call.map(|number| format!(" (call {number})")).unwrap_or_default();
            format!("{answer} {tool}{call}, missing [{}]", missing.join(", "))
        }
        Body::Gate(GateEvent::AuthPrompt { categories, response, .. }) => {
            format!("answer {} for [{}]", response.as_str(), categories.join(", "))
        }
        Body::Call(CallEvent::ToolRejected { call, name, rejection, .. }) => {
            format!("reject {name} (call {call}): {rejection:?}")
        }
        Body::Budget(BudgetEvent::BudgetHalt { metric, used, limit, .. }) => {
            format!("halt at {used} of {limit} {}", metric.as_str())
        }
        Body::Part(PartEvent::PhaseDrift { turn, declared, .. }) => {
            format!("drift to {} in turn {turn}", declared.as_str())
        }
        Body::Part(PartEvent::PartEnd { outcome }) | Body::Run(RunEvent::RunEnd { outcome }) => {
            format!("end {outcome:?}")
        }
        // Journals of before the contract was on record have none.
        Body::Part(PartEvent::PartStart { kind, .. }) => format!("start a {}", kind.as_str()),
        Body::Part(PartEvent::ModeSet { mode }) => format!("mode {mode}"),
        Body::Ask(AskEvent::Question { slot, question }) => format!("ask {} ({slot})", question.kind.as_str()),
        Body::Call(CallEvent::ToolCall { slot, name, .. }) => format!("call {name} ({slot})"),
        Body::Turn(TurnEvent::AgentRequest { slot, .. }) => format!("request {slot}"),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}

fn described(next: &Next) -> String {
    match next {
        Next::Record(entry) => decision(&entry.body),
        Next::Want(wants) if wants.is_empty() => "wait".to_owned(),
        Next::Want(wants) => {
            let wants: Vec<String> = wants.iter().map(|want| want.key.slot.to_string()).collect();
            format!("want {}", wants.join(", "))
        }
        Next::Wait(On::Part(part)) => format!("wait for {part}"),
        Next::Wait(On::Reservations) => "wait for what is reserved".to_owned(),
        Next::Done(outcome) => format!("done: {outcome:?}"),
    }
}

fn described_readings(readings: &[(String, Value)]) -> String {
    if readings.is_empty() {
        return "nothing fires".to_owned();
    }
    let names: Vec<String> = readings.iter().map(|(name, payload)| format!("{name} {payload}")).collect();
    names.join("; ")
}
