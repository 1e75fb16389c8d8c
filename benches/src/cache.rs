//! The part of a session's input that its provider's cache can't serve.
//!
//! A cache serves what a request begins with as long as the request before began the same: tools, then the standing
//! orders, then the messages. Bytes stand for tokens here; what a provider really read from its cache is in `inspect`.

use std::path::Path;
use std::sync::{Arc, Mutex};

use adjutant_agents::ScriptedAgent;
use adjutant_agents::anthropic::Messages;
use adjutant_agents::api::{OUTPUT_TOKENS_MAX, Terms, Wire};
use adjutant_ports::{Agent, AgentFailure, CancellationToken, Delta, Pending, Reply, TurnRequest};
use serde_json::Value;

use crate::figure::{Amount, Figure};
use crate::world::{self, MemoryJournal};

/// Turns of work in the session, besides its summary and its report.
const TURNS: u32 = 20;

/// Bytes that no cache can serve, of a session as it is and of one that describes tools only where they may be called;
/// and all bytes that it sends.
pub fn measure(_: &Path, _: &Path) -> anyhow::Result<Vec<Figure>> {
    let agent = Arc::new(RecordingAgent { inner: world::agent(TURNS)?, requests: Mutex::default() });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(world::whole_run(&mut MemoryJournal::default(), world::ports(agent.clone())))?;
    let requests = agent.requests.lock().expect("nothing panics in between").clone();
    let sent: Vec<Vec<String>> = requests.iter().map(pieces).collect();
    let without = |request: &TurnRequest| match request.may_call {
        true => pieces(request),
        false => pieces(&TurnRequest { tools: [].into(), ..request.clone() }),
    };
    let before: Vec<Vec<String>> = requests.iter().map(without).collect();
    let figure = |name: &str, measured, against: &str, baseline| Figure {
        name: name.to_owned(),
        measured: Amount::Bytes(measured),
        budget: None,
        against: against.to_owned(),
        baseline: Amount::Bytes(baseline),
    };
    let all = sent.iter().flatten().map(|piece| piece.len() as u64).sum();
    Ok(vec![
        figure("a session's input that no cache can serve", fresh(&sent), "all that it sends", all),
        figure("the same", fresh(&sent), "with tools only where they may be called", fresh(&before)),
    ])
}

/// The pieces of a request, in the order in which a provider's cache goes by them.
fn pieces(request: &TurnRequest) -> Vec<String> {
    let mut body = Messages.body(request, &Terms::new("bench", OUTPUT_TOKENS_MAX));
    without_marks(&mut body);
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    [body["tools"].take(), body["system"].take()].into_iter().chain(messages).map(|piece| piece.to_string()).collect()
}

/// Takes out the marks of what is to be cached: they are no part of what is said.
fn without_marks(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(without_marks);
        }
        Value::Array(items) => items.iter_mut().for_each(without_marks),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Counts the bytes of all requests that were not at the beginning of the one before.
fn fresh(requests: &[Vec<String>]) -> u64 {
    let mut before: &[String] = &[];
    let mut fresh = 0;
    for request in requests {
        let same = request.iter().zip(before).take_while(|(now, then)| now == then).count();
        fresh += request[same..].iter().map(|piece| piece.len() as u64).sum::<u64>();
        before = request;
    }
    fresh
}

/// An agent that keeps what it is asked.
struct RecordingAgent {
    inner: ScriptedAgent,
    requests: Mutex<Vec<TurnRequest>>,
}

impl Agent for RecordingAgent {
    fn id(&self) -> &str {
        self.inner.id()
    }

    fn model(&self) -> &str {
        self.inner.model()
    }

    fn turn<'a>(
        &'a self,
        request: &'a TurnRequest,
        deltas: &'a (dyn Fn(Delta) + Send + Sync),
        cancel: CancellationToken,
    ) -> Pending<'a, Result<Reply, AgentFailure>> {
        self.requests.lock().expect("nothing panics in between").push(request.clone());
        self.inner.turn(request, deltas, cancel)
    }
}
