//! What is sent for a turn, put together from the transcript: nothing that isn't in the journal.

use std::collections::HashSet;

use adjutant_core::procedure::Key;
use adjutant_core::session::fence::fenced;
use adjutant_core::session::transcript::{Said, Speaker, Transcript, folded, shortened};
use adjutant_core::tool::{ToolCall, ToolSpecs};
use adjutant_ports::{Agent, OutgoingMessage, OutgoingRole, TurnRequest};

/// What is sent when a kept content is gone: the agent must not take silence for an empty result.
const GONE: &str = "(the content of this result is no longer there)";

/// What is asked of the agent, besides what was said.
pub(crate) struct Asked {
    /// The tools that are described.
    pub(crate) tools: ToolSpecs,
    /// Whether they may be called.
    pub(crate) may_call: bool,
    /// The most tokens of the reply.
    pub(crate) output_max: u32,
    /// How many turns were taken in the run before.
    pub(crate) turns_before: usize,
}

/// The request for the turn `key`: what the transcript still sends, for this agent.
pub(crate) fn build(
    key: &Key,
    transcript: Option<&Transcript>,
    asked: Asked,
    agent: &dyn Agent,
    kept: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> TurnRequest {
    let Asked { tools, may_call, output_max, turns_before } = asked;
    let mut system = String::new();
    let mut messages = Vec::new();
    for said in transcript.into_iter().flat_map(Transcript::sent) {
        let (is_fenced, bytes_max) =
            (transcript.is_some_and(Transcript::is_fenced), transcript.and_then(Transcript::result_bytes_max));
        match outgoing(said, (is_fenced, bytes_max), agent, kept) {
            Some(message) => messages.push(message),
            None => {
                if !system.is_empty() {
                    system.push_str("\n\n");
                }
                system.push_str(&said.text);
            }
        }
    }
    tell_calls_apart(&mut messages);
    TurnRequest {
        part: key.part.to_string(),
        turns_before,
        turn: key.slot.number,
        attempt: key.slot.attempt,
        turns_left_out: transcript.map_or(0, Transcript::turns_left_out),
        system,
        messages,
        tools,
        may_call,
        output_max: Some(output_max),
    }
}

/// One message as it is sent; `None` if it is the system's.
fn outgoing(
    said: &Said,
    (is_fenced, bytes_max): (bool, Option<u64>),
    agent: &dyn Agent,
    kept: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> Option<OutgoingMessage> {
    let (role, calls, provider_data) = match &said.speaker {
        Speaker::System => return None,
        Speaker::User => (OutgoingRole::User, Vec::new(), None),
        Speaker::Agent { calls, provider_data } => {
            let parts = provider_data.as_ref().and_then(|data| data.parts_for(agent.id(), agent.model()));
            (OutgoingRole::Assistant, calls.clone(), parts.cloned())
        }
        Speaker::Tool { call_id, name, is_error, .. } => {
            let role = OutgoingRole::Tool { call_id: call_id.clone(), name: name.clone(), is_error: *is_error };
            (role, Vec::new(), None)
        }
    };
    let text = match &said.speaker {
        Speaker::Tool { artifact: Some(hash), .. } => {
            kept(hash).map_or_else(|| GONE.to_owned(), |content| String::from_utf8_lossy(&content).into_owned())
        }
        _ => said.text.clone(),
    };
    let text = match (&said.speaker, bytes_max) {
        _ if said.is_folded => folded(&text),
        (Speaker::Tool { name, .. }, Some(bytes_max)) => shortened(name, &text, bytes_max).unwrap_or(text),
        (Speaker::Tool { .. } | Speaker::System | Speaker::User | Speaker::Agent { .. }, _) => text,
    };
    let text = match &said.speaker {
        Speaker::Tool { source: Some(source), .. } if is_fenced && !text.is_empty() => fenced(source, &text),
        _ => text,
    };
    Some(OutgoingMessage { role, text, calls, provider_data })
}

/// Gives each call an id of its own, and each result that of its call. Providers refuse a request in which two calls
/// have one id; models repeat ids over turns and within one, and some servers give none. The first call that comes
/// with an id keeps it, so that what is sent of earlier turns never changes.
fn tell_calls_apart(messages: &mut [OutgoingMessage]) {
    let mut taken: HashSet<String> = HashSet::new();
    // Calls without a result so far: the id that came, and the one that is sent.
    let mut open: Vec<(String, String)> = Vec::new();
    for message in messages {
        for call in &mut message.calls {
            let id = free_id(call, &taken);
            taken.insert(id.clone());
            open.push((std::mem::replace(&mut call.call_id, id.clone()), id));
        }
        if let OutgoingRole::Tool { call_id, .. } = &mut message.role
            && let Some(place) = open.iter().position(|(came, _)| came == call_id)
        {
            *call_id = open.remove(place).1;
        }
    }
}

/// The id of a call that none of `taken` is.
fn free_id(call: &ToolCall, taken: &HashSet<String>) -> String {
    let wanted = if call.call_id.trim().is_empty() { "call" } else { call.call_id.as_str() };
    if wanted == call.call_id && !taken.contains(wanted) {
        return wanted.to_owned();
    }
    let mut ids = (taken.len()..).map(|number| format!("{wanted}-{number}"));
    // There are more numbers than ids.
    ids.find(|id| !taken.contains(id)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use adjutant_core::tool::ToolCall;
    use serde_json::Value;

    use super::{OutgoingMessage, OutgoingRole, tell_calls_apart};

    fn turn(ids: &[&str]) -> OutgoingMessage {
        let call = |id: &&str| ToolCall {
            call_id: (*id).to_owned(),
            name: "t".to_owned(),
            args: Value::Null,
            malformed: None,
            masked: false,
            resolved: Vec::new(),
        };
        let calls = ids.iter().map(call).collect();
        OutgoingMessage { role: OutgoingRole::Assistant, text: String::new(), calls, provider_data: None }
    }

    fn result(id: &str) -> OutgoingMessage {
        let role = OutgoingRole::Tool { call_id: id.to_owned(), name: "t".to_owned(), is_error: false };
        OutgoingMessage { role, text: String::new(), calls: Vec::new(), provider_data: None }
    }

    /// The ids of calls and results as they are sent; those of results with a sign before.
    fn sent(mut messages: Vec<OutgoingMessage>) -> Vec<String> {
        tell_calls_apart(&mut messages);
        let ids = messages.iter().flat_map(|message| match &message.role {
            OutgoingRole::Tool { call_id, .. } => vec![format!("={call_id}")],
            _ => message.calls.iter().map(|call| call.call_id.clone()).collect(),
        });
        ids.collect()
    }

    #[test]
    fn every_call_has_an_id_of_its_own_and_its_result_the_same() {
        let check = |messages: Vec<OutgoingMessage>, expected: &[&str]| assert_eq!(sent(messages), expected);
        check(vec![turn(&["a", "b"]), result("a"), result("b")], &["a", "b", "=a", "=b"]);
        // Over turns, within one, and none at all.
        check(vec![turn(&["a"]), result("a"), turn(&["a"]), result("a")], &["a", "=a", "a-1", "=a-1"]);
        check(vec![turn(&["a", "a"]), result("a"), result("a")], &["a", "a-1", "=a", "=a-1"]);
        check(vec![turn(&["", " "]), result(""), result(" ")], &["call-0", "call-1", "=call-0", "=call-1"]);
        // One that is made may have come already, or comes later.
        check(vec![turn(&["a-1", "a", "a"])], &["a-1", "a", "a-2"]);
        check(vec![turn(&["a", "a", "a-1"])], &["a", "a-1", "a-1-2"]);
        // A result without its call stays as it is.
        check(vec![result("x")], &["=x"]);
    }

    #[test]
    fn what_was_sent_of_earlier_turns_never_changes() {
        let ids = ["a", "", "a", "a-1", "b", "", "a-1-3", "call-1"];
        let mut messages = Vec::new();
        let mut before: Vec<String> = Vec::new();
        for id in ids {
            messages.extend([turn(&[id, id]), result(id), result(id)]);
            let now = sent(messages.clone());
            assert_eq!(now[..before.len()], before);
            before = now;
        }
        let unique: std::collections::HashSet<&String> = before.iter().filter(|id| !id.starts_with('=')).collect();
        assert_eq!(unique.len(), 2 * ids.len());
    }
}
