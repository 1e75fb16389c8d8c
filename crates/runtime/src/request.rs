//! What is sent for a turn, put together from the transcript: nothing that isn't in the journal.

use adjutant_core::procedure::Key;
use adjutant_core::session::fence::fenced;
use adjutant_core::session::transcript::{Said, Speaker, Transcript, folded};
use adjutant_core::tool::ToolSpecs;
use adjutant_ports::{OutgoingMessage, OutgoingRole, TurnRequest};

/// What is sent when a kept content is gone: the agent must not take silence for an empty result.
const GONE: &str = "(the content of this result is no longer there)";

/// The request for the turn `key`: what the transcript still sends.
pub(crate) fn build(
    key: &Key,
    transcript: Option<&Transcript>,
    turns_before: usize,
    output_max: u32,
    tools: ToolSpecs,
    kept: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> TurnRequest {
    let mut system = String::new();
    let mut messages = Vec::new();
    for said in transcript.into_iter().flat_map(Transcript::sent) {
        match outgoing(said, transcript.is_some_and(Transcript::is_fenced), kept) {
            Some(message) => messages.push(message),
            None => {
                if !system.is_empty() {
                    system.push_str("\n\n");
                }
                system.push_str(&said.text);
            }
        }
    }
    TurnRequest {
        part: key.part.to_string(),
        turns_before,
        turn: key.slot.number,
        attempt: key.slot.attempt,
        turns_left_out: transcript.map_or(0, Transcript::turns_left_out),
        system,
        messages,
        tools,
        output_max: Some(output_max),
    }
}

/// One message as it is sent; `None` if it is the system's.
fn outgoing(said: &Said, is_fenced: bool, kept: &dyn Fn(&str) -> Option<Vec<u8>>) -> Option<OutgoingMessage> {
    let (role, calls) = match &said.speaker {
        Speaker::System => return None,
        Speaker::User => (OutgoingRole::User, Vec::new()),
        Speaker::Agent(calls) => (OutgoingRole::Assistant, calls.clone()),
        Speaker::Tool { call_id, name, is_error, .. } => {
            (OutgoingRole::Tool { call_id: call_id.clone(), name: name.clone(), is_error: *is_error }, Vec::new())
        }
    };
    let text = match &said.speaker {
        Speaker::Tool { artifact: Some(hash), .. } => {
            kept(hash).map_or_else(|| GONE.to_owned(), |content| String::from_utf8_lossy(&content).into_owned())
        }
        _ => said.text.clone(),
    };
    let text = if said.is_folded { folded(&text) } else { text };
    let text = match &said.speaker {
        Speaker::Tool { source: Some(source), .. } if is_fenced && !text.is_empty() => fenced(source, &text),
        _ => text,
    };
    Some(OutgoingMessage { role, text, calls })
}
