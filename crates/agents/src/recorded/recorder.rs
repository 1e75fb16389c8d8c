//! Writes down each exchange with an agent.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use adjutant_core::gate::secrets::{SecretSet, mask_value_with};
use adjutant_core::words::tool::ToolCall;
use adjutant_ports::{Agent, AgentFailure, CancellationToken, Delta, FailureKind, Pending, Reply, TurnRequest};
use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

use super::lines::{
    self, ExchangeEnd, ExchangeLine, RECORDING_VERSION, ReadError, RecordedMessage, RecordingHead, SentRequest,
    ShownText,
};

/// The longest head that is looked for, in bytes: it has a few words.
const HEAD_BYTES_MAX: u64 = 64 * 1024;

/// Policy for a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It is an error: nothing is overwritten.
    Refuse,
    /// The recording in it goes on.
    Append,
}

/// Reason why nothing can be recorded.
#[derive(Debug, Error)]
pub enum OpenError {
    /// There is such a file.
    #[error("there is already a file `{0}`")]
    Exists(PathBuf),
    /// The file can't be written.
    #[error("can't write the recording `{path}`: {source}")]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file is there and holds something else.
    #[error("can't go on with the recording `{path}`: {source}")]
    Other {
        /// The file.
        path: PathBuf,
        /// Fault of the recording.
        source: ReadError,
    },
}

/// Secrets that are masked before anything is written: known shapes, and the values of the runtime's own keys.
#[derive(Debug, Clone, Default)]
pub(super) struct RecordingMasks(SecretSet);

impl RecordingMasks {
    pub(super) fn new(own: SecretSet) -> Self {
        Self(own)
    }

    pub(super) fn text(&self, text: &str) -> String {
        self.0.mask(text).into_owned()
    }

    /// Returns the data that a provider wants back, unless something in it or in the text that it belongs to would be
    /// masked.
    pub(super) fn provider_data(&self, data: &Value, text: &str) -> Option<Value> {
        let is_changed = self.text(text) != text || mask_value_with(data, &self.0).1;
        (!is_changed).then(|| data.clone())
    }

    /// Returns a call with its names and arguments masked, and marked if anything changed.
    pub(super) fn call(&self, call: &ToolCall) -> ToolCall {
        let (args, is_changed) = mask_value_with(&call.args, &self.0);
        let masked = ToolCall {
            call_id: self.text(&call.call_id),
            name: self.text(&call.name),
            args,
            malformed: call.malformed.as_deref().map(|text| self.text(text)),
            masked: call.masked || is_changed,
            resolved: call.resolved.clone(),
        };
        ToolCall { masked: masked.masked || masked != *call, ..masked }
    }
}

/// A file that exchanges are written to, of one agent or of several.
#[derive(Clone)]
pub struct Recording {
    masks: RecordingMasks,
    tape: Arc<Mutex<Tape>>,
}

/// An agent whose exchanges are written down.
///
/// A cancelled turn is not: it shows an act of the operator, and nothing of the agent.
pub struct Recorder {
    agent: Arc<dyn Agent>,
    recording: Recording,
}

struct Tape {
    path: PathBuf,
    file: File,
    /// Messages of the last line written here.
    last: Vec<Arc<RecordedMessage>>,
    /// Reason why nothing is written any more.
    fault: Option<String>,
}

impl Recording {
    /// Creates a recording in the file `path`, which is made for its owner alone (mode 0600). `agent` is the one that
    /// its head names, and `own` has the runtime's own secrets.
    ///
    /// # Errors
    ///
    /// [`OpenError`] if the file can't be written, or holds something that is not to be overwritten.
    pub fn open(agent: &dyn Agent, path: &Path, existing: Existing, own: SecretSet) -> Result<Self, OpenError> {
        let head = RecordingHead {
            recording: RECORDING_VERSION,
            adjutant: env!("CARGO_PKG_VERSION").to_owned(),
            adapter: agent.id().to_owned(),
            model: agent.model().to_owned(),
        };
        let unwritable = |source| OpenError::Unwritable { path: path.to_owned(), source };
        let created = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(path);
        let file = match (created, existing) {
            (Ok(mut file), _) => {
                write_line(&mut file, &head).map_err(unwritable)?;
                file
            }
            (Err(error), _) if error.kind() != io::ErrorKind::AlreadyExists => return Err(unwritable(error)),
            (Err(_), Existing::Refuse) => return Err(OpenError::Exists(path.to_owned())),
            (Err(_), Existing::Append) => {
                let mut file = OpenOptions::new().read(true).append(true).open(path).map_err(unwritable)?;
                let mut first = String::new();
                BufReader::new((&mut file).take(HEAD_BYTES_MAX)).read_line(&mut first).map_err(unwritable)?;
                lines::head(&first).map_err(|source| OpenError::Other { path: path.to_owned(), source })?;
                cut_torn_line(&mut file).map_err(unwritable)?;
                file
            }
        };
        let tape = Tape { path: path.to_owned(), file, last: Vec::new(), fault: None };
        Ok(Self { masks: RecordingMasks::new(own), tape: Arc::new(Mutex::new(tape)) })
    }

    /// `agent`, recorded here.
    #[must_use]
    pub fn of(&self, agent: Arc<dyn Agent>) -> Recorder {
        Recorder { agent, recording: self.clone() }
    }

    /// Returns the reason why the recording is incomplete, if it is: the run went on without it.
    pub fn fault(&self) -> Option<String> {
        self.tape().fault.clone()
    }

    fn tape(&self) -> MutexGuard<'_, Tape> {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, request: &TurnRequest, shown: Vec<ShownText>, result: &Result<Reply, AgentFailure>) {
        let end = match result {
            Ok(Reply { text, thinking, calls, provider_data, usage, stop }) => ExchangeEnd::Reply {
                text: self.masks.text(text),
                thinking: self.masks.text(thinking),
                provider_data: provider_data.as_ref().and_then(|data| self.masks.provider_data(data, text)),
                calls: calls.iter().map(|call| self.masks.call(call)).collect(),
                usage: *usage,
                stop: *stop,
            },
            Err(AgentFailure { kind: FailureKind::Cancelled, .. }) => return,
            Err(AgentFailure { kind, message, retry_after, output_max }) => ExchangeEnd::Failure {
                kind: *kind,
                message: self.masks.text(message),
                retry_after_ms: retry_after.map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX)),
                output_max: *output_max,
            },
        };
        let shown = shown.into_iter().map(|shown| match shown {
            ShownText::Text(text) => ShownText::Text(self.masks.text(&text)),
            ShownText::Thinking(text) => ShownText::Thinking(self.masks.text(&text)),
        });
        let sent = SentRequest::of(request, &self.masks);
        let mut tape = self.tape();
        let same = sent.messages.iter().zip(&tape.last).take_while(|(now, before)| now == before).count();
        let line = ExchangeLine {
            turn: request.turn,
            attempt: request.attempt,
            hash: sent.hash(),
            same,
            messages: sent.messages[same..].to_vec(),
            tools: sent.tools.clone(),
            output_max: request.output_max,
            shown: shown.collect(),
            end,
        };
        tape.write(&line, sent.messages);
    }
}

impl Tape {
    /// Writes a line, unless one could not be written before: a gap would be played as if nothing were missing.
    fn write(&mut self, line: &ExchangeLine, sent: Vec<Arc<RecordedMessage>>) {
        if self.fault.is_some() {
            return;
        }
        match write_line(&mut self.file, line) {
            Ok(()) => self.last = sent,
            Err(error) => {
                let (path, turn) = (self.path.display(), line.turn);
                self.fault = Some(format!("the recording `{path}` ends before turn {turn}: {error}"));
            }
        }
    }
}

fn write_line(file: &mut File, line: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    file.write_all(&text)?;
    file.flush()
}

/// Cuts off a last line that was not written to its end.
fn cut_torn_line(file: &mut File) -> io::Result<()> {
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut text)?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    if whole < text.len() {
        file.set_len(whole as u64)?;
    }
    Ok(())
}

impl Agent for Recorder {
    fn id(&self) -> &str {
        self.agent.id()
    }

    fn model(&self) -> &str {
        self.agent.model()
    }

    fn turn<'a>(
        &'a self,
        request: &'a TurnRequest,
        deltas: &'a (dyn Fn(Delta) + Send + Sync),
        cancel: CancellationToken,
    ) -> Pending<'a, Result<Reply, AgentFailure>> {
        Box::pin(async move {
            let shown = Mutex::new(Vec::new());
            let show = |delta: Delta| {
                ShownText::push(&mut shown.lock().unwrap_or_else(PoisonError::into_inner), &delta);
                deltas(delta);
            };
            let result = self.agent.turn(request, &show, cancel).await;
            self.recording.record(request, shown.into_inner().unwrap_or_else(PoisonError::into_inner), &result);
            result
        })
    }
}
