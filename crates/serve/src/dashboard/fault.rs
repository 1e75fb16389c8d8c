//! Responses to requests that are refused or fail: what happened and what to do, as a page or as JSON.

use askama::Template;
use axum::Json;
use axum::http::StatusCode;
use axum::http::header::ALLOW;
use axum::response::{Html, IntoResponse, Response};
use serde_json::json;

/// Reason why a request has no answer.
#[derive(Debug, Clone)]
pub(super) struct RequestFault {
    status: StatusCode,
    what: String,
    hint: String,
}

impl RequestFault {
    pub(super) fn new(status: StatusCode, what: impl Into<String>) -> Self {
        Self { status, what: what.into(), hint: String::new() }
    }

    /// Something could not be read or written.
    pub(super) fn failed(what: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, what)
    }

    #[must_use]
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

/// It is put into words by [`shown`], which knows who asked.
impl IntoResponse for RequestFault {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Answers a request for a path that doesn't exist.
pub(super) async fn nothing_there() -> RequestFault {
    RequestFault::new(StatusCode::NOT_FOUND, "There is nothing here")
}

#[derive(Template)]
#[template(path = "fault.html")]
struct FaultPage<'a> {
    base: &'a str,
    fault: &'a RequestFault,
}

/// The response, with words where it is a refusal: a page for who looks, JSON for who acts. `base` is what our paths
/// begin with; empty for who does not know it.
pub(super) fn shown(response: Response, base: &str, is_page: bool) -> Response {
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    let said = response.extensions().get::<RequestFault>().cloned();
    let fault = said.unwrap_or_else(|| RequestFault::new(status, status.canonical_reason().unwrap_or("Refused")));
    let allow = response.headers().get(ALLOW).cloned();
    let mut response = if is_page {
        // A page that can't be made is none; its template has nothing that could fail.
        let page = FaultPage { base, fault: &fault }.render().unwrap_or_else(|_| fault.what.clone());
        (status, Html(page)).into_response()
    } else {
        (status, Json(json!({ "error": fault.what, "hint": fault.hint }))).into_response()
    };
    if status == StatusCode::METHOD_NOT_ALLOWED {
        let (name, value) = super::guard::ALLOWED;
        let value = allow.unwrap_or(axum::http::HeaderValue::from_static(value));
        response.headers_mut().insert(name, value);
    }
    response
}
