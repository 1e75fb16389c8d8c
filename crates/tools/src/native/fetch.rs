//! `http_fetch`: one request, answered as JSON.

use std::time::Duration;

use adjutant_core::gate::secrets;
use adjutant_core::words::tool::{ToolMeta, ToolOutput};
use adjutant_host::http::{BodyKind, FetchError, HttpClient, Request};
use adjutant_ports::CancellationToken;
use serde_json::json;

use super::{Inner, cancelled};
use crate::args::HttpFetch;

/// The limits unless asked otherwise: the peer's.
const TIMEOUT_MS_DEFAULT: u64 = 15_000;
const BODY_BYTES_DEFAULT: u64 = 5_000_000;
/// The most that can be asked for.
const TIMEOUT_MS_MAX: u64 = 300_000;
const BODY_BYTES_MAX: u64 = 16_000_000;

impl Inner {
    pub(super) async fn http_fetch(
        &self,
        args: HttpFetch,
        cancel: CancellationToken,
    ) -> Result<ToolOutput, ToolOutput> {
        let client = self.http.get_or_init(|| HttpClient::new(self.hosts.clone()).map_err(|error| error.to_string()));
        let client = client.as_ref().map_err(|error| ToolOutput::failed("FETCH_ERROR", error.clone()))?;
        let timeout_ms = args.timeout_ms.map_or(TIMEOUT_MS_DEFAULT, |timeout| timeout.0).min(TIMEOUT_MS_MAX);
        let bytes_max = args.max_bytes.map_or(BODY_BYTES_DEFAULT, |size| size.0).min(BODY_BYTES_MAX);
        let request = Request {
            url: args.url,
            method: args.method.unwrap_or_else(|| "GET".to_owned()).to_ascii_uppercase(),
            headers: args.headers.unwrap_or_default(),
            body: args.body,
            timeout: Duration::from_millis(timeout_ms),
            bytes_max: usize::try_from(bytes_max).unwrap_or(usize::MAX),
            body_kind: BodyKind::Text,
        };
        let response = client.fetch(&request, &cancel).await.map_err(|error| match error {
            FetchError::Cancelled { partial } => cancelled(Some(String::from_utf8_lossy(&partial).into_owned())),
            other => ToolOutput::failed(other.code(), other.to_string()),
        })?;
        let mut body = String::from_utf8_lossy(&response.body).into_owned();
        if response.truncated {
            // Behind the cut may be the rest of a secret.
            body.truncate(secrets::without_part_at_end(&body).len());
            body.push_str(&format!("\n[truncated: only the first {} bytes]", response.body.len()));
        }
        let answer = json!({ "status": response.status, "headers": response.headers, "body": body, "truncated": response.truncated });
        let content =
            serde_json::to_string_pretty(&answer).map_err(|error| ToolOutput::failed("INTERNAL", error.to_string()))?;
        let meta = ToolMeta {
            bytes: Some(response.body.len() as u64),
            truncated: Some(response.truncated),
            ..ToolMeta::default()
        };
        let success = (200..300).contains(&response.status);
        Ok(ToolOutput { success, content, code: None, meta })
    }
}
