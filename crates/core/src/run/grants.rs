//! The grants of a run: given beforehand for one call, the run or persistently, each with the uses made of it. A
//! persistent one is kept for later runs by a command of the part that asked for it.

use std::sync::Arc;

use jiff::Timestamp;

use crate::gate::Grant;
use crate::gate::grant::Subject;
use crate::procedure::{Command, Want};
use crate::trace::{Body, CallEvent, Event, GateEvent, RunEvent};
use crate::words::{Key, Lasts, Part, Slot, What};

/// The grants of a run, with the uses that were made of them.
#[derive(Debug, Clone, Default)]
pub struct Grants {
    /// The run's name, for ids.
    run: String,
    held: Vec<HeldGrant>,
}

/// A grant and how often it was used.
#[derive(Debug, Clone)]
struct HeldGrant {
    grant: Arc<Grant>,
    used: u32,
    /// The only part that may use it; `None` if it holds in the whole run.
    part: Option<Part>,
    keeper: Keeper,
}

/// Keeper of a grant.
#[derive(Debug, Clone, PartialEq)]
enum Keeper {
    /// The run alone, with which it ends.
    Run,
    /// The project, for later runs too. Each driver reads anew what the project keeps.
    Project,
    /// The project, once this is done.
    ProjectOnce {
        /// Attempt at keeping it, by the part that asked for it.
        key: Key,
        is_begun: bool,
    },
}

impl Keeper {
    /// Returns true if the project may have the grant, so that it may be revoked.
    fn may_be_project(&self) -> bool {
        match self {
            Self::Run => false,
            Self::Project => true,
            // An earlier attempt was interrupted.
            Self::ProjectOnce { key, .. } => key.slot.attempt > 1,
        }
    }
}

impl Grants {
    /// Takes note of an event of the run.
    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Run(RunEvent::RunStart(start)) => self.run = start.run_id.to_string(),
            Body::Gate(GateEvent::GrantsLoaded { grants }) => self.load(grants),
            Body::Gate(GateEvent::PermissionGranted { grant: Some(grant), call, .. }) => {
                // A grant for one call is for the part that asked for it.
                let part = (grant.lasts == Lasts::ThisCall).then(|| event.part.clone());
                let key = || Key { part: event.part.clone(), slot: Slot::first(What::Keep, *call) };
                let keeper = match grant.lasts {
                    Lasts::ThisCall | Lasts::ThisRun => Keeper::Run,
                    Lasts::Persistent => Keeper::ProjectOnce { key: key(), is_begun: false },
                };
                self.held.push(HeldGrant { grant: Arc::new((**grant).clone()), used: 0, part, keeper });
            }
            Body::Gate(GateEvent::PermissionGrantConsumed { grant_id, .. }) => {
                for held in self.held.iter_mut().filter(|held| held.grant.grant_id == *grant_id) {
                    held.used = held.used.saturating_add(1);
                }
            }
            Body::Gate(GateEvent::PermissionRevoked { grant_id, .. }) => {
                self.held.retain(|held| held.grant.grant_id != *grant_id)
            }
            Body::Gate(GateEvent::GrantKept { slot, error }) => {
                let keeper = if error.is_none() { Keeper::Project } else { Keeper::Run };
                self.keep_by(&event.part, *slot, keeper);
            }
            Body::Call(CallEvent::Interrupted { slot, .. }) if slot.what == What::Keep => {
                let next = Slot { attempt: slot.attempt.saturating_add(1), ..*slot };
                let key = Key { part: event.part.clone(), slot: next };
                self.keep_by(&event.part, *slot, Keeper::ProjectOnce { key, is_begun: false });
            }
            body => {
                if let Some(slot) = body.intent() {
                    self.begun(&event.part, *slot);
                }
            }
        }
    }

    /// Takes note that something begins in a part. Keeping a grant comes before all else there: where something else
    /// comes first, the journal is of a version that kept grants without a word.
    fn begun(&mut self, part: &Part, slot: Slot) {
        for held in &mut self.held {
            match &mut held.keeper {
                Keeper::ProjectOnce { key, is_begun } if key.part == *part && key.slot == slot => *is_begun = true,
                Keeper::ProjectOnce { key, is_begun: false } if key.part == *part && slot.what != What::Keep => {
                    held.keeper = Keeper::Project;
                }
                Keeper::ProjectOnce { .. } | Keeper::Project | Keeper::Run => {}
            }
        }
    }

    /// Takes note of the keeper that the attempt in `slot` leaves a grant with.
    fn keep_by(&mut self, part: &Part, slot: Slot, keeper: Keeper) {
        let is_its = |held: &&mut HeldGrant| matches!(&held.keeper, Keeper::ProjectOnce { key, .. } if key.part == *part && key.slot == slot);
        if let Some(held) = self.held.iter_mut().find(is_its) {
            held.keeper = keeper;
        }
    }

    /// Takes what the project keeps in place of what it kept before; uses that were made stay made.
    fn load(&mut self, grants: &[Grant]) {
        let before = std::mem::take(&mut self.held);
        let used = |grant: &Grant| {
            before.iter().find(|held| held.grant.grant_id == grant.grant_id).map_or(0, |held| held.used)
        };
        let loaded: Vec<HeldGrant> = grants
            .iter()
            .map(|grant| HeldGrant {
                grant: Arc::new(grant.clone()),
                used: used(grant),
                part: None,
                keeper: Keeper::Project,
            })
            .collect();
        let is_loaded = |held: &HeldGrant| grants.iter().any(|grant| grant.grant_id == held.grant.grant_id);
        let stays = |held: &HeldGrant| held.keeper != Keeper::Project && !is_loaded(held);
        self.held = before.into_iter().filter(stays).chain(loaded).collect();
    }

    /// Returns the keeping that is due of grants for which a part asked.
    pub fn to_keep<'a>(&'a self, part: &'a Part) -> impl Iterator<Item = Want> + 'a {
        self.held.iter().filter_map(move |held| match &held.keeper {
            Keeper::ProjectOnce { key, .. } if key.part == *part => {
                Some(Want { key: key.clone(), command: Command::Keep(held.grant.clone()) })
            }
            Keeper::ProjectOnce { .. } | Keeper::Project | Keeper::Run => None,
        })
    }

    /// Returns the ids of the grants that are kept outside the run.
    #[must_use]
    pub fn kept(&self) -> Vec<&str> {
        let is_kept = |held: &&HeldGrant| held.keeper.may_be_project();
        self.held.iter().filter(is_kept).map(|held| held.grant.grant_id.as_str()).collect()
    }

    /// Returns the grants that hold for a call of `part` now: those for one call first, the newest of them before others.
    /// A grant in `paid` has already given the call a use, before it was judged again, and needs none left.
    #[must_use]
    pub fn for_call(&self, part: &Part, paid: &[String], subject: &Subject<'_>, now: Timestamp) -> Vec<&Grant> {
        let holds = |held: &&HeldGrant| {
            let has_uses = held.grant.uses.is_none_or(|uses| held.used < uses);
            let is_paid = paid.contains(&held.grant.grant_id);
            let is_here = held.part.as_ref().is_none_or(|own| own == part);
            is_here && !held.grant.is_over(now) && (has_uses || is_paid) && held.grant.holds_for(subject)
        };
        let once = |held: &&HeldGrant| held.grant.lasts == Lasts::ThisCall;
        let first = self.held.iter().rev().filter(once);
        let rest = self.held.iter().filter(|held| !once(held));
        first.chain(rest).filter(holds).map(|held| &*held.grant).collect()
    }

    /// Makes an id that no other request has, and the same one whenever this journal is decided anew. One id names a
    /// request and the grant that answers it. It has the form of OpenWar's, a UUID.
    #[must_use]
    pub fn id(&self, part: &Part, call: u32) -> String {
        let hash = blake3::hash(format!("{}\n{part}\n{call}", self.run).as_bytes()).to_hex();
        let hash = hash.as_str();
        [&hash[..8], &hash[8..12], &hash[12..16], &hash[16..20], &hash[20..32]].join("-")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::trace::AskEvent;
    use crate::words::{Category, InterruptedEffect};

    fn at_root(body: Body) -> Event {
        Event { seq: 0, at: Timestamp::UNIX_EPOCH, part: Part::root(), body }
    }

    fn grant(id: usize, tool: Option<&str>, lasts: Lasts) -> Grant {
        Grant {
            grant_id: id.to_string(),
            action: "act".to_owned(),
            reasoning: String::new(),
            categories: vec![Category::new("shell_exec")],
            tool: tool.map(str::to_owned),
            command: None,
            path: None,
            act: None,
            lasts,
            until: None,
            uses: (lasts == Lasts::ThisCall).then_some(1),
            granted_at: Timestamp::UNIX_EPOCH,
        }
    }

    /// The events of a session, from the moment at which a grant for later runs was given.
    fn given(then: Vec<Body>) -> Grants {
        let given = Body::Gate(GateEvent::PermissionGranted {
            grant_id: "7".to_owned(),
            scope_granted: Lasts::Persistent,
            operator_note: None,
            call: 1,
            grant: Some(Box::new(grant(7, None, Lasts::Persistent))),
        });
        let mut grants = Grants::default();
        for body in std::iter::once(given).chain(then) {
            grants.apply(&Event { seq: 0, at: Timestamp::UNIX_EPOCH, part: Part::root().child("session"), body });
        }
        grants
    }

    /// Returns the slots in which grants are to be kept, the number of those held, and of those that the project has.
    fn standing(grants: &Grants) -> (Vec<String>, usize, usize) {
        let part = Part::root().child("session");
        let due = grants.to_keep(&part).map(|want| want.key.slot.to_string()).collect();
        (due, grants.held.len(), grants.kept().len())
    }

    #[test]
    fn a_grant_for_later_runs_is_kept_by_its_part_until_it_has_an_outcome() {
        let slot = Slot::first(What::Keep, 1);
        let keep = || Body::Gate(GateEvent::GrantKeep { slot, grant_id: "7".to_owned() });
        let kept = |error: Option<&str>| Body::Gate(GateEvent::GrantKept { slot, error: error.map(str::to_owned) });
        let interrupted = || Body::Call(CallEvent::Interrupted { slot, effect: InterruptedEffect::None });
        let loaded = || Body::Gate(GateEvent::GrantsLoaded { grants: Vec::new() });
        let call = || Body::Ask(AskEvent::Timer { slot: Slot::first(What::Wait, 1), length_ms: 1 });
        let due = |attempt: u32| vec![format!("keep/1.{attempt}")];
        for (then, expected) in [
            (vec![], (due(1), 1, 0)),
            (vec![keep()], (due(1), 1, 0)),
            (vec![keep(), call()], (due(1), 1, 0)),
            (vec![keep(), kept(None)], (vec![], 1, 1)),
            // Another driver reads what the project keeps: in the meantime it may have been revoked there.
            (vec![keep(), kept(None), loaded()], (vec![], 0, 0)),
            // It holds for this run only, and no list of the project's takes it away.
            (vec![keep(), kept(Some("full")), loaded()], (vec![], 1, 0)),
            (vec![loaded()], (due(1), 1, 0)),
            (vec![keep(), interrupted()], (due(2), 1, 1)),
            // Journals of before the keeping was on record: it was done without a word.
            (vec![call()], (vec![], 1, 1)),
            (vec![call(), loaded()], (vec![], 0, 0)),
        ] {
            assert_eq!(standing(&given(then.clone())), expected, "{then:?}");
        }
    }

    #[test]
    fn grants_are_used_and_taken_back_as_in_the_vectors() {
        let vectors =
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/openwar/aux/vectors.jsonl"));
        let mut checked = 0;
        for line in vectors.lines() {
            let vector: Value = serde_json::from_str(line).expect("a vector");
            if vector["fn"] != "grants" {
                continue;
            }
            checked += 1;
            let mut grants = Grants::default();
            let mut added = 0;
            for (step, expected) in
                vector["input"].as_array().expect("steps").iter().zip(vector["output"].as_array().expect("results"))
            {
                if let Some(add) = step["add"].as_array() {
                    let lasts = if add[1] == "this_call" { Lasts::ThisCall } else { Lasts::ThisRun };
                    assert_eq!(expected["scope"], lasts.as_str(), "{line}");
                    let given = Box::new(grant(added, add[0].as_str(), lasts));
                    added += 1;
                    grants.apply(&at_root(Body::Gate(GateEvent::PermissionGranted {
                        grant_id: given.grant_id.clone(),
                        scope_granted: lasts,
                        operator_note: None,
                        call: 1,
                        grant: Some(given),
                    })));
                } else if let Some(use_of) = step["use"].as_array() {
                    let tool = use_of[0].as_str().expect("a tool");
                    let args = json!({});
                    let subject = Subject { tool, args: &args, effects: &[] };
                    let found = grants.for_call(&Part::root(), &[], &subject, Timestamp::UNIX_EPOCH);
                    let id = found.first().map(|grant| grant.grant_id.clone());
                    assert_eq!(expected["match"].as_u64().map(|id| id.to_string()), id, "{line}");
                    if let Some(grant_id) = id {
                        grants.apply(&at_root(Body::Gate(GateEvent::PermissionGrantConsumed {
                            grant_id,
                            consuming_tool_call_id: "c".to_owned(),
                            call: 1,
                        })));
                    }
                } else if let Some(place) = step["revoke"].as_u64() {
                    let (grant_id, revoked_at) = (place.to_string(), Timestamp::UNIX_EPOCH);
                    grants.apply(&at_root(Body::Gate(GateEvent::PermissionRevoked { grant_id, revoked_at })));
                }
            }
        }
        assert_eq!(checked, 2);
    }
}
