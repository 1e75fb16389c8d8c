//! What must hold of every run, whatever becomes of its drivers: one function for each, checked after each driver.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use adjutant_core::procedure::run::Run;
use adjutant_core::procedure::{Ledger, Procedure};
use adjutant_core::run::{AccountName, RunFacts};
use adjutant_core::trace::{AskEvent, Body, CallEvent, Event, GateEvent, RunEvent};
use adjutant_core::words::tool::ToolEffect;
use adjutant_core::words::{InterruptedEffect, Key, Metric, Part};
use jiff::{SignedDuration, Timestamp};

use crate::backdrop::{BackdropState, Life, OnRecord};
use crate::scene::Scene;
use crate::sessions;

/// How long after a deadline, or after a driver took the run up, it may take to be kept: settling comes first.
const GRACE: SignedDuration = SignedDuration::from_secs(2);
/// How much later than a limit of minutes what is in flight ends, in milliseconds.
const LATE_MS: u64 = 1_000;

/// A rule that no run may break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invariant {
    /// Nothing has an effect before its intent is on record.
    IntentBeforeEffect,
    /// An effect that is more than a read begins after its intent was synced.
    SyncedBeforeEffect,
    /// No call is executed twice unless it may be repeated.
    ExecutedOnce,
    /// The journal says of every call what became of it, or that nobody knows.
    KilledCallsAccounted,
    /// A question is put once by each driver, and only when it is on record.
    AskedOnce,
    /// An answer is used once, and for its own question.
    AnsweredOnce,
    /// A message of the operator is on record once, for the part that it is to.
    HeardOnce,
    /// No limit is overdrawn, by nobody and by no siblings together.
    LimitsHold,
    /// A grant that is on record as kept for later runs is kept, and the intent was on the disk before.
    GrantsKept,
    /// No grant is used once it was revoked.
    RevokedGrantsUnused,
    /// A deadline is kept by whoever drives the run then, or next.
    DeadlinesKept,
    /// The journal folds to what its driver decided by.
    FoldsTheSame,
    /// The journal's lines say what was appended.
    ReadsBack,
    /// Nothing begins once an append has failed.
    NothingAfterFailure,
    /// No secret is on record.
    NoSecretOnRecord,
    /// The run ends, or waits for somebody.
    ComesToAnEnd,
}

/// A rule that was broken, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenInvariant {
    /// Which.
    pub invariant: Invariant,
    /// How.
    pub detail: String,
}

impl fmt::Display for BrokenInvariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.invariant, self.detail)
    }
}

impl Invariant {
    pub(crate) fn broken(self, detail: String) -> BrokenInvariant {
        BrokenInvariant { invariant: self, detail }
    }

    fn holds(self, holds: bool, detail: impl FnOnce() -> String) -> Result<(), BrokenInvariant> {
        if holds { Ok(()) } else { Err(self.broken(detail())) }
    }
}

/// Checks everything, at the end of a driver whose work stands as `work`.
pub(crate) fn check<P>(make: &dyn Fn() -> Run<P>, life: &Arc<Life>, work: &P) -> Result<(), BrokenInvariant>
where
    P: Procedure<Facts = RunFacts>,
{
    let mut state = life.backdrop.state();
    let scene = &life.backdrop.scene;
    // The next driver of a run that is killed reads the journal anyway.
    if life.backdrop.fate.kills.is_empty() {
        state.disk.read_back();
    }
    let state = &*state;
    intent_before_effect(state)?;
    synced_before_effect(state)?;
    executed_once(state)?;
    killed_calls_accounted(state)?;
    asked_once(state)?;
    answered_once(state)?;
    heard_once(state, scene)?;
    limits_hold(make, state, scene)?;
    grants_kept(state)?;
    revoked_grants_unused(state)?;
    deadlines_kept(state)?;
    folds_the_same(make, state, life, work)?;
    reads_back(state)?;
    nothing_after_failure(state)?;
    no_secret_on_record(state, scene)
}

fn intent_before_effect(state: &BackdropState) -> Result<(), BrokenInvariant> {
    let calls = state.effects.iter().map(|effect| (effect.call_id.clone(), effect.on_record));
    let turns = state.requests.iter().map(|turn| (turn.key.clone(), turn.on_record));
    match calls.chain(turns).find(|(_, on_record)| *on_record == OnRecord::Missing) {
        None => Ok(()),
        Some((what, _)) => Err(Invariant::IntentBeforeEffect.broken(what)),
    }
}

fn effect_of(tool: &str) -> ToolEffect {
    sessions::tools().iter().find(|spec| spec.name == tool).map_or(ToolEffect::Anything, |spec| spec.effect)
}

fn synced_before_effect(state: &BackdropState) -> Result<(), BrokenInvariant> {
    let is_bad =
        |on_record: OnRecord, tool: &str| effect_of(tool) != ToolEffect::Reads && on_record != OnRecord::Synced;
    match state.effects.iter().find(|effect| is_bad(effect.on_record, &effect.tool)) {
        None => Ok(()),
        Some(effect) => Err(Invariant::SyncedBeforeEffect.broken(format!("{effect:?}"))),
    }
}

fn executed_once(state: &BackdropState) -> Result<(), BrokenInvariant> {
    let mut had = BTreeSet::new();
    for effect in state.effects.iter().filter(|effect| effect.was_had && !effect_of(&effect.tool).is_repeatable()) {
        Invariant::ExecutedOnce.holds(had.insert(&effect.call_id), || format!("{effect:?}"))?;
    }
    Ok(())
}

/// The attempts at each call of the agents, by its own name for it.
fn attempts(events: &[Event]) -> BTreeMap<&str, Vec<Key>> {
    let mut attempts: BTreeMap<&str, Vec<Key>> = BTreeMap::new();
    for event in events {
        if let Body::Call(CallEvent::ToolCall { slot, call_id, .. }) = &event.body {
            attempts.entry(call_id).or_default().push(Key { part: event.part.clone(), slot: *slot });
        }
    }
    attempts
}

fn outcome<'a>(events: &'a [Event], key: &Key) -> Option<&'a Body> {
    let is_its = |event: &&Event| event.part == key.part && event.body.outcome() == Some(&key.slot);
    events.iter().find(is_its).map(|event| &event.body)
}

fn killed_calls_accounted(state: &BackdropState) -> Result<(), BrokenInvariant> {
    let events = &state.disk.events;
    for (call_id, keys) in attempts(events) {
        let mine = || state.effects.iter().filter(|effect| effect.call_id == call_id);
        let was_had = mine().any(|effect| effect.was_had);
        let Some(tool) = mine().next().map(|effect| effect.tool.as_str()) else {
            let is_claimed = |key: &Key| {
                matches!(
                    outcome(events, key),
                    Some(Body::Call(CallEvent::ToolResult { success: true, settled: false, .. }))
                )
            };
            let claimed = keys.iter().any(is_claimed);
            Invariant::KilledCallsAccounted.holds(!claimed, || format!("{call_id} never began and has a result"))?;
            continue;
        };
        if was_had && !effect_of(tool).is_repeatable() {
            let Some(said) = keys.last().and_then(|key| outcome(events, key)) else { continue };
            let denies = matches!(said, Body::Call(CallEvent::Interrupted { effect: InterruptedEffect::None, .. }));
            Invariant::KilledCallsAccounted.holds(!denies, || format!("{call_id} had its effect: {said:?}"))?;
        }
    }
    Ok(())
}

fn asked_once(state: &BackdropState) -> Result<(), BrokenInvariant> {
    let mut put = BTreeSet::new();
    for shown in &state.shown {
        Invariant::AskedOnce.holds(shown.on_record != OnRecord::Missing, || format!("{shown:?} is not on record"))?;
        Invariant::AskedOnce.holds(put.insert((shown.life, &shown.key)), || format!("{shown:?} a second time"))?;
    }
    let mut asked = BTreeSet::new();
    for event in &state.disk.events {
        if let Body::Ask(AskEvent::Question { slot, .. }) = &event.body {
            let is_new = asked.insert((&event.part, *slot));
            Invariant::AskedOnce.holds(is_new, || format!("{} {slot} is on record twice", event.part))?;
        }
    }
    Ok(())
}

fn answered_once(state: &BackdropState) -> Result<(), BrokenInvariant> {
    let mut used = BTreeSet::new();
    for event in &state.disk.events {
        let (slot, id) = match &event.body {
            Body::Ask(AskEvent::Answer { slot, id, .. } | AskEvent::AnswerIgnored { slot, id }) => (*slot, id),
            _ => continue,
        };
        let key = Key { part: event.part.clone(), slot };
        Invariant::AnsweredOnce.holds(used.insert(id.clone()), || format!("{id} is used twice"))?;
        Invariant::AnsweredOnce.holds(*id == format!("answer-{key}"), || format!("{id} answers {key}"))?;
        let post = state.mailbox.get(&key).and_then(|post| post.answer.as_ref());
        let has_come = post.is_some_and(|(arrives, _)| arrives.as_millisecond() <= event.at.as_millisecond());
        Invariant::AnsweredOnce.holds(has_come, || format!("{id} had not come at {}", event.at))?;
    }
    Ok(())
}

fn heard_once(state: &BackdropState, scene: &Scene) -> Result<(), BrokenInvariant> {
    let mut heard = BTreeSet::new();
    for event in &state.disk.events {
        let Body::Ask(AskEvent::OperatorMessage { id, .. }) = &event.body else { continue };
        let number = id.strip_prefix("message-").and_then(|number| number.parse::<usize>().ok());
        let to = number.and_then(|number| scene.letters.get(number)).map(|letter| &letter.to);
        Invariant::HeardOnce.holds(to == Some(&event.part), || format!("{id} for {to:?} arrives at {}", event.part))?;
        Invariant::HeardOnce.holds(heard.insert(id), || format!("{id} a second time"))?;
    }
    Ok(())
}

fn limits_hold<P>(make: &dyn Fn() -> Run<P>, state: &BackdropState, scene: &Scene) -> Result<(), BrokenInvariant>
where
    P: Procedure<Facts = RunFacts>,
{
    if scene.limits.is_empty() {
        return Ok(());
    }
    let mut run = make();
    let root = AccountName::Under(Part::root());
    for event in &state.disk.events {
        run.apply(event);
        for (metric, late) in [(Metric::Turns, 0), (Metric::Money, 0), (Metric::WallClock, LATE_MS)] {
            let Some(limit) = scene.limits.limit(metric) else { continue };
            let used = run.facts().accounts().spending(&root).used(metric);
            let detail = || format!("{metric:?}: {used} of {limit} after event {}", event.seq);
            Invariant::LimitsHold.holds(used <= limit + late, detail)?;
        }
    }
    Ok(())
}

fn grants_kept(state: &BackdropState) -> Result<(), BrokenInvariant> {
    for (grant_id, on_record) in &state.kept_grants {
        Invariant::GrantsKept.holds(*on_record == OnRecord::Synced, || format!("{grant_id} is {on_record:?}"))?;
    }
    let events = &state.disk.events;
    for event in events {
        let Body::Gate(GateEvent::GrantKeep { slot, grant_id }) = &event.body else { continue };
        let said = outcome(events, &Key { part: event.part.clone(), slot: *slot });
        let is_said = matches!(said, Some(Body::Gate(GateEvent::GrantKept { error: None, .. })));
        let is_kept = state.grants.iter().any(|grant| grant.grant_id == *grant_id);
        Invariant::GrantsKept.holds(!is_said || is_kept, || format!("{grant_id} is on record as kept"))?;
    }
    Ok(())
}

fn revoked_grants_unused(state: &BackdropState) -> Result<(), BrokenInvariant> {
    for event in &state.disk.events {
        let Body::Gate(GateEvent::PermissionGrantConsumed { grant_id, .. }) = &event.body else { continue };
        let is_late = state.revoked.get(grant_id).is_some_and(|revoked| *revoked <= event.seq);
        Invariant::RevokedGrantsUnused.holds(!is_late, || format!("{event:?}"))?;
    }
    Ok(())
}

/// Returns the deadlines of what is open.
pub(crate) fn open_deadlines(events: &[Event]) -> Vec<Timestamp> {
    let mut ledger = Ledger::default();
    events.iter().for_each(|event| ledger.apply(event));
    ledger.open().filter_map(|(_, open)| open.deadline).collect()
}

fn deadlines_kept(state: &BackdropState) -> Result<(), BrokenInvariant> {
    let mut ledger = Ledger::default();
    let mut resumed = Timestamp::MIN;
    for event in &state.disk.events {
        if matches!(event.body, Body::Run(RunEvent::RunResume { .. })) {
            resumed = event.at;
        }
        if let Some(slot) = event.body.outcome() {
            let key = Key { part: event.part.clone(), slot: *slot };
            let deadline = ledger.get(&key).and_then(|open| open.deadline);
            if let (Body::Ask(AskEvent::Expired { .. }), Some(deadline)) = (&event.body, deadline) {
                let detail = || format!("{key} expired at {} before {deadline}", event.at);
                Invariant::DeadlinesKept.holds(deadline <= event.at, detail)?;
            }
            let arrived = state.mailbox.get(&key).and_then(|post| Some(post.answer.as_ref()?.0));
            if let (Body::Ask(AskEvent::Answer { .. }), Some(deadline), Some(arrived)) =
                (&event.body, deadline, arrived)
            {
                let detail = || format!("{key} took an answer of {arrived} after {deadline}");
                let is_in_time = arrived <= deadline;
                Invariant::DeadlinesKept.holds(is_in_time, detail)?;
            }
        }
        ledger.apply(event);
        let missed = ledger.open().find(|(_, open)| {
            open.deadline.is_some_and(|deadline| event.at.duration_since(deadline.max(resumed)) > GRACE)
        });
        if let Some((key, open)) = missed {
            let detail = format!("{key} was due at {:?}, and at {} it is still open", open.deadline, event.at);
            return Err(Invariant::DeadlinesKept.broken(detail));
        }
    }
    Ok(())
}

fn folds_the_same<P>(
    make: &dyn Fn() -> Run<P>,
    state: &BackdropState,
    life: &Life,
    work: &P,
) -> Result<(), BrokenInvariant>
where
    P: Procedure<Facts = RunFacts>,
{
    let known = life.known.load(Ordering::Relaxed);
    let has_the_lease = state.disk.lease == life.number;
    // A power cut took events that the driver had folded; another driver wrote some that it never saw.
    if !has_the_lease || state.disk.events.len() < known {
        return Ok(());
    }
    let mut fresh = make();
    for event in state.disk.events.iter().take(known) {
        fresh.apply(event);
    }
    let (living, folded) = (work.next(fresh.facts()), fresh.child().next(fresh.facts()));
    Invariant::FoldsTheSame.holds(living == folded, || format!("{living:?}, and folded {folded:?}"))
}

fn reads_back(state: &BackdropState) -> Result<(), BrokenInvariant> {
    let otherwise = state.disk.read_otherwise.first();
    Invariant::ReadsBack.holds(otherwise.is_none(), || format!("{otherwise:?}"))
}

fn nothing_after_failure(state: &BackdropState) -> Result<(), BrokenInvariant> {
    let begun = state.begun_after_failure.first();
    Invariant::NothingAfterFailure.holds(begun.is_none(), || format!("{begun:?}"))
}

fn no_secret_on_record(state: &BackdropState, scene: &Scene) -> Result<(), BrokenInvariant> {
    let shows = |line: &&String| scene.secrets.iter().any(|secret| line.contains(secret.as_str()));
    let shown = state.disk.lines.iter().find(shows);
    Invariant::NoSecretOnRecord.holds(shown.is_none(), || format!("{shown:?}"))
}
