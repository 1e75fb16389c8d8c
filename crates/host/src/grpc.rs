//! One call of gRPC: a message out, a message back, and what the server says came of it.
//!
//! In: a client that speaks HTTP/2 ([`HttpClient::http2`]), the address of a method, the bytes of a message. Out: the
//! bytes of the answer. Knows nothing of messages; compresses nothing and takes nothing compressed.
//!
//! Begin with [`call`].

use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::Duration;

use http_body::Body as _;
use reqwest::{Method, Url};
use thiserror::Error;

use crate::http::{FetchError, HttpClient};

/// The longest answer that is read, in bytes: those that are expected have a few dozen.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// Number of bytes before a message: a flag for compression, and its length.
const FRAME_HEAD_BYTES: usize = 5;

/// Reason why a call did not succeed.
#[derive(Debug, Error)]
pub enum GrpcError {
    /// There was no whole answer.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The answer is not one of gRPC.
    #[error("`{host}` does not answer as a gRPC server does: {why}")]
    NotGrpc {
        /// The host.
        host: String,
        /// The fault of the answer.
        why: String,
    },
    /// The server says no.
    #[error("`{host}` answers with the gRPC status {status} ({name}){message}")]
    Status {
        /// The host.
        host: String,
        /// The status.
        status: u16,
        /// Its name.
        name: &'static str,
        /// The server's message, after a colon; empty if there is none.
        message: String,
    },
}

/// Calls the method at `url` with `message`, and returns the answer's message. `metadata` goes with it: names in lower
/// case, none of gRPC's own.
///
/// # Errors
///
/// [`GrpcError`]; a status that is not 0 is one.
pub async fn call(
    client: &HttpClient,
    url: &str,
    metadata: &BTreeMap<String, String>,
    message: &[u8],
    timeout: Duration,
) -> Result<Vec<u8>, GrpcError> {
    let called = tokio::time::timeout(timeout, exchange(client, url, metadata, message));
    called.await.map_err(|_| FetchError::Timeout(timeout))?
}

async fn exchange(
    client: &HttpClient,
    url: &str,
    metadata: &BTreeMap<String, String>,
    message: &[u8],
) -> Result<Vec<u8>, GrpcError> {
    let url = Url::parse(url.trim()).map_err(|_| FetchError::InvalidUrl { url: url.chars().take(200).collect() })?;
    let length = u32::try_from(message.len())
        .map_err(|_| FetchError::InvalidRequest { what: format!("a message of {} bytes", message.len()) })?;
    let mut body = Vec::with_capacity(FRAME_HEAD_BYTES + message.len());
    body.push(0);
    body.extend_from_slice(&length.to_be_bytes());
    body.extend_from_slice(message);
    let own = [("content-type", "application/grpc"), ("te", "trailers")];
    let metadata = metadata.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let headers: Vec<(&str, &str)> = own.into_iter().chain(metadata).collect();
    let (host, response) = client.send_bytes(Method::POST, &url, &headers, body).await?;
    let not_grpc = |why: String| GrpcError::NotGrpc { host: host.clone(), why };

    let status = response.status().as_u16();
    let kind = response.headers().get("content-type").map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
    if status != 200 || !kind.as_deref().is_some_and(|kind| kind.starts_with("application/grpc")) {
        return Err(not_grpc(format!("status {status}, content type {}", kind.as_deref().unwrap_or("none"))));
    }
    // A server that has nothing to say but its status puts it into the head.
    if let Some(said) = said(response.headers()) {
        return outcome(&host, said).map(|()| Vec::new());
    }
    let response: http::Response<reqwest::Body> = response.into();
    let mut body = response.into_body();
    let (mut bytes, mut trailers) = (Vec::new(), None);
    while let Some(frame) = std::future::poll_fn(|ctx| Pin::new(&mut body).poll_frame(ctx)).await {
        let frame = frame.map_err(|error| FetchError::Failed { host: host.clone(), why: error.to_string() })?;
        match frame.into_data() {
            Ok(data) => bytes.extend_from_slice(&data),
            Err(frame) => trailers = frame.into_trailers().ok(),
        }
        if bytes.len() > ANSWER_BYTES_MAX {
            return Err(not_grpc("its answer is too long".to_owned()));
        }
    }
    let said = trailers.as_ref().and_then(said).ok_or_else(|| not_grpc("it gives no `grpc-status`".to_owned()))?;
    outcome(&host, said)?;
    message_in(&bytes).map(<[u8]>::to_vec).ok_or_else(|| not_grpc("its answer is no message".to_owned()))
}

/// Status and message, where headers have them.
fn said(headers: &http::HeaderMap) -> Option<(u16, String)> {
    let status = headers.get("grpc-status")?.to_str().ok().and_then(|status| status.trim().parse().ok());
    let message = headers.get("grpc-message").map(|message| unescaped(message.as_bytes())).unwrap_or_default();
    // What can't be read is no success.
    Some((status.unwrap_or(UNKNOWN), message))
}

/// The status of what nobody can tell.
const UNKNOWN: u16 = 2;

fn outcome(host: &str, (status, message): (u16, String)) -> Result<(), GrpcError> {
    if status == 0 {
        return Ok(());
    }
    let message = if message.is_empty() { message } else { format!(": {message}") };
    Err(GrpcError::Status { host: host.to_owned(), status, name: name(status), message })
}

/// The one message in an answer.
fn message_in(bytes: &[u8]) -> Option<&[u8]> {
    if bytes.is_empty() {
        return Some(bytes);
    }
    let (head, message) = bytes.split_at_checked(FRAME_HEAD_BYTES)?;
    let length = u32::from_be_bytes(head.get(1..)?.try_into().ok()?);
    (head.first() == Some(&0) && usize::try_from(length) == Ok(message.len())).then_some(message)
}

/// A message as it was meant: bytes outside of ASCII are sent as `%` and two digits.
fn unescaped(text: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).chars().take(500).collect()
}

/// The statuses by number, in the words of gRPC.
fn name(status: u16) -> &'static str {
    const NAMES: [&str; 17] = [
        "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
        "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
        "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
    ];
    NAMES.get(usize::from(status)).copied().unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_one_whole_message_that_is_not_compressed() {
        for (bytes, message) in [
            (&b""[..], Some(&b""[..])),
            (b"\0\0\0\0\0", Some(b"")),
            (b"\0\0\0\0\x02ab", Some(b"ab")),
            (b"\0\0\0\0\x03ab", None),
            (b"\0\0\0\0\x01ab", None),
            (b"\x01\0\0\0\x02ab", None),
            (b"\0\0\0", None),
            (b"\0\xff\xff\xff\xffab", None),
        ] {
            assert_eq!(message_in(bytes), message, "{bytes:?}");
        }
    }

    #[test]
    fn a_message_of_a_status_is_read_as_it_was_meant() {
        for (sent, meant) in
            [("", ""), ("too many", "too many"), ("%C3%A9%20%", "é %"), ("100%zz", "100%zz"), ("%ff", "\u{fffd}")]
        {
            assert_eq!(unescaped(sent.as_bytes()), meant);
        }
        assert_eq!((name(14), name(99)), ("UNAVAILABLE", "unknown"));
    }
}
