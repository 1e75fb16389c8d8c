//! The grants of a run: given beforehand for one call, the run or persistently, each with the uses made of it.

use jiff::Timestamp;

use crate::gate::Grant;
use crate::gate::grant::Subject;
use crate::trace::{Body, Event, GateEvent, RunEvent};
use crate::words::{Lasts, Part};

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
    grant: Grant,
    used: u32,
    /// The only part that may use it; `None` if it holds in the whole run.
    part: Option<Part>,
}

impl Grants {
    /// Takes note of an event of the run.
    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Run(RunEvent::RunStart(start)) => self.run = start.run_id.to_string(),
            Body::Gate(GateEvent::GrantsLoaded { grants }) => self.load(grants),
            Body::Gate(GateEvent::PermissionGranted { grant: Some(grant), .. }) => {
                // A grant for one call is for the part that asked for it.
                let part = (grant.lasts == Lasts::ThisCall).then(|| event.part.clone());
                self.held.push(HeldGrant { grant: (**grant).clone(), used: 0, part });
            }
            Body::Gate(GateEvent::PermissionGrantConsumed { grant_id, .. }) => {
                for held in self.held.iter_mut().filter(|held| held.grant.grant_id == *grant_id) {
                    held.used = held.used.saturating_add(1);
                }
            }
            Body::Gate(GateEvent::PermissionRevoked { grant_id, .. }) => {
                self.held.retain(|held| held.grant.grant_id != *grant_id)
            }
            _ => {}
        }
    }

    /// Takes what the project keeps in place of what it kept before; uses that were made stay made.
    fn load(&mut self, grants: &[Grant]) {
        let before = std::mem::take(&mut self.held);
        let used = |grant: &Grant| {
            before.iter().find(|held| held.grant.grant_id == grant.grant_id).map_or(0, |held| held.used)
        };
        let loaded: Vec<HeldGrant> =
            grants.iter().map(|grant| HeldGrant { grant: grant.clone(), used: used(grant), part: None }).collect();
        self.held = before.into_iter().filter(|held| held.grant.lasts != Lasts::Persistent).chain(loaded).collect();
    }

    /// Returns the ids of the grants that are kept outside the run.
    #[must_use]
    pub fn kept(&self) -> Vec<&str> {
        let is_kept = |held: &&HeldGrant| held.grant.lasts == Lasts::Persistent;
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
        first.chain(rest).filter(holds).map(|held| &held.grant).collect()
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
    use crate::words::Category;

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
            lasts,
            until: None,
            uses: (lasts == Lasts::ThisCall).then_some(1),
            granted_at: Timestamp::UNIX_EPOCH,
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
