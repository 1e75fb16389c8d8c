//! Reads the body of an error, whichever provider it is from.
//!
//! In: the body as it came, JSON or not. Out: its words, its texts and the status it names, and the same of the causes
//! inside it: a gateway puts the answer of the provider behind it into its own, as JSON in a field, as text in a field,
//! or as JSON in the middle of a sentence.

use serde_json::{Deserializer, Value};

use super::Meaning;
use super::shortened;
use super::table::by_sentence;

/// Most answers inside one another that are read: more than any chain of gateways has.
const DEPTH_MAX: u32 = 4;

/// Contents of an error's body.
#[derive(Debug, Default)]
pub(super) struct ErrorBody {
    /// Its words, from the most exact to the least.
    words: Vec<String>,
    message: Option<String>,
    /// Further sentences, of checks that failed.
    details: Vec<String>,
    /// The status that the error would have been answered with, where it says so.
    pub(super) status: Option<u16>,
    /// True if the quota of a day is used up, which no attempt within a run outlasts.
    is_day_over: bool,
    /// Wait that Gemini asks for, such as `13.5s`.
    delay: Option<String>,
    /// Headers that a gateway passes on of the answer behind it, by their names in lower case.
    pub(super) headers: Vec<(String, String)>,
    /// Error inside it, from a field of its own.
    cause: Option<Box<ErrorBody>>,
    /// Error in the middle of its message.
    embedded: Option<Box<ErrorBody>>,
}

impl ErrorBody {
    pub(super) fn read(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => Self::of(&value, DEPTH_MAX),
            Err(_) => Self::plain(body, DEPTH_MAX),
        }
    }

    /// Reads a text that is no JSON as a whole.
    fn plain(text: &str, depth: u32) -> Self {
        // What a proxy shows in a browser says nothing of the API.
        if text.trim_start().starts_with('<') {
            return Self::default();
        }
        Self { details: vec![text.to_owned()], embedded: embedded(text, depth), ..Self::default() }
    }

    fn of(value: &Value, depth: u32) -> Self {
        // Gemini wraps the errors of its unframed streams in an array.
        let value = value.get(0).unwrap_or(value);
        let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
        let details = error.get("details").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let violations = details.iter().filter_map(|detail| detail.get("violations")?.as_array()).flatten();
        let own = ["code", "status", "type"].iter().filter_map(|name| text(error, name));
        let numbers = ["status_code", "http_status_code", "code"].iter().filter_map(|name| error.get(name)?.as_u64());
        let message = text(error, "message").or_else(|| error.as_str().map(str::to_owned));
        Self {
            words: details.iter().filter_map(|detail| text(detail, "reason")).chain(own).collect(),
            status: numbers.filter_map(|number| u16::try_from(number).ok()).find(|number| (400..600).contains(number)),
            delay: details.iter().find_map(|detail| text(detail, "retryDelay")),
            embedded: message.as_deref().and_then(|message| embedded(message, depth)),
            message,
            details: failed_checks(value),
            is_day_over: violations.filter_map(|violation| text(violation, "quotaId")).any(|id| id.contains("PerDay")),
            headers: headers(error),
            cause: cause(error, depth),
        }
    }

    /// Returns its meaning, by sentences and by the words of `table`: those of the innermost cause first.
    pub(super) fn meaning(&self, table: &[(&str, Meaning)]) -> Option<Meaning> {
        let inside = [&self.cause, &self.embedded].into_iter().flatten().find_map(|said| said.meaning(table));
        if inside.is_some() {
            return inside;
        }
        if self.is_day_over {
            return Some(Meaning::Mend(super::Fix::Quota));
        }
        let known = |word: &String| table.iter().find(|(known, _)| known == word);
        let by_word = || self.words.iter().find_map(known).map(|(_, meaning)| *meaning);
        self.own_texts().find_map(by_sentence).or_else(by_word)
    }

    /// Describes the failure, in the provider's words where it has any.
    pub(super) fn message(&self, body: &str) -> String {
        let text = self.message.as_deref().unwrap_or(body).trim();
        let shown = shortened(text);
        let shown = match self.cause.as_ref().map(|cause| cause.message("")).filter(|cause| !cause.is_empty()) {
            Some(cause) if cause != NO_WORD => format!("{shown}: {cause}"),
            Some(_) | None => shown,
        };
        match self.words.last() {
            _ if shown.is_empty() => NO_WORD.to_owned(),
            Some(word) if self.message.is_some() => format!("{word}: {shown}"),
            Some(_) | None => shown,
        }
    }

    /// Returns the wait in a field of its own.
    pub(super) fn delay(&self) -> Option<&str> {
        let inside = [&self.cause, &self.embedded].into_iter().flatten();
        self.delay.as_deref().or_else(|| inside.filter_map(|said| said.delay()).next())
    }

    /// Returns all its sentences, those inside it first.
    pub(super) fn texts(&self) -> Vec<&str> {
        let inside = [&self.cause, &self.embedded].into_iter().flatten().flat_map(|said| said.texts());
        inside.chain(self.own_texts()).collect()
    }

    fn own_texts(&self) -> impl Iterator<Item = &str> {
        self.message.iter().chain(&self.details).map(String::as_str)
    }
}

const NO_WORD: &str = "an error without a word";

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// Lists the failed checks of a server whose framework found the request wrong: from a text, or from a list with fields
/// and messages.
fn failed_checks(value: &Value) -> Vec<String> {
    match value.get("detail") {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(checks)) => checks.iter().filter_map(failed_check).collect(),
        _ => Vec::new(),
    }
}

fn failed_check(check: &Value) -> Option<String> {
    let place = check.get("loc").and_then(Value::as_array).and_then(|loc| loc.last()?.as_str()).unwrap_or_default();
    Some(format!("{place}: {}", text(check, "msg")?))
}

/// Returns the headers that OpenRouter passes on.
fn headers(error: &Value) -> Vec<(String, String)> {
    let passed_on = error.get("metadata").and_then(|metadata| metadata.get("headers")?.as_object());
    let pairs = passed_on.into_iter().flatten();
    pairs
        .filter_map(|(name, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            Some((name.to_ascii_lowercase(), value)).filter(|(name, _)| !name.is_empty())
        })
        .collect()
}

/// Returns the answer behind this one: OpenRouter has it in `metadata.raw`, other gateways in `details` or in a
/// `message` that is JSON throughout.
fn cause(error: &Value, depth: u32) -> Option<Box<ErrorBody>> {
    let depth = depth.checked_sub(1)?;
    let raw = error.get("metadata").and_then(|metadata| metadata.get("raw"));
    let inside = raw.or_else(|| error.get("details").filter(|details| details.is_string()))?;
    let said = match inside {
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(value) if value.is_object() || value.is_array() => ErrorBody::of(&value, depth),
            Ok(_) | Err(_) => ErrorBody { message: Some(text.clone()), ..ErrorBody::plain(text, depth) },
        },
        value => ErrorBody::of(value, depth),
    };
    Some(Box::new(said))
}

/// Returns the JSON in a text, as LiteLLM puts the answer behind it into a sentence. What follows it doesn't matter.
fn embedded(text: &str, depth: u32) -> Option<Box<ErrorBody>> {
    let depth = depth.checked_sub(1)?;
    let begin = text.find(['{', '['])?;
    let value = Deserializer::from_str(&text[begin..]).into_iter::<Value>().next()?.ok()?;
    value.get(0).unwrap_or(&value).is_object().then(|| Box::new(ErrorBody::of(&value, depth)))
}
