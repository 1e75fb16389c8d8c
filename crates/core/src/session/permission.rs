//! A permission that is asked for beforehand: put to the operator, answered as a result, kept as a grant.
//!
//! The call is never carried out: its answer is the operator's. A request that was denied once is not asked again, so
//! that the operator is not worn down.

use super::machine::Decider;
use super::prompts;
use super::state::{Call, same_call};
use crate::gate::permission::PermissionRequest;
use crate::procedure::{Next, Want};
use crate::trace::{Body, Entry, GateEvent, PartEvent};
use crate::words::moment::day_end;
use crate::words::{Bound, Choice, Lasts, QuestionKind, Rejection};

/// Progress of a call's request for a permission.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) enum RequestProgress {
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

impl Decider<'_> {
    /// Returns the next thing for a call that asks for a permission.
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
            RequestProgress::Not if self.state.calls.denied.contains(&same_call(&call.call)) => {
                self.reject(call, Rejection::Answered, prompts::denied_before())
            }
            RequestProgress::Not => self.record(Body::Gate(GateEvent::PermissionRequested {
                grant_id: self.run.grants().id(&self.part, call.number),
                bound: bound(&request),
                action: request.action,
                category: request.categories.first().map(ToString::to_string),
                scope_requested: request.lasts,
                reasoning: request.reasoning,
                fallback: request.fallback,
                call: call.number,
                categories: request.categories.iter().map(ToString::to_string).collect(),
            })),
            RequestProgress::Asked { grant_id } => match self.state.answer(QuestionKind::Permission) {
                None => self.ask(prompts::permission(&request, longest)),
                Some((choice, text)) => self.answered(call, request, grant_id, choice, text),
            },
            RequestProgress::Granted { grant_id, lasts, note } => {
                self.reject(call, Rejection::Answered, prompts::granted(grant_id, *lasts, note.as_deref()))
            }
            RequestProgress::Denied { grant_id, note } => {
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
            return self.record(Body::Gate(GateEvent::PermissionDenied {
                grant_id: grant_id.to_owned(),
                operator_note: text.map(str::to_owned),
                call: call.number,
            }));
        };
        let lasts = wanted.min(request.longest(self.setup.scope_locked));
        let until = text.filter(|_| choice == Choice::Persistent).and_then(day_end);
        let grant = request.granted(grant_id.to_owned(), lasts, until, now);
        self.record(Body::Gate(GateEvent::PermissionGranted {
            grant_id: grant_id.to_owned(),
            scope_granted: lasts,
            operator_note: None,
            call: call.number,
            grant: Some(Box::new(grant)),
        }))
    }
}

impl Decider<'_> {
    /// Returns what is next, with the grants of this part that are still to be kept for later runs: first of all that is
    /// wanted, and nothing waits for it.
    pub(super) fn keeping_grants(&self, next: Next) -> Next {
        let mut keeps: Vec<Want> = self.run.grants().to_keep(&self.part).collect();
        match next {
            Next::Want(wants) => {
                keeps.extend(wants);
                Next::Want(keeps)
            }
            Next::Wait(_) if !keeps.is_empty() => Next::Want(keeps),
            // They are kept before the part that asked for them is over.
            Next::Record(Entry { body: Body::Part(PartEvent::PartEnd { .. }), .. }) if !keeps.is_empty() => {
                Next::Want(keeps)
            }
            next => next,
        }
    }
}

/// Returns the limits to which a request is bound; `None` if it has none.
fn bound(request: &PermissionRequest) -> Option<Box<Bound>> {
    let PermissionRequest { tool, command, path, uses, .. } = request.clone();
    let bound = Bound { tool, command, path, uses };
    (bound != Bound::default()).then(|| Box::new(bound))
}
