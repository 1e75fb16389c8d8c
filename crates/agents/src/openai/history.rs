//! Writes the earlier messages, in the order and the words that both formats can carry.

use std::borrow::Cow;
use std::sync::Arc;

use adjutant_core::words::tool::ToolCall;
use adjutant_ports::{OutgoingMessage, OutgoingRole};

/// Beginning of the result of a failed call: neither format has a flag for it.
const ERROR_WORD: &str = "Error: ";

/// Returns the messages in the order that the formats ask for: the results of calls right behind the turn that asked
/// for them, before anything else is said.
pub(super) fn in_order(messages: &[Arc<OutgoingMessage>]) -> Vec<&OutgoingMessage> {
    let mut ordered = Vec::with_capacity(messages.len());
    let mut waiting = Vec::new();
    for message in messages.iter().map(|message| &**message) {
        match &message.role {
            OutgoingRole::Tool { .. } => ordered.push(message),
            OutgoingRole::User => waiting.push(message),
            OutgoingRole::Assistant => {
                ordered.append(&mut waiting);
                ordered.push(message);
            }
        }
    }
    ordered.append(&mut waiting);
    ordered
}

/// Returns the result of a call, as the model reads it.
pub(super) fn told(text: &str, is_error: bool) -> Cow<'_, str> {
    if is_error { Cow::Owned(format!("{ERROR_WORD}{text}")) } else { Cow::Borrowed(text) }
}

/// Returns the arguments of a call as the text of an object, which is all that the formats take; what could not be read
/// is told in the call's result.
pub(super) fn arguments(call: &ToolCall) -> String {
    if call.args.is_object() { call.args.to_string() } else { "{}".to_owned() }
}

#[cfg(test)]
pub(super) mod tests {
    use adjutant_core::words::tool::{ToolEffect, ToolSpec};
    use adjutant_ports::TurnRequest;
    use serde_json::{Value, json};

    use super::*;

    /// Returns a request with everything that a turn can have before it.
    pub(in crate::openai) fn long_request() -> TurnRequest {
        TurnRequest {
            part: String::new(),
            turns_before: 0,
            turn: 3,
            attempt: 1,
            turns_left_out: 0,
            system: "orders".to_owned(),
            messages: shared(vec![
                user("the brief"),
                agent("I understood.", &[]),
                user("go"),
                agent("", &[("c1", "read", json!({ "path": "größe" })), ("a.b", "x.y", Value::Null)]),
                result("c1", "content", false),
                user("by the way"),
                result("a.b", "not JSON", true),
                agent(" \n", &[]),
                user(""),
            ]),
            tools: tools(&["read", "x.y"]),
            may_call: true,
            output_max: None,
        }
    }

    pub(in crate::openai) fn tools(names: &[&str]) -> Arc<[ToolSpec]> {
        let spec = |name: &&str| ToolSpec {
            name: (*name).to_owned(),
            description: "reads".to_owned(),
            categories: Vec::new(),
            schema: json!({ "type": "object" }),
            effect: ToolEffect::Reads,
        };
        names.iter().map(spec).collect()
    }

    pub(in crate::openai) fn shared(messages: Vec<OutgoingMessage>) -> Vec<Arc<OutgoingMessage>> {
        messages.into_iter().map(Arc::new).collect()
    }

    pub(in crate::openai) fn user(text: &str) -> OutgoingMessage {
        OutgoingMessage { role: OutgoingRole::User, text: text.into(), calls: Vec::new(), provider_data: None }
    }

    pub(in crate::openai) fn agent(text: &str, calls: &[(&str, &str, Value)]) -> OutgoingMessage {
        let call = |(id, name, args): &(&str, &str, Value)| ToolCall {
            call_id: (*id).to_owned(),
            name: (*name).to_owned(),
            args: args.clone(),
            malformed: None,
            masked: false,
            resolved: Vec::new(),
        };
        OutgoingMessage {
            role: OutgoingRole::Assistant,
            text: text.into(),
            calls: calls.iter().map(call).collect(),
            provider_data: None,
        }
    }

    pub(in crate::openai) fn result(call_id: &str, text: &str, is_error: bool) -> OutgoingMessage {
        let role = OutgoingRole::Tool { call_id: call_id.to_owned(), name: "read".to_owned(), is_error };
        OutgoingMessage { role, text: text.into(), calls: Vec::new(), provider_data: None }
    }

    /// Fails unless what a turn sends begins with all that the turn before it sent, up to its last message: what
    /// the provider's cache goes by.
    #[track_caller]
    pub(in crate::openai) fn check_prefix(body: impl Fn(&TurnRequest) -> Value) {
        let whole = long_request();
        let said = |count: usize, may_call: bool| {
            let mut request = TurnRequest { may_call, ..whole.clone() };
            request.messages.truncate(count);
            let body = body(&request);
            let last = body.get("messages").or(body.get("input")).and_then(|list| list.as_array()?.last().cloned());
            let (body, last) = (body.to_string(), last.expect("a message").to_string());
            let end = body.rfind(&last).expect("it is in the body") + last.len();
            (body, end)
        };
        // After each of the agent's turns and its results, which is where a turn begins; also where the phase is
        // another.
        for (before, after, may_call) in
            [(1, 3, [true; 2]), (3, 7, [true; 2]), (1, 3, [false, true]), (3, 7, [true, false])]
        {
            let ((first, end), (second, _)) = (said(before, may_call[0]), said(after, may_call[1]));
            let same = first.bytes().zip(second.bytes()).take_while(|(one, other)| one == other).count();
            assert!(same >= end, "{first}\n{second}");
        }
    }

    #[test]
    fn results_come_right_behind_their_calls() {
        let request = long_request();
        let texts: Vec<&str> = in_order(&request.messages).iter().map(|message| &*message.text).collect();
        let expected = ["the brief", "I understood.", "go", "", "content", "not JSON", "by the way", " \n", ""];
        assert_eq!(texts, expected);
    }
}
