//! A permission that is asked for beforehand: put to the operator, answered as a result, kept as a grant.
//!
//! The call is never carried out: its answer is the operator's. What was denied once is not asked again, so that
//! nobody is worn down.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::machine::Session;
use super::prompts;
use super::state::{Call, same_call};
use crate::gate::grant::Subject;
use crate::gate::permission::PermissionRequest;
use crate::gate::{Grant, Lasts};
use crate::inbox::{Choice, QuestionKind};
use crate::moment::day_end;
use crate::procedure::{Next, Part};
use crate::trace::{Body, Bound, Event, Rejection};

/// The grants of a run, and the requests that were denied.
#[derive(Debug, Clone, Default)]
pub(super) struct Grants {
    /// The run's name, for ids.
    run: String,
    held: Vec<Held>,
    /// What was denied, by name and arguments of the call.
    denied: BTreeSet<String>,
}

/// A grant with the uses that were made of it.
#[derive(Debug, Clone)]
struct Held {
    grant: Grant,
    used: u32,
}

/// How far a request of a call has come.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) enum Asking {
    /// It is not on record yet, or the call is of another tool.
    #[default]
    Not,
    /// It is on record and waits for the operator.
    Asked { grant_id: String },
    /// The operator answered.
    Granted { grant_id: String, lasts: Lasts, note: Option<String> },
    /// The operator said no.
    Denied { grant_id: String, note: Option<String> },
}

impl Grants {
    pub(super) fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::RunStart(start) => self.run = start.run_id.to_string(),
            Body::GrantsLoaded { grants } => self.load(grants),
            Body::PermissionGranted { grant: Some(grant), .. } => {
                self.held.push(Held { grant: (**grant).clone(), used: 0 });
            }
            Body::PermissionGrantConsumed { grant_id, .. } => {
                for held in self.held.iter_mut().filter(|held| held.grant.grant_id == *grant_id) {
                    held.used = held.used.saturating_add(1);
                }
            }
            Body::PermissionRevoked { grant_id, .. } => self.held.retain(|held| held.grant.grant_id != *grant_id),
            _ => {}
        }
    }

    /// Takes what the project keeps in place of what it kept before; uses that were made stay made.
    fn load(&mut self, grants: &[Grant]) {
        let before = std::mem::take(&mut self.held);
        let used = |grant: &Grant| {
            before.iter().find(|held| held.grant.grant_id == grant.grant_id).map_or(0, |held| held.used)
        };
        let loaded: Vec<Held> = grants.iter().map(|grant| Held { grant: grant.clone(), used: used(grant) }).collect();
        self.held = before.into_iter().filter(|held| held.grant.lasts != Lasts::Persistent).chain(loaded).collect();
    }

    pub(super) fn deny(&mut self, call: &Call) {
        self.denied.insert(same_call(&call.call));
    }

    /// The grants that hold for a call now, those for one call first, the newest of them before others. What the
    /// call has paid for already, before it was judged again, it need not pay for twice.
    pub(super) fn for_call(&self, call: &Call, subject: &Subject<'_>, now: Timestamp) -> Vec<&Grant> {
        let holds = |held: &&Held| {
            let has_uses = held.grant.uses.is_none_or(|uses| held.used < uses);
            let is_paid = call.paid.contains(&held.grant.grant_id);
            !held.grant.is_over(now) && (has_uses || is_paid) && held.grant.holds_for(subject)
        };
        let once = |held: &&Held| held.grant.lasts == Lasts::ThisCall;
        let first = self.held.iter().rev().filter(once);
        let rest = self.held.iter().filter(|held| !once(held));
        first.chain(rest).filter(holds).map(|held| &held.grant).collect()
    }

    /// An id that no other request has, and the same one whenever this journal is decided anew. One id names a
    /// request and the grant that answers it (C18). It has the form of the peer's.
    fn id(&self, part: &Part, call: u32) -> String {
        let hash = blake3::hash(format!("{}\n{part}\n{call}", self.run).as_bytes()).to_hex();
        let hash = hash.as_str();
        [&hash[..8], &hash[8..12], &hash[12..16], &hash[16..20], &hash[20..32]].join("-")
    }
}

impl Session {
    /// What is due for a call that asks for a permission.
    pub(super) fn permission(&self, call: &Call) -> Next {
        let request = match PermissionRequest::read(&call.call.args, &self.setup.places) {
            Ok(request) => request,
            Err(why) => {
                let text = format!("Nobody was asked: {why}. Call `{}` again with it.", call.call.name);
                return self.reject(call, Rejection::BadArguments, text);
            }
        };
        let longest = request.longest(self.setup.scope_locked);
        match &call.asking {
            Asking::Not if self.state.grants.denied.contains(&same_call(&call.call)) => {
                self.reject(call, Rejection::Answered, prompts::denied_before())
            }
            Asking::Not => self.record(Body::PermissionRequested {
                grant_id: self.state.grants.id(&self.part, call.number),
                bound: bound(&request),
                action: request.action,
                category: request.categories.first().map(ToString::to_string),
                scope_requested: request.lasts,
                reasoning: request.reasoning,
                fallback: request.fallback,
                call: call.number,
                categories: request.categories.iter().map(ToString::to_string).collect(),
            }),
            Asking::Asked { grant_id } => match self.state.answer(QuestionKind::Permission) {
                None => self.ask(prompts::permission(&request, longest)),
                Some((choice, text)) => self.answered(call, request, grant_id, choice, text),
            },
            Asking::Granted { grant_id, lasts, note } => {
                self.reject(call, Rejection::Answered, prompts::granted(grant_id, *lasts, note.as_deref()))
            }
            Asking::Denied { grant_id, note } => {
                self.reject(call, Rejection::Answered, prompts::not_granted(grant_id, note.as_deref()))
            }
        }
    }

    /// Makes a grant of a yes, and anything else a no (S4).
    fn answered(
        &self,
        call: &Call,
        request: PermissionRequest,
        grant_id: &str,
        choice: Choice,
        text: Option<&str>,
    ) -> Next {
        let wanted = match choice {
            Choice::AsAsked => Some(request.lasts),
            Choice::Once => Some(Lasts::ThisCall),
            Choice::ForRun => Some(Lasts::ThisRun),
            Choice::Persistent => Some(Lasts::Persistent),
            _ => None,
        };
        let (Some(wanted), Some(now)) = (wanted, self.state.now) else {
            return self.record(Body::PermissionDenied {
                grant_id: grant_id.to_owned(),
                operator_note: text.map(str::to_owned),
                call: call.number,
            });
        };
        let lasts = wanted.min(request.longest(self.setup.scope_locked));
        let until = text.filter(|_| choice == Choice::Persistent).and_then(day_end);
        let grant = request.granted(grant_id.to_owned(), lasts, until, now);
        self.record(Body::PermissionGranted {
            grant_id: grant_id.to_owned(),
            scope_granted: lasts,
            operator_note: None,
            call: call.number,
            grant: Some(Box::new(grant)),
        })
    }
}

/// What a request is bound to; nothing if it is bound to nothing.
fn bound(request: &PermissionRequest) -> Option<Box<Bound>> {
    let PermissionRequest { tool, command, path, uses, .. } = request.clone();
    let bound = Bound { tool, command, path, uses };
    (bound != Bound::default()).then(|| Box::new(bound))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::super::state::Progress;
    use super::*;
    use crate::gate::Category;
    use crate::tool::ToolCall;

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

    fn call(tool: &str) -> Call {
        Call {
            number: 1,
            call: Arc::new(ToolCall {
                call_id: "c".to_owned(),
                name: tool.to_owned(),
                args: json!({}),
                malformed: None,
                masked: false,
                resolved: Vec::new(),
            }),
            verdict: None,
            progress: Progress::Waiting { attempts: 0 },
            asking: Asking::Not,
            paid: Vec::new(),
            hooks: Vec::new(),
            brings_untrusted: false,
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
                    grants.apply(&at_root(Body::PermissionGranted {
                        grant_id: given.grant_id.clone(),
                        scope_granted: lasts,
                        operator_note: None,
                        call: 1,
                        grant: Some(given),
                    }));
                } else if let Some(use_of) = step["use"].as_array() {
                    let call = call(use_of[0].as_str().expect("a tool"));
                    let args = json!({});
                    let subject = Subject { tool: &call.call.name, args: &args, effects: &[] };
                    let found = grants.for_call(&call, &subject, Timestamp::UNIX_EPOCH);
                    let id = found.first().map(|grant| grant.grant_id.clone());
                    assert_eq!(expected["match"].as_u64().map(|id| id.to_string()), id, "{line}");
                    if let Some(grant_id) = id {
                        grants.apply(&at_root(Body::PermissionGrantConsumed {
                            grant_id,
                            consuming_tool_call_id: "c".to_owned(),
                            call: 1,
                        }));
                    }
                } else if let Some(place) = step["revoke"].as_u64() {
                    let (grant_id, revoked_at) = (place.to_string(), Timestamp::UNIX_EPOCH);
                    grants.apply(&at_root(Body::PermissionRevoked { grant_id, revoked_at }));
                }
            }
        }
        assert_eq!(checked, 2);
    }
}
