//! The agent that plays a scene's turns.

use std::sync::Arc;
use std::time::Duration;

use adjutant_core::trace::{Body, TurnEvent};
use adjutant_core::words::{FailureKind, Key, Slot, Usage, What};
use adjutant_ports::{Agent, AgentFailure, CancellationToken, Delta, Pending, Reply, Stop, TurnRequest};

use crate::backdrop::{BackdropState, BegunTurn, Life};
use crate::fate::PlantedFault;
use crate::scene::{StagedTurn, staged_panic};

/// How many pieces a slow turn arrives in.
const PIECES: u32 = 4;

pub(crate) struct StagedAgent {
    pub(crate) life: Arc<Life>,
    pub(crate) model: String,
}

impl StagedAgent {
    /// Returns the turn that comes next in a part: decided by how many it has taken, as the journal has it.
    fn next_turn(&self, state: &BackdropState, part: &str) -> StagedTurn {
        let is_taken = |body: &Body| match body {
            Body::Turn(TurnEvent::AgentReply { .. }) => true,
            Body::Turn(TurnEvent::AgentFailed { kind, .. }) => *kind != FailureKind::Cancelled,
            _ => false,
        };
        let taken = state.disk.events.iter().filter(|event| event.part.as_str() == part && is_taken(&event.body));
        let turns = self.life.backdrop.scene.turns.get(part);
        let turn = turns.and_then(|turns| turns.get(taken.count())).cloned();
        turn.unwrap_or_else(|| StagedTurn::says(""))
    }

    fn reply(&self, text: String, calls: Vec<adjutant_core::words::tool::ToolCall>) -> Reply {
        let backdrop = &self.life.backdrop;
        let usage = match backdrop.fate.planted {
            Some(PlantedFault::BillsTooMuch) => Some(Usage { output_tokens: Some(1_000_000_000), ..Usage::default() }),
            _ => backdrop.scene.usage,
        };
        Reply::plain(text, calls, usage, Stop::EndTurn)
    }

    async fn take(&self, request: &TurnRequest, deltas: &(dyn Fn(Delta) + Send + Sync)) -> Result<Reply, AgentFailure> {
        let life = &self.life;
        let part = request.part.parse().expect("a part");
        let slot = Slot { what: What::Turn, number: request.turn, attempt: request.attempt };
        let key = Key { part, slot };
        life.lives().await;
        life.begins(format!("turn {key}"));
        let begun = {
            let mut state = life.backdrop.state();
            let on_record = state.disk.intent(&key);
            state.requests.push(BegunTurn { key: key.to_string(), on_record });
            self.next_turn(&state, &request.part)
        };
        life.step().await;
        if life.backdrop.fate.planted == Some(PlantedFault::NeverAnswers) {
            std::future::pending::<()>().await;
        }
        match begun {
            StagedTurn::Panics => staged_panic(),
            StagedTurn::Says(text, calls) => {
                life.takes(&format!("turn {key}"), 1_000).await;
                deltas(Delta::Text(text.clone()));
                Ok(self.reply(text, calls))
            }
            StagedTurn::Slow(text, length_ms) => {
                let size = text.len().div_ceil(PIECES as usize).max(1);
                let pieces: Vec<String> =
                    text.as_bytes().chunks(size).map(|piece| String::from_utf8_lossy(piece).into_owned()).collect();
                for piece in pieces {
                    tokio::time::sleep(Duration::from_millis(length_ms) / PIECES).await;
                    life.lives().await;
                    deltas(Delta::Text(piece));
                }
                Ok(self.reply(text, Vec::new()))
            }
            StagedTurn::Fails(kind, retry_after) => {
                life.takes(&format!("turn {key}"), 300).await;
                let message = "the scene says so".to_owned();
                Err(AgentFailure { kind, message, retry_after, output_max: None })
            }
        }
    }
}

impl Agent for StagedAgent {
    fn id(&self) -> &str {
        "staged"
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn turn<'a>(
        &'a self,
        request: &'a TurnRequest,
        deltas: &'a (dyn Fn(Delta) + Send + Sync),
        cancel: CancellationToken,
    ) -> Pending<'a, Result<Reply, AgentFailure>> {
        Box::pin(async move {
            tokio::select! {
                biased;
                taken = self.take(request, deltas) => taken,
                () = cancel.cancelled() => Err(AgentFailure::cancelled()),
            }
        })
    }
}
