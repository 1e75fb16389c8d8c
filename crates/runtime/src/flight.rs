//! The things in flight: one task for each turn, call and question, and how its end is put on record.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use adjutant_core::gate::custody::{Custody, Outside};
use adjutant_core::gate::secrets::Masker;
use adjutant_core::gate::{Grant, HookAnswer, HookCall};
use adjutant_core::session::sentences;
use adjutant_core::session::transcript::MASKED_ARGUMENTS;
use adjutant_core::trace::{AskEvent, Body, CallEvent, GateEvent, TurnEvent};
use adjutant_core::words::deed::Deed;
use adjutant_core::words::provider_data::ProviderData;
use adjutant_core::words::tool::{FileChange, ToolCall, ToolOutput};
use adjutant_core::words::{CancelledBy, InterruptedEffect, Key, Look, Question, Slot};
use adjutant_ports::{
    Agent, AgentFailure, Answered, AppendError, CancellationToken, Delta, FailureKind, GrantStore, Hooks, Journal,
    Operator, Prepared, Progress, Reply, RescueName, Rescued, Tools, TurnRequest,
};
use tokio::time::Instant;

use crate::deeds::DeedDone;
use crate::in_flight::Flown;
use crate::masking::Masks;
use crate::rescue;

/// The longest content that a line of the journal holds, in bytes; what is longer is kept by its hash.
const INLINE_BYTES_MAX: usize = 64 * 1024;

/// The time later than the limit of minutes what is in flight ends.
const LIMIT_SLACK_MS: u64 = 20;

/// The end of something that was in flight.
pub(crate) struct Landing {
    pub(crate) key: Key,
    pub(crate) landed: Landed,
}

/// The way in which it ended.
pub(crate) enum Landed {
    Turn {
        /// The agent that was asked: its adapter and its model.
        agent: (String, String),
        result: Result<Reply, AgentFailure>,
        /// Number of bytes of the reply that had arrived.
        received: u64,
        duration_ms: u64,
    },
    Call {
        call: ToolCall,
        output: ToolOutput,
        /// True if the limit of minutes cancelled it.
        is_late: bool,
        duration_ms: u64,
    },
    /// The call may begin.
    Readied(Readied),
    /// The call's arguments are masked in the journal and nobody knows them any more.
    Masked,
    /// The answer of a guard hook; `None` if it was interrupted.
    Hook {
        answer: Option<HookAnswer>,
        duration_ms: u64,
    },
    /// The changes outside the scope, or the reason why nothing can be said.
    Look {
        look: Look,
        found: Result<Outside, String>,
        duration_ms: u64,
    },
    /// A grant was kept for later runs, or the reason why it could not be.
    Kept(Result<(), String>),
    Deed(DeedDone),
    Answer(Answered),
    /// There is nobody to ask.
    Nobody,
    /// The task panicked, and this is what it said: nobody knows what it did.
    Panicked {
        flown: Flown,
        said: String,
    },
}

/// Waits for the end of what is in flight. At its limit, if it has one, it is cancelled, and its end is waited for all
/// the same; whether that was so is told. A moment is added, so that the journal's clock says that the limit is reached.
async fn until_limit<T>(
    limit_ms: Option<u64>,
    cancel: &CancellationToken,
    in_flight: impl Future<Output = T>,
) -> (T, bool) {
    let mut in_flight = std::pin::pin!(in_flight);
    let Some(limit_ms) = limit_ms else { return (in_flight.await, false) };
    let limit = Duration::from_millis(limit_ms.saturating_add(LIMIT_SLACK_MS));
    match tokio::time::timeout(limit, &mut in_flight).await {
        Ok(end) => (end, false),
        Err(_) => {
            cancel.cancel();
            (in_flight.await, true)
        }
    }
}

fn elapsed_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Everybody who has a part in a turn.
pub(crate) struct TurnParties {
    pub(crate) agent: Arc<dyn Agent>,
    /// Is shown the text as it arrives.
    pub(crate) operator: Arc<dyn Operator>,
    /// Look where the paths of its calls really are.
    pub(crate) tools: Arc<dyn Tools>,
    pub(crate) masks: Arc<Masks>,
}

/// Asks the agent for a turn, showing its text as it arrives with secrets masked. At its limit it is cancelled.
pub(crate) async fn turn(
    key: Key,
    (request, limit_ms): (TurnRequest, Option<u64>),
    TurnParties { agent, operator, tools, masks }: TurnParties,
    cancel: CancellationToken,
) -> Landing {
    let began = Instant::now();
    let streams = Mutex::new((masks.stream(), None::<Masker>));
    let received = AtomicU64::new(0);
    let show = |delta: Delta| {
        let (Delta::Text(piece) | Delta::Thinking(piece)) = &delta;
        received.fetch_add(piece.len() as u64, Ordering::Relaxed);
        let (said, thought) = &mut *streams.lock().unwrap_or_else(PoisonError::into_inner);
        let delta = match delta {
            Delta::Text(text) => {
                // What is held back of the thinking stands before what is said.
                if let Some(thought) = thought.take() {
                    operator.show(Progress::Turn(&key.part, Delta::Thinking(thought.finish())));
                }
                Delta::Text(said.push(&text))
            }
            Delta::Thinking(text) => Delta::Thinking(thought.get_or_insert_with(|| masks.stream()).push(&text)),
        };
        operator.show(Progress::Turn(&key.part, delta));
    };
    let turn = agent.turn(&request, &show, cancel.clone());
    let (mut result, is_late) = until_limit(limit_ms, &cancel, turn).await;
    if let (true, Err(failure)) = (is_late, &mut result) {
        "the limit of minutes was reached while the turn was taken".clone_into(&mut failure.message);
    }
    let (said, thought) = streams.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(thought) = thought {
        operator.show(Progress::Turn(&key.part, Delta::Thinking(thought.finish())));
    }
    operator.show(Progress::Turn(&key.part, Delta::Text(said.finish())));
    for call in result.iter_mut().flat_map(|reply| &mut reply.calls) {
        call.resolved = tools.resolve(call).await;
    }
    let agent = (agent.id().to_owned(), agent.model().to_owned());
    let received = received.into_inner();
    Landing { key, landed: Landed::Turn { agent, result, received, duration_ms: elapsed_ms(began) } }
}

/// A call that is about to begin.
pub(crate) struct Readied {
    /// `None` if its arguments are masked in the journal and nobody knows them any more.
    pub(crate) call: Option<ToolCall>,
    /// The changes that it would make to files.
    pub(crate) prepared: Prepared,
    /// The rescue of the files that it may destroy, or the reason why they could not be kept.
    pub(crate) rescued: Result<Option<Rescued>, String>,
}

/// Looks at what a call would do to files and keeps what it may destroy, before anything of it is on record.
///
/// Killed before the intent is on record, a driver leaves a rescue that the next one replaces.
pub(crate) async fn ready(key: Key, call: Option<ToolCall>, run: Option<String>, tools: Arc<dyn Tools>) -> Landing {
    let Some(call) = call else {
        let readied = Readied { call: None, prepared: Prepared::default(), rescued: Ok(None) };
        return Landing { key, landed: Landed::Readied(readied) };
    };
    let prepared = tools.prepare(&call).await;
    let name = rescue::name(&key);
    let rescued = match &run {
        Some(run) => tools.rescue(RescueName { run, call: &name }, &call, &prepared).await,
        None => Ok(None),
    };
    Landing { key, landed: Landed::Readied(Readied { call: Some(call), prepared, rescued }) }
}

/// Carries out a call; `rescue` is the run and the name of what was kept before it, if anything was. Its output is
/// shown when it has ended, as it is recorded: with secrets masked.
pub(crate) async fn call(
    key: Key,
    call: ToolCall,
    (prepared, rescue, limit_ms): (Prepared, Option<(String, String)>, Option<u64>),
    tools: Arc<dyn Tools>,
    masks: Arc<Masks>,
    cancel: CancellationToken,
) -> Landing {
    let began = Instant::now();
    let made = tools.call(&call, &prepared, cancel.clone());
    let (mut output, is_late) = until_limit(limit_ms, &cancel, made).await;
    if let Some((run, name)) = rescue {
        tools.call_ended(RescueName { run: &run, call: &name }).await;
    }
    let masked = masks.mask_output(&output);
    if let Some(seen) = output.meta.seen.as_mut().filter(|_| masked != output.content) {
        seen.replaced = seen.replaced.max(1);
    }
    output.content = masked;
    Landing { key, landed: Landed::Call { call, output, is_late, duration_ms: elapsed_ms(began) } }
}

/// Asks a guard hook. Its words are masked like those of a tool.
pub(crate) async fn hook(
    key: Key,
    call: Arc<HookCall>,
    hooks: Arc<dyn Hooks>,
    masks: Arc<Masks>,
    cancel: CancellationToken,
) -> Landing {
    let began = Instant::now();
    let mut answer = hooks.ask(&call, cancel).await;
    if let Some(reason) = answer.as_mut().and_then(|answer| answer.reason.as_mut()) {
        *reason = masks.mask(reason);
    }
    Landing { key, landed: Landed::Hook { answer, duration_ms: elapsed_ms(began) } }
}

/// Looks at the working tree and leaves out what was answered for. It changes nothing of the tree and is waited for
/// to its end, whatever is cancelled.
pub(crate) async fn look(key: Key, run: String, look: Look, custody: Arc<Custody>, tools: Arc<dyn Tools>) -> Landing {
    let began = Instant::now();
    let found = tools.look(&run, look).await.map(|changed| custody.outside(changed));
    Landing { key, landed: Landed::Look { look, found, duration_ms: elapsed_ms(began) } }
}

/// Keeps a grant for later runs. It is done at once, and waited for whatever is cancelled.
pub(crate) async fn keep(key: Key, grant: Arc<Grant>, grants: Arc<dyn GrantStore>) -> Landing {
    Landing { key, landed: Landed::Kept(grants.keep(&grant)) }
}

/// Does something that is no tool call.
pub(crate) async fn deed(
    key: Key,
    (run, deed): (String, Arc<Deed>),
    tools: Arc<dyn Tools>,
    masks: Arc<Masks>,
    cancel: CancellationToken,
) -> Landing {
    Landing { key, landed: Landed::Deed(DeedDone::of(&run, &deed, &*tools, &masks, cancel).await) }
}

/// Puts a question to the operator.
pub(crate) async fn ask(
    key: Key,
    question: Arc<Question>,
    operator: Arc<dyn Operator>,
    cancel: CancellationToken,
) -> Landing {
    let answered = tokio::select! {
        biased;
        answered = operator.ask(&key, &question, cancel.clone()) => answered,
        () = cancel.cancelled() => None,
    };
    Landing { key, landed: answered.map_or(Landed::Nobody, Landed::Answer) }
}

/// The outcome of a turn, with secrets masked, and the calls whose arguments that changed. What the provider wants
/// back is kept only if it holds no secret: changed it would be worth nothing.
pub(crate) fn reply(
    slot: Slot,
    (adapter, model): (String, String),
    (result, received): (Result<Reply, AgentFailure>, u64),
    duration_ms: u64,
    masks: &Masks,
) -> (Body, Vec<(usize, ToolCall)>) {
    let mut reply = match result {
        Ok(reply) => reply,
        Err(AgentFailure { kind, message, retry_after, output_max }) => {
            let retry_after_ms = retry_after.map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX));
            let message = masks.mask(&message);
            return (
                Body::Turn(TurnEvent::AgentFailed { slot, kind, message, retry_after_ms, received, output_max }),
                Vec::new(),
            );
        }
    };
    let mut unmasked = Vec::new();
    let mut calls = Vec::with_capacity(reply.calls.len());
    for (index, call) in std::mem::take(&mut reply.calls).into_iter().enumerate() {
        match masks.mask_call(&call) {
            None => calls.push(call),
            Some(masked) => {
                unmasked.push((index, call));
                calls.push(masked);
            }
        }
    }
    let text = masks.mask(&reply.text);
    let is_whole = text == reply.text;
    let parts = reply.provider_data.filter(|parts| is_whole && !masks.changes(parts));
    let provider_data = parts.map(|parts| Box::new(ProviderData { adapter, model, parts }));
    let thinking = masks.mask(&reply.thinking);
    let Reply { usage, stop, .. } = reply;
    (
        Body::Turn(TurnEvent::AgentReply { slot, text, thinking, calls, provider_data, usage, stop, duration_ms }),
        unmasked,
    )
}

/// The outcome of a call; `is_late` if the limit of minutes cancelled it. A content too large for a line is kept by its
/// hash.
pub(crate) fn result(
    slot: Slot,
    call: &ToolCall,
    (output, is_late): (ToolOutput, bool),
    duration_ms: u64,
    journal: &mut dyn Journal,
) -> Result<Body, AppendError> {
    if output.code.as_deref() == Some("CANCELLED") {
        return Ok(Body::Call(CallEvent::ToolCancelled {
            slot,
            call_id: call.call_id.clone(),
            tool_name: call.name.clone(),
            cancellation_source: if is_late { CancelledBy::Limit } else { CancelledBy::OperatorSignal },
            partial_output: output.content,
        }));
    }
    let bytes = output.content.len() as u64;
    let (content, artifact) = if output.content.len() > INLINE_BYTES_MAX {
        (None, Some(journal.keep(output.content.as_bytes())?))
    } else {
        (Some(output.content), None)
    };
    Ok(Body::Call(CallEvent::ToolResult {
        slot,
        call_id: call.call_id.clone(),
        success: output.success,
        duration_ms,
        bytes,
        content,
        artifact,
        code: output.code,
        exit_code: output.meta.exit_code,
        settled: false,
        seen: output.meta.seen,
    }))
}

/// The outcome of a call that can't be made because its arguments are masked.
pub(crate) fn masked(slot: Slot) -> Body {
    said(slot, false, Some(MASKED_ARGUMENTS), sentences::ARGUMENTS_GONE)
}

/// The outcome of an interrupted call whose files show that it was made.
pub(crate) fn settled(slot: Slot, changes: &[FileChange]) -> Body {
    said(slot, true, None, &sentences::changes_were_made(changes))
}

/// Returns the result of a call that this driver did not make.
fn said(slot: Slot, success: bool, code: Option<&str>, content: &str) -> Body {
    Body::Call(CallEvent::ToolResult {
        slot,
        call_id: String::new(),
        success,
        duration_ms: 0,
        bytes: content.len() as u64,
        content: Some(content.to_owned()),
        artifact: None,
        code: code.map(str::to_owned),
        exit_code: None,
        settled: success,
        seen: None,
    })
}

/// The outcome of a guard hook.
pub(crate) fn hook_result(slot: Slot, answer: Option<HookAnswer>, duration_ms: u64) -> Body {
    match answer {
        None => Body::Call(CallEvent::Interrupted { slot, effect: InterruptedEffect::Unknown }),
        Some(HookAnswer { answer, reason, fault }) => {
            Body::Gate(GateEvent::HookResult { slot, decision: answer, reason, fault, duration_ms })
        }
    }
}

/// The outcome of a turn whose adapter panicked. It is not asked for again by itself: it would panic again.
pub(crate) fn broken_turn(slot: Slot, said: &str) -> Body {
    let message = format!("the adapter panicked: {said}");
    Body::Turn(TurnEvent::AgentFailed {
        slot,
        kind: FailureKind::Permanent,
        message,
        retry_after_ms: None,
        received: 0,
        output_max: None,
    })
}

/// The outcome of a look at the tree, with secrets in names masked.
pub(crate) fn seen(slot: Slot, look: Look, found: Result<Outside, String>, duration_ms: u64, masks: &Masks) -> Body {
    let (outside, error) = match found {
        Ok(outside) => (outside, None),
        Err(error) => (Outside::default(), Some(masks.mask(&error))),
    };
    let paths = outside.paths.iter().map(|path| masks.mask(path)).collect();
    Body::Gate(GateEvent::TreeSeen { slot, look, outside: paths, more: outside.more, error, duration_ms })
}

/// The outcome of keeping a grant; one that can't be kept still holds for this run.
pub(crate) fn grant_kept(slot: Slot, error: Option<String>, masks: &Masks) -> Body {
    let error = error.map(|error| masks.mask(&format!("{error}; it holds for this run only")));
    Body::Gate(GateEvent::GrantKept { slot, error })
}

/// The outcome of a question.
pub(crate) fn answer(slot: Slot, answered: Answered) -> Body {
    let Answered { id, choice, text, by, whence } = answered;
    Body::Ask(AskEvent::Answer { slot, id, choice, text, by, whence })
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use super::{CancellationToken, until_limit};

    /// Returns the end of something that ends when it is cancelled, or at once.
    fn ended(limit_ms: Option<u64>, ends_at_once: bool) -> (&'static str, bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let cancel = CancellationToken::new();
        let cancelled = async {
            cancel.cancelled().await;
            "cancelled"
        };
        match ends_at_once {
            true => runtime.block_on(until_limit(limit_ms, &cancel, ready("done"))),
            false => runtime.block_on(until_limit(limit_ms, &cancel, cancelled)),
        }
    }

    #[test]
    fn what_is_in_flight_is_cancelled_at_its_limit_and_its_end_is_waited_for() {
        assert_eq!(ended(Some(0), false), ("cancelled", true));
        assert_eq!(ended(Some(0), true), ("done", false));
        assert_eq!(ended(Some(u64::MAX), true), ("done", false));
        assert_eq!(ended(None, true), ("done", false));
    }
}
