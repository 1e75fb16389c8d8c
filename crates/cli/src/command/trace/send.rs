//! Traces on their way to a collector that the operator named.

use std::time::Duration;

use adjutant_core::gate::secrets;
use adjutant_core::trace::otlp::{Span, Traces, rejected, to_json, to_protobuf};
use adjutant_host::grpc::{self, GrpcError};
use adjutant_host::http::{BodyKind, FetchError, Hosts, HttpClient, Request};
use adjutant_ports::CancellationToken;
use anyhow::Context as _;
use serde_json::Value;

use super::headers;
use crate::exit::Ending;
use crate::failure::Failure;
use crate::sitting;

/// Path at which a collector takes traces over HTTP.
const PATH: &str = "/v1/traces";

/// The method of a collector that takes traces over gRPC.
const METHOD: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

/// Longest time that one request may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The most that is read of an answer, in bytes.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// The most that is shown of such an answer, in characters.
const SAID_CHARS_MAX: usize = 200;

/// Posts the traces as JSON.
pub(super) fn over_http(traces: &Traces, endpoint: &str) -> anyhow::Result<()> {
    let client = HttpClient::new(hosts(endpoint)?)?.without_redirects();
    let url = address(endpoint, PATH);
    let mut headers = headers::from_environment()?;
    headers.insert("content-type".to_owned(), "application/json".to_owned());
    each(traces, async |spans| {
        let request = Request {
            url: url.clone(),
            method: "POST".to_owned(),
            headers: headers.clone(),
            body: Some(to_json(traces, spans)),
            timeout: TIMEOUT,
            bytes_max: ANSWER_BYTES_MAX,
            body_kind: BodyKind::Any,
        };
        let response = client.fetch(&request, &CancellationToken::new()).await.map_err(|error| unreached(&error))?;
        let said = String::from_utf8_lossy(&response.body).into_owned();
        if !(200..300).contains(&response.status) {
            let said = secrets::cut_chars(said.trim(), SAID_CHARS_MAX, "\u{2026}");
            let said = if said.is_empty() { said } else { format!(": {said}") };
            let what = format!("the collector answers with status {}{said}", response.status);
            return Err(Failure::ending(Ending::Failed, what).hint("is that its address?").into());
        }
        let answer: Value = serde_json::from_str(&said).unwrap_or_default();
        if !(answer.is_object() || said.trim().is_empty()) {
            let said = secrets::cut_chars(said.trim(), SAID_CHARS_MAX, "\u{2026}");
            return Err(Failure::ending(Ending::Failed, format!("this is no answer of a collector: {said}"))
                .hint("is that its address, and its port for OTLP over HTTP?")
                .into());
        }
        let partial = &answer["partialSuccess"];
        let count = &partial["rejectedSpans"];
        let count = count.as_u64().or_else(|| count.as_str()?.parse().ok()).unwrap_or(0);
        taken(count, partial["errorMessage"].as_str().unwrap_or_default())
    })
}

/// Sends the traces over gRPC.
pub(super) fn over_grpc(traces: &Traces, endpoint: &str) -> anyhow::Result<()> {
    let client = HttpClient::http2(hosts(endpoint)?)?;
    let url = address(endpoint, METHOD);
    let metadata = headers::from_environment()?;
    each(traces, async |spans| {
        let answer = grpc::call(&client, &url, &metadata, &to_protobuf(traces, spans), TIMEOUT).await;
        let answer = answer.map_err(|error| match error {
            GrpcError::Fetch(error) => unreached(&error),
            other => Failure::ending(Ending::Failed, other.to_string()).into(),
        })?;
        let (count, why) = rejected(&answer).context("the collector's answer can't be read")?;
        taken(count, &why)
    })
}

fn each(traces: &Traces, send: impl AsyncFn(&[Span]) -> anyhow::Result<()>) -> anyhow::Result<()> {
    sitting::runtime()?.block_on(async {
        for spans in traces.requests() {
            send(spans).await?;
        }
        Ok::<_, anyhow::Error>(())
    })?;
    tell!("{} spans were taken", traces.spans.len());
    Ok(())
}

/// The operator named it, so it may be local and without TLS; it is the only host that is spoken to.
fn hosts(endpoint: &str) -> anyhow::Result<Hosts> {
    Hosts::only(endpoint).map_err(|bad| {
        Failure::usage(bad.to_string()).hint("give the whole address, such as http://localhost:4318").into()
    })
}

fn address(endpoint: &str, path: &str) -> String {
    let base = endpoint.trim().trim_end_matches('/');
    if base.ends_with(path) { base.to_owned() } else { format!("{base}{path}") }
}

fn unreached(error: &FetchError) -> anyhow::Error {
    Failure::ending(Ending::Failed, error.to_string()).hint("does a collector listen there, for this format?").into()
}

fn taken(rejected: u64, why: &str) -> anyhow::Result<()> {
    if rejected == 0 {
        if !why.is_empty() {
            tell!("warning: the collector says: {}", adjutant_core::words::visible::visible_line(why));
        }
        return Ok(());
    }
    Err(Failure::ending(Ending::Failed, format!("the collector refused {rejected} spans: {why}")).into())
}
