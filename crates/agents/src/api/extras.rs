//! Adds the operator's own settings to requests: headers, fields of the body, a token from a command, and how long a
//! cache lasts.
//!
//! In: settings. Out: the headers and the body as they are sent. The operator's settings override those of a format.

use std::collections::BTreeMap;

use adjutant_host::token_command::TokenCommand;
use serde_json::{Map, Value};

/// Headers that carry a key.
const KEY_HEADERS: &[&str] = &["authorization", "x-api-key", "api-key", "x-goog-api-key"];

/// Additions of the operator. There is no `Debug`, so that no secret can be shown by accident.
#[derive(Clone, Default)]
pub struct Extras {
    /// Headers, by their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Fields of the body; an object is added to the one that is there.
    pub body: Map<String, Value>,
    /// Values among them that are secrets.
    pub secrets: Vec<String>,
    /// A command that prints a bearer token, which then takes the place of the key.
    pub token_command: Option<TokenCommand>,
    /// Settings of the provider's cache.
    pub caching: Caching,
}

/// Settings of the provider's cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Caching {
    /// Lifetime of marked content, if the operator set one.
    pub lasts: Option<CacheLasts>,
    /// True if `prompt_cache_key` is left out.
    pub without_key: bool,
}

/// Lifetime of marked content in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheLasts {
    /// Five minutes from its last use, which is the providers' own.
    FiveMinutes,
    /// An hour from its last use; writing costs more.
    Hour,
}

impl Caching {
    /// Returns the mark on a block.
    pub(crate) fn mark(self) -> Value {
        match self.lasts {
            None | Some(CacheLasts::FiveMinutes) => serde_json::json!({ "type": "ephemeral" }),
            Some(CacheLasts::Hour) => serde_json::json!({ "type": "ephemeral", "ttl": "1h" }),
        }
    }
}

impl Extras {
    /// Returns true if the operator's additions carry a key.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.token_command.is_some() || KEY_HEADERS.iter().any(|name| self.headers.contains_key(*name))
    }

    /// Returns the headers of a request: those of the format, the token in the place of its key, and the operator's
    /// before all.
    pub(super) fn headers(
        &self,
        of_format: Vec<(&'static str, String)>,
        token: Option<&str>,
        base_url: &str,
    ) -> BTreeMap<String, String> {
        let mut headers: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in of_format {
            let is_key = KEY_HEADERS.contains(&name);
            match value.strip_prefix("Bearer ") {
                _ if is_key && (token.is_some() || (self.has_key() && value.is_empty())) => {}
                // Azure's own header: its page takes a key there, and under `authorization` tokens alone.
                Some(key) if is_key && is_azure(base_url) => {
                    headers.insert("api-key".to_owned(), key.to_owned());
                }
                _ => {
                    headers.insert(name.to_owned(), value);
                }
            }
        }
        if let Some(token) = token {
            headers.insert("authorization".to_owned(), format!("Bearer {token}"));
        }
        headers.extend(self.headers.clone());
        headers
    }

    /// Adds the operator's fields to a body.
    pub(super) fn add_to(&self, body: &mut Value) {
        if let Value::Object(body) = body {
            merge(body, &self.body);
        }
    }
}

fn merge(into: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (name, value) in from {
        match (into.get_mut(name), value) {
            (Some(Value::Object(inner)), Value::Object(value)) => merge(inner, value),
            _ => {
                into.insert(name.clone(), value.clone());
            }
        }
    }
}

/// Returns true if an address is one of Azure's for models.
fn is_azure(base_url: &str) -> bool {
    let host = base_url.split_once("://").map_or("", |(_, rest)| rest);
    let host = host.split(['/', '?', '#', ':']).next().unwrap_or_default().to_ascii_lowercase();
    [".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"]
        .iter()
        .any(|end| host.ends_with(end))
}

/// Returns the address of a path below a base URL, whose own query, such as Azure's `api-version`, goes behind the
/// path.
pub(super) fn below(base_url: &str, path: &str) -> String {
    let (base, query) = base_url.split_once('?').unwrap_or((base_url, ""));
    let (path, own) = path.split_once('?').unwrap_or((path, ""));
    let queries: Vec<&str> = [own, query].into_iter().filter(|query| !query.is_empty()).collect();
    let mark = if queries.is_empty() { "" } else { "?" };
    format!("{}{path}{mark}{}", base.trim_end_matches('/'), queries.join("&"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn named(headers: &BTreeMap<String, String>) -> Vec<(&str, &str)> {
        headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    #[test]
    fn what_the_operator_sets_goes_before_what_the_format_sets() {
        let format = || vec![("authorization", "Bearer k".to_owned()), ("accept", "a".to_owned())];
        let none = Extras::default();
        assert_eq!(
            named(&none.headers(format(), None, "https://x.example")),
            [("accept", "a"), ("authorization", "Bearer k")]
        );
        let azure = "https://r.openai.azure.com/openai/v1";
        assert_eq!(named(&none.headers(format(), None, azure)), [("accept", "a"), ("api-key", "k")]);
        assert_eq!(named(&none.headers(format(), Some("t"), azure)), [("accept", "a"), ("authorization", "Bearer t")]);
        let set = BTreeMap::from([("accept".to_owned(), "b".to_owned()), ("x-team".to_owned(), "1".to_owned())]);
        let own = Extras { headers: set, ..Extras::default() };
        let headers = own.headers(vec![("x-api-key", "k".to_owned()), ("accept", "a".to_owned())], Some("t"), "");
        assert_eq!(named(&headers), [("accept", "b"), ("authorization", "Bearer t"), ("x-team", "1")]);
    }

    #[test]
    fn a_key_that_is_not_there_makes_no_header_beside_the_operators() {
        let set = BTreeMap::from([("authorization".to_owned(), "Basic x".to_owned())]);
        let own = Extras { headers: set, ..Extras::default() };
        let headers = own.headers(vec![("x-api-key", String::new())], None, "");
        assert_eq!(named(&headers), [("authorization", "Basic x")]);
    }

    #[test]
    fn objects_are_added_to_and_the_rest_is_replaced() {
        let Value::Object(set) = json!({ "a": { "b": 2, "c": 3 }, "max_tokens": 5, "list": [2] }) else { return };
        let mut body = json!({ "a": { "b": 1, "d": 4 }, "max_tokens": 1, "list": [1, 1], "stream": true });
        Extras { body: set, ..Extras::default() }.add_to(&mut body);
        let expected = json!({ "a": { "b": 2, "d": 4, "c": 3 }, "max_tokens": 5, "list": [2], "stream": true });
        assert_eq!(body, expected);
    }

    #[test]
    fn a_query_of_the_base_url_goes_behind_the_path() {
        for (base, path, expected) in [
            ("https://x/v1/", "/chat", "https://x/v1/chat"),
            ("https://x/v1?api-version=1", "/chat", "https://x/v1/chat?api-version=1"),
            ("https://x?a=1", "/m:stream?alt=sse", "https://x/m:stream?alt=sse&a=1"),
        ] {
            assert_eq!(below(base, path), expected);
        }
    }
}
