//! Posts to an address of the operator's, signed, and again if it did not arrive.

use std::collections::BTreeMap;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tokio_util::sync::CancellationToken;

use crate::http::{BodyKind, FetchError, HttpClient, Request};

/// The header with the time of sending, in seconds since 1970.
pub const TIMESTAMP_HEADER: &str = "x-adjutant-timestamp";
/// The header with the signature over time and body.
pub const SIGNATURE_HEADER: &str = "x-adjutant-signature";
/// The header with the notice's id: the same in every attempt at it.
pub const ID_HEADER: &str = "x-adjutant-id";

/// The longest one attempt may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The waits before further attempts: short, since whoever parks a run waits for them.
pub const WAITS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(9)];

/// One thing to be posted.
#[derive(Debug, Clone)]
pub struct Post<'a> {
    /// Its address.
    pub url: &'a str,
    /// Its id.
    pub id: &'a str,
    /// JSON.
    pub body: &'a str,
    /// The secret that it is signed with; without one it is not signed.
    pub secret: Option<&'a str>,
}

/// Posts it, again after each of `waits` while that may help. `seconds` tells the time, since 1970.
///
/// # Errors
///
/// Reason why the last attempt failed, as the end of a sentence. It leaves out the address, which may be a secret
/// itself.
pub async fn post(
    client: &HttpClient,
    post: &Post<'_>,
    waits: &[Duration],
    seconds: impl Fn() -> i64,
) -> Result<(), String> {
    let mut waits = waits.iter();
    loop {
        let (why, may_help) = match attempt(client, post, seconds()).await {
            Ok(status) if (200..300).contains(&status) => return Ok(()),
            Ok(status) => (format!("it answers with status {status}"), matches!(status, 408 | 425 | 429 | 500..=599)),
            Err(error) => {
                let may_help = matches!(error, FetchError::Timeout(_) | FetchError::Failed { .. });
                (said(&error), may_help)
            }
        };
        match waits.next().filter(|_| may_help) {
            Some(wait) => tokio::time::sleep(*wait).await,
            None => return Err(why),
        }
    }
}

async fn attempt(client: &HttpClient, post: &Post<'_>, seconds: i64) -> Result<u16, FetchError> {
    let mut headers = BTreeMap::from([
        ("content-type".to_owned(), "application/json".to_owned()),
        (ID_HEADER.to_owned(), post.id.to_owned()),
        (TIMESTAMP_HEADER.to_owned(), seconds.to_string()),
    ]);
    if let Some(signature) = post.secret.and_then(|secret| signature(secret, seconds, post.body)) {
        headers.insert(SIGNATURE_HEADER.to_owned(), signature);
    }
    let request = Request {
        url: post.url.to_owned(),
        method: "POST".to_owned(),
        headers,
        body: Some(post.body.to_owned()),
        timeout: TIMEOUT,
        bytes_max: 0,
        body_kind: BodyKind::Any,
    };
    Ok(client.fetch(&request, &CancellationToken::new()).await?.status)
}

/// `sha256=` and the HMAC-SHA256 of the time, a dot and the body, in hexadecimal digits.
#[must_use]
pub fn signature(secret: &str, seconds: i64, body: &str) -> Option<String> {
    // Any length of a key will do; there is no other error.
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).ok()?;
    mac.update(format!("{seconds}.{body}").as_bytes());
    let digits: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("sha256={digits}"))
}

/// Describes a failure: an address that can't be read is not repeated.
fn said(error: &FetchError) -> String {
    match error {
        FetchError::InvalidUrl { .. } => "it is not a web address".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_what_any_other_implementation_makes_of_it() {
        // printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac key
        let expected = "sha256=a438e398bfafc57e4396bb7fc2304422f0f768e965d073ca313cb52e22e6ad03";
        assert_eq!(signature("key", 1_700_000_000, r#"{"a":1}"#).as_deref(), Some(expected));
    }
}
