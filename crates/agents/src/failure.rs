//! Says what a failed exchange with a model API is, and so what may be done about it.
//!
//! In: how the exchange ended, as a [`Failed`], and the time. Out: a [`Verdict`]: ask again, have the operator
//! mend something, or neither. One table serves all providers, since none of them uses another's word in
//! another sense; it is read from the most exact word of an answer to the least, and the status decides where
//! no word does. Nothing waits or asks again here.
//!
//! Begin with [`judge`].

use std::collections::BTreeMap;
use std::time::Duration;

use adjutant_core::gate::secrets;
use adjutant_ports::{AgentFailure, FailureKind};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use serde_json::Value;

/// The most characters of a provider's own message that are passed on: enough for every sentence that one
/// sends, not for a page of HTML.
const MESSAGE_CHARS_MAX: usize = 500;

/// How an exchange failed.
#[derive(Debug, Clone, Copy)]
pub enum Failed<'a> {
    /// There was an answer, and its status is no success.
    Status {
        /// The status.
        status: u16,
        /// The headers, by their names in lower case.
        headers: &'a BTreeMap<String, String>,
        /// The body, or as much of it as was read.
        body: &'a str,
    },
    /// The stream began well and then carried an error.
    InStream {
        /// The error as the event has it.
        body: &'a str,
    },
    /// No answer came, or it ended before it was whole.
    Broken {
        /// Whether a part of the reply had come.
        had_content: bool,
        /// What happened.
        why: &'a str,
    },
    /// The reply was whole, and the model declined in it.
    Declined {
        /// What it said, if anything.
        said: &'a str,
    },
    /// The reply was whole, and nothing was in it.
    Empty {
        /// Whether it ended at the limit of its length.
        is_cut: bool,
    },
}

/// What may be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Another attempt may work.
    Retry {
        /// Whether the provider was there and had no room: a rate limit or overload, as opposed to a mishap.
        is_busy: bool,
        /// How long the server asks to wait first; not limited, so the caller does that.
        after: Option<Duration>,
        /// What happened.
        why: String,
    },
    /// The request is longer than the model's window: a shorter one may work.
    TooLong {
        /// What happened.
        why: String,
    },
    /// Another attempt works only when the operator has mended this.
    Operator {
        /// What is to be mended.
        fix: Fix,
        /// What happened.
        why: String,
    },
    /// Another attempt at the same request will not work, and it is nothing to mend outside of it.
    Refused {
        /// What happened.
        why: String,
    },
}

/// What an operator can mend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fix {
    /// The key is missing, wrong or no longer valid.
    Key,
    /// There is no credit, or the quota of a long period is used up.
    Quota,
    /// The key may not do this.
    Permission,
    /// The provider has no such model.
    Model,
}

impl Verdict {
    /// The failure as the runtime records it. `provider` is the name that a person knows, and `key_source`
    /// says where the key came from, such as the name of an environment variable.
    #[must_use]
    pub fn into_failure(self, provider: &str, key_source: &str) -> AgentFailure {
        let (kind, retry_after, why) = match self {
            Self::Retry { is_busy, after, why } => {
                let kind = if is_busy { FailureKind::Busy } else { FailureKind::Transient };
                let wait = after.map(|after| format!("; it asks to wait {:.1} s", after.as_secs_f64()));
                (kind, after, why + &wait.unwrap_or_default())
            }
            Self::TooLong { why } => (FailureKind::TooLong, None, why),
            Self::Operator { fix, why } => {
                let hint = match fix {
                    Fix::Key => format!("check the key in {key_source}"),
                    Fix::Quota => format!("check the credit and the limits of the account of {key_source}"),
                    Fix::Permission => format!("check what the key in {key_source} may do"),
                    Fix::Model => "check the model's name, given with --model, and the base URL".to_owned(),
                };
                (FailureKind::Permanent, None, format!("{why}; {hint}"))
            }
            Self::Refused { why } => (FailureKind::Permanent, None, why),
        };
        AgentFailure { kind, message: format!("{provider}: {why}"), retry_after }
    }
}

/// Judges how an exchange failed. `now` is for a `retry-after` that names a date.
#[must_use]
pub fn judge(failed: Failed<'_>, now: Timestamp) -> Verdict {
    match failed {
        Failed::Status { status, headers, body } => {
            let said = Said::read(body);
            let why = match headers.get("location").filter(|_| (300..400).contains(&status)) {
                Some(to) => format!(
                    "the server redirects to `{}` (status {status}), which is not followed: check the base URL",
                    shortened(to)
                ),
                None => format!("{} (status {status})", said.message(body)),
            };
            let by_header = match headers.get("x-should-retry").map(String::as_str) {
                Some("true") if by_status(status) != Meaning::Busy => Some(Meaning::Mishap),
                Some("false") if matches!(by_status(status), Meaning::Busy | Meaning::Mishap) => Some(Meaning::Request),
                _ => None,
            };
            let meaning = said.meaning(EXACT).or(by_header).unwrap_or_else(|| by_status(status));
            // No wait at all is no wish: the usual one follows.
            let asked = wait(headers, now).or(said.wait).filter(|wait| !wait.is_zero());
            meaning.verdict(why, asked)
        }
        Failed::InStream { body } => {
            let said = Said::read(body);
            let why = format!("{} (in the middle of the stream)", said.message(body));
            let by_code = || said.status.map(by_status);
            let meaning = said.meaning(EXACT).or_else(|| said.meaning(GENERAL)).or_else(by_code);
            let meaning = meaning.unwrap_or(Meaning::Mishap);
            meaning.verdict(why, said.wait)
        }
        // What came of a reply that is not whole is thrown away, and no call in it is made: so both may be
        // asked for again.
        Failed::Broken { had_content: false, why } => {
            Verdict::Retry { is_busy: false, after: None, why: format!("no reply came: {why}") }
        }
        Failed::Broken { had_content: true, why } => {
            Verdict::Retry { is_busy: false, after: None, why: format!("the reply broke off: {why}") }
        }
        Failed::Declined { said } => {
            let said = said.trim();
            let why = if said.is_empty() { "no reason given".to_owned() } else { shortened(said) };
            Verdict::Refused { why: format!("the model declined to answer: {why}") }
        }
        // A model that thought up to the limit will do so again.
        Failed::Empty { is_cut: true } => Verdict::Refused {
            why: "the reply reached its length limit before it said anything; allow longer replies with the \
                  adapter's `output_tokens_max`"
                .to_owned(),
        },
        Failed::Empty { is_cut: false } => {
            Verdict::Retry { is_busy: false, after: None, why: "the reply was empty".to_owned() }
        }
    }
}

/// What an answer means, before it is put in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// The provider has no room for it now.
    Busy,
    /// Something broke on the way.
    Mishap,
    /// Something is to be mended.
    Mend(Fix),
    /// The request is longer than the model's window.
    TooLong,
    /// The request is not acceptable.
    Request,
}

impl Meaning {
    fn verdict(self, why: String, after: Option<Duration>) -> Verdict {
        match self {
            Self::Busy => Verdict::Retry { is_busy: true, after, why },
            Self::Mishap => Verdict::Retry { is_busy: false, after, why },
            Self::TooLong => Verdict::TooLong { why },
            Self::Mend(fix) => Verdict::Operator { fix, why },
            Self::Request => Verdict::Refused { why },
        }
    }
}

/// Words that mean the same with whatever status. From the error references of the Anthropic, OpenAI and
/// Gemini APIs.
const EXACT: &[(&str, Meaning)] = &[
    ("API_KEY_INVALID", Meaning::Mend(Fix::Key)),
    ("UNAUTHENTICATED", Meaning::Mend(Fix::Key)),
    ("authentication_error", Meaning::Mend(Fix::Key)),
    ("invalid_api_key", Meaning::Mend(Fix::Key)),
    ("billing_error", Meaning::Mend(Fix::Quota)),
    ("billing_hard_limit_reached", Meaning::Mend(Fix::Quota)),
    ("insufficient_quota", Meaning::Mend(Fix::Quota)),
    ("PERMISSION_DENIED", Meaning::Mend(Fix::Permission)),
    ("permission_error", Meaning::Mend(Fix::Permission)),
    ("model_not_found", Meaning::Mend(Fix::Model)),
    ("context_length_exceeded", Meaning::TooLong),
    // llama.cpp's server.
    ("exceed_context_size_error", Meaning::TooLong),
    ("request_too_large", Meaning::TooLong),
    ("overloaded_error", Meaning::Busy),
    ("rate_limit_error", Meaning::Busy),
    ("rate_limit_exceeded", Meaning::Busy),
    // Overload, as OpenAI's own coding client knows it.
    ("server_is_overloaded", Meaning::Busy),
    ("slow_down", Meaning::Busy),
    // Groq: its model wrote a call that can't be read; another attempt writes another.
    ("tool_use_failed", Meaning::Mishap),
    // What a failed response of OpenAI is about, of the codes in its Python client.
    ("invalid_prompt", Meaning::Request),
    ("data_residency_mismatch", Meaning::Request),
    ("bio_policy", Meaning::Request),
    ("misalignment_policy_violation", Meaning::Request),
];

/// Sentences that say more than the word and the status beside them, where there is any word.
const SENTENCES: &[(&str, Meaning)] = &[
    // Anthropic has no word of its own for an empty account: it is an `invalid_request_error`.
    ("credit balance is too low", Meaning::Mend(Fix::Quota)),
    // xAI, with 400, and with 403 or 429.
    ("Incorrect API key provided", Meaning::Mend(Fix::Key)),
    ("used all available credits or reached its monthly spending limit", Meaning::Mend(Fix::Quota)),
    // Too long: Anthropic, Gemini, OpenAI and vLLM.
    ("prompt is too long", Meaning::TooLong),
    ("exceeds the maximum number of tokens", Meaning::TooLong),
    ("maximum context length is", Meaning::TooLong),
    // xAI; llama.cpp before it had a word; LM Studio, in its two engines.
    ("maximum prompt length is", Meaning::TooLong),
    ("exceeds the available context size", Meaning::TooLong),
    ("is greater than the context length", Meaning::TooLong),
    ("Context size has been exceeded", Meaning::TooLong),
    // OpenAI and Groq call a request that no minute has room for a `rate_limit_exceeded`.
    ("Request too large for", Meaning::TooLong),
];

/// Words too general to overrule a status: OpenAI calls a missing key an `invalid_request_error`, and a quota
/// of Gemini's may be of a minute or of a day.
const GENERAL: &[(&str, Meaning)] = &[
    ("UNAVAILABLE", Meaning::Busy),
    ("RESOURCE_EXHAUSTED", Meaning::Busy),
    ("INVALID_ARGUMENT", Meaning::Request),
    ("invalid_request_error", Meaning::Request),
    ("NOT_FOUND", Meaning::Mend(Fix::Model)),
    ("not_found_error", Meaning::Mend(Fix::Model)),
];

/// What a status means where no word says more.
fn by_status(status: u16) -> Meaning {
    match status {
        401 => Meaning::Mend(Fix::Key),
        402 => Meaning::Mend(Fix::Quota),
        403 => Meaning::Mend(Fix::Permission),
        404 => Meaning::Mend(Fix::Model),
        // The official clients ask again after 408, 409, 429 and every 5xx; 501 and 505 are no mishaps.
        429 | 503 | 529 => Meaning::Busy,
        501 | 505 => Meaning::Request,
        408 | 409 | 425 | 500.. => Meaning::Mishap,
        _ => Meaning::Request,
    }
}

/// What an error's body says, whichever provider it is from.
struct Said {
    /// Its words, from the most exact to the least.
    words: Vec<String>,
    message: Option<String>,
    /// The status that the error would have been answered with, where it says so.
    status: Option<u16>,
    /// Whether the quota of a day is used up, which no attempt within a run outlasts.
    is_day_over: bool,
    wait: Option<Duration>,
}

impl Said {
    fn read(body: &str) -> Self {
        let value: Value = serde_json::from_str(body).unwrap_or(Value::Null);
        // Gemini wraps the errors of its unframed streams in an array.
        let value = value.get(0).unwrap_or(&value);
        let error = value.get("error").unwrap_or(value);
        let details = error.get("details").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let named = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let violations = details.iter().filter_map(|detail| detail.get("violations")?.as_array()).flatten();
        let own = ["code", "status", "type"].iter().filter_map(|name| named(error, name));
        let numbers = ["status_code", "code"].iter().filter_map(|name| error.get(name)?.as_u64());
        let message = named(error, "message").or_else(|| error.as_str().map(str::to_owned));
        let delay = details.iter().find_map(|detail| named(detail, "retryDelay"));
        let delay = delay.and_then(|delay| seconds(delay.strip_suffix('s')?));
        Self {
            words: details.iter().filter_map(|detail| named(detail, "reason")).chain(own).collect(),
            status: numbers.filter_map(|number| u16::try_from(number).ok()).find(|number| (400..600).contains(number)),
            wait: delay.or_else(|| asked_wait(message.as_deref()?)),
            message,
            is_day_over: violations.filter_map(|violation| named(violation, "quotaId")).any(|id| id.contains("PerDay")),
        }
    }

    fn meaning(&self, table: &[(&str, Meaning)]) -> Option<Meaning> {
        if self.is_day_over {
            return Some(Meaning::Mend(Fix::Quota));
        }
        let message = self.message.as_deref().unwrap_or_default();
        if let Some((_, meaning)) = SENTENCES.iter().find(|(sentence, _)| message.contains(sentence)) {
            return Some(*meaning);
        }
        let known = |word: &String| table.iter().find(|(known, _)| known == word);
        self.words.iter().find_map(known).map(|(_, meaning)| *meaning)
    }

    /// What happened, in the provider's words where it has any.
    fn message(&self, body: &str) -> String {
        let text = self.message.as_deref().unwrap_or(body).trim();
        let shown = shortened(text);
        match self.words.last() {
            _ if shown.is_empty() => "an error without a word".to_owned(),
            Some(word) if self.message.is_some() => format!("{word}: {shown}"),
            Some(_) | None => shown,
        }
    }
}

/// A text from outside, masked, since providers repeat keys, and cut to a length that can be passed on.
fn shortened(text: &str) -> String {
    secrets::cut_chars(text, MESSAGE_CHARS_MAX, "\u{2026}")
}

/// How long the headers ask to wait: `retry-after-ms`, else `retry-after` in seconds or as a date.
fn wait(headers: &BTreeMap<String, String>, now: Timestamp) -> Option<Duration> {
    let exact = headers.get("retry-after-ms").and_then(|text| seconds(text)).map(|wait| wait / 1000);
    exact.or_else(|| {
        let text = headers.get("retry-after")?.trim();
        seconds(text).or_else(|| {
            let date = rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
            // A date that has passed asks for no wait.
            Some(Duration::try_from(date.duration_since(now)).unwrap_or(Duration::ZERO))
        })
    })
}

/// How long a message asks to wait, which is where OpenAI and Groq say it when there are no headers: `Please try
/// again in 1.5s.`, or `20ms`.
fn asked_wait(message: &str) -> Option<Duration> {
    let (_, rest) = message.split_once("try again in ")?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = rest.split_at(end);
    let number = seconds(number)?;
    let unit = unit.split(|c: char| !c.is_ascii_alphabetic()).next()?;
    match unit {
        "ms" => Some(number / 1000),
        "s" | "second" | "seconds" => Some(number),
        _ => None,
    }
}

/// The longest wait that is told apart from a longer one: a year.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A number of seconds, which may have a fraction; `None` if it is no length of time.
fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.trim().parse().ok()?;
    // Longer than any length of time is at least as long as the longest.
    if seconds.is_finite() && seconds > LONGEST.as_secs_f64() {
        return Some(LONGEST);
    }
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "1994-11-06T08:49:00Z";

    fn status(status: u16, headers: &[(&str, &str)], body: &str) -> Verdict {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        judge(Failed::Status { status, headers: &headers, body }, NOW.parse().unwrap())
    }

    /// What a test expects of a verdict, without its words.
    #[derive(Debug, PartialEq)]
    enum Is {
        Busy(Option<u64>),
        Mishap,
        TooLong,
        Operator(Fix),
        Refused,
    }

    fn is(verdict: &Verdict) -> Is {
        match verdict {
            Verdict::Retry { is_busy: false, .. } => Is::Mishap,
            Verdict::Retry { is_busy: true, after, .. } => {
                Is::Busy(after.map(|after| u64::try_from(after.as_millis()).unwrap()))
            }
            Verdict::TooLong { .. } => Is::TooLong,
            Verdict::Operator { fix, .. } => Is::Operator(*fix),
            Verdict::Refused { .. } => Is::Refused,
        }
    }

    #[track_caller]
    fn check(code: u16, body: &str, expected: Is) {
        assert_eq!(is(&status(code, &[], body)), expected, "{code} {body}");
    }

    #[track_caller]
    fn check_stream(body: &str, expected: Is) {
        let verdict = judge(Failed::InStream { body }, NOW.parse().unwrap());
        assert_eq!(is(&verdict), expected, "{body}");
    }

    #[test]
    fn anthropic_errors_are_told_apart() {
        let error = |kind: &str, message: &str| {
            format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"req_1"}}"#)
        };
        check(400, &error("invalid_request_error", "max_tokens: Field required"), Is::Refused);
        check(
            400,
            &error("invalid_request_error", "Your credit balance is too low to access the API."),
            Is::Operator(Fix::Quota),
        );
        check(401, &error("authentication_error", "invalid x-api-key"), Is::Operator(Fix::Key));
        check(402, &error("billing_error", "no payment"), Is::Operator(Fix::Quota));
        check(403, &error("permission_error", "not allowed"), Is::Operator(Fix::Permission));
        check(404, &error("not_found_error", "model: claude-0"), Is::Operator(Fix::Model));
        check(413, &error("request_too_large", "too large"), Is::TooLong);
        check(400, &error("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"), Is::TooLong);
        check(429, &error("rate_limit_error", "slow down"), Is::Busy(None));
        check(500, &error("api_error", "internal"), Is::Mishap);
        check(504, &error("timeout_error", "too long"), Is::Mishap);
        check(529, &error("overloaded_error", "Overloaded"), Is::Busy(None));
        check_stream(&error("overloaded_error", "Overloaded"), Is::Busy(None));
        check_stream(&error("invalid_request_error", "no"), Is::Refused);
        check_stream(&error("authentication_error", "revoked"), Is::Operator(Fix::Key));
        check_stream(&error("something_new", "?"), Is::Mishap);
    }

    #[test]
    fn openai_errors_are_told_apart() {
        let error = |kind: &str, code: &str| {
            format!(r#"{{"error":{{"message":"text","type":"{kind}","param":null,"code":{code}}}}}"#)
        };
        check(400, &error("invalid_request_error", r#""context_length_exceeded""#), Is::TooLong);
        check(401, &error("invalid_request_error", r#""invalid_api_key""#), Is::Operator(Fix::Key));
        check(401, &error("invalid_request_error", "null"), Is::Operator(Fix::Key));
        check(403, &error("invalid_request_error", r#""model_not_found""#), Is::Operator(Fix::Model));
        check(404, &error("invalid_request_error", r#""model_not_found""#), Is::Operator(Fix::Model));
        check(429, &error("requests", r#""rate_limit_exceeded""#), Is::Busy(None));
        check(429, &error("insufficient_quota", r#""insufficient_quota""#), Is::Operator(Fix::Quota));
        check(500, &error("server_error", "null"), Is::Mishap);
        check_stream(&error("server_error", r#""server_error""#), Is::Mishap);
        check_stream(&error("invalid_request_error", "null"), Is::Refused);
        let failed = |code: &str, message: &str| format!(r#"{{"error":{{"code":"{code}","message":"{message}"}}}}"#);
        check_stream(&failed("server_is_overloaded", "later"), Is::Busy(None));
        check_stream(&failed("invalid_prompt", "no"), Is::Refused);
        check_stream(&failed("vector_store_timeout", "late"), Is::Mishap);
        check_stream(&failed("context_length_exceeded", "Your input exceeds the context window"), Is::TooLong);
        let wait =
            |words: &str| failed("rate_limit_exceeded", &format!("Rate limit reached. Please try again in {words}"));
        check_stream(&wait("1.5s. Visit us."), Is::Busy(Some(1_500)));
        check_stream(&wait("28ms."), Is::Busy(Some(28)));
        check_stream(&wait("20 seconds"), Is::Busy(None));
        check_stream(&wait("1m30s"), Is::Busy(None));
        check_stream(&wait("a while"), Is::Busy(None));
        let large = "Request too large for gpt-x on tokens per min (TPM): Limit 9, Requested 10.";
        check(429, &failed("rate_limit_exceeded", large), Is::TooLong);
    }

    #[test]
    fn errors_of_compatible_servers_are_told_apart() {
        // xAI, whose error is a text beside a code in words.
        let xai = |error: &str| format!(r#"{{"code":"Client specified an invalid argument","error":"{error}"}}"#);
        check(400, &xai("Incorrect API key provided: xa***y."), Is::Operator(Fix::Key));
        let spent = "Your team t has either used all available credits or reached its monthly spending limit.";
        check(403, &xai(spent), Is::Operator(Fix::Quota));
        check(429, &xai(spent), Is::Operator(Fix::Quota));
        check(400, &xai("This model's maximum prompt length is 9 but the request contains 10 tokens."), Is::TooLong);
        check(400, &xai("something else"), Is::Refused);
        // OpenRouter and vLLM, with a status for a code; the older vLLM has no `error` around it.
        let numbered = |code: u16| format!(r#"{{"error":{{"code":{code},"message":"text"}}}}"#);
        check_stream(&numbered(429), Is::Busy(None));
        check_stream(&numbered(502), Is::Mishap);
        check_stream(&numbered(402), Is::Operator(Fix::Quota));
        check_stream(&numbered(7), Is::Mishap);
        check(502, &numbered(400), Is::Mishap);
        check_stream(r#"{"object":"error","message":"text","type":"BadRequestError","code":400}"#, Is::Refused);
        let full = "This model's maximum context length is 9 tokens. However, you requested 10 tokens.";
        check(400, &format!(r#"{{"object":"error","message":"{full}","code":400}}"#), Is::TooLong);
        // Groq.
        let groq =
            r#"{"error":{"message":"text","type":"invalid_request_error","code":"tool_use_failed","status_code":400}}"#;
        check(400, groq, Is::Mishap);
        check_stream(groq, Is::Mishap);
        check(
            413,
            r#"{"error":{"message":"Request too large for model `m`","code":"rate_limit_exceeded"}}"#,
            Is::TooLong,
        );
        // llama.cpp, its two forms; LM Studio; Ollama.
        let llama = |kind: &str| {
            format!(
                r#"{{"error":{{"code":400,"message":"the request exceeds the available context size","type":"{kind}"}}}}"#
            )
        };
        check(400, &llama("exceed_context_size_error"), Is::TooLong);
        check_stream(&llama("invalid_request_error"), Is::TooLong);
        let kept = "The number of tokens to keep from the initial prompt is greater than the context length.";
        check_stream(&format!(r#"{{"error":{{"message":"{kept}"}},"message":"{kept}"}}"#), Is::TooLong);
        check_stream(r#"{"error":"an error was encountered while running the model"}"#, Is::Mishap);
        check(404, r#"{"error":{"message":"model `m` not found","type":"not_found_error"}}"#, Is::Operator(Fix::Model));
    }

    #[test]
    fn gemini_errors_are_told_apart() {
        let error = |code: u16, status: &str, details: &str| {
            format!(r#"{{"error":{{"code":{code},"message":"text","status":"{status}","details":[{details}]}}}}"#)
        };
        let reason = r#"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}"#;
        let delay = r#"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"13.5s"}"#;
        let quota = |id: &str| {
            format!(
                r#"{{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{{"quotaId":"{id}"}}]}},{delay}"#
            )
        };
        check(400, &error(400, "INVALID_ARGUMENT", reason), Is::Operator(Fix::Key));
        check(400, &error(400, "INVALID_ARGUMENT", ""), Is::Refused);
        check(403, &error(403, "PERMISSION_DENIED", ""), Is::Operator(Fix::Permission));
        check(404, &error(404, "NOT_FOUND", ""), Is::Operator(Fix::Model));
        check(429, &error(429, "RESOURCE_EXHAUSTED", delay), Is::Busy(Some(13_500)));
        check(429, &error(429, "RESOURCE_EXHAUSTED", &quota("RequestsPerMinutePerProject")), Is::Busy(Some(13_500)));
        check(429, &error(429, "RESOURCE_EXHAUSTED", &quota("RequestsPerDayPerProject")), Is::Operator(Fix::Quota));
        check(503, &error(503, "UNAVAILABLE", ""), Is::Busy(None));
        check(503, &format!("[{}]", error(503, "UNAVAILABLE", "")), Is::Busy(None));
        check_stream(&error(503, "UNAVAILABLE", ""), Is::Busy(None));
        check_stream(&error(429, "RESOURCE_EXHAUSTED", delay), Is::Busy(Some(13_500)));
        check_stream(&error(500, "INTERNAL", ""), Is::Mishap);
        check(400, &format!("[{}]", error(400, "INVALID_ARGUMENT", reason)), Is::Operator(Fix::Key));
    }

    #[test]
    fn without_a_word_the_status_decides() {
        for body in ["", "<html>Bad Gateway</html>", "null", "[]", r#""text""#, r#"{"error":"text"}"#] {
            check(502, body, Is::Mishap);
            check(408, body, Is::Mishap);
            check(503, body, Is::Busy(None));
            check(501, body, Is::Refused);
            check(418, body, Is::Refused);
            check(302, body, Is::Refused);
            check(401, body, Is::Operator(Fix::Key));
            check_stream(body, Is::Mishap);
        }
    }

    #[test]
    fn the_wait_is_read_in_every_form() {
        let wait = |headers: &[(&str, &str)]| is(&status(429, headers, ""));
        for (headers, expected) in [
            (&[("retry-after", "7")][..], Some(7_000)),
            (&[("retry-after", " 0.25 ")], Some(250)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], Some(37_000)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:48:00 GMT")], None),
            (&[("retry-after", "0")], None),
            (&[("retry-after", "7"), ("retry-after-ms", "1500")], Some(1_500)),
            (&[("retry-after", "7"), ("retry-after-ms", "soon")], Some(7_000)),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "1e300")], Some(31_536_000_000)),
            (&[("retry-after", "99999999999999999999999")], Some(31_536_000_000)),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "")], None),
            (&[], None),
        ] {
            assert_eq!(wait(headers), Is::Busy(expected), "{headers:?}");
        }
    }

    #[test]
    fn a_server_may_overrule_its_status_but_not_its_word() {
        let with = |code, value, body| is(&status(code, &[("x-should-retry", value)], body));
        assert_eq!(with(400, "true", ""), Is::Mishap);
        assert_eq!(with(429, "true", ""), Is::Busy(None));
        assert_eq!(with(503, "false", ""), Is::Refused);
        assert_eq!(with(401, "false", ""), Is::Operator(Fix::Key));
        assert_eq!(with(429, "true", r#"{"error":{"code":"insufficient_quota"}}"#), Is::Operator(Fix::Quota));
    }

    #[test]
    fn a_break_is_worth_another_attempt_and_says_whether_something_had_come() {
        for (had_content, said) in [(false, "no reply came: reset"), (true, "the reply broke off: reset")] {
            let verdict = judge(Failed::Broken { had_content, why: "reset" }, NOW.parse().unwrap());
            assert_eq!(verdict, Verdict::Retry { is_busy: false, after: None, why: said.to_owned() });
        }
    }

    #[test]
    fn a_failure_says_what_happened_and_what_to_do() {
        let failure = |code, headers: &[(&str, &str)], body| {
            let failure = status(code, headers, body).into_failure("Example", "EXAMPLE_KEY");
            (failure.kind, failure.message)
        };
        let unauthorized = r#"{"error":{"type":"authentication_error","message":"invalid key"}}"#;
        let said = "Example: authentication_error: invalid key (status 401); check the key in EXAMPLE_KEY";
        assert_eq!(failure(401, &[], unauthorized), (FailureKind::Permanent, said.to_owned()));
        let said = "Example: an error without a word (status 503); it asks to wait 2.0 s";
        assert_eq!(failure(503, &[("retry-after", "2")], ""), (FailureKind::Busy, said.to_owned()));
        let said = "Example: no (status 400)";
        assert_eq!(failure(400, &[], "no"), (FailureKind::Permanent, said.to_owned()));
    }

    #[test]
    fn a_long_body_is_cut_between_characters() {
        let (long, shown) = ("é".repeat(600), "é".repeat(MESSAGE_CHARS_MAX));
        let expected = Verdict::Retry { is_busy: false, after: None, why: format!("{shown}… (status 502)") };
        assert_eq!(status(502, &[], &long), expected);
    }
}
