//! Tells answers that are text from all others.
//!
//! An agent reads text. Anything else would only fill its window, and the journal, with bytes that nobody can
//! judge; so it is refused by its content type before it is read.

use reqwest::StatusCode;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};

use super::FetchError;

/// Types outside `text/` whose content is text (RFC 9110 and the registry of media types). So is what ends with
/// `+json`, `+xml` or `+yaml`.
const TEXT_TYPES: [&str; 18] = [
    "application/json",
    "application/json5",
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/xml",
    "application/xml-dtd",
    "application/javascript",
    "application/x-javascript",
    "application/ecmascript",
    "application/typescript",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
    "application/x-sh",
    "application/sql",
    "application/graphql",
    "application/x-www-form-urlencoded",
];

/// Number of a body's first bytes that are looked at where no content type is given.
const LOOKED_AT_BYTES: usize = 4096;

/// Refuses an answer that says it is no text, or that is still packed in a way that isn't undone here.
pub(super) fn check(host: &str, status: StatusCode, headers: &HeaderMap) -> Result<(), FetchError> {
    let value = |name| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let refused = |what: String| Err(FetchError::NotText { host: host.to_owned(), status: status.as_u16(), what });
    // What was unpacked is no longer named.
    if let Some(encoding) = value(CONTENT_ENCODING).filter(|encoding| !encoding.trim().eq_ignore_ascii_case("identity"))
    {
        return refused(format!("a body packed as `{}`", shortened(&encoding)));
    }
    match value(CONTENT_TYPE) {
        Some(given) if !is_text(&given) => refused(format!("a body of the type `{}`", shortened(&given))),
        Some(_) | None => Ok(()),
    }
}

/// Refuses a body that holds what no text holds, whatever its type says.
pub(super) fn check_body(host: &str, status: StatusCode, body: &[u8]) -> Result<(), FetchError> {
    if body.iter().take(LOOKED_AT_BYTES).any(|byte| *byte == 0) {
        let what = "a body that is no text (it has a zero byte)".to_owned();
        return Err(FetchError::NotText { host: host.to_owned(), status: status.as_u16(), what });
    }
    Ok(())
}

fn is_text(content_type: &str) -> bool {
    let bare = content_type.split([';', ',']).next().unwrap_or_default().trim().to_ascii_lowercase();
    bare.is_empty()
        || bare.starts_with("text/")
        || TEXT_TYPES.contains(&bare.as_str())
        || ["+json", "+xml", "+yaml"].iter().any(|ending| bare.ends_with(ending))
}

fn shortened(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_told_by_its_type() {
        for text in [
            "text/html; charset=utf-8",
            "TEXT/PLAIN",
            "application/json",
            "application/problem+json",
            "image/svg+xml",
            "application/vnd.api+json;v=1",
            "",
            " ; charset=x",
            "application/x-sh",
        ] {
            assert!(is_text(text), "{text}");
        }
        for other in [
            "image/png",
            "application/octet-stream",
            "application/pdf",
            "application/zip",
            "video/mp4",
            "application/x-executable",
            "font/woff2",
            "application/gzip",
            "multipart/mixed",
            "textual/html",
            "application/octet-stream; x=text/html",
            "application/octet-stream+text",
        ] {
            assert!(!is_text(other), "{other}");
        }
    }
}
