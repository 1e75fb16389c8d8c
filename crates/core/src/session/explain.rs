//! Explains why a call was allowed, held or refused: derived from the journal, by today's rules, beside the recorded
//! decision.
//!
//! In: the events and the run, fresh. Out: for each time that the gate judged the call, the recorded decision and
//! today's decision at that moment, with every check's finding; the authority that could allow it; and the outcome of
//! the call.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::HasSessions;
use super::machine::Decider;
use super::state::Call;
use crate::gate::{Decision, Effect, Grant};
use crate::procedure::run::Run;
use crate::trace::{Body, CallEvent, Event, GateEvent, TurnEvent};
use crate::words::visible::visible_line;
use crate::words::{Category, GateAnswer, Layer, OperatorWord, Part};

/// Everything that bears on one call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The call's number in its part.
    pub call: u32,
    /// The part.
    pub part: String,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub args: Value,
    /// Effects that it would have, as it is read today.
    pub effects: Vec<Effect>,
    /// Each time that the gate judged it.
    pub judgements: Vec<Judgement>,
    /// Authority of the brief and the operator when it was last judged.
    pub authority: CallAuthority,
    /// Events of the call, in order.
    pub history: Vec<Happened>,
}

/// One judgement: what is on record, and what today's rules say at the same moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// The number of the event.
    pub seq: u64,
    /// Time of the judgement.
    pub at: Timestamp,
    /// Recorded decision.
    pub recorded: RecordedDecision,
    /// Today's decision; absent if the tool is not there any more.
    pub today: Option<Decision>,
    /// True if the two differ in what they answer, miss or rest on. Wording doesn't count.
    pub differs: bool,
}

/// A decision as the journal has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordedDecision {
    /// The gate's answer.
    pub answer: GateAnswer,
    /// The check that spoke.
    pub layer: Layer,
    /// Reason for the answer.
    pub reason: String,
    /// The categories that were missing.
    pub missing: Vec<String>,
    /// Change that would have allowed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_allow: Option<String>,
}

/// Authorizations, each by its source.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CallAuthority {
    /// The brief's `authorized_costs`.
    pub authorized_costs: Vec<Category>,
    /// Categories that were approved for the run.
    pub approved_for_run: Vec<Category>,
    /// The grants that held for calls such as this one.
    pub grants: Vec<Grant>,
    /// The role, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The brief's scope, each list with its name.
    pub scope: Vec<(String, Vec<String>)>,
    /// True if calls outside the scope are refused.
    pub scope_locked: bool,
    /// True if commands were switched off.
    pub shell_disabled: bool,
}

/// One thing that happened to the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Happened {
    /// The number of the event.
    pub seq: u64,
    /// The event, in a line.
    pub what: String,
}

/// Explains the call numbered `call` of the run; `None` if there is no such call. `run` must be fresh.
pub fn explain<P: HasSessions>(events: &[Event], mut run: Run<P>, call: u32) -> Option<Explanation> {
    let (part, number) = place(events, call)?;
    let mut explanation: Option<Explanation> = None;
    for event in events {
        let session = run.session_at(&part);
        if let (Some(explanation), Some(session)) = (&mut explanation, session) {
            let is_judged = matches!(&event.body, Body::Gate(GateEvent::AuthCheckFired { call: Some(call), .. }) if *call == number);
            let is_here = event.part == part;
            if is_here && is_judged {
                explanation.judgements.extend(session.judgement(event, number));
                explanation.authority = session.authority(number);
            }
            if is_here && let Some(what) = happened(&event.body, number) {
                explanation.history.push(Happened { seq: event.seq, what });
            }
        }
        run.apply(event);
        let session = run.session_at(&part);
        if explanation.is_none()
            && let Some(session) = session
            && let Some(call) = session.call(number)
        {
            explanation = Some(Explanation {
                call: number,
                part: session.part.to_string(),
                tool: call.call.name.clone(),
                args: call.call.args.clone(),
                effects: session.effects(&call.call),
                judgements: Vec::new(),
                authority: session.authority(number),
                history: vec![Happened { seq: event.seq, what: "the agent asked for it".to_owned() }],
            });
        }
    }
    explanation
}

/// A call of a run by all the names that it is shown under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedCall {
    /// Its number among the calls of the run, as `inspect --tools` has it.
    pub row: u32,
    /// Its part.
    pub part: Part,
    /// Its number in its part, as its slot has it.
    pub number: u32,
}

/// Returns the calls that `name` may mean: the number of a row, a slot (`call/5.1` or `call-5.1`, with its part before it
/// where the run has several), or the agent's own name for a call, which may come back.
#[must_use]
pub fn calls_named(events: &[Event], name: &str) -> Vec<NamedCall> {
    let mut found = Vec::new();
    let mut row = 0;
    let mut before: BTreeMap<&Part, u32> = BTreeMap::new();
    let as_number = name.parse().ok();
    let slot = slot_named(name);
    for event in events {
        let Body::Turn(TurnEvent::AgentReply { calls, .. }) = &event.body else { continue };
        let own = before.entry(&event.part).or_default();
        for call in calls {
            row += 1;
            *own += 1;
            let is_slot = slot.as_ref().is_some_and(|(part, number)| {
                number == own && (part.is_empty() || *part == event.part.as_str().replace('/', "-"))
            });
            // A number is a row, also where an agent names its calls by numbers.
            let is_meant = as_number.map_or_else(|| is_slot || call.call_id == name, |number: u32| number == row);
            if is_meant {
                found.push(NamedCall { row, part: event.part.clone(), number: *own });
            }
        }
    }
    found
}

/// Returns the part and the number of a call in the name of its slot; the part with dashes, empty if it is left out.
fn slot_named(name: &str) -> Option<(String, u32)> {
    let name = name.replace('/', "-");
    let (part, slot) = name.rsplit_once("call-")?;
    let number = slot.split_once('.').map_or(slot, |(number, _)| number);
    Some((part.trim_end_matches('-').to_owned(), number.parse().ok()?))
}

/// Returns the part that the call numbered `call` of the run belongs to, and its number there.
fn place(events: &[Event], call: u32) -> Option<(Part, u32)> {
    let mut left = usize::try_from(call).ok()?;
    let mut before: BTreeMap<&Part, usize> = BTreeMap::new();
    for event in events {
        let Body::Turn(TurnEvent::AgentReply { calls, .. }) = &event.body else { continue };
        let own = before.entry(&event.part).or_default();
        if left <= calls.len() {
            return Some((event.part.clone(), u32::try_from(*own + left).ok()?));
        }
        left -= calls.len();
        *own += calls.len();
    }
    None
}

impl Decider<'_> {
    fn call(&self, number: u32) -> Option<&Call> {
        self.state.taken().and_then(|taken| taken.calls.iter().find(|call| call.number == number))
    }

    fn judgement(&self, event: &Event, number: u32) -> Option<Judgement> {
        let Body::Gate(GateEvent::AuthCheckFired { layer, decision, reason, answer, missing, would_allow, .. }) =
            &event.body
        else {
            return None;
        };
        let call = self.call(number)?;
        let today = self.tool(&call.call.name).map(|tool| self.decision_at(call, tool, event.at));
        let recorded = RecordedDecision {
            answer: GateAnswer::on_record(*answer, decision),
            layer: *layer,
            reason: reason.clone(),
            missing: missing.clone(),
            would_allow: would_allow.clone(),
        };
        let is_same = |today: &Decision| {
            today.answer == recorded.answer
                && today.layer == recorded.layer
                && today.missing.iter().map(Category::as_str).eq(recorded.missing.iter().map(String::as_str))
        };
        let differs = !today.as_ref().is_some_and(is_same);
        Some(Judgement { seq: event.seq, at: event.at, recorded, today, differs })
    }

    fn authority(&self, number: u32) -> CallAuthority {
        let setup = &self.setup;
        let lists = setup.scope.words().lists();
        CallAuthority {
            authorized_costs: self.authorized().into_owned(),
            approved_for_run: self.approved().into_owned(),
            grants: self.call(number).map(|call| self.grants_of(call)).unwrap_or_default(),
            role: setup.role.as_ref().map(|role| role.name.clone()),
            scope: lists.map(|(name, list)| (name.to_owned(), list.to_vec())).collect(),
            scope_locked: setup.scope_locked,
            shell_disabled: setup.shell_disabled,
        }
    }
}

/// Describes an event of the call, in a line; judgements are told apart.
fn happened(body: &Body, number: u32) -> Option<String> {
    Some(match body {
        Body::Gate(GateEvent::AuthPrompt { denied, notes, .. }) if denied.contains(&number) => {
            let note = notes.get(&number).map(|note| format!(": {}", visible_line(note))).unwrap_or_default();
            format!("the operator said no, and yes to others{note}")
        }
        Body::Gate(GateEvent::AuthPrompt { again, .. }) if again.contains(&number) => {
            "the operator said yes, and to the same act again for the rest of the run".to_owned()
        }
        Body::Gate(GateEvent::AuthPrompt { response, calls, .. }) if calls.contains(&number) => match response {
            OperatorWord::ForRun => "the operator said yes, for the rest of the run".to_owned(),
            OperatorWord::Once => "the operator said yes, this once".to_owned(),
            OperatorWord::No => "the operator said no".to_owned(),
        },
        Body::Gate(GateEvent::PermissionRequested { grant_id, call, .. }) if *call == number => {
            format!("a permission was asked for: {grant_id}")
        }
        Body::Gate(GateEvent::PermissionGranted { grant_id, scope_granted, call, .. }) if *call == number => {
            format!("it was granted {}: {grant_id}", scope_granted.in_words())
        }
        Body::Gate(GateEvent::PermissionDenied { grant_id, call, .. }) if *call == number => {
            format!("it was denied: {grant_id}")
        }
        Body::Gate(GateEvent::PermissionGrantConsumed { grant_id, call, .. }) if *call == number => {
            format!("it used the grant {grant_id}")
        }
        Body::Call(CallEvent::ToolCall { slot, .. }) if slot.number == number => "it began".to_owned(),
        Body::Call(CallEvent::ToolResult { slot, success, code, .. }) if is_call(slot, number) => match (success, code)
        {
            (true, _) => "it worked".to_owned(),
            (false, Some(code)) => format!("it failed: {code}"),
            (false, None) => "it failed".to_owned(),
        },
        Body::Call(CallEvent::ToolCancelled { slot, .. }) if is_call(slot, number) => "it was cancelled".to_owned(),
        Body::Call(CallEvent::Interrupted { slot, .. }) if is_call(slot, number) => "it was interrupted".to_owned(),
        Body::Call(CallEvent::ToolRejected { call, rejection, .. }) if *call == number => {
            let rejection = serde_json::to_value(rejection).unwrap_or_default();
            format!("it was not carried out: {}", rejection.as_str().unwrap_or_default())
        }
        _ => return None,
    })
}

fn is_call(slot: &crate::words::Slot, number: u32) -> bool {
    slot.what == crate::words::What::Call && slot.number == number
}
