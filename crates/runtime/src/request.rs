//! The request for a turn, put together from the transcript: nothing that isn't in the journal.

use std::collections::HashSet;
use std::sync::Arc;

use adjutant_core::session::sentences::CONTENT_GONE;
use adjutant_core::session::transcript::{Speaker, Transcript, TranscriptMessage, folded, shortened};
use adjutant_core::words::Key;
use adjutant_core::words::fence::fenced;
use adjutant_core::words::tool::{ToolCall, ToolSpecs};
use adjutant_ports::{Agent, OutgoingMessage, OutgoingRole, TurnRequest};

/// The terms of a request, besides the messages.
pub(crate) struct Asked {
    /// The tools that are described.
    pub(crate) tools: ToolSpecs,
    /// True if they may be called.
    pub(crate) may_call: bool,
    /// The most tokens of the reply.
    pub(crate) output_max: u32,
    /// Number of turns taken in the run before.
    pub(crate) turns_before: usize,
}

/// The messages sent for one part so far: the next request sends them again, with what was said since.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// The agent that it is for: what a provider wants back is its own.
    agent: (String, String),
    /// The state of the transcript's [`rewrites`](Transcript::rewrites) that it was made from.
    rewrites: u64,
    /// The number of messages of the transcript that it has taken in.
    seen: usize,
    system: String,
    messages: Vec<Arc<OutgoingMessage>>,
    ids: CallIds,
}

impl Outbox {
    /// Returns the request for the turn `key`: what the transcript still sends, for this agent.
    pub(crate) fn request(
        &mut self,
        key: &Key,
        transcript: Option<&Transcript>,
        asked: Asked,
        agent: &dyn Agent,
        kept: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> TurnRequest {
        if let Some(transcript) = transcript {
            self.take_in(transcript, agent, kept);
        }
        let Asked { tools, may_call, output_max, turns_before } = asked;
        TurnRequest {
            part: key.part.to_string(),
            turns_before,
            turn: key.slot.number,
            attempt: key.slot.attempt,
            turns_left_out: transcript.map_or(0, Transcript::turns_left_out),
            system: self.system.clone(),
            messages: self.messages.clone(),
            tools,
            may_call,
            output_max: Some(output_max),
        }
    }

    /// Takes in what was said since the last request; all of it if anything of that one would be sent otherwise now.
    fn take_in(&mut self, transcript: &Transcript, agent: &dyn Agent, kept: &dyn Fn(&str) -> Option<Vec<u8>>) {
        let is_for = self.agent.0 == agent.id() && self.agent.1 == agent.model();
        if !is_for || self.rewrites != transcript.rewrites() {
            let agent = (agent.id().to_owned(), agent.model().to_owned());
            *self = Self { agent, rewrites: transcript.rewrites(), ..Self::default() };
        }
        let limits = (transcript.is_fenced(), transcript.result_bytes_max());
        for said in transcript.sent_from(self.seen) {
            match outgoing(said, limits, agent, kept) {
                Some(mut message) => {
                    self.ids.tell_apart(&mut message);
                    self.messages.push(Arc::new(message));
                }
                None => {
                    if !self.system.is_empty() {
                        self.system.push_str("\n\n");
                    }
                    self.system.push_str(&said.text);
                }
            }
        }
        self.seen = transcript.messages().len();
    }
}

/// One message as it is sent; `None` if it is the system's.
fn outgoing(
    said: &TranscriptMessage,
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
    let text: Arc<str> = match &said.speaker {
        Speaker::Tool { artifact: Some(hash), .. } => {
            kept(hash).map_or_else(|| CONTENT_GONE.into(), |content| String::from_utf8_lossy(&content).into())
        }
        _ => Arc::clone(&said.text),
    };
    let text = match (&said.speaker, bytes_max) {
        _ if said.is_folded => folded(&text).into(),
        (Speaker::Tool { name, .. }, Some(bytes_max)) => shortened(name, &text, bytes_max).map_or(text, Into::into),
        (Speaker::Tool { .. } | Speaker::System | Speaker::User | Speaker::Agent { .. }, _) => text,
    };
    let text = match &said.speaker {
        Speaker::Tool { source: Some(source), .. } if is_fenced && !text.is_empty() => fenced(source, &text).into(),
        _ => text,
    };
    Some(OutgoingMessage { role, text, calls, provider_data })
}

/// The ids that calls are sent with: each has one of its own, and its result the same. Providers refuse a request in which
/// two calls have one id; models repeat ids over turns and within one, and some servers give none. The first call that
/// comes with an id keeps it, so that what is sent of earlier turns never changes.
#[derive(Debug, Default)]
struct CallIds {
    taken: HashSet<String>,
    /// Calls without a result so far: the id that came, and the one that is sent.
    open: Vec<(String, String)>,
}

impl CallIds {
    /// Gives the calls of the next message their ids, or a result that of its call.
    fn tell_apart(&mut self, message: &mut OutgoingMessage) {
        for call in &mut message.calls {
            let id = free_id(call, &self.taken);
            self.taken.insert(id.clone());
            self.open.push((std::mem::replace(&mut call.call_id, id.clone()), id));
        }
        if let OutgoingRole::Tool { call_id, .. } = &mut message.role
            && let Some(place) = self.open.iter().position(|(came, _)| came == call_id)
        {
            *call_id = self.open.remove(place).1;
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
    use adjutant_core::words::tool::ToolCall;
    use serde_json::Value;

    use super::{CallIds, OutgoingMessage, OutgoingRole};

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
        OutgoingMessage { role: OutgoingRole::Assistant, text: "".into(), calls, provider_data: None }
    }

    fn result(id: &str) -> OutgoingMessage {
        let role = OutgoingRole::Tool { call_id: id.to_owned(), name: "t".to_owned(), is_error: false };
        OutgoingMessage { role, text: "".into(), calls: Vec::new(), provider_data: None }
    }

    /// The ids of calls and results as they are sent; those of results with a sign before.
    fn sent(mut messages: Vec<OutgoingMessage>) -> Vec<String> {
        let mut ids = CallIds::default();
        messages.iter_mut().for_each(|message| ids.tell_apart(message));
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
