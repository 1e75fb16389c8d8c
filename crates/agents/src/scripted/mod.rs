//! An agent that plays a script: for tests, for examples, and for a first run without a key.
//!
//! In: a request. Out: the reply that the script has for it, streamed as the script says. Nothing is kept
//! between two turns: the same request gets the same reply in whatever order requests come, from whatever
//! process (see `script.rs`). It does not understand anything and never reaches the network.
//!
//! Begin with [`ScriptedAgent`]; the file format is in `docs/scripted-agent.md` and read by `read.rs`.

mod node;
mod read;
mod script;

use std::time::Duration;

use adjutant_core::words::tool::ToolCall;
use adjutant_ports::{Agent, AgentFailure, CancellationToken, Delta, OutgoingRole, Pending, Reply, Stop, TurnRequest};

pub use read::{ScriptError, Spot};
pub use script::{DELAY_MS_MAX, Script};

use script::{Fail, ScriptCall, ScriptTurn};

/// The adapter's word in a brief.
pub const ADAPTER_ID: &str = "scripted";

/// Plays one script.
#[derive(Debug, Clone)]
pub struct ScriptedAgent {
    script: Script,
}

impl ScriptedAgent {
    /// Creates an agent that plays `script`.
    #[must_use]
    pub fn new(script: Script) -> Self {
        Self { script }
    }

    async fn play(
        &self,
        request: &TurnRequest,
        deltas: &(dyn Fn(Delta) + Send + Sync),
        cancel: CancellationToken,
    ) -> Result<Reply, AgentFailure> {
        let of_part = self.script.of_part(&request.part);
        let script = of_part.as_ref().unwrap_or(&self.script);
        let own = request.turns_left_out
            + request.messages.iter().filter(|said| said.role == OutgoingRole::Assistant).count();
        // Turns of other sessions count as taken, as if they had been left out.
        let others = if of_part.is_some() { 0 } else { request.turns_before.saturating_sub(own) };
        let (number, turn) = script.choose(request.turns_left_out + others, &request.messages);
        if let Some(delay) = turn.map(|turn| turn.delay_ms).filter(|delay| *delay > 0) {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(AgentFailure::cancelled()),
                () = tokio::time::sleep(Duration::from_millis(delay)) => {}
            }
        }
        if cancel.is_cancelled() {
            return Err(AgentFailure::cancelled());
        }
        let Some(turn) = turn else {
            return Ok(Reply::plain(String::new(), Vec::new(), None, Stop::EndTurn));
        };
        if let Some(fail) = turn.fail.as_ref().filter(|fail| fail.strikes(request.attempt)) {
            return Err(AgentFailure {
                kind: fail.kind,
                message: fail.message.clone(),
                retry_after: Some(Duration::from_millis(fail.after_ms)),
                output_max: fail.output_max,
            });
        }
        for piece in turn.stream.pieces(&turn.text) {
            if cancel.is_cancelled() {
                return Err(AgentFailure::cancelled());
            }
            deltas(Delta::Text(piece.to_owned()));
        }
        Ok(turn.reply(number))
    }
}

impl Agent for ScriptedAgent {
    fn id(&self) -> &str {
        ADAPTER_ID
    }

    fn model(&self) -> &str {
        self.script.name()
    }

    fn turn<'a>(
        &'a self,
        request: &'a TurnRequest,
        deltas: &'a (dyn Fn(Delta) + Send + Sync),
        cancel: CancellationToken,
    ) -> Pending<'a, Result<Reply, AgentFailure>> {
        Box::pin(self.play(request, deltas, cancel))
    }
}

impl ScriptTurn {
    /// Returns the reply, as turn `number` of its conversation.
    fn reply(&self, number: usize) -> Reply {
        let calls: Vec<ToolCall> =
            self.calls.iter().enumerate().map(|(index, call)| call.made(number, index + 1)).collect();
        let stop = self.stop.unwrap_or(if calls.is_empty() { Stop::EndTurn } else { Stop::ToolUse });
        Reply::plain(self.text.clone(), calls, self.usage, stop)
    }
}

impl ScriptCall {
    /// Returns the call as number `place` of turn `turn`; the two name it where the script does not.
    fn made(&self, turn: usize, place: usize) -> ToolCall {
        ToolCall {
            call_id: self.id.clone().unwrap_or_else(|| format!("call_{turn}_{place}")),
            name: self.tool.clone(),
            args: self.args.clone(),
            malformed: self.malformed.clone(),
            masked: false,
            resolved: Vec::new(),
        }
    }
}

impl Fail {
    /// Returns true if attempt number `attempt`, from 1, fails.
    fn strikes(&self, attempt: u32) -> bool {
        self.times.is_none_or(|times| attempt <= times)
    }
}

#[cfg(test)]
mod tests;
