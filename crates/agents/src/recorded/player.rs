//! Plays a recording.

use std::path::Path;
use std::time::Duration;

use adjutant_core::gate::secrets::SecretSet;
use adjutant_host::text_file;
use adjutant_ports::{Agent, AgentFailure, CancellationToken, Delta, FailureKind, Pending, Reply, TurnRequest};

use super::ADAPTER_ID;
use super::lines::{self, Exchange, ExchangeEnd, ReadError, RecordedMessage, RecordingHead, SentRequest, ShownText};
use super::recorder::RecordingMasks;

/// The characters that are shown of a message where it differs, and those of them that stand before.
const EXCERPT_CHARS: usize = 60;
const EXCERPT_CHARS_BEFORE: usize = 15;

/// Answers from a recording.
///
/// The longest recording that is read, in bytes.
const RECORDING_BYTES_MAX: u64 = 1 << 30;

/// Nothing is kept between two turns: a turn is found by its number, so a resumed run plays on.
pub struct RecordedAgent {
    name: String,
    head: RecordingHead,
    exchanges: Vec<Exchange>,
    masks: RecordingMasks,
}

impl RecordedAgent {
    /// Returns an agent that plays the recording in the file `path`. `own` has the runtime's own secrets, which are
    /// masked in what is compared with the recording.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the file is not there or is no recording.
    pub fn read(path: &Path, own: SecretSet) -> Result<Self, ReadError> {
        let text = text_file::read(path, RECORDING_BYTES_MAX).map_err(ReadError::Unreadable)?;
        let (head, exchanges) = lines::read(&text)?;
        Ok(Self { name: path.display().to_string(), head, exchanges, masks: RecordingMasks::new(own) })
    }

    fn play(&self, request: &TurnRequest, deltas: &(dyn Fn(Delta) + Send + Sync)) -> Result<Reply, AgentFailure> {
        let sent = SentRequest::of(request, &self.masks);
        let exchange = self.find(request, &sent).map_err(|why| AgentFailure {
            kind: FailureKind::Permanent,
            message: format!("the recording `{}` {why}", self.name),
            retry_after: None,
            output_max: None,
        })?;
        for shown in exchange.line.shown.clone() {
            deltas(match shown {
                ShownText::Text(text) => Delta::Text(text),
                ShownText::Thinking(text) => Delta::Thinking(text),
            });
        }
        match exchange.line.end.clone() {
            ExchangeEnd::Reply { text, thinking, calls, provider_data, usage, stop } => {
                Ok(Reply { text, thinking, calls, provider_data, usage, stop })
            }
            ExchangeEnd::Failure { kind, message, retry_after_ms, output_max } => {
                let retry_after = retry_after_ms.map(Duration::from_millis);
                Err(AgentFailure { kind, message, retry_after, output_max })
            }
        }
    }

    /// Returns the exchange of a turn: that of the attempt; else of the next one on record, since an attempt that a
    /// kill cut short is not; else of the last, since this run may have been killed more often.
    fn find(&self, request: &TurnRequest, sent: &SentRequest) -> Result<&Exchange, String> {
        let (turn, attempt) = (request.turn, request.attempt);
        let of_turn = || self.exchanges.iter().filter(|exchange| exchange.line.turn == turn);
        let hash = sent.hash();
        let fitting = || of_turn().filter(|exchange| exchange.line.hash == hash);
        let from_here = fitting().filter(|exchange| exchange.line.attempt >= attempt);
        let found = from_here.min_by_key(|exchange| exchange.line.attempt);
        if let Some(found) = found.or_else(|| fitting().max_by_key(|exchange| exchange.line.attempt)) {
            return Ok(found);
        }
        match of_turn().max_by_key(|exchange| exchange.line.attempt == attempt) {
            Some(other) => Err(format!("is of another run: in turn {turn} {}", difference(other, sent))),
            None => {
                let last = self.exchanges.iter().map(|exchange| exchange.line.turn).max();
                let last = last.map_or("it is empty".to_owned(), |last| format!("its last is turn {last}"));
                Err(format!("has no turn {turn}; {last}"))
            }
        }
    }
}

/// Describes the first difference between the request and the one on record.
fn difference(recorded: &Exchange, sent: &SentRequest) -> String {
    let (then, now) = (&recorded.messages, &sent.messages);
    let alike = then.iter().zip(now).take_while(|(then, now)| then == now).count();
    match (then.get(alike), now.get(alike)) {
        (None, None) if recorded.line.tools != sent.tools => {
            format!("it offered the tools [{}], this run [{}]", recorded.line.tools.join(", "), sent.tools.join(", "))
        }
        (None, None) => "its hash is not that of its messages: the file was changed".to_owned(),
        (Some(then), None) => format!("it has a message {alike} that this run has not: {}", excerpt(then, 0)),
        (None, Some(now)) => format!("this run has a message {alike} that it has not: {}", excerpt(now, 0)),
        (Some(then), Some(now)) => {
            let (a, b) = (shown(then), shown(now));
            let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
            format!("message {alike} is {} on record and {} in this run", excerpt(then, same), excerpt(now, same))
        }
    }
}

/// Returns a message as one text. The standing orders are message 0.
fn shown(message: &RecordedMessage) -> String {
    serde_json::to_string(message).expect("texts and JSON values become JSON")
}

/// Returns a piece of a message around the character number `at`.
fn excerpt(message: &RecordedMessage, at: usize) -> String {
    let text = shown(message);
    let from = at.saturating_sub(EXCERPT_CHARS_BEFORE);
    let piece: String = text.chars().skip(from).take(EXCERPT_CHARS).collect();
    let (before, after) = (
        if from > 0 { "\u{2026}" } else { "" },
        if text.chars().count() > from + EXCERPT_CHARS { "\u{2026}" } else { "" },
    );
    format!("`{before}{piece}{after}`")
}

impl Agent for RecordedAgent {
    fn id(&self) -> &str {
        ADAPTER_ID
    }

    fn model(&self) -> &str {
        &self.head.model
    }

    fn turn<'a>(
        &'a self,
        request: &'a TurnRequest,
        deltas: &'a (dyn Fn(Delta) + Send + Sync),
        cancel: CancellationToken,
    ) -> Pending<'a, Result<Reply, AgentFailure>> {
        Box::pin(async move {
            if cancel.is_cancelled() {
                return Err(AgentFailure::cancelled());
            }
            self.play(request, deltas)
        })
    }
}
