//! Makes one exchange over HTTP for one turn; shared by the adapters of model APIs.
//!
//! In: a turn. Out: its reply, streamed. One request is one exchange with one host, the one of the base URL; nothing is
//! asked for twice here, nothing kept between two turns. The differences between the APIs are in a [`Wire`]: it writes
//! a turn and reads the events of the answer.
//!
//! Begin with [`ApiAgent`].

mod extras;
mod listing;
mod names;
pub(crate) mod parts;
mod surrogates;
mod terms;
pub(crate) mod vertex;
mod wire;

use std::time::Duration;

use adjutant_core::gate::secrets::VALUE_BYTES_MIN;
use adjutant_host::http::{BodyKind, FetchError, Hosts, HttpClient, Incoming, Request};
use adjutant_host::token_command::NoToken;
use adjutant_ports::{Agent, AgentFailure, CancellationToken, Delta, FailureKind, Pending, Reply, Stop, TurnRequest};
use extras::below;
use jiff::Timestamp;
use surrogates::Joining;
use thiserror::Error;
use tokio::sync::Mutex;

use crate::failure::{self, ExchangeFailure};
use crate::sse;

pub use adjutant_core::session::OUTPUT_TOKENS_MAX;
pub use adjutant_host::http::Proxies;
pub use extras::{CacheLasts, Caching, Extras};
pub use listing::{ListedModel, NoList};
pub(crate) use names::path_name;
pub use names::{changed_names, wire_name};
pub(crate) use terms::{Levels, NO_LEVELS, TO_HIGH, TO_MAX, TO_XHIGH, level, note_on_effort, note_on_tokens};
pub use terms::{Terms, Thinking};
pub use vertex::wants_token;
pub(crate) use wire::authorization;
pub use wire::{ReplyReader, StreamStep, Wire, malformed_or};

/// Default of the longest silence. The APIs send something while they work, so two minutes of silence are no long
/// thought; clients of today wait between one minute and six.
pub const IDLE_MAX: Duration = Duration::from_secs(120);

/// The most calls in one turn: far more than any model makes, and few enough to be judged and shown.
const CALLS_MAX: usize = 128;

/// The most bytes of a stream: so many, and so many more for each token that the reply may have. An event of one
/// token has a few hundred.
const STREAM_BYTES_MIN: usize = 1024 * 1024;
const STREAM_BYTES_PER_TOKEN: usize = 1024;

/// The most bytes of an error's body that are read. Errors of the APIs have a few hundred.
const ERROR_BYTES_MAX: usize = 64 * 1024;

/// Settings of an API, as the caller found them: nothing here reads the environment.
///
/// There is no `Debug`, so that the key can't be shown by accident.
#[derive(Clone)]
pub struct Settings {
    /// The model, as the API names it.
    pub model: String,
    /// The key; empty for a server that wants none.
    pub key: String,
    /// Source of the key, for the operator, such as `ANTHROPIC_API_KEY`.
    pub key_source: String,
    /// URL of the API, as its adapter's documentation has it, with or without a last `/`.
    pub base_url: String,
    /// The most tokens of one reply, such as [`OUTPUT_TOKENS_MAX`].
    pub output_tokens_max: u32,
    /// Settings of thinking.
    pub thinking: Thinking,
    /// Longest silence before the exchange fails, such as [`IDLE_MAX`].
    pub idle_max: Duration,
    /// The proxies to go through; none by default.
    pub proxies: Proxies,
    /// Additions of the operator to requests.
    pub extras: Extras,
}

/// Reason why there is no agent.
#[derive(Debug, Error)]
#[error("can't use the API at `{base_url}`: {why}")]
pub struct Unusable {
    base_url: String,
    why: String,
    hint: &'static str,
}

impl Unusable {
    /// The API at `base_url` can't be used, why, and what to do about it.
    pub(crate) fn new(base_url: &str, why: String, hint: &'static str) -> Self {
        Self { base_url: base_url.to_owned(), why, hint }
    }

    /// Returns the hint for the operator.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        self.hint
    }
}

/// The hint where certificates can't be used.
const ON_CERTIFICATES: &str = "certificates come from the system (on Debian the package `ca-certificates`), or from \
     the file that SSL_CERT_FILE names";

/// Takes turns over a model API.
pub struct ApiAgent {
    http: HttpClient,
    settings: Settings,
    wire: Box<dyn Wire>,
    /// The token that the operator's command printed last.
    token: Mutex<Option<String>>,
}

impl ApiAgent {
    /// Creates an agent that speaks `wire` with these settings. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// [`Unusable`] if the base URL is no web address, or the system's certificates can't be used.
    pub fn new(wire: impl Wire + 'static, settings: Settings) -> Result<Self, Unusable> {
        let unusable = |why: String, hint| Unusable::new(&settings.base_url, why, hint);
        let hosts = Hosts::only(&settings.base_url)
            .map_err(|bad| unusable(bad.to_string(), "give the whole address, such as `https://host/v1`"))?;
        let http = HttpClient::for_api(hosts, settings.proxies.clone())
            .map_err(|error| unusable(error.to_string(), ON_CERTIFICATES))?;
        Ok(Self { http, settings, wire: Box::new(wire), token: Mutex::new(None) })
    }

    async fn exchange(
        &self,
        turn: &TurnRequest,
        deltas: &(dyn Fn(Delta) + Send + Sync),
    ) -> Result<Reply, AgentFailure> {
        let mut incoming = self.opened(turn).await?;
        if incoming.status == 401 && self.settings.extras.token_command.is_some() {
            // The token is over: the next one is asked for, once.
            *self.token.lock().await = None;
            incoming = self.opened(turn).await?;
        }
        if incoming.status != 200 {
            let body = error_body(&mut incoming, self.settings.idle_max).await;
            let (status, headers) = (incoming.status, &incoming.headers);
            return Err(self.judged(ExchangeFailure::Status { status, headers, body: &body }));
        }
        let mut reader = sse::SseReader::default();
        let mut events = Vec::new();
        let mut reading: Box<dyn ReplyReader> = Box::new(Joining::new(self.wire.reading(turn)));
        let bytes_max = STREAM_BYTES_MIN + self.output_max(turn) as usize * STREAM_BYTES_PER_TOKEN;
        let mut bytes_read = 0;
        loop {
            let why = match tokio::time::timeout(self.settings.idle_max, incoming.chunk()).await {
                Ok(Ok(Some(bytes))) => {
                    bytes_read += bytes.len();
                    let too_much = || "the stream is far longer than the reply was allowed to be".to_owned();
                    let unreadable = reader.push(&bytes, &mut events).err().map(|error| error.to_string());
                    unreadable.or_else(|| (bytes_read > bytes_max).then(too_much))
                }
                Ok(Ok(None)) => Some(ended(&incoming)),
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) => Some(self.silence()),
            };
            // What came before the break counts: it may have been the end of the reply.
            for event in events.drain(..) {
                match reading.read(&event) {
                    StreamStep::Nothing => {}
                    StreamStep::Show(delta) => deltas(delta),
                    StreamStep::Done => return self.accepted(reading),
                    StreamStep::Failed(body) => return Err(self.judged(ExchangeFailure::InStream { body: &body })),
                    StreamStep::Unreadable(why) => {
                        return Err(
                            self.judged(ExchangeFailure::Unreadable { had_content: reading.has_content(), why: &why })
                        );
                    }
                }
            }
            if let Some(why) = why {
                if reading.is_whole() {
                    return self.accepted(reading);
                }
                return Err(self.broken(reading.has_content(), &why));
            }
        }
    }

    async fn opened(&self, turn: &TurnRequest) -> Result<Incoming, AgentFailure> {
        let token = self.token().await.map_err(|none| AgentFailure {
            // Without a network a command that asks for a token fails like the request itself would.
            kind: if none.may_pass { FailureKind::Unreached } else { FailureKind::Permanent },
            message: format!("{}: {none}", self.wire.provider()),
            retry_after: None,
            output_max: None,
        })?;
        self.http.open(&self.request(turn, token.as_deref())).await.map_err(|error| self.unanswered(&error))
    }

    /// Returns the token that stands for the key, where a command prints it: run for the first request, and again after
    /// the provider refused it.
    async fn token(&self) -> Result<Option<String>, NoToken> {
        let Some(command) = &self.settings.extras.token_command else { return Ok(None) };
        let mut kept = self.token.lock().await;
        if kept.is_none() {
            let program = command.command.first().map(String::as_str).unwrap_or_default();
            let token = command.token().await;
            let token =
                token.map_err(|none| NoToken { why: format!("`token_command` (`{program}`) {none}"), ..none })?;
            *kept = Some(token);
        }
        Ok(kept.clone())
    }

    /// Accepts a whole reply, unless a session can't go on from it.
    fn accepted(&self, reading: Box<dyn ReplyReader>) -> Result<Reply, AgentFailure> {
        let fills_window = reading.fills_window();
        let reply = reading.finish();
        if reply.stop == Stop::Refusal {
            return Err(self.judged(ExchangeFailure::Declined { said: &reply.text }));
        }
        if reply.calls.len() > CALLS_MAX {
            let why = format!("it asks for {} calls in one turn, and {CALLS_MAX} is the most", reply.calls.len());
            return Err(self.judged(ExchangeFailure::Unreadable { had_content: true, why: &why }));
        }
        // One that ended by itself is a turn all the same: the session says something to it.
        if reply.stop == Stop::MaxTokens && reply.text.trim().is_empty() && reply.calls.is_empty() {
            return Err(self.judged(if fills_window { ExchangeFailure::WindowFull } else { ExchangeFailure::Empty }));
        }
        Ok(reply)
    }

    fn request(&self, turn: &TurnRequest, token: Option<&str>) -> Request {
        let mut headers = self.wire.headers(&self.settings.key);
        headers.extend([("content-type", "application/json".to_owned()), ("accept", "text/event-stream".to_owned())]);
        let output_tokens_max = self.output_max(turn);
        let (base, extras) = (&self.settings.base_url, &self.settings.extras);
        let mut body = self.wire.body(turn, &self.terms(output_tokens_max));
        extras.add_to(&mut body);
        Request {
            url: below(base, &self.wire.path(&self.settings.model)),
            method: "POST".to_owned(),
            headers: extras.headers(headers, token, base),
            body: Some(body.to_string()),
            timeout: self.settings.idle_max,
            bytes_max: ERROR_BYTES_MAX,
            body_kind: BodyKind::Any,
        }
    }

    /// Lists notes on the settings for the operator, to show before the first turn: a sentence for each setting that
    /// the model doesn't take, or takes in another way.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let terms = self.terms(self.settings.output_tokens_max);
        let mut notes = self.wire.notes(&terms);
        if terms.caching.lasts.is_some() && !self.wire.marks_cache(&terms) {
            notes.push(format!(
                "cache is not sent: {} keeps what it knows of {} by itself",
                self.wire.provider(),
                terms.model
            ));
        }
        notes
    }

    fn terms(&self, output_tokens_max: u32) -> Terms<'_> {
        let Settings { model, thinking, extras, .. } = &self.settings;
        Terms { model, output_tokens_max, thinking: *thinking, caching: extras.caching }
    }

    /// Returns the most tokens of the reply to this turn.
    fn output_max(&self, turn: &TurnRequest) -> u32 {
        let own = self.settings.output_tokens_max;
        turn.output_max.map_or(own, |most| most.min(own))
    }

    /// Returns the failure of an exchange without an answer.
    fn unanswered(&self, error: &FetchError) -> AgentFailure {
        match error {
            FetchError::Timeout(_) => self.broken(false, &self.silence()),
            FetchError::Failed { .. } => {
                AgentFailure { kind: FailureKind::Unreached, ..self.broken(false, &error.to_string()) }
            }
            FetchError::InvalidUrl { .. }
            | FetchError::InvalidRequest { .. }
            | FetchError::Scheme { .. }
            | FetchError::UserInfo { .. }
            | FetchError::Port { .. }
            | FetchError::NotText { .. }
            | FetchError::HostNotAllowed { .. }
            | FetchError::PrivateAddress { .. }
            | FetchError::Redirects(_)
            | FetchError::Cancelled { .. } => AgentFailure {
                kind: FailureKind::Permanent,
                message: format!("{}: {error}", self.wire.provider()),
                retry_after: None,
                output_max: None,
            },
        }
    }

    fn broken(&self, had_content: bool, why: &str) -> AgentFailure {
        self.judged(ExchangeFailure::Broken { had_content, why })
    }

    /// Returns the failure, without the key: a server, or a proxy before it, may repeat the request.
    fn judged(&self, failed: ExchangeFailure<'_>) -> AgentFailure {
        let mut failure =
            failure::judge(failed, Timestamp::now()).into_failure(self.wire.provider(), &self.settings.key_source);
        failure.message = self.without_secrets(&failure.message);
        failure
    }

    /// Returns a text without the key, the token and the secrets of the operator's headers and fields.
    fn without_secrets(&self, text: &str) -> String {
        let Settings { key, extras, .. } = &self.settings;
        let token = self.token.try_lock().ok().and_then(|token| token.clone());
        let named = [(Some(key), "(the key)"), (token.as_ref(), "(the token)")];
        let secrets = extras.secrets.iter().map(|secret| (Some(secret), "(a secret)"));
        let mut text = text.to_owned();
        for (secret, instead) in named.into_iter().chain(secrets) {
            // A key for a server that wants none, such as `k`, is in every other word.
            if let Some(secret) = secret.filter(|secret| secret.len() >= VALUE_BYTES_MIN) {
                text = text.replace(secret.as_str(), instead);
            }
        }
        text
    }

    fn silence(&self) -> String {
        format!("nothing came for {} s", self.settings.idle_max.as_secs())
    }
}

impl Agent for ApiAgent {
    fn id(&self) -> &str {
        self.wire.adapter_id()
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
                () = cancel.cancelled() => Err(AgentFailure::cancelled()),
                reply = self.exchange(request, deltas) => reply,
            }
        })
    }
}

/// Describes a stream that ended: an answer of another kind is no stream that broke.
fn ended(incoming: &Incoming) -> String {
    let kind = incoming.headers.get("content-type").map_or("no type", String::as_str);
    if kind.contains("event-stream") {
        return "the stream ended before the reply did".to_owned();
    }
    let kind: String = kind.chars().take(60).collect();
    format!("the answer is `{kind}` and no stream of events: check the base URL")
}

/// Returns true if a text is not blank. The APIs refuse a message that is.
pub(crate) fn has_words(text: &str) -> bool {
    !text.trim().is_empty()
}

/// Returns the body of an error, as far as it comes: one that breaks off still has its status.
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
