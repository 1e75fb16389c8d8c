//! The Messages API of Anthropic.
//!
//! In: a turn. Out: its reply, streamed. One request is one exchange with one host, the one of the base URL;
//! nothing is asked for twice here, nothing kept between two turns. Thinking is shown if it comes but not
//! asked for, since it would have to be sent back in later turns.
//!
//! Begin with [`AnthropicAgent`]; `request.rs` writes what is sent, `stream.rs` reads what comes.

mod request;
mod stream;

use std::time::Duration;

use adjutant_host::http::{FetchError, Hosts, HttpClient, Incoming, Request};
use adjutant_ports::{Agent, AgentFailure, CancellationToken, Delta, FailureKind, Pending, Reply, TurnRequest};
use jiff::Timestamp;
use thiserror::Error;

use crate::failure::{self, Failed};
use crate::sse;
use stream::{Fold, Step};

/// The adapter's word in a brief.
pub const ADAPTER_ID: &str = "anthropic";

/// The variable of the environment that a caller reads the key from, as the provider's own clients do.
pub const KEY_VARIABLE: &str = "ANTHROPIC_API_KEY";

/// The variable of the environment that a caller reads the base URL from, as the provider's own clients do.
pub const BASE_URL_VARIABLE: &str = "ANTHROPIC_BASE_URL";

/// The model if none is named: the peer's default.
pub const MODEL_DEFAULT: &str = "claude-sonnet-4-6";

/// Where the API is if nothing else is said.
pub const BASE_URL: &str = "https://api.anthropic.com";

/// The version of the API that is spoken, from its reference.
const API_VERSION: &str = "2023-06-01";

/// The most tokens of one reply if nothing else is said: what every model since Claude 3.7 takes, and more
/// than the longest patch of a step needs.
pub const OUTPUT_TOKENS_MAX: u32 = 16_384;

/// How long nothing may come if nothing else is said. The API sends pings while it works, so two minutes of
/// silence are no long thought; clients of today wait between one minute and six.
pub const IDLE_MAX: Duration = Duration::from_secs(120);

/// The most bytes of an error's body that are read. Errors of the API have a few hundred.
const ERROR_BYTES_MAX: usize = 64 * 1024;

/// How the API is reached, as the caller found out: nothing here reads the environment.
///
/// There is no `Debug`, so that the key can't be shown by accident.
#[derive(Clone)]
pub struct Settings {
    /// The model, as the API names it.
    pub model: String,
    /// The key.
    pub key: String,
    /// Where the key came from, for the operator, such as `ANTHROPIC_API_KEY`.
    pub key_source: String,
    /// Where the API is, without `/v1/messages`, such as [`BASE_URL`].
    pub base_url: String,
    /// The most tokens of one reply, such as [`OUTPUT_TOKENS_MAX`].
    pub output_tokens_max: u32,
    /// How long nothing may come, such as [`IDLE_MAX`].
    pub idle_max: Duration,
}

/// Why there is no agent.
#[derive(Debug, Error)]
#[error("can't use the API at `{base_url}`: {why}")]
pub struct Unusable {
    base_url: String,
    why: String,
}

/// Takes turns over the Messages API.
pub struct AnthropicAgent {
    http: HttpClient,
    settings: Settings,
}

impl AnthropicAgent {
    /// An agent with these settings. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// [`Unusable`] if the base URL is no web address, or the system's certificates can't be used.
    pub fn new(settings: Settings) -> Result<Self, Unusable> {
        let unusable = |why: String| Unusable { base_url: settings.base_url.clone(), why };
        let hosts = Hosts::only(&settings.base_url).map_err(|bad| unusable(bad.to_string()))?;
        let http = HttpClient::new(hosts).map_err(|error| unusable(error.to_string()))?;
        Ok(Self { http, settings })
    }

    async fn exchange(
        &self,
        turn: &TurnRequest,
        deltas: &(dyn Fn(Delta) + Send + Sync),
    ) -> Result<Reply, AgentFailure> {
        let mut incoming = match self.http.open(&self.request(turn)).await {
            Ok(incoming) => incoming,
            Err(error) => return Err(self.unanswered(&error)),
        };
        if incoming.status != 200 {
            let body = error_body(&mut incoming, self.settings.idle_max).await;
            let (status, headers) = (incoming.status, &incoming.headers);
            return Err(self.judged(Failed::Status { status, headers, body: &body }));
        }
        let mut reader = sse::Reader::default();
        let mut events = Vec::new();
        let mut fold = Fold::new(request::changed_names(&turn.tools));
        loop {
            let why = match tokio::time::timeout(self.settings.idle_max, incoming.chunk()).await {
                Ok(Ok(Some(bytes))) => reader.push(&bytes, &mut events).err().map(|error| error.to_string()),
                Ok(Ok(None)) => Some("the stream ended before the reply did".to_owned()),
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) => Some(self.silence()),
            };
            // What came before the break counts: it may have been the end of the reply.
            for event in events.drain(..) {
                match fold.read(&event) {
                    Step::Nothing => {}
                    Step::Show(delta) => deltas(delta),
                    Step::Done => return Ok(fold.finish()),
                    Step::Failed(body) => return Err(self.judged(Failed::InStream { body: &body })),
                    Step::Unreadable(why) => return Err(self.broken(fold.has_content(), &why)),
                }
            }
            if let Some(why) = why {
                return Err(self.broken(fold.has_content(), &why));
            }
        }
    }

    fn request(&self, turn: &TurnRequest) -> Request {
        let headers = [
            ("x-api-key", self.settings.key.as_str()),
            ("anthropic-version", API_VERSION),
            ("content-type", "application/json"),
            ("accept", "text/event-stream"),
        ];
        Request {
            url: format!("{}/v1/messages", self.settings.base_url.trim_end_matches('/')),
            method: "POST".to_owned(),
            headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            body: Some(request::body(turn, &self.settings.model, self.settings.output_tokens_max).to_string()),
            timeout: self.settings.idle_max,
            bytes_max: ERROR_BYTES_MAX,
        }
    }

    /// The failure of an exchange without an answer.
    fn unanswered(&self, error: &FetchError) -> AgentFailure {
        match error {
            FetchError::Timeout(_) => self.broken(false, &self.silence()),
            FetchError::Failed { .. } => self.broken(false, &error.to_string()),
            FetchError::InvalidUrl { .. }
            | FetchError::InvalidRequest { .. }
            | FetchError::Scheme { .. }
            | FetchError::HostNotAllowed { .. }
            | FetchError::PrivateAddress { .. }
            | FetchError::Redirects(_)
            | FetchError::Cancelled { .. } => {
                AgentFailure { kind: FailureKind::Permanent, message: format!("Anthropic: {error}") }
            }
        }
    }

    fn broken(&self, had_content: bool, why: &str) -> AgentFailure {
        self.judged(Failed::Broken { had_content, why })
    }

    fn judged(&self, failed: Failed<'_>) -> AgentFailure {
        failure::judge(failed, Timestamp::now()).into_failure("Anthropic", &self.settings.key_source)
    }

    fn silence(&self) -> String {
        format!("nothing came for {} s", self.settings.idle_max.as_secs())
    }
}

impl Agent for AnthropicAgent {
    fn id(&self) -> &str {
        ADAPTER_ID
    }

    fn model(&self) -> &str {
        &self.settings.model
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
                () = cancel.cancelled() => Err(AgentFailure {
                    kind: FailureKind::Cancelled,
                    message: "the turn was cancelled".to_owned(),
                }),
                reply = self.exchange(request, deltas) => reply,
            }
        })
    }
}

/// The body of an error, as far as it comes: one that breaks off still has its status.
async fn error_body(incoming: &mut Incoming, idle_max: Duration) -> String {
    let mut body = Vec::new();
    while body.len() < ERROR_BYTES_MAX {
        match tokio::time::timeout(idle_max, incoming.chunk()).await {
            Ok(Ok(Some(bytes))) => body.extend_from_slice(&bytes),
            Ok(Ok(None) | Err(_)) | Err(_) => break,
        }
    }
    String::from_utf8_lossy(&body).into_owned()
}
