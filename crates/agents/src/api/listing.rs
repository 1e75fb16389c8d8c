//! Asks an API which models it has, and so whether its key is good.
//!
//! In: an agent of the API. Out: names, with their window and longest reply where the server says so, or why there is
//! no list and what to do about it. Begin with [`ApiAgent::models`].

use std::fmt::Write as _;

use adjutant_host::http::{BodyKind, Request};
use jiff::Timestamp;
use serde_json::Value;

use super::{ApiAgent, ERROR_BYTES_MAX, below, error_body};
use crate::failure::{self, ExchangeFailure, FailureVerdict, Fix};

/// The most bytes of one page: OpenRouter's, of some hundred models with their descriptions, has less than one.
const PAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most pages, and the most models: more than any provider has.
const PAGES_MAX: usize = 20;
const MODELS_MAX: usize = 5_000;
/// The longest name that is one.
const NAME_CHARS_MAX: usize = 200;

/// A model as its server lists it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedModel {
    /// The name to ask for it by.
    pub id: String,
    /// The tokens of its window, where the server says so.
    pub window: Option<u64>,
    /// The most tokens of one reply, where the server says so.
    pub output_tokens_max: Option<u64>,
}

/// Reason why there is no list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoList {
    /// Description of the failure.
    pub why: String,
    /// Advice on what to do next.
    pub hint: String,
}

impl ApiAgent {
    /// Returns the models that the API lists, in its order.
    ///
    /// # Errors
    ///
    /// [`NoList`] if the key is refused, the command for a token fails, nothing answers, or there is no such list.
    pub async fn models(&self) -> Result<Vec<ListedModel>, NoList> {
        if let Some(hint) = self.wire.without_list() {
            // A token that can't be had is worth more to the operator than a list that is not there.
            self.token_to_ask().await?;
            return Err(self.no_list("there is no list of models at this address", hint.to_owned()));
        }
        let (mut models, mut query) = (Vec::new(), self.wire.models_query().to_owned());
        for _ in 0..PAGES_MAX {
            let page = self.page(&query).await?;
            let listed = listed(&page).ok_or_else(|| self.is_no_list("the answer is no list of models"))?;
            models.extend(listed);
            match next_page(&page) {
                Some(next) if models.len() < MODELS_MAX => query = joined(self.wire.models_query(), &next),
                Some(_) | None => break,
            }
        }
        models.truncate(MODELS_MAX);
        Ok(models)
    }

    async fn token_to_ask(&self) -> Result<Option<String>, NoList> {
        self.token().await.map_err(|none| self.no_list(&none.why, "run the command by hand".to_owned()))
    }

    async fn page(&self, query: &str) -> Result<Value, NoList> {
        let mut headers = self.wire.headers(&self.settings.key);
        headers.push(("accept", "application/json".to_owned()));
        let token = self.token_to_ask().await?;
        let base = &self.settings.base_url;
        let request = Request {
            url: below(base, &format!("{}{query}", self.wire.models_path())),
            method: "GET".to_owned(),
            headers: self.settings.extras.headers(headers, token.as_deref(), base),
            body: None,
            timeout: self.settings.idle_max,
            bytes_max: ERROR_BYTES_MAX,
            body_kind: BodyKind::Any,
        };
        let mut incoming = self.http.open(&request).await.map_err(|error| self.unreached(&error.to_string()))?;
        if incoming.status != 200 {
            let body = error_body(&mut incoming, self.settings.idle_max).await;
            return Err(self.refused(incoming.status, &incoming.headers, &body));
        }
        let mut body = Vec::new();
        while let Some(bytes) = tokio::time::timeout(self.settings.idle_max, incoming.chunk())
            .await
            .map_err(|_| self.unreached(&self.silence()))?
            .map_err(|error| self.unreached(&error.to_string()))?
        {
            body.extend_from_slice(&bytes);
            if body.len() > PAGE_BYTES_MAX {
                return Err(self.is_no_list("the answer is far longer than a list of models"));
            }
        }
        serde_json::from_slice(&body).map_err(|_| self.is_no_list("the answer is no JSON"))
    }

    fn refused(&self, status: u16, headers: &std::collections::BTreeMap<String, String>, body: &str) -> NoList {
        if matches!(status, 404 | 405 | 501) {
            return self.is_no_list(&format!("it has no list of models (status {status})"));
        }
        let verdict = failure::judge(ExchangeFailure::Status { status, headers, body }, Timestamp::now());
        let key = &self.settings.key_source;
        let hint = match &verdict {
            FailureVerdict::Operator { fix: Fix::Key, .. } => format!("check the key in {key}"),
            FailureVerdict::Operator { fix: Fix::Quota, .. } => {
                format!("check the credit and the limits of the account of {key}")
            }
            FailureVerdict::Operator { fix: Fix::Permission, .. } => format!("check what the key in {key} may do"),
            FailureVerdict::Retry { .. } => "try again in a while".to_owned(),
            FailureVerdict::Operator { fix: Fix::Model, .. }
            | FailureVerdict::Unreadable { .. }
            | FailureVerdict::TooLong { .. }
            | FailureVerdict::ReplyTooLong { .. }
            | FailureVerdict::Unclear { .. }
            | FailureVerdict::Refused { .. } => "check the base URL".to_owned(),
        };
        let (FailureVerdict::Operator { why, .. }
        | FailureVerdict::Retry { why, .. }
        | FailureVerdict::Unreadable { why }
        | FailureVerdict::TooLong { why }
        | FailureVerdict::ReplyTooLong { why, .. }
        | FailureVerdict::Unclear { why }
        | FailureVerdict::Refused { why }) = verdict;
        self.no_list(&why, hint)
    }

    fn unreached(&self, why: &str) -> NoList {
        self.no_list(why, "check the network, the proxy and the base URL".to_owned())
    }

    fn is_no_list(&self, why: &str) -> NoList {
        self.no_list(why, "name a model with --model, as the server's own pages have it; check the base URL".to_owned())
    }

    /// Without the key, which a server may repeat.
    fn no_list(&self, why: &str, hint: String) -> NoList {
        let why = self.without_secrets(why);
        NoList { why: format!("{}: {why}", self.wire.provider()), hint }
    }
}

/// Returns the models of a page: of OpenAI and all who are like it in `data`, of Gemini in `models`, of a few alone.
fn listed(page: &Value) -> Option<Vec<ListedModel>> {
    let models = page.get("data").or_else(|| page.get("models")).unwrap_or(page).as_array()?;
    Some(models.iter().filter(|model| takes_turns(model)).filter_map(listed_model).collect())
}

/// Gemini says what each of its models can do.
fn takes_turns(model: &Value) -> bool {
    let methods = model.get("supportedGenerationMethods").and_then(Value::as_array);
    methods.is_none_or(|methods| methods.iter().any(|method| method == "generateContent"))
}

fn listed_model(model: &Value) -> Option<ListedModel> {
    let id = model.get("id").or_else(|| model.get("name")).unwrap_or(model).as_str()?;
    let id = id.strip_prefix("models/").unwrap_or(id);
    if id.is_empty() || id.chars().count() > NAME_CHARS_MAX {
        return None;
    }
    // Gemini; Anthropic; OpenRouter and Together; Groq; vLLM; Mistral and LM Studio; llama.cpp.
    let window = [
        "/inputTokenLimit", "/max_input_tokens", "/context_length", "/context_window", "/max_model_len",
        "/max_context_length", "/meta/n_ctx",
    ];
    // Gemini; Groq; OpenRouter; Anthropic.
    let output = ["/outputTokenLimit", "/max_completion_tokens", "/top_provider/max_completion_tokens", "/max_tokens"];
    let number = |places: &[&str]| places.iter().find_map(|place| model.pointer(place)?.as_u64());
    Some(ListedModel { id: id.to_owned(), window: number(&window), output_tokens_max: number(&output) })
}

/// Returns the query for the next page: by Anthropic's last id, or by Gemini's token.
fn next_page(page: &Value) -> Option<String> {
    let after = || page.get("has_more")?.as_bool()?.then(|| page.get("last_id")?.as_str())?;
    let (name, value) = match page.get("nextPageToken").and_then(Value::as_str) {
        Some(token) => ("pageToken", token),
        None => ("after_id", after()?),
    };
    (!value.is_empty()).then(|| format!("{name}={}", percent_encoded(value)))
}

fn joined(query: &str, more: &str) -> String {
    if query.is_empty() { format!("?{more}") } else { format!("{query}&{more}") }
}

fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            encoded.push(char::from(byte));
        } else {
            // A string takes whatever it is given.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A name, a window and a longest reply.
    type Listed<'a> = (&'a str, Option<u64>, Option<u64>);

    #[track_caller]
    fn check(page: &Value, expected: Option<&[Listed<'_>]>) {
        let found = listed(page);
        let found: Option<Vec<_>> = found
            .as_ref()
            .map(|models| models.iter().map(|m| (m.id.as_str(), m.window, m.output_tokens_max)).collect());
        assert_eq!(found.as_deref(), expected, "{page}");
    }

    #[test]
    fn lists_are_read_in_every_form() {
        check(
            &json!({ "object": "list", "data": [{ "id": "gpt-x", "object": "model" }] }),
            Some(&[("gpt-x", None, None)]),
        );
        check(
            &json!({ "data": [{ "type": "model", "id": "claude-x", "max_input_tokens": 1_000_000, "max_tokens": 128_000 }] }),
            Some(&[("claude-x", Some(1_000_000), Some(128_000))]),
        );
        check(
            &json!({ "models": [
                { "name": "models/gemini-x", "inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536,
                  "supportedGenerationMethods": ["generateContent", "countTokens"] },
                { "name": "models/embed-x", "supportedGenerationMethods": ["embedContent"] },
            ] }),
            Some(&[("gemini-x", Some(1_048_576), Some(65_536))]),
        );
        check(
            &json!({ "data": [
                { "id": "a/b", "context_length": 131_072, "top_provider": { "max_completion_tokens": 8_192 } },
                { "id": "groq", "context_window": 4_096, "max_completion_tokens": 512 },
                { "id": "vllm", "max_model_len": 32_768 },
                { "id": "llama", "meta": { "n_ctx": 8_192 } },
            ] }),
            Some(&[
                ("a/b", Some(131_072), Some(8_192)),
                ("groq", Some(4_096), Some(512)),
                ("vllm", Some(32_768), None),
                ("llama", Some(8_192), None),
            ]),
        );
        check(&json!([{ "id": "together" }]), Some(&[("together", None, None)]));
        check(&json!({ "data": [{ "id": 7 }, {}, { "id": "" }, { "id": "n".repeat(201) }, null] }), Some(&[]));
        check(&json!({ "data": [] }), Some(&[]));
        check(&json!({ "data": "x" }), None);
        check(&json!({}), None);
        check(&json!(null), None);
    }

    #[test]
    fn the_next_page_is_asked_for_as_each_provider_wants_it() {
        for (page, expected) in [
            (json!({ "has_more": true, "last_id": "claude-x" }), Some("after_id=claude-x")),
            (json!({ "has_more": false, "last_id": "claude-x" }), None),
            (json!({ "nextPageToken": "a+b/c=" }), Some("pageToken=a%2Bb%2Fc%3D")),
            (json!({ "nextPageToken": "" }), None),
            (json!([]), None),
        ] {
            assert_eq!(next_page(&page).as_deref(), expected, "{page}");
        }
        assert_eq!((joined("", "a=1"), joined("?limit=9", "a=1")), ("?a=1".to_owned(), "?limit=9&a=1".to_owned()));
    }
}
